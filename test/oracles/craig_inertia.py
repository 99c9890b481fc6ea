"""Inertia tensors of a homogeneous box: Craig examples 6.1 and 6.2, Tsai example 9.2.1, Spong example 9.2.

The box has the edges w, l, h along x, y, z; Tsai and Spong call them a, b, c. All tensors have the products of inertia
with the sign of (6.16), as the off-diagonal entries of the matrix. In print the second line of (6.25) has a minus that
belongs to those entries; for I_xy of (6.17) it is a plus, as (6.26) says.
"""

import numpy as np

from oracles.lagrange import Array


def about_corner(m: float, w: float, length: float, h: float) -> Array:
    """Craig (6.24): about the corner from which the edges run along the positive axes, kg m^2."""
    xx = m / 3 * (length**2 + h**2)
    yy = m / 3 * (w**2 + h**2)
    zz = m / 3 * (length**2 + w**2)
    xy = m / 4 * w * length
    xz = m / 4 * h * w
    yz = m / 4 * h * length
    return np.array([[xx, -xy, -xz], [-xy, yy, -yz], [-xz, -yz, zz]])


def about_centre(m: float, a: float, b: float, c: float) -> Array:
    """Tsai (9.12), Craig (6.28), Spong example 9.2, kg m^2."""
    return m / 12 * np.diag([b**2 + c**2, c**2 + a**2, a**2 + b**2])


def slender_rod(m: float, c: float) -> Array:
    """Tsai (9.13): along z, about its centre, kg m^2."""
    return m * c**2 / 12 * np.diag([1.0, 1.0, 0.0])


def integrated(m: float, corner: Array, edges: Array) -> Array:
    """Craig (6.17) over the box from ``corner``, by a Gauss rule that is exact for the integrands, kg m^2."""
    nodes, weights = np.polynomial.legendre.leggauss(3)
    total = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            for k in range(3):
                p = corner + edges * (1 + nodes[[i, j, k]]) / 2
                share = m * weights[i] * weights[j] * weights[k] / 8
                total += share * (p @ p * np.eye(3) - np.outer(p, p))
    return total
