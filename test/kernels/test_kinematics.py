"""Poses, Jacobians and Jdot qd of links: against Pinocchio, METR4202's numbers, and differences of the motion."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import arms
import numpy as np
import pytest
from comparing import assert_close
from hypothesis import given
from numpy.typing import NDArray
from oracles import metr4202_statics
from pinocchio_peer import Peer
from robots_with_drives import Robot, robots, slope, state, stride

from robot_dynamics_ros import RobotDynamicsError, RobotModel

Array = NDArray[np.float64]


def _links(robot: Robot) -> list[str]:
    """The root, the last link, and some between."""
    names = [link.name for link in robot.bare.links]
    rng = np.random.default_rng(robot.seed)
    return [names[0], names[-1], *map(str, rng.choice(names, min(3, len(names)), replace=False))]


@pytest.mark.parametrize("name", ["panda", "ur5e", "puma560", "scara"])
def test_shipped_robot_agrees_with_pinocchio(
    name: str, load_robot: Callable[..., Any], urdf_path: Callable[[str], Path]
) -> None:
    model = load_robot(name)
    peer = Peer(urdf_path(name).read_text(), model.joint_names)
    for q, qd, _ in zip(*arms.states(14, model.n, 10), strict=True):
        for link in model.link_names:
            assert_close(model.link_pose(q, link), peer.pose(q, link), 1e-13)
            assert_close(model.jacobian(q, link), peer.jacobian(q, link), 1e-13)
            assert_close(model.jacobian_dot_qd(q, qd, link), peer.jacobian_dot_qd(q, qd, link), 1e-12)


@given(robot=robots(rotors=False))
def test_any_robot_agrees_with_pinocchio(robot: Robot) -> None:
    """With the tree at G q + c: J = J_tree G, and as G is constant Jdot qd is the tree's."""
    model = robot.model()
    tree = robot.pinocchio(model.joint_names)
    q, qd, _ = state(robot, model.n)
    fast = stride(robot, model.joint_names, qd)
    for link in set(_links(robot)) - {model.link_names[0]}:
        pose = tree.peer.pose(tree.position(q), link)
        reach = 1.0 + float(np.abs(tree.position(q)).sum())
        assert_close(model.link_pose(q, link), pose, 1e-13, reach)
        assert_close(model.jacobian(q, link), tree.jacobian(q, link), 1e-13, 10.0 * reach)
        expected = tree.peer.jacobian_dot_qd(tree.position(q), tree.g @ qd, link)
        assert_close(model.jacobian_dot_qd(q, qd, link), expected, 1e-13, reach * fast**2)


@given(robot=robots(rotors=False))
def test_differences_of_the_motion(robot: Robot) -> None:
    """J qd is the rate of the pose (Craig 5.11), Jdot qd the rate of J qd at constant rates."""
    model = robot.model()
    q, qd, _ = state(robot, model.n)
    fast = stride(robot, model.joint_names, qd)
    for link in _links(robot):
        pose = model.link_pose(q, link)
        rate = slope(lambda h, link=link: model.link_pose(q + h * qd, link), fast)
        twist = model.jacobian(q, link) @ qd
        # dR/dt R^T is the cross-product matrix of the angular velocity.
        spin = rate[:3, :3] @ pose[:3, :3].T
        turning = [spin[2, 1], spin[0, 2], spin[1, 0]]
        scale = fast * (1.0 + float(np.abs(pose).max()))
        assert_close(np.concatenate([rate[:3, 3], turning]), twist, 1e-9, scale)
        change = slope(lambda h, link=link: model.jacobian(q + h * qd, link) @ qd, fast)
        assert_close(model.jacobian_dot_qd(q, qd, link), change, 1e-9, fast * scale)


@given(robot=robots(rotors=False))
def test_root_and_gravity(robot: Robot) -> None:
    """The root link never moves, and kinematics know no gravity."""
    model, tilted = robot.model(), robot.model(gravity=[7.0, -5.0, 3.0])
    q, qd, _ = state(robot, model.n)
    root = model.link_names[0]
    assert np.array_equal(model.link_pose(q, root), np.eye(4))
    assert not model.jacobian(q, root).any() and not model.jacobian_dot_qd(q, qd, root).any()
    for link in _links(robot):
        pose = model.link_pose(q, link)
        assert_close(pose[:3, :3] @ pose[:3, :3].T, np.eye(3), 1e-12)
        assert np.array_equal(pose[3], [0.0, 0.0, 0.0, 1.0])
        scale = stride(robot, model.joint_names, qd) ** 2
        assert_close(tilted.jacobian_dot_qd(q, qd, link), model.jacobian_dot_qd(q, qd, link), 1e-12, scale)


def test_printed_jacobian() -> None:
    """METR4202 tutorial 4, Q.1."""
    l1, l2 = metr4202_statics.LENGTHS
    model = RobotModel.from_urdf(arms.planar_2r(l1, l2, arms.Link("", 1.0), arms.Link("", 1.0)).urdf)
    q = metr4202_statics.POSITION
    expected = metr4202_statics.jacobian(q)
    assert_close(model.jacobian(q, "tool")[:2], expected, 1e-14)
    assert_close(model.jacobian(q, "tool")[2:], [[0, 0], [0, 0], [0, 0], [1, 1]], 0.0)
    np.testing.assert_allclose(model.jacobian(q, "tool")[:2], metr4202_statics.PRINTED_JACOBIAN, atol=5e-4)


def test_a_point_of_the_first_body_goes_round() -> None:
    """Its acceleration is -w^2 r."""
    arm = arms.planar_2r(1.0, 0.5, arms.Link("", 1.0), arms.Link("", 1.0))
    model = RobotModel.from_urdf(arm.urdf, joints=["joint1"], locked={"joint2": 0.0})
    assert_close(model.jacobian_dot_qd([0.0], [2.0], "tool"), [-(2.0**2) * 1.5, 0, 0, 0, 0, 0], 1e-15)


@pytest.mark.parametrize("call", ["link_pose", "jacobian", "jacobian_dot_qd"])
def test_unknown_link(call: str) -> None:
    model = RobotModel.from_urdf(arms.random_arm(np.random.default_rng(0), [0], ["revolute"]).urdf)
    vectors = [np.zeros(1)] * (2 if call == "jacobian_dot_qd" else 1)
    with pytest.raises(RobotDynamicsError, match=f"(?s)(?=.*gripper)(?=.*{model.link_names[1]})"):
        getattr(model, call)(*vectors, "gripper")
