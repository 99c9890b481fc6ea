"""Parameters of a node: declaration, checks of changes, and warnings of unknown ones.

Parameters are typed dynamically, because rclpy rejects `5` for a double and does not infer a type for `[]`; the
classes of ``base.parameters.kinds`` check each value when it is read.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.parameters.file import (
    file_parameters,
    unknown,
)
from robot_dynamics_ros.base.parameters.kinds import (
    NamedNumbers,
    Names,
    Number,
    Numbers,
    Parameter,
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
    parameters: Iterable[Parameter[Any]],
    present: Values,
    changes: Sequence[RosParameter[Any]],
    too_late: str,
) -> Values:
    """Check requested ``changes`` of a node's ``parameters``; return the lookup of all values after them.

    ``present`` looks up the values before. ``too_late`` is the error text for parameters that are read on
    configuration; empty if they can still be changed. Raises RobotDynamicsError for an invalid value, a deletion and a
    change that is too late.
    """
    changed = {change.name: change.value for change in changes}
    for name, value in changed.items():
        if value is None:  # rclpy cannot set a deleted parameter again
            raise RobotDynamicsError(
                f"parameter {name}: it cannot be deleted. Cure: set it to its default"
            )
    for parameter in parameters:
        if parameter.name in changed:
            parameter.check(changed[parameter.name])
            if too_late and parameter.when == "configure":
                raise RobotDynamicsError(f"parameter {parameter.name}: {too_late}")
    return lambda name: changed[name] if name in changed else present(name)


def declare(node: Node, *parameters: Parameter[Any]) -> None:
    """Declare ``parameters`` of ``node``; an invalid value of a parameter file is kept, and refused by ``read``."""
    for parameter in parameters:
        descriptor = _descriptor(parameter)
        try:
            node.declare_parameter(parameter.name, parameter.default, descriptor)
        except InvalidParameterValueException:
            # rclpy rejects doubles out of range here; the node shall start and report the parameter instead.
            descriptor.floating_point_range = []
            descriptor.integer_range = []
            node.declare_parameter(parameter.name, parameter.default, descriptor)
        # rclpy interprets an empty list as a list of bytes, or as an unset parameter.
        if isinstance(parameter, Numbers | Names | NamedNumbers) and node.get_parameter(
            parameter.name
        ).value in (
            None,
            [],
        ):
            kind = (
                RosParameter.Type.DOUBLE_ARRAY
                if isinstance(parameter, Numbers)
                else RosParameter.Type.STRING_ARRAY
            )
            node.set_parameters([RosParameter(parameter.name, kind, [])])


def _descriptor(parameter: Parameter[Any]) -> ParameterDescriptor:
    """Return the content of `ros2 param describe`, with a range where both bounds are finite."""
    descriptor = ParameterDescriptor(
        name=parameter.name,
        description=f"{parameter.description}. {_WHEN[parameter.when]}.",
        additional_constraints=parameter.allowed(),
        read_only=parameter.when == "start",
        dynamic_typing=True,
    )
    if isinstance(parameter, WholeNumber):
        descriptor.integer_range = [
            IntegerRange(from_value=parameter.least, to_value=parameter.most)
        ]
    elif isinstance(parameter, Number) and math.isfinite(
        parameter.within.least - parameter.within.most
    ):
        least = 0.0 if parameter.within.or_zero else parameter.within.least
        descriptor.floating_point_range = [
            FloatingPointRange(from_value=least, to_value=parameter.within.most)
        ]
    return descriptor


def warn_of_unknown(node: Node, arguments: Sequence[str]) -> None:
    """Log each unknown parameter of the command line ``arguments`` and of the parameter files that they name.

    Of parameters that a file gives to several nodes only those that resemble a known one are logged, with that one.
    """
    names: set[str] = set()
    own: set[str] = set()
    for option, value in pairwise(arguments):
        if option == "--params-file":
            with suppress(RobotDynamicsError):  # no parameters for this node
                given, alone = file_parameters(value, node.get_fully_qualified_name())
                names.update(given)
                own |= alone
        elif option in ("-p", "--param"):
            addressee, _, name = value.partition(":=")[0].rpartition(":")
            if addressee in ("", node.get_name(), node.get_fully_qualified_name()):
                own.add(name)
    known = [
        name
        for name in node.get_parameters_by_prefix("")
        if not name.startswith("qos_overrides.")
    ]
    for message in unknown(names, known, own):
        node.get_logger().warning(message)
