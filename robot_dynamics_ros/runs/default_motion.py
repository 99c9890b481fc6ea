"""Default motion of a robot, and motions scaled to its limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.control.trajectory.points import joint_columns
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.joint_limits import (
    SOFT_LOWER,
    SOFT_UPPER,
    VELOCITY,
)
from robot_dynamics_ros.runs import trajectory_parameters as trajectory
from robot_dynamics_ros.runs.thresholds import (
    COULOMB_VELOCITY,
    HOLDING_SHARE,
    LARGEST_AMPLITUDE,
    LARGEST_PRISMATIC_AMPLITUDE,
    MOTION_LIMIT_SHARE,
    MOTION_SHRINKAGE,
    RANGE_SHARE,
    SINE_FREQUENCIES,
    SMALLEST_MOTION,
    START_MARGIN,
    START_STEP,
    START_STEPS,
)


def _ranges(model: RobotModel) -> tuple[Array, Array, Array]:
    """Return (K,) for ``model.limit_rows``: lower and upper position limits without offsets, amplitude of a sine."""
    rows = model.limit_rows
    lower, upper = rows.limits[[SOFT_LOWER, SOFT_UPPER]] - rows.positions(
        np.zeros(model.n)
    )
    prismatic = [name in model.prismatic_joints for name in rows.names]
    most = np.where(prismatic, LARGEST_PRISMATIC_AMPLITUDE, LARGEST_AMPLITUDE)
    return (lower, upper, np.clip(RANGE_SHARE * (upper - lower), 0.0, most))


def default_start(model: RobotModel) -> Array:
    """Return initial positions (n,), rad or m: near 0, at a distance from the position limits.

    If gravity there takes more than 70 % of a joint's effort limit, that joint is moved to where it takes less. If no
    such positions are found, gravity takes more there, too.
    """
    rows = model.limit_rows
    (lower, upper, reach) = _ranges(model)
    lower = lower + START_MARGIN * reach
    upper = upper - START_MARGIN * reach

    def load(q: Array) -> float:
        """Return the largest share of an effort limit that gravity takes."""
        return float((np.abs(model.gravity_torque(q)) / model.effort_limits).max())

    candidates = []
    for direction in (-1.0, 1.0):  # down, as a hanging arm; up, as an upright one
        start = rows.nearest(np.zeros(model.n), lower, upper)
        for _ in range(START_STEPS):
            gravity = model.gravity_torque(start)
            weak = np.abs(gravity) > HOLDING_SHARE * model.effort_limits
            if not weak.any():
                return start
            start = rows.nearest(
                start + direction * START_STEP * weak * np.sign(gravity), lower, upper
            )
        candidates.append(start)
    return min(candidates, key=load)


def default_motion(model: RobotModel, start: Array) -> dict[str, object]:
    """Return parameters of trajectory_node by name: a sine's center, amplitude (rad or m) and frequency (Hz).

    Each value is a list of n, by joint. From ``start`` (n,), rad or m, each joint moves away from its nearer position
    limit. Raises RobotDynamicsError if no joint has room to move, and for closed loops.
    """
    n = model.n
    factors = model.limit_rows.factors
    (lower, upper, reach) = _ranges(model)
    down = start - lower[:n]
    up = upper[:n] - start
    reach = np.clip(reach[:n], 0.0, 0.5 * np.maximum(np.maximum(up, down), 0.0))
    way = np.where(up >= down, 1.0, -1.0)
    for row, low, high in zip(
        factors, lower[n:] - factors @ start, upper[n:] - factors @ start, strict=True
    ):
        # each joint moves over its range with a frequency of its own
        parts = 2.0 * row * way * reach
        for room, travel in (
            (high, parts[parts > 0.0].sum()),
            (-low, -parts[parts < 0.0].sum()),
        ):
            if travel > room:
                reach[row != 0.0] *= max(room, 0.0) / travel
    if model.loops or not reach.any():
        cause = (
            "closed loops have no default motion"
            if model.loops
            else "the position limits leave no room to move"
        )
        raise RobotDynamicsError(
            f"{model.name}: {cause}. Cure: --trajectory with a JointTrajectory, or correct the limits in the URDF"
        )
    return {
        trajectory.CENTER.name: (start + way * reach).tolist(),
        trajectory.AMPLITUDE.name: reach.tolist(),
        trajectory.FREQUENCY.name: np.linspace(*SINE_FREQUENCIES, model.n).tolist(),
    }


def scaled_to_limits(
    model: RobotModel, points: TrajectoryPoints, start: Array
) -> tuple[TrajectoryPoints, Array]:
    """Return the points, moved towards the first one until all limits hold, and the factors (k,).

    The limits are 80 % of those of velocity, acceleration and jerk, and of the effort beyond gravity at the start;
    those of position are not considered. ``points`` of k joints have velocities and accelerations and begin at rest. A
    factor, 0 to 1, scales a joint's motion from the first point. ``start`` (n,), rad or m, are the positions of all
    joints. The effort is that of inverse dynamics, friction included. A joint whose friction its effort limit cannot
    overcome has factor 0.

    Raises RobotDynamicsError, with the joint, if an effort limit is below the gravity torque at the start, and if the
    limits leave no room for a motion.
    """
    assert points.velocities is not None and points.accelerations is not None
    columns = joint_columns(points.joint_names, model.joint_names, allow_partial=True)
    change, qd, qdd = (np.zeros((len(points.times), model.n)) for _ in range(3))
    change[:, columns] = points.positions - points.positions[0]
    qd[:, columns] = points.velocities
    qdd[:, columns] = points.accelerations
    limits = model.effort_limits
    held = np.abs(model.gravity_torque(start))
    if (held > limits).any():
        j = int(np.argmax(held > limits))
        raise RobotDynamicsError(
            f'joint "{model.joint_names[j]}": gravity at the start is {held[j]:.4g}, its effort limit {limits[j]:g}. '
            "Cure: give other initial_positions (--config), or correct the limit or the masses in the URDF"
        )
    allowed = held + MOTION_LIMIT_SHARE * (limits - held)
    speed = np.abs(qd).max(axis=0)
    factor = np.minimum(
        1.0, MOTION_LIMIT_SHARE * model.velocity_limits / np.maximum(speed, 1e-9)
    )
    jerk = np.diff(qdd, axis=0) / np.diff(points.times)[:, None]
    slowest = np.minimum(model.acceleration_limits, model.deceleration_limits)
    for limit, rate in ((slowest, qdd), (model.jerk_limits, jerk)):
        factor = np.minimum(
            factor, MOTION_LIMIT_SHARE * limit / np.abs(rate).max(axis=0, initial=1e-9)
        )
    friction = [
        np.abs(model.friction_torque(start, np.full(model.n, v)))
        for v in (COULOMB_VELOCITY, -COULOMB_VELOCITY)
    ]
    factor[held + np.maximum(*friction) > allowed] = 0.0
    rows = model.limit_rows
    # coordinates of a row have one factor, which then scales the motion of the row, too
    for _ in rows.factors:
        for row, most in zip(
            rows.factors, rows.limits[VELOCITY, model.n :], strict=True
        ):
            largest = MOTION_LIMIT_SHARE * most / max(np.abs(qd @ row).max(), 1e-9)
            factor[row != 0.0] = min(factor[row != 0.0].min(), largest)

    def fits() -> bool:
        return all(
            (
                np.abs(
                    model.inverse_dynamics(start + q, v, a)
                    + model.friction_torque(start + q, v, qdd=a)
                )
                <= allowed
            ).all()
            for q, v, a in zip(factor * change, factor * qd, factor * qdd, strict=True)
        )

    while not fits():
        factor *= MOTION_SHRINKAGE
        if factor.max() < SMALLEST_MOTION:
            raise RobotDynamicsError(
                f"{model.name}: the effort limits leave no room for a motion. Cure: give other initial_positions "
                "(--config), a longer --duration, or correct the limits in the URDF"
            )
    k = factor[columns]
    if (k == 1.0).all():
        return points, k
    first = points.positions[0]
    return replace(
        points,
        positions=first + k * (points.positions - first),
        velocities=k * points.velocities,
        accelerations=k * points.accelerations,
    ), k
