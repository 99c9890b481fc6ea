"""The measuring of faults, its parts and a few faults end to end; without judging any time."""

import math
import random
import re
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from rcl_interfaces.srv import SetParameters
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from benchmarks.chaos import __main__ as chaos
from benchmarks.chaos import junk
from benchmarks.chaos.calls import request_for
from benchmarks.chaos.faults import FAULTS, FLOODED, Fault
from benchmarks.chaos.figures import BRAKES, Figures, is_safe, is_silent
from benchmarks.chaos.network import KEPT_BACK, SETTINGS, Line, shifted
from benchmarks.chaos.record import Heard, Joints, efforts, joints
from benchmarks.chaos.recording import Kept, has_small_disks
from benchmarks.chaos.table import Outcome, table, verdict
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.messages.effort_commands import EffortWriter
from robot_dynamics_ros.messages.joint_state import JointStateWriter
from robot_dynamics_ros.nodes.message_classes import message_class
from robot_dynamics_ros.nodes.messages import nanoseconds

NAMES = tuple(f"panda_joint{k}" for k in range(1, 8))


def fault(words: str) -> Fault:
    """The one with this title, or else with these words in it."""
    (found,) = [fault for fault in FAULTS if words == fault.title] or [f for f in FAULTS if words in f.title]
    return found


# End to end


def test_a_plant_that_stands_still() -> None:
    outcome = chaos.run(fault("plant stopped for 2 s"))
    measured = outcome.figures
    assert measured.wrong == 0
    assert measured.modes[0] == "hold (state_stale)"
    assert math.isfinite(measured.safe) and measured.fastest < 1.0
    assert sorted(outcome.exits) == [("computed_torque_node", 0), ("simulation_node", 0)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "mode"),
    [
        ("controller killed", BRAKES),
        ("plant killed", "hold (state_stale)"),
        ("all dropped", "hold (state_stale)"),
        ("out of order", "hold (clock_jumped_back)"),
        ("joint_states jumps by +10 s", "hold (clock_jumped_ahead)"),
        ("joint_states jumps by -10 s", "hold (clock_jumped_back)"),
        ("/clock jumps by +10 s", "hold (clock_jumped_ahead)"),
        ("/clock jumps by -10 s", "hold (clock_jumped_back)"),
        ("/clock stands still", "hold (cycle_rate)"),
        ("another robot", None),
        ("no URDF", None),
    ],
)
def test_what_the_controller_does(words: str, mode: str | None) -> None:
    outcome = chaos.run(fault(words))
    assert outcome.figures.wrong == 0
    if mode is not None:
        assert mode in outcome.figures.modes
    assert not any(code for _, code in outcome.exits)


@pytest.mark.slow
def test_a_clock_that_jumps_does_not_throw_the_arm() -> None:
    """Before that was a fault, the arm went where its trajectory would have been: 0.2 rad here, any way elsewhere."""
    assert chaos.run(fault("+1 h")).figures.off < 0.05


@pytest.mark.slow
def test_a_fault_that_is_cleared_by_hand() -> None:
    outcome = chaos.run(fault("manual"))
    assert outcome.figures.modes[-1] == "fault (state_stale)" and math.isfinite(outcome.figures.recovered)
    assert "the mode was fault, a trajectory was refused" in outcome.note and "answered: active" in outcome.note
    moved = re.search(r"moved by ([\d.e-]+) mrad", outcome.note)
    assert moved is not None and float(moved[1]) < 5.0


@pytest.mark.slow
def test_a_recorder_that_stands_still_loses_nothing_else() -> None:
    assert "0 of those before, 0 of those after" in chaos.run(fault("recorder stopped")).note


@pytest.mark.slow
def test_a_flood_of_what_is_recorded() -> None:
    outcome = chaos.run(fault("that is recorded"))
    growth = re.search(r"memory ([+-][\d.]+) MB", outcome.note)
    assert growth is not None and float(growth[1]) < 50.0
    assert "all but 0 of those before" in outcome.note
    assert ("recorder_node", 0) in outcome.exits


@pytest.mark.slow
@pytest.mark.parametrize("words", ["recorder killed", "disk full"])
def test_what_a_recorder_keeps(words: str) -> None:
    outcome = chaos.run(fault(words))
    lost = re.search(r"are lost \(([\d.]+) s\)", outcome.note)
    assert lost is not None and float(lost[1]) < 5.0
    assert [code for name, code in outcome.exits if name == "recorder_node"] == ([] if "killed" in words else [1])


@pytest.mark.slow
@pytest.mark.parametrize(
    "topic", ["/payload", "junk on effort_commands", "junk on joint_states of the controller", "calls of ~/set_p"]
)
def test_floods(topic: str) -> None:
    outcome = chaos.run(fault(topic))
    growth = re.search(r"memory ([+-][\d.]+) MB", outcome.note)
    assert growth is not None and float(growth[1]) < 50.0
    assert outcome.figures.wrong == 0 and not any(code for _, code in outcome.exits)


# Parts


def test_a_good_network_changes_nothing() -> None:
    line = Line(1)
    assert [line.arrivals(t, SETTINGS) for t in (1.0, 1.5, 2.0)] == [[1.0], [1.5], [2.0]]


def test_a_bad_network() -> None:
    line, times = Line(2), np.arange(10_000) * 1e-3
    dropped = [line.arrivals(t, SETTINGS | {"dropped": 0.3}) for t in times]
    assert dropped.count([]) == pytest.approx(3000, abs=200)
    jitter = [line.arrivals(t, SETTINGS | {"delay": 0.05, "jitter": 0.02})[0] for t in 100.0 + times]
    assert np.all(np.diff(jitter) >= 0.0), "the order stays"
    assert 0.05 <= np.min(jitter - times - 100.0) and np.max(jitter - times - 100.0) <= 0.0701
    late = [line.arrivals(t, SETTINGS | {"reordered": 0.1})[0] - t for t in 200.0 + times]
    assert np.count_nonzero(np.isclose(late, KEPT_BACK)) == pytest.approx(1000, abs=150)
    twice = [line.arrivals(t, SETTINGS | {"doubled": 0.3}) for t in 300.0 + times]
    assert sum(len(arrivals) == 2 for arrivals in twice) == pytest.approx(3000, abs=200)
    assert line.arrivals(500.0, SETTINGS | {"delay": 1.0}) == [501.0]
    assert line.arrivals(500.1, SETTINGS) == [501.0], "nothing overtakes when the delay ends"


def test_a_small_disk_is_of_one_process_only(tmp_path: Path) -> None:
    if not has_small_disks(tmp_path):
        pytest.skip("this machine lets nobody make a disk for one process")
    assert shutil.disk_usage(tmp_path).total > 1e9, "it is not to be seen from here"


def test_what_a_bag_has_lost() -> None:
    found = Kept(Counter({"/joint_states": 2}), [(1.0, True), (2.0, False), (3.0, True), (4.0, False)])
    assert found.lost(0.0, 3.5) == (1, 3)
    assert found.lost(3.5, 9.0) == (1, 1)


def test_calls_are_such_as_change_nothing() -> None:
    kind, request = request_for("computed_torque_node/set_parameters")
    assert kind is SetParameters and math.isnan(request.parameters[0].value.double_value)
    assert request_for("computed_torque_node/clear_fault")[0] is Trigger


@pytest.mark.parametrize("seconds", [10.0, -10.0, 3600.0, -0.25])
def test_shifted_stamps(seconds: float) -> None:
    numbers = np.arange(7.0)
    data = JointStateWriter(NAMES).write(1_700_000_000_100_000_000, numbers, numbers, numbers)
    message = deserialize_message(shifted(data, seconds), JointState)
    assert nanoseconds(message.header.stamp) == 1_700_000_000_100_000_000 + round(seconds * 1e9)
    assert list(message.position) == list(numbers) and message.name == list(NAMES)


@pytest.mark.parametrize("kind", sorted({kind for topics in FLOODED.values() for kind in topics.values()}))
def test_junk_is_of_many_kinds_and_never_a_command(kind: str) -> None:
    messages = junk.pool(message_class(kind), NAMES)
    assert len(messages) > junk.COUNT and len(set(messages)) > 20
    if kind in ("sensor_msgs/msg/JointState", "std_msgs/msg/Float64MultiArray"):
        assert not any(_is_right(kind, data) for data in messages)


def test_junk_of_times_is_before_1970() -> None:
    chance = random.Random(1)
    times = [junk._time(chance, NAMES).clock for _ in range(100)]
    assert all(time.sec < 0 for time in times) and max(time.nanosec for time in times) > 1e9


def _is_right(kind: str, data: bytes) -> bool:
    """Whether a message has one finite number for each joint."""
    try:
        message = deserialize_message(data, message_class(kind))
    except Exception:  # whatever the middleware says of bytes that are no message
        return False
    numbers = message.position if kind.endswith("JointState") else message.data
    named = not kind.endswith("JointState") or set(message.name) == set(NAMES)
    return named and len(numbers) == len(NAMES) and bool((np.abs(numbers) < 1e9).all())


def test_what_is_heard_is_read_again() -> None:
    states, commands = Heard(), Heard()
    q = np.arange(7.0)
    states.add(1.0, JointStateWriter(NAMES).write(5_000_000_000, q, q + 1.0, q + 2.0))
    commands.add(1.5, EffortWriter(7).write(q))
    read = joints(states, NAMES)
    assert (read.times[0], read.stamps[0]) == (1.0, 5.0)
    np.testing.assert_array_equal([read.position[0], read.velocity[0], read.effort[0]], [q, q + 1.0, q + 2.0])
    np.testing.assert_array_equal(efforts(commands, 7), [q])
    assert len(joints(Heard(), NAMES).position) == 0


def test_which_torque_is_safe(load_robot: Callable[..., RobotModel]) -> None:
    model = load_robot("panda", "panda")
    q, qd = np.array([[0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]]), np.full((1, 7), 0.1)
    states = Joints(np.zeros(1), np.zeros(1), q, qd, np.zeros((1, 7)))
    carries = model.gravity_torque(q[0])
    damps = carries - 20.0 * model.mass_matrix(q[0]) @ qd[0]
    for effort in (carries, damps, np.zeros(7)):
        assert is_safe(model, states, slice(0, 1), effort)
    for effort in (carries + 1e-3, damps * 1.01, np.full(7, math.nan)):
        assert not is_safe(model, states, slice(0, 1), effort)


@pytest.mark.parametrize(
    ("states", "commands", "silent"),
    [
        pytest.param((0.0, 1.0), (0.0, 1.0), False, id="both go on"),
        pytest.param((0.0, 1.0), (0.0, 0.5), True, id="commands end"),
        pytest.param((0.0, 0.5), (0.0, 0.5), False, id="both end"),
        pytest.param((0.0, 1.0), (1.0, 1.0), True, id="no commands"),
    ],
)
def test_whether_the_motors_lacked_commands(
    states: tuple[float, float], commands: tuple[float, float], silent: bool
) -> None:
    times = [np.arange(*span, 0.002) for span in (states, commands)]
    assert is_silent(times[0], times[1], 0.0, 1.0) is silent


def _outcome(modes: tuple[str, ...] = (), wrong: int = 0, code: int = 0, note: str = "") -> Outcome:
    measured = Figures(modes, 0.118, 0.0011, 0.157, 1.25, 0.0 if not modes else 0.21, math.nan, wrong)
    return Outcome("some fault", measured, note, [("computed_torque_node", code)])


def test_table() -> None:
    goes_on, holds = table([_outcome(), _outcome(("hold (state_stale)", "zero (state_stale)"))]).splitlines()[2:]
    cells = [cell.strip() for cell in goes_on.split("|")][1:-1]
    assert cells == ["some fault", "goes on", "118 ms", "1.1", "0.16", "–", "1.25 s", "at once"]
    assert "hold (state_stale), then zero (state_stale)" in holds and "210 ms" in holds
    assert table([_outcome(note="3 MB")]).endswith("- some fault: 3 MB.")


def test_verdict() -> None:
    assert verdict([_outcome()]).count("none") == 2
    said = verdict([_outcome(), _outcome(wrong=3, code=1)])
    assert "limits: 3." in said and "computed_torque_node with 1 (some fault)" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no such fault at all"], "see --list"),
        (["killed", "--write", "x.md"], "leave out the words"),
        (["--write", "nowhere.md"], "Cure: a Markdown file with"),
    ],
)
def test_arguments_that_make_no_sense(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(chaos, "run", lambda chosen: pytest.fail("it ran"))
    with pytest.raises(SystemExit) as problem:
        chaos.main(arguments)
    assert message in capsys.readouterr().err + str(problem.value)
