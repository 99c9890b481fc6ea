"""Simulation of a batch of robots under one controller, e.g. for Monte Carlo studies.

A plant is one simulated robot of the batch. A control period is a whole number of integration steps. Times are
simulated seconds from the start.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import ArrayLike
from tqdm import tqdm

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.progress import BAR
from robot_dynamics_ros.dynamics.description.inertia import real_numbers
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.simulation.checks import check_integrator
from robot_dynamics_ros.simulation.plant_batch import PlantBatch, models_of
from robot_dynamics_ros.simulation.sensors import Sensors
from robot_dynamics_ros.simulation.simulate import (
    EXACT,
    Run,
    Schedule,
    SimulationError,
    TorqueFunction,
    joined,
    run_plant,
    schedule_of,
)
from robot_dynamics_ros.simulation.thresholds import FEWEST_TASKS, MOST_PLANTS


def simulate_batch(
    models: RobotModel | Sequence[RobotModel],
    controller: TorqueFunction | ArrayLike,
    duration: float,
    *,
    count: int | None = None,
    method: str = "rk4",
    step_size: float = 0.001,
    control_period: float | None = None,
    initial_positions: ArrayLike | None = None,
    initial_velocities: ArrayLike | None = None,
    velocity_limits: bool = False,
    sensors: Sensors = EXACT,
    effort_delay: float = 0.0,
    executor: Executor | None = None,
) -> Run:
    """Simulate N robots under one controller from time 0 to ``duration``; a batched ``simulate``.

    The methods of RobotModel accept leading axes, so that the same controller can serve one plant and a batch. The
    sensor noise of plant i is random stream i of the seed; plant 0 has the noise of ``simulate``.

    Parameters
    ----------
    models
        One model for all ``count`` plants, or N models that differ in inertias and friction only (``scaled``,
        ``with_payload``).
    controller
        Function ``controller(t, q, qd)`` that returns the torques (N, n), or (n,) for all plants, Nm or N, for the time
        t (s) and the measured positions (rad or m) and velocities, both (N, n). It is called once per control period.
        Alternatively an array (T, n) or (N, T, n) of torques. A torque is held until the next one.
    duration
        Simulated time (s), a whole number T of control periods.
    count
        Number N of plants; required with one model.
    method
        "rk4": fourth order. "semi_implicit": first order, faster, stable with any viscous friction.
    step_size
        Integration step (s).
    control_period
        Time between calls of the controller (s), a whole number of steps. None: one step.
    initial_positions, initial_velocities
        Shape (n,) for all plants, or (N, n), rad or m, rad/s or m/s. None: position 0 or the position limit nearest to
        it, velocity 0.
    velocity_limits
        True to limit the joint velocities to those of the URDF.
    sensors
        Sensor model, common to all plants. Default: exact measurements.
    effort_delay
        Time from a command to its effect (s), a whole number of steps. The torque is 0 before the first command acts.
    executor
        None: run in this process on all cores. A ``concurrent.futures.Executor``: split the batch into tasks for
        processes or machines (``dask.distributed``: ``client.get_executor()``). Each task has a copy of the controller,
        which receives the plants of that task only. If the controller computes each row independently, without matrix
        products over the batch, the result is bitwise equal to that without executor.

    Returns
    -------
    Run
        Arrays with the batch axis first.

    Raises
    ------
    SimulationError
        If a step of any plant fails, or a torque of the controller is not finite or has a wrong shape; ``run`` has the
        periods that all plants completed. Other exceptions of the controller are not caught.
    RobotModelError
        If a joint moves no mass.
    RobotDynamicsError
        For invalid arguments, with their names.
    """
    check_integrator(method)
    each = models_of(models, count)
    number = len(each)
    settings = {
        "integrator": method,
        "step_size": step_size,
        "velocity_limits": velocity_limits,
    }
    whole = _Part(
        each,
        controller
        if callable(controller)
        else _per_plant("controller", controller, number, 2),
        range(number),
        _per_plant("initial_positions", initial_positions, number, 1),
        _per_plant("initial_velocities", initial_velocities, number, 1),
        sensors,
        settings,
        schedule_of(duration, step_size, control_period, effort_delay),
    )
    if executor is None:
        return whole.simulate(progress=True)
    size = min(MOST_PLANTS, -(-number // FEWEST_TASKS))
    parts = [
        whole.part(first, min(first + size, number)) for first in range(0, number, size)
    ]
    return _run_tasks(parts, executor)


@dataclass(frozen=True)
class _Part:
    """Slice of a batch with the arguments of its simulation; picklable for another process."""

    models: list[RobotModel]
    controller: Any
    numbers: range
    initial_positions: Any  # None, (n,) or (plants, n)
    initial_velocities: Any
    sensors: Sensors
    settings: dict[str, Any]  # of PlantBatch
    schedule: Schedule

    def simulate(self, progress: bool) -> Run:
        start = {
            "initial_positions": self.initial_positions,
            "initial_velocities": self.initial_velocities,
        }
        plants = PlantBatch(self.models, **start, **self.settings)
        measurement = self.sensors.start(plants.model.n, self.numbers)
        return run_plant(plants, self.controller, self.schedule, measurement, progress)

    def part(self, first: int, after: int) -> _Part:
        def own(array: Any, axes: int) -> Any:
            return array[first:after] if getattr(array, "ndim", 0) > axes else array

        return replace(
            self,
            models=self.models[first:after],
            controller=self.controller
            if callable(self.controller)
            else own(self.controller, 2),
            numbers=self.numbers[first:after],
            initial_positions=own(self.initial_positions, 1),
            initial_velocities=own(self.initial_velocities, 1),
        )


def _task(part: _Part) -> Run:
    # Threads would share the state of one controller.
    return replace(part, controller=copy.deepcopy(part.controller)).simulate(
        progress=False
    )


def _run_tasks(parts: Sequence[_Part], executor: Executor) -> Run:
    futures = [executor.submit(_task, part) for part in parts]
    runs: list[Run] = []
    errors: list[SimulationError] = []
    try:
        with tqdm(total=parts[-1].numbers.stop, unit="plant", **BAR) as bar:
            for part, future in zip(parts, futures, strict=True):
                try:
                    runs.append(future.result())
                except SimulationError as error:
                    where = f"plants {part.numbers.start} to {part.numbers.stop - 1}, numbered from 0 here"
                    errors.append(SimulationError(f"{where}: {error}", error.run))
                    runs.append(error.run)
                bar.update(len(part.numbers))
    finally:
        for future in futures:
            future.cancel()
    together = joined(runs, min(len(run.time) for run in runs) - 1)
    if errors:
        first = min(errors, key=lambda error: len(error.run.time))
        raise SimulationError(str(first), together) from first
    return together


def _per_plant(name: str, value: ArrayLike | None, number: int, axes: int) -> Any:
    """Return an array with ``axes`` axes for all plants, or with a batch axis in front; None for None."""
    if value is None:
        return None
    array = real_numbers(value)
    if (
        array is None
        or array.ndim not in (axes, axes + 1)
        or (array.ndim > axes and len(array) != number)
    ):
        given = f"is {value!r}" if array is None else f"has shape {array.shape}"
        raise RobotDynamicsError(
            f"{name} {given}. Cure: give one for all plants, or {number} along the first axis"
        )
    return array
