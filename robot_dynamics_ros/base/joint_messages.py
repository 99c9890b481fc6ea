"""Contents of messages of states, trajectories and drive commands, as arrays and without their bytes.

Codecs create them and the controller uses them; neither knows the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.base.errors import TrajectoryError

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

    @classmethod
    def from_rows(
        cls,
        joint_names: Iterable[str],
        times: Sequence[float],
        *fields: Sequence[Sequence[float]],
    ) -> TrajectoryPoints:
        """Create points from positions and further ``fields`` in the order of `FIELDS`, one row (k,) per point.

        A field other than the positions is absent if it has only empty rows or is not given. Raises TrajectoryError for
        a row of the wrong length and for a field that only some points have.
        """
        names = tuple(joint_names)
        tables: dict[str, _Array] = {}
        for field, rows in zip(FIELDS, fields, strict=False):
            if field != "positions" and not any(len(row) for row in rows):
                continue
            for i, row in enumerate(rows):
                if len(row) != len(names):
                    raise TrajectoryError(
                        f"point {i} has {len(row)} {field} for {len(names)} joint names. Cure: "
                        f"give one value for each joint in every point, or omit {field} in all points"
                    )
            # much faster than np.array on array.array rows
            numbers = chain.from_iterable(rows)
            tables[field] = np.fromiter(numbers, np.float64).reshape(
                len(rows), len(names)
            )
        return cls(names, np.array(times, dtype=np.float64), **tables)
