"""Default motion of a robot, and motions scaled to its limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robot_dynamics_ros.control.trajectory import parameters as trajectory
from robot_dynamics_ros.control.trajectory.points import TrajectoryPoints, joint_columns
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel

_REACH, _PRISMATIC_REACH = 0.3, 0.05  # rad, m: largest amplitude of the sine
_RANGE_SHARE = 0.2  # of the position range, for the amplitude
_MARGIN_SHARE = 0.1  # of the position range, between the start and a limit
_LIMIT_SHARE = 0.8  # of the velocity limit; the rest is left for tracking errors
_EFFORT_SHARE = 0.9
_FREQUENCIES = 0.25, 0.45  # Hz, of the first and the last joint
_SHRINK = 0.9


def default_start(model: RobotModel) -> Array:
    """Return initial positions (n,), rad or m: those nearest to 0 that keep a distance from the position limits."""
    margin = _MARGIN_SHARE / _RANGE_SHARE * _reach(model)
    return np.clip(np.zeros(model.n), model.soft_lower + margin, model.soft_upper - margin)


def default_motion(model: RobotModel, start: Array) -> dict[str, object]:
    """Return parameters of trajectory_node, by name, for a robot that starts at ``start`` (n,), rad or m.

    Each joint moves away from its nearer position limit, and follows a sine there.
    """
    down, up = start - model.soft_lower, model.soft_upper - start
    reach = np.clip(_reach(model), 0.0, 0.5 * np.maximum(np.maximum(up, down), 0.0))
    return {
        trajectory.CENTER.name: (start + np.where(up >= down, reach, -reach)).tolist(),
        trajectory.AMPLITUDE.name: reach.tolist(),
        trajectory.FREQUENCY.name: np.linspace(*_FREQUENCIES, model.n).tolist(),
    }


def _reach(model: RobotModel) -> Array:
    """Return the amplitude (n,) of the sine, rad or m."""
    prismatic = [name in model.prismatic_joints for name in model.joint_names]
    most = np.where(prismatic, _PRISMATIC_REACH, _REACH)
    return np.asarray(np.minimum(most, _RANGE_SHARE * (model.soft_upper - model.soft_lower)))


def scaled_to_limits(model: RobotModel, points: TrajectoryPoints, start: Array) -> tuple[TrajectoryPoints, float]:
    """Return the points, moved towards the first one until velocity and effort limits hold, and the smallest factor.

    ``points`` have velocities and accelerations and begin at rest; ``start`` (n,), rad or m, are the positions of all
    joints. The effort is that of inverse dynamics, friction included.

    Raises RobotDynamicsError, with the joint, if an effort limit is below the gravity torque at the start.
    """
    assert points.velocities is not None and points.accelerations is not None
    columns = joint_columns(points.joint_names, model.joint_names, allow_partial=True)
    change, qd, qdd = (np.zeros((len(points.times), model.n)) for _ in range(3))
    change[:, columns] = points.positions - points.positions[0]
    qd[:, columns], qdd[:, columns] = points.velocities, points.accelerations
    limits = model.effort_limits
    held = np.abs(model.gravity_torque(start))
    if (held > limits).any():
        j = int(np.argmax(held > limits))
        raise RobotDynamicsError(
            f'joint "{model.joint_names[j]}": gravity at the start is {held[j]:.4g}, its effort limit {limits[j]:g}. '
            "Cure: give other initial_positions (--config), or correct the limit or the masses in the URDF"
        )
    with np.errstate(divide="ignore"):
        factor = np.minimum(1.0, _LIMIT_SHARE * model.velocity_limits / np.abs(qd).max(axis=0))
    allowed = held + _EFFORT_SHARE * (limits - held)
    while (
        not all(
            (np.abs(model.inverse_dynamics(start + q, v, a) + model.friction_torque(start + q, v)) <= allowed).all()
            for q, v, a in zip(factor * change, factor * qd, factor * qdd, strict=True)
        )
        and factor.max() > 1e-3
    ):
        factor *= _SHRINK
    if (factor == 1.0).all():
        return points, 1.0
    k = factor[columns]
    scaled = replace(
        points,
        positions=points.positions[0] + k * (points.positions - points.positions[0]),
        velocities=k * points.velocities,
        accelerations=k * points.accelerations,
    )
    return scaled, float(k.min())
