"""The parameters of ~/follow_joint_trajectory and ~/controller_state.

Names and meanings are joint_trajectory_controller's, but that its `constraints.<joint>.trajectory` and
`constraints.<joint>.goal` are lists here, in the order of the joints, which are known only with the robot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from robot_dynamics_ros.control.goal_tolerances import Constraints, Tolerances
from robot_dynamics_ros.parameters.bounds import NOT_NEGATIVE, RATE
from robot_dynamics_ros.parameters.kinds import Number, Numbers, Parameter, Values

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

GOAL: tuple[Parameter[Any], ...] = (
    STOPPED_VELOCITY_TOLERANCE,
    GOAL_TIME,
    PATH_TOLERANCE,
    GOAL_TOLERANCE,
    ACTION_MONITOR_RATE,
    STATE_PUBLISH_RATE,
)


def read_tolerances(values: Values, joint_names: Sequence[str]) -> Tolerances:
    """Return the tolerances of goals; RobotDynamicsError names the parameter, its value and the cure."""
    constraints = Constraints(
        stopped_velocity_tolerance=STOPPED_VELOCITY_TOLERANCE.read(values),
        goal_time=GOAL_TIME.read(values),
        path_tolerance=PATH_TOLERANCE.read(values),
        goal_tolerance=GOAL_TOLERANCE.read(values),
    )
    return Tolerances.default(constraints, joint_names)
