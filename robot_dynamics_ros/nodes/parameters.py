"""Parameters of a node: declaration with a full descriptor, and present values.

They are typed dynamically, because rclpy refuses `5` for a double and gives `[]` no type; `kinds` checks each value,
elements of lists included, when it is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.parameters.file import file_parameters, misspelt
from robot_dynamics_ros.parameters.kinds import (
    Flag,
    Names,
    Number,
    Numbers,
    Parameter,
    Text,
    Values,
    When,
    WholeNumber,
)

_WHEN: dict[When, str] = {
    "start": "Read once, when the process starts",
    "configure": "Takes effect when the node is configured",
    "run": "May be changed while the node runs",
}


def check_changes(
    parameters: Iterable[Parameter[Any]], present: Values, changes: Sequence[RosParameter[Any]], too_late: str
) -> Values:
    """Return the values after ``changes``; RobotDynamicsError names a parameter that cannot be so.

    ``too_late``: reason why parameters that are read on configuration cannot change now, and the cure; empty if they
    can.
    """
    values = with_changes(present, changes)
    changed = {change.name for change in changes}
    for parameter in parameters:
        if parameter.name in changed:
            parameter.read(values)
            if too_late and parameter.when == "configure":
                raise RobotDynamicsError(f"parameter {parameter.name}: {too_late}")
    return values


def declare(node: Node, *parameters: Parameter[Any]) -> None:
    """Declare parameters; a bad value in a parameter file stays, and is refused when it is read."""
    for parameter in parameters:
        descriptor = _descriptor(parameter)
        try:
            node.declare_parameter(parameter.name, parameter.default, descriptor)
        except InvalidParameterValueException:
            # rclpy refuses doubles outside of a range; the node shall start, name the parameter and wait.
            descriptor.floating_point_range, descriptor.integer_range = [], []
            node.declare_parameter(parameter.name, parameter.default, descriptor)
        # rclpy takes an empty list for a list of bytes, or for an unset parameter.
        if isinstance(parameter, Numbers | Names) and node.get_parameter(parameter.name).value in (None, []):
            kind = RosParameter.Type.DOUBLE_ARRAY if isinstance(parameter, Numbers) else RosParameter.Type.STRING_ARRAY
            node.set_parameters([RosParameter(parameter.name, kind, [])])


def warn_of_unknown(node: Node, arguments: Sequence[str]) -> None:
    """Log each misspelt parameter of a command line and its files, with the similar known one."""
    names: set[str] = set()
    for option, value in pairwise(arguments):
        if option == "--params-file":
            with suppress(RobotDynamicsError):  # nothing for this node
                names.update(file_parameters(value, node.get_fully_qualified_name()))
        elif option in ("-p", "--param"):
            names.add(value.partition(":=")[0].rpartition(":")[2])
    known = [name for name in node.get_parameters_by_prefix("") if not name.startswith("qos_overrides.")]
    for message in misspelt(names, known):
        node.get_logger().warning(message)


def _descriptor(parameter: Parameter[Any]) -> ParameterDescriptor:
    """Return the content of `ros2 param describe`; in words what type and range do not express."""
    descriptor = ParameterDescriptor(
        name=parameter.name,
        description=f"{parameter.description}. {_WHEN[parameter.when]}.",
        read_only=parameter.when == "start",
        dynamic_typing=True,
    )
    complete = isinstance(parameter, Flag | Names) or (isinstance(parameter, Text) and not parameter.choices)
    if isinstance(parameter, WholeNumber):
        descriptor.integer_range = [IntegerRange(from_value=parameter.least, to_value=parameter.most)]
        complete = True
    elif isinstance(parameter, Number) and parameter.within.is_range:
        within = parameter.within
        least = min(within.least, 0.0) if within.or_zero else within.least
        descriptor.floating_point_range = [FloatingPointRange(from_value=least, to_value=within.most)]
        complete = within.is_only_a_range
    if not complete:
        descriptor.additional_constraints = parameter.allowed()
    return descriptor


def present_values(node: Node) -> Values:
    """Return the node's values; None for a deleted parameter."""
    return lambda name: node.get_parameter_or(name).value


def with_changes(values: Values, changes: Iterable[RosParameter[Any]]) -> Values:
    """Return ``values`` as they will be after ``changes``, for a set-parameters callback.

    Raises RobotDynamicsError for a change that deletes a parameter: rclpy would not allow to set it again.
    """
    changed = {change.name: change.value for change in changes}
    for name, value in changed.items():
        if value is None:
            raise RobotDynamicsError(f"parameter {name}: it cannot be deleted. Cure: set it to its default")
    return lambda name: changed[name] if name in changed else values(name)
