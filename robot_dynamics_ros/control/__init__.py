"""Controller without ROS: control laws, trajectories, limits, external torque observer and safety."""

from robot_dynamics_ros.control.controller import Controller
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.control.session import ControllerSession
from robot_dynamics_ros.control.settings import ControllerSettings
from robot_dynamics_ros.control.trajectory.trajectory import Trajectory

__all__ = ["LAWS", "Controller", "ControllerSession", "ControllerSettings", "Trajectory"]
