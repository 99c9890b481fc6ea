"""Entry points of the executables: SIGINT and SIGTERM end them also while their modules are imported."""

import os
import signal
import sys
from functools import partial
from importlib import import_module
from types import FrameType


def _run(module: str, interrupted: int = 0) -> None:
    """Import a module and run its ``main``; a signal during the import ends the process with ``interrupted``."""

    def leave(number: int, frame: FrameType | None) -> None:
        os._exit(interrupted)  # nothing to clean up, and an exception would pass through other packages' imports

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, leave)
    sys.exit(import_module(f"robot_dynamics_ros.{module}").main())


computed_torque_node = partial(_run, "nodes.computed_torque_node")
simulation_node = partial(_run, "nodes.simulation_node")
trajectory_node = partial(_run, "nodes.trajectory_node")
robot_dynamics = partial(_run, "cli.main", interrupted=128 + signal.SIGINT)

if __name__ == "__main__":
    _run(f"nodes.{sys.argv.pop(1)}")
