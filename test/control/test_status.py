"""Status of a controller: levels, messages and counts."""

import math
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros.control.configuration.settings import (
    ControllerSettings,
    SafetySettings,
)
from robot_dynamics_ros.control.controller import Controller, make_controller
from robot_dynamics_ros.control.controller_status import StatusReport, in_words, plain
from robot_dynamics_ros.control.interface import ERROR, OK, WARN
from robot_dynamics_ros.control.safety import Cause, Fault, Mode, Transition
from support.controlled_arm import MODEL, Q, command, move, teleporting

BEYOND = [Q[0], 2.1]  # the limit of joint2 is 2 rad


def running() -> Controller:
    """Return a controller after seven cycles, at 0.6 s; joint2 reaches its effort limit 0.5 rad away."""
    slow = ControllerSettings(safety=SafetySettings(state_timeout=math.inf))
    controller = make_controller(
        MODEL, teleporting(slow, law="pd", kp=[1000.0], kd=[0.0])
    )
    for k in range(7):
        command(controller, 0.1 * k)
    return controller


def test_status_before_the_first_state() -> None:
    level, message, values = StatusReport(0.0).status(
        make_controller(MODEL, teleporting()), 1.0, 0.25, None
    )
    assert level == WARN and message.startswith("waiting")
    assert (values["state age"], values["stamp age"], values["rate"]) == ("", "", 0.0)


def test_status_of_an_active_controller() -> None:
    controller = running()
    controller.follow(move([0.5, 0.1]), None, 0.6)
    status = StatusReport(0.0).status(controller, 1.0, 0.25, None)
    assert status[:2] == (OK, "active")
    assert status.values == {
        "law": "pd", "mode": "active", "previous mode": "", "cause": "", "joint": "", "value": "", "faults": 0,
        "cycles": 7, "rate": 7.0, "late cycles": 0, "clamped cycles": 0, "rate limited cycles": 0,
        "state age": pytest.approx(0.4), "stamp age": 0.25, "following error": 0.0, "speed scaling": 1.0,
        "trajectories": 1, "dropped trajectories": 1, "refused trajectories": 0, "refusal": "", "following": True,
    }  # fmt: skip


def test_rate_and_warning_count_from_the_last_report() -> None:
    controller = running()
    report = StatusReport(0.0)
    report.report(controller, 1.0)
    command(controller, 1.1, Q + [0.0, 0.7])
    status = report.status(controller, 1.25, 0.0, None)
    assert status.level == WARN and status.values["clamped cycles"] == 1
    assert status.values["rate"] == 4.0
    report.report(controller, 1.25)
    command(controller, 1.2)
    status = report.status(controller, 1.25, 0.0, None)
    assert status[:2] == (OK, "active")
    assert status.values["rate"] == 1000.0, "in no time: of a millisecond"


def test_old_states_are_a_warning() -> None:
    controller = make_controller(
        MODEL, ControllerSettings(safety=SafetySettings(state_timeout=0.5))
    )
    command(controller, 0.0)
    for age, level in ((0.24, OK), (0.26, WARN)):
        assert StatusReport(0.0).status(controller, age, 0.0, None).level == level


def test_status_of_a_fault_and_of_transitions() -> None:
    controller = running()
    report = StatusReport(0.0)
    command(controller, 0.7, BEYOND)
    failing = report.status(controller, 1.0, 0.0, None)
    message = f"hold: {controller.safety.fault.message}"
    controller.clear_fault(0.7)
    now = report.status(controller, 1.0, 0.0, None)
    failed, cleared = (
        report.status(controller, 1.0, 0.0, each)
        for each in controller.safety.take_transitions()
    )
    limit = "position_limit"
    for (level, text, values), expected, details in (
        (failing, (ERROR, message), ("hold", "", limit, "joint2", 2.1, 1)),
        (now, (OK, "active"), ("active", "", "", "", "", 1)),
        (failed, (ERROR, message), ("hold", "active", limit, "joint2", 2.1, 1)),
        (cleared, (OK, "active"), ("active", "hold", limit, "joint2", 2.1, 1)),
    ):
        assert (level, text) == expected
        assert (
            tuple(
                values[name]
                for name in (
                    "mode",
                    "previous mode",
                    "cause",
                    "joint",
                    "value",
                    "faults",
                )
            )
            == details
        )


@pytest.mark.parametrize(
    ("cause", "after", "level"),
    [
        (Cause.COLLISION, Mode.ACTIVE, OK),
        (Cause.COLLISION, Mode.FAULT, WARN),
        (Cause.COLLISION, Mode.ZERO, ERROR),
        (Cause.DEACTIVATED, Mode.ZERO, OK),
    ],
)
def test_transitions_as_text(cause: Cause, after: Mode, level: int) -> None:
    reported, text, _ = in_words(
        Transition(5.0, Mode.HOLD, after, Fault(cause, "it has hit something")),
        "call it",
    )
    assert reported == level and text.startswith(f"hold -> {after.value}: ")
    assert ("it has hit something" in text, "call it" in text) == (
        after is Mode.ZERO,
        after is Mode.FAULT,
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("words", "words"), (True, "true"), (False, "false"), (np.int64(-7), "-7"), (0.1 + 0.2, "0.3"),
        (np.float64(1 / 3), "0.333333"), (math.nan, "nan"), ([1.5, np.float64(2.0)], "1.5, 2"),
        (1234567, "1234567"),
    ],
)  # fmt: skip
def test_values_as_text(value: Any, text: str) -> None:
    assert plain(value) == text
