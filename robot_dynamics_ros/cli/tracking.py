"""How well a recorded run tracked its trajectory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robot_dynamics_ros.bags import read_joint_states
from robot_dynamics_ros.errors import BagError
from robot_dynamics_ros.kernels.types import Array


@dataclass(frozen=True, eq=False)
class Tracking:
    """One run: m cycles of n joints from the start of the motion, each with a state and its command. SI units."""

    law: str
    joint_names: tuple[str, ...]
    time: Array
    desired: Array
    actual: Array
    effort: Array

    @property
    def error(self) -> Array:
        """Desired less actual position (m, n)."""
        return self.desired - self.actual

    @property
    def rms(self) -> Array:
        """Root mean square of the error of each joint (n,)."""
        return np.asarray(np.sqrt(np.mean(self.error**2, axis=0)))

    @property
    def worst(self) -> Array:
        """Largest magnitude of the error of each joint (n,)."""
        return np.asarray(np.abs(self.error).max(axis=0))

    @property
    def total_rms(self) -> float:
        """Root mean square of the error over time and joints."""
        return float(np.sqrt(np.mean(self.error**2)))


def read_tracking(bag: Path, law: str, states: str, commands: str, duration: float) -> Tracking:
    """Read a run from a bag: ``duration`` (s) from the cycle in which the desired position first moves.

    ``states`` and ``commands`` are the topics of joint_states and command_states; a command belongs to
    the state of the same stamp. Raises BagError where the recording does not hold the whole motion.
    """
    series = read_joint_states(bag, [states, commands])
    state = series[states]
    command = series[commands].in_order(state.joint_names)
    moved = np.flatnonzero((command.position != command.position[0]).any(axis=1))
    if len(moved) == 0:
        raise BagError(f"{bag}: the desired position never moves. Cure: see the logs beside the bag")
    first = command.stamps[moved[0]]
    last = first + round(duration * 1e9)
    if command.stamps[-1] < last:
        held = (command.stamps[-1] - first) * 1e-9
        raise BagError(f"{bag}: it holds {held:.1f} s of a motion of {duration:.1f} s. Cure: record until its end")
    window = np.flatnonzero((state.stamps >= first) & (state.stamps <= last))
    answer = {int(stamp): i for i, stamp in enumerate(command.stamps)}
    pairs = [(i, answer[int(state.stamps[i])]) for i in window if int(state.stamps[i]) in answer]
    if not pairs:
        raise BagError(
            f"{bag}: no command answers a state. Cure: record with update_rate 0, and see the logs beside it"
        )
    rows, answers = (np.array(column) for column in zip(*pairs, strict=True))
    return Tracking(
        law,
        state.joint_names,
        (state.stamps[rows] - first) * 1e-9,
        command.position[answers],
        state.position[rows],
        command.effort[answers],
    )


def tracking_table(runs: list[Tracking], units: list[str]) -> str:
    """Return a table of RMS and largest error of each joint and law; ``units`` are mrad or mm per joint."""
    mixed = len(set(units)) > 1
    error_unit = "mixed" if mixed else units[0]
    effort_unit = "mixed" if mixed else "Nm" if units[0] == "mrad" else "N"
    joints = [
        (name, unit, [f"{1e3 * run.rms[j]:.3f} / {1e3 * run.worst[j]:.3f}" for run in runs])
        for j, (name, unit) in enumerate(zip(runs[0].joint_names, units, strict=True))
    ]
    totals = [
        ("error, RMS of all joints", error_unit, [f"{1e3 * run.total_rms:.3f}" for run in runs]),
        ("effort, RMS of all joints", effort_unit, [f"{np.sqrt(np.mean(run.effort**2)):.2f}" for run in runs]),
        ("effort, largest", effort_unit, [f"{np.abs(run.effort).max():.1f}" for run in runs]),
        ("cycles", "", [str(len(run.time)) for run in runs]),
    ]
    rows = [("tracking error: RMS / largest", "", [run.law for run in runs]), *joints, *totals]
    label_width = max(len(label) for label, _, _ in rows) + 2
    column = max(len(cell) for _, _, cells in rows for cell in cells) + 3
    lines = [
        f"{label:<{label_width}}{unit:<6}" + "".join(f"{cell:>{column}}" for cell in cells)
        for label, unit, cells in rows
    ]
    lines.insert(1 + len(joints), "-" * len(lines[0]))
    return "\n".join(lines)
