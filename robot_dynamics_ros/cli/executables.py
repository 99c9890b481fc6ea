"""Entry points of the executables.

SIGINT and SIGTERM end a process also while its modules are being imported.
"""

import os
import signal
import sys
from functools import partial
from importlib import import_module
from pathlib import Path
from types import FrameType


def _run(module: str, signal_exit_code: int = 0) -> None:
    """Import a module and run its ``main``; a signal during the import ends the process with ``signal_exit_code``."""

    def exit_on_signal(number: int, frame: FrameType | None) -> None:
        # an exception would pass through the imports of other packages
        os._exit(signal_exit_code)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, exit_on_signal)
    try:
        imported = import_module(f"robot_dynamics_ros.{module}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("robot_dynamics_ros"):
            raise
        sys.exit(
            f"{error}. Cure: source ROS 2, or pip install 'robot_dynamics_ros[ros]'"
        )
    sys.exit(imported.main())


computed_torque_node = partial(_run, "ros.nodes.computed_torque_node")
simulation_node = partial(_run, "ros.nodes.simulation_node")
trajectory_node = partial(_run, "ros.nodes.trajectory_node")
robot_dynamics = partial(_run, "cli.main", signal_exit_code=128 + signal.SIGINT)

if __name__ == "__main__":
    # The folder of this package: neither that of this file, nor the working directory with another copy.
    sys.path[0] = str(Path(__file__).parents[2])
    _run(f"ros.nodes.{sys.argv.pop(1)}")
