"""Processes that a launch file starts with given arguments, without starting them.

PyPI has no launch and launch_ros, so that stand-ins record the arguments of their classes here. Where the real packages
are installed, test/launch/test_launch_runs.py starts the launch files.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import yaml

from robot_dynamics_ros.base.resources import NODE_PROGRAM

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "robot_dynamics_ros"
FILES = sorted((ROOT / "launch").glob("*.launch.py"))
#: `find_spec("launch")` would find the folder of this package.
HAS_LAUNCH = find_spec("launch_ros") is not None


@dataclass
class Started:
    """Node that a launch file starts; ``given`` are the parameters that are not in a file of the package."""

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
    """Result of a launch file: nodes, command lines of other processes, and log messages."""

    nodes: list[Started] = field(default_factory=list)
    processes: list[list[str]] = field(default_factory=list)
    reported: list[str] = field(default_factory=list)

    def node(self, program: str) -> Started:
        (found,) = [node for node in self.nodes if node.program == program]
        return found

    @property
    def programs(self) -> list[str]:
        return [node.program for node in self.nodes]


def launched(name: str, /, **arguments: str) -> Launched:
    """Return the result of launch/<name>.launch.py with these arguments."""
    context = LaunchContext(dict(arguments))
    found = Launched()
    _visit(_load(ROOT / "launch" / f"{name}.launch.py"), context, found)
    return found


def arguments_of(file: Path) -> dict[str, tuple[str | None, list[str] | None, str]]:
    """Return the arguments of a launch file: default (None: required), choices, description."""
    declared = [
        entity
        for entity in _load(file).about
        if isinstance(entity, DeclareLaunchArgument)
    ]
    keys = ("default_value", "choices", "description")
    return {one.about: tuple(one.given.get(key) for key in keys) for one in declared}  # type: ignore[misc]


def flat(tree: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Return nested parameters by their full names."""
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


# --- Stand-ins


@dataclass
class LaunchContext:
    launch_configurations: dict[str, str]
    is_shutdown: bool = False


@dataclass
class LaunchConfiguration:
    name: str

    def perform(self, context: LaunchContext) -> str:
        return context.launch_configurations[self.name]


class Given:
    """Stand-in that stores its positional argument, and the others by name."""

    def __init__(self, about: Any = None, **given: Any) -> None:
        self.about = about
        self.given = given


class LaunchDescription(Given): ...


class DeclareLaunchArgument(Given): ...


class OpaqueFunction(Given): ...


class GroupAction(Given): ...


class IncludeLaunchDescription(Given): ...


class LogInfo(Given): ...


class ExecuteProcess(Given): ...


class Node(ExecuteProcess): ...


def _prefix_namespace(base: str | None, name: str) -> str:
    """Return a name with namespace as launch_ros does: an absolute name is unchanged."""
    return (
        name
        if not base or name.startswith("/")
        else f"{base.rstrip('/')}/{name}".rstrip("/")
    )


def _make_namespace_absolute(name: str) -> str:
    return name if name.startswith("/") else f"/{name}"


_ACTIONS = (
    DeclareLaunchArgument,
    ExecuteProcess,
    GroupAction,
    IncludeLaunchDescription,
    LogInfo,
    OpaqueFunction,
)
_STAND_INS: dict[str, dict[str, Any]] = {
    "launch": {"LaunchContext": LaunchContext, "LaunchDescription": LaunchDescription},
    "launch.actions": {kind.__name__: kind for kind in _ACTIONS}
    | dict.fromkeys(("RegisterEventHandler", "Shutdown", "TimerAction"), Given),
    "launch.conditions": {"IfCondition": Given},
    "launch.event_handlers": {"OnProcessExit": Given},
    "launch.launch_description_sources": {"PythonLaunchDescriptionSource": str},
    "launch.substitutions": {"LaunchConfiguration": LaunchConfiguration},
    "launch_ros": {},
    "launch_ros.actions": {"LifecycleNode": Node, "Node": Node},
    "launch_ros.event_handlers": {"OnStateTransition": Given},
    "launch_ros.parameter_descriptions": {
        "ParameterValue": lambda value, value_type: SimpleNamespace(
            typed=value_type(value)
        )
    },
    "launch_ros.utilities": {
        "make_namespace_absolute": _make_namespace_absolute,
        "prefix_namespace": _prefix_namespace,
    },
}
for _name, _contents in _STAND_INS.items():
    sys.modules[_name] = ModuleType(_name)
    vars(sys.modules[_name]).update(_contents)


def _load(file: Path) -> Any:
    return runpy.run_path(str(file))["generate_launch_description"]()


def _visit(entity: Any, context: LaunchContext, found: Launched) -> None:
    """Visit an entity in the order of starting, without event handlers."""
    values = context.launch_configurations
    given = entity.given
    if (
        "condition" in given
        and _text(given["condition"].about, context).lower() != "true"
    ):
        return
    if isinstance(entity, LaunchDescription):
        for part in entity.about:
            _visit(part, context, found)
    elif isinstance(entity, DeclareLaunchArgument):
        value = values.setdefault(entity.about, given.get("default_value"))
        if value is None or value not in (given.get("choices") or [value]):
            raise ValueError(f"{entity.about}:={value}")
    elif isinstance(entity, OpaqueFunction):
        for part in given["function"](context, *given.get("args", ())):
            _visit(part, context, found)
    elif isinstance(entity, GroupAction):
        for part in entity.about:
            _visit(part, LaunchContext(dict(values)), found)
    elif isinstance(entity, IncludeLaunchDescription):
        values |= {
            name: _text(value, context) for name, value in given["launch_arguments"]
        }
        _visit(_load(entity.about), context, found)
    elif isinstance(entity, Node):
        found.nodes.append(_node(given, context))
    elif isinstance(entity, LogInfo):
        found.reported.append(given["msg"])
    elif isinstance(entity, ExecuteProcess):
        found.processes.append([_text(part, context) for part in given["cmd"]])


def _text(value: Any, context: LaunchContext) -> str:
    return (
        value.perform(context) if isinstance(value, LaunchConfiguration) else str(value)
    )


def _node(given: dict[str, Any], context: LaunchContext) -> Started:
    package = given.get("package", "")
    program = given["executable"]
    arguments = [_text(part, context) for part in given.get("arguments", [])]
    if program == sys.executable:
        path, program, *arguments = arguments
        assert path == NODE_PROGRAM
        package = "robot_dynamics_ros"
    base = context.launch_configurations.get("ros_namespace")
    sources = given.get("parameters", [])
    typed = {
        k: _value(v, context)
        for source in sources
        if isinstance(source, dict)
        for k, v in source.items()
    }
    parameters: dict[str, Any] = {}
    for source in sources:
        parameters |= (
            {name: typed[name] for name in source}
            if isinstance(source, dict)
            else _rules(source)
        )
    return Started(
        package,
        program,
        _make_namespace_absolute(
            _prefix_namespace(base, _text(given.get("namespace", ""), context))
        ),
        arguments,
        {
            _text(old, context): _text(new, context)
            for old, new in given.get("remappings", [])
        },
        [source for source in sources if isinstance(source, str)],
        typed,
        parameters,
        given.get("on_exit") is not None,
    )


def _value(value: Any, context: LaunchContext) -> Any:
    """Return an untyped parameter as launch_ros reads it: as YAML."""
    if isinstance(value, SimpleNamespace):
        return value.typed
    return (
        yaml.safe_load(_text(value, context))
        if isinstance(value, (str, LaunchConfiguration))
        else value
    )


def _rules(path: str) -> dict[str, Any]:
    (rules,) = yaml.safe_load(Path(path).read_text(encoding="utf-8")).values()
    return dict(flat(rules["ros__parameters"]))
