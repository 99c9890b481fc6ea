"""Faults of the measured states: functions of the hook SENSE, ``(run, message)`` to the messages that arrive instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from support.independent_plant import SECOND
from tools.fault_battery.run import Message, Run

Messages = list[Message]
FIELDS = ("q", "qd", "effort")


def _joints(run: Run, joints: str) -> Any:
    return slice(None) if joints == "all" else run.joint


def _values(m: Message, field: str) -> Any:
    """Return the array of ``field``, which may be empty; changes apply to the message."""
    return getattr(m, field)


def frozen(
    run: Run, m: Message, fields: Sequence[str] = ("q", "qd"), noise: float = 0.0, joints: str = "one",
    zero: bool = False,
) -> Messages:  # fmt: skip
    """Freeze the fields of one or all joints, within ``noise`` (rad; of velocities ten times that); or send zeros."""
    kept = run.memory.setdefault("frozen", m.copy())
    m = m.copy()
    rows = _joints(run, joints)
    for field in fields:
        values = _values(m, field)
        if len(values):
            values[rows] = 0.0 if zero else _values(kept, field)[rows]
            size = 10.0 * noise if field == "qd" else noise
            if noise:
                values[rows] += size * run.random.standard_normal(
                    np.shape(values[rows])
                )
    return [m]


def stuck_at_rest(run: Run, m: Message, noise: float = 0.0) -> Messages:
    """Freeze the position of one joint and report zero velocity."""
    (m,) = frozen(run, m, ("q",), noise)
    m.qd[run.joint] = 10.0 * noise * run.random.standard_normal()
    return [m]


def jump(
    run: Run, m: Message, size: float, joints: str = "one", seconds: float = np.inf
) -> Messages:
    """Add ``size`` (rad) to positions, for ``seconds``."""
    m = m.copy()
    if run.since <= seconds:
        m.q[_joints(run, joints)] += run.sign * size
    return [m]


def creep(
    run: Run, m: Message, rate: float, interval: float = 0.0, agrees: bool = False
) -> Messages:
    """Let the position of one joint drift by ``rate`` (rad/s), once every ``interval`` (s); the velocity may agree."""
    m = m.copy()
    since = run.since
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
        values = _values(m, field)
        if len(values):
            centre = (
                _values(kept, field)[rows] if about == "onset" and field == "q" else 0.0
            )
            values[rows] = centre + factor * (values[rows] - centre)
    return [m]


def swapped(
    run: Run, m: Message, fields: Sequence[str] = ("q", "qd"), nearest: bool = False, continues: bool = False
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
    for field in fields:
        values = _values(m, field)
        if len(values):
            values[pair] = values[pair[::-1]]
    return [m]


def shifted_names(run: Run, m: Message) -> Messages:
    """Rotate the names by one joint."""
    return [m.copy(names=m.names[1:] + m.names[:1])]


def velocity_offset(
    run: Run, m: Message, size: float, samples: int = 0, joints: str = "one"
) -> Messages:
    """Add ``size`` (rad/s) to velocities, in the first ``samples`` only unless that is 0."""
    m = m.copy()
    count = run.memory["count"] = run.memory.get("count", 0) + 1
    if not samples or count <= samples:
        m.qd[_joints(run, joints)] += run.sign * size
    return [m]


def noisy(run: Run, m: Message, q: float = 0.0, qd: float = 0.0) -> Messages:
    """Add noise to all positions (rad) and velocities (rad/s)."""
    m = m.copy()
    m.q += q * run.random.standard_normal(run.n)
    m.qd += qd * run.random.standard_normal(run.n)
    return [m]


def without_velocity(run: Run, m: Message) -> Messages:
    """Leave out the velocities."""
    return [m.copy(qd=np.empty(0))]


def spoiled(
    run: Run, m: Message, value: float, fields: Sequence[str] = ("q",), every: int = 1, seconds: float = np.inf,
    joints: str = "one",
) -> Messages:  # fmt: skip
    """Set fields to ``value``, such as NaN, in each ``every``-th message for ``seconds``."""
    m = m.copy()
    count = run.memory["count"] = run.memory.get("count", 0) + 1
    if run.since <= seconds and count % every == 0:
        for field in fields:
            if len(_values(m, field)):
                _values(m, field)[_joints(run, joints)] = value
    return [m]


def hang(run: Run, m: Message, seconds: float, then: str) -> Messages:
    """Send nothing for ``seconds``; ``then`` is what follows.

    "true": current states. "late": one state of the beginning of the hang, then current ones. "queued": all states of the hang
    at once. "stale": old values with current stamps meanwhile. "repeated": the last message again and again meanwhile.
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


def dropped_joint(run: Run, m: Message, how: str) -> Messages:
    """Leave out one joint, in each message, in every other one, or after renaming it."""
    names = list(m.names)
    count = run.memory["count"] = run.memory.get("count", 0) + 1
    if how == "renamed":
        names[run.joint] = "other"
        return [m.copy(names=tuple(names))]
    if how == "alternating" and count % 2:
        return [m]
    keep = np.arange(run.n) != run.joint
    fields = {
        f: _values(m, f)[keep] if len(_values(m, f)) else _values(m, f) for f in FIELDS
    }
    return [
        m.copy(names=tuple(n for n, k in zip(names, keep, strict=True) if k), **fields)
    ]


def short_fields(run: Run, m: Message, field: str) -> Messages:
    """Leave out the last number of a field."""
    return [m.copy(**{field: _values(m, field)[:-1]})]


def duplicated(run: Run, m: Message, count: int = 2, newer: bool = False) -> Messages:
    """Send each message several times; with ``newer`` stamps that grow."""
    return [m.copy(stamp=m.stamp + (k * 10_000 if newer else 0)) for k in range(count)]


def delayed(run: Run, m: Message, seconds: float, restamped: bool = False) -> Messages:
    """Let states arrive late, stamped at their measurement or, if ``restamped``, at their arrival."""
    stamp = m.stamp + round(seconds * SECOND) if restamped else m.stamp
    return [m.copy(at=m.at + seconds, stamp=stamp)]


def reordered(run: Run, m: Message, seconds: float) -> Messages:
    """Let every fourth state arrive late."""
    count = run.memory["count"] = run.memory.get("count", 0) + 1
    return [m.copy(at=m.at + (seconds if count % 4 == 0 else 0.0))]


def lagging(run: Run, m: Message, seconds: float, fields: Sequence[str]) -> Messages:
    """Filter fields by a first-order lag with a time constant of ``seconds``."""
    m = m.copy()
    share = min(run.period * 0.001 / seconds, 1.0)
    for field in fields:
        values = _values(m, field)
        old = run.memory.setdefault(("lag", field), values.copy())
        values[:] = run.memory["lag", field] = old + share * (values - old)
    return [m]


def second_publisher(run: Run, m: Message, how: str, size: float = 0.0) -> Messages:
    """Add a message of another publisher to each one: the state of the onset, or one that is off by ``size`` (rad)."""
    first = run.memory.setdefault("first", m.copy())
    if how == "old":
        extra = first.copy(at=m.at, stamp=m.stamp + 1000)
    elif how == "zeros":
        extra = m.copy(stamp=m.stamp + 1000, q=np.zeros(run.n), qd=np.zeros(run.n))
    else:
        extra = m.copy(stamp=m.stamp + 1000, q=m.q + size)
    return [m, extra]


def quantized(run: Run, m: Message, size: float, fields: Sequence[str]) -> Messages:
    """Round fields to multiples of ``size``."""
    m = m.copy()
    for field in fields:
        values = _values(m, field)
        values[:] = np.round(values / size) * size
    return [m]


def turned(run: Run, m: Message, turns: float) -> Messages:
    """Add turns to the position of one joint."""
    m = m.copy()
    m.q[run.joint] += turns * 2.0 * np.pi
    return [m]


def bad_effort(run: Run, m: Message, how: str) -> Messages:
    """Report wrong efforts: "reversed", "zero", "permuted" or in "milli" units."""
    held = m.effort if len(m.effort) else run.effort
    effort = {
        "reversed": -held,
        "zero": 0.0 * held,
        "permuted": held[::-1],
        "milli": 1e3 * held,
    }[how]
    return [m.copy(effort=np.array(effort))]
