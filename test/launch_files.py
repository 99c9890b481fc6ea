"""What a launch file starts, as `ros2 launch` makes it from the command line, short of starting it.

By launch and launch_ros where they are installed, by launch_stand_ins where they are not.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import launch_stand_ins
import yaml

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "robot_dynamics_ros"
FILES = sorted((ROOT / "launch").glob("*.launch.py"))
#: `find_spec("launch")` would find the folder of this package.
HAS_LAUNCH = find_spec("launch_ros") is not None

if not HAS_LAUNCH:
    launch_stand_ins.install()


@dataclass
class Started:
    """A node that a launch file starts; ``given`` are the parameters that do not come from a file of the package."""

    package: str
    program: str
    namespace: str
    arguments: list[str]
    remappings: dict[str, str]
    files: list[str]
    given: dict[str, Any]
    parameters: dict[str, Any]
    ends: bool  # something happens when it ends


@dataclass
class Launched:
    """All that a launch file starts: nodes, other processes by their command lines, and what it says."""

    nodes: list[Started] = field(default_factory=list)
    processes: dict[str, list[str]] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)

    def node(self, program: str) -> Started:
        (found,) = [node for node in self.nodes if node.program == program]
        return found

    @property
    def programs(self) -> list[str]:
        return [node.program for node in self.nodes]


def launched(name: str, /, **arguments: str) -> Launched:
    """What launch/<name>.launch.py starts with these arguments."""
    context = _context(arguments)
    found = Launched()
    for entity in _visited(_load(ROOT / "launch" / f"{name}.launch.py"), context):
        _add(found, entity, context)
    return found


def arguments_of(file: Path) -> dict[str, tuple[str | None, list[str] | None, str]]:
    """The arguments of a launch file: default (None: required), choices, description."""
    description = _load(file)
    context = _context({})
    declared = [entity for entity in description.entities if type(entity).__name__ == "DeclareLaunchArgument"]
    # launch adds the choices to the description.
    return {
        one.name: (_default(one, context), one.choices, one.description.partition(" Valid choices are")[0])
        for one in declared
    }


def flat(tree: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Nested parameters by their full names."""
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _context(arguments: dict[str, str]) -> Any:
    from launch import LaunchContext

    context = LaunchContext()
    context.launch_configurations.update(arguments)
    return context


def _load(file: Path) -> Any:
    if not HAS_LAUNCH:
        return launch_stand_ins.load(str(file))
    from launch.launch_description_sources import get_launch_description_from_python_launch_file

    return get_launch_description_from_python_launch_file(str(file))


def _default(argument: Any, context: Any) -> str | None:
    if not HAS_LAUNCH or argument.default_value is None:
        return argument.default_value
    from launch.utilities import perform_substitutions

    return perform_substitutions(context, argument.default_value)


def _visited(entity: Any, context: Any) -> Iterator[Any]:
    """Every process and message of it, in the order of starting."""
    from launch.actions import ExecuteProcess, LogInfo, RegisterEventHandler, TimerAction

    if isinstance(entity, (RegisterEventHandler, TimerAction)):
        return
    if isinstance(entity, (ExecuteProcess, LogInfo)):
        yield entity
        return
    for found in entity.visit(context) or ():
        yield from _visited(found, context)


def _add(found: Launched, entity: Any, context: Any) -> None:
    from launch.actions import LogInfo
    from launch_ros.actions import Node

    condition = entity.condition if HAS_LAUNCH else entity.given.get("condition")
    if condition is not None and not condition.evaluate(context):
        return
    if isinstance(entity, Node):
        found.nodes.append(_node(entity, context) if HAS_LAUNCH else _stand_in_node(entity, context))
    elif isinstance(entity, LogInfo):
        found.said.append(_text(entity.msg, context) if HAS_LAUNCH else entity.given["msg"])
    else:
        line = entity.cmd if HAS_LAUNCH else entity.given["cmd"]
        name = "player" if any("play" in _text(part, context) for part in line) else "recorder"
        found.processes[name] = [_text(part, context) for part in line]


def _text(value: Any, context: Any) -> str:
    if not HAS_LAUNCH:
        return launch_stand_ins.text(value, context)
    from launch.utilities import normalize_to_list_of_substitutions, perform_substitutions

    return perform_substitutions(context, normalize_to_list_of_substitutions(value))


def _node(node: Any, context: Any) -> Started:
    node._perform_substitutions(context)
    names = {"ns": f"__ns:={node.expanded_node_namespace}", "name": f"__node:={node.node_name}"}
    context.extend_locals({"ros_specific_arguments": names})
    line = [_text(part, context) for part in node.cmd]
    arguments = line[1 : line.index("--ros-args")] if "--ros-args" in line else line[1:]
    paths = [path for flag, path in zip(line, line[1:], strict=False) if flag == "--params-file"]
    sources: list[str | dict[str, Any]] = []
    for path in paths:
        temporary = Path(path).name.startswith("launch_params_")
        sources.append(_rules(path) if temporary else path)
    return _started(
        "" if node.node_package is None else _text(node.node_package, context),
        line[0],
        arguments,
        node.expanded_node_namespace,
        dict(node.expanded_remapping_rules or ()),
        sources,
        bool(node._ExecuteLocal__on_exit),
    )


def _stand_in_node(node: Any, context: Any) -> Started:
    given = node.given
    base = context.launch_configurations.get("ros_namespace")
    namespace = launch_stand_ins.prefix_namespace(base, _text(given.get("namespace", ""), context)) or ""
    sources = [
        source if isinstance(source, str) else {name: _value(value, context) for name, value in source.items()}
        for source in given.get("parameters", [])
    ]
    return _started(
        given.get("package", ""),
        given["executable"],
        [_text(part, context) for part in given.get("arguments", [])],
        str(launch_stand_ins.make_namespace_absolute(namespace)),
        {_text(old, context): _text(new, context) for old, new in given.get("remappings", [])},
        sources,
        given.get("on_exit") is not None,
    )


def _value(value: Any, context: Any) -> Any:
    if isinstance(value, launch_stand_ins.ParameterValue):
        return value.value_type(value.value)
    if isinstance(value, (str, launch_stand_ins.LaunchConfiguration)):
        return yaml.safe_load(_text(value, context))
    return value


def _started(
    package: str,
    executable: str,
    arguments: list[str],
    namespace: str,
    remappings: dict[str, str],
    sources: list[str | dict[str, Any]],
    ends: bool,
) -> Started:
    if executable == sys.executable:
        assert arguments[0] == "-m"
        package, program = arguments[1].removesuffix(".executables"), arguments[2]
        arguments = arguments[3:]
    else:
        program = Path(executable).name
    files = [source for source in sources if isinstance(source, str)]
    given: dict[str, Any] = {}
    parameters: dict[str, Any] = {}
    for source in sources:
        rules = _rules(source) if isinstance(source, str) else source
        parameters |= rules
        given |= {} if isinstance(source, str) else rules
    return Started(package, program, namespace, arguments, remappings, files, given, parameters, ends)


@cache
def _rules(path: str) -> dict[str, Any]:
    # launch_ros writes lists as tuples, with a tag that rcl does not mind.
    (rules,) = yaml.load(Path(path).read_text(encoding="utf-8"), yaml.FullLoader).values()
    values = dict(flat(rules["ros__parameters"]))
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
