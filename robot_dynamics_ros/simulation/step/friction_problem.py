"""Coulomb friction with sticking, and limits, as one convex optimisation problem per step.

The velocity after a step minimises

    1/2 (v - v_free)^T A (v - v_free) + sum_k (forward_k max(z_k, 0) + backward_k max(-z_k, 0)), z = E v

over lower_k <= z_k <= upper_k. A (n, n) is the mass matrix, with semi_implicit plus the step size times the slope of
smooth friction (viscous and sigmoid). v_free (n,) is the unconstrained velocity, the one with all friction modes fixed;
forward_k and backward_k are the friction bounds of constraint row k (Nm s or N s), the Coulomb torques by direction
(Craig 6.112) times the step size. Row k of E (K, n) maps the velocities of the coordinates to that of constraint row k;
E = I for an arm whose joints each depend on one coordinate. Optimality: A (v - v_free) = E^T lambda, with each pair
(z_k, lambda_k) on the graph of the five modes in module ``row``. v is unique; lambda, the impulse of friction and
limit, is not if rows are linearly dependent. It never does positive work.

v_free may already contain an impulse, that of the modes of the last step. If no mode changes, it is then the solution.

``rows`` (K, SIZE) has the columns of module ``row``: BOUND_FORWARD, BOUND_BACKWARD, LOWER and UPPER are given;
VELOCITY, IMPULSE, NOISE and INDEPENDENT are results. ``modes`` (K,) are the friction modes, ``k`` is the index of a
row. Velocities are in rad/s or m/s, impulses in Nm s or N s.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from robot_dynamics_ros.dynamics.kernels.compilation import (
    allocating_kernel,
    forceinlined_kernel,
    inlined,
    kernel,
)
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.simulation.step import row
from robot_dynamics_ros.simulation.step.elimination import (
    Equations,
    add_rows,
    minimise_in_null_space,
    multiplier,
    satisfy,
)
from robot_dynamics_ros.simulation.thresholds import (
    BLAND_SOLVES,
    DEPENDENCE_TOLERANCE,
    MOST_SOLVES,
    MULTIPLIER_SLACK,
)


class Problem(NamedTuple):
    """Friction problem of an arm with n coordinates and K constraint rows, solved in place.

    Attributes
    ----------
    matrix
        A (n, n), positive definite, with both triangles.
    directions
        E (K, n).
    rows
        (K, SIZE).
    modes
        (K,): friction modes, those of the last step and then of the solution.
    free
        (n,): unconstrained velocity.
    prior_impulse
        (n,): impulse of friction and limits that ``free`` includes, Nm s or N s.
    loops
        Equations that v satisfies, those of closed loops; empty for an arm without loops.
    """

    matrix: Array
    directions: Array
    rows: Array
    modes: IntArray
    free: Array
    prior_impulse: Array
    loops: Equations


@forceinlined_kernel
def replace_invalid_modes(rows: Array, modes: IntArray) -> None:
    """Replace those of ``modes`` that do not exist in this step.

    A row that cannot move backward (LOWER 0) or forward (UPPER 0) has no mode on that side, and is STUCK instead. A row
    without friction and limit is never STUCK but FORWARD. A row without a finite LOWER or UPPER velocity slips instead
    of being AT_LOWER or AT_UPPER.
    """
    for k in range(modes.shape[0]):
        mode = modes[k]
        lower = rows[k, row.LOWER]
        upper = rows[k, row.UPPER]
        if (lower == 0.0 and mode < row.STUCK) or (upper == 0.0 and mode > row.STUCK):
            modes[k] = row.STUCK
        elif mode == row.STUCK and row.is_frictionless(rows, k):
            modes[k] = row.FORWARD
        elif mode == row.AT_LOWER and lower == -math.inf:
            modes[k] = row.BACKWARD
        elif mode == row.AT_UPPER and upper == math.inf:
            modes[k] = row.FORWARD


@kernel
def _next_mode(rows: Array, k: int, mode: int) -> int:
    """Return the neighbouring mode if row k violates the conditions of its mode, else its mode."""
    if row.slips(mode):
        low, high = row.slip_range(rows, k, mode)
        if rows[k, row.VELOCITY] < low:
            return row.AT_LOWER if low < 0.0 else row.STUCK
        if rows[k, row.VELOCITY] > high:
            return row.AT_UPPER if high > 0.0 else row.STUCK
        return mode
    above = rows[k, row.IMPULSE] - rows[k, row.BOUND_BACKWARD]
    below = -rows[k, row.BOUND_FORWARD] - rows[k, row.IMPULSE]
    noise = rows[k, row.NOISE]
    if mode == row.AT_LOWER:
        return row.BACKWARD if -above > noise else mode
    if mode == row.AT_UPPER:
        return row.FORWARD if -below > noise else mode
    # A velocity bound of 0 means that the position limit carries the impulse on that side.
    if above > noise and rows[k, row.LOWER] < 0.0:
        return row.BACKWARD
    return row.FORWARD if below > noise and rows[k, row.UPPER] > 0.0 else mode


# All rows that violate their mode change it at once, which usually ends after one or two solves.
@kernel
def _change_modes(rows: Array, modes: IntArray) -> bool:
    """Move all rows that violate their mode to the neighbouring mode; return True if there are any."""
    changed = False
    for k in range(modes.shape[0]):
        mode = _next_mode(rows, k, modes[k])
        changed = changed or mode != modes[k]
        modes[k] = mode
    return changed


# The unconstrained motion solves the problem for the modes of the last step, unless bounds or modes were replaced.
@forceinlined_kernel
def unconstrained_is_solution(
    rows: Array, modes: IntArray, free: Array, prior_impulse: Array
) -> bool:
    """Return True if the unconstrained motion is the solution, for E = I; else ``modes`` are those to try next.

    ``free`` (n,) and ``prior_impulse`` (n,) are fields of Problem. Modes that do not exist are replaced first. Writes
    the results to ``rows``, which are those of the problem if True.
    """
    supposed = True
    replace_invalid_modes(rows, modes)
    for k in range(modes.shape[0]):
        mode = modes[k]
        if row.slips(mode):
            supposed &= prior_impulse[k] == row.slip_impulse(rows, k, mode)
        else:
            supposed &= free[k] == row.target_velocity(rows, k, mode)
        rows[k, row.VELOCITY] = free[k]
        rows[k, row.IMPULSE] = prior_impulse[k]
        rows[k, row.NOISE] = MULTIPLIER_SLACK * (
            abs(prior_impulse[k])
            + rows[k, row.BOUND_FORWARD]
            + rows[k, row.BOUND_BACKWARD]
        )
    return supposed and not _change_modes(rows, modes)


@kernel
def _write_unbalanced(problem: Problem, v: Array, impulse: Array, size: Array) -> None:
    """Write E^T lambda - prior impulse - A (v - v_free) to ``impulse`` (n,), the sum of its terms' sizes to ``size``.

    lambda are the impulses in ``problem.rows``.
    """
    impulse[:] = 0.0
    for k in range(problem.rows.shape[0]):
        if problem.rows[k, row.IMPULSE] != 0.0:
            row.add_along(problem.directions, k, problem.rows[k, row.IMPULSE], impulse)
    for i in range(v.shape[0]):
        total = impulse[i] - problem.prior_impulse[i]
        size[i] = abs(problem.prior_impulse[i])
        for j in range(v.shape[0]):
            part = problem.matrix[i, j] * (v[j] - problem.free[j])
            total -= part
            size[i] += abs(part)
        impulse[i] = total


@kernel
def _largest(v: Array) -> float:
    """Return the largest magnitude of the velocities ``v`` (n,)."""
    largest = 0.0
    for j in range(v.shape[0]):
        largest = max(largest, abs(v[j]))
    return largest


@kernel
def _rounding(directions: Array, k: int, largest: float) -> float:
    """Return the size of velocities of row k that are 0 up to rounding, if those of coordinates are ``largest``."""
    size = 0.0
    for j in range(directions.shape[1]):
        size += abs(directions[k, j])
    return DEPENDENCE_TOLERANCE * size * largest


# With all modes fixed, the problem is a quadratic program with equality constraints: rows that stick or are at a limit
# form the working set, and slipping rows have a known impulse. Only the change from v_free is solved for, so that v is
# v_free to the bit where it is the solution.
@allocating_kernel
def solve_modes(problem: Problem, v: Array) -> bool:
    """Write the velocity ``v`` (n,) and the results in ``problem.rows`` with all modes fixed.

    Returns False if a row of the working set contradicts the others. If A is not positive definite, ``v`` is NaN.
    """
    directions = problem.directions
    rows = problem.rows
    modes = problem.modes
    count = modes.shape[0]
    n = v.shape[0]
    chosen = np.empty(count, np.bool_)
    targets = np.empty(count)
    pull = np.empty(n)
    size = np.empty(n)
    step = np.empty(n)
    for k in range(count):
        chosen[k] = not row.slips(modes[k])
        targets[k] = row.target_velocity(rows, k, modes[k])
        rows[k, row.IMPULSE] = row.slip_impulse(rows, k, modes[k])
        rows[k, row.NOISE] = 0.0
        rows[k, row.INDEPENDENT] = 0.0
    equations = add_rows(problem.loops, directions, chosen, targets)
    for j in range(n):
        v[j] = problem.free[j]
    satisfy(equations, v)
    _write_unbalanced(problem, v, pull, size)
    failed = minimise_in_null_space(equations, problem.matrix, pull, step) >= 0
    for j in range(n):
        v[j] = math.nan if failed else v[j] + step[j]
    satisfy(equations, v)
    _write_unbalanced(problem, v, pull, size)
    for i in range(problem.loops.rank, equations.rank):
        k = equations.members[i]
        noise = rows[k, row.BOUND_FORWARD] + rows[k, row.BOUND_BACKWARD]
        for m in range(equations.rank):
            noise += abs(equations.table[m, n + i]) * size[equations.pivots[m]]
        rows[k, row.IMPULSE] = -multiplier(equations, pull, i)
        rows[k, row.NOISE] = MULTIPLIER_SLACK * noise
        rows[k, row.INDEPENDENT] = 1.0
    consistent = True
    largest = _largest(v)
    for k in range(count):
        rows[k, row.VELOCITY] = row.product(directions, k, v)
        # A dependent row, which is not among the equations, may contradict them.
        room = _rounding(directions, k, largest)
        if chosen[k] and abs(rows[k, row.VELOCITY] - targets[k]) > room:
            consistent = False
    return consistent


# A step towards the solution of the working set ends at the first row that reaches the end of the range of its mode;
# it joins the working set. After a full step, the row whose impulse exceeds its bounds most is released, or the first
# such row (Bland's rule), which prevents cycles between degenerate solutions.
@kernel
def _descend(problem: Problem, v: Array, target: Array, first_only: bool) -> bool:
    """Make a step of the primal active-set method from ``v`` (n,) to ``target`` (n,), the solution of ``solve_modes``.

    Changes ``v`` and the mode of one row. Returns False at the solution of the problem. ``first_only`` selects Bland's
    rule.
    """
    directions = problem.directions
    rows = problem.rows
    modes = problem.modes
    fraction = 1.0
    changed = -1
    mode = row.STUCK
    largest = _largest(v)
    largest_target = _largest(target)
    for k in range(modes.shape[0]):
        z = row.product(directions, k, v)
        dz = rows[k, row.VELOCITY] - z
        room = _rounding(directions, k, largest)
        room += _rounding(directions, k, largest_target)
        if row.slips(modes[k]) and abs(dz) > room:
            low, high = row.slip_range(rows, k, modes[k])
            bound = low if dz < 0.0 else high
            share = max((bound - z) / dz, 0.0)
            if share < fraction:
                fraction = share
                changed = k
                limit = row.AT_LOWER if dz < 0.0 else row.AT_UPPER
                mode = row.STUCK if bound == 0.0 else limit
    for j in range(v.shape[0]):
        v[j] = target[j] if changed < 0 else v[j] + fraction * (target[j] - v[j])
    if changed < 0:
        most = 0.0
        for k in range(modes.shape[0]):
            released = _next_mode(rows, k, modes[k])
            if released != modes[k] and not row.slips(modes[k]):
                bound = row.slip_impulse(rows, k, released)
                excess = abs(rows[k, row.IMPULSE] - bound)
                if excess > most and (changed < 0 or not first_only):
                    most = excess
                    changed = k
                    mode = released
    if changed >= 0:
        modes[changed] = mode
    return changed >= 0


@kernel
def _release_dependent(rows: Array, modes: IntArray) -> bool:
    """Replace the mode of stuck rows that depend linearly on others by a slipping one; return True if there are any."""
    changed = False
    for k in range(modes.shape[0]):
        if modes[k] == row.STUCK and rows[k, row.INDEPENDENT] == 0.0:
            modes[k] = row.FORWARD if rows[k, row.UPPER] > 0.0 else row.BACKWARD
            changed = True
    return changed


@allocating_kernel
def residual(problem: Problem, v: Array) -> float:
    """Return the largest residual of the optimality conditions and of A (v - v_free) = E^T lambda, rad/s or m/s.

    ``problem.rows`` have the velocities and impulses. It is 0 at the solution. Impulses of the loops are left out.
    """
    matrix = problem.matrix
    rows = problem.rows
    loops = problem.loops
    n = v.shape[0]
    pull = np.empty(n)
    _write_unbalanced(problem, v, pull, np.empty(n))
    for i in range(loops.rank):
        share = pull[loops.pivots[i]]
        for j in range(n):
            pull[j] -= share * loops.table[i, j]
    worst = 0.0
    for i in range(n):
        worst = max(worst, abs(pull[i]) / matrix[i, i])
    for k in range(rows.shape[0]):
        own = 0.0
        for i in range(n):
            own += problem.directions[k, i] ** 2 / matrix[i, i]
        # Proximal map: soft thresholding by the friction bounds, then clipping to the velocity limits.
        z = rows[k, row.VELOCITY]
        best = z - own * rows[k, row.IMPULSE]
        forward = own * rows[k, row.BOUND_FORWARD]
        best -= min(max(best, -own * rows[k, row.BOUND_BACKWARD]), forward)
        best = min(max(best, rows[k, row.LOWER]), rows[k, row.UPPER])
        worst = max(worst, abs(best - z))
    return worst


# Simultaneous changes of modes may cycle, and with dependent rows they usually do. Then the primal active-set method
# takes over, which starts from rest, changes one row at a time, and terminates for every positive definite A (Nocedal
# and Wright, Numerical Optimization, algorithm 16.3).
@inlined
def solve(problem: Problem, simultaneous: int, v: Array) -> tuple[int, float]:
    """Solve the friction problem: write the velocity ``v`` (n,), the results in ``problem.rows``, and the modes.

    The given modes are tried first. After ``simultaneous`` linear systems the active-set method takes over. Returns the
    number of linear systems solved and the residual, rad/s or m/s. If A is not positive definite, ``v`` is NaN.
    """
    rows = problem.rows
    modes = problem.modes
    count = modes.shape[0] + 1
    target = np.empty(v.shape[0])
    most = simultaneous
    descends = False
    solves = 0
    changed = True
    replace_invalid_modes(rows, modes)
    while changed and solves < most + MOST_SOLVES * count:
        if solves >= most and not descends:
            descends = True
            v[:] = 0.0
            modes[:] = row.STUCK
            replace_invalid_modes(rows, modes)
        solves += 1
        if not solve_modes(problem, target if descends else v):
            most = min(most, solves)
        elif not descends:
            changed = _change_modes(rows, modes)
        if descends and not _release_dependent(rows, modes):
            late = solves > most + BLAND_SOLVES * count
            changed = _descend(problem, v, target, late)
    return solves, residual(problem, v)
