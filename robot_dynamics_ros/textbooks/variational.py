"""From a Lagrangian to a motion: LaValle (13.114)-(13.148), (13.162)-(13.164), Craig (6.115)-(6.117).

A Lagrangian L(x, xd, t) is a function of the position x (n,), its rate xd (n,) and the time t (s), such as
``lagrangian_of`` a robot. Any L will do, also one without a mechanical system. Its derivatives are differences of
fourth order, with errors of about 1e-10 of L if L changes over 1 rad, m or s. Their steps are 2e-3, in rates above 1
this share of them. Positions q are in rad or m, torques and inputs u in Nm or N.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.textbooks import thresholds
from robot_dynamics_ros.textbooks.constraints import (
    ConstraintFunction,
    constrained_forward_dynamics,
    loops_of,
)
from robot_dynamics_ros.textbooks.hamiltonian import Force
from robot_dynamics_ros.textbooks.shared_terms import real

Lagrangian = Callable[[Array, Array, float], float]
"""Function (x, xd, t) -> L, with x and xd (n,)."""

Path = Callable[[float], tuple[ArrayLike, ArrayLike]]
"""Function of time (s) that returns position and rate, (n,) each."""


def lagrangian_of(model: RobotModel) -> Lagrangian:
    """Return the function L = K - V of a robot, J: LaValle (13.129)."""
    return lambda q, qd, t: float(
        model.kinetic_energy(q, qd) - model.potential_energy(q)
    )


def action(
    lagrangian: Lagrangian, path: Path, start: float, end: float, intervals: int = 100
) -> float:
    """Return the integral of L along a path: LaValle (13.114), for a robot the action of Hamilton's principle (13.127).

    Parameters
    ----------
    lagrangian
        Function L.
    path
        The path.
    start, end
        Limits of the integral, s.
    intervals
        Number of equal intervals, each with five Gauss-Legendre nodes.
    """
    nodes, weights = np.polynomial.legendre.leggauss(5)
    half = 0.5 * (end - start) / intervals
    total = 0.0
    for k in range(intervals):
        for t, weight in zip(
            (start + half * (2 * k + 1 + nodes)).tolist(), weights.tolist(), strict=True
        ):
            x, xd = path(t)
            total += weight * lagrangian(real(x), real(xd), t)
    return half * total


def euler_lagrange(
    lagrangian: Lagrangian, x: ArrayLike, xd: ArrayLike, xdd: ArrayLike, t: float = 0.0
) -> Array:
    """Return d/dt dL/dxd - dL/dx (n,) of a motion at time t: LaValle (13.118), (13.124), (13.136).

    It is zero for an extremal of the functional, and the input u for a system with inputs. x, xd and xdd are (n,).
    """
    inertia, rest = _equation(lagrangian, x, xd, t)
    return inertia @ real(xdd) + rest


def extremal_acceleration(
    lagrangian: Lagrangian,
    x: ArrayLike,
    xd: ArrayLike,
    t: float = 0.0,
    u: ArrayLike | None = None,
) -> Array:
    """Return the xdd (n,) that solves the Euler-Lagrange equation with inputs u (n,), LaValle (13.136); None: zero.

    x and xd are (n,). Raises RobotDynamicsError if d^2L/dxd^2 is singular, so that L does not determine xdd.
    """
    inertia, rest = _equation(lagrangian, x, xd, t)
    size = abs(lagrangian(real(x), real(xd), t))
    if np.linalg.matrix_rank(
        inertia, thresholds.SINGULAR * max(size, np.abs(inertia).max())
    ) < len(rest):
        raise RobotDynamicsError(
            f"the second derivatives of L by the rates are singular, {inertia.tolist()}. "
            "Cure: use an L that is quadratic in the rate of each coordinate"
        )
    return np.asarray(np.linalg.solve(inertia, (0.0 if u is None else real(u)) - rest))


def constrained_extremum(
    function: Callable[[Array], ArrayLike],
    constraints: Callable[[Array], ArrayLike],
    guess: ArrayLike,
) -> tuple[Array, Array]:
    """Return x (n,) near a guess and lambda (k,) of an extremum of h with g = 0: LaValle (13.162)-(13.164).

    There h + lambda . g is stationary, at a minimum, maximum or saddle. Newton's method starts from the lambda that
    fits the guess best.

    Parameters
    ----------
    function
        h of x (n,), a number.
    constraints
        g of x (n,), with k elements.
    guess
        x (n,).

    Raises
    ------
    RobotDynamicsError
        If the method does not converge.
    """
    start = real(guess)
    n = len(start)
    steps = np.full(n, thresholds.VARIATIONAL_DIFFERENCE)

    def value(z: Array) -> Array:
        return np.append(function(z), constraints(z))

    def conditions(z: Array) -> Array:
        slopes = _slopes(value, z[:n], steps)
        return np.append(slopes[0] + z[n:] @ slopes[1:], constraints(z[:n]))

    slopes = _slopes(value, start, steps)
    z = np.append(start, np.linalg.lstsq(slopes[1:].T, -slopes[0], rcond=None)[0])
    for _ in range(thresholds.VARIATIONAL_STEPS):
        error = conditions(z)
        if np.abs(error).max() <= thresholds.VARIATIONAL_CONVERGED * (
            1.0 + np.abs(slopes).max()
        ):
            return z[:n], z[n:]
        curvature = _slopes(
            conditions, z, np.full(len(z), thresholds.VARIATIONAL_DIFFERENCE)
        )
        z = z - np.linalg.lstsq(curvature, error, rcond=thresholds.SINGULAR)[0]
    raise RobotDynamicsError(
        f"no extremum near {start.tolist()}. Cure: choose another guess, or constraints that can be met"
    )


def phase_transition(
    model: RobotModel,
    x: ArrayLike,
    u: ArrayLike,
    constraints: ConstraintFunction | None = None,
) -> Array:
    """Return x' = f(x, u) (..., 2 n) of any robot, without friction: LaValle (13.148), (13.161), below (13.180).

    Parameters
    ----------
    model
        The robot.
    x
        Phase vector (..., 2 n): positions, then velocities. With constraints a single one, (2 n,).
    u
        Joint torques (..., n).
    constraints
        Function of q and qd that returns the Constraints; None: the loops of the model, if it has any.

    Raises
    ------
    RobotDynamicsError
        For arguments of a wrong shape, and a joint that moves no inertia.
    """
    phase = real(x)
    if phase.shape[-1:] != (2 * model.n,):
        raise RobotDynamicsError(
            f"x has shape {phase.shape}, expected (..., {2 * model.n}). Cure: pass positions, then velocities"
        )
    q, qd = np.split(phase, 2, axis=-1)
    if constraints is None and model.loops:
        constraints = loops_of(model)
    if constraints is None:
        qdd = model.forward_dynamics(q, qd, u)
    else:
        qdd = constrained_forward_dynamics(model, q, qd, u, constraints(q, qd)).qdd
    return np.concatenate([qd, qdd], axis=-1)


def euler_integration(
    model: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    force: Force,
    step: float,
    steps: int,
) -> tuple[Array, Array, Array]:
    """Integrate the motion by Euler's method, Craig (6.117), without friction.

    The error is of first order in the step. ``simulation.Plant`` has better methods, and friction.

    Parameters
    ----------
    model
        The robot.
    q, qd
        Initial position and velocity (n,).
    force
        Function (t, q, qd) that returns the torque (n,).
    step
        Length of a step, s.
    steps
        Number of steps.

    Returns
    -------
    q, qd, qdd
        Positions, velocities and accelerations (steps + 1, n), at the start and after each step.

    Raises
    ------
    RobotDynamicsError
        For vectors of a wrong shape.
    RobotModelError
        For a joint that moves no inertia.
    """
    position = model.vector("q", q)
    velocity = model.vector("qd", qd)
    rows = []
    for k in range(steps + 1):
        qdd = model.forward_dynamics(
            position, velocity, force(k * step, position, velocity)
        )
        rows.append((position, velocity, qdd))
        position = position + step * velocity + 0.5 * step**2 * qdd
        velocity = velocity + step * qdd
    positions, velocities, accelerations = (
        np.array(column) for column in zip(*rows, strict=True)
    )
    return positions, velocities, accelerations


def _equation(
    lagrangian: Lagrangian, x: ArrayLike, xd: ArrayLike, t: float
) -> tuple[Array, Array]:
    """Return A (n, n) and b (n,) of the Euler-Lagrange equation A xdd + b = u."""
    velocity = real(xd)
    n = len(velocity)
    # L is quadratic in the rates of a robot, but periodic in its positions: only steps of rates may grow with them.
    steps = np.full(2 * n + 1, thresholds.VARIATIONAL_DIFFERENCE)
    steps[n:-1] *= np.maximum(1.0, np.abs(velocity))

    def value(z: Array) -> Array:
        return np.asarray(lagrangian(z[:n], z[n:-1], float(z[-1])))

    z = np.concatenate([real(x), velocity, [t]])
    # Second derivatives of L, by a rate and by x, xd, t.
    by_rate = _slopes(lambda z: _slopes(value, z, steps)[n:-1], z, steps)
    return by_rate[:, n:-1], by_rate[:, :n] @ velocity + by_rate[:, -1] - _slopes(
        value, z, steps
    )[:n]


def _slopes(function: Callable[[Array], Array], z: Array, steps: Array) -> Array:
    """Return the derivatives (..., k) of a function (...) by z (k,), by central differences of fourth order."""
    columns = [
        (
            8.0 * (function(z + e) - function(z - e))
            - function(z + 2.0 * e)
            + function(z - 2.0 * e)
        )
        / (12.0 * e.sum())
        for e in np.diag(steps)
    ]
    return np.stack(columns, axis=-1)
