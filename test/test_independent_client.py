"""Controller against an independent plant and client, in lockstep.

``tools.safety_times`` tests each cause of a fault separately, see test_sessions.py.
"""

import dataclasses
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from robot_dynamics_ros.base.errors import RobotDynamicsError
from support.independent_plant import SECOND, START, Session, joint_state, make_settings

PANDA = np.array(START["panda"])
UR5E = np.array(START["ur5e"])
ALL_MOVE = np.array([0.5, 0.3, 0.4, 0.3, -0.5, 0.4, 0.6])


def moving(seconds: float = 0.7, **options: Any) -> Session:
    """Return a Panda in the middle of a motion, with or without an update rate."""
    session = Session(**{"rate": 500.0, "settings": make_settings(), **options}).run(
        0.1
    )
    assert session.go(PANDA + ALL_MOVE, 1.5)
    session.run(seconds)
    assert (
        np.abs(session.plant.qd).max() > 0.3
        and session.controller.mode.value == "active"
    )
    return session


@pytest.mark.parametrize("rate", [0.0, 500.0])
def test_repeated_state_is_no_fault(rate: float) -> None:
    session = moving(settings=make_settings(update_rate=rate))
    for _ in range(100):
        session.cycle()
        session.state()
    assert not session.causes
    assert rate or session.commands[-1].kind == "repeat"


@pytest.mark.parametrize("rate", [0.0, 500.0])
def test_states_without_stamps(rate: float) -> None:
    session = Session(settings=make_settings(update_rate=rate)).run(0.1, stamp=0)
    assert session.go(PANDA + ALL_MOVE, 1.0)
    session.run(1.5, stamp=0)
    assert (
        not session.causes and np.abs(session.plant.q - PANDA - ALL_MOVE).max() < 0.01
    )
    assert sum("stamp" in line for line in session.lines) == 1
    refused = Session(
        settings=make_settings(update_rate=rate, unstamped_states="refuse")
    ).run(0.3, stamp=0)
    assert not any(given.mode == "active" for given in refused.commands)


@pytest.mark.parametrize(
    "q",
    [
        PANDA,
        [1.0, 0.9, -0.5, -1.0, 0.7, 1.0, 0.0],
        [0.0, 1.7, 0.0, -0.1, 0.0, 3.0, 0.0],
    ],
)
@pytest.mark.parametrize(
    "off",
    [
        {},
        {"payload": 1.0, "reports_effort": True},
        {"mass_error": 0.1, "reports_effort": True},
    ],
)
def test_arm_does_not_fall_during_the_ramp(q: Any, off: Any) -> None:
    session = Session(q=q, settings=make_settings(ramp_time=2.0), rate=1000.0, **off)
    fastest = 0.0
    for _ in range(2500):
        session.cycle()
        fastest = max(fastest, float(np.abs(session.plant.qd).max()))
    assert fastest < 0.1 and not session.causes


@pytest.mark.parametrize("silence", [0.15, 0.5, 0.8, 2.0])
@pytest.mark.parametrize("on_fault", ["hold", "zero"])
def test_the_rate_limit_holds_when_states_return(silence: float, on_fault: str) -> None:
    session = moving(
        settings=make_settings(
            torque_rate_limit=(400.0,), on_fault=on_fault, fault_reset="auto"
        )
    )
    session.pass_time(silence)
    session.run(0.5)
    assert "state_stale" in session.causes
    assert session.largest_step(400.0) <= 1.0 + 1e-9


def test_the_rate_limit_holds_on_exit() -> None:
    session = moving(settings=make_settings(torque_rate_limit=(400.0,)))
    session.exit()
    assert session.commands[-1].kind == "exit"
    assert session.largest_step(400.0) <= 1.0 + 1e-9


def test_an_encoder_that_wraps_does_not_change_the_effort() -> None:
    sessions = [
        Session(
            "ur5e", continuous=True, wraps=wraps, q=UR5E + [3.0, 0, 0, 0, 0, 3.0]
        ).run(0.1)
        for wraps in (True, False)
    ]
    for session in sessions:
        assert session.go(UR5E + [3.5, 0, 0, 0, 0, 3.5], 1.0)
        session.run(1.5)
        assert not session.causes
        assert np.abs(session.plant.q - UR5E - [3.5, 0, 0, 0, 0, 3.5]).max() < 0.01
    efforts = [
        np.array([given.effort for given in session.commands]) for session in sessions
    ]
    np.testing.assert_allclose(efforts[0], efforts[1], atol=1e-6)


def test_a_goal_one_turn_away_is_reached_the_short_way() -> None:
    session = Session("ur5e", continuous=True).run(0.1)
    assert session.go(UR5E + [0.3 + 2 * np.pi, 0, 0, 0, 0, 0.3 - 4 * np.pi], 1.0)
    session.run(1.5)
    assert (
        np.abs(session.plant.q - UR5E - [0.3, 0, 0, 0, 0, 0.3]).max() < 0.01
        and not session.causes
    )


@pytest.mark.parametrize(
    "off", [{"payload": 1.0}, {"mass_error": 0.1}, {"mass_error": -0.1}]
)
@pytest.mark.parametrize("robot", ["panda", "ur5e"])
def test_hold_keeps_the_end_effector_in_place(robot: str, off: Any) -> None:
    session = Session(robot, settings=make_settings(), **off).run(2.0)
    session.cycle(q=np.full(session.model.n, np.nan))
    assert session.commands[-1].mode == "hold"
    before = session.plant.end_effector_position()
    sunk = 0.0
    for _ in range(1000):
        session.cycle()
        sunk = max(
            sunk, float(np.linalg.norm(session.plant.end_effector_position() - before))
        )
    assert sunk < 0.005 and session.controller.mode.value == "fault"


@pytest.mark.parametrize(
    "change", [{"law": "pd_gravity"}, {"natural_frequency": (30.0,)}, {}]
)
@pytest.mark.parametrize("limit", [(), (400.0,)])
def test_live_changes_do_not_step_the_effort(
    change: dict[str, Any], limit: Any
) -> None:
    """For changes of the law, the gains and the payload."""
    session = moving(settings=make_settings(torque_rate_limit=limit), mass_error=0.1)
    before = len(session.commands) - 1
    if change:
        session.controller.tune(dataclasses.replace(session.settings, **change))
    else:
        session.controller.arm.set_payload(
            session.model.link_names[-1], 3.0, (0.0, 0.0, 0.1), (0.0,) * 6
        )
    session.run(0.02)
    efforts = [given.effort for given in session.commands[before:]]
    assert np.abs(np.diff(efforts, axis=0)).max() < 2.0
    assert not limit or session.largest_step(400.0) <= 1.0 + 1e-9


def test_the_integral_does_not_wind_up_in_the_ramp() -> None:
    highest = []
    for ramp_time in (0.0, 1.0):
        session = Session(
            settings=make_settings(ramp_time=ramp_time, ki=(200.0,)), q=PANDA
        )
        session.take(session.session.activate(compare_effort=True, held=PANDA + 0.04))
        highest.append(max(float(session.run(0.01).plant.q[0]) for _ in range(300)))
    assert highest[1] < highest[0] + 0.004


def test_an_arm_in_motion_is_stopped_before_the_exit() -> None:
    # without friction no constant effort keeps an arm at rest
    session = moving(viscous=0.5, coulomb=0.3)
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


def test_arm_at_rest_is_no_frozen_state() -> None:
    session = Session(braked=True).run(3.0)  # noiseless encoders, brakes on
    assert not session.causes


@pytest.mark.parametrize("glitch", [10.0, 100.0, 1e8])
@pytest.mark.parametrize("cycles", [1, 25])
@pytest.mark.parametrize("limit", [(), (400.0,)])
def test_false_velocity_does_not_accelerate_the_arm(
    glitch: float, cycles: int, limit: Any
) -> None:
    session = moving(rate=1000.0, settings=make_settings(torque_rate_limit=limit))
    fastest = 0.0
    for k in range(1000):
        session.cycle(
            qd=session.plant.qd + [glitch if k < cycles else 0.0, 0, 0, 0, 0, 0, 0]
        )
        fastest = max(
            fastest,
            float((np.abs(session.plant.qd) / session.model.velocity_limits).max()),
        )
    assert session.causes and session.commands[-1].mode == "fault"
    assert fastest < 1.0 and np.abs(session.plant.qd).max() < 0.05


def test_a_joint_that_is_named_twice() -> None:
    session = Session()
    names = [*session.names, session.names[0]]
    for _ in range(100):
        session.pass_time()
        q = np.append(session.plant.q, 1.0)
        session.receive(
            "joint_states", joint_state(session.ros, names, q, 0.0 * q, np.empty(0))
        )
    assert not any(given.mode == "active" for given in session.commands)


@pytest.mark.parametrize("leap", [5.0, -5.0])
def test_clock_jump_is_no_low_rate(leap: float) -> None:
    session = moving(settings=make_settings(update_rate=500.0, fault_reset="auto"))
    session.ros += round(leap * SECOND)
    session.run(3.0)
    cause = "clock_jumped_ahead" if leap > 0.0 else "clock_jumped_back"
    assert session.causes and set(session.causes) == {cause}
    assert session.controller.mode.value == "active"


def test_motions_beyond_a_limit_are_refused() -> None:
    session = Session().run(0.1)
    for goal, seconds in (
        (PANDA + [0, 3.0, 0, 0, 0, 0, 0], 5.0),
        (PANDA + ALL_MOVE, 0.2),
    ):
        assert not session.go(goal, seconds)
    session.run(0.1)
    assert np.abs(session.plant.q - PANDA).max() < 1e-3 and not session.causes


@pytest.mark.parametrize("rate", [0.0, 500.0])
def test_moving_arm_cannot_be_activated(rate: float) -> None:
    session = Session(settings=make_settings(update_rate=rate))
    with pytest.raises(RobotDynamicsError, match="activation_max_velocity"):
        session.run(0.1, qd=np.array([0.0, 0.5, 0, 0, 0, 0, 0]))
    assert not session.commands


@pytest.mark.parametrize(
    ("robot", "target"),
    [
        pytest.param("ur5e", [-2.0, 0.0, 0.5], marks=pytest.mark.slow),
        ("panda", [1.0, 1.0, 1.0]),
    ],
)
def test_end_effector_stops_before_an_unreachable_target(
    robot: str, target: Any
) -> None:
    session = Session(
        robot, settings=make_settings(law="task_space_computed_torque")
    ).run(0.1)
    pose = session.model.link_pose(session.plant.q, session.model.link_names[-1])
    session.aim(target, pin.Quaternion(pose[:3, :3]).coeffs())
    session.run(10.0)
    assert not session.causes and np.abs(session.plant.qd).max() < 0.05


@pytest.mark.parametrize("seed", [0, 10])
def test_end_effector_respects_the_velocity_limits(seed: int) -> None:
    session = Session(
        "panda", settings=make_settings(law="task_space_computed_torque")
    ).run(0.1)
    lower = session.model.position_lower
    upper = session.model.position_upper
    goal = (lower + upper) / 2.0 + np.random.default_rng(seed).uniform(
        -0.35, 0.35, 7
    ) * (upper - lower)
    pose = session.model.link_pose(goal, session.model.link_names[-1])
    session.aim(pose[:3, 3], pin.Quaternion(pose[:3, :3]).coeffs())
    session.run(5.0)
    assert "velocity_limit" not in session.causes
