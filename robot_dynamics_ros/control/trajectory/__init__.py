"""Trajectories: points, interpolation, goals and generators."""

from robot_dynamics_ros.control.trajectory.points import TrajectoryPoints
from robot_dynamics_ros.control.trajectory.trajectory import Trajectory

__all__ = ["Trajectory", "TrajectoryPoints"]
