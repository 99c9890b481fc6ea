"""config/<robot>.yaml: what the settings ask of an arm it can do."""

from typing import Any

import numpy as np
import pytest
import yaml

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.reference import quintic_then_sine
from robot_dynamics_ros.resources import robot_dynamics_file, robot_names, robot_urdf
from support.launch_files import ROOT, flat
from support.node_interfaces import parameters

PROGRAMS = ("simulation_node", "computed_torque_node", "trajectory_node")

# As published, the inertia of a link of the puma560 is not that of a body: each load warns of it.
pytestmark = [
    pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning"),
    pytest.mark.parametrize("robot", robot_names()),
]


def _settings(robot: str) -> dict[str, Any]:
    document = yaml.safe_load((ROOT / "config" / f"{robot}.yaml").read_text(encoding="utf-8"))
    # The one key that matches nodes of any name in any namespace.
    assert list(document) == ["/**"] and list(document["/**"]) == ["ros__parameters"]
    return dict(flat(document["/**"]["ros__parameters"]))


def test_settings_are_finite_numbers_for_each_joint_that_the_nodes_take(robot: str) -> None:
    n = RobotModel.from_urdf_file(robot_urdf(robot)).n
    declared = {name: parameter for program in PROGRAMS for name, parameter in parameters(program).items()}
    for name, value in _settings(robot).items():
        assert list(declared[name].check(value)) == value
        assert len(value) == n or (name.startswith("gains.") and len(value) == 1), name
        # rclpy takes no list of integers and floats.
        assert all(isinstance(item, float) and np.isfinite(item) for item in value), name


def test_trajectory_asks_for_no_more_than_the_robot_can_do(robot: str) -> None:
    """All the way, from initial_positions over center to the end of the sine, and with the shipped friction."""
    settings = _settings(robot)
    assert np.all(np.abs(settings["trajectory.amplitude"]) > 0.0), "a joint that stays where it is shows nothing"
    for dynamics in {None, robot_dynamics_file(robot)}:
        model = RobotModel.from_urdf_file(robot_urdf(robot), dynamics=dynamics)
        motion = quintic_then_sine(
            model.joint_names,
            settings["initial_positions"],
            settings["trajectory.center"],
            settings["trajectory.amplitude"],
            settings["trajectory.frequency"],
            parameters("trajectory_node")["trajectory.move_time"].default,
            parameters("trajectory_node")["trajectory.total_time"].default,
            rate=100.0,
        )
        q, qd, qdd = motion.positions, motion.velocities, motion.accelerations
        assert qd is not None and qdd is not None
        states = zip(q, qd, qdd, strict=True)
        effort = np.array([model.inverse_dynamics(*state) + model.friction_torque(*state[:2]) for state in states])
        assert np.all(model.position_lower < q) and np.all(q < model.position_upper)
        assert np.all(np.abs(qd).max(axis=0) < model.velocity_limits)
        # A feedback law needs something left over.
        assert np.all(np.abs(effort).max(axis=0) < 0.95 * model.effort_limits)
