"""The launch files and the settings of the robots: what they name exists, and what they ask of an arm it can do.

launch_ros comes with ROS 2 installations only. Where it is missing, the last part is left out; the first reads the
launch files as text.
"""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.control.reference import quintic_then_sine
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.parameters.kinds import Parameter
from robot_dynamics_ros.resources import find_resource, robot_dynamics_file, robot_names, robot_urdf

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "robot_dynamics_ros"
NODES = ROOT / PACKAGE / "nodes"
FILES = sorted((ROOT / "launch").glob("*.launch.py"))
ROBOTS = sorted(path.stem for path in (ROOT / "urdf").glob("*.urdf"))
COMPUTED_TORQUE = ROOT / "launch" / "computed_torque.launch.py"
REPLAY = ROOT / "launch" / "replay.launch.py"
PROGRAMS = ("simulation_node", "computed_torque_node", "trajectory_node")
ARGUMENTS = {
    "robot": "panda",
    "law": "computed_torque",
    "rate": "500",
    "dynamics_file": "",
    "namespace": "",
    "use_trajectory": "true",
}
#: Topics that nobody has to publish: they are there for others.
FROM_OUTSIDE = {
    "robot_description": "String",
    "computed_torque_node/speed_scaling_factor": "Float64",
    "computed_torque_node/payload": "InertiaStamped",
    "external_wrench": "WrenchStamped",
}
#: Topics that come from the bag.
FROM_BAG = {"joint_states": "JointState", "computed_torque_node/joint_trajectory": "JointTrajectory"}

# As published, the inertia of a link of the puma560 is not that of a body: each load warns of it.
pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")


# --- The nodes: parameters that they declare, and topics that they use, from their sources


def _calls(tree: ast.AST, *functions: str) -> list[ast.Call]:
    """Calls of `f(...)` or `anything.f(...)`."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call for call in calls if ast.unparse(call.func).rpartition(".")[2] in functions]


def _source(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def _text(node: ast.expr) -> str:
    assert isinstance(node, ast.Constant) and isinstance(node.value, str), ast.unparse(node)
    return node.value


def _parameters(program: str) -> dict[str, Parameter[Any]]:
    """The parameters that a node declares, by name."""
    tables = {"computed_torque_node": "parameters.controller", "simulation_node": "parameters.simulation"}
    table = importlib.import_module(f"{PACKAGE}.{tables.get(program, f'nodes.{program}')}")
    return {parameter.name: parameter for parameter in table.ALL}


def _node_name(program: str) -> str:
    (call,) = [call for call in _calls(_source(NODES / f"{program}.py"), "__init__") if call.args]
    return _text(call.args[0])


def _sources(program: str) -> dict[str, ast.Module]:
    """Its module, and those of nodes/ that it imports."""
    found: dict[str, ast.Module] = {}
    left = [program]
    while left:
        name = left.pop()
        if name in found or not (NODES / f"{name}.py").is_file():
            continue
        found[name] = _source(NODES / f"{name}.py")
        for node in ast.walk(found[name]):
            if isinstance(node, ast.ImportFrom):
                package, _, module = str(node.module).rpartition(".")
                left += [module] if package == f"{PACKAGE}.nodes" else []
                left += [alias.name for alias in node.names] if node.module == f"{PACKAGE}.nodes" else []
    return found


def _topics(program: str, kind: str) -> dict[str, str]:
    """Topics that a node publishes or subscribes to (kind), with their message types, in the node's namespace.

    Without those that a parameter names.
    """
    calls = [call for tree in _sources(program).values() for call in _calls(tree, f"create_{kind}")]
    calls = [call for call in calls if not isinstance(call.args[1], ast.Attribute)]
    own = _node_name(program)
    return {re.sub("^~", own, _text(call.args[1])): ast.unparse(call.args[0]) for call in calls}


def test_every_program_declares_its_parameters_and_topics() -> None:
    """The readers above find what is there."""
    assert set(_parameters("simulation_node")) >= {"robot_description", "publish_rate", "initial_positions"}
    assert set(_parameters("computed_torque_node")) >= {"robot_description", "law", "gains.natural_frequency"}
    assert "robot_description" not in _parameters("trajectory_node")
    assert _topics("computed_torque_node", "publisher") == {
        "effort_commands": "Float64MultiArray",
        "computed_torque_node/command_states": "JointState",
        "computed_torque_node/external_torque": "JointState",
        "computed_torque_node/joint_trajectory_with_effort": "JointTrajectory",
        "/diagnostics": "DiagnosticArray",
    }
    assert _topics("computed_torque_node", "subscription") == {
        "joint_states": "JointState",
        "computed_torque_node/joint_trajectory": "JointTrajectory",
        "robot_description": "String",
        "computed_torque_node/speed_scaling_factor": "Float64",
        "computed_torque_node/payload": "InertiaStamped",
    }
    assert _topics("simulation_node", "subscription") == {
        "effort_commands": "Float64MultiArray",
        "external_wrench": "WrenchStamped",
        "robot_description": "String",
    }


# --- The launch files as text


class Started:
    """One Node(...) of a launch file: program, parameter names, parameter files and remappings."""

    def __init__(self, call: ast.Call, tree: ast.Module) -> None:
        keywords = {keyword.arg: keyword.value for keyword in call.keywords}
        program = keywords.pop(None)
        assert isinstance(program, ast.Call) and ast.unparse(program.func) == "program"
        self.program = _text(program.args[0])
        self.remappings: dict[str, str] = dict(ast.literal_eval(keywords.get("remappings", ast.List([]))))
        assigned = {
            target.id: node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        self.parameters: set[str] = set()
        self.files: list[ast.Call] = []
        sources = keywords["parameters"]
        assert isinstance(sources, ast.List)
        for source in sources.elts:
            value = assigned[source.id] if isinstance(source, ast.Name) else source
            if isinstance(value, ast.Dict):
                self.parameters |= {_text(key) for key in value.keys if key is not None}
            else:
                self.files += _calls(value, "find_resource")

    def topics(self, kind: str) -> dict[str, str]:
        """As _topics, remapped."""
        return {self.remappings.get(name, name): of for name, of in _topics(self.program, kind).items()}


def _started(file: Path) -> list[Started]:
    tree = _source(file)
    return [Started(call, tree) for call in _calls(tree, "Node", "LifecycleNode")]


EACH = pytest.mark.parametrize("file", FILES, ids=[file.name for file in FILES])


@EACH
def test_compiles(file: Path) -> None:
    code = compile(file.read_text(encoding="utf-8"), str(file), "exec")
    assert "generate_launch_description" in code.co_names


@EACH
def test_programs_are_installed_executables_and_modules(file: Path) -> None:
    installed = re.findall(r'f"(\w+) = \{PACKAGE\}\.nodes\.(\w+):main"', (ROOT / "setup.py").read_text("utf-8"))
    started = _started(file)
    assert started
    for node in started:
        assert (node.program, node.program) in installed
        assert '__name__ == "__main__"' in (NODES / f"{node.program}.py").read_text(encoding="utf-8")


@EACH
def test_parameters_are_declared_by_the_nodes(file: Path) -> None:
    for node in _started(file):
        assert node.parameters <= set(_parameters(node.program)), node.program


@EACH
def test_parameter_files_exist_for_each_robot(file: Path) -> None:
    for node in _started(file):
        assert node.files
        for call in node.files:
            for robot in ROBOTS:
                kind, name = (eval(ast.unparse(argument), {"robot": robot}) for argument in call.args)
                assert find_resource(kind, name) == ROOT / "config" / f"{robot}.yaml"


@EACH
def test_remappings_name_topics_of_the_node_and_keep_to_the_namespace(file: Path) -> None:
    for node in _started(file):
        topics = _topics(node.program, "publisher") | _topics(node.program, "subscription")
        for old, new in node.remappings.items():
            assert old in topics
            assert not new.startswith(("/", "~"))


@EACH
def test_every_topic_that_a_node_reads_is_published_with_its_type(file: Path) -> None:
    nodes = _started(file)
    published = {topic: kind for node in nodes for topic, kind in node.topics("publisher").items()} | FROM_OUTSIDE
    published |= FROM_BAG if file == REPLAY else {}
    for node in nodes:
        for topic, kind in node.topics("subscription").items():
            assert published[topic] == kind, f"{node.program} reads {topic}"


@EACH
def test_arguments_are_described_and_used(file: Path) -> None:
    tree = _source(file)
    declared: dict[str, str | None] = {}
    for call in _calls(tree, "DeclareLaunchArgument"):
        keywords = {str(keyword.arg): keyword.value for keyword in call.keywords}
        assert len(_text(keywords["description"])) > 10
        default = keywords.get("default_value")
        declared[_text(call.args[0])] = None if default is None else ast.unparse(default).strip("'")
    assert {_text(call.args[0]) for call in _calls(tree, "LaunchConfiguration")} == set(declared)
    if file == COMPUTED_TORQUE:
        assert declared == ARGUMENTS


def test_computed_torque_starts_plant_controller_and_trajectory() -> None:
    assert tuple(node.program for node in _started(COMPUTED_TORQUE)) == PROGRAMS


# --- The robots' settings


def _settings(robot: str) -> dict[str, Any]:
    document = yaml.safe_load((ROOT / "config" / f"{robot}.yaml").read_text(encoding="utf-8"))
    # The one key that matches nodes of any name in any namespace.
    assert list(document) == ["/**"] and list(document["/**"]) == ["ros__parameters"]
    return dict(_flat(document["/**"]["ros__parameters"]))


def _flat(tree: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _model(robot: str, dynamics: Path | None = None) -> RobotModel:
    return RobotModel.from_urdf_file(robot_urdf(robot), dynamics=dynamics)


def test_each_robot_has_settings_and_all_settings_a_robot() -> None:
    settings = {path.stem for path in (ROOT / "config").glob("*.yaml") if not path.name.endswith(".dynamics.yaml")}
    assert settings == set(ROBOTS) == set(robot_names())


@pytest.mark.parametrize("robot", ROBOTS)
def test_settings_are_parameters_of_the_nodes(robot: str) -> None:
    assert set(_settings(robot)) <= {name for program in PROGRAMS for name in _parameters(program)}


@pytest.mark.parametrize("robot", ROBOTS)
def test_settings_are_values_that_the_nodes_take(robot: str) -> None:
    settings = _settings(robot)
    for program in PROGRAMS:
        for name, parameter in _parameters(program).items():
            if name in settings:
                assert list(parameter.check(settings[name])) == settings[name]


@pytest.mark.parametrize("robot", ROBOTS)
def test_settings_are_finite_numbers_one_for_each_joint(robot: str) -> None:
    n = _model(robot).n
    for name, value in _settings(robot).items():
        assert isinstance(value, list), name
        assert len(value) == n or (name.startswith("gains.") and len(value) == 1), name
        # rclpy takes no list of integers and floats.
        assert all(isinstance(item, float) and np.isfinite(item) for item in value), name


@pytest.mark.parametrize("robot", ROBOTS)
def test_initial_positions_are_inside_the_limits(robot: str) -> None:
    model = _model(robot)
    position = np.array(_settings(robot)["initial_positions"])
    assert np.all(model.position_lower < position) and np.all(position < model.position_upper)


@pytest.mark.parametrize("robot", ROBOTS)
def test_sine_is_inside_the_limits(robot: str) -> None:
    model, settings = _model(robot), _settings(robot)
    center, amplitude = np.array(settings["trajectory.center"]), np.abs(settings["trajectory.amplitude"])
    assert np.all(model.position_lower < center - amplitude) and np.all(center + amplitude < model.position_upper)
    assert np.all(amplitude > 0.0), "a joint that stays where it is shows nothing"


@pytest.mark.parametrize("robot", ROBOTS)
def test_trajectory_asks_for_no_more_than_the_robot_can_do(robot: str) -> None:
    """All the way, from initial_positions over center to the end of the sine, and with the shipped friction."""
    settings = _settings(robot)
    for dynamics in {None, robot_dynamics_file(robot)}:
        model = _model(robot, dynamics)
        motion = quintic_then_sine(
            model.joint_names,
            settings["initial_positions"],
            settings["trajectory.center"],
            settings["trajectory.amplitude"],
            settings["trajectory.frequency"],
            _parameters("trajectory_node")["trajectory.move_time"].default,
            _parameters("trajectory_node")["trajectory.total_time"].default,
            rate=100.0,
        )
        q, qd, qdd = motion.positions, motion.velocities, motion.accelerations
        assert qd is not None and qdd is not None
        states = zip(q, qd, qdd, strict=True)
        effort = np.array([model.inverse_dynamics(*state) + model.friction_torque(*state[:2]) for state in states])
        assert np.all(model.position_lower < q) and np.all(q < model.position_upper)
        assert np.all(np.abs(qd).max(axis=0) < model.velocity_limits)
        # A feedback law needs something left over.
        assert np.all(np.abs(effort).max(axis=0) < 0.95 * model.effort_limits)


# --- The launch files in launch_ros


@pytest.fixture
def launch_ros() -> Any:
    """launch_ros.actions, or skip. Not `launch`: a folder of that name on the path passes for it."""
    return pytest.importorskip("launch_ros.actions", reason="launch_ros comes with a ROS 2 installation only")


def _visit(**arguments: str) -> tuple[Any, list[Any]]:
    """Context and nodes, as `ros2 launch` makes them from its command line, short of starting processes."""
    from launch import LaunchContext
    from launch.launch_description_sources import get_launch_description_from_python_launch_file
    from launch_ros.actions import Node

    context = LaunchContext()
    context.launch_configurations.update(arguments)
    entities = get_launch_description_from_python_launch_file(str(COMPUTED_TORQUE)).entities
    made = [found for entity in entities for found in entity.visit(context) or ()]
    assert all(isinstance(node, Node) for node in made)
    return context, made


def _evaluated(node: Any, context: Any) -> tuple[list[str], dict[str, Any]]:
    """A node's command line, and the parameters that its files hold, later ones winning."""
    from launch.utilities import perform_substitutions

    node._perform_substitutions(context)
    context.extend_locals({"ros_specific_arguments": {"ns": f"__ns:={node.expanded_node_namespace}"}})
    command = [perform_substitutions(context, part) for part in node.cmd]
    parameters: dict[str, Any] = {}
    for flag, path in zip(command, command[1:], strict=False):
        if flag == "--params-file":
            (rules,) = yaml.safe_load(Path(path).read_text(encoding="utf-8")).values()
            parameters |= _flat(rules["ros__parameters"])
    return command, parameters


def _program_of(command: list[str]) -> str:
    name = command[2] if command[1] == "-m" else command[0]
    return name.rpartition(".")[2].rpartition("/")[2]


def test_loads_with_described_arguments(launch_ros: Any) -> None:
    from launch.launch_description_sources import get_launch_description_from_python_launch_file
    from launch.utilities import perform_substitutions

    context, _ = _visit()
    description = get_launch_description_from_python_launch_file(str(COMPUTED_TORQUE))
    arguments = {argument.name: argument for argument in description.get_launch_arguments()}
    assert {
        name: perform_substitutions(context, argument.default_value) for name, argument in arguments.items()
    } == ARGUMENTS
    assert set(arguments["robot"].choices) == set(ROBOTS)
    assert set(arguments["law"].choices) == set(LAWS)


@pytest.mark.parametrize("namespace", ["", "lab/arm"])
@pytest.mark.parametrize("robot", ROBOTS)
def test_nodes_get_the_robot(launch_ros: Any, robot: str, namespace: str) -> None:
    context, nodes = _visit(robot=robot, namespace=namespace, law="pd", rate="250")
    file = robot_dynamics_file(robot)
    robots = {
        "robot_description": robot_urdf(robot).read_text(encoding="utf-8"),
        "dynamics_file": "" if file is None else str(file),
    }
    own: dict[str, dict[str, Any]] = {
        "simulation_node": robots | {"publish_rate": 250},
        "computed_torque_node": robots | {"law": "pd", "state_timeout": 1.0},
        "trajectory_node": {},
    }
    started = []
    for node in nodes:
        command, parameters = _evaluated(node, context)
        started.append(_program_of(command))
        assert parameters == _settings(robot) | own[started[-1]]
        assert node.expanded_node_namespace == "/" + namespace
        assert node.condition is None or node.condition.evaluate(context)
    assert tuple(started) == PROGRAMS
    assert nodes[2].expanded_remapping_rules == [("joint_trajectory", "computed_torque_node/joint_trajectory")]


def test_namespace_of_an_including_launch_file(launch_ros: Any) -> None:
    context, nodes = _visit(ros_namespace="lab", namespace="arm")
    for node in nodes:
        _evaluated(node, context)
        assert node.expanded_node_namespace == "/lab/arm"


@pytest.mark.parametrize(("given", "expected"), [("none", ""), ("my.yaml", str(Path("my.yaml").absolute()))])
def test_dynamics_file(launch_ros: Any, given: str, expected: str) -> None:
    context, nodes = _visit(dynamics_file=given)
    assert [_evaluated(node, context)[1].get("dynamics_file") for node in nodes] == [expected, expected, None]


def test_without_trajectory(launch_ros: Any) -> None:
    context, (_, _, trajectory) = _visit(use_trajectory="false")
    assert not trajectory.condition.evaluate(context)


def test_a_law_that_follows_no_trajectory(launch_ros: Any) -> None:
    with pytest.raises(RobotDynamicsError, match="gravity_compensation.*use_trajectory:=false"):
        _visit(law="gravity_compensation")
    context, nodes = _visit(law="gravity_compensation", use_trajectory="false")
    assert _evaluated(nodes[1], context)[1]["law"] == "gravity_compensation"


@pytest.mark.parametrize(
    ("argument", "value", "valid"),
    [("robot", "pandaa", "panda"), ("law", "pid", "pd"), ("use_trajectory", "x", "true")],
)
def test_unknown_value_is_named_beside_the_valid_ones(launch_ros: Any, argument: str, value: str, valid: str) -> None:
    with pytest.raises(RuntimeError, match=f'"{argument}".*"{value}".*{valid!r}'):
        _visit(**{argument: value})
