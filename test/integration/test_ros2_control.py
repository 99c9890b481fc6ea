"""The controller with the parameter file for ros2_control's forward_effort_controller."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from rclpy.qos import QoSPresetProfiles
from std_msgs.msg import Float64MultiArray

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.base.resources import dynamics_file, robot_urdf
from support.robot import NODE
from support.ros import Driver, Graph

FORWARD = (
    Path(__file__).resolve().parents[2] / "config" / "ros2_control_forward_effort.yaml"
)
COMMANDS = "/forward_effort_controller/commands"
READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
#: The simulated arm has no driver that adds gravity.
BARE = {
    "robot_compensates_gravity": "false",
    "ramp_time": "0.0",
    "effort_limit_scale": "[1.0]",
}


def test_efforts_are_in_the_order_of_the_joints(tmp_path: Path) -> None:
    """The broadcaster has another joint order, and the joints of a gripper."""
    model = RobotModel.from_urdf_file(
        robot_urdf("panda"), dynamics=dynamics_file(None, "panda")
    )
    document = yaml.safe_load(FORWARD.read_text(encoding="utf-8"))
    joints = document["forward_effort_controller"]["ros__parameters"]["joints"]
    with Graph(tmp_path) as graph:
        commands = graph.collect(
            Float64MultiArray, COMMANDS, QoSPresetProfiles.SYSTEM_DEFAULT.value
        )
        parameters = {
            "robot_description": robot_urdf("panda").read_text(encoding="utf-8"),
            "dynamics_file": str(dynamics_file(None, "panda")),
            "state_timeout": float("inf"),
        }
        # For a node by its name, as the file has it: ROS would let that win over all nodes' otherwise.
        bare = [
            word
            for name, value in BARE.items()
            for word in ("-p", f"{NODE}:{name}:={value}")
        ]
        graph.start(
            NODE,
            parameters,
            "--params-file",
            str(FORWARD),
            *bare,
            "-r",
            f"effort_commands:={COMMANDS}",
        )
        driver = Driver(
            graph,
            joints=("panda_finger_joint1", *sorted(model.joint_names, reverse=True)),
        )
        position = {
            "panda_finger_joint1": 0.04,
            **dict(zip(model.joint_names, READY, strict=True)),
        }
        q = [position[name] for name in driver.joints]
        graph.repeat(
            lambda: driver.send(driver.message(q, np.zeros(8))),
            lambda: commands,
            "a command",
            0.1,
        )
    gravity = dict(zip(model.joint_names, model.gravity_torque(READY), strict=True))
    assert len({round(x, 3) for x in gravity.values()}) >= 5, (
        "an exchange of joints would show"
    )
    assert dict(zip(joints, commands[-1].data, strict=True)) == pytest.approx(
        gravity, abs=1e-6
    )
