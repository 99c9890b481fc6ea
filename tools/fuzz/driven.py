"""Controller run without ROS, as in the node: its efforts must be finite and within the limits for any input."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.controller import make_controller
from robot_dynamics_ros.control.interface import Now, Output
from robot_dynamics_ros.control.session import ControllerSession
from robot_dynamics_ros.control.settings import ControllerSettings
from robot_dynamics_ros.recordings.messages.inputs import InputReader
from tools.fuzz.trial import Wrong

Array = NDArray[np.float64]

_FARTHEST = 1e6  # rad or m; a first state far beyond it is refused, without a command
_BEGIN = 1_700_000_000_000_000_000  # ns


class Driven:
    """Active session that gets joint_states at the time ``at`` (ns) and whose commands are checked."""

    def __init__(self, model: RobotModel, settings: ControllerSettings) -> None:
        self.at = _BEGIN
        self.session = ControllerSession(model, settings)
        self._reader, self._limits = InputReader(self.session), model.effort_limits
        self._take(self.session.activate(compare_effort=True))

    @property
    def _now(self) -> Now:
        return Now(self.at * 1e-9, lambda: self.at)

    def receive(self, topic: str, data: bytes) -> None:
        """Pass a message to the session."""
        self._take(self._reader.receive(topic, data, self._now))

    def watch(self) -> None:
        """Run the callback of the session's timer."""
        self._take(self.session.watch(self._now))

    def _take(self, output: Output) -> None:
        if output.command is not None:
            check(output.command.effort, self._limits)
        if output.external_torque is not None and not np.isfinite(output.external_torque).all():
            raise Wrong(f"external torque {output.external_torque.tolist()}")


def check(effort: Array, limits: Array) -> None:
    """Raise Wrong for an effort that is not finite or beyond the limits."""
    if not (np.isfinite(effort).all() and (np.abs(effort) <= limits).all()):
        raise Wrong(f"effort {effort.tolist()} with limits {limits.tolist()}")


def overflow_is_looked_at() -> AbstractContextManager[object]:
    """Ignore NumPy's overflow warnings in a cycle, because the controller checks the results."""
    return np.errstate(over="ignore", invalid="ignore")


def drive(model: RobotModel, settings: ControllerSettings, states: list[tuple[Array, Array]]) -> None:
    """Pass measured states (q, qd), 1 ms apart, to a robot's controller and check the commands."""
    controller = make_controller(model, settings)
    commands = 0
    for k, (q, qd) in enumerate(states):
        with overflow_is_looked_at():
            controller.measure(k * 1e-3, k * 1e-3, q, qd)
            command = controller.update(k * 1e-3, k * 1e-3)
        if command is not None:
            commands += 1
            check(command.effort, model.effort_limits)
    with overflow_is_looked_at():
        last = controller.finish(controller.clock.time)
    if last is None or commands < len(states):
        raise Wrong(f"{commands} commands for {len(states)} states")
    check(last.effort, model.effort_limits)


def states_of(model: RobotModel) -> list[tuple[Array, Array]]:
    """Return states at rest in the middle and at the limits, fast ones, and implausible ones."""
    low = np.where(np.isfinite(model.position_lower), model.position_lower, -math.pi).clip(-_FARTHEST, _FARTHEST)
    high = np.where(np.isfinite(model.position_upper), model.position_upper, math.pi).clip(-_FARTHEST, _FARTHEST)
    rest, middle = np.zeros(model.n), 0.5 * low + 0.5 * high
    return [(middle, rest), (low, rest + 1.0), (high, rest - 3.0), (middle, rest + 1e150), (rest + 1e300, rest)]
