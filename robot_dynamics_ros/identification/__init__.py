"""Parameters from recordings: what the motors gave, what the model says of it, and which model says it best."""

from robot_dynamics_ros.identification.dynamics_output import dynamics_document, write_dynamics_file
from robot_dynamics_ros.identification.estimate import Identification, identify

__all__ = ["Identification", "dynamics_document", "identify", "write_dynamics_file"]
