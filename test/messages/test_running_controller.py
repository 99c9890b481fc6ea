"""A controller that answers joint_states, when some cannot be used: without ROS, with time by hand."""

from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros.control.safety import RECOVERY_TIME
from robot_dynamics_ros.control.settings import ControllerSettings, SafetySettings
from robot_dynamics_ros.control.trajectory.files import joined, trajectory_effort
from robot_dynamics_ros.control.trajectory.generators import point_to_point
from robot_dynamics_ros.messages.joint_trajectory import read_trajectory
from support.comparing import assert_close
from support.independent_plant import EPOCH, SECOND, Given, Session, joint_state, trajectory

NAMES = ("joint1", "joint2")
Q, QD, NONE = np.array([0.3, -0.8]), np.array([0.02, -0.01]), np.empty(0)

JUNK = {
    "noise": b"\x00\x01\x00\x00" + bytes(range(200, 255)),
    "cut": joint_state(EPOCH + 50 * SECOND, NAMES, Q, QD, NONE)[:90],
    "nan": joint_state(EPOCH + 3600 * SECOND, NAMES, Q * np.nan, QD, NONE),
    "nan, stamp 0": joint_state(0, NAMES, Q, QD * np.inf, NONE),
    "too many": joint_state(EPOCH, NAMES, np.zeros(3), NONE, NONE),
}


class Receiver(Session):
    """A session whose states come from the test."""

    def __init__(self, **safety: Any) -> None:
        settings = ControllerSettings(safety=SafetySettings(position_step_limit=(np.inf,), **safety))
        super().__init__("planar_2r", settings, braked=True)
        self.waits = 0
        self.filled: list[Any] = []

    def good(self, q: Any = Q) -> Given:
        """A state comes, a period after the one before; its answer."""
        self.cycle(q=q, qd=QD)
        assert self.commands[-1].kind == "answer"
        return self.commands[-1]

    def bad(self, kind: str, times: int = 1) -> list[Given]:
        before = len(self.commands)
        for _ in range(times):
            self.running.receive_state(JUNK[kind])
        return self.commands[before:]

    def damps(self, held: Given, q: Any = Q) -> bool:
        """True if the effort beyond gravity's takes energy from the motion."""
        return bool((held.effort - self.model.gravity_torque(q)) @ QD < 0.0)

    def waiting(self, controller: Any) -> None:
        self.waits += 1

    def trajectory(self, data: bytes) -> None:
        self.filled.append(read_trajectory(data)[1])


@pytest.mark.parametrize("kind", JUNK)
def test_one_bad_state_ends_the_laws_work_at_once(kind: str) -> None:
    session = Receiver()
    session.good()
    (answer,) = session.bad(kind)
    assert answer.mode == "hold" and session.causes == ["state_invalid"]
    assert_close(answer.effort, session.model.gravity_torque(Q), 1e-9)
    held = session.good(Q + 0.1)
    assert held.mode == "hold" and session.damps(held, Q + 0.1)


def test_among_many_bad_states_the_arm_is_held_by_the_good_ones() -> None:
    """No clock that jumps, no blindness, no cycle for each: the arm is damped for as long as it lasts."""
    session = Receiver(fault_reset="auto", stale_hold_time=0.1)
    session.good()
    for k in range(300):
        for kind in JUNK:
            answers = session.bad(kind, 3)
            assert len(answers) <= 1, "none for a stamp that is old, or comes again"
            assert answers or kind != "nan", "its stamp is new"
        held = session.good(Q + 0.001 * k)
        assert held.mode == "hold" and session.damps(held, Q + 0.001 * k)
    assert session.causes == ["state_invalid"] and session.controller.fault_count == 1
    for _ in range(round((RECOVERY_TIME + 0.01) / session.period)):
        last = session.good()
    assert last.mode == "active"


def test_bad_states_alone_lead_to_zero_effort() -> None:
    """As without states: the watch does it, by the steady clock."""
    session = Receiver(stale_hold_time=0.5)
    session.good()
    for kind, cycles, mode in (("nan", 20, "hold"), ("cut", 10, "zero")):
        for _ in range(cycles):
            session.bad(kind, 10)
            session.pass_time(0.02)
        assert session.commands[-1].mode == mode
        assert_close(session.commands[-1].effort, (mode == "hold") * session.model.gravity_torque(Q), 1e-9)
    assert session.good().mode == "hold"


def test_before_the_first_good_state_nothing_is_commanded() -> None:
    session = Receiver()
    for kind in JUNK:
        assert session.bad(kind) == []
    assert session.waits == len(JUNK)
    assert session.good().mode == "hold"
    assert session.controller.time == 0.0, "time counts from the first state that could be used"


def test_a_process_that_stood_still_has_been_without_states() -> None:
    """As after SIGSTOP and SIGCONT: states may come before the timer that looks after their age."""
    session = Receiver()
    session.good()
    session.time += 2.0
    session.ros += 2 * SECOND
    session.state(q=Q, qd=QD)
    assert [(given.mode, given.kind) for given in session.commands[1:]] == [("hold", "unasked"), ("hold", "answer")]
    assert session.causes == ["state_stale"] and session.controller.dropped_trajectories > 0


@pytest.mark.parametrize(("count", "cycles"), [(20, 2), (1000, 17)])
def test_effort_of_a_long_trajectory_takes_several_cycles(count: int, cycles: int) -> None:
    session = Receiver()
    session.good()
    session.has_trajectory_subscribers = True
    points = point_to_point(NAMES, Q, Q + 0.3, 0.05 * count, 20.0)
    fields = {"velocities": points.velocities, "accelerations": points.accelerations}
    followed = session.running.follow(trajectory(NAMES, points.times, points.positions, **fields))
    for k in range(cycles):
        assert session.filled == [], k
        session.good()
    whole = joined(list(trajectory_effort(session.model, followed, NAMES, 0.02, 0.01)))
    assert_close(session.filled.pop().effort, whole.effort, 0.0)
