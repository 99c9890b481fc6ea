"""Desired joint motion along trajectories, with replacement, speed scaling and stopping."""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.base.errors import RobotDynamicsError, TrajectoryError
from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.control.configuration.settings import TrajectoryRules
from robot_dynamics_ros.control.thresholds import (
    MOST_WAITING,
    SLOWEST_SPEED_FACTOR,
    SPEED_FACTOR_RATE,
    STOPPED_SPEED_FACTOR,
)
from robot_dynamics_ros.control.trajectory.points import (
    checked_points,
    checked_times,
    joint_columns,
)
from robot_dynamics_ros.control.trajectory.trajectory import Trajectory
from robot_dynamics_ros.control.trajectory.trajectory_limits import TrajectoryLimits
from robot_dynamics_ros.dynamics.kernels.types import Array


@dataclass(frozen=True, slots=True)
class TimeScaling:
    """Trajectory time s as a function of clock time t, both in seconds and non-decreasing.

    From the clock time ``since`` on, where s is ``scaled`` and its rate s' is ``speed``, this rate changes linearly by
    ``SPEED_FACTOR_RATE``, 2 per second, to ``target``. Earlier times are not allowed. By the chain rule, a motion
    q(s(t)) has the velocity s' dq/ds and the acceleration s'^2 d2q/ds2 + s'' dq/ds (Dahl and Nielsen, Torque-limited
    path following by online trajectory time scaling, 1990).
    """

    since: float = 0.0
    scaled: float = 0.0
    speed: float = 1.0
    target: float = 1.0

    def at(self, time: float) -> tuple[float, float, float]:
        """Return trajectory time s (s), speed factor s' and its rate s'' (1/s) at the clock time ``time`` (s)."""
        dt = time - self.since
        change = self.target - self.speed
        if change == 0.0:
            return self.scaled + self.speed * dt, self.speed, 0.0
        ramp = abs(change) / SPEED_FACTOR_RATE
        if dt < ramp:
            rate = math.copysign(SPEED_FACTOR_RATE, change)
            return (
                self.scaled + dt * (self.speed + 0.5 * rate * dt),
                self.speed + rate * dt,
                rate,
            )
        return (
            self.scaled
            + 0.5 * (self.speed + self.target) * ramp
            + self.target * (dt - ramp),
            self.target,
            0.0,
        )

    def toward(self, time: float, target: float) -> TimeScaling:
        """Return the scaling that continuously changes the speed factor to ``target`` from clock ``time`` (s) on."""
        scaled, speed, _ = self.at(time)
        return TimeScaling(time, scaled, speed, target)


def checked_speed(factor: float) -> float:
    """Return the speed factor; RobotDynamicsError unless it is from 0 (standstill) to 1 (full speed)."""
    if not 0.0 <= factor <= 1.0:
        raise RobotDynamicsError(
            f"the speed scaling factor is {factor}. Cure: give a number from 0 to 1"
        )
    return float(factor)


def stop(time: float, q: Array, qd: Array, deceleration: Array) -> Trajectory:
    """Return the motion from position q (rad or m) and velocity qd, (n,), at ``time`` (s) to rest, with zero effort.

    Each joint has its own constant ``deceleration`` a (n,), rad/s^2 or m/s^2, positive. It stops after |qd| / a seconds
    and the distance qd^2 / (2 a), as in decelerate_on_cancel of joint_trajectory_controller.
    """
    brake = -np.copysign(deceleration, qd)
    until = np.abs(qd) / deceleration
    rest = q + 0.5 * qd * until
    knots = np.unique(np.append(until, 0.0))
    coefficients = np.zeros((len(knots), 3, 4, len(q)))
    begin = knots[:, None]
    moving = begin < until
    acceleration = np.where(moving, brake, 0.0)
    coefficients[:, 2, 0] = np.where(
        moving, q + begin * (qd + 0.5 * brake * begin), rest
    )
    coefficients[:, 1, 0] = coefficients[:, 2, 1] = np.where(
        moving, qd + brake * begin, 0.0
    )
    coefficients[:, 0, 0] = 0.5 * acceleration
    coefficients[:, 1, 1] = coefficients[:, 2, 2] = acceleration
    holds = np.zeros((2, 4, len(q)))
    holds[0, 0] = q
    holds[1] = coefficients[-1, -1]
    return Trajectory(time, knots, holds, coefficients)


Mask = NDArray[np.bool_]


class _Piece(NamedTuple):
    """Trajectory, mask (n,) of the joints that follow it, and its begin in trajectory time (s)."""

    begin: float
    trajectory: Trajectory
    joints: Mask


class MotionPlan:
    """Desired motion of n joints along trajectories.

    Times are seconds of the caller's clock; trajectory time depends on it by a ``TimeScaling``. From its start on, a
    trajectory replaces the previous trajectories of its joints; other joints are not affected. A joint holds its last
    desired position after the end of its trajectory, as in joint_trajectory_controller (JTC). Different joints may
    follow different trajectories, and further trajectories may have starts in the future.

    Attributes
    ----------
    q, qd, qdd, effort
        Desired position (rad or m), velocity, acceleration and feedforward effort (Nm or N), each (n,). ``advance``
        updates these arrays in place.
    drops
        Number of times that all trajectories were dropped, by ``hold``, ``rest_from`` and ``cancel``.
    empty
        True before the first trajectory or position to hold; the arrays are then zero.
    speed
        Speed factor of trajectory time in the last cycle, 0 to 1.
    """

    def __init__(self, joint_names: Sequence[str]) -> None:
        self._names = tuple(joint_names)
        n = len(self._names)
        self._motion = np.zeros((4, n))  # derivatives by trajectory time
        self._sampled = np.empty((4, n))
        self._desired = np.zeros((4, n))  # derivatives by clock time
        self.q, self.qd, self.qdd, self.effort = self._desired
        self.empty = True
        self.drops = 0
        self._time = -math.inf
        self._scaling = TimeScaling()
        self.speed = self._requested_speed = 1.0
        self._followed: list[_Piece] = []
        self._waiting: list[_Piece] = []
        self._stop: Trajectory | None = None

    @property
    def busy(self) -> bool:
        """True while a trajectory runs or waits for its start."""
        return bool(self._followed or self._waiting)

    @property
    def rests(self) -> bool:
        """True if a position is held at rest, without feedforward effort."""
        return not (self.empty or self.busy or self._desired[1:].any())

    @property
    def trajectory_time(self) -> float:
        """Trajectory time (s) in the last cycle: clock time less the delay by speed scaling; -inf before the first."""
        return self._scaling.at(self._time)[0]

    def set_speed(self, factor: float) -> None:
        """Set the speed ``factor`` (0 to 1) of trajectory time, at once or, during a stop, after it.

        The factor changes by 2 per second, so that velocities stay continuous. The time of feedforward effort is
        scaled, not its magnitude; streamed set points are not slowed down. Raises RobotDynamicsError for other numbers.
        """
        self._requested_speed = checked_speed(factor)
        if self.empty:
            self.speed = self._requested_speed
        elif self._stop is None:
            self._scaling = self._scaling.toward(self._time, factor)

    def hold(self, time: float, q: Array) -> None:
        """Drop all trajectories and hold q (n,), rad or m, from ``time`` (s) on; the clock may have jumped."""
        self.empty = False
        self._time = time
        self._scaling = TimeScaling(
            time, time, self._requested_speed, self._requested_speed
        )
        self._followed = []
        self._waiting = []
        self._stop = None
        self.drops += 1
        self._motion[0] = q
        self._motion[1:] = 0.0
        self.speed = self._requested_speed
        self._desired[:] = self._motion

    def rest_from(self, time: float, q: Array, qd: Array, deceleration: Array) -> None:
        """Drop all trajectories and decelerate from position q and velocity qd (n,), at ``time`` (s), to rest.

        ``deceleration`` (n,), rad/s^2 or m/s^2, is positive.
        """
        self.hold(time, q)
        if qd.any():
            self._scaling = TimeScaling(time, time)
            self._begin_stop(stop(time, q, qd, deceleration))

    def follow(
        self,
        points: TrajectoryPoints,
        start_time: float | None,
        now: float,
        rules: TrajectoryRules,
        measured: tuple[Array, Array] | None,
        limits: TrajectoryLimits | None = None,
    ) -> Trajectory:
        """Accept a trajectory, which replaces those of its joints, and return it in trajectory time.

        The motion begins in the desired state, with continuous position, velocity and effort, or by ``rules`` in the
        ``measured`` state. Until a start in the future, which speed scaling delays, the joints continue their motion;
        if the first point has time 0, only until their last point before the start. With a start in the past, the
        motion goes to the first point that is not over. If the start is now, a first point at time 0 applies at once,
        as in JTC. An empty plan begins at rest in the measured position, or if it is unknown in that of the first
        point.

        Parameters
        ----------
        points
            Points of the trajectory.
        start_time
            Clock time (s) from which the times of the points count; None: ``now``.
        now
            Clock time (s).
        rules
            Parameters of acceptance and interpolation.
        measured
            Measured position (rad or m) and velocity, each (n,); None: unknown.
        limits
            Limits of the motion; None: no limits.

        Raises
        ------
        JointNamesError
            For unknown, repeated and, unless ``rules`` allow it, missing joints, and for some, not all, of the joints
            that move a limited joint.
        TrajectoryError
            For invalid points, motion beyond the limits, a start that is not finite, a trajectory that ended before
            ``now``, and if too many trajectories have starts in the future. The plan is then unchanged.
        """
        now = max(now, self._time)
        wait = 0.0 if start_time is None else start_time - now
        here, speed, _ = (now, self.speed, 0.0) if self.empty else self._scaling.at(now)
        columns = joint_columns(
            points.joint_names, self._names, rules.allow_partial_joints_goal
        )
        joints = np.zeros(len(self._names), dtype=bool)
        joints[columns] = True
        begin = here
        if wait > 0.0:
            at_start = checked_times(points.times)[0] == 0.0
            begin = (
                max(here, self._last_knot(here + wait, joints))
                if at_start
                else here + wait
            )
        if (
            measured is not None
            and wait <= 0.0
            and not rules.interpolate_from_desired_state
        ):
            state = np.stack(
                (
                    measured[0],
                    measured[1] / max(speed, SLOWEST_SPEED_FACTOR),
                    np.zeros(len(joints)),
                    self._motion[3],
                )
            )
        elif self.empty:
            state = self._first_state(points, columns, measured)
        else:
            state = self._state(begin)
        trajectory = Trajectory.from_points(
            points,
            self._names,
            here + wait,
            state,
            state_time=begin,
            rules=rules,
            limits=limits,
        )
        trajectory.check_not_over(here)
        waiting = _without(joints, self._waiting, begin)
        if len(waiting) >= MOST_WAITING:
            raise TrajectoryError(
                f"{len(waiting)} trajectories have starts in the future already. Cure: send fewer ahead of time"
            )
        if self.empty:
            self.hold(now, state[0])
        insort(waiting, _Piece(begin, trajectory, joints), key=attrgetter("begin"))
        self._waiting = waiting
        return trajectory

    def cancel(self, now: float, deceleration: Array | None) -> None:
        """Drop all trajectories with their effort, and stop every joint from its desired motion at ``now`` (s).

        ``deceleration`` (n,), rad/s^2 or m/s^2 by clock time, is positive; None: stop at once.
        """
        if self.empty:
            return
        # The speed factor is constant during the stop, as it scales the deceleration.
        now = max(now, self._time)
        here, speed, _ = self._scaling.at(now)
        self._scaling = TimeScaling(now, here, speed, speed)
        q, qd, *_ = self._state(here)
        if deceleration is None or speed <= STOPPED_SPEED_FACTOR:
            self._begin_stop(stop(here, q, 0.0 * qd, np.ones_like(qd)))
        else:
            self._begin_stop(stop(here, q, qd, deceleration / speed**2))
        self.drops += 1

    def _begin_stop(self, trajectory: Trajectory) -> None:
        self._stop = trajectory
        self._waiting = [
            _Piece(
                trajectory.start_time, trajectory, np.ones(len(self._names), dtype=bool)
            )
        ]

    def advance(self, time: float) -> bool:
        """Update the desired motion to ``time`` (s); return True while a trajectory runs or waits for its start.

        If the time goes back, all trajectories are dropped and the desired position is held. An empty plan changes
        nothing.
        """
        if self.empty:
            return False
        if time < self._time:
            self.hold(time, self.q)
        self._time = time
        here, speed, rate = self._scaling.at(time)
        while self._waiting and self._waiting[0].begin <= here:
            piece = self._waiting.pop(0)
            self._followed = [*_without(piece.joints, self._followed), piece]
        self._followed = [
            piece for piece in self._followed if self._sample(piece, here, self._motion)
        ]
        self.speed = speed
        self._desired[:] = self._motion
        _scale(self._desired, speed, rate)
        if self._stop is not None and all(
            p.trajectory is not self._stop for p in (*self._followed, *self._waiting)
        ):
            self._stop = None
            self._scaling = self._scaling.toward(time, self._requested_speed)
        return self.busy

    def ahead(self, seconds: float) -> Array:
        """Return position, velocity, acceleration and feedforward effort (4, n) ``seconds`` after the last cycle.

        The plan is not advanced.
        """
        if self.empty:
            return self._desired.copy()
        here, speed, rate = self._scaling.at(self._time + seconds)
        state = self._state(here)
        _scale(state, speed, rate)
        return state

    def _sample(self, piece: _Piece, when: float, out: Array) -> bool:
        """Write the motion of the joints of ``piece`` at ``when`` (s) to ``out`` (4, n); return True until its end."""
        active = piece.trajectory.sample_rows(when, self._sampled)
        np.copyto(out, self._sampled, where=piece.joints)
        return active

    def _state(self, when: float) -> Array:
        """Return motion and effort (4, n) at a trajectory time ``when`` (s) that is not in the past."""
        state = self._motion.copy()
        for piece in (*self._followed, *self._waiting):
            if piece.begin <= when:
                self._sample(piece, when, state)
        return state

    def _first_state(
        self,
        points: TrajectoryPoints,
        columns: list[int],
        measured: tuple[Array, Array] | None,
    ) -> Array:
        """Return the initial motion and effort (4, n) of an empty plan, for points of the joints ``columns``."""
        state = np.zeros_like(self._motion)
        if measured is not None:
            state[0] = measured[0]
        elif len(columns) == len(self._names):
            state[0, columns] = checked_points(
                points, allow_nonzero_velocity_at_end=True
            )[1][0][0]
        else:
            name = next(name for name in self._names if name not in points.joint_names)
            raise TrajectoryError(
                f"the position of joint '{name}' is unknown. Cure: include all joints in the first trajectory"
            )
        return state

    def _last_knot(self, before: float, joints: Mask) -> float:
        """Return the time (s) of the last point of one of the joints before a trajectory time, or -inf."""
        pieces = (
            piece
            for piece in (*self._followed, *self._waiting)
            if bool((piece.joints & joints).any())
        )
        return max(
            (piece.trajectory.last_knot_before(before) for piece in pieces),
            default=-math.inf,
        )


def _scale(motion: Array, speed: float, rate: float) -> None:
    """Change a motion (4, n) from derivatives by trajectory time to those by clock time: the chain rule.

    ``speed`` is the factor of trajectory time, ``rate`` its derivative (1/s).
    """
    before = motion[1].copy() if rate != 0.0 else None
    if speed != 1.0:
        motion[1] *= speed
        motion[2] *= speed * speed
    if before is not None:
        motion[2] += rate * before


def _without(
    joints: Mask, pieces: Sequence[_Piece], since: float = -math.inf
) -> list[_Piece]:
    """Return the pieces, without these joints in those that begin at ``since`` or later; empty pieces are dropped."""
    left = [
        piece._replace(joints=piece.joints & ~joints) if piece.begin >= since else piece
        for piece in pieces
    ]
    return [piece for piece in left if piece.joints.any()]
