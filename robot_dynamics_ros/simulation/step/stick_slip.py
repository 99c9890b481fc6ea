"""Coulomb friction with sticking, and position limits, as one convex optimisation problem per step.

The velocity after a step minimises

    1/2 (v - v_free)^T A (v - v_free) + dt sum_j (tau+_j max(v_j, 0) + tau-_j max(-v_j, 0))

over lower_j <= v_j <= upper_j. tau+ and tau- are the Coulomb torques by direction (Craig 6.112), A is the mass matrix.
Optimality: A (v - v_free) = lambda, where for each joint the pair (v, lambda) lies on a monotonically decreasing graph
with five modes. lambda is the impulse of friction and limit on the joint; it never does positive work. The solution is
unique.

The active-set method starts from the modes of the last step, solves the linear system, moves every joint that
violates its mode to the neighbouring mode, and repeats: about one solve per step. This iteration may cycle. The
fallback is a primal active-set method, which changes one joint at a time and terminates for every positive definite A.

The unconstrained velocity may already contain an initial impulse, that of the last step's modes. If no mode changes,
the unconstrained velocity is then the solution, without rounding errors.

Arguments: ``joints`` (n, SIZE) has one row for each joint, with the columns of module ``row``. The caller fills the
problem: UNCONSTRAINED (v_free), INITIAL_IMPULSE, BOUND_FORWARD and BOUND_BACKWARD (dt tau+, dt tau-), LOWER and UPPER.
Results are VELOCITY (v), IMPULSE (lambda), NOISE and FRICTIONLESS. ``modes`` (n,) are the friction modes, constants of
``row``. ``j`` is the index of a joint. ``matrix`` is A (n, n), positive definite, with both triangles. ``factor`` (n,
n) and ``change`` (n,) are scratch. Velocities are in rad/s or m/s, impulses in Nm s or N s.
"""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics_ros.dynamics.kernels.cholesky import factorise, solve_factorised
from robot_dynamics_ros.dynamics.kernels.compilation import allocating_kernel, kernel
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.simulation.step import row

_MAX_DESCENT = 100  # solves per joint; about three are usual


@kernel
def replace_invalid_modes(joints: Array, modes: IntArray) -> None:
    """Replace those of ``modes`` (n,) that do not exist in this step, and write the column FRICTIONLESS.

    A joint that cannot move backward (LOWER 0) or forward (UPPER 0) has no mode on that side, and is STUCK instead. A
    joint without friction and limit is never STUCK but FORWARD. A joint without a finite LOWER or UPPER velocity slips
    instead of being AT_LOWER or AT_UPPER.
    """
    for j in range(modes.shape[0]):
        state = modes[j]
        lower = joints[j, row.LOWER]
        upper = joints[j, row.UPPER]
        friction_bound = joints[j, row.BOUND_FORWARD] + joints[j, row.BOUND_BACKWARD]
        frictionless = friction_bound == 0.0 and lower < 0.0 and upper > 0.0
        joints[j, row.FRICTIONLESS] = 1.0 if frictionless else 0.0
        if (lower == 0.0 and state < row.STUCK) or (upper == 0.0 and state > row.STUCK):
            modes[j] = row.STUCK
        elif state == row.STUCK and frictionless:
            modes[j] = row.FORWARD
        elif state == row.AT_LOWER and lower == -math.inf:
            modes[j] = row.BACKWARD
        elif state == row.AT_UPPER and upper == math.inf:
            modes[j] = row.FORWARD


# With modes fixed, joints that stick or are at a limit have a known velocity, and those that slip a known impulse: one
# linear system for the velocities of the slipping joints remains, of which only the change is solved for.
@kernel
def _solve_modes(
    matrix: Array, joints: Array, modes: IntArray, factor: Array, change: Array
) -> None:
    """Compute velocity and impulse with all modes fixed, and the rounding error of the impulses.

    For slipping joints s and joints f of known velocity, A_ss (v - v_free)_s = (lambda - initial impulse)_s -
    A_sf (v - v_free)_f. If the right-hand side is 0, v is exactly the unconstrained velocity.
    """
    n = modes.shape[0]
    for j in range(n):
        if row.slips(modes[j]):
            joints[j, row.IMPULSE] = row.slip_impulse(joints, j, modes[j])
            joints[j, row.VELOCITY] = joints[j, row.UNCONSTRAINED]
        else:
            joints[j, row.VELOCITY] = row.target_velocity(joints, j, modes[j])
    changed = False
    for i in range(n):
        change[i] = 0.0
        if row.slips(modes[i]):
            total = joints[i, row.IMPULSE] - joints[i, row.INITIAL_IMPULSE]
            for k in range(n):
                total -= matrix[i, k] * (
                    joints[k, row.VELOCITY] - joints[k, row.UNCONSTRAINED]
                )
            change[i] = total
            changed = changed or total != 0.0
    if changed:
        # Joints of known velocity have rows of the identity matrix.
        for i in range(n):
            for k in range(i):
                factor[i, k] = (
                    matrix[i, k] if row.slips(modes[i]) and row.slips(modes[k]) else 0.0
                )
            factor[i, i] = matrix[i, i] if row.slips(modes[i]) else 1.0
        if factorise(factor) >= 0:
            change[:] = math.nan
        solve_factorised(factor, change)
        for i in range(n):
            if row.slips(modes[i]):
                joints[i, row.VELOCITY] += change[i]
    for j in range(n):
        if not row.slips(modes[j]):
            total = joints[j, row.INITIAL_IMPULSE]
            size = (
                abs(total)
                + joints[j, row.BOUND_FORWARD]
                + joints[j, row.BOUND_BACKWARD]
            )
            for k in range(n):
                part = matrix[j, k] * (
                    joints[k, row.VELOCITY] - joints[k, row.UNCONSTRAINED]
                )
                total += part
                size += abs(part)
            joints[j, row.IMPULSE] = total
            joints[j, row.NOISE] = row.SLACK * size


@kernel
def _next_mode(joints: Array, j: int, state: int) -> int:
    """Return the neighbouring mode if joint j violates the conditions of its mode, else its mode."""
    velocity = joints[j, row.VELOCITY]
    impulse = joints[j, row.IMPULSE]
    if row.slips(state):
        either = joints[j, row.FRICTIONLESS] > 0.0
        if velocity > joints[j, row.UPPER] and (state == row.FORWARD or either):
            return row.AT_UPPER
        if velocity < joints[j, row.LOWER] and (state == row.BACKWARD or either):
            return row.AT_LOWER
        wrong_way = velocity < 0.0 if state == row.FORWARD else velocity > 0.0
        if wrong_way and not either:
            return row.STUCK
    elif state == row.STUCK:
        if (
            joints[j, row.LOWER] < 0.0
            and impulse > joints[j, row.BOUND_BACKWARD] + joints[j, row.NOISE]
        ):
            return row.BACKWARD
        if (
            joints[j, row.UPPER] > 0.0
            and impulse < -joints[j, row.BOUND_FORWARD] - joints[j, row.NOISE]
        ):
            return row.FORWARD
    elif state == row.AT_LOWER:
        if impulse < joints[j, row.BOUND_BACKWARD] - joints[j, row.NOISE]:
            return row.BACKWARD
    elif impulse > -joints[j, row.BOUND_FORWARD] + joints[j, row.NOISE]:
        return row.FORWARD
    return state


@kernel
def modes_unchanged(joints: Array, modes: IntArray) -> bool:
    """Return True if v_free with the initial impulse satisfies the conditions of ``modes`` (n,) for all joints.

    It is then the solution. Writes VELOCITY, IMPULSE and NOISE, of all joints only if True. Call
    ``replace_invalid_modes`` first.
    """
    for j in range(modes.shape[0]):
        state = modes[j]
        impulse = joints[j, row.INITIAL_IMPULSE]
        velocity = joints[j, row.UNCONSTRAINED]
        if row.slips(state):
            supposed = impulse == row.slip_impulse(joints, j, state)
        else:
            supposed = velocity == row.target_velocity(joints, j, state)
        joints[j, row.VELOCITY] = velocity
        joints[j, row.IMPULSE] = impulse
        joints[j, row.NOISE] = row.SLACK * (
            abs(impulse) + joints[j, row.BOUND_FORWARD] + joints[j, row.BOUND_BACKWARD]
        )
        if not supposed or _next_mode(joints, j, state) != state:
            return False
    return True


@kernel
def _advance_modes(joints: Array, modes: IntArray) -> bool:
    """Move every joint that violates its mode to the neighbouring mode; return True if the active set is unchanged."""
    unchanged = True
    for j in range(modes.shape[0]):
        state = _next_mode(joints, j, modes[j])
        if state != modes[j]:
            modes[j] = state
            unchanged = False
    return unchanged


@kernel
def _excess(joints: Array, j: int, state: int) -> float:
    """Return the amount by which the impulse of a joint that does not slip exceeds the bounds of its mode."""
    above: float = joints[j, row.IMPULSE] - joints[j, row.BOUND_BACKWARD]
    below: float = -joints[j, row.BOUND_FORWARD] - joints[j, row.IMPULSE]
    if state == row.STUCK:
        return max(above, below)
    return -above if state == row.AT_LOWER else -below


@allocating_kernel
def descend(
    matrix: Array, joints: Array, modes: IntArray, factor: Array, change: Array
) -> int:
    """Solve the problem by the primal active-set method from rest; return the number of linear systems solved.

    Nocedal and Wright, Numerical Optimization, algorithm 16.3: a step goes towards the solution of the current modes up
    to the first blocking joint, which is then fixed. At that solution the joint with the largest decrease of the
    objective is released. The objective decreases in each step, so that no set of modes repeats. Writes the solution to
    ``joints`` and ``modes``, whose values before the call do not matter.
    """
    n = modes.shape[0]
    modes[:] = row.STUCK
    replace_invalid_modes(joints, modes)
    v = np.zeros(n)
    solves = 0
    while solves < _MAX_DESCENT * (n + 1):
        _solve_modes(matrix, joints, modes, factor, change)
        solves += 1
        fraction = 1.0
        first = -1
        mode = row.STUCK
        for j in range(n):
            if row.slips(modes[j]):
                either = joints[j, row.FRICTIONLESS] > 0.0
                low = (
                    joints[j, row.LOWER] if modes[j] == row.BACKWARD or either else 0.0
                )
                high = (
                    joints[j, row.UPPER] if modes[j] == row.FORWARD or either else 0.0
                )
                target = joints[j, row.VELOCITY]
                bound = min(max(target, low), high)
                if bound != target and (bound - v[j]) / (target - v[j]) < fraction:
                    fraction = (bound - v[j]) / (target - v[j])
                    first = j
                    mode = (
                        row.STUCK
                        if bound == 0.0
                        else row.AT_LOWER
                        if target < low
                        else row.AT_UPPER
                    )
        if first >= 0:
            for j in range(n):
                v[j] += fraction * (joints[j, row.VELOCITY] - v[j])
            modes[first] = mode
            v[first] = row.target_velocity(joints, first, mode)
            continue
        best = 0.0
        for j in range(n):
            v[j] = joints[j, row.VELOCITY]
            state = _next_mode(joints, j, modes[j])
            if state != modes[j]:
                gain = _excess(joints, j, modes[j]) ** 2 / matrix[j, j]
                if gain > best:
                    best = gain
                    first = j
                    mode = state
        if first < 0:
            return solves
        modes[first] = mode
    return solves


@kernel
def residual(matrix: Array, joints: Array) -> float:
    """Return the residual of the optimality conditions at the velocities in ``joints``, a velocity; 0 at the solution.

    Largest |v_j - prox(v_j - lambda_j / A_jj)|, with lambda = initial impulse + A (v - v_free) and prox the proximal
    map of the joint's friction and limits: soft thresholding by dt tau / A_jj, then clipping.
    """
    worst = 0.0
    for j in range(joints.shape[0]):
        pull = joints[j, row.INITIAL_IMPULSE]
        for k in range(joints.shape[0]):
            pull += matrix[j, k] * (
                joints[k, row.VELOCITY] - joints[k, row.UNCONSTRAINED]
            )
        own = 1.0 / matrix[j, j]
        best = row.nearest(joints, j, own, joints[j, row.VELOCITY] - own * pull)
        worst = max(worst, abs(best - joints[j, row.VELOCITY]))
    return worst


# All joints that violate their mode change it at once, which usually ends after one or two solves. Such simultaneous
# changes may cycle; after 3 n + 10 solves the descent, which changes one joint at a time and terminates, takes over.
@kernel
def solve(
    matrix: Array, joints: Array, modes: IntArray, factor: Array, change: Array
) -> tuple[int, float]:
    """Solve the friction problem: write velocity and impulse to ``joints`` and update ``modes``, the initial guess.

    The velocity of joints that stick is exactly 0. Returns the number of linear systems solved, 0 if the unconstrained
    motion is the solution, and the residual of the optimality conditions, rad/s or m/s; 0 for an exact solution.
    """
    replace_invalid_modes(joints, modes)
    if modes_unchanged(joints, modes):
        row.label_modes(joints, modes)
        return 0, 0.0
    solves = 0
    unchanged = False
    while not unchanged and solves < 3 * modes.shape[0] + 10:
        _solve_modes(matrix, joints, modes, factor, change)
        unchanged = _advance_modes(joints, modes)
        solves += 1
    if not unchanged:
        solves += descend(matrix, joints, modes, factor, change)
    row.label_modes(joints, modes)
    return solves, residual(matrix, joints)
