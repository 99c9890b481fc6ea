"""Parameters from recordings: measured torques, the model's torques, and the model that fits best."""

from robot_dynamics_ros.identification.estimate import (
    Identification,
    dynamics_document,
    identify,
    write_dynamics_file,
)

__all__ = ["Identification", "dynamics_document", "identify", "write_dynamics_file"]
