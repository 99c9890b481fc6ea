"""The controller without ROS: on a recording (replay), or on a simulated robot; generated motions and their files.

Imports ``recordings``, ``simulation``, ``control`` and what is below them. Start with ``replay``, which reads a bag,
runs a controller session with its inputs, and writes the result.
"""

from robot_dynamics_ros.runs.recorder import Replay
from robot_dynamics_ros.runs.replay import replay
from robot_dynamics_ros.runs.simulation import simulate_to_bag

__all__ = ["Replay", "replay", "simulate_to_bag"]
