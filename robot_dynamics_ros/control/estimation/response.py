"""Check that joints answer their efforts, by the residual of the momentum observer."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.control.configuration.tuning import Tuning
from robot_dynamics_ros.control.cycle_kernels import (
    DOUBTED,
    DRIVE_MEMORY,
    HIDDEN_MOMENTUM,
    HIDDEN_MOTION,
    REFERENCE,
    RESPONSE_MEMORY,
    REVERSED,
    check_drives,
    check_response,
)
from robot_dynamics_ros.control.estimation.estimator import Estimate, VelocitySource
from robot_dynamics_ros.control.estimation.external_torque import interval_torque
from robot_dynamics_ros.control.thresholds import (
    DRIVE_STATES,
    RESPONSE_DIFFERENTIATED_INTERVAL,
    RESPONSE_INTERVAL,
)
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel


class Response:
    """Response of the joints to their efforts.

    States are compared about every 4 ms, or 20 ms without measured velocities, with the mean effort between them.

    Attributes
    ----------
    unanswered
        Index of the first joint that does not answer its effort, by ``check_response``; -1: there is none.
    reversed_drive
        Index of the first joint whose drive is reversed, by ``check_drives``; -1: there is none.
    """

    def __init__(self, n: int) -> None:
        """Create the check of ``n`` joints; without effect before ``set_bounds``."""
        self._memory = np.zeros((RESPONSE_MEMORY, n))
        self._drives = np.zeros((DRIVE_MEMORY, n))
        self._friction = self._limits = np.full(n, np.inf)
        self._inertia = np.full(n, np.inf)  # of joints with hidden motion
        self._moves = False  # a joint has a hidden motion
        self._state: Array | None = None  # the state that was compared last
        self._model: RobotModel | None = None
        self._source: VelocitySource = VelocitySource.UNKNOWN
        self._efforts: list[Array] = []  # since the state that was compared last
        self._stamp = -math.inf  # s, of the state that was compared last
        self._compares = False
        self.unanswered = self.reversed_drive = -1

    def set_bounds(self, friction: Array, limits: Array) -> None:
        """Set the static ``friction`` (n,) of the model and the effort ``limits`` (n,), Nm or N."""
        self._friction = friction
        self._limits = limits

    @property
    def reference(self) -> Array:
        """External torque (n,), Nm or N, when the joints last moved, or since then the one nearest to 0."""
        return np.asarray(self._memory[REFERENCE])

    @property
    def doubted(self) -> NDArray[np.bool_]:
        """True for the joints (n,) that did not answer their efforts, until they move."""
        return np.asarray(self._memory[DOUBTED] != 0.0)

    @property
    def reversed(self) -> NDArray[np.bool_]:
        """True for the joints (n,) whose drives are reversed, by ``check_drives``."""
        return np.asarray(self._drives[REVERSED] >= DRIVE_STATES)

    def believed(self, estimate: Estimate) -> Estimate:
        """Return ``estimate`` with the state of joints that are doubted as if their positions had been frozen.

        Without measured velocities it is ``estimate``: the noise of differentiated ones would appear as motion.
        """
        doubted = self.doubted & ~estimate.refuted
        if estimate.source is not VelocitySource.MEASURED or not doubted.any():
            return estimate
        q = estimate.state[0] + self._memory[HIDDEN_MOTION]
        qd = self._memory[HIDDEN_MOMENTUM] / self._inertia
        return estimate._replace(state=np.where(doubted, (q, qd), estimate.state))

    def corrected(self, effort: Array) -> Array:
        """Return the ``effort`` (n,) with the other sign for reversed drives."""
        if self.reversed_drive < 0:
            return effort
        return np.where(self.reversed, -effort, effort)

    def observe(
        self, model: RobotModel, estimate: Estimate, effort: Array, tuning: Tuning
    ) -> None:
        """Update with the state of ``estimate``, reached under the commanded ``effort`` (n,), Nm or N.

        ``model`` has no gravity if the robot compensates for it. All joints are trusted. Another model or source of
        velocities, and stamps that repeat or go back, restart the check.
        """
        source = estimate.source
        continues = source is self._source and model is self._model
        back = estimate.stamp < self._stamp
        if not continues or back or estimate.stamp_repeats:
            self.reset()
            self._source = source
            self._model = model
            self._memory[DOUBTED] = 0.0
        if source is VelocitySource.UNKNOWN:
            return
        self._efforts.append(effort)
        passed = estimate.stamp - self._stamp
        measured = source is VelocitySource.MEASURED
        if passed < (
            RESPONSE_INTERVAL if measured else RESPONSE_DIFFERENTIATED_INTERVAL
        ):
            return
        self._stamp = estimate.stamp
        mean = sum(self._efforts[1:], self._efforts[0]) / len(self._efforts)
        self._efforts.clear()
        before = self._state
        # The lag of a filter would appear as torque.
        velocity = estimate.velocity
        if not measured and before is not None:
            velocity = (estimate.state[0] - before[0]) / passed
        state = np.array((estimate.state[0], velocity))
        self._state = state
        if before is None:
            return
        torque = interval_torque(model, before, state, passed)
        external = torque - mean
        dt = passed if self._compares else math.inf
        hidden = external
        if self._moves:
            hidden = external + self._hidden_torque(model, state[0])
        self.unanswered, self._moves = check_response(
            state,
            external,
            torque,
            hidden,
            self._inertia,
            self._friction,
            self._limits,
            tuning.position_step,
            dt,
            self._memory,
        )
        if measured and tuning.law.needs_state:  # else other commands may drive the arm
            self.reversed_drive = check_drives(
                external, mean, state[1], self._limits, dt, self._drives
            )
        self._compares = True

    def _hidden_torque(self, model: RobotModel, q: Array) -> Array:
        """Return viscous friction and change of g(q) (n,), Nm or N, by hidden motion; ``q`` (n,) is measured."""
        self._inertia = model.mass_matrix(q).diagonal()
        qd = self._memory[HIDDEN_MOMENTUM] / self._inertia
        viscous = model.friction_torque(q, qd) - np.sign(qd) * self._friction
        moved = q + self._memory[HIDDEN_MOTION]
        torque: Array = model.gravity_torque(moved) - model.gravity_torque(q) + viscous
        return torque

    def reset(self) -> None:
        """Restart the check after a gap in the states, and while a joint is refuted; reversed drives remain so."""
        self._state = None
        self._efforts.clear()
        self._stamp = -math.inf
        self._source = VelocitySource.UNKNOWN
        self._compares = False
        self.unanswered = -1
