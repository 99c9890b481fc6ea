"""SCARA arm of three thin links: L.-W. Tsai, Robot Analysis (Wiley, 1999), example 9.8.2.

Joints 1 and 2 turn about the upward z0; d3 moves link 3 downwards (z2 points down, alpha_2 = pi). Gravity
is [0, 0, -g]. q = (theta1, theta2, d3). Link 3 is a thin vertical rod of length l with its centre at height
d1 - d3 + l/2 (9.132).
"""

from dataclasses import dataclass

import numpy as np

from oracles.lagrange import Array, Complex


@dataclass(frozen=True)
class Parameters:
    """Lengths a1, a2, height d1, rod length l (m), masses m (kg), gravity g (m/s^2)."""

    a1: float
    a2: float
    m1: float
    m2: float
    m3: float
    length3: float = 0.3
    d1: float = 0.4
    g: float = 9.81


def mass_matrix(p: Parameters, q: Array) -> Array:
    """Tsai (9.139): sum of one matrix for each link."""
    a11 = p.a1**2
    a12 = p.a1 * p.a2
    a22 = p.a2**2
    c2 = np.cos(q[1])
    return np.array(
        p.m1 * np.array([[a11 / 3, 0, 0], [0, 0, 0], [0, 0, 0]])
        + p.m2
        * np.array(
            [
                [a11 + a12 * c2 + a22 / 3, a12 * c2 / 2 + a22 / 3, 0],
                [a12 * c2 / 2 + a22 / 3, a22 / 3, 0],
                [0, 0, 0],
            ]
        )
        + p.m3
        * np.array(
            [
                [a11 + 2 * a12 * c2 + a22, a12 * c2 + a22, 0],
                [a12 * c2 + a22, a22, 0],
                [0, 0, 1],
            ]
        )
    )


def velocity_coupling(p: Parameters, q: Array, qd: Array) -> Array:
    """Tsai (9.140)-(9.142)."""
    a12_s2 = p.a1 * p.a2 * np.sin(q[1])
    v1 = -(p.m2 + 2 * p.m3) * a12_s2 * (qd[0] * qd[1] + qd[1] ** 2 / 2)
    return np.array([v1, (p.m2 / 2 + p.m3) * a12_s2 * qd[0] ** 2, 0.0])


def gravity(p: Parameters, q: Array) -> Array:
    """Tsai (9.143)-(9.145)."""
    return np.array([0.0, 0.0, -p.m3 * p.g])


def torque(p: Parameters, q: Array, qd: Array, qdd: Array) -> Array:
    """Tsai (9.146)-(9.148): two torques (N m) and a force (N)."""
    a11 = p.a1**2
    a12 = p.a1 * p.a2
    a22 = p.a2**2
    c2 = np.cos(q[1])
    s2 = np.sin(q[1])
    coupling = (p.m2 / 2 + p.m3) * a12 * c2 + (p.m2 / 3 + p.m3) * a22
    tau1 = (
        (
            (p.m1 / 3 + p.m2 + p.m3) * a11
            + (p.m2 + 2 * p.m3) * a12 * c2
            + (p.m2 / 3 + p.m3) * a22
        )
        * qdd[0]
        + coupling * qdd[1]
        - (p.m2 + 2 * p.m3) * a12 * s2 * (qd[0] * qd[1] + qd[1] ** 2 / 2)
    )
    tau2 = (
        coupling * qdd[0]
        + (p.m2 / 3 + p.m3) * a22 * qdd[1]
        + (p.m2 / 2 + p.m3) * a12 * s2 * qd[0] ** 2
    )
    return np.array([tau1, tau2, p.m3 * qdd[2] - p.m3 * p.g])


def kinetic_energy(p: Parameters, q: Complex, qd: Complex) -> complex:
    """K from the velocities of the three centres.

    The thin vertical rod has no inertia about its own axis (9.126).
    """
    w = qd[0] + qd[1]
    k: complex = (
        (p.m1 / 2) * (p.a1 / 2 * qd[0]) ** 2
        + p.m1 * p.a1**2 / 24 * qd[0] ** 2
        + p.m2 * p.a2**2 / 24 * w**2
    )
    for mass, arm in ((p.m2, p.a2 / 2), (p.m3, p.a2)):
        vx = -p.a1 * np.sin(q[0]) * qd[0] - arm * np.sin(q[0] + q[1]) * w
        vy = p.a1 * np.cos(q[0]) * qd[0] + arm * np.cos(q[0] + q[1]) * w
        k += mass * (vx**2 + vy**2) / 2
    k += p.m3 * qd[2] ** 2 / 2
    return k


def potential_energy(p: Parameters, q: Complex) -> complex:
    """U over the height z0; links 1 and 2 stay at d1."""
    return complex(p.g * ((p.m1 + p.m2) * p.d1 + p.m3 * (p.d1 - q[2] + p.length3 / 2)))
