"""Limits of effort and motion, their checks, and the integral of the error."""

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

_LASTING_FAULTS = {
    Cause.FOLLOWING_ERROR: "is {value:.3g} off the desired position, over following_error_limit {limit:g}. Cure: see "
    "what the arm has hit, or ask for slower motion",
    Cause.SATURATION: "has been at its effort limit {limit:g} for over saturation_timeout {seconds:g} s. Cure: see "
    "what the arm has hit, check the payload, or ask for slower motion",
}


class ErrorIntegral:
    """Integral of e over time (n,), rad s or m s, without wind-up while efforts are limited.

    Conditional integration: Astrom and Hagglund, Advanced PID Control (2006), 3.5. A joint's integral is kept while a
    limit cuts its own torque and its error would push it further.

    Attributes
    ----------
    value
        The integral, always the same array.
    """

    def __init__(self, n: int) -> None:
        self.value: Array = np.zeros(n)

    def reset(self) -> None:
        """Set it to zero."""
        self.value[:] = 0.0

    def keep_torque(self, ki: Array, new: Array) -> None:
        """Rescale for a ``new`` gain (n,) in place of ``ki`` (n,): their product is kept, or goes to zero."""
        self.value *= np.divide(ki, new, out=np.zeros_like(ki), where=new > 0.0)

    def add(self, error: Array, dt: float, cut: Array) -> None:
        """Add ``error`` (n,) over ``dt`` (s), after a cycle whose limits have ``cut`` off effort (n,), Nm or N."""
        step = error * dt
        step[cut * error > 0.0] = 0.0
        self.value += step


class EffortLimiter:
    """Effort and rate limits, and a difference that fades so that the command is continuous when the law changes.

    Attributes
    ----------
    limits
        Largest effort (n,), Nm or N, infinite where there is none.
    effort
        The last limited effort (n,); None before the first one.
    clamped, slowed
        True if that was cut by an effort limit, or held back by a rate limit.
    """

    def __init__(self, limits: Array, rates: Array) -> None:
        self.effort: Array | None = None
        self.clamped = self.slowed = False
        self._difference = np.zeros(len(limits))
        self._fade_time = self._left = 0.0
        self.set(limits, rates)

    def set(self, limits: Array, rates: Array) -> None:
        """Take new limits from now on; ``rates`` (n,) are Nm/s or N/s, infinite where there is none."""
        self.limits = limits
        self._lower = -limits
        rated = np.isfinite(rates)
        self._rated = bool(rated.any())
        # Zero seconds times an infinite rate would be no number.
        self._rates, self._free = np.where(rated, rates, 0.0), np.where(rated, 0.0, np.inf)

    def start(self, effort: Array, requested: Array, seconds: float) -> None:
        """Start at ``effort`` (n,): its difference to the ``requested`` effort fades linearly within ``seconds``.

        The time of the next ``limit`` counts.
        """
        self.effort = np.clip(effort, self._lower, self.limits)
        self._difference = self.effort - requested
        self._fade_time = self._left = seconds

    def limit(self, requested: Array, dt: float) -> Array:
        """Return the allowed part of ``requested`` (n,), finite, ``dt`` seconds after the last command."""
        if self._left > 0.0:
            self._left = max(self._left - dt, 0.0)
            requested = requested + self._left / self._fade_time * self._difference
        effort = np.minimum(np.maximum(requested, self._lower), self.limits)
        self.clamped = effort.tolist() != requested.tolist()  # for few joints several times as fast as arrays
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
        """Return zero effort (n,) at once, past the rate limit."""
        self.effort = np.zeros(len(self.limits))
        self.clamped = self.slowed = False
        self._left = 0.0
        return self.effort

    def over(self, names: Sequence[str], requested: Array) -> tuple[str, ...]:
        """Return the joints whose limit the ``requested`` effort (n,) exceeds."""
        return tuple(name for name, cut in zip(names, np.abs(requested) > self.limits, strict=True) if cut)


class Brake:
    """Braking before position limits and at velocity limits, for laws whose motion is not checked in advance.

    At the distance d from its limit a joint is allowed sqrt(2 a d), from which the deceleration a stops it, but no more
    than d times a quarter of the braking's bandwidth, which damps critically. Beyond the limit it is pushed back. A
    joint that starts beyond its limit may move back, but no further out: its limit follows it inwards.
    """

    def __init__(self, lower: Array, upper: Array, speed: Array) -> None:
        """Limits (n,) of position (rad or m) and speed (rad/s or m/s)."""
        self._bounds, self._speed = np.array([-lower, upper]), speed
        self.release()

    def release(self) -> None:
        """Allow every joint the position that it has in the next call of ``velocities``."""
        self._open = np.full_like(self._bounds, np.inf)

    def velocities(self, q: Array, deceleration: Array, bandwidth: Array) -> Array:
        """Return the least and the largest velocity (2, n) at ``q``; deceleration and bandwidth (1/s) are (n,), too."""
        at = np.array([-q, q])
        self._open = np.maximum(self._bounds, np.minimum(self._open, at))
        room = self._open - at
        size = np.minimum(np.abs(room), LARGEST)
        speed = np.minimum(np.sqrt(np.minimum(2.0 * deceleration, LARGEST) * size), 0.25 * bandwidth * size)
        down, up = np.copysign(np.minimum(speed, self._speed), room)
        return np.array([-down, up])


class MotionLimits:
    """Check of measured position and velocity against the limits and their margins.

    A joint beyond its position limit in ``accept`` may move back, but no further out: its limit is widened to where it
    is, and follows it inwards.
    """

    def __init__(
        self, names: Sequence[str], lower: Array, upper: Array, speed: Array, position_margin: Array, margin: Array
    ) -> None:
        """Limits and margins, each (n,): position (rad or m), speed (rad/s or m/s); infinite: not checked."""
        self._names = tuple(names)
        self._bounds = np.array([lower, -speed]), np.array([upper, speed])
        self._margins = np.array([position_margin, margin])
        self._opened = False
        self._widen(lower, upper)

    def _widen(self, lower: Array, upper: Array) -> None:
        """Take these position limits (n,), which are the joints' own or wider."""
        self._lower, self._upper = lower, upper
        low, high = self._bounds
        self._opened = bool((lower < low[0]).any() or (upper > high[0]).any())
        self._least = np.array([lower, low[1]]) - self._margins
        self._most = np.array([upper, high[1]]) + self._margins

    def accept(self, q: Array) -> None:
        """Take position ``q`` (n,) as allowed."""
        self._widen(np.minimum(self._bounds[0][0], q), np.maximum(self._bounds[1][0], q))

    def check(self, state: Array) -> Fault | None:
        """Return the fault of a finite ``state`` (2, n), positions, then velocities, or None."""
        if all_within(state, self._least, self._most):
            if self._opened:
                low, high = self._bounds[0][0], self._bounds[1][0]
                self._widen(
                    np.minimum(low, np.maximum(self._lower, state[0])),
                    np.maximum(high, np.minimum(self._upper, state[0])),
                )
            return None
        row, j = (int(k) for k in np.argwhere((state < self._least) | (state > self._most))[0])
        name, value = self._names[j], float(state[row, j])
        limit = self._bounds[int(value > self._most[row, j])][row, j]
        if row == 0:
            cause, moves = Cause.POSITION_LIMIT, "is"
            cure = "move it back inside; after clear_fault the controller moves it no further out than it is"
        else:
            cause, moves, cure = Cause.VELOCITY_LIMIT, "moves", "ask for slower motion"
        message = f'joint "{name}" {moves} at {value:.6g}, beyond its limit {limit:.6g}. Cure: {cure}'
        return Fault(cause, message, name, value)


class LastingCheck:
    """Check that no joint is at a limit for too long: of ``Cause.FOLLOWING_ERROR`` or ``Cause.SATURATION``.

    Attributes
    ----------
    counts
        True while some joint is at its limit.
    """

    def __init__(self, names: Sequence[str], cause: Cause) -> None:
        self._names, self._cause = tuple(names), cause
        self._lasts = np.zeros(len(self._names))
        self.counts = False

    def check(self, values: Array, limits: Array, dt: float, seconds: float) -> Fault | None:
        """Return a fault where a magnitude (n,) has been at its limit (n,) for ``seconds``, ``dt`` after the last."""
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
    """Detection of damping that drives the arm, as it does behind a long delay.

    A joint that is pushed, or falls, moves in one direction. One that has been too fast in both since the law was left,
    and not slow for ``RECOVERY_TIME`` between, oscillates because of the damping.

    Attributes
    ----------
    drives
        True if that has happened since ``begin``.
    """

    def __init__(self, limits: Array) -> None:
        """``limits``: speeds (n,), rad/s or m/s, that are too fast; infinite: none is."""
        self.limits = limits
        self.begin()

    def begin(self) -> None:
        """Start anew: the law is active."""
        self.drives = False
        self._too_fast_at = -math.inf  # so that ``look`` forgets the joints that were too fast

    def look(self, velocity: Array, time: float) -> None:
        """Take in a measured velocity (n,) at ``time`` (s) of the controller."""
        forth, back = velocity > self.limits, velocity < -self.limits
        if not (forth.any() or back.any()):
            return
        if not 0.0 <= time - self._too_fast_at < RECOVERY_TIME:
            self._forth = self._back = np.zeros(len(self.limits), dtype=np.bool_)
        self._too_fast_at = time
        self._forth, self._back = self._forth | forth, self._back | back
        self.drives = self.drives or bool((self._forth & self._back).any())


class Checks:
    """Checks of one controller's arm.

    Attributes
    ----------
    motion_limits
        Check of position and velocity.
    damping
        Check of the damping torque of a fall-back.
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
        """Take new settings; where margins change, the present position is allowed."""
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
        self.motion_limits = MotionLimits(
            model.joint_names,
            model.position_lower,
            model.position_upper,
            model.velocity_limits,
            tuning.position_margin,
            tuning.velocity_margin,
        )
        if feedback.known:
            self.motion_limits.accept(feedback.state[0])

    def check_motion(self, joint_names: Sequence[str]) -> Fault | None:
        """Return the fault of the present state: a limit, else a collision."""
        limit = self.motion_limits.check(self._feedback.state)
        return limit or self.external.collision(joint_names, self._tuning.collision_threshold)

    def check_lasting(self, desired: Array, limiter: EffortLimiter, dt: float) -> Fault | None:
        """Return a fault where the arm has been away from ``desired`` (n,) or at its effort limits for too long."""
        tuning, safety, fault = self._tuning, self._tuning.settings.safety, None
        if len(safety.following_error_limit) > 0 and tuning.law.follows:
            error = desired - self._feedback.state[0]
            fault = self._following_error.check(error, tuning.following_error, dt, safety.following_error_time)
        if fault is None and limiter.effort is not None and (limiter.clamped or self._saturation.counts):
            fault = self._saturation.check(limiter.effort, limiter.limits, dt, safety.saturation_timeout)
        return fault

    def check_damping(self, active: bool, time: float) -> None:
        """Start the check of damping anew while the law is ``active``; check it otherwise, where there is a state."""
        if active:
            self.damping.begin()
        elif self._feedback.usable:
            self.damping.look(self._feedback.state[1], time)


def _observer(settings: ControllerSettings) -> tuple[float, float]:
    return settings.observer_gain, settings.friction_smoothing_velocity


def _margins(safety: SafetySettings) -> tuple[list[float], ...]:
    return list(safety.position_limit_margin), list(safety.velocity_limit_margin), list(safety.position_step_limit)
