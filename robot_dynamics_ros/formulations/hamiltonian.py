"""Hamiltonian form: momenta, H(q, p), Hamilton's equations and a symplectic integrator; LaValle 13.4.4 begins it.

H couples positions and momenta through M(q)^-1, so it is not separable and explicit symplectic schemes do not apply.
The implicit midpoint rule does: it is symplectic and symmetric (Hairer, Lubich, Wanner, Geometric Numerical
Integration, VI.4 and V.1), so its energy error stays bounded where that of an explicit Runge-Kutta method drifts.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel

Force = Callable[[float, Array, Array], ArrayLike]
"""Generalised force (n,), N m or N, at time t (s), position q and velocity qd (n,)."""

_ITERATIONS = 100
_ROUNDING = 1e-15  # of the state: two iterates that differ by less are the same
_STALLED = 1e-12  # of the state: what rounding in the equations may leave between iterates
_SMALL = 1e-6  # rad, kg m^2/s and so on: a state below has no size of its own


def momenta(model: RobotModel, q: ArrayLike, qd: ArrayLike) -> Array:
    """Generalised momenta p = M(q) qd = dL/dqd (n,), of q and qd (n,), kg m^2/s or kg m/s."""
    return np.asarray(model.mass_matrix(model.vector("q", q)) @ model.vector("qd", qd))


def velocities(model: RobotModel, q: ArrayLike, p: ArrayLike) -> Array:
    """Rates qd = M(q)^-1 p (n,), of q and p (n,). RobotModelError, naming the joints, where some move no mass."""
    model.require_mass()
    return np.asarray(np.linalg.solve(model.mass_matrix(model.vector("q", q)), model.vector("p", p)))


def hamiltonian(model: RobotModel, q: ArrayLike, p: ArrayLike) -> float:
    """H = 1/2 p^T M(q)^-1 p + P(q), J, of q and p (n,): the total energy, Spong (9.113)."""
    return float(0.5 * velocities(model, q, p) @ model.vector("p", p) + model.potential_energy(q))


def hamilton_equations(
    model: RobotModel, q: ArrayLike, p: ArrayLike, tau: ArrayLike | None = None
) -> tuple[Array, Array]:
    """Rates (n,) of position and momentum: qd = dH/dp, pd = -dH/dq + tau.

    dH/dq_k = -1/2 qd^T dM/dq_k qd + dP/dq_k, and the first part is -(C^T qd)_k with C by Christoffel symbols, as
    Spong (9.62) summed over j shows. ``tau`` (n,) is the generalised force, none if None. Errors as ``velocities``.
    """
    qd = velocities(model, q, p)
    pd = model.coriolis_matrix(q, qd).T @ qd - model.gravity_torque(q)
    return qd, pd if tau is None else np.asarray(pd + model.vector("tau", tau))


def implicit_midpoint(
    model: RobotModel, q: ArrayLike, p: ArrayLike, step: float, steps: int, force: Force | None = None
) -> tuple[Array, Array]:
    """Positions and momenta (steps + 1, n) from q and p (n,) on, in steps of ``step`` s, by the implicit midpoint rule.

    Each step solves m = z + step / 2 f(m) for the midpoint m of z = (q, p) by fixed-point iteration down to rounding,
    then z+ = 2 m - z. ``force`` is taken at the midpoint. Raises RobotDynamicsError where the iteration does not
    converge: the step is too long for the motion.
    """
    if not (np.isfinite(step) and step > 0.0) or steps < 0:
        raise RobotDynamicsError(
            f"step {step!r}, steps {steps!r}: no motion. Cure: give a step above 0 s, steps of at least 0"
        )
    states = np.empty((steps + 1, 2, model.n))
    states[0] = model.vector("q", q), model.vector("p", p)
    rate = np.array(hamilton_equations(model, states[0, 0], states[0, 1]))
    for k in range(steps):
        start, time = states[k], (k + 0.5) * step
        middle, change = start + 0.5 * step * rate, np.inf  # the last step's rate is a guess
        with np.errstate(over="ignore", invalid="ignore"):  # divergence is reported below
            for _ in range(_ITERATIONS):
                position, momentum = middle
                tau = None if force is None else force(time, position, velocities(model, position, momentum))
                rate = np.array(hamilton_equations(model, position, momentum, tau))
                new = start + 0.5 * step * rate
                size = np.maximum(_SMALL, np.abs(new).max(axis=1))
                last, change = change, float((np.abs(new - middle).max(axis=1) / size).max())
                middle = new
                if change <= _ROUNDING or (change <= _STALLED and change >= 0.5 * last):
                    break
            else:
                raise RobotDynamicsError(
                    f"implicit midpoint: at {time:g} s a step of {step:g} s does not converge. "
                    "Cure: take a shorter step"
                )
        states[k + 1] = 2.0 * middle - start
    return states[:, 0].copy(), states[:, 1].copy()
