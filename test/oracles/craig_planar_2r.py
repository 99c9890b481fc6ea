"""Planar 2R arm with a point mass at the end of each link.

J. Craig, Introduction to Robotics (3rd ed., 2005), section 6.7; also the RR example of the lecture ME5118,
pp. 20-29. Gravity acts along -Y0, in the plane of motion.
"""

from dataclasses import dataclass

import numpy as np

from oracles.lagrange import Array, Complex


@dataclass(frozen=True)
class Parameters:
    """Lengths l (m), masses m (kg), gravity g (m/s^2)."""

    l1: float
    l2: float
    m1: float
    m2: float
    g: float = 9.81


def mass_matrix(p: Parameters, q: Array) -> Array:
    """Craig (6.60), kg m^2."""
    c2 = np.cos(q[1])
    m11 = p.l2**2 * p.m2 + 2 * p.l1 * p.l2 * p.m2 * c2 + p.l1**2 * (p.m1 + p.m2)
    m12 = p.l2**2 * p.m2 + p.l1 * p.l2 * p.m2 * c2
    return np.array([[m11, m12], [m12, p.l2**2 * p.m2]])


def velocity_terms(p: Parameters, q: Array, qd: Array) -> Array:
    """Craig (6.61), N m."""
    h = p.m2 * p.l1 * p.l2 * np.sin(q[1])
    return np.array([-h * qd[1] ** 2 - 2 * h * qd[0] * qd[1], h * qd[0] ** 2])


def coriolis_and_centrifugal(p: Parameters, q: Array) -> tuple[Array, Array]:
    """Craig (6.66)-(6.68): B (2, 1) on [qd1 qd2] and C (2, 2) on [qd1^2, qd2^2].

    V = B [qd1 qd2] + C [qd1^2, qd2^2].
    """
    h = p.m2 * p.l1 * p.l2 * np.sin(q[1])
    return np.array([[-2 * h], [0.0]]), np.array([[0.0, -h], [h, 0.0]])


def gravity(p: Parameters, q: Array) -> Array:
    """Craig (6.62), N m."""
    outer = p.m2 * p.l2 * p.g * np.cos(q[0] + q[1])
    return np.array([outer + (p.m1 + p.m2) * p.l1 * p.g * np.cos(q[0]), outer])


def torque(p: Parameters, q: Array, qd: Array, qdd: Array) -> Array:
    """Craig (6.58), N m."""
    c1 = np.cos(q[0])
    c2 = np.cos(q[1])
    s2 = np.sin(q[1])
    c12 = np.cos(q[0] + q[1])
    tau1 = (
        p.m2 * p.l2**2 * (qdd[0] + qdd[1])
        + p.m2 * p.l1 * p.l2 * c2 * (2 * qdd[0] + qdd[1])
        + (p.m1 + p.m2) * p.l1**2 * qdd[0]
        - p.m2 * p.l1 * p.l2 * s2 * qd[1] ** 2
        - 2 * p.m2 * p.l1 * p.l2 * s2 * qd[0] * qd[1]
        + p.m2 * p.l2 * p.g * c12
        + (p.m1 + p.m2) * p.l1 * p.g * c1
    )
    tau2 = (
        p.m2 * p.l1 * p.l2 * c2 * qdd[0]
        + p.m2 * p.l1 * p.l2 * s2 * qd[0] ** 2
        + p.m2 * p.l2 * p.g * c12
        + p.m2 * p.l2**2 * (qdd[0] + qdd[1])
    )
    return np.array([tau1, tau2])


def kinetic_energy(p: Parameters, q: Complex, qd: Complex) -> complex:
    """K of two point masses from their velocities, J."""
    vx = -p.l1 * np.sin(q[0]) * qd[0] - p.l2 * np.sin(q[0] + q[1]) * (qd[0] + qd[1])
    vy = p.l1 * np.cos(q[0]) * qd[0] + p.l2 * np.cos(q[0] + q[1]) * (qd[0] + qd[1])
    return complex(p.m1 * (p.l1 * qd[0]) ** 2 / 2 + p.m2 * (vx**2 + vy**2) / 2)


def potential_energy(p: Parameters, q: Complex) -> complex:
    """U over the height Y0, J."""
    y1 = p.l1 * np.sin(q[0])
    return complex(p.g * (p.m1 * y1 + p.m2 * (y1 + p.l2 * np.sin(q[0] + q[1]))))
