"""What a simulation gives: the motion, what was measured of it, and the torques."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array, IntArray

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
