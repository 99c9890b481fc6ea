"""What a simulated arm is told: its model, its steps, its sensors, and what it does without commands."""

from __future__ import annotations

from dataclasses import dataclass

from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.simulation.sensors import Sensors


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
