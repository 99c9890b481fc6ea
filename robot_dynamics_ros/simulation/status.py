"""Status of a simulation, for /diagnostics and the log."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from robot_dynamics_ros.control.status import ERROR, OK, WARN, Status
from robot_dynamics_ros.simulation.simulated_arm import SimulatedArm, SimulationSettings

_TOO_SLOW = 0.95  # share of the requested pace


class SimulationMode(str, Enum):
    """Mode of the simulation.

    RUNNING: time runs under commands. FAILED: a step failed; time is stopped until ~/reset. PAUSED: time is stopped.
    WAITING: in lockstep, the command for the last state has not arrived. TIMED_OUT: the last command is older than
    command_timeout. BRAKED: time runs, but no command has arrived yet.
    """

    RUNNING = "running"
    PAUSED = "paused"
    WAITING = "waiting for the controller"
    TIMED_OUT = "commands timed out"
    BRAKED = "waiting for the first command, brakes on"
    FAILED = "failed"


_LEVELS = {SimulationMode.RUNNING: OK, SimulationMode.PAUSED: OK, SimulationMode.FAILED: ERROR}  # the others: WARN


@dataclass
class Counts:
    """Counters since the start of the node.

    Attributes
    ----------
    periods
        Periods simulated.
    commands, refused
        Accepted commands, and refused commands and wrenches.
    repeated, strays
        In lockstep: states published again because no command arrived for them, and commands for other states.
    skipped
        Seconds skipped because the simulation was slower than real_time_factor.
    """

    periods: int = 0
    commands: int = 0
    refused: int = 0
    repeated: int = 0
    strays: int = 0
    skipped: float = 0.0


class SimulationReport:
    """Status of a simulation, with its real-time factor since the last report.

    ``why`` is the reason of a mode for the message, or "". ``at`` is the stamp (ns) of the last joint_states, and
    ``now`` (s) the time by a steady clock.
    """

    def __init__(self, arm: SimulatedArm, settings: SimulationSettings, counts: Counts, now: float) -> None:
        """Start at ``now`` (s) by a steady clock.

        ``arm`` and ``counts`` are read at each report. The pace and period are taken from ``settings``.
        """
        self._arm, self._counts, self._period = arm, counts, settings.period
        self.begin(settings.real_time_factor, now)

    def begin(self, factor: float, now: float) -> None:
        """Start measuring the real-time factor at ``now`` (s); ``factor`` is the requested one."""
        self._factor = self._measured = factor
        self._since, self._periods = now, self._counts.periods

    def regular(self, mode: SimulationMode, why: str, at: int, now: float) -> Status:
        """Return the status with the real-time factor since the last call, and reset the counters of the arm."""
        periods = self._counts.periods
        self._measured = (periods - self._periods) * self._period / max(now - self._since, 1e-3)
        self._since, self._periods = now, periods
        status = self.status(mode, why, at)
        self._arm.reset_counts()
        return status

    def status(self, mode: SimulationMode, why: str, at: int) -> Status:
        """Return the status: level, message and values for /diagnostics, with the last measured real-time factor."""
        level, message = _LEVELS.get(mode, WARN), f"{mode.value}: {why}" if why else mode.value
        if mode is SimulationMode.RUNNING and self._measured < _TOO_SLOW * self._factor:
            level, message = WARN, f"running, slower than real_time_factor {self._factor:g}"
        arm, counts = self._arm, self._counts
        values: dict[str, object] = {
            "mode": mode.value,
            "simulated time": f"{at / 1e9:.9f}",
            "real time factor": self._measured,
            "real time factor wanted": self._factor,
            "skipped time": counts.skipped,
            "brakes": "on" if arm.braked else "off",
            "commands": counts.commands,
            "refused": counts.refused,
            "command age": arm.command_age,
            "pushed links": arm.pushed,
            "states sent again": counts.repeated,
            "answers to other states": counts.strays,
            "steps": arm.steps,
            "solves per step": arm.solves / max(arm.steps, 1),
            "largest residual": arm.residual,
            **arm.loops,
        }
        return Status(level, message, values)
