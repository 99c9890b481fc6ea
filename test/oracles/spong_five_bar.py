"""Five-bar linkage in the form of a parallelogram: Spong, section 9.4, (9.96)-(9.108), Figure 9.10.

q1 and q2 are the angles of links 1 and 2, both hinged at the base, against its x axis. Link 3 starts at the
end of link 2 (l2) and stays parallel to link 1; link 4 starts at the end of link 1 (l1) and points against
link 2. Gravity is (0, -g) in the plane. In print the first vector of (9.98) has l_c2 and q1 for l_2 and q2,
(9.101) has the wrong sign at lower right (it is -l_c4 cos q2), and (9.106) lacks the masses and a plus.
"""

from dataclasses import dataclass

import numpy as np

from oracles.lagrange import Array, Complex


@dataclass(frozen=True)
class Parameters:
    """Lengths l, distances lc of the centres from where links start (m), masses m (kg), central inertias i (kg m^2)."""

    l1: float
    l2: float
    lc1: float
    lc2: float
    lc3: float
    lc4: float
    m1: float
    m2: float
    m3: float
    m4: float
    i1: float
    i2: float
    i3: float
    i4: float
    g: float = 9.81


def mass_matrix(p: Parameters, q: Array) -> Array:
    """D of (9.104)."""
    d12 = (p.m3 * p.l2 * p.lc3 - p.m4 * p.l1 * p.lc4) * np.cos(q[1] - q[0])
    d11 = p.m1 * p.lc1**2 + p.m3 * p.lc3**2 + p.m4 * p.l1**2 + p.i1 + p.i3
    d22 = p.m2 * p.lc2**2 + p.m3 * p.l2**2 + p.m4 * p.lc4**2 + p.i2 + p.i4
    return np.array([[d11, d12], [d12, d22]])


def velocity_terms(p: Parameters, q: Array, qd: Array) -> Array:
    """Centrifugal terms by the Christoffel symbols (9.58) of (9.104), N m; zero under (9.105)."""
    h = (p.m3 * p.l2 * p.lc3 - p.m4 * p.l1 * p.lc4) * np.sin(q[1] - q[0])
    return np.array([-h * qd[1] ** 2, h * qd[0] ** 2])


def gravity(p: Parameters, q: Array) -> Array:
    """phi of (9.107), N m."""
    first = p.m1 * p.lc1 + p.m3 * p.lc3 + p.m4 * p.l1
    second = p.m2 * p.lc2 + p.m3 * p.l2 - p.m4 * p.lc4
    return np.array([p.g * np.cos(q[0]) * first, p.g * np.cos(q[1]) * second])


def torque(p: Parameters, q: Array, qd: Array, qdd: Array) -> Array:
    """(9.108), with the terms that (9.105) would cancel, N m."""
    return mass_matrix(p, q) @ qdd + velocity_terms(p, q, qd) + gravity(p, q)


def balanced(p: Parameters) -> Parameters:
    """The same linkage with lc3 such that (9.105) holds: its equations are decoupled."""
    numbers = {**vars(p), "lc3": p.m4 * p.l1 * p.lc4 / (p.m3 * p.l2)}
    return Parameters(**numbers)


def kinetic_energy(p: Parameters, q: Complex, qd: Complex) -> complex:
    """K from the velocities of the centres (9.100)-(9.101) and the rates (9.102), J."""
    first = np.array([-np.sin(q[0]), np.cos(q[0])]) * qd[0]
    second = np.array([-np.sin(q[1]), np.cos(q[1])]) * qd[1]
    centres = (
        p.lc1 * first,
        p.lc2 * second,
        p.l2 * second + p.lc3 * first,
        p.l1 * first - p.lc4 * second,
    )
    k: complex = (
        sum(m * v @ v for m, v in zip((p.m1, p.m2, p.m3, p.m4), centres, strict=True))
        / 2
    )
    k += ((p.i1 + p.i3) * qd[0] ** 2 + (p.i2 + p.i4) * qd[1] ** 2) / 2
    return k


def potential_energy(p: Parameters, q: Complex) -> complex:
    """g sum m y of the centres (9.96)-(9.99), J."""
    y1 = np.sin(q[0])
    y2 = np.sin(q[1])
    heights = (p.lc1 * y1, p.lc2 * y2, p.l2 * y2 + p.lc3 * y1, p.l1 * y1 - p.lc4 * y2)
    return complex(
        p.g * sum(m * y for m, y in zip((p.m1, p.m2, p.m3, p.m4), heights, strict=True))
    )
