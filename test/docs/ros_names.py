"""What a ROS user can name: executables, launch files and their arguments, parameters, topics and services."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from node_interfaces import SUBSCRIBING

from robot_dynamics_ros.messages.hand_target import TARGETS
from robot_dynamics_ros.parameters import controller, simulation, trajectory
from robot_dynamics_ros.parameters.kinds import Parameter

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "robot_dynamics_ros"

#: What rclpy itself declares.
OF_EVERY_NODE = {"use_sim_time"}
PARAMETERS: dict[str, dict[str, Parameter[Any]]] = {
    node: {parameter.name: parameter for parameter in declared}
    for node, declared in (
        ("computed_torque_node", controller.ALL),
        ("simulation_node", simulation.ALL),
        ("trajectory_node", trajectory.ALL),
    )
}
_KINDS = {
    "create_publisher": "out",
    "create_lifecycle_publisher": "out",
    **dict.fromkeys(SUBSCRIBING, "in"),
    "create_service": "service",
    "ActionServer": "action",
}


class Interface(NamedTuple):
    """A topic, service or action of a node, with the name of its type without package."""

    node: str
    kind: str
    name: str
    type: str


def interfaces() -> set[Interface]:
    """Those of the three nodes, from their sources; the hand's targets, which are made in a loop, from their table."""
    hand = {
        Interface("computed_torque_node", "in", f"~/{name}", kind.rpartition("/")[2]) for name, kind in TARGETS.items()
    }
    return hand | {found for node in PARAMETERS for module in _modules(node) for found in _interfaces(node, module)}


def launch_arguments(file: str) -> set[str]:
    """The names that a launch file declares, by itself or by functions of robot_dynamics_ros/launching."""
    shared = {
        function.name: function
        for path in (PACKAGE / "launching").glob("*.py")
        for function in ast.walk(_tree(path))
        if isinstance(function, ast.FunctionDef)
    }
    names: set[str] = set()
    left: list[ast.AST] = [_tree(ROOT / "launch" / file)]
    seen: set[str] = set()
    while left:
        for call in _calls(left.pop()):
            function = ast.unparse(call.func)
            if function in ("DeclareLaunchArgument", "flag") and isinstance(call.args[0], ast.Constant):
                names.add(call.args[0].value)
            elif function in shared and function not in seen:
                seen.add(function)
                left.append(shared[function])
    return names


def executables() -> set[str]:
    return set(re.findall(r'f"(\w+) = \{PACKAGE\}', (ROOT / "setup.py").read_text(encoding="utf-8")))


def _modules(node: str) -> Iterator[ast.Module]:
    """The module of a node, and those of nodes/ that it imports."""
    left, seen = [node], set()
    while left:
        name = left.pop()
        path = PACKAGE / "nodes" / f"{name}.py"
        if name in seen or not path.is_file():
            continue
        seen.add(name)
        tree = _tree(path)
        yield tree
        for statement in ast.walk(tree):
            if isinstance(statement, ast.ImportFrom) and str(statement.module).startswith("robot_dynamics_ros.nodes"):
                left += [str(statement.module).rpartition(".")[2], *(alias.name for alias in statement.names)]


def _interfaces(node: str, tree: ast.Module) -> Iterator[Interface]:
    for call in _calls(tree):
        kind = _KINDS.get(ast.unparse(call.func).rpartition(".")[2])
        arguments = call.args[1:] if kind == "action" else call.args
        if kind and len(arguments) > 1 and isinstance(arguments[1], ast.Constant):
            yield Interface(node, kind, str(arguments[1].value), ast.unparse(arguments[0]).rpartition(".")[2])


def _calls(tree: ast.AST) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
