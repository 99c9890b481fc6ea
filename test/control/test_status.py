"""What a controller says of itself: levels, words and counts."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros.control.faults import Cause, Fault
from robot_dynamics_ros.control.feedback import Feedback
from robot_dynamics_ros.control.safety import Mode, Transition
from robot_dynamics_ros.control.status import ERROR, OK, WARN, Status, StatusReport, in_words, plain

FAULT = Fault(Cause.COLLISION, 'joint "b" has hit something. Cure: look', "b", -7.5)


def controller(**changes: Any) -> Any:
    """What a report reads of a controller that has run for a while."""
    feedback = Feedback(("a", "b"), 0.0, 0.1)
    feedback.take(5.0, 9.0, np.zeros(2), np.zeros(2))
    read = {
        "settings": SimpleNamespace(law="pd"), "mode": Mode.ACTIVE, "fault": None, "fault_count": 3,
        "feedback": feedback, "cycles": 700, "late_cycles": 20, "clamped_cycles": 0, "slowed_cycles": 40,
        "speed_scaling": 0.5, "hand": None,
        "trajectories": 1, "dropped_trajectories": 1, "following": True,
    }  # fmt: skip
    return SimpleNamespace(**{**read, **changes})


def status(of: Any, transition: Transition | None = None, report: StatusReport | None = None) -> Status:
    """What is said of it at 10 s."""
    return (report or StatusReport(0.0)).status(of, 10.0, 0.25, transition)


def test_the_levels_are_those_of_the_message() -> None:
    """diagnostic_msgs/msg/DiagnosticStatus: 0 OK, 1 WARN, 2 ERROR."""
    assert [status(controller(**changes)).level for changes in ({}, {"cycles": 0}, {"mode": Mode.ZERO})] == [0, 1, 2]
    assert (OK, WARN, ERROR) == (0, 1, 2)


def test_all_is_well() -> None:
    level, message, values = status(controller())
    assert (level, message) == (OK, "active")
    assert values == {
        "law": "pd", "mode": "active", "previous mode": "", "cause": "", "joint": "", "value": "", "faults": 3,
        "cycles": 700, "rate": 70.0, "late cycles": 20, "clamped cycles": 0, "rate limited cycles": 40,
        "state age": 1.0, "stamp age": 0.25, "speed scaling": 0.5,
        "trajectories": 1, "dropped trajectories": 1, "following": True,
    }  # fmt: skip


def test_before_the_first_state_it_waits() -> None:
    new = controller(cycles=0, feedback=Feedback(("a", "b"), 0.0, 0.1))
    level, message, values = status(new)
    assert (level, message) == (WARN, "waiting: no joint_states yet")
    assert (values["state age"], values["stamp age"], values["rate"]) == ("", "", 0.0)
    assert status(controller(cycles=1)).level == OK


def test_it_warns_of_limits_that_cut_since_it_was_told_last() -> None:
    report = StatusReport(0.0)
    cut = controller(clamped_cycles=1)
    assert status(cut, report=report)[:2] == (WARN, "active, at the effort limit")
    report.told(cut, 8.0)
    assert status(cut, report=report)[:2] == (OK, "active")
    assert status(controller(clamped_cycles=2), report=report).level == WARN


def test_the_rate_is_that_since_it_was_told_last() -> None:
    report = StatusReport(0.0)
    report.told(controller(cycles=500), 8.0)
    assert status(controller(cycles=700), report=report).values["rate"] == 100.0
    report.told(controller(cycles=699), 10.0)
    assert status(controller(cycles=700), report=report).values["rate"] == 1000.0, "told at the same moment"
    assert StatusReport(6.0).status(controller(), 10.0, 0.0, None).values["rate"] == 175.0


def test_a_fault_is_told_while_it_lasts() -> None:
    level, message, values = status(controller(mode=Mode.HOLD, fault=FAULT))
    assert (level, message) == (ERROR, f"hold: {FAULT.message}")
    assert (values["mode"], values["cause"], values["joint"], values["value"]) == ("hold", "collision", "b", -7.5)
    over = status(controller(fault=FAULT))
    assert over[:2] == (OK, "active") and over.values["cause"] == over.values["joint"] == ""
    assert status(controller(mode=Mode.ZERO))[:2] == (ERROR, "zero")
    assert status(controller(mode=Mode.HOLD, fault=FAULT, cycles=0, clamped_cycles=9)).level == ERROR


def test_a_transition_is_told_as_it_was() -> None:
    """Whatever has become of the controller since."""
    failed = Transition(5.0, Mode.ACTIVE, Mode.HOLD, FAULT)
    level, message, values = status(controller(), failed)
    assert (level, message) == (ERROR, f"hold: {FAULT.message}")
    assert (values["mode"], values["previous mode"], values["cause"]) == ("hold", "active", "collision")
    cleared = Transition(5.0, Mode.FAULT, Mode.ACTIVE, FAULT)
    level, message, values = status(controller(mode=Mode.HOLD), cleared)
    assert (level, message) == (OK, "active")
    assert (values["mode"], values["previous mode"], values["value"]) == ("active", "fault", -7.5)


def test_the_hand_where_there_is_one() -> None:
    hand = SimpleNamespace(position_error=0.1, rotation_error=0.2, smallest_singular_value=0.3, damped=True)
    with_hand, without = status(controller(hand=hand)).values, status(controller()).values
    assert with_hand == without | {
        "hand position error": 0.1, "hand rotation error": 0.2, "smallest singular value": 0.3,
        "hand directions damped": True,
    }  # fmt: skip


def test_transitions_in_words() -> None:
    for after, level, words in (
        (Mode.ACTIVE, OK, "hold -> active: the fault is cleared, the arm holds where it is"),
        (Mode.FAULT, WARN, "hold -> fault: every check passes again. Cure: call it"),
        (Mode.ZERO, ERROR, f"hold -> zero: {FAULT.message}"),
    ):
        assert in_words(Transition(5.0, Mode.HOLD, after, FAULT), "call it") == (level, words)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("words", "words"),
        ("", ""),
        (None, ""),
        (True, "true"),
        (np.False_, "false"),
        (7, "7"),
        (np.int64(-7), "-7"),
        (0.1, "0.1"),
        (1.0, "1"),
        (0.1 + 0.2, "0.3"),
        (np.float64(1 / 3), "0.333333"),
        (math.inf, "inf"),
        (math.nan, "nan"),
        ((), ""),
        ([1.5, np.float64(2.0)], "1.5, 2"),
        (np.array([0.5, -1.0]), "0.5, -1"),
        (1234567, "1234567"),
    ],
)
def test_values_as_a_person_writes_them(value: Any, text: str) -> None:
    assert plain(value) == text
