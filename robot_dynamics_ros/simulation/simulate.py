"""Closed-loop simulation of a robot and a controller, and its result.

A plant is the simulated robot; it takes integration steps. A control period is a whole number of steps. Times are
simulated seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from tqdm import tqdm

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.progress import BAR
from robot_dynamics_ros.dynamics.description.inertia import real_numbers
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.simulation.checks import finite
from robot_dynamics_ros.simulation.plant import Plant
from robot_dynamics_ros.simulation.plant_batch import PlantBatch
from robot_dynamics_ros.simulation.sensors import EffortDelay, Measurement, Sensors

_STATES = ("position", "velocity", "measured_position", "measured_velocity", "stuck")
_INPUTS = ("command", "effort")


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """Result of a simulation, sampled at the start of each of T control periods and at the end. SI units.

    Arrays of a batch of N plants have the batch axis first: (N, T + 1, n) and (N, T, n).

    Attributes
    ----------
    time
        (T + 1,), s: simulated time of the plant, which is 0 at the start for ``simulate`` and ``simulate_batch``.
    position, velocity
        (T + 1, n), rad or m, rad/s or m/s: state of the plant at ``time``.
    measured_position, measured_velocity
        (T + 1, n): sensor readings, the input of the controller. Without noise and encoder resolution these are the
        same array objects as ``position`` and ``velocity``.
    stuck
        (T + 1, n): True for joints held at rest by friction.
    command
        (T, n), Nm or N: output of the controller at ``time[k]``.
    effort
        (T, n), Nm or N: motor torque in the last step before ``time[k + 1]``, that is the command after delay and
        effort limits. It is constant over the period if the delay is a whole number of periods.
    residual, solves
        (T,): largest residual of the optimality conditions of friction and limits in the period, rad/s or m/s, and the
        number of linear systems solved for them. None for a batch.
    loop_forces
        (T, loops, 3), of a batch (N, T, loops, 3), N: force that link a of each loop exerts on link b, in the axes of
        the root link, averaged over the last step before ``time[k + 1]``. None for a robot without loops.
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
        held = [] if plants else np.flatnonzero(self.stuck[1:].all(axis=0)).tolist()
        note = f"; friction holds joints {held} at rest all the time" if held else ""
        return f"Run({count}{n} joints, {samples - 1} control periods, {self.time[-1]:g} s{note})"


class SimulationError(RobotDynamicsError):
    """Error that ended a simulation early.

    Parameters
    ----------
    message
        Text, with the simulated time of the failure.
    run
        The completed control periods, a ``Run``; its last sample is the state at the end of them. Kept as attribute.
    """

    def __init__(self, message: str, run: Run) -> None:
        super().__init__(message)
        self.run = run

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.run)


def joined(runs: Sequence[Run], periods: int) -> Run:
    """Return the first ``periods`` control periods of batches, concatenated along the batch axis, as copies.

    ``runs`` are one or more with the same times. A single run, which may be that of one plant, is only shortened.
    """
    arrays: dict[str, Any] = {}
    first = runs[0]
    # by id: exact measurements share the arrays of the motion
    made: dict[int, Any] = {}
    for name in (*_STATES, *_INPUTS):
        key = id(getattr(first, name))
        if key not in made:
            samples = periods + 1 if name in _STATES else periods
            made[key] = np.concatenate(
                [getattr(run, name)[..., :samples, :] for run in runs]
            )
        arrays[name] = made[key]
    residual = None if first.residual is None else first.residual[:periods]
    solves = None if first.solves is None else first.solves[:periods]
    forces = [
        run.loop_forces[..., :periods, :, :]
        for run in runs
        if run.loop_forces is not None
    ]
    loop_forces = np.concatenate(forces) if forces else None
    return Run(
        time=first.time[: periods + 1],
        residual=residual,
        solves=solves,
        loop_forces=loop_forces,
        **arrays,
    )


Controller = Callable[[float, Array, Array], ArrayLike]
"""Function of time (s), measured positions and velocities (n,) that returns a torque (n,), Nm or N; batch: (N, n)."""

EXACT = Sensors()


class Schedule(NamedTuple):
    """Timing of a simulation in plant steps.

    Attributes
    ----------
    periods
        Number of control periods.
    steps
        Steps in a control period.
    delay
        Effort delay in steps.
    """

    periods: int
    steps: int
    delay: int


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
    """Simulate a robot under a controller from time 0 to ``duration``.

    Deterministic: equal arguments give bitwise equal results. A terminal shows a progress bar if it takes more than a
    second.

    Parameters
    ----------
    model
        Model of the plant. The controller may use another model.
    controller
        Function ``controller(t, q, qd)`` that returns the torque (n,), Nm or N, for the time t (s) and the measured
        positions (rad or m) and velocities, both (n,). It is called once per control period. Alternatively an array
        (T, n) of torques. A torque is held until the next one.
    duration
        Simulated time (s), a whole number T of control periods.
    method
        Integrator. "rk4": fourth order. "semi_implicit": first order, faster, stable with any viscous friction.
    step_size
        Integration step (s).
    control_period
        Time between calls of the controller (s), a whole number of steps. None: one step.
    initial_positions, initial_velocities
        Shape (n,), rad or m, rad/s or m/s. None: position 0 or the position limit nearest to it, velocity 0.
    velocity_limits
        True to limit the joint velocities to those of the URDF.
    sensors
        Sensor model. Default: exact measurements.
    effort_delay
        Time from a command to its effect (s), a whole number of steps. The torque is 0 before the first command acts.

    Returns
    -------
    Run
        Motion, measurements and torques.

    Raises
    ------
    SimulationError
        If a step fails or the controller's torque is not n finite numbers; the message states the time, and ``run``
        has the completed periods. Other exceptions of the controller are not caught.
    RobotModelError
        If a joint moves no mass.
    RobotDynamicsError
        For times that are not whole numbers of steps or periods, and for other invalid arguments, with their names.
    """
    plant = Plant(
        model, method, step_size, initial_positions, initial_velocities, velocity_limits
    )
    schedule = schedule_of(duration, step_size, control_period, effort_delay)
    return run_plant(plant, controller, schedule, sensors.start(model.n))


def schedule_of(
    duration: float, step_size: float, control_period: float | None, effort_delay: float
) -> Schedule:
    """Return the timing in steps of ``step_size`` (s), from three times in s.

    None as ``control_period`` is one step. ``effort_delay``, at least 0, is the time from a command to its effect.
    Raises RobotDynamicsError unless the duration is one or more whole control periods, the period one or more whole
    steps, and the delay a whole number of steps.
    """
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
    """Simulate a plant or a batch of N plants, from its present state, under a controller.

    Parameters
    ----------
    plant
        Plant or batch, which is advanced.
    controller
        Function ``controller(t, q, qd)`` that returns the torque (n,), or (N, n) of a batch, Nm or N, for the plant's
        time (s) and the measured positions (rad or m) and velocities, (n,) or (N, n). Called once per control period.
        Alternatively an array (T, n), or (N, T, n), of torques for the T periods.
    schedule
        Numbers of periods and steps.
    measurement
        Sensors that the controller reads, from ``Sensors.start``.
    progress
        True to show a progress bar in a terminal.

    Returns
    -------
    Run
        Motion, measurements and torques; the first sample is the present state.

    Raises
    ------
    SimulationError
        If a step fails or a torque is not finite or has a wrong shape; ``run`` has the completed periods.
    RobotDynamicsError
        For an array of torques of a wrong shape.
    """
    periods, steps, delay = schedule
    shape = plant.position.shape
    ask = (
        controller
        if callable(controller)
        else _open_loop(controller, shape, periods, plant.model.joint_names)
    )
    run = _empty(
        shape, periods, measurement, isinstance(plant, Plant), len(plant.model.loops)
    )
    delayed = EffortDelay(delay, np.zeros(shape))
    with tqdm(
        total=periods, unit="period", **(BAR if progress else {"disable": True})
    ) as bar:
        for k in range(periods):
            q, qd = _sample(plant, measurement, run, k)
            try:
                run.command[..., k, :] = finite(
                    plant.model,
                    "the controller's torque",
                    ask(plant.time, q, qd),
                    shape[:-1],
                )
                delayed.give(run.command[..., k, :])
                for acting, count in delayed.pieces(steps):
                    plant.step(acting, count)
                    if (
                        isinstance(plant, Plant)
                        and run.residual is not None
                        and run.solves is not None
                    ):
                        run.residual[k] = max(run.residual[k], plant.residual)
                        run.solves[k] += plant.solves
            except RobotDynamicsError as error:
                message = f"the simulation ends at t = {plant.time:.6g} s: {error}"
                raise SimulationError(message, joined([run], k)) from error
            run.effort[..., k, :] = plant.effort
            if run.loop_forces is not None:
                run.loop_forces[..., k, :, :] = plant.loop_forces
            bar.update()
    _sample(plant, measurement, run, periods)
    return run


def _sample(
    plant: Plant | PlantBatch, measurement: Measurement, run: Run, k: int
) -> tuple[Array, Array]:
    """Record the plant's state as sample k; return measured position and velocity."""
    position = plant.position
    velocity = plant.velocity
    q, qd = measurement.read(position, velocity)
    run.time[k] = plant.time
    run.position[..., k, :] = position
    run.velocity[..., k, :] = velocity
    run.measured_position[..., k, :] = q
    run.measured_velocity[..., k, :] = qd
    run.stuck[..., k, :] = plant.stuck
    return q, qd


def _empty(
    shape: tuple[int, ...],
    periods: int,
    measurement: Measurement,
    optimality: bool,
    loops: int,
) -> Run:
    """Return an uninitialised run; the time axis is the first in memory, so that a sample is contiguous."""

    def states(dtype: type = np.float64) -> Any:
        return np.moveaxis(np.empty((periods + 1, *shape), dtype), 0, -2)

    def inputs() -> Array:
        return np.moveaxis(np.empty((periods, *shape)), 0, -2)

    position = states()
    velocity = states()
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
    if not (
        math.isfinite(count)
        and math.isclose(count, round(count), rel_tol=1e-9)
        and round(count) >= least
    ):
        raise RobotDynamicsError(
            f"{name}: {value!r} s is {count:.9g} {units} of {unit!r} s. Cure: make it a whole number, at least {least}"
        )
    return round(count)


def _open_loop(
    torques: ArrayLike, shape: tuple[int, ...], periods: int, names: tuple[str, ...]
) -> Controller:
    """Return a controller that ignores its arguments and returns the rows of ``torques`` in order."""
    array = real_numbers(torques)
    expected = [(*lead, periods, shape[-1]) for lead in {(), shape[:-1]}]
    if array is None or array.shape not in expected:
        given = f"{torques!r}" if array is None else f"an array {array.shape}"
        raise RobotDynamicsError(
            f"controller: {given}. Cure: give a function of t, q and qd, or an array of torques of shape "
            f"{' or '.join(map(str, expected))}, one row per control period, columns {', '.join(names)}"
        )
    rows = iter(np.moveaxis(array, -2, 0))
    return lambda t, q, qd: next(rows)
