"""The planar 2R arm of the METR4202 tutorial (University of Queensland), tutorial 4, Q.1-Q.3.

Its Q.2b is in metr4202_statics.

Thin rods l1, l2 with their centres half-way, gravity (0, -g, 0).

In the print, step 4 of Q.3 drops a minus in front of dL/dtheta_1. With h = m2 l1 l2 S2 and w = 1/2 m2 g l2 C12 it has
dL/dtheta_2 = h qd1 qd2 + w for -h/2 (qd1^2 + qd1 qd2) - w, and -h/2 qd1^2 - h qd1 qd2 for -h/2 qd1 qd2 in d/dt
dL/dqd_2. So tau_2 has a - in front of qd1^2 where a + belongs. tau_1 is right.
"""

from dataclasses import dataclass

import numpy as np

from oracles.lagrange import Array, Complex
from oracles.metr4202_statics import LENGTHS

RATES = np.array([1.0, 3.0])
PRINTED_VELOCITY = np.array([-2.654, 9.847])


@dataclass(frozen=True)
class Parameters:
    """Lengths l (m), masses m (kg), gravity g (m/s^2)."""

    l1: float
    l2: float
    m1: float
    m2: float
    g: float = 9.81


def inverse_jacobian(q: Array) -> Array:
    """Q.1b: rates of the joints by the velocity of the tool point, for ``metr4202_statics.LENGTHS``."""
    l1, l2 = LENGTHS
    s1 = np.sin(q[0])
    c1 = np.cos(q[0])
    s12 = np.sin(q[0] + q[1])
    c12 = np.cos(q[0] + q[1])
    rows = [[l2 * c12, l2 * s12], [-l1 * c1 - l2 * c12, -l1 * s1 - l2 * s12]]
    return np.array(rows) / (l1 * l2 * np.sin(q[1]))


def kinetic_energy(p: Parameters, q: Complex, qd: Complex) -> complex:
    """Q.3, step 2, J."""
    c2 = np.cos(q[1])
    k: complex = (
        qd[0] ** 2
        * (
            p.m1 * p.l1**2 / 6
            + p.m2 * p.l2**2 / 6
            + p.m2 * p.l1**2 / 2
            + p.m2 * p.l1 * p.l2 * c2 / 2
        )
        + qd[1] ** 2 * p.m2 * p.l2**2 / 6
        + qd[0] * qd[1] * (p.m2 * p.l2**2 / 3 + p.m2 * p.l1 * p.l2 * c2 / 2)
    )
    return k


def potential_energy(p: Parameters, q: Complex) -> complex:
    """Q.3, step 3, J."""
    u: complex = p.m1 * p.g * p.l1 / 2 * np.sin(q[0])
    u += p.m2 * p.g * (p.l1 * np.sin(q[0]) + p.l2 / 2 * np.sin(q[0] + q[1]))
    return u


def torque(p: Parameters, q: Array, qd: Array, qdd: Array) -> Array:
    """Q.3, step 4, N m; the sign of qd1^2 in the second as derived, not as printed."""
    c1 = np.cos(q[0])
    s2 = np.sin(q[1])
    c2 = np.cos(q[1])
    c12 = np.cos(q[0] + q[1])
    coupling = p.m2 * p.l2**2 / 3 + p.m2 * p.l1 * p.l2 * c2 / 2
    h = p.m2 * p.l1 * p.l2 * s2
    tau1 = (
        (
            p.m1 * p.l1**2 / 3
            + p.m2 * p.l1**2
            + p.m2 * p.l2**2 / 3
            + p.m2 * p.l1 * p.l2 * c2
        )
        * qdd[0]
        + coupling * qdd[1]
        - h * qd[0] * qd[1]
        - h / 2 * qd[1] ** 2
        + (p.m1 / 2 + p.m2) * p.g * p.l1 * c1
        + p.m2 * p.g * p.l2 * c12 / 2
    )
    tau2 = (
        coupling * qdd[0]
        + p.m2 * p.l2**2 / 3 * qdd[1]
        + h / 2 * qd[0] ** 2
        + p.m2 * p.g * p.l2 * c12 / 2
    )
    return np.array([tau1, tau2])
