"""Gap, Jacobian and drift of loops, compared with poses and motions of links from Pinocchio."""

import numpy as np
from hypothesis import given

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.dynamics.kernels.entries import make_work
from robot_dynamics_ros.dynamics.kernels.kinematics import (
    Loops,
    append_loops,
    measure_loops,
    unpack_loops,
)
from robot_dynamics_ros.dynamics.model.model_data import views
from support.arms import Array
from support.comparing import assert_close
from support.robots_with_drives import Robot, Tree, robots, state, stride


@given(robot=robots(rotors=False))
def test_loops_agree_with_pinocchio(robot: Robot) -> None:
    """A loop from the root and two between other links, of any tree with couplings; closed, and with other points."""
    model = robot.model()
    tree = robot.pinocchio(model.joint_names)
    q, qd, _ = state(robot, model.n)
    rng = np.random.default_rng(robot.seed)
    links = [model.link_names[0], *rng.choice(model.link_names[1:], 5).tolist()]
    at = rng.uniform(-0.5, 0.5, (3, 3))
    poses = [_pose(tree, q, link) for link in links]
    points = [
        np.linalg.solve(pose, [*at[k // 2], 1.0])[:3] for k, pose in enumerate(poses)
    ]
    size = 10.0 * len(model.link_names) * stride(robot, model.joint_names, qd) ** 2

    gap, jacobian, drift = _measured(model, links, points, q, qd)
    _, expected, bias = _differences(tree, q, qd, links, points)
    assert_close(gap, np.zeros(9), 1e-13, size)
    assert_close(jacobian, expected, 1e-13, size)
    assert_close(drift, bias, 1e-13, size)

    points = [point + rng.uniform(-0.5, 0.5, 3) for point in points]
    gap, _, drift = _measured(model, links, points, q, qd)
    apart, _, bias = _differences(tree, q, qd, links, points)
    assert_close(gap, apart, 1e-13, size)
    assert_close(drift, bias, 1e-13, size)


def _measured(
    model: RobotModel, links: list[str], points: list[Array], q: Array, qd: Array
) -> tuple[Array, Array, Array]:
    """Return gap, Jacobian and drift from the kernel. The loops are appended to both model arrays."""
    topology = model.kernels.topology.copy()
    parameters = model.kernels.parameters.copy()
    frames = [model.link_frames[link] for link in links]
    places = [
        frame.rotation @ point + frame.position
        for frame, point in zip(frames, points, strict=True)
    ]
    loops = Loops(
        np.array([[frame.body for frame in frames]]).reshape(3, 2),
        np.reshape(places, (3, 6)),
    )
    loops = unpack_loops(*append_loops(topology, parameters, loops))
    robot = views(topology, parameters)
    gap = np.empty(9)
    jacobian = np.empty((9, model.n))
    drift = np.empty(9)
    measure_loops(
        robot,
        loops,
        q,
        qd,
        make_work(robot),
        np.empty((len(robot.bodies), 12)),
        gap,
        jacobian,
        drift,
    )
    return gap, jacobian, drift


def _differences(
    tree: Tree, q: Array, qd: Array, links: list[str], points: list[Array]
) -> tuple[Array, Array, Array]:
    """Return gap, Jacobian and drift from Pinocchio: of each second point minus the one before."""
    ends = [
        _motion(tree, q, qd, link, point)
        for link, point in zip(links, points, strict=True)
    ]
    pairs = list(zip(ends[::2], ends[1::2], strict=True))
    gap, jacobian, drift = (
        np.concatenate([b[part] - a[part] for a, b in pairs]) for part in range(3)
    )
    return gap, jacobian, drift


def _pose(tree: Tree, q: Array, link: str) -> Array:
    return (
        tree.peer.pose(tree.position(q), link)
        if tree.peer.model.existBodyName(link)
        else np.eye(4)
    )


def _motion(
    tree: Tree, q: Array, qd: Array, link: str, point: Array
) -> tuple[Array, Array, Array]:
    """Return position, Jacobian and acceleration at qdd = 0 of a link's point, Craig (6.12)."""
    pose = _pose(tree, q, link)
    jacobian = tree.jacobian(q, link)
    linear, angular = np.split(
        tree.peer.jacobian_dot_qd(tree.position(q), tree.g @ qd, link), 2
    )
    r = pose[:3, :3] @ point
    w = jacobian[3:] @ qd
    moved = jacobian[:3] + np.cross(jacobian[3:].T, r).T
    return (
        pose[:3, 3] + r,
        moved,
        linear + np.cross(angular, r) + np.cross(w, np.cross(w, r)),
    )
