"""Cartesian dynamics of the lecture ME5118: of its RP arm (pp. 33-37), in the axes of the sliding link.

The lecture works out M, V, G of the arm (craig_rp) and the rules of p. 37; here they are put together for x, the
position of the centre of link 2: radial and across. Its RR arm (pp. 38-41) is that of Craig's examples 6.6, 6.7:
craig_cartesian_2r.
"""

import numpy as np

from oracles import craig_cartesian_2r, craig_planar_2r
from oracles.craig_rp import Parameters
from oracles.lagrange import Array


def jacobian(p: Parameters, q: Array) -> Array:
    """xd = J (theta1', d2'): the centre of link 2 slides out and is carried round, p. 36."""
    return np.array([[0.0, 1.0], [q[1], 0.0]])


def mass_matrix(p: Parameters, q: Array) -> Array:
    """Mx = J^-T M J^-1, p. 37: along the radius only the mass that slides."""
    return np.diag([p.m2, p.m2 + (p.m1 * p.l1**2 + p.izz1 + p.izz2) / q[1] ** 2])


def velocity_terms(p: Parameters, q: Array, qd: Array) -> Array:
    """Vx = J^-T (V - M J^-1 dJ/dt qd), p. 37."""
    turning = p.m1 * p.l1**2 + p.izz1 + p.izz2
    return np.array(
        [-p.m2 * q[1] * qd[0] ** 2, (p.m2 - turning / q[1] ** 2) * qd[0] * qd[1]]
    )


def gravity(p: Parameters, q: Array) -> Array:
    """Gx = J^-T G, p. 37."""
    return np.array(
        [p.m2 * p.g * np.sin(q[0]), (p.m1 * p.l1 / q[1] + p.m2) * p.g * np.cos(q[0])]
    )


def coriolis_and_centrifugal(p: Parameters, q: Array) -> tuple[Array, Array]:
    """Bx (2, 1) and Cx (2, 2) of J^T Vx, p. 40."""
    turning = p.m1 * p.l1**2 + p.izz1 + p.izz2
    return np.array([[p.m2 * q[1] - turning / q[1]], [0.0]]), np.array(
        [[0.0, 0.0], [-p.m2 * q[1], 0.0]]
    )


def rr_torque_of_velocity(p: craig_planar_2r.Parameters, q: Array, qd: Array) -> Array:
    """J^T Vx of the RR arm as the product of p. 41: J of p. 39, and Vx."""
    s2 = np.sin(q[1])
    c2 = np.cos(q[1])
    j_t = np.array([[p.l1 * s2, p.l1 * c2 + p.l2], [0.0, p.l2]])
    return j_t @ craig_cartesian_2r.velocity_terms(p, q, qd)
