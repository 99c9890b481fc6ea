"""Tracking with plant and controller as ROS 2 processes over DDS, for robot_dynamics demo --live.

An Experiment has robot, parameters, plant and desired motion; ``law`` is the name of the control law to use.
"""

from __future__ import annotations

import math
import shutil
import time
from pathlib import Path
from typing import Any

import yaml
from tqdm import tqdm

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.progress import BAR
from robot_dynamics_ros.cli.experiment import Experiment
from robot_dynamics_ros.cli.processes import (
    NodeProcess,
    ProcessGroup,
    node_command,
    private_graph,
)
from robot_dynamics_ros.cli.thresholds import LIVE_START_DELAY, LIVE_TIMEOUT
from robot_dynamics_ros.cli.tracking import Tracking, read_tracking
from robot_dynamics_ros.control.configuration import settings as controller
from robot_dynamics_ros.runs.recorder import COMMANDS, DIAGNOSTICS
from robot_dynamics_ros.runs.simulation import STATES, TRAJECTORY, plant_commands
from robot_dynamics_ros.runs.trajectory_file import write_trajectory_file


def node_parameters(
    experiment: Experiment, law: str, trajectory: Path
) -> dict[str, Any]:
    """Return one table of ROS parameters by name, for plant, controller and the node that sends the trajectory.

    ``trajectory`` is the path of the desired motion's file. Raises RobotDynamicsError for values that are not
    allowed.
    """
    source = experiment.source
    plant = experiment.plant
    given = {
        p.name: p.read(experiment.values)
        for p in controller.ALL
        if experiment.values(p.name) is not p.default
    }
    return {
        **{
            name: list(value) if isinstance(value, tuple) else value
            for name, value in given.items()
        },
        "law": law,
        "robot_description": source.text
        if isinstance(source.text, str)
        else source.text.decode(),
        "dynamics_file": ""
        if source.dynamics is None
        else str(Path(source.dynamics).resolve()),
        # Delays of a busy machine are counted, and are no faults.
        "state_timeout": math.inf,
        "position_step_limit": [math.inf],
        "integrator": plant.integrator,
        "step_size": plant.step_size,
        "publish_rate": 1.0 / plant.period,
        "initial_positions": list(plant.initial_positions),
        "trajectory": {
            "kind": "file",
            "file": str(trajectory.resolve()),
            "start_delay": LIVE_START_DELAY,
        },
        "listeners": ["computed_torque_node", "recorder"],
        "qos_overrides": {STATES: {"subscription": {"reliability": "reliable"}}},
    }


def track_live(experiment: Experiment, law: str, bag: Path) -> Tracking:
    """Run plant and controller as processes until the motion has ended, and return the tracking of their recording.

    They run in real time. The recording is ``bag``, which is removed first if it exists. Logs, parameters and
    trajectory are written to its parent folder. Raises RobotDynamicsError as ``Experiment.load`` and ``private_graph``,
    for processes that fail, and if the motion has not ended 300 s after its duration; BagError if the recording lacks a
    part of the motion.
    """
    # compiles for the nodes, whose start is limited in time
    settings, _ = experiment.load(law)
    recorded = [
        STATES,
        COMMANDS,
        TRAJECTORY,
        plant_commands(settings),
        DIAGNOSTICS,
    ]
    folder = bag.parent
    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(bag, ignore_errors=True)
    parameters = folder / "parameters.yaml"
    trajectory = folder / "trajectory.yaml"
    write_trajectory_file(experiment.points, trajectory)
    nodes = node_parameters(experiment, law, trajectory)
    parameters.write_text(
        yaml.safe_dump({"/**": {"ros__parameters": nodes}}), encoding="utf-8"
    )
    with private_graph() as environment, ProcessGroup() as group:

        def start(node: str, *ros_arguments: str) -> NodeProcess:
            return group.add(
                NodeProcess(
                    node,
                    folder / f"{node}.log",
                    node_command(node, {}, *ros_arguments),
                    environment,
                )
            )

        common = ("--params-file", str(parameters))
        for node in ("simulation_node", "computed_torque_node"):
            start(node, *common)
        start("recorder_node", "-p", f"output:={bag}", "-p", f"topics:={recorded}")
        sender = start(
            "trajectory_node", *common, "-r", f"joint_trajectory:={TRAJECTORY}"
        )
        deadline = time.monotonic() + experiment.duration + LIVE_TIMEOUT
        with tqdm(desc=law, bar_format="{desc:<18}{elapsed}", **BAR) as clock:
            # The sender waits for all others, and ends after the motion.
            while sender.process.poll() is None and time.monotonic() < deadline:
                group.check()
                clock.refresh()
                time.sleep(0.2)
        if sender.process.poll() is None:
            logs = "\n".join(f"{one.name}: {one.tail()}" for one in group.members)
            raise RobotDynamicsError(
                f"the motion has not ended within {experiment.duration + LIVE_TIMEOUT:.0f} s. "
                f"End of the nodes' logs:\n{logs}"
            )
    return read_tracking(bag, law, experiment.duration)
