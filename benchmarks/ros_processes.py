"""Processes of nodes, and their use of memory, file descriptors and processor time (Linux)."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from robot_dynamics_ros.cli.processes import NodeProcess


class MeasuredProcess(NodeProcess):
    """Node module as a process; its parameters and log are files in ``folder``."""

    def __init__(
        self,
        module: str,
        folder: Path,
        environment: Mapping[str, str] | None,
        parameters: Mapping[str, object],
        remaps: Sequence[str] = (),
        around: Sequence[str] = (),
        name: str = "",
    ) -> None:
        """``remaps``: ROS arguments such as ``joint_states:=plant/joint_states``; ``around``: command that runs it."""
        name = name or module.rpartition(".")[2]
        number = len(list(folder.glob(f"{name}*.log")))
        log = folder / f"{name}{number or ''}.log"
        file = log.with_suffix(".yaml")
        file.write_text(
            yaml.safe_dump({"/**": {"ros__parameters": dict(parameters)}}),
            encoding="utf-8",
        )
        arguments = [word for remap in remaps for word in ("-r", remap)]
        command = [
            *around,
            sys.executable,
            "-m",
            module,
            "--ros-args",
            *arguments,
            "--params-file",
            str(file),
        ]
        super().__init__(name, log, command, environment)

    def memory(self) -> float:
        """Return the resident memory (MB); NaN if the process has ended."""
        return (
            resident(self.process.pid) if self.process.poll() is None else float("nan")
        )

    def descriptors(self) -> int:
        """Return the number of open file descriptors."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def busy_seconds(self) -> float:
        """Return the processor time (s) of the process so far."""
        words = (
            Path(f"/proc/{self.process.pid}/stat")
            .read_text(encoding="utf-8")
            .rpartition(")")[2]
            .split()
        )
        return _seconds(words[11:13])


def resident(process: int | str = "self") -> float:
    """Return the resident memory (MB) of a process."""
    pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") * 1e-6


def busy_seconds() -> float:
    """Return the processor time (s) of all programs so far, including the time taken by the host (steal)."""
    user, nice, system, _, _, interrupts, soft_interrupts, stolen = (
        Path("/proc/stat").read_text(encoding="ascii").split()[1:9]
    )
    return _seconds([user, nice, system, interrupts, soft_interrupts, stolen])


def _seconds(ticks: list[str]) -> float:
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
