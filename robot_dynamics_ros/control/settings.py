"""Settings of a controller, with the declaration of their parameters.

Each field of a settings class is a parameter of computed_torque_node. Sequences contain one number for each joint, or
one for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, cast

from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.control.poses import COMPONENTS
from robot_dynamics_ros.control.trajectory.plan import TrajectoryRules
from robot_dynamics_ros.parameters.kinds import (
    NOT_NEGATIVE,
    NOT_NEGATIVE_OR_INFINITE,
    POSITIVE,
    POSITIVE_OR_INFINITE,
    RATE_OR_ZERO,
    Bounds,
    Numbers,
    Parameter,
    Text,
    Values,
    flag,
    number,
    numbers,
    text,
)

_PER_COMPONENT = f"one for each of {' '.join(COMPONENTS)}, or one for all"


@dataclass(frozen=True)
class SafetySettings:
    """Parameters of the checks of states and commands, and of the reaction to faults."""

    on_fault: str = text(
        "on_fault",
        "hold",
        "Command after a fault and at shutdown: hold (gravity compensation, hold of the position) or zero",
        choices=("hold", "zero"),
    )
    fault_reset: str = text(
        "fault_reset",
        "manual",
        "Reset of a fault after its cause is gone: manual (by the service clear_fault) or auto",
        choices=("manual", "auto"),
    )
    state_timeout: float = number(
        "state_timeout",
        0.1,
        "Time (s) without joint_states that is a fault; .inf: not checked",
        POSITIVE_OR_INFINITE,
    )
    stale_hold_time: float = number(
        "stale_hold_time",
        0.5,
        "Time (s) for which on_fault hold commands gravity compensation without joint_states; then zero",
        NOT_NEGATIVE,
    )
    position_limit_margin: Sequence[float] = numbers(
        "position_limit_margin",
        [0.05],
        "Distance (rad or m) of a joint beyond its position limit that is a fault; .inf: not checked",
        NOT_NEGATIVE_OR_INFINITE,
    )
    velocity_limit_margin: Sequence[float] = numbers(
        "velocity_limit_margin",
        [0.2],
        "Excess (rad/s or m/s) of a joint's speed over its velocity limit that is a fault; .inf: not checked",
        NOT_NEGATIVE_OR_INFINITE,
    )
    minimum_rate_ratio: float = number(
        "minimum_rate_ratio",
        0.5,
        "With update_rate: share of the cycles of a second below which there is a fault; 0: not checked",
        Bounds(0.0, 1.0),
    )
    collision_threshold: Sequence[float] = numbers(
        "observer.collision_threshold",
        [],
        "External torque (Nm or N) that is a fault; requires observer.gain; empty: not checked",
        POSITIVE,
    )
    unstamped_states: str = text(
        "unstamped_states",
        "arrival",
        "Reaction to joint_states with stamp 0: arrival (use the time of arrival, and warn once) or refuse",
        choices=("arrival", "refuse"),
    )
    position_step_limit: Sequence[float] = numbers(
        "position_step_limit",
        [0.05],
        "Largest position step (rad or m) between joint_states, beyond velocity times time; .inf: not checked",
        NOT_NEGATIVE_OR_INFINITE,
    )
    following_error_limit: Sequence[float] = numbers(
        "following_error_limit",
        [],
        "Position error (rad or m) that is a fault after following_error_time; empty: not checked",
        POSITIVE_OR_INFINITE,
    )
    following_error_time: float = number(
        "following_error_time",
        0.1,
        "Time (s) for which the position error may exceed following_error_limit",
        NOT_NEGATIVE,
    )
    saturation_timeout: float = number(
        "saturation_timeout",
        1.0,
        "Time (s) at an effort limit that is a fault; .inf: not checked",
        POSITIVE_OR_INFINITE,
    )
    hold_effort_margin: Sequence[float] = numbers(
        "hold_effort_margin",
        [],
        "Largest effort (Nm or N) of hold, beyond the gravity torque, to keep the position; empty: a quarter of the "
        "effort limits",
        NOT_NEGATIVE_OR_INFINITE,
    )
    activation_max_velocity: float = number(
        "activation_max_velocity",
        0.1,
        "Speed (rad/s or m/s) of a joint above which activation is refused; .inf: not checked",
        NOT_NEGATIVE_OR_INFINITE,
    )
    emergency_stop_effect: str = text(
        "emergency_stop_effect",
        "stop",
        "Command after an emergency stop: stop (decelerate by constraints.max_deceleration_on_cancel, then hold; zero "
        "stays zero) or zero (at once)",
        choices=("stop", "zero"),
    )


@dataclass(frozen=True)
class TaskSpaceSettings:
    """Parameters of ``task_space_computed_torque``; gains are one number for each component, or one for all."""

    link: str = text(
        "task_space.link", "", "End-effector link, which follows ~/target_pose; empty: the link at the end of the arm"
    )
    components: Sequence[str] = field(
        default=COMPONENTS,
        metadata={
            "parameter": Text(
                "task_space.components",
                " ".join(COMPONENTS),
                "Components of the target pose to follow, separated by spaces: position x y z, rotation about the axes "
                "rx ry rz; the others are free",
                when="run",
            )
        },
    )
    natural_frequency: Sequence[float] = numbers(
        "task_space.natural_frequency",
        [10.0],
        "Natural frequency (rad/s) of the end effector's pose error",
        POSITIVE,
        _PER_COMPONENT,
    )
    damping_ratio: Sequence[float] = numbers(
        "task_space.damping_ratio",
        [1.0],
        "Damping ratio of the end effector's pose error; 1: critical",
        POSITIVE,
        _PER_COMPONENT,
    )
    max_linear_velocity: float = number(
        "task_space.max_linear_velocity",
        0.25,
        "Largest linear velocity (m/s) of the approach to the target, relative to it; .inf: by the gains only",
        POSITIVE_OR_INFINITE,
    )
    max_angular_velocity: float = number(
        "task_space.max_angular_velocity",
        1.0,
        "Largest angular velocity (rad/s) of the approach to the target, relative to it; .inf: by the gains only",
        POSITIVE_OR_INFINITE,
    )
    target_timeout: float = number(
        "task_space.target_timeout",
        0.1,
        "Time (s) for which a target is extrapolated by its twist until the next one; then it is at rest",
        NOT_NEGATIVE,
    )


@dataclass(frozen=True)
class ControllerSettings:
    """Parameters of a controller."""

    law: str = text("law", "computed_torque", "Control law", choices=LAWS)
    natural_frequency: Sequence[float] = numbers(
        "gains.natural_frequency", [10.0], "Natural frequency (rad/s) of the position error", NOT_NEGATIVE
    )
    damping_ratio: Sequence[float] = numbers(
        "gains.damping_ratio", [1.0], "Damping ratio of the position error; 1: critical", NOT_NEGATIVE
    )
    kp: Sequence[float] = numbers(
        "gains.kp",
        [],
        "Position gain: 1/s^2 for (task_space_)computed_torque, Nm/rad or N/m for others; empty: from "
        "natural_frequency",
        NOT_NEGATIVE,
    )
    kd: Sequence[float] = numbers(
        "gains.kd",
        [],
        "Velocity gain: 1/s for (task_space_)computed_torque, Nms/rad or Ns/m for others; empty: from damping_ratio",
        NOT_NEGATIVE,
    )
    ki: Sequence[float] = numbers("gains.ki", [], "Integral gain (1/s^3) of computed_torque; empty: 0", NOT_NEGATIVE)
    friction_compensation: bool = flag(
        "friction_compensation",
        True,
        "Add the model's friction torque at the desired velocity, for laws that support it",
    )
    friction_smoothing_velocity: float = number(
        "friction_smoothing_velocity",
        0.01,
        "Desired speed (rad/s or m/s) below which friction compensation decreases to zero",
        NOT_NEGATIVE,
    )
    robot_compensates_gravity: bool = flag(
        "robot_compensates_gravity",
        False,
        "true: omit gravity in all commands, because the robot's driver adds it (Franka, KUKA, UR)",
        when="configure",
    )
    update_rate: float = number(
        "update_rate",
        0.0,
        "Rate (Hz) of commands; 0: one for each joint_states message",
        RATE_OR_ZERO,
        when="configure",
    )
    trajectories: TrajectoryRules = field(default_factory=TrajectoryRules)
    trajectory_effort_period: float = number(
        "trajectory_effort_period",
        0.02,
        "Longest time (s) between points of ~/joint_trajectory_with_effort; at most 1000 points are added",
        POSITIVE,
    )
    decelerate_on_cancel: bool = flag(
        "constraints.decelerate_on_cancel",
        True,
        "Decelerate to rest when a trajectory is cancelled; false: stop at once",
    )
    max_deceleration_on_cancel: Sequence[float] = numbers(
        "constraints.max_deceleration_on_cancel",
        [2.0],
        "Deceleration (rad/s^2 or m/s^2) after cancellation of a trajectory",
        POSITIVE,
    )
    velocity_filter_cutoff: float = number(
        "velocity_filter_cutoff",
        0.0,
        "Cutoff frequency (Hz) of the low-pass filter of measured velocities; 0: no filter",
        NOT_NEGATIVE,
    )
    effort_limit_scale: Sequence[float] = numbers(
        "effort_limit_scale",
        [1.0],
        "Scale of the robot's effort limits for commands",
        Bounds(0.0, 1.0, above=True),
    )
    torque_rate_limit: Sequence[float] = numbers(
        "torque_rate_limit", [], "Largest rate of change of commanded efforts (Nm/s or N/s); empty: no limit", POSITIVE
    )
    ramp_time: float = number(
        "ramp_time",
        0.0,
        "Shortest duration (s) of the transition after activation from the reported effort, or else the gravity "
        "torque, to the effort of the law",
        NOT_NEGATIVE,
    )
    observer_gain: float = number(
        "observer.gain", 0.0, "Gain (1/s), the bandwidth, of the external torque observer; 0: no observer", NOT_NEGATIVE
    )
    task_space: TaskSpaceSettings = field(default_factory=TaskSpaceSettings)
    safety: SafetySettings = field(default_factory=SafetySettings)


T = TypeVar("T")


def read_settings(values: Values) -> ControllerSettings:
    """Return the settings; ``values`` returns the value of a parameter by name.

    Raises RobotDynamicsError, naming parameter, value and cure, for a value of a wrong type, outside its bounds, or
    None where a list may not be empty.
    """
    return _read(ControllerSettings, values)


def _read(settings: type[T], values: Values) -> T:
    given: dict[str, Any] = {}
    for one in fields(settings):  # type: ignore[arg-type]
        parameter, group = one.metadata.get("parameter"), cast("type[Any]", one.default_factory)
        given[one.name] = _read(group, values) if parameter is None else parameter.read(values)
    if settings is TaskSpaceSettings:
        given["components"] = tuple(given["components"].split())
    return settings(**given)


def settings_parameters(settings: Any = ControllerSettings) -> Iterator[Parameter[Any]]:
    """Yield the parameters of the class ``settings`` and of the settings classes that it contains."""
    for one in fields(settings):
        if "parameter" in one.metadata:
            yield one.metadata["parameter"]
        else:
            yield from settings_parameters(one.default_factory)


def check_settings(settings: Any) -> None:
    """Check ``settings``, an instance of a settings class, and the settings that it contains.

    Raises RobotDynamicsError for a value outside the bounds of its parameter. Sequences are not checked.
    """
    for one in fields(settings):
        parameter, value = one.metadata.get("parameter"), getattr(settings, one.name)
        if parameter is None:
            check_settings(value)
        elif not isinstance(parameter, Numbers) and one.name != "components":
            parameter.check(value)
