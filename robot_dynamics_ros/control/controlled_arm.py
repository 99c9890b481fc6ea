"""Robot model of a controller with its payload."""

from __future__ import annotations

from numpy.typing import ArrayLike

from robot_dynamics_ros.model import RobotModel


class ControlledArm:
    """Holder of a robot model with its payload, which session and controller share.

    Attributes
    ----------
    robot
        Model with payload and gravity.
    model
        Model for laws, hold, observer and feedforward effort: without gravity if the robot compensates for it.
    """

    def __init__(self, robot: RobotModel, robot_compensates_gravity: bool = False) -> None:
        self._compensated = robot_compensates_gravity
        self._set(robot)

    def _set(self, robot: RobotModel) -> None:
        self.robot = robot
        self.model = robot.without_gravity() if self._compensated else robot

    def set_payload(self, link: str, mass: float, com: ArrayLike, inertia: ArrayLike) -> None:
        """Replace the payload: ``mass`` (kg) on ``link`` with the centre of mass ``com`` (3,), m.

        ``inertia`` about it, (3, 3) or ixx ixy ixz iyy iyz izz, kg m^2, and ``com`` are in the link's frame. Raises
        RobotModelError for invalid ones.
        """
        self._set(self.robot.with_payload(link, mass, com, inertia))
