"""Velocities and static forces against rigid-body kinematics, virtual work, the kernels, and Craig's exercises."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from oracles import craig_jacobians
from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.base.resources import robot_urdf
from robot_dynamics_ros.dynamics.model.link_tree import LinkTree
from robot_dynamics_ros.textbooks.propagation import (
    angle_rate_matrix,
    angular_velocity,
    cross_matrix,
    force_jacobian,
    force_transform,
    frame_velocity,
    inverse_pose,
    joint_torques,
    link_forces,
    rotated_jacobian,
    velocity_jacobian,
    velocity_transform,
)
from support import arms
from support.comparing import assert_close
from support.robots_with_drives import Array, Robot, robots, state


def _pose(seed: int) -> Array:
    rng = np.random.default_rng(seed)
    pose = np.eye(4)
    pose[:3, :3] = arms.rotation(rng)
    pose[:3, 3] = rng.normal(size=3)
    return pose


def test_cross_matrix() -> None:
    p, a = np.random.default_rng(0).normal(size=(2, 3))
    assert_close(cross_matrix(p) @ a, np.cross(p, a), 1e-15)


def test_a_rigid_body_seen_from_two_frames() -> None:
    """Velocities; and forces, by the power, which is the same in both frames: F_A . v_A = F_B . v_B."""
    pose = _pose(1)
    (v, f) = np.random.default_rng(2).normal(size=(2, 6))
    r = pose[:3, :3]
    p = pose[:3, 3]
    # The point at the origin of B moves with v + w x p.
    expected = np.concatenate([r.T @ (v[:3] + np.cross(v[3:], p)), r.T @ v[3:]])
    assert_close(velocity_transform(inverse_pose(pose)) @ v, expected, 1e-14)
    assert (velocity_transform(pose) @ v) @ (
        force_transform(pose) @ f
    ) == pytest.approx(v @ f, rel=1e-13)
    assert_close(force_transform(pose), velocity_transform(inverse_pose(pose)).T, 1e-15)


def test_transforms_follow_one_another() -> None:
    a_b = _pose(4)
    b_c = _pose(5)
    for transform in (velocity_transform, force_transform):
        assert_close(transform(a_b @ b_c), transform(a_b) @ transform(b_c), 1e-14)
    assert_close(inverse_pose(a_b) @ a_b, np.eye(4), 1e-15)


def test_a_rotation_alone_changes_the_axes_of_a_jacobian() -> None:
    """Craig (5.71)."""
    pose = _pose(6)
    j = np.random.default_rng(6).normal(size=(6, 4))
    pose[:3, 3] = 0.0
    assert_close(rotated_jacobian(pose[:3, :3], j), velocity_transform(pose) @ j, 1e-14)


def test_craig_exercise_5_11() -> None:
    """The printed axes, 0.866 and 0.500, need a tolerance."""
    pose = craig_jacobians.EXERCISE_5_11_POSE
    with pytest.raises(RobotDynamicsError, match=r"differs from 1 by 4\.4e-05"):
        inverse_pose(pose)
    result = (
        velocity_transform(inverse_pose(pose, 2e-3))
        @ craig_jacobians.EXERCISE_5_11_VELOCITY
    )
    assert_close(result, craig_jacobians.EXERCISE_5_11_ANSWER, 1e-5)
    assert_close(
        force_transform(pose, 2e-3).T @ velocity_transform(pose, 2e-3), np.eye(6), 1e-14
    )


SETS = [a + b + c for a in "xyz" for b in "xyz" for c in "xyz" if b not in (a, c)]


@pytest.mark.parametrize("axes", [*SETS, *map(str.upper, SETS)])
def test_rates_of_all_24_sets_of_angles(axes: str) -> None:
    """Craig (5.37), (5.41), (5.42): against SciPy's rotations and their slopes."""
    angles = np.array([0.4, -1.1, 0.7])
    rates = np.array([0.3, 1.2, -0.8])
    rotations = [
        Rotation.from_euler(axes, angles + h * rates).as_matrix()
        for h in (-1e-4, 0.0, 1e-4)
    ]
    w = angular_velocity(rotations[1], (rotations[2] - rotations[0]) / 2e-4)
    assert_close(angle_rate_matrix(axes, angles) @ rates, w, 1e-7)


def test_euler_angle_rates_in_print() -> None:
    """Craig (5.42), example 5.2; (5.37) for a rotation about z."""
    expected = craig_jacobians.zyz_rates_to_angular_velocity(0.4, -1.1)
    assert_close(angle_rate_matrix("ZYZ", [0.4, -1.1, 0.7]), expected, 1e-15)
    about_z = Rotation.from_euler("z", 0.6).as_matrix()
    assert_close(
        angular_velocity(about_z, 1.5 * cross_matrix([0, 0, 1]) @ about_z),
        [0.0, 0.0, 1.5],
        1e-15,
    )
    for axes in ("ZZY", "Zyz", "zy", "abc"):
        with pytest.raises(RobotDynamicsError, match=axes):
            angle_rate_matrix(axes, [0.1, 0.2, 0.3])
    with pytest.raises(RobotDynamicsError, match="skew"):
        angular_velocity(about_z, about_z)
    with pytest.raises(RobotDynamicsError, match="rate"):
        angular_velocity(about_z, [0.0, 0.0, 1.5])
    with pytest.raises(RobotDynamicsError, match="rotation"):
        angular_velocity(np.eye(2), np.eye(2))
    with pytest.raises(RobotDynamicsError, match="angles"):
        angle_rate_matrix("ZYZ", [0.1, 0.2])


_TRANSPOSED = np.eye(4)
_UNKNOWN = np.eye(4)
_TRANSPOSED[3, 0] = 0.5
_UNKNOWN[0, 3] = np.nan


@pytest.mark.parametrize(
    "pose",
    [
        np.eye(3),
        2.0 * np.eye(4),
        np.diag([1.0, 1.0, -1.0, 1.0]),
        np.full((4, 4), np.nan),
        _TRANSPOSED,
        _UNKNOWN,
    ],
)
def test_invalid_poses_are_refused(pose: Array) -> None:
    for function in (velocity_transform, force_transform, inverse_pose):
        with pytest.raises(RobotDynamicsError, match="pose"):
            function(pose)


@given(robot=robots(), k=st.integers(0, 10**6))
def test_any_link_of_any_robot(robot: Robot, k: int) -> None:
    model = robot.model()
    link = model.link_names[k % len(model.link_names)]
    q, qd, _ = state(robot, model.n)
    expected = model.jacobian(q, link)
    turn = model.link_pose(q, link)[:3, :3]
    assert_close(
        rotated_jacobian(turn, velocity_jacobian(model, q, link)), expected, 1e-10
    )
    assert_close(
        rotated_jacobian(turn, frame_velocity(model, q, qd, link)[:, None])[:, 0],
        expected @ qd,
        1e-10,
    )


@given(robot=robots())
def test_forces_on_any_robot(robot: Robot) -> None:
    """The torque of inverse dynamics at rest under the reaction of the environment, minus the gravity torque."""
    model = robot.model()
    link = model.link_names[-1]
    q = arms.states(robot.seed, model.n, 1)[0][0]
    rest = np.zeros(model.n)
    force = np.random.default_rng(robot.seed).normal(size=6)
    pushed = model.inverse_dynamics(
        q, rest, rest, external_wrenches={link: -force}
    ) - model.gravity_torque(q)
    scale = float(np.abs(model.gravity_torque(q)).max())
    assert_close(joint_torques(model, q, force, link), pushed, 1e-10, scale)
    # Three ways to one Jacobian: Craig, exercise 5.3.
    assert_close(
        force_jacobian(model, q, link), velocity_jacobian(model, q, link), 1e-10
    )


def test_all_of_the_force_reaches_the_base() -> None:
    """Each link transmits the same force and the same moment about the root's origin; other links none."""
    model = RobotModel.from_urdf_file(robot_urdf("ur5e"))
    tree = LinkTree.of(model)
    force = np.array([3.0, -1.0, 2.0, 0.5, 0.4, -0.3])
    q = np.array([0.4, -1.2, 1.4, -1.7, -1.4, 0.3])
    f, n = link_forces(model, q, force, "tool0")
    rotations, origins = tree.base_placements(q)
    pose = model.link_pose(q, "tool0")
    in_root = pose[:3, :3] @ force[:3]
    moment = pose[:3, :3] @ force[3:] + np.cross(pose[:3, 3], in_root)
    for i in range(len(tree.links)):
        at_link = rotations[i] @ f[i]
        assert_close(at_link, in_root, 1e-13)
        assert_close(rotations[i] @ n[i] + np.cross(origins[i], at_link), moment, 1e-13)
    f, n = link_forces(model, q, force, "forearm_link")
    assert (
        np.all(f[3:] == 0.0)
        and np.all(n[3:] == 0.0)
        and np.all(np.abs(f[:3]).max(axis=1) > 1.0)
    )
    assert np.all(link_forces(model, q, force, model.link_names[0])[0] == 0.0)


def test_wrong_arguments() -> None:
    model = RobotModel.from_urdf_file(robot_urdf("ur5e"))
    with pytest.raises(RobotDynamicsError, match="hand"):
        velocity_jacobian(model, np.zeros(6), "hand")
    with pytest.raises(RobotDynamicsError, match="hand"):
        joint_torques(model, np.zeros(6), np.zeros(6), "hand")
    with pytest.raises(RobotDynamicsError, match="force"):
        joint_torques(model, np.zeros(6), np.zeros(3), "tool0")
