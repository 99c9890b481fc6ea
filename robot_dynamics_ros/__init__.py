"""Computed-torque control of robot arms with exact rigid-body dynamics from a URDF.

Importing this package imports no ROS.
"""

from typing import TYPE_CHECKING, Any

from robot_dynamics_ros.base.errors import (
    BagError,
    RobotDynamicsError,
    RobotModelError,
    RobotModelWarning,
    TrajectoryError,
)

if TYPE_CHECKING:
    from robot_dynamics_ros.dynamics.model import RobotModel
    from robot_dynamics_ros.simulation import simulate

    __version__: str

__all__ = [
    "BagError",
    "RobotDynamicsError",
    "RobotModel",
    "RobotModelError",
    "RobotModelWarning",
    "TrajectoryError",
    "__version__",
    "simulate",
]


def __getattr__(name: str) -> Any:
    """Import RobotModel or simulate, or read the version, at first access (PEP 562): numba loads slowly."""
    if name == "RobotModel":
        from robot_dynamics_ros.dynamics.model import RobotModel

        return RobotModel
    if name == "simulate":
        from robot_dynamics_ros.simulation import simulate

        return simulate
    if name == "__version__":
        from robot_dynamics_ros.base.resources import package_version

        return package_version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
