"""Parameters of the nodes, from their declarations, and their topics, from their sources."""

import ast
import importlib
import re
from functools import cache
from pathlib import Path
from typing import Any

from robot_dynamics_ros.base.joint_messages import DriveCommand
from robot_dynamics_ros.base.parameters.kinds import Parameter
from robot_dynamics_ros.recordings.messages.drive_commands import (
    DRIVE_COMMANDS,
    command_topics,
)
from robot_dynamics_ros.runs.inputs import INPUTS, JOINT_STATES

PACKAGE = "robot_dynamics_ros"
#: Topics of commands, whose names are not in calls.
COMMANDS = {
    ("computed_torque_node", "publisher"): command_topics(DriveCommand._fields),
    ("simulation_node", "subscription"): ["effort_commands", DRIVE_COMMANDS],
}
NODES = Path(__file__).resolve().parents[2] / PACKAGE / "ros" / "nodes"


def _calls(tree: ast.AST, *functions: str) -> list[ast.Call]:
    """Yield calls of `f(...)` or `anything.f(...)`."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [
        call for call in calls if ast.unparse(call.func).rpartition(".")[2] in functions
    ]


def _source(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def _text(node: ast.expr) -> str:
    assert isinstance(node, ast.Constant) and isinstance(node.value, str), ast.unparse(
        node
    )
    return node.value


@cache
def parameters(program: str) -> dict[str, Parameter[Any]]:
    """Return the parameters that a node declares, by name."""
    tables = {
        "computed_torque_node": "control.configuration.settings",
        "simulation_node": "simulation.parameters",
        "trajectory_node": "runs.trajectory_parameters",
    }
    table = importlib.import_module(
        f"{PACKAGE}.{tables.get(program, f'ros.nodes.{program}')}"
    )
    return {parameter.name: parameter for parameter in table.ALL}


def _node_name(program: str) -> str:
    (name,) = [
        argument
        for call in _calls(_source(NODES / f"{program}.py"), "__init__")
        for argument in call.args
        if isinstance(argument, ast.Constant)
    ]
    return _text(name)


def _sources(program: str) -> dict[str, ast.Module]:
    """Return the node's module, and the modules of nodes/ that it imports."""
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
                left += [module] if package == f"{PACKAGE}.ros.nodes" else []
                left += (
                    [alias.name for alias in node.names]
                    if node.module == f"{PACKAGE}.ros.nodes"
                    else []
                )
    return found


@cache
def topics(program: str, kind: str) -> dict[str, str]:
    """Return the topics that a node publishes or subscribes to (kind), with their types, in its namespace.

    The fixed ones are from its sources, those of ``COMMANDS``, and the inputs of the controller.
    """
    functions = (f"create_{kind}", f"create_work_{kind}")
    calls = [
        call for tree in _sources(program).values() for call in _calls(tree, *functions)
    ]
    calls = [
        call
        for call in calls
        if len(call.args) > 1 and isinstance(call.args[1], ast.Constant)
    ]
    own = _node_name(program)
    found = {
        re.sub("^~", own, _text(call.args[1])): ast.unparse(call.args[0])
        for call in calls
    }
    if (program, kind) == ("computed_torque_node", "subscription"):
        inputs = (
            (topic if topic == JOINT_STATES else f"{own}/{topic}", of)
            for topic, of in INPUTS.items()
        )
        found |= {topic: of.rpartition("/")[2] for topic, of in inputs}
    return found | dict.fromkeys(COMMANDS.get((program, kind), ()), "Float64MultiArray")
