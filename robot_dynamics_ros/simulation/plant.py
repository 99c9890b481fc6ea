"""The simulated robot: a model, an integrator, and the state of both."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics_ros.errors import RobotDynamicsError, RobotModelError
from robot_dynamics_ros.kernels.compilation import mark_compiled
from robot_dynamics_ros.kernels.layout import COULOMB, COULOMB_NEGATIVE, STATIC
from robot_dynamics_ros.kernels.types import Floats, Ints
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.simulation.integrators import INTEGRATORS, NOT_FINITE, OK, Arm, State, advance
from robot_dynamics_ros.simulation.stick_slip import BACKWARD, FORWARD, STUCK


class Plant:
    """A robot that moves under joint torques, with friction that really sticks and position limits.

    Its state is time, positions, velocities and which joints stick; the same inputs give the same bits.
    Joints stop at their position limits without bouncing; nothing pushes a joint that starts beyond one.

    Parameters
    ----------
    model
        The robot. RobotModelError if some joint moves no mass.
    integrator
        "rk4": accurate. "semi_implicit": about four times as fast, first order, stable under any smooth
        friction; an arm that spins fast without friction can gain energy.
    step_size
        Length of a step (s).
    initial_positions
        Shape (n,), rad or m; None: 0, or the limit nearest to it.
    initial_velocities
        Shape (n,), rad/s or m/s; None: at rest.

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
    ) -> None:
        model.require_mass()
        if integrator not in INTEGRATORS:
            raise RobotDynamicsError(f'no integrator "{integrator}". Cure: use one of {", ".join(INTEGRATORS)}')
        if not (math.isfinite(step_size) and step_size > 0.0):
            raise RobotDynamicsError(f"step_size is {step_size!r} s. Cure: give a positive number, as 0.001")
        self._model = model
        self._integrator = INTEGRATORS[integrator]
        self._step_size = float(step_size)
        packed = model.packed
        if packed.coupled:
            raise RobotModelError(
                f'robot "{model.name}": some of its joints follow others (mimic or couplings): they cannot be '
                "simulated. Cure: lock them"
            )
        rows = [packed.moving_joints.index(name) for name in packed.joint_names]
        self._friction = packed.friction[rows]
        self._arm = Arm(packed.robot, self._friction, packed.position_lower, packed.position_upper)
        if initial_positions is None:
            self._start = np.clip(np.zeros(model.n), packed.position_lower, packed.position_upper)
        else:
            self._start = self._finite("initial_positions", initial_positions).copy()
        still = np.zeros(model.n) if initial_velocities is None else initial_velocities
        self._start_velocity = self._finite("initial_velocities", still).copy()
        self.reset()

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
    def stuck(self) -> NDArray[np.bool_]:
        """Which joints (n,) friction holds at rest; a joint pressed against its limit is not among them."""
        return np.equal(self._state.pattern, STUCK)

    def reset(self) -> None:
        """Go back to time 0 and the initial state."""
        velocity, friction = self._start_velocity, self._friction
        # A joint without dry friction never sticks, not even at rest.
        sticks = (velocity == 0.0) & (friction[:, [COULOMB, COULOMB_NEGATIVE, STATIC]].max(axis=1) > 0.0)
        pattern: Ints = np.where(sticks, STUCK, np.where(velocity < 0.0, BACKWARD, FORWARD)).astype(np.int64)
        self._state = State(self._start.copy(), velocity.copy(), pattern, np.zeros(self._model.n))
        self._effort = np.zeros(self._model.n)
        self._steps = 0

    def warm_up(self) -> None:
        """Compile the step, or load it from the cache, without moving the robot."""
        wrenches = self._wrenches(None)
        advance(self._arm, self._integrator, self._step_size, 0, self._effort, wrenches, self._state)
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
        if count < 1:
            raise RobotDynamicsError(f"count is {count}. Cure: take at least one step")
        limits = self._model.packed.effort_limits
        effort = np.clip(self._finite("tau", tau), -limits, limits)
        wrenches = self._wrenches(external_wrenches)
        status, joint, done, _, _ = advance(
            self._arm, self._integrator, self._step_size, count, effort, wrenches, self._state
        )
        self._steps += done
        if done > 0:
            self._effort = effort
        if status != OK:
            raise RobotDynamicsError(self._failure(status, joint))

    def _failure(self, status: int, joint: int) -> str:
        where = f't = {self.time:.6g} s: joint "{self._model.joint_names[joint]}"'
        if status == NOT_FINITE:
            return (
                f"{where}: its motion becomes infinite in this step. Cure: take a smaller step_size than "
                f"{self._step_size} s, or smaller torques; check the masses and the friction"
            )
        return (
            f"{where}: the mass matrix is not positive definite, position {self.position.tolist()}. "
            "Cure: give the links beyond it mass and inertia"
        )

    def _finite(self, name: str, value: ArrayLike) -> Floats:
        array = self._model.vector(name, value)
        for joint, number in zip(self._model.joint_names, array.tolist(), strict=True):
            if not math.isfinite(number):
                raise RobotDynamicsError(f'{name}: joint "{joint}": {number} is not finite. Cure: give a number')
        return array

    def _wrenches(self, wrenches: Mapping[str, ArrayLike] | None) -> Floats:
        packed = self._model.body_wrenches(wrenches)
        for link, value in (wrenches or {}).items():
            if not np.isfinite(np.asarray(value, dtype=np.float64)).all():
                raise RobotDynamicsError(
                    f'external_wrenches: link "{link}": {value!r} is not finite. Cure: give six numbers'
                )
        return packed
