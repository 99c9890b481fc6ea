"""The parameters of computed_torque_node, and the settings of its controller that they give."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from typing import Any, TypeVar

from robot_dynamics_ros import parameters
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

RunFlag = partial(Flag, when="run")
RunNumber = partial(Number, when="run")
RunNumbers = partial(Numbers, when="run")
RunText = partial(Text, when="run")

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

LAW = RunText("law", "computed_torque", "Control law", choices=tuple(LAWS))
NATURAL_FREQUENCY = RunNumbers(
    "gains.natural_frequency", [10.0], "Natural frequency (rad/s) of the errors", NOT_NEGATIVE
)
DAMPING_RATIO = RunNumbers("gains.damping_ratio", [1.0], "Damping ratio of the errors; 1: critical", NOT_NEGATIVE)
KP = RunNumbers(
    "gains.kp",
    [],
    "Position gain: 1/s^2 for (task_space_)computed_torque, Nm/rad or N/m for others; empty: from natural_frequency",
    NOT_NEGATIVE,
)
KD = RunNumbers(
    "gains.kd",
    [],
    "Velocity gain: 1/s for (task_space_)computed_torque, Nms/rad or Ns/m for others; empty: from damping_ratio",
    NOT_NEGATIVE,
)
KI = RunNumbers("gains.ki", [], "Gain (1/s^3) of computed_torque's integral term; empty: none", NOT_NEGATIVE)
FRICTION_COMPENSATION = RunFlag(
    "friction_compensation", True, "Add the model's friction along the desired motion, in the laws that can"
)
FRICTION_SMOOTHING_VELOCITY = RunNumber(
    "friction_smoothing_velocity",
    0.01,
    "Desired speed (rad/s or m/s) below which friction compensation fades out",
    NOT_NEGATIVE,
)

# The hand, under the law task_space_computed_torque

_PER_COMPONENT = f"one for each of {' '.join(COMPONENTS)}, or one for all"
TASK_SPACE_LINK = RunText("task_space.link", "", "The link that follows ~/target_pose; empty: the only tip")
TASK_SPACE_COMPONENTS = RunText(
    "task_space.components",
    " ".join(COMPONENTS),
    "What of the target is followed: position x y z and rotation about rx ry rz, with spaces between; the rest is free",
)
TASK_SPACE_NATURAL_FREQUENCY = RunNumbers(
    "task_space.natural_frequency", [10.0], "Natural frequency (rad/s) of the hand's errors", POSITIVE, _PER_COMPONENT
)
TASK_SPACE_DAMPING_RATIO = RunNumbers(
    "task_space.damping_ratio", [1.0], "Damping ratio of the hand's errors; 1: critical", POSITIVE, _PER_COMPONENT
)
TASK_SPACE_MAX_LINEAR_VELOCITY = RunNumber(
    "task_space.max_linear_velocity",
    0.25,
    "How fast (m/s) the hand approaches its target, beyond the target's own velocity; .inf: as the gains say",
    POSITIVE_OR_INFINITE,
)
TASK_SPACE_MAX_ANGULAR_VELOCITY = RunNumber(
    "task_space.max_angular_velocity",
    1.0,
    "How fast (rad/s) the hand turns to its target, beyond the target's own velocity; .inf: as the gains say",
    POSITIVE_OR_INFINITE,
)
TASK_SPACE_TARGET_TIMEOUT = RunNumber(
    "task_space.target_timeout",
    0.1,
    "Seconds for which a target goes on along its twist until another one comes; then it stands still",
    NOT_NEGATIVE,
)

# Trajectories, by the names of joint_trajectory_controller

ALLOW_PARTIAL_JOINTS_GOAL = RunFlag(
    "allow_partial_joints_goal", False, "Take trajectories that do not name every joint; the others hold"
)
INTERPOLATE_FROM_DESIRED_STATE = RunFlag(
    "interpolate_from_desired_state",
    True,
    "Start a new trajectory from the desired state of the one it replaces; false: from the measured state",
)
POSITIONS_UPSAMPLING = RunFlag(
    "positions_upsampling.enable",
    True,
    "Lay a smooth (C2 cubic) spline through points that only have positions; false: straight lines",
)
ALLOW_NONZERO_VELOCITY_AT_TRAJECTORY_END = RunFlag(
    "allow_nonzero_velocity_at_trajectory_end", False, "Take trajectories whose last point still moves"
)
TRAJECTORY_LIMITS = RunText(
    "trajectory_limits",
    "refuse",
    "Trajectories beyond the joints' limits of position and velocity: refuse, clamp (move points inside) or off",
    choices=("refuse", "clamp", "off"),
)
SET_POINT_STEP_LIMIT = RunNumbers(
    "set_point_step_limit",
    [0.2],
    "Largest step (rad or m) from the desired position to a set point or a first point at time 0; .inf: not checked",
    NOT_NEGATIVE_OR_INFINITE,
)
TRAJECTORY_EFFORT_PERIOD = RunNumber(
    "trajectory_effort_period",
    0.02,
    "Longest time (s) between the points of ~/joint_trajectory_with_effort, of which at most 1000 are added",
    POSITIVE,
)
DECELERATE_ON_CANCEL = RunFlag(
    "constraints.decelerate_on_cancel",
    True,
    "Slow down to a stop when a trajectory is cancelled; false: stop where the arm is, at once",
)
MAX_DECELERATION_ON_CANCEL = RunNumbers(
    "constraints.max_deceleration_on_cancel",
    [2.0],
    "Largest deceleration (rad/s^2 or m/s^2) of a cancelled trajectory",
    POSITIVE,
)

# Goals of ~/follow_joint_trajectory, and ~/controller_state

STOPPED_VELOCITY_TOLERANCE = RunNumber(
    "constraints.stopped_velocity_tolerance",
    0.01,
    "Velocity error (rad/s or m/s) up to which a joint has arrived at the end of a goal's trajectory; 0: any",
    NOT_NEGATIVE,
)
GOAL_TIME = RunNumber(
    "constraints.goal_time",
    0.0,
    "Seconds after the end of a goal's trajectory within which the joints must arrive; 0: as long as they take",
    NOT_NEGATIVE,
)
PATH_TOLERANCE = RunNumbers(
    "constraints.path_tolerance",
    [],
    "Position error (rad or m) on the way at which a goal is aborted; 0 or empty: none",
    NOT_NEGATIVE,
)
GOAL_TOLERANCE = RunNumbers(
    "constraints.goal_tolerance",
    [],
    "Position error (rad or m) up to which a joint has arrived at the end of a goal's trajectory; 0 or empty: any",
    NOT_NEGATIVE,
)
ACTION_MONITOR_RATE = Number("action_monitor_rate", 20.0, "Feedback (Hz) of a goal of ~/follow_joint_trajectory", RATE)
STATE_PUBLISH_RATE = Number("state_publish_rate", 50.0, "Messages (Hz) of ~/controller_state", RATE)

# Measured states and commands

VELOCITY_FILTER_CUTOFF = RunNumber(
    "velocity_filter_cutoff", 0.0, "Cut-off frequency (Hz) of the filter of measured velocities; 0: none", NOT_NEGATIVE
)
EFFORT_LIMIT_SCALE = RunNumbers(
    "effort_limit_scale",
    [1.0],
    "Share of the robot's effort limits that commands may use",
    Bounds(0.0, 1.0, above=True),
)
TORQUE_RATE_LIMIT = RunNumbers(
    "torque_rate_limit", [], "Largest change of a commanded effort (Nm/s or N/s); empty: no limit", POSITIVE
)
RAMP_TIME = RunNumber(
    "ramp_time",
    0.0,
    "Seconds after activation in which the command goes over from the reported effort, else gravity's, to the law's",
    NOT_NEGATIVE,
)

# Safety

POSITION_LIMIT_MARGIN = RunNumbers(
    "position_limit_margin",
    [0.05],
    "How far (rad or m) beyond its position limits a joint may be before that is a fault; .inf: not checked",
    NOT_NEGATIVE_OR_INFINITE,
)
VELOCITY_LIMIT_MARGIN = RunNumbers(
    "velocity_limit_margin",
    [0.2],
    "How much (rad/s or m/s) faster than its velocity limit a joint may be before that is a fault; .inf: not checked",
    NOT_NEGATIVE_OR_INFINITE,
)
STATE_TIMEOUT = RunNumber(
    "state_timeout", 0.1, "Seconds without joint_states after which that is a fault; .inf: never", POSITIVE_OR_INFINITE
)
STALE_HOLD_TIME = RunNumber(
    "stale_hold_time",
    0.5,
    "Seconds for which on_fault hold carries the arm without joint_states; then the command is zero",
    NOT_NEGATIVE,
)
ON_FAULT = RunText(
    "on_fault",
    "hold",
    "Command after a fault and at the end: hold (carry the arm's weight, damp its motion) or zero",
    choices=("hold", "zero"),
)
FAULT_RESET = RunText(
    "fault_reset",
    "manual",
    "How a fault ends once its cause is gone: manual (by the service clear_fault) or auto",
    choices=("manual", "auto"),
)
MINIMUM_RATE_RATIO = RunNumber(
    "minimum_rate_ratio",
    0.5,
    "With update_rate: share of a second's cycles below which that is a fault; 0: never",
    Bounds(0.0, 1.0),
)
UNSTAMPED_STATES = RunText(
    "unstamped_states",
    "arrival",
    "A joint_states message with stamp 0: arrival (it counts from its arrival, with one warning) or refuse",
    choices=("arrival", "refuse"),
)
POSITION_STEP_LIMIT = RunNumbers(
    "position_step_limit",
    [0.05],
    "Largest change of position (rad or m) between two joint_states beyond that of the velocity; .inf: not checked",
    NOT_NEGATIVE_OR_INFINITE,
)
FOLLOWING_ERROR_LIMIT = RunNumbers(
    "following_error_limit",
    [],
    "Distance (rad or m) from the desired position that is a fault after following_error_time; empty: none is",
    POSITIVE_OR_INFINITE,
)
FOLLOWING_ERROR_TIME = RunNumber(
    "following_error_time", 0.1, "Seconds for which a joint may be further off than following_error_limit", NOT_NEGATIVE
)
SATURATION_TIMEOUT = RunNumber(
    "saturation_timeout",
    1.0,
    "Seconds at an effort limit after which that is a fault; .inf: never",
    POSITIVE_OR_INFINITE,
)
HOLD_EFFORT_MARGIN = RunNumbers(
    "hold_effort_margin",
    [],
    "Largest effort (Nm or N) that hold adds to gravity's to keep the position; empty: a quarter of the effort limits",
    NOT_NEGATIVE_OR_INFINITE,
)
ACTIVATION_MAX_VELOCITY = RunNumber(
    "activation_max_velocity",
    0.1,
    "Speed (rad/s or m/s) of a joint above which activation is refused; .inf: not checked",
    NOT_NEGATIVE_OR_INFINITE,
)
STOP_TIMEOUT = RunNumber(
    "stop_timeout",
    2.0,
    "Longest time (s) that deactivation and the end of the process take to stop the arm",
    NOT_NEGATIVE,
)
EMERGENCY_STOP_EFFECT = RunText(
    "emergency_stop_effect",
    "stop",
    "Command after an emergency stop: stop (decelerate by constraints.max_deceleration_on_cancel, then hold; zero "
    "stays zero) or zero (at once)",
    choices=("stop", "zero"),
)
OBSERVER_GAIN = RunNumber(
    "observer.gain", 0.0, "Bandwidth (1/s) of the observer of external torques; 0: no observer", NOT_NEGATIVE
)
COLLISION_THRESHOLD = RunNumbers(
    "observer.collision_threshold",
    [],
    "External torque (Nm or N) that is a fault, with the observer on; empty: none is",
    POSITIVE,
)

ALL: tuple[Parameter[Any], ...] = (
    *parameters.ROBOT,
    parameters.EXECUTOR,
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
