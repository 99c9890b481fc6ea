"""What is known of an arm from the last messages that came: derivatives without noise, and how old they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.bags import JointSeries, read_joint_states
from robot_dynamics_ros.bags.reader import BagReader
from robot_dynamics_ros.bags.storage import JOINT_STATE
from robot_dynamics_ros.errors import BagError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.view.moment import Moment

SILENCE = 1.0  # s without joint states after which what is seen is of the past

_SMOOTHING = 0.05  # s, time constant of velocity where none comes, and of acceleration


class LiveArm:
    """The last joint states and commands of n joints, and derivatives of them.

    Velocity where none is published, and acceleration, are differences that pass a low-pass of 50 ms.
    """

    def __init__(self) -> None:
        self._at = -np.inf
        self._received = -np.inf
        self._q: Array | None = None
        self._qd: Array | None = None
        self._qdd: Array | None = None
        self._effort: Array | None = None
        self._desired: Array | None = None
        self._commanded: Array | None = None
        self._commanded_at = -np.inf

    def state(self, at: float, now: float, q: Array, qd: Array | None, effort: Array | None) -> None:
        """Take joint states in: their stamp and the present time (s), position, velocity and effort (n,).

        Positions that are not finite are passed over; a stamp that is not later than the last begins anew.
        """
        if not np.isfinite(q).all():
            return
        passed = at - self._at
        known = self._q is not None and 0.0 < passed < SILENCE
        if qd is None or not np.isfinite(qd).all():
            qd = _smoothed(self._qd, q, self._q, passed) if known else np.zeros_like(q)
        self._qdd = _smoothed(self._qdd, qd, self._qd, passed) if known else np.zeros_like(q)
        self._at, self._received, self._q, self._qd, self._effort = at, now, q, qd, effort

    def command(self, now: float, desired: Array, effort: Array | None) -> None:
        """Take a command in: the present time (s), desired position and commanded effort (n,)."""
        if np.isfinite(desired).all():
            self._desired, self._commanded, self._commanded_at = desired, effort, now

    def age(self, now: float) -> float:
        """Return how long (s) no joint states have come; infinity where none ever did."""
        return now - self._received

    def moment(self, now: float) -> tuple[Moment, str] | None:
        """Return what to show, and which torque that is; None before the first joint states.

        The torque is the measured one, else the commanded one, else unknown. Commands of the past count no longer.
        """
        if self._q is None or self._qd is None or self._qdd is None:
            return None
        commanded = now - self._commanded_at < SILENCE
        desired = self._desired if commanded else None
        torque, kind = self._effort, "measured effort"
        if torque is None and commanded:
            torque, kind = self._commanded, "commanded effort"
        if torque is None:
            torque = np.full_like(self._q, np.nan)
        return Moment(self._q, self._qd, self._qdd, torque, desired), kind


def _smoothed(rate: Array | None, new: Array, old: Array | None, passed: float) -> Array:
    """Return the rate of change (n,) after a low-pass of the first order, from the last one."""
    assert old is not None
    difference: Array = (new - old) / passed
    if rate is None:
        return difference
    share = passed / (_SMOOTHING + passed)
    return rate + share * (difference - rate)


MEASURED, COMMANDED, MODELLED = "measured effort", "commanded effort", "the model's torque"

_COMMANDS = "command_states"
_HALF_WINDOW = 0.025  # s to either side over which velocities are differenced


@dataclass(frozen=True, eq=False)
class Track:
    """Numbers over time: seconds (m,), increasing, and rows (m, n), finite."""

    time: Array
    rows: Array

    def at(self, time: float) -> Array:
        """Return the row (n,) at a time, interpolated; that of the nearer end outside."""
        k = int(np.clip(np.searchsorted(self.time, time, side="right") - 1, 0, max(len(self.time) - 2, 0)))
        if len(self.time) == 1:
            return np.array(self.rows[0])
        share = (time - self.time[k]) / (self.time[k + 1] - self.time[k])
        row: Array = self.rows[k] + float(np.clip(share, 0.0, 1.0)) * (self.rows[k + 1] - self.rows[k])
        return row

    def rate(self, time: float) -> Array:
        """Return the rows' mean rate of change (n,) over 50 ms around a time: derivatives without the noise."""
        before, after = np.clip((time - _HALF_WINDOW, time + _HALF_WINDOW), self.time[0], self.time[-1])
        if after <= before:
            return np.zeros(self.rows.shape[1])
        rate: Array = (self.at(float(after)) - self.at(float(before))) / float(after - before)
        return rate


@dataclass(frozen=True, eq=False)
class MotionRecording:
    """A recorded motion of a model's joints.

    Attributes
    ----------
    q, qd
        Measured position, and velocity where it was recorded.
    desired
        Desired position; None where the bag does not have it.
    torque
        The torque to show; None where it is to be computed from the motion.
    torque_kind
        What that is: measured, else commanded, else the model's.
    """

    q: Track
    qd: Track | None
    desired: Track | None
    torque: Track | None
    torque_kind: str

    @property
    def duration(self) -> float:
        """Seconds from the first joint states to the last."""
        return float(self.q.time[-1])

    def moment(self, model: RobotModel, time: float) -> Moment:
        """Return what is known at ``time`` seconds after the first joint states, between messages interpolated."""
        q = self.q.at(time)
        qd = self.q.rate(time) if self.qd is None else self.qd.at(time)
        qdd = np.zeros(model.n) if self.qd is None else self.qd.rate(time)
        if self.torque is None:
            torque = model.inverse_dynamics(q, qd, qdd) + model.friction_torque(q, qd)
        else:
            torque = self.torque.at(time)
        return Moment(q, qd, qdd, torque, None if self.desired is None else self.desired.at(time))


def read_motion(
    path: str | Path, topic: str, model: RobotModel, rename: Mapping[str, str] | None = None
) -> tuple[MotionRecording, list[str]]:
    """Read the joint states of a bag, and the controller's command_states where there are any; and notes on it.

    Times are the stamps where they increase, else those of arrival. Raises BagError where the bag or its joint states
    cannot be read.
    """
    state = read_joint_states(path, [topic], rename)[topic].in_order(model.joint_names)
    command, notes = _commands(Path(path), topic, model, rename)
    stamped = _stamped(state) and (command is None or _stamped(command))
    times = [series.stamps if stamped else series.received for series in (state, command) if series is not None]
    usable = np.isfinite(state.position).all(axis=1)
    if not usable.any():
        raise BagError(
            f"{path}: {topic}: no message has a finite position of each joint. Cure: see what published them"
        )
    start = int(times[0][usable].min())
    tracks = {name: _track(times[0], start, getattr(state, name)) for name in ("position", "velocity", "effort")}
    desired, commanded = None, None
    if command is not None:
        desired, commanded = (_track(times[1], start, rows) for rows in (command.position, command.effort))
    torque, kind = tracks["effort"], MEASURED
    if torque is None:
        torque, kind = commanded, COMMANDED if commanded is not None else MODELLED
    q = tracks["position"]
    assert q is not None
    return MotionRecording(q, tracks["velocity"], desired, torque, kind), notes


def _commands(
    path: Path, topic: str, model: RobotModel, rename: Mapping[str, str] | None
) -> tuple[JointSeries | None, list[str]]:
    with BagReader(path) as reader:
        there = [name for name, kind in reader.topics.items() if kind == JOINT_STATE and name != topic]
    fitting = [name for name in there if name.rpartition("/")[2] == _COMMANDS]
    if len(fitting) != 1:
        why = f"several topics {_COMMANDS}" if fitting else f"no topic {_COMMANDS}"
        return None, [f"the bag has {why}: there is no desired arm"]
    try:
        return read_joint_states(path, fitting, rename, model.joint_names)[fitting[0]], []
    except BagError as problem:
        return None, [f"there is no desired arm: {problem}"]


def _stamped(series: JointSeries) -> bool:
    """Whether the stamps tell the time: they do not stand still, and none is left at zero among others."""
    stamps = series.stamps
    return bool(len(stamps) > 1 and (np.diff(stamps) > 0).mean() > 0.5 and (stamps > 0).mean() > 0.99)


def _track(times: NDArray[np.int64], start: int, rows: Array) -> Track | None:
    """Return the finite rows (m, n) at increasing times (m,), ns, as seconds from ``start``; None for none."""
    usable = np.flatnonzero(np.isfinite(rows).all(axis=1))
    if not len(usable):
        return None
    order = usable[np.argsort(times[usable], kind="stable")]
    _, first = np.unique(times[order], return_index=True)
    order = order[first]
    return Track(np.asarray((times[order] - start) * 1e-9, dtype=np.float64), rows[order])


@dataclass
class Clock:
    """The time of a recording while it plays: seconds, up to ``duration``; at the end it begins anew.

    ``speed`` is recorded seconds a second.
    """

    duration: float
    time: float = 0.0
    playing: bool = False
    speed: float = 1.0

    def advance(self, seconds: float) -> bool:
        """Let real time pass; return whether the recording's time has changed."""
        if not self.playing or self.duration <= 0.0:
            return False
        self.time += self.speed * seconds
        if self.time >= self.duration:
            self.time = 0.0
        return True
