"""What the controller node's timers do, in the time of a bag."""

from __future__ import annotations

import math

from robot_dynamics_ros.bags.replay_outputs import BagClocks
from robot_dynamics_ros.control.settings import ControllerSettings
from robot_dynamics_ros.messages.running_controller import RunningController

_WATCH_PERIOD = 20_000_000  # ns, as in the node


class NodeTimers:
    """What the node's timers do between two messages."""

    def __init__(self, clocks: BagClocks, running: RunningController, settings: ControllerSettings) -> None:
        self._clocks, self._running = clocks, running
        self._period = round(1e9 / settings.update_rate) if settings.update_rate > 0.0 else 0
        # What a missing state leads to is over after this: longer gaps need no more looks.
        safety = settings.safety
        self._patience = safety.state_timeout + safety.stale_hold_time + 1.0
        self._watch: float = math.inf
        self._tick: float = math.inf
        self._begun = False

    def until(self, at: int) -> None:
        """Let the time go on to ``at`` (ns), when the next message comes."""
        if not self._begun:
            self._begun = True
            self._watch, self._tick = at + _WATCH_PERIOD, at + self._period if self._period else math.inf
        last = self._clocks.at
        while (then := min(self._watch, self._tick)) <= at:
            self._clocks.at = int(then)
            if self._tick <= self._watch:
                self._tick += self._period
                self._running.tick()
            else:
                self._watch += _WATCH_PERIOD
                self._running.watch()
                if (then - last) * 1e-9 > self._patience or math.isinf(self._patience):
                    self._watch = at + _WATCH_PERIOD
        self._clocks.at = at
