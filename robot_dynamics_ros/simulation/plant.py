"""The simulated robot: a model, an integrator, and the state of both."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.compilation import mark_compiled
from robot_dynamics_ros.kernels.types import Floats
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.simulation.arm import alike, initial_pattern, is_separable, make_arm, stuck_joints
from robot_dynamics_ros.simulation.arrays import OK, State
from robot_dynamics_ros.simulation.checks import check_count, check_settings, failure, finite, initial_state
from robot_dynamics_ros.simulation.integrators import INTEGRATORS
from robot_dynamics_ros.simulation.steps import steps_for


class Plant:
    """A robot that moves under joint torques, with friction that really sticks and position limits.

    Its state is time, positions, velocities and which joints stick; the same inputs give the same bits.
    Joints stop at their position limits without bouncing; nothing pushes a joint that starts beyond one.

    Parameters
    ----------
    model
        The robot; where it is customised, so is the step. RobotModelError if some joint moves no mass.
    integrator
        "rk4": fourth order. "semi_implicit": about four times as fast, first order, stable under any smooth
        friction; an arm that spins fast without friction can gain energy.
    step_size
        Length of a step (s).
    initial_positions
        Shape (n,), rad or m; None: 0, or the limit nearest to it.
    initial_velocities
        Shape (n,), rad/s or m/s; None: at rest.
    velocity_limits
        Whether no joint gets faster than its velocity limit, as if a brake held it there.

    Raises
    ------
    RobotDynamicsError
        For an unknown integrator, a step size that is not positive, or an initial state that is not n
        finite numbers.
    """

    def __init__(
        self,
        model: RobotModel,
        integrator: str = "rk4",
        step_size: float = 0.001,
        initial_positions: ArrayLike | None = None,
        initial_velocities: ArrayLike | None = None,
        velocity_limits: bool = False,
    ) -> None:
        check_settings(integrator, step_size)
        self._integrator = INTEGRATORS[integrator]
        self._step_size = float(step_size)
        self._velocity_limits = velocity_limits
        self._load(model)
        self._start, self._start_velocity = initial_state(model, initial_positions, initial_velocities)
        self.reset()

    def _load(self, model: RobotModel) -> None:
        model.require_mass()
        self._model, self._arm = model, make_arm(model, self._velocity_limits)
        self._advance = steps_for(model, is_separable(self._arm)).advance

    @property
    def model(self) -> RobotModel:
        """The robot."""
        return self._model

    @property
    def step_size(self) -> float:
        """Length of a step, s."""
        return self._step_size

    @property
    def time(self) -> float:
        """Simulated time since the start or the last reset, s: steps taken times step size."""
        return self._steps * self._step_size

    @property
    def position(self) -> Floats:
        """Joint positions (n,), rad or m."""
        return self._state.position.copy()

    @property
    def velocity(self) -> Floats:
        """Joint velocities (n,), rad/s or m/s; exactly 0 for joints that stick."""
        return self._state.velocity.copy()

    @property
    def effort(self) -> Floats:
        """Torque (n,) of the motors in the last step, Nm or N: as asked for, within the effort limits."""
        return self._effort.copy()

    @property
    def impulse(self) -> Floats:
        """Impulse (n,) of dry friction and limits in the last step, Nm s or N s; it does no positive work."""
        return self._state.impulse.copy()

    @property
    def stuck(self) -> NDArray[np.bool_]:
        """Which joints (n,) friction holds at rest; a joint pressed against its limit is not among them."""
        return stuck_joints(self._arm.joints, self._state.velocity, self._state.pattern)

    @property
    def solves(self) -> int:
        """Linear systems of the friction problem solved in the last call of ``step``: mostly one a step."""
        return self._solves

    @property
    def residual(self) -> float:
        """How far from optimal the friction problem's solutions were in the last call of ``step``, at most.

        A velocity, rad/s or m/s; 0 where all conditions hold exactly.
        """
        return self._residual

    def reset(self) -> None:
        """Go back to time 0 and the initial state."""
        position, velocity = self._start.copy(), self._start_velocity.copy()
        self._state = State(position, velocity, initial_pattern(self._arm.joints, velocity), np.zeros(self._model.n))
        self._effort = np.zeros(self._model.n)
        self._steps = self._solves = 0
        self._residual = 0.0

    def brake(self, count: int = 1) -> None:
        """Let the time of ``count`` steps pass with brakes on, which stop each joint at once where it is."""
        check_count(count)
        still = np.zeros(self._model.n)
        self._state = State(self._state.position, still, initial_pattern(self._arm.joints, still), still.copy())
        self._effort = still.copy()
        self._steps += count

    def change_model(self, model: RobotModel) -> None:
        """Go on with a robot whose numbers differ: payload, masses, friction. Time and state stay.

        Raises RobotDynamicsError for a robot with other joints, links or placements.
        """
        if not alike(model, self._model):
            raise RobotDynamicsError(
                f'robot "{model.name}" has other joints than "{self._model.name}". '
                "Cure: make another plant, or take with_payload or scaled of the same model"
            )
        self._load(model)

    def warm_up(self) -> None:
        """Compile the step, or load it from the cache, without moving the robot."""
        wrenches = self._wrenches(None)
        self._advance(self._arm, self._integrator, self._step_size, 0, self._effort, wrenches, self._state)
        mark_compiled("plant")

    def step(self, tau: ArrayLike, count: int = 1, external_wrenches: Mapping[str, ArrayLike] | None = None) -> None:
        """Take ``count`` steps under motor torque ``tau`` (n,), Nm or N, clamped to the effort limits.

        ``external_wrenches`` maps a link to the force and moment (6,) that act on it, at its frame's
        origin, in its axes.

        Raises
        ------
        RobotDynamicsError
            For arguments of the wrong shape or not finite, naming the joint or link: the state stays as it
            was. Also where the motion becomes infinite or the mass matrix singular: the state is then that
            after the last good step.
        """
        check_count(count)
        limits = self._model.packed.effort_limits
        effort = np.clip(finite(self._model, "tau", tau), -limits, limits)
        wrenches = self._wrenches(external_wrenches)
        status, joint, done, self._solves, self._residual = self._advance(
            self._arm, self._integrator, self._step_size, count, effort, wrenches, self._state
        )
        self._steps += done
        if done > 0:
            self._effort = effort
        if status != OK:
            raise RobotDynamicsError(
                failure(self._model, status, joint, self.time, self._step_size, self._state.position)
            )

    def _wrenches(self, wrenches: Mapping[str, ArrayLike] | None) -> Floats:
        packed = self._model.body_wrenches(wrenches)
        for link, value in (wrenches or {}).items():
            if not np.isfinite(np.asarray(value, dtype=np.float64)).all():
                raise RobotDynamicsError(
                    f'external_wrenches: link "{link}": {value!r} is not finite. Cure: give six numbers'
                )
        return packed
