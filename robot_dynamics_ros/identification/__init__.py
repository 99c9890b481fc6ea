"""Parameters from recordings: measured torques, the model's torques, and the model that fits best."""

from robot_dynamics_ros.identification.dynamics_output import dynamics_document, write_dynamics_file
from robot_dynamics_ros.identification.estimate import Identification, identify

__all__ = ["Identification", "dynamics_document", "identify", "write_dynamics_file"]
