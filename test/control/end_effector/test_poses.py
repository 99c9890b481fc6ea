"""Poses, their differences and rotations."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from robot_dynamics_ros import RobotDynamicsError
from robot_dynamics_ros.control.end_effector.poses import (
    pose_error,
    pose_of,
    rotation_matrix,
    rotation_vector,
)
from support.comparing import assert_close
from support.task_space_loops import rotated


@given(
    seed=st.integers(0, 2**31 - 1),
    angle=st.sampled_from([0.0, 1e-12, 1e-5, 0.3, 3.0, np.pi, 7.0, 1e8]),
)
def test_rotation_matrix(seed: int, angle: float) -> None:
    """Compared with SciPy, including small angles and full turns."""
    axis = np.random.default_rng(seed).normal(size=3)
    vector = angle * axis / np.linalg.norm(axis)
    assert_close(
        rotation_matrix(vector),
        Rotation.from_rotvec(vector).as_matrix(),
        1e-15 * max(angle, 1.0),
    )


@given(
    seed=st.integers(0, 2**31 - 1),
    angle=st.sampled_from([0.0, 1e-12, 1e-5, 0.3, 2.0, 3.1, np.pi - 1e-7, np.pi]),
)
def test_rotation_vector(seed: int, angle: float) -> None:
    axis = np.random.default_rng(seed).normal(size=3)
    axis /= np.linalg.norm(axis)
    vector = rotation_vector(rotated(angle * axis))
    # At pi both signs of the axis are correct.
    error = min(
        np.abs(vector - angle * axis).max(),
        np.abs(vector + angle * axis).max() if angle == np.pi else np.inf,
    )
    assert error < 1e-9 * max(angle, 1e-7)


@pytest.mark.parametrize(
    "axis", [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, -2, 3], [-3, 1, 0.5]]
)
def test_rotation_vector_of_nearly_half_a_turn(axis: Any) -> None:
    """The sign of the axis is correct below pi, for any axis."""
    for angle in (3.0, -3.0):
        vector = angle * np.array(axis) / np.linalg.norm(axis)
        assert_close(
            rotation_vector(Rotation.from_rotvec(vector).as_matrix()), vector, 1e-13
        )


@given(seed=st.integers(0, 2**31 - 1))
def test_pose_of_a_quaternion(seed: int) -> None:
    """Compared with SciPy; q, -q and a quaternion of slightly wrong length give the same rotation."""
    rng = np.random.default_rng(seed)
    rotation = Rotation.random(random_state=seed)
    p = rng.normal(size=3)
    for factor in (1.0, -1.0, 1.0009):
        pose = pose_of(p, factor * rotation.as_quat())
        assert_close(pose[:3, :3], rotation.as_matrix(), 1e-14)
        assert_close(pose[:, 3], [*p, 1.0], 0.0)


@pytest.mark.parametrize(
    ("quaternion", "message"),
    [
        ([0, 0, 0, 0], "length 0"),
        ([0, 0, 0, 2], "length 2"),
        ([0, 0, np.nan, 1], "length nan"),
        ([0, 0, 0, 1.0011], "length 1.0011"),
    ],
)
def test_no_pose(quaternion: Any, message: str) -> None:
    with pytest.raises(RobotDynamicsError, match=message):
        pose_of(np.zeros(3), np.array(quaternion))


def test_pose_error_leads_to_the_desired_pose() -> None:
    pose = np.eye(4)
    desired = np.eye(4)
    pose[:3, :3] = rotated([0.0, 0.0, 1.2])
    desired[:3, :3] = rotated([0.0, 0.3, 0.0]) @ pose[:3, :3]
    pose[:3, 3] = (1.0, 2.0, 3.0)
    desired[:3, 3] = (1.1, 2.0, 2.8)
    assert_close(pose_error(desired, pose), [0.1, 0.0, -0.2, 0.0, 0.3, 0.0], 1e-15)
