"""Status of a simulation, for /diagnostics and the log.

A period is the simulated time between two joint_states messages. The real-time factor is simulated time per time of a
steady clock. In lockstep, the simulation advances only after a command for its last state. ``Status`` is a tuple of
level, message, and values by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from robot_dynamics_ros.control.controller_status import Status
from robot_dynamics_ros.control.interface import ERROR, OK, WARN
from robot_dynamics_ros.simulation.simulated_arm import SimulatedArm, SimulationSettings
from robot_dynamics_ros.simulation.thresholds import TOO_SLOW_PACE


class SimulationMode(str, Enum):
    """Mode of the simulation.

    RUNNING: time runs under commands. FAILED: a step failed; time is stopped until the service ~/reset is called.
    PAUSED: time is stopped, by the service ~/pause or from the start. WAITING: in lockstep, the command for the last
    state has not arrived. TIMED_OUT: the last command is older than command_timeout. BRAKED: time runs, but no command
    has arrived yet.
    """

    RUNNING = "running"
    PAUSED = "paused"
    WAITING = "waiting for the controller"
    TIMED_OUT = "commands timed out"
    BRAKED = "waiting for the first command, brakes on"
    FAILED = "failed"


_LEVELS = {
    SimulationMode.RUNNING: OK,
    SimulationMode.PAUSED: OK,
    SimulationMode.FAILED: ERROR,
}  # the others: WARN


@dataclass
class Counts:
    """Counters since the start of the node, increased by the caller and read by ``SimulationReport``.

    Attributes
    ----------
    periods
        Periods simulated.
    commands, refused
        Number of accepted commands, and of refused commands and wrenches together.
    repeated, strays
        In lockstep: number of states published again because no command arrived for them, and of commands for other
        states than the last.
    skipped
        Seconds of the steady clock that were not simulated, because the simulation was slower than real_time_factor.
    """

    periods: int = 0
    commands: int = 0
    refused: int = 0
    repeated: int = 0
    strays: int = 0
    skipped: float = 0.0


class SimulationReport:
    """Status of a simulation, with its real-time factor since the last report.

    ``mode`` is the present mode, ``why`` the reason for it in the message, or "". ``at`` is the header stamp (ns) of
    the last joint_states message. ``now`` (s) is the present time by a steady clock of any origin, the same for all
    calls.
    """

    def __init__(
        self,
        arm: SimulatedArm,
        settings: SimulationSettings,
        counts: Counts,
        now: float,
    ) -> None:
        """Start at ``now`` (s) by a steady clock.

        ``arm`` and ``counts`` are read at each report. The pace and period are taken from ``settings``.
        """
        self._arm = arm
        self._counts = counts
        self._period = settings.period
        self.begin(settings.real_time_factor, now)

    def begin(self, factor: float, now: float) -> None:
        """Start measuring the real-time factor at ``now`` (s); ``factor`` is the requested one, 0 for no pacing."""
        self._factor = self._measured = factor
        self._since = now
        self._periods = self._counts.periods

    def regular(self, mode: SimulationMode, why: str, at: int, now: float) -> Status:
        """Return the periodic status, with the real-time factor measured since the last call of this or ``begin``.

        The level is OK for PAUSED and for RUNNING at the requested pace, ERROR for FAILED, else WARN. Resets the arm's
        counts of steps and solves.
        """
        periods = self._counts.periods
        self._measured = (
            (periods - self._periods) * self._period / max(now - self._since, 1e-3)
        )
        self._since = now
        self._periods = periods
        status = self.status(mode, why, at)
        self._arm.reset_counts()
        return status

    def status(self, mode: SimulationMode, why: str, at: int) -> Status:
        """Return the status between periodic ones: level, message and values for /diagnostics.

        The real-time factor is that of the last call of ``regular``; nothing is reset.
        """
        level = _LEVELS.get(mode, WARN)
        message = f"{mode.value}: {why}" if why else mode.value
        if (
            mode is SimulationMode.RUNNING
            and self._measured < TOO_SLOW_PACE * self._factor
        ):
            level = WARN
            message = f"running, slower than real_time_factor {self._factor:g}"
        arm = self._arm
        counts = self._counts
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
