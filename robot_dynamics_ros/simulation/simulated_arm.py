"""Plant with drives, sensors, effort delay, brakes and command timeout, advanced by one publishing period at a time.

The plant is the simulated robot, which takes integration steps. A period is the simulated time between two joint_states
messages, a whole number of steps. n is the number of joints. The friction problem is the optimisation for friction and
limits in each step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.base.errors import RobotDynamicsError, did_you_mean
from robot_dynamics_ros.base.joint_messages import DriveCommand
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.simulation.plant import Plant
from robot_dynamics_ros.simulation.sensors import EffortDelay, Sensors


@dataclass(frozen=True)
class SimulationSettings:
    """Settings of a simulation, from the parameters of simulation_node.

    Attributes
    ----------
    model
        Model of the plant, after mass_scale, friction_scale and payload.
    integrator
        "rk4" or "semi_implicit".
    step_size
        Integration step, s.
    period_steps
        Steps between joint_states messages, at least 1.
    initial_positions
        (n,), rad or m; empty: 0 or the position limit nearest to it.
    velocity_limits
        True to limit the joint velocities to those of the URDF.
    delay_steps
        Steps from a command to its effect.
    real_time_factor
        Simulated seconds per second; 0: without pacing.
    command_timeout
        Simulated seconds after the last command until ``on_command_timeout``; infinite: never.
    on_command_timeout
        Reaction to the timeout: "zero" (no effort) or "brake" (brakes on). For drives with a loop of their own also
        "hold" (the last position with velocity 0) or "damp" (the last damping alone, with velocity 0).
    sensors
        Sensor model.
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
        """Simulated seconds between joint_states messages."""
        return self.period_steps * self.step_size


class SimulatedArm:
    """Simulated arm with sensors, brakes and a command timeout; independent of ROS and clocks.

    The brakes lock all joints until the first command acts. ``command_timeout`` simulated seconds after the last
    command the drives react by ``on_command_timeout`` of the settings. Time advances only by ``advance``. If a step
    fails, ``failure`` is set and the measured state remains that of the last completed period; the caller must not
    advance further until ``reset``.

    A drive with stiffness or damping computes its torque before each plant step, from the position that its encoder
    reads, without noise, and the velocity.

    Attributes
    ----------
    periods
        Number of periods since the start or the last reset, including those with brakes on.
    position, velocity, effort
        Measured position (rad or m) and velocity (rad/s or m/s) at the end of the last completed period, and the motor
        torque (Nm or N) in its last step, all (n,).
    failure
        Message of the step that failed, or "" if none has failed since the start or the last reset.
    braked
        True if the brakes were on in the last step.
    timed_out
        True from ``command_timeout`` after the last command to the next command; False before the first command.
    steps, solves, residual
        Steps taken, linear systems solved and largest residual of the friction problem since ``reset_counts``.
    """

    def __init__(self, settings: SimulationSettings) -> None:
        """Create the plant in its initial state, with brakes on.

        Raises RobotModelError if a joint moves no mass, and RobotDynamicsError for invalid settings.
        """
        self._settings = settings
        # in the delay line, NaN means brakes on
        self._brakes = np.full(settings.model.n, math.nan)
        self._none = np.zeros(settings.model.n)
        self._plant = Plant(
            settings.model,
            integrator=settings.integrator,
            step_size=settings.step_size,
            initial_positions=settings.initial_positions or None,
            velocity_limits=settings.velocity_limits,
        )
        self.reset_counts()
        self.reset()

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names (n,) of the independent joints, in the order of all vectors."""
        return self._settings.model.joint_names

    @property
    def command_age(self) -> float:
        """Simulated seconds since the last ``command``, without the delay; infinite before the first."""
        return math.inf if self._age is None else self._age * self._settings.step_size

    @property
    def pushed(self) -> tuple[str, ...]:
        """Names of the links on which external wrenches act."""
        return tuple(self._wrenches)

    @property
    def loops(self) -> dict[str, object]:
        """Diagnostic values of the loops, by their keys in /diagnostics; empty without loops.

        For each loop the force (3,) of link a on link b, averaged over the last step, in root axes (N), and the
        distance of its two points (m).
        """
        values: dict[str, object] = {}
        measured = zip(
            self._settings.model.loops,
            self._plant.loop_forces,
            self._plant.loop_gaps,
            strict=True,
        )
        for k, (loop, force, gap) in enumerate(measured, start=1):
            values[f"loop {k}: force of {loop.link_a} on {loop.link_b}, N"] = (
                force.tolist()
            )
            values[f"loop {k}: gap, m"] = float(gap)
        return values

    def warm_up(self) -> None:
        """Compile the step or load it from the cache, so that the first period is not delayed; keep the state."""
        self._plant.warm_up()

    def reset(self) -> None:
        """Restore the initial state: brakes on, no command, no wrench, no failure, the noise from its beginning.

        The present settings are kept, and so are the counts ``steps``, ``solves`` and ``residual``.
        """
        settings = self._settings
        self._plant.reset()
        self._sensors = settings.sensors.start(settings.model.n)
        self._delay = EffortDelay(settings.delay_steps, self._brakes)
        self._drives: DriveCommand | None = None
        self._wrenches: dict[str, Array] = {}
        self._age: int | None = None
        self.braked = True
        self.timed_out = False
        self.failure = ""
        self.periods = 0
        self._measure()

    def tune(self, settings: SimulationSettings) -> None:
        """Apply settings that may change at run time; the state is kept.

        These are model, sensors, real_time_factor, command_timeout and on_command_timeout. All other fields of
        ``settings`` must equal the present ones; this is not checked. New sensors start their noise from its beginning.
        Raises RobotDynamicsError, and changes nothing, for a model that ``Plant.change_model`` rejects.
        """
        if settings.model is not self._settings.model:
            self._plant.change_model(settings.model)
        if settings.sensors != self._settings.sensors:
            self._sensors = settings.sensors.start(settings.model.n)
        self._settings = settings

    def command(self, command: Array | DriveCommand) -> None:
        """Give a command, which acts after the delay until the next one or the timeout.

        ``command`` is efforts (n,), Nm or N, or that of drives with a loop of their own. Raises RobotDynamicsError,
        naming the joint, for a wrong size, a number that is not finite or a negative gain.
        """
        names = self.joint_names
        fields = (
            command._asdict()
            if isinstance(command, DriveCommand)
            else {"effort": command}
        )
        for field, values in fields.items():
            if values.shape != (len(names),):
                raise RobotDynamicsError(
                    f"{field} has {values.size} numbers for {len(names)} joints, ignored. "
                    f"Cure: send one for each of {', '.join(names)}, or set the same joints as in the sender"
                )
            allowed = np.isfinite(values)
            if field in ("stiffness", "damping"):
                allowed &= values >= 0.0
            if not allowed.all():
                joint = int(np.argmin(allowed))
                raise RobotDynamicsError(
                    f'the {field} of joint "{names[joint]}" is {values[joint]}, ignored. '
                    "Cure: check the controller; numbers must be finite, and stiffness and damping at least 0"
                )
        self._delay.give(command)
        self._age = 0
        self.timed_out = False

    def push(self, link: str, wrench: Sequence[float]) -> None:
        """Set the external wrench (6,) on a link: force (N) and moment (Nm), at the origin of its frame, in its axes.

        It acts in all later steps, replaces the link's previous wrench, and is removed by zeros or ``reset``. Raises
        RobotDynamicsError for an unknown link and for numbers that are not finite.
        """
        names = self._settings.model.link_names
        if link not in names:
            raise RobotDynamicsError(
                f'no link "{link}", wrench ignored. Cure: set header.frame_id to one of {", ".join(names)}'
                + did_you_mean(link, names)
            )
        numbers = np.array(wrench, dtype=np.float64)
        if not np.isfinite(numbers).all():
            raise RobotDynamicsError(
                f'the wrench on link "{link}" is not finite, ignored. Cure: check its publisher'
            )
        self._wrenches.pop(link, None)
        if numbers.any():
            self._wrenches[link] = numbers

    def advance(self) -> None:
        """Advance one period and update the measured state and the other attributes.

        If a step fails, nothing is raised: ``failure`` has the message, and ``periods`` and the measured state are
        unchanged.
        """
        steps = self._settings.period_steps
        before = min(steps, self._steps_to_timeout())
        try:
            self._follow(before)
            if before < steps:
                self._time_out()
                self._follow(steps - before)
        except RobotDynamicsError as error:
            self.failure = str(error)
            return
        self.periods += 1
        self._measure()

    def reset_counts(self) -> None:
        """Set ``steps``, ``solves`` and ``residual`` to 0."""
        self.steps = self.solves = 0
        self.residual = 0.0

    def _steps_to_timeout(self) -> int:
        """Return the number of steps until the last command times out; a period or more if not within this one."""
        timeout = self._settings.command_timeout / self._settings.step_size
        if self._age is None or self.timed_out or math.isinf(timeout):
            return self._settings.period_steps
        return max(0, math.ceil(timeout - 1e-6) - self._age)

    def _time_out(self) -> None:
        """React as a watchdog in the drives: without delay, and without the commands in the delay line."""
        self.timed_out = True
        reaction = self._settings.on_command_timeout
        none = self._none
        drives = self._drives
        instead: ArrayLike
        if reaction == "zero":
            instead = none
        elif reaction == "brake" or drives is None:
            instead = self._brakes
        elif reaction == "hold":
            instead = drives._replace(velocity=none)
        else:
            instead = drives._replace(velocity=none, stiffness=none, effort=none)
        self._delay = EffortDelay(self._settings.delay_steps, instead)

    def _follow(self, steps: int) -> None:
        """Take steps under the commands of the delay line."""
        if steps == 0:
            return
        if self._age is not None:
            self._age += steps
        for command, count in self._delay.pieces(steps):
            self.braked = math.isnan(command.item(0))
            if self.braked:
                self._plant.brake(count)
            elif command.ndim == 1:
                self._step(command, count)
            else:
                self._drives = DriveCommand(*command)
                for _ in range(count):
                    q = self._sensors.rounded(self._plant.position)
                    self._step(self._drives.torque(q, self._plant.velocity), 1)

    def _step(self, effort: Array, count: int) -> None:
        """Take ``count`` steps under a constant ``effort`` (n,), which the plant clamps to the effort limits."""
        try:
            self._plant.step(effort, count, self._wrenches or None)
        finally:
            self.steps += count
            self.solves += self._plant.solves
            self.residual = max(self.residual, self._plant.residual)

    def _measure(self) -> None:
        plant = self._plant
        self.position, self.velocity = self._sensors.read(
            plant.position, plant.velocity
        )
        self.effort = plant.effort
