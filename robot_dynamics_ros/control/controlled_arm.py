"""Robot of a controller: model with payload, settings and brakes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.control.configuration.settings import ControllerSettings
from robot_dynamics_ros.control.configuration.tuning import Tuning
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel


class ControlledArm:
    """Holder of the payload, the settings and the state of the brakes, which session and controller share.

    Attributes
    ----------
    robot
        Model with payload and gravity.
    model
        Model for laws, hold, observer and feedforward effort: without gravity if the robot compensates for it.
    tuning
        Settings, checked for this robot.
    compensates_gravity
        True if driver or drives of the robot add the gravity torque.
    brakes_engaged
        True if the robot's brakes lock the joints.
    """

    def __init__(self, robot: RobotModel, settings: ControllerSettings) -> None:
        """Hold ``robot`` without further payload; RobotDynamicsError, naming setting and cure, for invalid settings."""
        self.tuning = Tuning(robot, settings)
        self.brakes_engaged = False
        self.compensates_gravity = (
            settings.robot_compensates_gravity
            or "gravity" in settings.drives.drive_compensates
        )
        self._set(robot)

    def tune(self, tuning: Tuning) -> None:
        """Replace the settings."""
        self.tuning = tuning

    def set_brakes(self, engaged: bool) -> None:
        """Set the state of the robot's brakes."""
        self.brakes_engaged = engaged

    def _set(self, robot: RobotModel) -> None:
        self.robot = robot
        self.model = robot.without_gravity() if self.compensates_gravity else robot

    def set_payload(
        self,
        link: str,
        mass: float,
        com: ArrayLike,
        inertia: ArrayLike,
        q: Array | None = None,
        period: float = 0.0,
    ) -> None:
        """Replace the payload: ``mass`` (kg) on ``link`` with the centre of mass ``com`` (3,), m.

        ``inertia`` about it, (3, 3) or ixx ixy ixz iyy iyz izz, kg m^2, and ``com`` are in the link's frame. At the
        position ``q`` (n,), if it is given, the payload is checked. ``period`` (s) of the cycles is 0 if unknown.

        Raises
        ------
        RobotModelError
            For an invalid link, mass, centre of mass or inertia.
        RobotDynamicsError
            If the effort limits cannot hold the payload, or if the gains would be unstable without it.
        """
        robot = self.robot.with_payload(link, mass, com, inertia)
        if q is not None:
            if not self.compensates_gravity:
                check_holds(robot, q, self.tuning.effort_limits)
            check_payload(robot, q, self.tuning, period)
        self._set(robot)


def check_payload(robot: RobotModel, q: Array, tuning: Tuning, period: float) -> None:
    """Raise RobotDynamicsError if the gains would be unstable at ``q`` (n,) without the payload of ``robot``.

    ``period`` (s) of the cycles is 0 if unknown; see ``Tuning.check_payload``.
    """
    if robot.payload_link is None:
        return
    models = (robot, robot.without_payload())
    loaded, unloaded = (model.mass_matrix(q).diagonal() for model in models)
    tuning.check_payload(loaded, unloaded, period)


def check_holds(model: RobotModel, q: Array, limits: Array) -> None:
    """Raise RobotDynamicsError, naming a joint, if the gravity torque at ``q`` (n,) exceeds one of ``limits`` (n,)."""
    gravity = model.gravity_torque(q)
    for j in np.flatnonzero(~(np.abs(gravity) <= limits))[:1].tolist():
        raise RobotDynamicsError(
            f'joint "{model.joint_names[j]}": its gravity torque here is {gravity[j]:.3g}, its effort limit '
            f"{limits[j]:.3g}: the arm would fall. Cure: raise effort_limit_scale, or use a lighter payload"
        )
