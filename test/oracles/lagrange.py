"""Lagrange's equations from two energies alone: the argument that proves each closed form here.

Tsai (9.76): tau = d/dt(dL/dqd) - dL/dq with L = K - U. K is quadratic in qd, so that M(q) follows from
three values of K without error, and every derivative is a complex step (no cancellation): the result is
exact to rounding. The energies must therefore accept complex numbers (no abs, no norm).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]
Kinetic = Callable[[Complex, Complex], complex]
Potential = Callable[[Complex], complex]
_STEP = 1e-40


def mass_matrix(kinetic: Kinetic, q: Complex) -> Complex:
    """M(q), (n, n), from K = qd^T M qd / 2 by polarization."""
    n = len(q)
    unit = np.eye(n, dtype=np.complex128)
    single = [kinetic(q, unit[i]) for i in range(n)]
    m = np.empty((n, n), dtype=np.complex128)
    for i in range(n):
        m[i, i] = 2.0 * single[i]
        for j in range(i):
            m[i, j] = m[j, i] = kinetic(q, unit[i] + unit[j]) - single[i] - single[j]
    return m


def torque(
    kinetic: Kinetic, potential: Potential, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike
) -> Array:
    """Generalized forces (n,) of the motion q, qd, qdd.

    Tau_k = M_kj qdd_j + dM_kj/dt qd_j - dK/dq_k + dU/dq_k.
    """
    q, qd, qdd = (np.asarray(x, dtype=np.complex128) for x in (q, qd, qdd))
    m_dot = mass_matrix(kinetic, q + 1j * _STEP * qd).imag / _STEP
    gradient = np.empty(len(q))
    for k in range(len(q)):
        step = q.copy()
        step[k] += 1j * _STEP
        gradient[k] = (potential(step) - kinetic(step, qd)).imag / _STEP
    return mass_matrix(kinetic, q).real @ qdd.real + m_dot @ qd.real + gradient
