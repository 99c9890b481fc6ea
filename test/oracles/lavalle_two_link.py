"""Two-link manipulator: S. LaValle, Planning Algorithms, example 13.13, (13.149)-(13.161).

Gravity is (0, -g) in the plane. In print (13.149) lacks a square on l_1; (13.151) lacks m_2 and the dots on p;
(13.152) and (13.153) have theta_2 for theta_1 + theta_2; (13.157)-(13.160) write l_1 p_2 for d_1 sin theta_2; (13.158)
has p_1 and p_2 for cos theta_1 and cos(theta_1 + theta_2), m_1 l_2 p_2 for m_2 l_2 g cos(theta_1 + theta_2); (13.159)
has the wrong sign at lower left; (13.161) swaps m_21 and m_22.
"""

from dataclasses import dataclass

import numpy as np

from oracles.lagrange import Array, Complex


@dataclass(frozen=True)
class Parameters:
    """Length d1, distances l of the centres (m), masses m (kg), moments of inertia i about them (kg m^2)."""

    d1: float
    l1: float
    l2: float
    m1: float
    m2: float
    i1: float
    i2: float
    g: float = 9.81


def mass_matrix(p: Parameters, q: Array) -> Array:
    """(13.156), kg m^2."""
    c2 = np.cos(q[1])
    m11 = (
        p.i1 + p.m1 * p.l1**2 + p.i2 + p.m2 * (p.d1**2 + p.l2**2 + 2 * p.d1 * p.l2 * c2)
    )
    m12 = p.i2 + p.m2 * (p.l2**2 + p.d1 * p.l2 * c2)
    return np.array([[m11, m12], [m12, p.i2 + p.m2 * p.l2**2]])


def coriolis_matrix(p: Parameters, q: Array, qd: Array) -> Array:
    """(13.159), corrected."""
    r = p.m2 * p.d1 * p.l2 * np.sin(q[1])
    return np.array([[-r * qd[1], -r * (qd[0] + qd[1])], [r * qd[0], 0.0]])


def velocity_terms(p: Parameters, q: Array, qd: Array) -> Array:
    """Those of (13.161), N m."""
    r = p.m2 * p.d1 * p.l2 * np.sin(q[1])
    return np.array([-2 * r * qd[0] * qd[1] - r * qd[1] ** 2, r * qd[0] ** 2])


def gravity(p: Parameters, q: Array) -> Array:
    """(13.158), corrected, N m."""
    outer = p.m2 * p.l2 * p.g * np.cos(q[0] + q[1])
    return np.array([(p.m1 * p.l1 + p.m2 * p.d1) * p.g * np.cos(q[0]) + outer, outer])


def kinetic_energy(p: Parameters, q: Complex, qd: Complex) -> complex:
    """(13.149) and (13.151), corrected, J."""
    w = qd[0] + qd[1]
    px = -p.d1 * np.sin(q[0]) * qd[0] - p.l2 * np.sin(q[0] + q[1]) * w
    py = p.d1 * np.cos(q[0]) * qd[0] + p.l2 * np.cos(q[0] + q[1]) * w
    return (
        (p.m1 * p.l1**2 + p.i1) * qd[0] ** 2 / 2
        + p.m2 * (px**2 + py**2) / 2
        + p.i2 * w**2 / 2
    )


def potential_energy(p: Parameters, q: Complex) -> complex:
    """(13.150) and (13.153), corrected, J."""
    u: complex = p.m1 * p.g * p.l1 * np.sin(q[0])
    u += p.m2 * p.g * (p.d1 * np.sin(q[0]) + p.l2 * np.sin(q[0] + q[1]))
    return u
