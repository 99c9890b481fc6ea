"""Friction modes of constraint rows, and columns of their tables.

A constraint row is a direction in which Coulomb friction and limits act, with velocity z and impulse lambda. The bounds
of lambda are the Coulomb torques by direction, tau+ and tau-, times the step size dt.
"""

from __future__ import annotations

from robot_dynamics_ros.dynamics.kernels.compilation import (
    forceinlined_kernel,
    kernel,
)
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray

# Friction modes, in the order of increasing velocity and decreasing lambda. If lower (upper) is 0 there is no mode
# AT_LOWER (AT_UPPER): the row is STUCK, with lambda unbounded on that side.
AT_LOWER = 0  # z = lower < 0, lambda >= dt tau-
BACKWARD = 1  # lower <= z <= 0, lambda = dt tau-
STUCK = 2  # z = 0, -dt tau+ <= lambda <= dt tau-
FORWARD = 3  # 0 <= z <= upper, lambda = -dt tau+
AT_UPPER = 4  # z = upper > 0, lambda <= -dt tau+

# Columns of ``rows``, float64 (K, SIZE): the friction problem, its solution, scratch.
BOUND_FORWARD = 0  # dt tau+ >= 0
BOUND_BACKWARD = 1  # dt tau- >= 0
LOWER = 2  # smallest velocity, <= 0
UPPER = 3  # largest velocity, >= 0
VELOCITY = 4  # z
IMPULSE = 5  # lambda
NOISE = 6  # rounding error of lambda
# 1 if the row sticks or is at a limit, and is linearly independent of the other such rows
INDEPENDENT = 7
AT_REST = 8  # 1 if the unconstrained motion keeps the row at rest
# torque that the motor applies to a gear whose friction depends on the load; only for such rows
APPLIED = 9
# change of the friction of a slipping row per change of smooth friction; 1 without load
SMOOTH_SHARE = 10
TARGET = 11  # exact new position, NaN if there is none
SIZE = 12

# Columns of ``ranges`` (K, 4): position limits, velocity limit, and inertia of the rotors that follow the row alone.
LOWEST = 0
HIGHEST = 1
FASTEST = 2
ROTOR_INERTIA = 3


@forceinlined_kernel
def product(directions: Array, k: int, v: Array) -> float:
    """Return E_k ``v``, for row k of E in ``directions`` (K, n) and ``v`` (n,).

    It is v[k] if ``directions`` is (0, n), as for an arm with E = I.
    """
    if directions.shape[0] == 0:
        return float(v[k])
    total = 0.0
    for j in range(v.shape[0]):
        total += directions[k, j] * v[j]
    return total


@forceinlined_kernel
def add_along(directions: Array, k: int, value: float, v: Array) -> None:
    """Add E_k^T ``value`` to ``v`` (n,), for row k of E as in ``product``."""
    if directions.shape[0] == 0:
        v[k] += value
    else:
        for j in range(v.shape[0]):
            v[j] += directions[k, j] * value


@kernel
def slips(mode: int) -> bool:
    """Return True if a row slips in this mode: FORWARD or BACKWARD."""
    return mode == FORWARD or mode == BACKWARD


@kernel
def is_frictionless(rows: Array, k: int) -> bool:
    """Return True for a row without friction and limit: both directions of slipping are then one mode."""
    bounds = rows[k, BOUND_FORWARD] + rows[k, BOUND_BACKWARD]
    return bool(bounds == 0.0 and rows[k, LOWER] < 0.0 < rows[k, UPPER])


@kernel
def slip_range(rows: Array, k: int, mode: int) -> tuple[float, float]:
    """Return the range of velocities (rad/s or m/s) in a slipping mode; without friction it covers both directions."""
    both = is_frictionless(rows, k)
    return (
        rows[k, LOWER] if mode == BACKWARD or both else 0.0,
        rows[k, UPPER] if mode == FORWARD or both else 0.0,
    )


@kernel
def slip_impulse(rows: Array, k: int, mode: int) -> float:
    """Return the friction impulse lambda of row k (Nm s or N s) in a slipping mode; 0 in other modes."""
    if mode == FORWARD:
        return float(-rows[k, BOUND_FORWARD])
    return float(rows[k, BOUND_BACKWARD]) if mode == BACKWARD else 0.0


@kernel
def target_velocity(rows: Array, k: int, mode: int) -> float:
    """Return the velocity of row k (rad/s or m/s) in a mode: 0, or its LOWER or UPPER velocity if at a limit."""
    if mode == AT_LOWER:
        return float(rows[k, LOWER])
    return float(rows[k, UPPER]) if mode == AT_UPPER else 0.0


@forceinlined_kernel
def label_modes(rows: Array, modes: IntArray) -> None:
    """Set the reported mode in ``modes`` of rows at rest against a limit and of frictionless rows.

    ``rows`` has the solution. A row at rest whose limit carries an impulse is AT_LOWER or AT_UPPER; a frictionless
    one is FORWARD or BACKWARD, by its velocity.
    """
    for k in range(modes.shape[0]):
        impulse = rows[k, IMPULSE]
        if modes[k] == STUCK:
            if rows[k, LOWER] == 0.0 and impulse >= rows[k, BOUND_BACKWARD]:
                modes[k] = AT_LOWER
            elif rows[k, UPPER] == 0.0 and impulse <= -rows[k, BOUND_FORWARD]:
                modes[k] = AT_UPPER
        elif slips(modes[k]) and is_frictionless(rows, k):
            modes[k] = BACKWARD if rows[k, VELOCITY] < 0.0 else FORWARD
