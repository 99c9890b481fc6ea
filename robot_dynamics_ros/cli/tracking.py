"""Tracking errors of recorded runs: read from a bag, as a table, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robot_dynamics_ros.bags import read_joint_states
from robot_dynamics_ros.errors import BagError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel


@dataclass(frozen=True, eq=False)
class Tracking:
    """A run of m cycles and n joints from the start of the motion, each with a state and its command, in SI units."""

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
    the state of the same stamp. Raises BagError if the recording does not hold the whole motion.
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
        recorded = (command.stamps[-1] - first) * 1e-9
        raise BagError(f"{bag}: it holds {recorded:.1f} s of a motion of {duration:.1f} s. Cure: record until its end")
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


def error_units(model: RobotModel, joint_names: Sequence[str]) -> list[str]:
    """Return mrad or mm for each joint."""
    return ["mm" if name in model.prismatic_joints else "mrad" for name in joint_names]


def tracking_table(runs: list[Tracking], units: list[str]) -> str:
    """Return a table of RMS and largest error of each joint and law, in ``error_units``."""
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


_COLOURS = ("#d1495b", "#edae49", "#00798c", "#5b5f97", "#66a182", "#8d6a9f", "#2e4057")


def plot_tracking(runs: list[Tracking], robot: str, units: list[str], path: Path) -> None:
    """Draw one row a joint (motion, error on a logarithmic scale, effort) and write a PNG to ``path``."""
    import matplotlib  # takes a second to load

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    names = runs[0].joint_names
    figure, axes = plt.subplots(
        len(names), 3, figsize=(15, 1.2 + 1.75 * len(names)), sharex=True, squeeze=False, layout="constrained"
    )
    for j, (name, row) in enumerate(zip(names, axes, strict=True)):
        motion, error, effort = row
        for run, colour in zip(runs, _COLOURS, strict=False):
            motion.plot(run.time, run.actual[:, j], color=colour, lw=1.6)
            magnitude = np.maximum(1e3 * np.abs(run.error[:, j]), 1e-4)
            error.semilogy(run.time, magnitude, color=colour, lw=0.9, label=run.law)
            effort.plot(run.time, run.effort[:, j], color=colour, lw=0.8)
        motion.plot(runs[0].time, runs[0].desired[:, j], color="black", lw=1.1, ls=(0, (4, 3)), label="desired")
        linear = units[j] == "mm"
        motion.set_ylabel(f"{name}\n{'m' if linear else 'rad'}", fontsize=9)
        error.set_ylabel(units[j], fontsize=9)
        effort.set_ylabel("N" if linear else "Nm", fontsize=9)
        for axis in row:
            axis.grid(True, alpha=0.25)
            axis.tick_params(labelsize=8)
            axis.margins(x=0.0)
    for axis, title in zip(axes[0], ("position", "tracking error, magnitude", "commanded effort"), strict=True):
        axis.set_title(title, fontsize=11, fontweight="bold")
    for axis in axes[-1]:
        axis.set_xlabel("time, s", fontsize=9)
    handles, labels = axes[0, 1].get_legend_handles_labels()
    dashes, desired = axes[0, 0].get_legend_handles_labels()
    figure.suptitle(f"{robot}: one trajectory, {len(runs)} control law{'s' * (len(runs) > 1)}", fontsize=14)
    figure.legend(dashes + handles, desired + labels, loc="outside lower center", ncols=len(runs) + 1, frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)
