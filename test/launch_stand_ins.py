"""Stand-ins for launch and launch_ros, which no package registry has: what the launch files here need, to be read.

They keep what they are given; nothing is ever started. Where launch_ros is installed nobody uses them.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any


class LaunchContext:
    is_shutdown = False

    def __init__(self) -> None:
        self.launch_configurations: dict[str, str] = {}


class LaunchConfiguration:
    def __init__(self, name: str) -> None:
        self.name = name

    def perform(self, context: LaunchContext) -> str:
        return context.launch_configurations[self.name]


class Entity:
    """Whatever a launch file holds; `visit` returns what to visit next."""

    def __init__(self, **given: Any) -> None:
        self.given = given

    def visit(self, context: LaunchContext) -> Iterable[Any]:
        return ()


class LaunchDescription(Entity):
    def __init__(self, entities: list[Any]) -> None:
        self.entities = entities

    def visit(self, context: LaunchContext) -> Iterable[Any]:
        return self.entities


class DeclareLaunchArgument(Entity):
    def __init__(
        self, name: str, *, description: str, default_value: str | None = None, choices: list[str] | None = None
    ) -> None:
        self.name, self.description, self.default_value, self.choices = name, description, default_value, choices

    def visit(self, context: LaunchContext) -> Iterable[Any]:
        if self.default_value is None and self.name not in context.launch_configurations:
            raise RuntimeError(f"the argument {self.name} is required")
        value = context.launch_configurations.setdefault(self.name, self.default_value or "")
        if self.choices is not None and value not in self.choices:
            raise RuntimeError(f'Argument "{self.name}" has the value "{value}", none of {self.choices}')
        return ()


class OpaqueFunction(Entity):
    def visit(self, context: LaunchContext) -> Iterable[Any]:
        return list(self.given["function"](context, *self.given.get("args", ())))


class GroupAction(Entity):
    def __init__(self, actions: list[Any]) -> None:
        self.actions = actions

    def visit(self, context: LaunchContext) -> Iterable[Any]:
        before = dict(context.launch_configurations)
        return [*self.actions, OpaqueFunction(function=_restore, args=[before])]


def _restore(context: LaunchContext, before: dict[str, str]) -> list[Any]:
    context.launch_configurations = before
    return []


class PythonLaunchDescriptionSource:
    def __init__(self, path: str) -> None:
        self.path = path


class IncludeLaunchDescription(Entity):
    def __init__(self, source: PythonLaunchDescriptionSource, *, launch_arguments: Iterable[tuple[str, Any]]) -> None:
        self.source, self.arguments = source, list(launch_arguments)

    def visit(self, context: LaunchContext) -> Iterable[Any]:
        context.launch_configurations |= {name: text(value, context) for name, value in self.arguments}
        return [load(self.source.path)]


class IfCondition:
    def __init__(self, predicate: LaunchConfiguration) -> None:
        self.predicate = predicate

    def evaluate(self, context: LaunchContext) -> bool:
        return self.predicate.perform(context).lower() == "true"


class ParameterValue:
    def __init__(self, value: Any, *, value_type: type) -> None:
        self.value, self.value_type = value, value_type


class Action(Entity):
    """Keeps one positional argument as what it is about."""

    def __init__(self, about: Any = None, **given: Any) -> None:
        self.about, self.given = about, given


class LogInfo(Action):
    pass


class ExecuteProcess(Action):
    pass


class Node(ExecuteProcess):
    pass


class LifecycleNode(Node):
    pass


class Shutdown(Action):
    pass


class RegisterEventHandler(Action):
    pass


class TimerAction(Action):
    pass


class OnProcessExit(Action):
    pass


class OnStateTransition(Action):
    pass


def prefix_namespace(base: str | None, name: str | None) -> str | None:
    """As launch_ros: an absolute name stays."""
    if name is None:
        return base
    return name if not base or name.startswith("/") else f"{base.rstrip('/')}/{name}".rstrip("/")


def make_namespace_absolute(name: str | None) -> str | None:
    return name if name is None or name.startswith("/") else f"/{name}"


def text(value: Any, context: LaunchContext) -> str:
    """A substitution's value, or the text itself."""
    return value.perform(context) if isinstance(value, LaunchConfiguration) else str(value)


def load(path: str) -> LaunchDescription:
    """What generate_launch_description of a launch file returns."""
    spec = importlib.util.spec_from_file_location(Path(path).name.partition(".")[0], path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    description = module.generate_launch_description()
    assert isinstance(description, LaunchDescription)
    return description


_HERE = {
    "launch": [LaunchContext, LaunchDescription],
    "launch.actions": [
        DeclareLaunchArgument,
        ExecuteProcess,
        GroupAction,
        IncludeLaunchDescription,
        LogInfo,
        OpaqueFunction,
        RegisterEventHandler,
        Shutdown,
        TimerAction,
    ],
    "launch.conditions": [IfCondition],
    "launch.event_handlers": [OnProcessExit],
    "launch.launch_description_sources": [PythonLaunchDescriptionSource],
    "launch.substitutions": [LaunchConfiguration],
    "launch_ros": [],
    "launch_ros.actions": [LifecycleNode, Node],
    "launch_ros.event_handlers": [OnStateTransition],
    "launch_ros.parameter_descriptions": [ParameterValue],
    "launch_ros.utilities": [make_namespace_absolute, prefix_namespace],
}


def install() -> None:
    """Let `import launch` and `import launch_ros` find these."""
    for name, contents in _HERE.items():
        module = ModuleType(name)
        for thing in contents:
            setattr(module, thing.__name__, thing)
        sys.modules[name] = module
