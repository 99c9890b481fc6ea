"""Joint rates for a velocity of the hand: Craig (5.72), resolved-rate motion (Whitney 1969)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array

_SINGULAR = 1e-8


def smallest_singular_value(jacobian: ArrayLike) -> float:
    """How little the hand moves, m/s or rad/s, in its worst direction, at joint rates of unit length: 0 if singular.

    ``jacobian`` (m, n), m <= n. The largest one is the other end of the scale.
    """
    return float(np.linalg.svd(np.asarray(jacobian, dtype=np.float64), compute_uv=False)[-1])


def require_regular(jacobian: Array, q: ArrayLike) -> None:
    """Raise RobotDynamicsError, naming the configuration q (n,), where J (m, n) lacks full row rank: Craig 5.8."""
    rows, columns = jacobian.shape
    if rows > columns:
        raise RobotDynamicsError(
            f"{rows} components of the hand's velocity, but {columns} joints. "
            f"Cure: choose at most {columns} rows of the Jacobian"
        )
    values = np.linalg.svd(jacobian, compute_uv=False)
    if not values[-1] > _SINGULAR * values[0]:
        raise RobotDynamicsError(
            f"the Jacobian is singular at q = {np.asarray(q).tolist()}: its smallest singular value is "
            f"{values[-1]:.3g}, the largest {values[0]:.3g}. Cure: ask for damping, for fewer rows, or for another q"
        )


def joint_rates(jacobian: ArrayLike, velocity: ArrayLike, q: ArrayLike, *, damping: float = 0.0) -> Array:
    """Joint rates (n,), rad/s or m/s, for a velocity (m,) of the hand: J^-1 v, Craig (5.72).

    With more joints than components it is the smallest one of all that give the velocity.

    Parameters
    ----------
    jacobian, velocity
        (m, n) and (m,) in the same axes, m <= n, m/s and rad/s.
    q
        Where the arm is (n,), for the message.
    damping
        Above 0: J^T (J J^T + damping^2 I)^-1 v, which stays below |v| / (2 damping), at the price of some error
        (Wampler 1986; Nakamura and Hanafusa 1986). In the units of the singular values of J.

    Raises
    ------
    RobotDynamicsError
        At a singularity, without damping; for more components than joints.
    """
    j, v = np.asarray(jacobian, dtype=np.float64), np.asarray(velocity, dtype=np.float64)
    if damping > 0.0:
        return np.asarray(j.T @ np.linalg.solve(j @ j.T + damping**2 * np.eye(len(j)), v))
    require_regular(j, q)
    rates = np.linalg.solve(j, v) if j.shape[0] == j.shape[1] else np.linalg.pinv(j) @ v
    return np.asarray(rates, dtype=np.float64)


def resolved_rate_motion(
    jacobian: Callable[[Array], ArrayLike],
    velocity: ArrayLike,
    q: ArrayLike,
    *,
    step: float,
    steps: int,
    damping: float = 0.0,
) -> tuple[Array, Array]:
    """Positions (steps + 1, n) and rates (steps + 1, n) of a hand that moves at constant velocity (m,), from q (n,).

    Euler steps of ``step`` seconds, the Jacobian anew at each: Craig, exercise 5 for MATLAB. ``jacobian`` gives (m, n)
    at a position (n,). Errors as ``joint_rates``.
    """
    positions = [np.array(q, dtype=np.float64)]
    rates: list[Array] = []
    for _ in range(steps + 1):
        here = positions[-1]
        rates.append(joint_rates(jacobian(here), velocity, here, damping=damping))
        positions.append(here + step * rates[-1])
    return np.array(positions[:-1]), np.array(rates)
