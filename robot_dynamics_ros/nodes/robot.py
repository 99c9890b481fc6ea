"""The robot that a node works with: from parameters, or from the latched topic robot_description."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from std_msgs.msg import String

from robot_dynamics_ros.errors import RobotModelWarning
from robot_dynamics_ros.kernels.compilation import cache_directory, must_compile
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.nodes.parameters import present_values
from robot_dynamics_ros.nodes.spinning import compile_interruptibly
from robot_dynamics_ros.parameters.robot import DYNAMICS_FILE, JOINTS


def await_description(node: Node, receive: Callable[[str], None]) -> Subscription[Any]:
    """Call ``receive`` with each URDF that the topic robot_description brings."""
    latched = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    return node.create_subscription(String, "robot_description", lambda message: receive(message.data), latched)


def load_robot(
    node: Node, description: str, gravity: Sequence[float] | None = None, closes_loops: bool = False
) -> RobotModel:
    """Make the model and log what its files leave open; RobotDynamicsError says what is wrong with them.

    ``gravity`` (m/s^2 in the root frame) replaces the dynamics file's where it is not None; ``closes_loops``: whether
    the node knows what a loop is.
    """
    values = present_values(node)
    dynamics_file, joints = DYNAMICS_FILE.read(values), JOINTS.read(values)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RobotModelWarning)
        model = RobotModel.from_urdf(
            description, dynamics=dynamics_file or None, gravity=gravity, joints=joints or None
        )
    for warning in caught:
        node.get_logger().warning(str(warning.message))
    if model.loops and not closes_loops:
        node.get_logger().warning(
            f'robot "{model.name}": its {len(model.loops)} loops are open here: torques are those of the tree, as if '
            "each loop were cut. Cure: give couplings in place of loops, as parallelograms allow; for others compute "
            "torques in Python, by constrained_inverse_dynamics of robot_dynamics_ros.formulations.constraints"
        )
    if not model.packed.friction.any():
        node.get_logger().info(f'robot "{model.name}": neither URDF nor dynamics file names any joint friction')
    return model


def compile_kernels(node: Node, kernels: str, run_once: Callable[[], object]) -> None:
    """Run each kernel of ``model`` or ``plant`` once, before anything depends on its time, and say what takes so long.

    Raises Interrupted where a signal comes meanwhile.
    """
    if must_compile(kernels):
        node.get_logger().info(
            "compiling the dynamics kernels: the first start takes half a minute, "
            f"later ones load them from {cache_directory()}"
        )
    start = time.monotonic()
    compile_interruptibly(run_once)
    node.get_logger().info(f"dynamics kernels ready after {time.monotonic() - start:.1f} s")
