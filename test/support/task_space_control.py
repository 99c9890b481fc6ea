"""A whole controller that leads a simulated arm's hand along targets, cycle by cycle."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.controller import Command, Controller
from robot_dynamics_ros.control.poses import pose_error
from robot_dynamics_ros.control.settings import ControllerSettings, TaskSpaceSettings
from robot_dynamics_ros.simulation import Plant
from support.task_space_loops import HANDS, READY

LAW = "task_space_computed_torque"
PERIOD = 0.002
SECOND = 1_000_000_000


def settings(task_space: dict[str, Any] | None = None, **others: Any) -> ControllerSettings:
    return ControllerSettings(law=LAW, task_space=TaskSpaceSettings(**(task_space or {})), **others)


def free(**task_space: Any) -> dict[str, Any]:
    """No limit on how fast the hand goes to its target."""
    return {"max_linear_velocity": np.inf, "max_angular_velocity": np.inf, **task_space}


class Sample(NamedTuple):
    """What one cycle found and commanded."""

    time: float
    q: Any
    qd: Any
    pose: Any
    twist: Any
    command: Command


class Loop:
    """A controller and the arm that it moves, at rest in a posture at first."""

    def __init__(self, robot: str, model: RobotModel, settings: ControllerSettings, start: Any = None) -> None:
        self.model, self.link = model, HANDS[robot]
        self.controller = Controller(model, settings)
        self.plant = Plant(model, step_size=PERIOD, initial_positions=READY[robot] if start is None else start)
        self.cycles = 0

    @property
    def time(self) -> float:
        return self.cycles * PERIOD

    @property
    def pose(self) -> Any:
        return self.model.link_pose(self.plant.position, self.link)

    def cycle(self) -> Sample:
        """Measure, command, and let the arm move for a period."""
        q, qd, time = self.plant.position.copy(), self.plant.velocity.copy(), self.time
        self.controller.measure(time, time, q, qd)
        command = self.controller.update(time, time)
        assert command is not None
        command = command._replace(effort=command.effort.copy())
        self.plant.step(command.effort)
        self.cycles += 1
        j = self.model.jacobian(q, self.link)
        return Sample(time, q, qd, self.model.link_pose(q, self.link), j @ qd, command)

    def run(self, duration: float, before: Callable[[float], None] = lambda time: None) -> list[Sample]:
        """Cycles for a while; ``before`` each of them something may be sent."""
        samples = []
        for _ in range(round(duration / PERIOD)):
            before(self.time)
            samples.append(self.cycle())
        return samples

    def aim(self, pose: Any, twist: Any = None, acceleration: Any = None, at: float | None = None) -> None:
        """A target and its feedforward, with the stamp of a time or 0."""
        targets, now = self.controller.targets(), self.time
        stamp = 0 if at is None else round(at * SECOND)
        for kind, vector in (("twist", twist), ("acceleration", acceleration)):
            if vector is not None:
                targets.feed_forward(kind, np.asarray(vector, dtype=float), stamp, now)
        targets.follow(np.asarray(pose), stamp, now if at is None else at, now)


def errors(samples: list[Sample], desired: Callable[[float], Any]) -> Any:
    return np.array([pose_error(desired(sample.time), sample.pose) for sample in samples])
