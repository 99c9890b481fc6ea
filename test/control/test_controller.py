"""The controller as an object: when it commands what, without ROS and clocks."""

from typing import Any

import numpy as np
import pytest

from oracles import tsai_planar_2r as tsai
from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.control.controller import Controller
from robot_dynamics_ros.control.faults import Cause
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.control.motion_plan import TrajectoryRules
from robot_dynamics_ros.control.safety import Mode
from robot_dynamics_ros.control.settings import SafetySettings
from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints
from robot_dynamics_ros.errors import TrajectoryError
from robot_dynamics_ros.simulation import simulate
from support.comparing import assert_close
from support.controlled_arm import FREE_ARM, GRAVITY, HAND, MODEL, REST, WEIGHT, P, Q, command, move, started
from support.teleporting import teleporting


def desired(controller: Controller, time: float) -> tuple[Any, Any]:
    """Desired position and velocity, while the arm is wherever it should be."""
    q, qd = (x.copy() for x in (controller._desired.q, controller._desired.qd))
    found = command(controller, time, q, qd).desired
    return found.q.copy(), found.qd.copy()


@pytest.mark.parametrize("law", ["computed_torque", "pd_gravity"])
def test_it_holds_where_it_finds_the_arm(law: str) -> None:
    """Gravity alone, Tsai (9.117)-(9.118); later the arm is pulled back to the same place."""
    controller = Controller(MODEL, teleporting(law=law))
    first = command(controller, 0.0)
    assert_close(first.desired.q, Q, 0.0)
    assert_close(first.effort, WEIGHT, 1e-12)
    pushed = command(controller, 0.1, Q + 0.1)
    assert_close(pushed.desired.q, Q, 0.0)
    assert np.abs(pushed.effort - tsai.gravity(P, Q + 0.1)).min() > 0.1


def test_gravity_compensation_follows_nothing() -> None:
    controller = Controller(MODEL, teleporting(law="gravity_compensation"))
    for k, q in enumerate((Q, Q + 0.3)):
        assert_close(command(controller, float(k), q).effort, tsai.gravity(P, q), 1e-12)
    with pytest.raises(TrajectoryError, match="gravity_compensation"):
        controller.follow(move((1.0, 0.5)), None, 0.0)


@pytest.mark.parametrize("reset", ["manual", "auto"])
def test_time_that_goes_back_is_a_fault_that_drops_the_trajectory(reset: str) -> None:
    controller = Controller(MODEL, teleporting(safety=SafetySettings(fault_reset=reset)))
    command(controller, 5.0)
    controller.follow(move((1.0, 0.5)), None, 5.0)
    command(controller, 5.5)
    held = command(controller, 1.0, [0.1, 0.2])
    assert held.mode is Mode.HOLD and controller.fault is not None
    assert (controller.fault.cause, controller.fault.value) == (Cause.CLOCK_JUMPED_BACK, 4.5)
    assert_close(held.effort, tsai.gravity(P, np.array([0.1, 0.2])), 1e-12)
    for time in (1.1, 1.2, 1.35):
        later = command(controller, time, [0.1, 0.2])
    assert later.mode is (Mode.ACTIVE if reset == "auto" else Mode.FAULT)
    assert_close(later.desired.q, [0.1, 0.2], 0.0)
    assert_close(later.desired.qd, REST, 0.0)
    assert_close(later.effort, tsai.gravity(P, np.array([0.1, 0.2])), 1e-12)
    assert_close(command(controller, 7.0, [0.1, 0.2]).desired.q, [0.1, 0.2], 0.0)


def test_before_the_first_state_there_is_no_start() -> None:
    controller = Controller(MODEL, teleporting())
    with pytest.raises(TrajectoryError, match="joint_states"):
        controller.follow(move((1.0, 0.5)), None, 0.0)
    assert controller.update(0.0, 0.0) is None
    assert controller.last_effort(controller.time) is None


def test_feedforward_starts_at_its_first_point() -> None:
    controller = Controller(MODEL, teleporting(law="feedforward"))
    assert controller.update(0.0, 0.0) is None
    controller.follow(move((1.0, 0.5), (0.2, 0.3)), None, 0.0)
    for time in (0.0, 0.5, 1.0):
        found = controller.update(time, time)
        assert found is not None
        assert_close(found.desired.q, [1.0, 0.5], 1e-12)
        assert_close(found.effort, tsai.gravity(P, np.array([1.0, 0.5])), 1e-12)


# Limits


def test_effort_is_cut_to_the_limits_and_the_joints_are_named() -> None:
    weak = FREE_ARM.with_joint("joint2", limit='<limit lower="-9" upper="9" effort="5" velocity="9"/>')
    model = RobotModel.from_urdf(weak.urdf, gravity=GRAVITY)
    controller = Controller(model, teleporting(law="pd", kp=[100.0], kd=[0.0]))
    calm = command(controller, 0.0)
    assert calm.saturated == ()
    pulled = command(controller, 0.1, Q + [1.0, 1.0])
    assert pulled.saturated == ("joint2",)
    assert_close(pulled.effort, [-100.0, -5.0], 1e-12)


def test_the_rate_of_the_torque_is_limited() -> None:
    controller = started(law="pd", kp=[100.0], kd=[0.0], torque_rate_limit=[20.0], robot_compensates_gravity=True)
    efforts = [command(controller, time, Q + [-1.0, 0.05]).effort.copy() for time in (0.1, 0.3, 0.4)]
    assert_close(np.array(efforts), [[2.0, -2.0], [6.0, -5.0], [8.0, -5.0]], 1e-12)
    assert controller.slowed_cycles == 2 + 1  # joint1 in all three


def test_the_start_goes_over_from_what_the_motors_do() -> None:
    """They carry a load that the model does not know: for two seconds less and less of it is added to the law."""
    controller = Controller(MODEL, teleporting(law="pd_gravity", kp=[100.0], kd=[0.0], ramp_time=2.0))
    weight, load = WEIGHT, np.array([3.0, 1.0])
    controller.start_effort = weight + load
    for time, share in ((0.0, 1.0), (0.5, 0.75), (1.0, 0.5), (2.0, 0.0), (3.0, 0.0)):
        assert_close(command(controller, time).effort, weight + share * load, 1e-12)


@pytest.mark.parametrize(
    ("law", "soft"), [("computed_torque", {"ramp_time": 2.0}), ("feedforward", {"torque_rate_limit": [20.0]})]
)
def test_an_arm_whose_brakes_open_at_the_first_command_does_not_fall(soft: Any, law: str) -> None:
    controller = Controller(MODEL, teleporting(law=law, **soft))
    run = simulate(MODEL, lambda t, q, qd: command(controller, t, q, qd).effort, 0.5, initial_positions=Q)
    assert np.abs(run.velocity).max() < 1e-6


def test_the_rate_limit_holds_on_the_way_to_zero_and_back() -> None:
    safety = SafetySettings(on_fault="zero", fault_reset="auto")
    controller = started(torque_rate_limit=[20.0], safety=safety)
    for time in np.linspace(0.1, 2.0, 20):
        fallen = command(controller, float(time), [np.nan, 0.0])
    assert_close(fallen.effort, REST, 0.0)
    for time in (2.1, 2.2, 2.35):
        risen = command(controller, time)
    assert risen.mode is Mode.ACTIVE
    assert_close(np.abs(risen.effort), [7.0, 5.0], 1.0)


# Gravity that the robot makes up for itself


@pytest.mark.parametrize("law", sorted(LAWS))
def test_gravity_is_left_out_where_the_robot_adds_it(law: str) -> None:
    """Everywhere: in the law, in hold, and in the last command."""
    controller = Controller(MODEL, teleporting(law=law, robot_compensates_gravity=True, task_space=HAND))
    weightless = Controller(MODEL.without_gravity(), teleporting(law=law, task_space=HAND))
    for each in (controller, weightless):
        command(each, 0.0)
        if LAWS[law].follows:
            each.follow(move((1.0, 0.5)), None, 0.0)
    for time in (0.2, 0.5):
        assert_close(command(controller, time, Q + 0.1).effort, command(weightless, time, Q + 0.1).effort, 0.0)
    last = controller.last_effort(controller.time)
    assert last is not None
    assert_close(last, REST, 0.0)
    if LAWS[law].needs_state:
        assert_close(command(controller, 0.6, [np.nan, 0.0]).effort, REST, 0.0)


def test_a_payload_is_carried_from_the_next_cycle_on() -> None:
    controller = started()
    payload = (MODEL.link_names[-1], 2.0, (0.1, 0.0, 0.0), (0.01, 0.0, 0.0, 0.01, 0.0, 0.01))
    controller.set_payload(*payload)
    before, after = MODEL.gravity_torque(Q), MODEL.with_payload(*payload).gravity_torque(Q)
    for time, share in ((0.1, 0.5), (0.2, 1.0), (0.3, 1.0)):
        assert_close(command(controller, time).effort, before + share * (after - before), 1e-9)
    with pytest.raises(RobotDynamicsError, match='"hand"'):
        controller.set_payload("hand", *payload[1:])


# Motion that is slowed down or given up


@pytest.mark.parametrize("decelerate", [True, False])
def test_cancel(decelerate: bool) -> None:
    controller = started(decelerate_on_cancel=decelerate, max_deceleration_on_cancel=[4.0])
    controller.follow(move((1.0, 0.5)), None, 0.0)
    q, qd = desired(controller, 0.5)
    controller.cancel()
    end, end_d = desired(controller, 3.0)
    way = np.sign(qd) * qd**2 / (2 * 4.0)
    assert_close(end, q + way if decelerate else q, 1e-12)
    assert_close(end_d, REST, 0.0)
    assert controller.mode is Mode.ACTIVE


# Safety


CASES = {
    "nan": (dict(q=[np.nan, 0.0]), Cause.STATE_INVALID, "joint1"),
    "infinite": (dict(qd=[0.0, np.inf]), Cause.STATE_INVALID, "joint2"),
    "huge": (dict(qd=[1e200, 0.0]), Cause.STATE_INVALID, "joint1"),
    "too far": (dict(q=[0.0, 2.1]), Cause.POSITION_LIMIT, "joint2"),
    "too fast": (dict(qd=[0.0, -5.2 - 1e-12]), Cause.VELOCITY_LIMIT, "joint2"),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("on_fault", ["hold", "zero"])
@pytest.mark.parametrize("law", ["computed_torque", "gravity_compensation", "task_space_computed_torque"])
def test_each_check(law: str, on_fault: str, case: str) -> None:
    change, cause, joint = CASES[case]
    controller = started(law=law, safety=SafetySettings(on_fault=on_fault), task_space=HAND)
    if LAWS[law].follows:
        controller.follow(move((1.0, 0.5)), None, 0.0)
    failed = command(controller, 0.1, **{"q": Q, **change})
    (transition,) = controller.take_transitions()
    assert (transition.fault.cause, transition.fault.joint) == (cause, joint)
    assert failed.mode.value == transition.after.value == on_fault
    q = np.array(Q if cause is Cause.STATE_INVALID else change.get("q", Q))
    qd = np.array(change.get("qd", REST) if cause is Cause.VELOCITY_LIMIT else REST)
    # It slows down within 0.1 s, as that takes more than the deceleration that is set.
    expected = REST if on_fault == "zero" else tsai.gravity(P, q) - tsai.mass_matrix(P, q) @ (qd / 0.1)
    assert_close(failed.effort, np.clip(expected, -MODEL.effort_limits, MODEL.effort_limits), 1e-9)
    # Nothing moves afterwards, whatever the trajectory says, until it is cleared.
    with pytest.raises(TrajectoryError, match=f"{on_fault}.*joint|gravity_compensation"):
        controller.follow(move((1.0, 0.5)), None, 0.1)
    stop = Q + 0.05 * qd
    for time in (0.2, 0.4, 5.0):
        waiting = command(controller, time, stop)
    if cause is Cause.POSITION_LIMIT and on_fault == "hold":
        return  # it is held beyond the limit
    assert waiting.mode is Mode.FAULT
    assert_close(waiting.effort, tsai.gravity(P, stop) if on_fault == "hold" else REST, 1e-9)
    assert_close(waiting.desired.q, stop, 1e-12)
    controller.clear_fault(5.0)
    cleared = command(controller, 5.1, stop)
    assert cleared.mode is Mode.ACTIVE
    assert_close(cleared.desired.q, stop, 1e-12)


def test_it_does_not_clear_while_the_check_fails() -> None:
    controller = started()
    command(controller, 0.1, [np.nan, 0.0])
    with pytest.raises(RobotDynamicsError, match="joint1"):
        controller.clear_fault(0.1)
    assert controller.mode is Mode.HOLD
    command(controller, 0.11)
    controller.clear_fault(0.11)  # as soon as it passes
    assert controller.mode is Mode.ACTIVE


def test_an_arm_beyond_a_limit_is_led_back() -> None:
    controller = started()
    outside = [0.3, 2.5]
    for time in (0.1, 1.0):
        assert command(controller, time, outside).mode is Mode.HOLD  # it is still there
    controller.clear_fault(1.0)
    assert command(controller, 1.1, outside).mode is Mode.ACTIVE
    controller.follow(move((0.3, 1.0)), None, 1.1)
    for k in range(12):
        q, qd = desired(controller, 1.1 + 0.1 * k)
    assert controller.mode is Mode.ACTIVE
    assert_close(q, [0.3, 1.0], 1e-9)
    assert command(controller, 2.4, [0.3, 2.06]).mode is Mode.HOLD


def test_old_feedback() -> None:
    """Carried without damping for a while, then nothing; clear only when states are back."""
    settings = teleporting(safety=SafetySettings(state_timeout=0.1, stale_hold_time=0.5))
    controller = Controller(MODEL, settings)
    command(controller, 0.0, Q, [0.5, 0.5])
    assert controller.watch(0.1) is None
    held = controller.watch(0.11)
    assert held is not None and held.mode is Mode.HOLD
    assert_close(held.effort, WEIGHT, 1e-12)
    assert controller.update(0.12, 0.12).effort.tolist() == held.effort.tolist()  # type: ignore[union-attr]
    with pytest.raises(RobotDynamicsError, match="joint_states"):
        controller.clear_fault(0.12)
    dropped = controller.watch(0.7)
    assert dropped is not None and dropped.mode is Mode.ZERO
    assert_close(dropped.effort, REST, 0.0)
    assert controller.last_effort(controller.time).tolist() == [0.0, 0.0]  # type: ignore[union-attr]
    back = command(controller, 1.0)
    assert back.mode is Mode.HOLD
    assert_close(back.effort, WEIGHT, 1e-12)
    assert [t.after for t in controller.take_transitions()] == [Mode.HOLD, Mode.ZERO, Mode.HOLD]


def test_desired_motion_that_gives_no_torque() -> None:
    controller = started(law="pd_feedforward")
    huge = TrajectoryPoints(MODEL.joint_names, np.array([0.0]), np.array([[0.0, 0.0]]), np.array([[1e200, 0.0]]))
    rules = TrajectoryRules(
        allow_nonzero_velocity_at_trajectory_end=True, trajectory_limits="off", set_point_step_limit=(np.inf,)
    )
    controller.tune(teleporting(law="pd_feedforward", trajectories=rules))
    controller.follow(huge, None, 0.0)
    failed = command(controller, 0.1)
    assert failed.mode is Mode.HOLD
    assert controller.fault.cause is Cause.TORQUE_NOT_FINITE  # type: ignore[union-attr]
    assert_close(failed.effort, WEIGHT, 1e-12)


def test_a_rate_that_is_not_kept() -> None:
    controller = Controller(MODEL, teleporting(update_rate=100.0))
    modes = [command(controller, 0.05 * k).mode for k in range(40)]
    assert modes[0] is Mode.ACTIVE and modes[-1] is Mode.HOLD
    assert controller.fault.cause is Cause.CYCLE_RATE  # type: ignore[union-attr]
    assert controller.late_cycles == 39
    with pytest.raises(RobotDynamicsError, match="20%"):
        controller.clear_fault(1.95)


def test_a_collision() -> None:
    """An arm that rests where the law pulls it away from: somebody leans on it."""
    settings = teleporting(law="pd_gravity", observer_gain=20.0, safety=SafetySettings(collision_threshold=[2.0]))
    controller = Controller(MODEL, settings)
    pushed = Q + np.array([0.0, 0.3])
    kp = 100.0 * tsai.mass_matrix(P, Q)[1, 1]
    command(controller, 0.0)
    for k in range(1, 400):
        found = command(controller, 0.002 * k, pushed)
        if found.mode is not Mode.ACTIVE:
            break
    assert found.mode is Mode.HOLD
    fault = controller.fault
    assert fault is not None and (fault.cause, fault.joint) == (Cause.COLLISION, "joint2")
    assert 2.0 < fault.value < 0.3 * kp


@pytest.mark.parametrize("on_fault", ["hold", "zero"])
def test_the_last_command(on_fault: str) -> None:
    controller = started(safety=SafetySettings(on_fault=on_fault))
    controller.follow(move((1.0, 0.5)), None, 0.0)
    command(controller, 0.5, Q + 0.2, [1.0, 1.0])
    last = controller.last_effort(controller.time)
    assert last is not None
    assert_close(last, tsai.gravity(P, Q + 0.2) if on_fault == "hold" else REST, 1e-12)


# Gains


@pytest.mark.parametrize("law", ["pd", "pd_gravity"])
def test_torque_laws_get_gains_of_the_arm_where_it_started(law: str) -> None:
    """omega^2 diag M(q_start) and 2 zeta omega diag M(q_start), M from Tsai (9.114), and they stay."""
    controller = started(law=law, natural_frequency=[8.0, 12.0], damping_ratio=[0.7])
    inertia = np.diag(tsai.mass_matrix(P, Q))
    omega, q, qd = np.array([8.0, 12.0]), Q + [0.5, 1.0], np.array([0.3, -0.2])
    expected = inertia * (omega**2 * (Q - q) - 2 * 0.7 * omega * qd)
    if law == "pd_gravity":
        expected += tsai.gravity(P, q)
    assert_close(command(controller, 0.1, q, qd).effort, expected, 1e-12)


# Friction and settings that change while it runs


@pytest.mark.parametrize("on", [True, False])
def test_friction_is_made_up_for_where_the_law_does(on: bool) -> None:
    """Craig (6.112) at the desired velocity; half-way along a minimum-jerk motion that is 15/8 of the mean."""
    extra = '<dynamics damping="0.5" friction="2"/>'
    rough = FREE_ARM.with_joint("joint1", extra=extra).with_joint("joint2", extra=extra)
    model = RobotModel.from_urdf(rough.urdf, gravity=GRAVITY)
    controller = Controller(model, teleporting(friction_compensation=on))
    command(controller, 0.0)
    controller.follow(move((Q[0] + 0.4, Q[1] - 0.8)), None, 0.0)
    qd = 15 / 8 * np.array([0.4, -0.8])
    q = Q + [0.2, -0.4]
    friction = np.array([2.0, -2.0]) + 0.5 * qd
    expected = tsai.torque(P, q, qd, REST) + (friction if on else 0.0)
    assert_close(command(controller, 0.5, q, qd).effort, expected, 1e-9)


def test_a_law_that_takes_over_holds_the_same_place() -> None:
    controller = started()
    for k, law in enumerate(LAWS):
        controller.period = 0.0  # the gains are not those of 10 Hz
        controller.tune(teleporting(law=law, task_space=HAND))
        for time in (k + 0.1, k + 1.0):
            found = command(controller, time)
        assert_close(found.desired.q, Q, 0.0)
        assert_close(found.effort, REST if law == "pd" else WEIGHT, 1e-12)


def test_after_floating_the_arm_stays_where_it_was_led() -> None:
    controller = started(law="gravity_compensation")
    command(controller, 0.1, Q + 0.4)
    controller.period = 0.0  # the gains are not those of 10 Hz
    controller.tune(teleporting())
    found = command(controller, 0.2, Q + 0.4)
    assert_close(found.desired.q, Q + 0.4, 0.0)
    assert_close(found.effort, tsai.gravity(P, Q + 0.4), 1e-12)


def test_a_new_integral_gain_keeps_the_torque() -> None:
    """A tenth of a second of a constant error: int e = 0.1 e, times ki, times M."""
    error = np.array([0.1, -0.05])
    controller = started(ki=[100.0])
    for k in range(1, 12):
        found = command(controller, 0.01 * k, Q - error)
    expected = tsai.torque(P, Q - error, REST, 100.0 * error + 100.0 * 0.1 * error)
    assert_close(found.effort, expected, 1e-9)
    for ki, share in ((200.0, 1.0), (0.0, 0.0)):
        controller.tune(teleporting(ki=[ki]))
        found = command(controller, controller.time + 0.5, Q - error)  # the last cycles have added their errors
        share *= 11.0 if ki == 200.0 else 0.0
        assert_close(found.effort, tsai.torque(P, Q - error, REST, 100.0 * error + share * error), 1e-9)


# Settings


def test_without_cycles_it_holds_while_states_go_on() -> None:
    """As with use_sim_time where /clock stands still: the last effort would stay for ever."""
    controller = started(update_rate=250.0, safety=SafetySettings(fault_reset="auto"))
    decided = []
    for k in range(1, 500):
        controller.measure(0.002 * k, 0.002 * k, Q, REST)
        decided.append(controller.watch(0.002 * k))
    late = next(k for k, found in enumerate(decided) if found is not None)
    assert 0.002 * late > 0.9 * controller.settings.safety.state_timeout
    assert all(found is not None and found.mode is Mode.HOLD for found in decided[late:])
    assert_close(decided[-1].effort, WEIGHT, 1e-12)
    assert controller.fault is not None and controller.fault.cause is Cause.CYCLE_RATE
    for k in range(60):
        controller.measure(1.0 + 0.004 * k, 1.0 + 0.004 * k, Q, REST)
        last = controller.update(0.004 * (k + 1), 1.0 + 0.004 * k)
    assert last is not None and last.mode is Mode.ACTIVE


def test_a_simulation_that_pauses_is_no_fault() -> None:
    """Its clock stands still, and it sends the same state again and again."""
    controller = started(update_rate=250.0)
    for k in range(1, 500):
        controller.measure(0.0, 0.002 * k, Q, REST)
        assert controller.watch(0.002 * k) is None


@pytest.mark.parametrize(("effect", "mode"), [("stop", Mode.HOLD), ("zero", Mode.ZERO)])
def test_an_emergency_stop_ends_by_clear_fault_alone(effect: str, mode: Mode) -> None:
    """Not by fault_reset auto, nor while it is engaged; where no cycle comes, the watch carries it out."""
    safety = SafetySettings(on_fault="zero", fault_reset="auto", emergency_stop_effect=effect)
    controller = started(torque_rate_limit=(1.0,), safety=safety)
    controller.emergency_stop(True)
    assert controller.watch(0.001) is None
    stopped = controller.watch(0.02)
    assert stopped is not None and stopped.mode is mode and stopped.effort.any() == (effect == "stop")
    with pytest.raises(RobotDynamicsError, match="clear_fault"):
        controller.clear_fault(0.02)
    controller.emergency_stop(False)
    assert all(command(controller, 0.02 + 0.01 * k).mode is mode for k in range(50))
    assert controller.fault is not None and controller.fault.cause is Cause.EMERGENCY_STOP
    controller.clear_fault(0.52)
    assert command(controller, 0.53).mode is Mode.ACTIVE


def test_an_emergency_stop_gives_no_torque_to_an_arm_without() -> None:
    """A command that is zero stays zero, also as a measured state that could be held comes back."""
    controller = started()
    controller.watch(0.2)
    controller.watch(0.8)
    assert controller.mode is Mode.ZERO
    controller.emergency_stop(True)
    assert not command(controller, 0.9).effort.any()


def test_a_new_cutoff_filters_from_then_on() -> None:
    """A damper of 1 Nms/rad shows the velocity that is used; other settings leave the filter as it is."""
    damper: dict[str, Any] = {"law": "pd", "kp": [0.0], "kd": [1.0]}
    controller = started(**damper)
    assert_close(command(controller, 0.01, qd=[1.0, 1.0]).effort, [-1.0, -1.0], 1e-12)
    controller.tune(teleporting(**damper, velocity_filter_cutoff=5.0))
    command(controller, 0.02)
    left = np.exp(-2 * np.pi * 5.0 * 0.01)
    assert_close(command(controller, 0.03, qd=[1.0, 1.0]).effort, (left - 1.0) * np.ones(2), 1e-12)
    controller.tune(teleporting(**damper, velocity_filter_cutoff=5.0, ramp_time=1.0))
    assert_close(command(controller, 0.04, qd=[1.0, 1.0]).effort, (left**2 - 1.0) * np.ones(2), 1e-12)


def test_what_a_fault_leads_to() -> None:
    controller = started()
    controller.tune(teleporting(safety=SafetySettings(on_fault="zero")))
    assert command(controller, 0.1, [np.nan, 0.0]).mode is Mode.ZERO


def test_a_new_share_of_the_effort_limits() -> None:
    controller = started(law="pd", kp=[1000.0], kd=[0.0])
    assert_close(command(controller, 0.1, Q + [0.0, 0.4]).effort, [0.0, -400.0], 1e-9)
    controller.tune(teleporting(law="pd", kp=[1000.0], kd=[0.0], effort_limit_scale=[0.5]))
    assert_close(command(controller, 0.2, Q + [0.0, 0.4]).effort, [0.0, -250.0], 1e-9)


def test_a_new_margin_counts_from_where_the_arm_is() -> None:
    """One that started beyond its limit of 2 may stay there, and be led back, but goes no further."""
    controller = Controller(MODEL, teleporting())
    command(controller, 0.0, [0.3, 2.5])
    controller.tune(teleporting(safety=SafetySettings(position_limit_margin=[0.1])))
    assert command(controller, 0.1, [0.3, 2.5]).mode is Mode.ACTIVE
    assert command(controller, 0.2, [0.3, 2.59]).mode is Mode.ACTIVE
    assert command(controller, 0.3, [0.3, 2.61]).mode is Mode.HOLD


def test_other_settings_do_not_move_the_limits() -> None:
    """New gains while the arm is held beyond a limit: that is no leave to stay there."""
    controller = started()
    for time in (0.1, 0.2, 0.3, 0.6):
        assert command(controller, time, [0.3, 2.5]).mode is Mode.HOLD
        controller.tune(teleporting(natural_frequency=[1.0 + time]))


def test_a_new_observer_starts_anew_and_other_settings_leave_it() -> None:
    controller = started()
    command(controller, 0.1)
    assert controller.external_torque is None
    controller.tune(teleporting(observer_gain=20.0))
    for time in (0.2, 0.3):
        command(controller, time, Q + 0.1)
    observed = controller.external_torque
    assert observed is not None and np.abs(observed).min() > 0.1, "the law pulls, and the arm does not move"
    controller.tune(teleporting(observer_gain=20.0, ramp_time=1.0))
    assert controller.external_torque is observed
    controller.tune(teleporting(ramp_time=1.0))
    command(controller, 0.4)
    assert controller.external_torque is None


def test_a_law_that_follows_nothing_takes_no_effort_of_a_trajectory() -> None:
    controller = started()
    controller.follow(move(Q, Q, effort=np.full((2, 2), 3.0)), None, 0.0)
    assert_close(command(controller, 1.1).effort, WEIGHT + 3.0, 1e-9)
    controller.period = 0.0  # the gains are not those of 10 Hz
    controller.tune(teleporting(law="gravity_compensation"))
    command(controller, 1.2)
    assert_close(command(controller, 1.5).effort, WEIGHT, 1e-9)
