"""robot_dynamics demo: plant and controller as two processes on real DDS, one trajectory, several laws compared."""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from tqdm import tqdm

from robot_dynamics_ros.background import run_in_background
from robot_dynamics_ros.cli.command_line import TRACKING_LAWS, plant_step_size
from robot_dynamics_ros.cli.processes import NodeProcess, ProcessGroup, private_graph, require_ros
from robot_dynamics_ros.cli.tracking import Tracking, error_units, plot_tracking, read_tracking, tracking_table
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.offline.replay import COMMANDS
from robot_dynamics_ros.offline.simulation import EFFORTS, STATES, TRAJECTORY
from robot_dynamics_ros.resources import find_resource, robot_dynamics_file, robot_names, robot_urdf
from robot_dynamics_ros.simulation import Plant

_LAWS = ("pd", "pd_gravity", "computed_torque")
_OUTPUT = Path("demo_output")
_START_TIMEOUT = 120.0  # s
_START_DELAY = 0.5  # s; stamped trajectories can be replayed bit for bit


def add_demo(parser: argparse.ArgumentParser) -> None:
    """Declare description and arguments."""
    parser.description = (
        "Starts the plant and the controller as two processes, drives the same trajectory with each law, "
        "records every run to an MCAP bag, and prints and draws how well each law tracks."
    )
    parser.add_argument("--robot", default="panda", help=f"one of {', '.join(robot_names())} (default: %(default)s)")
    parser.add_argument(
        "--law",
        nargs="+",
        default=list(_LAWS),
        choices=TRACKING_LAWS,
        metavar="LAW",
        help=f"one or more of {', '.join(TRACKING_LAWS)} (default: {' '.join(_LAWS)})",
    )
    parser.add_argument("--dynamics", type=Path, help="dynamics file (default: the robot's own)")
    parser.add_argument("--rate", type=float, default=500.0, help="command cycles per second (default: %(default)g)")
    parser.add_argument("--duration", type=float, default=10.0, help="seconds of motion (default: %(default)g)")
    parser.add_argument(
        "--output",
        type=Path,
        default=_OUTPUT,
        help="new folder (default: %(default)s, where the runs of an earlier demo are replaced)",
    )


def run_demo(arguments: argparse.Namespace) -> None:
    """Run the demo; RobotDynamicsError for arguments that do not fit and processes that fail."""
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
        raise RobotDynamicsError(f"{output}: it exists. Cure: name another folder with --output")
    begin = time.monotonic()
    for work in (model.warm_up, Plant(model).warm_up):
        run_in_background(work).result()  # Ctrl-C ends the wait
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
    """Return the parameters of all nodes: those of the robot's own file, and of the command line."""
    file = find_resource("config", f"{arguments.robot}.yaml")
    settings: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))["/**"]["ros__parameters"]
    settings["robot_description"] = urdf.read_text(encoding="utf-8")
    settings["dynamics_file"] = "" if dynamics is None else str(Path(dynamics).resolve())
    settings["publish_rate"] = arguments.rate
    settings["step_size"] = plant_step_size(arguments.rate)
    settings["trajectory"]["start"] = list(settings["initial_positions"])  # rcl reads no YAML aliases
    settings["trajectory"]["total_time"] = arguments.duration
    settings["trajectory"]["start_delay"] = _START_DELAY
    # Each law is compared to the end, even if it loses the arm, as feedforward does: the arm stops at its joint limits.
    settings["position_limit_margin"] = [math.inf]
    settings["velocity_limit_margin"] = [math.inf]
    # On a busy machine the plant waits for each answer, so that delays do not enter the comparison.
    settings["lockstep"], settings["state_timeout"] = True, math.inf
    settings["qos_overrides"] = {STATES: {"subscription": {"reliability": "reliable"}}}
    return settings


def _drive(law: str, arguments: argparse.Namespace, settings: dict[str, Any], folder: Path) -> Tracking:
    """Drive the trajectory with one law, in a folder that replaces that of an earlier demo, and read its bag."""
    try:
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
    except OSError as error:
        raise RobotDynamicsError(f"{folder}: {error.strerror}. Cure: name another folder with --output") from None
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
        _await((STATES, COMMANDS), "the controller to answer", counts, group)
        renamed = ("-r", f"joint_trajectory:={TRAJECTORY}")
        listeners = ("-p", "listeners:=[computed_torque_node, recorder]")
        trajectory = start("trajectory_node", *common, *renamed, *listeners)
        begin = _await((TRAJECTORY,), "the trajectory", counts, group)
        # Half a second more than the motion: the trajectory may have come at the end of a report.
        total = arguments.duration + _START_DELAY + 0.5
        layout = "{desc:<18}{percentage:3.0f}% |{bar:30}| {n:4.1f} of {total:.1f} s"
        with tqdm(total=total, desc=law, bar_format=layout, file=sys.stdout) as bar:
            for now in counts:
                seconds = (now[STATES] - begin[STATES]) / arguments.rate
                bar.update(min(seconds, total) - bar.n)
                # Not by the count alone: a late answer makes a state come twice.
                if seconds >= total and trajectory.process.poll() is not None:
                    break
        for member in group.members:
            if errors := member.errors():
                raise RobotDynamicsError(f"{law}: this run shows nothing, see {member.log}:\n{errors[0]}")
    return read_tracking(bag, law, STATES, COMMANDS, arguments.duration)


def _counts(recorder: NodeProcess, group: ProcessGroup) -> Iterator[dict[str, int]]:
    """Yield the recorder's numbers of messages, by topic, which it reports five times a second."""
    assert recorder.process.stdout is not None
    for line in recorder.process.stdout:
        group.check()
        yield json.loads(line)
    recorder.check()


def _await(topics: Sequence[str], event: str, counts: Iterator[dict[str, int]], group: ProcessGroup) -> dict[str, int]:
    """Return the first counts with messages on all these topics; RobotDynamicsError names the awaited event."""
    deadline = time.monotonic() + _START_TIMEOUT
    for now in counts:
        if all(now[topic] > 0 for topic in topics):
            return now
        if time.monotonic() > deadline:
            break
    logs = "\n".join(f"{member.name}: {member.tail()}" for member in group.members)
    raise RobotDynamicsError(f"waited {_START_TIMEOUT:g} s for {event}. End of the nodes' logs:\n{logs}")
