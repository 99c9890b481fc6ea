"""Holding behind a long delay: damping that drives the arm is left out. Plant and controller in one process."""

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.controller import Controller
from robot_dynamics_ros.control.safety import Cause, Mode
from robot_dynamics_ros.control.settings import ControllerSettings
from robot_dynamics_ros.simulation import Plant
from support.comparing import assert_close
from support.task_space_loops import READY

PERIOD, LATE = 0.002, 25


def test_damping_that_drives_the_arm_is_left_out(load_robot: Callable[..., RobotModel]) -> None:
    """50 ms each way: the law swings until a joint is too fast, and so would hold; with gravity alone the arm stops."""
    model = load_robot("panda", "panda")
    controller = Controller(model, ControllerSettings())
    plant = Plant(
        model, step_size=PERIOD / 2, initial_positions=READY["panda"], initial_velocities=np.full(7, 0.5)
    )  # fmt: skip
    effort = model.gravity_torque(READY["panda"])
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
    assert controller.mode is Mode.FAULT and controller.fault.cause is Cause.VELOCITY_LIMIT
    assert max(speeds) < 100.0, "200 rad/s with damping, which never ends"
    assert max(speeds[-500:]) < 1.0, "friction has stopped it"
    assert_close(controller.command.effort, model.gravity_torque(controller.feedback.state[0]), 1e-9)
