"""Targets of the end effector, extrapolated between messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from robot_dynamics_ros.control.task_space.law import TaskMotion, rotation_matrix
from robot_dynamics_ros.control.trajectory.points import LARGEST
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.moved import former_name

Feedforward = Literal["twist", "acceleration"]

_MOST_WAITING = 100  # limits on memory
_REST: Array = np.zeros(6)


@dataclass(slots=True)
class _Target:
    """Pose from ``begin`` (s) on, and its feedforward; a pose to hold has no stamp and gets none."""

    begin: float
    pose: Array
    stamp: int | None = None
    feedforward: dict[Feedforward, Array] = field(default_factory=dict)


class EndEffectorState(NamedTuple):
    """Errors (m, rad) of the end effector in the components that follow, and as ``TaskTorque``."""

    position_error: float
    rotation_error: float
    smallest_singular_value: float
    damped: bool


class EndEffectorTargets:
    """Desired motion of the end effector.

    Times are seconds on the controller's clock, stamps the nanoseconds of messages. A target is valid from its begin on
    and replaces those that begin at the same time or later. A velocity or an acceleration belongs to the pose of the
    same stamp, whichever comes first, and to one pose only. A target is extrapolated by them, for ``timeout`` (s) at
    most: then it rests.
    """

    def __init__(self) -> None:
        self.timeout = 0.0
        self.clear()

    def clear(self) -> None:
        """Drop all targets."""
        self._current: _Target | None = None
        self._waiting: list[_Target] = []
        self._early: dict[tuple[Feedforward, int], tuple[float, Array]] = {}

    @property
    def none_has_begun(self) -> bool:
        """True if there is no target yet, nor a pose to hold."""
        return self._current is None

    @property
    def empty(self) -> bool:
        """True if there is at most a pose to hold."""
        return not self._waiting and (self._current is None or self._current.stamp is None)

    def hold(self, pose: Array) -> None:
        """Rest at a pose (4, 4) until a target begins."""
        self._current = _Target(0.0, pose)

    def follow(self, pose: Array, stamp: int, begin: float, now: float) -> None:
        """Add the target to be at a pose (4, 4) at ``begin`` (s), before or after ``now``; ``stamp`` is in ns.

        Raises RobotDynamicsError, and changes nothing, for numbers that are too large and where too many wait.
        """
        _check("position", pose[:3, 3])
        waiting = [target for target in self._waiting if target.begin < begin]
        if len(waiting) >= _MOST_WAITING:
            raise RobotDynamicsError(
                f"{len(waiting)} targets wait for their time already. Cure: send fewer ahead of it"
            )
        target = _Target(begin, pose, stamp)
        kinds: Sequence[Feedforward] = ("twist", "acceleration")
        for kind in kinds:
            early = self._early.pop((kind, stamp), None)
            # Stamps of 0 are all alike: what came too early for its pose belongs to none.
            if early is not None and (stamp != 0 or now - early[0] <= self.timeout):
                target.feedforward[kind] = early[1]
        self._waiting = [*waiting, target]

    def feed_forward(self, kind: Feedforward, vector: Array, stamp: int, now: float) -> None:
        """Add a velocity or an acceleration (6,) of the pose with this ``stamp`` (ns), which came or is to come.

        Raises RobotDynamicsError, and changes nothing, for numbers that are too large.
        """
        _check(kind, vector)
        for target in (*self._waiting, *([] if self._current is None else [self._current])):
            if target.stamp == stamp and kind not in target.feedforward and now - target.begin <= self.timeout:
                target.feedforward[kind] = vector
                return
        self._early[kind, stamp] = now, vector
        if len(self._early) > 2 * _MOST_WAITING:
            del self._early[next(iter(self._early))]

    def at(self, time: float) -> TaskMotion:
        """Return the desired motion at ``time`` (s), which does not go back; a target has begun.

        It is p + v t + a t^2 / 2, and the rotation by the exponential of w t + alpha t^2 / 2 (exact for parallel w and
        alpha, else to the second order in t).
        """
        while self._waiting and self._waiting[0].begin <= time:
            self._current = self._waiting.pop(0)
        assert self._current is not None
        target = self._current
        if not target.feedforward:
            return TaskMotion(target.pose, _REST, _REST)
        twist = target.feedforward.get("twist", _REST)
        acceleration = target.feedforward.get("acceleration", _REST)
        t = time - target.begin
        over = t > self.timeout
        t = min(t, self.timeout)
        change = t * twist + 0.5 * t * t * acceleration
        pose = target.pose.copy()
        pose[:3, 3] += change[:3]
        pose[:3, :3] = rotation_matrix(change[3:]) @ pose[:3, :3]
        return TaskMotion(pose, _REST, _REST) if over else TaskMotion(pose, twist + t * acceleration, acceleration)


def _check(name: str, values: Array) -> None:
    if not (np.abs(values) <= LARGEST).all():  # nor is NaN
        raise RobotDynamicsError(f"{name} {values.tolist()}. Cure: give finite numbers of at most {LARGEST:g}")


def __getattr__(name: str) -> object:
    return former_name(__name__, {"HandState": EndEffectorState, "HandTargets": EndEffectorTargets}, name)
