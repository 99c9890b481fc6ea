"""Velocity and force transforms against rigid-body kinematics, virtual work and the exercises of Craig, chapter 5."""

import numpy as np
import pytest

from oracles import craig_jacobians
from robot_dynamics_ros import RobotDynamicsError
from robot_dynamics_ros.formulations.frame_transforms import (
    cross_matrix,
    force_transform,
    inverse_pose,
    rotated_jacobian,
    velocity_transform,
)
from support import arms
from support.comparing import assert_close
from support.robots_with_drives import Array


def _pose(seed: int) -> Array:
    rng = np.random.default_rng(seed)
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = arms.rotation(rng), rng.normal(size=3)
    return pose


def test_cross_matrix() -> None:
    p, a = np.random.default_rng(0).normal(size=(2, 3))
    assert_close(cross_matrix(p) @ a, np.cross(p, a), 1e-15)


def test_a_rigid_body_seen_from_two_frames() -> None:
    """Velocities, and by power, which is the same in both frames, forces: F_A . v_A = F_B . v_B."""
    pose, (v, f) = _pose(1), np.random.default_rng(2).normal(size=(2, 6))
    r, p = pose[:3, :3], pose[:3, 3]
    # The point at the origin of B moves with v + w x p.
    expected = np.concatenate([r.T @ (v[:3] + np.cross(v[3:], p)), r.T @ v[3:]])
    assert_close(velocity_transform(inverse_pose(pose)) @ v, expected, 1e-14)
    assert (velocity_transform(pose) @ v) @ (force_transform(pose) @ f) == pytest.approx(v @ f, rel=1e-13)
    assert_close(force_transform(pose), velocity_transform(inverse_pose(pose)).T, 1e-15)


def test_transforms_follow_one_another() -> None:
    a_b, b_c = _pose(4), _pose(5)
    for transform in (velocity_transform, force_transform):
        assert_close(transform(a_b @ b_c), transform(a_b) @ transform(b_c), 1e-14)
    assert_close(inverse_pose(a_b) @ a_b, np.eye(4), 1e-15)


def test_a_turn_alone_is_what_changes_the_axes_of_a_jacobian() -> None:
    """Craig (5.71)."""
    pose, j = _pose(6), np.random.default_rng(6).normal(size=(6, 4))
    pose[:3, 3] = 0.0
    assert_close(rotated_jacobian(pose[:3, :3], j), velocity_transform(pose) @ j, 1e-14)


def test_craig_exercise_5_11() -> None:
    pose = craig_jacobians.EXERCISE_5_11_POSE.copy()
    u, _, v_t = np.linalg.svd(pose[:3, :3])
    pose[:3, :3] = u @ v_t  # its printed digits completed
    found = velocity_transform(inverse_pose(pose)) @ craig_jacobians.EXERCISE_5_11_VELOCITY
    assert_close(found, craig_jacobians.EXERCISE_5_11_ANSWER, 1e-4)


@pytest.mark.parametrize("pose", [np.eye(3), 2.0 * np.eye(4), np.diag([1.0, 1.0, -1.0, 1.0]), np.full((4, 4), np.nan)])
def test_no_pose(pose: Array) -> None:
    for function in (velocity_transform, force_transform, inverse_pose):
        with pytest.raises(RobotDynamicsError, match="pose"):
            function(pose)
