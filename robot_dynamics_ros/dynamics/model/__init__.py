"""RobotModel from URDF and dynamics file: topology, placements, inertias, limits, friction, rotors."""

from robot_dynamics_ros.dynamics.model.robot_model import RobotModel

__all__ = ["RobotModel"]
