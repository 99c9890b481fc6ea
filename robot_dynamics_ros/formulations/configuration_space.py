"""Christoffel symbols of the inertia matrix, skew symmetry and passivity: Spong (9.58)-(9.63), (9.109)-(9.118).

The derivatives of the inertia matrix are exact: those of the link Jacobians that it is made of, with couplings and
rotors (``lagrange_link_jacobians``). So the symbols come from the definition alone and check the kernels, which get the
Coriolis matrix by another road (``RobotModel.coriolis_matrix``: half of dtau/dqd). Spong's D is M here, P the potential
energy.

In print (9.63) has q_j for q_i in its first term, (9.115) lacks qd behind C, and (9.118) needs P bounded from below.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.formulations.lagrange_link_jacobians import inertia_matrix_derivatives
from robot_dynamics_ros.formulations.link_tree import LinkTree, coordinates, link_tree
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel


@dataclass(frozen=True, eq=False)
class EnergyBalance:
    """Energy along a motion beside the work of the joint torques, at m instants, J.

    Attributes
    ----------
    energy
        (m,): kinetic and potential energy H, Spong (9.113).
    work
        (m,): the integral of qd^T tau from the first instant, Spong (9.118).
    """

    energy: Array
    work: Array

    @property
    def residual(self) -> Array:
        """What is left of Spong (9.118), (m,): work - (H(t) - H(0)); zero without friction and other forces."""
        return np.asarray(self.work - (self.energy - self.energy[0]))


def christoffel_symbols(robot: RobotModel | LinkTree, q: ArrayLike) -> Array:
    """Christoffel symbols c_ijk of the first kind at q (n,), as (n, n, n) in this order, Spong (9.58).

    They are symmetric in i and j; sum_ij c_ijk qd_i qd_j is what velocity adds to torque k, Spong (9.60).
    """
    d = inertia_matrix_derivatives(robot, q)  # [k, j, i]: that of d_kj by q_i
    return np.asarray(0.5 * (np.einsum("kji->ijk", d) + np.einsum("kij->ijk", d) - d))


def coriolis_matrix(robot: RobotModel | LinkTree, q: ArrayLike, qd: ArrayLike) -> Array:
    """C(q, qd) (n, n) with c_kj = sum_i c_ijk qd_i, Spong (9.62), at q and qd (n,)."""
    (qd,) = coordinates(link_tree(robot), qd=qd)
    return np.asarray(np.einsum("ijk,i->kj", christoffel_symbols(robot, q), qd))


def skew_symmetric_matrix(robot: RobotModel | LinkTree, q: ArrayLike, qd: ArrayLike) -> Array:
    """N = dM/dt - 2 C (n, n) of Spong (9.109) and (9.110) at q and qd (n,): its transpose is -N (9.111)."""
    (qd,) = coordinates(link_tree(robot), qd=qd)
    rate = inertia_matrix_derivatives(robot, q) @ qd  # (9.109)
    return np.asarray(rate - 2.0 * coriolis_matrix(robot, q, qd))


def energy_balance(model: RobotModel, time: ArrayLike, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> EnergyBalance:
    """Energy and work along a motion: dH/dt = qd^T tau, Spong (9.113)-(9.118).

    ``time`` (m,) rises, s; q, qd (m, n) and tau (m, n), without friction, belong to it. The work is that of the
    cubic spline through the power, its error of fourth order in the spacing. The arm gives away at most the energy
    that it had, so it is passive: work >= min H - H(0), where min H is over all states. Raises RobotDynamicsError
    where the shapes do not fit.
    """
    t = np.asarray(time, dtype=np.float64)
    positions, rates, torques = (np.asarray(x, dtype=np.float64) for x in (q, qd, tau))
    if t.ndim != 1 or len(t) < 2 or not np.all(np.diff(t) > 0.0):
        raise RobotDynamicsError("time is no row of at least 2 rising numbers. Cure: give it in s, without repetitions")
    for name, given in (("q", positions), ("qd", rates), ("tau", torques)):
        if given.shape != (len(t), model.n):
            raise RobotDynamicsError(
                f"{name} has shape {given.shape}, expected {(len(t), model.n)}. Cure: give one row for each time"
            )
    energy = model.kinetic_energy(positions, rates) + model.potential_energy(positions)
    power = CubicSpline(t, np.einsum("ti,ti->t", rates, torques))
    return EnergyBalance(energy, np.asarray(power.antiderivative()(t)))


def velocity_products(qd: ArrayLike) -> Array:
    """[qd qd] (n (n - 1) / 2,), Craig (6.64): qd_1 qd_2, qd_1 qd_3, ... qd_(n-1) qd_n, of qd (n,)."""
    rates = np.asarray(qd, dtype=np.float64)
    first, second = np.triu_indices(len(rates), 1)
    return np.asarray(rates[first] * rates[second])


def velocity_squares(qd: ArrayLike) -> Array:
    """[qd^2] (n,), Craig (6.65), of qd (n,)."""
    return np.asarray(np.asarray(qd, dtype=np.float64) ** 2)


def coriolis_coefficients(robot: RobotModel | LinkTree, q: ArrayLike) -> Array:
    """B(q) (n, n (n - 1) / 2) of Craig (6.63) at q (n,), columns in the order of ``velocity_products``."""
    c = christoffel_symbols(robot, q)
    first, second = np.triu_indices(len(c), 1)
    return np.asarray(2.0 * c[first, second].T)


def centrifugal_coefficients(robot: RobotModel | LinkTree, q: ArrayLike) -> Array:
    """C(q) (n, n) of Craig (6.63) at q (n,): row k is what the squared rates add to torque k.

    It is no Coriolis matrix: that one is ``christoffel.coriolis_matrix``, which depends on the rates.
    """
    c = christoffel_symbols(robot, q)
    return np.asarray(np.einsum("jjk->kj", c))


def velocity_torque(robot: RobotModel | LinkTree, q: ArrayLike, qd: ArrayLike) -> Array:
    """V(q, qd) = B [qd qd] + C [qd^2] (n,), Craig (6.63), at q and qd (n,), N m or N."""
    (rates,) = coordinates(link_tree(robot), qd=qd)
    products = coriolis_coefficients(robot, q) @ velocity_products(rates)
    return np.asarray(products + centrifugal_coefficients(robot, q) @ velocity_squares(rates))
