"""What a user sets on a controller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from robot_dynamics_ros.control.motion_plan import TrajectoryRules
from robot_dynamics_ros.control.task_space import COMPONENTS


@dataclass(frozen=True)
class SafetySettings:
    """When a check fails, and what then.

    Attributes
    ----------
    on_fault
        "hold": carry the arm's weight and damp its motion; "zero": no torque.
    fault_reset
        "manual": wait to be cleared; "auto": go on as soon as every check passes for 0.2 s.
    state_timeout
        Age (s) of the measured state beyond which it is stale; inf: never.
    stale_hold_time
        How long (s) to hold without a usable state; then no torque.
    position_limit_margin, velocity_limit_margin
        How far (rad or m, and a second) beyond its limits a joint may be; inf: not checked.
    minimum_rate_ratio
        With an update rate: the share of a second's cycles that must be made; 0: not checked.
    collision_threshold
        External torque (Nm or N) that counts as a collision; empty: not checked.
    unstamped_states
        "arrival": a state with stamp 0 counts from its arrival; "refuse": it cannot be used.
    position_step_limit
        Largest change of position (rad or m) between two states beyond that of the velocity; inf: not checked.
    following_error_limit, following_error_time
        Distance (rad or m) from the desired position that is a fault after so many seconds; empty: not checked.
    saturation_timeout
        Time (s) at an effort limit that is a fault; inf: not checked.
    hold_effort_margin
        Largest effort (Nm or N) that holding the position adds to gravity's; empty: a quarter of the effort limits.
    activation_max_velocity
        Speed (rad/s or m/s) above which the controller does not start; inf: not checked.
    emergency_stop_effect
        "stop": decelerate, then hold; "zero": no torque, at once.
    """

    on_fault: str = "hold"
    fault_reset: str = "manual"
    state_timeout: float = 0.1
    stale_hold_time: float = 0.5
    position_limit_margin: Sequence[float] = (0.05,)
    velocity_limit_margin: Sequence[float] = (0.2,)
    minimum_rate_ratio: float = 0.5
    collision_threshold: Sequence[float] = ()
    unstamped_states: str = "arrival"
    position_step_limit: Sequence[float] = (0.05,)
    following_error_limit: Sequence[float] = ()
    following_error_time: float = 0.1
    saturation_timeout: float = 1.0
    hold_effort_margin: Sequence[float] = ()
    activation_max_velocity: float = 0.1
    emergency_stop_effect: str = "stop"


@dataclass(frozen=True)
class TaskSpaceSettings:
    """How ``task_space_computed_torque`` moves the hand.

    Attributes
    ----------
    link
        The hand; "": the only tip of the robot.
    components
        Which of x, y, z and the rotations about them, rx, ry and rz, follow the target; the others are free.
    natural_frequency, damping_ratio
        rad/s, and 1 for critical damping, of the hand's error: one for each of x y z rx ry rz, or one for all.
    max_linear_velocity, max_angular_velocity
        How fast (m/s, rad/s) the hand approaches a target, beyond the target's own motion; inf: as the gains say.
    target_timeout
        How long (s) a target goes on along its velocity; then it stands still.
    """

    link: str = ""
    components: Sequence[str] = COMPONENTS
    natural_frequency: Sequence[float] = (10.0,)
    damping_ratio: Sequence[float] = (1.0,)
    max_linear_velocity: float = 0.25
    max_angular_velocity: float = 1.0
    target_timeout: float = 0.1


@dataclass(frozen=True)
class ControllerSettings:
    """What a user sets; sequences hold one number for each joint, or one for all.

    Attributes
    ----------
    law
        One of ``laws.LAWS``.
    natural_frequency, damping_ratio
        rad/s, and 1 for critical damping: the gains follow from them where ``kp`` and ``kd`` are empty.
    kp, kd, ki
        The gains themselves: 1/s^2, 1/s, 1/s^3 for ``computed_torque`` and the posture under
        ``task_space_computed_torque``, Nm/rad and Nms/rad for other laws.
    friction_compensation
        Whether the laws that can add the model's friction along the desired motion.
    friction_smoothing_velocity
        Desired speed (rad/s or m/s) below which friction compensation fades out.
    robot_compensates_gravity
        Whether the robot's driver adds the torque of gravity by itself: then it is left out everywhere.
    update_rate
        Cycles a second that a timer asks for; 0: a cycle for each measured state.
    trajectories
        Which trajectories are taken, and how they are joined.
    trajectory_effort_period
        Longest time (s) between the points of a trajectory that is passed on with effort.
    decelerate_on_cancel, max_deceleration_on_cancel
        Whether a cancelled motion slows down by at most so much (rad/s^2 or m/s^2), or stops at once.
    velocity_filter_cutoff
        Hz; 0: measured velocities are taken as they are.
    effort_limit_scale
        The share (up to 1) of the robot's effort limits that may be used.
    torque_rate_limit
        Largest change of the command (Nm/s or N/s); empty: none.
    ramp_time
        Seconds from the effort that the motors report at the start, else the gravity torque, to the law's.
    observer_gain
        Bandwidth (1/s) of the external torque's observer; 0: none.
    task_space
        How the hand moves under ``task_space_computed_torque``.
    safety
        Checks and what follows from them.
    """

    law: str = "computed_torque"
    natural_frequency: Sequence[float] = (10.0,)
    damping_ratio: Sequence[float] = (1.0,)
    kp: Sequence[float] = ()
    kd: Sequence[float] = ()
    ki: Sequence[float] = ()
    friction_compensation: bool = True
    friction_smoothing_velocity: float = 0.01
    robot_compensates_gravity: bool = False
    update_rate: float = 0.0
    trajectories: TrajectoryRules = field(default_factory=TrajectoryRules)
    trajectory_effort_period: float = 0.02
    decelerate_on_cancel: bool = True
    max_deceleration_on_cancel: Sequence[float] = (2.0,)
    velocity_filter_cutoff: float = 0.0
    effort_limit_scale: Sequence[float] = (1.0,)
    torque_rate_limit: Sequence[float] = ()
    ramp_time: float = 0.0
    observer_gain: float = 0.0
    task_space: TaskSpaceSettings = field(default_factory=TaskSpaceSettings)
    safety: SafetySettings = field(default_factory=SafetySettings)
