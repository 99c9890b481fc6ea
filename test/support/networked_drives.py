"""A controller and the drives of an arm, with a network between them that delays and loses messages."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.base.joint_messages import (
    DriveCommand,
    Sample,
    TrajectoryPoints,
)
from robot_dynamics_ros.control.clock import Now
from robot_dynamics_ros.control.configuration.settings import ControllerSettings
from robot_dynamics_ros.control.interface import Command, Output
from robot_dynamics_ros.control.session import ControllerSession
from robot_dynamics_ros.simulation import Plant
from support.arms import Array

_SECOND = 1_000_000_000
_START = 0.5  # s, of the motion


@dataclass
class Link:
    """One direction of a network: each message is lost, or arrives late; a message never overtakes another."""

    random: np.random.Generator
    jitter: float
    losses: float
    _queue: deque[tuple[float, Any]] = field(default_factory=deque)

    def send(self, now: float, message: Any) -> None:
        """Send a ``message`` at ``now`` (s)."""
        if self.random.random() < self.losses:
            return
        at = now + self.random.uniform(0.0, self.jitter)
        last = self._queue[-1][0] if self._queue else 0.0
        self._queue.append((max(at, last), message))

    def arrived(self, now: float) -> Iterator[Any]:
        """Yield the messages that have arrived by ``now`` (s)."""
        while self._queue and self._queue[0][0] <= now + 1e-9:
            yield self._queue.popleft()[1]


@dataclass
class Tracking:
    """RMS position error (n,), rad, of the motion, and the messages of the faults."""

    error: Array
    faults: list[str]

    @property
    def rms(self) -> float:
        """RMS error over all joints, rad."""
        return float(np.sqrt(np.mean(self.error**2)))


def track(
    plant_model: RobotModel,
    model: RobotModel,
    settings: ControllerSettings,
    points: TrajectoryPoints,
    *,
    start: Array,
    rate: float,
    step: float,
    jitter: float = 0.0,
    losses: float = 0.0,
    seed: int = 0,
) -> Tracking:
    """Follow a motion, and return the error of the true position in each period of the states.

    States have the ``rate`` (Hz); with an update rate the controller runs by its timer. The drives act at each ``step``
    (s) of the plant. States and commands are each delayed by up to ``jitter`` (s), and ``losses`` of them are lost.
    """
    random = np.random.default_rng(seed)
    states = Link(random, jitter, losses)
    commands = Link(random, jitter, losses)
    session = ControllerSession(model, settings)
    session.activate(compare_effort=False)
    plant = Plant(plant_model, "semi_implicit", step, start)
    none = np.zeros(model.n)
    acting: DriveCommand | None = None
    errors = []
    faults: list[str] = []

    def answer(now: float, output: Output) -> Command | None:
        faults.extend(change.fault.message for change in output.transitions)
        command = output.command
        if command is not None:
            drive = command.drive or DriveCommand(
                none, none, none, none, command.effort
            )
            copied = DriveCommand(*(part.copy() for part in drive))
            commands.send(now, copied)
        return command

    period = round(1.0 / (rate * step))
    sent = False
    for k in range(round((_START + float(points.times[-1])) / step)):
        at = k * step
        now = Now(1.0 + at, lambda at=at: round((1.0 + at) * _SECOND))
        if not sent and at > 0.5 * _START:
            session.on_trajectory(points, round((1.0 + _START) * _SECOND), now)
            sent = True
        if k % period == 0:
            states.send(
                at, Sample(now.stamp, plant.position, plant.velocity, plant.effort)
            )
        command = None
        for sample in states.arrived(at):
            command = answer(at, session.on_state(sample, now)) or command
        if settings.update_rate and k % period == 0 and at > 0.1:
            command = answer(at, session.tick(now))
        if command is not None and at > _START:
            errors.append(command.desired.q - plant.position)
        for drive in commands.arrived(at):
            acting = drive
        if acting is None:
            plant.brake()
        else:
            plant.step(acting.torque(plant.position, plant.velocity))
    return Tracking(np.sqrt(np.mean(np.array(errors) ** 2, axis=0)), faults)
