"""The controller where something is missing, late or too much: no states, odd clocks, damping that drives."""

import math
from typing import Any

import numpy as np
import pytest

from oracles import tsai_planar_2r as tsai
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.controller import Controller
from robot_dynamics_ros.control.faults import Cause
from robot_dynamics_ros.control.motion_plan import TrajectoryRules
from robot_dynamics_ros.control.safety import Mode
from robot_dynamics_ros.control.settings import SafetySettings
from robot_dynamics_ros.control.trajectory_effort import joined, trajectory_effort
from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints
from robot_dynamics_ros.errors import TrajectoryError
from support.comparing import assert_close
from support.controlled_arm import ARM, GRAVITY, HAND, MODEL, REST, WEIGHT, P, Q, command, move, started
from support.teleporting import teleporting

NAN = [np.nan, 0.0]


# Where it starts


def test_it_begins_where_an_earlier_run_has_begun() -> None:
    """And does not keep the caller's array."""
    controller, start = Controller(MODEL, teleporting()), Q.copy()
    controller.hold_from_the_start(start)
    start += 1.0
    assert_close(command(controller, 0.0, Q + 0.1).desired.q, Q, 0.0)


def test_the_hand_begins_where_an_earlier_run_has_begun() -> None:
    controller = Controller(MODEL, teleporting(law="task_space_computed_torque", task_space=HAND))
    controller.hold_from_the_start(Q)
    command(controller, 0.0, Q + 0.1)
    a, b = (MODEL.link_pose(q, MODEL.link_names[-1])[:3, 3] for q in (Q, Q + 0.1))
    assert controller.hand is not None
    assert controller.hand.position_error == pytest.approx(np.linalg.norm(a - b), abs=1e-12)


def test_a_trajectory_may_begin_where_the_arm_is_measured() -> None:
    rules = TrajectoryRules(interpolate_from_desired_state=False)
    controller = started(trajectories=rules)
    command(controller, 0.1, Q + 0.2)
    controller.follow(move(Q), None, 0.1)
    assert_close(command(controller, 0.1, Q + 0.2).desired.q, Q + 0.2, 1e-12)


# Open loop, without states

START = np.array([1.0, 0.5])


def blind(time: float = 0.0) -> Controller:
    """Under feedforward, without states, at START of a trajectory."""
    controller = Controller(MODEL, teleporting(law="feedforward"))
    controller.follow(move(START, [0.2, 0.3]), None, time)
    assert controller.update(time, time) is not None
    return controller


def test_the_last_effort_carries_the_arm_where_it_should_be() -> None:
    last = blind().last_effort(0.0)
    assert last is not None
    assert_close(last, tsai.gravity(P, START), 1e-12)


def test_a_clock_that_goes_back_holds_where_the_arm_should_be() -> None:
    controller = blind(5.0)
    held = controller.update(1.0, 5.1)
    assert held is not None and held.mode is Mode.HOLD
    assert_close(held.desired.q, START, 1e-12)
    assert_close(held.effort, tsai.gravity(P, START), 1e-12)


def test_states_that_do_come_are_checked() -> None:
    """An open-loop law does without states, not without limits."""
    controller = Controller(MODEL, teleporting(law="feedforward"))
    assert command(controller, 0.0).mode is Mode.ACTIVE
    assert command(controller, 0.1, [0.3, 2.1]).mode is Mode.HOLD
    assert controller.fault is not None and controller.fault.cause is Cause.POSITION_LIMIT


@pytest.mark.parametrize(("law", "begun"), [("feedforward", True), ("computed_torque", False)])
def test_states_that_stay_away_are_no_fault(law: str, begun: bool) -> None:
    """Under an open-loop law, or before the first cycle."""
    controller = Controller(MODEL, teleporting(law=law))
    if begun:
        command(controller, 0.0)
    assert controller.watch(9.0) is None
    assert controller.mode is Mode.ACTIVE


# Clocks


def test_a_clock_that_goes_back_while_states_go_on() -> None:
    """The fault says by how much, and the rate limit goes by the steady clock."""
    controller = Controller(MODEL, teleporting(law="pd_gravity", torque_rate_limit=[10.0]))
    command(controller, 5.0)
    command(controller, 5.5)
    held = command(controller, 1.0, qd=[1.0, 1.0], steady=5.6)
    assert controller.fault is not None
    assert (controller.fault.cause, controller.fault.value) == (Cause.CLOCK_JUMPED_BACK, 4.5)
    assert_close(np.abs(held.effort - WEIGHT), [1.0, 1.0], 1e-9)


def test_the_rate_is_counted_anew_when_the_clock_goes_back() -> None:
    controller = Controller(MODEL, teleporting(update_rate=100.0))
    command(controller, 100.0, steady=0.0)
    for k in range(1, 40):
        command(controller, 0.05 * k, steady=0.05 * k)
    assert controller.fault is not None and controller.fault.cause is Cause.CYCLE_RATE


@pytest.mark.parametrize(("leap", "mode"), [(0.125, Mode.ACTIVE), (0.126, Mode.HOLD)])
def test_a_leap_ahead_by_more_than_the_state_timeout(leap: float, mode: Mode) -> None:
    controller = started(safety=SafetySettings(state_timeout=0.125))
    assert command(controller, 1.0 + leap, steady=1.0).mode is mode
    if mode is Mode.HOLD:
        assert controller.fault is not None
        assert (controller.fault.cause, controller.fault.value) == (Cause.CLOCK_JUMPED_AHEAD, pytest.approx(leap))


def test_the_first_good_state_after_bad_ones_is_no_leap() -> None:
    controller = started()
    for k in range(1, 200):
        command(controller, 0.002 * k, NAN)
    command(controller, 0.4)
    assert controller.fault is not None and controller.fault.cause is Cause.STATE_INVALID


def test_the_rate_limit_holds_where_cycles_come_back() -> None:
    """In 0.25 s without a cycle the hold commands; in the next cycle only the rest of the time counts."""
    controller = Controller(MODEL, teleporting(law="pd_gravity", torque_rate_limit=[10.0]))
    command(controller, 100.0)
    controller.measure(100.25, 100.25, Q, np.full(2, 2.0))
    held = controller.watch(100.25)
    assert held is not None and held.mode is Mode.HOLD
    effort = held.effort.copy()
    assert_close(np.abs(effort - WEIGHT), [2.5, 2.5], 1e-9)
    assert_close(np.abs(command(controller, 100.26, qd=[9.0, 9.0]).effort - effort), [0.1, 0.1], 1e-9)


@pytest.mark.parametrize(("stamp", "steady"), [(100.5, 100.01), (100.01, 100.5)])
def test_no_cycle_is_missed_where_only_one_clock_goes_on(stamp: float, steady: float) -> None:
    """A simulation much faster than real time, and one that pauses, long after their start."""
    controller = Controller(MODEL, teleporting())
    command(controller, 100.0)
    controller.measure(stamp, steady, Q, REST)
    assert controller.watch(steady) is None


@pytest.mark.parametrize(("late", "held"), [(0.125, False), (0.126, True)])
def test_no_cycle_for_longer_than_the_state_timeout(late: float, held: bool) -> None:
    controller = started(safety=SafetySettings(state_timeout=0.125))
    controller.measure(late, late, Q, REST)
    assert (controller.watch(late) is not None) == held


# What a fault leaves behind


def test_there_is_nothing_to_clear_or_to_cancel() -> None:
    controller = started()
    controller.clear_fault(0.0)
    assert controller.mode is Mode.ACTIVE and controller.take_transitions() == []
    command(controller, 0.1, NAN)
    drops = controller.dropped_trajectories
    controller.cancel()
    assert controller.dropped_trajectories == drops, "the fault has dropped them"


def test_the_load_is_held_and_carried_on() -> None:
    """A joint that the law holds up by its integral and its error stays up in hold, and when the fault is cleared."""
    controller = started(ki=[100.0])
    q = Q + [0.01, 0.0]
    for k in range(1, 10):
        carried = command(controller, 0.01 * k, q).effort.copy()
    command(controller, 0.1, NAN)
    held = command(controller, 0.11, q)
    assert held.mode is Mode.HOLD
    assert_close(held.effort, carried, 0.01)
    controller.clear_fault(0.11)
    for k in range(12, 40):
        assert_close(command(controller, 0.01 * k, q).effort, carried, 0.02)


def test_the_observer_goes_on_where_states_do() -> None:
    """Not before the first command, through a fault of the arm's position, and anew after a gap in the states."""
    controller = Controller(MODEL, teleporting(observer_gain=20.0))
    for time in (0.0, 0.05):
        controller.measure(time, time, Q, REST)
    assert controller.external_torque is None
    controller.update(0.05, 0.05)
    assert command(controller, 0.1, [0.3, 2.1]).mode is Mode.HOLD
    assert controller.external_torque is not None
    for time in (0.15, 0.2):
        command(controller, time, NAN)
    assert controller.external_torque is None


@pytest.mark.parametrize("mass", [2e307, 5e307])
def test_an_arm_too_heavy_to_be_held_gets_no_torque(mass: float) -> None:
    """With a payload in kg whose weight is infinite, or no number."""
    controller = started()
    controller.set_payload(MODEL.link_names[-1], mass, (0.0, 0.0, 0.0), np.zeros((3, 3)))
    last = controller.last_effort(controller.time)
    assert last is not None and last.tolist() == [0.0, 0.0]
    for time in (0.1, 0.2):
        found = command(controller, time)
        assert found.mode is Mode.ZERO and not found.effort.any()
    assert controller.fault is not None and controller.fault.cause is Cause.TORQUE_NOT_FINITE


# Damping that drives the arm; the limit of joint2 is 5 rad/s and a margin of 0.2


def damps(controller: Controller, time: float, speed: float) -> bool:
    """Whether hold damps a joint with this speed (rad/s)."""
    found = command(controller, time, qd=[0.0, speed])
    assert found.mode is Mode.HOLD
    return not np.allclose(found.effort, WEIGHT)


def test_damping_is_left_out_once_it_drives_the_arm() -> None:
    """Until the fault is cleared."""
    controller = started()
    assert [damps(controller, time, speed) for time, speed in ((0.05, 6.0), (0.1, -6.0), (0.15, 1.0))] == [1, 0, 0]
    command(controller, 0.2)
    controller.clear_fault(0.2)
    assert command(controller, 0.25).mode is Mode.ACTIVE
    assert damps(controller, 0.3, 6.0)


# Trajectories against the limits of joint2: 2 rad, 5 rad/s


def points(times: Any, elbow: Any, velocities: Any = None) -> TrajectoryPoints:
    """Joint2 alone moves; with velocities, by quintics without acceleration at the points."""
    q = np.array([[Q[0], x] for x in elbow])
    qd = None if velocities is None else np.array([[0.0, x] for x in velocities])
    return TrajectoryPoints(MODEL.joint_names, np.array(times), q, qd, None if qd is None else 0.0 * q)


BEYOND = {
    "a point": points([1.0, 2.0], [2.1, 0.0]),
    "between points, spline": points([1.0, 2.0, 3.0, 4.0], [1.9, 1.9, 0.0, -1.0]),
    "between points, quintic": points([1.0, 2.0], [1.9, 1.9], [1.0, 0.0]),
    "too fast at a point": points([1.0, 2.0], [0.0, 1.0], [6.0, 0.0]),
    "too fast between points": points([0.5], [1.6], [0.0]),
    "too far at once": points([0.0], [-0.5]),
}


@pytest.mark.parametrize("kind", BEYOND)
def test_motion_beyond_the_limits_is_refused(kind: str) -> None:
    controller = started()
    with pytest.raises(TrajectoryError, match="joint 'joint2'"):
        controller.follow(BEYOND[kind], None, 0.0)
    off = TrajectoryRules(trajectory_limits="off", set_point_step_limit=(np.inf,))
    controller.tune(teleporting(trajectories=off))
    controller.follow(BEYOND[kind], None, 0.0)


def test_points_are_clamped() -> None:
    controller = started(trajectories=TrajectoryRules(trajectory_limits="clamp"))
    controller.follow(points([2.0, 4.0], [2.5, 2.5], [0.5, 0.0]), None, 0.0)
    assert max(command(controller, 0.05 * k).desired.q[1] for k in range(100)) == 2.0
    with pytest.raises(TrajectoryError, match="joint 'joint2'"):
        controller.follow(BEYOND["between points, quintic"], None, 5.0)


def test_a_joint_beyond_its_limit_may_move_back_but_not_on() -> None:
    controller = Controller(MODEL, teleporting())
    command(controller, 0.0, [Q[0], 2.03])
    controller.follow(points([1.0], [1.5], [0.0]), None, 0.0)
    with pytest.raises(TrajectoryError, match="joint 'joint2'"):
        controller.follow(points([1.0], [2.04], [0.0]), None, 0.0)


@pytest.mark.parametrize("kind", ["continuous", "revolute"])
def test_goals_of_a_continuous_joint_are_a_turn_away_at_most(kind: str) -> None:
    """From its first point on, turns are turns; what leads on to another controller keeps its numbers."""
    model = RobotModel.from_urdf(ARM.with_joint("joint1", type=kind).urdf, gravity=GRAVITY)
    controller = Controller(model, teleporting(law="feedforward"))
    command(controller, 0.0)
    goal = move(Q + [math.tau + 0.1, 0.0], Q + [math.tau - 0.1, 0.0], Q + [2 * math.tau, 0.0], seconds=5.0)
    trajectory = controller.follow(goal, None, 0.0)
    turn = math.tau if kind == "continuous" else 0.0
    for time, position in zip(goal.times, goal.positions, strict=True):
        reached = controller.update(time, time)
        assert reached is not None
        assert_close(reached.desired.q, position - [turn, 0.0], 1e-12)
    followed = joined(list(trajectory_effort(model, trajectory, model.joint_names, np.inf)))
    assert_close(followed.positions, goal.positions, 1e-12)
