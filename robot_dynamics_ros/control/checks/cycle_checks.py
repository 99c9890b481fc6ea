"""Checks of each cycle. ``Checks`` evaluates them in the order in which they decide.

Positions are in rad or m, velocities per s, efforts in Nm or N; arrays (n,) have one number for each joint. A check
returns the fault of the first joint that fails it, or None. ``following_error_limit`` and the like are fields of
SafetySettings. docs/safety.md has the table of all checks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy

import numpy as np

from robot_dynamics_ros.control.clock import Instant
from robot_dynamics_ros.control.configuration.settings import ControllerSettings
from robot_dynamics_ros.control.configuration.tuning import Tuning
from robot_dynamics_ros.control.cycle_kernels import all_within
from robot_dynamics_ros.control.estimation.effort_reports import EffortReports
from robot_dynamics_ros.control.estimation.estimator import Estimate
from robot_dynamics_ros.control.estimation.external_torque import ExternalTorque
from robot_dynamics_ros.control.estimation.response import Response
from robot_dynamics_ros.control.interface import Command
from robot_dynamics_ros.control.safety import Cause, Fault, Mode
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.joint_limits import (
    LOWER,
    UPPER,
    VELOCITY,
    LimitRows,
)


class Checks:
    """All checks of a cycle.

    Attributes
    ----------
    limits
        Check of position and velocity limits.
    """

    def __init__(
        self,
        model: RobotModel,
        tuning: Tuning,
        external: ExternalTorque,
        response: Response,
        reports: EffortReports,
    ) -> None:
        """Create the checks of the robot ``model``.

        ``external`` has the external torque, ``response`` the joints without response, ``reports`` the efforts of the
        driver.
        """
        self._names = model.joint_names
        self._external = external
        self._response = response
        self._reports = reports
        # times (s) beyond following_error_limit, and at the effort limit
        self._off = np.zeros(model.n)
        self._saturated = np.zeros(model.n)
        self.limits = MotionLimits(
            model.limit_rows, tuning.position_margin, tuning.velocity_margin
        )

    def faults(
        self,
        tuning: Tuning,
        estimate: Estimate,
        instant: Instant,
        command: Command | None,
    ) -> list[Fault]:
        """Return the faults of all checks that fail at this ``instant``, in the order in which they decide.

        ``command`` is the last one. An open-loop law needs no state; without a valid one, the checks of the state are
        then omitted.
        """
        settings = tuning.settings
        known = estimate.known and estimate.defect is None
        by_law = command is not None and command.mode is Mode.ACTIVE
        active = command if by_law else None
        found: tuple[Fault | None, ...] = (instant.jump,)
        if tuning.law.needs_state or known:
            found = (
                estimate.defect or instant.jump,
                self._no_response(tuning, estimate),
                self.limits.check(estimate.state),
                self._collision(tuning),
                self._following_error(tuning, estimate, instant, active),
                self._saturation(tuning, instant, active),
            )
        found += (_cycle_rate(settings, instant),)
        return [fault for fault in found if fault is not None]

    def _no_response(self, tuning: Tuning, estimate: Estimate) -> Fault | None:
        """Check that joints answer their efforts, and that reported efforts were commanded."""
        if not tuning.law.needs_state:  # other commands may drive the arm
            return None
        j = self._response.reversed_drive
        if j >= 0:
            text = (
                f'joint "{self._names[j]}" accelerates against its effort. Cure: check the sign of the effort in its '
                "driver and the wiring of its motor; then deactivate the node and activate it again"
            )
            return Fault(Cause.NO_RESPONSE, text, self._names[j])
        j = self._response.unanswered
        if j >= 0:
            position = float(estimate.state[0, j])
            text = (
                f'joint "{self._names[j]}" rests at {position:.6g} by joint_states, although its effort has to move '
                "it. Cure: check for contact, a load, closed brakes, a drive without power, or a driver that repeats "
                "states; then clear the fault"
            )
            return Fault(Cause.NO_RESPONSE, text, self._names[j], position)
        j = self._reports.other
        if j >= 0:
            text = (
                f'joint "{self._names[j]}" reports an effort that was not commanded, although it reported commands '
                "before. Cure: check for another controller of the arm, and limits and power of its drives"
            )
            return Fault(Cause.NO_RESPONSE, text, self._names[j])
        return None

    def _collision(self, tuning: Tuning) -> Fault | None:
        """Check the external torque."""
        torque = self._external.torque
        if torque is None:
            return None
        threshold = tuning.collision_threshold
        over = np.flatnonzero(np.abs(torque) > threshold)
        if over.size == 0:
            return None
        j = over[0]
        name = self._names[j]
        value = float(torque[j])
        text = f'joint "{name}": external torque {value:.6g}, over observer.collision_threshold {threshold[j]:g}. '
        return Fault(Cause.COLLISION, text + "Cure: remove the contact", name, value)

    def _following_error(
        self,
        tuning: Tuning,
        estimate: Estimate,
        instant: Instant,
        command: Command | None,
    ) -> Fault | None:
        """Check the position error of a law that follows the desired motion."""
        safety = tuning.settings.safety
        checked = tuning.law.follows and len(safety.following_error_limit) > 0
        if command is None or not checked:
            self._off[:] = 0.0
            return None
        if instant.dt <= 0.0:
            return None
        error = command.desired.q - estimate.state[0]
        limits = tuning.following_error
        longest = safety.following_error_time
        j = lasting(self._off, error, limits, instant.dt, longest)
        if j is None:
            return None
        text = (
            f'joint "{self._names[j]}" is {error[j]:.3g} off the desired position, over following_error_limit '
            f"{limits[j]:g}. Cure: check for a collision, or command slower motion"
        )
        return Fault(Cause.FOLLOWING_ERROR, text, self._names[j], float(error[j]))

    def _saturation(
        self, tuning: Tuning, instant: Instant, command: Command | None
    ) -> Fault | None:
        """Check the time at an effort limit."""
        limits = tuning.effort_limits
        if command is None:
            self._saturated[:] = 0.0
            return None
        # A rate limit may leave the effort at its limit for other reasons.
        counts = command.saturated or self._saturated.any()
        if instant.dt <= 0.0 or not counts:
            return None
        effort = command.effort
        seconds = tuning.settings.safety.saturation_timeout
        j = lasting(self._saturated, effort, limits, instant.dt, seconds)
        if j is None:
            return None
        text = (
            f'joint "{self._names[j]}" has been at its effort limit {limits[j]:g} for over saturation_timeout '
            f"{seconds:g} s. Cure: check for a collision, check the payload, or command slower motion"
        )
        return Fault(Cause.SATURATION, text, self._names[j], float(effort[j]))


def _cycle_rate(settings: ControllerSettings, instant: Instant) -> Fault | None:
    """Check the rate of the cycles."""
    if instant.missed > settings.safety.state_timeout:
        text = f"no cycle for {instant.missed:.3g} s, although joint_states arrive. "
        return Fault(
            Cause.CYCLE_RATE,
            text + "Cure: check the publisher of /clock, and use_sim_time",
        )
    if instant.rate < settings.safety.minimum_rate_ratio:
        text = (
            f"only {instant.rate:.0%} of the cycles of update_rate {settings.update_rate:g} Hz are executed. Cure: "
            "lower update_rate, or reduce the load of the processor (realtime_priority)"
        )
        return Fault(Cause.CYCLE_RATE, text, value=instant.rate)
    return None


class MotionLimits:
    """Check of measured position and velocity against the limits and their margins.

    ``position_margin`` and, of the speed, ``margin`` (n,) are the distances beyond the limits that are no fault; inf:
    not checked. ``accept`` widens position limits to the current position. A widened limit follows the joint inwards.
    """

    def __init__(self, rows: LimitRows, position_margin: Array, margin: Array) -> None:
        """Use the position and velocity limits of ``rows``, those of all moving joints."""
        self._rows = rows
        self._has_sums = rows.has_sums
        lower, upper, speed = rows.limits[[LOWER, UPPER, VELOCITY]]
        self._bounds = np.array([lower, -speed]), np.array([upper, speed])
        self._margins = np.array([rows.largest(position_margin), rows.largest(margin)])
        self._opened = False
        self._widen(lower, upper)

    def _widen(self, lower: Array, upper: Array) -> None:
        """Set position limits (K,), equal to or wider than those of the rows."""
        self._lower = lower
        self._upper = upper
        low, high = self._bounds
        self._opened = bool((lower < low[0]).any() or (upper > high[0]).any())
        self._least = np.array([lower, low[1]]) - self._margins
        self._most = np.array([upper, high[1]]) + self._margins

    def tune(self, tuning: Tuning, estimate: Estimate) -> None:
        """Apply new settings; if margins change, the position limits are widened to the current position."""
        before = self._margins
        margins = (tuning.position_margin, tuning.velocity_margin)
        self._margins = np.array([self._rows.largest(margin) for margin in margins])
        if estimate.known and not np.array_equal(self._margins, before):
            self.accept(estimate.state[0])

    def accept(self, q: Array) -> None:
        """Set the position limits to those of the joints, widened to include ``q`` (n,)."""
        q = self._rows.positions(q)
        self._widen(
            np.minimum(self._bounds[0][0], q), np.maximum(self._bounds[1][0], q)
        )

    def accepting(self, q: Array) -> MotionLimits:
        """Return a copy that accepts ``q`` (n,)."""
        other = copy(self)
        other.accept(q)
        return other

    def check(self, state: Array) -> Fault | None:
        """Return the fault of a finite ``state`` (2, n), position and velocity, beyond limit and margin, or None."""
        rows = self._rows
        if self._has_sums:
            state = np.array([rows.positions(state[0]), rows.rates(state[1])])
        if all_within(state, self._least, self._most):
            if self._opened:
                low = self._bounds[0][0]
                high = self._bounds[1][0]
                self._widen(
                    np.minimum(low, np.maximum(self._lower, state[0])),
                    np.maximum(high, np.minimum(self._upper, state[0])),
                )
            return None
        row, j = (
            int(k) for k in np.argwhere((state < self._least) | (state > self._most))[0]
        )
        name = rows.names[j]
        value = float(state[row, j])
        above = int(value > self._most[row, j])
        limit = self._bounds[above][row, j]
        note = rows.owner_note(VELOCITY if row else (LOWER, UPPER)[above], j)
        if row == 0:
            cause = Cause.POSITION_LIMIT
            moves = "is"
            cure = "move it back within its limits; after clear_fault the controller does not move it further out"
        else:
            cause = Cause.VELOCITY_LIMIT
            moves = "moves"
            cure = "command slower motion"
        message = f'joint "{name}" {moves} at {value:.6g}, beyond its limit {limit:.6g}{note}. Cure: {cure}'
        return Fault(cause, message, name, value)


def lasting(
    seconds: Array, values: Array, limits: Array, dt: float, longest: float
) -> int | None:
    """Return the index of the first joint that has been at its limit for over ``longest`` (s); None: there is none.

    The magnitudes of ``values`` (n,) are compared with ``limits`` (n,). ``dt`` (s) is added to the ``seconds`` (n,) of
    joints at their limit, in place; those of others are 0.
    """
    seconds[:] = np.where(np.abs(values) >= limits, seconds + dt, 0.0)
    long = seconds > longest
    return int(np.argmax(long)) if long.any() else None


def not_finite(joint_names: Sequence[str], torque: Array) -> Fault | None:
    """Return a fault for the first joint whose ``torque`` (n,) is not finite, or None."""
    values = torque.tolist()
    if all(map(math.isfinite, values)):  # faster than array operations for few joints
        return None
    name, value = next(
        each
        for each in zip(joint_names, values, strict=True)
        if not math.isfinite(each[1])
    )
    text = f'joint "{name}": the torque is {value}. Cure: check desired motion and payload for extreme values'
    return Fault(Cause.TORQUE_NOT_FINITE, text, name, value)
