"""Contents of messages of states, trajectories and drive commands, as arrays and without their bytes.

Codecs create them and the controller uses them; neither knows the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_Array = NDArray[np.float64]


class Sample(NamedTuple):
    """Measured joint state.

    Attributes
    ----------
    stamp
        Time of measurement (ns since the epoch of the ROS clock); 0: not stamped.
    q, qd, effort
        Position (rad or m), velocity and effort (Nm or N), each (n,) in the robot's joint order; None: not measured.
    """

    stamp: int
    q: _Array
    qd: _Array | None
    effort: _Array | None


class DriveCommand(NamedTuple):
    """Command of drives with a loop of their own.

    Their torque is stiffness (position - q) + damping (velocity - qd) + effort. Each of the five is (n,), in the
    robot's joint order.

    Attributes
    ----------
    position, velocity
        Set points, rad or m, and rad/s or m/s.
    stiffness, damping
        Gains, at least 0: Nm/rad and Nms/rad, or N/m and Ns/m.
    effort
        Feedforward effort, Nm or N.
    """

    position: _Array
    velocity: _Array
    stiffness: _Array
    damping: _Array
    effort: _Array

    def torque(self, q: _Array, qd: _Array) -> _Array:
        """Return the torque (n,), Nm or N, at the position ``q`` (n,) and the velocity ``qd`` (n,), without limits."""
        feedback: _Array = self.stiffness * (self.position - q) + self.damping * (
            self.velocity - qd
        )
        return feedback + self.effort


FIELDS = ("positions", "velocities", "accelerations", "effort")
"""Names of the fields of a point in messages, and attributes of `TrajectoryPoints`."""


@dataclass(frozen=True, eq=False)
class TrajectoryPoints:
    """Content of a JointTrajectory message: m points of k joints, not validated.

    Attributes
    ----------
    joint_names
        Names of the k joints.
    times
        (m,): seconds from the start.
    positions, velocities, accelerations, effort
        (m, k), columns in the order of `joint_names`: rad or m, per s, per s^2; Nm or N. All but positions may be None.
    """

    joint_names: tuple[str, ...]
    times: _Array
    positions: _Array
    velocities: _Array | None = None
    accelerations: _Array | None = None
    effort: _Array | None = None
