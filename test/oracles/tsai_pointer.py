"""Pointer with two joints that intersect: Tsai, Robot Analysis (Wiley, 1999), chapter 9, exercises 7 and 10.

Derived here, as the book prints no answers. Joint 1 turns about the upward z0; link 1 has no inertia; link 2 is a
slender rod from O whose elevation is theta2. Gravity is [0, 0, -g].
"""

from dataclasses import dataclass

import numpy as np

from oracles.lagrange import Array, Complex


@dataclass(frozen=True)
class Parameters:
    """Length l (m) and mass m (kg) of the rod, gravity g (m/s^2)."""

    length: float
    m: float
    g: float = 9.81


def mass_matrix(p: Parameters, q: Array) -> Array:
    """kg m^2."""
    i = p.m * p.length**2 / 3
    return np.diag([i * np.cos(q[1]) ** 2, i])


def velocity_terms(p: Parameters, q: Array, qd: Array) -> Array:
    """Coriolis torque at joint 1, centrifugal at joint 2, N m."""
    h = p.m * p.length**2 / 3 * np.sin(q[1]) * np.cos(q[1])
    return np.array([-2 * h * qd[0] * qd[1], h * qd[0] ** 2])


def gravity(p: Parameters, q: Array) -> Array:
    """N m."""
    return np.array([0.0, p.m * p.g * p.length / 2 * np.cos(q[1])])


def kinetic_energy(p: Parameters, q: Complex, qd: Complex) -> complex:
    """Half of rho v^2 over the rod, by Simpson's rule, which is exact here, J."""
    s1 = np.sin(q[0])
    c1 = np.cos(q[0])
    s2 = np.sin(q[1])
    c2 = np.cos(q[1])
    tip = p.length * np.array(
        [
            -s1 * c2 * qd[0] - c1 * s2 * qd[1],
            c1 * c2 * qd[0] - s1 * s2 * qd[1],
            c2 * qd[1],
        ]
    )
    return complex(p.m / 2 * (4 * (tip / 2) @ (tip / 2) + tip @ tip) / 6)


def potential_energy(p: Parameters, q: Complex) -> complex:
    """J."""
    return complex(p.m * p.g * p.length / 2 * np.sin(q[1]))
