"""Serialized inputs of the controller: decoded as by rclpy, for any content, and passed to the session."""

import struct
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from geometry_msgs.msg import AccelStamped, InertiaStamped, PoseStamped, TwistStamped
from hypothesis import given
from hypothesis import strategies as st
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.clock import Now
from robot_dynamics_ros.control.configuration.settings import ControllerSettings
from robot_dynamics_ros.control.estimation.estimator import VelocitySource
from robot_dynamics_ros.control.interface import ERROR, Output
from robot_dynamics_ros.control.safety import Cause
from robot_dynamics_ros.control.session import ControllerSession
from robot_dynamics_ros.ros.conversions import stamp as to_stamp
from robot_dynamics_ros.runs.inputs import INPUTS, InputReader

XYZ = ("x", "y", "z")
MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
FIELDS: dict[str, Any] = {
    "target_pose": (
        PoseStamped,
        "pose",
        (("position", XYZ), ("orientation", (*XYZ, "w"))),
    ),
    "target_twist": (TwistStamped, "twist", (("linear", XYZ), ("angular", XYZ))),
    "target_acceleration": (AccelStamped, "accel", (("linear", XYZ), ("angular", XYZ))),
    "payload": (InertiaStamped, "inertia", (("", ("m",)), ("com", XYZ), ("", MOMENTS))),
}
COUNTS = {
    topic: sum(len(names) for _, names in vectors)
    for topic, (_, _, vectors) in FIELDS.items()
}
NUMBERS = st.lists(st.floats(width=64), min_size=10, max_size=10)
STAMPS = st.tuples(st.integers(-(2**31), 2**31 - 1), st.integers(0, 2**32 - 1))
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9)
NOW = Now(1.0, lambda: 2)


class Inputs:
    """Input reader whose session records its calls."""

    def __init__(self) -> None:
        self.session = Mock(
            spec=ControllerSession,
            safety=Mock(),
            controller=Mock(),
            arm=Mock(robot=Mock(joint_names=("a", "b"))),
        )
        self.reader = InputReader(self.session)

    def refused(self, topic: str, data: bytes) -> bool:
        output: Output = self.reader.receive(topic, data, NOW)
        return isinstance(output, Output) and [note.level for note in output.notes] == [
            ERROR
        ]


def message(topic: str, numbers: Any, stamp: tuple[int, int], frame: str) -> Any:
    message_class, part, vectors = FIELDS[topic]
    made = message_class()
    values = iter(numbers)
    made.header.stamp.sec, made.header.stamp.nanosec = stamp
    made.header.frame_id = frame
    for vector, names in vectors:
        target = getattr(getattr(made, part), vector) if vector else getattr(made, part)
        for name in names:
            setattr(target, name, next(values))
    return made


def big_endian(stamp: tuple[int, int], frame: str, numbers: Any) -> bytes:
    """Return big-endian CDR, written number by number."""
    text = frame.encode() + b"\0"
    body = struct.pack(">iII", *stamp, len(text)) + text
    return (
        b"\0\0\0\0"
        + body
        + bytes(-len(body) % 8)
        + struct.pack(f">{len(numbers)}d", *numbers)
    )


@given(
    topic=st.sampled_from(sorted(FIELDS)), numbers=NUMBERS, stamp=STAMPS, frame=TEXTS
)
def test_messages_of_rclpy_are_read(
    topic: str, numbers: list[float], stamp: tuple[int, int], frame: str
) -> None:
    inputs = Inputs()
    expected = numbers[: COUNTS[topic]]
    written = bytes(serialize_message(message(topic, numbers, stamp, frame)))
    for data in (written, big_endian(stamp, frame, expected)):
        inputs.reader.receive(topic, data, NOW)
        if topic == "payload":
            link, *given_numbers = inputs.session.on_payload.call_args.args
            assert link == frame
            found = np.hstack(given_numbers)
        else:
            target, now = inputs.session.on_target.call_args.args
            assert (target.quantity, target.frame, now) == (
                topic.removeprefix("target_"),
                frame,
                NOW,
            )
            assert target.stamp == stamp[0] * 1_000_000_000 + stamp[1]
            found = target.numbers
        np.testing.assert_array_equal(found, expected)


def test_positions_are_feedback_beside_velocities_of_another_length() -> None:
    """The velocities end: a fault, in which the arm is held by its positions and their differences."""
    model = RobotModel.shipped("planar_2r")
    session = ControllerSession(model, ControllerSettings())
    reader = InputReader(session)
    session.activate(compare_effort=False)
    for k in range(40):
        t = 1.0 + 0.002 * k
        now = Now(t, lambda: 0)
        moved = 0.0001 * max(k - 20, 0)
        state = JointState(name=list(model.joint_names), position=[0.3 + moved, 0.2])
        state.header.stamp = to_stamp(round(t * 1e9))
        state.velocity = [0.0, 0.0] if k < 20 else [0.0]
        reader.receive("joint_states", bytes(serialize_message(state)), now)
    assert session.controller is not None
    estimate = session.controller.estimator.estimate
    assert session.safety.fault is not None
    assert session.safety.fault.cause is Cause.STATE_INVALID
    assert estimate.trusted and estimate.source is VelocitySource.DIFFERENTIATED
    np.testing.assert_array_equal(estimate.state[0], state.position)
    np.testing.assert_allclose(estimate.state[1], [0.05, 0.0], atol=1e-9)


def test_speed_scaling_factor_brakes_and_emergency_stop() -> None:
    inputs = Inputs()
    for engaged in (True, False):
        inputs.reader.receive(
            "brakes_engaged", bytes(serialize_message(Bool(data=engaged))), NOW
        )
        inputs.session.on_brakes.assert_called_with(engaged)
    inputs.reader.receive(
        "speed_scaling_factor", bytes(serialize_message(Float64(data=0.25))), NOW
    )
    inputs.session.on_speed.assert_called_once_with(0.25)
    for topic, source in (
        ("emergency_stop", "~/emergency_stop"),
        ("/cell/panel", "/cell/panel"),
    ):
        for data in (True, False):
            inputs.reader.receive(topic, bytes(serialize_message(Bool(data=data))), NOW)
            inputs.session.safety.emergency_stop.assert_called_with(source, data)
        inputs.reader.receive(topic, b"", NOW)
        # an invalid message never releases it
        inputs.session.safety.emergency_stop.assert_called_with(source, True)


@pytest.mark.parametrize(
    "topic", sorted(INPUTS.keys() - {"joint_states", "emergency_stop"})
)
def test_truncated_messages_are_refused(topic: str) -> None:
    inputs = Inputs()
    whole = big_endian((1, 2), "base", [0.0] * COUNTS.get(topic, 0))
    if topic == "speed_scaling_factor":
        whole = b"\0\1\0\0" + struct.pack("<d", 0.5)
    if topic == "brakes_engaged":
        whole = b"\0\1\0\0\1"
    assert all(inputs.refused(topic, whole[:size]) for size in range(len(whole)))
    assert inputs.refused(topic, b"\0\7" + whole[2:]), "another encoding"
    assert inputs.session.controller.refuse.called == (topic == "joint_trajectory")
