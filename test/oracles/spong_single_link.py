"""One link behind a gear: Spong example 9.1, (9.6)-(9.10). theta is zero where the link hangs.

The print of (9.10) has B = r B_m + B_l. A torque B_m thetad_m at the motor's shaft is r^2 B_m thetad_l at the link, as
its power says: B = r^2 B_m + B_l.
"""

from dataclasses import dataclass

import numpy as np

from oracles.lagrange import Array, Complex


@dataclass(frozen=True)
class Parameters:
    """Gear ratio r, inertias of motor and link about their axes (kg m^2), M (kg), l (m), damping (N m s), g."""

    r: float
    j_m: float
    j_l: float
    m: float
    length: float
    b_m: float
    b_l: float
    g: float = 9.81


def mass_matrix(p: Parameters, q: Array) -> Array:
    """J of (9.8), kg m^2."""
    return np.array([[p.r**2 * p.j_m + p.j_l]])


def velocity_terms(p: Parameters, q: Array, qd: Array) -> Array:
    """None."""
    return np.zeros(1)


def gravity(p: Parameters, q: Array) -> Array:
    """(9.9), N m."""
    return np.array([p.m * p.g * p.length * np.sin(q[0])])


def damping(p: Parameters, qd: Array) -> Array:
    """B thetad of (9.10), corrected, N m."""
    return np.array([(p.r**2 * p.b_m + p.b_l) * qd[0]])


def kinetic_energy(p: Parameters, q: Complex, qd: Complex) -> complex:
    """(9.6), J."""
    return complex(p.j_m * (p.r * qd[0]) ** 2 / 2 + p.j_l * qd[0] ** 2 / 2)


def potential_energy(p: Parameters, q: Complex) -> complex:
    """(9.7), J."""
    return complex(p.m * p.g * p.length * (1 - np.cos(q[0])))
