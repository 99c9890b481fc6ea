"""The controller where something is missing, late or too much: no states, odd clocks, damping that drives."""

import math
from dataclasses import replace
from typing import Any

import arms
import numpy as np
import pytest
from comparing import assert_close
from oracles import tsai_planar_2r as tsai
from teleporting import teleporting

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.control.controller import Command, Controller
from robot_dynamics_ros.control.faults import Cause
from robot_dynamics_ros.control.motion_plan import TrajectoryRules
from robot_dynamics_ros.control.safety import Mode
from robot_dynamics_ros.control.settings import SafetySettings, TaskSpaceSettings
from robot_dynamics_ros.control.trajectory_effort import joined, trajectory_effort
from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints
from robot_dynamics_ros.errors import TrajectoryError

P = tsai.Parameters(a1=0.5, a2=0.4, m1=4.0, m2=3.0, g=9.81)
ARM = arms.tsai_planar_2r(P).with_joint("joint2", limit='<limit lower="-2" upper="2" effort="500" velocity="5"/>')
MODEL = RobotModel.from_urdf(ARM.urdf, gravity=[0.0, -P.g, 0.0])
Q, REST = np.array([0.3, -0.8]), np.zeros(2)
NAN = [np.nan, 0.0]
WEIGHT = tsai.gravity(P, Q)
SOFT = teleporting(law="pd_gravity", kp=[0.0], kd=[10.0], ramp_time=2.0)
HAND: dict[str, Any] = {
    "law": "task_space_computed_torque",
    "task_space": TaskSpaceSettings(components=("x", "y")),
}


def command(controller: Controller, time: float, q: Any = Q, qd: Any = REST, steady: float | None = None) -> Command:
    """One cycle with a state that comes as steady time goes; that is the controller's unless it is given."""
    steady = time if steady is None else steady
    controller.measure(steady, steady, np.array(q, dtype=float), np.array(qd, dtype=float))
    found = controller.update(time, steady)
    assert found is not None
    return found


def way(*goals: Any) -> TrajectoryPoints:
    """Goals a second apart, each at rest."""
    rows = np.array(goals, dtype=float)
    return TrajectoryPoints(MODEL.joint_names, np.arange(1.0, len(rows) + 1), rows, 0.0 * rows, 0.0 * rows)


# Where it starts


def test_before_the_first_cycle_there_is_no_time() -> None:
    controller = Controller(MODEL, teleporting())
    assert controller.time == -np.inf
    command(controller, 3.0)
    assert controller.time == 3.0


def test_it_begins_where_an_earlier_run_has_begun() -> None:
    """And does not keep the caller's array."""
    controller, start = Controller(MODEL, teleporting()), Q.copy()
    controller.hold_from_the_start(start)
    start += 1.0
    assert_close(command(controller, 0.0, Q + 0.1).desired.q, Q, 0.0)


def test_so_does_the_hand() -> None:
    controller = Controller(MODEL, teleporting(**HAND))
    controller.hold_from_the_start(Q)
    command(controller, 0.0, Q + 0.1)
    a, b = (MODEL.link_pose(q, MODEL.link_names[-1])[:3, 3] for q in (Q, Q + 0.1))
    assert controller.hand is not None
    assert controller.hand.position_error == pytest.approx(np.linalg.norm(a - b), abs=1e-12)


def test_a_trajectory_may_begin_where_the_arm_is_measured() -> None:
    rules = TrajectoryRules(interpolate_from_desired_state=False)
    controller = Controller(MODEL, teleporting(trajectories=rules))
    command(controller, 0.0)
    command(controller, 0.1, Q + 0.2)
    controller.follow(way(Q), None, 0.1)
    assert_close(command(controller, 0.1, Q + 0.2).desired.q, Q + 0.2, 1e-12)


def test_only_a_law_that_leads_the_hand_has_targets() -> None:
    controller = Controller(MODEL, teleporting())
    command(controller, 0.0)
    with pytest.raises(RobotDynamicsError, match=r"computed_torque follows none.*Cure"):
        controller.targets()


def test_cycles_that_limits_cut_are_counted() -> None:
    controller = Controller(MODEL, teleporting(law="pd", kp=[1000.0], kd=[0.0]))
    for time, away in ((0.0, 0.0), (0.1, 0.7), (0.2, -0.7), (0.3, 0.1)):
        command(controller, time, Q + away)
    assert (controller.clamped_cycles, controller.cycles) == (2, 4)


# Open loop, without states

START = np.array([1.0, 0.5])


def blind(time: float = 0.0) -> Controller:
    """Under feedforward, without states, at START of a trajectory."""
    controller = Controller(MODEL, teleporting(law="feedforward"))
    controller.follow(way(START, [0.2, 0.3]), None, time)
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


def test_states_that_stay_away_are_no_fault() -> None:
    controller = Controller(MODEL, teleporting(law="feedforward"))
    command(controller, 0.0)
    assert controller.watch(9.0) is None
    assert controller.mode is Mode.ACTIVE


def test_nothing_is_missed_before_the_first_cycle() -> None:
    controller = Controller(MODEL, teleporting())
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
    controller = Controller(MODEL, teleporting(safety=SafetySettings(state_timeout=0.125)))
    command(controller, 0.0)
    assert command(controller, 1.0 + leap, steady=1.0).mode is mode


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
    controller = Controller(MODEL, teleporting(safety=SafetySettings(state_timeout=0.125)))
    command(controller, 0.0)
    controller.measure(late, late, Q, REST)
    assert (controller.watch(late) is not None) == held


# What a fault leaves behind


def test_there_is_nothing_to_clear_or_to_cancel() -> None:
    controller = Controller(MODEL, teleporting())
    command(controller, 0.0)
    controller.clear_fault(0.0)
    assert controller.mode is Mode.ACTIVE and controller.take_transitions() == []
    command(controller, 0.1, NAN)
    drops = controller.dropped_trajectories
    controller.cancel()
    assert controller.dropped_trajectories == drops, "the fault has dropped them"


def test_the_load_is_held_and_carried_on() -> None:
    """A joint that the law holds up by its integral and its error stays up in hold, and when the fault is cleared."""
    controller = Controller(MODEL, teleporting(ki=[100.0]))
    command(controller, 0.0)
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


def test_the_hand_stays_where_it_is_found_afterwards() -> None:
    controller = Controller(MODEL, teleporting(**HAND))
    command(controller, 0.0)
    command(controller, 0.1, NAN)
    assert controller.hand is None
    command(controller, 0.11, Q + 0.1)
    controller.clear_fault(0.11)
    command(controller, 0.12, Q + 0.1)
    assert controller.hand is not None
    assert controller.hand.position_error == pytest.approx(0.0, abs=1e-12)


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
    controller = Controller(MODEL, teleporting())
    command(controller, 0.0)
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
    controller = Controller(MODEL, teleporting())
    command(controller, 0.0)
    assert [damps(controller, time, speed) for time, speed in ((0.05, 6.0), (0.1, -6.0), (0.15, 1.0))] == [1, 0, 0]
    command(controller, 0.2)
    controller.clear_fault(0.2)
    assert command(controller, 0.25).mode is Mode.ACTIVE
    assert damps(controller, 0.3, 6.0)


def test_damping_stays_where_only_one_way_is_too_fast() -> None:
    controller = Controller(MODEL, teleporting())
    command(controller, 0.0)
    assert all(damps(controller, time, speed) for time, speed in ((0.05, 6.0), (0.1, -5.1), (0.15, -1.0)))


def test_what_is_not_measured_drives_nothing() -> None:
    """Too fast the other way after a gap: the last good velocity is not looked at again meanwhile."""
    controller = Controller(MODEL, teleporting())
    command(controller, 0.0)
    assert damps(controller, 0.05, 6.0)
    for time in (0.1, 0.2, 0.3):
        command(controller, time, NAN)
    assert damps(controller, 0.35, -6.0)


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
    controller = Controller(MODEL, teleporting())
    command(controller, 0.0)
    with pytest.raises(TrajectoryError, match="joint 'joint2'"):
        controller.follow(BEYOND[kind], None, 0.0)
    off = TrajectoryRules(trajectory_limits="off", set_point_step_limit=(np.inf,))
    controller.tune(teleporting(trajectories=off))
    controller.follow(BEYOND[kind], None, 0.0)


def test_points_are_clamped() -> None:
    controller = Controller(MODEL, teleporting(trajectories=TrajectoryRules(trajectory_limits="clamp")))
    command(controller, 0.0)
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
    model = RobotModel.from_urdf(ARM.with_joint("joint1", type=kind).urdf, gravity=[0.0, -P.g, 0.0])
    controller = Controller(model, teleporting(law="feedforward"))
    command(controller, 0.0)
    goal = way(Q + [math.tau + 0.1, 0.0], Q + [math.tau - 0.1, 0.0], Q + [2 * math.tau, 0.0])
    trajectory = controller.follow(replace(goal, times=5.0 * goal.times), None, 0.0)
    turn = math.tau if kind == "continuous" else 0.0
    for time, position in zip(5.0 * goal.times, goal.positions, strict=True):
        reached = controller.update(time, time)
        assert reached is not None
        assert_close(reached.desired.q, position - [turn, 0.0], 1e-12)
    assert_close(
        joined(list(trajectory_effort(model, trajectory, model.joint_names, np.inf))).positions, goal.positions, 1e-12
    )
