"""Hamiltonian form: momenta, H(q, p), Hamilton's equations and a symplectic integrator; an extension of LaValle 13.4.4.

H depends on q and p together through M(q)^-1. It is not separable, so that explicit symplectic methods do not apply.
The implicit midpoint rule is symplectic and symmetric (Hairer, Lubich, Wanner, Geometric Numerical Integration, VI.4
and V.1). Its energy error is bounded, unlike that of an explicit Runge-Kutta method.

Positions q are in rad or m, velocities qd in rad/s or m/s, and momenta p in kg m^2/s or kg m/s. M is the mass matrix, P
the potential energy, L the Lagrangian and pd the time derivative of p. Vectors of a wrong shape raise
RobotDynamicsError, and a joint that moves no inertia its subclass RobotModelError.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.textbooks import thresholds

Force = Callable[[float, Array, Array], ArrayLike]
"""Function that returns the generalised force (n,), N m or N, at time t (s), position q and velocity qd (n,)."""


def momenta(model: RobotModel, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return the generalised momenta p = M(q) qd = dL/dqd (n,), kg m^2/s or kg m/s, for q and qd (n,)."""
    return model.mass_matrix(model.vector("q", q)) @ model.vector("qd", qd)


def velocities(model: RobotModel, q: ArrayLike, p: ArrayLike) -> Array:
    """Return the velocity qd = M(q)^-1 p (n,), rad/s or m/s, for q and p (n,).

    Raises RobotModelError, with the names of the joints, if a joint moves no inertia.
    """
    model.require_mass()
    return np.asarray(
        np.linalg.solve(model.mass_matrix(model.vector("q", q)), model.vector("p", p))
    )


def hamiltonian(model: RobotModel, q: ArrayLike, p: ArrayLike) -> float:
    """Return the total energy H = 1/2 p^T M(q)^-1 p + P(q), J, for q and p (n,): Spong (9.113)."""
    return float(
        0.5 * velocities(model, q, p) @ model.vector("p", p) + model.potential_energy(q)
    )


def hamilton_equations(
    model: RobotModel, q: ArrayLike, p: ArrayLike, tau: ArrayLike | None = None
) -> tuple[Array, Array]:
    """Return the time derivatives (n,) of position and momentum: qd = dH/dp, pd = -dH/dq + tau.

    dH/dq_k = -1/2 qd^T dM/dq_k qd + dP/dq_k. The first term is -(C^T qd)_k with C of the Christoffel symbols, from the
    sum of Spong (9.62) over j.

    Parameters
    ----------
    model
        The robot.
    q, p
        Position and momentum (n,).
    tau
        Generalised force (n,), N m or N; None: zero.

    Raises
    ------
    RobotModelError
        If a joint moves no inertia, with its name.
    """
    qd = velocities(model, q, p)
    pd = model.coriolis_matrix(q, qd).T @ qd - model.gravity_torque(q)
    return qd, pd if tau is None else pd + model.vector("tau", tau)


def implicit_midpoint(
    model: RobotModel,
    q: ArrayLike,
    p: ArrayLike,
    step: float,
    steps: int,
    force: Force | None = None,
) -> tuple[Array, Array]:
    """Integrate Hamilton's equations by the implicit midpoint rule.

    Each step solves m = z + step / 2 f(m) for the midpoint m by fixed-point iteration up to rounding, with the state z
    = (q, p) and f its time derivative. The new state is 2 m - z.

    Parameters
    ----------
    model
        The robot.
    q, p
        Initial position and momentum (n,).
    step
        Length of a step, s.
    steps
        Number of steps.
    force
        Function (t, q, qd) that returns the generalised force (n,), Nm or N, called with the time (s from the start),
        position and velocity of the midpoint; None: zero.

    Returns
    -------
    q, p
        Positions and momenta (steps + 1, n), at the start and after each step.

    Raises
    ------
    RobotDynamicsError
        If the iteration does not converge, because the step is too long for the motion, and for an invalid ``step``
        or ``steps``.
    """
    if not (np.isfinite(step) and step > 0.0) or steps < 0:
        raise RobotDynamicsError(
            f"step is {step!r}, steps is {steps!r}. Cure: pass a finite step above 0 s and at least 0 steps"
        )
    states = np.empty((steps + 1, 2, model.n))
    states[0] = model.vector("q", q), model.vector("p", p)
    rate = np.array(hamilton_equations(model, states[0, 0], states[0, 1]))
    for k in range(steps):
        start = states[k]
        time = (k + 0.5) * step
        # initial guess from the last step's rate
        middle = start + 0.5 * step * rate
        change = np.inf
        # divergence is reported below
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(thresholds.IMPLICIT_ITERATIONS):
                position, momentum = middle
                tau = (
                    None
                    if force is None
                    else force(time, position, velocities(model, position, momentum))
                )
                rate = np.array(hamilton_equations(model, position, momentum, tau))
                new = start + 0.5 * step * rate
                size = np.maximum(thresholds.IMPLICIT_SCALE, np.abs(new).max(axis=1))
                last = change
                change = float((np.abs(new - middle).max(axis=1) / size).max())
                middle = new
                if change <= thresholds.IMPLICIT_CONVERGED or (
                    change <= thresholds.IMPLICIT_STALLED and change >= 0.5 * last
                ):
                    break
            else:
                raise RobotDynamicsError(
                    f"implicit midpoint: at {time:g} s a step of {step:g} s does not converge. Cure: reduce step"
                )
        states[k + 1] = 2.0 * middle - start
    return states[:, 0].copy(), states[:, 1].copy()
