"""The main use case over DDS: plant and controller as processes, bag, table and picture."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

from robot_dynamics_ros.cli.main import main
from robot_dynamics_ros.cli.tracking import read_tracking
from support.ros import PATIENCE, processes_with

LAWS = ("pd", "computed_torque")
DURATION = 4.0
RATE = 50.0
STOP = "active -> hold: the controller stops the arm for deactivation"
TOPICS = {
    "/joint_states": "sensor_msgs/msg/JointState",
    "/effort_commands": "std_msgs/msg/Float64MultiArray",
    "/computed_torque_node/command_states": "sensor_msgs/msg/JointState",
    "/computed_torque_node/joint_trajectory": "trajectory_msgs/msg/JointTrajectory",
    "/computed_torque_node/configuration": "std_msgs/msg/String",
    "/diagnostics": "diagnostic_msgs/msg/DiagnosticArray",
}

#: The simulated arm starts 5 s late, with an error in its log.
LATE = """
import sys
from robot_dynamics_ros.cli import main, processes
command = processes.node_command
def late(node, *rest):
    first = ["sh", "-c", 'echo "[ERROR] late"; sleep 5; exec "$@"', "sh"] if node == "simulation_node" else []
    return [*first, *command(node, *rest)]
processes.node_command = late
sys.exit(main.main())
"""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return the folder of the live demo and its printed text. 50 Hz, which a busy machine can keep."""
    output = tmp_path_factory.mktemp("demo") / "output"
    words = f"demo --live --rate {RATE:g} --duration {DURATION:g} --law {' '.join(LAWS)} --output {output}".split()
    run = subprocess.run(
        [sys.executable, "-c", LATE, *words],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        stdin=subprocess.DEVNULL,
    )
    assert run.returncode == 0, (
        f"exit code {run.returncode}\n{run.stdout}\n{run.stderr}"
    )
    assert "%" not in run.stderr, "no progress bars, as stderr is no terminal"
    return output / "live", run.stdout


def test_computed_torque_tracks_far_better_than_pd(demo: tuple[Path, str]) -> None:
    """With equal natural frequency and damping the error is at most a tenth."""
    pd, computed = (read_tracking(demo[0] / law / "bag", law, DURATION) for law in LAWS)
    assert np.linalg.norm(computed.rms) < np.linalg.norm(pd.rms) / 10
    # The reason is the arm's weight and inertia, not that one of them stands still.
    for run in (pd, computed):
        assert np.ptp(run.desired, axis=0).min() > 0.1
        assert np.isfinite(run.effort).all() and np.isfinite(run.actual).all()
    assert pd.rms.max() > 0.01
    np.testing.assert_allclose(pd.desired[0], computed.desired[0], rtol=0, atol=0.01)


@pytest.mark.parametrize("law", LAWS)
def test_bag_contains_the_run(law: str, demo: tuple[Path, str]) -> None:
    bag = demo[0] / law / "bag"
    with AnyReader([bag], default_typestore=get_typestore(Stores.LATEST)) as reader:
        assert {
            connection.topic: connection.msgtype for connection in reader.connections
        } == TOPICS
        counts = {
            connection.topic: connection.msgcount for connection in reader.connections
        }
        (trajectory,) = (
            reader.deserialize(raw, connection.msgtype)
            for connection, _, raw in reader.messages()
            if connection.msgtype.endswith("JointTrajectory")
        )
    assert counts["/joint_states"] >= 0.9 * RATE * DURATION
    assert min(counts.values()) > 0
    last = trajectory.points[-1].time_from_start
    assert last.sec + last.nanosec * 1e-9 == pytest.approx(DURATION)
    assert len(trajectory.joint_names) == 7


def test_numbers_are_shown_or_withheld(demo: tuple[Path, str]) -> None:
    """Above 1 % of lost cycles there are neither numbers nor picture, but the reason."""
    tracking = [read_tracking(demo[0] / law / "bag", law, DURATION) for law in LAWS]
    busy = any(run.lost > 0.01 * (run.lost + len(run.time)) for run in tracking)
    found = re.search(r"computed_torque tracks ([\d.]+) times better than pd", demo[1])
    assert (
        ("numbers withheld" in demo[1])
        == busy
        == (found is None)
        == (not (demo[0] / "tracking.png").exists())
    )
    if found:
        assert float(found[1]) > 10


@pytest.mark.parametrize("command", ["report", "torque"])
def test_a_bag_of_the_demo_needs_no_options(
    command: str,
    demo: tuple[Path, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        main([command, str(demo[0] / "pd" / "bag"), "-o", str(tmp_path / "output")])
        == 0
    )
    assert "note: robot:" in capsys.readouterr().err


def test_no_processes_or_errors_remain(demo: tuple[Path, str]) -> None:
    """Every process of the demo has its output folder in its command line."""
    assert processes_with(str(demo[0])) == []
    for log in demo[0].rglob("*_node.log"):
        # The controller stops the arm before it ends.
        text = "\n".join(
            line for line in log.read_text().splitlines() if STOP not in line
        )
        # A fault would hold the arm where it is, which looks like good tracking.
        assert (
            "Traceback" not in text
            and "[ERROR] [" not in text
            and "active ->" not in text
        ), log
