"""robot_state_publisher, RViz and recorders: what they are given, and what is said where they are missing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from launch_files import ROOT, launched
from node_interfaces import topics

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.resources import robot_names, robot_urdf

Install = Callable[..., None]
RVIZ = ROOT / "rviz"

# As published, the inertia of a link of the puma560 is not that of a body: each load warns of it.
pytestmark = [
    pytest.mark.usefixtures("install"),
    pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning"),
]
#: Of rviz_default_plugins on Humble, Jazzy and Rolling.
DISPLAYS = {"Grid", "RobotModel", "TF", "Effort", "Wrench"}


def test_without_packages_of_others_the_rest_runs() -> None:
    found = launched("computed_torque", rviz="true")
    assert len(found.nodes) == 3
    publisher, rviz = found.said
    assert "robot_state_publisher is not installed" in publisher and "ros-jazzy-robot-state-publisher" in publisher
    assert "rviz2 is not installed" in rviz and "Cure: sudo apt install ros-jazzy-rviz2" in rviz
    assert launched("computed_torque", robot_state_publisher="false").said == []


@pytest.mark.parametrize("robot", robot_names())
def test_state_publisher_and_rviz_know_the_robot(robot: str, install: Install) -> None:
    install("robot_state_publisher", "rviz2")
    found = launched(
        "simulation", robot=robot, rviz="true", namespace="lab", joint_states="states", use_sim_time="true"
    )
    publisher, rviz = found.node("robot_state_publisher"), found.node("rviz2")
    text = robot_urdf(robot).read_text(encoding="utf-8")
    assert publisher.parameters == {"robot_description": text, "use_sim_time": True}
    root = RobotModel.from_urdf_file(robot_urdf(robot)).link_names[0]
    assert rviz.arguments == ["--display-config", str(RVIZ / "arm.rviz"), "--fixed-frame", root]
    for node in (publisher, rviz):
        assert node.namespace == "/lab"
        assert node.remappings == {"/tf": "tf", "/tf_static": "tf_static", "joint_states": "states"}


def test_a_robot_that_comes_later_is_no_business_of_the_state_publisher(install: Install) -> None:
    """Whoever publishes robot_description publishes its transforms."""
    install("robot_state_publisher", "rviz2")
    found = launched("controller", robot_state_publisher="true", rviz="true")
    assert found.programs == ["computed_torque_node", "rviz2"]
    assert found.node("rviz2").arguments == ["--display-config", str(RVIZ / "arm.rviz")]
    assert launched("controller", robot="panda").programs == ["computed_torque_node"]


TOPICS = [
    "/lab/joint_states",
    "/lab/effort_commands",
    "/lab/computed_torque_node/joint_trajectory",
    "/lab/computed_torque_node/command_states",
    "/diagnostics",
]

COMPANIONS = [
    "/lab/robot_description",
    "/lab/computed_torque_node/configuration",
    "/lab/computed_torque_node/emergency_stop",
]


def test_own_recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = launched("computed_torque", record="my_bag", namespace="lab")
    recorder = found.node("recorder_node")
    assert recorder.given == {"output": str(tmp_path / "my_bag"), "topics": TOPICS, "report": "line"}
    assert recorder.ends and recorder.namespace == "/lab"
    # It misses nothing of the motion.
    assert found.node("trajectory_node").given["listeners"] == ["computed_torque_node", "recorder"]


def test_ros2_bag_where_it_is_installed(install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    install("ros2bag")
    found = launched("computed_torque", record="my_bag", namespace="lab")
    line = [
        "ros2",
        "bag",
        "record",
        "--output",
        str(tmp_path / "my_bag"),
        "--regex",
        f"^({'|'.join(TOPICS + COMPANIONS)})$",
    ]
    assert found.processes == {"recorder": line}
    assert found.node("trajectory_node").given["listeners"] == ["computed_torque_node", "rosbag2_recorder"]


def test_recordings_have_the_time_in_their_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    output = Path(launched("simulation", record="true").node("recorder_node").given["output"])
    assert output.parent == tmp_path and output.match("recording_20[0-9]*_[0-9]*")
    outputs = [
        node.given["output"] for node in launched("two_arms", record="both").nodes if node.program == "recorder_node"
    ]
    assert outputs == [str(tmp_path / "both_left"), str(tmp_path / "both_right")]


# --- The files of RViz


def _displays(file: str) -> list[dict[str, Any]]:
    document = yaml.safe_load((RVIZ / file).read_text(encoding="utf-8"))
    return list(document["Visualization Manager"]["Displays"])


def _topic(display: dict[str, Any]) -> str:
    topic = display.get("Topic", display.get("Description Topic", {"Value": ""}))
    return str(topic["Value"])


@pytest.mark.parametrize("file", ["arm.rviz", "two_arms.rviz"])
def test_displays_are_known_and_their_topics_relative(file: str) -> None:
    for display in _displays(file):
        package, _, kind = display["Class"].partition("/")
        assert package == "rviz_default_plugins" and kind in DISPLAYS
        assert not _topic(display).startswith("/")
        assert not display.get("Robot Description", "").startswith("/")


def test_topics_of_displays_are_those_of_the_nodes() -> None:
    kinds = {"Effort": "JointState", "RobotModel": "String", "Wrench": "WrenchStamped"}
    there = {"robot_description": "String"} | {
        name: kind
        for program in ("simulation_node", "computed_torque_node")
        for what in ("publisher", "subscription")
        for name, kind in topics(program, what).items()
    }
    for display in _displays("arm.rviz"):
        if _topic(display):
            assert there[_topic(display)] == kinds[display["Class"].partition("/")[2]]


def test_two_arms_show_each_arm_by_its_namespace() -> None:
    shown = [
        (display["TF Prefix"], display.get("Robot Description", _topic(display)))
        for display in _displays("two_arms.rviz")
        if "TF Prefix" in display
    ]
    sides = [side for side in ("left", "right") for _ in range(2)]
    assert shown == [(side, f"{side}/robot_description") for side in sides]
