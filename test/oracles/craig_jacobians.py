"""Velocities and static forces of Craig's chapter 5, by hand.

J. Craig, Introduction to Robotics (3rd ed., 2005), examples 5.2-5.8 and some exercises. Planar arms, link i along x_i;
frame {3} sits at the end of the two-link arm, frame {H} at the hand of the three-link arm. q and rates in rad, lengths
in m.
"""

import numpy as np
from numpy.typing import ArrayLike

from oracles.lagrange import Array

# Exercise 5.11: frame B seen from A, velocity of A; the answer is R^T (v + w x p), R^T w, worked out by hand:
# w x p = (7.07, -7.07, -14.14).
EXERCISE_5_11_POSE = np.array(
    [[0.866, -0.5, 0, 10.0], [0.5, 0.866, 0, 0], [0, 0, 1, 5.0], [0, 0, 0, 1]]
)
EXERCISE_5_11_VELOCITY = np.array([0.0, 2.0, -3.0, 1.414, 1.414, 0.0])
EXERCISE_5_11_ANSWER = np.array([3.58778, -7.92575, -17.14, 1.931560, 0.517560, 0.0])

# Exercise 5 for MATLAB.
THREE_LINK_LENGTHS = (4.0, 3.0, 2.0)
THREE_LINK_START = np.deg2rad([10.0, 20.0, 30.0])
THREE_LINK_VELOCITY = np.array([0.2, -0.3, -0.2])
THREE_LINK_FORCE = np.array([1.0, 2.0, 3.0])


def zyz_rates_to_angular_velocity(alpha: float, beta: float) -> Array:
    """E of (5.42), w = E (alpha', beta', gamma')."""
    sa = np.sin(alpha)
    ca = np.cos(alpha)
    sb = np.sin(beta)
    cb = np.cos(beta)
    return np.array([[0, -sa, ca * sb], [0, ca, sa * sb], [1, 0, cb]])


def link_velocities(l1: float, l2: float, q: Array, qd: Array) -> tuple[Array, Array]:
    """(5.50)-(5.55): w (3, 3) and v (3, 3) of frames {1}, {2} and {3}, each in its own axes."""
    s2 = np.sin(q[1])
    c2 = np.cos(q[1])
    w = qd[0] + qd[1]
    angular = np.array([[0, 0, qd[0]], [0, 0, w], [0, 0, w]])
    v2 = [l1 * s2 * qd[0], l1 * c2 * qd[0], 0.0]
    return angular, np.array([[0.0, 0.0, 0.0], v2, [v2[0], v2[1] + l2 * w, 0.0]])


def end_velocity(l1: float, l2: float, q: Array, qd: Array) -> Array:
    """(5.57): of the origin of {3}, in the axes of {0}, (3,)."""
    s1 = np.sin(q[0])
    c1 = np.cos(q[0])
    s12 = np.sin(q[0] + q[1])
    c12 = np.cos(q[0] + q[1])
    w = qd[0] + qd[1]
    return np.array(
        [-l1 * s1 * qd[0] - l2 * s12 * w, l1 * c1 * qd[0] + l2 * c12 * w, 0.0]
    )


def jacobian_in_end_frame(l1: float, l2: float, q: Array) -> Array:
    """(5.66)."""
    s2 = np.sin(q[1])
    c2 = np.cos(q[1])
    return np.array([[l1 * s2, 0.0], [l1 * c2 + l2, l2]])


def jacobian_in_base_axes(l1: float, l2: float, q: Array) -> Array:
    """(5.67)."""
    s1 = np.sin(q[0])
    c1 = np.cos(q[0])
    s12 = np.sin(q[0] + q[1])
    c12 = np.cos(q[0] + q[1])
    return np.array([[-l1 * s1 - l2 * s12, -l2 * s12], [l1 * c1 + l2 * c12, l2 * c12]])


def determinant(l1: float, l2: float, q: Array) -> float:
    """(5.73): 0 where the arm is stretched out or folded back."""
    return float(l1 * l2 * np.sin(q[1]))


def inverse_jacobian(l1: float, l2: float, q: Array) -> Array:
    """(5.74), for the axes of {0}."""
    s1 = np.sin(q[0])
    c1 = np.cos(q[0])
    s12 = np.sin(q[0] + q[1])
    c12 = np.cos(q[0] + q[1])
    rows = [[l2 * c12, l2 * s12], [-l1 * c1 - l2 * c12, -l1 * s1 - l2 * s12]]
    return np.array(rows) / (l1 * l2 * np.sin(q[1]))


def rates_along_x(l1: float, l2: float, q: Array) -> Array:
    """(5.75): for 1 m/s along X0; beyond all bounds where sin(q2) goes to zero."""
    c1 = np.cos(q[0])
    c12 = np.cos(q[0] + q[1])
    s2 = np.sin(q[1])
    return np.array([c12 / (l1 * s2), -c1 / (l2 * s2) - c12 / (l1 * s2)])


def static_torques(l1: float, l2: float, q: Array, force: ArrayLike) -> Array:
    """Example 5.7, below (5.90): to apply fx, fy at the origin and in the axes of {3}, N m."""
    fx, fy = np.asarray(force, dtype=float)
    return np.array([l1 * np.sin(q[1]) * fx + (l2 + l1 * np.cos(q[1])) * fy, l2 * fy])


def three_link_jacobian(q: Array) -> Array:
    """Exercise 5 for MATLAB: x', y', phi' of {H} of the planar three-link arm, in the axes of {0}."""
    a = np.cumsum(q)
    along = (
        np.array([[-np.sin(a[k]), np.cos(a[k])] for k in range(3)])
        * np.array(THREE_LINK_LENGTHS)[:, None]
    )
    return np.vstack(
        [np.array([along[k:].sum(axis=0) for k in range(3)]).T, np.ones(3)]
    )


def three_link_determinant(q: Array) -> float:
    """Of ``three_link_jacobian``: the third joint only turns the hand, so that it is that of the two-link arm."""
    return float(THREE_LINK_LENGTHS[0] * THREE_LINK_LENGTHS[1] * np.sin(q[1]))
