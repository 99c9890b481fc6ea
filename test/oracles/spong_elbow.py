"""Planar elbow: Spong, section 9.4, (9.74)-(9.88), Figure 9.7, and its parameters, example 9.3, (9.121)-(9.133).

Gravity is (0, -g) in the plane. The print of example 9.3 has Theta_3 = m2 l1 lc2 for m2 lc2^2 + I2 (9.124),
Theta_5 = m2 l2 for m2 lc2 (9.129), no g in (9.131), and in (9.132) qd1^2 - 2 qd1 qd2 beside sin q2 in row 1 for
-(qd2^2 + 2 qd1 qd2), and qdd2 beside Theta_3 in row 2 for qdd1 + qdd2.
"""

import numpy as np

from oracles.lagrange import Array, Complex
from oracles.spong_remotely_driven_elbow import Parameters

__all__ = ["Parameters"]


def mass_matrix(p: Parameters, q: Array) -> Array:
    """D of (9.82)."""
    c2 = np.cos(q[1])
    d11 = (
        p.m1 * p.lc1**2
        + p.m2 * (p.l1**2 + p.lc2**2 + 2 * p.l1 * p.lc2 * c2)
        + p.i1
        + p.i2
    )
    d12 = p.m2 * (p.lc2**2 + p.l1 * p.lc2 * c2) + p.i2
    return np.array([[d11, d12], [d12, p.m2 * p.lc2**2 + p.i2]])


def coriolis_matrix(p: Parameters, q: Array, qd: Array) -> Array:
    """C of (9.88) with h of (9.83)."""
    h = -p.m2 * p.l1 * p.lc2 * np.sin(q[1])
    return np.array([[h * qd[1], h * qd[1] + h * qd[0]], [-h * qd[0], 0.0]])


def velocity_terms(p: Parameters, q: Array, qd: Array) -> Array:
    """Those of (9.87), N m."""
    h = -p.m2 * p.l1 * p.lc2 * np.sin(q[1])
    return np.array([2 * h * qd[0] * qd[1] + h * qd[1] ** 2, -h * qd[0] ** 2])


def gravity(p: Parameters, q: Array) -> Array:
    """phi of (9.85) and (9.86), N m."""
    outer = p.m2 * p.lc2 * p.g * np.cos(q[0] + q[1])
    return np.array([(p.m1 * p.lc1 + p.m2 * p.l1) * p.g * np.cos(q[0]) + outer, outer])


def regressor(p: Parameters, q: Array, qd: Array, qdd: Array) -> Array:
    """Y of (9.132), corrected, (2, 5); of p it takes g alone."""
    c2 = np.cos(q[1])
    s2 = np.sin(q[1])
    g1 = p.g * np.cos(q[0])
    g12 = p.g * np.cos(q[0] + q[1])
    return np.array(
        [
            [
                qdd[0],
                c2 * (2 * qdd[0] + qdd[1]) - s2 * (qd[1] ** 2 + 2 * qd[0] * qd[1]),
                qdd[1],
                g1,
                g12,
            ],
            [0.0, c2 * qdd[0] + s2 * qd[0] ** 2, qdd[0] + qdd[1], 0.0, g12],
        ]
    )


def parameters(p: Parameters) -> Array:
    """Theta of (9.133), corrected, (5,)."""
    theta1 = p.m1 * p.lc1**2 + p.m2 * (p.l1**2 + p.lc2**2) + p.i1 + p.i2
    return np.array(
        [
            theta1,
            p.m2 * p.l1 * p.lc2,
            p.m2 * p.lc2**2 + p.i2,
            p.m1 * p.lc1 + p.m2 * p.l1,
            p.m2 * p.lc2,
        ]
    )


def kinetic_energy(p: Parameters, q: Complex, qd: Complex) -> complex:
    """From the Jacobians (9.75), (9.77) and the rates (9.79), J."""
    w = qd[0] + qd[1]
    vx = -p.l1 * np.sin(q[0]) * qd[0] - p.lc2 * np.sin(q[0] + q[1]) * w
    vy = p.l1 * np.cos(q[0]) * qd[0] + p.lc2 * np.cos(q[0] + q[1]) * w
    k: complex = p.m1 * (p.lc1 * qd[0]) ** 2 / 2 + p.m2 * (vx**2 + vy**2) / 2
    k += (p.i1 * qd[0] ** 2 + p.i2 * w**2) / 2
    return k


def potential_energy(p: Parameters, q: Complex) -> complex:
    """P of (9.84), J."""
    return (p.m1 * p.lc1 + p.m2 * p.l1) * p.g * np.sin(
        q[0]
    ) + p.m2 * p.lc2 * p.g * np.sin(q[0] + q[1])
