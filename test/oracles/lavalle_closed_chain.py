"""Constrained motion in closed form: LaValle, section 13.4.3, (13.170)-(13.184), and Spong's five-bar, cut open.

Multipliers are those of (13.173): the constraint's generalized force is +G^T lambda.
"""

import numpy as np

from oracles import spong_five_bar
from oracles.lagrange import Array


def sphere_multiplier(mass: float, qd: Array) -> float:
    """Example 13.14, a particle on the unit sphere, N/m: m qdd = 2 q lambda and q . qdd = -|qd|^2.

    In print (13.177) is the case m = 2 by (13.172), qdd_i - 2 q_i lambda = 0; with L = |qd|^2 and the multiplier of
    (13.172) on the left it is qdd_i + q_i lambda = 0.
    """
    return float(-mass * qd @ qd / 2)


def sphere_motion(q: Array, qd: Array, t: Array) -> Array:
    """Example 13.14: the great circle (13.178) through q along qd, (times, 3)."""
    speed = np.linalg.norm(qd)
    return np.outer(np.cos(speed * t), q) + np.outer(np.sin(speed * t), qd / speed)


def knife_edge(slope: float, rate: float, g: float, t: Array) -> Array:
    """A constraint on rates alone (13.170): a blade that turns at a rate on an incline, x down it, from rest at 0.

    sin(theta) xd - cos(theta) yd = 0, theta = rate t; x, y (times, 2): a cycloid that never goes down.
    """
    size = g * np.sin(slope) / (2 * rate**2)
    return np.column_stack(
        [size * np.sin(rate * t) ** 2, size * (rate * t - np.sin(2 * rate * t) / 2)]
    )


def five_bar_force(
    p: spong_five_bar.Parameters, q: Array, qd: Array, qdd: Array
) -> Array:
    """Force (2,) on link 3 from link 4 of Spong's five-bar where they meet, N, by the moments of both links.

    Each about its hinge on link 2 or 1: I alpha + (c - hinge) x m (a_c - g) = (tip - hinge) x force, with
    forces opposite; centres (9.96)-(9.99), rates (9.102). The loop closes at l1 (cos q1, sin q1) + l2 (cos q2,
    sin q2): link 4 carries its centre on the other side of its hinge.
    """
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    along = [np.array([np.cos(x), np.sin(x)]) for x in q]
    swing = [turn @ e * a - e * w**2 for e, w, a in zip(along, qd, qdd, strict=True)]
    weight = np.array([0.0, -p.g])
    three = p.m3 * (p.l2 * swing[1] + p.lc3 * swing[0] - weight)
    four = p.m4 * (p.l1 * swing[0] - p.lc4 * swing[1] - weight)
    moments = [
        p.i3 * qdd[0] + (turn @ (p.lc3 * along[0])) @ three,
        -p.i4 * qdd[1] - (turn @ (-p.lc4 * along[1])) @ four,
    ]
    return np.linalg.solve(
        [turn @ (p.l1 * along[0]), turn @ (p.l2 * along[1])], moments
    )
