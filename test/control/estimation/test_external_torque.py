"""External torque of the controlled arm, and collisions."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros.control.checks.cycle_checks import Checks
from robot_dynamics_ros.control.clock import CycleClock
from robot_dynamics_ros.control.configuration.settings import (
    ControllerSettings,
    SafetySettings,
)
from robot_dynamics_ros.control.configuration.tuning import Tuning
from robot_dynamics_ros.control.estimation.effort_reports import EffortReports
from robot_dynamics_ros.control.estimation.estimator import Estimator
from robot_dynamics_ros.control.estimation.external_torque import ExternalTorque
from robot_dynamics_ros.control.estimation.response import Response
from robot_dynamics_ros.control.safety import Cause
from support.comparing import assert_close
from support.controlled_arm import MODEL, REST, Q

NAMES = ("joint1", "joint2")
EFFORT = np.array([3.0, -5.0])
GAIN = 20.0
ARM = MODEL.without_gravity()  # the arm is held by an external torque


def tuning(gain: float = GAIN, threshold: Any = (1.0,)) -> Tuning:
    settings = ControllerSettings(observer_gain=gain)
    if gain > 0.0:
        settings = replace(
            settings, safety=SafetySettings(collision_threshold=threshold)
        )
    return Tuning(MODEL, settings)


def checked(gain: float = GAIN) -> ExternalTorque:
    return ExternalTorque(tuning(gain))


def fault(external: ExternalTorque, threshold: Any = (1.0,)) -> Any:
    estimate = Estimator(NAMES, 0.0, 0.1).estimate
    values = tuning(threshold=threshold)
    checks = Checks(MODEL, values, external, Response(MODEL.n), EffortReports())
    faults = checks.faults(values, estimate, CycleClock(0.0).now(0.0), None)
    return next((fault for fault in faults if fault.cause is Cause.COLLISION), None)


def observe(
    external: ExternalTorque, times: Any, speed: Any = 0.0, cutoff: float = 0.0
) -> Any:
    """Return the estimate after states at these times under EFFORT, with velocity speed times the index."""
    estimator = Estimator(NAMES, cutoff, 0.1)
    for k, time in enumerate(times):
        estimator.measure(time, time, Q, None if speed is None else k * (REST + speed))
        external.observe(ARM, estimator.estimate, EFFORT)
    return external.torque


def test_torque_that_holds_the_arm_against_its_motors() -> None:
    """- u (1 - exp(- K t)), the lag of the observer, which is reset after a gap."""
    external = checked()
    for start in (0.0, 9.0):
        assert_close(observe(external, [start]), REST, 0.0)
        torque = observe(external, [start, start + 0.01, start + 0.05])
        assert_close(torque, -EFFORT * (1.0 - math.exp(-GAIN * 0.05)), 1e-13)
        external.reset()
        assert external.torque is None and fault(external) is None


def test_nothing_is_observed_without_a_gain_or_before_the_velocity_is_known() -> None:
    off = checked(0.0)
    external = checked()
    assert observe(off, [0.0, 1.0]) is None
    off.reset()
    assert observe(external, [0.0], speed=None) is None
    for each in (off, external):
        assert each.torque is None and fault(each) is None
    assert observe(external, [0.0, 0.01], speed=None) is not None


def test_the_velocity_filter_does_not_appear_as_torque() -> None:
    """The same result with a slow filter, for an accelerating arm."""
    times = 0.01 * np.arange(10)
    speed = np.array([0.3, 0.1])
    plain, filtered = (
        observe(checked(), times, speed, cutoff) for cutoff in (0.0, 0.1)
    )
    np.testing.assert_array_equal(plain, filtered)


@pytest.mark.parametrize(
    ("threshold", "joint", "value"),
    [
        ([3.0, 5.0], None, 0.0),
        ([2.5, 5.0], "joint1", -3.0),
        ([3.5, 4.5], "joint2", 5.0),
        ([2.5, 4.5], "joint1", -3.0),
    ],
)
def test_a_collision_is_a_torque_over_its_threshold(
    threshold: list[float], joint: str | None, value: float
) -> None:
    external = checked()
    external.torque = np.array([-3.0, 5.0])
    found = fault(external, threshold)
    if joint is None:
        assert found is None
    else:
        assert (found.cause, found.joint, found.value) == (
            Cause.COLLISION,
            joint,
            value,
        )
