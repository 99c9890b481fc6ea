"""Closed-loop simulation of a robot and a controller, and its result.

A plant is the simulated robot; it takes integration steps. A control period is a whole number of steps. Times are
simulated seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from tqdm import tqdm

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.progress import BAR
from robot_dynamics_ros.dynamics.description.inertia import real_numbers
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.simulation.checks import check_step_size, finite
from robot_dynamics_ros.simulation.plant import Plant
from robot_dynamics_ros.simulation.plant_batch import PlantBatch
from robot_dynamics_ros.simulation.sensors import Measurement, Sensors
from robot_dynamics_ros.simulation.step import arrays
from robot_dynamics_ros.simulation.thresholds import PROGRESS_STEPS

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


TorqueFunction = Callable[[float, Array, Array], ArrayLike]
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
    controller: TorqueFunction | ArrayLike,
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
    Raises RobotDynamicsError unless the step size is positive, the duration is one or more whole control periods, the
    period one or more whole steps, and the delay a whole number of steps.
    """
    check_step_size(step_size)
    period = step_size if control_period is None else control_period
    return Schedule(
        steps=_whole("control_period", period, "steps", step_size, 1),
        delay=_whole("effort_delay", effort_delay, "steps", step_size, 0),
        periods=_whole("duration", duration, "control periods", period, 1),
    )


def run_plant(
    plant: Plant | PlantBatch,
    controller: TorqueFunction | ArrayLike,
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
    recorded = _RecordedPlant(plant, schedule, measurement)
    if not callable(controller):
        controller = _table(controller, plant, schedule.periods)
    with tqdm(
        total=schedule.periods,
        unit="period",
        **(BAR if progress else {"disable": True}),
    ) as bar:
        try:
            for torques in _torques(controller, recorded):
                recorded.follow(torques)
                bar.update(len(torques))
        except RobotDynamicsError as error:
            message = f"the simulation ends at t = {plant.time:.6g} s: {error}"
            raise SimulationError(message, recorded.run()) from error
    return recorded.run()


class _RecordedPlant:
    """Plant or batch that takes control periods, and the record of its motion, torques and measurements.

    In shapes, ... is () for a plant and (N,) for a batch. A period is one piece, or two if a command takes effect
    within it; a piece has one torque and one report. The other arguments are those of ``run_plant``.

    Attributes
    ----------
    plant, schedule
        The arguments.
    """

    def __init__(
        self, plant: Plant | PlantBatch, schedule: Schedule, measurement: Measurement
    ) -> None:
        self.plant = plant
        self.schedule = schedule
        self._measurement = measurement
        self._exact = measurement.exact_position and measurement.exact_velocity
        self._readings: list[Array] = []
        self._first_step = round(plant.time / plant.step_size)
        self._taken = 0  # periods
        # Whole periods from a command to its effect, and the steps that remain.
        self._age, self._split = divmod(schedule.delay, schedule.steps)
        pieces = [self._split] if self._split > 0 else []
        pieces.append(schedule.steps - self._split)
        shape = plant.position.shape
        self._commands: Array = np.empty((schedule.periods, *shape))
        # also those that act after the end
        rows = schedule.periods + self._age + 1
        self._efforts: Array = np.zeros((rows, len(pieces), *shape))
        # The first report takes no step: it has the present state.
        counts = np.append(0, np.tile(pieces, schedule.periods))
        self._reports = plant.new_reports(counts)
        plant.follow(self._efforts[0, :1], self._reports[:1])

    def measured(self) -> tuple[Array, Array]:
        """Read the sensors; return the measured positions and velocities (..., n) of the present state."""
        position = self.plant.position
        velocity = self.plant.velocity
        if self._exact:
            return position, velocity
        return self._read(position, velocity)

    def _read(self, position: Array, velocity: Array) -> tuple[Array, Array]:
        reading = np.array(self._measurement.read(position, velocity))
        self._readings.append(reading)
        return reading[0].copy(), reading[1].copy()

    def follow(self, torques: Array) -> None:
        """Take a control period under each of ``torques`` (k, ..., n), Nm or N, or (k, n); raises as ``step`` does."""
        first = self._taken
        after = first + len(torques)
        self._commands[first:after] = torques
        self._efforts[first + self._age : after + self._age, -1] = torques
        if self._split > 0:
            self._efforts[first + self._age + 1 : after + self._age + 1, 0] = torques
        pieces = self._efforts.shape[1]
        reports = self._reports[1 + first * pieces : 1 + after * pieces]
        shape = self._commands.shape[1:]
        efforts = self._efforts[first:after].reshape(len(reports), *shape)
        self.plant.follow(efforts, reports)
        self._taken = after

    def run(self) -> Run:
        """Return the control periods that are complete."""
        steps = self.schedule.steps
        pieces = self._efforts.shape[1]
        done = int(self._reports.T[arrays.STEPS].sum(axis=-1).min()) // steps
        ends = self._reports[: 1 + done * pieces : pieces]
        position, velocity, effort, stuck, forces = (
            np.moveaxis(array, 0, -2) for array in self.plant.samples(ends)
        )
        measured = [position, velocity]
        if not self._exact:
            for k in range(len(self._readings), done + 1):
                self._read(position[..., k, :], velocity[..., k, :])
            measured = list(np.stack(self._readings[: done + 1], axis=-2))
        taken = self._first_step + steps * np.arange(done + 1, dtype=np.float64)
        exact = self._measurement
        run = Run(
            time=taken * self.plant.step_size,
            position=position,
            velocity=velocity,
            measured_position=position if exact.exact_position else measured[0],
            measured_velocity=velocity if exact.exact_velocity else measured[1],
            stuck=stuck,
            command=np.moveaxis(self._commands[:done], 0, -2),
            effort=effort[..., 1:, :],
        )
        if isinstance(self.plant, Plant):
            columns = self._reports.shape[-1]
            parts = self._reports[1 : 1 + done * pieces].reshape(done, pieces, columns)
            run = replace(
                run,
                residual=parts[..., arrays.RESIDUAL].max(axis=1),
                solves=parts[..., arrays.SOLVES].sum(axis=1).astype(np.int64),
            )
        loops = len(self.plant.model.loops)
        if loops > 0:
            vectors = (*forces.shape[:-2], done, loops, 3)
            run = replace(run, loop_forces=forces[..., 1:, :].reshape(vectors))
        return run


def _torques(
    controller: TorqueFunction | Array, recorded: _RecordedPlant
) -> Iterator[Array]:
    """Yield the torques (k, ..., n), or (k, n), of the next k control periods, until all periods are simulated.

    ``controller`` is a function, called once for each period, or the result of ``_table``. Raises RobotDynamicsError
    for a torque that is not finite or has a wrong shape.
    """
    plant = recorded.plant
    periods = recorded.schedule.periods
    shape = plant.position.shape
    name = "the controller's torque"
    if callable(controller):
        for _ in range(periods):
            given = controller(plant.time, *recorded.measured())
            yield finite(plant.model, name, given, shape[:-1])[np.newaxis]
        return
    block = max(1, PROGRESS_STEPS // recorded.schedule.steps)
    for first in range(0, periods, block):
        torques: Array = controller[first : first + block]
        is_finite = np.isfinite(torques).reshape(len(torques), -1).all(axis=1)
        end = len(torques) if is_finite.all() else int(is_finite.argmin())
        yield torques[:end]
        if end < len(torques):
            finite(plant.model, name, torques[end], shape[:-1])


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


def _table(torques: ArrayLike, plant: Plant | PlantBatch, periods: int) -> Array:
    """Return ``torques`` (..., T, n), or (T, n) for all plants of a batch, as (T, ..., n)."""
    *plants, n = plant.position.shape
    array = real_numbers(torques)
    expected = [(*lead, periods, n) for lead in {(), tuple(plants)}]
    if array is None or array.shape not in expected:
        given = f"{torques!r}" if array is None else f"an array {array.shape}"
        raise RobotDynamicsError(
            f"controller: {given}. Cure: give a function of t, q and qd, or an array of torques of shape "
            f"{' or '.join(map(str, expected))}, one row per control period, columns "
            f"{', '.join(plant.model.joint_names)}"
        )
    return np.moveaxis(np.broadcast_to(array, (*plants, periods, n)), -2, 0)
