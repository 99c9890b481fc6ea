"""Hold after a fault: compensation of the load, and no unstable feedback."""

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.control.configuration.settings import (
    ControllerSettings,
    SafetySettings,
)
from robot_dynamics_ros.control.controller import make_controller
from robot_dynamics_ros.control.safety import Cause, Mode
from robot_dynamics_ros.simulation import Plant
from support.comparing import assert_close
from support.controlled_arm import MODEL, REST, Q, command, started
from support.task_space_loops import READY

PERIOD = 0.002
LATE = 25


def test_feedback_that_is_unstable_behind_a_delay_gets_softer(
    load_robot: Callable[..., RobotModel],
) -> None:
    """With delays of 50 ms the law and the hold oscillate; with a third of the frequency the arm is held."""
    model = load_robot("panda", "panda")
    # joints hit their limits
    settings = ControllerSettings(
        torque_rate_limit=(),
        safety=SafetySettings(position_step_limit=(np.inf,)),
    )
    controller = make_controller(model, settings)
    start = READY["panda"]
    plant = Plant(
        model,
        step_size=PERIOD / 2,
        initial_positions=start,
        initial_velocities=np.full(7, 0.5),
    )
    effort = model.gravity_torque(start)
    states: deque[Any] = deque([None] * LATE)
    commands: deque[Any] = deque([effort] * LATE)
    speeds = []
    for cycle in range(6000):
        states.append((cycle * PERIOD, plant.position.copy(), plant.velocity.copy()))
        state = states.popleft()
        if state is not None:
            controller.measure(state[0], cycle * PERIOD, *state[1:])
            commands.append(controller.update(state[0], cycle * PERIOD).effort.copy())
            effort = commands.popleft()
        plant.step(effort, 2)
        speeds.append(float(np.abs(plant.velocity).max()))
    assert controller.mode is Mode.FAULT
    assert controller.safety.fault.cause is Cause.VELOCITY_LIMIT
    assert max(speeds) < 100.0, "200 rad/s with the full feedback, which never ends"
    assert max(speeds[-500:]) < 0.02, "the arm is held"


def test_the_load_is_compensated_in_hold_and_afterwards() -> None:
    """The law's integral and error torque of a load is kept in hold, and when the fault is cleared."""
    controller = started(ki=[100.0])
    q = Q + [0.01, 0.0]
    for k in range(1, 10):
        carried = command(controller, 0.01 * k, q).effort.copy()
    command(controller, 0.1, [np.nan, 0.0])
    held = command(controller, 0.11, q)
    assert held.mode is Mode.HOLD
    assert_close(held.effort, carried, 0.01)
    controller.clear_fault(0.11)
    for k in range(12, 40):
        assert_close(command(controller, 0.01 * k, q).effort, carried, 0.02)


@pytest.mark.parametrize("mass", [2e307, 5e307])
def test_zero_effort_if_the_torque_to_hold_is_not_finite(mass: float) -> None:
    """With a payload mass for which the gravity torque is infinite or NaN."""
    controller = started()
    payload = MODEL.link_names[-1], mass, (0.0, 0.0, 0.0), np.zeros((3, 3))
    with pytest.raises(RobotDynamicsError, match="effort limit"):
        controller.arm.set_payload(*payload, Q)
    controller.arm.set_payload(*payload)
    assert_close(controller.finish(controller.clock.time).effort, REST, 0.0)
    for time in (0.1, 0.2):
        result = command(controller, time)
        assert result.mode is Mode.ZERO and not result.effort.any()
    assert controller.safety.fault.cause is Cause.TORQUE_NOT_FINITE
