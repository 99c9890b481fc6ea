"""Base class of the checks of a cycle."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from robot_dynamics_ros.control.configuration.tuning import Tuning
from robot_dynamics_ros.control.estimation.clock import Instant
from robot_dynamics_ros.control.estimation.estimator import Estimate
from robot_dynamics_ros.control.interface import Command
from robot_dynamics_ros.control.safety import Cause, Fault


class TableRow(NamedTuple):
    """Row of the table of checks, in Markdown: cause, condition, default, and if and how the fault ends by itself."""

    cause: Cause
    fails_if: str
    default: str = "always on"
    ends: str = "yes"


class Check:
    """Check of each cycle.

    Attributes
    ----------
    table_rows
        Causes of its faults, as rows of the table of checks.
    needs_state
        True if it is omitted without a valid state under a law that needs none.
    tuning
        Settings.
    """

    table_rows: tuple[TableRow, ...]
    needs_state: ClassVar[bool] = True
    tuning: Tuning

    def tune(self, tuning: Tuning, estimate: Estimate) -> None:
        """Apply new settings, with the last ``estimate``."""
        self.tuning = tuning

    def fault(
        self, estimate: Estimate, instant: Instant, command: Command | None
    ) -> Fault | None:
        """Return the fault at this ``instant`` with this ``estimate``, or None; ``command`` is the last one."""
        raise NotImplementedError
