"""Tracking errors of recorded runs: values, table and picture.

A cycle is one state of the robot with the command that answers it. ``units`` has "mrad" or "mm" for each joint; values
are converted from SI units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from robot_dynamics_ros.base.errors import BagError, RobotDynamicsError
from robot_dynamics_ros.base.statistics import root_mean_square
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.recordings.bags import read_joint_states
from robot_dynamics_ros.recordings.bags.joint_series import answers
from robot_dynamics_ros.runs.recorder import COMMANDS
from robot_dynamics_ros.runs.simulation import STATES


@dataclass(frozen=True, eq=False)
class Tracking:
    """Recorded motion of m cycles and n joints, in SI units: ``time`` (m,); ``desired``, ``actual``, ``effort`` (m, n).

    ``law`` is the name of the control law. ``time`` is the state's stamp (s) since the first change of the desired
    position. ``desired`` and ``actual`` are positions, ``effort`` is the commanded one, in the order of
    ``joint_names``. ``late`` and ``lost`` count cycles as ``Answers`` does; lost ones are not among the m.
    """

    law: str
    joint_names: tuple[str, ...]
    time: Array
    desired: Array
    actual: Array
    effort: Array
    late: int = 0
    lost: int = 0

    @property
    def error(self) -> Array:
        """Desired minus actual position (m, n), rad or m."""
        return self.desired - self.actual

    @property
    def rms(self) -> Array:
        """Root mean square error of each joint (n,), rad or m."""
        return root_mean_square(self.error)

    @property
    def worst(self) -> Array:
        """Largest absolute error of each joint (n,), rad or m."""
        return np.asarray(np.abs(self.error).max(axis=0))

    @property
    def unmoved(self) -> list[str]:
        """Names of the joints whose range of motion is less than 1 % of the desired one."""
        still = np.ptp(self.actual, axis=0) < 0.01 * np.ptp(self.desired, axis=0)
        return [
            name for name, rests in zip(self.joint_names, still, strict=True) if rests
        ]


def read_tracking(bag: Path, law: str, duration: float) -> Tracking:
    """Read a motion from a bag: ``duration`` (s) from the cycle in which the desired position first changes.

    The topics are /joint_states and /computed_torque_node/command_states, whose messages are matched by their stamps.
    ``law`` is stored in the result. Raises BagError if the bag cannot be read, the desired position does not change, or
    the bag does not contain the whole motion.
    """
    series = read_joint_states(bag, [STATES, COMMANDS])
    state = series[STATES]
    command = series[COMMANDS].in_order(state.joint_names)
    moved = np.flatnonzero((command.position != command.position[0]).any(axis=1))
    if len(moved) == 0:
        raise BagError(
            f"{bag}: the desired position never changes. Cure: see the logs in the folder of the bag"
        )
    first = command.stamps[moved[0]]
    last = first + round(duration * 1e9)
    if command.stamps[-1] < last:
        recorded = (command.stamps[-1] - first) * 1e-9
        raise BagError(
            f"{bag}: it contains {recorded:.1f} s of {duration:.1f} s of motion. Cure: record it to the end"
        )
    state = state.between(first, last)
    pairs = answers(state, command)
    if not len(pairs.states):
        raise BagError(
            f"{bag}: no command has the stamp of a state. Cure: record with update_rate 0"
        )
    time = (state.stamps[pairs.states] - first) * 1e-9
    effort = command.effort[pairs.commands]
    desired = command.position[pairs.commands]
    actual = state.position[pairs.states]
    return Tracking(
        law, state.joint_names, time, desired, actual, effort, pairs.late, pairs.lost
    )


def error_units(model: RobotModel, joint_names: Sequence[str]) -> list[str]:
    """Return the unit of position errors for each of ``joint_names``: "mm" for prismatic joints, else "mrad"."""
    return ["mm" if name in model.prismatic_joints else "mrad" for name in joint_names]


def joint_groups(units: Sequence[str]) -> dict[str, list[int]]:
    """Return the indices of joints by kind, "revolute" and "prismatic"; if all are of one kind, by "all".

    Errors of the joints of a kind can be added. ``units`` has one for each joint.
    """
    kinds = ["prismatic" if unit == "mm" else "revolute" for unit in units]
    if len(set(kinds)) == 1:
        return {"all": list(range(len(units)))}
    return {
        kind: [j for j, other in enumerate(kinds) if other == kind]
        for kind in ("revolute", "prismatic")
    }


def tracking_table(runs: list[Tracking], units: list[str]) -> str:
    """Return a text table with a column for each run: RMS and largest error of each joint, then of error and effort.

    Revolute and prismatic joints are summarised apart. All ``runs`` must have the same joints, at least one.
    """
    rows = [("tracking error: RMS / largest", "", [run.law for run in runs])]
    for j, (name, unit) in enumerate(zip(runs[0].joint_names, units, strict=True)):
        rows.append(
            (
                name,
                unit,
                [f"{1e3 * run.rms[j]:.3f} / {1e3 * run.worst[j]:.3f}" for run in runs],
            )
        )
    groups = joint_groups(units)
    for joints, columns in groups.items():
        rms = [root_mean_square(run.error[:, columns], axis=None) for run in runs]
        rows.append(
            (
                f"error, RMS of {joints} joints",
                units[columns[0]],
                [f"{1e3 * value:.3f}" for value in rms],
            )
        )
    for joints, columns in groups.items():
        unit = "Nm" if units[columns[0]] == "mrad" else "N"
        efforts = [run.effort[:, columns] for run in runs]
        rms = [root_mean_square(effort, axis=None) for effort in efforts]
        rows.append(
            (f"effort, RMS of {joints} joints", unit, [f"{value:.2f}" for value in rms])
        )
        rows.append(
            (
                "effort, largest",
                unit,
                [f"{np.abs(effort).max():.1f}" for effort in efforts],
            )
        )
    rows.append(("cycles", "", [str(len(run.time)) for run in runs]))
    label_width = max(len(label) for label, _, _ in rows) + 2
    column = max(len(cell) for _, _, cells in rows for cell in cells) + 3
    lines = [
        f"{label:<{label_width}}{unit:<6}"
        + "".join(f"{cell:>{column}}" for cell in cells)
        for label, unit, cells in rows
    ]
    lines.insert(1 + len(units), "-" * len(lines[0]))
    return "\n".join(lines)


def require_plotter() -> None:
    """Raise RobotDynamicsError if matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        raise RobotDynamicsError(
            "the picture needs matplotlib, which is not installed. Cure: pip install matplotlib"
        )


def plot_tracking(
    runs: list[Tracking], robot: str, units: list[str], path: Path
) -> None:
    """Plot motion, error (logarithmic) and effort of each joint, one curve for each run, to a PNG file ``path``.

    All ``runs`` must have the same joints. ``robot`` is the name in the title. An existing file is replaced. Requires
    matplotlib.
    """
    import matplotlib  # imported here because it takes a second

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    names = runs[0].joint_names
    figure, axes = plt.subplots(
        len(names),
        3,
        figsize=(15, 1.2 + 1.75 * len(units)),
        sharex=True,
        squeeze=False,
        layout="constrained",
    )
    for j, (name, unit, (motion, error, effort)) in enumerate(
        zip(names, units, axes, strict=True)
    ):
        for run in runs:
            magnitude = np.maximum(1e3 * np.abs(run.error[:, j]), 1e-4)
            motion.plot(run.time, run.actual[:, j], label=run.law)
            error.semilogy(run.time, magnitude)
            effort.plot(run.time, run.effort[:, j])
        motion.plot(runs[0].time, runs[0].desired[:, j], "k--", label="desired")
        motion.set_ylabel(f"{name}\n{'m' if unit == 'mm' else 'rad'}")
        error.set_ylabel(unit)
        effort.set_ylabel("N" if unit == "mm" else "Nm")
    titles = ("position", "tracking error, magnitude", "commanded effort")
    for column, title in zip(axes.T, titles, strict=True):
        column[0].set_title(title)
        column[-1].set_xlabel("time, s")
    for axis in axes.flat:
        axis.grid(True)
    laws = f"{len(runs)} control law{'s' * (len(runs) > 1)}"
    figure.suptitle(f"{robot}: one trajectory, {laws}")
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=len(runs) + 1,
    )
    figure.savefig(path)
    plt.close(figure)
