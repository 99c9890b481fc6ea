"""Motion to display: states of the scene from a recording or from received messages.

Arms have n joints, in the order of ``RobotModel.joint_names``. Positions are in rad or m, velocities and accelerations
per s and s^2, torques in Nm or N. Times of a recording are in s and count from its first joint states with finite
positions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.analysis.thresholds import (
    DERIVATIVE_SMOOTHING,
    DIFFERENCE_HALF_WIDTH,
    STALE_TIME,
)
from robot_dynamics_ros.base.errors import BagError
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.recordings.bags import JointSeries, read_joint_states
from robot_dynamics_ros.recordings.bags.reader import BagReader, command_topic, opened


@dataclass(frozen=True, eq=False)
class SceneState:
    """State of an arm of n joints: position ``q``, velocity ``qd``, acceleration ``qdd`` and ``torque``, each (n,).

    ``torque`` is the one to display, NaN if unknown; ``torque_kind`` is a text for its source, such as "measured
    effort". ``desired`` is the desired position (n,), or None.
    """

    q: Array
    qd: Array
    qdd: Array
    torque: Array
    desired: Array | None = None
    torque_kind: str = "torque"


class LiveArm:
    """Last joint states and commands of n joints, and their derivatives.

    Two clocks are used. ``now`` is the present time (s) of any clock that never goes back, the same in all calls, such
    as time.monotonic; age and validity of messages count by it. ``at`` is the header stamp (s) of a message, used for
    derivatives. The acceleration, and the velocity if none is published, are differences with a low-pass filter of 50
    ms; they are 0 after the first joint states.
    """

    def __init__(self) -> None:
        self._at = self._received = self._commanded_at = -np.inf
        self._motion: tuple[Array, Array, Array] | None = None
        self._effort: Array | None = None
        self._desired: Array | None = None
        self._commanded: Array | None = None

    def state(
        self, at: float, now: float, q: Array, qd: Array | None, effort: Array | None
    ) -> None:
        """Set joint states with stamp ``at`` (s), received at ``now`` (s): position, velocity and effort, each (n,).

        ``qd`` and ``effort`` are None if not published. Joint states with a position that is not finite are ignored. A
        stamp that is not later than the last one, or later by a second or more, resets the derivatives to 0.
        """
        if not np.isfinite(q).all():
            return
        passed = at - self._at
        last = self._motion if 0.0 < passed < STALE_TIME else None
        if qd is None or not np.isfinite(qd).all():
            qd = (
                np.zeros_like(q)
                if last is None
                else _low_pass(last[1], (q - last[0]) / passed, passed)
            )
        qdd = (
            np.zeros_like(q)
            if last is None
            else _low_pass(last[2], (qd - last[1]) / passed, passed)
        )
        self._at = at
        self._received = now
        self._motion = (q, qd, qdd)
        self._effort = effort

    def command(self, now: float, desired: Array, effort: Array | None) -> None:
        """Set a command received at ``now`` (s): desired position (n,), and commanded effort (n,) or None.

        Commands with a position that is not finite are ignored.
        """
        if np.isfinite(desired).all():
            self._desired = desired
            self._commanded = effort
            self._commanded_at = now

    def age(self, now: float) -> float:
        """Return the time (s) from the reception of the last joint states to ``now``; infinity without any."""
        return now - self._received

    def scene_state(self, now: float) -> SceneState | None:
        """Return the last state, not extrapolated to ``now`` (s); None before the first joint states.

        The torque is the measured effort, else the commanded one, else NaN. A command received a second or more before
        ``now`` is ignored: its desired position is then None. Joint states do not expire.
        """
        if self._motion is None:
            return None
        q, qd, qdd = self._motion
        commanded = now - self._commanded_at < STALE_TIME
        torque = self._effort
        kind = "measured effort"
        if torque is None and commanded:
            torque = self._commanded
            kind = "commanded effort"
        if torque is None:
            torque = np.full_like(q, np.nan)
        return SceneState(
            q, qd, qdd, torque, self._desired if commanded else None, kind
        )


def _low_pass(last: Array, new: Array, passed: float) -> Array:
    return last + passed / (DERIVATIVE_SMOOTHING + passed) * (new - last)


@dataclass(frozen=True, eq=False)
class Track:
    """Time series: strictly increasing times (m,), in s, and a finite row (n,) of ``rows`` (m, n) at each; m >= 1."""

    time: Array
    rows: Array

    def at(self, time: float) -> Array:
        """Return the row (n,) at ``time`` (s) by linear interpolation.

        Before the first time it is the first row, after the last time the last row.
        """
        return np.array([np.interp(time, self.time, column) for column in self.rows.T])

    def rate(self, time: float) -> Array:
        """Return the mean rate of change (n,), per s, over the 50 ms around a time (s), which attenuates noise.

        At the ends only the part of this window inside the time series is used; outside it the rate is 0.
        """
        before, after = np.clip(
            (time - DIFFERENCE_HALF_WIDTH, time + DIFFERENCE_HALF_WIDTH),
            self.time[0],
            self.time[-1],
        )
        if after <= before:
            return np.zeros(self.rows.shape[1])
        return (self.at(after) - self.at(before)) / float(after - before)


@dataclass(frozen=True, eq=False)
class JointTracks:
    """Recorded motion of a robot: tracks with rows (m, n) of position, velocity, desired position and torque.

    ``q`` and ``qd`` are measured; ``qd`` and ``desired`` are None if not recorded. ``torque`` is the one to display;
    None if it must be computed from the motion. ``torque_kind`` is a text for its source: "measured effort", else
    "commanded effort", else "computed from the motion". All times count from the first measured position.
    """

    q: Track
    qd: Track | None
    desired: Track | None
    torque: Track | None
    torque_kind: str

    @property
    def duration(self) -> float:
        """Time (s) from the first measured position to the last."""
        return float(self.q.time[-1])

    @property
    def start(self) -> float:
        """Time (s), from the first measured position, at which the desired position first changes.

        It is 0 if the desired position does not change, changes earlier, or is not recorded.
        """
        if self.desired is None:
            return 0.0
        moved = np.flatnonzero((self.desired.rows != self.desired.rows[0]).any(axis=1))
        return max(0.0, float(self.desired.time[moved[0]])) if len(moved) else 0.0

    def scene_state(self, model: RobotModel, time: float) -> SceneState:
        """Return the linearly interpolated state at ``time`` (s) after the first measured position.

        Before the first and after the last value of a track that value is held. Derivatives that are not recorded are
        differences over the part of the 50 ms around ``time`` that is inside the track, 0 if none is. Without recorded
        velocity the acceleration is 0. A torque that is not recorded is inverse dynamics plus friction of ``model``.
        """
        q = self.q.at(time)
        qd = self.q.rate(time) if self.qd is None else self.qd.at(time)
        qdd = np.zeros(model.n) if self.qd is None else self.qd.rate(time)
        if self.torque is None:
            torque = model.inverse_dynamics(q, qd, qdd) + model.friction_torque(
                q, qd, qdd=qdd
            )
        else:
            torque = self.torque.at(time)
        desired = None if self.desired is None else self.desired.at(time)
        return SceneState(q, qd, qdd, torque, desired, self.torque_kind)


def read_motion(
    bag: str | Path | BagReader,
    topic: str,
    model: RobotModel,
    rename: Mapping[str, str] | None = None,
) -> tuple[JointTracks, list[str]]:
    """Return the motion in a bag, and notes for the user, such as why it has no desired positions.

    ``bag`` is a folder, a file or an open reader, which stays open. The joint states are those of ``topic``. Desired
    positions and efforts are read from the only other JointState topic named command_states, if there is one.
    ``rename`` maps joint names, or their prefixes, in the bag to those of ``model``. Times are the header stamps if
    they increase, else the times of reception.

    Raises BagError if the bag cannot be read, or ``topic`` is missing, lacks joints of the model, or has no finite
    positions.
    """
    with opened(bag) as reader:
        path = reader.path
        state = read_joint_states(reader, [topic], rename)[topic]
        state = state.in_order(model.joint_names)
        command, notes = _commands(reader, topic, model, rename)
    stamped = _stamped(state) and (command is None or _stamped(command))
    times = state.stamps if stamped else state.received
    usable = np.isfinite(state.position).all(axis=1)
    if not usable.any():
        raise BagError(
            f"{path}: {topic}: no message has a finite position for each joint. Cure: check its publisher"
        )
    start = int(times[usable].min())
    q, qd, torque = (
        _track(times, start, rows)
        for rows in (state.position, state.velocity, state.effort)
    )
    assert q is not None
    kind = "measured effort"
    desired = None
    if command is not None:
        times = command.stamps if stamped else command.received
        desired = _track(times, start, command.position)
        if torque is None:
            torque = _track(times, start, command.effort)
            kind = "commanded effort"
    if torque is None:
        kind = "computed from the motion"
    return JointTracks(q, qd, desired, torque, kind), notes


def _commands(
    bag: BagReader, topic: str, model: RobotModel, rename: Mapping[str, str] | None
) -> tuple[JointSeries | None, list[str]]:
    try:
        name = command_topic(bag, topic)
        if name is None:
            return None, [
                "the bag has no topic command_states: there is no desired arm"
            ]
        return read_joint_states(bag, [name], rename, model.joint_names)[name], []
    except BagError as error:
        return None, [f"there is no desired arm: {error}"]


def _stamped(series: JointSeries) -> bool:
    """Return True if most stamps increase and less than 1 % are zero."""
    stamps = series.stamps
    return bool(
        len(stamps) > 1
        and (np.diff(stamps) > 0).mean() > 0.5
        and (stamps > 0).mean() > 0.99
    )


def _track(times: NDArray[np.int64], start: int, rows: Array) -> Track | None:
    """Return a Track of the finite rows (m, n) at increasing times (m,), ns, relative to ``start``; None if empty."""
    usable = np.flatnonzero(np.isfinite(rows).all(axis=1))
    if not len(usable):
        return None
    times, first = np.unique(times[usable], return_index=True)
    # columns in one piece, for fast interpolation
    columns = np.asfortranarray(rows[usable[first]])
    return Track(np.asarray((times - start) * 1e-9, dtype=np.float64), columns)


@dataclass
class Clock:
    """Time (s) of a recording during playback, from 0 to ``duration`` (s).

    At the end playback starts again at 0 if ``repeat`` is True, else it stops there. ``playing`` is False while paused.
    ``speed`` is the playback rate: seconds of the recording for each second of real time.
    """

    duration: float
    time: float = 0.0
    playing: bool = False
    speed: float = 1.0
    repeat: bool = True

    def play(self) -> None:
        """Start or resume playback; from the beginning if the time is at the end."""
        self.time = 0.0 if self.time >= self.duration else self.time
        self.playing = True

    def advance(self, seconds: float) -> bool:
        """Advance by ``seconds`` of real time, times ``speed``; return True if playing and ``duration`` is positive.

        Otherwise the time does not change.
        """
        if not self.playing or self.duration <= 0.0:
            return False
        self.time += self.speed * seconds
        if self.time >= self.duration:
            self.time = 0.0 if self.repeat else self.duration
            self.playing = self.repeat
        return True
