"""Computed-torque control of robot arms: exact dynamics from a URDF. Imports no ROS."""

from typing import TYPE_CHECKING, Any

from robot_dynamics_ros.errors import BagError, RobotDynamicsError, RobotModelError, RobotModelWarning, TrajectoryError
from robot_dynamics_ros.moved import find_former_modules

if TYPE_CHECKING:
    from robot_dynamics_ros.model import RobotModel

    __version__: str

__all__ = [
    "BagError",
    "RobotDynamicsError",
    "RobotModel",
    "RobotModelError",
    "RobotModelWarning",
    "TrajectoryError",
    "__version__",
]

find_former_modules()


def __getattr__(name: str) -> Any:
    """Import RobotModel when it is first asked for: numba and the URDF parser take most of a second (PEP 562)."""
    if name == "RobotModel":
        from robot_dynamics_ros.model import RobotModel

        return RobotModel
    if name == "__version__":  # of package.xml, which every installation has: releases raise it there
        from robot_dynamics_ros.resources import share_directory

        manifest = (share_directory() / "package.xml").read_text(encoding="utf-8")
        return manifest.split("<version>")[1].split("</version>")[0]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
