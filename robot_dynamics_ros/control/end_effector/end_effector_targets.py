"""Targets of the end effector, as messages and as desired motion over time.

Poses are (4, 4) in the root frame, twists and accelerations (6,), linear then angular, at the origin of the
end-effector link in the root frame's axes. Plausible numbers are finite and at most 1e9.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.control.configuration.settings import TaskSpaceSettings
from robot_dynamics_ros.control.end_effector.poses import (
    COMPONENTS,
    TaskMotion,
    pose_of,
    rotation_matrix,
)
from robot_dynamics_ros.control.thresholds import LARGEST_MAGNITUDE, MOST_WAITING
from robot_dynamics_ros.dynamics.kernels.types import Array


class EndEffectorTarget(NamedTuple):
    """Message with a target of the end effector.

    Attributes
    ----------
    quantity
        "pose", "twist" or "acceleration".
    stamp
        Stamp of the message (ns of the ROS clock); 0: now.
    frame
        Name of the frame in which ``numbers`` are expressed; "": the root link.
    numbers
        Pose: position (m) and quaternion x y z w, (7,). Others: linear, then angular part, (6,).
    """

    quantity: str
    stamp: int
    frame: str
    numbers: Array


_REST: Array = np.zeros(6)
_PARTS = (
    ("linear", slice(0, 3), "m/s"),
    ("angular", slice(3, 6), "rad/s"),
)


@dataclass(slots=True)
class _Target:
    """Pose from ``begin`` (s) on, and its feedforward; a pose to hold has no stamp and no feedforward."""

    begin: float
    pose: Array
    stamp: int | None = None
    feedforward: dict[str, Array] = field(default_factory=dict)


class EndEffectorTargets:
    """Desired motion of the end effector, from target messages.

    Times are seconds by the clock of the controller's trajectories, stamps the nanoseconds in header.stamp of messages.
    A target is valid from its begin on, and replaces targets that begin at the same time or later. A twist or
    acceleration belongs to the one pose of the same stamp, in any order of arrival; it extrapolates the target. A pose
    to hold, set by ``hold``, is not a target. Poses are in the root frame, m.

    Attributes
    ----------
    timeout
        Longest time (s) of extrapolation; afterwards the target is at rest.
    """

    def __init__(self, settings: TaskSpaceSettings) -> None:
        """Create it without targets; ``settings`` have the timeout and the largest velocities of targets."""
        self.tune(settings)
        self.clear()

    def tune(self, settings: TaskSpaceSettings) -> None:
        """Apply new settings; only velocities of controlled components are limited."""
        self.timeout = settings.target_timeout
        self._largest = settings.max_linear_velocity, settings.max_angular_velocity
        components = settings.components.split()
        self._controlled = np.array([float(name in components) for name in COMPONENTS])

    def clear(self) -> None:
        """Drop all targets."""
        self._current: _Target | None = None
        self._waiting: list[_Target] = []
        self._early: dict[tuple[str, int], tuple[float, Array]] = {}

    @property
    def none_has_begun(self) -> bool:
        """True if neither a target is in effect, by a call of ``at``, nor a pose to hold has been set."""
        return self._current is None

    def receive(
        self, target: EndEffectorTarget, root: str, begin: float, now: float
    ) -> bool:
        """Add the ``target`` of a message, for the time ``begin`` (s); return True if it is the first pose.

        ``root`` is the name of the root link, ``now`` the time (s).

        Raises
        ------
        RobotDynamicsError
            For another frame, a quaternion that is not of length 1, implausible numbers, a twist or acceleration that
            exceeds the largest velocities, and if too many targets wait.
        """
        if target.frame not in ("", root):
            raise RobotDynamicsError(
                f'frame_id "{target.frame}" is not the root link. Cure: transform the target to "{root}" with tf2'
            )
        if target.quantity != "pose":
            self.feed_forward(target.quantity, target.numbers, target.stamp, now)
            return False
        first = not self._waiting and (
            self._current is None or self._current.stamp is None
        )
        pose = pose_of(target.numbers[:3], target.numbers[3:])
        self.follow(pose, target.stamp, begin, now)
        return first

    def hold(self, pose: Array) -> None:
        """Set a pose (4, 4) to hold until a target begins; it ends the target in effect."""
        self._current = _Target(0.0, pose)

    def follow(self, pose: Array, stamp: int, begin: float, now: float) -> None:
        """Add a target pose (4, 4) for the time ``begin`` (s), before or after ``now`` (s), with its ``stamp`` (ns).

        Raises RobotDynamicsError for implausible positions and if too many targets wait; the targets are then
        unchanged.
        """
        _check("position", pose[:3, 3])
        waiting = [target for target in self._waiting if target.begin < begin]
        if len(waiting) >= MOST_WAITING:
            raise RobotDynamicsError(
                f"{len(waiting)} targets have times in the future already. Cure: send fewer ahead of time"
            )
        target = _Target(begin, pose, stamp)
        for kind in ("twist", "acceleration"):
            early = self._early.pop((kind, stamp), None)
            # A stamp of 0 does not identify the pose: feedforward older than the timeout is discarded.
            if early is not None and (stamp != 0 or now - early[0] <= self.timeout):
                target.feedforward[kind] = early[1]
        self._waiting = [*waiting, target]

    def feed_forward(self, kind: str, vector: Array, stamp: int, now: float) -> None:
        """Add ``vector`` (6,), by ``kind`` a twist or acceleration, for the pose with this ``stamp`` (ns).

        The units are m and rad, per s or per s^2. The pose may arrive later. ``now`` is the time (s). Raises
        RobotDynamicsError for implausible numbers, for a twist above the largest velocities, and for an acceleration
        that exceeds them from rest within the ``timeout``; the targets are then unchanged.
        """
        _check(kind, vector)
        self._check_velocity(kind, vector)
        for target in (
            *self._waiting,
            *([] if self._current is None else [self._current]),
        ):
            if (
                target.stamp == stamp
                and kind not in target.feedforward
                and now - target.begin <= self.timeout
            ):
                target.feedforward[kind] = vector
                return
        self._early[kind, stamp] = now, vector
        if len(self._early) > 2 * MOST_WAITING:
            del self._early[next(iter(self._early))]

    def at(self, time: float) -> TaskMotion:
        """Return the desired motion at ``time`` (s), which must not decrease; a target or a pose to hold is required.

        With twist v, w and acceleration a, alpha of a target, and t since its begin, the position of its pose p changes
        to p + v t + a t^2 / 2, its rotation by the exponential of w t + alpha t^2 / 2 (exact for parallel w and alpha,
        else second order in t), up to ``timeout``. Where the velocity reaches the largest one, the acceleration ends. A
        pose to hold, and a pose without both, is at rest.
        """
        while self._waiting and self._waiting[0].begin <= time:
            self._current = self._waiting.pop(0)
        assert self._current is not None
        target = self._current
        if not target.feedforward or self.timeout == 0.0:
            return TaskMotion(target.pose, _REST, _REST)
        twist = target.feedforward.get("twist", _REST)
        acceleration = target.feedforward.get("acceleration", _REST)
        t = time - target.begin
        over = t > self.timeout
        t = min(t, self.timeout)
        speeding = min(t, self._speeding_time(twist, acceleration))
        change = t * twist + speeding * (t - 0.5 * speeding) * acceleration
        pose = target.pose.copy()
        pose[:3, 3] += change[:3]
        pose[:3, :3] = rotation_matrix(change[3:]) @ pose[:3, :3]
        if over:
            return TaskMotion(pose, _REST, _REST)
        twist = twist + speeding * acceleration
        return TaskMotion(pose, twist, acceleration if speeding == t else _REST)

    def _check_velocity(self, kind: str, vector: Array) -> None:
        """Raise RobotDynamicsError if a twist, or the velocity that an acceleration adds, exceeds the largest one."""
        controlled = self._controlled * vector
        for (name, part, unit), most in zip(_PARTS, self._largest, strict=True):
            size = math.hypot(*controlled[part])
            within = ""
            if kind == "acceleration":
                within = f" within task_space.target_timeout ({self.timeout:g} s)"
                size *= self.timeout
            if size > most:
                parameter = f"task_space.max_{name}_velocity"
                raise RobotDynamicsError(
                    f"{kind}: its {name} part gives {size:.4g} {unit}{within}, more than {parameter}, {most:g}. "
                    f"Cure: send it in m, rad and s, or raise {parameter}"
                )

    def _speeding_time(self, twist: Array, acceleration: Array) -> float:
        """Return the time (s) from ``twist`` (6,) with ``acceleration`` (6,) to the first of the largest velocities.

        It is the positive root of a^2 t^2 + 2 v a t + v^2 = largest^2, for the linear or the angular part.
        """
        times = [math.inf]
        for (_, part, _), most in zip(_PARTS, self._largest, strict=True):
            v = self._controlled[part] * twist[part]
            a = self._controlled[part] * acceleration[part]
            squared = float(a @ a)
            along = float(v @ a)
            if squared > 0.0 and most < math.inf:
                room = max(most**2 - float(v @ v), 0.0)
                times.append((math.sqrt(along**2 + squared * room) - along) / squared)
        return max(min(times), 0.0)


def _check(name: str, values: Array) -> None:
    if not (np.abs(values) <= LARGEST_MAGNITUDE).all():  # False for NaN
        raise RobotDynamicsError(
            f"{name} {values.tolist()}. Cure: give finite numbers of at most {LARGEST_MAGNITUDE:g}"
        )
