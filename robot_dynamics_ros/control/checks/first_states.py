"""First states of a controller, and its checks before the start."""

from __future__ import annotations

import math
from collections import deque
from itertools import pairwise

import numpy as np

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.joint_messages import Sample
from robot_dynamics_ros.control.checks.activation_check import (
    check_activation,
    holding_effort,
)
from robot_dynamics_ros.control.configuration.settings import SafetySettings
from robot_dynamics_ros.control.controlled_arm import (
    ControlledArm,
    check_holds,
    check_payload,
)
from robot_dynamics_ros.control.estimation.estimator import smallest_turn
from robot_dynamics_ros.control.interface import WARN, Note
from robot_dynamics_ros.control.thresholds import (
    FIRST_STATES_AT_REST,
    FIRST_STATES_KEPT,
    FIRST_STATES_LEAST_SPAN,
)
from robot_dynamics_ros.dynamics.kernels.types import Array


class FirstStates:
    """Last states before the start of a controller."""

    def __init__(self) -> None:
        self._samples: deque[Sample] = deque(maxlen=FIRST_STATES_KEPT)
        self._arrival = -math.inf

    def add(self, sample: Sample, steady: float) -> None:
        """Add a state that arrived at ``steady`` (s), unless a position is not finite."""
        if np.isfinite(sample.q).all():
            self._samples.append(sample)
            self._arrival = steady

    def drop_old(self, steady: float) -> None:
        """Drop all states if the last one arrived before ``steady`` (s)."""
        if self._arrival < steady:
            self._samples.clear()

    @property
    def period(self) -> float:
        """Shortest positive time (s) between the stamps of two states; 0 if unknown."""
        stamps = [sample.stamp for sample in self._samples]
        return (
            min(
                (
                    after - before
                    for before, after in pairwise(stamps)
                    if after > before
                ),
                default=0,
            )
            * 1e-9
        )

    def suffice(self, safety: SafetySettings) -> bool:
        """Return True if ``check`` is possible: the velocity is known, or not checked.

        It is known if it is measured, or if the states span 50 ms or more, so that their positions can be
        differentiated; it is not checked if ``activation_max_velocity`` is infinite. False without states.
        """
        if not self._samples:
            return False
        first = self._samples[0]
        last = self._samples[-1]
        measured = last.qd is not None and bool(np.isfinite(last.qd).all())
        return (
            measured
            or last.stamp - first.stamp >= FIRST_STATES_LEAST_SPAN
            or math.isinf(safety.activation_max_velocity)
        )

    def check(
        self, arm: ControlledArm, period: float, compare_effort: bool
    ) -> tuple[list[Note], Array | None]:
        """Check the last state before the start of the controller of an ``arm``, and drop all; it requires ``suffice``.

        Returns warnings, and with ``compare_effort`` the measured effort (n,) if it holds the arm, else None.

        Raises
        ------
        RobotDynamicsError
            If a joint moves faster than ``activation_max_velocity``, or is far beyond its limits; if the gains are
            unstable at the ``period`` (s) of the cycles, or would be without the payload; if an effort limit is below
            the gravity torque; and with ``compare_effort`` if the measured effort contradicts that torque.
        """
        robot = arm.robot
        tuning = arm.tuning
        settings = tuning.settings
        limits = tuning.effort_limits
        speed = np.abs(self._velocity())
        sample = self._samples[-1]
        self._samples.clear()  # also if the check fails
        limit = settings.safety.activation_max_velocity
        if speed.max() > limit:
            j = int(np.argmax(speed))
            raise RobotDynamicsError(
                f'joint "{robot.joint_names[j]}" moves at {speed[j]:.3g}, over activation_max_velocity {limit:g}. '
                "Cure: stop the arm by its brakes or its present controller, then activate"
            )
        lower = robot.position_lower
        upper = robot.position_upper
        beyond = np.maximum(sample.q - upper, lower - sample.q)
        for j in np.flatnonzero(beyond > 0.5 * (upper - lower))[:1].tolist():
            raise RobotDynamicsError(
                f'joint "{robot.joint_names[j]}" is at {sample.q[j]:.4g}, far beyond its limits {lower[j]:.4g} to '
                f"{upper[j]:.4g}. Cure: check the unit and the order of the joints in joint_states"
            )
        inertia = robot.mass_matrix(sample.q).diagonal()
        tuning.check_sampling(period, inertia)
        check_holds(arm.model, sample.q, limits)
        check_payload(robot, sample.q, tuning, period)
        warnings = tuning.rate_warnings(inertia)
        warnings += tuning.check_stiffness(arm.model, sample.q)
        start_effort = None
        if compare_effort and speed.max() > FIRST_STATES_AT_REST:
            warnings.append("activation_check: skipped, because the arm moves")
        elif compare_effort and sample.effort is not None:
            warnings += check_activation(robot, sample.q, sample.effort)
            if not arm.compensates_gravity:
                start_effort, reason = holding_effort(
                    robot, sample.q, sample.effort, limits
                )
                warnings += reason
        return [Note(WARN, warning) for warning in warnings], start_effort

    def _velocity(self) -> Array:
        """Return the velocity (n,) of the last state; where it is not measured, the mean one since the first state."""
        first = self._samples[0]
        last = self._samples[-1]
        qd = np.full_like(last.q, np.nan) if last.qd is None else last.qd
        seconds = (last.stamp - first.stamp) * 1e-9
        step = last.q - first.q
        mean = smallest_turn(step) / seconds if seconds > 0.0 else np.zeros_like(step)
        return np.where(np.isfinite(qd), qd, mean)
