"""Stages of a step shared by all kinds of arms: set-up of the friction problem, unconstrained motion, new state.

A constraint row k is a direction E_k (n,) in which friction and limits act, with position E_k q and velocity E_k v, for
n coordinates. An arm is separable if each joint depends on one coordinate; then E is the identity. The friction mode of
a row is slipping (forward or backward), stuck, or at a limit.

The unconstrained motion keeps the friction mode of every constraint row. It includes the Coulomb torque of slipping
rows, smooth friction (viscous and sigmoid) and the reaction of rows at rest. The friction problem then only corrects
it where a row changes its mode.

Arguments: ``joints``, ``state`` and ``buffers`` are the tuples Joints, State and Buffers of arrays, where the rows of
``buffers.vectors`` are named, in capitals here. ``state`` is that before the step, ``dt`` the step size (s). ``motion``
(2 + n, n) has the acceleration in row 0, the reaction of the rows at rest (Nm or N) in row 1, and then A (n, n): the
mass matrix M, with semi_implicit plus dt times the slope B of smooth friction. A status is OK or an error constant of
arrays.
"""

from __future__ import annotations

import math

from robot_dynamics_ros.dynamics.kernels.cholesky import factorise
from robot_dynamics_ros.dynamics.kernels.compilation import kernel
from robot_dynamics_ros.dynamics.kernels.friction import (
    COULOMB,
    COULOMB_NEGATIVE,
    depends_on_load,
    friction_bound,
    load_slope,
    smooth_friction,
    smooth_slope,
)
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.simulation.step import row, vector
from robot_dynamics_ros.simulation.step.arrays import (
    NOT_FINITE,
    NOT_POSITIVE_DEFINITE,
    OK,
    TOO_STIFF,
    Buffers,
    Joints,
    Outcome,
    State,
)

_CHECK_ABOVE = 0.2  # of M_kk: below it, rk4 is taken as stable without computing M^-1
_RK4_STABLE = 2.785  # extent of rk4's stability region along the negative real axis
_LARGEST_POSITION = 1e100  # rad or m: products in the mass matrix overflow beyond it


@kernel
def row_product(directions: Array, k: int, vector: Array) -> float:
    """Return E_k times ``vector`` (n,), for the row with index ``k`` of E in ``directions`` (K, n).

    It is vector[k] if ``directions`` is (0, n), as for a separable arm.
    """
    if directions.shape[0] == 0:
        return float(vector[k])
    total = 0.0
    for j in range(vector.shape[0]):
        total += directions[k, j] * vector[j]
    return total


@kernel
def _add_bounds(
    joints: Joints, i: int, dt: float, y: float, z: float, rows: Array
) -> None:
    """Add joint i's friction bounds over ``dt`` (s) to its row, which has position ``y`` and velocity ``z``."""
    k = joints.rows[i]
    factor = joints.factors[i]
    share = dt * abs(factor)
    friction = joints.friction[i]
    forward = share * friction_bound(
        friction, friction[COULOMB], factor * y, factor * z
    )
    backward = share * friction_bound(
        friction, friction[COULOMB_NEGATIVE], factor * y, factor * z
    )
    rows[k, row.BOUND_FORWARD] += forward if factor > 0.0 else backward
    rows[k, row.BOUND_BACKWARD] += backward if factor > 0.0 else forward


# The load of a joint's gear is the motor torque less friction and less the torque that accelerates the motor's rotor.
# That of the step before is used, since the acceleration is not known yet; without rotors the bounds are exact. Other
# joints of the row have no motor: they are a part of the load.
@kernel
def _add_loads(
    joints: Joints, dt: float, tau: Array, state: State, buffers: Buffers
) -> None:
    """Increase the friction bounds by the load at motor torque ``tau`` (n,), and write APPLIED and SMOOTH_SHARE.

    The load also depends on smooth friction. Its value at the beginning is considered in DRIVE, its change during the
    step by SMOOTH_SHARE.
    """
    rows = buffers.rows
    directions = joints.directions
    for i in range(joints.rows.shape[0]):
        if depends_on_load(joints.friction[i]):
            k = joints.rows[i]
            z = row_product(directions, k, state.velocity)
            smooth = 0.0
            for other in range(joints.rows.shape[0]):
                if joints.rows[other] == k:
                    factor = joints.factors[other]
                    smooth += factor * smooth_friction(
                        joints.friction[other], factor * z
                    )
            change = row_product(directions, k, state.velocity_change)
            rows[k, row.APPLIED] = (
                row_product(directions, k, tau)
                - joints.ranges[k, row.ROTOR_INERTIA] * change / dt
            )
            forward, backward = _load_bounds(
                joints, i, dt, z, rows[k, row.APPLIED] - smooth, rows
            )
            if state.modes[k] == row.FORWARD:
                rows[k, row.SMOOTH_SHARE] = 1.0 / (1.0 + forward)
            elif state.modes[k] == row.BACKWARD:
                rows[k, row.SMOOTH_SHARE] = 1.0 / (1.0 + backward)
            at_start = (1.0 - rows[k, row.SMOOTH_SHARE]) * smooth
            if directions.shape[0] == 0:
                buffers.vectors[vector.DRIVE, k] -= at_start
            else:
                for j in range(tau.shape[0]):
                    buffers.vectors[vector.DRIVE, j] -= directions[k, j] * at_start


@kernel
def _load_bounds(
    joints: Joints, i: int, dt: float, z: float, applied: float, rows: Array
) -> tuple[float, float]:
    """Increase the bounds of joint i's row, with velocity ``z``, by its load; return load_slope forward and backward.

    ``applied`` is the torque on the gear, Nm or N, positive in the row's direction.
    """
    k = joints.rows[i]
    friction = joints.friction[i]
    impulse = dt * applied
    forward = load_slope(
        friction, friction[COULOMB], z, rows[k, row.BOUND_FORWARD], impulse
    )
    backward = load_slope(
        friction,
        friction[COULOMB_NEGATIVE],
        z,
        rows[k, row.BOUND_BACKWARD],
        -impulse,
    )
    rows[k, row.BOUND_FORWARD] = (rows[k, row.BOUND_FORWARD] + forward * impulse) / (
        1.0 + forward
    )
    rows[k, row.BOUND_BACKWARD] = (rows[k, row.BOUND_BACKWARD] - backward * impulse) / (
        1.0 + backward
    )
    return forward, backward


# Friction at rest can exceed that in motion (static friction, Stribeck effect). A row that would reverse passes through
# rest, where it may stick: it gets the larger bounds.
@kernel
def raise_bounds_at_reversal(
    joints: Joints, dt: float, state: State, buffers: Buffers
) -> None:
    """Use the friction bounds of joints at rest, in ``buffers.rows``, for rows whose velocity changes sign in the step.

    The velocities compared are that of ``state`` and the unconstrained one in ``buffers``. The bounds are impulses over
    ``dt``, Nm s or N s.
    """
    rows = buffers.rows
    directions = joints.directions
    free = buffers.vectors[vector.UNCONSTRAINED_VELOCITY]
    for k in range(rows.shape[0]):
        before = row_product(directions, k, state.velocity)
        after = row_product(directions, k, free)
        if before * after < 0.0:
            y = row_product(directions, k, state.position)
            rows[k, row.BOUND_FORWARD] = rows[k, row.BOUND_BACKWARD] = 0.0
            for i in range(joints.rows.shape[0]):
                if joints.rows[i] == k:
                    _add_bounds(joints, i, dt, y, 0.0, rows)
            for i in range(joints.rows.shape[0]):
                if joints.rows[i] == k and depends_on_load(joints.friction[i]):
                    _load_bounds(joints, i, dt, 0.0, rows[k, row.APPLIED], rows)


# The friction problem starts from the modes of the last step. Slipping rows get their Coulomb torque as part of the
# drive, and rows at rest are locked, so that the unconstrained motion already is the solution if no mode changes.
# Limits become velocity limits: the largest velocity is the one that reaches the position limit within the step.
@kernel
def set_up_problem(
    joints: Joints, dt: float, tau: Array, state: State, buffers: Buffers
) -> None:
    """Write friction bounds, velocity limits, rows at rest and the Coulomb torque of slipping rows to the buffers.

    ``tau`` (n,) is the motor torque, Nm or N. The columns BOUND_FORWARD to UPPER and AT_REST to SMOOTH_SHARE of
    ``buffers.rows`` are written, and the rows DRIVE (``tau`` plus Coulomb torque), CONSTRAINT_IMPULSE (Coulomb torque
    times ``dt``) and, for separable arms, MOVES of ``buffers.vectors``.
    """
    rows = buffers.rows
    vectors = buffers.vectors
    ranges = joints.ranges
    separable = joints.directions.shape[0] == 0
    for k in range(rows.shape[0]):
        rows[k, row.BOUND_FORWARD] = rows[k, row.BOUND_BACKWARD] = 0.0
        rows[k, row.SMOOTH_SHARE] = 1.0
    for i in range(joints.rows.shape[0]):
        k = joints.rows[i]
        y = row_product(joints.directions, k, state.position)
        z = row_product(joints.directions, k, state.velocity)
        _add_bounds(joints, i, dt, y, z, rows)
    for j in range(tau.shape[0]):
        vectors[vector.DRIVE, j] = tau[j]
        vectors[vector.CONSTRAINT_IMPULSE, j] = 0.0
    _add_loads(joints, dt, tau, state, buffers)
    for k in range(rows.shape[0]):
        y = row_product(joints.directions, k, state.position)
        z = row_product(joints.directions, k, state.velocity)
        rows[k, row.LOWER] = max(
            -ranges[k, row.FASTEST], min(0.0, (ranges[k, row.LOWEST] - y) / dt)
        )
        rows[k, row.UPPER] = min(
            ranges[k, row.FASTEST], max(0.0, (ranges[k, row.HIGHEST] - y) / dt)
        )
        impulse = row.slip_impulse(rows, k, state.modes[k])
        rows[k, row.AT_REST] = 0.0 if row.slips(state.modes[k]) or z != 0.0 else 1.0
        if separable:
            vectors[vector.MOVES, k] = 1.0 - rows[k, row.AT_REST]
            vectors[vector.DRIVE, k] += impulse / dt
            vectors[vector.CONSTRAINT_IMPULSE, k] = impulse
        elif impulse != 0.0:
            for j in range(tau.shape[0]):
                vectors[vector.DRIVE, j] += joints.directions[k, j] * impulse / dt
                vectors[vector.CONSTRAINT_IMPULSE, j] += (
                    joints.directions[k, j] * impulse
                )


@kernel
def subtract_smooth_friction(
    joints: Joints, dt: float, v: Array, buffers: Buffers
) -> None:
    """Write DRIVE less smooth friction at the velocity ``v`` (n,) to FORCE, and dt times its slope to STIFFNESS.

    All three are rows of ``buffers.vectors``; DRIVE is the motor torque plus the Coulomb torque of slipping rows.
    STIFFNESS is 0 if ``dt`` is 0, and for arms that are not separable.
    """
    vectors = buffers.vectors
    separable = joints.directions.shape[0] == 0
    for j in range(v.shape[0]):
        vectors[vector.FORCE, j] = vectors[vector.DRIVE, j]
        vectors[vector.STIFFNESS, j] = 0.0
    for i in range(joints.rows.shape[0]):
        k = joints.rows[i]
        factor = joints.factors[i]
        if separable:
            torque = factor * smooth_friction(joints.friction[i], factor * v[k])
            vectors[vector.FORCE, k] -= buffers.rows[k, row.SMOOTH_SHARE] * torque
            if dt > 0.0:
                vectors[vector.STIFFNESS, k] += (
                    dt
                    * factor
                    * factor
                    * smooth_slope(joints.friction[i], factor * v[k])
                )
        else:
            rate = factor * row_product(joints.directions, k, v)
            torque = (
                buffers.rows[k, row.SMOOTH_SHARE]
                * factor
                * smooth_friction(joints.friction[i], rate)
            )
            for j in range(v.shape[0]):
                vectors[vector.FORCE, j] -= joints.directions[k, j] * torque


@kernel
def check_motion(q: Array, motion: Array, failed: int) -> tuple[int, int]:
    """Return the status of the accelerations in ``motion[0]`` at position ``q`` (n,), and the failing coordinate or -1.

    ``failed`` is the coordinate at which the mass matrix was found not to be positive definite, or -1. The status is
    NOT_FINITE if a position exceeds 1e100 or a position or acceleration is not finite, NOT_POSITIVE_DEFINITE for
    ``failed``, else OK.
    """
    for j in range(q.shape[0]):
        if not abs(q[j]) < _LARGEST_POSITION:
            return NOT_FINITE, j
    if failed >= 0:
        return NOT_POSITIVE_DEFINITE, failed
    for j in range(q.shape[0]):
        if not math.isfinite(motion[0, j]):
            return NOT_FINITE, j
    return OK, -1


@kernel
def add_reaction_impulse(buffers: Buffers, motion: Array, duration: float) -> None:
    """Add the reaction of the rows at rest, ``motion[1]``, times ``duration`` (s) to the row CONSTRAINT_IMPULSE."""
    for j in range(motion.shape[1]):
        buffers.vectors[vector.CONSTRAINT_IMPULSE, j] += duration * motion[1, j]


@kernel
def end_unconstrained(dt: float, state: State, motion: Array, buffers: Buffers) -> None:
    """Integrate the acceleration ``motion[0]`` over ``dt`` (s) by the semi-implicit Euler method.

    Starts from ``state``. Writes the rows UNCONSTRAINED_POSITION and UNCONSTRAINED_VELOCITY, and adds the reaction
    ``motion[1]`` times ``dt`` to the row CONSTRAINT_IMPULSE.
    """
    add_reaction_impulse(buffers, motion, dt)
    vectors = buffers.vectors
    for j in range(motion.shape[1]):
        vectors[vector.UNCONSTRAINED_VELOCITY, j] = (
            state.velocity[j] + dt * motion[0, j]
        )
        vectors[vector.UNCONSTRAINED_POSITION, j] = (
            state.position[j] + dt * vectors[vector.UNCONSTRAINED_VELOCITY, j]
        )


# A diagonal element of a symmetric matrix bounds its largest eigenvalue from below. Column k of dt B^1/2 M^-1 B^1/2 is
# needed only if dt B_kk is large compared to M_kk; then M is factorised once.
@kernel
def check_stiffness(
    joints: Joints, dt: float, v: Array, buffers: Buffers
) -> tuple[int, int]:
    """Return TOO_STIFF and the joint if smooth friction makes rk4 unstable at the velocity ``v`` (n,), else OK and -1.

    rk4 is unstable if dt times an eigenvalue of M^-1 B exceeds 2.785. A diagonal element of dt B^1/2 M^-1 B^1/2 above
    it is sufficient for that, and is checked here, for the joints that are not at rest. M is read from
    ``buffers.motion``. The joint is the index of its coordinate. Arms that are not separable always get OK; their
    motion becomes NOT_FINITE instead.
    """
    factor = buffers.factor
    column = buffers.vectors[vector.SCRATCH]
    ready = False
    if joints.directions.shape[0] == 0:
        for i in range(joints.rows.shape[0]):
            k = joints.rows[i]
            ratio = joints.factors[i]
            stiffness = (
                dt * ratio * ratio * smooth_slope(joints.friction[i], ratio * v[k])
            )
            if (
                stiffness > _CHECK_ABOVE * buffers.motion[2 + k, k]
                and buffers.vectors[vector.MOVES, k] > 0.0
            ):
                if not ready:
                    for a in range(v.shape[0]):
                        for b in range(a + 1):
                            moves = (
                                buffers.vectors[vector.MOVES, a]
                                * buffers.vectors[vector.MOVES, b]
                            )
                            factor[a, b] = moves * buffers.motion[2 + a, b] + (
                                1.0 - moves
                            ) * (a == b)
                    factorise(factor)
                    ready = True
                # (M^-1)_kk = |L^-T e_k|^2, M = L^T L
                total = 0.0
                for a in range(k, -1, -1):
                    value = 1.0 if a == k else 0.0
                    for b in range(a + 1, k + 1):
                        value -= factor[b, a] * column[b]
                    column[a] = value * factor[a, a]
                    total += column[a] * column[a]
                if stiffness * total > _RK4_STABLE:
                    return TOO_STIFF, k
    return OK, -1


@kernel
def exact_position(
    joints: Joints, buffers: Buffers, k: int, rested: bool, y: float
) -> float:
    """Return the exact new position (rad or m) of row ``k`` if it is at a position limit or remains stuck, else NaN.

    ``rested`` is True if the velocity of the row was 0 before the step, and ``y`` is its position then (rad or m). At a
    limit, the result is the limit, or ``y`` if that is beyond it. ``buffers`` have the new modes.
    """
    state = buffers.modes[k]
    rows = buffers.rows
    ranges = joints.ranges
    if state == row.STUCK and rested:
        return y
    # The active bound may be the velocity limit instead of the position limit.
    if state == row.AT_LOWER and rows[k, row.LOWER] > -ranges[k, row.FASTEST]:
        return float(min(y, ranges[k, row.LOWEST]))
    if state == row.AT_UPPER and rows[k, row.UPPER] < ranges[k, row.FASTEST]:
        return float(max(y, ranges[k, row.HIGHEST]))
    return math.nan


@kernel
def update_state(state: State, buffers: Buffers, solves: int, error: float) -> Outcome:
    """Copy position, velocity, impulse and modes from the buffers to ``state`` if they are finite.

    Otherwise ``state`` is unchanged. The Outcome is the status, the index of the failing coordinate or -1, and the
    arguments ``solves`` (linear systems solved) and ``error`` (residual, rad/s or m/s). The status is OK, or
    NOT_POSITIVE_DEFINITE if A is not, or NOT_FINITE.
    """
    vectors = buffers.vectors
    for j in range(vectors.shape[1]):
        if not (
            math.isfinite(vectors[vector.POSITION, j])
            and math.isfinite(vectors[vector.VELOCITY, j])
        ):
            bad = factorise(buffers.motion[2:])
            return (
                (NOT_POSITIVE_DEFINITE, bad, solves, error)
                if bad >= 0
                else (NOT_FINITE, j, solves, error)
            )
    for j in range(vectors.shape[1]):
        state.velocity_change[j] = vectors[vector.VELOCITY, j] - state.velocity[j]
        state.position[j] = vectors[vector.POSITION, j]
        state.velocity[j] = vectors[vector.VELOCITY, j]
        state.impulse[j] = vectors[vector.CONSTRAINT_IMPULSE, j]
    for k in range(buffers.modes.shape[0]):
        state.modes[k] = buffers.modes[k]
    return OK, -1, solves, error
