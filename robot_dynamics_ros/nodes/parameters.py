"""Declaring and reading parameters: described, integers taken for doubles, every element checked."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node

from robot_dynamics_ros.errors import RobotDynamicsError

Value = bool | int | float | str | Sequence[float] | Sequence[str]


def declare(node: Node, name: str, default: Value, description: str) -> None:
    """Declare a parameter that is read once, when the node is configured.

    It is typed dynamically, because rclpy refuses `5` for a double and reads `[]` as no type at all.
    """
    node.declare_parameter(name, default, ParameterDescriptor(description=description, dynamic_typing=True))


def read_text(node: Node, name: str) -> str:
    """Return the text of a parameter; RobotDynamicsError names it where it holds something else."""
    value = node.get_parameter(name).value
    if not isinstance(value, str):
        raise RobotDynamicsError(f"parameter {name}: {value!r} is not a text. Cure: put it in quotes")
    return value


def read_flag(node: Node, name: str) -> bool:
    """Return the truth value of a parameter; RobotDynamicsError names it where it holds something else."""
    value = node.get_parameter(name).value
    if not isinstance(value, bool):
        raise RobotDynamicsError(f"parameter {name}: {value!r} is neither true nor false. Cure: correct it")
    return value


def read_number(node: Node, name: str, *, least: float = -math.inf) -> float:
    """Return a finite number of at least ``least``; RobotDynamicsError names the parameter and the cure."""
    return _number(name, node.get_parameter(name).value, least)


def read_rate(node: Node, name: str) -> float:
    """Return a rate (Hz) that a timer can keep; RobotDynamicsError names the parameter and the cure."""
    value = read_number(node, name)
    if not 1e-3 <= value <= 1e5:
        raise RobotDynamicsError(f"parameter {name}: {value} per second. Cure: give a rate from 0.001 to 100000")
    return value


def read_numbers(node: Node, name: str) -> list[float]:
    """Return a list of finite numbers, which may be empty; a single number counts as a list of one."""
    value = node.get_parameter(name).value
    if value is None:
        return []
    if isinstance(value, bool | str) or not hasattr(value, "__len__"):
        return [_number(name, value, -math.inf)]
    return [_number(name, item, -math.inf) for item in value]


def read_names(node: Node, name: str) -> list[str]:
    """Return a list of names, which may be empty."""
    value = node.get_parameter(name).value
    if value is None:
        return []
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise RobotDynamicsError(f"parameter {name}: {value!r} is not a list of names. Cure: correct it")
    return list(value)


def _number(name: str, value: object, least: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise RobotDynamicsError(f"parameter {name}: {value!r} is not a finite number. Cure: correct it")
    if value < least:
        raise RobotDynamicsError(f"parameter {name}: {value!r} is below {least:g}. Cure: correct it")
    return float(value)
