"""Friction modes of constraint rows, and columns of their tables.

A constraint row is a direction in which Coulomb friction and limits act, with velocity z and impulse lambda. The bounds
of lambda are the Coulomb torques by direction, tau+ and tau-, times the step size dt.
"""

from __future__ import annotations

from robot_dynamics_ros.dynamics.kernels.compilation import kernel
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray

# Friction modes, in the order of increasing velocity and decreasing lambda. If lower (upper) is 0 there is no mode
# AT_LOWER (AT_UPPER): the row is STUCK, with lambda unbounded on that side.
AT_LOWER = 0  # z = lower < 0, lambda >= dt tau-
BACKWARD = 1  # lower <= z <= 0, lambda = dt tau-
STUCK = 2  # z = 0, -dt tau+ <= lambda <= dt tau-
FORWARD = 3  # 0 <= z <= upper, lambda = -dt tau+
AT_UPPER = 4  # z = upper > 0, lambda <= -dt tau+

# Columns of ``rows``, float64 (K, SIZE): the problem, the solution, scratch.
# unconstrained velocity, which includes INITIAL_IMPULSE; only for separable arms, like the next
UNCONSTRAINED = 0
INITIAL_IMPULSE = 1
BOUND_FORWARD = 2  # dt tau+ >= 0
BOUND_BACKWARD = 3  # dt tau- >= 0
LOWER = 4  # smallest velocity, <= 0
UPPER = 5  # largest velocity, >= 0
VELOCITY = 6
IMPULSE = 7  # lambda
NOISE = 8  # rounding error of lambda
# 1 for rows without friction and limit: both directions of slipping are then one mode
FRICTIONLESS = 9
AT_REST = 10  # 1 if the unconstrained motion keeps the row at rest
# torque that the motor applies to a gear whose friction depends on the load; only for such rows
APPLIED = 11
# change of the friction of a slipping row per change of smooth friction; 1 without load
SMOOTH_SHARE = 12
SIZE = 13

# Columns of ``ranges`` (K, 4): position limits, velocity limit, and inertia of the rotors that follow the row alone.
LOWEST = 0
HIGHEST = 1
FASTEST = 2
ROTOR_INERTIA = 3

# Relative tolerance of the bounds of a multiplier. Velocities have none, so that rounding errors cannot make a row
# alternate between two modes.
SLACK = 1e-12


@kernel
def slips(mode: int) -> bool:
    """Return True if a joint slips in this mode: FORWARD or BACKWARD."""
    return mode == FORWARD or mode == BACKWARD


@kernel
def slip_impulse(rows: Array, k: int, mode: int) -> float:
    """Return the friction impulse lambda of joint k (Nm s or N s) in a slipping mode; 0 in other modes."""
    if mode == FORWARD:
        return float(-rows[k, BOUND_FORWARD])
    return float(rows[k, BOUND_BACKWARD]) if mode == BACKWARD else 0.0


@kernel
def target_velocity(rows: Array, k: int, mode: int) -> float:
    """Return the velocity of joint k (rad/s or m/s) in a mode: 0, or its LOWER or UPPER velocity if at a limit."""
    if mode == AT_LOWER:
        return float(rows[k, LOWER])
    return float(rows[k, UPPER]) if mode == AT_UPPER else 0.0


@kernel
def nearest(rows: Array, k: int, own: float, velocity: float) -> float:
    """Return the proximal map of ``velocity`` (rad/s or m/s) for the friction and limits of joint k, a velocity.

    This is soft thresholding by ``own`` times its friction bound, then clipping to its velocity limits. ``own``, an
    inverse inertia such as 1 / A_jj, converts an impulse to a velocity.
    """
    if velocity > own * rows[k, BOUND_FORWARD]:
        return float(min(velocity - own * rows[k, BOUND_FORWARD], rows[k, UPPER]))
    if velocity < -own * rows[k, BOUND_BACKWARD]:
        return float(max(velocity + own * rows[k, BOUND_BACKWARD], rows[k, LOWER]))
    return 0.0


@kernel
def label_modes(rows: Array, modes: IntArray) -> None:
    """Set the reported mode in ``modes`` of rows at rest against a limit and of frictionless rows.

    ``rows`` has the solution. A joint at rest whose limit carries an impulse is AT_LOWER or AT_UPPER; a frictionless
    one is FORWARD or BACKWARD, by its velocity.
    """
    for k in range(modes.shape[0]):
        impulse = rows[k, IMPULSE]
        if modes[k] == STUCK:
            if rows[k, LOWER] == 0.0 and impulse >= rows[k, BOUND_BACKWARD]:
                modes[k] = AT_LOWER
            elif rows[k, UPPER] == 0.0 and impulse <= -rows[k, BOUND_FORWARD]:
                modes[k] = AT_UPPER
        elif rows[k, FRICTIONLESS] > 0.0 and slips(modes[k]):
            modes[k] = BACKWARD if rows[k, VELOCITY] < 0.0 else FORWARD
