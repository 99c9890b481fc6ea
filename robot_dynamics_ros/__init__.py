"""Computed-torque control of robot arms: exact dynamics from a URDF. Imports no ROS."""

from robot_dynamics_ros.errors import (
    BagError,
    RobotDynamicsError,
    RobotModelError,
    RobotModelWarning,
    TrajectoryError,
)
from robot_dynamics_ros.model import RobotModel

__version__ = "0.1.0"

__all__ = [
    "BagError",
    "RobotDynamicsError",
    "RobotModel",
    "RobotModelError",
    "RobotModelWarning",
    "TrajectoryError",
    "__version__",
]
