"""Commands of the controller in normal operation, after faults and with irregular clocks."""

import math
from typing import Any

import numpy as np
import pytest

from oracles import tsai_planar_2r as tsai
from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.base.errors import TrajectoryError
from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.control.configuration.settings import (
    SafetySettings,
    TrajectoryRules,
)
from robot_dynamics_ros.control.controlled_arm import ControlledArm
from robot_dynamics_ros.control.controller import Controller, make_controller
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.control.safety import Cause, Mode, Safety
from robot_dynamics_ros.control.trajectory.trajectory_effort import trajectory_effort
from support.comparing import assert_close
from support.controlled_arm import (
    ARM,
    GRAVITY,
    MODEL,
    REST,
    TASK_SPACE,
    WEIGHT,
    P,
    Q,
    command,
    move,
    started,
    teleporting,
)

NAN = [np.nan, 0.0]
OUTSIDE = [0.3, 2.5]  # the limit of joint2 is 2 rad


def desired(controller: Controller, time: float) -> tuple[Any, Any]:
    """Return desired position and velocity after a cycle in the state q, qd."""
    q, qd = (x.copy() for x in (controller.plan.q, controller.plan.qd))
    result = command(controller, time, q, qd).desired
    return result.q.copy(), result.qd.copy()


@pytest.mark.parametrize("law", ["computed_torque", "pd_gravity"])
def test_it_holds_the_first_measured_position(law: str) -> None:
    """Gravity torque, Tsai (9.117)-(9.118), from the first command on; later position errors are corrected."""
    controller = make_controller(
        MODEL, teleporting(law=law, ramp_time=2.0, torque_rate_limit=[20.0])
    )
    first = command(controller, 0.0)
    assert_close(first.desired.q, Q, 0.0)
    assert_close(first.effort, WEIGHT, 1e-12)
    pushed = command(controller, 0.1, Q + 0.1)
    assert_close(pushed.desired.q, Q, 0.0)
    assert np.abs(pushed.effort - tsai.gravity(P, Q + 0.1)).min() > 0.1


def test_no_command_before_the_first_state() -> None:
    controller = make_controller(MODEL, teleporting())
    with pytest.raises(TrajectoryError, match="joint_states"):
        controller.follow(move((1.0, 0.5)), None, 0.0)
    assert controller.update(0.0, 0.0) is None
    assert controller.finish(controller.clock.time) is None


@pytest.mark.parametrize("law", ["computed_torque", "task_space_computed_torque"])
def test_it_holds_a_given_position_from_the_start(law: str) -> None:
    settings = teleporting(law=law, task_space=TASK_SPACE)
    arm = ControlledArm(MODEL, settings)
    controller = Controller(arm, Safety(settings.safety), Q)
    assert_close(command(controller, 0.0, Q + 0.1).desired.q, Q, 0.0)
    if controller.law.task_torque is not None:
        a, b = (MODEL.link_pose(q, MODEL.link_names[-1])[:3, 3] for q in (Q, Q + 0.1))
        assert np.linalg.norm(controller.law.task_torque.error[:3]) == pytest.approx(
            np.linalg.norm(a - b), abs=1e-12
        )
    assert (controller.law.task_torque is None) == (law == "computed_torque")


def test_a_trajectory_may_begin_in_the_measured_state() -> None:
    controller = started(
        trajectories=TrajectoryRules(interpolate_from_desired_state=False)
    )
    command(controller, 0.1, Q + 0.2)
    controller.follow(move(Q), None, 0.1)
    assert_close(command(controller, 0.1, Q + 0.2).desired.q, Q + 0.2, 1e-12)


def test_the_command_starts_at_the_measured_effort() -> None:
    """The measured effort of an unmodelled load is added, decreasing to zero within ramp_time."""
    controller = make_controller(
        MODEL, teleporting(law="pd_gravity", kp=[100.0], kd=[0.0], ramp_time=2.0)
    )
    load = np.array([3.0, 1.0])
    controller.start_from(WEIGHT + load)
    for time, share in (
        (0.0, 1.0),
        (0.5, 0.75),
        (1.0, 0.5),
        (1.5, 0.25),
        (2.0, 0.0),
        (2.5, 0.0),
    ):
        assert_close(command(controller, time).effort, WEIGHT + share * load, 1e-12)


@pytest.mark.parametrize(
    ("law", "stiffness"), [("pd_gravity", [20.0, 5.0]), ("computed_torque", None)]
)
def test_the_start_takes_longer_where_the_law_is_too_soft_for_the_load(
    law: str, stiffness: Any
) -> None:
    """The arm yields by load / kp, at most at 0.05 rad/s; under computed torque by M^-1 load / kp, kp in 1/s^2."""
    kp = stiffness or [5.0]
    controller = make_controller(
        MODEL, teleporting(law=law, kp=kp, kd=[0.0], ramp_time=1.0)
    )
    load = np.array([3.0, 1.0])
    controller.start_from(WEIGHT + load)
    sag = (
        load / kp if stiffness else np.linalg.solve(tsai.mass_matrix(P, Q), load) / 5.0
    )
    seconds = np.abs(sag).max() / 0.05
    assert seconds > 2.0
    for share in (1.0, 0.5, 0.0):
        assert_close(
            command(controller, (1.0 - share) * seconds).effort,
            WEIGHT + share * load,
            1e-9,
        )


@pytest.mark.parametrize("law", ["pd", "pd_gravity"])
def test_torque_laws_use_the_inertia_at_the_start(law: str) -> None:
    """omega^2 diag M(q_start) and 2 zeta omega diag M(q_start), M from Tsai (9.114), constant."""
    controller = started(law=law, natural_frequency=[8.0, 12.0], damping_ratio=[0.7])
    inertia = np.diag(tsai.mass_matrix(P, Q))
    omega = np.array([8.0, 12.0])
    q = Q + [0.5, 1.0]
    qd = np.array([0.3, -0.2])
    expected = inertia * (omega**2 * (Q - q) - 2 * 0.7 * omega * qd)
    if law == "pd_gravity":
        expected += tsai.gravity(P, q)
    assert_close(command(controller, 0.1, q, qd).effort, expected, 1e-12)


def test_an_open_loop_law_needs_no_states() -> None:
    """It starts at its first point; if the clock goes back it holds the desired position."""
    start = np.array([1.0, 0.5])
    controller = make_controller(MODEL, teleporting(law="feedforward"))
    assert controller.update(5.0, 5.0) is None
    controller.follow(move(start, (0.2, 0.3)), None, 5.0)
    for time, clock in ((5.0, 5.0), (5.5, 5.5), (6.0, 6.0), (1.0, 6.1)):
        result = controller.update(time, clock)
        assert result.mode is (Mode.ACTIVE if time > 1.0 else Mode.HOLD)
        assert_close(result.desired.q, start, 1e-12)
        assert_close(result.effort, tsai.gravity(P, start), 1e-12)
        assert_close(
            controller.finish(controller.clock.time).effort,
            tsai.gravity(P, start),
            1e-12,
        )
    controller.clear_fault(6.1)
    assert_close(controller.update(1.1, 6.2).desired.q, start, 1e-12)
    assert controller.mode is Mode.ACTIVE


def test_states_under_an_open_loop_law_are_checked() -> None:
    controller = make_controller(MODEL, teleporting(law="feedforward"))
    assert command(controller, 0.0).mode is Mode.ACTIVE
    assert (
        command(controller, 0.1, [0.3, 2.1]).mode is Mode.HOLD
        and controller.safety.fault.cause is Cause.POSITION_LIMIT
    )


@pytest.mark.parametrize(
    ("law", "begun"), [("feedforward", True), ("computed_torque", False)]
)
def test_missing_states_are_no_fault_under_an_open_loop_law_or_before_the_start(
    law: str, begun: bool
) -> None:
    controller = make_controller(MODEL, teleporting(law=law))
    if begun:
        command(controller, 0.0)
    assert controller.watch(9.0) is None
    assert controller.mode is Mode.ACTIVE


@pytest.mark.parametrize("law", sorted(LAWS))
def test_gravity_is_omitted_if_the_robot_adds_it(law: str) -> None:
    """In law, hold and last command."""
    controller = make_controller(
        MODEL,
        teleporting(law=law, robot_compensates_gravity=True, task_space=TASK_SPACE),
    )
    weightless = make_controller(
        MODEL.without_gravity(), teleporting(law=law, task_space=TASK_SPACE)
    )
    for each in (controller, weightless):
        command(each, 0.0)
        if LAWS[law].follows:
            each.follow(move((1.0, 0.5)), None, 0.0)
    for time in (0.2, 0.5):
        assert_close(
            command(controller, time, Q + 0.1).effort,
            command(weightless, time, Q + 0.1).effort,
            0.0,
        )
    for each in (controller, weightless):
        assert_close(each.finish(each.clock.time).effort, REST, 0.0)
    if LAWS[law].needs_state:
        assert_close(
            command(controller, 0.6, NAN).effort,
            command(weightless, 0.6, NAN).effort,
            0.0,
        )


@pytest.mark.parametrize("on", [True, False])
def test_the_friction_of_the_desired_motion_is_compensated(on: bool) -> None:
    """Not that of the measured motion; the arm rests here."""
    arm = ARM.with_joint("joint1", extra='<dynamics damping="0.5" friction="2"/>')
    model = RobotModel.from_urdf(arm.urdf, gravity=GRAVITY)
    controller = make_controller(
        model, teleporting(friction_compensation=on, kp=[0.0], kd=[0.0])
    )
    command(controller, 0.0)
    controller.follow(move(Q + [1.0, 0.5]), None, 0.0)
    result = command(controller, 0.3)
    friction = [2.0 + 0.5 * result.desired.qd[0], 0.0]
    expected = tsai.torque(P, Q, REST, result.desired.qdd) + (friction if on else REST)
    assert_close(result.effort, expected, 1e-9)


def test_the_rate_of_the_torque_is_limited() -> None:
    controller = started(
        law="pd",
        kp=[100.0],
        kd=[0.0],
        torque_rate_limit=[20.0],
        robot_compensates_gravity=True,
    )
    efforts = [
        command(controller, time, Q + [-1.0, 0.05]).effort.copy()
        for time in (0.1, 0.3, 0.4)
    ]
    assert_close(np.array(efforts), [[2.0, -2.0], [6.0, -5.0], [8.0, -5.0]], 1e-12)
    assert controller.slowed_cycles == 2 + 1  # joint1 in all three


def test_the_rate_limit_applies_when_cycles_resume() -> None:
    """Hold commands during 0.25 s without cycles; the next cycle's step counts from its last command."""
    controller = make_controller(
        MODEL, teleporting(law="pd_gravity", torque_rate_limit=[10.0])
    )
    command(controller, 100.0)
    controller.measure(100.25, 100.25, Q, np.full(2, 2.0))
    held = controller.watch(100.25)
    assert held.mode is Mode.HOLD
    effort = held.effort.copy()
    assert_close(np.abs(effort - WEIGHT), [2.5, 2.5], 1e-9)
    assert_close(
        np.abs(command(controller, 100.26, qd=[9.0, 9.0]).effort - effort),
        [0.1, 0.1],
        1e-9,
    )


@pytest.mark.parametrize("decelerate", [True, False])
def test_cancel(decelerate: bool) -> None:
    settings = {} if decelerate else {"decelerate_on_cancel": False}
    controller = started(max_deceleration_on_cancel=[4.0], **settings)
    controller.follow(move((1.0, 0.5)), None, 0.0)
    q, qd = desired(controller, 0.5)
    controller.cancel()
    end, end_d = desired(controller, 3.0)
    way = np.sign(qd) * qd**2 / (2 * 4.0)
    assert_close(end, q + way if decelerate else q, 1e-12)
    assert_close(end_d, REST, 0.0)
    assert controller.mode is Mode.ACTIVE


def points(times: Any, elbow: Any, velocities: Any = None) -> TrajectoryPoints:
    """Return points of which only joint2 moves, with velocities for quintics without acceleration at the points."""
    q = np.array([[Q[0], x] for x in elbow])
    qd = None if velocities is None else np.array([[0.0, x] for x in velocities])
    return TrajectoryPoints(
        MODEL.joint_names, np.array(times), q, qd, None if qd is None else 0.0 * q
    )


BEYOND = {  # the limits of joint2: 2 rad, 5 rad/s
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


def test_a_joint_beyond_its_limit_may_only_move_back() -> None:
    controller = make_controller(MODEL, teleporting())
    command(controller, 0.0, [Q[0], 2.03])
    controller.follow(points([1.0], [1.5], [0.0]), None, 0.0)
    with pytest.raises(TrajectoryError, match="joint 'joint2'"):
        controller.follow(points([1.0], [2.04], [0.0]), None, 0.0)


@pytest.mark.parametrize("kind", ["continuous", "revolute"])
def test_goals_of_a_continuous_joint_are_at_most_half_a_turn_away(kind: str) -> None:
    """Only the first point is wrapped; the trajectory with effort keeps the positions of the points."""
    model = RobotModel.from_urdf(
        ARM.with_joint("joint1", type=kind).urdf, gravity=GRAVITY
    )
    controller = make_controller(model, teleporting(law="feedforward"))
    command(controller, 0.0)
    goal = move(
        Q + [math.tau + 0.1, 0.0],
        Q + [math.tau - 0.1, 0.0],
        Q + [2 * math.tau, 0.0],
        seconds=5.0,
    )
    trajectory = controller.follow(goal, None, 0.0)
    turn = math.tau if kind == "continuous" else 0.0
    for time, position in zip(goal.times, goal.positions, strict=True):
        assert_close(
            controller.update(time, time).desired.q, position - [turn, 0.0], 1e-12
        )
    *_, followed = trajectory_effort(model, trajectory, model.joint_names, np.inf)
    assert_close(followed.positions, goal.positions, 1e-12)


CASES = {
    "nan": (dict(q=NAN), Cause.STATE_INVALID, "joint1"),
    "infinite": (dict(qd=[0.0, np.inf]), Cause.STATE_INVALID, "joint2"),
    "huge": (dict(qd=[1e200, 0.0]), Cause.STATE_INVALID, "joint1"),
    "too far": (dict(q=[0.0, 2.1]), Cause.POSITION_LIMIT, "joint2"),
    "too fast": (dict(qd=[0.0, -5.2 - 1e-12]), Cause.VELOCITY_LIMIT, "joint2"),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("on_fault", ["hold", "zero"])
@pytest.mark.parametrize(
    "law", ["computed_torque", "gravity_compensation", "task_space_computed_torque"]
)
def test_each_check(law: str, on_fault: str, case: str) -> None:
    change, expected_cause, joint = CASES[case]
    controller = started(
        law=law, safety=SafetySettings(on_fault=on_fault), task_space=TASK_SPACE
    )
    if LAWS[law].follows:
        controller.follow(move((1.0, 0.5)), None, 0.0)
    failed = command(controller, 0.1, **{"q": Q, **change})
    (transition,) = controller.safety.take_transitions()
    assert (transition.fault.cause, transition.fault.joint) == (expected_cause, joint)
    assert failed.mode.value == transition.after.value == on_fault
    q = np.array(Q if expected_cause is Cause.STATE_INVALID else change.get("q", Q))
    qd = np.array(
        change.get("qd", REST) if expected_cause is Cause.VELOCITY_LIMIT else REST
    )
    # It stops within 0.1 s, which takes more than the set deceleration.
    braking = tsai.mass_matrix(P, q) @ (qd / 0.1)
    gravity = tsai.gravity(P, q)
    expected = gravity if on_fault == "zero" else gravity - braking
    assert_close(
        failed.effort,
        np.clip(expected, -MODEL.effort_limits, MODEL.effort_limits),
        1e-9,
    )
    # The arm rests until the fault is cleared.
    with pytest.raises(
        TrajectoryError, match=f"{on_fault}.*joint|gravity_compensation"
    ) as refused:
        controller.follow(move((1.0, 0.5)), None, 0.1)
    assert str(refused.value).count("Cure: ") == 1
    stop = Q + 0.05 * qd
    for time in (0.2, 0.4, 1.2):
        waiting = command(controller, time, stop)
    if expected_cause is Cause.POSITION_LIMIT and on_fault == "hold":
        return  # it is held beyond the limit
    assert waiting.mode is Mode.FAULT
    assert_close(
        waiting.effort, tsai.gravity(P, stop) if on_fault == "hold" else REST, 1e-9
    )
    assert_close(waiting.desired.q, stop, 1e-12)
    controller.clear_fault(1.2)
    cleared = command(controller, 1.3, stop)
    assert cleared.mode is Mode.ACTIVE
    assert_close(cleared.desired.q, stop, 1e-12)


def test_it_does_not_clear_while_the_check_fails() -> None:
    controller = started()
    controller.clear_fault(0.0)  # no fault
    assert controller.mode is Mode.ACTIVE and controller.safety.take_transitions() == ()
    command(controller, 0.1, NAN)
    drops = controller.plan.drops
    controller.cancel()
    assert controller.plan.drops == drops, "the fault has dropped them"
    with pytest.raises(RobotDynamicsError, match="joint1"):
        controller.clear_fault(0.1)
    assert controller.mode is Mode.HOLD
    command(controller, 0.11)
    controller.clear_fault(0.11)  # as soon as it passes
    assert controller.mode is Mode.ACTIVE


def test_an_arm_beyond_a_limit_moves_back_after_the_fault_is_cleared() -> None:
    controller = started()
    for time in (0.1, 1.0):
        assert command(controller, time, OUTSIDE).mode is Mode.HOLD  # it is still there
    controller.clear_fault(1.0)
    assert command(controller, 1.1, OUTSIDE).mode is Mode.ACTIVE
    controller.follow(move((0.3, 1.0)), None, 1.1)
    for k in range(12):
        q, qd = desired(controller, 1.1 + 0.1 * k)
    assert controller.mode is Mode.ACTIVE
    assert_close(q, [0.3, 1.0], 1e-9)
    assert command(controller, 2.4, [0.3, 2.06]).mode is Mode.HOLD


def test_a_refused_request_does_not_accept_a_position_beyond_its_limit() -> None:
    """Otherwise a fault that resets itself would end as soon as the joint is slow again."""
    controller = started(safety=SafetySettings(fault_reset="auto"))
    assert command(controller, 0.1, OUTSIDE, [0.0, 9.0]).mode is Mode.HOLD
    with pytest.raises(RobotDynamicsError, match="joint2"):
        controller.clear_fault(0.1)
    for time in (0.2, 1.0):
        assert command(controller, time, OUTSIDE).mode is Mode.HOLD


def test_old_feedback() -> None:
    """Gravity compensation without damping for stale_hold_time, which then fades; clearing requires states."""
    controller = make_controller(
        MODEL,
        teleporting(safety=SafetySettings(state_timeout=0.1, stale_hold_time=0.5)),
    )
    command(controller, 0.0)
    assert controller.watch(0.1) is None
    held = controller.watch(0.11)
    assert held.mode is Mode.HOLD
    assert_close(held.effort, WEIGHT, 1e-12)
    assert controller.update(0.12, 0.12).effort.tolist() == held.effort.tolist()
    with pytest.raises(RobotDynamicsError, match="joint_states"):
        controller.clear_fault(0.12)
    dropped = controller.watch(0.7)
    assert dropped.mode is Mode.ZERO
    assert_close(dropped.effort, WEIGHT, 1e-12)
    half = controller.watch(0.95)
    assert_close(half.effort, 0.5 * WEIGHT, 1e-12)
    assert_close(controller.watch(1.21).effort, REST, 0.0)
    assert_close(controller.finish(controller.clock.time).effort, REST, 0.0)
    back = command(controller, 1.5)
    assert back.mode is Mode.HOLD
    assert_close(back.effort, WEIGHT, 1e-12)
    assert [t.after for t in controller.safety.take_transitions()] == [
        Mode.HOLD,
        Mode.ZERO,
        Mode.HOLD,
    ]


def test_desired_motion_with_non_finite_torque() -> None:
    controller = started(law="pd_feedforward")
    huge = TrajectoryPoints(
        MODEL.joint_names,
        np.array([0.0]),
        np.array([[0.0, 0.0]]),
        np.array([[1e200, 0.0]]),
    )
    rules = TrajectoryRules(
        allow_nonzero_velocity_at_trajectory_end=True,
        trajectory_limits="off",
        set_point_step_limit=(np.inf,),
    )
    controller.tune(teleporting(law="pd_feedforward", trajectories=rules))
    controller.follow(huge, None, 0.0)
    failed = command(controller, 0.1)
    assert (
        failed.mode is Mode.HOLD
        and controller.safety.fault.cause is Cause.TORQUE_NOT_FINITE
    )
    assert_close(failed.effort, WEIGHT, 1e-12)


@pytest.mark.parametrize("on_fault", ["hold", "zero"])
def test_the_last_command(on_fault: str) -> None:
    controller = started(safety=SafetySettings(on_fault=on_fault))
    command(controller, 0.5, Q + 0.2, [1.0, 1.0])
    expected = tsai.gravity(P, Q + 0.2) if on_fault == "hold" else REST
    assert_close(controller.finish(controller.clock.time).effort, expected, 1e-12)


def test_the_last_command_obeys_the_rate_limit() -> None:
    controller = started(
        law="pd_gravity", kp=[100.0], kd=[0.0], torque_rate_limit=[20.0]
    )
    for k in range(1, 4):
        pulled = command(controller, 0.1 * k, Q - 0.5).effort.copy()
    towards = tsai.gravity(P, Q - 0.5) - pulled
    assert_close(
        controller.finish(0.45).effort, pulled + np.clip(towards, -3.0, 3.0), 1e-9
    )


@pytest.mark.parametrize(("effect", "mode"), [("stop", Mode.HOLD), ("zero", Mode.ZERO)])
def test_an_emergency_stop_ends_by_clear_fault_alone(effect: str, mode: Mode) -> None:
    """Not by fault_reset auto, nor before it has taken effect; without cycles ``watch`` executes it."""
    safety = SafetySettings(
        on_fault="zero", fault_reset="auto", emergency_stop_effect=effect
    )
    controller = started(torque_rate_limit=(1.0,), safety=safety)
    controller.safety.request_emergency_stop("a button")
    assert controller.watch(0.001) is None
    with pytest.raises(RobotDynamicsError, match="next cycle"):
        controller.clear_fault(0.001)
    stopped = controller.watch(0.02)
    assert stopped.mode is mode and stopped.effort.any() == (effect == "stop")
    assert all(command(controller, 0.02 + 0.01 * k).mode is mode for k in range(50))
    assert controller.safety.fault.cause is Cause.EMERGENCY_STOP
    controller.clear_fault(0.52)
    assert command(controller, 0.53).mode is Mode.ACTIVE


def test_an_emergency_stop_keeps_zero_effort() -> None:
    """A zero command stays zero, also when valid states return."""
    controller = started()
    controller.watch(0.2)
    controller.watch(0.8)
    controller.watch(1.4)
    assert controller.mode is Mode.ZERO
    controller.safety.request_emergency_stop("a button")
    assert not command(controller, 1.5).effort.any()


@pytest.mark.parametrize("reset", ["manual", "auto"])
def test_time_that_goes_back_is_a_fault_that_drops_the_trajectory(reset: str) -> None:
    controller = make_controller(
        MODEL, teleporting(safety=SafetySettings(fault_reset=reset))
    )
    command(controller, 5.0)
    controller.follow(move((1.0, 0.5)), None, 5.0)
    command(controller, 5.5)
    there = np.array([0.1, 0.2])
    held = command(controller, 1.0, there)
    assert held.mode is Mode.HOLD
    assert (controller.safety.fault.cause, controller.safety.fault.value) == (
        Cause.CLOCK_JUMPED_BACK,
        4.5,
    )
    for time in (1.1, 1.2, 1.35):
        later = command(controller, time, there)
    assert later.mode is (Mode.ACTIVE if reset == "auto" else Mode.FAULT)
    assert_close(later.desired.qd, REST, 0.0)
    assert_close(later.effort, tsai.gravity(P, there), 1e-12)
    assert_close(command(controller, 7.0, there).desired.q, there, 0.0)


def test_the_rate_limit_uses_the_steady_clock_after_a_jump_back() -> None:
    controller = make_controller(
        MODEL, teleporting(law="pd_gravity", torque_rate_limit=[10.0])
    )
    command(controller, 5.0)
    command(controller, 5.5)
    held = command(controller, 1.0, qd=[1.0, 1.0], steady=5.6)
    assert (controller.safety.fault.cause, controller.safety.fault.value) == (
        Cause.CLOCK_JUMPED_BACK,
        4.5,
    )
    assert_close(np.abs(held.effort - WEIGHT), [1.0, 1.0], 1e-9)


@pytest.mark.parametrize(("leap", "mode"), [(0.125, Mode.ACTIVE), (0.126, Mode.HOLD)])
def test_a_jump_ahead_by_more_than_the_state_timeout(leap: float, mode: Mode) -> None:
    controller = started(safety=SafetySettings(state_timeout=0.125))
    assert command(controller, 1.0 + leap, steady=1.0).mode is mode
    if mode is Mode.HOLD:
        assert (controller.safety.fault.cause, controller.safety.fault.value) == (
            Cause.CLOCK_JUMPED_AHEAD,
            pytest.approx(leap),
        )


def test_a_rate_that_is_not_kept() -> None:
    """Counted from the start, and from a jump back of the clock."""
    controller = make_controller(MODEL, teleporting(update_rate=100.0))
    command(controller, 100.0, steady=0.0)
    modes = [command(controller, 0.05 * k, steady=0.05 * k).mode for k in range(1, 40)]
    assert modes[-1] is Mode.HOLD and controller.safety.fault.cause is Cause.CYCLE_RATE
    assert controller.clock.rate.late == 38
    with pytest.raises(RobotDynamicsError, match="20%"):
        controller.clear_fault(1.95)


@pytest.mark.parametrize(
    ("stamp", "steady", "held"),
    [
        (100.125, 100.125, False),
        (100.126, 100.126, True),  # no cycle for longer than state_timeout
        (100.5, 100.01, False),  # a simulation much faster than real time
        (100.01, 100.5, False),  # one that pauses
        (100.0, 100.5, False),
    ],
)
def test_missing_cycles_are_a_fault_if_both_clocks_advance(
    stamp: float, steady: float, held: bool
) -> None:
    settings = teleporting(safety=SafetySettings(state_timeout=0.125))
    arm = ControlledArm(MODEL, settings)
    controller = Controller(arm, Safety(settings.safety), simulated_time=True)
    command(controller, 100.0)
    controller.measure(stamp, steady, Q, REST)
    decided = controller.watch(steady)
    assert (decided is not None) == held
    if decided is not None:
        assert (
            decided.mode is Mode.HOLD
            and controller.safety.fault.cause is Cause.CYCLE_RATE
        )
        assert_close(decided.effort, WEIGHT, 1e-12)


def test_a_payload_applies_from_the_next_cycle_on() -> None:
    controller = started()
    payload = (
        MODEL.link_names[-1],
        2.0,
        (0.1, 0.0, 0.0),
        (0.01, 0.0, 0.0, 0.01, 0.0, 0.01),
    )
    controller.arm.set_payload(*payload)
    before = MODEL.gravity_torque(Q)
    after = MODEL.with_payload(*payload).gravity_torque(Q)
    for time, share in ((0.1, 0.5), (0.2, 1.0), (0.3, 1.0)):
        assert_close(
            command(controller, time).effort, before + share * (after - before), 1e-9
        )
    with pytest.raises(RobotDynamicsError, match='"hand"'):
        controller.arm.set_payload("hand", *payload[1:])


def test_a_change_of_law_keeps_the_position() -> None:
    controller = started()
    for k, law in enumerate(LAWS):
        controller.clock.period = 0.0  # the gains are unstable at 10 Hz
        controller.tune(teleporting(law=law, task_space=TASK_SPACE))
        for time in (k + 0.1, k + 1.0):
            result = command(controller, time)
        assert_close(result.desired.q, Q, 0.0)
        assert_close(result.effort, REST if law == "pd" else WEIGHT, 1e-12)


def test_gravity_compensation_refuses_trajectories() -> None:
    controller = started()
    controller.follow(move(Q, Q, effort=np.full((2, 2), 1.5)), None, 0.0)
    assert_close(command(controller, 1.1).effort, WEIGHT + 1.5, 1e-9)
    controller.clock.period = 0.0  # the gains are unstable at 10 Hz
    controller.tune(teleporting(law="gravity_compensation"))
    command(controller, 1.2)
    there = Q + 0.4
    assert_close(command(controller, 1.5, there).effort, tsai.gravity(P, there), 1e-9)
    with pytest.raises(TrajectoryError, match="gravity_compensation"):
        controller.follow(move((1.0, 0.5)), None, 1.5)
    controller.clock.period = 0.0
    # the new law holds the position to which the arm was guided
    controller.tune(teleporting())
    result = command(controller, 2.0, there)
    assert_close(result.desired.q, there, 0.0)
    assert_close(result.effort, tsai.gravity(P, there), 1e-12)


def test_a_new_integral_gain_keeps_the_torque() -> None:
    """A constant error for 0.1 s: int e = 0.1 e, times ki, times M."""
    error = np.array([0.1, -0.05])
    controller = started(ki=[100.0])
    for k in range(1, 12):
        result = command(controller, 0.01 * k, Q - error)
    expected = tsai.torque(P, Q - error, REST, 100.0 * error + 100.0 * 0.1 * error)
    assert_close(result.effort, expected, 1e-9)
    for ki, share in ((200.0, 11.0), (0.0, 0.0)):
        controller.tune(teleporting(ki=[ki]))
        for _ in range(25):  # until the transition is over, without an error
            command(controller, controller.clock.time + 0.01)
        result = command(controller, controller.clock.time + 0.01, Q - error)
        assert_close(
            result.effort,
            tsai.torque(P, Q - error, REST, 100.0 * error + share * error),
            1e-9,
        )


def test_a_new_cutoff_applies_at_once() -> None:
    """A velocity gain of 1 Nms/rad shows the velocity in use; other settings do not affect the filter."""
    damper: dict[str, Any] = {"law": "pd", "kp": [0.0], "kd": [1.0]}
    controller = started(**damper)
    assert_close(command(controller, 0.01, qd=[1.0, 1.0]).effort, [-1.0, -1.0], 1e-12)
    controller.tune(teleporting(**damper, velocity_filter_cutoff=5.0))
    command(controller, 0.02)
    left = np.exp(-2 * np.pi * 5.0 * 0.01)
    assert_close(
        command(controller, 0.03, qd=[1.0, 1.0]).effort,
        (left - 1.0) * np.ones(2),
        1e-12,
    )
    controller.tune(teleporting(**damper, velocity_filter_cutoff=5.0, ramp_time=1.0))
    assert_close(
        command(controller, 0.04, qd=[1.0, 1.0]).effort,
        (left**2 - 1.0) * np.ones(2),
        1e-12,
    )


def test_new_effort_limits_and_a_new_fall_back() -> None:
    stiff: dict[str, Any] = {"law": "pd", "kp": [1000.0], "kd": [0.0]}
    controller = started(**stiff)
    free = command(controller, 0.1, Q + [0.0, 0.4])
    assert_close(free.effort, [0.0, -400.0], 1e-9)
    controller.tune(
        teleporting(
            **stiff, effort_limit_scale=[0.5], safety=SafetySettings(on_fault="zero")
        )
    )
    cut = command(controller, 0.2, Q + [0.0, 0.4])
    assert_close(cut.effort, [0.0, -250.0], 1e-9)
    assert (free.saturated, cut.saturated) == ((), ("joint2",))
    assert command(controller, 0.3, NAN).mode is Mode.ZERO


def test_a_new_margin_accepts_the_present_position() -> None:
    """An arm that started beyond its limit of 2 may stay there and move back, but not further out."""
    controller = make_controller(MODEL, teleporting())
    command(controller, 0.0, OUTSIDE)
    controller.tune(teleporting(safety=SafetySettings(position_limit_margin=[0.1])))
    for time, elbow, mode in (
        (0.1, 2.5, Mode.ACTIVE),
        (0.2, 2.59, Mode.ACTIVE),
        (0.3, 2.61, Mode.HOLD),
    ):
        assert command(controller, time, [0.3, elbow]).mode is mode


def test_other_settings_do_not_move_the_limits() -> None:
    """New gains while the arm is held beyond a limit do not accept its position."""
    controller = started()
    for time in (0.1, 0.2, 0.3, 0.6):
        assert command(controller, time, OUTSIDE).mode is Mode.HOLD
        controller.tune(teleporting(natural_frequency=[1.0 + time]))


def test_the_observer_needs_commands_and_good_states_and_survives_other_settings() -> (
    None
):
    controller = make_controller(MODEL, teleporting(observer_gain=20.0))
    for time in (0.0, 0.05):
        controller.measure(time, time, Q, REST)
    assert controller.external.torque is None, "nothing is commanded yet"
    controller.update(0.05, 0.05)
    for time in (0.1, 0.2):
        command(controller, time, Q + 0.1)
    observed = controller.external.torque
    assert np.abs(observed).min() > 0.1, "the law pulls, and the arm does not move"
    controller.tune(teleporting(observer_gain=20.0, ramp_time=1.0))
    assert controller.external.torque is observed
    assert command(controller, 0.3, [0.3, 2.1]).mode is Mode.HOLD
    assert controller.external.torque is not None
    for time in (0.35, 0.4):
        command(controller, time, NAN)
    assert controller.external.torque is None
    for time in (0.45, 0.5):
        command(controller, time)
    assert controller.external.torque is not None
    controller.tune(teleporting(ramp_time=1.0))
    command(controller, 0.6)
    assert controller.external.torque is None
