"""Cartesian dynamics of the planar 2R arm with point masses, in the axes of the second link.

J. Craig, Introduction to Robotics (3rd ed., 2005), examples 6.6 and 6.7; the arm and its joint-space form are those of
craig_planar_2r. x is the position of the tip: F = Mx xdd + Vx + Gx, where xdd is the rate of the components of the
tip's velocity in the turning axes.
"""

import numpy as np

from oracles.craig_planar_2r import Parameters
from oracles.lagrange import Array


def mass_matrix(p: Parameters, q: Array) -> Array:
    """Craig (6.103), Mx, kg."""
    return np.diag([p.m2 + p.m1 / np.sin(q[1]) ** 2, p.m2])


def velocity_terms(p: Parameters, q: Array, qd: Array) -> Array:
    """Craig (6.103), Vx, N."""
    s2 = np.sin(q[1])
    c2 = np.cos(q[1])
    vx = (
        -(p.m2 * p.l1 * c2 + p.m2 * p.l2) * qd[0] ** 2
        - p.m2 * p.l2 * qd[1] ** 2
        - (2 * p.m2 * p.l2 + p.m2 * p.l1 * c2 + p.m1 * p.l1 * c2 / s2**2)
        * qd[0]
        * qd[1]
    )
    return np.array(
        [vx, p.m2 * p.l1 * s2 * qd[0] ** 2 + p.m2 * p.l1 * s2 * qd[0] * qd[1]]
    )


def gravity(p: Parameters, q: Array) -> Array:
    """Craig (6.103), Gx, N."""
    c1 = np.cos(q[0])
    s2 = np.sin(q[1])
    s12 = np.sin(q[0] + q[1])
    c12 = np.cos(q[0] + q[1])
    return np.array([p.m1 * p.g * c1 / s2 + p.m2 * p.g * s12, p.m2 * p.g * c12])


def jacobian_rate(p: Parameters, q: Array, qd: Array) -> Array:
    """Craig (6.102), m/s."""
    return np.array(
        [[p.l1 * np.cos(q[1]) * qd[1], 0.0], [-p.l1 * np.sin(q[1]) * qd[1], 0.0]]
    )


def coriolis_and_centrifugal(p: Parameters, q: Array) -> tuple[Array, Array]:
    """Craig (6.108), (6.109): Bx (2, 1) on qd1 qd2 and Cx (2, 2) on (qd1^2, qd2^2), N m s^2.

    The scan does not show the sign of the first term; it is -, as in ME5118 p. 41.
    """
    s2 = np.sin(q[1])
    c2 = np.cos(q[1])
    h = p.m2 * p.l1 * p.l2 * s2
    return np.array([[-p.m1 * p.l1**2 * c2 / s2 - h], [h]]), np.array(
        [[0.0, -h], [h, 0.0]]
    )
