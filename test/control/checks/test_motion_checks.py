"""Checks of the motion that fail if something lasts."""

from robot_dynamics_ros.control.configuration.settings import SafetySettings
from robot_dynamics_ros.control.controller import Controller
from robot_dynamics_ros.control.safety import Cause, Mode
from support.controlled_arm import Q, command, started

STEP = 0.01  # s


def off_for(controller: Controller, cycles: int) -> None:
    """Run cycles in which the arm is 0.2 rad off the desired position, whose speed is measured as 0."""
    q = controller.plan.q + 0.2
    for _ in range(cycles):
        command(controller, controller.clock.time + STEP, q)


def test_a_following_error_that_ends_with_the_law_does_not_count_later() -> None:
    safety = SafetySettings(following_error_limit=(0.1,), following_error_time=0.1)
    controller = started(safety=safety)
    off_for(controller, 8)
    controller.set_brakes(True)
    for _ in range(100):
        command(controller, controller.clock.time + STEP, Q)
    controller.set_brakes(False)
    off_for(controller, 8)
    assert controller.mode is Mode.ACTIVE
    off_for(controller, 4)
    assert (
        controller.safety.fault is not None
        and controller.safety.fault.cause is Cause.FOLLOWING_ERROR
    )
