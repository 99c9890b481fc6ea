"""Parameters in a real node: what it declares, what it takes for good, and how it refuses the rest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import rclpy
import yaml
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterType, SetParametersResult
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter
from rclpy.parameter import get_parameter_value

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.nodes.parameters import declare, present_values, with_changes
from robot_dynamics_ros.nodes.spinning import make_executor
from robot_dynamics_ros.parameters.bounds import NOT_NEGATIVE_OR_INFINITE, POSITIVE, RATE, RATE_OR_ZERO, Bounds
from robot_dynamics_ros.parameters.kinds import Flag, Names, Number, Numbers, Parameter, Text, WholeNumber

NAN, INF = math.nan, math.inf


@pytest.fixture(scope="module")
def context() -> Iterator[rclpy.Context]:
    context = rclpy.Context()
    context.init()
    yield context
    context.try_shutdown()


@pytest.fixture
def make_node(context: rclpy.Context, tmp_path: Path) -> Iterator[Callable[..., Node]]:
    """make_node(x=...) is a node with that in its parameter file."""
    nodes: list[Node] = []

    def make(**values: Any) -> Node:
        file = tmp_path / "parameters.yaml"
        file.write_text(yaml.safe_dump({"/**": {"ros__parameters": values}}), encoding="utf-8")
        arguments = ["--ros-args", "--params-file", str(file)] if values else None
        nodes.append(rclpy.create_node("settings", context=context, cli_args=arguments))
        return nodes[-1]

    yield make
    for node in nodes:
        node.destroy_node()


MODE = Text("x", "hold", "", choices=("hold", "zero"))
TEXT = Text("x", "", "")
FLAG = Flag("x", True, "")
NUMBER = Number("x", 1.0, "")
POSITIVE_NUMBER = Number("x", 1.0, "", POSITIVE)
SHARE = Number("x", 0.5, "", Bounds(0.0, 1.0))
OPEN_SHARE = Number("x", 0.5, "", Bounds(0.0, 1.0, above=True))
RATE_NUMBER = Number("x", 500.0, "", RATE)
MAYBE_RATE = Number("x", 0.0, "", RATE_OR_ZERO)
WHOLE = WholeNumber("x", 0, "", 0, 99)
NUMBERS = Numbers("x", [], "")
SOME_NUMBERS = Numbers("x", [1.0], "")
MARGIN = Numbers("x", [0.05], "", NOT_NEGATIVE_OR_INFINITE)
THREE = Numbers("x", [], "", how_many="three of them", count=3)
NAMES = Names("x", [], "")

GOOD: list[tuple[Parameter[Any], Any, Any]] = [
    (TEXT, "words", "words"),
    (TEXT, "", ""),
    (MODE, "zero", "zero"),
    (FLAG, False, False),
    (NUMBER, 5, 5.0),
    (NUMBER, -2.5, -2.5),
    (SHARE, 1, 1.0),
    (RATE_NUMBER, 500, 500.0),
    (MAYBE_RATE, 0, 0.0),
    (MAYBE_RATE, 250.0, 250.0),
    (WHOLE, 99, 99),
    (NUMBERS, [1, 2], (1.0, 2.0)),
    (NUMBERS, [1.5, 2.0], (1.5, 2.0)),
    (NUMBERS, 3, (3.0,)),
    (NUMBERS, 0, (0.0,)),
    (NUMBERS, [], ()),
    (MARGIN, [INF, 0.0], (INF, 0.0)),
    (MARGIN, INF, (INF,)),
    (THREE, [0, 0, -10], (0.0, 0.0, -10.0)),
    (THREE, [], ()),
    (NAMES, ["a", "b"], ("a", "b")),
    (NAMES, [""], ()),
    (NAMES, [], ()),
]
# With what the message says beside the parameter's name and the cure.
BAD: list[tuple[Parameter[Any], Any, str]] = [
    (TEXT, 5, "5 is not allowed. Cure: give a text, in quotes"),
    (TEXT, ["words"], "['words'] is not"),
    (MODE, "panic", "'panic' is not allowed. Cure: give one of hold, zero"),
    (MODE, True, "True is not allowed. Cure: give one of hold, zero"),
    (FLAG, 1, "1 is not allowed. Cure: give true or false"),
    (FLAG, "true", "'true' is not"),
    (NUMBER, "5", "'5' is not allowed. Cure: give a number"),
    (NUMBER, True, "True is not"),
    (NUMBER, NAN, "nan is not"),
    (NUMBER, INF, "inf is not"),
    (NUMBER, [1.0], "[1.0] is not"),
    (POSITIVE_NUMBER, 0.0, "0.0 is not allowed. Cure: give a number above 0"),
    (POSITIVE_NUMBER, -1, "-1 is not"),
    (SHARE, 2, "2 is not allowed. Cure: give a number from 0 to 1"),
    (SHARE, 2.0, "2.0 is not allowed. Cure: give a number from 0 to 1"),
    (SHARE, NAN, "nan is not allowed. Cure: give a number from 0 to 1"),
    (OPEN_SHARE, 0.0, "0.0 is not allowed. Cure: give a number above 0, at most 1"),
    (RATE_NUMBER, 0, "0 is not allowed. Cure: give a number from 0.001 to 100000"),
    (MAYBE_RATE, 1e-300, "1e-300 is not allowed. Cure: give 0, or a number from 0.001 to 100000"),
    (WHOLE, 100, "100 is not allowed. Cure: give a whole number from 0 to 99"),
    (WHOLE, 5.0, "5.0 is not"),
    (WHOLE, True, "True is not"),
    (NUMBERS, "1 2", "'1 2' is not allowed. Cure: give numbers"),
    (NUMBERS, ["1", "2"], "'1' (number 1 of 2) is not allowed"),
    (NUMBERS, [1.0, NAN], "nan (number 2 of 2) is not allowed. Cure: give numbers, one for each joint, or one for all"),
    (NUMBERS, [True, False], "True (number 1 of 2) is not"),
    (NUMBERS, False, "False is not"),
    (SOME_NUMBERS, [], "[] is not"),
    (MARGIN, [0.1, -0.1], "-0.1 (number 2 of 2) is not allowed. Cure: give numbers of at least 0 or .inf"),
    (THREE, [1.0, 2.0], "[1.0, 2.0] is not allowed. Cure: give numbers, three of them, or []"),
    (NAMES, "a", "'a' is not allowed. Cure: give a list of names"),
    (NAMES, [1, 2], "[1, 2] is not"),
]


@pytest.mark.parametrize(("parameter", "value", "expected"), GOOD)
def test_good(parameter: Parameter[Any], value: Any, expected: Any, make_node: Callable[..., Node]) -> None:
    """From a parameter file, and set later."""
    node = make_node(x=value)
    declare(node, parameter)
    found = parameter.read(present_values(node))
    assert found == expected
    assert type(found) is type(expected)

    other = make_node()
    declare(other, parameter)
    assert other.set_parameters([RosParameter("x", value=value)])[0].successful
    assert parameter.read(present_values(other)) == expected


@pytest.mark.parametrize(("parameter", "value", "words"), BAD)
def test_bad(parameter: Parameter[Any], value: Any, words: str, make_node: Callable[..., Node]) -> None:
    """A parameter file's bad value stays until it is read, so that the node can say what is wrong and be cured."""
    node = make_node(x=value)
    declare(node, parameter)
    with pytest.raises(RobotDynamicsError) as caught:
        parameter.read(present_values(node))
    assert str(caught.value).startswith(f"parameter x: {words}")
    assert ". Cure: " in str(caught.value)
    assert node.set_parameters([RosParameter("x", value=parameter.default)])[0].successful
    assert parameter.read(present_values(node)) == parameter.check(parameter.default)


@pytest.mark.parametrize(("parameter", "value", "words"), BAD)
def test_bad_changes(parameter: Parameter[Any], value: Any, words: str, make_node: Callable[..., Node]) -> None:
    """Whether rclpy refuses it or a callback does, the reason names the parameter, and the old value stays."""
    node = make_node()
    declare(node, parameter)

    def check(changes: list[RosParameter[Any]]) -> SetParametersResult:
        try:
            parameter.read(with_changes(present_values(node), changes))
        except RobotDynamicsError as problem:
            return SetParametersResult(successful=False, reason=str(problem))
        return SetParametersResult(successful=True)

    node.add_on_set_parameters_callback(check)
    (result,) = node.set_parameters([RosParameter("x", value=value)])
    assert not result.successful
    if "out of range" in result.reason:  # rclpy's own words
        (bounds,) = node.describe_parameter("x").floating_point_range or node.describe_parameter("x").integer_range
        for word in ("Parameter x", f"Min: {bounds.from_value}", f"Max: {bounds.to_value}", f"value: {value}"):
            assert word in result.reason
    else:
        assert result.reason.startswith(f"parameter x: {words}")
    assert parameter.read(present_values(node)) == parameter.check(parameter.default)


# As a user types them behind `ros2 param set <node> x`


def _typed(text: str) -> RosParameter[Any]:
    return RosParameter.from_parameter_msg(ParameterMessage(name="x", value=get_parameter_value(text)))


@pytest.mark.parametrize(
    ("parameter", "text", "expected"),
    [
        (NUMBER, "5", 5.0),
        (MARGIN, ".inf", (INF,)),
        (NUMBERS, "[]", ()),
        (NUMBERS, "[1, 2]", (1.0, 2.0)),
        (NAMES, "[]", ()),
        (NAMES, "[a, b]", ("a", "b")),
        (FLAG, "false", False),
    ],
)
def test_typed(parameter: Parameter[Any], text: str, expected: Any, make_node: Callable[..., Node]) -> None:
    node = make_node()
    declare(node, parameter)
    assert node.set_parameters([_typed(text)])[0].successful
    assert parameter.read(present_values(node)) == expected


def test_a_list_that_mixes_integers_and_doubles_is_explained() -> None:
    with pytest.raises(RobotDynamicsError, match=r"parameter x: '\[1, 2\.5\]' .*Cure: .* as \[1\.0, 2\.5\]"):
        NUMBERS.check(_typed("[1, 2.5]").value)


def test_an_empty_list_of_a_parameter_file_is_no_number(make_node: Callable[..., Node]) -> None:
    node = make_node(x=[])
    declare(node, NUMBER)
    with pytest.raises(RobotDynamicsError, match=r"parameter x: no value is not allowed\. Cure: give a number$"):
        NUMBER.read(present_values(node))


# What `ros2 param describe` and rqt show


def test_descriptors(make_node: Callable[..., Node]) -> None:
    node = make_node()
    table: list[Parameter[Any]] = [
        Flag("autostart", True, "Begin at once", when="start"),
        WholeNumber("priority", 0, "Priority", 0, 99, when="start"),
        Number("rate", 0.0, "Commands (Hz)", RATE_OR_ZERO),
        Text("law", "pd", "Law", when="run", choices=("pd", "computed_torque")),
        Number("share", 0.5, "Share", Bounds(0.0, 1.0), when="run"),
        Number("timeout", 0.1, "Time (s)", POSITIVE, when="run"),
        Numbers("gains.kp", [], "Gain", POSITIVE, when="run"),
        Names("joints", [], "Joints"),
    ]
    declare(node, *table)
    described = {parameter.name: node.describe_parameter(parameter.name) for parameter in table}
    assert {name: shown.description for name, shown in described.items()} == {
        "autostart": "Begin at once. Read once, when the process starts.",
        "priority": "Priority. Read once, when the process starts.",
        "rate": "Commands (Hz). Takes effect when the node is configured.",
        "law": "Law. May be changed while the node runs.",
        "share": "Share. May be changed while the node runs.",
        "timeout": "Time (s). May be changed while the node runs.",
        "gains.kp": "Gain. May be changed while the node runs.",
        "joints": "Joints. Takes effect when the node is configured.",
    }
    assert {name: shown.additional_constraints for name, shown in described.items()} == {
        "autostart": "",
        "priority": "",
        "rate": "0, or a number from 0.001 to 100000",
        "law": "one of pd, computed_torque",
        "share": "",
        "timeout": "a number above 0",
        "gains.kp": "numbers above 0, one for each joint, or one for all, or []",
        "joints": "",
    }
    assert {name for name, shown in described.items() if shown.read_only} == {"autostart", "priority"}
    assert {
        name: [(bounds.from_value, bounds.to_value) for bounds in shown.floating_point_range or shown.integer_range]
        for name, shown in described.items()
        if shown.floating_point_range or shown.integer_range
    } == {"priority": [(0, 99)], "rate": [(0.0, 1e5)], "share": [(0.0, 1.0)]}
    assert described["gains.kp"].type == ParameterType.PARAMETER_DOUBLE_ARRAY
    assert described["joints"].type == ParameterType.PARAMETER_STRING_ARRAY


def test_empty_lists_of_a_parameter_file_have_a_type(make_node: Callable[..., Node]) -> None:
    """rclpy reads them as parameters that are not set."""
    node = make_node(x=[])
    declare(node, NUMBERS)
    assert node.get_parameter("x").type_ == RosParameter.Type.DOUBLE_ARRAY


def test_read_only_parameters_come_from_the_start(make_node: Callable[..., Node]) -> None:
    node = make_node(x=False)
    flag = Flag("x", True, "", when="start")
    declare(node, flag)
    assert flag.read(present_values(node)) is False
    (result,) = node.set_parameters([RosParameter("x", value=True)])
    assert not result.successful and "read-only" in result.reason and "x" in result.reason
    assert flag.read(present_values(node)) is False


# Candidates


def test_changes_come_before_present_values() -> None:
    present = {"a": 1.0, "b": 2.0}.__getitem__
    candidates = with_changes(present, [RosParameter("b", value=3.0), RosParameter("c", value=False)])
    assert [candidates(name) for name in "abc"] == [1.0, 3.0, False]


def test_a_parameter_that_is_deleted(make_node: Callable[..., Node]) -> None:
    deletion = RosParameter("x", RosParameter.Type.NOT_SET, None)
    with pytest.raises(RobotDynamicsError, match=r"parameter x: it cannot be deleted\. Cure: "):
        with_changes({}.__getitem__, [deletion])
    # A node that did not refuse it
    node = make_node()
    declare(node, NUMBER)
    node.set_parameters([deletion])
    with pytest.raises(RobotDynamicsError, match="parameter x: no value is not allowed"):
        NUMBER.read(present_values(node))


# Executor


def test_the_executor_that_is_asked_for() -> None:
    rclpy.init()
    try:
        assert isinstance(make_executor("single_threaded"), SingleThreadedExecutor)
        assert isinstance(make_executor("auto"), type(make_executor("events")))
    finally:
        rclpy.shutdown()
