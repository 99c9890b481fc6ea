"""Inverse kinematics by damped least squares: the first line of Tsai (9.172), for any arm.

The method is Levenberg-Marquardt (Wampler 1986, Nakamura and Hanafusa 1986) from several starts within the position
limits. It finds solutions, but cannot prove that there are no others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.base_parameters import position_ranges
from robot_dynamics_ros.textbooks import thresholds
from robot_dynamics_ros.textbooks.cartesian_dynamics import Task
from robot_dynamics_ros.textbooks.shared_terms import real


def inverse_kinematics(
    model: RobotModel,
    task: Task,
    pose: ArrayLike,
    start: ArrayLike | None = None,
    starts: int = thresholds.KINEMATIC_STARTS,
) -> Array:
    """Return positions (k, n) within the limits at which a link has a pose, the nearest to ``start`` first.

    Positions at the same distance, within 1e-3, are sorted by their first joint, then by the next ones. Solutions that
    differ by less than 1e-3 in each joint, or by whole turns of continuous joints, count as one; half a turn from
    ``start`` is positive. Of a redundant arm each start gives another.

    Parameters
    ----------
    model
        The robot.
    task
        Link, and components of its pose that are required: position x y z, rotation about x y z. They are in root axes
        whatever ``own_axes`` is.
    pose
        Pose (4, 4) of the link in the root frame, m, with a valid rotation. Components that are not in ``task`` are
        ignored.
    start
        Position (n,) from which the first search starts. None: 0, or the nearest limit.
    starts
        Number of searches, at least 1; those after the first start at random positions, the same in every call.

    Raises
    ------
    RobotDynamicsError
        If no search reaches the pose, with the remaining error of the best one; and for an unknown link.
    """
    first = np.zeros(model.n) if start is None else model.vector("start", start)
    q = _within(model, np.vstack([first, _random_positions(model, starts - 1)]))
    q, error = _descend(model, task, real(pose), q)
    distance = np.linalg.norm(error, axis=1)
    reached = distance < thresholds.KINEMATIC_ERROR
    if not reached.any():
        raise RobotDynamicsError(
            _unreached(model, task, q[distance.argmin()], error[distance.argmin()])
        )
    q = q[distance.argsort()][: reached.sum()]  # of equal ones the most accurate first
    turn = 2 * np.pi
    # half a turn is +, not -
    turns = np.ceil((q - first - thresholds.SAME_SOLUTION) / turn - 0.5)
    q = q - turn * np.where(model.continuous, turns, 0.0)
    ranks = [_ranks(values) for values in (np.linalg.norm(q - first, axis=1), *q.T)]
    q = q[np.lexsort(ranks[::-1])]
    new = [
        not (np.abs(q[:i] - x) < thresholds.SAME_SOLUTION).all(axis=1).any()
        for i, x in enumerate(q)
    ]
    return np.asarray(q[new])


def joint_path(
    model: RobotModel,
    task: Task,
    times: Array,
    poses: Array,
    start: ArrayLike | None = None,
) -> Array:
    """Return positions (k, n) within the limits along a path of a link, its poses (k, 4, 4) in the root frame, m.

    ``task`` and ``start`` are those of ``inverse_kinematics``, ``start`` selects one of several postures. ``times``
    (k,), s, are for messages. Each further position is searched from the one before, so that poses must be close.
    Raises RobotDynamicsError, with the time, for a pose that is not reached in this way, for an unknown link, and for a
    step of a joint by more than half a rad or m, as to another posture.
    """
    path: list[Array] = []
    for time, pose in zip(times, poses, strict=True):
        try:
            q = inverse_kinematics(
                model,
                task,
                pose,
                *((path[-1], 1) if path else (start, thresholds.KINEMATIC_STARTS)),
            )[0]
        except RobotDynamicsError as error:
            raise RobotDynamicsError(f"at {time:g} s: {error}") from None
        if path and np.abs(q - path[-1]).max() > thresholds.LARGEST_JOINT_STEP:
            raise RobotDynamicsError(
                f"at {time:g} s: joints jump from {path[-1].round(4).tolist()} to {q.round(4).tolist()}. Cure: give "
                "more poses, or a path away from singularities"
            )
        path.append(q)
    return np.array(path)


def _descend(
    model: RobotModel, task: Task, pose: Array, q: Array
) -> tuple[Array, Array]:
    """Return positions (k, n) and their errors (k, m) after Levenberg-Marquardt steps from ``q`` (k, n)."""
    error = _error(model, task, pose, q)
    damping = np.full((len(q), 1, 1), 1e-2)
    for _ in range(thresholds.KINEMATIC_STEPS):
        j = model.jacobian(q, task.link)[:, list(task.rows)]
        transposed = j.swapaxes(1, 2)
        step = transposed @ np.linalg.solve(
            j @ transposed + damping * np.eye(j.shape[1]), error[:, :, None]
        )
        trial = _within(model, q + step[:, :, 0])
        rest = _error(model, task, pose, trial)
        better = np.linalg.norm(rest, axis=1) < np.linalg.norm(error, axis=1)
        q = np.where(better[:, None], trial, q)
        error = np.where(better[:, None], rest, error)
        if (np.linalg.norm(error, axis=1) < thresholds.KINEMATIC_ERROR).all():
            break
        damping = np.clip(
            np.where(better[:, None, None], 0.1, 10.0) * damping, 1e-9, 1e9
        )
    return q, error


def _error(model: RobotModel, task: Task, pose: Array, q: Array) -> Array:
    """Return translation (m) and rotation vector (rad) from the link's pose at ``q`` (k, n) to ``pose``, (k, m)."""
    here = model.link_pose(q, task.link)
    turn = Rotation.from_matrix(
        pose[:3, :3] @ here[:, :3, :3].swapaxes(1, 2)
    ).as_rotvec()
    return np.concatenate([pose[:3, 3] - here[:, :3, 3], turn], axis=1)[
        :, list(task.rows)
    ]


def _ranks(values: Array) -> NDArray[np.intp]:
    """Return the place of each value (k,) in ascending order, equal for neighbours nearer than SAME_SOLUTION."""
    order = values.argsort()
    ranks = np.empty(len(values), dtype=np.intp)
    ranks[order] = np.cumsum(
        np.diff(values[order], prepend=-np.inf) > thresholds.SAME_SOLUTION
    )
    return ranks


def _random_positions(model: RobotModel, count: int) -> Array:
    """Return positions (count, n) from the whole range of the joints."""
    ranges = position_ranges(model, thresholds.FREE_HALF_STROKE)
    return np.random.default_rng(0).uniform(*ranges, (count, model.n))


def _within(model: RobotModel, q: Array) -> Array:
    return np.array([model.limit_rows.within(row) for row in q])


def _unreached(model: RobotModel, task: Task, q: Array, error: Array) -> str:
    values = ", ".join(
        f"{value:.3g} {'m in' if row < 3 else 'rad about'} {'xyz'[row % 3]}"
        for row, value in zip(task.rows, error, strict=True)
    )
    return (
        f'link "{task.link}" does not reach the pose: {values} remain at q = {q.round(4).tolist()}. Cure: give a pose '
        "in reach, fewer components, another start or more starts"
    )
