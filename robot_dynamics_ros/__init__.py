"""Computed-torque control of robot arms: exact dynamics from a URDF. Imports no ROS."""

from typing import TYPE_CHECKING, Any

from robot_dynamics_ros.errors import (
    BagError,
    RobotDynamicsError,
    RobotModelError,
    RobotModelWarning,
    TrajectoryError,
)

if TYPE_CHECKING:
    from robot_dynamics_ros.model import RobotModel

__version__ = "0.1.0"

__all__ = [
    "BagError",
    "RobotDynamicsError",
    "RobotModel",
    "RobotModelError",
    "RobotModelWarning",
    "TrajectoryError",
    "__version__",
]


def __getattr__(name: str) -> Any:
    """Import RobotModel when it is first asked for: numba and the URDF parser take most of a second (PEP 562)."""
    if name == "RobotModel":
        from robot_dynamics_ros.model import RobotModel

        return RobotModel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
