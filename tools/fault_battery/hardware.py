"""Faults of drives and plant: functions of the hooks COMMAND, DRIVE and PLANT."""

from __future__ import annotations

import numpy as np

from tools.fault_battery.arms import Floats
from tools.fault_battery.run import STEP, Run

_GRASP = 0.5  # s
_PARTS = 10


def _rows(run: Run, joints: str) -> slice | int:
    return slice(None) if joints == "all" else run.joint


def factor(
    run: Run, effort: Floats, by: float, joints: str = "one", seconds: float = np.inf
) -> Floats:
    """Multiply the effort: 0 is a dead drive, -1 a reversed one, below 1 a weak one."""
    if run.since <= seconds:
        effort[_rows(run, joints)] *= by
    return effort


def fixed(run: Run, effort: Floats, share: float | None) -> Floats:
    """Let one drive have a constant share of its limit, or its last effort for None."""
    kept = run.memory.setdefault("effort", effort.copy())
    limit = run.arm.effort[run.joint]
    effort[run.joint] = kept[run.joint] if share is None else run.sign * share * limit
    return effort


def clipped(run: Run, effort: Floats, share: float, joints: str = "one") -> Floats:
    """Limit drives to a share of their limits."""
    rows = _rows(run, joints)
    limit = share * run.arm.effort[rows]
    effort[rows] = np.clip(effort[rows], -limit, limit)
    return effort


def lag(run: Run, command: Floats, seconds: float) -> Floats:
    """Delay the commands."""
    history = run.memory.setdefault("commands", [])
    history.append(command.copy())
    count = round(seconds / STEP)
    return np.array(history.pop(0) if len(history) > count else history[0])


def offset(run: Run, effort: Floats, share: float, frequency: float = 0.0) -> Floats:
    """Add a share of the limit to one drive, with a ``frequency`` (Hz) as a cosine."""
    wave = np.cos(2.0 * np.pi * frequency * run.since)
    effort[run.joint] += run.sign * share * wave * run.arm.effort[run.joint]
    return effort


def exchanged(run: Run, command: Floats) -> Floats:
    """Exchange the commands of two joints."""
    pair = [run.joint, run.other]
    command[:, pair] = command[:, pair[::-1]]
    return command


def gravity_twice(run: Run, effort: Floats) -> Floats:
    """Add the gravity torque, as some drivers do."""
    return effort + run.plant.gravity()


# Plant


def wall(
    run: Run,
    stiffness: float,
    distance: float,
    seconds: float = np.inf,
    joints: str = "one",
) -> None:
    """Put a contact ahead of one joint, or of the last body, at ``distance`` (rad or m) from the onset's position.

    The stiffness is in Nm/rad or N/m.
    """
    plant = run.plant
    if run.once("wall"):
        if joints == "one":
            direction = np.zeros(run.n)
            towards = np.sign(
                plant.qd[run.joint] or (run.goal - run.arm.start)[run.joint]
            )
            unit = run.unit[run.joint]
            direction[run.joint] = -(towards or 1.0)
            distance *= unit
        else:
            direction = -_gradient(run)
        scale = np.abs(direction).max()
        offset = float(direction @ plant.q) - distance * scale
        plant.wall = (direction, offset, stiffness, 0.02 * stiffness)
    if run.since > seconds:
        plant.wall = None


def _gradient(run: Run) -> Floats:
    """Return the change of the last body's position along the motion, per change of each joint."""
    plant = run.plant
    moved = run.goal - run.arm.start
    here = plant.place(plant.q)
    way = plant.place(plant.q + 0.01 * moved) - here
    way /= max(float(np.linalg.norm(way)), 1e-9)
    rows = [
        way @ (plant.place(plant.q + 1e-6 * e) - here) / 1e-6 for e in np.eye(run.n)
    ]
    return np.array(rows)


def push(
    run: Run, share: float, seconds: float, period: float = np.inf, joints: str = "one", speed: float = np.inf
) -> Floats:  # fmt: skip
    """Push with a share of the effort limit for ``seconds``, again in each ``period`` (s).

    The push is at most one that gives the free joint this ``speed`` (rad/s).
    """
    torque = np.zeros(run.n)
    if run.since % period < seconds:
        rows = _rows(run, joints)
        most = share * run.arm.effort
        if np.isfinite(speed):
            inertia = run.plant.mass_matrix().diagonal()
            most = np.minimum(most, run.arm.friction + inertia * speed / seconds)
        torque[rows] = run.sign * most[rows]
    return torque


def mass(run: Run, share: float, seconds: float = np.inf) -> None:
    """Add a ``share`` of ``capacity`` within 0.5 s, as a grasp does; for ``seconds``, then drop it."""
    whole = share * capacity(run)
    added = run.memory.setdefault("added", 0)
    if run.since > seconds and run.once("off"):
        run.plant.add_payload(-whole)
    if added < _PARTS and run.every("part", _GRASP / _PARTS):
        run.memory["added"] += 1
        run.plant.add_payload(whole / _PARTS)


def capacity(run: Run) -> float:
    """Return the payload (kg) whose gravity torque at the start leaves a quarter of the tightest effort limit."""
    if "capacity" not in run.memory:
        plant = run.plant
        q = plant.q
        rows = np.array(
            [
                (plant.place(q + 1e-6 * e) - plant.place(q))[2] / 1e-6
                for e in np.eye(run.n)
            ]
        )
        room = 0.75 * run.arm.effort - np.abs(plant.gravity())
        run.memory["capacity"] = float(
            (room / np.maximum(9.81 * np.abs(rows), 1e-3)).min()
        )
    return float(np.clip(run.memory["capacity"], 0.0, 20.0))


def lighter(run: Run, factor: float) -> None:
    """Scale the masses of the plant."""
    if run.once("masses"):
        inertias = run.plant.model.inertias
        for i in range(1, run.plant.model.njoints):
            body = inertias[i]
            inertias[i] = type(body)(
                body.mass * factor, body.lever, body.inertia * factor
            )
        run.plant.data = run.plant.model.createData()


def friction(run: Run, factor: float, joints: str = "all") -> None:
    """Scale the dry friction."""
    if run.once("friction"):
        run.plant.friction[_rows(run, joints)] *= factor


def brakes(run: Run, seconds: float, reports: bool, releases: float = 0.0) -> None:
    """Close the brakes for ``seconds``, again every second if ``releases``; they may be reported on the topic."""
    since = run.since % releases if releases else run.since
    closed = since < seconds
    if closed is not run.plant.brakes:
        run.plant.brakes = closed
        if reports:
            run.boolean("brakes_engaged", closed)
