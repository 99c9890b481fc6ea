"""RP arm in a vertical plane.

J. Craig, Introduction to Robotics (3rd ed., 2005), example 6.5; the lecture ME5118, pp. 33-35.

Joint 1 turns, joint 2 slides radially; q = (theta1, d2). The centre of link 1 is at l1 from the axis, that
of link 2 at d2. The inertias of (6.78) are central; only their zz entries act.
"""

from dataclasses import dataclass

import numpy as np

from oracles.lagrange import Array, Complex


@dataclass(frozen=True)
class Parameters:
    """Distance l1 (m), masses m (kg), central inertias izz (kg m^2), gravity g (m/s^2)."""

    l1: float
    m1: float
    m2: float
    izz1: float
    izz2: float
    g: float = 9.81


def mass_matrix(p: Parameters, q: Array) -> Array:
    """Craig example 6.5, M(theta) below (6.89)."""
    return np.array(
        [[p.m1 * p.l1**2 + p.izz1 + p.izz2 + p.m2 * q[1] ** 2, 0.0], [0.0, p.m2]]
    )


def velocity_terms(p: Parameters, q: Array, qd: Array) -> Array:
    """Craig example 6.5, V below (6.89)."""
    return np.array([2 * p.m2 * q[1] * qd[0] * qd[1], -p.m2 * q[1] * qd[0] ** 2])


def gravity(p: Parameters, q: Array) -> Array:
    """Craig example 6.5, G below (6.89)."""
    return np.array(
        [(p.m1 * p.l1 + p.m2 * q[1]) * p.g * np.cos(q[0]), p.m2 * p.g * np.sin(q[0])]
    )


def torque(p: Parameters, q: Array, qd: Array, qdd: Array) -> Array:
    """Craig (6.89): a torque (N m) and a force (N)."""
    tau1 = (
        (p.m1 * p.l1**2 + p.izz1 + p.izz2 + p.m2 * q[1] ** 2) * qdd[0]
        + 2 * p.m2 * q[1] * qd[0] * qd[1]
        + (p.m1 * p.l1 + p.m2 * q[1]) * p.g * np.cos(q[0])
    )
    return np.array(
        [tau1, p.m2 * qdd[1] - p.m2 * q[1] * qd[0] ** 2 + p.m2 * p.g * np.sin(q[0])]
    )


def kinetic_energy(p: Parameters, q: Complex, qd: Complex) -> complex:
    """K from the velocity of each centre in the plane, J."""
    vx = qd[1] * np.cos(q[0]) - q[1] * np.sin(q[0]) * qd[0]
    vy = qd[1] * np.sin(q[0]) + q[1] * np.cos(q[0]) * qd[0]
    return complex(
        p.m1 * (p.l1 * qd[0]) ** 2 / 2
        + p.m2 * (vx**2 + vy**2) / 2
        + (p.izz1 + p.izz2) * qd[0] ** 2 / 2
    )


def potential_energy(p: Parameters, q: Complex) -> complex:
    """U over the height of the joint, J (Craig adds a constant)."""
    return (p.m1 * p.l1 + p.m2 * q[1]) * p.g * np.sin(q[0])
