"""Simulated robot: model, integrator and state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.dynamics.kernels.interpretation import interpreted
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.simulation import checks
from robot_dynamics_ros.simulation.arm import (
    initial_modes,
    kind_for,
    make_arm,
    stuck_joints,
)
from robot_dynamics_ros.simulation.step import arrays
from robot_dynamics_ros.simulation.step.arrays import (
    Arm,
    State,
    make_memory,
    plant_arrays,
)
from robot_dynamics_ros.simulation.step.integrators import INTEGRATORS


class BasePlant:
    """Base class of ``Plant`` and ``PlantBatch``; in shapes, ... is () for a plant and (N,) for a batch.

    n is the number of independent joints, in the order of ``model.joint_names``. Properties return copies of the state.
    ``integrator`` is "semi_implicit" or "rk4", ``step_size`` is in s; others raise RobotDynamicsError.
    """

    _arm: Arm
    _state: State
    _effort: Array
    _steps: int

    def __init__(self, model: RobotModel, integrator: str, step_size: float) -> None:
        checks.check_integrator(integrator)
        checks.check_step_size(step_size)
        self._model = model
        self._step_size = float(step_size)

    @property
    def model(self) -> RobotModel:
        """Robot model; of a batch the first plant's."""
        return self._model

    @property
    def step_size(self) -> float:
        """Integration step, s."""
        return self._step_size

    @property
    def time(self) -> float:
        """Simulated time since construction or the last ``reset``, s: number of steps times step size."""
        return self._steps * self._step_size

    @property
    def position(self) -> Array:
        """Joint positions (..., n), rad or m."""
        return self._state.position.copy()

    @property
    def velocity(self) -> Array:
        """Joint velocities (..., n), rad/s or m/s; exactly 0 for stuck joints."""
        return self._state.velocity.copy()

    @property
    def effort(self) -> Array:
        """Motor torque (..., n) in the last step, Nm or N: the commanded torque clamped to the effort limits.

        0 before the first step and after steps with the joints locked.
        """
        return self._effort.copy()

    def new_reports(self, counts: IntArray) -> Array:
        """Return reports (S, ..., columns) for ``follow``, with the numbers of steps ``counts`` (S,)."""
        columns = interpreted(arrays.report_columns)(self._state)
        reports = np.zeros((len(counts), *self._effort.shape[:-1], columns))
        reports.T[arrays.COUNT] = counts
        return reports

    def samples(self, reports: Array) -> list[NDArray[Any]]:
        """Return the states in ``reports`` (S, ..., columns) that ``follow`` has filled, as views.

        These are position, velocity, effort, stuck joints, all (S, ..., n), and loop forces (S, ..., 3 loops). Units
        are rad or m, per s, Nm or N, and N.
        """
        n = self._model.n
        ends = np.cumsum([n, n, n, n, self._state.impulse.shape[-1] - n])
        position, velocity, effort, _, impulse, modes = np.split(
            reports[..., arrays.SAMPLE :], ends, axis=-1
        )
        joints = self._arm.joints
        stuck = stuck_joints(self._model, joints, velocity, modes.astype(np.int64))
        return [position, velocity, effort, stuck, impulse / self._step_size]

    @property
    def loop_forces(self) -> Array:
        """Force (..., loops, 3) that link a of each loop exerts on link b, N, averaged over the last step.

        In the axes of the root link; 0 before the first step. The component normal to the plane of a planar loop is 0.
        If stuck joints or further loops make the mechanism statically indeterminate, this is one possible distribution
        of the load.
        """
        impulse = self._state.impulse[..., self._model.n :]
        return impulse.reshape(*impulse.shape[:-1], -1, 3) / self._step_size

    @property
    def stuck(self) -> NDArray[np.bool_]:
        """True for joints (..., n) held at rest by friction, and not by a joint limit.

        With loops: True for all joints at rest if any joint is stuck, as it may hold them through the loop.
        """
        return stuck_joints(
            self._model, self._arm.joints, self._state.velocity, self._state.modes
        )


class Plant(BasePlant):
    """Simulated robot under joint torques, with Coulomb friction, exact sticking and inelastic position limits.

    Its state is time, positions, velocities and friction modes (slip, stick or at a limit). Equal inputs give bitwise
    equal results. A joint stops at its position limit without rebound; a joint that starts beyond one is not pushed
    back. The loop constraints of the dynamics file are enforced. Each step solves an optimisation problem for the
    impulses of friction and limits, the friction problem.

    Parameters
    ----------
    model
        Robot model. If it is customised, so is the compiled step.
    integrator
        "rk4": fourth order. "semi_implicit": first order, two to four times as fast, stable with any viscous or
        sigmoid friction; an arm that moves fast without friction can gain energy.
    step_size
        Integration step (s).
    initial_positions
        Shape (n,), rad or m. None: 0 or the position limit nearest to it.
    initial_velocities
        Shape (n,), rad/s or m/s. None: 0.
    velocity_limits
        True to limit the joint velocities to those of the URDF.

    Raises
    ------
    RobotModelError
        If a joint moves no mass.
    RobotDynamicsError
        For an unknown integrator, a step size that is not positive, and an initial state that is not n finite numbers;
        also if a loop is open by more than 1e-5 m or opens in the initial state. The message names joint or loop.
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
        self._integrator = INTEGRATORS[integrator]
        self._velocity_limits = velocity_limits
        self._set_model(model)
        self._start, self._start_velocity = checks.initial_state(
            model, initial_positions, initial_velocities
        )
        checks.require_closed(model, self._start, self._start_velocity)
        self.reset()

    def _set_model(self, model: RobotModel) -> None:
        model.require_mass()
        self._model = model
        self._arm = make_arm(model, self._velocity_limits)
        self._memory = make_memory(
            self._arm, model.effort_limits, self._integrator, self._step_size
        )
        views = interpreted(plant_arrays)(self._memory)
        self._state = views.state
        self._effort = views.effort
        self.__dict__.pop("_advance", None)
        self._no_wrenches = model.body_wrenches(None)

    @cached_property
    def _advance(self) -> Callable[..., int]:
        """Compiled step, a function of (tau, wrenches, reports), bound to the memory of this plant."""
        return partial(kind_for(self._model).plant_step, *self._memory)

    @property
    def impulse(self) -> Array:
        """Impulse (n,) of Coulomb friction and joint limits in the last step, Nm s or N s; does no positive work."""
        return self._state.impulse[: self._model.n].copy()

    @property
    def loop_gaps(self) -> Array:
        """Distance (loops,) between the two points of each loop in the present state, m; empty without loops."""
        return checks.loop_gaps(self._model, self._state.position)

    @property
    def solves(self) -> int:
        """Number of linear systems solved for friction and limits in the last call of ``step``.

        0 if no friction mode changed, and before the first call.
        """
        return int(self._report[arrays.SOLVES])

    @property
    def residual(self) -> float:
        """Largest residual of the friction problem's optimality conditions in the last call of ``step``.

        A velocity, rad/s or m/s; 0 for exact solutions, and before the first call.
        """
        return float(self._report[arrays.RESIDUAL])

    def reset(self) -> None:
        """Restore time 0 and the initial state; the present model is kept."""
        self._state.position[:] = self._start
        self._state.velocity[:] = self._start_velocity
        self._reset_history()
        self._steps = 0

    def brake(self, count: int = 1) -> None:
        """Advance time by ``count`` steps with all joints locked: positions stay, velocities and effort become 0.

        Raises RobotDynamicsError if ``count`` is less than 1.
        """
        checks.check_count(count)
        self._state.velocity[:] = 0.0
        self._reset_history()
        self._steps += count

    def _reset_history(self) -> None:
        """Reset modes, impulse, change of velocity, effort and report."""
        self._state.modes[:] = initial_modes(self._arm.joints, self._state.velocity)
        self._state.impulse[:] = self._state.velocity_change[:] = self._effort[:] = 0.0
        self._report = self.new_reports(np.zeros(1, np.int64))[0]

    def change_model(self, model: RobotModel) -> None:
        """Replace the model by one with other payload, masses or friction; time and state are kept.

        Raises RobotDynamicsError if joints, links or their placements differ, and RobotModelError if a joint moves no
        mass.
        """
        if not self._model.differs_in_parameters_only(model):
            raise RobotDynamicsError(
                f'robot "{model.name}" differs from "{self._model.name}" in its joints, links or placements. '
                "Cure: create another plant, or use with_payload or scaled of the same model"
            )
        state = self._state
        effort = self._effort
        self._set_model(model)
        for mine, before in zip(
            (*self._state, self._effort), (*state, effort), strict=True
        ):
            mine[:] = before

    def warm_up(self) -> None:
        """Compile the step or load it from the cache, so that the first ``step`` is not delayed.

        The state is unchanged.
        """
        self._call_step(np.zeros(self._model.n), 0, self._no_wrenches)

    def step(
        self,
        tau: ArrayLike,
        count: int = 1,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        """Take steps under a constant motor torque.

        Parameters
        ----------
        tau
            Motor torque (n,), Nm or N; clamped to the effort limits.
        count
            Number of steps, at least 1.
        external_wrenches
            Wrench (6,) by link name: force (N) and moment (Nm) that act on the link at the origin of its frame, in
            the axes of its frame, constant in these axes during the steps. None: no wrenches.

        Raises
        ------
        RobotDynamicsError
            For arguments of the wrong shape or not finite, naming the joint or link; the state is then unchanged. Also
            if the motion becomes infinite, the mass matrix is singular or a loop cannot be closed; the state is then
            that after the last successful step.
        """
        checks.check_count(count)
        wrenches = (
            self._no_wrenches
            if external_wrenches is None
            else checks.finite_wrenches(self._model, external_wrenches)
        )
        status = self._call_step(self._model.vector("tau", tau), count, wrenches)
        if status == arrays.BAD_ARGUMENTS:
            checks.finite(self._model, "tau", tau)
        self._steps += int(self._report[arrays.STEPS])
        if status != arrays.OK:
            self._fail(status, self._report)

    def follow(self, tau: Array, reports: Array) -> None:
        """Take the steps of ``reports`` (S, columns), from ``new_reports``, under ``tau`` (S, n), and fill them.

        Both are C-contiguous; the torques, Nm or N, are finite, and are clamped to the effort limits. Raises
        RobotDynamicsError for a step that fails, as ``step`` does.
        """
        status = self._advance(tau.ravel(), self._no_wrenches, reports.ravel())
        self._steps += int(reports[:, arrays.STEPS].sum())
        if status != arrays.OK:
            failed = np.flatnonzero(reports[:, arrays.STATUS])
            self._fail(status, reports[failed[0]])

    def _fail(self, status: int, report: Array) -> NoReturn:
        """Raise RobotDynamicsError for the failed step of a report."""
        joint = int(report[arrays.JOINT])
        position = self._state.position
        raise RobotDynamicsError(
            checks.failure(
                self._model, status, joint, self.time, self._step_size, position
            )
        )

    def _call_step(self, tau: Array, count: int, wrenches: Array) -> int:
        """Call the compiled step, which writes the report; return its status."""
        self._report[arrays.COUNT] = count
        return self._advance(tau, wrenches, self._report)
