"""The controller against a plant and a client that share no code with it: the session in lockstep."""

import dataclasses
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from robot_dynamics_ros.control.motion_plan import TrajectoryRules
from robot_dynamics_ros.control.settings import ControllerSettings, SafetySettings
from robot_dynamics_ros.errors import RobotDynamicsError
from support.independent_plant import EPOCH, SECOND, START, Session, joint_state

_SAFETY = {field.name for field in dataclasses.fields(SafetySettings)}
PANDA = np.array(START["panda"])
UR5E = np.array(START["ur5e"])
ALL_MOVE = np.array([0.5, 0.3, 0.4, 0.3, -0.5, 0.4, 0.6])


def settings(**values: Any) -> ControllerSettings:
    safety = SafetySettings(**{name: value for name, value in values.items() if name in _SAFETY})
    return ControllerSettings(safety=safety, **{name: v for name, v in values.items() if name not in _SAFETY})


def moving(seconds: float = 0.7, **options: Any) -> Session:
    """A Panda that has begun, with an update rate or without, and is in the middle of a motion."""
    session = Session(**{"rate": 500.0, "settings": settings(), **options}).run(0.1)
    assert session.go(PANDA + ALL_MOVE, 1.5)
    session.run(seconds)
    assert np.abs(session.plant.qd).max() > 0.3 and session.controller.mode.value == "active"
    return session


def largest_change(session: Session, since: int) -> float:
    return float(np.abs(np.diff([given.effort for given in session.commands[since:]], axis=0)).max())


def with_rate(rate: float, **values: Any) -> ControllerSettings:
    return settings(update_rate=rate, **values)


@pytest.mark.parametrize("rate", [0.0, 500.0])
def test_stamps_that_stand_still_while_values_change(rate: float) -> None:
    session = moving(settings=with_rate(rate))
    stuck = session.ros
    session.run(0.02, stamp=stuck)
    assert session.causes == ["stamp_repeats"] and session.controller.mode.value == "hold"
    session.run(1.0, stamp=stuck)
    assert np.abs(session.plant.qd).max() < 0.1


@pytest.mark.parametrize("rate", [0.0, 500.0])
def test_a_state_that_is_sent_again_is_no_fault(rate: float) -> None:
    session = moving(settings=with_rate(rate))
    for _ in range(100):
        session.cycle()
        session.state()
    assert not session.causes
    assert rate or session.commands[-1].kind == "repeat"


@pytest.mark.parametrize("rate", [0.0, 500.0])
def test_stamps_that_are_never_set(rate: float) -> None:
    session = Session(settings=with_rate(rate)).run(0.1, stamp=0)
    assert session.go(PANDA + ALL_MOVE, 1.0)
    session.run(1.5, stamp=0)
    assert not session.causes and np.abs(session.plant.q - PANDA - ALL_MOVE).max() < 0.01
    assert sum("stamp" in line for line in session.lines) == 1
    refused = Session(settings=with_rate(rate, unstamped_states="refuse")).run(0.3, stamp=0)
    assert not any(given.mode == "active" for given in refused.commands)


@pytest.mark.parametrize("q", [PANDA, [1.0, 0.9, -0.5, -1.0, 0.7, 1.0, 0.0], [0.0, 1.7, 0.0, -0.1, 0.0, 3.0, 0.0]])
@pytest.mark.parametrize(
    "off", [{}, {"payload": 1.0, "reports_effort": True}, {"mass_error": 0.1, "reports_effort": True}]
)
def test_an_unbraked_arm_does_not_sag_in_the_ramp(q: Any, off: Any) -> None:
    session, fastest = Session(q=q, settings=settings(ramp_time=2.0), rate=1000.0, **off), 0.0
    for _ in range(2500):
        session.cycle()
        fastest = max(fastest, float(np.abs(session.plant.qd).max()))
    assert fastest < 0.1 and not session.causes


@pytest.mark.parametrize("silence", [0.15, 0.5, 0.8, 2.0])
@pytest.mark.parametrize("on_fault", ["hold", "zero"])
def test_the_rate_limit_holds_when_states_return(silence: float, on_fault: str) -> None:
    session = moving(settings=settings(torque_rate_limit=(400.0,), on_fault=on_fault, fault_reset="auto"))
    session.pass_time(silence)
    session.run(0.5)
    assert "state_stale" in session.causes
    assert session.largest_step(400.0) <= 1.0 + 1e-9


def test_the_rate_limit_holds_on_exit() -> None:
    session = moving(settings=settings(torque_rate_limit=(400.0,)))
    session.exit()
    assert session.commands[-1].kind == "exit"
    assert session.largest_step(400.0) <= 1.0 + 1e-9


def test_an_encoder_that_wraps_does_not_change_the_effort() -> None:
    sessions = [
        Session("ur5e", continuous=True, wraps=wraps, q=UR5E + [3.0, 0, 0, 0, 0, 3.0]).run(0.1)
        for wraps in (True, False)
    ]
    for session in sessions:
        assert session.go(UR5E + [3.5, 0, 0, 0, 0, 3.5], 1.0)
        session.run(1.5)
        assert not session.causes
        assert np.abs(session.plant.q - UR5E - [3.5, 0, 0, 0, 0, 3.5]).max() < 0.01
    efforts = [np.array([given.effort for given in session.commands]) for session in sessions]
    np.testing.assert_allclose(efforts[0], efforts[1], atol=1e-6)


def test_a_goal_one_turn_away_is_reached_the_short_way() -> None:
    session = Session("ur5e", continuous=True).run(0.1)
    assert session.go(UR5E + [0.3 + 2 * np.pi, 0, 0, 0, 0, 0.3 - 4 * np.pi], 1.0)
    session.run(1.5)
    assert np.abs(session.plant.q - UR5E - [0.3, 0, 0, 0, 0, 0.3]).max() < 0.01 and not session.causes


@pytest.mark.parametrize("off", [{"payload": 1.0}, {"mass_error": 0.1}, {"mass_error": -0.1}])
@pytest.mark.parametrize("robot", ["panda", "ur5e"])
def test_hold_keeps_the_hand(robot: str, off: Any) -> None:
    session = Session(robot, settings=settings(), **off).run(2.0)
    session.cycle(q=np.full(session.model.n, np.nan))
    assert session.commands[-1].mode == "hold"
    before, sunk = session.plant.hand(), 0.0
    for _ in range(1000):
        session.cycle()
        sunk = max(sunk, float(np.linalg.norm(session.plant.hand() - before)))
    assert sunk < 0.005 and session.controller.mode.value == "fault"


def change_payload(session: Session) -> None:
    session.controller.set_payload(session.model.link_names[-1], 3.0, (0.0, 0.0, 0.1), (0.0,) * 6)


def change_law(session: Session) -> None:
    session.controller.tune(dataclasses.replace(session.settings, law="pd_gravity"))


def change_gains(session: Session) -> None:
    session.controller.tune(dataclasses.replace(session.settings, natural_frequency=(30.0,)))


@pytest.mark.parametrize("change", [change_payload, change_law, change_gains])
@pytest.mark.parametrize("limit", [(), (400.0,)])
def test_live_changes_do_not_step_the_effort(change: Any, limit: Any) -> None:
    session = moving(settings=settings(torque_rate_limit=limit), mass_error=0.1)
    before = len(session.commands) - 1
    change(session)
    session.run(0.02)
    assert largest_change(session, before) < 2.0
    assert not limit or session.largest_step(400.0) <= 1.0 + 1e-9


def test_gains_that_the_sampling_cannot_carry_are_refused() -> None:
    with pytest.raises(RobotDynamicsError, match="natural.frequency"):
        Session(settings=with_rate(500.0, natural_frequency=(5000.0,)))
    session = moving()
    with pytest.raises(RobotDynamicsError, match="natural.frequency"):
        session.controller.tune(settings(natural_frequency=(5000.0,)))
    session.controller.tune(settings(natural_frequency=(30.0,)))


def test_the_integral_does_not_wind_up_in_the_ramp() -> None:
    highest = []
    for ramp_time in (0.0, 1.0):
        session = Session(settings=settings(ramp_time=ramp_time, ki=(200.0,)), q=PANDA)
        session.controller.hold_from_the_start(PANDA + 0.04)
        highest.append(max(float(session.run(0.01).plant.q[0]) for _ in range(300)))
    assert highest[1] < highest[0] + 0.004


def test_an_arm_in_motion_is_stopped_before_the_exit() -> None:
    session = moving(viscous=0.5, coulomb=0.3)  # without friction no constant effort keeps an arm at rest
    session.exit()
    assert np.abs(session.plant.qd).max() < 0.02
    left = session.plant.q.copy()
    session.pass_time(1.0)  # the last command stays in force
    assert np.abs(session.plant.q - left).max() < 0.1


def test_an_exit_without_states_ends_in_time() -> None:
    session = moving()
    begun = session.time
    session.pass_time(0.3)
    session.exit(states=False)
    assert session.commands[-1].kind == "exit" and session.time - begun < 1.5


@pytest.mark.parametrize("rate", [0.0, 500.0])
def test_frozen_values_with_running_stamps(rate: float) -> None:
    session = moving(settings=with_rate(rate))
    session.run(0.25, q=session.plant.q.copy(), qd=session.plant.qd.copy())
    assert session.causes[0] == "state_implausible"


def test_an_arm_at_rest_is_not_taken_for_frozen() -> None:
    session = Session(braked=True).run(3.0)  # noiseless encoders, brakes on
    assert not session.causes


@pytest.mark.parametrize("rate", [0.0, 500.0])
def test_a_jump_of_the_position(rate: float) -> None:
    session = moving(settings=with_rate(rate))
    session.cycle(q=session.plant.q + [0.5, 0, 0, 0, 0, 0, 0])
    assert session.causes == ["state_implausible"] and session.commands[-1].mode == "hold"


@pytest.mark.parametrize("glitch", [10.0, 100.0, 1e8])
@pytest.mark.parametrize("cycles", [1, 25])
@pytest.mark.parametrize("limit", [(), (400.0,)])
def test_a_false_velocity_does_not_throw_the_arm(glitch: float, cycles: int, limit: Any) -> None:
    session = moving(rate=1000.0, settings=settings(torque_rate_limit=limit))
    fastest = 0.0
    for k in range(1000):
        session.cycle(qd=session.plant.qd + [glitch if k < cycles else 0.0, 0, 0, 0, 0, 0, 0])
        fastest = max(fastest, float((np.abs(session.plant.qd) / session.model.velocity_limits).max()))
    assert session.causes and session.commands[-1].mode == "fault"
    assert fastest < 1.0 and np.abs(session.plant.qd).max() < 0.05


def test_a_joint_that_is_named_twice() -> None:
    session = Session()
    names = [*session.names, session.names[0]]
    for _ in range(100):
        session.pass_time()
        q = np.append(session.plant.q, 1.0)
        session.running.receive_state(joint_state(session.ros, names, q, 0.0 * q, np.empty(0)))
    assert not any(given.mode == "active" for given in session.commands)


@pytest.mark.parametrize("leap", [5.0, -5.0])
def test_a_jump_of_the_clock_is_no_low_rate(leap: float) -> None:
    session = moving(settings=with_rate(500.0, fault_reset="auto"))
    session.ros += round(leap * SECOND)
    session.run(3.0)
    cause = "clock_jumped_ahead" if leap > 0.0 else "clock_jumped_back"
    assert session.causes and set(session.causes) == {cause}
    assert session.controller.mode.value == "active"


def test_a_blocked_arm_is_a_following_error() -> None:
    session = moving(settings=settings(following_error_limit=(0.05,), following_error_time=0.05), noise=(1e-5, 1e-3))
    session.plant.braked = True
    session.run(0.7)
    assert session.causes == ["following_error"]


def test_an_effort_limit_that_lasts_is_a_fault() -> None:
    session = moving(settings=settings(saturation_timeout=0.1, effort_limit_scale=(0.6,)), noise=(1e-5, 1e-3))
    session.plant.braked = True
    assert session.go(PANDA - ALL_MOVE, 1.2)
    session.run(2.0)
    assert session.causes == ["saturation"]


@pytest.mark.parametrize("beyond", [PANDA + [0, 3.0, 0, 0, 0, 0, 0], PANDA + [0, 0, 0, -1.0, 0, 0, 0]])
def test_goals_beyond_a_position_limit_are_refused(beyond: Any) -> None:
    session = Session().run(0.1)
    assert not session.go(beyond, 5.0)
    session.run(0.1)
    assert np.abs(session.plant.q - PANDA).max() < 1e-3 and not session.causes


def test_motions_beyond_a_velocity_limit_are_refused() -> None:
    session = Session().run(0.1)
    assert not session.go(PANDA + ALL_MOVE, 0.2)
    assert session.go(PANDA + ALL_MOVE, 1.0)
    session.run(1.5)
    assert not session.causes


def test_goals_beyond_a_limit_end_at_it_where_clamped() -> None:
    session = Session(settings=settings(trajectories=TrajectoryRules(trajectory_limits="clamp"))).run(0.1)
    assert session.go(PANDA + [0, 0, 0, 0, 0, 0, 2.8], 3.0)  # 0.69 rad beyond
    session.run(3.5)
    assert not session.causes and abs(session.plant.q[6] - session.model.position_upper[6]) < 1e-3


@pytest.mark.parametrize("rate", [0.0, 500.0])
def test_an_arm_that_is_led_brakes_before_a_position_limit(rate: float) -> None:
    session = Session(settings=with_rate(rate, law="gravity_compensation")).run(0.1)
    session.plant.qd[6] = 2.0
    farthest = max(float(session.run(0.01).plant.q[6]) for _ in range(400))
    upper = session.model.position_upper[6]
    assert not session.causes and upper - 0.2 < farthest < upper + 1e-3


@pytest.mark.parametrize("rate", [0.0, 500.0])
def test_a_moving_arm_is_not_taken_over(rate: float) -> None:
    session = Session(settings=with_rate(rate))
    with pytest.raises(RobotDynamicsError, match="activation_max_velocity"):
        session.run(0.1, qd=np.array([0.0, 0.5, 0, 0, 0, 0, 0]))
    assert not session.commands


def test_the_clocks_of_the_harness_are_its_own() -> None:
    """The harness itself: the plant tracks, and every state is answered once."""
    session = moving()
    session.run(1.5)
    assert np.abs(session.plant.q - PANDA - ALL_MOVE).max() < 1e-3
    assert [given.kind for given in session.commands] == ["answer"] * round((session.ros - EPOCH) / SECOND * 500.0)


@pytest.mark.parametrize(
    ("robot", "target"), [("ur5e", [-2.0, 0.0, 0.5]), ("ur5e", [0.0, 2.0, 0.5]), ("panda", [1.0, 1.0, 1.0])]
)
def test_a_hand_whose_target_is_out_of_reach_comes_to_rest(robot: str, target: Any) -> None:
    session = Session(robot, settings=settings(law="task_space_computed_torque")).run(0.1)
    pose = session.model.link_pose(session.plant.q, session.model.link_names[-1])
    session.aim(target, pin.Quaternion(pose[:3, :3]).coeffs())
    session.run(10.0)
    assert not session.causes and np.abs(session.plant.qd).max() < 0.05


@pytest.mark.parametrize("seed", [0, 5, 10, 12])
def test_a_hand_goes_to_its_targets_without_haste(seed: int) -> None:
    session = Session("panda", settings=settings(law="task_space_computed_torque")).run(0.1)
    lower, upper = session.model.position_lower, session.model.position_upper
    goal = (lower + upper) / 2.0 + np.random.default_rng(seed).uniform(-0.35, 0.35, 7) * (upper - lower)
    pose = session.model.link_pose(goal, session.model.link_names[-1])
    session.aim(pose[:3, 3], pin.Quaternion(pose[:3, :3]).coeffs())
    session.run(10.0)
    assert "velocity_limit" not in session.causes
