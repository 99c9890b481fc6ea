"""config/<robot>.yaml: the motion is within the robot's limits."""

import numpy as np
import pytest
import yaml

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.base.resources import dynamics_file, robot_names, robot_urdf
from robot_dynamics_ros.runs.generators import quintic_then_sine
from support.launch_files import ROOT, flat
from support.node_interfaces import parameters

DECLARED = (
    parameters("simulation_node")
    | parameters("computed_torque_node")
    | parameters("trajectory_node")
)


# As published, the inertia of a link of the puma560 is not that of a body: each load warns of it.
@pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")
@pytest.mark.parametrize("robot", robot_names())
def test_settings_are_within_the_limits_of_the_robot(robot: str) -> None:
    """The whole motion, from initial_positions over center to the end of the sine, with friction."""
    document = yaml.safe_load(
        (ROOT / "config" / f"{robot}.yaml").read_text(encoding="utf-8")
    )
    settings = dict(flat(document["/**"]["ros__parameters"]))
    for name, value in settings.items():
        assert list(DECLARED[name].check(value)) == value
        # rclpy takes no list of integers and floats.
        assert all(isinstance(item, float) and np.isfinite(item) for item in value), (
            name
        )
    assert np.all(np.abs(settings["trajectory.amplitude"]) > 0.0), (
        "a joint that stays where it is shows nothing"
    )
    for dynamics in {None, dynamics_file(None, robot)}:
        model = RobotModel.from_urdf_file(robot_urdf(robot), dynamics=dynamics)
        for name, value in settings.items():
            assert len(value) == model.n or (
                name.startswith("gains.") and len(value) == 1
            ), name
        motion = quintic_then_sine(
            model.joint_names,
            settings["initial_positions"],
            settings["trajectory.center"],
            settings["trajectory.amplitude"],
            settings["trajectory.frequency"],
            DECLARED["trajectory.move_time"].default,
            DECLARED["trajectory.total_time"].default,
            rate=100.0,
        )
        q = motion.positions
        qd = motion.velocities
        qdd = motion.accelerations
        assert qd is not None and qdd is not None
        states = zip(q, qd, qdd, strict=True)
        effort = np.array(
            [
                model.inverse_dynamics(*state) + model.friction_torque(*state[:2])
                for state in states
            ]
        )
        assert np.all(model.position_lower < q) and np.all(q < model.position_upper)
        assert np.all(np.abs(qd).max(axis=0) < model.velocity_limits)
        # A feedback law needs something left over.
        assert np.all(np.abs(effort).max(axis=0) < 0.95 * model.effort_limits)
