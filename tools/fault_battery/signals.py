"""Faults of the measured states: functions of the hook SENSE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from support.independent_plant import SECOND
from tools.fault_battery.run import Message, Run

Messages = list[Message]
FIELDS = ("q", "qd", "effort")
_BOTH = ("q", "qd")


def _joints(run: Run, joints: str) -> Any:
    return slice(None) if joints == "all" else run.joint


def _count(run: Run) -> int:
    """Return the number of calls."""
    run.memory["count"] = run.memory.get("count", 0) + 1
    return int(run.memory["count"])


def frozen(
    run: Run, m: Message, fields: Sequence[str] = _BOTH, noise: float = 0.0, joints: str = "one",
    zero: Sequence[str] = (),
) -> Messages:  # fmt: skip
    """Freeze ``fields`` of one or all joints, those of ``zero`` at 0, within noise (rad; ten times that for rad/s)."""
    kept = run.memory.setdefault("frozen", m.copy())
    m = m.copy()
    rows = _joints(run, joints)
    for name in (*fields, *zero):
        values = getattr(m, name)
        size = 10.0 * noise if name == "qd" else noise
        values[rows] = 0.0 if name in zero else getattr(kept, name)[rows]
        values[rows] += size * run.random.standard_normal(np.shape(values[rows]))
    return [m]


def offset(
    run: Run, m: Message, size: float, field: str = "q", joints: str = "one", seconds: float = np.inf
) -> Messages:  # fmt: skip
    """Add ``size`` (rad or rad/s) for ``seconds``; a short time is one sample."""
    m = m.copy()
    if run.since <= seconds or _count(run) == 1:
        rows = _joints(run, joints)
        getattr(m, field)[rows] += run.sign * size * run.unit[rows]
    return [m]


def swapped(
    run: Run, m: Message, fields: Sequence[str] = _BOTH, nearest: bool = False, continues: bool = False
) -> Messages:  # fmt: skip
    """Exchange two joints, the second one with the ``nearest`` position; or exchange the changes since the onset."""
    first = run.memory.setdefault("first", m.copy())
    m = m.copy()
    pair = [run.joint, run.other]
    if nearest:
        apart = np.abs(first.q - first.q[run.joint])
        apart[run.joint] = np.inf
        pair[1] = int(np.argmin(apart))
    if continues:
        m.q[pair] += first.q[pair[::-1]] - first.q[pair]
    for name in fields:
        values = getattr(m, name)
        values[pair] = values[pair[::-1]]
    return [m]


def spoiled(
    run: Run, m: Message, value: float, fields: Sequence[str] = ("q",), every: int = 1, seconds: float = np.inf,
    joints: str = "one",
) -> Messages:  # fmt: skip
    """Set fields to ``value``, such as NaN, in each ``every``-th message for ``seconds``."""
    m = m.copy()
    if run.since <= seconds and _count(run) % every == 0:
        for name in fields:
            getattr(m, name)[_joints(run, joints)] = value
    return [m]


def cut(run: Run, m: Message, field: str, keep: int) -> Messages:
    """Leave out numbers of a field at its end: all but ``keep``, or as many as a negative one."""
    return [m.copy(**{field: getattr(m, field)[:keep]})]


def names(run: Run, m: Message, how: str) -> Messages:
    """Leave out one joint, "always" or "alternating", or let its name be "renamed", or all names be "rotated"."""
    if how == "rotated":
        return [m.copy(names=m.names[1:] + m.names[:1])]
    if how == "renamed":
        return [
            m.copy(
                names=tuple(
                    "other" if i == run.joint else n for i, n in enumerate(m.names)
                )
            )
        ]
    if how == "alternating" and _count(run) % 2:
        return [m]
    fields = {
        name: np.delete(getattr(m, name), [run.joint] if len(getattr(m, name)) else [])
        for name in FIELDS
    }
    return [
        m.copy(
            names=tuple(n for i, n in enumerate(m.names) if i != run.joint), **fields
        )
    ]


def delayed(
    run: Run, m: Message, seconds: float, restamped: bool = False, every: int = 1
) -> Messages:
    """Let each ``every``-th state arrive late, stamped at its measurement or, if ``restamped``, at its arrival."""
    if _count(run) % every:
        return [m]
    stamp = m.stamp + round(seconds * SECOND) if restamped else m.stamp
    return [m.copy(at=m.at + seconds, stamp=stamp)]


def second_publisher(run: Run, m: Message, how: str, size: float = 0.0) -> Messages:
    """Add a message to each: the "same" one, or a little newer the "old" state of the onset, or one "off" by a size."""
    first = run.memory.setdefault("first", m.copy())
    if how == "same":
        return [m, m]
    extra = first.copy(at=m.at) if how == "old" else m.copy(q=m.q + size)
    return [m, replace(extra, stamp=m.stamp + 1000)]


def creep(
    run: Run, m: Message, rate: float, interval: float = 0.0, agrees: bool = False
) -> Messages:
    """Let the position of one joint drift by ``rate`` (rad/s), once every ``interval`` (s); the velocity may agree."""
    m = m.copy()
    since = run.since
    rate *= run.unit[run.joint]
    if interval:
        since = np.floor(since / interval) * interval
    m.q[run.joint] += run.sign * rate * since
    if agrees:
        m.qd[run.joint] += run.sign * rate
    return [m]


def scaled(
    run: Run, m: Message, factor: float, fields: Sequence[str] = ("q",), joints: str = "one", about: str = "zero"
) -> Messages:  # fmt: skip
    """Scale fields about zero, or about the value at the onset, so that nothing jumps."""
    kept = run.memory.setdefault("scaled", m.copy())
    m = m.copy()
    rows = _joints(run, joints)
    for field in fields:
        values = getattr(m, field)
        if len(values):
            centre = (
                getattr(kept, field)[rows] if about == "onset" and field == "q" else 0.0
            )
            values[rows] = centre + factor * (values[rows] - centre)
    return [m]


def noisy(run: Run, m: Message, q: float = 0.0, qd: float = 0.0) -> Messages:
    """Add noise to all positions (rad) and velocities (rad/s)."""
    m = m.copy()
    m.q += q * run.unit * run.random.standard_normal(run.n)
    m.qd += qd * run.unit * run.random.standard_normal(run.n)
    return [m]


def hang(run: Run, m: Message, seconds: float, then: str) -> Messages:
    """Send nothing for ``seconds``; ``then`` is what follows.

    "true": current states. "late": one state of the beginning of the hang, then current ones. "queued": all states of
    the hang at once. "stale": old values with current stamps meanwhile. "repeated": the last message again and again.
    """
    last = run.memory.setdefault("last", m.copy())
    if run.since < seconds:
        if then == "queued":
            return [m.copy(at=run.active_onset + seconds)]
        if then == "stale":
            return [last.copy(at=m.at, stamp=m.stamp)]
        return [last.copy(at=m.at)] if then == "repeated" else []
    if then == "late" and run.once("late"):
        return [last.copy(at=m.at)]
    return [m]


def stuttering(run: Run, m: Message, gap: float, every: float) -> Messages:
    """Send nothing for ``gap`` (s) in each ``every`` (s)."""
    return [] if run.since % every < gap else [m]


def stamps(run: Run, m: Message, how: str, size: float = 0.0) -> Messages:
    """Change stamps: "shift" by ``size`` (s), "drift" by it per second, "freeze", "zero", "steps" of it, "jitter"."""
    first = run.memory.setdefault("stamp", m.stamp)
    passed = m.stamp - first
    value = {
        "shift": m.stamp + round(size * SECOND),
        "drift": m.stamp + round(size * passed),
        "freeze": first,
        "zero": 0,
        "back": first - passed,
        "steps": m.stamp // max(round(size * SECOND), 1) * max(round(size * SECOND), 1),
        "jitter": m.stamp + round(size * SECOND * run.random.uniform(-1.0, 1.0)),
        "milliseconds": m.stamp // 1_000_000,
    }[how]
    return [m.copy(stamp=value)]


def quantized(run: Run, m: Message, size: float, fields: Sequence[str]) -> Messages:
    """Round fields to multiples of ``size``."""
    m = m.copy()
    for field in fields:
        values = getattr(m, field)
        values[:] = np.round(values / size) * size
    return [m]
