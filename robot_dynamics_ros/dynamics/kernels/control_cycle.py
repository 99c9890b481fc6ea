"""Kernels of a control cycle: checks of measured states, and limits of the effort.

States (2, n) are positions (rad or m) and velocities (rad/s or m/s).
"""

from __future__ import annotations

import math

from robot_dynamics_ros.dynamics.kernels.compilation import inlined, kernel
from robot_dynamics_ros.dynamics.kernels.types import Array

# results of check_state
GOOD, UNCHANGED, CONTRADICTS, STANDS_STILL, IMPLAUSIBLE, OUT_OF_BOUNDS = range(6)

# Rows of its bounds:
# change of position that is always plausible, infinite for joints that are not compared
STEP = 0
SPEED = 1  # largest plausible velocity
# change of effort (Nm or N) at which a joint may rest by modelled friction
MODELLED_FRICTION = 2
UNKNOWN_FRICTION = 3  # further one by friction of an unknown size
BOUNDS = 4  # number of rows

# Rows of its memory:
MOVED = 0  # change of position in the window
IMPLIED = 1  # integral of velocity in the window
IMPLIED_STILL = 2  # integral of velocity since the position last changed
REST = 3  # position of rest
REST_SPEED = 4  # speed at which the joint came to it
REST_TIME = 5  # time (s) for which it has been within a tenth of the step of it
DRIVEN_TIME = 6  # time for which it should move, since the position last changed
EFFORT = 7  # effort before the position last changed
# 1 for a position that stands still although it must move, until it changes; 2 until it leaves that tenth
STILL = 8
# 1 for a velocity that contradicts the position, until both agree in motion
DISTRUSTED = 9
DESIRED = 10  # desired position when position or velocity last changed
MEMORY = 11  # number of rows

# Results of limit_effort.
CLAMPED = 1
SLOWED = 2

_WINDOW = 0.1  # s
# Values of STILL.
_UNTIL_IT_CHANGES = 1.0
_UNTIL_IT_LEAVES = 2.0
_FASTEST_STOP = 50.0  # rad/s^2 or m/s^2, a deceleration that no joint reaches


@kernel
def check_state(
    new: Array,
    last: Array,
    largest: float,
    bounds: Array,
    dt: float,
    passed: float,
    longest: float,
    measures_velocity: bool,
    effort: Array,
    desired: Array,
    memory: Array,
) -> tuple[int, int, bool]:
    """Check a measured state against bounds and the states before it.

    Parameters
    ----------
    new, last
        States (2, n).
    largest
        Largest accepted magnitude of a position or velocity.
    bounds
        (BOUNDS, n), in the rows from STEP to UNKNOWN_FRICTION.
    dt, passed, longest
        Time between the two states by their stamps, and between their arrivals, s. States are not compared if dt is
        not positive, infinite (for the first state), or exceeds ``longest``, which may be infinite.
    measures_velocity
        True if velocities are measured.
    effort, desired
        Last effort of an active law, else NaN, and desired position, NaN for a law that does not follow it, (n,).
    memory
        (MEMORY, n), updated, in the rows from MOVED to DESIRED; zeros before the first state.

    Returns
    -------
    tuple of int, int and bool
        Result: OUT_OF_BOUNDS for a magnitude beyond ``largest`` or NaN, IMPLAUSIBLE for a change beyond the bounds,
        STANDS_STILL or CONTRADICTS by the states before, UNCHANGED for equal states, GOOD; in this order. Then the
        index of the first joint with that result, and True if a velocity is not trusted.
    """
    n = new.shape[1]
    for j in range(n):
        # True for NaN
        if not (abs(new[0, j]) <= largest and abs(new[1, j]) <= largest):
            return OUT_OF_BOUNDS, j, False
    compared = 0.0 < dt <= longest and dt < math.inf
    unchanged = True
    result = GOOD
    joint = 0
    for j in range(n):
        unchanged = unchanged and new[0, j] == last[0, j] and new[1, j] == last[1, j]
        if compared and bounds[STEP, j] < math.inf:
            trusted = (
                measures_velocity
                and memory[DISTRUSTED, j] == 0.0
                and not _stands_at_speed(new, last, bounds, dt, j)
            )
            if _moves_too_far(new, last, bounds, dt, trusted, j):
                return IMPLAUSIBLE, j, False
    if unchanged:
        result = UNCHANGED
    # While the velocity of one joint is not trusted, no velocity is evidence that a position stands still.
    trusted = measures_velocity
    rest = max(min(dt, passed), 0.0)
    distrusted = False
    for j in range(n):
        trusted = trusted and memory[DISTRUSTED, j] == 0.0
    kept = math.exp(-dt / _WINDOW) if compared else 0.0
    for j in range(n):
        if dt == 0.0:
            # the next time step belongs to this change, too
            memory[MOVED, j] += new[0, j] - last[0, j]
        elif not compared:
            memory[MOVED, j] = memory[IMPLIED, j] = 0.0
        elif (
            _contradicts(
                new, last, bounds, dt, kept, measures_velocity, trusted, memory, j
            )
            and result < CONTRADICTS
        ):
            result = CONTRADICTS
            joint = j
        _note_sudden_rest(new, last, bounds, rest, trusted, memory, j)
        _note_driven_rest(
            new,
            last,
            bounds,
            dt,
            longest,
            measures_velocity,
            unchanged,
            effort,
            desired,
            memory,
            j,
        )
        if memory[STILL, j] != 0.0 and result != STANDS_STILL:
            result = STANDS_STILL
            joint = j
        distrusted = distrusted or memory[DISTRUSTED, j] != 0.0
    return result, joint, distrusted


@inlined
def _stands_at_speed(new: Array, last: Array, bounds: Array, dt: float, j: int) -> bool:
    """Return True if a joint is too fast by its velocity, without a quarter of the motion that this implies."""
    qd = abs(new[1, j])
    change = abs(new[0, j] - last[0, j])
    return bool(qd > bounds[SPEED, j] and change < 0.25 * qd * dt)


@inlined
def _moves_too_far(
    new: Array, last: Array, bounds: Array, dt: float, trusts_velocity: bool, j: int
) -> bool:
    """Return True if a position changes by more than the step and the motion at twice its velocity.

    If the velocity is not trusted, it is the motion at the largest one, which also bounds the velocity.
    """
    largest = bounds[SPEED, j]
    speed = (
        2.0 * min(max(abs(new[1, j]), abs(last[1, j])), largest)
        if trusts_velocity
        else largest
    )
    return bool(abs(new[0, j] - last[0, j]) > bounds[STEP, j] + speed * dt)


@inlined
def _contradicts(
    new: Array,
    last: Array,
    bounds: Array,
    dt: float,
    kept: float,
    measures_velocity: bool,
    trusted: bool,
    memory: Array,
    j: int,
) -> bool:
    """Compare the change of a position with the integral of its velocity; True if the velocity contradicts it.

    Both are over an exponential window. They agree if they differ by less than a quarter of the plausible step plus
    35 % of the larger, so that lags and noise pass, and a wrong sign, half, double or zero do not. A position that
    stands still is marked instead, if velocities are ``trusted``.
    """
    change = new[0, j] - last[0, j]
    step = bounds[STEP, j]
    most = 2.0 * bounds[SPEED, j]
    # a single wrong value fades soon
    integral = min(max(0.5 * (new[1, j] + last[1, j]), -most), most) * dt
    memory[MOVED, j] = moved = kept * memory[MOVED, j] + change
    memory[IMPLIED, j] = implied = kept * memory[IMPLIED, j] + integral
    memory[IMPLIED_STILL, j] = (
        memory[IMPLIED_STILL, j] + integral if change == 0.0 else 0.0
    )
    if not measures_velocity or step == math.inf:
        return False
    if trusted and abs(memory[IMPLIED_STILL, j]) > step:
        memory[STILL, j] = max(memory[STILL, j], _UNTIL_IT_CHANGES)
    if _stands_at_speed(new, last, bounds, dt, j):
        memory[DISTRUSTED, j] = 1.0
        return True
    larger = max(abs(moved), abs(implied))
    mismatch = abs(moved - implied)
    tolerance = 0.25 * step
    if mismatch > tolerance + 0.35 * larger:
        if (
            trusted
            and abs(moved) < abs(implied)
            and (change == 0.0 or abs(moved) < 0.01 * abs(implied))
        ):
            memory[STILL, j] = max(memory[STILL, j], _UNTIL_IT_CHANGES)
            return False
        memory[DISTRUSTED, j] = 1.0
        return True
    if larger > 3.0 * tolerance and mismatch < 0.2 * larger:
        memory[DISTRUSTED, j] = 0.0
    return False


@inlined
def _note_sudden_rest(
    new: Array,
    last: Array,
    bounds: Array,
    dt: float,
    trusted: bool,
    memory: Array,
    j: int,
) -> None:
    """Mark a joint that rests within a tenth of the step although it could not have stopped by a ``trusted`` velocity.

    At the deceleration a, a joint of speed v stops after the time v / a and the distance v^2 / (2 a). If that is longer
    than a tenth of the step, the joint must leave it within that time. Speeds beyond the limit are not considered.
    """
    within = 0.1 * bounds[STEP, j]
    if abs(new[0, j] - memory[REST, j]) > within:
        memory[REST, j] = new[0, j]
        memory[REST_TIME, j] = 0.0
        memory[STILL, j] = 0.0
        memory[REST_SPEED, j] = max(abs(new[1, j]), abs(last[1, j])) if trusted else 0.0
    else:
        memory[REST_TIME, j] += dt
    speed = memory[REST_SPEED, j]
    fast = 2.0 * within * _FASTEST_STOP < speed**2 and speed <= bounds[SPEED, j]
    if trusted and fast and memory[REST_TIME, j] > speed / _FASTEST_STOP:
        memory[STILL, j] = _UNTIL_IT_LEAVES


@inlined
def _note_driven_rest(
    new: Array,
    last: Array,
    bounds: Array,
    dt: float,
    longest: float,
    measures_velocity: bool,
    unchanged: bool,
    effort: Array,
    desired: Array,
    memory: Array,
    j: int,
) -> None:
    """Mark a position that is constant for longer than ``longest`` under an active law, in two cases.

    The effort has changed by more than the modelled and all of the unknown friction, and the position is not within
    half the step of the desired one (a fifth if no value changes). Or the effort has changed by more than the modelled
    and a quarter of the unknown friction, the velocity is constant, and the desired position, if any, has moved by
    twice the step.
    """
    step = bounds[STEP, j]
    change = new[0, j] - last[0, j]
    constant = measures_velocity and change == 0.0 and new[1, j] == last[1, j]
    if not constant or math.isnan(effort[j] + memory[DESIRED, j]):
        memory[DESIRED, j] = desired[j]
    if change != 0.0 and memory[STILL, j] == _UNTIL_IT_CHANGES:
        memory[STILL, j] = 0.0
    if change != 0.0 or math.isnan(effort[j] + memory[EFFORT, j]):
        memory[DRIVEN_TIME, j] = 0.0
        memory[EFFORT, j] = effort[j]
        return
    push = abs(effort[j] - memory[EFFORT, j]) - bounds[MODELLED_FRICTION, j]
    near = (0.2 if unchanged else 0.5) * step
    driven = (
        push > bounds[UNKNOWN_FRICTION, j] and not abs(desired[j] - new[0, j]) <= near
    )
    pushed = constant and push > 0.25 * bounds[UNKNOWN_FRICTION, j]
    memory[DRIVEN_TIME, j] = (
        memory[DRIVEN_TIME, j] + max(dt, 0.0) if driven or pushed else 0.0
    )
    left = pushed and not abs(desired[j] - memory[DESIRED, j]) <= 2.0 * step
    if memory[DRIVEN_TIME, j] > longest and step < math.inf and (driven or left):
        memory[STILL, j] = max(memory[STILL, j], _UNTIL_IT_CHANGES)


@kernel
def all_within(values: Array, least: Array, most: Array) -> bool:
    """Return True if each value (m, n) is in its closed interval from ``least`` to ``most`` (m, n); NaN never is."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            if not least[i, j] <= values[i, j] <= most[i, j]:
                return False
    return True


@kernel
def limit_effort(
    requested: Array, last: Array, limits: Array, rates: Array, dt: float, effort: Array
) -> int:
    """Write the limited effort to ``effort`` (n,); return CLAMPED and SLOWED, added, for the limits that changed it.

    Parameters
    ----------
    requested, last
        Requested effort, finite, and the effort of the last command, (n,), Nm or N.
    limits, rates
        Effort limits (n,), Nm or N, and largest rates of change (n,), Nm/s or N/s; infinite for no limit.
    dt
        Time (s) since the last command; infinite before the first one.
    """
    result = 0
    for j in range(requested.shape[0]):
        limit = limits[j]
        clamped = min(max(requested[j], -limit), limit)
        if clamped != requested[j]:
            result |= CLAMPED
        effort[j] = clamped
        if rates[j] < math.inf:
            step = rates[j] * dt
            slow = min(max(clamped, last[j] - step), last[j] + step)
            if slow != clamped:
                result |= SLOWED
            effort[j] = min(max(slow, -limit), limit)  # a lowered limit applies at once
    return result
