"""Entry points of the executables: SIGINT and SIGTERM end them in order also while their modules are imported."""

import os
import signal
import sys
from importlib import import_module
from types import FrameType


def computed_torque_node() -> None:
    """Run the controller."""
    _run("nodes.computed_torque_node")


def simulation_node() -> None:
    """Run the simulated arm."""
    _run("nodes.simulation_node")


def trajectory_node() -> None:
    """Run the node that publishes one trajectory."""
    _run("nodes.trajectory_node")


def robot_dynamics() -> None:
    """Run the robot_dynamics command."""
    _run("cli.main", interrupted=128 + signal.SIGINT)


def _run(module: str, interrupted: int = 0) -> None:
    """Import a module and run its ``main``; a signal during the import ends the process with ``interrupted``."""

    def leave(number: int, frame: FrameType | None) -> None:
        os._exit(interrupted)  # nothing to clean up, and an exception would pass through other packages' imports

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, leave)
    sys.exit(import_module(f"robot_dynamics_ros.{module}").main())


if __name__ == "__main__":
    _run(f"nodes.{sys.argv.pop(1)}")
