"""The friction problem of stick_slip along lines that are combinations of coordinates: z_k = E_k v.

The velocity after a step minimises

    1/2 (v - v_free)^T A (v - v_free) + sum_k (forward_k max(E_k v, 0) + backward_k max(-E_k v, 0))

over lower_k <= E_k v <= upper_k. Optimality: A (v - v_free) = E^T lambda, each pair (E_k v, lambda_k) on the graph of
five segments that stick_slip describes. v has one solution; lambda may have many, where lines depend on each other.

Lines that stick or meet a limit are equations E_w v = b, see elimination.
"""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics_ros.kernels.compilation import allocating_kernel, kernel
from robot_dynamics_ros.kernels.types import Array, IntArray
from robot_dynamics_ros.simulation.elimination import (
    DEPENDENT,
    Equations,
    accelerate_within,
    contains,
    eliminate,
    respect,
)
from robot_dynamics_ros.simulation.free_motion import along
from robot_dynamics_ros.simulation.stick_slip import (
    BACKWARD,
    FORWARD,
    GRIP_BACKWARD,
    GRIP_FORWARD,
    IMPULSE,
    LOWER,
    SLACK,
    STUCK,
    UPPER,
    VELOCITY,
    WALL_LOWER,
    WALL_UPPER,
    nearest,
)

_PATIENT = 10  # solves for each line, after which the first line that may move does, not the one that gains most
_MOST = 100  # solves for each line


@kernel
def _target(lines: Array, k: int, state: int) -> float:
    """The velocity of a line that sticks or meets a limit."""
    if state == WALL_LOWER:
        return float(lines[k, LOWER])
    return float(lines[k, UPPER]) if state == WALL_UPPER else 0.0


@allocating_kernel
def _working_set(directions: Array, lines: Array, pattern: IntArray) -> Equations:
    """The equations of the lines that stick or meet a limit."""
    chosen = np.empty(pattern.shape[0], np.bool_)
    targets = np.empty(pattern.shape[0])
    for k in range(pattern.shape[0]):
        chosen[k] = pattern[k] != FORWARD and pattern[k] != BACKWARD
        targets[k] = _target(lines, k, pattern[k])
    return eliminate(directions, chosen, targets)


@allocating_kernel
def _pull(
    matrix: Array, directions: Array, lines: Array, pattern: IntArray, free: Array, carried: Array, v: Array
) -> Array:
    """A (v - free) + carried - E_s^T lambda_s, s the lines that slide: what the others must give as E_w^T lambda_w."""
    pull = carried.copy()
    for i in range(v.shape[0]):
        for j in range(v.shape[0]):
            pull[i] += matrix[i, j] * (v[j] - free[j])
    for k in range(pattern.shape[0]):
        lines[k, IMPULSE] = 0.0
        if pattern[k] == FORWARD:
            lines[k, IMPULSE] = -lines[k, GRIP_FORWARD]
        elif pattern[k] == BACKWARD:
            lines[k, IMPULSE] = lines[k, GRIP_BACKWARD]
        for j in range(v.shape[0]):
            pull[j] -= lines[k, IMPULSE] * directions[k, j]
    return pull


@kernel
def _share_out(equations: Equations, lines: Array, pull: Array) -> None:
    """Write the impulses of the equations' lines, E_w^T lambda_w = pull; those that depend on others give nothing."""
    for i in range(equations.rank):
        total = 0.0
        for row in range(equations.rank):
            total += equations.mixture[row, i] * pull[equations.pivots[row]]
        lines[equations.members[i], IMPULSE] = total


@kernel
def _excess(lines: Array, k: int, state: int) -> float:
    """How far the impulse of a line that sticks or meets a limit lies outside its segment; 0 or less: inside."""
    impulse, forward, backward = lines[k, IMPULSE], lines[k, GRIP_FORWARD], lines[k, GRIP_BACKWARD]
    slack = SLACK * (abs(impulse) + forward + backward)
    if state == WALL_LOWER:
        return float(backward - impulse - slack)
    if state == WALL_UPPER:
        return float(impulse + forward - slack)
    # Without room to move that way, the limit holds it.
    above = impulse - backward if lines[k, LOWER] < 0.0 else -math.inf
    below = -forward - impulse if lines[k, UPPER] > 0.0 else -math.inf
    return float(max(above, below) - slack)


@kernel
def _released(lines: Array, k: int, state: int) -> int:
    """The segment beside the one that line k leaves."""
    if state == WALL_LOWER:
        return BACKWARD
    if state == WALL_UPPER:
        return FORWARD
    return BACKWARD if lines[k, IMPULSE] > lines[k, GRIP_BACKWARD] else FORWARD


@kernel
def _bounds(lines: Array, k: int, state: int) -> tuple[float, float]:
    """Between which velocities a line slides on this segment; both directions are one where nothing can hold it."""
    loose = lines[k, GRIP_FORWARD] + lines[k, GRIP_BACKWARD] == 0.0
    return (
        lines[k, LOWER] if state == BACKWARD or loose else 0.0,
        lines[k, UPPER] if state == FORWARD or loose else 0.0,
    )


@kernel
def _is_solution(directions: Array, lines: Array, pattern: IntArray, v: Array) -> bool:
    """Whether velocity and impulses fit the pattern."""
    for k in range(pattern.shape[0]):
        if pattern[k] == FORWARD or pattern[k] == BACKWARD:
            low, high = _bounds(lines, k, pattern[k])
            if not low <= along(directions, k, v) <= high:
                return False
        else:
            size = 0.0
            for j in range(v.shape[0]):
                size += abs(directions[k, j] * v[j])
            # One that depends on others may contradict them.
            if abs(along(directions, k, v) - _target(lines, k, pattern[k])) > DEPENDENT * size:
                return False
            if not _excess(lines, k, pattern[k]) <= 0.0:
                return False
    return True


@allocating_kernel
def _from_rest(directions: Array, lines: Array, pattern: IntArray) -> None:
    """The pattern of an arm at rest: as many lines stick as are independent, the others are about to slide."""
    for k in range(pattern.shape[0]):
        loose = lines[k, GRIP_FORWARD] + lines[k, GRIP_BACKWARD] == 0.0
        pattern[k] = FORWARD if loose and lines[k, LOWER] < 0.0 < lines[k, UPPER] else STUCK
    equations = _working_set(directions, lines, pattern)
    for k in range(pattern.shape[0]):
        if pattern[k] == STUCK and not contains(equations.members, equations.rank, k):
            pattern[k] = FORWARD if lines[k, UPPER] > 0.0 else BACKWARD


@allocating_kernel
def solve_coupled(
    matrix: Array, directions: Array, lines: Array, pattern: IntArray, free: Array, carried: Array, v: Array
) -> tuple[int, float]:
    """Write the velocity ``v`` (n,), and velocity and impulse of the ``lines``; ``pattern`` (K,) is renewed.

    First the solution for the pattern as it is; where that breaks a condition, the primal active-set method from rest,
    Nocedal and Wright, Numerical Optimization, algorithm 16.3, as in ``stick_slip.descend``. Returns the linear
    systems solved and the residual of the optimality conditions, a velocity.

    Parameters
    ----------
    matrix
        A (n, n), positive definite, both triangles.
    directions
        E (K, n).
    lines
        (K, LINE_SIZE), see stick_slip; FREE and HELD are not used.
    free, carried
        Free velocity (n,) and the impulses (n,) that are already in it.
    """
    n, count = v.shape[0], pattern.shape[0]
    step = np.empty(n)
    equations = _working_set(directions, lines, pattern)
    v[:] = 0.0
    respect(equations, v)
    pull = _pull(matrix, directions, lines, pattern, free, carried, v)
    good = accelerate_within(equations, matrix, -pull, step) < 0
    v += step
    respect(equations, v)
    _share_out(equations, lines, _pull(matrix, directions, lines, pattern, free, carried, v))
    solves = 1
    if not (good and _is_solution(directions, lines, pattern, v)):
        solves += _descend(matrix, directions, lines, pattern, free, carried, v)
    for k in range(count):
        lines[k, VELOCITY] = along(directions, k, v)
    return solves, _residual(matrix, directions, lines, free, carried, v)


@allocating_kernel
def _descend(
    matrix: Array, directions: Array, lines: Array, pattern: IntArray, free: Array, carried: Array, v: Array
) -> int:
    """The primal active-set method from rest; returns the linear systems solved."""
    count = pattern.shape[0]
    step = np.empty(v.shape[0])
    v[:] = 0.0
    _from_rest(directions, lines, pattern)
    for solves in range(_MOST * (count + 1)):
        equations = _working_set(directions, lines, pattern)
        pull = _pull(matrix, directions, lines, pattern, free, carried, v)
        if accelerate_within(equations, matrix, -pull, step) >= 0:
            v[:] = math.nan
            return solves
        fraction, first, segment = 1.0, -1, STUCK
        for k in range(count):
            z, dz = along(directions, k, v), along(directions, k, step)
            if (pattern[k] == FORWARD or pattern[k] == BACKWARD) and abs(dz) > DEPENDENT * np.abs(step).max():
                low, high = _bounds(lines, k, pattern[k])
                bound = low if dz < 0.0 else high
                share = max((bound - z) / dz, 0.0)
                if share < fraction:
                    fraction, first = share, k
                    segment = STUCK if bound == 0.0 else WALL_LOWER if dz < 0.0 else WALL_UPPER
        v += fraction * step
        if first < 0:
            respect(equations, v)
            _share_out(equations, lines, _pull(matrix, directions, lines, pattern, free, carried, v))
            most = 0.0
            for k in range(count):
                if pattern[k] != FORWARD and pattern[k] != BACKWARD:
                    excess = _excess(lines, k, pattern[k])
                    if excess > most and (first < 0 or solves < _PATIENT * (count + 1)):
                        most, first, segment = excess, k, _released(lines, k, pattern[k])
            if first < 0:
                return solves + 1
        pattern[first] = segment
    return solves + 1


@kernel
def _residual(matrix: Array, directions: Array, lines: Array, free: Array, carried: Array, v: Array) -> float:
    """How far velocity and impulses are from optimal, as a velocity: as ``stick_slip.residual``, 0 at the solution.

    Also counts what A (v - v_free) and E^T lambda differ by.
    """
    worst = 0.0
    for i in range(v.shape[0]):
        total = carried[i]
        for j in range(v.shape[0]):
            total += matrix[i, j] * (v[j] - free[j])
        for k in range(lines.shape[0]):
            total -= directions[k, i] * lines[k, IMPULSE]
        worst = max(worst, abs(total) / matrix[i, i])
    for k in range(lines.shape[0]):
        own = 0.0
        for i in range(v.shape[0]):
            own += directions[k, i] * directions[k, i] / matrix[i, i]
        z = lines[k, VELOCITY]
        worst = max(worst, abs(nearest(lines, k, own, z - own * lines[k, IMPULSE]) - z))
    return worst
