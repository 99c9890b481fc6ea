"""What replay.launch.py plays, starts and records."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from launch_files import launched

from robot_dynamics_ros.bags import BagWriter
from robot_dynamics_ros.errors import BagError, RobotDynamicsError

Install = Callable[..., None]

pytestmark = pytest.mark.usefixtures("install")

JOINT_STATE, TRAJECTORY, TEXT = (
    "sensor_msgs/msg/JointState",
    "trajectory_msgs/msg/JointTrajectory",
    "std_msgs/msg/String",
)
TOPICS = {
    "/joint_states": JOINT_STATE,
    "/computed_torque_node/joint_trajectory": TRAJECTORY,
    "/computed_torque_node/speed_scaling_factor": "std_msgs/msg/Float64",
    "/computed_torque_node/command_states": JOINT_STATE,
    "/effort_commands": "std_msgs/msg/Float64MultiArray",
    "/robot_description": TEXT,
}


def bag(folder: Path, topics: dict[str, str]) -> str:
    """A bag of these topics, without messages."""
    with BagWriter(folder / "bag", topics):
        return str(folder / "bag")


def player(**arguments: str) -> list[str]:
    """The command line of the player."""
    return launched("replay", **arguments).processes["player"]


def value(line: list[str], name: str) -> Any:
    (given,) = [part for part in line if part.startswith(f"{name}:=")]
    return eval(given.removeprefix(f"{name}:="))


def test_only_inputs_are_played_and_all_answers_recorded(tmp_path: Path) -> None:
    found = launched("replay", bag=bag(tmp_path, TOPICS), output="new", robot="panda", rate="2")
    inputs = list(TOPICS)[:3]
    line, recorder = found.processes["player"], found.node("recorder_node")
    assert value(line, "topics") == inputs
    assert (value(line, "rate"), value(line, "listeners")) == (2.0, ["computed_torque_node", "recorder"])
    assert recorder.given["topics"] == [*inputs, "/computed_torque_node/command_states", "/diagnostics"]
    assert recorder.given["output"] == "new"


def test_the_controller_is_no_less_patient_than_the_bag(tmp_path: Path) -> None:
    found = launched("replay", bag=bag(tmp_path, TOPICS), robot="panda", law="pd", namespace="")
    controller = found.node("computed_torque_node")
    assert (controller.given["law"], controller.given["state_timeout"]) == ("pd", float("inf"))
    assert controller.ends


def test_the_robot_of_the_bag(tmp_path: Path) -> None:
    path = bag(tmp_path, TOPICS)
    assert "/robot_description" in value(player(bag=path), "topics")
    assert "/robot_description" not in value(player(bag=path, robot="ur5e"), "topics")


def test_topics_of_other_names_are_renamed(tmp_path: Path) -> None:
    path = bag(tmp_path, {"/arm/js": JOINT_STATE, "/arm_controller/joint_trajectory": TRAJECTORY})
    given = {"joint_states": "js", "joint_trajectory": "/arm_controller/joint_trajectory"}
    line = player(bag=path, robot="panda", namespace="arm", **given)
    assert [line[k + 1] for k, part in enumerate(line) if part == "-r"] == [
        "/arm/js:=/arm/joint_states",
        "/arm_controller/joint_trajectory:=/arm/computed_torque_node/joint_trajectory",
    ]


def test_in_the_namespace_of_an_including_launch_file(tmp_path: Path) -> None:
    path = bag(tmp_path, {"/lab/arm/joint_states": JOINT_STATE})
    found = launched("replay", bag=path, robot="panda", namespace="arm", ros_namespace="lab")
    assert value(found.processes["player"], "topics") == ["/lab/arm/joint_states"]
    assert {node.namespace for node in found.nodes} == {"/lab/arm"}


def test_ros2bag_where_it_is_installed(install: Install, tmp_path: Path) -> None:
    """It is started once the controller is active, as it waits for nobody: until then there is only an event."""
    install("ros2bag")
    path = bag(tmp_path, {"/joint_states": JOINT_STATE})
    found = launched("replay", bag=path, output="new", robot="panda")
    topics = "/joint_states|/computed_torque_node/command_states|/diagnostics"
    topics += "|/robot_description|/computed_torque_node/configuration|/computed_torque_node/emergency_stop"
    line = ["ros2", "bag", "record", "--output", "new", "--regex", f"^({topics})$"]
    assert found.processes == {"recorder": line}


@pytest.mark.parametrize(
    ("topics", "arguments", "said"),
    [
        ({"/js": JOINT_STATE}, {"robot": "panda"}, r"no joint_states.*Cure: add joint_states:=TOPIC; the bag has /js"),
        ({"/joint_states": JOINT_STATE}, {}, r"no robot_description.*Cure: add robot:="),
        ({"/joint_states": JOINT_STATE}, {"robot": "panda", "output": "."}, r"\.: it exists"),
        ({"/joint_states": JOINT_STATE}, {"robot": "panda", "rate": "0"}, r"rate:=0 .*above 0"),
    ],
)
def test_what_is_missing(topics: dict[str, str], arguments: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(RobotDynamicsError, match=said):
        launched("replay", bag=bag(tmp_path, topics), **arguments)


def test_no_bag(tmp_path: Path) -> None:
    with pytest.raises(BagError, match="nowhere: there is no such file or folder"):
        launched("replay", bag=str(tmp_path / "nowhere"), robot="panda")
