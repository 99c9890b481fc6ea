"""The stand-in plant: friction that sticks, integrators, and the plant's state. No ROS, no clock."""

from robot_dynamics_ros.simulation.plant import Plant

__all__ = ["Plant"]
