"""Two-link Cartesian arm: Spong, section 9.4, (9.65)-(9.73). Joint 1 slides along the upward z0, joint 2 along y0."""

from dataclasses import dataclass

import numpy as np

from oracles.lagrange import Array, Complex


@dataclass(frozen=True)
class Parameters:
    """Masses m (kg), gravity g (m/s^2)."""

    m1: float
    m2: float
    g: float = 9.81


def mass_matrix(p: Parameters, q: Array) -> Array:
    """D of (9.70), kg."""
    return np.array([[p.m1 + p.m2, 0.0], [0.0, p.m2]])


def velocity_terms(p: Parameters, q: Array, qd: Array) -> Array:
    """None: D is constant."""
    return np.zeros(2)


def gravity(p: Parameters, q: Array) -> Array:
    """phi of (9.72), N."""
    return np.array([p.g * (p.m1 + p.m2), 0.0])


def kinetic_energy(p: Parameters, q: Complex, qd: Complex) -> complex:
    """By the Jacobians (9.66) and (9.68), J."""
    first = np.array([0.0, 0.0, qd[0]])
    second = np.array([0.0, qd[1], qd[0]])
    return (p.m1 * first @ first + p.m2 * second @ second) / 2


def potential_energy(p: Parameters, q: Complex) -> complex:
    """(9.71), J."""
    return complex(p.g * (p.m1 + p.m2) * q[0])
