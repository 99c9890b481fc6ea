"""Parameters of computed_torque_node."""

from __future__ import annotations

from typing import Any

from robot_dynamics_ros.base import parameters
from robot_dynamics_ros.base.parameters.kinds import (
    Parameter,
)
from robot_dynamics_ros.control.configuration import settings

ALL: tuple[Parameter[Any], ...] = (
    *parameters.ROBOT,
    parameters.EXECUTOR,
    *(
        parameter
        for group in settings.CLASSES
        for parameter in group.parameters().values()
    ),
)
"""All parameters: those of every robot, and those of the settings."""

_NODE = settings.NodeSettings.parameters()
GRAVITY = _NODE["gravity"]
ACTIVATION_CHECK = _NODE["activation_check"]
