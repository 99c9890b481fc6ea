"""Planar 2R arm of homogeneous thin links.

L.-W. Tsai, Robot Analysis (Wiley, 1999), examples 9.7.1 and 9.8.1.

Both joints turn about z0, link i lies along x_i, gravity is [0, -g, 0] in the base frame (the plane of motion is
vertical). The centre of mass of each link is half-way, its inertia m a^2/12 diag(0, 1, 1) in link axes (9.104).
"""

from dataclasses import dataclass

import numpy as np

from oracles.lagrange import Array, Complex


@dataclass(frozen=True)
class Parameters:
    """Lengths a (m), masses m (kg), gravity g (m/s^2)."""

    a1: float
    a2: float
    m1: float
    m2: float
    g: float = 9.81


def mass_matrix(p: Parameters, q: Array) -> Array:
    """Tsai (9.114), kg m^2."""
    c2 = np.cos(q[1])
    m11 = p.m1 * p.a1**2 / 3 + p.m2 * (p.a1**2 + p.a1 * p.a2 * c2 + p.a2**2 / 3)
    m12 = p.m2 * (p.a1 * p.a2 * c2 / 2 + p.a2**2 / 3)
    return np.array([[m11, m12], [m12, p.m2 * p.a2**2 / 3]])


def velocity_coupling(p: Parameters, q: Array, qd: Array) -> Array:
    """Tsai (9.115)-(9.116), N m."""
    h = p.m2 * p.a1 * p.a2 * np.sin(q[1])
    return np.array([-h * (qd[0] * qd[1] + qd[1] ** 2 / 2), h * qd[0] ** 2 / 2])


def gravity(p: Parameters, q: Array) -> Array:
    """Tsai (9.117)-(9.118), N m."""
    c1 = np.cos(q[0])
    c12 = np.cos(q[0] + q[1])
    g1 = (
        p.m1 * p.g * p.a1 * c1 / 2
        + p.m2 * p.g * p.a1 * c1
        + p.m2 * p.g * p.a2 * c12 / 2
    )
    return np.array([g1, p.m2 * p.g * p.a2 * c12 / 2])


def torque(p: Parameters, q: Array, qd: Array, qdd: Array) -> Array:
    """Tsai (9.73)-(9.74), N m, written out as printed."""
    c1 = np.cos(q[0])
    c2 = np.cos(q[1])
    s2 = np.sin(q[1])
    c12 = np.cos(q[0] + q[1])
    tau1 = (
        ((p.m1 / 3 + p.m2) * p.a1**2 + p.m2 * p.a1 * p.a2 * c2 + p.m2 * p.a2**2 / 3)
        * qdd[0]
        + (p.m2 * p.a1 * p.a2 * c2 / 2 + p.m2 * p.a2**2 / 3) * qdd[1]
        - p.m2 * p.a1 * p.a2 * s2 * (qd[0] * qd[1] + qd[1] ** 2 / 2)
        + p.g * ((p.m1 / 2 + p.m2) * p.a1 * c1 + p.m2 * p.a2 * c12 / 2)
    )
    tau2 = (
        (p.m2 * p.a1 * p.a2 * c2 / 2 + p.m2 * p.a2**2 / 3) * qdd[0]
        + p.m2 * p.a2**2 / 3 * qdd[1]
        + p.m2 * p.a1 * p.a2 * s2 * qd[0] ** 2 / 2
        + p.m2 * p.g * p.a2 * c12 / 2
    )
    return np.array([tau1, tau2])


def joint_forces(p: Parameters, q: Array, qd: Array, qdd: Array) -> tuple[Array, Array]:
    """Example 9.7.1, step (b).

    1f_10 and 2f_21, the forces (3,) that link i-1 exerts on link i, in the axes of link i, N.

    The force does not depend on the point of reference. Tsai's link frames sit at the distal joint, with
    the same axes as ours.
    """
    s1 = np.sin(q[0])
    c1 = np.cos(q[0])
    s2 = np.sin(q[1])
    c2 = np.cos(q[1])
    s12 = np.sin(q[0] + q[1])
    c12 = np.cos(q[0] + q[1])
    w = qd[0] + qd[1]
    alpha = qdd[0] + qdd[1]
    f1 = [
        p.m2
        * (-p.a1 * qd[0] ** 2 - p.a2 * w**2 * c2 / 2 - p.a2 * alpha * s2 / 2 + p.g * s1)
        + p.m1 * (-p.a1 * qd[0] ** 2 / 2 + p.g * s1),
        p.m2 * (p.a1 * qdd[0] - p.a2 * w**2 * s2 / 2 + p.a2 * alpha * c2 / 2 + p.g * c1)
        + p.m1 * (p.a1 * qdd[0] / 2 + p.g * c1),
        0.0,
    ]
    f2 = [
        p.m2 * (p.a1 * (qdd[0] * s2 - qd[0] ** 2 * c2) - p.a2 * w**2 / 2 + p.g * s12),
        p.m2 * (p.a1 * (qdd[0] * c2 + qd[0] ** 2 * s2) + p.a2 * alpha / 2 + p.g * c12),
        0.0,
    ]
    return np.array(f1), np.array(f2)


def kinetic_energy(p: Parameters, q: Complex, qd: Complex) -> complex:
    """K of two thin rods from the velocities of their centres, J; not from the book's M."""
    w = qd[0] + qd[1]
    v1 = p.a1 * qd[0] / 2
    v2x = -p.a1 * np.sin(q[0]) * qd[0] - p.a2 / 2 * np.sin(q[0] + q[1]) * w
    v2y = p.a1 * np.cos(q[0]) * qd[0] + p.a2 / 2 * np.cos(q[0] + q[1]) * w
    k: complex = p.m1 * v1**2 / 2 + p.m2 * (v2x**2 + v2y**2) / 2
    k += p.m1 * p.a1**2 / 24 * qd[0] ** 2 + p.m2 * p.a2**2 / 24 * w**2
    return k


def potential_energy(p: Parameters, q: Complex) -> complex:
    """U over the height y0, J."""
    y1 = p.a1 / 2 * np.sin(q[0])
    return complex(p.g * (p.m1 * y1 + p.m2 * (2 * y1 + p.a2 / 2 * np.sin(q[0] + q[1]))))
