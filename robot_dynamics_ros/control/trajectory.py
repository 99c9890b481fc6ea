"""Joint trajectories: checked once, turned into polynomials, then sampled in a few microseconds.

The rules are those of ros2_controllers' joint_trajectory_controller, which the text below calls JTC.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.control.interpolation import Knots, segments, spline_velocities
from robot_dynamics_ros.control.trajectory_points import (
    Array,
    TrajectoryPoints,
    checked_points,
    checked_state,
    joint_columns,
)
from robot_dynamics_ros.errors import TrajectoryError, TrajectoryOverError

__all__ = ["Trajectory", "TrajectoryPoints"]

_NANOSECOND = 1e-9  # the resolution of time_from_start
_STATE = ("position", "velocity", "acceleration", "effort")


class Trajectory:
    """A checked trajectory in the controller's joint order; made by `from_points`, never changed afterwards.

    Times are seconds from any origin that the caller keeps; a small origin keeps float64 fine (at 1.7e9 s its
    step is 0.24 us). `sample` writes into scratch of this object: one thread at a time.
    """

    __slots__ = (
        "_block",
        "_coefficients",
        "_duration",
        "_end",
        "_joined",
        "_knots",
        "_rows",
        "_scratch",
        "_start",
        "_time",
        "_work",
    )

    def __init__(
        self, start: float, duration: float, knots: Array, coefficients: Array, joined: int | None = None
    ) -> None:
        """Take over polynomials that are known to be good.

        `knots` are seconds after `start`. Coefficients are (segments + 2, degree + 1, 4, n): the highest power
        first, then rows for position, velocity, acceleration and effort. Block 0 holds before the first knot,
        the last one from the end on. `joined` is the knot that no point of the trajectory made, if any.
        """
        self._start = start
        self._duration = duration
        self._end = start + duration
        self._knots: list[float] = knots.tolist()
        self._coefficients = coefficients
        self._joined = joined
        self._work = np.empty(coefficients.shape[2:])
        self._scratch = tuple(self._work)
        self._time = np.zeros(())  # NumPy takes three times as long to multiply by other shapes of number
        self._block = 0
        self._rows = tuple(coefficients[0])

    @property
    def start_time(self) -> float:
        """Time in seconds from which the points' times count."""
        return self._start

    @property
    def end_time(self) -> float:
        """Time in seconds of the last point."""
        return self._end

    @property
    def duration(self) -> float:
        """Seconds from the start to the last point."""
        return self._duration

    @property
    def degree(self) -> int:
        """Degree of the polynomials: 1 by positions alone, 3 by velocities, 5 by accelerations too."""
        return int(self._coefficients.shape[1]) - 1

    @classmethod
    def from_points(
        cls,
        points: TrajectoryPoints,
        joint_names: Sequence[str],
        start_time: float,
        start_state: tuple[Array, Array | None, Array | None],
        *,
        start_effort: Array | None = None,
        state_time: float | None = None,
        upsample_positions: bool = True,
        allow_partial_joints: bool = False,
        allow_nonzero_velocity_at_end: bool = False,
    ) -> Trajectory:
        """Check the points and interpolate them for the n joints `joint_names`.

        `start_time` (s) is where the points' times count from. `start_state` is (q, qd, qdd), each (n,),
        None for zero: the desired or measured state of the robot at `state_time` (default: `start_time`),
        so that motion goes on from it without a jump in position or velocity. Points with velocities are
        joined by cubic, with accelerations too by quintic Hermite polynomials; positions alone by a C2
        cubic spline that starts with the start state's velocity and ends at rest, or by straight lines
        without `upsample_positions`. The segment from the start state to the first point is of the same
        kind. Effort is interpolated linearly, from `start_effort` (n,), None for zero, on.

        A start in the past starts in the middle: points before `state_time` are passed over, and the start
        state is joined to the first one after it. As in JTC nothing is joined where the first point is AT
        `state_time`: motion then goes to that point at once, wherever the robot is. A single point at time 0
        is a streamed set point: its position, velocity, acceleration and effort hold until the next. Joints
        that the points do not name hold the start state's position. See `check_not_over`, too.

        Raises TrajectoryError for unknown, missing or repeated joints, empty, unsorted or non-finite points,
        wrong sizes, accelerations without velocities and a last velocity that is not zero.
        """
        columns = joint_columns(points.joint_names, joint_names, allow_partial_joints)
        times, given = checked_points(points, allow_nonzero_velocity_at_end)
        if not math.isfinite(start_time) or not (state_time is None or math.isfinite(state_time)):
            raise TrajectoryError("the start time is not a finite number; give seconds")
        state = [
            checked_state(name, x, joint_names) for name, x in zip(_STATE, (*start_state, start_effort), strict=True)
        ]
        state_at = 0.0 if state_time is None else state_time - start_time
        start = Knots(np.array([state_at]), *(x[None] for x in state))
        knots = Knots(times, *_spread(given, columns, state[0]))

        passed = bisect_right(times, state_at + _NANOSECOND)
        if passed == 0:
            knots = start.then(knots)
        degree = _degree(points, upsample_positions)
        if points.velocities is None and upsample_positions and len(knots.times) > 1:
            # A state of now says nothing about the velocity at a first point in the past.
            moving = abs(knots.times[0] - state_at) <= _NANOSECOND
            begin = state[1] if moving else np.zeros_like(state[1])
            knots.qd[:, columns] = spline_velocities(knots.times, knots.q[:, columns], begin[columns])
        coefficients = segments(knots, degree)
        joined = 0 if passed == 0 else None
        if 0 < passed < len(times) and state_at - times[0] > _NANOSECOND:
            joined = passed
            joint = segments(start.then(knots.at(passed)), degree)[1:2]
            coefficients = np.concatenate((coefficients[: passed + 1], joint, coefficients[passed + 1 :]))
        coefficients[0, -1, 0] = state[0]
        coefficients[-1, -1] = _hold(knots)
        if not np.isfinite(coefficients).all():
            raise TrajectoryError("the points are too close in time for their numbers; give them more time")
        begins = np.insert(knots.times, joined, state_at) if joined else knots.times
        return cls(float(start_time), float(times[-1]), begins, coefficients, joined)

    def check_not_over(self, now: float) -> None:
        """Raise TrajectoryOverError where the last point lies before the time `now` (s), as JTC refuses it."""
        if self._end < now:
            raise TrajectoryOverError(
                f"the trajectory ended {now - self._end:.3f} s ago; give a later header.stamp, or 0 to start now"
            )

    def last_knot_before(self, t: float) -> float:
        """Return the time (s) of the last point, or start state, before time t (s); -inf where there is none."""
        i = bisect_left(self._knots, t - self._start)
        return self._start + self._knots[i - 1] if i else -math.inf

    def resampled(self, period: float) -> tuple[Array, Array]:
        """Return the points still to come, with as many between them that none are further apart than `period` (s).

        Times (m,) are seconds after the start; the motion (m, 4, n) is position, velocity, acceleration and
        effort. The segment between two points is divided into equal parts. Where two segments meet, the acceleration
        is that with which the later one begins; at the last point it is that with which the last one ends.
        """
        first = self._joined or 0
        knots = np.array(self._knots[first:])
        lengths = np.diff(knots)
        parts = np.maximum(1, np.ceil(lengths / period - 1e-9)).astype(int)
        segment = np.repeat(np.arange(len(parts)), parts)
        part = np.arange(len(segment)) - (np.cumsum(parts) - parts)[segment]
        since = part * (lengths / parts)[segment]
        times = np.append(knots[segment] + since, knots[-1])
        motion = self._coefficients[np.append(first + 1 + segment, -1), -1]
        between = np.flatnonzero(part)
        motion[between] = self._evaluated(first + 1 + segment[between], since[between])
        if len(lengths):
            motion[-1, 1:3] = self._evaluated(np.array([-2]), lengths[-1:])[0, 1:3]
        to_come = times >= 0.0
        to_come[0] &= self._joined is None  # else it is where the robot was
        return times[to_come], motion[to_come]

    def _evaluated(self, blocks: NDArray[np.int64], since: Array) -> Array:
        """Return the motion (m, 4, n) of blocks (m,), each at its own time (m,) since it began."""
        out: Array = self._coefficients[blocks, 0]
        for row in range(1, self.degree + 1):
            out = out * since[:, None, None] + self._coefficients[blocks, row]
        return out

    def sample(self, t: float, q_out: Array, qd_out: Array, qdd_out: Array, effort_out: Array) -> bool:
        """Write the desired state at time t (s) into four arrays (n,); True while t lies before the end.

        Before the first segment the start state's position is held, from the end on the last point's,
        without velocity and acceleration (only a streamed set point keeps its own), and with the last
        point's effort, as in JTC. Allocates no arrays. Raises TrajectoryError where t is not a number.
        """
        active = self.sample_rows(t, self._work)
        q_out[:], qd_out[:], qdd_out[:], effort_out[:] = self._scratch
        return active

    def sample_rows(self, t: float, out: Array) -> bool:
        """Do as `sample`, into the rows of one array (4, n)."""
        s = t - self._start
        active = t < self._end
        if active:
            block = bisect_right(self._knots, s)
        elif t >= self._end:
            block = len(self._knots)
        else:
            raise TrajectoryError("the time to sample at is not a number; give seconds")
        if block != self._block:
            self._block = block
            self._rows = tuple(self._coefficients[block])
        rows = self._rows
        if active and block:
            time = self._time
            time[()] = s - self._knots[block - 1]
            np.multiply(rows[0], time, out)
            for row in rows[1:-1]:
                np.add(out, row, out)
                np.multiply(out, time, out)
            np.add(out, rows[-1], out)
        else:
            out[:] = rows[-1]
        return active


def _spread(given: Sequence[Array], columns: Sequence[int], q: Array) -> list[Array]:
    """Return the fields (m, k) as (m, n): joints that are not named hold the position q (n,)."""
    full = [np.zeros((len(given[0]), len(q))) for _ in given]
    full[0][:] = q
    for x, table in zip(given, full, strict=True):
        table[:, columns] = x
    return full


def _degree(points: TrajectoryPoints, upsample_positions: bool) -> int:
    if points.velocities is None:
        return 3 if upsample_positions else 1
    return 3 if points.accelerations is None else 5


def _hold(knots: Knots) -> Array:
    """Return (4, n), what holds from the end on."""
    last = np.stack([x[-1] for x in knots[1:]])
    if len(knots.times) > 1:
        last[1:3] = 0.0
    return last
