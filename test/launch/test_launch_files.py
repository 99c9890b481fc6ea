"""Launch files: for each combination of arguments all names exist, and topics are connected."""

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.resources import dynamics_file, robot_names, robot_urdf
from robot_dynamics_ros.recordings.bags import BagWriter
from robot_dynamics_ros.recordings.bags.storage import BOOL, text_message
from robot_dynamics_ros.runs.configuration import Configuration
from support.launch_files import FILES, PACKAGE, ROOT, Started, arguments_of, launched
from support.node_interfaces import NODES, parameters, topics

SIMULATED = ["simulation_node", "computed_torque_node", "trajectory_node"]
Install = Callable[..., None]

# As published, the inertia of a link of the puma560 is not that of a body: each load warns of it.
pytestmark = [
    pytest.mark.usefixtures("install"),
    pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning"),
]

FLAG = ["true", "false"]
#: What each file can be asked for; the first is the default.
CHOICES: dict[str, dict[str, list[str]]] = {
    "computed_torque": {
        "sim": FLAG,
        "use_trajectory": FLAG,
        "use_sim_time": FLAG[::-1],
    },
    "simulation": {
        "use_sim_time": FLAG[::-1],
        "effort_commands": ["effort_commands", "/my/commands"],
    },
    "controller": {
        "robot": ["", "ur5e"],
        "rate": ["0", "500"],
        "use_sim_time": FLAG[::-1],
    },
    "replay": {"robot": ["", "ur5e"], "rate": ["1.0", "2"]},
    "two_arms": {"left": ["panda", "scara"], "use_trajectory": FLAG},
}
VIEWING = {
    "rviz": FLAG[::-1],
    "record": ["false", "my_bag"],
    "namespace": ["", "lab/arm"],
}
OTHERS = ("robot_state_publisher", "rviz2", "tf2_ros")
JOINT_STATE = "sensor_msgs/msg/JointState"
TRAJECTORY = "trajectory_msgs/msg/JointTrajectory"
TEXT = "std_msgs/msg/String"


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Return a function that makes a package appear as installed; by default no other package is."""
    index = tmp_path / "ros" / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "ros"))
    monkeypatch.chdir(tmp_path)
    return lambda *packages: (
        [(index / package).touch() for package in packages] and None
    )


def bag(topics: dict[str, str]) -> str:
    """Write a bag of these topics without messages."""
    with BagWriter("bag", topics):
        return "bag"


@pytest.mark.parametrize("installed", [(), OTHERS], ids=["alone", "with_others"])
@pytest.mark.parametrize(
    "name", [file.name.removesuffix(".launch.py") for file in FILES]
)
def test_programs_parameters_files_and_topics_exist(
    name: str, installed: tuple[str, ...], install: Install
) -> None:
    install(*installed)
    kinds = {"joint_states": JOINT_STATE, "robot_description": TEXT}
    path = bag(
        {
            f"{ns}/{topic}": kind
            for ns in ("", "/lab/arm")
            for topic, kind in kinds.items()
        }
    )
    declared = arguments_of(ROOT / "launch" / f"{name}.launch.py")
    choices = CHOICES[name] | {
        key: values for key, values in VIEWING.items() if key in declared
    }
    for values in itertools.product(*choices.values()):
        arguments = dict(zip(choices, values, strict=True)) | (
            {"bag": path} if name == "replay" else {}
        )
        for node in launched(name, **arguments).nodes:
            _check(node)


def _check(node: Started) -> None:
    files = [*node.files, *(word for word in node.arguments if word.endswith(".rviz"))]
    assert [file for file in files if not Path(file).is_file()] == []
    if node.package != PACKAGE:
        assert node.package in OTHERS
        return
    assert (NODES / f"{node.program}.py").is_file()
    declared = parameters(node.program)
    assert set(node.given) <= {*declared, "use_sim_time"}, node.program
    for name in node.given.keys() & declared.keys():
        declared[name].check(node.given[name])
    names = {*topics(node.program, "publisher"), *topics(node.program, "subscription")}
    names |= {re.sub(f"^{node.program}/", "~/", name) for name in names}
    assert set(node.remappings) <= names, node.program


@pytest.mark.parametrize("robot", robot_names())
def test_computed_torque_starts_plant_controller_and_trajectory(robot: str) -> None:
    found = launched(
        "computed_torque", robot=robot, namespace="lab/arm", law="pd", rate="250"
    )
    robots = {
        "robot_description": robot_urdf(robot).read_text(encoding="utf-8"),
        "dynamics_file": str(dynamics_file(None, robot) or ""),
    }
    drives = {"command_interfaces": ["effort"]}
    assert found.programs == SIMULATED
    assert [node.given for node in found.nodes] == [
        robots | drives | {"publish_rate": 250, "publish_clock": False},
        robots | drives | {"law": "pd", "state_timeout": 5.0, "use_sim_time": False},
        {"listeners": ["computed_torque_node"], "use_sim_time": False},
    ]
    for node in found.nodes:
        assert node.files == [str(ROOT / "config" / f"{robot}.yaml")]
        assert node.namespace == "/lab/arm" and node.ends
        assert not any(new.startswith("/") for new in node.remappings.values()), (
            "names keep to their namespace"
        )


def test_default_state_timeout_without_plant_and_one_clock() -> None:
    """Missing packages for RViz are reported; all other nodes start."""
    alone = launched("computed_torque", sim="False", rviz="true")
    assert (
        alone.programs == SIMULATED[1:]
        and "state_timeout" not in alone.nodes[0].parameters
    )
    assert (
        len(alone.reported) == 2
        and "robot_state_publisher" in alone.reported[0]
        and "rviz2" in alone.reported[1]
    )
    plant, *others = launched("computed_torque", use_sim_time="True").nodes
    assert plant.given["publish_clock"] is True and "use_sim_time" not in plant.given
    assert [node.given["use_sim_time"] for node in others] == [True, True]
    assert not any(
        node.given.get("publish_clock", False) for node in launched("two_arms").nodes
    )


def test_law_that_follows_no_trajectory() -> None:
    with pytest.raises(
        RobotDynamicsError, match="gravity_compensation.*use_trajectory:=false"
    ):
        launched("computed_torque", law="gravity_compensation")
    assert (
        launched(
            "computed_torque", law="gravity_compensation", use_trajectory="false"
        ).programs
        == SIMULATED[:2]
    )


def test_topic_names_of_simulation_and_controller(install: Install) -> None:
    install("robot_state_publisher", "rviz2")
    commands = "/forward_effort_controller/commands"
    given = {
        "effort_commands": commands,
        "use_sim_time": "true",
        "rviz": "true",
        "namespace": "lab",
    }
    plant, publisher, rviz = launched(
        "simulation", robot="scara", rate="1000", joint_states="states", **given
    ).nodes
    unchanged = {"drive_commands": "drive_commands"}
    renamed = {"joint_states": "states", "effort_commands": commands}
    assert plant.remappings == renamed | unchanged
    assert plant.given["publish_rate"] == 1000 and plant.given["publish_clock"] is True
    urdf = robot_urdf("scara")
    assert publisher.given == {
        "robot_description": urdf.read_text(encoding="utf-8"),
        "use_sim_time": True,
    }
    root = RobotModel.from_urdf_file(urdf).link_names[0]
    assert rviz.arguments == [
        "--display-config",
        str(ROOT / "rviz" / "arm.rviz"),
        "--fixed-frame",
        root,
    ]
    for node in (publisher, rviz):
        assert node.remappings == {
            "/tf": "tf",
            "/tf_static": "tf_static",
            "joint_states": "states",
        }
    # Whoever publishes robot_description publishes its transforms, too.
    controller, rviz = launched(
        "controller", robot_state_publisher="true", **given
    ).nodes
    assert (controller.program, controller.namespace, controller.files) == (
        "computed_torque_node",
        "/lab",
        [],
    )
    assert (controller.given["robot_description"], controller.given["update_rate"]) == (
        "",
        0,
    )
    goals = {"~/joint_trajectory": "computed_torque_node/joint_trajectory"}
    assert controller.remappings.items() >= goals.items()
    assert controller.remappings["effort_commands"] == commands


def test_two_arms_have_namespaces_and_one_tf_tree(install: Install) -> None:
    install("robot_state_publisher", "tf2_ros", "rviz2")
    given = {
        "left": "scara",
        "right": "planar_2r",
        "distance": "2.0",
        "law": "pd",
        "rate": "100",
    }
    found = launched("two_arms", rviz="true", **given)
    for side, y in (("left", "1.0"), ("right", "-1.0")):
        mine = [node for node in found.nodes if node.namespace == f"/{side}"]
        assert [node.program for node in mine] == [
            *SIMULATED,
            "robot_state_publisher",
            "static_transform_publisher",
        ]
        for node in (*mine[:2], mine[3]):
            assert f'robot name="{given[side]}"' in node.given["robot_description"]
        assert mine[0].given["publish_rate"] == 100 and mine[1].given["law"] == "pd"
        assert (
            mine[3].given["frame_prefix"] == f"{side}/"
            and "/tf" not in mine[3].remappings
        )
        root = RobotModel.from_urdf_file(robot_urdf(given[side])).link_names[0]
        assert mine[4].arguments == [
            "--y",
            y,
            "--frame-id",
            "world",
            "--child-frame-id",
            f"{side}/{root}",
        ]
    assert len(found.nodes) == 11 and found.nodes[-1].program == "rviz2"
    with pytest.raises(RobotDynamicsError, match="distance:=nan"):
        launched("two_arms", distance="nan")


def test_recorder_receives_all_topics_before_the_motion(tmp_path: Path) -> None:
    """This includes the namespace of an including launch file."""
    given = {"record": "my_bag", "namespace": "arm", "ros_namespace": "lab"}
    node = "/lab/arm/computed_torque_node"
    recorded = ["/lab/arm/joint_states", "/lab/arm/effort_commands"]
    recorded += [f"{node}/joint_trajectory", f"{node}/command_states", "/diagnostics"]
    found = launched("computed_torque", **given)
    recorder = found.node("recorder_node")
    assert recorder.given == {
        "output": str(tmp_path / "my_bag"),
        "topics": recorded,
    }
    assert recorder.ends and {node.namespace for node in found.nodes} == {"/lab/arm"}
    assert found.node("trajectory_node").given["listeners"] == [
        "computed_torque_node",
        "recorder",
    ]


def test_plant_and_controller_have_the_interfaces_of_the_drives(tmp_path: Path) -> None:
    """The recorder receives the one topic that exists; a parameter file precedes the argument in it, too."""
    commands = "/forward_position_controller/commands"
    found = launched(
        "computed_torque",
        command_interfaces="position",
        position_commands=commands,
        record="bag",
    )
    for node in found.nodes[:2]:
        assert node.given["command_interfaces"] == ["position"]
    assert (
        found.node("computed_torque_node").remappings["position_commands"] == commands
    )
    recorded = found.node("recorder_node").given["topics"]
    assert "/drive_commands" in recorded and "/effort_commands" not in recorded
    file = tmp_path / "drives.yaml"
    drives = {"command_interfaces": ["effort"]}
    file.write_text(
        yaml.safe_dump({"/**": {"ros__parameters": drives}}), encoding="utf-8"
    )
    found = launched(
        "controller",
        command_interfaces="position",
        params_file=str(file),
        record="other",
    )
    assert "/effort_commands" in found.node("recorder_node").given["topics"]


def test_bag_name_contains_time_or_side(tmp_path: Path) -> None:
    output = Path(
        launched("simulation", record="true").node("recorder_node").given["output"]
    )
    assert output.parent == tmp_path and output.match("recording_20[0-9]*_[0-9]*")
    recorders = [
        node
        for node in launched("two_arms", record="both").nodes
        if node.program == "recorder_node"
    ]
    assert [node.given["output"] for node in recorders] == [
        str(tmp_path / "both_left"),
        str(tmp_path / "both_right"),
    ]


def test_replay_plays_inputs_and_records_inputs_and_commands(install: Install) -> None:
    inputs = {
        "/joint_states": JOINT_STATE,
        "/computed_torque_node/joint_trajectory": TRAJECTORY,
        "/computed_torque_node/speed_scaling_factor": "std_msgs/msg/Float64",
        "/computed_torque_node/target_pose": "geometry_msgs/msg/PoseStamped",
    }
    answers = "/computed_torque_node/command_states"
    path = bag({**inputs, answers: JOINT_STATE, "/robot_description": TEXT})
    found = launched(
        "replay", bag=path, output="new", robot="panda", rate="2", law="pd"
    )
    (player,) = found.processes
    recorder = found.node("recorder_node")
    assert _given(player, "topics") == list(inputs) and _given(player, "rate") == 2.0
    assert _given(player, "listeners") == ["computed_torque_node", "recorder"]
    recorded = [*inputs, answers, "/diagnostics"]
    assert recorder.given["topics"] == recorded and recorder.given["output"] == "new"
    controller = found.node("computed_torque_node")
    assert (controller.given["law"], controller.given["state_timeout"]) == (
        "pd",
        float("inf"),
    ) and controller.ends
    assert "/robot_description" in _given(
        launched("replay", bag=path).processes[0], "topics"
    )


def test_further_emergency_stops_are_recorded_and_replayed() -> None:
    """The recorder finds them in ~/configuration, and a replay in the bag."""
    stops = {"emergency_stop_topics": ["/cell/panel"]}
    node = "/computed_torque_node"
    with BagWriter(
        "bag",
        {
            "/joint_states": JOINT_STATE,
            "/cell/panel": BOOL,
            f"{node}/configuration": TEXT,
        },
    ) as writer:
        writer.write(
            f"{node}/configuration",
            0,
            text_message(Configuration("1", "", "", stops).text()),
        )
    found = launched("replay", bag="bag", robot="panda")
    assert "/cell/panel" in _given(found.processes[0], "topics")
    assert found.node("computed_torque_node").given.items() >= stops.items()


def _given(line: list[str], name: str) -> Any:
    (given,) = [part for part in line if part.startswith(f"{name}:=")]
    return yaml.safe_load(given.removeprefix(f"{name}:="))


def test_replay_renames_topics_of_the_bag() -> None:
    path = bag(
        {"/lab/arm/js": JOINT_STATE, "/arm_controller/joint_trajectory": TRAJECTORY}
    )
    given = {
        "joint_states": "js",
        "joint_trajectory": "/arm_controller/joint_trajectory",
    }
    (line,) = launched(
        "replay", bag=path, robot="panda", namespace="arm", ros_namespace="lab", **given
    ).processes
    assert [line[k + 1] for k, part in enumerate(line) if part == "-r"] == [
        "/lab/arm/js:=/lab/arm/joint_states",
        "/arm_controller/joint_trajectory:=/lab/arm/computed_torque_node/joint_trajectory",
    ]


@pytest.mark.parametrize(
    ("topic", "arguments", "culprit"),
    [
        ("/js", {"robot": "panda"}, "bag: no joint_states.*/js"),
        ("/joint_states", {}, "bag: no robot_description"),
        ("/joint_states", {"robot": "panda", "output": "bag"}, "bag: it exists"),
        ("/joint_states", {"robot": "panda", "rate": "0"}, "rate:=0"),
        ("/joint_states", {"robot": "panda", "bag": "nowhere"}, "nowhere"),
    ],
)
def test_replay_reports_missing_topics(
    topic: str, arguments: dict[str, str], culprit: str
) -> None:
    path = bag({topic: JOINT_STATE})
    with pytest.raises(RobotDynamicsError, match=culprit):
        launched("replay", **{"bag": path, **arguments})


def test_params_file_overrides_other_parameters(tmp_path: Path) -> None:
    Path("mine.urdf").write_text(
        robot_urdf("scara").read_text(encoding="utf-8"), encoding="utf-8"
    )
    Path("mine.yaml").write_text(
        "/**: {ros__parameters: {law: pd, trajectory: {move_time: 1.0}}}",
        encoding="utf-8",
    )
    Path("friction.yaml").write_text("{}", encoding="utf-8")
    given = {
        "urdf": "mine.urdf",
        "params_file": "mine.yaml",
        "dynamics_file": "friction.yaml",
    }
    for node in launched("computed_torque", **given).nodes:
        assert node.files == [str(tmp_path / "mine.yaml")]
        assert (node.parameters["law"], node.parameters["trajectory.move_time"]) == (
            "pd",
            1.0,
        )
        if node.program != "trajectory_node":
            assert 'robot name="scara"' in node.given["robot_description"]
            assert node.given["dynamics_file"] == str(tmp_path / "friction.yaml")


def test_own_xacro_file_with_its_arguments() -> None:
    pytest.importorskip("xacro")
    start = '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="$(arg name)"><xacro:arg name="name" default="a"/>'
    urdf = re.sub(
        '<robot name="scara"[^>]*>',
        start,
        robot_urdf("scara").read_text(encoding="utf-8"),
    )
    Path("mine.urdf.xacro").write_text(urdf, encoding="utf-8")
    found = launched("simulation", urdf="mine.urdf.xacro", xacro_args="name:=third")
    assert 'name="third"' in found.node("simulation_node").given["robot_description"]


@pytest.mark.parametrize(
    ("argument", "content"),
    [
        ("urdf", None),
        ("urdf", "<sdf/>"),
        ("params_file", None),
        ("params_file", "a: [b"),
        ("params_file", "law: pd"),
        ("dynamics_file", None),
    ],
)
def test_missing_or_invalid_file_is_reported_before_the_start(
    argument: str, content: str | None
) -> None:
    if content is not None:
        Path("given.file").write_text(content, encoding="utf-8")
    with pytest.raises(RobotDynamicsError, match="given.file"):
        launched("computed_torque", **{argument: "given.file"})


@pytest.mark.parametrize(
    ("file", "namespaces"), [("arm.rviz", [""]), ("two_arms.rviz", ["left/", "right/"])]
)
def test_rviz_displays_use_relative_topic_names(
    file: str, namespaces: list[str]
) -> None:
    kinds = {"Effort": "JointState", "RobotModel": "String", "Wrench": "WrenchStamped"}
    there = {"robot_description": "String"}
    for program in SIMULATED[:2]:
        there |= topics(program, "publisher") | topics(program, "subscription")
    published = {
        namespace + name: kind
        for namespace in namespaces
        for name, kind in there.items()
    }
    document = yaml.safe_load((ROOT / "rviz" / file).read_text(encoding="utf-8"))
    models = set()
    for display in document["Visualization Manager"]["Displays"]:
        kind = display["Class"].partition("/")[2]
        if name := display.get(
            "Topic", display.get("Description Topic", {"Value": ""})
        )["Value"]:
            assert published[name] == kinds[kind], name
            models |= {name} if kind == "RobotModel" else set()
    assert models == {f"{namespace}robot_description" for namespace in namespaces}
