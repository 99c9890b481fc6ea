"""The parameters of computed_torque_node, and the settings of its controller that they give."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.control.settings import ControllerSettings, SafetySettings, TaskSpaceSettings
from robot_dynamics_ros.control.task_space.law import COMPONENTS
from robot_dynamics_ros.control.trajectory.plan import TrajectoryRules
from robot_dynamics_ros.parameters.kinds import (
    ANY,
    NOT_NEGATIVE,
    NOT_NEGATIVE_OR_INFINITE,
    POSITIVE,
    POSITIVE_OR_INFINITE,
    RATE,
    RATE_OR_ZERO,
    Bounds,
    Flag,
    Number,
    Numbers,
    Parameter,
    Text,
    Values,
    WholeNumber,
)
from robot_dynamics_ros.parameters.robot import ROBOT

# Read once, when the process starts

AUTOSTART = Flag(
    "autostart", True, "Configure and activate without being told, as soon as the robot is known", when="start"
)
REALTIME_PRIORITY = WholeNumber(
    "realtime_priority",
    0,
    "Real-time priority (SCHED_FIFO) of the process, from its first activation on; 0: none",
    0,
    99,
    when="start",
)
LOCK_MEMORY = Flag(
    "lock_memory", False, "Keep the memory of the process from being paged out, which would delay a cycle", when="start"
)

# Read when the node is configured, beside those of robot.py

UPDATE_RATE = Number("update_rate", 0.0, "Commands per second (Hz); 0: one for each joint_states message", RATE_OR_ZERO)
GRAVITY = Numbers(
    "gravity",
    [],
    "Acceleration of gravity (m/s^2) in the root frame; empty: the dynamics file's, else 0 0 -9.81",
    ANY,
    "three of them",
    3,
)
ROBOT_COMPENSATES_GRAVITY = Flag(
    "robot_compensates_gravity",
    False,
    "true: leave gravity out of every command, because the robot's driver adds it itself (Franka, KUKA, UR)",
)
ACTIVATION_CHECK = Flag(
    "activation_check",
    True,
    "Before activating compare measured efforts with gravity's, where the driver reports them, and refuse on a wrong "
    "sign, a wrong order of the joints or doubled gravity",
)

EXCLUSIVE_TOPICS = Flag(
    "exclusive_topics",
    False,
    "true: refuse to activate while others publish effort_commands, or several publish joint_states; false: warn",
)
BLACK_BOX_SECONDS = Number(
    "black_box_seconds",
    10.0,
    "Seconds of inputs and outputs that are kept in memory and written as a bag after a fault; 0: none",
    NOT_NEGATIVE,
)
BLACK_BOX_DIRECTORY = Text(
    "black_box_directory", "", "Folder for the bags of faults; empty: that of the ROS logs (ROS_LOG_DIR)"
)

# The law

LAW = Text("law", "computed_torque", "Control law", when="run", choices=tuple(LAWS))
NATURAL_FREQUENCY = Numbers(
    "gains.natural_frequency", [10.0], "Natural frequency (rad/s) of the errors", NOT_NEGATIVE, when="run"
)
DAMPING_RATIO = Numbers(
    "gains.damping_ratio", [1.0], "Damping ratio of the errors; 1: critical", NOT_NEGATIVE, when="run"
)
KP = Numbers(
    "gains.kp",
    [],
    "Position gain: 1/s^2 for (task_space_)computed_torque, Nm/rad or N/m for others; empty: from natural_frequency",
    NOT_NEGATIVE,
    when="run",
)
KD = Numbers(
    "gains.kd",
    [],
    "Velocity gain: 1/s for (task_space_)computed_torque, Nms/rad or Ns/m for others; empty: from damping_ratio",
    NOT_NEGATIVE,
    when="run",
)
KI = Numbers("gains.ki", [], "Gain (1/s^3) of computed_torque's integral term; empty: none", NOT_NEGATIVE, when="run")
FRICTION_COMPENSATION = Flag(
    "friction_compensation", True, "Add the model's friction along the desired motion, in the laws that can", when="run"
)
FRICTION_SMOOTHING_VELOCITY = Number(
    "friction_smoothing_velocity",
    0.01,
    "Desired speed (rad/s or m/s) below which friction compensation fades out",
    NOT_NEGATIVE,
    when="run",
)

# The hand, under the law task_space_computed_torque

_PER_COMPONENT = f"one for each of {' '.join(COMPONENTS)}, or one for all"
TASK_SPACE_LINK = Text("task_space.link", "", "The link that follows ~/target_pose; empty: the only tip", when="run")
TASK_SPACE_COMPONENTS = Text(
    "task_space.components",
    " ".join(COMPONENTS),
    "What of the target is followed: position x y z and rotation about rx ry rz, with spaces between; the rest is free",
    when="run",
)
TASK_SPACE_NATURAL_FREQUENCY = Numbers(
    "task_space.natural_frequency",
    [10.0],
    "Natural frequency (rad/s) of the hand's errors",
    POSITIVE,
    _PER_COMPONENT,
    when="run",
)
TASK_SPACE_DAMPING_RATIO = Numbers(
    "task_space.damping_ratio",
    [1.0],
    "Damping ratio of the hand's errors; 1: critical",
    POSITIVE,
    _PER_COMPONENT,
    when="run",
)
TASK_SPACE_MAX_LINEAR_VELOCITY = Number(
    "task_space.max_linear_velocity",
    0.25,
    "How fast (m/s) the hand approaches its target, beyond the target's own velocity; .inf: as the gains say",
    POSITIVE_OR_INFINITE,
    when="run",
)
TASK_SPACE_MAX_ANGULAR_VELOCITY = Number(
    "task_space.max_angular_velocity",
    1.0,
    "How fast (rad/s) the hand turns to its target, beyond the target's own velocity; .inf: as the gains say",
    POSITIVE_OR_INFINITE,
    when="run",
)
TASK_SPACE_TARGET_TIMEOUT = Number(
    "task_space.target_timeout",
    0.1,
    "Seconds for which a target goes on along its twist until another one comes; then it stands still",
    NOT_NEGATIVE,
    when="run",
)

# Trajectories, by the names of joint_trajectory_controller

ALLOW_PARTIAL_JOINTS_GOAL = Flag(
    "allow_partial_joints_goal", False, "Take trajectories that do not name every joint; the others hold", when="run"
)
INTERPOLATE_FROM_DESIRED_STATE = Flag(
    "interpolate_from_desired_state",
    True,
    "Start a new trajectory from the desired state of the one it replaces; false: from the measured state",
    when="run",
)
POSITIONS_UPSAMPLING = Flag(
    "positions_upsampling.enable",
    True,
    "Lay a smooth (C2 cubic) spline through points that only have positions; false: straight lines",
    when="run",
)
ALLOW_NONZERO_VELOCITY_AT_TRAJECTORY_END = Flag(
    "allow_nonzero_velocity_at_trajectory_end", False, "Take trajectories whose last point still moves", when="run"
)
TRAJECTORY_LIMITS = Text(
    "trajectory_limits",
    "refuse",
    "Trajectories beyond the joints' limits of position and velocity: refuse, clamp (move points inside) or off",
    when="run",
    choices=("refuse", "clamp", "off"),
)
SET_POINT_STEP_LIMIT = Numbers(
    "set_point_step_limit",
    [0.2],
    "Largest step (rad or m) from the desired position to a set point or a first point at time 0; .inf: not checked",
    NOT_NEGATIVE_OR_INFINITE,
    when="run",
)
TRAJECTORY_EFFORT_PERIOD = Number(
    "trajectory_effort_period",
    0.02,
    "Longest time (s) between the points of ~/joint_trajectory_with_effort, of which at most 1000 are added",
    POSITIVE,
    when="run",
)
DECELERATE_ON_CANCEL = Flag(
    "constraints.decelerate_on_cancel",
    True,
    "Slow down to a stop when a trajectory is cancelled; false: stop where the arm is, at once",
    when="run",
)
MAX_DECELERATION_ON_CANCEL = Numbers(
    "constraints.max_deceleration_on_cancel",
    [2.0],
    "Largest deceleration (rad/s^2 or m/s^2) of a cancelled trajectory",
    POSITIVE,
    when="run",
)

# Goals of ~/follow_joint_trajectory, and ~/controller_state

STOPPED_VELOCITY_TOLERANCE = Number(
    "constraints.stopped_velocity_tolerance",
    0.01,
    "Velocity error (rad/s or m/s) up to which a joint has arrived at the end of a goal's trajectory; 0: any",
    NOT_NEGATIVE,
    when="run",
)
GOAL_TIME = Number(
    "constraints.goal_time",
    0.0,
    "Seconds after the end of a goal's trajectory within which the joints must arrive; 0: as long as they take",
    NOT_NEGATIVE,
    when="run",
)
PATH_TOLERANCE = Numbers(
    "constraints.path_tolerance",
    [],
    "Position error (rad or m) on the way at which a goal is aborted; 0 or empty: none",
    NOT_NEGATIVE,
    when="run",
)
GOAL_TOLERANCE = Numbers(
    "constraints.goal_tolerance",
    [],
    "Position error (rad or m) up to which a joint has arrived at the end of a goal's trajectory; 0 or empty: any",
    NOT_NEGATIVE,
    when="run",
)
ACTION_MONITOR_RATE = Number("action_monitor_rate", 20.0, "Feedback (Hz) of a goal of ~/follow_joint_trajectory", RATE)
STATE_PUBLISH_RATE = Number("state_publish_rate", 50.0, "Messages (Hz) of ~/controller_state", RATE)

# Measured states and commands

VELOCITY_FILTER_CUTOFF = Number(
    "velocity_filter_cutoff",
    0.0,
    "Cut-off frequency (Hz) of the filter of measured velocities; 0: none",
    NOT_NEGATIVE,
    when="run",
)
EFFORT_LIMIT_SCALE = Numbers(
    "effort_limit_scale",
    [1.0],
    "Share of the robot's effort limits that commands may use",
    Bounds(0.0, 1.0, above=True),
    when="run",
)
TORQUE_RATE_LIMIT = Numbers(
    "torque_rate_limit", [], "Largest change of a commanded effort (Nm/s or N/s); empty: no limit", POSITIVE, when="run"
)
RAMP_TIME = Number(
    "ramp_time",
    0.0,
    "Seconds after activation in which the command goes over from the reported effort, else gravity's, to the law's",
    NOT_NEGATIVE,
    when="run",
)

# Safety

POSITION_LIMIT_MARGIN = Numbers(
    "position_limit_margin",
    [0.05],
    "How far (rad or m) beyond its position limits a joint may be before that is a fault; .inf: not checked",
    NOT_NEGATIVE_OR_INFINITE,
    when="run",
)
VELOCITY_LIMIT_MARGIN = Numbers(
    "velocity_limit_margin",
    [0.2],
    "How much (rad/s or m/s) faster than its velocity limit a joint may be before that is a fault; .inf: not checked",
    NOT_NEGATIVE_OR_INFINITE,
    when="run",
)
STATE_TIMEOUT = Number(
    "state_timeout",
    0.1,
    "Seconds without joint_states after which that is a fault; .inf: never",
    POSITIVE_OR_INFINITE,
    when="run",
)
STALE_HOLD_TIME = Number(
    "stale_hold_time",
    0.5,
    "Seconds for which on_fault hold carries the arm without joint_states; then the command is zero",
    NOT_NEGATIVE,
    when="run",
)
ON_FAULT = Text(
    "on_fault",
    "hold",
    "Command after a fault and at the end: hold (carry the arm's weight, damp its motion) or zero",
    when="run",
    choices=("hold", "zero"),
)
FAULT_RESET = Text(
    "fault_reset",
    "manual",
    "How a fault ends once its cause is gone: manual (by the service clear_fault) or auto",
    when="run",
    choices=("manual", "auto"),
)
MINIMUM_RATE_RATIO = Number(
    "minimum_rate_ratio",
    0.5,
    "With update_rate: share of a second's cycles below which that is a fault; 0: never",
    Bounds(0.0, 1.0),
    when="run",
)
UNSTAMPED_STATES = Text(
    "unstamped_states",
    "arrival",
    "A joint_states message with stamp 0: arrival (it counts from its arrival, with one warning) or refuse",
    when="run",
    choices=("arrival", "refuse"),
)
POSITION_STEP_LIMIT = Numbers(
    "position_step_limit",
    [0.05],
    "Largest change of position (rad or m) between two joint_states beyond that of the velocity; .inf: not checked",
    NOT_NEGATIVE_OR_INFINITE,
    when="run",
)
FOLLOWING_ERROR_LIMIT = Numbers(
    "following_error_limit",
    [],
    "Distance (rad or m) from the desired position that is a fault after following_error_time; empty: none is",
    POSITIVE_OR_INFINITE,
    when="run",
)
FOLLOWING_ERROR_TIME = Number(
    "following_error_time",
    0.1,
    "Seconds for which a joint may be further off than following_error_limit",
    NOT_NEGATIVE,
    when="run",
)
SATURATION_TIMEOUT = Number(
    "saturation_timeout",
    1.0,
    "Seconds at an effort limit after which that is a fault; .inf: never",
    POSITIVE_OR_INFINITE,
    when="run",
)
HOLD_EFFORT_MARGIN = Numbers(
    "hold_effort_margin",
    [],
    "Largest effort (Nm or N) that hold adds to gravity's to keep the position; empty: a quarter of the effort limits",
    NOT_NEGATIVE_OR_INFINITE,
    when="run",
)
ACTIVATION_MAX_VELOCITY = Number(
    "activation_max_velocity",
    0.1,
    "Speed (rad/s or m/s) of a joint above which activation is refused; .inf: not checked",
    NOT_NEGATIVE_OR_INFINITE,
    when="run",
)
STOP_TIMEOUT = Number(
    "stop_timeout",
    2.0,
    "Longest time (s) that deactivation and the end of the process take to stop the arm",
    NOT_NEGATIVE,
    when="run",
)
EMERGENCY_STOP_EFFECT = Text(
    "emergency_stop_effect",
    "stop",
    "Command after an emergency stop: stop (decelerate by constraints.max_deceleration_on_cancel, then hold; zero "
    "stays zero) or zero (at once)",
    when="run",
    choices=("stop", "zero"),
)
OBSERVER_GAIN = Number(
    "observer.gain",
    0.0,
    "Bandwidth (1/s) of the observer of external torques; 0: no observer",
    NOT_NEGATIVE,
    when="run",
)
COLLISION_THRESHOLD = Numbers(
    "observer.collision_threshold",
    [],
    "External torque (Nm or N) that is a fault, with the observer on; empty: none is",
    POSITIVE,
    when="run",
)

ALL: tuple[Parameter[Any], ...] = (
    *ROBOT,
    *(value for value in list(globals().values()) if isinstance(value, Parameter)),
)
"""Each of them: those of every robot, then those above in their order."""

T = TypeVar("T")


def read_settings(values: Values) -> ControllerSettings:
    """Return the controller's settings; RobotDynamicsError names the parameter, its value and the cure."""
    return _read(
        ControllerSettings,
        values,
        trajectories=_read(TrajectoryRules, values),
        task_space=_read(
            TaskSpaceSettings, values, "TASK_SPACE_", components=tuple(TASK_SPACE_COMPONENTS.read(values).split())
        ),
        safety=_read(SafetySettings, values),
    )


def _read(settings: type[T], values: Values, prefix: str = "", **given: Any) -> T:
    """Return settings whose fields, but for those ``given``, have the value of the parameter of their name."""
    for field in fields(settings):  # type: ignore[arg-type]
        if field.name not in given:
            given[field.name] = globals()[prefix + field.name.upper()].read(values)
    return settings(**given)
