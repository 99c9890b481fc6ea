"""Validated trajectories of a controller, as piecewise polynomials.

Units are rad or m, s, Nm or N; times are seconds with an origin chosen by the caller, except for ``TrajectoryPoints``,
where they count from the start. JTC is joint_trajectory_controller.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

import numpy as np

from robot_dynamics_ros.base.errors import TrajectoryError, TrajectoryOverError
from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.control.configuration.settings import TrajectoryRules
from robot_dynamics_ros.control.thresholds import POINTS_AT_ONCE
from robot_dynamics_ros.control.trajectory.interpolation import (
    segments,
    spline_velocities,
)
from robot_dynamics_ros.control.trajectory.points import checked_points, joint_columns
from robot_dynamics_ros.control.trajectory.trajectory_limits import TrajectoryLimits
from robot_dynamics_ros.dynamics.kernels.types import Array

_NANOSECOND = 1e-9  # the resolution of time_from_start
_DEFAULT_RULES = TrajectoryRules()


class Trajectory:
    """Validated and interpolated trajectory in the controller's joint order; created by ``from_points``.

    Times are seconds since an origin chosen by the caller; a recent origin reduces rounding errors. Not thread-safe:
    ``sample_rows`` keeps the present segment.

    Attributes
    ----------
    start_time, end_time
        Time (s) from which the times of the points count, and time of the last point.
    duration
        Seconds from the start to the last point.
    degree
        Degree of the polynomials: 1 (linear), 3 (cubic) or 5 (quintic).
    shift
        Shift (n,), rad, of continuous joints by full turns, added to the positions of the points.
    """

    def __init__(
        self,
        start: float,
        times: Array,
        holds: Array,
        polynomials: Array,
        joined: int = 0,
    ) -> None:
        """Create a trajectory from polynomials, without validation.

        ``times`` (m,) of the knots are seconds after ``start``. ``holds`` (2, 4, n) are position, velocity,
        acceleration and effort before the first and after the last knot. ``polynomials`` are the coefficients
        (m - 1, degree + 1, 4, n), as from ``segments``. The first ``joined`` knots, 0 or 1, are the start state, not
        points of the trajectory.
        """
        self.start_time = start
        self.duration = float(times[-1])
        self.end_time = start + self.duration
        self._times = times
        self._holds = holds
        self._polynomials = polynomials
        self.degree = int(polynomials.shape[1]) - 1
        self._joined = joined
        # NumPy multiplies by a 0-d array three times as fast as by a float
        self._time = np.zeros(())
        self._begin = self._until = -math.inf  # of the segment of _rows
        self._rows = tuple(holds[0])
        self.shift = np.zeros(holds.shape[2])

    @classmethod
    def from_points(
        cls,
        points: TrajectoryPoints,
        joint_names: Sequence[str],
        start_time: float,
        start_state: Array,
        *,
        state_time: float | None = None,
        rules: TrajectoryRules = _DEFAULT_RULES,
        limits: TrajectoryLimits | None = None,
    ) -> Trajectory:
        """Validate the points and interpolate them.

        Points with velocities are interpolated by cubic, with accelerations by quintic Hermite polynomials; positions
        alone by a cubic spline (C2) from the velocity of the start state to rest, or linearly without
        ``positions_upsampling``. The segment from the start state to the first point is of the same kind. Effort is
        interpolated linearly.

        With a start in the past, points before ``state_time`` are skipped and the start state is connected to the first
        point after it. A first point at ``state_time`` applies at once, without a connecting segment, as in JTC. A
        single point at time 0 is a streamed set point: its position, velocity, acceleration and effort are held until
        the next. Joints that are not in the points hold the position of the start state.

        Parameters
        ----------
        points
            Points of k joints.
        joint_names
            Names of all n joints, in the order of the result.
        start_time
            Time (s) from which the times of the points count.
        start_state
            Position (rad or m), velocity, acceleration and effort (Nm or N) at ``state_time``, (4, n), finite. Position
            and velocity are continuous from there on, with two exceptions: linear motion begins with the velocity of
            its first segment, and a first point at ``state_time``, a set point or a last point in the past applies at
            once.
        state_time
            Time (s) of the start state; None: ``start_time``.
        rules
            Parameters of acceptance and interpolation; ``positions_upsampling``, ``allow_partial_joints_goal`` and
            ``allow_nonzero_velocity_at_trajectory_end`` are used.
        limits
            Limits of the motion at and between the points, with tolerances of 1 mrad or mm and 5 % of the velocity
            limit. A motion that starts beyond a limit may return from there. None: no limits.

        Raises
        ------
        JointNamesError
            For unknown, missing and repeated joints, and for some but not all of the joints that move a limited one.
        TrajectoryError
            For empty, unsorted or non-finite points or those too close in time, wrong sizes, a start that is not
            finite, accelerations without velocities, and a nonzero final velocity. Also for motion or effort beyond the
            limits, naming point and joint.
        """
        columns = joint_columns(
            points.joint_names, joint_names, rules.allow_partial_joints_goal
        )
        times, given = checked_points(
            points, rules.allow_nonzero_velocity_at_trajectory_end
        )
        state_at = 0.0 if state_time is None else state_time - start_time
        if not math.isfinite(start_time + state_at):
            raise TrajectoryError(
                "the start time is not a finite number. Cure: give seconds"
            )
        start = start_state[:, :, np.newaxis]
        motion = np.zeros((4, len(joint_names), len(times)))
        motion[0] = start[0]
        motion[:, columns] = np.swapaxes(given, 1, 2)

        passed = bisect_right(times, state_at + _NANOSECOND)
        late = 0 < passed < len(times) and state_at - times[0] > _NANOSECOND
        shift = np.zeros(len(joint_names))
        if limits is not None:
            limits.check_joints(columns)
            first = passed if late else max(0, passed - 1)
            at_once = passed > 0 and not late and state_at - times[-1] <= _NANOSECOND
            shift = limits.fit(motion, start_state[0], first, at_once)
        if passed == 0:
            times = np.append(state_at, times)
            motion = np.append(start, motion, axis=2)
        upsampled = points.velocities is None and rules.positions_upsampling
        degree = 3 if points.accelerations is None else 5
        if points.velocities is None and not upsampled:
            degree = 1
        if upsampled and len(times) > 1:
            # The start state's velocity does not apply to a first point in the past.
            begin = start_state[1] * (abs(times[0] - state_at) <= _NANOSECOND)
            motion[1, columns] = spline_velocities(
                times, motion[0, columns].T, begin[columns]
            ).T
        if late:
            times = np.append(state_at, times[passed:])
            motion = np.append(start, motion[:, :, passed:], axis=2)
        polynomials = segments(times, motion, degree)
        if not np.isfinite(polynomials).all():
            raise TrajectoryError(
                "the points are too close in time for their values. Cure: space them further apart"
            )
        if limits is not None:
            limits.check(times, motion, degree, start_state)
        holds = np.zeros((2, 4, len(joint_names)))
        holds[0, 0] = start_state[0]
        holds[1] = motion[:, :, -1]
        if len(times) > 1:
            holds[1, 1:3] = 0.0
        joined = int(passed == 0 or late)
        trajectory = cls(float(start_time), times, holds, polynomials, joined)
        trajectory.shift = shift
        return trajectory

    def check_not_over(self, now: float) -> None:
        """Raise TrajectoryOverError if the last point is before the time ``now`` (s), as JTC does."""
        if self.end_time < now:
            raise TrajectoryOverError(
                f"the trajectory ended {now - self.end_time:.3f} s ago. "
                "Cure: give a later header.stamp, or 0 to start now"
            )

    def last_knot_before(self, t: float) -> float:
        """Return the time (s) of the last knot, a point or the start state, before t (s); -inf if there is none."""
        i = bisect_left(self._times, t - self.start_time)
        return self.start_time + float(self._times[i - 1]) if i else -math.inf

    def resampled(
        self, period: float, joining: float = 0.0
    ) -> Iterator[tuple[Array, Array]]:
        """Yield the points that are not over, and interpolated points, at most ``period`` (s) apart.

        A point is over if it was before the start state. Earlier than ``joining`` (s) after the start state no points
        are interpolated. Yields blocks of times (m,), s after ``start_time``, and
        motion (m, 4, n): position, velocity, acceleration and effort. Each segment is divided into equal parts. At a
        point between two segments the acceleration is that of the later segment.
        """
        knots = self._times
        if len(knots) == 1:
            yield knots, self._holds[1:].copy()
            return
        parts = np.maximum(1.0, np.ceil(np.diff(knots) / period - 1e-9))
        indices = np.append(0.0, np.cumsum(parts))  # of the knots
        times = np.interp(np.arange(indices[-1] + 1.0), indices, knots)
        times = times[max(self._joined, np.searchsorted(times, 0.0)) :]
        if self._joined:
            early = times < knots[0] + joining
            times = times[~early | np.isin(times, knots)]
        segment = np.minimum(
            np.searchsorted(knots, times, side="right") - 1, len(knots) - 2
        )
        for begin in range(0, len(times), POINTS_AT_ONCE):
            some = slice(begin, begin + POINTS_AT_ONCE)
            coefficients = self._polynomials[segment[some]].swapaxes(0, 1)
            since = times[some] - knots[segment[some]]
            motion = np.polyval(coefficients, since[:, None, None])
            if times[some][-1] == knots[-1]:
                motion[-1, ::3] = self._holds[1, ::3]
            yield times[some], motion

    def sample_rows(self, t: float, out: Array) -> bool:
        """Write the desired motion at the time t (s) to ``out`` (4, n); return True if t is before the end.

        Rows are position, velocity, acceleration and effort. Before the first segment the position of the start state
        is held; after the end the position and effort of the last point, at rest, as in JTC. A streamed set point
        keeps its velocity and acceleration. Raises TrajectoryError if t is NaN.
        """
        s = t - self.start_time
        active = t < self.end_time
        if not (active and self._begin <= s < self._until):
            if t != t:
                raise TrajectoryError(
                    "the sampling time is not a number. Cure: give seconds"
                )
            if not (active and self._times[0] <= s < self.duration):
                out[:] = self._holds[0 if active and s < self.duration else 1]
                return active
            self._enter(bisect_right(self._times, s) - 1)
        rows = self._rows
        time = self._time
        time[()] = s - self._begin
        out[:] = rows[0]
        for row in rows[1:]:
            out *= time
            out += row
        return active

    def _enter(self, segment: int) -> None:
        self._begin, self._until = self._times[segment : segment + 2].tolist()
        self._rows = tuple(self._polynomials[segment])
