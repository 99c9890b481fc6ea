"""Reaction of the arm, computed from the received messages, and the time until its torque was safe."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.robots import Floats
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.recordings.messages.joint_state import JointStateReader
from tools.chaos.rig import COMMAND_TIMEOUT, RATE, Received, Rig

NEAR = 1e-6  # Nm, tolerance of expected efforts
ANSWERED_STATES = 5  # number of recent states that a command may answer
BRAKES = "no commands: brakes"


class Joints(NamedTuple):
    """Joint messages in order of reception: times of reception (T,), s, positions and velocities (T, n)."""

    times: Floats
    position: Floats
    velocity: Floats


def joints(received: Received, names: Sequence[str]) -> Joints:
    """Return deserialized JointState messages."""
    reader = JointStateReader(names)
    samples = [
        (at, sample)
        for at, data in received
        if (sample := reader.read(data)) is not None
    ]
    rows = np.array([(sample.q, sample.qd) for _, sample in samples]).reshape(
        -1, 2, len(names)
    )
    return Joints(np.array([at for at, _ in samples]), rows[:, 0], rows[:, 1])


class Figures(NamedTuple):
    """Results of one fault; NaN if not applicable. Times in s, angles in rad.

    Attributes
    ----------
    modes
        Modes and causes of the controller, in order, from the fault on; BRAKES if commands were missing for longer
        than the timeout of the drives.
    safe
        Time from the last command of the law to the first safe torque: gravity compensation, zero, or brakes on.
    position_error
        Largest distance of a joint from its desired position until the controller follows again.
    velocity
        Largest joint velocity in this time.
    gap
        Longest time without a command during the fault.
    recovery
        Time from the end of the fault until the controller was active again; 0 if it was active all the time, infinite
        if it never was.
    command_share
        Share of the states during the fault for which a command was received.
    invalid_efforts
        Number of efforts in the whole run that were not finite or beyond the limits.
    """

    modes: tuple[str, ...]
    safe: float
    position_error: float
    velocity: float
    gap: float
    recovery: float
    command_share: float
    invalid_efforts: int


def figures(rig: Rig) -> Figures:
    """Return the results of a run whose marks are set."""
    begin, end, active = (rig.marks[name] for name in ("begin", "end", "active"))
    until = rig.marks.get("arm_lost", active)
    model = rig.model
    names = rig.model.joint_names
    states = joints(rig.states, names)
    commands = joints(rig.commands, names)
    # The numbers are at the end of a Float64MultiArray.
    effort = np.array(
        [np.frombuffer(data[-8 * model.n :]) for _, data in rig.efforts]
    ).reshape(-1, model.n)
    effort_times = np.array([at for at, _ in rig.efforts])
    modes = (
        (BRAKES,) if is_silent(states.times, effort_times, begin, end) else ()
    ) + _modes(rig, begin)
    return Figures(
        modes=modes,
        safe=_safe(model, states, effort, effort_times, begin) if modes else math.nan,
        position_error=_position_error(states, commands, begin, until),
        velocity=_largest(states.velocity[_within(states.times, begin, until)]),
        gap=float(np.diff(_with_ends(effort_times, begin, end)).max()),
        recovery=_recovery(rig, end, active),
        command_share=_command_share(states.times, effort_times, begin, end),
        invalid_efforts=int(
            (~(np.abs(effort) <= model.effort_limits * (1.0 + 1e-12)).all(axis=1)).sum()
        ),
    )


def _within(times: Floats, begin: float, end: float) -> Floats:
    return np.flatnonzero((times >= begin) & (times <= end))


def _largest(values: Floats) -> float:
    return float(np.abs(values).max()) if values.size else math.nan


def _modes(rig: Rig, begin: float) -> tuple[str, ...]:
    reported = [
        r for r in rig.reports if r.time >= begin and r.before and r.mode != "active"
    ]
    return tuple(dict.fromkeys(f"{r.mode} ({r.cause})" for r in reported))


def _safe(
    model: RobotModel, states: Joints, effort: Floats, times: Floats, begin: float
) -> float:
    """Return the time from the last command of the law to the first safe one, or the first state with brakes on."""
    moments = [
        states.times[k]
        for k in np.flatnonzero((states.times >= begin) & ~states.velocity.any(axis=1))[
            :1
        ]
    ]
    for k in np.flatnonzero(times >= begin):
        last = np.searchsorted(states.times, times[k])
        if is_safe(
            model, states, slice(max(0, last - ANSWERED_STATES), last + 1), effort[k]
        ):
            moments.append(times[k])
            break
    if not moments:
        return math.nan
    before = times[times < min(moments)]
    return float(min(moments) - before[-1]) if before.size else math.nan


def is_safe(model: RobotModel, states: Joints, which: slice, effort: Floats) -> bool:
    """Return True if an effort (n,) compensates gravity at one of these states, with damping, or is zero."""
    if not effort.any():
        return True
    for q, qd in zip(states.position[which], states.velocity[which], strict=True):
        gravity = model.gravity_torque(q)
        # 2 zeta omega_n of config/panda.yaml
        damping = 20.0 * model.mass_matrix(q) @ qd
        limited = np.clip(gravity - damping, -model.effort_limits, model.effort_limits)
        if min(np.abs(effort - gravity).max(), np.abs(effort - limited).max()) < NEAR:
            return True
    return False


def _position_error(
    states: Joints, commands: Joints, begin: float, until: float
) -> float:
    """Return the largest distance (rad) from the last desired position; before the first one, from the first."""
    which = _within(states.times, begin, until)
    if not which.size or not len(commands.times):
        return math.nan
    last = np.searchsorted(commands.times, states.times[which]) - 1
    return _largest(states.position[which] - commands.position[np.maximum(last, 0)])


def _with_ends(times: Floats, begin: float, end: float) -> Floats:
    return np.concatenate([[begin], times[(times >= begin) & (times <= end)], [end]])


def is_silent(states: Floats, commands: Floats, begin: float, end: float) -> bool:
    """Return True if drives that published states received no command for longer than their timeout."""
    times = _with_ends(commands, begin, end)
    return any(
        _within(states, a + COMMAND_TIMEOUT, b).size > 0
        for a, b in itertools.pairwise(times)
    )


def _recovery(rig: Rig, end: float, active: float) -> float:
    """Return the time until the controller is active again, also if its last report before the end is active."""
    if "given_up" in rig.marks:
        return math.inf
    if "restarted" not in rig.marks and all(
        r.mode == "active" for r in rig.reports if r.time >= rig.marks["begin"]
    ):
        return 0.0
    back = [
        r.time
        for r in rig.reports
        if r.time >= rig.marks["begin"] and r.mode == "active" and r.before
    ]
    return max(
        0.0, (back[-1] if back and "restarted" not in rig.marks else active) - end
    )


def _command_share(states: Floats, commands: Floats, begin: float, end: float) -> float:
    count = len(_within(states, begin, end))
    return (
        len(_within(commands, begin, end)) / count
        if count > 0.1 * RATE * (end - begin)
        else math.nan
    )
