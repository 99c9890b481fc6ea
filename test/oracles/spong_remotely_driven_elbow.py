"""Planar elbow whose second link is driven from the base: Spong, section 9.4, (9.89)-(9.95).

p1 and p2 are the angles of the two links against the base's x axis; both motors sit on the base, so that
the second turns link 2 whatever link 1 does. Gravity is (0, -g) in the plane. The print of (9.89) lacks the
sign of the first column of v_c2, which starts with -l_1 sin p1.
"""

from dataclasses import dataclass

import numpy as np

from oracles.lagrange import Array, Complex


@dataclass(frozen=True)
class Parameters:
    """Length l1 and distances lc of the centres from the joints (m), masses m (kg), inertias i about them (kg m^2)."""

    l1: float
    lc1: float
    lc2: float
    m1: float
    m2: float
    i1: float
    i2: float
    g: float = 9.81


def mass_matrix(p: Parameters, q: Array) -> Array:
    """D of (9.92)."""
    d12 = p.m2 * p.l1 * p.lc2 * np.cos(q[1] - q[0])
    return np.array(
        [[p.m1 * p.lc1**2 + p.m2 * p.l1**2 + p.i1, d12], [d12, p.m2 * p.lc2**2 + p.i2]]
    )


def coriolis_matrix(p: Parameters, q: Array, qd: Array) -> Array:
    """C of the Christoffel symbols (9.93): no Coriolis terms are left."""
    c112 = p.m2 * p.l1 * p.lc2 * np.sin(q[1] - q[0])
    return np.array([[0.0, -c112 * qd[1]], [c112 * qd[0], 0.0]])


def velocity_terms(p: Parameters, q: Array, qd: Array) -> Array:
    """The centrifugal terms of (9.95), N m."""
    c112 = p.m2 * p.l1 * p.lc2 * np.sin(q[1] - q[0])
    return np.array([-c112 * qd[1] ** 2, c112 * qd[0] ** 2])


def gravity(p: Parameters, q: Array) -> Array:
    """phi_1 and phi_2 between (9.94) and (9.95), N m."""
    return np.array(
        [
            (p.m1 * p.lc1 + p.m2 * p.l1) * p.g * np.cos(q[0]),
            p.m2 * p.lc2 * p.g * np.cos(q[1]),
        ]
    )


def torque(p: Parameters, q: Array, qd: Array, qdd: Array) -> Array:
    """(9.95): of the two motors, at p1 and p2, N m."""
    return mass_matrix(p, q) @ qdd + velocity_terms(p, q, qd) + gravity(p, q)


def kinetic_energy(p: Parameters, q: Complex, qd: Complex) -> complex:
    """K from the velocities (9.89) and (9.90), J."""
    vx = -p.l1 * np.sin(q[0]) * qd[0] - p.lc2 * np.sin(q[1]) * qd[1]
    vy = p.l1 * np.cos(q[0]) * qd[0] + p.lc2 * np.cos(q[1]) * qd[1]
    k: complex = p.m1 * (p.lc1 * qd[0]) ** 2 / 2 + p.m2 * (vx**2 + vy**2) / 2
    k += (p.i1 * qd[0] ** 2 + p.i2 * qd[1] ** 2) / 2
    return k


def potential_energy(p: Parameters, q: Complex) -> complex:
    """P of (9.94), J."""
    return complex(
        p.m1 * p.g * p.lc1 * np.sin(q[0])
        + p.m2 * p.g * (p.l1 * np.sin(q[0]) + p.lc2 * np.sin(q[1]))
    )
