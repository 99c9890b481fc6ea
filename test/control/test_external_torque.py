"""The observed torque, when it is taken, and when it counts as a collision."""

import math
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros.control.external_torque import ExternalTorque
from robot_dynamics_ros.control.faults import Cause
from robot_dynamics_ros.control.feedback import Feedback
from support.comparing import assert_close
from support.controlled_arm import MODEL, REST, Q

NAMES = ("joint1", "joint2")
EFFORT, GAIN = np.array([3.0, -5.0]), 20.0
ARM = MODEL.without_gravity()  # what it bears at rest comes from outside


def observed(times: Any, gain: float = GAIN) -> ExternalTorque:
    """After resting at these times under EFFORT."""
    external, feedback = ExternalTorque(gain, 0.01), Feedback(NAMES, 0.0, 0.1)
    for time in times:
        feedback.take(time, time, Q, REST)
        external.observe(ARM, feedback, EFFORT)
    return external


def test_what_holds_the_arm_against_its_motors_is_found() -> None:
    """- u (1 - exp(- K t)), the observer's lag."""
    assert_close(observed([0.0]).torque, REST, 0.0)
    external = observed([0.0, 0.01, 0.05])
    assert_close(external.torque, -EFFORT * (1.0 - math.exp(-GAIN * 0.05)), 1e-14)


def test_without_a_gain_nothing_is_observed() -> None:
    external = observed([0.0, 1.0], gain=0.0)
    external.forget()
    assert external.torque is None and external.collision(NAMES, REST) is None


def test_it_waits_until_the_velocity_is_known() -> None:
    external, feedback = ExternalTorque(GAIN, 0.01), Feedback(NAMES, 0.0, 0.1)
    feedback.take(0.0, 0.0, Q, None)
    external.observe(ARM, feedback, EFFORT)
    assert external.torque is None and external.collision(NAMES, REST) is None
    feedback.take(0.01, 0.01, Q, None)
    external.observe(ARM, feedback, EFFORT)
    assert external.torque is not None


def test_a_filter_of_the_velocity_does_not_show_as_torque() -> None:
    """The same with the slowest of filters, for an arm that speeds up."""
    found = []
    for cutoff in (0.0, 0.1):
        external, feedback = ExternalTorque(GAIN, 0.01), Feedback(NAMES, cutoff, 0.1)
        for k in range(10):
            feedback.take(0.01 * k, 0.01 * k, Q, np.array([0.3, 0.1]) * k)
            external.observe(ARM, feedback, EFFORT)
        found.append(external.torque)
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize(
    ("threshold", "joint", "value"),
    [([3.0, 5.0], None, 0.0), ([2.5, 5.0], "joint1", -3.0), ([3.5, 4.5], "joint2", 5.0), ([2.5, 4.5], "joint1", -3.0)],
)
def test_a_collision_is_a_torque_over_the_threshold_of_its_joint(
    threshold: list[float], joint: str | None, value: float
) -> None:
    external = ExternalTorque(GAIN, 0.01)
    external.torque = np.array([-3.0, 5.0])
    fault = external.collision(NAMES, np.array(threshold))
    if joint is None:
        assert fault is None
    else:
        assert fault is not None and (fault.cause, fault.joint, fault.value) == (Cause.COLLISION, joint, value)


def test_after_a_gap_it_starts_anew() -> None:
    external, feedback = observed([0.0, 1.0]), Feedback(NAMES, 0.0, 0.1)
    external.forget()
    assert external.torque is None and external.collision(NAMES, REST) is None
    feedback.take(9.0, 9.0, Q, REST)
    external.observe(ARM, feedback, EFFORT)
    assert_close(external.torque, REST, 0.0)
