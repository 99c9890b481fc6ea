"""A controller as a node runs it, without ROS: whatever it is given, its efforts are finite and within the limits."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.controller import Command, Controller
from robot_dynamics_ros.control.settings import ControllerSettings
from robot_dynamics_ros.messages.running_controller import RunningController
from tools.fuzz.trial import Wrong

Array = NDArray[np.float64]

_FARTHEST = 1e6  # rad or m; a first state much beyond that is refused, and no command follows
_BEGIN = 1_700_000_000_000_000_000  # ns


class Clocks:
    """The time ``at`` (ns), which is set from outside."""

    def __init__(self) -> None:
        self.at = _BEGIN

    def steady(self) -> float:
        return self.at * 1e-9

    def now(self) -> int:
        return self.at


class Outputs:
    """Looks at every command, and counts them."""

    has_trajectory_subscribers = True

    def __init__(self, limits: Array) -> None:
        self._limits = limits
        self.count = 0

    def command(self, command: Command, answered: int) -> None:
        self.unsolicited(command)

    def repeat(self) -> None:
        self.count += 1

    def unsolicited(self, command: Command) -> None:
        self.count += 1
        check(command.effort, self._limits)

    def external_torque(self, torque: Array, at: int) -> None:
        if not np.isfinite(torque).all():
            raise Wrong(f"external torque {torque.tolist()}")

    def trajectory(self, data: bytes) -> None:
        pass


class Silent:
    """Log and report that say nothing."""

    def info(self, message: str) -> None:
        pass

    def warning(self, message: str, *, throttle_duration_sec: float = 0.0) -> None:
        pass

    def error(self, message: str, *, throttle_duration_sec: float = 0.0) -> None:
        pass

    def transitions(self, controller: Controller, stamp: int) -> None:
        controller.take_transitions()

    def waiting(self, controller: Controller) -> None:
        pass


def check(effort: Array, limits: Array) -> None:
    """Raise Wrong for an effort that no motor may be given."""
    if not (np.isfinite(effort).all() and (np.abs(effort) <= limits).all()):
        raise Wrong(f"effort {effort.tolist()} with limits {limits.tolist()}")


def overflow_is_looked_at() -> AbstractContextManager[object]:
    """In a cycle NumPy may warn of numbers that are too large: the controller looks at what comes of them, as we do."""
    return np.errstate(over="ignore", invalid="ignore")


def running(model: RobotModel, settings: ControllerSettings) -> tuple[RunningController, Clocks, Outputs]:
    """Return a controller that answers joint_states, its clocks, and what looks at its commands."""
    clocks, outputs = Clocks(), Outputs(model.effort_limits)
    return RunningController(model, settings, clocks, outputs, Silent(), Silent()), clocks, outputs


def drive(model: RobotModel, settings: ControllerSettings, states: list[tuple[Array, Array]]) -> None:
    """Give a robot's controller measured states (q, qd), 1 ms apart, and look at what it commands."""
    controller = Controller(model, settings)
    commands = 0
    for k, (q, qd) in enumerate(states):
        with overflow_is_looked_at():
            controller.measure(k * 1e-3, k * 1e-3, q, qd)
            command = controller.update(k * 1e-3, k * 1e-3)
        if command is not None:
            commands += 1
            check(command.effort, model.effort_limits)
    with overflow_is_looked_at():
        last = controller.last_effort(controller.time)
    if last is None or commands < len(states):
        raise Wrong(f"{commands} commands for {len(states)} states")
    check(last, model.effort_limits)


def states_of(model: RobotModel) -> list[tuple[Array, Array]]:
    """At rest in the middle, at the limits, fast, absurd."""
    low = np.where(np.isfinite(model.position_lower), model.position_lower, -math.pi).clip(-_FARTHEST, _FARTHEST)
    high = np.where(np.isfinite(model.position_upper), model.position_upper, math.pi).clip(-_FARTHEST, _FARTHEST)
    rest, middle = np.zeros(model.n), 0.5 * low + 0.5 * high
    return [(middle, rest), (low, rest + 1.0), (high, rest - 3.0), (middle, rest + 1e150), (rest + 1e300, rest)]
