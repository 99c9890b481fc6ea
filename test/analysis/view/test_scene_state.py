"""State of an arm at a time, from a recording or from received messages."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.analysis.view import viewer as module
from robot_dynamics_ros.analysis.view.scene_state import (
    Clock,
    JointTracks,
    LiveArm,
    Track,
    read_motion,
)
from robot_dynamics_ros.base.errors import BagError
from robot_dynamics_ros.recordings.bags import BagWriter
from robot_dynamics_ros.recordings.messages.joint_state import JointStateWriter
from support.report_recordings import ARM, PERIOD, START, STATES, record

MODEL = RobotModel.from_urdf(ARM)
ONE = np.ones(1)


def _read(bag: Path) -> tuple[JointTracks, list[str]]:
    return read_motion(bag, STATES, MODEL)


def test_recording_at_and_between_messages(tmp_path: Path) -> None:
    recording, notes = _read(record(tmp_path / "bag", cycles=200))
    assert recording.duration == pytest.approx(1.99) and notes == []
    state = recording.scene_state(MODEL, 1.0)
    assert state.desired == pytest.approx([np.sin(5.0)] * 2)
    assert state.q == pytest.approx([np.sin(5.0) - 0.003, np.sin(5.0)])
    assert state.qd == pytest.approx([5.0 * np.cos(5.0)] * 2)
    assert state.torque == pytest.approx([3.0 + np.cos(10.0)] * 2)
    # The mean over 50 ms of -25 sin(5 t).
    assert state.qdd == pytest.approx([-25.0 * np.sin(5.0)] * 2, rel=0.01)
    assert recording.scene_state(MODEL, 0.055).desired == pytest.approx(
        [0.5 * (np.sin(0.25) + np.sin(0.3))] * 2
    )
    assert recording.scene_state(MODEL, 99.0).q == pytest.approx(
        recording.scene_state(MODEL, recording.duration).q
    )
    assert recording.scene_state(MODEL, -1.0).q == pytest.approx(
        recording.scene_state(MODEL, 0.0).q
    )


def test_effort_that_was_not_measured_is_the_commanded_or_the_models(
    tmp_path: Path,
) -> None:
    recording, _ = _read(record(tmp_path / "commanded", cycles=50, efforts=False))
    assert recording.torque_kind == "commanded effort"
    assert recording.scene_state(MODEL, 0.2).torque == pytest.approx(
        [3.0 + np.cos(2.0)] * 2
    )
    recording, (note,) = _read(
        record(tmp_path / "alone", cycles=100, commands=False, efforts=False)
    )
    assert (
        "command_states" in note and recording.torque_kind == "computed from the motion"
    )
    state = recording.scene_state(MODEL, 0.5)
    assert state.desired is None
    assert state.torque == pytest.approx(
        MODEL.inverse_dynamics(state.q, state.qd, state.qdd)
    )


def _positions(path: Path, positions: list[float], stamped: bool) -> Path:
    """Write a bag of positions of the first joint, without velocity and effort."""
    writer = JointStateWriter(("a", "b"))
    none = np.empty(0)
    with BagWriter(path, {STATES: "sensor_msgs/msg/JointState"}) as bag:
        for k, q in enumerate(positions):
            at = START + k * PERIOD
            bag.write(
                STATES,
                at,
                writer.write(at if stamped else 0, np.array([q, 0.0]), none, none),
            )
    return path


@pytest.mark.parametrize("stamped", [True, False])
def test_recording_of_positions_alone(stamped: bool, tmp_path: Path) -> None:
    """Velocity is the slope; without stamps the time of reception counts; invalid values are omitted."""
    positions = [np.nan if k == 50 else 0.02 * k for k in range(100)]
    state = _read(_positions(tmp_path / "bag", positions, stamped))[0].scene_state(
        MODEL, 0.5
    )
    assert state.q == pytest.approx([1.0, 0.0]) and state.qd == pytest.approx(
        [2.0, 0.0]
    )
    assert state.qdd.tolist() == [0.0, 0.0]
    with pytest.raises(BagError, match="finite position"):
        _read(_positions(tmp_path / "nothing", [np.nan], stamped))


def test_recordings_are_aligned_where_the_desired_position_first_changes(
    tmp_path: Path,
) -> None:
    recording, _ = _read(record(tmp_path / "bag", cycles=50))
    assert recording.start == pytest.approx(0.01)
    desired = Track(
        np.array([0.0, 1.0, 2.0]), np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 2.1]])
    )
    assert replace(recording, desired=desired).start == 2.0
    assert replace(recording, desired=None).start == 0.0
    assert replace(recording, desired=Track(np.zeros(1), np.zeros((1, 2)))).start == 0.0


def test_clock_of_a_recording() -> None:
    clock = Clock(2.0)
    assert not clock.advance(1.0) and clock.time == 0.0
    clock.playing = True
    clock.speed = 0.5
    assert clock.advance(1.0) and clock.time == 0.5
    assert clock.advance(3.5) and clock.time == 0.0 and clock.playing, "it begins anew"
    clock.repeat = False
    assert clock.advance(9.0) and clock.time == 2.0 and not clock.playing, (
        "it stops at the end"
    )
    clock.play()
    assert clock.advance(1.0) and clock.time == 0.5, "play at the end begins anew"
    assert not Clock(0.0, playing=True).advance(1.0)


@pytest.mark.parametrize("with_velocity", [True, False])
def test_live_derivatives(with_velocity: bool) -> None:
    """For q = t^2: velocity 2 t, delayed by the low-pass filter if not published, and acceleration 2."""
    arm = LiveArm()
    for t in np.arange(1.0, 3.0, 0.01):
        arm.state(t, t, ONE * t**2, ONE * 2 * t if with_velocity else None, None)
    state = arm.scene_state(3.0)
    assert state.qd == pytest.approx([2 * 2.99], abs=1e-12 if with_velocity else 0.15)
    assert state.qdd == pytest.approx([2.0], abs=1e-3)
    arm.state(0.2, 3.0, ONE, ONE, None)
    assert arm.scene_state(3.0).qdd.tolist() == [0.0], (
        "a clock that begins anew gives no acceleration"
    )


def test_live_effort_and_ghost() -> None:
    arm = LiveArm()
    arm.state(1.0, 1.0, np.array([np.nan]), None, None)
    assert arm.scene_state(1.0) is None and arm.age(0.0) == np.inf, (
        "before anything finite came"
    )
    arm.state(1.0, 1.0, ONE, ONE, None)
    state = arm.scene_state(1.0)
    assert np.isnan(state.torque).all() and state.desired is None
    arm.command(1.1, 2 * ONE, 3 * ONE)
    state = arm.scene_state(1.2)
    assert (state.torque_kind, state.torque[0], state.desired[0]) == (
        "commanded effort",
        3.0,
        2.0,
    )
    arm.state(1.3, 1.3, ONE, ONE, 4 * ONE)
    state = arm.scene_state(1.3)
    assert (state.torque_kind, state.torque.tolist()) == ("measured effort", [4.0])
    assert arm.scene_state(2.2).desired is None, (
        "a controller that is silent desires nothing"
    )
    assert arm.age(2.2) == pytest.approx(0.9)


def test_live_page_reports_silence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("viser")
    pytest.importorskip("trimesh")
    shown: list[Any] = []
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(
        module.Viewer, "status", lambda viewer, text: shown.append(text)
    )
    monkeypatch.setattr(module.Scene, "stale", lambda scene, stale: shown.append(stale))
    arm = LiveArm()
    viewer, update = module.live_view(MODEL, ARM, tmp_path, arm, ("127.0.0.1", 18380))
    try:
        update(0.04)
        assert shown == ["waiting for joint states", True]
        arm.state(1.0, clock.now, np.array([0.1, 0.2]), None, np.array([4.0, 5.0]))
        update(0.04)
        clock.now += 3.2
        update(0.04)
        assert shown[2:] == [False, "live", True, "no joint states for 3 s"]
    finally:
        viewer.close()
