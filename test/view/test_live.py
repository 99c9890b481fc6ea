"""What is known of an arm from the messages that came last."""

import numpy as np
import pytest

from robot_dynamics_ros.view.live import LiveArm

ONE = np.ones(1)


def test_before_anything_came() -> None:
    arm = LiveArm()
    assert arm.moment(0.0) is None and arm.age(0.0) == np.inf
    arm.state(1.0, 1.0, np.array([np.nan]), None, None)
    assert arm.moment(1.0) is None


@pytest.mark.parametrize("with_velocity", [True, False])
def test_derivatives(with_velocity: bool) -> None:
    """Of q = t^2, in the end: velocity 2 t, late by the low-pass where it is not published, and acceleration 2."""
    arm = LiveArm()
    for t in np.arange(1.0, 3.0, 0.01):
        arm.state(t, t, ONE * t**2, ONE * 2 * t if with_velocity else None, None)
    found = arm.moment(3.0)
    assert found is not None
    assert found[0].qd == pytest.approx([2 * 2.99], abs=1e-12 if with_velocity else 0.15)
    assert found[0].qdd == pytest.approx([2.0], abs=1e-3)


def test_a_clock_that_begins_anew_gives_no_acceleration() -> None:
    arm = LiveArm()
    for t in (1.0, 1.01, 0.2):
        arm.state(t, 5.0, ONE * t, ONE * t, None)
    found = arm.moment(5.0)
    assert found is not None and found[0].qdd.tolist() == [0.0]


def test_torque_and_ghost() -> None:
    arm = LiveArm()
    arm.state(1.0, 1.0, ONE, ONE, None)
    first = arm.moment(1.0)
    assert first is not None and np.isnan(first[0].torque).all() and first[0].desired is None
    arm.command(1.1, 2 * ONE, 3 * ONE)
    second = arm.moment(1.2)
    assert second is not None and second[1] == "commanded effort"
    assert second[0].torque.tolist() == [3.0] and second[0].desired is not None and second[0].desired.tolist() == [2.0]
    arm.state(1.3, 1.3, ONE, ONE, 4 * ONE)
    third = arm.moment(1.3)
    assert third is not None and third[1] == "measured effort" and third[0].torque.tolist() == [4.0]
    late = arm.moment(2.2)
    assert late is not None and late[0].desired is None, "a controller that is silent desires nothing"
    assert arm.age(2.2) == pytest.approx(0.9)
