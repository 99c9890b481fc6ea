"""The simulated robot: a model, an integrator, and the state of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.direct_calls import direct_call
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.simulation import arrays, checks
from robot_dynamics_ros.simulation.arrays import (
    Arm,
    BatchState,
    State,
    flatten,
    initial_modes,
    make_arm,
    make_scratch,
    stuck_joints,
)
from robot_dynamics_ros.simulation.integrators import INTEGRATORS
from robot_dynamics_ros.simulation.loops.checks import loop_gaps, require_closed
from robot_dynamics_ros.simulation.steps import steps_for


class BasePlant:
    """What one plant and many have in common: (...) is nothing for one, (N,) for many."""

    _arm: Arm
    _state: State | BatchState
    _effort: Array
    _steps: int

    def __init__(self, model: RobotModel, integrator: str, step_size: float) -> None:
        checks.check_integrator(integrator)
        checks.check_step_size(step_size)
        self._model, self._step_size = model, float(step_size)

    @property
    def model(self) -> RobotModel:
        """The robot; of many the first."""
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
    def position(self) -> Array:
        """Joint positions (..., n), rad or m."""
        return self._state.position.copy()

    @property
    def velocity(self) -> Array:
        """Joint velocities (..., n), rad/s or m/s; exactly 0 for joints that stick."""
        return self._state.velocity.copy()

    @property
    def effort(self) -> Array:
        """Torque (..., n) of the motors in the last step, Nm or N: as asked for, within the effort limits."""
        return self._effort.copy()

    @property
    def loop_forces(self) -> Array:
        """Force (..., loops, 3) that link a of each loop exerts on link b, N, root axes: the mean of the last step.

        Across its plane a planar loop gives none. Where more of a loop's joints stick, or more loops hold a link, than
        would do, rigid bodies do not tell how they share the load: one way that is possible.
        """
        impulse = self._state.impulse[..., self._model.n :]
        return impulse.reshape(*impulse.shape[:-1], -1, 3) / self._step_size

    @property
    def stuck(self) -> NDArray[np.bool_]:
        """Which joints (..., n) friction holds at rest; a joint pressed against its limit is not among them."""
        return stuck_joints(self._model, self._arm.joints, self._state.velocity, self._state.modes)


class Plant(BasePlant):
    """A robot that moves under joint torques, with friction that really sticks and position limits.

    Its state is time, positions, velocities and which joints stick; the same inputs give the same bits.
    Joints stop at their position limits without bouncing; nothing pushes a joint that starts beyond one. Loops that the
    dynamics file names are closed.

    Parameters
    ----------
    model
        The robot; where it is customised, so is the step. RobotModelError if some joint moves no mass.
    integrator
        "rk4": fourth order. "semi_implicit": two to four times as fast, first order, stable under any smooth
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
        For an unknown integrator, a step size that is not positive, an initial state that is not n finite numbers, or
        one in which a loop is open by more than 1e-5 m or opens, naming the loop.
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
        super().__init__(model, integrator, step_size)
        self._settings = np.array([INTEGRATORS[integrator], step_size], dtype=np.float64)
        self._velocity_limits = velocity_limits
        self._load(model)
        self._flat = np.zeros(4 * model.n + 3 * len(model.loops))
        position, velocity, self._effort = self._flat[: 3 * model.n].reshape(3, model.n)
        impulse = self._flat[3 * model.n :]
        self._state = State(position, velocity, np.zeros(len(self._arm.joints.ranges), np.int64), impulse)
        self._start, self._start_velocity = checks.initial_state(model, initial_positions, initial_velocities)
        require_closed(model, self._start, self._start_velocity)
        self.reset()

    def _load(self, model: RobotModel) -> None:
        model.require_mass()
        self._model, self._arm = model, make_arm(model, self._velocity_limits)
        self.__dict__.pop("_advance", None)
        self._no_wrenches = model.body_wrenches(None)

    @cached_property
    def _advance(self) -> Callable[..., object]:
        """(tau, wrenches, report): the step, tied to the robot's numbers and to this plant's state, and compiled."""
        arm = self._arm
        constants = flatten(arm.joints, self._model.effort_limits)
        own = (self._settings, self._flat, self._state.modes)
        modes = np.empty_like(self._state.modes)
        scratch = (make_scratch(arm.robot, self._model.n, len(modes)), modes)
        fixed = (arm.structure, arm.numbers, arm.joints.rows, constants, *own, *scratch)
        return direct_call(steps_for(self._model, arm).plant_step, fixed, (1, 2, 1))

    @property
    def impulse(self) -> Array:
        """Impulse (n,) of dry friction and limits in the last step, Nm s or N s; it does no positive work."""
        return self._state.impulse[: self._model.n].copy()

    @property
    def loop_gaps(self) -> Array:
        """How far the two points of each loop (loops,) are apart, m."""
        return loop_gaps(self._model, self._state.position)

    @property
    def solves(self) -> int:
        """Linear systems solved for friction and limits in the last call of ``step``; none where all goes on."""
        return int(self._report[arrays.SOLVES])

    @property
    def residual(self) -> float:
        """How far from optimal the friction problem's solutions were in the last call of ``step``, at most.

        A velocity, rad/s or m/s; 0 where all conditions hold exactly.
        """
        return float(self._report[arrays.RESIDUAL])

    def reset(self) -> None:
        """Go back to time 0 and the initial state."""
        self._state.position[:], self._state.velocity[:] = self._start, self._start_velocity
        self._forget()
        self._steps = 0

    def brake(self, count: int = 1) -> None:
        """Let the time of ``count`` steps pass with brakes on, which stop each joint at once where it is."""
        checks.check_count(count)
        self._state.velocity[:] = 0.0
        self._forget()
        self._steps += count

    def _forget(self) -> None:
        """Begin as if nothing had happened before."""
        self._state.modes[:] = initial_modes(self._arm.joints, self._state.velocity)
        self._state.impulse[:] = self._effort[:] = 0.0
        self._report = np.zeros(arrays.REPORT)

    def change_model(self, model: RobotModel) -> None:
        """Go on with a robot whose numbers differ: payload, masses, friction. Time and state stay.

        Raises RobotDynamicsError for a robot with other joints, links or placements.
        """
        if not self._model.differs_in_parameters_only(model):
            raise RobotDynamicsError(
                f'robot "{model.name}" has other joints than "{self._model.name}". '
                "Cure: make another plant, or take with_payload or scaled of the same model"
            )
        self._load(model)

    def warm_up(self) -> None:
        """Compile the step, or load it from the cache, without moving the robot."""
        self._take(np.zeros(self._model.n), 0, self._no_wrenches)

    def step(self, tau: ArrayLike, count: int = 1, external_wrenches: Mapping[str, ArrayLike] | None = None) -> None:
        """Take ``count`` steps under motor torque ``tau`` (n,), Nm or N, clamped to the effort limits.

        ``external_wrenches`` maps a link to the force and moment (6,) that act on it, at its frame's
        origin, in its axes.

        Raises
        ------
        RobotDynamicsError
            For arguments of the wrong shape or not finite, naming the joint or link: the state stays as it
            was. Also where the motion becomes infinite, the mass matrix singular or a loop cannot be closed: the state
            is then that after the last good step.
        """
        checks.check_count(count)
        wrenches = (
            self._no_wrenches if external_wrenches is None else checks.finite_wrenches(self._model, external_wrenches)
        )
        if not self._take(tau, count, wrenches):
            self._take(checks.finite(self._model, "tau", tau), count, wrenches)
        self._steps += int(self._report[arrays.STEPS])
        status = int(self._report[arrays.STATUS])
        if status != arrays.OK:
            joint, position = int(self._report[arrays.JOINT]), self._state.position
            raise RobotDynamicsError(checks.failure(self._model, status, joint, self.time, self._step_size, position))

    def _take(self, tau: ArrayLike, count: int, wrenches: Array) -> bool:
        """Take steps and write the report; return whether ``tau`` is an array as the compiled code takes it."""
        self._report[arrays.COUNT], self._report[arrays.STATUS] = count, arrays.BAD_ARGUMENTS
        self._advance(tau, wrenches, self._report)
        return bool(self._report[arrays.STATUS] != arrays.BAD_ARGUMENTS)
