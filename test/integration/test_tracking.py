"""The main use case over DDS: plant and controller as processes, bag, table and picture."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

from robot_dynamics_ros.cli.demo import read_tracking
from support.ros import PATIENCE, processes_with

LAWS = ("pd", "computed_torque")
DURATION = 4.0
STOP = "active -> hold: the controller stops the arm for deactivation"
TOPICS = {
    "/joint_states": "sensor_msgs/msg/JointState",
    "/effort_commands": "std_msgs/msg/Float64MultiArray",
    "/computed_torque_node/command_states": "sensor_msgs/msg/JointState",
    "/computed_torque_node/joint_trajectory": "trajectory_msgs/msg/JointTrajectory",
    "/computed_torque_node/configuration": "std_msgs/msg/String",
}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return the output folder of the demo and its printed text."""
    output = tmp_path_factory.mktemp("demo") / "output"
    command = f"-m robot_dynamics_ros.cli.main demo --duration {DURATION:g} --law {' '.join(LAWS)} --output {output}"
    run = subprocess.run(
        [sys.executable, *command.split()], capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL
    )
    assert run.returncode == 0, f"exit code {run.returncode}\n{run.stdout}\n{run.stderr}"
    assert "Traceback" not in run.stderr
    return output, run.stdout


def test_computed_torque_tracks_far_better_than_pd(demo: tuple[Path, str]) -> None:
    """With equal natural frequency and damping the error is at most a tenth."""
    pd, computed = (read_tracking(demo[0] / law / "bag", law, DURATION) for law in LAWS)
    assert computed.total_rms < pd.total_rms / 10
    # The reason is the arm's weight and inertia, not that one of them stands still.
    for run in (pd, computed):
        assert np.ptp(run.desired, axis=0).min() > 0.1
        assert np.isfinite(run.effort).all() and np.isfinite(run.actual).all()
    assert pd.total_rms > 0.01
    np.testing.assert_allclose(pd.desired[0], computed.desired[0], rtol=0, atol=0.01)


@pytest.mark.parametrize("law", LAWS)
def test_bag_contains_the_run(law: str, demo: tuple[Path, str]) -> None:
    bag = demo[0] / law / "bag"
    with AnyReader([bag], default_typestore=get_typestore(Stores.LATEST)) as reader:
        assert {connection.topic: connection.msgtype for connection in reader.connections} == TOPICS
        counts = {connection.topic: connection.msgcount for connection in reader.connections}
        (trajectory,) = (
            reader.deserialize(raw, connection.msgtype)
            for connection, _, raw in reader.messages()
            if connection.msgtype.endswith("JointTrajectory")
        )
    assert counts["/joint_states"] >= 500 * DURATION
    assert counts["/effort_commands"] > 0
    last = trajectory.points[-1].time_from_start
    assert last.sec + last.nanosec * 1e-9 == pytest.approx(DURATION)
    assert len(trajectory.joint_names) == 7


def test_demo_prints_the_ratio_and_saves_the_plot(demo: tuple[Path, str]) -> None:
    found = re.search(r"computed_torque tracks ([\d.]+) times better than pd", demo[1])
    assert found and float(found[1]) > 10
    height, width = imread(demo[0] / "tracking.png").shape[:2]
    assert 600 < height < 5000 and 800 < width < 5000


def test_no_processes_or_errors_remain(demo: tuple[Path, str]) -> None:
    """Every process of the demo has its output folder in its command line."""
    assert processes_with(str(demo[0])) == []
    for log in demo[0].rglob("*_node.log"):
        # The controller stops the arm before it ends.
        text = "\n".join(line for line in log.read_text().splitlines() if STOP not in line)
        # A fault would hold the arm where it is, which looks like good tracking.
        assert "Traceback" not in text and "[ERROR]" not in text and "active ->" not in text, log
