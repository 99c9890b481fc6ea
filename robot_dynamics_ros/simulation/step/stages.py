"""Stages of a step shared by all kinds of arms: set-up of the friction problem, unconstrained motion, new state.

A constraint row k is a direction E_k (n,) in which friction and limits act, with position E_k q and velocity E_k v, for
n coordinates. E = I if each joint depends on one coordinate; ``joints.directions`` is then empty. The friction mode of
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

from robot_dynamics_ros.dynamics.kernels.cholesky import factorise, solve_factorised
from robot_dynamics_ros.dynamics.kernels.compilation import (
    forceinlined_kernel,
    kernel,
)
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
from robot_dynamics_ros.simulation.step import arrays, row
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
from robot_dynamics_ros.simulation.thresholds import LARGEST_POSITION, STABILITY_CHECK

_RK4_STABLE = 2.785  # extent of rk4's stability region along the negative real axis


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
            z = row.product(directions, k, state.velocity)
            smooth = 0.0
            for other in range(joints.rows.shape[0]):
                if joints.rows[other] == k:
                    factor = joints.factors[other]
                    smooth += factor * smooth_friction(
                        joints.friction[other], factor * z
                    )
            change = row.product(directions, k, state.velocity_change)
            rows[k, row.APPLIED] = (
                row.product(directions, k, tau)
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
            row.add_along(directions, k, -at_start, buffers.vectors[arrays.DRIVE])


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
@forceinlined_kernel
def raise_bounds_at_reversal(
    joints: Joints, dt: float, state: State, buffers: Buffers
) -> None:
    """Use the friction bounds of joints at rest, in ``buffers.rows``, for rows whose velocity changes sign in the step.

    The velocities compared are that of ``state`` and the unconstrained one in ``buffers``. The bounds are impulses over
    ``dt``, Nm s or N s.
    """
    rows = buffers.rows
    directions = joints.directions
    free = buffers.vectors[arrays.UNCONSTRAINED_VELOCITY]
    for k in range(rows.shape[0]):
        before = row.product(directions, k, state.velocity)
        after = row.product(directions, k, free)
        if before * after < 0.0:
            y = row.product(directions, k, state.position)
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
@forceinlined_kernel
def set_up_problem(
    joints: Joints, dt: float, tau: Array, state: State, buffers: Buffers
) -> None:
    """Write friction bounds, velocity limits, rows at rest and the Coulomb torque of slipping rows to the buffers.

    ``tau`` (n,) is the motor torque, Nm or N. The columns BOUND_FORWARD to UPPER and AT_REST to SMOOTH_SHARE of
    ``buffers.rows`` are written, the modes of the last step, and the rows DRIVE (``tau`` plus Coulomb torque),
    CONSTRAINT_IMPULSE (Coulomb torque times ``dt``) and, for E = I, MOVES of ``buffers.vectors``. Stage and
    unconstrained motion start from ``state``, the loops' impulse from 0, and their rank is unknown.
    """
    rows = buffers.rows
    vectors = buffers.vectors
    ranges = joints.ranges
    loaded = False
    for k in range(rows.shape[0]):
        rows[k, row.BOUND_FORWARD] = rows[k, row.BOUND_BACKWARD] = 0.0
        rows[k, row.SMOOTH_SHARE] = 1.0
    for i in range(joints.rows.shape[0]):
        k = joints.rows[i]
        y = row.product(joints.directions, k, state.position)
        z = row.product(joints.directions, k, state.velocity)
        _add_bounds(joints, i, dt, y, z, rows)
        loaded |= depends_on_load(joints.friction[i])
    for j in range(tau.shape[0]):
        vectors[arrays.DRIVE, j] = tau[j]
        vectors[arrays.CONSTRAINT_IMPULSE, j] = 0.0
        vectors[arrays.POSITION, j] = state.position[j]
        vectors[arrays.VELOCITY, j] = state.velocity[j]
        vectors[arrays.UNCONSTRAINED_POSITION, j] = state.position[j]
        vectors[arrays.UNCONSTRAINED_VELOCITY, j] = state.velocity[j]
    buffers.loop_rank[0] = tau.shape[0] + 1
    buffers.loop_impulse[:] = 0.0
    if loaded:
        _add_loads(joints, dt, tau, state, buffers)
    for k in range(rows.shape[0]):
        y = row.product(joints.directions, k, state.position)
        z = row.product(joints.directions, k, state.velocity)
        rows[k, row.LOWER] = max(
            -ranges[k, row.FASTEST], min(0.0, (ranges[k, row.LOWEST] - y) / dt)
        )
        rows[k, row.UPPER] = min(
            ranges[k, row.FASTEST], max(0.0, (ranges[k, row.HIGHEST] - y) / dt)
        )
        buffers.modes[k] = state.modes[k]
        impulse = row.slip_impulse(rows, k, state.modes[k])
        rows[k, row.AT_REST] = 0.0 if row.slips(state.modes[k]) or z != 0.0 else 1.0
        if joints.directions.shape[0] == 0:
            vectors[arrays.MOVES, k] = 1.0 - rows[k, row.AT_REST]
        row.add_along(joints.directions, k, impulse / dt, vectors[arrays.DRIVE])
        row.add_along(joints.directions, k, impulse, vectors[arrays.CONSTRAINT_IMPULSE])


@forceinlined_kernel
def subtract_smooth_friction(
    joints: Joints, dt: float, v: Array, buffers: Buffers
) -> None:
    """Write DRIVE less smooth friction at the velocity ``v`` (n,) to FORCE, and dt times its slope to STIFFNESS.

    All three are rows of ``buffers.vectors``; DRIVE is the motor torque plus the Coulomb torque of slipping rows.
    STIFFNESS is 0 if ``dt`` is 0, and unless E = I.
    """
    vectors = buffers.vectors
    directions = joints.directions
    for j in range(v.shape[0]):
        vectors[arrays.FORCE, j] = vectors[arrays.DRIVE, j]
        vectors[arrays.STIFFNESS, j] = 0.0
    for i in range(joints.rows.shape[0]):
        k = joints.rows[i]
        factor = joints.factors[i]
        rate = factor * row.product(directions, k, v)
        torque = factor * smooth_friction(joints.friction[i], rate)
        share = buffers.rows[k, row.SMOOTH_SHARE]
        row.add_along(directions, k, -share * torque, vectors[arrays.FORCE])
        if dt > 0.0 and directions.shape[0] == 0:
            slope = smooth_slope(joints.friction[i], rate)
            vectors[arrays.STIFFNESS, k] += dt * factor * factor * slope


@forceinlined_kernel
def check_motion(q: Array, motion: Array, failed: int) -> tuple[int, int]:
    """Return the status of the accelerations in ``motion[0]`` at position ``q`` (n,), and the failing coordinate or -1.

    ``failed`` is the coordinate at which the mass matrix was found not to be positive definite, or -1. The status is
    NOT_FINITE if a position exceeds 1e100 or a position or acceleration is not finite, NOT_POSITIVE_DEFINITE for
    ``failed``, else OK.
    """
    for j in range(q.shape[0]):
        if not abs(q[j]) < LARGEST_POSITION:
            return NOT_FINITE, j
    if failed >= 0:
        return NOT_POSITIVE_DEFINITE, failed
    for j in range(q.shape[0]):
        if not math.isfinite(motion[0, j]):
            return NOT_FINITE, j
    return OK, -1


@forceinlined_kernel
def end_unconstrained(dt: float, state: State, motion: Array, buffers: Buffers) -> None:
    """Integrate the acceleration ``motion[0]`` over ``dt`` (s) by the semi-implicit Euler method.

    Starts from ``state``. Writes the rows UNCONSTRAINED_POSITION and UNCONSTRAINED_VELOCITY, and adds the reaction
    ``motion[1]`` times ``dt`` to the row CONSTRAINT_IMPULSE.
    """
    vectors = buffers.vectors
    for j in range(motion.shape[1]):
        velocity = state.velocity[j] + dt * motion[0, j]
        vectors[arrays.CONSTRAINT_IMPULSE, j] += dt * motion[1, j]
        vectors[arrays.UNCONSTRAINED_VELOCITY, j] = velocity
        vectors[arrays.UNCONSTRAINED_POSITION, j] = state.position[j] + dt * velocity


@forceinlined_kernel
def end_rk4_stage(
    stage: int, dt: float, weight: float, state: State, motion: Array, buffers: Buffers
) -> None:
    """Add the derivatives of ``stage`` (0 to 3) times ``weight`` (s) to the unconstrained motion of rk4.

    These are the velocity of the stage, the acceleration ``motion[0]`` and the reaction ``motion[1]``. Writes the
    position and velocity of the next stage, which starts from ``state``, to the rows POSITION and VELOCITY.
    """
    vectors = buffers.vectors
    ahead = dt if stage == 2 else 0.5 * dt
    for j in range(motion.shape[1]):
        velocity = vectors[arrays.VELOCITY, j]
        vectors[arrays.CONSTRAINT_IMPULSE, j] += weight * motion[1, j]
        vectors[arrays.UNCONSTRAINED_POSITION, j] += weight * velocity
        vectors[arrays.UNCONSTRAINED_VELOCITY, j] += weight * motion[0, j]
        vectors[arrays.POSITION, j] = state.position[j] + ahead * velocity
        vectors[arrays.VELOCITY, j] = state.velocity[j] + ahead * motion[0, j]


# A diagonal element of a symmetric matrix bounds its largest eigenvalue from below. Column k of dt B^1/2 M^-1 B^1/2 is
# needed only if dt B_kk is large compared to M_kk; then M is factorised once.
@forceinlined_kernel
def check_stiffness(
    joints: Joints, dt: float, v: Array, buffers: Buffers
) -> tuple[int, int]:
    """Return TOO_STIFF and the joint if smooth friction makes rk4 unstable at the velocity ``v`` (n,), else OK and -1.

    rk4 is unstable if dt times an eigenvalue of M^-1 B exceeds 2.785. A diagonal element of dt B^1/2 M^-1 B^1/2 above
    it is sufficient for that, and is checked here, for the joints that are not at rest. M is read from
    ``buffers.motion``. The joint is the index of its coordinate. Unless E = I, the result is always OK; the motion
    becomes NOT_FINITE instead.
    """
    factor = buffers.factor
    column = buffers.vectors[arrays.SCRATCH]
    moves = buffers.vectors[arrays.MOVES]
    ready = False
    if joints.directions.shape[0] > 0:
        return OK, -1
    for i in range(joints.rows.shape[0]):
        k = joints.rows[i]
        ratio = joints.factors[i]
        stiffness = dt * ratio * ratio * smooth_slope(joints.friction[i], ratio * v[k])
        if moves[k] > 0.0 and stiffness > STABILITY_CHECK * buffers.motion[2 + k, k]:
            if not ready:
                for a in range(v.shape[0]):
                    for b in range(a):
                        factor[a, b] = moves[a] * moves[b] * buffers.motion[2 + a, b]
                    factor[a, a] = buffers.motion[2 + a, a] if moves[a] > 0.0 else 1.0
                factorise(factor)
                ready = True
            column[:] = 0.0
            column[k] = 1.0
            solve_factorised(factor, column)
            if stiffness * column[k] > _RK4_STABLE:
                return TOO_STIFF, k
    return OK, -1


# The step computes coordinates, but stuck rows and limits constrain rows. The new position satisfies them exactly, so
# that errors of rounding and integration do not add up to a drift.
@forceinlined_kernel
def write_targets(joints: Joints, state: State, buffers: Buffers) -> None:
    """Write the exact new positions of the rows (rad or m) to the column TARGET; NaN for rows that have none.

    A row that remains stuck keeps its position E_k q. One that is at a position limit, or would pass it, ends there; if
    it was beyond the limit before the step, it keeps its position. ``buffers`` have the new positions, modes and
    bounds.
    """
    rows = buffers.rows
    for k in range(rows.shape[0]):
        mode = buffers.modes[k]
        fastest = joints.ranges[k, row.FASTEST]
        before = row.product(joints.directions, k, state.position)
        speed = row.product(joints.directions, k, state.velocity)
        after = row.product(joints.directions, k, buffers.vectors[arrays.POSITION])
        lowest = min(before, joints.ranges[k, row.LOWEST])
        highest = max(before, joints.ranges[k, row.HIGHEST])
        # The active bound may be the velocity limit instead of the position limit.
        at_lowest = mode == row.AT_LOWER and rows[k, row.LOWER] > -fastest
        at_highest = mode == row.AT_UPPER and rows[k, row.UPPER] < fastest
        rows[k, row.TARGET] = math.nan
        if mode == row.STUCK and speed == 0.0:
            rows[k, row.TARGET] = before
        elif at_highest or (after > highest and not at_lowest):
            rows[k, row.TARGET] = highest
        elif at_lowest or after < lowest:
            rows[k, row.TARGET] = lowest


@forceinlined_kernel
def update_state(state: State, buffers: Buffers, solves: int, error: float) -> Outcome:
    """Copy position, velocity, impulse and modes from the buffers to ``state`` if they are finite.

    Otherwise ``state`` is unchanged. The Outcome is the status, the index of the failing coordinate or -1, and the
    arguments ``solves`` (linear systems solved) and ``error`` (residual, rad/s or m/s). The status is OK, or
    NOT_POSITIVE_DEFINITE if A is not, or NOT_FINITE.
    """
    vectors = buffers.vectors
    for j in range(vectors.shape[1]):
        if not (
            math.isfinite(vectors[arrays.POSITION, j])
            and math.isfinite(vectors[arrays.VELOCITY, j])
        ):
            bad = factorise(buffers.motion[2:])
            return (
                (NOT_POSITIVE_DEFINITE, bad, solves, error)
                if bad >= 0
                else (NOT_FINITE, j, solves, error)
            )
    for j in range(vectors.shape[1]):
        state.velocity_change[j] = vectors[arrays.VELOCITY, j] - state.velocity[j]
        state.position[j] = vectors[arrays.POSITION, j]
        state.velocity[j] = vectors[arrays.VELOCITY, j]
        state.impulse[j] = vectors[arrays.CONSTRAINT_IMPULSE, j]
    for k in range(buffers.modes.shape[0]):
        state.modes[k] = buffers.modes[k]
    return OK, -1, solves, error
