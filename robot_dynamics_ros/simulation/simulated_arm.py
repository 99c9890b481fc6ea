"""What a simulated arm is told: its model, its steps, its sensors, and what it does without commands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.simulation.plant import Plant
from robot_dynamics_ros.simulation.sensors import EffortDelay, Sensors


@dataclass(frozen=True)
class SimulationSettings:
    """What the user set; times in seconds, or in steps where the name says so.

    Attributes
    ----------
    model
        The plant's model, which mass_scale, friction_scale and payload have made differ from the one of its files.
    period_steps
        Steps from one joint_states message to the next.
    """

    model: RobotModel
    integrator: str
    step_size: float
    period_steps: int
    initial_positions: tuple[float, ...]
    velocity_limits: bool
    delay_steps: int
    real_time_factor: float
    command_timeout: float
    on_command_timeout: str
    sensors: Sensors

    @property
    def period(self) -> float:
        """Simulated seconds from one joint_states message to the next."""
        return self.period_steps * self.step_size


class SimulatedArm:
    """Goes from one measured state to the next under the commands that came last; knows neither ROS nor clocks.

    Until the first command acts the brakes are on: no joint moves. With ``command_timeout`` they, or no effort,
    come back that many simulated seconds after the last command. A step that fails ends the simulation until
    ``reset``; the measured state stays that of the last good period.

    Attributes
    ----------
    periods
        How many have passed since the start or the last reset, under the brakes included.
    position, velocity, effort
        The measured state (n,), rad or m and a second, and the effort that acted last, Nm or N.
    failure
        Why the simulation cannot go on, or nothing.
    braked
        True if the brakes were on at the end of the last period.
    timed_out
        True if the last command is too old.
    steps, solves, residual
        Steps taken, linear systems solved and the largest residual of the friction problem, since ``count_anew``.
    """

    def __init__(self, settings: SimulationSettings) -> None:
        """RobotDynamicsError where the plant cannot be made, as ``Plant`` says."""
        self._settings = settings
        self._brakes = np.full(settings.model.n, math.nan)  # stands for the brakes among the efforts
        self._none = np.zeros(settings.model.n)
        self._plant = Plant(
            settings.model,
            integrator=settings.integrator,
            step_size=settings.step_size,
            initial_positions=settings.initial_positions or None,
            velocity_limits=settings.velocity_limits,
        )
        self.count_anew()
        self.reset()

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints, in the order of every vector."""
        return self._settings.model.joint_names

    @property
    def command_age(self) -> float:
        """Simulated seconds since the last command; infinite where there was none."""
        return math.inf if self._age is None else self._age * self._settings.step_size

    @property
    def pushed(self) -> tuple[str, ...]:
        """The links on which wrenches act."""
        return tuple(self._wrenches)

    @property
    def loops(self) -> dict[str, object]:
        """By loop the force (3,) that link a exerts on link b, N, root axes, mean of the last step, and the gap, m."""
        values: dict[str, object] = {}
        measured = zip(self._settings.model.loops, self._plant.loop_forces, self._plant.loop_gaps, strict=True)
        for k, (loop, force, gap) in enumerate(measured, start=1):
            values[f"loop {k}: force of {loop.link_a} on {loop.link_b}, N"] = force.tolist()
            values[f"loop {k}: gap, m"] = float(gap)
        return values

    def warm_up(self) -> None:
        """Compile what steps, or load it from the cache."""
        self._plant.warm_up()

    def reset(self) -> None:
        """Go back to the initial state: no command, no wrench, the brakes on, the same noise as at the start."""
        settings = self._settings
        self._plant.reset()
        self._sensors = settings.sensors.start(settings.model.n)
        self._delay = EffortDelay(settings.delay_steps, self._brakes)
        self._wrenches: dict[str, Array] = {}
        self._age: int | None = None
        self.braked = True
        self.timed_out = False
        self.failure = ""
        self.periods = 0
        self._measure()

    def tune(self, settings: SimulationSettings) -> None:
        """Take those settings that may change while it runs; RobotDynamicsError, and nothing changes, for bad ones."""
        if settings.model is not self._settings.model:
            self._plant.change_model(settings.model)
        if settings.sensors != self._settings.sensors:
            self._sensors = settings.sensors.start(settings.model.n)
        self._settings = settings

    def command(self, effort: Array) -> None:
        """Let the motors follow ``effort`` (n,), Nm or N, after the delay.

        Raises RobotDynamicsError naming the joint for a wrong number of them and for what is not finite.
        """
        if effort.shape != (len(self.joint_names),):
            raise RobotDynamicsError(
                f"{effort.size} numbers for {len(self.joint_names)} joints, ignored. "
                f"Cure: one for each of {', '.join(self.joint_names)}"
            )
        finite = np.isfinite(effort)
        if not finite.all():
            name = self.joint_names[int(np.argmin(finite))]
            raise RobotDynamicsError(f'the effort of joint "{name}" is not finite, ignored. Cure: check the controller')
        self._delay.give(effort)
        self._age = 0
        self.timed_out = False

    def push(self, link: str, wrench: Sequence[float]) -> None:
        """Let force and moment (6,) act on a link from now on, at and in its frame, in place of those before.

        Six zeros end it. Raises RobotDynamicsError for an unknown link and for what is not finite.
        """
        if link not in self._settings.model.link_names:
            raise RobotDynamicsError(
                f'no link "{link}", ignored. Cure: give header.frame_id as one of '
                f"{', '.join(self._settings.model.link_names)}"
            )
        numbers = np.array(wrench, dtype=np.float64)
        if not np.isfinite(numbers).all():
            raise RobotDynamicsError(f'the wrench on link "{link}" is not finite, ignored. Cure: check its publisher')
        self._wrenches.pop(link, None)
        if numbers.any():
            self._wrenches[link] = numbers

    def advance(self) -> None:
        """Go on by one period; where a step fails, ``failure`` says why and the measured state stays as it was."""
        steps = self._settings.period_steps
        before = min(steps, self._steps_to_timeout())
        try:
            self._follow(before)
            if before < steps:
                self._time_out()
                self._follow(steps - before)
        except RobotDynamicsError as problem:
            self.failure = str(problem)
            return
        self.periods += 1
        self._measure()

    def count_anew(self) -> None:
        """Forget ``steps``, ``solves`` and ``residual``."""
        self.steps = self.solves = 0
        self.residual = 0.0

    def _steps_to_timeout(self) -> int:
        """Return how many steps may pass until the last command is too old; more than a period where never."""
        timeout = self._settings.command_timeout / self._settings.step_size
        if self._age is None or self.timed_out or math.isinf(timeout):
            return self._settings.period_steps
        return max(0, math.ceil(timeout - 1e-6) - self._age)

    def _time_out(self) -> None:
        """The motors' own watchdog, so that no delay counts and what is on its way is lost."""
        self.timed_out = True
        instead = self._brakes if self._settings.on_command_timeout == "hold" else self._none
        self._delay = EffortDelay(self._settings.delay_steps, instead)

    def _follow(self, steps: int) -> None:
        """Take steps under the efforts that act meanwhile."""
        if steps == 0:
            return
        if self._age is not None:
            self._age += steps
        for effort, count in self._delay.pieces(steps):
            self.braked = math.isnan(effort[0])
            if self.braked:
                self._plant.brake(count)
                continue
            try:
                self._plant.step(effort, count, self._wrenches or None)
            finally:
                self.steps += count
                self.solves += self._plant.solves
                self.residual = max(self.residual, self._plant.residual)

    def _measure(self) -> None:
        plant = self._plant
        self.position, self.velocity = self._sensors.read(plant.position, plant.velocity)
        self.effort = plant.effort
