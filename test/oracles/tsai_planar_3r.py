"""Planar arm of three slender rods: Tsai, Robot Analysis (Wiley, 1999), chapter 9, exercise 8.

Derived here, as the book prints no answer. Gravity points along -z0, across the plane of motion: no torque.
"""

from dataclasses import dataclass

import numpy as np

from oracles.lagrange import Array, Complex


@dataclass(frozen=True)
class Parameters:
    """Lengths a (m), masses m (kg), gravity g (m/s^2)."""

    a1: float
    a2: float
    a3: float
    m1: float
    m2: float
    m3: float
    g: float = 9.81

    @property
    def own(self) -> tuple[float, float, float]:
        """Return the inertia of each link's own rotation, kg m^2."""
        return (
            self.a1**2 * (self.m1 / 3 + self.m2 + self.m3),
            self.a2**2 * (self.m2 / 3 + self.m3),
            self.a3**2 * self.m3 / 3,
        )

    @property
    def shared(self) -> tuple[float, float, float]:
        """Factors of c2, c3 and c23, kg m^2."""
        return (
            self.a1 * self.a2 * (self.m2 / 2 + self.m3),
            self.a2 * self.a3 * self.m3 / 2,
            self.a1 * self.a3 * self.m3 / 2,
        )


def mass_matrix(p: Parameters, q: Array) -> Array:
    """kg m^2."""
    k1, k2, k3 = p.own
    x, y, z = np.array(p.shared) * np.cos([q[1], q[2], q[1] + q[2]])
    m12 = k2 + k3 + x + 2 * y + z
    m13 = k3 + y + z
    m23 = k3 + y
    return np.array(
        [
            [k1 + k2 + k3 + 2 * (x + y + z), m12, m13],
            [m12, k2 + k3 + 2 * y, m23],
            [m13, m23, k3],
        ]
    )


def velocity_terms(p: Parameters, q: Array, qd: Array) -> Array:
    """With the links' rates against the base, N m."""
    x, y, z = np.array(p.shared) * np.sin([q[1], q[2], q[1] + q[2]])
    w1, w2, w3 = np.cumsum(qd) ** 2
    v3 = z * w1 + y * w2
    v2 = v3 + x * w1 - y * w3
    return np.array([v2 - x * w2 - z * w3, v2, v3])


def gravity(p: Parameters, q: Array) -> Array:
    """None."""
    return np.zeros(3)


def kinetic_energy(p: Parameters, q: Complex, qd: Complex) -> complex:
    """Of three rods from the velocities of their centres, J."""
    k: complex = 0.0
    joint = np.zeros(2, dtype=np.complex128)
    for angle, rate, a, m in zip(
        np.cumsum(q), np.cumsum(qd), (p.a1, p.a2, p.a3), (p.m1, p.m2, p.m3), strict=True
    ):
        along = a * rate * np.array([-np.sin(angle), np.cos(angle)])
        centre = joint + along / 2
        k += m / 2 * (centre @ centre + a**2 / 12 * rate**2)
        joint = joint + along
    return k


def potential_energy(p: Parameters, q: Complex) -> complex:
    """Constant."""
    return 0.0
