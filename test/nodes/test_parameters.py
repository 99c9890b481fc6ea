"""Parameters as a node reads them: integers for doubles, everything else refused by name."""

from collections.abc import Iterator
from typing import Any

import pytest
import rclpy
from rclpy.node import Node

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.nodes import parameters


@pytest.fixture(scope="module")
def context() -> Iterator[rclpy.Context]:
    context = rclpy.Context()
    context.init()
    yield context
    context.try_shutdown()


@pytest.fixture
def node(context: rclpy.Context) -> Iterator[Node]:
    node = rclpy.create_node("settings", context=context)
    yield node
    node.destroy_node()


GOOD: list[tuple[str, Any, Any]] = [
    ("read_number", 5, 5.0),
    ("read_number", -2.5, -2.5),
    ("read_rate", 500, 500.0),
    ("read_numbers", [1, 2], [1.0, 2.0]),
    ("read_numbers", [1.5, 2.0], [1.5, 2.0]),
    ("read_numbers", [], []),
    ("read_numbers", 3, [3.0]),
    ("read_names", ["a", "b"], ["a", "b"]),
    ("read_names", [], []),
    ("read_text", "words", "words"),
    ("read_flag", True, True),
]
BAD: list[tuple[str, Any]] = [
    ("read_number", "5"),
    ("read_number", True),
    ("read_number", float("nan")),
    ("read_number", float("inf")),
    ("read_number", [1.0]),
    ("read_rate", 0),
    ("read_rate", -1.0),
    ("read_rate", 1e300),
    ("read_rate", 1e-300),
    ("read_numbers", "1 2"),
    ("read_numbers", ["1", "2"]),
    ("read_numbers", [1.0, float("nan")]),
    ("read_numbers", [True, False]),
    ("read_numbers", False),
    ("read_names", "a"),
    ("read_names", [1, 2]),
    ("read_text", 5),
    ("read_text", ["words"]),
    ("read_flag", 1),
    ("read_flag", "true"),
]


@pytest.mark.parametrize(("read", "value", "expected"), GOOD)
def test_good(read: str, value: Any, expected: Any, node: Node) -> None:
    parameters.declare(node, "settings.one", value, "")
    found = getattr(parameters, read)(node, "settings.one")
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(("read", "value"), BAD)
def test_bad(read: str, value: Any, node: Node) -> None:
    parameters.declare(node, "settings.one", value, "")
    with pytest.raises(RobotDynamicsError, match=r"parameter settings.one: .*Cure"):
        getattr(parameters, read)(node, "settings.one")


def test_least(node: Node) -> None:
    parameters.declare(node, "time", -1.0, "")
    with pytest.raises(RobotDynamicsError, match=r"parameter time: -1\.0 is below 0"):
        parameters.read_number(node, "time", least=0.0)
