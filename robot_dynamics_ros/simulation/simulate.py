"""What a simulation gives: the motion, what was measured of it, and the torques."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from tqdm import tqdm

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array, IntArray
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.model.inertia import real_numbers
from robot_dynamics_ros.progress import BAR
from robot_dynamics_ros.simulation.checks import finite
from robot_dynamics_ros.simulation.plant import Plant
from robot_dynamics_ros.simulation.plant_batch import PlantBatch
from robot_dynamics_ros.simulation.sensors import EffortDelay, Measurement, Sensors

_STATES = ("position", "velocity", "measured_position", "measured_velocity", "stuck")
_INPUTS = ("command", "effort")


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """A simulated motion, sampled once in each of T control periods and at the end. SI units.

    Arrays of many plants have a leading axis more: (N, T + 1, n) and (N, T, n). What is measured exactly is the very
    array of the motion.

    Attributes
    ----------
    time
        (T + 1,) s.
    position, velocity
        (T + 1, n): the plant's state at ``time``.
    measured_position, measured_velocity
        (T + 1, n): what the sensors made of it, and the controller saw.
    stuck
        (T + 1, n): which joints friction held at rest.
    command
        (T, n): what the controller answered at ``time[k]``.
    effort
        (T, n): torque of the motors in the last step before ``time[k + 1]``: what was commanded, delayed, within the
        effort limits. It was the same in the whole period, unless the delay ends within periods.
    residual, solves
        (T,): for one plant of method rk4 or semi_implicit, the largest residual of the conditions of friction and
        limits in the period, and the linear systems solved for them. None for others.
    loop_forces
        (T, loops, 3), (N, T, loops, 3) of many plants: force that link a of each loop exerts on link b, N, root axes,
        the mean of the last step before ``time[k + 1]``. None for a robot without loops.
    """

    time: Array
    position: Array
    velocity: Array
    measured_position: Array
    measured_velocity: Array
    stuck: NDArray[np.bool_]
    command: Array
    effort: Array
    residual: Array | None = None
    solves: IntArray | None = None
    loop_forces: Array | None = None

    def __repr__(self) -> str:
        *plants, samples, n = self.position.shape
        count = f"{plants[0]} plants, " if plants else ""
        return f"Run({count}{n} joints, {samples - 1} control periods, {self.time[-1]:g} s)"


class SimulationError(RobotDynamicsError):
    """A simulation that could not go on; ``run`` is what was simulated until then."""

    def __init__(self, message: str, run: Run) -> None:
        super().__init__(message)
        self.run = run

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.run)


def joined(runs: Sequence[Run], periods: int) -> Run:
    """One run of all their plants, as long as the first ``periods`` control periods."""
    arrays: dict[str, Any] = {}
    first = runs[0]
    made: dict[int, Any] = {}  # what is measured may be the very array of the motion
    for name in (*_STATES, *_INPUTS):
        key = id(getattr(first, name))
        if key not in made:
            samples = periods + 1 if name in _STATES else periods
            made[key] = np.concatenate([getattr(run, name)[..., :samples, :] for run in runs])
        arrays[name] = made[key]
    residual = None if first.residual is None else first.residual[:periods]
    solves = None if first.solves is None else first.solves[:periods]
    forces = [run.loop_forces[..., :periods, :, :] for run in runs if run.loop_forces is not None]
    loop_forces = np.concatenate(forces) if forces else None
    return Run(time=first.time[: periods + 1], residual=residual, solves=solves, loop_forces=loop_forces, **arrays)


Controller = Callable[[float, Array, Array], ArrayLike]
"""From time (s), measured positions and velocities (n,) to a torque (n,), Nm or N; (N, n) each for many plants."""

EXACT = Sensors()


class Schedule(NamedTuple):
    """When what happens, in steps of the plant."""

    periods: int  # of control, in the whole simulation
    steps: int  # in a period
    delay: int  # of the torques


def simulate(
    model: RobotModel,
    controller: Controller | ArrayLike,
    duration: float,
    *,
    method: str = "rk4",
    step_size: float = 0.001,
    control_period: float | None = None,
    initial_positions: ArrayLike | None = None,
    initial_velocities: ArrayLike | None = None,
    velocity_limits: bool = False,
    sensors: Sensors = EXACT,
    effort_delay: float = 0.0,
) -> Run:
    """Let a controller move a robot for ``duration`` seconds from time 0 on. The same arguments give the same bits.

    A run that takes more than a second shows its progress on a terminal.

    Parameters
    ----------
    model
        The robot that moves; the controller may believe in another one.
    controller
        ``controller(t, q, qd)`` gives the torque (n,), Nm or N, for time t and measured positions and velocities
        (n,), once in each control period. Or all these torques as an array (T, n). A torque holds until the next.
    duration
        Simulated time (s), a whole number T of control periods.
    method
        "rk4" or "semi_implicit", see ``Plant``.
    step_size
        Length of the plant's steps (s).
    control_period
        Time between calls of the controller (s), a whole number of steps; None: one step.
    initial_positions, initial_velocities
        (n,), rad or m, rad/s or m/s; None: 0, or the position limit nearest to it, and at rest.
    velocity_limits
        Whether joints cannot go faster than their limits, see ``Plant``.
    sensors
        What the controller measures; exact by default.
    effort_delay
        Time after which a torque acts (s), a whole number of steps. Until the first one acts there is none.

    Raises
    ------
    SimulationError
        Where the plant cannot go on or the controller's torque is not n finite numbers, with the time; its ``run`` is
        what was simulated until then. Other errors of the controller come through as they are.
    RobotDynamicsError
        For settings that cannot be, and for what ``Plant`` refuses.
    """
    plant = Plant(model, method, step_size, initial_positions, initial_velocities, velocity_limits)
    schedule = schedule_of(duration, step_size, control_period, effort_delay)
    return run_plant(plant, controller, schedule, sensors.start(model.n))


def schedule_of(duration: float, step_size: float, control_period: float | None, effort_delay: float) -> Schedule:
    """Express times (s) in steps of ``step_size``; RobotDynamicsError for what is no whole number of them."""
    period = step_size if control_period is None else control_period
    return Schedule(
        steps=_whole("control_period", period, "steps", step_size, 1),
        delay=_whole("effort_delay", effort_delay, "steps", step_size, 0),
        periods=_whole("duration", duration, "control periods", period, 1),
    )


def run_plant(
    plant: Plant | PlantBatch,
    controller: Controller | ArrayLike,
    schedule: Schedule,
    measurement: Measurement,
    progress: bool = True,
) -> Run:
    """Run a controller on a plant, or on many at once; errors as ``simulate``."""
    periods, steps, delay = schedule
    shape = plant.position.shape
    ask = controller if callable(controller) else _prescribed(controller, shape, periods, plant.model.joint_names)
    run = _empty(shape, periods, measurement, isinstance(plant, Plant), len(plant.model.loops))
    delayed = EffortDelay(delay, np.zeros(shape))
    with tqdm(total=periods, unit="period", **(BAR if progress else {"disable": True})) as bar:
        for k in range(periods):
            q, qd = _sample(plant, measurement, run, k)
            try:
                run.command[..., k, :] = finite(
                    plant.model, "the controller's torque", ask(plant.time, q, qd), shape[:-1]
                )
                delayed.give(run.command[..., k, :])
                for acting, count in delayed.pieces(steps):
                    plant.step(acting, count)
                    if isinstance(plant, Plant) and run.residual is not None and run.solves is not None:
                        run.residual[k] = max(run.residual[k], plant.residual)
                        run.solves[k] += plant.solves
            except RobotDynamicsError as problem:
                message = f"the simulation ends at t = {plant.time:.6g} s: {problem}"
                raise SimulationError(message, joined([run], k)) from problem
            run.effort[..., k, :] = plant.effort
            if run.loop_forces is not None:
                run.loop_forces[..., k, :, :] = plant.loop_forces
            bar.update()
    _sample(plant, measurement, run, periods)
    return run


def _sample(plant: Plant | PlantBatch, measurement: Measurement, run: Run, k: int) -> tuple[Array, Array]:
    """Write the plant's state down as the k-th sample; return what is measured of it."""
    position, velocity = plant.position, plant.velocity
    q, qd = measurement.read(position, velocity)
    run.time[k] = plant.time
    run.position[..., k, :], run.velocity[..., k, :] = position, velocity
    run.measured_position[..., k, :], run.measured_velocity[..., k, :] = q, qd
    run.stuck[..., k, :] = plant.stuck
    return q, qd


def _empty(shape: tuple[int, ...], periods: int, measurement: Measurement, optimality: bool, loops: int) -> Run:
    """A run to be filled in; in memory the time's axis is the first, so that a sample is written in one place."""

    def states(dtype: type = np.float64) -> Any:
        return np.moveaxis(np.empty((periods + 1, *shape), dtype), 0, -2)

    def inputs() -> Array:
        return np.moveaxis(np.empty((periods, *shape)), 0, -2)

    position, velocity = states(), states()
    return Run(
        time=np.empty(periods + 1),
        position=position,
        velocity=velocity,
        measured_position=position if measurement.exact_position else states(),
        measured_velocity=velocity if measurement.exact_velocity else states(),
        stuck=states(np.bool_),
        command=inputs(),
        effort=inputs(),
        residual=np.zeros(periods) if optimality else None,
        solves=np.zeros(periods, np.int64) if optimality else None,
        loop_forces=np.empty((*shape[:-1], periods, loops, 3)) if loops else None,
    )


def _whole(name: str, value: float, units: str, unit: float, least: int) -> int:
    count = value / unit
    if not (math.isfinite(count) and math.isclose(count, round(count), rel_tol=1e-9) and round(count) >= least):
        raise RobotDynamicsError(
            f"{name}: {value!r} s are {count:.9g} {units} of {unit!r} s. Cure: make it a whole number, at least {least}"
        )
    return round(count)


def _prescribed(torques: ArrayLike, shape: tuple[int, ...], periods: int, names: tuple[str, ...]) -> Controller:
    """A controller that gives one row after the other, whatever happens."""
    array = real_numbers(torques)
    expected = [(*lead, periods, shape[-1]) for lead in {(), shape[:-1]}]
    if array is None or array.shape not in expected:
        given = f"{torques!r}" if array is None else f"an array {array.shape}"
        raise RobotDynamicsError(
            f"controller: {given}. Cure: give a function of t, q and qd, or torques "
            f"{' or '.join(map(str, expected))}: a row for each control period, for {', '.join(names)}"
        )
    rows = iter(np.moveaxis(array, -2, 0))
    return lambda t, q, qd: next(rows)
