"""Controller without ROS: control laws, trajectories, estimate of the state, checks, safety and limits.

Imports ``dynamics`` and ``base``, and reads no clock. Start with ``controller``: its method ``_cycle`` goes from the
measured state to the command (docs/control_core.md).
"""

from robot_dynamics_ros.control.configuration.settings import ControllerSettings
from robot_dynamics_ros.control.controller import Controller
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.control.session import ControllerSession
from robot_dynamics_ros.control.trajectory.trajectory import Trajectory

__all__ = [
    "LAWS",
    "Controller",
    "ControllerSession",
    "ControllerSettings",
    "Trajectory",
]
