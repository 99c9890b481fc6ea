"""The parameters of the nodes: complete, described, and with defaults that are allowed."""

import itertools
import math
import re
from collections.abc import Iterator
from typing import Any

import pytest
import rclpy
from rclpy.node import Node

from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.nodes import recorder_node, trajectory_node
from robot_dynamics_ros.nodes.parameters import declare, present_values
from robot_dynamics_ros.parameters import controller, simulation
from robot_dynamics_ros.parameters.controller import ALL
from robot_dynamics_ros.parameters.file import misspelt
from robot_dynamics_ros.parameters.kinds import Parameter

DOCUMENTED: dict[str, dict[str, Any]] = {
    "start": {"executor": "auto", "autostart": True, "realtime_priority": 0, "lock_memory": False},
    "configure": {
        "robot_description": "",
        "dynamics_file": "",
        "joints": [],
        "update_rate": 0.0,
        "gravity": [],
        "robot_compensates_gravity": False,
        "activation_check": True,
        "exclusive_topics": False,
        "black_box_seconds": 10.0,
        "black_box_directory": "",
        "action_monitor_rate": 20.0,
        "state_publish_rate": 50.0,
    },
    "run": {
        "law": "computed_torque",
        "gains.natural_frequency": [10.0],
        "gains.damping_ratio": [1.0],
        "gains.kp": [],
        "gains.kd": [],
        "gains.ki": [],
        "friction_compensation": True,
        "friction_smoothing_velocity": 0.01,
        "task_space.link": "",
        "task_space.components": "x y z rx ry rz",
        "task_space.natural_frequency": [10.0],
        "task_space.damping_ratio": [1.0],
        "task_space.max_linear_velocity": 0.25,
        "task_space.max_angular_velocity": 1.0,
        "task_space.target_timeout": 0.1,
        "allow_partial_joints_goal": False,
        "interpolate_from_desired_state": True,
        "positions_upsampling.enable": True,
        "allow_nonzero_velocity_at_trajectory_end": False,
        "trajectory_limits": "refuse",
        "set_point_step_limit": [0.2],
        "trajectory_effort_period": 0.02,
        "constraints.decelerate_on_cancel": True,
        "constraints.max_deceleration_on_cancel": [2.0],
        "constraints.stopped_velocity_tolerance": 0.01,
        "constraints.goal_time": 0.0,
        "constraints.path_tolerance": [],
        "constraints.goal_tolerance": [],
        "velocity_filter_cutoff": 0.0,
        "effort_limit_scale": [1.0],
        "torque_rate_limit": [],
        "ramp_time": 0.0,
        "position_limit_margin": [0.05],
        "velocity_limit_margin": [0.2],
        "state_timeout": 0.1,
        "stale_hold_time": 0.5,
        "on_fault": "hold",
        "fault_reset": "manual",
        "stop_timeout": 2.0,
        "emergency_stop_effect": "stop",
        "minimum_rate_ratio": 0.5,
        "unstamped_states": "arrival",
        "position_step_limit": [0.05],
        "following_error_limit": [],
        "following_error_time": 0.1,
        "saturation_timeout": 1.0,
        "hold_effort_margin": [],
        "activation_max_velocity": 0.1,
        "observer.gain": 0.0,
        "observer.collision_threshold": [],
    },
}
TABLES = {
    "controller": ALL,
    "plant": simulation.ALL,
    "trajectory": trajectory_node.ALL,
    "recorder": recorder_node.ALL,
}

INF, NAN = math.inf, math.nan
#: What each takes besides its default, and what it does not; a negative and an infinite number are among them.
LIMITS: dict[str, tuple[list[Any], list[Any]]] = {
    "executor": (["events", "single_threaded"], ["multi_threaded", ""]),
    "trajectory_limits": (["refuse", "clamp", "off"], ["", True]),
    "set_point_step_limit": ([0.0, INF, [0.1, 0.2]], [[], -1.0]),
    "realtime_priority": ([1, 99], [-1, 100, 50.5]),
    "update_rate": ([0.001, 1000, 1e5], [-1.0, 1e-4, 2e5, INF]),
    "gravity": ([[0, 0, -1.62], [0.0, 9.81, 0.0]], [[9.81], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, INF]]),
    "black_box_seconds": ([0.0, 60], [-1.0, INF]),
    "law": (list(LAWS), ["pid", ""]),
    "gains.natural_frequency": ([0.0, [1.0, 2.0]], [[], -1.0, INF]),
    "gains.damping_ratio": ([0.0, [1.0, 2.0]], [[], -1.0, INF]),
    "gains.kp": ([0.0, [1.0, 2.0]], [-1.0, INF]),
    "gains.kd": ([0.0, [1.0, 2.0]], [-1.0, INF]),
    "gains.ki": ([0.0, [1.0, 2.0]], [-1.0, INF]),
    "friction_smoothing_velocity": ([0.0, 1.0], [-0.1, INF]),
    "task_space.components": (["x", "rz y"], [True, 1.0]),  # an unquoted y is true in a parameter file
    "task_space.natural_frequency": ([1.0, [1, 2, 3, 4, 5, 6]], [0.0, [1.0, -2.0], [], INF]),
    "task_space.damping_ratio": ([0.7, [1, 1, 1, 1, 1, 1]], [0.0, [1.0, -2.0], [], INF]),
    "task_space.max_linear_velocity": ([0.1, INF], [0.0, -1.0, NAN]),
    "task_space.max_angular_velocity": ([0.1, INF], [0.0, -1.0, NAN]),
    "task_space.target_timeout": ([0.0, 5], [-0.1, INF, NAN]),
    "trajectory_effort_period": ([0.001, 5], [0.0, -0.1, INF, NAN]),
    "constraints.max_deceleration_on_cancel": ([0.1, [1.0, 2.0]], [0.0, [1.0, -2.0], [], INF]),
    "constraints.stopped_velocity_tolerance": ([0.0, 1.0], [-0.1, INF]),
    "constraints.goal_time": ([0.0, 2.5], [-0.1, INF]),
    "constraints.path_tolerance": ([0.0, [0.1, 0.0]], [-0.1, [0.1, -1.0], INF]),
    "constraints.goal_tolerance": ([0.0, [0.1, 0.0]], [-0.1, [0.1, -1.0], INF]),
    "action_monitor_rate": ([1, 100.0], [0.0, -1.0, INF]),
    "state_publish_rate": ([1, 1000.0], [0.0, -1.0, INF]),
    "velocity_filter_cutoff": ([50.0], [-1.0, INF]),
    "effort_limit_scale": ([0.1, [0.5, 1.0]], [0.0, 1.1, [], [1.0, -1.0]]),
    "torque_rate_limit": ([1000.0, [1.0, 2.0]], [0.0, [1.0, -2.0], INF]),
    "ramp_time": ([2], [-1.0, INF]),
    "position_limit_margin": ([0, INF, [INF, 0.1]], [-0.1, [], NAN]),
    "velocity_limit_margin": ([0, INF, [INF, 0.1]], [-0.1, [], NAN]),
    "state_timeout": ([1, INF], [0.0, -1.0, NAN]),
    "stale_hold_time": ([0.0, 5.0], [-1.0, INF]),
    "on_fault": (["hold", "zero"], ["fault"]),
    "fault_reset": (["manual", "auto"], ["never"]),
    "stop_timeout": ([0.0, 5.0], [-1.0, INF]),
    "emergency_stop_effect": (["stop", "zero"], ["hold"]),
    "minimum_rate_ratio": ([0.0, 1.0], [-0.1, 1.1]),
    "unstamped_states": (["arrival", "refuse"], ["ignore"]),
    "position_step_limit": ([0.0, INF, [INF, 0.1]], [-0.1, NAN]),
    "following_error_limit": ([INF, [0.1, 0.2]], [0.0, -0.1, NAN]),
    "following_error_time": ([0.0, 1.0], [-0.1, INF]),
    "saturation_timeout": ([0.1, INF], [0.0, -0.1, NAN]),
    "hold_effort_margin": ([0.0, INF, [1.0, 2.0]], [-0.1, NAN]),
    "activation_max_velocity": ([0.0, INF], [-0.1, NAN]),
    "observer.gain": ([0.0, 50.0], [-1.0, INF]),
    "observer.collision_threshold": ([10.0, [1.0, 2.0]], [0.0, [1.0, -2.0], INF]),
}


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    context = rclpy.Context()
    context.init()
    node = rclpy.create_node("controller", context=context)
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


@pytest.mark.parametrize("module", [controller, simulation, trajectory_node, recorder_node])
def test_nothing_is_left_out(module: Any) -> None:
    own = [value for value in vars(module).values() if isinstance(value, Parameter)]
    assert own and {id(parameter) for parameter in own} <= {id(parameter) for parameter in module.ALL}


@pytest.mark.parametrize("table", TABLES)
def test_form(table: str) -> None:
    """Names once each, defaults that are allowed, descriptions that are one phrase."""
    parameters = TABLES[table]
    names = [parameter.name for parameter in parameters]
    assert len(set(names)) == len(names)
    for parameter in parameters:
        parameter.check(parameter.default)
        assert re.fullmatch(r"(?s)\S.{6,}[^.\s]", parameter.description), parameter.name


def test_nodes_may_share_a_file() -> None:
    """No name is taken for a misspelt one of another node; a misspelt one is, and one without its prefix."""
    tables = [[parameter.name for parameter in table] for table in TABLES.values()]
    for known, other in itertools.permutations(tables, 2):
        assert not misspelt(other, known)
    (message,) = misspelt(["kp"], tables[0])
    assert "gains.kp" in message


@pytest.mark.parametrize("name", LIMITS)
def test_limits(name: str) -> None:
    (parameter,) = (parameter for parameter in ALL if parameter.name == name)
    good, bad = LIMITS[name]
    for value in good:
        parameter.check(value)
    for value in bad:
        with pytest.raises(RobotDynamicsError, match=rf"parameter {re.escape(name)}: .*Cure: "):
            parameter.check(value)


def test_every_number_and_choice_has_its_limits_here() -> None:
    free = {"robot_description", "dynamics_file", "joints", "task_space.link", "black_box_directory"}
    flags = {parameter.name for parameter in ALL if isinstance(parameter.default, bool)}
    assert {parameter.name for parameter in ALL} == free | flags | set(LIMITS)
