"""Parameters of computed_torque_node, and their JSON text in bags."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from robot_dynamics_ros.base import parameters
from robot_dynamics_ros.base.parameters.kinds import (
    ANY,
    NOT_NEGATIVE,
    RATE,
    Flag,
    Number,
    Numbers,
    Parameter,
    Text,
    TopicNames,
    Values,
    WholeNumber,
)
from robot_dynamics_ros.base.resources import package_version
from robot_dynamics_ros.control.configuration import settings

# Read once, when the process starts

AUTOSTART = Flag(
    "autostart",
    True,
    "Configure and activate when the robot description is known",
    when="start",
)
REALTIME_PRIORITY = WholeNumber(
    "realtime_priority",
    0,
    "Real-time priority (SCHED_FIFO) from the first activation on; 0: none",
    0,
    99,
    when="start",
)
LOCK_MEMORY = Flag(
    "lock_memory",
    False,
    "Lock memory in RAM, as page faults delay cycles",
    when="start",
)

# Read when the node is configured, with the robot's parameters

GRAVITY = Numbers(
    "gravity",
    [],
    "Acceleration of gravity (m/s^2) in the root frame; empty: that of the dynamics file, or else 0 0 -9.81",
    ANY,
    "three of them",
    3,
)
ACTIVATION_CHECK = Flag(
    "activation_check",
    True,
    "Before activation, compare measured efforts, if reported, with the gravity torque, and refuse to activate with a "
    "wrong sign, a wrong order of the joints or doubled gravity",
)
EXCLUSIVE_TOPICS = Flag(
    "exclusive_topics",
    False,
    "true: refuse to activate if other nodes publish effort_commands, or several publish joint_states or the same "
    "emergency stop; false: warn",
)
EMERGENCY_STOP_TOPICS = TopicNames(
    "emergency_stop_topics",
    [],
    "Full names of the topics (std_msgs/Bool) of further emergency stops beside ~/emergency_stop, one for each button",
)
BLACK_BOX_SECONDS = Number(
    "black_box_seconds",
    10.0,
    "Duration (s) of the inputs and outputs in the bag of a fault; 0: no bag",
    NOT_NEGATIVE,
)
BLACK_BOX_DIRECTORY = Text(
    "black_box_directory",
    "",
    "Directory of the bags of faults; empty: that of the ROS logs (ROS_LOG_DIR)",
)

# Goals of ~/follow_joint_trajectory, ~/controller_state and deactivation

STOPPED_VELOCITY_TOLERANCE = Number(
    "constraints.stopped_velocity_tolerance",
    0.01,
    "Velocity tolerance (rad/s or m/s) at the end of a goal's trajectory; 0: not checked",
    NOT_NEGATIVE,
    when="run",
)
GOAL_TIME = Number(
    "constraints.goal_time",
    0.0,
    "Time (s) to arrive after the end of a goal; 0: unlimited",
    NOT_NEGATIVE,
    when="run",
)
PATH_TOLERANCE = Numbers(
    "constraints.path_tolerance",
    [],
    "Position tolerance (rad or m) during a goal's trajectory; 0 or empty: not checked",
    NOT_NEGATIVE,
    when="run",
)
GOAL_TOLERANCE = Numbers(
    "constraints.goal_tolerance",
    [],
    "Position tolerance (rad or m) at the end of a goal's trajectory; 0 or empty: not checked",
    NOT_NEGATIVE,
    when="run",
)
ACTION_MONITOR_RATE = Number(
    "action_monitor_rate",
    20.0,
    "Rate (Hz) of the feedback of ~/follow_joint_trajectory goals",
    RATE,
)
STATE_PUBLISH_RATE = Number(
    "state_publish_rate", 50.0, "Rate (Hz) of ~/controller_state", RATE
)
STOP_TIMEOUT = Number(
    "stop_timeout",
    2.0,
    "Longest time (s) to stop the arm at deactivation and shutdown",
    NOT_NEGATIVE,
    when="run",
)

ALL: tuple[Parameter[Any], ...] = (
    *parameters.ROBOT,
    parameters.EXECUTOR,
    *(value for value in list(globals().values()) if isinstance(value, Parameter)),
    *(
        parameter
        for group in settings.CLASSES
        for parameter in group.parameters().values()
    ),
)
"""All parameters: those of every robot, those above and those of the settings."""

_FILES = (
    parameters.ROBOT_DESCRIPTION.name,
    parameters.URDF.name,
    parameters.DYNAMICS_FILE.name,
)
_DEFAULTS = {parameter.name: parameter.default for parameter in ALL}

CONFIGURATION_TOPIC = "configuration"
USE_SIM_TIME = "use_sim_time"


@dataclass(frozen=True)
class Configuration:
    """Robot and parameters of a controller, for bags.

    Attributes
    ----------
    version
        Version of this package that wrote the configuration.
    robot_description
        URDF.
    dynamics_file
        Content of the dynamics file; empty: none.
    parameters
        All other parameters of computed_torque_node by name.
    """

    version: str
    robot_description: str
    dynamics_file: str
    parameters: Mapping[str, object]

    @classmethod
    def of(
        cls, values: Values, robot_description: str, dynamics_file: str
    ) -> Configuration:
        """Return the configuration of a robot and its parameters; RobotDynamicsError names an invalid parameter.

        ``values`` returns the value of a parameter by name. ``robot_description`` is the URDF,
        ``dynamics_file`` the content of the dynamics file, or "".
        """
        others = {
            parameter.name: parameter.read(values)
            for parameter in ALL
            if parameter.name not in _FILES
        }
        # a parameter of all ROS nodes
        others[USE_SIM_TIME] = values(USE_SIM_TIME) is True
        return cls(package_version(), robot_description, dynamics_file, others)

    @classmethod
    def parse(cls, text: str) -> Configuration | None:
        """Parse a JSON object with the keys version, robot_description, dynamics_file (texts) and parameters (object).

        Returns None if ``text`` is not JSON, lacks one of the keys, or one has another type.
        """
        try:
            content = json.loads(text)
            version, urdf, dynamics = (
                content[key]
                for key in ("version", "robot_description", "dynamics_file")
            )
            # A bag must not refer to files of this machine.
            others = {
                name: value
                for name, value in content["parameters"].items()
                if name not in _FILES
            }
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            return None
        texts = all(isinstance(text, str) for text in (version, urdf, dynamics))
        return cls(version, urdf, dynamics, others) if texts else None

    def text(self) -> str:
        """Return the configuration as JSON, with Infinity for infinite numbers; ``parse`` reads it."""
        return json.dumps(asdict(self), indent=1)

    @property
    def emergency_stop_topics(self) -> tuple[str, ...]:
        """Names of the topics of further emergency stops; RobotDynamicsError if the parameter is invalid."""
        return tuple(EMERGENCY_STOP_TOPICS.read(self.values))

    @property
    def simulated_time(self) -> bool:
        """True if the controller's clock was /clock."""
        return self.parameters.get(USE_SIM_TIME) is True

    def values(self, name: str) -> object:
        """Return the value of a parameter of computed_torque_node, or its default; None for an unknown name."""
        return self.parameters.get(name, _DEFAULTS.get(name))
