"""Processes under test, and their use of memory and file descriptors (Linux)."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from robot_dynamics_ros.cli.processes import NodeProcess


class Process(NodeProcess):
    """Node module as a process; its parameters and log are files in ``folder``."""

    def __init__(
        self,
        module: str,
        folder: Path,
        environment: Mapping[str, str],
        parameters: Mapping[str, object],
        remaps: Sequence[str] = (),
        around: Sequence[str] = (),
    ) -> None:
        """``remaps``: ROS arguments such as ``joint_states:=plant/joint_states``; ``around``: command that runs it."""
        name = module.rpartition(".")[2]
        number = len(list(folder.glob(f"{name}*.log")))
        log = folder / f"{name}{number or ''}.log"
        file = log.with_suffix(".yaml")
        file.write_text(yaml.safe_dump({"/**": {"ros__parameters": dict(parameters)}}), encoding="utf-8")
        arguments = [word for remap in remaps for word in ("-r", remap)]
        command = [*around, sys.executable, "-m", module, "--ros-args", *arguments, "--params-file", str(file)]
        super().__init__(name, log, command, environment)

    @property
    def number(self) -> int:
        """Process ID."""
        return self.process.pid

    def memory(self) -> float:
        """Return the resident memory (MB); NaN if the process has ended."""
        return resident(self.number) if self.process.poll() is None else float("nan")

    def descriptors(self) -> int:
        """Return the number of open file descriptors."""
        return len(os.listdir(f"/proc/{self.number}/fd"))


def resident(number: int) -> float:
    """Return the resident memory (MB) of a process."""
    pages = int(Path(f"/proc/{number}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") * 1e-6
