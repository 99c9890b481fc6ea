"""The parameters of the simulation: complete, described, and with defaults that are allowed."""

import math
import re
from collections.abc import Iterator
from typing import Any

import pytest
import rclpy
from rclpy.node import Node

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.nodes.parameters import declare, present_values
from robot_dynamics_ros.parameters import simulation
from robot_dynamics_ros.parameters.kinds import Parameter
from robot_dynamics_ros.parameters.simulation import ALL

INF, NAN = math.inf, math.nan

DOCUMENTED: dict[str, dict[str, Any]] = {
    "start": {"executor": "auto"},
    "configure": {
        "robot_description": "",
        "dynamics_file": "",
        "joints": [],
        "integrator": "rk4",
        "step_size": 0.001,
        "publish_rate": 500.0,
        "initial_positions": [],
        "velocity_limits": False,
        "effort_delay": 0.0,
        "publish_clock": False,
        "start_paused": False,
        "lockstep": False,
        "lockstep_topic": "computed_torque_node/command_states",
    },
    "run": {
        "real_time_factor": 1.0,
        "command_timeout": INF,
        "on_command_timeout": "zero",
        "position_noise": [0.0],
        "velocity_noise": [0.0],
        "position_resolution": [0.0],
        "seed": 0,
        "mass_scale": 1.0,
        "friction_scale": [1.0],
        "payload.link": "",
        "payload.mass": 0.0,
        "payload.com": [0.0, 0.0, 0.0],
        "payload.inertia": [0.0] * 6,
    },
}

#: What each takes besides its default, and what it does not; a negative and an infinite number are among them.
LIMITS: dict[str, tuple[list[Any], list[Any]]] = {
    "executor": (["events", "single_threaded"], ["multi_threaded", ""]),
    "integrator": (["semi_implicit"], ["euler", ""]),
    "step_size": ([1e-6, 1], [0.0, -0.001, INF, NAN, "short"]),
    "publish_rate": ([0.001, 1000, 1e5], [0.0, -1.0, 2e5, INF]),
    "effort_delay": ([0, 0.01], [-0.001, INF]),
    "real_time_factor": ([0, 0.1, 1000.0], [-1.0, INF, NAN]),
    "command_timeout": ([0.001, 2], [0.0, -1.0, NAN]),
    "on_command_timeout": (["hold"], ["stop"]),
    "position_noise": ([0.1, [0.1, 0.2]], [-0.1, [0.1, -0.1], [], INF]),
    "velocity_noise": ([0.1, [0.1, 0.2]], [-0.1, [], INF]),
    "position_resolution": ([0.1, [0.1, 0.2]], [-0.1, [], INF]),
    "seed": ([1, 2**31 - 1], [-1, 0.5, 2**31]),
    "mass_scale": ([0.5, 2], [0.0, -1.0, INF]),
    "friction_scale": ([0, [0.5, 2.0]], [-0.1, [], INF]),
    "payload.mass": ([0, 1.5], [-1.0, INF]),
    "payload.com": ([[-0.1, 0, 0.3]], [[0.1], [0.0, 0.0, INF]]),
    "payload.inertia": ([[1, 0.0, 0.0, 1, 0.0, 1]], [[1.0], [0.0] * 5 + [INF]]),
}


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    context = rclpy.Context()
    context.init()
    node = rclpy.create_node("plant", context=context)
    yield node
    node.destroy_node()
    context.try_shutdown()


def test_documented_parameters() -> None:
    found: dict[str, dict[str, Any]] = {"start": {}, "configure": {}, "run": {}}
    for parameter in ALL:
        found[parameter.when][parameter.name] = parameter.default
    assert found == DOCUMENTED


def test_a_node_declares_them(node: Node) -> None:
    declare(node, *ALL)
    values = present_values(node)
    assert {parameter.name: values(parameter.name) for parameter in ALL} == {
        name: value for group in DOCUMENTED.values() for name, value in group.items()
    }
    for parameter in ALL:
        parameter.read(values)


def test_nothing_is_left_out() -> None:
    own = [value for value in vars(simulation).values() if isinstance(value, Parameter)]
    assert own and {id(parameter) for parameter in own} <= {id(parameter) for parameter in ALL}


@pytest.mark.parametrize("name", LIMITS)
def test_limits(name: str) -> None:
    (parameter,) = (parameter for parameter in ALL if parameter.name == name)
    good, bad = LIMITS[name]
    for value in good:
        parameter.check(value)
    for value in bad:
        with pytest.raises(RobotDynamicsError, match=rf"parameter {re.escape(name)}: .*Cure: "):
            parameter.check(value)
