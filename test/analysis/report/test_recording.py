"""Recordings for the report, and the numbers of its tables."""

import base64
import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.analysis.report import read_recording
from robot_dynamics_ros.analysis.report.figures import joint_figure
from robot_dynamics_ros.analysis.report.page import (
    durations,
    event_rows,
    timing_rows,
    torque_rows,
    tracking_rows,
)
from robot_dynamics_ros.analysis.report.recording import answers, largest, rms, tracking
from robot_dynamics_ros.analysis.report.verdict import verdict
from robot_dynamics_ros.base.joint_messages import DriveCommand
from robot_dynamics_ros.recordings.bags import BagReader, BagWriter
from robot_dynamics_ros.recordings.messages.cdr import FLOAT64_MULTI_ARRAY
from robot_dynamics_ros.recordings.messages.drive_commands import DriveCommandWriter
from support.report_recordings import (
    ARM,
    COMMANDS,
    PERIOD,
    START,
    STATES,
    diagnostics,
    fault,
    record,
)

DRIVES = "/drive_commands"
LINE = "drive's own share"


def test_tracking_error(tmp_path: Path) -> None:
    """0.003 and -0.004 in turn: RMS sqrt(12.5e-6), largest 0.004; two states without an answer are left out."""
    recording = read_recording(
        record(tmp_path / "bag", lost=(100, 201), late=(50, 51)), STATES
    )
    found = answers(recording)
    assert (found.lost, found.late, len(found.states)) == (2, 2, 398)
    motion = tracking(recording, found)
    assert motion.joint_names == ("a", "b")
    assert rms(motion.error[:, 0]) == pytest.approx(np.sqrt(12.5e-6))
    assert largest(motion.error[:, 0]) == pytest.approx(0.004)
    facts = {fact.topic: fact for fact in recording.topics}
    assert set(facts) == {STATES, COMMANDS} and facts[STATES].count == 400
    assert (
        facts[STATES].rate == pytest.approx(100.0)
        and facts[STATES].first == START + 500
    )
    a, b = tracking_rows(recording, motion)
    # 1 % of the range of the desired position, 2 rad, is allowed.
    assert a[:5] == ("a", "mrad", "3.536", "20", "4") and b[:5] == (
        "b",
        "mrad",
        "0",
        "20",
        "0",
    )
    assert motion.time[0] == 0.0 and motion.time[-1] == pytest.approx(3.99)


def test_states_that_are_sent_again_count_once(tmp_path: Path) -> None:
    recording = read_recording(record(tmp_path / "bag", cycles=20), STATES)
    state = recording.state
    twice = np.repeat(np.arange(20), 2)
    received = state.received[twice] + np.tile([0, 300], 20)
    columns = (state.position, state.velocity, state.effort)
    again = type(state)(
        state.joint_names,
        state.stamps[twice],
        received,
        *(values[twice] for values in columns),
    )
    found = answers(dataclasses.replace(recording, state=again))
    assert len(found.states) == 20 and found.lost == 0
    np.testing.assert_allclose(found.latency, 1e-3, rtol=1e-9)


def test_latency_counts_from_the_state_to_its_answer(tmp_path: Path) -> None:
    recording = read_recording(
        record(tmp_path / "bag", late=range(0, 400, 100)), STATES
    )
    both, latency = timing_rows(durations(recording, answers(recording)))
    assert both[1:] == ("399", *["10"] * 6)
    recording.state.received[:] += np.arange(400) % 2 * 1_000_000
    stamps, arrival, _ = timing_rows(durations(recording, answers(recording)))
    assert stamps[1:] == both[1:] and (arrival[2], arrival[-1]) == ("9", "11")
    assert latency[1:] == ("400", "1", "1", "1", latency[5], "12", "12")


def test_model_gives_units_limits_and_residual(tmp_path: Path) -> None:
    model = RobotModel.from_urdf(ARM)
    recording = read_recording(record(tmp_path / "bag"), STATES, model=model)
    assert (
        recording.sliding("b")
        and not recording.sliding("a")
        and recording.effort_limit("a") == 8.0
    )
    a, b = torque_rows(recording)
    assert a[:2] == ["a", "Nm"] and b[:2] == ["b", "N"]
    assert (a[6], a[7]) == ("8", "50 %") and (b[6], b[7]) == ("500", "0.8 %"), (
        "the largest torque is 4"
    )
    assert a[8] == f"{recording.analysis.rms[0]:.4g}"
    assert a[4] == f"{recording.analysis.size(recording.analysis.motion.tau)[0]:.4g}", (
        "filtered as the residual is"
    )
    assert [float(a[9]) / float(a[4]), float(b[9]) / float(b[4])] == pytest.approx(
        [0.1, 0.5], rel=2e-3
    ), "8 and 500 N"
    found = tracking(recording, answers(recording))
    assert [row[1] for row in tracking_rows(recording, found)] == ["mrad", "mm"]
    texts = " ".join(one.text for one in verdict(recording, answers(recording), found))
    assert re.search(r"Largest error: [\d.]+ mrad in a, [\d.]+ mm in b\.", texts), (
        "mrad and mm are not compared"
    )


def test_verdict(tmp_path: Path) -> None:
    reported = [
        (100, fault("active", "hold")),
        (150, fault("hold", "fault")),
        (200, fault("fault", "active")),
    ]
    recording = read_recording(
        record(tmp_path / "bag", reported=reported, lost=(100,), late=(50, 51)), STATES
    )
    recording.state.position[150:, 0] += 0.1  # after the fault
    found = answers(recording)
    motion, faults, timing, torque = verdict(
        recording, found, tracking(recording, found)
    )
    assert motion.kind == "good" and "fault" in motion.title and "1 of 2" in motion.text
    assert faults.kind == "bad" and all(
        text in faults.text for text in ("1.000 s", "velocity_limit", "joint a")
    )
    assert timing.kind == "bad" and re.findall(r"\d+", timing.title) == [
        "400",
        "1",
        "2",
    ]
    assert torque.kind == "unknown" and "Cure" in torque.text
    first, *others = verdict(recording, None, None)
    assert first.kind == "bad" and {one.kind for one in others} == {"unknown"}, (
        "findings come first"
    )
    assert recording.counts_from_zero is False


def test_efforts_that_are_missing_are_named(tmp_path: Path) -> None:
    silent = read_recording(
        record(tmp_path / "silent", efforts=False),
        STATES,
        model=RobotModel.from_urdf(ARM),
    )
    assert silent.analysis is None and "effort" in silent.why["analysis"]


def test_transitions_and_warnings_are_events(tmp_path: Path) -> None:
    """Regular reports of a mode are no events; a transition is, and a warning of another node, once."""
    reported = [
        (10, diagnostics(0, "active", mode="active", previous_mode="")),
        (20, fault("active", "hold")),
        (30, diagnostics(2, "hold: too fast", mode="hold", previous_mode="")),
        (40, fault("hold", "fault", "passes again")),
        (50, diagnostics(1, "hot", name="driver")),
        (60, diagnostics(1, "hot", name="driver")),
        (70, diagnostics(0, "fine", name="driver")),
        (80, b"\0\1\0\0nonsense"),
        (90, fault("fault", "active", "cleared")),
    ]
    recording = read_recording(record(tmp_path / "bag", reported=reported), STATES)
    events = recording.diagnostics.events
    times = recording.at_arrival(np.array([event.received for event in events]))
    # They are placed where they arrive, whatever their stamps say: 100 ns after joint states.
    np.testing.assert_allclose(times, [0.2, 0.4, 0.5, 0.9], atol=1e-6)
    rows = [*event_rows(events, times)]
    assert rows[0] == (
        "0.200",
        "controller",
        "ERROR",
        "active → hold",
        "velocity_limit",
        "a",
        "2.31",
        "too fast",
    )
    assert [row[2] for row in rows] == ["ERROR", "ERROR", "WARN", "OK"]
    assert [row[3] for row in rows] == [
        "active → hold",
        "hold → fault",
        "",
        "fault → active",
    ]
    since, modes = recording.mode_history("controller")
    np.testing.assert_allclose(since, [0.0, 0.1, 0.2, 0.3, 0.4, 0.9, 3.99], atol=1e-6)
    assert modes == ["active", "active", "hold", "hold", "fault", "active", "active"]
    assert recording.diagnostics.count == 9 and recording.diagnostics.unreadable == 1


def test_arrival_on_the_clock_of_the_states(tmp_path: Path) -> None:
    """The stamp of the last message and the time since then, but not beyond the next message, as when time stands."""
    recording = read_recording(record(tmp_path / "bag", cycles=11), STATES)
    recording.state.received[6:] += 3 * PERIOD
    arrivals = START + 500 + np.array([-30, 0, 5, 52, 75, 130, 150]) * (PERIOD // 10)
    times = recording.at_arrival(arrivals)
    np.testing.assert_allclose(
        times, [-0.03, 0.0, 0.005, 0.052, 0.06, 0.1, 0.12], atol=1e-9
    )


def test_time_begins_with_the_first_answered_state(tmp_path: Path) -> None:
    """A replay begins there, too, so that both reports have the same times."""
    recording = read_recording(record(tmp_path / "bag", lost=range(20)), STATES)
    assert recording.seconds(recording.state)[[0, 20]].tolist() == pytest.approx(
        [-0.2, 0.0]
    )
    assert recording.time_span() == pytest.approx((-0.2, 3.79))


def test_commands_are_no_measurements(tmp_path: Path) -> None:
    """The output of a replay has commands only."""
    recording = read_recording(
        record(tmp_path / "bag"), COMMANDS, model=RobotModel.from_urdf(ARM)
    )
    assert (
        recording.state is None
        and recording.analysis is None
        and "state" in recording.why
    )
    assert recording.series is recording.command and recording.command_topic == COMMANDS
    a, _ = torque_rows(recording)
    assert a[3] == "4" and a[4:6] == ["–", "–"], "commanded, and not measured"
    assert answers(recording) is None and tracking(recording, None) is None


def test_messages_without_stamp(tmp_path: Path) -> None:
    """A stamp of zero among others is none; a simulated clock begins there."""
    recording = read_recording(record(tmp_path / "bag", cycles=5), STATES)
    stamps = recording.state.stamps
    stamps[2] = recording.command.stamps[2] = 0
    np.testing.assert_allclose(
        recording.seconds(recording.state), [0, 0.01, np.nan, 0.03, 0.04], atol=1e-9
    )
    stamps[:] = PERIOD * np.arange(5)
    recording = dataclasses.replace(recording)  # without cached times
    np.testing.assert_allclose(
        recording.seconds(recording.state), [0, 0.01, 0.02, 0.03, 0.04], atol=1e-9
    )
    stamps[:] = 0
    recording = dataclasses.replace(recording)
    assert not recording.stamped
    np.testing.assert_allclose(
        recording.seconds(recording.state), [0, 0.01, 0.02, 0.03, 0.04], atol=1e-9
    )


def test_own_share_of_drives_is_the_effort_less_their_feedforward(
    tmp_path: Path,
) -> None:
    """Messages are found by their stamps; one is missing, and one answers no state."""
    none = np.zeros(2)
    share = np.array([0.25, -0.5])
    writer = DriveCommandWriter(2)
    plain = record(tmp_path / "plain", cycles=20)
    with BagReader(plain) as reader:
        topics = reader.topics | {DRIVES: FLOAT64_MULTI_ARRAY}
        with BagWriter(tmp_path / "bag", topics) as bag:
            for k, message in enumerate(reader.messages()):
                bag.write(message.topic, message.received, message.data)
                if message.topic == COMMANDS:
                    torque = np.full(2, 3.0 + np.cos(0.1 * (k // 2)))
                    stamp = START + k // 2 * PERIOD if k > 1 else 0
                    drive = DriveCommand(none, none, none, none, torque - share)
                    bag.write(DRIVES, message.received, writer.write(stamp, drive))
    recording = read_recording(tmp_path / "bag", STATES)
    for joint, expected in zip("ab", share, strict=True):
        figure = joint_figure(recording, joint, None)
        (line,) = [line for line in figure["data"] if line["name"] == LINE]
        values = np.frombuffer(base64.b64decode(line["y"]["bdata"]), "<f4")
        assert np.isnan(values[0]) and len(values) == 20
        np.testing.assert_allclose(values[1:], expected, rtol=1e-6)
    figure = joint_figure(read_recording(plain, STATES), "a", None)
    assert LINE not in [line["name"] for line in figure["data"]]
