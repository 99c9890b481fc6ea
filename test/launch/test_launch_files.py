"""The launch files: all that they name exists, in each combination of their arguments, and leads where it should.

Without launch_ros, which comes with ROS 2 installations only, stand-ins read them.
"""

import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from launch_files import FILES, ROOT, Started, arguments_of, launched
from node_interfaces import NODES, parameters, topics

from robot_dynamics_ros.bags import BagWriter
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.errors import RobotDynamicsError, RobotModelError
from robot_dynamics_ros.resources import robot_dynamics_file, robot_urdf

PACKAGE = "robot_dynamics_ros"
ROBOTS = sorted(path.stem for path in (ROOT / "urdf").glob("*.urdf"))
SIMULATED = ("simulation_node", "computed_torque_node", "trajectory_node")
Install = Callable[..., None]

pytestmark = pytest.mark.usefixtures("install")

FLAG = ["true", "false"]
#: What each file can be asked for; the first is the default.
CHOICES: dict[str, dict[str, list[str]]] = {
    "computed_torque": {"sim": FLAG, "use_trajectory": FLAG, "use_sim_time": FLAG[::-1]},
    "simulation": {"use_sim_time": FLAG[::-1], "effort_commands": ["effort_commands", "/my/commands"]},
    "controller": {"robot": ["", "ur5e"], "rate": ["0", "500"], "use_sim_time": FLAG[::-1]},
    "replay": {"robot": ["", "ur5e"], "rate": ["1.0", "2"]},
    "two_arms": {"left": ["panda", "scara"], "use_trajectory": FLAG},
}
VIEWING = {
    "robot_state_publisher": FLAG,
    "rviz": FLAG[::-1],
    "record": ["false", "my_bag"],
    "namespace": ["", "lab/arm"],
}
#: Nodes of other packages: their parameters and topics.
OTHERS = {
    ("robot_state_publisher", "robot_state_publisher"): (
        {"robot_description", "frame_prefix", "use_sim_time"},
        {"joint_states", "/tf", "/tf_static", "robot_description"},
    ),
    ("rviz2", "rviz2"): ({"use_sim_time"}, {"joint_states", "/tf", "/tf_static", "robot_description"}),
    ("tf2_ros", "static_transform_publisher"): (set[str](), {"/tf_static"}),
}


def test_each_launch_file_is_tried() -> None:
    assert {file.name for file in FILES} == {f"{name}.launch.py" for name in CHOICES}


@pytest.fixture
def bag(tmp_path: Path) -> str:
    """A bag without messages, as a recorder of the arm leaves it."""
    kinds = {"joint_states": "sensor_msgs/msg/JointState", "robot_description": "std_msgs/msg/String"}
    with BagWriter(tmp_path / "bag", {f"{ns}/{name}": kind for ns in ("", "/lab/arm") for name, kind in kinds.items()}):
        return str(tmp_path / "bag")


def _combinations(name: str, bag: str) -> Iterator[dict[str, str]]:
    declared = arguments_of(ROOT / "launch" / f"{name}.launch.py")
    choices = CHOICES[name] | {key: values for key, values in VIEWING.items() if key in declared}
    for values in itertools.product(*choices.values()):
        yield dict(zip(choices, values, strict=True)) | ({"bag": bag} if name == "replay" else {})


@pytest.mark.parametrize("installed", [(), tuple({"robot_state_publisher", "rviz2", "tf2_ros", "ros2bag"})])
@pytest.mark.parametrize("name", CHOICES)
def test_all_that_a_launch_file_names_exists(name: str, installed: tuple[str, ...], bag: str, install: Install) -> None:
    """Programs, parameters and their values, files, and the topics of remappings."""
    install(*installed)
    for arguments in _combinations(name, bag):
        for node in launched(name, **arguments).nodes:
            try:
                _check(node)
            except AssertionError as problem:
                raise AssertionError(f"{node.program} with {arguments}: {problem}") from problem


def _check(node: Started) -> None:
    assert all(Path(file).is_file() for file in node.files)
    if node.package != PACKAGE:
        known, names = OTHERS[node.package, node.program]
        assert set(node.given) <= known
        assert all(Path(value).is_file() for value in node.arguments if value.endswith(".rviz"))
    else:
        assert '__name__ == "__main__"' in (NODES / f"{node.program}.py").read_text(encoding="utf-8")
        declared = parameters(node.program)
        assert set(node.given) <= {*declared, "use_sim_time"}
        for parameter in node.given.keys() & declared.keys():
            declared[parameter].check(node.given[parameter])
        names = _names(node.program)
    for old in node.remappings:
        assert old in names, f"{old} is no topic of {node.program}: {names}"


def _names(program: str) -> set[str]:
    kinds = topics(program, "publisher") | topics(program, "subscription")
    # A remapping may name the topics in a node's own namespace by ~.
    return {*kinds, *(re.sub(rf"^{program}/", "~/", name) for name in kinds)}


@pytest.mark.parametrize("file", FILES, ids=[file.name for file in FILES])
def test_arguments_are_described(file: Path) -> None:
    arguments = arguments_of(file)
    for name, (default, choices, description) in arguments.items():
        assert len(description) > 10 and description.endswith("."), name
        assert default is None or not choices or default in choices, name
    assert {"law", "rate"} - {"law" if file.name == "simulation.launch.py" else ""} <= set(arguments)
    assert {"rviz"} <= set(arguments)
    source = file.read_text(encoding="utf-8")
    assert f"`ros2 launch {PACKAGE} {file.name} " in source, "the docstring shows how to start it"


def test_choices_are_those_that_there_are() -> None:
    arguments = arguments_of(ROOT / "launch" / "computed_torque.launch.py")
    assert arguments["robot"][:2] == ("panda", ROBOTS)
    assert arguments["law"][1] == list(LAWS)
    assert arguments_of(ROOT / "launch" / "controller.launch.py")["robot"][:2] == ("", ["", *ROBOTS])


def test_installed_programs_are_those_of_setup() -> None:
    installed = re.findall(r'f"(\w+) = \{PACKAGE\}\.executables:(\w+)"', (ROOT / "setup.py").read_text("utf-8"))
    for program in SIMULATED:
        assert (program, program) in installed


# --- What each starts


@pytest.mark.parametrize("namespace", ["", "lab/arm"])
@pytest.mark.parametrize("robot", ROBOTS)
def test_computed_torque_starts_plant_controller_and_trajectory(robot: str, namespace: str) -> None:
    found = launched("computed_torque", robot=robot, namespace=namespace, law="pd", rate="250")
    file = robot_dynamics_file(robot)
    robots = {
        "robot_description": robot_urdf(robot).read_text(encoding="utf-8"),
        "dynamics_file": "" if file is None else str(file),
    }
    assert found.programs == list(SIMULATED)
    plant, controller, trajectory = found.nodes
    assert plant.given == robots | {"publish_rate": 250, "publish_clock": False}
    assert controller.given == robots | {"law": "pd", "state_timeout": 1.0, "use_sim_time": False}
    assert trajectory.given == {"listeners": ["computed_torque_node"], "use_sim_time": False}
    for node in found.nodes:
        assert node.files == [str(ROOT / "config" / f"{robot}.yaml")]
        assert node.namespace == f"/{namespace}"
        assert node.ends


def test_every_topic_that_a_node_reads_is_published_with_its_type() -> None:
    outside = {
        "robot_description": "String",
        "computed_torque_node/speed_scaling_factor": "Float64",
        "computed_torque_node/payload": "InertiaStamped",
        "computed_torque_node/emergency_stop": "Bool",
        "external_wrench": "WrenchStamped",
    }
    nodes = launched("computed_torque").nodes
    published = outside | {topic: kind for node in nodes for topic, kind in _topics(node, "publisher").items()}
    for node in nodes:
        for topic, kind in _topics(node, "subscription").items():
            assert published[topic] == kind, f"{node.program} reads {topic}"


def _topics(node: Started, kind: str) -> dict[str, str]:
    return {node.remappings.get(name, name): of for name, of in topics(node.program, kind).items()}


def test_without_plant_the_controller_keeps_its_patience() -> None:
    found = launched("computed_torque", sim="false")
    assert found.programs == ["computed_torque_node", "trajectory_node"]
    assert "state_timeout" not in found.node("computed_torque_node").parameters


def test_a_law_that_follows_no_trajectory() -> None:
    with pytest.raises(RobotDynamicsError, match="gravity_compensation.*use_trajectory:=false"):
        launched("computed_torque", law="gravity_compensation")
    found = launched("computed_torque", law="gravity_compensation", use_trajectory="false")
    assert found.programs == ["simulation_node", "computed_torque_node"]
    assert found.node("computed_torque_node").given["law"] == "gravity_compensation"


def test_simulated_time_has_one_clock() -> None:
    plant, *others = launched("computed_torque", use_sim_time="true").nodes
    assert plant.given["publish_clock"] is True and "use_sim_time" not in plant.given
    assert [node.given["use_sim_time"] for node in others] == [True, True]
    assert not any(node.given.get("publish_clock", False) for node in launched("two_arms").nodes)


def test_simulation_starts_the_plant_alone() -> None:
    (plant,) = launched("simulation", robot="scara", effort_commands="/mine", rate="1000", use_sim_time="true").nodes
    assert (plant.program, plant.remappings["effort_commands"]) == ("simulation_node", "/mine")
    assert plant.given["publish_rate"] == 1000 and plant.given["publish_clock"] is True


def test_controller_takes_robot_and_names_from_outside() -> None:
    commands = "/forward_effort_controller/commands"
    (node,) = launched("controller", effort_commands=commands, namespace="lab", use_sim_time="true").nodes
    assert (node.program, node.namespace, node.files) == ("computed_torque_node", "/lab", [])
    assert (node.given["robot_description"], node.given["dynamics_file"]) == ("", "")
    assert node.given["use_sim_time"] is True and node.given["update_rate"] == 0
    assert node.remappings == {
        "joint_states": "joint_states",
        "effort_commands": commands,
        "~/joint_trajectory": "computed_torque_node/joint_trajectory",
    }


def test_two_arms_are_two_namespaces_with_one_tree_of_frames(install: Install) -> None:
    install("robot_state_publisher", "tf2_ros", "rviz2")
    found = launched("two_arms", left="scara", right="scara", distance="2.0", rviz="true")
    for side, y in (("left", "1.0"), ("right", "-1.0")):
        mine = [node for node in found.nodes if node.namespace == f"/{side}"]
        assert [node.program for node in mine] == [*SIMULATED, "robot_state_publisher", "static_transform_publisher"]
        assert mine[3].given["frame_prefix"] == f"{side}/"
        assert "/tf" not in mine[3].remappings
        assert mine[4].arguments == ["--y", y, "--frame-id", "world", "--child-frame-id", f"{side}/base_link"]
    assert len(found.nodes) == 11 and found.nodes[-1].program == "rviz2"


def test_two_arms_keep_their_arguments_apart() -> None:
    found = launched("two_arms", left="panda", right="scara", law="pd", rate="100")
    robots = [re.findall(r'robot name="(\w+)"', node.given.get("robot_description", "")) for node in found.nodes]
    assert robots == [["panda"], ["panda"], [], ["scara"], ["scara"], []]
    assert [node.given.get("law") for node in found.nodes] == [None, "pd", None] * 2
    assert [node.given.get("publish_rate") for node in found.nodes] == [100, None, None] * 2


# --- Robots, files and namespaces


def test_own_robot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.urdf").write_text(robot_urdf("scara").read_text(encoding="utf-8"), encoding="utf-8")
    Path("mine.yaml").write_text("/**: {ros__parameters: {law: pd, trajectory: {move_time: 1.0}}}", encoding="utf-8")
    Path("friction.yaml").write_text("{}", encoding="utf-8")
    for node in launched(
        "computed_torque", urdf="mine.urdf", params_file="mine.yaml", dynamics_file="friction.yaml"
    ).nodes:
        assert node.files == [str(tmp_path / "mine.yaml")]
        # The file's comes last.
        assert (node.parameters["law"], node.parameters["trajectory.move_time"]) == ("pd", 1.0)
        if node.program != "trajectory_node":
            assert 'robot name="scara"' in node.given["robot_description"]
            assert node.given["dynamics_file"] == str(tmp_path / "friction.yaml")


def test_own_xacro_file(tmp_path: Path) -> None:
    pytest.importorskip("xacro")
    file = tmp_path / "mine.urdf.xacro"
    declared = '<xacro:arg name="mass" default="1"/>'
    urdf = robot_urdf("scara").read_text(encoding="utf-8")
    head, robot, rest = urdf.partition('<robot name="scara"')
    xacro = f'{robot} xmlns:xacro="http://www.ros.org/wiki/xacro"{rest.replace(">", ">" + declared, 1)}'
    file.write_text(head + xacro.replace("scara", "scara_$(arg mass)", 1), encoding="utf-8")
    found = launched("simulation", urdf=str(file), xacro_args="mass:=3")
    assert 'name="scara_3"' in found.node("simulation_node").given["robot_description"]


@pytest.mark.parametrize("argument", ["urdf", "params_file", "dynamics_file"])
def test_a_file_that_is_not_there(argument: str) -> None:
    with pytest.raises(RobotDynamicsError, match=f"{argument}:=.*nowhere: there is no file /.*nowhere. Cure: give"):
        launched("computed_torque", **{argument: "nowhere"})


@pytest.mark.parametrize("content", ["a: [b", "law: pd"])
def test_a_params_file_that_is_none_is_named_before_anything_starts(content: str, tmp_path: Path) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(RobotDynamicsError, match="broken.yaml.*Cure"):
        launched("computed_torque", params_file=str(file))


def test_a_number_that_is_none(install: Install) -> None:
    install("tf2_ros")
    for distance in ("foo", "nan"):
        with pytest.raises(RobotDynamicsError, match=f"distance:={distance}"):
            launched("two_arms", distance=distance)


def test_flags_as_python_writes_them() -> None:
    assert launched("computed_torque", sim="False", record="False").programs == list(SIMULATED[1:])
    plant, controller, _ = launched("computed_torque", sim="True", use_sim_time="True").nodes
    assert plant.given["publish_clock"] is True and controller.given["use_sim_time"] is True


def test_a_file_that_is_no_urdf(tmp_path: Path) -> None:
    file = tmp_path / "no.urdf"
    file.write_text("<sdf/>", encoding="utf-8")
    with pytest.raises(RobotModelError, match="no.urdf: root element is <sdf>"):
        launched("simulation", urdf=str(file))


def test_namespace_of_an_including_launch_file(install: Install) -> None:
    install("robot_state_publisher", "rviz2")
    found = launched("computed_torque", ros_namespace="lab", namespace="arm", rviz="true", record="my_bag")
    assert len(found.nodes) == 6
    assert {node.namespace for node in found.nodes} == {"/lab/arm"}
    assert "/lab/arm/joint_states" in found.node("recorder_node").given["topics"]


def test_names_keep_to_their_namespace(install: Install) -> None:
    """None is absolute that the user has not made so."""
    install("robot_state_publisher", "rviz2")
    for name in ("computed_torque", "simulation", "controller"):
        for node in launched(name, robot="panda", namespace="lab", rviz="true", robot_state_publisher="true").nodes:
            assert not any(new.startswith("/") for new in node.remappings.values()), node


@pytest.mark.parametrize(
    ("argument", "value", "valid"), [("robot", "pandaa", "panda"), ("law", "pid", "pd"), ("sim", "x", "true")]
)
def test_unknown_value_is_named_beside_the_valid_ones(argument: str, value: str, valid: str) -> None:
    with pytest.raises(RuntimeError, match=f'"{argument}".*"{value}".*{valid!r}'):
        launched("computed_torque", **{argument: value})
