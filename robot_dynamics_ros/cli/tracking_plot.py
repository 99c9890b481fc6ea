"""The picture of a comparison: desired and actual motion, error and effort of each law."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np

from robot_dynamics_ros.cli.tracking import Tracking

_COLOURS = ("#d1495b", "#edae49", "#00798c", "#5b5f97", "#66a182", "#8d6a9f", "#2e4057")


def plot_tracking(runs: list[Tracking], robot: str, units: list[str], path: Path) -> None:
    """Draw one row a joint (motion, error on a logarithmic scale, effort) and write a PNG to ``path``."""
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
