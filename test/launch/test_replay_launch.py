"""What replay.launch.py plays, starts and records. Left out where there is no launch_ros."""

from pathlib import Path
from typing import Any

import pytest

from robot_dynamics_ros.bags import BagWriter
from robot_dynamics_ros.errors import BagError, RobotDynamicsError

REPLAY = Path(__file__).resolve().parents[2] / "launch" / "replay.launch.py"
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

pytest.importorskip("launch_ros.actions", reason="launch_ros comes with a ROS 2 installation only")


def bag(folder: Path, topics: dict[str, str]) -> str:
    """A bag of these topics, without messages."""
    with BagWriter(folder / "bag", topics):
        return str(folder / "bag")


def started(**arguments: str) -> dict[str, list[str]]:
    """The command lines of recorder and player, as `ros2 launch` would start them."""
    from launch import LaunchContext
    from launch.actions import ExecuteProcess
    from launch.launch_description_sources import get_launch_description_from_python_launch_file
    from launch.utilities import perform_substitutions
    from launch_ros.actions import LifecycleNode

    context = LaunchContext()
    context.launch_configurations.update(arguments)
    entities = get_launch_description_from_python_launch_file(str(REPLAY)).entities
    found = [found for entity in entities for found in entity.visit(context) or ()]
    lines = {}
    for process in found:
        if isinstance(process, ExecuteProcess) and not isinstance(process, LifecycleNode):
            line = [perform_substitutions(context, part) for part in process.cmd]
            plays = "play" in line or any(part.endswith(".player_node") for part in line)
            lines["player" if plays else "recorder"] = line
    return lines


def value(line: list[str], name: str) -> str:
    (given,) = [part for part in line if part.startswith(f"{name}:=")]
    return given.removeprefix(f"{name}:=")


@pytest.fixture(autouse=True)
def no_ros2bag(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))


@pytest.fixture
def ros2bag(no_ros2bag: None, tmp_path: Path) -> None:
    """The package is there, as ament's index says it."""
    index = tmp_path / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True)
    (index / "ros2bag").touch()


def test_only_inputs_are_played_and_all_answers_recorded(tmp_path: Path) -> None:
    lines = started(bag=bag(tmp_path, TOPICS), output="new", robot="panda", rate="2")
    inputs = list(TOPICS)[:3]
    player, recorder = lines["player"], lines["recorder"]
    assert eval(value(player, "topics")) == inputs
    assert (value(player, "rate"), eval(value(player, "listeners"))) == ("2.0", ["computed_torque_node", "recorder"])
    assert eval(value(recorder, "topics")) == [*inputs, "/computed_torque_node/command_states", "/diagnostics"]
    assert value(recorder, "output") == '"new"'


def test_the_robot_of_the_bag(tmp_path: Path) -> None:
    path = bag(tmp_path, TOPICS)
    assert "/robot_description" in eval(value(started(bag=path)["player"], "topics"))
    assert "/robot_description" not in eval(value(started(bag=path, robot="ur5e")["player"], "topics"))


def test_topics_of_other_names_are_renamed(tmp_path: Path) -> None:
    path = bag(tmp_path, {"/arm/js": JOINT_STATE, "/arm_controller/joint_trajectory": TRAJECTORY})
    given = {"joint_states": "js", "joint_trajectory": "/arm_controller/joint_trajectory"}
    player = started(bag=path, robot="panda", namespace="arm", **given)["player"]
    assert [player[k + 1] for k, part in enumerate(player) if part == "-r"] == [
        "/arm/js:=/arm/joint_states",
        "/arm_controller/joint_trajectory:=/arm/computed_torque_node/joint_trajectory",
    ]


def test_ros2bag_where_it_is_installed(ros2bag: None, tmp_path: Path) -> None:
    """It is started once the controller is active, as it waits for nobody: until then there is only an event."""
    path = bag(tmp_path, {"/joint_states": JOINT_STATE})
    lines = started(bag=path, output="new", robot="panda")
    assert "player" not in lines
    inputs = ["/joint_states", "/computed_torque_node/command_states", "/diagnostics"]
    assert lines["recorder"] == ["ros2", "bag", "record", "--output", "new", *inputs]


@pytest.mark.parametrize(
    ("topics", "arguments", "said"),
    [
        ({"/js": JOINT_STATE}, {"robot": "panda"}, r"no joint_states.*Cure: add joint_states:=TOPIC; the bag has /js"),
        ({"/joint_states": JOINT_STATE}, {}, r"no robot_description.*Cure: add robot:="),
        ({"/joint_states": JOINT_STATE}, {"robot": "panda", "rate": "0"}, r"rate:=0 is out of range.*positive"),
    ],
)
def test_what_is_missing(topics: dict[str, str], arguments: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(RobotDynamicsError, match=said):
        started(bag=bag(tmp_path, topics), **arguments)


def test_no_bag(tmp_path: Path) -> None:
    with pytest.raises(BagError, match="nowhere: there is no such file or folder"):
        started(bag=str(tmp_path / "nowhere"), robot="panda")
