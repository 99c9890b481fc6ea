"""Limits of effort and motion, checks of the motion, and the integral of the position error.

Positions are in rad or m, velocities per s, efforts in Nm or N; arrays (n,) have one number for each joint. A check
returns the fault of the first joint that fails it, or None.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from robot_dynamics_ros.control.external_torque import ExternalTorque
from robot_dynamics_ros.control.feedback import Feedback
from robot_dynamics_ros.control.safety import RECOVERY_TIME, Cause, Fault
from robot_dynamics_ros.control.settings import ControllerSettings, SafetySettings
from robot_dynamics_ros.control.trajectory.points import LARGEST
from robot_dynamics_ros.control.tuning import Tuning
from robot_dynamics_ros.kernels.entries import all_within
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.model.joint_limits import LOWER, SOFT_LOWER, SOFT_UPPER, UPPER, VELOCITY, LimitRows

_BRAKING_PASSES = 10  # bounds the time of a cycle
_LASTING_FAULTS = {
    Cause.FOLLOWING_ERROR: "is {value:.3g} off the desired position, over following_error_limit {limit:g}. Cure: check "
    "for a collision, or command slower motion",
    Cause.SATURATION: "has been at its effort limit {limit:g} for over saturation_timeout {seconds:g} s. Cure: check "
    "for a collision, check the payload, or command slower motion",
}


class ErrorIntegral:
    """Integral of the position error over time with anti-windup.

    Conditional integration: Astrom and Hagglund, Advanced PID Control (2006), 3.5. The integral of a joint is kept
    constant while its torque is limited and its error would increase the excess.

    Attributes
    ----------
    value
        Integral (n,), rad s or m s; updated in place.
    """

    def __init__(self, n: int) -> None:
        """Create the integral of ``n`` joints, zero at first."""
        self.value: Array = np.zeros(n)

    def reset(self) -> None:
        """Set the integral to zero."""
        self.value[:] = 0.0

    def keep_torque(self, ki: Array, new: Array) -> None:
        """Rescale ``value`` to keep its product with the gain, ``ki`` (n,) before, ``new`` (n,) now; 0 if that is 0."""
        self.value *= np.divide(ki, new, out=np.zeros_like(ki), where=new > 0.0)

    def add(self, error: Array, dt: float, cut: Array) -> None:
        """Add ``error`` (n,), desired minus measured position, times ``dt`` (s).

        ``cut`` (n,) is the requested less the limited effort. The integral of a joint is not changed if its ``cut`` has
        the sign of its error.
        """
        step = error * dt
        step[cut * error > 0.0] = 0.0
        self.value += step


class EffortLimiter:
    """Effort and rate limits, and a ramp that keeps the command continuous when the law changes.

    Attributes
    ----------
    limits
        Effort limits (n,), Nm or N, infinite for no limit.
    effort
        Last limited effort (n,); None before the first one.
    clamped, slowed
        True if an effort limit, or a rate limit, changed the last effort.
    """

    def __init__(self, limits: Array, rates: Array) -> None:
        """Create a limiter with ``limits`` and ``rates`` as for ``set``, and without a last effort."""
        self.effort: Array | None = None
        self.clamped = self.slowed = False
        self._difference = np.zeros(len(limits))
        self._fade_time = self._left = 0.0
        self.set(limits, rates)

    def set(self, limits: Array, rates: Array) -> None:
        """Set effort ``limits`` (n,), Nm or N, and rate limits ``rates`` (n,), Nm/s or N/s, infinite for no limit."""
        self.limits = limits
        self._lower = -limits
        rated = np.isfinite(rates)
        self._rated = bool(rated.any())
        # Avoids 0 s times an infinite rate, which is NaN.
        self._rates, self._free = np.where(rated, rates, 0.0), np.where(rated, 0.0, np.inf)

    def start(self, effort: Array, requested: Array, seconds: float) -> None:
        """Start a ramp from ``effort`` (n,) to the ``requested`` effort (n,), which takes ``seconds``.

        ``limit`` adds the difference of the two to its argument, decreasing linearly to 0 from its next call on.
        """
        self.effort = np.clip(effort, self._lower, self.limits)
        self._difference = self.effort - requested
        self._fade_time = self._left = seconds

    def limit(self, requested: Array, dt: float) -> Array:
        """Return the limited effort (n,) for a finite ``requested`` effort (n,), ``dt`` (s) after the last command.

        The rate limit applies to the change from the last effort, and not to the first effort.
        """
        if self._left > 0.0:
            self._left = max(self._left - dt, 0.0)
            requested = requested + self._left / self._fade_time * self._difference
        effort = np.minimum(np.maximum(requested, self._lower), self.limits)
        self.clamped = effort.tolist() != requested.tolist()  # faster than array operations for few joints
        self.slowed = False
        if self._rated and self.effort is not None:
            step = self._rates * dt + self._free
            slow = np.minimum(np.maximum(effort, self.effort - step), self.effort + step)
            self.slowed = not np.array_equal(slow, effort)
            # A lowered limit applies at once.
            effort = np.minimum(np.maximum(slow, self._lower), self.limits)
        self.effort = effort
        return effort

    def zero(self) -> Array:
        """Return zero effort (n,), without rate limit, and end the ramp."""
        self.effort = np.zeros(len(self.limits))
        self.clamped = self.slowed = False
        self._left = 0.0
        return self.effort

    def over(self, names: Sequence[str], requested: Array) -> tuple[str, ...]:
        """Return those of the joints' ``names`` (n) whose ``requested`` effort (n,) exceeds the limit in magnitude."""
        return tuple(name for name, cut in zip(names, np.abs(requested) > self.limits, strict=True) if cut)


class Brake:
    """Velocity limits that brake joints before their position limits, for laws whose motion is not checked in advance.

    Limits are those of K rows, as in LimitRows: the n coordinates, then joints that depend on several of them.

    At the distance d from the position limit the velocity limit is the smaller of sqrt(2 a d), from which the
    deceleration a stops the joint, and d times a quarter of the braking bandwidth, which is critically damped. Beyond
    the position limit the velocity has to point back. A joint that starts beyond its limit may not move further out;
    the limit follows it inwards.
    """

    def __init__(self, rows: LimitRows) -> None:
        """Use the soft position limits and the velocity limits of ``rows``."""
        self._rows, self._speed = rows, rows.limits[VELOCITY]
        self._bounds = np.array([-rows.limits[SOFT_LOWER], rows.limits[SOFT_UPPER]])
        self.release()

    def release(self) -> None:
        """Accept the positions of the next call of ``velocities`` as within the limits, even if they are beyond."""
        self._open = np.full_like(self._bounds, np.inf)

    def velocities(self, q: Array, deceleration: Array, bandwidth: Array) -> Array:
        """Return the smallest (row 0) and largest (row 1) allowed velocity (2, K), rad/s or m/s, at ``q`` (n,).

        The magnitudes are at most the velocity limits. ``deceleration`` a (n,) is in rad/s^2 or m/s^2, ``bandwidth``
        (n,) of braking in 1/s.
        """
        rows = self._rows
        if rows.has_sums:
            # The coordinates share in braking by their factors, within their own deceleration.
            least = [np.where(rows.factors != 0.0, x, np.inf).min(axis=1) for x in (deceleration, bandwidth)]
            deceleration = np.append(deceleration, least[0] * np.linalg.norm(rows.factors, axis=1))
            bandwidth, q = np.append(bandwidth, least[1]), rows.positions(q)
        at = np.array([-q, q])
        self._open = np.maximum(self._bounds, np.minimum(self._open, at))
        room = self._open - at
        size = np.minimum(np.abs(room), LARGEST)
        speed = np.minimum(np.sqrt(np.minimum(2.0 * deceleration, LARGEST) * size), 0.25 * bandwidth * size)
        down, up = np.copysign(np.minimum(speed, self._speed), room)
        return np.array([-down, up])

    def excess(self, qd: Array, allowed: Array) -> Array:
        """Return the part (n,) of the velocity ``qd`` (n,) beyond the ``allowed`` velocities (2, K)."""
        return qd - self._rows.nearest(qd, allowed[0], allowed[1], _BRAKING_PASSES)


class MotionLimits:
    """Check of measured position and velocity against the limits and their margins.

    ``position_margin`` and, of the speed, ``margin`` (n,) are the distances beyond the limits that are no fault; inf:
    not checked. ``accept`` widens position limits to the current position. A widened limit follows the joint inwards.
    """

    def __init__(self, rows: LimitRows, position_margin: Array, margin: Array) -> None:
        """Use the position and velocity limits of ``rows``, those of all moving joints."""
        self._rows, self._has_sums = rows, rows.has_sums
        lower, upper, speed = rows.limits[[LOWER, UPPER, VELOCITY]]
        self._bounds = np.array([lower, -speed]), np.array([upper, speed])
        self._margins = np.array([rows.largest(position_margin), rows.largest(margin)])
        self._opened = False
        self._widen(lower, upper)

    def _widen(self, lower: Array, upper: Array) -> None:
        """Set position limits (K,), equal to or wider than those of the rows."""
        self._lower, self._upper = lower, upper
        low, high = self._bounds
        self._opened = bool((lower < low[0]).any() or (upper > high[0]).any())
        self._least = np.array([lower, low[1]]) - self._margins
        self._most = np.array([upper, high[1]]) + self._margins

    def accept(self, q: Array) -> None:
        """Set the position limits to those of the joints, widened to include ``q`` (n,)."""
        q = self._rows.positions(q)
        self._widen(np.minimum(self._bounds[0][0], q), np.maximum(self._bounds[1][0], q))

    def check(self, state: Array) -> Fault | None:
        """Return the fault of a finite ``state`` (2, n), position and velocity, beyond limit and margin, or None."""
        rows = self._rows
        if self._has_sums:
            state = np.array([rows.positions(state[0]), rows.rates(state[1])])
        if all_within(state, self._least, self._most):
            if self._opened:
                low, high = self._bounds[0][0], self._bounds[1][0]
                self._widen(
                    np.minimum(low, np.maximum(self._lower, state[0])),
                    np.maximum(high, np.minimum(self._upper, state[0])),
                )
            return None
        row, j = (int(k) for k in np.argwhere((state < self._least) | (state > self._most))[0])
        name, value = rows.names[j], float(state[row, j])
        above = int(value > self._most[row, j])
        limit, note = self._bounds[above][row, j], rows.owner_note(VELOCITY if row else (LOWER, UPPER)[above], j)
        if row == 0:
            cause, moves = Cause.POSITION_LIMIT, "is"
            cure = "move it back within its limits; after clear_fault the controller does not move it further out"
        else:
            cause, moves, cure = Cause.VELOCITY_LIMIT, "moves", "command slower motion"
        message = f'joint "{name}" {moves} at {value:.6g}, beyond its limit {limit:.6g}{note}. Cure: {cure}'
        return Fault(cause, message, name, value)


class LastingCheck:
    """Check of the time for which a joint exceeds a limit, for ``Cause.FOLLOWING_ERROR`` or ``Cause.SATURATION``.

    Attributes
    ----------
    counts
        True if a joint was at or beyond its limit in the last call of ``check``.
    """

    def __init__(self, names: Sequence[str], cause: Cause) -> None:
        """Create the check of the joints ``names``; ``cause`` is the cause of its faults."""
        self._names, self._cause = tuple(names), cause
        self._lasts = np.zeros(len(self._names))
        self.counts = False

    def check(self, values: Array, limits: Array, dt: float, seconds: float) -> Fault | None:
        """Return a fault if a magnitude of ``values`` (n,) has been at its limit (n,) for over ``seconds``, else None.

        At the limit: equal or above, in all calls of this time. ``dt`` (s) is the time since the last call. ``values``
        and ``limits`` have the same unit.
        """
        reached = np.abs(values) >= limits
        self.counts = bool(reached.any())
        self._lasts = np.where(reached, self._lasts + dt, 0.0)
        long = self._lasts > seconds
        if not long.any():
            return None
        j = int(np.argmax(long))
        name, value = self._names[j], float(values[j])
        text = _LASTING_FAULTS[self._cause].format(value=value, limit=float(limits[j]), seconds=seconds)
        return Fault(self._cause, f'joint "{name}" {text}', name, value)


class DampingCheck:
    """Detection of unstable damping, for example behind a long delay.

    A joint that is pushed or falls moves in one direction. A joint that has exceeded its speed limit in both directions
    since the fault, with excesses of any joint less than 0.2 s apart, oscillates because of the damping.

    Attributes
    ----------
    unstable
        True if an oscillation has been detected since ``begin``.
    """

    def __init__(self, limits: Array) -> None:
        """Set the speed ``limits`` (n,), rad/s or m/s, infinite for no limit."""
        self.limits = limits
        self.begin()

    def begin(self) -> None:
        """Restart the detection; to be called in each cycle in which the law is active, that is, without a fault."""
        self.unstable = False
        self._too_fast_at = -math.inf  # ``update`` then resets the directions

    def update(self, velocity: Array, time: float) -> None:
        """Update with the measured ``velocity`` (n,) at ``time`` (s) by the clock of the trajectories."""
        forth, back = velocity > self.limits, velocity < -self.limits
        if not (forth.any() or back.any()):
            return
        if not 0.0 <= time - self._too_fast_at < RECOVERY_TIME:
            self._forth = self._back = np.zeros(len(self.limits), dtype=np.bool_)
        self._too_fast_at = time
        self._forth, self._back = self._forth | forth, self._back | back
        self.unstable = self.unstable or bool((self._forth & self._back).any())


class Checks:
    """All checks of the motion of the controlled arm.

    ``model`` has the joint limits, ``tuning`` margins and limits of the checks, ``feedback`` the measured state.

    Attributes
    ----------
    motion_limits
        Check of position and velocity limits.
    damping
        Stability check of the damping during a fall-back.
    external
        Observer of the external torque.
    """

    def __init__(self, model: RobotModel, tuning: Tuning, feedback: Feedback) -> None:
        self._feedback, self._tuning = feedback, tuning
        self._following_error = LastingCheck(model.joint_names, Cause.FOLLOWING_ERROR)
        self._saturation = LastingCheck(model.joint_names, Cause.SATURATION)
        self.external = ExternalTorque(*_observer(tuning.settings))
        self._set_limits(model)

    def tune(self, model: RobotModel, tuning: Tuning) -> None:
        """Apply new settings; if margins change, the position limits are widened to the current position."""
        before, self._tuning = self._tuning.settings, tuning
        if _observer(before) != _observer(tuning.settings):
            self.external = ExternalTorque(*_observer(tuning.settings))
        if _margins(before.safety) != _margins(tuning.settings.safety):
            self._set_limits(model)

    def _set_limits(self, model: RobotModel) -> None:
        tuning, feedback = self._tuning, self._feedback
        largest_velocity = model.velocity_limits + tuning.velocity_margin
        feedback.set_plausible(tuning.position_step, largest_velocity)
        self.damping = DampingCheck(largest_velocity)
        self.motion_limits = MotionLimits(model.limit_rows, tuning.position_margin, tuning.velocity_margin)
        if feedback.known:
            self.motion_limits.accept(feedback.state[0])

    def check_motion(self, joint_names: Sequence[str]) -> Fault | None:
        """Return the fault of the current state: beyond a joint limit, else a collision, else None.

        ``joint_names`` are those of the model, for the message.
        """
        limit = self.motion_limits.check(self._feedback.state)
        return limit or self.external.collision(joint_names, self._tuning.collision_threshold)

    def check_lasting(self, desired: Array, limiter: EffortLimiter, dt: float) -> Fault | None:
        """Return a fault if a following error from ``desired`` (n,) or saturation lasts too long, else None.

        ``desired`` is the desired position. Too long: ``following_error_time`` at ``following_error_limit``, and
        ``saturation_timeout`` at the effort limit, fields of SafetySettings. ``limiter`` has the last effort; ``dt``
        (s) is the time since the last call.
        """
        tuning, safety, fault = self._tuning, self._tuning.settings.safety, None
        if len(safety.following_error_limit) > 0 and tuning.law.follows:
            error = desired - self._feedback.state[0]
            fault = self._following_error.check(error, tuning.following_error, dt, safety.following_error_time)
        if fault is None and limiter.effort is not None and (limiter.clamped or self._saturation.counts):
            fault = self._saturation.check(limiter.effort, limiter.limits, dt, safety.saturation_timeout)
        return fault

    def check_damping(self, active: bool, time: float) -> None:
        """Update the damping check at ``time`` (s), that of the trajectories; restart it while the law is ``active``.

        An unusable state is ignored.
        """
        if active:
            self.damping.begin()
        elif self._feedback.usable:
            self.damping.update(self._feedback.state[1], time)


def _observer(settings: ControllerSettings) -> tuple[float, float]:
    return settings.observer_gain, settings.friction_smoothing_velocity


def _margins(safety: SafetySettings) -> tuple[list[float], ...]:
    return list(safety.position_limit_margin), list(safety.velocity_limit_margin), list(safety.position_step_limit)
