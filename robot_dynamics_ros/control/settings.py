"""Settings of a controller.

Each field is the parameter of its name in docs/parameters.md, which may have a prefix there: ``kp`` is ``gains.kp``,
``observer_gain`` is ``observer.gain``. Sequences hold one number for each joint, or one for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from robot_dynamics_ros.control.task_space.law import COMPONENTS
from robot_dynamics_ros.control.trajectory.plan import TrajectoryRules


@dataclass(frozen=True)
class SafetySettings:
    """Checks of states and commands, and the reaction to a failed one."""

    on_fault: str = "hold"  # or "zero"
    fault_reset: str = "manual"  # or "auto"
    state_timeout: float = 0.1  # s
    stale_hold_time: float = 0.5  # s
    position_limit_margin: Sequence[float] = (0.05,)  # rad or m
    velocity_limit_margin: Sequence[float] = (0.2,)  # rad/s or m/s
    minimum_rate_ratio: float = 0.5
    collision_threshold: Sequence[float] = ()  # Nm or N
    unstamped_states: str = "arrival"  # or "refuse"
    position_step_limit: Sequence[float] = (0.05,)  # rad or m
    following_error_limit: Sequence[float] = ()  # rad or m
    following_error_time: float = 0.1  # s
    saturation_timeout: float = 1.0  # s
    hold_effort_margin: Sequence[float] = ()  # Nm or N
    activation_max_velocity: float = 0.1  # rad/s or m/s
    emergency_stop_effect: str = "stop"  # or "zero"


@dataclass(frozen=True)
class TaskSpaceSettings:
    """Motion of the end effector under ``task_space_computed_torque``; gains are one for each component or for all."""

    link: str = ""
    components: Sequence[str] = COMPONENTS
    natural_frequency: Sequence[float] = (10.0,)  # rad/s
    damping_ratio: Sequence[float] = (1.0,)
    max_linear_velocity: float = 0.25  # m/s
    max_angular_velocity: float = 1.0  # rad/s
    target_timeout: float = 0.1  # s


@dataclass(frozen=True)
class ControllerSettings:
    """All settings of a controller."""

    law: str = "computed_torque"
    natural_frequency: Sequence[float] = (10.0,)  # rad/s
    damping_ratio: Sequence[float] = (1.0,)
    kp: Sequence[float] = ()  # 1/s^2, or Nm/rad
    kd: Sequence[float] = ()  # 1/s, or Nms/rad
    ki: Sequence[float] = ()  # 1/s^3
    friction_compensation: bool = True
    friction_smoothing_velocity: float = 0.01  # rad/s or m/s
    robot_compensates_gravity: bool = False
    update_rate: float = 0.0  # Hz
    trajectories: TrajectoryRules = field(default_factory=TrajectoryRules)
    trajectory_effort_period: float = 0.02  # s
    decelerate_on_cancel: bool = True
    max_deceleration_on_cancel: Sequence[float] = (2.0,)  # rad/s^2 or m/s^2
    velocity_filter_cutoff: float = 0.0  # Hz
    effort_limit_scale: Sequence[float] = (1.0,)
    torque_rate_limit: Sequence[float] = ()  # Nm/s or N/s
    ramp_time: float = 0.0  # s
    observer_gain: float = 0.0  # 1/s
    task_space: TaskSpaceSettings = field(default_factory=TaskSpaceSettings)
    safety: SafetySettings = field(default_factory=SafetySettings)
