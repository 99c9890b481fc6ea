"""Kernels of a control cycle: checks of measured states, and limits of the effort.

States (2, n) are positions (rad or m) and velocities (rad/s or m/s).
"""

from __future__ import annotations

import math

from robot_dynamics_ros.control.thresholds import (
    DRIVE_ANSWERED,
    DRIVE_EXPLAINED,
    DRIVE_LEAST_CHANGE,
    DRIVE_OFFSET,
    DRIVE_OPPOSED,
    DRIVE_RELATIVE_OFFSET,
    DRIVE_STATES,
    DRIVE_STEEPEST,
    DRIVE_TORQUE_JUMP,
    DRIVE_WINDOW,
    HIDDEN_MOTION_MEMORY,
    LARGEST_EFFORT_CHANGE,
    LONGEST_CONTRADICTION,
    LONGEST_STATE_GAP,
    MODEL_TORQUE_ERROR,
    REFUTED_RETURN_TIME,
    RESPONSE_REST_VELOCITY,
    RESPONSE_STATES,
    RESPONSE_WINDOW,
    REST_SHARE,
    STATE_WINDOW,
    SUDDEN_STOP_TORQUE,
    UNMODELLED_FRICTION,
    UNMODELLED_TORQUE,
)
from robot_dynamics_ros.dynamics.kernels.compilation import inlined, kernel
from robot_dynamics_ros.dynamics.kernels.types import Array

# results of check_state: the largest one of all joints counts
UNCHANGED, GOOD, CONTRADICTS, IMPLAUSIBLE, OUT_OF_BOUNDS = range(5)

# Rows of its bounds:
# change of position that is always plausible, infinite for joints that are not compared
(
    STEP,
    SPEED,  # largest plausible velocity
    BOUNDS,  # number of rows
) = range(3)

# Rows of its memory:
(
    MOVED,  # change of position in the window
    IMPLIED,  # integral of velocity in the window
    # 1 for a velocity that contradicts the position, until both agree in motion
    DISTRUSTED,
    CONTRADICTED,  # time (s) for which it has contradicted it without a break
    SINCE_TRUSTED,  # time (s), by stamps, since the last state that was trusted
    REFUTED,  # 1 for a state that is not trusted, 2 if that lasts
    SINCE_REFUTED,  # time (s), by arrival, since the first such state
    STILL,  # position near which the joint has been
    IMPLIED_STILL,  # integral of velocity there
    MEMORY,  # number of rows
) = range(10)

# Rows of the memory of check_response:
(
    RESIDUAL,  # mean external torque (Nm or N) of the window
    # residual when the joint last moved, or since then the one nearest to 0
    REFERENCE,
    REST,  # position of rest
    REST_TORQUE,  # torque of the model when the joint last moved
    REST_SPEED,  # speed of the joint then
    REST_TIME,  # time (s) since then
    # momentum (Nm s or N s) and change of position of a joint at rest, if its measured position is frozen
    HIDDEN_MOMENTUM,
    HIDDEN_MOTION,
    # number of states in succession at rest whose residual exceeds its bound
    UNANSWERED,
    STOPPED,  # 1 for a while after a sudden stop
    DOUBTED,  # 1 for a joint that did not answer, until it moves
    RESPONSE_MEMORY,  # number of rows
) = range(12)

# Rows of the memory of check_drives:
(
    EXTERNAL,  # mean external torque (Nm or N) of the window
    EFFORT,  # mean effort
    EXTERNAL_VARIANCE,
    COVARIANCE,  # of external torque and effort
    EFFORT_VARIANCE,
    REVERSED,  # number of states in succession at which the drive opposes its effort
    DRIVE_MEMORY,  # number of rows
) = range(7)

# Results of limit_effort.
CLAMPED = 1
SLOWED = 2

_LASTING = 2.0  # value of REFUTED


@kernel
def check_state(
    new: Array,
    last: Array,
    trusted: Array,
    largest: float,
    bounds: Array,
    dt: float,
    passed: float,
    longest: float,
    measures_velocity: bool,
    memory: Array,
) -> tuple[int, int, bool]:
    """Check a measured state against bounds and the states before it.

    Parameters
    ----------
    new
        Measured state (2, n).
    last, trusted
        Last state of each joint that continued the one before, and the last one whose position and velocity agreed,
        with the smaller velocity, (2, n), updated.
    largest
        Largest accepted magnitude of a position or velocity.
    bounds
        (BOUNDS, n), in the rows STEP and SPEED.
    dt, passed, longest
        Time between this state and the one before by their stamps, and between their arrivals, s. States are not
        compared if dt is not positive or infinite (for the first state), positions not with velocities if it exceeds
        ``longest``.
    measures_velocity
        True if velocities are measured.
    memory
        (MEMORY, n), updated, in the rows from MOVED to IMPLIED_STILL; zeros before the first state.

    Returns
    -------
    tuple of int, int and bool
        Result: OUT_OF_BOUNDS for a magnitude beyond ``largest`` or NaN, IMPLAUSIBLE if a joint is refuted, CONTRADICTS
        by the velocity, GOOD, UNCHANGED for equal states; in this order. Then the index of the first joint with that
        result, and True if a velocity is not trusted.
    """
    n = new.shape[1]
    for j in range(n):
        # True for NaN
        if not (abs(new[0, j]) <= largest and abs(new[1, j]) <= largest):
            return OUT_OF_BOUNDS, j, False
    compared = 0.0 < dt < math.inf
    kept = math.exp(-dt / STATE_WINDOW) if compared and dt <= longest else 0.0
    distrusted = False
    result = UNCHANGED
    joint = 0
    for j in range(n):
        changes = new[0, j] != last[0, j] or new[1, j] != last[1, j]
        continues = not compared or _continues(
            new, trusted, bounds, dt, measures_velocity, memory, j
        )
        contradicts = continues and _contradicts(
            new, last, bounds, dt, kept, measures_velocity, memory, j
        )
        if continues:
            last[0, j] = new[0, j]
            last[1, j] = new[1, j]
        _refute(continues, dt if compared else 0.0, passed, memory, j)
        if memory[REFUTED, j] == 0.0 and memory[CONTRADICTED, j] == 0.0:
            trusted[0, j] = new[0, j]
            trusted[1, j] = _agreed_velocity(new[1, j], kept, memory, j)
            memory[SINCE_TRUSTED, j] = 0.0
        own = GOOD if changes else UNCHANGED
        if memory[REFUTED, j] != 0.0:
            own = IMPLAUSIBLE
        elif contradicts:
            own = CONTRADICTS
        if own > result:
            result = own
            joint = j
        distrusted = distrusted or memory[DISTRUSTED, j] != 0.0
    return result, joint, distrusted


@inlined
def _continues(
    new: Array,
    trusted: Array,
    bounds: Array,
    dt: float,
    measures_velocity: bool,
    memory: Array,
    j: int,
) -> bool:
    """Return True if a position continues the last trusted one.

    Its change is within the time between them, at most 1 s, times the interval spanned by both velocities and 0,
    widened by the step. If the velocity is not trusted, the interval is that of the largest one.
    """
    gap = min(memory[SINCE_TRUSTED, j] + dt, LONGEST_STATE_GAP)
    fastest = bounds[SPEED, j]
    slowest = -fastest
    if measures_velocity and memory[DISTRUSTED, j] == 0.0:
        most = 2.0 * bounds[SPEED, j]
        fastest = min(max(new[1, j], trusted[1, j], 0.0), most)
        slowest = max(min(new[1, j], trusted[1, j], 0.0), -most)
    change = new[0, j] - trusted[0, j]
    step = bounds[STEP, j]
    return bool(slowest * gap - step <= change <= fastest * gap + step)


@inlined
def _agreed_velocity(velocity: float, kept: float, memory: Array, j: int) -> float:
    """Return the smaller one of a velocity and the mean one by the positions of the window; 0 for opposite signs."""
    if kept == 0.0:
        return velocity
    mean: float = memory[MOVED, j] / STATE_WINDOW
    return min(max(velocity, min(mean, 0.0)), max(mean, 0.0))


@inlined
def _refute(continues: bool, dt: float, passed: float, memory: Array, j: int) -> None:
    """Update the state of trust of a joint, whose position ``continues`` the last trusted one or not.

    A position that does not is refuted; it may return within the return time, by arrival. A position that its velocity
    contradicts for too long is refuted, too; it may return until the longest gap.
    """
    memory[SINCE_TRUSTED, j] += dt
    if memory[REFUTED, j] == _LASTING:
        return
    if continues:
        memory[SINCE_REFUTED, j] = 0.0
        refuted = memory[CONTRADICTED, j] > LONGEST_CONTRADICTION
        lasts = refuted and memory[SINCE_TRUSTED, j] > LONGEST_STATE_GAP
    else:
        if memory[REFUTED, j] != 0.0:
            memory[SINCE_REFUTED, j] += passed
        refuted = True
        lasts = memory[SINCE_REFUTED, j] > REFUTED_RETURN_TIME
    memory[REFUTED, j] = 1.0 if refuted else 0.0
    if lasts:
        memory[REFUTED, j] = _LASTING


@inlined
def _contradicts(
    new: Array,
    last: Array,
    bounds: Array,
    dt: float,
    kept: float,
    measures_velocity: bool,
    memory: Array,
    j: int,
) -> bool:
    """Compare the change of a position with the integral of its velocity; True if the velocity contradicts it.

    Both are over an exponential window, of which the part ``kept`` remains; 0: it begins anew. They agree if they
    differ by less than a quarter of the plausible step plus 35 % of the larger, so that lags and noise pass, and a
    wrong sign, half, double or zero do not. A position that stands still during such a motion is refuted at once. A
    velocity beyond its limit with less than a quarter of its motion is wrong at once.
    """
    change = new[0, j] - last[0, j]
    step = bounds[STEP, j]
    if dt == 0.0:  # the next time step belongs to this change, too
        memory[MOVED, j] += change
        return False
    if kept == 0.0:
        memory[MOVED, j] = 0.0
        memory[IMPLIED, j] = 0.0
        return False
    most = 2.0 * bounds[SPEED, j]
    # a single wrong value fades soon
    integral = min(max(0.5 * (new[1, j] + last[1, j]), -most), most) * dt
    memory[MOVED, j] = moved = kept * memory[MOVED, j] + change
    memory[IMPLIED, j] = implied = kept * memory[IMPLIED, j] + integral
    if not measures_velocity or step == math.inf:
        return False
    larger = max(abs(moved), abs(implied))
    mismatch = abs(moved - implied)
    tolerance = 0.25 * step
    contradicts = mismatch > tolerance + 0.35 * larger
    memory[CONTRADICTED, j] = memory[CONTRADICTED, j] + dt if contradicts else 0.0
    if abs(new[0, j] - memory[STILL, j]) > REST_SHARE * step:
        memory[STILL, j] = new[0, j]
        memory[IMPLIED_STILL, j] = 0.0
    else:
        memory[IMPLIED_STILL, j] += integral
    if abs(memory[IMPLIED_STILL, j]) > tolerance:
        memory[CONTRADICTED, j] = math.inf
        contradicts = True
    speed = abs(new[1, j])
    stands = speed > bounds[SPEED, j] and abs(change) < 0.25 * speed * dt
    if contradicts or stands:
        memory[DISTRUSTED, j] = 1.0
        return True
    if larger > 3.0 * tolerance and mismatch < 0.2 * larger:
        memory[DISTRUSTED, j] = 0.0
    return False


@kernel
def check_response(
    state: Array,
    external: Array,
    torque: Array,
    hidden: Array,
    inertia: Array,
    friction: Array,
    limits: Array,
    step: Array,
    dt: float,
    memory: Array,
) -> tuple[int, bool]:
    """Check if joints that rest answer their efforts.

    Returns the index of the first joint that does not, or -1, and True if a joint has a hidden motion.

    The residual of a joint is its mean external torque over an exponential window. A joint that leaves its position
    of rest, or moves faster than noise, answers; its residual is then the reference. A joint that rests does not
    answer if the residual has grown from the reference by more than twice the friction, 5 % of the effort limit and
    15 % of the change of the model's torque, or if an external torque of more than half its effort limit stopped it,
    for two states. A wrong mass or payload is in the reference, too. The friction of a joint without it in the model
    is taken as 7.5 % of its effort limit.

    If the measured position is frozen, the joint moves: its hidden momentum is the integral of what friction leaves of
    the change of the external torque. A joint that is not doubted forgets it with a time constant of 1 s.

    Parameters
    ----------
    state
        Measured state (2, n).
    external, torque
        Mean external torque and torque of the model since the state before, (n,), Nm or N.
    hidden, inertia
        External torque (n,) at the position of the hidden motion, with its viscous friction, Nm or N, and inertia (n,),
        kg m^2 or kg.
    friction, limits
        Static friction of the model, and effort limit, (n,), Nm or N; infinite for joints that are not checked.
    step
        Plausible change of position, (n,), rad or m; infinite for joints that are not checked.
    dt
        Time since the state before, s; infinite restarts the check.
    memory
        (RESPONSE_MEMORY, n), updated, in the rows from RESIDUAL to DOUBTED.
    """
    kept = math.exp(-dt / RESPONSE_WINDOW)
    remembered = math.exp(-dt / HIDDEN_MOTION_MEMORY)
    first = -1
    moves = False
    for j in range(state.shape[1]):
        if dt == math.inf:  # also after a torque that was not finite
            memory[RESIDUAL, j] = external[j]
        memory[RESIDUAL, j] += (1.0 - kept) * (external[j] - memory[RESIDUAL, j])
        if step[j] == math.inf or not _rests(
            state, external, torque, limits, step, dt, memory, j
        ):
            continue
        dry = friction[j] if friction[j] > 0.0 else UNMODELLED_FRICTION * limits[j]
        part = remembered if memory[DOUBTED, j] == 0.0 else 1.0
        driving = memory[REFERENCE, j] - hidden[j]
        _move_hidden(part, driving, dry, inertia[j], dt, memory, j)
        moves = moves or memory[HIDDEN_MOMENTUM, j] != 0.0
        _compare_residual(torque, limits, step, dry, dt, memory, j)
        if memory[UNANSWERED, j] >= RESPONSE_STATES:
            memory[DOUBTED, j] = 1.0
            first = j if first < 0 else first
    return first, moves


@inlined
def _rests(
    state: Array,
    external: Array,
    torque: Array,
    limits: Array,
    step: Array,
    dt: float,
    memory: Array,
    j: int,
) -> bool:
    """Return True if a joint rests, and note sudden stops; else, its residual becomes the reference.

    A restart of the check makes it the reference, too, but nothing changes for a doubted joint that rests.
    """
    way = abs(state[0, j] - memory[REST, j])
    away = way > REST_SHARE * step[j]
    slow = abs(state[1, j]) <= RESPONSE_REST_VELOCITY
    moved = memory[REST_SPEED, j] > RESPONSE_REST_VELOCITY
    sudden = abs(external[j] - memory[REFERENCE, j]) > SUDDEN_STOP_TORQUE * limits[j]
    stops = moved and slow and sudden and dt < math.inf
    answers = away or not slow
    if dt == math.inf and memory[DOUBTED, j] != 0.0 and not answers:
        return False
    if answers or dt == math.inf:
        speed = way / (memory[REST_TIME, j] + dt)
        memory[REST_SPEED, j] = max(abs(state[1, j]), speed)
        memory[REST_TIME, j] = 0.0
        memory[REST, j] = state[0, j]
        memory[REFERENCE, j] = memory[RESIDUAL, j]
        memory[REST_TORQUE, j] = torque[j]
        memory[HIDDEN_MOMENTUM, j] = 0.0
        memory[HIDDEN_MOTION, j] = 0.0
        memory[UNANSWERED, j] = 0.0
        memory[DOUBTED, j] = 0.0
        memory[STOPPED, j] = 1.0 if stops else 0.0
        return False
    if stops:
        memory[STOPPED, j] = 1.0
    elif memory[REST_TIME, j] > 2.0 * RESPONSE_WINDOW:
        memory[STOPPED, j] = 0.0
    return True


@inlined
def _move_hidden(
    part: float,
    driving: float,
    dry: float,
    inertia: float,
    dt: float,
    memory: Array,
    j: int,
) -> None:
    """Integrate the torque ``driving`` less the friction ``dry``, Nm or N, to the hidden motion of a joint.

    ``part`` of its momentum and motion before is remembered.
    """
    momentum = part * memory[HIDDEN_MOMENTUM, j] + dt * driving
    momentum = math.copysign(max(abs(momentum) - dt * dry, 0.0), momentum)
    motion = part * memory[HIDDEN_MOTION, j] + dt * momentum / inertia
    memory[HIDDEN_MOMENTUM, j] = momentum
    memory[HIDDEN_MOTION, j] = motion


@inlined
def _compare_residual(
    torque: Array,
    limits: Array,
    step: Array,
    dry: float,
    dt: float,
    memory: Array,
    j: int,
) -> None:
    """Count the states in succession at which a resting joint with the friction ``dry`` does not answer."""
    # At its speed before, a joint that goes on leaves the position of rest within this time.
    memory[REST_TIME, j] += dt
    moved = memory[REST_SPEED, j] > RESPONSE_REST_VELOCITY
    way = memory[REST_TIME, j] * memory[REST_SPEED, j]
    rests = not moved or way > 2.0 * REST_SHARE * step[j]
    if abs(memory[RESIDUAL, j]) < abs(memory[REFERENCE, j]):
        memory[REFERENCE, j] = memory[RESIDUAL, j]
    change = abs(memory[RESIDUAL, j] - memory[REFERENCE, j])
    accelerating = abs(torque[j] - memory[REST_TORQUE, j])
    bound = (
        2.0 * dry + UNMODELLED_TORQUE * limits[j] + MODEL_TORQUE_ERROR * accelerating
    )
    if rests and (change > bound or memory[STOPPED, j] != 0.0):
        memory[UNANSWERED, j] += 1.0
    else:
        memory[UNANSWERED, j] = 0.0


@kernel
def check_drives(
    external: Array,
    effort: Array,
    velocity: Array,
    limits: Array,
    dt: float,
    memory: Array,
) -> int:
    """Check the signs of drives; return the index of the first reversed one, or -1.

    A drive that gives k times its effort u makes an external torque (k - 1) u: its slope over u is k - 1. The slope is
    the linear regression over an exponential window, which begins anew when the external torque jumps without the
    effort. A push or a contact does not follow the effort: feedback against it gives a slope of about -1 at most.

    A drive is reversed if for three states in succession the effort changes enough, the slope is below -1.15 and
    explains the changes of the external torque, so is the ratio of their means, which is about the slope, and the
    external torque drives the motion. It remains so until the slope is above -0.5.

    Parameters
    ----------
    external, effort
        Mean external torque and mean effort since the state before, (n,), Nm or N.
    velocity
        Measured velocity (n,).
    limits
        Effort limits (n,), Nm or N; infinite for joints that are not checked.
    dt
        Time since the state before, s; infinite restarts the regression.
    memory
        (DRIVE_MEMORY, n), updated, in the rows from EXTERNAL to REVERSED; zeros before the first state.
    """
    share = 1.0 - math.exp(-dt / DRIVE_WINDOW)
    kept = 1.0 - share
    first = -1
    for j in range(external.shape[0]):
        residual = external[j] - memory[EXTERNAL, j]
        change = effort[j] - memory[EFFORT, j]
        jump = DRIVE_TORQUE_JUMP * limits[j] + DRIVE_STEEPEST * abs(change)
        if dt == math.inf or abs(residual) > jump:
            memory[EXTERNAL, j] = external[j]
            memory[EFFORT, j] = effort[j]
            memory[EXTERNAL_VARIANCE, j] = 0.0
            memory[COVARIANCE, j] = 0.0
            memory[EFFORT_VARIANCE, j] = 0.0
        else:
            memory[EXTERNAL, j] += share * residual
            memory[EFFORT, j] += share * change
            spread = memory[EXTERNAL_VARIANCE, j] + share * residual * residual
            memory[EXTERNAL_VARIANCE, j] = kept * spread
            together = memory[COVARIANCE, j] + share * residual * change
            memory[COVARIANCE, j] = kept * together
            varied = memory[EFFORT_VARIANCE, j] + share * change * change
            memory[EFFORT_VARIANCE, j] = kept * varied
        variance = memory[EFFORT_VARIANCE, j]
        slope = 0.0
        opposes = False
        if variance > (DRIVE_LEAST_CHANGE * limits[j]) ** 2:
            slope = memory[COVARIANCE, j] / variance
            mean = memory[EXTERNAL, j]
            given = memory[EFFORT, j]
            explained = slope * memory[COVARIANCE, j]
            miss = abs(mean - slope * given)
            opposes = (
                slope < DRIVE_OPPOSED
                and explained > DRIVE_EXPLAINED * memory[EXTERNAL_VARIANCE, j]
                and mean * given < DRIVE_OPPOSED * given * given
                and miss < DRIVE_OFFSET * limits[j] + DRIVE_RELATIVE_OFFSET * abs(mean)
                and mean * velocity[j] > RESPONSE_REST_VELOCITY * abs(mean)
            )
            if slope > DRIVE_ANSWERED:
                memory[REVERSED, j] = 0.0
        if opposes:
            memory[REVERSED, j] += 1.0
        elif memory[REVERSED, j] < DRIVE_STATES:
            memory[REVERSED, j] = 0.0
        if memory[REVERSED, j] >= DRIVE_STATES and first < 0:
            first = j
    return first


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
    requested: Array,
    last: Array,
    limits: Array,
    rates: Array,
    step_rates: Array,
    dt: float,
    remainder: Array,
    effort: Array,
) -> int:
    """Write the limited effort to ``effort`` (n,); return CLAMPED and SLOWED, added, for the limits that changed it.

    Parameters
    ----------
    requested, last
        Requested effort, finite, and the effort of the last command, (n,), Nm or N.
    limits, rates
        Effort limits (n,), Nm or N, and largest rates of change (n,), Nm/s or N/s; infinite for no limit.
    step_rates
        Rates (n,), Nm/s or N/s, at which the effort follows a step of the requested effort; infinite: at once. They are
        for joints whose rate of change has no limit.
    dt
        Time (s) since the last command; infinite before the first one.
    remainder
        Part (n,) of past steps that the effort has not followed, less than twice the limit, Nm or N; updated.
    """
    result = 0
    steps = False
    for j in range(requested.shape[0]):
        effort[j] = min(max(requested[j], -limits[j]), limits[j])
        if effort[j] != requested[j]:
            result |= CLAMPED
        if rates[j] == math.inf and step_rates[j] < math.inf:
            change = effort[j] - last[j]
            largest = max(step_rates[j] * dt, LARGEST_EFFORT_CHANGE * limits[j])
            steps = steps or abs(change - remainder[j]) > largest
    share = 1.0  # of the remainder that is followed in this cycle
    for j in range(requested.shape[0]):
        if rates[j] == math.inf and step_rates[j] < math.inf:
            if steps:
                remainder[j] = effort[j] - last[j]
            if remainder[j] != 0.0:
                share = min(share, step_rates[j] * dt / abs(remainder[j]))
    for j in range(requested.shape[0]):
        limit = limits[j]
        clamped = effort[j]
        slow = clamped
        if rates[j] < math.inf:
            step = rates[j] * dt
            remainder[j] = 0.0
            slow = min(max(clamped, last[j] - step), last[j] + step)
        elif step_rates[j] < math.inf:
            # Only a step is slowed, so that a fast but continuous effort is not delayed, and all joints in proportion,
            # so that the acceleration keeps its direction.
            remainder[j] -= share * remainder[j]
            slow = clamped - remainder[j]
        if slow != clamped:
            result |= SLOWED
        effort[j] = min(max(slow, -limit), limit)  # a lowered limit applies at once
    return result
