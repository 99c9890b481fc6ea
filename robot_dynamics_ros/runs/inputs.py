"""Input topics of the controller: decode a message, pass it to the session, return the output.

INPUTS maps their names to message types: joint_states, emergency_stop, brakes_engaged, joint_trajectory,
speed_scaling_factor, payload, target_pose, target_twist and target_acceleration. All but joint_states are private names
of the node, such as ~/payload. ``renamed`` is a function that returns the robot's name of a joint by its name in
messages.
"""

from __future__ import annotations

import struct

import numpy as np

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.joint_messages import Sample
from robot_dynamics_ros.control.clock import Now
from robot_dynamics_ros.control.end_effector.end_effector_targets import (
    EndEffectorTarget,
)
from robot_dynamics_ros.control.interface import ERROR, Note, Output, UnusableSample
from robot_dynamics_ros.control.session import ControllerSession
from robot_dynamics_ros.recordings.messages.cdr import HEADER, CdrReader
from robot_dynamics_ros.recordings.messages.joint_state import (
    JointsMissing,
    JointStateReader,
    Renaming,
    stamp_of,
    unchanged,
)
from robot_dynamics_ros.recordings.messages.joint_trajectory import read_trajectory

JOINT_STATES = "joint_states"
TARGETS = {
    "target_pose": "geometry_msgs/msg/PoseStamped",
    "target_twist": "geometry_msgs/msg/TwistStamped",
    "target_acceleration": "geometry_msgs/msg/AccelStamped",
}
INPUTS = {
    JOINT_STATES: "sensor_msgs/msg/JointState",
    "emergency_stop": "std_msgs/msg/Bool",
    "brakes_engaged": "std_msgs/msg/Bool",
    "joint_trajectory": "trajectory_msgs/msg/JointTrajectory",
    "speed_scaling_factor": "std_msgs/msg/Float64",
    "payload": "geometry_msgs/msg/InertiaStamped",
    **TARGETS,
}
"""Message types by topic."""


class InputReader:
    """Reader that decodes messages of INPUTS and passes them to the controller ``session``."""

    def __init__(
        self,
        session: ControllerSession,
        topic: str = JOINT_STATES,
        renamed: Renaming = unchanged,
    ) -> None:
        """Create a reader; ``topic`` is the name of joint_states in errors."""
        self._session = session
        self._renamed = renamed
        self._topic = topic
        self._states = JointStateReader(session.arm.robot.joint_names, topic, renamed)

    def receive(self, topic: str, data: bytes, now: Now) -> Output:
        """Pass a serialized message ``data`` to the session and return the output.

        ``topic`` is one of INPUTS, or the full name of a further emergency stop, with a slash in front. ``now`` is the
        time of arrival by the steady and the ROS clock. An invalid message results in a log message in the output, or
        on joint_states in a fault. Raises RobotDynamicsError if the checks of an activation were left to the first
        state and fail; the caller then has to deactivate the session.
        """
        if topic == JOINT_STATES:
            return self._session.on_state(self._sample(data), now)
        try:
            return self._receive_other(topic, data, now)
        except (struct.error, ValueError):
            reason = f"a message of {len(data)} bytes is not a valid {INPUTS[topic]}. Cure: check its publisher"
        except RobotDynamicsError as error:
            reason = str(error)
        controller = self._session.controller
        if topic == "joint_trajectory" and controller is not None:
            controller.refuse(reason)
        # Targets and speed factors may be sent in each cycle.
        streamed = topic in ("speed_scaling_factor", *TARGETS)
        period = 1.0 if streamed else 0.0
        note = Note(ERROR, f"~/{topic} refused: {reason}", period)
        return Output(notes=(note,))

    def _sample(self, data: bytes) -> Sample | UnusableSample:
        """Return a joint state, or the reason why the message is not valid or lacks joints."""
        try:
            return self._states.read(data) or self._foreign(data)
        except RobotDynamicsError as error:
            return UnusableSample(
                stamp_of(data) or 0, str(error), isinstance(error, JointsMissing)
            )

    def _foreign(self, data: bytes) -> UnusableSample:
        names = ", ".join(self._session.arm.robot.joint_names)
        others = ", ".join(self._states.names(data)) or "no joint"
        reason = f"{self._topic}: {others} instead of {names}. Cure: publish them by their names in the URDF"
        return UnusableSample(0, reason, incomplete=True)

    def _receive_other(self, topic: str, data: bytes, now: Now) -> Output:
        session = self._session
        if topic == "emergency_stop" or topic.startswith("/"):
            source = topic if topic.startswith("/") else f"~/{topic}"
            # invalid values never release it
            engaged = data[HEADER : HEADER + 1] != b"\0"
            session.safety.emergency_stop(source, engaged)
            return Output()
        if topic == "joint_trajectory":
            start, points = read_trajectory(data, self._renamed)
            return session.on_trajectory(points, start, now)
        reader = CdrReader(data)
        if topic == "brakes_engaged":
            return session.on_brakes(*struct.unpack_from("?", reader.body))
        if topic == "speed_scaling_factor":
            return session.on_speed(*reader.doubles(1))
        stamp = reader.stamp()
        frame = reader.text()
        if topic == "payload":
            mass, *numbers = reader.doubles(10)
            return session.on_payload(frame, mass, numbers[:3], numbers[3:])
        quantity = topic.removeprefix("target_")
        vector = np.array(reader.doubles(7 if quantity == "pose" else 6))
        return session.on_target(EndEffectorTarget(quantity, stamp, frame, vector), now)
