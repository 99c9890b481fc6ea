"""Spatial 3R arm with a point mass: Tsai, Robot Analysis (Wiley, 1999), chapter 9, exercises 9 and 12, Fig. 9.12.

Derived here, as the book prints no answers, with the first two axes intersecting in O, z0 upwards, lengths a2 and a3
along x2 and x3, the mass at the end of a3 and elevations theta2, theta2 + theta3. Gravity is [0, 0, -g]. The links have
no mass.
"""

from dataclasses import dataclass

import numpy as np

from oracles.lagrange import Array, Complex


@dataclass(frozen=True)
class Parameters:
    """Lengths a (m), mass m (kg), gravity g (m/s^2)."""

    a2: float
    a3: float
    m: float
    g: float = 9.81


def mass_matrix(p: Parameters, q: Array) -> Array:
    """kg m^2."""
    reach = p.a2 * np.cos(q[1]) + p.a3 * np.cos(q[1] + q[2])
    h = p.a2 * p.a3 * np.cos(q[2])
    m22 = p.a2**2 + p.a3**2 + 2 * h
    m23 = p.a3**2 + h
    return p.m * np.array([[reach**2, 0.0, 0.0], [0.0, m22, m23], [0.0, m23, p.a3**2]])


def velocity_terms(p: Parameters, q: Array, qd: Array) -> Array:
    """N m."""
    reach = p.a2 * np.cos(q[1]) + p.a3 * np.cos(q[1] + q[2])
    forearm = p.a3 * np.sin(q[1] + q[2])
    height = p.a2 * np.sin(q[1]) + forearm
    h = p.a2 * p.a3 * np.sin(q[2])
    return p.m * np.array(
        [
            -2 * reach * qd[0] * (height * qd[1] + forearm * qd[2]),
            reach * height * qd[0] ** 2 - h * qd[2] * (2 * qd[1] + qd[2]),
            reach * forearm * qd[0] ** 2 + h * qd[1] ** 2,
        ]
    )


def gravity(p: Parameters, q: Array) -> Array:
    """N m."""
    outer = p.a3 * np.cos(q[1] + q[2])
    return p.m * p.g * np.array([0.0, p.a2 * np.cos(q[1]) + outer, outer])


def kinetic_energy(p: Parameters, q: Complex, qd: Complex) -> complex:
    """In cylindrical coordinates, J."""
    reach = p.a2 * np.cos(q[1]) + p.a3 * np.cos(q[1] + q[2])
    out = -p.a2 * np.sin(q[1]) * qd[1] - p.a3 * np.sin(q[1] + q[2]) * (qd[1] + qd[2])
    up = p.a2 * np.cos(q[1]) * qd[1] + p.a3 * np.cos(q[1] + q[2]) * (qd[1] + qd[2])
    return complex(p.m / 2 * ((reach * qd[0]) ** 2 + out**2 + up**2))


def potential_energy(p: Parameters, q: Complex) -> complex:
    """J."""
    return complex(p.m * p.g * (p.a2 * np.sin(q[1]) + p.a3 * np.sin(q[1] + q[2])))
