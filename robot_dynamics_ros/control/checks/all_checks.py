"""Checks of each cycle, in the order in which they decide. Their rows are the table in docs/safety.md."""

from __future__ import annotations

import math
from collections.abc import Sequence

from robot_dynamics_ros.control.checks.check import Check, TableRow
from robot_dynamics_ros.control.checks.motion_checks import (
    FollowingError,
    MotionLimits,
    Saturation,
)
from robot_dynamics_ros.control.configuration.tuning import Tuning
from robot_dynamics_ros.control.estimation.clock import Instant
from robot_dynamics_ros.control.estimation.estimator import Estimate
from robot_dynamics_ros.control.estimation.external_torque import ExternalTorque
from robot_dynamics_ros.control.interface import Command
from robot_dynamics_ros.control.limits import EffortLimiter
from robot_dynamics_ros.control.safety import Cause, Fault
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel

_STOP = TableRow(
    Cause.EMERGENCY_STOP,
    "the topic `~/emergency_stop` or one of `emergency_stop_topics` (std_msgs/Bool) is true, or the service "
    "`~/emergency_stop` was called. Only reliable, transient local publishers are received; the log reports others",
    "`emergency_stop_effect: stop`",
    "no, not even with `fault_reset: auto`: publish false on each topic, then call `~/clear_fault`",
)
_NOT_FINITE = TableRow(Cause.TORQUE_NOT_FINITE, "the law's torque is not finite")


class MeasuredState(Check):
    """Check of the messages, of the age of the state, and of jumps of the clock."""

    table_rows = (
        TableRow(
            Cause.STATE_INVALID,
            "a value of the joints is not finite or above 1e9, velocities are no longer measured, a field has not one "
            "value for each name, a joint is named twice, or `header.stamp` is 0 with `unstamped_states: refuse`",
            "`unstamped_states: arrival`",
        ),
        TableRow(
            Cause.STATE_IMPLAUSIBLE,
            "a position changes by more than twice the motion at its velocity plus `position_step_limit`; over 0.1 s "
            "it differs from the integral of its velocity by more than a quarter of that plus 35 %; a velocity beyond "
            "its limit has no motion; a joint rests within a tenth of `position_step_limit` although it was too fast "
            "to stop in it; or a position is constant although its velocity implies that it moves, or "
            "although its effort changed by more than twice its friction and a fifth of its limit; a twentieth, if the "
            "velocity is constant too and the desired position has moved by twice `position_step_limit`",
            "`position_step_limit: [0.05]`",
            "yes, if new values pass: a constant position has to change, and one that has jumped to come back. After "
            "an encoder was set anew, activate the node again",
        ),
        TableRow(
            Cause.STAMP_REPEATS,
            "a state has new values and the `header.stamp` of the previous one: velocities and time steps are then "
            "unknown",
        ),
        TableRow(
            Cause.CLOCK_JUMPED_BACK,
            "stamps decrease by more than 0.1 s, or the node's clock decreases (a bag that loops, a simulation reset)",
        ),
        TableRow(
            Cause.CLOCK_JUMPED_AHEAD,
            "either advances more than a steady clock by more than `state_timeout` from one state or cycle to the next",
            "`state_timeout: 0.1`",
        ),
        TableRow(
            Cause.STATE_STALE,
            "no new joint_states within `state_timeout` by a steady clock, or their stamps lag behind it by more than "
            "that, counted from the smallest lag seen. A repeated state is not new, unless `use_sim_time` is set and "
            "the clock stands still",
            "`state_timeout: 0.1`",
        ),
    )
    needs_state = False

    def fault(
        self, estimate: Estimate, instant: Instant, command: Command | None
    ) -> Fault | None:
        return estimate.defect or instant.jump


class Cycles(Check):
    """Check of the rate of the cycles."""

    table_rows = (
        TableRow(
            Cause.CYCLE_RATE,
            "with `update_rate`: too few cycles within one second, or none for `state_timeout` while states arrive",
            "`minimum_rate_ratio: 0.5`",
        ),
    )
    needs_state = False

    def fault(
        self, estimate: Estimate, instant: Instant, command: Command | None
    ) -> Fault | None:
        settings = self.tuning.settings
        if instant.missed > settings.safety.state_timeout:
            text = (
                f"no cycle for {instant.missed:.3g} s, although joint_states arrive. "
            )
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


class Checks:
    """All checks of a cycle.

    Attributes
    ----------
    limits
        Check of position and velocity limits.
    external
        External torque, and its check.
    """

    def __init__(
        self, model: RobotModel, tuning: Tuning, limiter: EffortLimiter
    ) -> None:
        """Create the checks of the robot ``model``; ``limiter`` has the last effort."""
        names = model.joint_names
        self.limits = MotionLimits(
            model.limit_rows, tuning.position_margin, tuning.velocity_margin
        )
        self.external = ExternalTorque(names, tuning)
        self._row: tuple[Check, ...] = (
            MeasuredState(),
            self.limits,
            self.external,
            FollowingError(names),
            Saturation(names, limiter),
            Cycles(),
        )
        for check in self._row:
            check.tuning = tuning
        self._tuning = tuning

    def faults(
        self, estimate: Estimate, instant: Instant, command: Command | None
    ) -> list[Fault]:
        """Return the faults of all checks that fail; ``command`` is the last one.

        An open-loop law needs no state; without a valid one, the checks of the state are then omitted.
        """
        row = self._row
        if not self._tuning.law.needs_state and (
            estimate.defect is not None or not estimate.known
        ):
            estimate = estimate._replace(defect=None)
            row = tuple(check for check in row if not check.needs_state)
        return [
            fault
            for check in row
            if (fault := check.fault(estimate, instant, command)) is not None
        ]

    def table(self) -> list[TableRow]:
        """Return the rows of all causes, in the order in which they decide."""
        return [
            _STOP,
            *(row for check in self._row for row in check.table_rows),
            _NOT_FINITE,
        ]

    def tune(self, tuning: Tuning, estimate: Estimate) -> None:
        """Apply new settings, with the last ``estimate``."""
        self._tuning = tuning
        for check in self._row:
            check.tune(tuning, estimate)


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
