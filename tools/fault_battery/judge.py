"""Judgement of a run by the fixed scale, from what the plant did and what was commanded.

| | critical | high |
| --- | --- | --- |
| speed of a joint beyond what is wished | 3 rad/s, 1 m/s | 1 rad/s, 1/3 m/s |
| distance from the wished path | 1 rad, 0.3 m | 0.3 rad, 0.1 m |
| step between two commands | 100 Nm, 333 N | 30 Nm, 100 N, or half the effort limit |

The wished velocities of a joint are those between the least and the largest of the motion, 0 included, since a stop
is always permitted. Motion of a released arm does not count; ``Record`` defines it. The distance from the path is that
of the joint which is farthest off, at the closest point of the path; in task space it is that of the last body. Steps
count from the onset on. A command that is not finite is critical.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tools.fault_battery.run import BASIS, Record

Floats = NDArray[np.float64]

SPEED = 3.0  # rad/s
DISTANCE = 1.0  # rad
STEP = 100.0  # Nm
METRE = 0.3  # m per rad
_METRE_PER_SECOND = 1.0 / 3.0  # m/s per rad/s
_HIGH_SPEED = 1.0 / 3.0  # shares of the above
_HIGH_DISTANCE = 0.3
_HIGH_STEP = 0.3
_ROWS = 200  # of the record and the path that are compared


class Verdict(NamedTuple):
    """Result: ``grade`` is "critical", "high" or "none".

    ``speed`` (rad/s), ``distance`` (rad) and ``step`` (Nm) are the largest ones, of prismatic joints in the ratios of
    the table; ``limit`` is the largest step as a share of an effort limit. ``by`` is the measure of the grade, ``at``
    the time (s) from the onset to the first excess of that grade, and ``mode`` the controller's mode then.
    ``fell`` is the grade of what happened while the arm was released, which does not count.
    ``detected`` (s) is the time from the onset to the first fault, whose ``cause`` it is.
    """

    grade: str
    by: str
    at: float
    mode: str
    speed: float
    distance: float
    step: float
    limit: float
    detected: float | None
    cause: str
    fell: str


def judge(record: Record, prismatic: NDArray[np.bool_], limits: Floats) -> Verdict:
    """Return the verdict on a run of an arm with these joints and effort limits (n,)."""
    unit = np.where(prismatic, METRE, 1.0)
    times = np.array(record.times)
    late = times >= record.onset - 1e-9
    held = ~np.array(record.released)[late]
    times = times[late]
    qd = np.array(record.qd)[late]
    beyond = np.maximum(qd - record.fastest, record.slowest - qd).clip(0.0)
    speeds = _worst(beyond / np.where(prismatic, _METRE_PER_SECOND, 1.0))
    if record.places:
        places = np.array(record.places)[late]
        distances = _distances(places / METRE, np.array(record.wished_places) / METRE)
    else:
        q = np.array(record.q)[late]
        distances = _distances(q / unit, np.array(record.wish) / unit)
    stride = _stride(len(times))
    fell = "none"
    if not held.all():
        most = max(
            speeds[~held].max() / SPEED, distances[~held[::stride]].max(initial=0.0)
        )
        fell = (
            "critical" if most >= 1.0 else "high" if most >= _HIGH_DISTANCE else "none"
        )
    speeds = speeds * held
    distances = distances * held[::stride]
    sampled = times[::stride]
    at, steps, limit_shares = _steps(record, unit, limits)
    series = {
        "speed": (times, speeds / SPEED, speeds / (SPEED * _HIGH_SPEED)),
        "distance": (sampled, distances, distances / _HIGH_DISTANCE),
        "step": (
            at,
            steps / STEP,
            np.maximum(steps / (STEP * _HIGH_STEP), 2.0 * limit_shares),
        ),
    }
    grade = "none"
    by = mode = cause = ""
    first = 0.0
    for name, index in (("critical", 1), ("high", 2)):
        excess = [
            (float(rows[0][np.argmax(rows[index] >= 1.0)]), key)
            for key, rows in series.items()
            if (rows[index] >= 1.0).any()
        ]
        if excess:
            grade = name
            first, by = min(excess)
            mode = _mode_at(record, first)
            break
    detected = None
    for time, name in record.faults:
        if time >= record.onset - 1e-9:
            detected = time - record.onset
            cause = name
            break
    return Verdict(
        grade, by, first - record.onset if grade != "none" else 0.0, mode,
        float(speeds.max(initial=0.0)), float(distances.max(initial=0.0)), float(steps.max(initial=0.0)),
        float(limit_shares.max(initial=0.0)), detected, cause, fell,
    )  # fmt: skip


def _worst(rows: Floats) -> Floats:
    """Return the largest number of each row; infinity for one that is not finite."""
    if not len(rows):
        return np.zeros(0)
    return np.where(np.isfinite(rows).all(axis=1), rows.max(axis=1), np.inf)


def _stride(count: int) -> int:
    return max(count // _ROWS, 1)


def _distances(q: Floats, wish: Floats) -> Floats:
    q = q[:: _stride(len(q))]
    wish = wish[:: _stride(len(wish))]
    apart = np.abs(q[:, None, :] - wish[None, :, :]).max(axis=2).min(axis=1)
    return np.where(np.isfinite(apart), apart, np.inf)


def _steps(
    record: Record, unit: Floats, limits: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return times, steps (Nm), and steps as shares of the limits, of the commands after the onset."""
    commands = record.commands
    kept = [
        k
        for k in range(1, len(commands))
        if commands[k][0] >= record.onset - 1e-9 and commands[k][1] != BASIS
    ]
    at = np.array([commands[k][0] for k in kept])
    change = [np.abs(commands[k][2] - commands[k - 1][2]) for k in kept]
    rows = np.array(change).reshape(len(kept), len(unit))
    # 0.3 m a rad: 100 Nm are 333 N
    return (
        at,
        _worst(rows * unit),
        _worst(rows / limits),
    )


def _mode_at(record: Record, time: float) -> str:
    mode = "active"
    for at, name, _ in record.commands:
        if at > time + 1e-9:
            break
        mode = name if name != BASIS else mode
    return mode
