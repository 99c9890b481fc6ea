"""robot_dynamics demo: compare the tracking errors of control laws, with plant and controller as ROS 2 processes."""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from tqdm import tqdm

from robot_dynamics_ros.background import run_in_background
from robot_dynamics_ros.bags import read_joint_states
from robot_dynamics_ros.cli.command_line import TRACKING_LAWS, plant_step_size
from robot_dynamics_ros.cli.processes import NodeProcess, ProcessGroup, private_graph, require_ros
from robot_dynamics_ros.errors import BagError, RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.offline.recorder import COMMANDS
from robot_dynamics_ros.offline.simulation import EFFORTS, START_DELAY, STATES, TRAJECTORY
from robot_dynamics_ros.resources import find_resource, robot_dynamics_file, robot_names, robot_urdf
from robot_dynamics_ros.simulation import Plant

_DEFAULT_LAWS = ("pd", "pd_gravity", "computed_torque")
_OUTPUT = Path("demo_output")
_START_TIMEOUT = 120.0  # s
_COLOURS = ("#d1495b", "#edae49", "#00798c", "#5b5f97", "#66a182", "#8d6a9f", "#2e4057")


def add_demo(parser: argparse.ArgumentParser) -> None:
    """Set the description and add the arguments."""
    parser.description = (
        "Compare control laws on a simulated arm. The plant and the controller run as two ROS 2 processes; each law "
        "tracks the same trajectory. The runs are recorded to MCAP bags, and the tracking errors are printed and "
        "plotted."
    )
    parser.add_argument("--robot", default="panda", help=f"one of {', '.join(robot_names())} (default: %(default)s)")
    parser.add_argument(
        "--law",
        nargs="+",
        default=list(_DEFAULT_LAWS),
        choices=TRACKING_LAWS,
        metavar="LAW",
        help=f"one or more of {', '.join(TRACKING_LAWS)} (default: {' '.join(_DEFAULT_LAWS)})",
    )
    parser.add_argument("--dynamics", type=Path, help="dynamics file (default: the robot's own)")
    parser.add_argument("--rate", type=float, default=500.0, help="command cycles per second (default: %(default)g)")
    parser.add_argument(
        "--duration", type=float, default=10.0, help="seconds of motion, at least 4 (default: %(default)g)"
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=_OUTPUT,
        help="new folder (default: %(default)s; runs of an earlier demo in it are replaced)",
    )


def run_demo(arguments: argparse.Namespace) -> None:
    """Run the demo; RobotDynamicsError for invalid arguments and for processes that fail."""
    require_ros()
    urdf = robot_urdf(arguments.robot)
    dynamics = arguments.dynamics or robot_dynamics_file(arguments.robot)
    model = RobotModel.from_urdf_file(urdf, dynamics=dynamics)
    if arguments.duration < 4.0:
        raise RobotDynamicsError(f"--duration {arguments.duration:g} is too short. Cure: give at least 4 seconds")
    if not 10.0 <= arguments.rate <= 10_000.0:
        raise RobotDynamicsError(f"--rate {arguments.rate:g} is out of range. Cure: give 10 to 10000 cycles per second")
    output: Path = arguments.output
    if os.path.lexists(output) and output != _OUTPUT:
        raise RobotDynamicsError(f"{output}: it exists already. Cure: give another folder with --output")
    begin = time.monotonic()
    for work in (model.warm_up, Plant(model).warm_up):
        run_in_background(work).result()  # in the background, so that Ctrl-C interrupts it
    print(f"dynamics kernels ready after {time.monotonic() - begin:.1f} s", flush=True)
    settings = _settings(arguments, urdf, dynamics)
    print(
        f"{arguments.robot}: {model.n} joints, {arguments.rate:g} Hz, {arguments.duration:g} s of motion "
        f"with each of {', '.join(arguments.law)}"
    )
    runs = [_drive(law, arguments, settings, output / law) for law in dict.fromkeys(arguments.law)]
    first, units = runs[0], error_units(model, runs[0].joint_names)
    print(f"\n{tracking_table(runs, units)}")
    for run in runs[1:]:
        if run.total_rms > 0.0:
            print(f"{run.law} tracks {first.total_rms / run.total_rms:.1f} times better than {first.law}")
    picture = output / "tracking.png"
    plot_tracking(runs, arguments.robot, units, picture)
    print(f"bags and logs: {output}/<law>/   picture: {picture}")


def _settings(arguments: argparse.Namespace, urdf: Path, dynamics: Path | None) -> dict[str, Any]:
    """Return the parameters of all nodes, from the robot's parameter file and the command line."""
    file = find_resource("config", f"{arguments.robot}.yaml")
    settings: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))["/**"]["ros__parameters"]
    settings["robot_description"] = urdf.read_text(encoding="utf-8")
    settings["dynamics_file"] = "" if dynamics is None else str(Path(dynamics).resolve())
    settings["publish_rate"] = arguments.rate
    settings["step_size"] = plant_step_size(arguments.rate)
    settings["trajectory"]["start"] = list(settings["initial_positions"])  # a copy: rcl does not read YAML aliases
    settings["trajectory"]["total_time"] = arguments.duration
    settings["trajectory"]["start_delay"] = START_DELAY  # a trajectory with a stamp can be replayed bit for bit
    # No faults: each law runs to the end, even if the arm diverges, as with feedforward alone.
    settings["position_limit_margin"] = [math.inf]
    settings["velocity_limit_margin"] = [math.inf]
    # Lockstep: the plant waits for each command, so that delays of a busy machine do not affect the comparison.
    settings["lockstep"], settings["state_timeout"] = True, math.inf
    settings["qos_overrides"] = {STATES: {"subscription": {"reliability": "reliable"}}}
    return settings


def _drive(law: str, arguments: argparse.Namespace, settings: dict[str, Any], folder: Path) -> Tracking:
    """Track the trajectory with one law and read its recording; an existing ``folder`` is replaced."""
    try:
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
    except OSError as error:
        raise RobotDynamicsError(f"{folder}: {error.strerror}. Cure: give another folder with --output") from None
    parameters, bag = folder / "parameters.yaml", folder / "bag"
    document = {"/**": {"ros__parameters": {**settings, "law": law}}}
    parameters.write_text(yaml.safe_dump(document), encoding="utf-8")
    with private_graph() as environment, ProcessGroup() as group:

        def start(node: str, *ros_arguments: str, pipe: bool = False) -> NodeProcess:
            return group.add(NodeProcess(node, folder / f"{node}.log", environment, ros_arguments, pipe=pipe))

        common = ("--params-file", str(parameters))
        for node in ("simulation_node", "computed_torque_node"):
            start(node, *common)
        topics = f"['{STATES}', '{COMMANDS}', '{TRAJECTORY}', '{EFFORTS}']"
        recorder = start("recorder_node", "-p", f"output:={bag}", "-p", f"topics:={topics}", pipe=True)
        counts = _counts(recorder, group)
        _await((STATES, COMMANDS), "commands of the controller", counts, group)
        renamed = ("-r", f"joint_trajectory:={TRAJECTORY}")
        listeners = ("-p", "listeners:=[computed_torque_node, recorder]")
        trajectory = start("trajectory_node", *common, *renamed, *listeners)
        begin = _await((TRAJECTORY,), "the trajectory", counts, group)
        # Half a second longer than the motion: the trajectory may have been received at the end of a report period.
        total = arguments.duration + START_DELAY + 0.5
        layout = "{desc:<18}{percentage:3.0f}% |{bar:30}| {n:4.1f} of {total:.1f} s"
        with tqdm(total=total, desc=law, bar_format=layout, file=sys.stdout) as bar:
            for now in counts:
                seconds = (now[STATES] - begin[STATES]) / arguments.rate
                bar.update(min(seconds, total) - bar.n)
                # The count alone is not enough: states are published repeatedly while a command is late.
                if seconds >= total and trajectory.process.poll() is not None:
                    break
        for member in group.members:
            if errors := member.errors():
                raise RobotDynamicsError(f"{law}: a node logged an error. Cure: see {member.log}:\n{errors[0]}")
    return read_tracking(bag, law, arguments.duration)


def _counts(recorder: NodeProcess, group: ProcessGroup) -> Iterator[dict[str, int]]:
    """Yield the number of recorded messages of each topic, five times a second."""
    assert recorder.process.stdout is not None
    for line in recorder.process.stdout:
        group.check()
        yield json.loads(line)
    recorder.check()


def _await(topics: Sequence[str], event: str, counts: Iterator[dict[str, int]], group: ProcessGroup) -> dict[str, int]:
    """Return the first counts with messages on all ``topics``; RobotDynamicsError after a timeout."""
    deadline = time.monotonic() + _START_TIMEOUT
    for now in counts:
        if all(now[topic] > 0 for topic in topics):
            return now
        if time.monotonic() > deadline:
            break
    logs = "\n".join(f"{member.name}: {member.tail()}" for member in group.members)
    raise RobotDynamicsError(f"no {event} within {_START_TIMEOUT:g} s. End of the nodes' logs:\n{logs}")


@dataclass(frozen=True, eq=False)
class Tracking:
    """Recorded motion of m cycles and n joints, in SI units: time (m,); desired, actual, effort (m, n)."""

    law: str
    joint_names: tuple[str, ...]
    time: Array
    desired: Array
    actual: Array
    effort: Array

    @property
    def error(self) -> Array:
        """Desired minus actual position (m, n)."""
        return self.desired - self.actual

    @property
    def rms(self) -> Array:
        """RMS error of each joint (n,)."""
        return np.asarray(np.sqrt(np.mean(self.error**2, axis=0)))

    @property
    def worst(self) -> Array:
        """Largest absolute error of each joint (n,)."""
        return np.asarray(np.abs(self.error).max(axis=0))

    @property
    def total_rms(self) -> float:
        """RMS error over time and joints."""
        return float(np.sqrt(np.mean(self.error**2)))


def read_tracking(bag: Path, law: str, duration: float) -> Tracking:
    """Read a motion from a bag: ``duration`` (s) from the cycle in which the desired position first changes.

    States and commands are matched by their stamps. Raises BagError if the bag does not contain the whole motion.
    """
    series = read_joint_states(bag, [STATES, COMMANDS])
    state = series[STATES]
    command = series[COMMANDS].in_order(state.joint_names)
    moved = np.flatnonzero((command.position != command.position[0]).any(axis=1))
    if len(moved) == 0:
        raise BagError(f"{bag}: the desired position never changes. Cure: see the logs in the folder of the bag")
    first = command.stamps[moved[0]]
    last = first + round(duration * 1e9)
    if command.stamps[-1] < last:
        recorded = (command.stamps[-1] - first) * 1e-9
        raise BagError(f"{bag}: it contains {recorded:.1f} s of {duration:.1f} s of motion. Cure: record it to the end")
    stamps, rows, answers = np.intersect1d(state.stamps, command.stamps, return_indices=True)
    window = (stamps >= first) & (stamps <= last)
    if not window.any():
        raise BagError(f"{bag}: no command has the stamp of a state. Cure: record with update_rate 0")
    stamps, rows, answers = stamps[window], rows[window], answers[window]
    time, effort = (stamps - first) * 1e-9, command.effort[answers]
    return Tracking(law, state.joint_names, time, command.position[answers], state.position[rows], effort)


def error_units(model: RobotModel, joint_names: Sequence[str]) -> list[str]:
    """Return the unit of position errors for each joint: "mrad" or "mm"."""
    return ["mm" if name in model.prismatic_joints else "mrad" for name in joint_names]


def tracking_table(runs: list[Tracking], units: list[str]) -> str:
    """Return a text table of the RMS and largest error of each joint and law, in ``units``."""
    mixed = len(set(units)) > 1
    error_unit = "mixed" if mixed else units[0]
    effort_unit = "mixed" if mixed else "Nm" if units[0] == "mrad" else "N"
    rows = [("tracking error: RMS / largest", "", [run.law for run in runs])]
    for j, (name, unit) in enumerate(zip(runs[0].joint_names, units, strict=True)):
        rows.append((name, unit, [f"{1e3 * run.rms[j]:.3f} / {1e3 * run.worst[j]:.3f}" for run in runs]))
    rows += [
        ("error, RMS of all joints", error_unit, [f"{1e3 * run.total_rms:.3f}" for run in runs]),
        ("effort, RMS of all joints", effort_unit, [f"{np.sqrt(np.mean(run.effort**2)):.2f}" for run in runs]),
        ("effort, largest", effort_unit, [f"{np.abs(run.effort).max():.1f}" for run in runs]),
        ("cycles", "", [str(len(run.time)) for run in runs]),
    ]
    label_width = max(len(label) for label, _, _ in rows) + 2
    column = max(len(cell) for _, _, cells in rows for cell in cells) + 3
    lines = [
        f"{label:<{label_width}}{unit:<6}" + "".join(f"{cell:>{column}}" for cell in cells)
        for label, unit, cells in rows
    ]
    lines.insert(1 + len(units), "-" * len(lines[0]))
    return "\n".join(lines)


def plot_tracking(runs: list[Tracking], robot: str, units: list[str], path: Path) -> None:
    """Plot motion, error (logarithmic) and effort of each joint, and write a PNG to ``path``."""
    import matplotlib  # imported here because it takes a second

    matplotlib.use("Agg")
    matplotlib.rc("font", size=9)
    from matplotlib import pyplot as plt

    names, size = runs[0].joint_names, (15, 1.2 + 1.75 * len(units))
    figure, axes = plt.subplots(len(names), 3, figsize=size, sharex=True, squeeze=False, layout="constrained")
    for j, (name, unit, (motion, error, effort)) in enumerate(zip(names, units, axes, strict=True)):
        for run, colour in zip(runs, _COLOURS, strict=False):
            motion.plot(run.time, run.actual[:, j], color=colour, lw=1.6)
            magnitude = np.maximum(1e3 * np.abs(run.error[:, j]), 1e-4)
            error.semilogy(run.time, magnitude, color=colour, lw=0.9, label=None if j else run.law)
            effort.plot(run.time, run.effort[:, j], color=colour, lw=0.8)
        desired = runs[0].desired[:, j]
        motion.plot(runs[0].time, desired, color="black", lw=1.1, ls=(0, (4, 3)), label=None if j else "desired")
        motion.set_ylabel(f"{name}\n{'m' if unit == 'mm' else 'rad'}")
        error.set_ylabel(unit)
        effort.set_ylabel("N" if unit == "mm" else "Nm")
    for axis in axes.flat:
        axis.grid(True, alpha=0.25)
        axis.margins(x=0.0)
    for axis, title in zip(axes[0], ("position", "tracking error, magnitude", "commanded effort"), strict=True):
        axis.set_title(title, fontweight="bold")
    for axis in axes[-1]:
        axis.set_xlabel("time, s")
    figure.suptitle(f"{robot}: one trajectory, {len(runs)} control law{'s' * (len(runs) > 1)}", fontsize=14)
    figure.legend(loc="outside lower center", ncols=len(runs) + 1, frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)
