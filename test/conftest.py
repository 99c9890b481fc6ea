"""Fixtures and settings of all tests: hypothesis profiles, shipped robots, and a private ROS domain."""

import atexit
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Matrices are small: threads of the linear algebra library would only slow the tests down.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["BROWSER"] = "true"  # the program: no test opens a page on the screen

from robot_dynamics_ros.cli.processes import private_graph
from robot_dynamics_ros.dynamics.kernels.compilation import COMPILED

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

# Helpers (support, oracles) are imported by plain name from every depth of this folder.
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))

# Set before rclpy is imported, for each process of a parallel run. The discovery range is this machine only,
# since tests publish torques.
_GRAPH = private_graph()
os.environ.update(_GRAPH.__enter__())
atexit.register(_GRAPH.__exit__, None, None, None)

# The first example of a test may compile for tens of seconds: no deadline.
_SLOW_START = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile(
    "fast", max_examples=25, deadline=None, suppress_health_check=_SLOW_START
)
settings.register_profile(
    "thorough", max_examples=1000, deadline=None, suppress_health_check=_SLOW_START
)
# Kernels as plain Python take some hundred times as long.
settings.register_profile(
    "interpreted", max_examples=10, deadline=None, suppress_health_check=_SLOW_START
)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE", "fast" if COMPILED else "interpreted")
)


@pytest.fixture(scope="session")
def urdf_path() -> Callable[[str], Path]:
    """Return the path of a shipped robot's URDF by name."""

    def path(name: str) -> Path:
        return ROOT / "urdf" / f"{name}.urdf"

    return path


@pytest.fixture(scope="session")
def dynamics_path() -> Callable[[str], Path]:
    """Return the path of a shipped dynamics file by name (a robot's, or planar_2r_craig and planar_2r_tsai)."""

    def path(name: str) -> Path:
        return ROOT / "config" / f"{name}.dynamics.yaml"

    return path


@pytest.fixture(scope="session")
def load_robot(
    urdf_path: Callable[[str], Path], dynamics_path: Callable[[str], Path]
) -> Callable[..., Any]:
    """Return load_robot(name, dynamics=None or name of a dynamics file, **keywords of RobotModel.from_urdf_file)."""
    from robot_dynamics_ros import RobotModel

    def load(name: str, dynamics: str | None = None, **keywords: Any) -> RobotModel:
        file = dynamics_path(dynamics) if dynamics is not None else None
        return RobotModel.from_urdf_file(urdf_path(name), dynamics=file, **keywords)

    return load
