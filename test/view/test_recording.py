"""A recording at any of its times: what was recorded there, and the derivatives of the motion."""

from pathlib import Path

import numpy as np
import pytest
from report.recordings import ARM, PERIOD, START, STATES, record

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.bags import BagWriter
from robot_dynamics_ros.errors import BagError
from robot_dynamics_ros.messages.joint_state import JointStateWriter
from robot_dynamics_ros.view.recording import Clock, MotionRecording, read_motion

ARM_MODEL = RobotModel.from_urdf(ARM)


def read(bag: Path) -> tuple[MotionRecording, list[str]]:
    return read_motion(bag, STATES, ARM_MODEL)


def test_moment(tmp_path: Path) -> None:
    recording, notes = read(record(tmp_path / "bag", cycles=200))
    assert recording.duration == pytest.approx(1.99) and notes == []
    moment = recording.moment(ARM_MODEL, 1.0)
    assert moment.desired == pytest.approx([np.sin(5.0)] * 2)
    assert moment.q == pytest.approx([np.sin(5.0) - 0.003, np.sin(5.0)])
    assert moment.qd == pytest.approx([5.0 * np.cos(5.0)] * 2)
    assert moment.torque == pytest.approx([3.0 + np.cos(10.0)] * 2)
    # The mean over 50 ms of -25 sin(5 t).
    assert moment.qdd == pytest.approx([-25.0 * np.sin(5.0)] * 2, rel=0.01)


def test_between_messages_and_beyond_the_ends(tmp_path: Path) -> None:
    recording, _ = read(record(tmp_path / "bag", cycles=20))
    late = recording.moment(ARM_MODEL, 0.055)
    assert late.desired == pytest.approx([0.5 * (np.sin(0.25) + np.sin(0.3))] * 2)
    assert recording.moment(ARM_MODEL, 99.0).q == pytest.approx(recording.moment(ARM_MODEL, recording.duration).q)
    assert recording.moment(ARM_MODEL, -1.0).q == pytest.approx(recording.moment(ARM_MODEL, 0.0).q)


def test_what_is_not_there_is_told_and_computed(tmp_path: Path) -> None:
    recording, (note,) = read(record(tmp_path / "bag", cycles=100, commands=False, efforts=False))
    assert "no topic command_states" in note and recording.torque_kind == "the model's torque"
    moment = recording.moment(ARM_MODEL, 0.5)
    assert moment.desired is None
    assert moment.torque == pytest.approx(ARM_MODEL.inverse_dynamics(moment.q, moment.qd, moment.qdd))


def test_commanded_effort_in_place_of_the_measured(tmp_path: Path) -> None:
    recording, _ = read(record(tmp_path / "bag", cycles=50, efforts=False))
    assert recording.torque_kind == "commanded effort"
    assert recording.moment(ARM_MODEL, 0.2).torque == pytest.approx([3.0 + np.cos(2.0)] * 2)


@pytest.mark.parametrize("stamped", [True, False])
def test_positions_alone(stamped: bool, tmp_path: Path) -> None:
    """Velocity is the slope of the position; without stamps time is that of arrival; what is not finite is left out."""
    writer, none = JointStateWriter(("a", "b")), np.empty(0)
    with BagWriter(tmp_path / "bag", {STATES: "sensor_msgs/msg/JointState"}) as bag:
        for k in range(100):
            at = START + k * PERIOD
            q = np.array([np.nan if k == 50 else 0.02 * k, 0.0])
            bag.write(STATES, at, writer.write(at if stamped else 0, q, none, none))
    moment = read(tmp_path / "bag")[0].moment(ARM_MODEL, 0.5)
    assert moment.q == pytest.approx([1.0, 0.0]) and moment.qd == pytest.approx([2.0, 0.0])
    assert moment.qdd.tolist() == [0.0, 0.0]


def test_nothing_finite(tmp_path: Path) -> None:
    writer, none = JointStateWriter(("a", "b")), np.empty(0)
    with BagWriter(tmp_path / "bag", {STATES: "sensor_msgs/msg/JointState"}) as bag:
        bag.write(STATES, START, writer.write(START, np.array([np.nan, 0.0]), none, none))
    with pytest.raises(BagError, match="no message has a finite position.*Cure"):
        read(tmp_path / "bag")


def test_clock() -> None:
    clock = Clock(2.0)
    assert not clock.advance(1.0) and clock.time == 0.0
    clock.playing, clock.speed = True, 0.5
    assert clock.advance(1.0) and clock.time == 0.5
    assert clock.advance(3.5) and clock.time == 0.0, "it begins anew"
    assert not Clock(0.0, playing=True).advance(1.0)
