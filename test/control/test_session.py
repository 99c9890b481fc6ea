"""Session without an update rate: invalid states, repeated states, and persistence over deactivation."""

from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros import RobotDynamicsError
from robot_dynamics_ros.control.configuration.settings import (
    ControllerSettings,
    SafetySettings,
)
from robot_dynamics_ros.control.interface import OK, Output
from robot_dynamics_ros.control.session import ControllerSession
from robot_dynamics_ros.control.thresholds import RECOVERY_TIME
from support.comparing import assert_close
from support.independent_plant import EPOCH, SECOND, Given, Session, joint_state

NAMES = ("joint1", "joint2")
Q = np.array([0.3, -0.8])
QD = np.array([0.02, -0.01])
NONE = np.empty(0)

JUNK = {
    "noise": b"\x00\x01\x00\x00" + bytes(range(200, 255)),
    "cut": joint_state(EPOCH + 50 * SECOND, NAMES, Q, QD, NONE)[:90],
    "nan": joint_state(EPOCH + 3600 * SECOND, NAMES, Q * np.nan, QD, NONE),
    "inf, stamp 0": joint_state(0, NAMES, Q * np.inf, QD, NONE),
    "too many": joint_state(EPOCH, NAMES, np.zeros(3), NONE, NONE),
}


class Receiver(Session):
    """Session that receives its states from the test."""

    def __init__(self, **safety: Any) -> None:
        settings = ControllerSettings(
            safety=SafetySettings(position_step_limit=(np.inf,), **safety)
        )
        super().__init__("planar_2r", settings, braked=True)

    def good(self, q: Any = Q) -> Given:
        """Send a valid state, a period after the last one; return the output."""
        self.cycle(q=q, qd=QD)
        assert self.commands[-1].kind == "answer"
        return self.commands[-1]

    def bad(self, kind: str, times: int = 1) -> list[Given]:
        before = len(self.commands)
        for _ in range(times):
            self.receive("joint_states", JUNK[kind])
        return self.commands[before:]

    def damps(self, held: Given, q: Any = Q) -> bool:
        """True if the effort beyond the gravity torque dissipates energy."""
        return bool((held.effort - self.model.gravity_torque(q)) @ QD < 0.0)


@pytest.mark.parametrize("kind", JUNK)
def test_one_invalid_state_is_a_fault_at_once(kind: str) -> None:
    session = Receiver()
    session.good()
    (answer,) = session.bad(kind)
    assert answer.mode == "hold" and session.causes == ["state_invalid"]
    # its rate is limited
    assert_close(answer.effort, session.model.gravity_torque(Q), 0.05)
    held = session.good(Q + 0.1)
    assert held.mode == "hold" and session.damps(held, Q + 0.1)


def test_valid_states_among_many_invalid_ones_are_used() -> None:
    """No jump of the clock, no missing feedback, no cycle for each invalid state: the arm is damped throughout."""
    session = Receiver(fault_reset="auto", stale_hold_time=0.1)
    session.good()
    for k in range(300):
        for kind in JUNK:
            answers = session.bad(kind, 3)
            assert len(answers) <= 1, "none for a stamp that is old, or comes again"
            assert answers or kind != "nan", "its stamp is new"
        held = session.good(Q + 0.001 * k)
        assert held.mode == "hold" and session.damps(held, Q + 0.001 * k)
    assert (
        session.causes == ["state_invalid"]
        and session.controller.safety.fault_count == 1
    )
    for _ in range(round((RECOVERY_TIME + 0.01) / session.period)):
        last = session.good()
    assert last.mode == "active"


def test_an_emergency_stop_outlasts_the_session() -> None:
    """As the node makes a new one when it is configured again."""
    first = Receiver()
    first.session.safety.request_emergency_stop("button")
    second = ControllerSession(first.model, first.settings, safety=first.session.safety)
    second.activate(compare_effort=False)
    assert second.safety.stop is not None and "button" in second.safety.stop.message


def test_only_invalid_states_lead_to_zero_effort() -> None:
    """Like missing states, by ``watch`` and the steady clock."""
    session = Receiver(stale_hold_time=0.5)
    session.good()
    for kind, cycles, mode in (("nan", 20, "hold"), ("cut", 40, "zero")):
        for _ in range(cycles):
            session.bad(kind, 10)
            session.pass_time(0.02)
        assert session.commands[-1].mode == mode
        assert_close(
            session.commands[-1].effort,
            (mode == "hold") * session.model.gravity_torque(Q),
            1e-4,
        )
    assert session.good().mode == "hold"


def test_nothing_is_commanded_before_the_first_valid_state() -> None:
    session = Receiver()
    for kind in JUNK:
        assert session.bad(kind) == []
    assert "nothing is commanded yet" in session.lines[0] and not any(
        "effort" in line for line in session.lines
    )
    assert session.good().mode == "hold"
    assert session.controller.clock.time == 0.0, (
        "time counts from the first state that could be used"
    )


@pytest.mark.parametrize("names", [["finger"], ["finger", "joint1"]])
def test_the_reason_to_wait_has_the_joints_seen_and_missing(names: list[str]) -> None:
    session = Receiver()
    zeros = np.zeros(len(names))
    session.receive("joint_states", joint_state(session.ros, names, zeros, zeros, NONE))
    (reason,) = (note.text for note in session.session.waiting())
    assert "finger" in reason and "joint2" in reason


def test_a_stopped_process_detects_the_missing_states() -> None:
    """After SIGSTOP and SIGCONT, states may arrive before the timer that checks their age."""
    session = Receiver()
    session.good()
    session.time += 2.0
    session.ros += 2 * SECOND
    session.state(q=Q, qd=QD)
    assert [(given.mode, given.kind) for given in session.commands[1:]] == [
        ("hold", "answer")
    ]
    assert session.causes == ["state_stale"] and session.controller.plan.drops > 0


def test_a_repeated_state_repeats_the_command() -> None:
    """With stamp, number and effort, also after a command by ``watch``; an unstamped state is never a repetition."""
    session = Receiver(unstamped_states="arrival")
    data = joint_state(session.ros, NAMES, Q, QD, NONE)
    first = session.receive("joint_states", data)
    time = session.controller.clock.time
    assert (
        session.receive("joint_states", data)[:3] == first[:3]
        and session.controller.clock.time == time
    )
    session.pass_time(1.0)
    held = session.commands[-1]
    again = session.receive("joint_states", data)
    assert held.kind == "unasked" and again.number == first.number == 1
    assert_close(again.command.effort, held.effort, 0.0)
    session.good()
    unstamped = joint_state(0, NAMES, Q, QD, NONE)
    for _ in range(2):
        before = session.controller.clock.time
        session.pass_time()
        session.receive("joint_states", unstamped)
        assert session.controller.clock.time > before


def test_refused_trajectories_are_counted_with_the_last_reason() -> None:
    session = Receiver()
    session.good()
    assert session.go([Q], [1.0]) and not session.go([Q], [-1.0])
    assert not session.go([Q + 100.0], [1.0])
    controller = session.controller
    assert (controller.trajectories, controller.refusals) == (1, 2)
    assert "position" in controller.refusal and controller.refusal in session.lines[-1]


def test_state_that_persists_over_deactivation() -> None:
    session = Receiver()
    live = session.session
    heavy = session.model.with_payload("link2", 3.0, (0.1, 0.0, 0.0), (0.0,) * 6)
    session.good()
    for given in (
        live.on_speed(0.5),
        live.on_payload("link2", 3.0, (0.1, 0.0, 0.0), (0.0,) * 6),
    ):
        assert all(note.level == OK for note in given.notes)
    live.safety.request_emergency_stop("the service")
    with pytest.raises(RobotDynamicsError, match="speed scaling factor"):
        live.on_speed(2.0)
    with pytest.raises(RobotDynamicsError, match="wrist"):
        live.on_payload("wrist", 3.0, (0.0,) * 3, (0.0,) * 6)
    assert live.deactivate(session.now).command is not None
    assert (
        live.deactivate(session.now)
        == live.tick(session.now)
        == live.watch(session.now)
        == Output()
    )
    assert (
        not live.controller
        and not session.go([Q], [1.0])
        and "not active" in session.lines[-1]
    )
    with pytest.raises(RobotDynamicsError, match="not active"):
        live.clear_fault(session.now)
    session.take(live.activate(compare_effort=False))
    assert session.controller.plan.speed == 0.5 and session.good().mode == "hold"
    session.run(1.0, q=Q, qd=np.zeros(2))
    assert_close(session.commands[-1].effort, heavy.gravity_torque(Q), 1e-2)
    live.clear_fault(session.now)
    assert session.good().mode == "active"


def test_a_fault_is_cleared_when_all_emergency_stops_are_released() -> None:
    """Each source is latched by itself, also before the first state; the refusal names those that are engaged."""
    session = Receiver()
    live = session.session
    button = "~/emergency_stop"
    panel = "/cell/panel"
    live.safety.emergency_stop(button, False)
    live.safety.emergency_stop(panel, True)
    for release, named in (((), panel), ((button,), panel), ((panel,), "next cycle")):
        for source in release:
            live.safety.emergency_stop(source, False)
        with pytest.raises(RobotDynamicsError, match=named):
            live.clear_fault(session.now)
    live.safety.emergency_stop(button, True)
    assert session.good().mode == "hold" and session.causes == ["emergency_stop"]
    with pytest.raises(RobotDynamicsError, match=button):
        live.clear_fault(session.now)
    live.safety.emergency_stop(button, False)
    session.good()
    with pytest.raises(RobotDynamicsError, match="released less than 0.2 s ago"):
        live.clear_fault(session.now)
    session.run(RECOVERY_TIME + session.period)
    assert (
        live.clear_fault(session.now).transitions
        and not live.clear_fault(session.now).transitions
    )
    assert session.good().mode == "active"
    live.safety.request_emergency_stop("the service")
    with pytest.raises(RobotDynamicsError, match="next cycle"):
        live.clear_fault(session.now)
    assert session.good().mode == "hold"


def test_the_stop_before_deactivation_cannot_be_cleared() -> None:
    session = Receiver()
    session.good()
    session.session.safety.request_emergency_stop("the service")
    session.session.safety.begin_stop()
    session.good()
    with pytest.raises(RobotDynamicsError, match="deactivation"):
        session.session.clear_fault(session.now)


@pytest.mark.parametrize("moves", [False, True])
def test_the_states_before_the_activation_are_checked(moves: bool) -> None:
    session = Receiver(activation_max_velocity=0.5)
    session.session.deactivate(session.now)
    before = len(session.commands)
    for _ in range(3):
        session.cycle(q=Q, qd=np.array([0.0, 0.8 * moves]))
    assert len(session.commands) == before
    if moves:
        with pytest.raises(RobotDynamicsError, match="joint2"):
            session.session.activate(compare_effort=False)
        assert session.session.controller is None
    else:
        session.session.activate(compare_effort=False)
        assert session.controller.clock.period == pytest.approx(session.period)


@pytest.mark.parametrize(
    ("ahead", "logged"), [(7.0, True), (0.0, False), (-0.5, False)]
)
def test_the_log_names_the_time_until_a_trajectory_begins(
    ahead: float, logged: bool
) -> None:
    """Clocks that differ let it begin late."""
    session = Receiver()
    session.good()
    assert session.go([Q], [1.0], stamp=session.ros + round(ahead * SECOND))
    assert ("begins in 7.000 s" in session.lines[-1]) == logged
    assert ("begins" in session.lines[-1]) == logged
