"""Identification of dynamic parameters from recordings: excitation, torque analysis, estimation."""

from robot_dynamics_ros.analysis.identification.estimate import Identification, identify
from robot_dynamics_ros.analysis.identification.identified_file import (
    dynamics_document,
    write_dynamics_file,
)

__all__ = ["Identification", "dynamics_document", "identify", "write_dynamics_file"]
