"""What the simulation publishes of its arm, serialized here: rclpy takes three times as long."""

from __future__ import annotations

import struct

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from robot_dynamics_ros.messages.cdr import LITTLE_ENDIAN
from robot_dynamics_ros.messages.joint_state import JointStateWriter
from robot_dynamics_ros.simulation.simulated_arm import SimulatedArm

_TIME = struct.Struct("<iI")


class SimulationOutputs:
    """The topics joint_states and, where it is wanted, /clock.

    Attributes
    ----------
    states
        The publisher of joint_states.
    """

    def __init__(self, node: Node, arm: SimulatedArm, publish_clock: bool, depth: int) -> None:
        """``depth``: how many states are kept for listeners that are behind."""
        self.states = node.create_publisher(JointState, "joint_states", QoSProfile(depth=depth))
        self._clock = node.create_publisher(Clock, "/clock", QoSProfile(depth=1)) if publish_clock else None
        self._writer = JointStateWriter(arm.joint_names)
        self._state = self._time = b""

    def publish(self, at: int, arm: SimulatedArm) -> None:
        """Publish what is measured of the arm, with a stamp (ns)."""
        self._state = self._writer.write(at, arm.position, arm.velocity, arm.effort)
        self._time = LITTLE_ENDIAN + _TIME.pack(*divmod(at, 1_000_000_000))
        self.repeat()

    def repeat(self) -> None:
        """Publish the same once more."""
        self.states.publish(self._state)
        if self._clock is not None:
            self._clock.publish(self._time)
