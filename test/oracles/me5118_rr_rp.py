"""Newton-Euler by hand for the RR arm: lecture ME5118, pp. 20-26; Craig (6.54)-(6.57); and the RP arm, pp. 33-35.

The RR arm is that of craig_planar_2r, with its Parameters; the joint torques and M, V, G, B, C (pp. 26-29) are the same
equations and stand there. Here are the forces and moments of the way. The RP arm is that of craig_rp; here is its
energy, with the lecture's and Craig's constants (6.82)-(6.84).
"""

import numpy as np

from oracles import craig_planar_2r, craig_rp
from oracles.lagrange import Array


def link_forces(
    p: craig_planar_2r.Parameters, q: Array, qd: Array, qdd: Array
) -> tuple[Array, Array]:
    """1f1 and 2f2 of pp. 23-24, on links 1 and 2 from the links before, in their axes, N."""
    s1 = np.sin(q[0])
    c1 = np.cos(q[0])
    s2 = np.sin(q[1])
    c2 = np.cos(q[1])
    s12 = np.sin(q[0] + q[1])
    c12 = np.cos(q[0] + q[1])
    f2 = np.array(
        [
            p.m2
            * (
                p.l1 * qdd[0] * s2
                - p.l1 * qd[0] ** 2 * c2
                + p.g * s12
                - p.l2 * (qd[0] + qd[1]) ** 2
            ),
            p.m2
            * (
                p.l1 * qdd[0] * c2
                + p.l1 * qd[0] ** 2 * s2
                + p.g * c12
                + p.l2 * (qdd[0] + qdd[1])
            ),
            0.0,
        ]
    )
    own = p.m1 * np.array(
        [-p.l1 * qd[0] ** 2 + p.g * s1, p.l1 * qdd[0] + p.g * c1, 0.0]
    )
    return np.array([[c2, -s2, 0.0], [s2, c2, 0.0], [0.0, 0.0, 1.0]]) @ f2 + own, f2


def link_moments(
    p: craig_planar_2r.Parameters, q: Array, qd: Array, qdd: Array
) -> tuple[Array, Array]:
    """1n1 and 2n2 of pp. 24-25, on links 1 and 2 from the links before, at their joints, N m."""
    s2 = np.sin(q[1])
    c2 = np.cos(q[1])
    c1 = np.cos(q[0])
    s12 = np.sin(q[0] + q[1])
    c12 = np.cos(q[0] + q[1])
    a = qdd[0] + qdd[1]
    n2 = p.m2 * (
        p.l1 * p.l2 * (c2 * qdd[0] + s2 * qd[0] ** 2) + p.l2 * p.g * c12 + p.l2**2 * a
    )
    lever = (
        p.l1**2 * qdd[0]
        - p.l1 * p.l2 * s2 * (qd[0] + qd[1]) ** 2
        + p.l1 * p.g * (s2 * s12 + c2 * c12)
    )
    n1 = (
        n2
        + p.m1 * p.l1 * (p.l1 * qdd[0] + p.g * c1)
        + p.m2 * (lever + p.l1 * p.l2 * c2 * a)
    )
    return np.array([0.0, 0.0, n1]), np.array([0.0, 0.0, n2])


def rp_energies(
    p: craig_rp.Parameters, d2_max: float, q: Array, qd: Array
) -> tuple[float, float]:
    """k and u of pp. 33-34, Craig (6.81) and (6.84): u is zero at the lowest place that the arm can reach, J."""
    k = (p.m1 * p.l1**2 + p.izz1 + p.izz2 + p.m2 * q[1] ** 2) * qd[
        0
    ] ** 2 / 2 + p.m2 * qd[1] ** 2 / 2
    u = (
        p.g * (p.m1 * p.l1 + p.m2 * q[1]) * np.sin(q[0])
        + p.m1 * p.l1 * p.g
        + p.m2 * p.g * d2_max
    )
    return float(k), float(u)
