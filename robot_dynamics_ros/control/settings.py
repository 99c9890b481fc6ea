"""Settings of a controller: the parameters that they are, with default and bounds, and their values.

Each field of a settings class is a parameter of computed_torque_node. Sequences hold one number for each joint, or one
for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, cast

from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.control.task_space import COMPONENTS
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
    """Checks of states and commands, and the reaction to a failed one."""

    on_fault: str = text(
        "on_fault",
        "hold",
        "Command after a fault and at the end: hold (carry the arm's weight, damp its motion) or zero",
        choices=("hold", "zero"),
    )
    fault_reset: str = text(
        "fault_reset",
        "manual",
        "How a fault ends once its cause is gone: manual (by the service clear_fault) or auto",
        choices=("manual", "auto"),
    )
    state_timeout: float = number(
        "state_timeout",
        0.1,
        "Seconds without joint_states after which that is a fault; .inf: never",
        POSITIVE_OR_INFINITE,
    )
    stale_hold_time: float = number(
        "stale_hold_time",
        0.5,
        "Seconds for which on_fault hold carries the arm without joint_states; then the command is zero",
        NOT_NEGATIVE,
    )
    position_limit_margin: Sequence[float] = numbers(
        "position_limit_margin",
        [0.05],
        "How far (rad or m) beyond its position limits a joint may be before that is a fault; .inf: not checked",
        NOT_NEGATIVE_OR_INFINITE,
    )
    velocity_limit_margin: Sequence[float] = numbers(
        "velocity_limit_margin",
        [0.2],
        "How much (rad/s or m/s) faster than its velocity limit a joint may be before that is a fault; .inf: not "
        "checked",
        NOT_NEGATIVE_OR_INFINITE,
    )
    minimum_rate_ratio: float = number(
        "minimum_rate_ratio",
        0.5,
        "With update_rate: share of a second's cycles below which that is a fault; 0: never",
        Bounds(0.0, 1.0),
    )
    collision_threshold: Sequence[float] = numbers(
        "observer.collision_threshold",
        [],
        "External torque (Nm or N) that is a fault, with the observer on; empty: none is",
        POSITIVE,
    )
    unstamped_states: str = text(
        "unstamped_states",
        "arrival",
        "A joint_states message with stamp 0: arrival (it counts from its arrival, with one warning) or refuse",
        choices=("arrival", "refuse"),
    )
    position_step_limit: Sequence[float] = numbers(
        "position_step_limit",
        [0.05],
        "Largest change of position (rad or m) between two joint_states beyond that of the velocity; .inf: not checked",
        NOT_NEGATIVE_OR_INFINITE,
    )
    following_error_limit: Sequence[float] = numbers(
        "following_error_limit",
        [],
        "Distance (rad or m) from the desired position that is a fault after following_error_time; empty: none is",
        POSITIVE_OR_INFINITE,
    )
    following_error_time: float = number(
        "following_error_time",
        0.1,
        "Seconds for which a joint may be further off than following_error_limit",
        NOT_NEGATIVE,
    )
    saturation_timeout: float = number(
        "saturation_timeout",
        1.0,
        "Seconds at an effort limit after which that is a fault; .inf: never",
        POSITIVE_OR_INFINITE,
    )
    hold_effort_margin: Sequence[float] = numbers(
        "hold_effort_margin",
        [],
        "Largest effort (Nm or N) that hold adds to gravity's to keep the position; empty: a quarter of the effort "
        "limits",
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
    """Motion of the end effector under ``task_space_computed_torque``; gains are one for each component or for all."""

    link: str = text("task_space.link", "", "The link that follows ~/target_pose; empty: the only tip")
    components: Sequence[str] = field(
        default=COMPONENTS,
        metadata={
            "parameter": Text(
                "task_space.components",
                " ".join(COMPONENTS),
                "What of the target is followed: position x y z and rotation about rx ry rz, with spaces between; "
                "the rest is free",
                when="run",
            )
        },
    )
    natural_frequency: Sequence[float] = numbers(
        "task_space.natural_frequency",
        [10.0],
        "Natural frequency (rad/s) of the hand's errors",
        POSITIVE,
        _PER_COMPONENT,
    )
    damping_ratio: Sequence[float] = numbers(
        "task_space.damping_ratio", [1.0], "Damping ratio of the hand's errors; 1: critical", POSITIVE, _PER_COMPONENT
    )
    max_linear_velocity: float = number(
        "task_space.max_linear_velocity",
        0.25,
        "How fast (m/s) the hand approaches its target, beyond the target's own velocity; .inf: as the gains say",
        POSITIVE_OR_INFINITE,
    )
    max_angular_velocity: float = number(
        "task_space.max_angular_velocity",
        1.0,
        "How fast (rad/s) the hand turns to its target, beyond the target's own velocity; .inf: as the gains say",
        POSITIVE_OR_INFINITE,
    )
    target_timeout: float = number(
        "task_space.target_timeout",
        0.1,
        "Seconds for which a target goes on along its twist until another one comes; then it stands still",
        NOT_NEGATIVE,
    )


@dataclass(frozen=True)
class ControllerSettings:
    """All settings of a controller."""

    law: str = text("law", "computed_torque", "Control law", choices=LAWS)
    natural_frequency: Sequence[float] = numbers(
        "gains.natural_frequency", [10.0], "Natural frequency (rad/s) of the errors", NOT_NEGATIVE
    )
    damping_ratio: Sequence[float] = numbers(
        "gains.damping_ratio", [1.0], "Damping ratio of the errors; 1: critical", NOT_NEGATIVE
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
    ki: Sequence[float] = numbers(
        "gains.ki", [], "Gain (1/s^3) of computed_torque's integral term; empty: none", NOT_NEGATIVE
    )
    friction_compensation: bool = flag(
        "friction_compensation", True, "Add the model's friction along the desired motion, in the laws that can"
    )
    friction_smoothing_velocity: float = number(
        "friction_smoothing_velocity",
        0.01,
        "Desired speed (rad/s or m/s) below which friction compensation fades out",
        NOT_NEGATIVE,
    )
    robot_compensates_gravity: bool = flag(
        "robot_compensates_gravity",
        False,
        "true: leave gravity out of every command, because the robot's driver adds it itself (Franka, KUKA, UR)",
        when="configure",
    )
    update_rate: float = number(
        "update_rate",
        0.0,
        "Commands per second (Hz); 0: one for each joint_states message",
        RATE_OR_ZERO,
        when="configure",
    )
    trajectories: TrajectoryRules = field(default_factory=TrajectoryRules)
    trajectory_effort_period: float = number(
        "trajectory_effort_period",
        0.02,
        "Longest time (s) between the points of ~/joint_trajectory_with_effort, of which at most 1000 are added",
        POSITIVE,
    )
    decelerate_on_cancel: bool = flag(
        "constraints.decelerate_on_cancel",
        True,
        "Slow down to a stop when a trajectory is cancelled; false: stop where the arm is, at once",
    )
    max_deceleration_on_cancel: Sequence[float] = numbers(
        "constraints.max_deceleration_on_cancel",
        [2.0],
        "Largest deceleration (rad/s^2 or m/s^2) of a cancelled trajectory",
        POSITIVE,
    )
    velocity_filter_cutoff: float = number(
        "velocity_filter_cutoff",
        0.0,
        "Cut-off frequency (Hz) of the filter of measured velocities; 0: none",
        NOT_NEGATIVE,
    )
    effort_limit_scale: Sequence[float] = numbers(
        "effort_limit_scale",
        [1.0],
        "Share of the robot's effort limits that commands may use",
        Bounds(0.0, 1.0, above=True),
    )
    torque_rate_limit: Sequence[float] = numbers(
        "torque_rate_limit", [], "Largest change of a commanded effort (Nm/s or N/s); empty: no limit", POSITIVE
    )
    ramp_time: float = number(
        "ramp_time",
        0.0,
        "Least seconds after activation in which the command goes over from the reported effort, else gravity's, to "
        "the law's",
        NOT_NEGATIVE,
    )
    observer_gain: float = number(
        "observer.gain", 0.0, "Bandwidth (1/s) of the observer of external torques; 0: no observer", NOT_NEGATIVE
    )
    task_space: TaskSpaceSettings = field(default_factory=TaskSpaceSettings)
    safety: SafetySettings = field(default_factory=SafetySettings)


T = TypeVar("T")


def read_settings(values: Values) -> ControllerSettings:
    """Return the controller's settings; RobotDynamicsError names the parameter, its value and the cure."""
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
    """Yield the parameters of a settings class and of the classes that it contains."""
    for one in fields(settings):
        if "parameter" in one.metadata:
            yield one.metadata["parameter"]
        else:
            yield from settings_parameters(one.default_factory)


def check_settings(settings: Any) -> None:
    """Raise RobotDynamicsError for a value that its parameter does not allow; sequences are left out."""
    for one in fields(settings):
        parameter, value = one.metadata.get("parameter"), getattr(settings, one.name)
        if parameter is None:
            check_settings(value)
        elif not isinstance(parameter, Numbers) and one.name != "components":
            parameter.check(value)
