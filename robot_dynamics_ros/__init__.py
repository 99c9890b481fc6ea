"""Computed-torque control of robot arms with exact rigid-body dynamics from a URDF.

Importing this package imports no ROS.
"""

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
    """Import RobotModel, or read the version, at first access (PEP 562): numba and the URDF parser load slowly."""
    if name == "RobotModel":
        from robot_dynamics_ros.model import RobotModel

        return RobotModel
    if name == "__version__":  # package.xml is the only place that defines it
        from robot_dynamics_ros.resources import share_directory

        manifest = (share_directory() / "package.xml").read_text(encoding="utf-8")
        return manifest.split("<version>")[1].split("</version>")[0]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
