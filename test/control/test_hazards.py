"""Faults of drivers and clocks that made an arm run away, with an independent plant in lockstep.

The arm is a Panda with friction. Speeds are in rad/s, distances in rad, efforts in Nm.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros import RobotDynamicsError
from robot_dynamics_ros.control.configuration.settings import (
    ControllerSettings,
    SafetySettings,
    TaskSpaceSettings,
    TrajectoryRules,
)
from robot_dynamics_ros.control.estimation.estimator import VelocitySource
from support.independent_plant import SECOND, Session

RATE = 500.0  # Nm/s
PERIOD = 0.002  # s
RATES = pytest.mark.parametrize("update_rate", [0.0, 250.0])
Change = Callable[[Session], "dict[str, Any] | None"]


def arm(
    safety: dict[str, Any] | None = None,
    plant: dict[str, Any] | None = None,
    **settings: Any,
) -> Session:
    given = {"natural_frequency": (10.0,), "torque_rate_limit": (RATE,), **settings}
    friction = {"viscous": 1.0, "coulomb": 1.0, **(plant or {})}
    return Session(
        "panda",
        ControllerSettings(safety=SafetySettings(**(safety or {})), **given),
        **friction,
    )


def move(session: Session, step: float = 0.6) -> None:
    """Follow a trajectory of 1 s of the first four joints, at up to 0.9 rad/s."""
    assert session.go(
        [session.plant.q + step * np.array([1.0, 1.0, 1.0, -1.0, 0.0, 0.0, 0.0])], [1.0]
    )


def until_zero(
    session: Session, seconds: float, change: Change = lambda s: {}
) -> tuple[float, float]:
    """Run with changed states until the effort is to be zero; return the largest speed, and step of the effort."""
    speed = step = 0.0
    for _ in range(round(seconds / session.period)):
        before = session.effort
        session.pass_time()
        if (state := change(session)) is not None:
            session.state(**state)
        session.tick()
        if session.controller.mode.value == "zero":
            break
        speed = max(speed, float(np.abs(session.plant.qd).max()))
        step = max(step, float(np.abs(session.effort - before).max()))
    return speed, step


def velocity(factor: float, joint: Any = slice(None)) -> Change:
    def change(session: Session) -> dict[str, Any]:
        qd = session.plant.qd.copy()
        qd[joint] *= factor
        return {"qd": qd}

    return change


def frozen(
    session: Session, fields: tuple[str, ...], joint: Any = slice(None)
) -> Change:
    kept = {name: getattr(session.plant, name).copy() for name in fields}

    def change(session: Session) -> dict[str, Any]:
        state = {name: getattr(session.plant, name).copy() for name in fields}
        for name, values in kept.items():
            state[name][joint] = values[joint]
        return state

    return change


@RATES
@pytest.mark.parametrize(
    ("factor", "joint", "most", "timeout"),
    [
        (-1.0, slice(None), 1.5, 0.1),
        (-1.0, slice(None), 1.5, np.inf),
        (-1.0, 1, 1.5, 0.1),
        (0.0, slice(None), 2.6, 0.1),
        (0.5, 0, 2.0, 0.1),
        (2.0, 0, 1.2, 0.1),
    ],
)
def test_a_velocity_that_contradicts_the_positions_is_replaced(
    update_rate: float, factor: float, joint: Any, most: float, timeout: float
) -> None:
    """The hold damps with differentiated positions: it stops the arm within a second of the fault."""
    session = arm({"state_timeout": timeout}, update_rate=update_rate).run(0.4)
    move(session)
    session.run(0.3)
    speed, step = until_zero(session, 1.5, velocity(factor, joint))
    assert "state_implausible" in session.causes and speed < most
    assert step <= 1.51 * RATE * max(session.period, 1.0 / (update_rate or RATE))
    assert np.abs(session.plant.qd).max() < 0.02


@RATES
def test_velocities_that_end_are_replaced_in_hold(update_rate: float) -> None:
    session = arm(update_rate=update_rate).run(0.4)
    move(session)
    session.run(0.3)
    speed, _ = until_zero(session, 1.0, lambda s: {"qd": np.full(7, np.nan)})
    assert session.causes == ["state_invalid"] and speed < 1.0
    assert session.controller.estimator.estimate.source is VelocitySource.DIFFERENTIATED
    session.run(0.5)
    assert (
        session.controller.estimator.estimate.source is VelocitySource.MEASURED
        and session.controller.mode.value == "fault"
    )


@RATES
@pytest.mark.parametrize(
    ("fields", "joint"), [(("q",), 1), (("q", "qd"), slice(None)), (("q", "qd"), 1)]
)
@pytest.mark.parametrize("in_motion", [True, False])
def test_a_position_that_stands_still_is_not_followed(
    update_rate: float, fields: tuple[str, ...], joint: Any, in_motion: bool
) -> None:
    session = arm(update_rate=update_rate).run(0.4)
    if in_motion:
        move(session)
        session.run(0.3)
        change = frozen(session, fields, joint)
    else:
        change = frozen(session, fields, joint)
        move(session)
    speed, _ = until_zero(session, 0.5, change)
    if in_motion:  # its velocity shows it
        assert session.causes[:1] == ["state_implausible"] and speed < 1.7
    elif fields == (
        "q",
        "qd",
    ):  # it moves by the position error that its friction allows
        assert session.causes[:1] == ["no_response"] and speed < 7.0


def test_joints_that_freeze_in_motion_are_detected_before_the_law_accelerates_them() -> (
    None
):
    """The driver repeats positions with velocity 0, at 0.9 rad/s."""
    session = arm(torque_rate_limit=()).run(0.4)
    move(session)
    session.run(0.5)
    q = session.plant.q.copy()
    before = float(np.abs(session.plant.qd).max())
    speed, _ = until_zero(session, 0.05, lambda _: {"q": q, "qd": np.zeros(7)})
    assert session.causes == ["no_response"] and speed < 2.2 * before


@pytest.mark.parametrize("joint", [slice(None), 1])
def test_values_that_freeze_after_an_invalid_message_are_no_feedback(
    joint: Any,
) -> None:
    """As of a slave that is lost: one NaN, then the last position, within the noise of an encoder, and velocity 0."""
    session = arm().run(0.4)
    move(session)
    session.run(0.5)
    q = session.plant.q.copy()
    session.cycle(q=np.full(7, np.nan))

    def freeze(session: Session) -> dict[str, Any]:
        state = np.array((session.plant.q, session.plant.qd))
        state[0, joint] = q[joint] + 1e-5 * (session.random.random() > 0.9)
        state[1, joint] = 0.0
        return {"q": state[0], "qd": state[1]}

    speed, _ = until_zero(session, 0.5, freeze)
    assert session.controller.mode.value != "active" and speed < 4.0


@pytest.mark.parametrize("cycles", [1, 10])
def test_a_false_velocity_does_not_end_the_hold(cycles: int) -> None:
    session = arm().run(0.4)
    move(session)
    session.run(0.5)
    for k in range(400):
        session.cycle(qd=session.plant.qd + (6.0 if k < cycles else 0.0))
    assert session.causes and np.abs(session.plant.qd).max() < 0.05


def test_a_jump_that_stays_leaves_the_other_joints_held() -> None:
    session = arm().run(0.4)
    move(session)
    session.run(0.5)
    before = session.plant.q.copy()
    for _ in range(400):
        session.cycle(q=session.plant.q + np.array([0, 0.08, 0, 0, 0, 0, 0]))
    assert (
        session.causes
        and np.abs(session.plant.qd).max() < 0.05
        and np.abs(session.plant.q - before).max() < 0.3
    )


@pytest.mark.parametrize("joint", [0, 1])
def test_a_reversed_drive_is_held_by_efforts_of_the_other_sign(joint: int) -> None:
    """Gravity loads the second joint. Without the other sign they move by 5 and 9 rad."""
    session = arm().run(0.4)
    move(session)
    session.run(0.3)
    session.plant.drive[joint] = -1.0
    before = session.plant.q.copy()
    speed, _ = until_zero(session, 1.5)
    assert "no_response" in session.causes and speed < 5.0
    assert np.abs(session.plant.q - before).max() < 0.5
    with pytest.raises(RobotDynamicsError, match="against its effort"):
        session.session.clear_fault(session.now)


def test_a_hold_that_accelerates_a_joint_ends() -> None:
    """Position and velocity of the first joint are mirrored about the start, so that all feedback is positive."""
    session = arm().run(0.4)
    start = session.plant.q[0]

    def mirror(session: Session) -> dict[str, Any]:
        state = np.array((session.plant.q, session.plant.qd))
        state[:, 0] = 2.0 * start - state[0, 0], -state[1, 0]
        return {"q": state[0], "qd": state[1]}

    move(session)
    speed, _ = until_zero(session, 1.5, mirror)
    assert session.controller.mode.value != "active" and speed < 8.0
    assert abs(session.plant.qd[0]) < 0.8 * speed, "friction slows it"


@RATES
def test_a_repeated_message_is_no_news(update_rate: float) -> None:
    session = arm(update_rate=update_rate).run(0.4)
    move(session)
    session.run(0.3)
    state = {
        "stamp": session.ros,
        "q": session.plant.q.copy(),
        "qd": session.plant.qd.copy(),
    }
    speed, _ = until_zero(session, 0.3, lambda s: state)
    assert session.causes == ["state_stale"] and speed < 4.0


def test_a_repeated_message_is_news_while_simulated_time_stands_still() -> None:
    session = arm(plant={"use_sim_time": True})
    session.run(0.4)
    state = {
        "stamp": session.ros,
        "q": session.plant.q.copy(),
        "qd": session.plant.qd.copy(),
    }
    for _ in range(200):
        session.pass_time(clock=0.0)
        session.state(**state)
    assert session.causes == []


@pytest.mark.parametrize("kind", ["silence", "nan", "clock"])
def test_the_load_is_held_while_no_state_arrives(kind: str) -> None:
    """3 kg, held by the integral; 0.3 s without states, one NaN, or a clock that steps back by 1 s."""
    session = arm(plant={"payload": 3.0}, ki=(300.0,), torque_rate_limit=()).run(3.0)
    q = session.plant.q.copy()
    if kind == "clock":
        session.ros -= SECOND
    step = until_zero(session, 0.3 if kind == "silence" else PERIOD, lambda s: {
        "silence": None, "nan": {"q": np.full(7, np.nan)}, "clock": {}}[kind])[1]  # fmt: skip
    step = max(step, until_zero(session, 0.5)[1])
    assert (
        len(session.causes) == 1
        and step < 4.0
        and np.abs(session.plant.q - q).max() < 0.01
    )


def test_a_torque_fades_while_states_are_missing() -> None:
    """Gravity torque and load fade within 0.5 s, at steps within the rate limit."""
    session = arm({"on_fault": "zero"}, {"payload": 2.0}).run(0.5)
    before = session.effort
    for _ in range(400):
        session.pass_time()
    given = [g for g in session.commands if g.kind == "unasked"]
    steps = np.abs(np.diff([g.effort for g in given], axis=0)).max(axis=1)
    assert steps.max() <= 1.5 * RATE * PERIOD + 1e-9
    half = next(g.effort for g in given if g.at > given[0].at + 0.25)
    assert np.abs(half / before - 0.5)[1] < 0.1
    assert np.abs(session.effort).max() < 1e-9


@pytest.mark.parametrize("back", [1, 5_000_000])
def test_an_overtaken_state_is_ignored(back: int) -> None:
    session = arm().run(0.4)
    move(session)
    session.run(0.3)
    until_zero(session, PERIOD, lambda s: {"stamp": s.ros - 2_000_000 - back})
    session.run(1.0)
    assert session.causes == [] and np.abs(session.plant.qd).max() < 0.05


def test_two_states_shortly_after_each_other_without_velocities() -> None:
    """One is stamped 1.8 ms late; the largest differentiated velocity stays near the true one."""
    session = arm(torque_rate_limit=())
    largest = 0.0
    session.run(0.4, qd=np.empty(0))
    move(session)
    for k in range(300):
        session.pass_time()
        session.state(
            qd=np.empty(0), stamp=session.ros + (1_800_000 if k == 150 else 0)
        )
        largest = max(
            largest, float(np.abs(session.controller.estimator.estimate.state[1]).max())
        )
    assert session.causes == [] and largest < 1.0


def test_the_hold_has_gains_of_its_own() -> None:
    session = arm(natural_frequency=(0.0,), law="pd_gravity").run(0.1)
    q = session.plant.q.copy()
    until_zero(session, PERIOD, lambda s: {"q": np.full(7, np.nan)})
    for k in range(1500):
        session.effort = session.effort + (15.0 if k < 100 else 0.0) * np.eye(7)[1]
        session.cycle()
    assert np.abs(session.plant.q - q).max() < 0.2


def test_gains_that_a_velocity_filter_makes_unstable_are_refused() -> None:
    with pytest.raises(RobotDynamicsError, match="velocity_filter_cutoff"):
        arm(
            natural_frequency=(40.0,), velocity_filter_cutoff=1.0, update_rate=500.0
        ).run(0.1)
    arm(natural_frequency=(10.0,), velocity_filter_cutoff=20.0, update_rate=500.0).run(
        0.1
    )


@pytest.mark.parametrize("share", [-0.3, 0.3, 0.05, 1.0])
def test_the_first_command_is_the_reported_effort_only_if_a_payload_explains_it(
    share: float,
) -> None:
    session = arm(plant={"payload": 1.5, "coulomb": 0.0, "viscous": 0.0})
    session.pass_time()
    session.state(effort=share * session.plant.gravity())
    expected = (
        session.plant.gravity()
        if share == 1.0
        else session.model.gravity_torque(session.plant.q)
    )
    np.testing.assert_allclose(session.commands[0].effort, expected, atol=1e-6)


def test_effort_limits_below_gravity_are_refused() -> None:
    with pytest.raises(RobotDynamicsError, match="panda_joint4.*fall"):
        arm(effort_limit_scale=(0.08,)).run(0.1)
    session = arm().run(0.1)
    controller = session.controller
    link = session.model.link_names[-1]
    with pytest.raises(RobotDynamicsError, match="fall"):
        controller.tune(
            dataclasses.replace(controller.settings, effort_limit_scale=(0.08,))
        )
    robot = session.session.arm.robot
    with pytest.raises(RobotDynamicsError, match="fall"):
        session.session.on_payload(link, 50.0, (0.0, 0.0, 0.1), (0.0,) * 6)
    assert session.session.arm.robot is robot


@pytest.mark.parametrize("qd", [np.empty(0), None])
def test_a_moving_arm_is_not_activated(qd: Any) -> None:
    """At 0.8 rad/s, without measured velocities too."""
    session = arm()
    session.plant.braked = True
    q = session.plant.q.copy()
    with pytest.raises(RobotDynamicsError, match="activation_max_velocity"):
        for k in range(100):
            moved = q + 0.8 * PERIOD * k * np.eye(7)[0]
            session.cycle(q=moved, qd=0.8 * np.eye(7)[0] if qd is None else qd)


@pytest.mark.parametrize("kind", ["emergency stop", "cancel", "exit"])
def test_stops_end_before_the_position_limit(kind: str) -> None:
    session = arm(max_deceleration_on_cancel=(1.0,), torque_rate_limit=(2000.0,)).run(
        0.1
    )
    upper = session.model.position_upper[0]
    goal = session.plant.q.copy()
    goal[0] = upper - 0.02
    assert session.go([goal], [2.8])
    while upper - session.plant.q[0] > 0.2:
        session.cycle()
    assert session.plant.qd[0] ** 2 > 2.0 * 0.2, (
        "it would run past the limit at 1 rad/s^2"
    )
    {
        "emergency stop": lambda: session.session.safety.request_emergency_stop(
            "button"
        ),
        "cancel": session.controller.cancel,
        "exit": session.session.safety.begin_stop,
    }[kind]()
    most = max(float(session.run(PERIOD).plant.q[0]) for _ in range(600))
    assert most < upper


@pytest.mark.parametrize("every", [2, 3])
def test_valid_states_between_invalid_ones_stop_the_arm(every: int) -> None:
    """Cycles without feedback do not take back what those with feedback brake."""
    session = arm(plant={"viscous": 0.1, "coulomb": 0.0}, torque_rate_limit=()).run(0.4)
    move(session)
    session.run(0.3)
    number = iter(range(10_000))
    invalid = {"q": np.full(7, np.nan)}
    speed, _ = until_zero(
        session, 2.0, lambda s: invalid if next(number) % every else {}
    )
    assert (
        session.causes == ["state_invalid"] and session.controller.mode.value == "hold"
    )
    assert speed < 1.2 and np.abs(session.plant.qd).max() < 0.05


@pytest.mark.parametrize("kind", ["ahead once", "velocities in degrees"])
def test_joints_that_come_to_rest_in_hold_are_not_taken_for_frozen(kind: str) -> None:
    """Encoders of 0.1 mrad report constant positions; the velocities have been found wrong before."""

    def change(s: Session) -> dict[str, Any]:
        q = np.round(s.plant.q, 4)
        if kind == "ahead once":
            return {"q": q, "stamp": s.ros + 90_000_000 * (s.memory.pop("first", 0))}
        return {"q": q, "qd": np.rad2deg(s.plant.qd)}

    session = arm(plant={"coulomb": 4.0}, torque_rate_limit=()).run(0.4)
    move(session)
    session.run(0.3)
    session.memory["first"] = 1
    until_zero(session, 1.5, change)
    assert (
        session.causes[0] == "state_implausible"
        and session.controller.mode.value != "zero"
    )
    assert np.abs(session.plant.qd).max() < 0.05


def test_stamps_that_stay_behind_are_a_clock_that_was_set_back() -> None:
    """They are no late messages, after which the law would start again far from the desired position."""
    session = arm(torque_rate_limit=()).run(0.4)
    move(session)
    session.run(0.3)
    _, step = until_zero(session, 0.5, lambda s: {"stamp": s.ros - 50_000_000})
    assert session.causes == ["clock_jumped_back"] and step < 15.0
    assert np.abs(session.plant.qd).max() < 0.05


def test_positions_far_beyond_their_limits_refuse_the_activation() -> None:
    session = arm()
    with pytest.raises(RobotDynamicsError, match="panda_joint2"):
        session.run(0.1, q=np.rad2deg(session.plant.q))


STAMPS: dict[str, Callable[[Session, int], int]] = {
    "milliseconds": lambda s, k: s.ros // 1_000_000,
    "microseconds": lambda s, k: s.ros // 1_000,
    "standing still": lambda s, k: s.memory["stamp"],
    "a nanosecond each": lambda s, k: s.memory["stamp"] + k,
    "backwards": lambda s, k: 2 * s.memory["stamp"] - s.ros,
    "in steps of 0.1 s": lambda s, k: s.ros // (SECOND // 10) * (SECOND // 10),
}


@pytest.mark.parametrize("kind", STAMPS)
def test_wrong_stamps_leave_the_arm_held(kind: str) -> None:
    """Positions, velocities and times of arrival are right: the arm stops, and holds the position that it reaches."""
    session = arm().run(0.4)
    move(session)
    session.run(0.3)
    session.memory["stamp"] = session.ros
    speed = float(np.abs(session.plant.qd).max())
    for k in range(500):
        session.cycle(stamp=STAMPS[kind](session, k))
        assert np.abs(session.plant.qd).max() < speed + 0.3
        if k == 250:
            stopped = session.plant.q
    assert session.controller.mode.value == "hold"
    assert (
        np.abs(session.plant.qd).max() < 0.2
        and np.abs(session.plant.q - stopped).max() < 0.05
    )


@pytest.mark.parametrize("seconds", [0.05, 1.0])
def test_zeros_are_no_feedback(seconds: float) -> None:
    """A driver that restarts sends zeros, at rest. Only clear_fault accepts a position that returns after 0.1 s."""
    session = arm(safety={"fault_reset": "auto"}).run(0.4)
    q = session.plant.q.copy()
    session.run(seconds, q=np.zeros(7), qd=np.zeros(7))
    assert (
        session.causes == ["state_implausible"]
        and np.abs(session.plant.q - q).max() < 0.01
    )
    session.run(0.3)
    assert session.controller.mode.value == ("active" if seconds < 0.1 else "hold")
    session.session.clear_fault(session.now)
    session.run(0.3)
    assert session.controller.mode.value == "active"
    assert np.abs(session.plant.q - q).max() < 0.01


def test_the_checks_of_the_activation_precede_the_return_of_a_refuted_joint() -> None:
    session = arm().run(0.4)
    session.run(0.2, q=session.plant.q + 0.5)
    with pytest.raises(RobotDynamicsError, match="activation_max_velocity"):
        session.run(0.1, q=session.plant.q + 0.5, qd=np.full(7, 0.3))
        session.session.clear_fault(session.now)


def test_a_refused_request_does_not_trust_a_position_that_has_jumped() -> None:
    session = arm(safety={"fault_reset": "auto"}).run(0.4)
    jumped = session.plant.q + 0.5
    session.run(0.2, q=jumped)
    session.session.safety.emergency_stop("button", True)
    session.run(0.1, q=jumped)
    with pytest.raises(RobotDynamicsError, match="true on button"):
        session.session.clear_fault(session.now)
    session.run(0.1, q=jumped)
    assert session.controller.estimator.estimate.refuted.all()


@pytest.mark.parametrize("factor", [57.3, 1e6])
def test_velocities_that_are_too_large_are_replaced(factor: float) -> None:
    session = arm(torque_rate_limit=()).run(0.4)
    move(session)
    session.run(0.3)
    speed, step = until_zero(session, 1.0, velocity(factor))
    assert (
        session.causes == ["state_implausible"] and speed < 1.2 and step < 0.05 * 87.0
    )
    assert np.abs(session.plant.qd).max() < 0.02


@pytest.mark.parametrize(
    ("interval", "count"), [(0.03, 15), (0.06, 10), (0.04, 1), (0.06, 5)]
)
def test_a_rate_limit_passes_while_states_come_in_bursts(
    interval: float, count: int
) -> None:
    """States of 2 ms arrive together, ``count`` of them; or only one for each ``interval``."""
    session = arm().run(0.4)
    move(session)
    for _ in range(round(1.5 / interval)):
        queue = []
        for _ in range(round(interval / session.period)):
            session.pass_time()
            queue.append(
                {
                    "stamp": session.ros,
                    "q": session.plant.q.copy(),
                    "qd": session.plant.qd.copy(),
                }
            )
        for state in queue[-count:]:
            session.state(**state)
    assert session.causes == [] and session.largest_step(np.full(7, RATE)) < 1.01
    assert np.abs(session.plant.q - session.controller.plan.q).max() < 0.05  # friction


def test_a_rate_limit_is_for_the_cycles_not_for_the_states() -> None:
    session = arm(update_rate=50.0).run(0.4)
    move(session)
    session.run(1.5)
    # friction
    assert (
        session.causes == []
        and np.abs(session.plant.q - session.controller.plan.q).max() < 0.05
    )


def largest_change(session: Session, **state: Any) -> float:
    """Return the largest change of the effort, as a share of its limit, in 0.2 s from the changed ``state`` on."""
    session.commands[:-1] = []
    session.cycle(**state)
    session.run(0.2)
    effort = np.array([given.effort for given in session.commands])
    return float((np.abs(np.diff(effort, axis=0)) / session.model.effort_limits).max())


STEPS = ((), 0.25, 1.0), ((0.0,), 0.0, 0.14)
"""Rate limit, and bounds of the change: a tenth of the limit is no step, and steps are followed by at most 0.03."""


@pytest.mark.parametrize(("limit", "least", "most"), STEPS)
def test_a_velocity_that_is_wrong_once_causes_no_step(
    limit: Any, least: float, most: float
) -> None:
    session = arm(torque_rate_limit=limit).run(0.4)
    wrong = session.plant.qd + np.array([0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert least <= largest_change(session, qd=wrong) <= most


@pytest.mark.parametrize(("limit", "least", "most"), STEPS)
def test_a_far_target_pose_causes_no_step(
    limit: Any, least: float, most: float
) -> None:
    session = arm(
        law="task_space_computed_torque",
        task_space=TaskSpaceSettings(natural_frequency=(30.0,)),
        torque_rate_limit=limit,
    ).run(0.4)
    session.aim(session.plant.end_effector_position() + 2.0, [1.0, 0.0, 0.0, 0.0])
    assert least <= largest_change(session) <= most


@pytest.mark.parametrize("size", [0.3, 0.5])
def test_a_fast_motion_is_no_step(size: float) -> None:
    """Each bit of its commands is that without a rate limit."""
    runs = [arm(torque_rate_limit=limit).run(0.4) for limit in ((), (0.0,))]
    for session in runs:
        move(session, size)
        session.run(1.5)
    free, limited = (np.array([c.effort for c in run.commands]) for run in runs)
    np.testing.assert_array_equal(free, limited)
    assert runs[1].controller.slowed_cycles == 0


@pytest.mark.parametrize("joint", [1, 3])
def test_a_frozen_joint_is_detected_under_a_task_space_law(joint: int) -> None:
    session = arm(law="task_space_computed_torque").run(0.4)
    change = frozen(session, ("q", "qd"), joint)
    session.aim(
        session.plant.end_effector_position() + [0.2, 0.2, 0.1], [1.0, 0.0, 0.0, 0.0]
    )
    speed, _ = until_zero(session, 0.3, change)
    assert set(session.causes) <= {"no_response"} and speed < 2.6


@pytest.mark.parametrize("cutoff", [0.0, 20.0])
def test_a_joint_that_was_pushed_beyond_its_speed_limit_is_stopped(
    cutoff: float,
) -> None:
    """Its damping has not accelerated it, although the joint is above one and a half times its limit for long."""
    session = arm(
        plant={"viscous": 0.0, "coulomb": 0.0},
        velocity_filter_cutoff=cutoff,
        torque_rate_limit=(),
    ).run(0.4)
    session.plant.qd[0] = 2.5 * session.model.velocity_limits[0]
    session.run(1.0)
    assert session.causes[0] == "velocity_limit"
    assert np.abs(session.plant.qd).max() < 0.05


@pytest.mark.parametrize("law", ["computed_torque", "pd_plus", "feedforward"])
def test_effort_of_points_that_would_displace_the_arm_is_refused(law: str) -> None:
    """In a wrong unit, or of the whole model; one that is accepted moves joints by at most set_point_step_limit."""
    plant = {"viscous": 0.1, "coulomb": 0.0}
    session = arm(law=law, plant=plant).run(0.4)
    begin = session.plant.q.copy()
    direction = np.array([1.0, -1.0, 1.0, 1.0, 1.0, 1.0, -1.0])
    most = direction * session.model.effort_limits
    if law != "feedforward":  # nothing opposes the effort then
        inertia = session.model.mass_matrix(begin)
        if law != "computed_torque":  # whose gains are for the diagonal
            inertia = np.diag(inertia.diagonal())
        most *= 0.2 * 10.0**2 / np.abs(np.linalg.solve(inertia, most)).max()
    for wrong in (2000.0 * most, 1.01 * most, -1.01 * most):
        assert not session.go([begin], [0.1], effort=[wrong])
        assert "refused" in session.lines[-1] and "Cure: " in session.lines[-1]
    if law == "feedforward":
        return
    assert session.go([begin], [0.1], effort=[0.9 * most])
    session.run(1.0)
    displaced = np.abs(session.plant.q - begin).max()
    assert session.causes == [] and 0.1 < displaced < 0.22
    rules = TrajectoryRules(trajectory_limits="off")
    session.session.tune(dataclasses.replace(session.settings, trajectories=rules))
    assert session.go([session.plant.q], [0.1], effort=[1.01 * most])


@pytest.mark.parametrize(
    ("delay", "frequency", "found"),
    [(0.02, 10.0, False), (0.045, 10.0, True), (0.045, 5.0, False), (0.02, 30.0, True)],
)
def test_states_that_lag_by_half_the_delay_margin_are_a_fault(
    delay: float, frequency: float, found: bool
) -> None:
    """They lag from a time in the motion on; a lag for less than state_timeout is none."""
    session = arm(natural_frequency=(frequency,)).run(0.4)
    move(session)
    for seconds, expected in ((0.05, False), (0.4, found)):
        sent = []
        for k in range(round(seconds / PERIOD)):
            session.pass_time()
            sent.append(
                {
                    "stamp": session.ros,
                    "q": session.plant.q.copy(),
                    "qd": session.plant.qd.copy(),
                }
            )
            if k * PERIOD >= delay:
                session.state(**sent[k - round(delay / PERIOD)])
        assert session.causes == ["state_stale"] * expected
        session.run(0.1)
    assert not found or "delay margin" in session.session.safety.fault.message
