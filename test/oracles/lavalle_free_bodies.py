"""Bodies without links: S. LaValle, Planning Algorithms, examples 13.11 (falling particle) and 13.12 (planar body).

As robots they are massless slides that carry the body. The print of (13.132) ends in a stray "= 0".
"""

from dataclasses import dataclass

import numpy as np

from oracles.lagrange import Array


@dataclass(frozen=True)
class Parameters:
    """Mass m (kg), moment of inertia i about the centre (kg m^2), gravity g (m/s^2)."""

    m: float
    i: float
    g: float = 9.81


def particle_torque(p: Parameters, qdd: Array) -> Array:
    """Forces on x, y, z: (13.135) with u on the right as in (13.136), N."""
    return np.array([p.m * qdd[0], p.m * qdd[1], p.m * qdd[2] + p.m * p.g])


def body_torque(p: Parameters, qdd: Array) -> Array:
    """(13.139): forces on x and y (N), torque on theta (N m); no gravity."""
    return np.array([p.m * qdd[0], p.m * qdd[1], p.i * qdd[2]])
