"""Joint trajectories: checked once, turned into polynomials, then sampled in a few microseconds.

The rules are those of ros2_controllers' joint_trajectory_controller, which the text below calls JTC.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
from scipy.interpolate import CubicSpline

from robot_dynamics_ros.control.trajectory_points import (
    Array,
    TrajectoryPoints,
    check_rest,
    checked_field,
    checked_state,
    checked_times,
    joint_columns,
)
from robot_dynamics_ros.errors import TrajectoryError

__all__ = ["Trajectory", "TrajectoryPoints"]

_NANOSECOND = 1e-9  # the resolution of time_from_start
_STATE = ("position", "velocity", "acceleration")


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
        "_knots",
        "_rows",
        "_scratch",
        "_start",
        "_time",
        "_work",
    )

    def __init__(self, start: float, duration: float, knots: Array, coefficients: Array) -> None:
        """Take over the pieces that `from_points` computed.

        Coefficients are (segments + 2, degree + 1, 4, n): the highest power first, then rows for position,
        velocity, acceleration and effort. Block 0 holds before the first knot, the last one from the end on.
        """
        self._start = start
        self._duration = duration
        self._end = start + duration
        self._knots: list[float] = knots.tolist()
        self._coefficients = coefficients
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

    @classmethod
    def from_points(
        cls,
        points: TrajectoryPoints,
        joint_names: Sequence[str],
        start_time: float,
        start_state: tuple[Array, Array | None, Array | None],
        *,
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
        kind. Effort is interpolated linearly, from zero at the start state.

        As in JTC there is no such segment where the first point is not later than `state_time`: motion then
        goes to that point at once, wherever the robot is. A single point at time 0 is a streamed set point:
        its position, velocity, acceleration and effort hold until the next. Joints that the points do not
        name hold the start state's position. A start in the past starts in the middle; see
        `check_not_over`.

        Raises TrajectoryError for unknown, missing or repeated joints, empty, unsorted or non-finite points,
        wrong sizes, accelerations without velocities and a last velocity that is not zero.
        """
        n = len(joint_names)
        columns = joint_columns(points.joint_names, joint_names, allow_partial_joints)
        times = checked_times(points.times)
        shape = (len(times), len(columns))
        if not math.isfinite(start_time) or not (state_time is None or math.isfinite(state_time)):
            raise TrajectoryError("the start time is not a finite number; give seconds")
        if points.velocities is None and points.accelerations is not None:
            raise TrajectoryError("the points have accelerations without velocities; give velocities too")
        state = [checked_state(name, x, joint_names) for name, x in zip(_STATE, start_state, strict=True)]
        given = [checked_field("positions", points.positions, shape, points.joint_names)]
        given += [
            np.zeros(shape) if x is None else checked_field(field, x, shape, points.joint_names)
            for field, x in (
                ("velocities", points.velocities),
                ("accelerations", points.accelerations),
                ("effort", points.effort),
            )
        ]
        if not allow_nonzero_velocity_at_end:
            check_rest(given[1][-1], points.joint_names)

        fields: list[Array] = []
        zero = np.zeros(n)
        for x, rest in zip(given, (state[0], zero, zero, zero), strict=True):
            full = np.tile(rest, (len(times), 1))
            full[:, columns] = x
            fields.append(full)
        state_at = 0.0 if state_time is None else state_time - start_time
        lead = float(times[0]) - state_at > _NANOSECOND
        knots = np.concatenate(([state_at], times)) if lead else times
        q, qd, qdd, effort = (
            np.vstack((first, full)) if lead else full for first, full in zip((*state, zero), fields, strict=True)
        )
        if points.velocities is not None:
            degree = 3 if points.accelerations is None else 5
        else:
            degree = 3 if upsample_positions else 1
            if upsample_positions and len(knots) > 1:
                # A state of now says nothing about the velocity at a first point in the past.
                moving = lead or abs(float(times[0]) - state_at) <= _NANOSECOND
                begin = state[1] if moving else zero
                qd[:, columns] = _spline_velocities(knots, q, begin)[:, columns]
        last = [x[-1] for x in fields]
        hold = last if len(knots) == 1 else [last[0], zero, zero, zero]
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            coefficients = _coefficients(degree, knots, q, qd, qdd, effort)
        coefficients[0, -1, 0] = state[0]
        coefficients[-1, -1] = hold
        if not np.isfinite(coefficients).all():
            raise TrajectoryError("the points are too close in time for their numbers; give them more time")
        return cls(float(start_time), float(times[-1]), knots, coefficients)

    def check_not_over(self, now: float) -> None:
        """Raise TrajectoryError where the last point lies before the time `now` (s), as JTC refuses it."""
        if self._end < now:
            raise TrajectoryError(
                f"the trajectory ended {now - self._end:.3f} s ago; give a later header.stamp, or 0 to start now"
            )

    def sample(self, t: float, q_out: Array, qd_out: Array, qdd_out: Array, effort_out: Array) -> bool:
        """Write the desired state at time t (s) into four arrays (n,); True while t lies before the end.

        Before the first segment the start state's position is held, from the end on the last point's,
        without velocity, acceleration and effort (only a streamed set point keeps its own). Allocates no
        arrays. Raises TrajectoryError where t is not a number.
        """
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
            work, time = self._work, self._time
            time[()] = s - self._knots[block - 1]
            np.multiply(rows[0], time, work)
            for row in rows[1:-1]:
                np.add(work, row, work)
                np.multiply(work, time, work)
            np.add(work, rows[-1], work)
            q_out[:], qd_out[:], qdd_out[:], effort_out[:] = self._scratch
        else:
            q_out[:], qd_out[:], qdd_out[:], effort_out[:] = rows[-1]
        return active


def _spline_velocities(knots: Array, q: Array, begin: Array) -> Array:
    """Return the velocities at the knots of the C2 cubic spline from velocity `begin` to rest."""
    try:
        with np.errstate(all="ignore"):
            spline = CubicSpline(knots, q, bc_type=((1, begin), (1, np.zeros_like(begin))))
            return np.asarray(spline(knots, 1), dtype=np.float64)
    except (ValueError, np.linalg.LinAlgError):  # what scipy says where numbers overflow
        return np.full_like(q, np.nan)


def _coefficients(degree: int, knots: Array, q: Array, qd: Array, qdd: Array, effort: Array) -> Array:
    """Return the Hermite polynomials of m segments, in each segment's own time, as `__init__` takes it."""
    m, n = len(knots) - 1, q.shape[1]
    h = np.diff(knots)[:, None]
    c = np.zeros((degree + 1, m, n))  # ascending powers
    d, v0, v1, a0, a1 = q[1:] - q[:-1], qd[:-1] * h, qd[1:] * h, qdd[:-1] * h**2, qdd[1:] * h**2
    c[0] = q[:-1]
    if degree == 1:
        c[1] = d / h
    else:
        c[1] = qd[:-1]
    if degree == 3:
        c[2] = (3 * d - 2 * v0 - v1) / h**2
        c[3] = (v0 + v1 - 2 * d) / h**3
    elif degree == 5:
        c[2] = qdd[:-1] / 2
        c[3] = (10 * d - 6 * v0 - 4 * v1 - (3 * a0 - a1) / 2) / h**3
        c[4] = (-15 * d + 8 * v0 + 7 * v1 + (3 * a0 - 2 * a1) / 2) / h**4
        c[5] = (6 * d - 3 * (v0 + v1) - (a0 - a1) / 2) / h**5
    out = np.zeros((m + 2, degree + 1, 4, n))
    for power in range(degree + 1):
        out[1:-1, degree - power, 0] = c[power]
        if power >= 1:
            out[1:-1, degree - power + 1, 1] = power * c[power]
        if power >= 2:
            out[1:-1, degree - power + 2, 2] = power * (power - 1) * c[power]
    out[1:-1, degree, 3] = effort[:-1]
    out[1:-1, degree - 1, 3] = np.diff(effort, axis=0) / h
    return out
