"""The controller: trajectory and law put together, cycle by cycle. It knows neither ROS nor clocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.control.friction_compensation import friction_compensation
from robot_dynamics_ros.control.gains import Gains, gains_from_frequency, spread
from robot_dynamics_ros.control.laws import LAWS, Motion
from robot_dynamics_ros.control.trajectory import Trajectory
from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints
from robot_dynamics_ros.errors import RobotDynamicsError, TrajectoryError
from robot_dynamics_ros.model import RobotModel

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ControllerSettings:
    """What a user sets; sequences hold one number for each joint, or one for all.

    Empty ``kp`` and ``kd``: the gains follow from natural frequency (rad/s) and damping ratio.
    """

    law: str = "computed_torque"
    natural_frequency: Sequence[float] = (10.0,)
    damping_ratio: Sequence[float] = (1.0,)
    kp: Sequence[float] = ()
    kd: Sequence[float] = ()
    friction_compensation: bool = True
    friction_smoothing_velocity: float = 0.01
    allow_partial_joints_goal: bool = False


@dataclass(frozen=True, eq=False)
class Command:
    """What one cycle decided: desired motion and effort (n,), and the joints whose limit cut the effort."""

    desired: Motion
    effort: Array
    saturated: tuple[str, ...]


class Controller:
    """Turns trajectories and measured states into joint efforts.

    Times are seconds on one clock of the caller's choice. Until a trajectory comes, the arm holds the
    position in which the first cycle found it.
    """

    def __init__(self, model: RobotModel, settings: ControllerSettings) -> None:
        """Check the settings against the model; RobotDynamicsError names the setting and the cure."""
        if settings.law not in LAWS:
            raise RobotDynamicsError(f"law: {settings.law!r} is unknown. Cure: use one of {', '.join(LAWS)}")
        if (len(settings.kp) == 0) != (len(settings.kd) == 0):
            raise RobotDynamicsError("gains: kp and kd go together. Cure: give both, or neither")
        if not 0.0 <= settings.friction_smoothing_velocity < np.inf:
            raise RobotDynamicsError(
                f"friction_smoothing_velocity: {settings.friction_smoothing_velocity}. Cure: give at least 0"
            )
        self.model = model
        self.settings = settings
        self.law = LAWS[settings.law]
        names = model.joint_names
        self._natural_frequency = spread("gains.natural_frequency", settings.natural_frequency, names)
        self._damping_ratio = spread("gains.damping_ratio", settings.damping_ratio, names)
        self._gains: Gains | None = None
        if len(settings.kp) > 0:
            self._gains = Gains(spread("gains.kp", settings.kp, names), spread("gains.kd", settings.kd, names))
        elif self.law.gains_are_accelerations:
            self._gains = gains_from_frequency(self._natural_frequency, self._damping_ratio, np.ones(model.n))
        self._effort_limits = model.effort_limits
        self._trajectory: Trajectory | None = None
        self._desired: Motion | None = None
        self._time = -np.inf

    @property
    def time(self) -> float:
        """Time of the last cycle, -inf before the first one."""
        return self._time

    def follow(self, points: TrajectoryPoints, start_time: float | None, now: float) -> Trajectory:
        """Take in a trajectory; it replaces the one before without a jump in position or velocity.

        ``start_time`` None: it starts at ``now``. Raises TrajectoryError, and keeps what it had, for
        points that cannot be followed.
        """
        if self._desired is not None:
            state = (self._desired.q, self._desired.qd, self._desired.qdd)
        elif self.law.needs_state:
            raise TrajectoryError("the state of the joints is not known yet. Cure: wait for joint_states")
        else:
            state = (self._first_position(points), np.zeros(self.model.n), np.zeros(self.model.n))
        trajectory = Trajectory.from_points(
            points,
            self.model.joint_names,
            now if start_time is None else start_time,
            state,
            state_time=now,
            allow_partial_joints=self.settings.allow_partial_joints_goal,
        )
        trajectory.check_not_over(now)
        self._trajectory = trajectory
        return trajectory

    def update(self, time: float, q: Array | None, qd: Array | None) -> Command | None:
        """One cycle: the command for the measured state ``q``, ``qd`` (n,) at ``time``.

        A law that needs no state takes None for both. None where nothing can be commanded yet. A time
        that jumps back drops the trajectory: the arm holds where it is. Raises RobotDynamicsError where
        the torque comes out non-finite; it names the joint.
        """
        if time < self._time:
            self._trajectory = None
            self._desired = None
        self._time = time
        planned_effort = np.zeros(self.model.n)
        desired = self._sample(time, q, planned_effort)
        if desired is None:
            return None
        self._desired = desired
        if q is None or qd is None:
            if self.law.needs_state:
                return None
            q, qd = desired.q, desired.qd
        if self._gains is None:
            inertia = self.model.mass_matrix(q).diagonal()
            self._gains = gains_from_frequency(self._natural_frequency, self._damping_ratio, inertia)
        effort = self.law.torque(self.model, self._gains, desired, q, qd)
        if self.law.compensates_friction and self.settings.friction_compensation:
            effort = effort + friction_compensation(
                self.model, desired.q, desired.qd, self.settings.friction_smoothing_velocity
            )
        return self._limited(desired, effort + planned_effort)

    def _sample(self, time: float, q: Array | None, planned_effort: Array) -> Motion | None:
        if self._trajectory is not None:
            position, velocity, acceleration = np.zeros((3, self.model.n))
            self._trajectory.sample(time, position, velocity, acceleration, planned_effort)
            return Motion(position, velocity, acceleration)
        if self._desired is not None:
            return self._desired
        if q is None:
            return None
        return Motion(q.copy(), np.zeros(self.model.n), np.zeros(self.model.n))

    def _limited(self, desired: Motion, effort: Array) -> Command:
        names = self.model.joint_names
        if not np.isfinite(effort).all():
            name, value = next((n, x) for n, x in zip(names, effort, strict=True) if not np.isfinite(x))
            raise RobotDynamicsError(
                f'joint "{name}": the torque comes out as {value}; nothing is commanded. '
                "Cure: check the desired and measured motion for huge numbers"
            )
        over = np.abs(effort) > self._effort_limits
        saturated = tuple(name for name, cut in zip(names, over, strict=True) if cut)
        return Command(desired, np.clip(effort, -self._effort_limits, self._effort_limits), saturated)

    def _first_position(self, points: TrajectoryPoints) -> Array:
        """Where an open-loop trajectory begins, in the model's order; checks are left to the trajectory."""
        places = {name: column for column, name in enumerate(points.joint_names)}
        table = np.atleast_2d(points.positions)
        return np.array(
            [
                table[0, places[name]] if name in places and places[name] < table.shape[1] else 0.0
                for name in self.model.joint_names
            ]
        )
