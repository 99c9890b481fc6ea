"""Joint torques from a force at the tool point.

METR4202 (University of Queensland), tutorial 4, Q.2, with its numbers.

A planar 2R arm, lengths 2 m and 3 m. The force (30, -20) N in base axes acts at the tool point. The print
gives tau = (-50.0, -75.1) N m; its own Jacobian gives -0.5512*30 - 2.9489*20 = -75.5 for the second, so
that the closed form decides and the print is held to its digits.
"""

import numpy as np

from oracles.lagrange import Array

LENGTHS = (2.0, 3.0)
POSITION = np.deg2rad([167.028, -156.44])
FORCE = np.array([30.0, -20.0])
PRINTED_JACOBIAN = np.array([[-1.0000, -0.5512], [1.0000, 2.9489]])
PRINTED_TAU_1 = -50.0


def jacobian(q: Array) -> Array:
    """Q.1a: d(x, y)/dq of the tool point, (2, 2), m."""
    l1, l2 = LENGTHS
    s1 = np.sin(q[0])
    c1 = np.cos(q[0])
    s12 = np.sin(q[0] + q[1])
    c12 = np.cos(q[0] + q[1])
    return np.array([[-l1 * s1 - l2 * s12, -l2 * s12], [l1 * c1 + l2 * c12, l2 * c12]])


def torque(q: Array, force: Array) -> Array:
    """Q.2b: J^T F, what the force does at the joints, N m.

    The torque that holds the arm against it is the negative.
    """
    return jacobian(q).T @ force
