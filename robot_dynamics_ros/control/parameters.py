"""The parameters of computed_torque_node, and the text by which bags carry them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from robot_dynamics_ros import __version__, parameters
from robot_dynamics_ros.control.settings import settings_parameters
from robot_dynamics_ros.parameters.kinds import (
    ANY,
    NOT_NEGATIVE,
    RATE,
    Flag,
    Number,
    Numbers,
    Parameter,
    Text,
    Values,
    WholeNumber,
)

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

# Read when the node is configured, beside those of the robot

GRAVITY = Numbers(
    "gravity",
    [],
    "Acceleration of gravity (m/s^2) in the root frame; empty: the dynamics file's, else 0 0 -9.81",
    ANY,
    "three of them",
    3,
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

# Goals of ~/follow_joint_trajectory, ~/controller_state and the end

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
STOP_TIMEOUT = Number(
    "stop_timeout",
    2.0,
    "Longest time (s) that deactivation and the end of the process take to stop the arm",
    NOT_NEGATIVE,
    when="run",
)

ALL: tuple[Parameter[Any], ...] = (
    *parameters.ROBOT,
    parameters.EXECUTOR,
    *(value for value in list(globals().values()) if isinstance(value, Parameter)),
    *settings_parameters(),
)
"""Each of them: those of every robot, those above in their order, and those of the controller's settings."""

_FILES = (parameters.ROBOT_DESCRIPTION, parameters.DYNAMICS_FILE)
_DEFAULTS = {parameter.name: parameter.default for parameter in ALL}

CONFIGURATION_TOPIC = "configuration"


@dataclass(frozen=True)
class Configuration:
    """The robot and the parameters of a controller.

    Attributes
    ----------
    version
        The version of this package that wrote it.
    robot_description
        The URDF.
    dynamics_file
        The content of the dynamics file; empty: none.
    parameters
        All other parameters of computed_torque_node, by name.
    """

    version: str
    robot_description: str
    dynamics_file: str
    parameters: Mapping[str, object]

    @classmethod
    def of(cls, values: Values, robot_description: str, dynamics_file: str) -> Configuration:
        """Return the configuration of these texts and values; RobotDynamicsError names a parameter that is wrong."""
        others = {parameter.name: parameter.read(values) for parameter in ALL if parameter not in _FILES}
        return cls(__version__, robot_description, dynamics_file, others)

    @classmethod
    def parse(cls, text: str) -> Configuration | None:
        """Return what ``text`` writes; None where it is no configuration."""
        try:
            content = json.loads(text)
            version, urdf, dynamics = (content[key] for key in ("version", "robot_description", "dynamics_file"))
            others = dict(content["parameters"])
            for parameter in _FILES:
                others.pop(parameter.name, None)  # no bag names files of this machine
        except (ValueError, TypeError, LookupError, RecursionError):
            return None
        texts = isinstance(version, str) and isinstance(urdf, str) and isinstance(dynamics, str)
        return cls(version, urdf, dynamics, others) if texts else None

    def text(self) -> str:
        """Return JSON, in which an infinite number is Infinity."""
        return json.dumps(asdict(self), indent=1)

    def values(self, name: str) -> object:
        """Return the value of a parameter of computed_torque_node, its default where the text does not name it."""
        return self.parameters.get(name, _DEFAULTS.get(name))
