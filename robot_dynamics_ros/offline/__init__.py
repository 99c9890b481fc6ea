"""The controller without ROS: on a recording, or on a simulated robot."""

from robot_dynamics_ros.offline.recorder import Replay
from robot_dynamics_ros.offline.replay import replay
from robot_dynamics_ros.offline.simulation import simulate_to_bag

__all__ = ["Replay", "replay", "simulate_to_bag"]
