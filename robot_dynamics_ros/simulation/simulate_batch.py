"""Many simulations at once: one robot many times, or robots that differ in their numbers. Monte Carlo without ROS."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import ArrayLike
from tqdm import tqdm

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.model.inertia import real_numbers
from robot_dynamics_ros.progress import BAR
from robot_dynamics_ros.simulation.checks import check_integrator
from robot_dynamics_ros.simulation.plant_batch import PlantBatch, models_of
from robot_dynamics_ros.simulation.sensors import Sensors
from robot_dynamics_ros.simulation.simulate import (
    EXACT,
    Controller,
    Run,
    SimulationError,
    joined,
    run_plant,
    schedule_of,
)

# A task of an executor: few enough plants for many workers, enough to be worth the way.
_MOST_PLANTS = 64
_FEWEST_TASKS = 8


def simulate_batch(
    models: RobotModel | Sequence[RobotModel],
    controller: Controller | ArrayLike,
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
    """Let a controller move N robots, each for ``duration`` seconds from time 0 on: as ``simulate``, for all at once.

    The methods of RobotModel take leading axes, so that one controller serves one plant and many. Plant i measures
    with the noise of stream i of the sensors' seed: plant 0 as in ``simulate``.

    Parameters
    ----------
    models
        One robot, of which there are ``count``; or N that differ in numbers only (``scaled``, ``with_payload``).
    controller
        ``controller(t, q, qd)`` gives the torques (N, n), or (n,) for all plants, for measured positions and velocities
        (N, n); once in each control period. Or all these torques as an array (T, n) or (N, T, n).
    duration, step_size, control_period, velocity_limits, sensors, effort_delay
        As in ``simulate``.
    count
        Number N of plants, for one model.
    method
        "rk4" or "semi_implicit".
    initial_positions, initial_velocities
        (n,) for all plants, or (N, n); None as in ``simulate``.
    executor
        None: here, on all cores. Else the plants are cut into parts, and each is a task of this
        ``concurrent.futures.Executor``: processes, or machines (``dask.distributed``: ``client.get_executor()``). Each
        part has its own copy of the controller, which sees the plants of its part only. If it treats every plant by
        itself, row by row without matrix products over all, the numbers are those without executor, bit for bit.

    Returns
    -------
    Run
        Its arrays have the axis of the plants first.

    Raises
    ------
    SimulationError
        Where one plant cannot go on, as ``simulate``; ``run`` is what was simulated of all plants until then.
    RobotDynamicsError
        For settings that cannot be.
    """
    check_integrator(method)
    each = models_of(models, count)
    number = len(each)
    settings = {"integrator": method, "step_size": step_size, "velocity_limits": velocity_limits}
    times = {"step_size": step_size, "control_period": control_period, "effort_delay": effort_delay}
    whole = _Part(
        each,
        controller if callable(controller) else _per_plant("controller", controller, number, 2),
        range(number),
        _per_plant("initial_positions", initial_positions, number, 1),
        _per_plant("initial_velocities", initial_velocities, number, 1),
        sensors,
        settings,
        {"duration": duration, **times},
    )
    if executor is None:
        return whole.simulate(progress=True)
    size = min(_MOST_PLANTS, -(-number // _FEWEST_TASKS))
    parts = [whole.part(first, min(first + size, number)) for first in range(0, number, size)]
    return _spread(parts, executor)


@dataclass(frozen=True)
class _Part:
    """Some of the plants, and all that another process has to know of them."""

    models: list[RobotModel]
    controller: Any
    numbers: range
    initial_positions: Any  # None, (n,) or (plants, n)
    initial_velocities: Any
    sensors: Sensors
    settings: dict[str, Any]  # of PlantBatch
    times: dict[str, Any]

    def simulate(self, progress: bool) -> Run:
        plants = PlantBatch(
            self.models,
            initial_positions=self.initial_positions,
            initial_velocities=self.initial_velocities,
            **self.settings,
        )
        measurement = self.sensors.start(plants.model.n, self.numbers)
        return run_plant(plants, self.controller, schedule_of(**self.times), measurement, progress)

    def part(self, first: int, after: int) -> _Part:
        def own(array: Any, axes: int) -> Any:
            return array[first:after] if getattr(array, "ndim", 0) > axes else array

        return replace(
            self,
            models=self.models[first:after],
            controller=self.controller if callable(self.controller) else own(self.controller, 2),
            numbers=self.numbers[first:after],
            initial_positions=own(self.initial_positions, 1),
            initial_velocities=own(self.initial_velocities, 1),
        )


def _task(part: _Part) -> Run:
    # Threads would share one controller, and with it what it remembers.
    return replace(part, controller=copy.deepcopy(part.controller)).simulate(progress=False)


def _spread(parts: Sequence[_Part], executor: Executor) -> Run:
    futures = [executor.submit(_task, part) for part in parts]
    runs: list[Run] = []
    problems: list[SimulationError] = []
    try:
        with tqdm(total=parts[-1].numbers.stop, unit="plant", **BAR) as bar:
            for part, future in zip(parts, futures, strict=True):
                try:
                    runs.append(future.result())
                except SimulationError as problem:
                    where = f"plants {part.numbers.start} to {part.numbers.stop - 1}, which count from 0 here"
                    problems.append(SimulationError(f"{where}: {problem}", problem.run))
                    runs.append(problem.run)
                bar.update(len(part.numbers))
    finally:
        for future in futures:
            future.cancel()
    together = joined(runs, min(len(run.time) for run in runs) - 1)
    if problems:
        first = min(problems, key=lambda problem: len(problem.run.time))
        raise SimulationError(str(first), together) from first
    return together


def _per_plant(name: str, value: ArrayLike | None, number: int, axes: int) -> Any:
    """An array with ``axes`` axes for all plants, or one more for each of them; None as it is."""
    if value is None:
        return None
    array = real_numbers(value)
    if array is None or array.ndim not in (axes, axes + 1) or (array.ndim > axes and len(array) != number):
        given = f"is {value!r}" if array is None else f"has shape {array.shape}"
        raise RobotDynamicsError(f"{name} {given}. Cure: give one for all plants, or {number} along the first axis")
    return array
