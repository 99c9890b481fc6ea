"""Friction step of arms with joints that depend on several coordinates: friction acts on z_k = E_k v.

The velocity after a step minimises

    1/2 (v - v_free)^T A (v - v_free) + sum_k (forward_k max(E_k v, 0) + backward_k max(-E_k v, 0))

over lower_k <= E_k v <= upper_k. A (n, n) is the mass matrix, with semi_implicit plus the step size times the slope of
smooth friction (viscous and sigmoid). v_free (n,) is the unconstrained velocity, the one with all friction modes fixed;
forward_k and backward_k are the friction bounds of constraint row k (Nm s or N s), and row k of E (K, n) is its
direction. Optimality: A (v - v_free) = E^T lambda, with each pair (E_k v, lambda_k) on the graph of five modes in
stick_slip. v is unique; lambda, the impulse of friction and limit, is not if rows are linearly dependent.

The modes (0 to 4) are AT_LOWER, BACKWARD, STUCK, FORWARD and AT_UPPER: a row is at its lower limit, slips backward,
sticks, slips forward, or is at its upper limit. Rows that stick or are at a limit are equality constraints E_w v = b,
see elimination. ``arm``, ``joints``, ``state`` and ``buffers`` are the tuples of that name in arrays.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from robot_dynamics_ros.dynamics.kernels.compilation import allocating_kernel, kernel
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.simulation.step import row
from robot_dynamics_ros.simulation.step.elimination import (
    DEPENDENCE_TOLERANCE,
    Equations,
    contains,
    eliminate,
    minimise_in_null_space,
    multiplier,
    satisfy,
)
from robot_dynamics_ros.simulation.step.stages import row_product

# solves per row after which Bland's rule replaces the largest excess, to prevent cycling
_BLAND_AFTER = 10
_MAX_SOLVES = 100  # solves per row


class Problem(NamedTuple):
    """Friction problem of an arm with n coordinates and K constraint rows, solved in place.

    Attributes
    ----------
    matrix
        A (n, n), positive definite, with both triangles.
    directions
        E (K, n).
    rows
        (K, SIZE), with the columns of module ``row``: BOUND_FORWARD, BOUND_BACKWARD, LOWER and UPPER are given; IMPULSE
        and VELOCITY are results.
    modes
        (K,): friction modes, those of the last step and then of the solution.
    free
        (n,): unconstrained velocity.
    prior_impulse
        (n,): impulse of friction and limits that ``free`` includes, Nm s or N s.
    """

    matrix: Array
    directions: Array
    rows: Array
    modes: IntArray
    free: Array
    prior_impulse: Array


@allocating_kernel
def _working_set(directions: Array, rows: Array, modes: IntArray) -> Equations:
    """Return the equations of the rows that stick or are at a limit."""
    chosen = np.empty(modes.shape[0], np.bool_)
    targets = np.empty(modes.shape[0])
    for k in range(modes.shape[0]):
        chosen[k] = not row.slips(modes[k])
        targets[k] = row.target_velocity(rows, k, modes[k])
    return eliminate(directions, chosen, targets)


@allocating_kernel
def _pull(problem: Problem, v: Array) -> Array:
    """Return E_w^T lambda_w = A (v - v_free) + prior impulse - E_s^T lambda_s, s the slipping rows, w the others."""
    matrix, directions, rows, modes, free, prior_impulse = problem
    pull = prior_impulse.copy()
    for i in range(v.shape[0]):
        for j in range(v.shape[0]):
            pull[i] += matrix[i, j] * (v[j] - free[j])
    for k in range(modes.shape[0]):
        rows[k, row.IMPULSE] = row.slip_impulse(rows, k, modes[k])
        for j in range(v.shape[0]):
            pull[j] -= rows[k, row.IMPULSE] * directions[k, j]
    return pull


@kernel
def _write_impulses(equations: Equations, rows: Array, pull: Array) -> None:
    """Write the impulses of the rows in the equations, E_w^T lambda_w = pull; dependent rows keep 0."""
    for i in range(equations.rank):
        rows[equations.members[i], row.IMPULSE] = multiplier(equations, pull, i)


@kernel
def _excess(rows: Array, k: int, state: int) -> float:
    """Return the amount by which the impulse of a row that does not slip exceeds its bounds; inside if not positive."""
    impulse = rows[k, row.IMPULSE]
    forward = rows[k, row.BOUND_FORWARD]
    backward = rows[k, row.BOUND_BACKWARD]
    slack = row.SLACK * (abs(impulse) + forward + backward)
    if state == row.AT_LOWER:
        return float(backward - impulse - slack)
    if state == row.AT_UPPER:
        return float(impulse + forward - slack)
    # A velocity bound of 0 means that the position limit carries the impulse on that side.
    above = impulse - backward if rows[k, row.LOWER] < 0.0 else -math.inf
    below = -forward - impulse if rows[k, row.UPPER] > 0.0 else -math.inf
    return float(max(above, below) - slack)


@kernel
def _neighbour_mode(rows: Array, k: int, state: int) -> int:
    """Return the mode to which row k is released."""
    if state == row.AT_LOWER:
        return row.BACKWARD
    if state == row.AT_UPPER:
        return row.FORWARD
    return (
        row.BACKWARD
        if rows[k, row.IMPULSE] > rows[k, row.BOUND_BACKWARD]
        else row.FORWARD
    )


@kernel
def _bounds(rows: Array, k: int, state: int) -> tuple[float, float]:
    """Return the range of velocities in a slipping mode; without friction it covers both directions."""
    loose = rows[k, row.BOUND_FORWARD] + rows[k, row.BOUND_BACKWARD] == 0.0
    return (
        rows[k, row.LOWER] if state == row.BACKWARD or loose else 0.0,
        rows[k, row.UPPER] if state == row.FORWARD or loose else 0.0,
    )


@kernel
def _is_solution(directions: Array, rows: Array, modes: IntArray, v: Array) -> bool:
    """True if velocity and impulses satisfy the conditions of the modes."""
    for k in range(modes.shape[0]):
        if row.slips(modes[k]):
            low, high = _bounds(rows, k, modes[k])
            if not low <= row_product(directions, k, v) <= high:
                return False
        else:
            size = 0.0
            target = row.target_velocity(rows, k, modes[k])
            for j in range(v.shape[0]):
                size += abs(directions[k, j] * v[j])
            # A dependent row, which is not among the equations, may contradict them.
            if (
                abs(row_product(directions, k, v) - target)
                > DEPENDENCE_TOLERANCE * size
            ):
                return False
            if not _excess(rows, k, modes[k]) <= 0.0:
                return False
    return True


@allocating_kernel
def _from_rest(directions: Array, rows: Array, modes: IntArray) -> None:
    """Write the modes of an arm at rest: independent rows are stuck, dependent ones in a slipping mode."""
    for k in range(modes.shape[0]):
        loose = rows[k, row.BOUND_FORWARD] + rows[k, row.BOUND_BACKWARD] == 0.0
        modes[k] = (
            row.FORWARD
            if loose and rows[k, row.LOWER] < 0.0 < rows[k, row.UPPER]
            else row.STUCK
        )
    equations = _working_set(directions, rows, modes)
    for k in range(modes.shape[0]):
        if modes[k] == row.STUCK and not contains(equations.members, equations.rank, k):
            modes[k] = row.FORWARD if rows[k, row.UPPER] > 0.0 else row.BACKWARD


# With all modes fixed, the problem is a quadratic program with equality constraints: rows that stick or are at a limit
# form the working set. The modes of the last step are usually right, which takes one solve. Otherwise the active-set
# method starts at rest, which is always feasible, and adds or releases one row in each iteration.
@allocating_kernel
def solve_coupled(problem: Problem, v: Array) -> tuple[int, float]:
    """Solve the friction problem: write the velocity ``v`` (n,), the results in ``problem.rows``, and the modes.

    The given modes are tried first. If they violate a condition, the primal active-set method starts from rest (Nocedal
    and Wright, Numerical Optimization, algorithm 16.3). Returns the number of linear systems solved and the residual of
    the optimality conditions, rad/s or m/s. If A is not positive definite, ``v`` is NaN.
    """
    directions = problem.directions
    rows = problem.rows
    modes = problem.modes
    n = v.shape[0]
    count = modes.shape[0]
    step = np.empty(n)
    equations = _working_set(directions, rows, modes)
    v[:] = 0.0
    satisfy(equations, v)
    pull = _pull(problem, v)
    good = minimise_in_null_space(equations, problem.matrix, -pull, step) < 0
    v += step
    satisfy(equations, v)
    _write_impulses(equations, rows, _pull(problem, v))
    solves = 1
    if not (good and _is_solution(directions, rows, modes, v)):
        solves += _descend(problem, v)
    for k in range(count):
        rows[k, row.VELOCITY] = row_product(directions, k, v)
    return solves, _residual(problem, v)


# A step towards the solution of the working set ends at the first row that reaches the end of the range of its mode;
# it joins the working set. After a full step, the row whose impulse exceeds its bounds most is released, later on the
# first such row (Bland's rule), which prevents cycles between degenerate solutions.
@allocating_kernel
def _descend(problem: Problem, v: Array) -> int:
    """Run the primal active-set method from rest; return the number of linear systems solved."""
    directions = problem.directions
    rows = problem.rows
    modes = problem.modes
    count = modes.shape[0]
    step = np.empty(v.shape[0])
    v[:] = 0.0
    _from_rest(directions, rows, modes)
    for solves in range(_MAX_SOLVES * (count + 1)):
        equations = _working_set(directions, rows, modes)
        pull = _pull(problem, v)
        if minimise_in_null_space(equations, problem.matrix, -pull, step) >= 0:
            v[:] = math.nan
            return solves
        fraction = 1.0
        first = -1
        mode = row.STUCK
        for k in range(count):
            z = row_product(directions, k, v)
            dz = row_product(directions, k, step)
            if (
                row.slips(modes[k])
                and abs(dz) > DEPENDENCE_TOLERANCE * np.abs(step).max()
            ):
                low, high = _bounds(rows, k, modes[k])
                bound = low if dz < 0.0 else high
                share = max((bound - z) / dz, 0.0)
                if share < fraction:
                    fraction = share
                    first = k
                    mode = (
                        row.STUCK
                        if bound == 0.0
                        else row.AT_LOWER
                        if dz < 0.0
                        else row.AT_UPPER
                    )
        v += fraction * step
        if first < 0:
            satisfy(equations, v)
            _write_impulses(equations, rows, _pull(problem, v))
            most = 0.0
            for k in range(count):
                if not row.slips(modes[k]):
                    excess = _excess(rows, k, modes[k])
                    if excess > most and (
                        first < 0 or solves < _BLAND_AFTER * (count + 1)
                    ):
                        most = excess
                        first = k
                        mode = _neighbour_mode(rows, k, modes[k])
            if first < 0:
                return solves + 1
        modes[first] = mode
    return solves + 1


@kernel
def _residual(problem: Problem, v: Array) -> float:
    """Return the largest residual of the optimality conditions and of A (v - v_free) = E^T lambda, as a velocity."""
    matrix, directions, rows, _, free, prior_impulse = problem
    worst = 0.0
    for i in range(v.shape[0]):
        total = prior_impulse[i]
        for j in range(v.shape[0]):
            total += matrix[i, j] * (v[j] - free[j])
        for k in range(rows.shape[0]):
            total -= directions[k, i] * rows[k, row.IMPULSE]
        worst = max(worst, abs(total) / matrix[i, i])
    for k in range(rows.shape[0]):
        own = 0.0
        for i in range(v.shape[0]):
            own += directions[k, i] * directions[k, i] / matrix[i, i]
        z = rows[k, row.VELOCITY]
        worst = max(
            worst, abs(row.nearest(rows, k, own, z - own * rows[k, row.IMPULSE]) - z)
        )
    return worst
