"""Hold after a fault: compensation of the load, and no unstable damping."""

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
from support.controlled_arm import MODEL, REST, WEIGHT, Q, command, started
from support.task_space_loops import READY

PERIOD = 0.002
LATE = 25


def test_damping_is_omitted_if_it_is_unstable_behind_a_delay(
    load_robot: Callable[..., RobotModel],
) -> None:
    """With delays of 50 ms the law and the hold oscillate; with gravity compensation alone the arm stops."""
    model = load_robot("panda", "panda")
    # joints hit their limits
    settings = ControllerSettings(safety=SafetySettings(position_step_limit=(np.inf,)))
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
    assert (
        controller.mode is Mode.FAULT
        and controller.safety.fault.cause is Cause.VELOCITY_LIMIT
    )
    assert max(speeds) < 100.0, "200 rad/s with damping, which never ends"
    assert max(speeds[-500:]) < 1.0, "friction has stopped it"
    assert_close(
        controller.command.effort,
        model.gravity_torque(controller.estimator.estimate.state[0]),
        1e-9,
    )


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


def test_unstable_damping_is_omitted_until_the_fault_is_cleared() -> None:
    """The limit of joint2 is 5 rad/s and a margin of 0.2."""
    controller = started()
    for time, speed, damped in (
        (0.05, 6.0, True),
        (0.1, -6.0, False),
        (0.15, 1.0, False),
        (0.3, 6.0, True),
    ):
        if time == 0.3:
            command(controller, 0.2)
            controller.clear_fault(0.2)
            assert command(controller, 0.25).mode is Mode.ACTIVE
        result = command(controller, time, qd=[0.0, speed])
        assert result.mode is Mode.HOLD and np.allclose(result.effort, WEIGHT) != damped
