"""Brakes of the robot that are reported to the controller, with an independent plant in lockstep.

The arm is a Panda with friction and an unmodelled payload. Engaged brakes lock all joints at once, whatever the effort.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros.control.configuration.settings import (
    ControllerSettings,
    SafetySettings,
)
from support.independent_plant import STORE, TYPES, Session

RATE = 500.0  # Nm/s
REPORTED = pytest.mark.parametrize("reported", [True, False])


def arm(payload: float = 1.5, **settings: Any) -> Session:
    given = {
        "natural_frequency": (10.0,),
        "torque_rate_limit": (RATE,),
        "observer_gain": 25.0,
        **settings,
    }
    safety = SafetySettings(following_error_limit=(0.3,), collision_threshold=(20.0,))
    return Session(
        "panda",
        ControllerSettings(safety=safety, **given),
        viscous=1.0,
        coulomb=1.0,
        payload=payload,
    )


def brake(session: Session, engaged: bool, reported: bool = True) -> None:
    session.plant.braked = engaged
    if reported:
        kind = "std_msgs/msg/Bool"
        session.receive(
            "brakes_engaged", bytes(STORE.serialize_cdr(TYPES[kind](engaged), kind))
        )


def gravity(session: Session) -> Any:
    return session.model.gravity_torque(session.plant.q)


@REPORTED
def test_brakes_that_stop_a_motion_are_no_fault_if_they_are_reported(
    reported: bool,
) -> None:
    session = arm().run(0.4)
    goal = [session.plant.q + 0.6 * np.array([1.0, 1.0, 1.0, -1.0, 0.0, 0.0, 0.0])]
    assert session.go(goal, [1.0])
    session.run(0.5)
    brake(session, True, reported)
    session.run(1.0)
    if not reported:
        assert session.causes
        return
    assert not session.causes and not session.controller.plan.busy
    np.testing.assert_allclose(session.effort, gravity(session), atol=1e-9)
    assert not session.go(goal, [1.0]) and any(
        "the brakes are engaged" in line for line in session.lines
    )


@REPORTED
def test_the_integral_does_not_grow_behind_reported_brakes(reported: bool) -> None:
    """They lock the arm while it sinks."""
    session = arm(ki=(50.0,)).run(0.06)
    brake(session, True, reported)
    before = np.abs(session.controller.law.integral.value).max()
    session.run(1.0)
    after = np.abs(session.controller.law.integral.value).max()
    assert after == 0.0 if reported else after > 10.0 * before


@pytest.mark.parametrize("rates", [(RATE,), ()])
@pytest.mark.parametrize(
    "law",
    ["computed_torque", "pd", "gravity_compensation", "task_space_computed_torque"],
)
def test_when_brakes_open_the_arm_is_held_where_it_is(
    law: str, rates: tuple[float, ...]
) -> None:
    """It was turned by hand meanwhile. The effort changes by a ramp, with and without a rate limit."""
    session = arm(payload=0.0, law=law, torque_rate_limit=rates).run(0.4)
    brake(session, True)
    for _ in range(500):
        session.plant.q = session.plant.q + 0.2 * session.period
        session.cycle(qd=np.full(7, 0.2))
    q = session.run(0.2).plant.q
    first = len(session.commands)
    brake(session, False)
    session.run(1.5)
    effort = np.array([given.effort for given in session.commands[first - 1 :]])
    assert (
        np.abs(np.diff(effort, axis=0)).max() < 1.0 and session.largest_step(RATE) < 1.0
    )
    assert not session.causes and np.abs(session.plant.qd).max() < 0.05
    assert np.abs(session.plant.q - q).max() < (0.5 if law == "pd" else 0.03)


def test_in_hold_the_arm_is_held_where_the_brakes_stopped_it() -> None:
    """An emergency stop that also closes the brakes: the stop that was planned would end further on."""
    session = arm(payload=0.0).run(0.4)
    session.go([session.plant.q + 0.6 * np.eye(7)[0]], [1.0])
    session.run(0.5)
    session.session.safety.request_emergency_stop("button")
    session.run(0.02)
    brake(session, True)
    session.run(1.0)
    q = session.plant.q.copy()
    brake(session, False)
    session.run(1.0)
    assert (
        session.causes == ["emergency_stop"] and session.controller.mode.value == "hold"
    )
    assert np.abs(session.plant.q - q).max() < 0.005


def test_brakes_outlast_an_activation() -> None:
    session = arm().run(0.1)
    brake(session, True)
    session.session.deactivate(session.now)
    session.session.activate(compare_effort=False, now=session.now)
    session.run(0.1)
    np.testing.assert_allclose(session.effort, gravity(session), atol=1e-9)
    assert not session.go([session.plant.q], [1.0]) and any(
        "the brakes are engaged" in line for line in session.lines
    )
