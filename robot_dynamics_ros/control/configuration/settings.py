"""Settings of a controller and of its node, with the declaration of their parameters.

Each field of a settings class is a parameter of computed_torque_node. Sequences contain one number for each joint, or
one for all. A parameter has the name of its field, in TaskSpaceSettings after "task_space.", unless its declaration
gives another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, TypeVar

from robot_dynamics_ros.base import parameters
from robot_dynamics_ros.base.parameters.kinds import (
    ANY,
    NOT_NEGATIVE,
    NOT_NEGATIVE_OR_INFINITE,
    POSITIVE,
    POSITIVE_OR_INFINITE,
    RATE,
    RATE_OR_ZERO,
    Bounds,
    NameSets,
    Numbers,
    Parameter,
    TopicNames,
    Values,
    WholeNumber,
    flag,
    number,
    numbers,
    setting,
    text,
)
from robot_dynamics_ros.control.end_effector.poses import COMPONENTS
from robot_dynamics_ros.control.laws import LAWS

_T = TypeVar("_T", bound="Settings")
_PER_COMPONENT = f"one for each of {' '.join(COMPONENTS)}, or one for all"


@dataclass(frozen=True)
class Settings:
    """Base class of the settings classes; a field is checked and converted as its parameter is.

    Creation raises RobotDynamicsError, naming parameter, value and cure, for a value that its parameter does not allow.

    Attributes
    ----------
    prefix
        Prefix of the parameters' names.
    """

    prefix: ClassVar[str] = ""

    def __post_init__(self) -> None:
        """Raise RobotDynamicsError, naming parameter, value and cure, for a value that its parameter does not allow."""
        for name, parameter in self.parameters().items():
            object.__setattr__(self, name, parameter.check(getattr(self, name)))

    @classmethod
    def parameters(cls) -> dict[str, Parameter[Any]]:
        """Return the parameters by the names of their fields; fields that contain other settings have none."""
        declared = [field for field in fields(cls) if field.metadata]
        return {
            field.name: field.metadata["declare"](cls.prefix + field.name)
            for field in declared
        }

    @classmethod
    def read(cls: type[_T], values: Values) -> _T:
        """Return settings; ``values`` returns the value of a parameter by name. Contained settings have defaults.

        Raises RobotDynamicsError for values that are not allowed.
        """
        return cls(
            **{
                name: values(parameter.name)
                for name, parameter in cls.parameters().items()
            }
        )

    def check_sizes(self, names: Sequence[str]) -> None:
        """Raise RobotDynamicsError for numbers that are neither one nor one for each of ``names``.

        Lists of a fixed length are not concerned.
        """
        for name, parameter in self.parameters().items():
            if isinstance(parameter, Numbers) and parameter.count is None:
                parameter.check_size(getattr(self, name), names)


@dataclass(frozen=True)
class SafetySettings(Settings):
    """Parameters of the checks of states and commands, and of the reaction to faults."""

    on_fault: str = text(
        "hold",
        "Command after a fault and at shutdown: hold (the position) or zero (effort)",
        choices=("hold", "zero"),
    )
    fault_reset: str = text(
        "manual",
        "Reset of a fault whose cause is gone: manual (by ~/clear_fault) or auto",
        choices=("manual", "auto"),
    )
    state_timeout: float = number(
        0.1,
        "Time (s) without joint_states that is a fault; .inf: not checked",
        POSITIVE_OR_INFINITE,
    )
    stale_hold_time: float = number(
        0.5,
        "Time (s) of the hold by the model without joint_states; then the torque fades",
        NOT_NEGATIVE,
    )
    position_limit_margin: Sequence[float] = numbers(
        [0.05],
        "Allowed distance (rad or m) beyond a position limit; .inf: not checked",
        NOT_NEGATIVE_OR_INFINITE,
    )
    velocity_limit_margin: Sequence[float] = numbers(
        [0.2],
        "Allowed speed (rad/s or m/s) beyond a velocity limit; .inf: not checked",
        NOT_NEGATIVE_OR_INFINITE,
    )
    minimum_rate_ratio: float = number(
        0.5,
        "With update_rate: smallest allowed share of the cycles of a second; 0: not checked",
        Bounds(0.0, 1.0),
    )
    collision_threshold: Sequence[float] = numbers(
        [],
        "External torque (Nm or N) that is a fault; requires observer.gain; empty: not checked",
        POSITIVE,
        name="observer.collision_threshold",
    )
    unstamped_states: str = text(
        "arrival",
        "joint_states with stamp 0: arrival (time of arrival) or refuse",
        choices=("arrival", "refuse"),
    )
    position_step_limit: Sequence[float] = numbers(
        [0.05],
        "Allowed step (rad or m) beyond velocity times time; .inf: not checked",
        NOT_NEGATIVE_OR_INFINITE,
    )
    following_error_limit: Sequence[float] = numbers(
        [],
        "Position error (rad or m) that is a fault after following_error_time; empty: none",
        POSITIVE_OR_INFINITE,
    )
    following_error_time: float = number(
        0.1,
        "Time (s) for which the position error may exceed following_error_limit",
        NOT_NEGATIVE,
    )
    saturation_timeout: float = number(
        1.0,
        "Time (s) at an effort limit that is a fault; .inf: not checked",
        POSITIVE_OR_INFINITE,
    )
    hold_effort_margin: Sequence[float] = numbers(
        [],
        "Largest effort (Nm or N) of hold beyond gravity; empty: effort limits / 4",
        NOT_NEGATIVE_OR_INFINITE,
    )
    activation_max_velocity: float = number(
        0.1,
        "Largest speed (rad/s or m/s) of a joint at activation; .inf: not checked",
        NOT_NEGATIVE_OR_INFINITE,
    )
    emergency_stop_effect: str = text(
        "stop",
        "Command after an emergency stop: stop (decelerate by constraints.max_deceleration_on_cancel, then hold; zero "
        "stays zero) or zero (at once)",
        choices=("stop", "zero"),
    )


@dataclass(frozen=True)
class TaskSpaceSettings(Settings):
    """Parameters of ``task_space_computed_torque``; gains are one number for each component, or one for all."""

    prefix = "task_space."

    link: str = text(
        "",
        "End-effector link, which follows ~/target_pose; empty: the link at the end of the arm",
    )
    components: str = text(
        " ".join(COMPONENTS),
        "Followed components of the target pose, separated by spaces: position x y z, rotation rx ry rz",
    )
    natural_frequency: Sequence[float] = numbers(
        [10.0],
        "Natural frequency (rad/s) of the end effector's pose error",
        POSITIVE,
        _PER_COMPONENT,
    )
    damping_ratio: Sequence[float] = numbers(
        [1.0],
        "Damping ratio of the end effector's pose error; 1: critical",
        POSITIVE,
        _PER_COMPONENT,
    )
    max_linear_velocity: float = number(
        0.25,
        "Largest linear velocity (m/s) of a target, and of the approach to it; .inf: not limited",
        POSITIVE_OR_INFINITE,
    )
    max_angular_velocity: float = number(
        1.0,
        "Largest angular velocity (rad/s) of a target, and of the approach to it; .inf: not limited",
        POSITIVE_OR_INFINITE,
    )
    target_timeout: float = number(
        0.1,
        "Time (s) for which a target is extrapolated by its twist; then it is at rest",
        NOT_NEGATIVE,
    )


@dataclass(frozen=True)
class TrajectoryRules(Settings):
    """Parameters for accepting and interpolating trajectories, named as in joint_trajectory_controller."""

    allow_partial_joints_goal: bool = flag(
        False,
        "Accept trajectories without all joints; the other joints hold their positions",
    )
    interpolate_from_desired_state: bool = flag(
        True,
        "Start a new trajectory from the desired state of the previous one; false: from the measured state",
    )
    positions_upsampling: bool = flag(
        True,
        "Interpolate positions alone by a cubic spline (C2); false: linearly",
        name="positions_upsampling.enable",
    )
    allow_nonzero_velocity_at_trajectory_end: bool = flag(
        False, "Accept trajectories with a nonzero velocity at the last point"
    )
    trajectory_limits: str = text(
        "refuse",
        "Reaction to trajectories beyond the limits of position, velocity, acceleration, jerk or effort: refuse, clamp "
        "(move points to the limits of position and velocity) or off (no check)",
        choices=("refuse", "clamp", "off"),
    )
    set_point_step_limit: Sequence[float] = numbers(
        [0.2],
        "Largest step (rad or m) to a streamed set point or to a first point at time 0; .inf: not checked",
        NOT_NEGATIVE_OR_INFINITE,
    )


@dataclass(frozen=True)
class DriveSettings(Settings):
    """Parameters of the drives: what they take, and their own loop if they have one."""

    command_interfaces: Sequence[str] = field(
        default=parameters.EFFORT,
        metadata={"declare": lambda _: parameters.COMMAND_INTERFACES},
    )
    stiffness: Sequence[float] = numbers(
        [],
        "Stiffness (Nm/rad or N/m) of the drives; empty: the law's gain, times the diagonal of M(q) if it is an "
        "acceleration; with [position] that of the drives themselves",
        NOT_NEGATIVE,
    )
    damping: Sequence[float] = numbers(
        [],
        "Damping (Nms/rad or Ns/m) of the drives; as stiffness",
        NOT_NEGATIVE,
    )
    stiffness_limit: Sequence[float] = numbers(
        [float("inf")],
        "Largest stiffness (Nm/rad or N/m) that is commanded; .inf: no limit",
        NOT_NEGATIVE_OR_INFINITE,
    )
    damping_limit: Sequence[float] = numbers(
        [float("inf")],
        "Largest damping (Nms/rad or Ns/m) that is commanded; .inf: no limit",
        NOT_NEGATIVE_OR_INFINITE,
    )
    drive_integral_gain: Sequence[float] = numbers(
        [0.0],
        "Integral gain of the drives' own position loop; must be 0, set it to 0 in the drive",
        NOT_NEGATIVE,
    )
    drive_compensates: Sequence[str] = setting(
        NameSets,
        [],
        "What the drives add themselves, and commands leave out",
        choices=((), ("gravity",), ("friction",), ("gravity", "friction")),
        when="configure",
    )
    command_delay: float = number(
        0.0,
        "Time (s) from a command to its effect in drives with a loop of their own; set points are this and half a "
        "period ahead",
        Bounds(0.0, 0.2),
    )


@dataclass(frozen=True)
class ControllerSettings(Settings):
    """Parameters of a controller."""

    law: str = text("computed_torque", "Control law", choices=LAWS)
    natural_frequency: Sequence[float] = numbers(
        [10.0],
        "Natural frequency (rad/s) of the position error",
        NOT_NEGATIVE,
        name="gains.natural_frequency",
    )
    damping_ratio: Sequence[float] = numbers(
        [1.0],
        "Damping ratio of the position error; 1: critical",
        NOT_NEGATIVE,
        name="gains.damping_ratio",
    )
    kp: Sequence[float] = numbers(
        [],
        "Position gain: 1/s^2 for (task_space_)computed_torque, else Nm/rad or N/m; empty: from natural_frequency",
        NOT_NEGATIVE,
        name="gains.kp",
    )
    kd: Sequence[float] = numbers(
        [],
        "Velocity gain: 1/s for (task_space_)computed_torque, else Nms/rad or Ns/m; empty: from damping_ratio",
        NOT_NEGATIVE,
        name="gains.kd",
    )
    ki: Sequence[float] = numbers(
        [],
        "Integral gain (1/s^3) of computed_torque; empty: 0",
        NOT_NEGATIVE,
        name="gains.ki",
    )
    friction_compensation: bool = flag(
        True,
        "Add the model's friction torque at the desired velocity, for laws that support it",
    )
    friction_smoothing_velocity: float = number(
        0.01,
        "Desired speed (rad/s or m/s) below which friction compensation decreases to zero",
        NOT_NEGATIVE,
    )
    robot_compensates_gravity: bool = flag(
        False,
        "Omit gravity in commands, because the robot's driver adds it (Franka, KUKA, UR)",
        when="configure",
    )
    update_rate: float = number(
        0.0,
        "Rate (Hz) of commands; 0: one for each joint_states message",
        RATE_OR_ZERO,
        when="configure",
    )
    trajectory_effort_period: float = number(
        0.02,
        "Longest time (s) between points of ~/joint_trajectory_with_effort after 0.15 s; adds at most 1000",
        POSITIVE,
    )
    decelerate_on_cancel: bool = flag(
        True,
        "Decelerate when a trajectory is cancelled; false: stop at once",
        name="constraints.decelerate_on_cancel",
    )
    max_deceleration_on_cancel: Sequence[float] = numbers(
        [2.0],
        "Deceleration (rad/s^2 or m/s^2) after cancellation of a trajectory",
        POSITIVE,
        name="constraints.max_deceleration_on_cancel",
    )
    velocity_filter_cutoff: float = number(
        0.0,
        "Cutoff frequency (Hz) of the low-pass filter of measured velocities; 0: no filter",
        NOT_NEGATIVE,
    )
    effort_limit_scale: Sequence[float] = numbers(
        [1.0],
        "Scale of the robot's effort limits for commands",
        Bounds(0.0, 1.0, above=True),
    )
    torque_rate_limit: Sequence[float] = numbers(
        [0.0],
        "Largest rate of change of commanded efforts (Nm/s or N/s); 0: only of steps, half the effort limit in a "
        "response time of the law; empty: no limit",
        NOT_NEGATIVE,
        may_be_empty=True,
    )
    ramp_time: float = number(
        0.0,
        "Shortest time (s) after activation from the reported (or gravity) effort to the law's",
        NOT_NEGATIVE,
    )
    observer_gain: float = number(
        0.0,
        "Gain (1/s) of the external torque; 0: neither external_torque nor collision",
        NOT_NEGATIVE,
        name="observer.gain",
    )
    drives: DriveSettings = DriveSettings()
    trajectories: TrajectoryRules = TrajectoryRules()
    task_space: TaskSpaceSettings = TaskSpaceSettings()
    safety: SafetySettings = SafetySettings()


@dataclass(frozen=True)
class NodeSettings(Settings):
    """Parameters of computed_torque_node beside those of its controller."""

    autostart: bool = flag(
        True,
        "Configure and activate when the robot description is known",
        when="start",
    )
    realtime_priority: int = setting(
        WholeNumber,
        0,
        "Real-time priority (SCHED_FIFO) from the first activation on; 0: none",
        0,
        99,
        when="start",
    )
    lock_memory: bool = flag(
        False, "Lock memory in RAM, as page faults delay cycles", when="start"
    )
    gravity: Sequence[float] = numbers(
        [],
        "Acceleration of gravity (m/s^2) in the root frame; empty: that of the dynamics file, or else 0 0 -9.81",
        ANY,
        "three of them",
        3,
        when="configure",
    )
    activation_check: bool = flag(
        True,
        "Before activation, compare measured efforts, if reported, with the gravity torque, and refuse to activate "
        "with a wrong sign, a wrong order of the joints or doubled gravity",
        when="configure",
    )
    exclusive_topics: bool = flag(
        False,
        "true: refuse to activate if other nodes publish its commands, or several publish joint_states or the same "
        "emergency stop; false: warn",
        when="configure",
    )
    emergency_stop_topics: Sequence[str] = setting(
        TopicNames,
        [],
        "Full names of the topics (std_msgs/Bool) of further emergency stops beside ~/emergency_stop, one for each "
        "button",
        when="configure",
    )
    black_box_seconds: float = number(
        10.0,
        "Duration (s) of the inputs and outputs in the bag of a fault; 0: no bag",
        NOT_NEGATIVE,
        when="configure",
    )
    black_box_directory: str = text(
        "",
        "Directory of the bags of faults; empty: that of the ROS logs (ROS_LOG_DIR)",
        when="configure",
    )
    stopped_velocity_tolerance: float = number(
        0.01,
        "Velocity tolerance (rad/s or m/s) at the end of a goal's trajectory; 0: not checked",
        NOT_NEGATIVE,
        name="constraints.stopped_velocity_tolerance",
    )
    goal_time: float = number(
        0.0,
        "Time (s) to arrive after the end of a goal; 0: unlimited",
        NOT_NEGATIVE,
        name="constraints.goal_time",
    )
    path_tolerance: Sequence[float] = numbers(
        [],
        "Position tolerance (rad or m) during a goal's trajectory; 0 or empty: not checked",
        NOT_NEGATIVE,
        name="constraints.path_tolerance",
    )
    goal_tolerance: Sequence[float] = numbers(
        [],
        "Position tolerance (rad or m) at the end of a goal's trajectory; 0 or empty: not checked",
        NOT_NEGATIVE,
        name="constraints.goal_tolerance",
    )
    action_monitor_rate: float = number(
        20.0,
        "Rate (Hz) of the feedback of ~/follow_joint_trajectory goals",
        RATE,
        when="configure",
    )
    state_publish_rate: float = number(
        50.0, "Rate (Hz) of ~/controller_state", RATE, when="configure"
    )
    stop_timeout: float = number(
        2.0,
        "Longest time (s) to stop the arm at deactivation and shutdown",
        NOT_NEGATIVE,
    )


CLASSES: tuple[type[Settings], ...] = (
    NodeSettings,
    ControllerSettings,
    DriveSettings,
    TrajectoryRules,
    TaskSpaceSettings,
    SafetySettings,
)
"""All settings classes, in the order of their parameters."""

ALL: tuple[Parameter[Any], ...] = (
    *parameters.ROBOT,
    parameters.EXECUTOR,
    *(one for group in CLASSES for one in group.parameters().values()),
)
"""All parameters of computed_torque_node: those of every robot, and those of the settings."""


def read_settings(values: Values) -> ControllerSettings:
    """Return the settings; ``values`` returns the value of a parameter by name. Errors are those of ``Settings``."""
    return replace(
        ControllerSettings.read(values),
        drives=DriveSettings.read(values),
        trajectories=TrajectoryRules.read(values),
        task_space=TaskSpaceSettings.read(values),
        safety=SafetySettings.read(values),
    )
