"""Geared 2R arm with three rotors: L.-W. Tsai, Robot Analysis (Wiley, 1999), section 9.9, Fig. 9.7.

Both joints turn about the upward z0 (no gravity torque). Rotor 3 sits on the base and turns at -N13
theta1'; rotor 4 and shaft 5 sit on link 1 with their axes in the horizontal plane, so that omega_1 . e = 0
and only their reflected inertia acts.
"""

from dataclasses import dataclass

import numpy as np

from oracles.lagrange import Array, Complex


@dataclass(frozen=True)
class Parameters:
    """Length a1, centres b, heights d1 and d1 + d2 (m), masses m (kg), inertias i (kg m^2), gear ratios n, gravity g.

    Inertias 1 and 2 are those of the links about their centres, 3 to 5 those of the rotors about their axes.
    """

    a1: float
    b1: float
    b2: float
    m1: float
    m2: float
    i1z: float
    i2z: float
    i3z: float
    i4z: float
    i5z: float
    n13: float
    n54: float
    n25: float
    d1: float = 0.0
    d2: float = 0.0
    g: float = 9.81


def rotor_ratios(p: Parameters) -> Array:
    """(9.153): rotors 3, 4 and 5 by joints."""
    return np.array([[-p.n13, 0.0], [0.0, p.n54 * p.n25], [0.0, -p.n25]])


def mass_matrix(p: Parameters, q: Array) -> Array:
    """M of Tsai (9.171) with kappa_1 to kappa_4 of (9.164)."""
    kappa4 = p.i2z + p.m2 * p.b2**2
    kappa3 = p.i1z + p.m1 * p.b1**2
    kappa2 = kappa4 + p.n54**2 * p.n25**2 * p.i4z + p.n25**2 * p.i5z
    kappa1 = kappa3 + kappa4 + p.n13**2 * p.i3z + p.m2 * p.a1**2
    h = p.m2 * p.a1 * p.b2 * np.cos(q[1])
    return np.array([[kappa1 + 2 * h, kappa4 + h], [kappa4 + h, kappa2]])


def velocity_coupling(p: Parameters, q: Array, qd: Array) -> Array:
    """V of Tsai (9.171)."""
    h = p.m2 * p.a1 * p.b2 * np.sin(q[1])
    return np.array([-h * qd[1] * (2 * qd[0] + qd[1]), h * qd[0] ** 2])


def torque(p: Parameters, q: Array, qd: Array, qdd: Array) -> Array:
    """Tsai (9.171), at the joints, N m; G = 0."""
    return mass_matrix(p, q) @ qdd + velocity_coupling(p, q, qd)


def kinetic_energy(p: Parameters, q: Complex, qd: Complex) -> complex:
    """(9.159) + (9.161) + (9.157) for each rotor, with the speeds of (9.153), J."""
    w = qd[0] + qd[1]
    vx = p.a1 * np.sin(q[1]) * qd[0]
    vy = p.a1 * np.cos(q[1]) * qd[0] + p.b2 * w
    k: complex = (
        (p.m1 * p.b1**2 + p.i1z) * qd[0] ** 2 / 2
        + p.m2 * (vx**2 + vy**2) / 2
        + p.i2z * w**2 / 2
    )
    speeds = rotor_ratios(p) @ qd
    k += sum(i * s**2 for i, s in zip((p.i3z, p.i4z, p.i5z), speeds, strict=True)) / 2
    return k


def potential_energy(p: Parameters, q: Complex) -> complex:
    """(9.160) + (9.162), J."""
    return complex(p.m1 * p.g * p.d1 + p.m2 * p.g * (p.d1 + p.d2))
