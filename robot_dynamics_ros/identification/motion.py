"""The motion and the measured torque of a recording: smooth, evenly sampled, with its acceleration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.bags import JointSeries
from robot_dynamics_ros.errors import BagError
from robot_dynamics_ros.identification.smoothing import SHORTEST, Smoothing, Stretch
from robot_dynamics_ros.identification.usable_messages import (
    recorded_velocities,
    require_motion_and_effort,
    usable_messages,
    warn,
)
from robot_dynamics_ros.kernels.types import Array

__all__ = ["Motion", "Smoothing", "recorded_motion"]


_HOLE = 5.0  # sampling periods without a message that are bridged


@dataclass(frozen=True, eq=False)
class Motion:
    """A motion and the torque measured along it: m samples of n joints, finite, in SI units.

    Attributes
    ----------
    joint_names
        The n joints, in the order of the columns.
    time
        Seconds (m,) from the first message; increasing, with steps where a stretch was left out.
    q, qd, qdd, tau
        Position, velocity, acceleration and measured joint torque, (m, n) each.
    smoothing
        The filter that they have passed.
    """

    joint_names: tuple[str, ...]
    time: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    smoothing: Smoothing = Smoothing(0.0)

    def part(self, samples: slice | NDArray[Any]) -> Motion:
        """Return some of the samples: a slice, a mask (m,) or places in (m,)."""
        time, q, qd, qdd, tau = (field[samples] for field in (self.time, self.q, self.qd, self.qdd, self.tau))
        return Motion(self.joint_names, time, q, qd, qdd, tau, self.smoothing)


def recorded_motion(series: JointSeries, smoothing: Smoothing) -> Motion:
    """Return the motion and the measured torque of a recording, filtered and evenly sampled.

    Messages with NaN, without a stamp, or whose stamp does not come after the last are left out. What is left is cut
    where the time between two messages exceeds five periods, so that no filter and no derivative runs across a
    gap; smaller holes and uneven stamps are evened by linear interpolation. Velocity where none was recorded is the
    derivative of the position; derivatives are five-point central differences. Each stretch loses one and a half
    periods of the cutoff at both ends, where the filter has too little to go by; then only so many samples are kept as
    the cutoff needs (20 for each of its periods).

    Raises BagError, with its cure, where too little remains or effort was not recorded, and issues a BagWarning
    for what is left out, with its count.
    """
    require_motion_and_effort(series)
    velocity = recorded_velocities(series)
    stamps, rows = usable_messages(series, velocity)
    period = _sampling_period(stamps)
    smoothing = smoothing.at(1.0 / period)
    stretches = []
    short = 0
    for first, last in _stretches(stamps, period):
        stretch = Stretch.of(stamps[first:last], rows[first:last], period, smoothing)
        if stretch is None:
            short += last - first
        else:
            stretches.append(stretch)
    if not stretches:
        raise BagError(
            f"the recording: none of its {len(series.stamps)} messages are part of a stretch without gaps that is "
            f"longer than the {2 * smoothing.edge + SHORTEST * period:.3g} s that the filter needs. Cure: record "
            "longer, or give a higher cutoff"
        )
    if short:
        warn(f"{short} messages are in stretches between gaps that are too short for the filter; they are left out")
    if len(stretches) > 1:
        warn(f"it has {len(stretches) - 1} gaps longer than {_HOLE:g} periods; each stretch is filtered by itself")
    columns = [
        [stretch.column(series.position[:, j], velocity[j], series.effort[:, j]) for stretch in stretches]
        for j in range(len(series.joint_names))
    ]
    q, qd, qdd, tau = (
        np.column_stack([np.concatenate([part[k] for part in column]) for column in columns]) for k in range(4)
    )
    time = np.concatenate([stretch.kept_time() for stretch in stretches])
    return Motion(series.joint_names, time, q, qd, qdd, tau, smoothing)


def _sampling_period(stamps: NDArray[np.int64]) -> float:
    """Return the median of the seconds between increasing stamps (m,) in ns."""
    if len(stamps) < 2:
        raise BagError(
            f"the recording: {len(stamps)} usable messages are too few to differentiate. Cure: record longer"
        )
    return float(np.median(np.diff(stamps))) * 1e-9


def _stretches(stamps: NDArray[np.int64], period: float) -> Iterator[tuple[int, int]]:
    """Yield first and last + 1 of the messages between gaps."""
    gaps = np.flatnonzero(np.diff(stamps) > _HOLE * period * 1e9) + 1
    ends = [0, *gaps.tolist(), len(stamps)]
    yield from zip(ends[:-1], ends[1:], strict=True)
