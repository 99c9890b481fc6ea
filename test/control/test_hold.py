"""Holding behind a long delay: damping that drives the arm is left out. Plant and controller in one process."""

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.controller import Controller
from robot_dynamics_ros.control.faults import Cause
from robot_dynamics_ros.control.safety import Mode
from robot_dynamics_ros.control.settings import ControllerSettings, SafetySettings
from robot_dynamics_ros.simulation import Plant
from support.comparing import assert_close
from support.task_space_loops import READY

PERIOD = 0.002


class Delayed:
    """An arm whose states and commands each arrive ``delay`` seconds late."""

    def __init__(self, model: RobotModel, delay: float, start: Any, speeds: Any) -> None:
        self.controller = Controller(model, ControllerSettings(safety=SafetySettings()))
        self.plant = Plant(model, step_size=PERIOD / 2, initial_positions=start, initial_velocities=speeds)
        self.effort = model.gravity_torque(np.asarray(start))
        self.cycles = 0
        late = round(delay / PERIOD)
        self._states: deque[Any] = deque([None] * late)
        self._commands: deque[Any] = deque([self.effort] * late)

    def run(self, seconds: float) -> list[float]:
        """The largest speed of a joint in each cycle, rad/s."""
        speeds = []
        for _ in range(round(seconds / PERIOD)):
            self._states.append((self.cycles * PERIOD, self.plant.position.copy(), self.plant.velocity.copy()))
            state = self._states.popleft()
            if state is not None:
                time, q, qd = state
                self.controller.measure(time, self.cycles * PERIOD, q, qd)
                command = self.controller.update(time, self.cycles * PERIOD)
                assert command is not None
                self._commands.append(command.effort.copy())
                self.effort = self._commands.popleft()
            for _ in range(2):
                self.plant.step(self.effort)
            self.cycles += 1
            speeds.append(float(np.abs(self.plant.velocity).max()))
        return speeds


def test_damping_that_drives_the_arm_is_left_out(load_robot: Callable[..., RobotModel]) -> None:
    """50 ms each way: the law swings until a joint is too fast, and so would hold; only carried, the arm stops."""
    arm = Delayed(load_robot("panda", "panda"), 0.05, READY["panda"], np.full(7, 0.5))
    speeds = arm.run(12.0)
    controller = arm.controller
    assert controller.fault is not None and controller.fault.cause is Cause.VELOCITY_LIMIT
    assert max(speeds) < 100.0, "200 rad/s with damping, which never ends"
    assert max(speeds[-500:]) < 1.0, "friction has stopped it"
    assert controller.mode is Mode.FAULT
    q, qd = controller.feedback.state
    assert_close(arm.controller.command.effort, controller.model.gravity_torque(q), 1e-9)  # type: ignore[union-attr]
    controller.clear_fault(arm.cycles * PERIOD)
    arm.run(PERIOD)
    assert controller.mode is Mode.ACTIVE


@pytest.mark.parametrize("push", [2.8, -2.8])
def test_damping_that_stops_the_arm_stays(push: float, load_robot: Callable[..., RobotModel]) -> None:
    """Pushed beyond its limit of 2.2 rad/s, without delay: it stops as quickly as its effort limit allows."""
    arm = Delayed(load_robot("panda"), 0.0, READY["panda"], push * np.eye(7)[0])
    arm.run(0.15)
    assert arm.controller.mode is Mode.HOLD
    assert max(arm.run(0.02)) < 0.2
