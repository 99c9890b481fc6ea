"""Robot model of a controller with its payload."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel


class ControlledArm:
    """Holder of a robot model with its payload, which session and controller share.

    Attributes
    ----------
    robot
        Model with payload and gravity.
    model
        Model for laws, hold, observer and feedforward effort: without gravity if the robot compensates for it.
    """

    def __init__(
        self, robot: RobotModel, robot_compensates_gravity: bool = False
    ) -> None:
        self._compensated = robot_compensates_gravity
        self._set(robot)

    def _set(self, robot: RobotModel) -> None:
        self.robot = robot
        self.model = robot.without_gravity() if self._compensated else robot

    def set_payload(
        self,
        link: str,
        mass: float,
        com: ArrayLike,
        inertia: ArrayLike,
        q: Array | None = None,
        limits: Array | None = None,
    ) -> None:
        """Replace the payload: ``mass`` (kg) on ``link`` with the centre of mass ``com`` (3,), m.

        ``inertia`` about it, (3, 3) or ixx ixy ixz iyy iyz izz, kg m^2, and ``com`` are in the link's frame. Raises
        RobotModelError for invalid ones, and RobotDynamicsError if the effort ``limits`` (n,) cannot hold it at the
        position ``q`` (n,), if these are given.
        """
        robot = self.robot.with_payload(link, mass, com, inertia)
        if q is not None and limits is not None and not self._compensated:
            check_holds(robot, q, limits)
        self._set(robot)


def check_holds(model: RobotModel, q: Array, limits: Array) -> None:
    """Raise RobotDynamicsError, naming a joint, if the gravity torque at ``q`` (n,) exceeds one of ``limits`` (n,)."""
    gravity = model.gravity_torque(q)
    for j in np.flatnonzero(~(np.abs(gravity) <= limits))[:1].tolist():
        raise RobotDynamicsError(
            f'joint "{model.joint_names[j]}": its gravity torque here is {gravity[j]:.3g}, its effort limit '
            f"{limits[j]:.3g}: the arm would fall. Cure: raise effort_limit_scale, or use a lighter payload"
        )
