"""Exercises 2 to 5 of L.-W. Tsai, Robot Analysis (Wiley, 1999), chapter 9, which prints no answers: derived here.

The figures are not in the text at hand. Exercise 2 is read with O at a corner and the axes along the edges a, b, c.
The pointer of Fig. 9.11 has z0 upwards and link 2, a rod of length l, along (c1 c2, s1 c2, s2) from O: theta2 is its
elevation, about the axis (s1, -c1, 0).
"""

import numpy as np

from oracles.lagrange import Array, Complex


def bar_about_corner(m: float, a: float, b: float, c: float) -> Array:
    """Exercise 2: (9.12) and the parallel axes (9.9) with the centre at (a, b, c) / 2, kg m^2.

    With the products of inertia of (9.8) their terms in (9.9) are -m x_c y_c and so on, not + as printed.
    """
    return m * np.array(
        [
            [(b**2 + c**2) / 3, -a * b / 4, -a * c / 4],
            [-a * b / 4, (c**2 + a**2) / 3, -b * c / 4],
            [-a * c / 4, -b * c / 4, (a**2 + b**2) / 3],
        ]
    )


def bar_in_turned_axes(m: float, a: float, b: float, c: float, phi: float) -> Array:
    """Exercise 3: (9.12) by (9.29) in axes that are turned by phi about z_c, about the centre, kg m^2."""
    cos = np.cos(phi)
    sin = np.sin(phi)
    xx = b**2 * cos**2 + a**2 * sin**2 + c**2
    yy = b**2 * sin**2 + a**2 * cos**2 + c**2
    xy = (a**2 - b**2) * sin * cos
    return m / 12 * np.array([[xx, xy, 0.0], [xy, yy, 0.0], [0.0, 0.0, a**2 + b**2]])


def pointer_inertia(m: float, length: float, q: Array) -> Array:
    """Exercise 4: of the rod about O in base axes, kg m^2."""
    s1 = np.sin(q[0])
    c1 = np.cos(q[0])
    s2 = np.sin(q[1])
    c2 = np.cos(q[1])
    xy = -s1 * c1 * c2**2
    xz = -c1 * c2 * s2
    yz = -s1 * c2 * s2
    rows = [[1 - c1**2 * c2**2, xy, xz], [xy, 1 - s1**2 * c2**2, yz], [xz, yz, c2**2]]
    return m * length**2 / 3 * np.array(rows)


def pointer_angular_momentum(
    m: float, length: float, q: Complex, qd: Complex
) -> Complex:
    """Exercise 5: of the rod about O in base axes, kg m^2/s."""
    s1 = np.sin(q[0])
    c1 = np.cos(q[0])
    s2 = np.sin(q[1])
    c2 = np.cos(q[1])
    h = [
        s1 * qd[1] - c1 * s2 * c2 * qd[0],
        -c1 * qd[1] - s1 * s2 * c2 * qd[0],
        c2**2 * qd[0],
    ]
    return m * length**2 / 3 * np.array(h)
