"""Rosbags, with and without ROS: written and read by the rosbags library."""

from robot_dynamics_ros.bags.reading import JointSeries, read_joint_states
from robot_dynamics_ros.bags.writing import BagWriter

__all__ = ["BagWriter", "JointSeries", "read_joint_states"]
