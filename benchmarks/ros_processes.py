"""Processes of the measured nodes, and their processor time (Linux)."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import yaml

from robot_dynamics_ros.cli.processes import NodeProcess

_PRIVATE = ("command_states", "joint_trajectory")


class AnsweringNode(NodeProcess):
    """Node process in the namespace ``/<kind>``."""

    def __init__(self, kind: str, folder: Path, module: str, parameters: Mapping[str, object]) -> None:
        """Start ``python -m module``; its parameters and log are files in ``folder``."""
        file = folder / f"{kind}.yaml"
        file.write_text(yaml.safe_dump({"/**": {"ros__parameters": dict(parameters)}}), encoding="utf-8")
        remaps = (f"__ns:=/{kind}", *(f"~/{topic}:={topic}" for topic in _PRIVATE))
        arguments = [word for remap in remaps for word in ("-r", remap)]
        command = [sys.executable, "-m", module, "--ros-args", *arguments, "--params-file", str(file)]
        super().__init__(kind, folder / f"{kind}.log", command, None)

    def busy_seconds(self) -> float:
        """Return the processor time (s) of the process so far."""
        words = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return _seconds(words[11:13])


def busy_seconds() -> float:
    """Return the processor time (s) of all programs so far, including the time taken by the host (steal)."""
    user, nice, system, _, _, interrupts, soft_interrupts, stolen = (
        Path("/proc/stat").read_text(encoding="ascii").split()[1:9]
    )
    return _seconds([user, nice, system, interrupts, soft_interrupts, stolen])


def _seconds(ticks: list[str]) -> float:
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
