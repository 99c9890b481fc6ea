"""From what was heard to what the arm did, and when its torque was safe."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from benchmarks.robots import Floats
from robot_dynamics_ros import RobotModel
from tools.chaos.record import Joints, efforts, joints
from tools.chaos.rig import COMMAND_TIMEOUT, RATE, Rig

NEAR = 1e-6  # Nm: an effort is the one that was expected
ANSWERED_STATES = 5  # the last so many states that a command may answer
BRAKES = "silent: the motors' watchdog brakes"


class Figures(NamedTuple):
    """One fault in numbers; nan where there is nothing to say. Times in s, angles in rad.

    Attributes
    ----------
    modes
        Modes and causes that the controller went through, in order, from the fault on; BRAKES where commands were
        missing for longer than the motors wait.
    safe
        From the last command of the law to the first torque that is not the law's: it carries the arm, is zero, or the
        brakes are on.
    off
        The furthest that a joint was from where it should be, until the controller followed again.
    fastest
        The largest joint velocity meanwhile.
    gap
        The longest time without a command while the fault lasted.
    recovered
        From the end of the fault until the controller was active again; 0 where it was all the while, infinite where it
        never was.
    answered
        Share of the states during the fault that got a command.
    wrong
        How many efforts of the whole run were not finite or beyond the limits.
    """

    modes: tuple[str, ...]
    safe: float
    off: float
    fastest: float
    gap: float
    recovered: float
    answered: float
    wrong: int


def figures(rig: Rig) -> Figures:
    """Measure a run whose marks are set."""
    begin, end, active = (rig.marks[name] for name in ("begin", "end", "active"))
    until = rig.marks.get("arm_lost", active)
    model, names = rig.model, rig.model.joint_names
    states, commands = joints(rig.states, names), joints(rig.commands, names)
    effort, effort_times = efforts(rig.efforts, model.n), np.array(rig.efforts.times)
    modes = ((BRAKES,) if is_silent(states.times, effort_times, begin, end) else ()) + _modes(rig, begin)
    return Figures(
        modes=modes,
        safe=_safe(model, states, effort, effort_times, begin) if modes else math.nan,
        off=_off(states, commands, begin, until),
        fastest=_largest(states.velocity[_within(states.times, begin, until)]),
        gap=float(np.diff(_with_ends(effort_times, begin, end)).max()),
        recovered=_recovered(rig, end, active),
        answered=_answered(states.times, effort_times, begin, end),
        wrong=_wrong(model, effort),
    )


def _within(times: Floats, begin: float, end: float) -> Floats:
    return np.flatnonzero((times >= begin) & (times <= end))


def _largest(values: Floats) -> float:
    return float(np.abs(values).max()) if values.size else math.nan


def _modes(rig: Rig, begin: float) -> tuple[str, ...]:
    reported = [r for r in rig.reports if r.time >= begin and r.before and r.mode != "active"]
    return tuple(dict.fromkeys(f"{r.mode} ({r.cause})" for r in reported))


def _safe(model: RobotModel, states: Joints, effort: Floats, times: Floats, begin: float) -> float:
    """From the last command of the law to the first that holds or lets go, or the first state with the brakes on."""
    moments = [states.times[k] for k in np.flatnonzero((states.times >= begin) & ~states.velocity.any(axis=1))[:1]]
    for k in np.flatnonzero(times >= begin):
        last = np.searchsorted(states.times, times[k])
        if is_safe(model, states, slice(max(0, last - ANSWERED_STATES), last + 1), effort[k]):
            moments.append(times[k])
            break
    if not moments:
        return math.nan
    before = times[times < min(moments)]
    return float(min(moments) - before[-1]) if before.size else math.nan


def is_safe(model: RobotModel, states: Joints, which: slice, effort: Floats) -> bool:
    """Whether an effort (n,) carries the arm at one of these states, damps its motion beside that, or is zero."""
    if not effort.any():
        return True
    for q, qd in zip(states.position[which], states.velocity[which], strict=True):
        gravity = model.gravity_torque(q)
        damping = 20.0 * model.mass_matrix(q) @ qd  # 2 zeta omega_n of config/panda.yaml
        limited = np.clip(gravity - damping, -limits(model), limits(model))
        if min(np.abs(effort - gravity).max(), np.abs(effort - limited).max()) < NEAR:
            return True
    return False


def limits(model: RobotModel) -> Floats:
    """Effort limits (n,), Nm."""
    return np.asarray(model.effort_limits, dtype=np.float64)


def _off(states: Joints, commands: Joints, begin: float, until: float) -> float:
    """Distance from the position that was wanted last, rad; what was wanted at first where nothing is."""
    which = _within(states.times, begin, until)
    if not which.size or not len(commands.times):
        return math.nan
    last = np.searchsorted(commands.times, states.times[which]) - 1
    return _largest(states.position[which] - commands.position[np.maximum(last, 0)])


def _with_ends(times: Floats, begin: float, end: float) -> Floats:
    return np.concatenate([[begin], times[(times >= begin) & (times <= end)], [end]])


def is_silent(states: Floats, commands: Floats, begin: float, end: float) -> bool:
    """Whether motors that were alive, as their states tell, had no command for longer than they wait."""
    times = _with_ends(commands, begin, end)
    return any(_within(states, a + COMMAND_TIMEOUT, b).size > 0 for a, b in itertools.pairwise(times))


def _recovered(rig: Rig, end: float, active: float) -> float:
    """The controller is active again; what it said last before the end of the fault may already be that."""
    if "given_up" in rig.marks:
        return math.inf
    if "restarted" not in rig.marks and all(r.mode == "active" for r in rig.reports if r.time >= rig.marks["begin"]):
        return 0.0
    back = [r.time for r in rig.reports if r.time >= rig.marks["begin"] and r.mode == "active" and r.before]
    return max(0.0, (back[-1] if back and "restarted" not in rig.marks else active) - end)


def _answered(states: Floats, commands: Floats, begin: float, end: float) -> float:
    count = len(_within(states, begin, end))
    return len(_within(commands, begin, end)) / count if count > 0.1 * RATE * (end - begin) else math.nan


def _wrong(model: RobotModel, effort: Floats) -> int:
    inside = np.isfinite(effort) & (np.abs(effort) <= limits(model) * (1.0 + 1e-12))
    return int(np.count_nonzero(~inside.all(axis=1)))
