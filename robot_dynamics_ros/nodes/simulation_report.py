"""Diagnostics of the simulation."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import Enum

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node

from robot_dynamics_ros.control.status import ERROR, OK, WARN, Status
from robot_dynamics_ros.nodes.messages import diagnostics_message
from robot_dynamics_ros.nodes.messages import stamp as to_stamp
from robot_dynamics_ros.simulation.simulated_arm import SimulatedArm, SimulationSettings

_TOO_SLOW = 0.95  # share of the requested pace


class SimulationMode(str, Enum):
    """Mode of the simulation.

    failed: a step was impossible, time stands still until ~/reset. paused: time stands still. waiting: in lockstep
    for the controller's answer. timed out: the last command is older than command_timeout. braked: no command has
    come yet, so that the arm stands still while time goes on.
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
        In lockstep: states sent again because their answer had not come, and answers to other states.
    skipped
        Seconds skipped because the simulation could not keep its pace.
    """

    periods: int = 0
    commands: int = 0
    refused: int = 0
    repeated: int = 0
    strays: int = 0
    skipped: float = 0.0


class SimulationReport:
    """Publisher of /diagnostics."""

    def __init__(
        self, node: Node, arm: SimulatedArm, settings: SimulationSettings, counts: Counts, simulated_time: bool
    ) -> None:
        """``simulated_time``: True if stamps are those of the published /clock, else those of the node's clock."""
        self._node, self._arm, self._counts = node, arm, counts
        self._robot = settings.model.name
        self._period = settings.period
        self._simulated_time = simulated_time
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self.begin(settings.real_time_factor)

    def begin(self, factor: float) -> None:
        """Measure the pace from now on, of which ``factor`` is requested."""
        self._factor = self._measured = factor
        self._since, self._periods = time.monotonic(), self._counts.periods

    def regularly(self, mode: SimulationMode, why: str, at: int) -> None:
        """Publish the status, measured over the time since the last call."""
        now, periods = time.monotonic(), self._counts.periods
        self._measured = (periods - self._periods) * self._period / max(now - self._since, 1e-3)
        self._since, self._periods = now, periods
        self.publish(mode, why, at)
        self._arm.count_anew()

    def publish(self, mode: SimulationMode, why: str, at: int) -> None:
        """Publish the status: a mode, its reason, and the stamp (ns) of the last joint_states."""
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
        stamp = to_stamp(at) if self._simulated_time else self._node.get_clock().now().to_msg()
        name = f"{self._node.get_fully_qualified_name().lstrip('/')}: simulation"
        self._publisher.publish(diagnostics_message(stamp, name, self._robot, Status(level, message, values)))
