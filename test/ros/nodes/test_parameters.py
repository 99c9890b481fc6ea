"""Parameters in a real node: declaration, accepted values, and errors of other values."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import rclpy
import yaml
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterType, SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter
from rclpy.parameter import get_parameter_value

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.parameters import kinds
from robot_dynamics_ros.base.parameters.file import unknown
from robot_dynamics_ros.base.parameters.kinds import Parameter, Values
from robot_dynamics_ros.control.configuration import settings as controller
from robot_dynamics_ros.ros.nodes import recorder_node
from robot_dynamics_ros.ros.nodes.node_parameters import check_changes, declare
from robot_dynamics_ros.runs import trajectory_parameters as trajectory
from robot_dynamics_ros.simulation import parameters as simulation

NAN = math.nan
INF = math.inf


@pytest.fixture
def make_node(context: rclpy.Context, tmp_path: Path) -> Iterator[Callable[..., Node]]:
    """Return a function make_node(x=...) for a node with this value in its parameter file."""
    nodes: list[Node] = []

    def make(**values: Any) -> Node:
        file = tmp_path / "parameters.yaml"
        file.write_text(
            yaml.safe_dump({"/**": {"ros__parameters": values}}), encoding="utf-8"
        )
        arguments = ["--ros-args", "--params-file", str(file)] if values else None
        nodes.append(rclpy.create_node("settings", context=context, cli_args=arguments))
        return nodes[-1]

    yield make
    for node in nodes:
        node.destroy_node()


def present_values(node: Node) -> Values:
    return lambda name: node.get_parameter_or(name).value


NUMBERS = kinds.Numbers("x", [], "")
MARGIN = kinds.Numbers("x", [0.05], "", kinds.NOT_NEGATIVE_OR_INFINITE)
THREE = kinds.Numbers("x", [], "", how_many="three of them", count=3)
NUMBER = kinds.Number("x", 1.0, "")
SHARE = kinds.Number("x", 0.5, "", kinds.Bounds(0.0, 1.0))
MAYBE_RATE = kinds.Number("x", 0.0, "", kinds.RATE_OR_ZERO)
WHOLE = kinds.WholeNumber("x", 0, "", 0, 99)
TEXT = kinds.Text("x", "", "")
MODE = kinds.Text("x", "hold", "", choices=("hold", "zero"))
FLAG = kinds.Flag("x", True, "")
NAMES = kinds.Names("x", [], "")

GOOD: list[tuple[Parameter[Any], Any, Any]] = [
    (TEXT, "words", "words"),
    (MODE, "zero", "zero"),
    (FLAG, False, False),
    (NUMBER, -2.5, -2.5),
    (SHARE, 1, 1.0),
    (MAYBE_RATE, 0, 0.0),
    (WHOLE, 99, 99),
    (NUMBERS, [1, 2], (1.0, 2.0)),
    (NUMBERS, 3, (3.0,)),
    (NUMBERS, [], ()),
    (MARGIN, [INF, 0.0], (INF, 0.0)),
    (THREE, [0, 0, -10], (0.0, 0.0, -10.0)),
    (THREE, [], ()),
    (NAMES, ["a", "b"], ("a", "b")),
    (NAMES, [""], ()),
]
# With what the message quotes of the value.
BAD: list[tuple[Parameter[Any], Any, str]] = [
    (TEXT, 5, "5"),
    (MODE, "panic", "panic"),
    (MODE, True, "True"),
    (FLAG, "true", "true"),
    (NUMBER, True, "True"),
    (NUMBER, NAN, "nan"),
    (SHARE, 2, "2"),
    (MAYBE_RATE, 1e-300, "1e-300"),
    (WHOLE, 100, "100"),
    (WHOLE, 5.0, "5.0"),
    (NUMBERS, "1 2", "1 2"),
    (NUMBERS, [1.0, NAN], "nan (number 2 of 2)"),
    (NUMBERS, [True, False], "True (number 1 of 2)"),
    (NUMBERS, False, "False"),
    (MARGIN, [], "[]"),
    (THREE, [1.0, 2.0], "[1.0, 2.0]"),
    (NAMES, "a", "a"),
    (NAMES, [1, 2], "[1, 2]"),
]


@pytest.mark.parametrize(("parameter", "value", "expected"), GOOD)
def test_allowed_values_are_read_as_their_type(
    parameter: Parameter[Any], value: Any, expected: Any, make_node: Callable[..., Node]
) -> None:
    """Values from a parameter file, and set later."""
    node = make_node(x=value)
    other = make_node()
    declare(node, parameter)
    found = parameter.read(present_values(node))
    assert found == expected and type(found) is type(expected)
    declare(other, parameter)
    assert other.set_parameters([RosParameter("x", value=value)])[0].successful
    assert parameter.read(present_values(other)) == expected


@pytest.mark.parametrize(("parameter", "value", "culprit"), BAD)
def test_a_bad_value_is_refused_and_the_old_one_stays(
    parameter: Parameter[Any], value: Any, culprit: str, make_node: Callable[..., Node]
) -> None:
    """Values of a file are refused when read; changes by rclpy or by the node's callback."""
    node = make_node(x=value)
    other = make_node()
    declare(node, parameter)
    with pytest.raises(
        RobotDynamicsError, match=f"parameter x: .*{re.escape(culprit)}"
    ):
        parameter.read(present_values(node))
    assert node.set_parameters([RosParameter("x", value=parameter.default)])[
        0
    ].successful
    declare(other, parameter)

    def check(changes: list[RosParameter[Any]]) -> SetParametersResult:
        try:
            check_changes([parameter], present_values(other), changes, "")
        except RobotDynamicsError as problem:
            return SetParametersResult(successful=False, reason=str(problem))
        return SetParametersResult(successful=True)

    other.add_on_set_parameters_callback(check)
    (result,) = other.set_parameters([RosParameter("x", value=value)])
    assert not result.successful and "arameter x" in result.reason
    for one in (node, other):
        assert parameter.read(present_values(one)) == parameter.check(parameter.default)


TABLES: list[Any] = [controller, simulation, trajectory, recorder_node]


@pytest.mark.parametrize("module", TABLES)
def test_tables_are_complete_with_defaults_that_a_node_reads_back(
    module: Any, make_node: Callable[..., Node]
) -> None:
    node = make_node()
    own = [value for value in vars(module).values() if isinstance(value, Parameter)]
    assert own or module is controller  # whose parameters are those of CLASSES
    assert {id(parameter) for parameter in own} <= {
        id(parameter) for parameter in module.ALL
    }
    assert len({parameter.name for parameter in module.ALL}) == len(module.ALL)
    declare(node, *module.ALL)
    values = present_values(node)
    for parameter in module.ALL:
        assert parameter.read(values) == parameter.check(parameter.default), (
            parameter.name
        )


def test_all_settings_classes_declare_parameters_of_the_controller() -> None:
    assert set(controller.Settings.__subclasses__()) == set(controller.CLASSES)


def test_nodes_share_a_file_without_names_taken_for_misspelt_ones() -> None:
    tables = [[parameter.name for parameter in module.ALL] for module in TABLES]
    for known, other in itertools.permutations(tables, 2):
        assert not unknown(other, known)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("kp", "gains.kp"),
        ("Law", "law"),
        ("Gains.KP", "gains.kp"),
        ("locked.finger_left", "[finger_joint=0.02]"),
        ("Locked.finger_left", "locked is no table"),
    ],
)
def test_a_name_that_can_only_be_meant_for_this_node_is_named(
    name: str, meant: str
) -> None:
    """A prefix left out, capitals, and a table in place of a list, also in a file for all nodes."""
    known = [parameter.name for parameter in controller.ALL]
    (message,) = unknown([name], known)
    assert name in message and meant in message


def _typed(text: str) -> RosParameter[Any]:
    """Return the value that `ros2 param set <node> x` sends for this text."""
    return RosParameter.from_parameter_msg(
        ParameterMessage(name="x", value=get_parameter_value(text))
    )


def test_values_as_typed_in_a_shell(make_node: Callable[..., Node]) -> None:
    for parameter, text, expected in (
        (NUMBER, "5", 5.0),
        (MARGIN, ".inf", (INF,)),
        (NUMBERS, "[]", ()),
        (NUMBERS, "[1, 2]", (1.0, 2.0)),
        (NAMES, "[a, b]", ("a", "b")),
        (
            kinds.Text("x", "clamp", "x", choices=("clamp", "off"), when="run"),
            "off",
            "off",
        ),
    ):
        node = make_node()
        declare(node, parameter)
        assert node.set_parameters([_typed(text)])[0].successful
        assert parameter.read(present_values(node)) == expected


def test_a_list_that_mixes_integers_and_doubles_is_explained() -> None:
    with pytest.raises(RobotDynamicsError, match=r"parameter x: .*\[1\.0, 2\.5\]"):
        NUMBERS.check(_typed("[1, 2.5]").value)


def test_descriptors_show_ranges_choices_and_what_is_read_only(
    make_node: Callable[..., Node],
) -> None:
    node = make_node()
    table: list[Parameter[Any]] = [
        kinds.WholeNumber("priority", 0, "Priority", 0, 99, when="start"),
        kinds.Number("rate", 0.0, "Commands (Hz)", kinds.RATE_OR_ZERO),
        kinds.Text("law", "pd", "Law", when="run", choices=("pd", "computed_torque")),
        kinds.Numbers("gains.kp", [], "Gain", kinds.POSITIVE, when="run"),
        kinds.Names("joints", [], "Joints"),
    ]
    declare(node, *table)
    priority, rate, law, kp, joints = (
        node.describe_parameter(parameter.name) for parameter in table
    )
    assert [shown.read_only for shown in (priority, rate, law)] == [True, False, False]
    assert (
        priority.integer_range[0].from_value,
        priority.integer_range[0].to_value,
    ) == (0, 99)
    assert (
        rate.floating_point_range[0].from_value,
        rate.floating_point_range[0].to_value,
    ) == (0.0, 1e5)
    assert (
        "pd, computed_torque" in law.additional_constraints
        and "above 0" in kp.additional_constraints
    )
    assert law.description.startswith("Law. ")
    assert (kp.type, joints.type) == (
        ParameterType.PARAMETER_DOUBLE_ARRAY,
        ParameterType.PARAMETER_STRING_ARRAY,
    )


def test_an_empty_list_of_a_parameter_file_has_a_type_and_is_no_number(
    make_node: Callable[..., Node],
) -> None:
    """rclpy reads an empty list as an unset parameter."""
    node = make_node(x=[])
    other = make_node(x=[])
    declare(node, NUMBERS)
    assert node.get_parameter("x").type_ == RosParameter.Type.DOUBLE_ARRAY
    declare(other, NUMBER)
    with pytest.raises(RobotDynamicsError, match="parameter x: no value"):
        NUMBER.read(present_values(other))


def test_changes_come_before_present_values() -> None:
    present = {"a": 1.0, "b": 2.0}.__getitem__
    candidates = check_changes(
        [], present, [RosParameter("b", value=3.0), RosParameter("c", value=False)], ""
    )
    assert [candidates(name) for name in "abc"] == [1.0, 3.0, False]


def test_a_parameter_that_is_deleted_is_refused() -> None:
    with pytest.raises(RobotDynamicsError, match="parameter x: .*deleted"):
        check_changes(
            [], {}.__getitem__, [RosParameter("x", RosParameter.Type.NOT_SET, None)], ""
        )
