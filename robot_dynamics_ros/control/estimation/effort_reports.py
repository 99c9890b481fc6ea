"""Check that the reported efforts are those that were commanded."""

from __future__ import annotations

import math
from collections import OrderedDict

import numpy as np

from robot_dynamics_ros.control.thresholds import (
    FEWEST_OTHER_REPORTS,
    MOST_UNREPORTED_COMMANDS,
    OTHER_REPORTS_TIME,
    REPORTS_CHANGES,
    REPORTS_CONFIRMATION,
)
from robot_dynamics_ros.dynamics.kernels.types import Array


class EffortReports:
    """Comparison of reported efforts with the commands before them.

    Some drivers report the effort that was commanded, and not a measured one. If all reports of half a second, in which
    they changed, were commands, later ones that are not come from another controller, or from drives that do not give
    what is commanded. Commands count from the last reported one on, whatever their age: a busy machine may delay
    commands and reports. Single precision suffices for the comparison.

    Attributes
    ----------
    other
        Index of the joint whose reported effort differs most from the last command, if it was not commanded; -1: there
        is none.
    """

    def __init__(self) -> None:
        # The last reported command and those since, oldest first, at most MOST_UNREPORTED_COMMANDS
        self._commands: OrderedDict[bytes, None] = OrderedDict()
        self._given: Array = np.zeros(0)  # last command
        self._is_reported = False  # the driver reports efforts
        self.reset()

    def reset(self) -> None:
        """Forget that the driver has reported commands, as while brakes are engaged."""
        self.other = -1
        self._key = b""
        self._since = math.inf  # s, of the first report that was a command
        self._changes = 0
        self._confirmed = False
        self._others_since = math.inf
        self._others = 0

    def command(self, effort: Array) -> None:
        """Add a commanded ``effort`` (n,), Nm or N."""
        if not self._is_reported:
            return
        self._given = effort
        key = _key(effort)
        self._commands[key] = None
        self._commands.move_to_end(key)
        if len(self._commands) > MOST_UNREPORTED_COMMANDS:
            self._commands.popitem(last=False)

    def report(self, steady: float, effort: Array) -> None:
        """Compare a reported ``effort`` (n,), Nm or N, that arrived at ``steady`` (s).

        Zeros are no evidence: drives without power, or their watchdog after a gap in the commands.
        """
        key = _key(effort)
        if not key.strip(b"\0"):
            return
        self._is_reported = True
        if key in self._commands:
            while next(iter(self._commands)) != key:
                self._commands.popitem(last=False)
            self._since = min(self._since, steady)
            self._changes += key != self._key
            lasts = steady - self._since >= REPORTS_CONFIRMATION
            self._confirmed |= lasts and self._changes >= REPORTS_CHANGES
            self._others_since = math.inf
            self._others = 0
            self.other = -1
        elif not self._confirmed:
            self.reset()
        else:
            self._others_since = min(self._others_since, steady)
            self._others += 1
            lasts = steady - self._others_since >= OTHER_REPORTS_TIME
            if lasts and self._others >= FEWEST_OTHER_REPORTS:
                self.other = int(np.argmax(np.abs(effort - self._given)))
        self._key = key


def _key(effort: Array) -> bytes:
    return (effort.astype(np.float32) + np.float32(0.0)).tobytes()  # without -0.0
