"""Robots with couplings, rotors and payload, compared with Pinocchio's tree, in which rotors are bodies.

q_tree = G q + c, and by virtual work tau = G^T tau_tree, M = G^T M_tree G.
"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics_ros import RobotModel
from support.comparing import assert_close
from support.robots_with_drives import Robot, robots, size, state, stride, wrenches


@given(robot=robots(), loaded=st.booleans())
def test_inverse_and_forward_dynamics(robot: Robot, loaded: bool) -> None:
    """The error of an acceleration is M^-1 times that of a torque."""
    model = robot.model()
    assert set(model.joint_names) == {
        *robot.coordinates,
        *(x for x in robot.bare.movable if x not in robot.rows),
    }
    tree = robot.pinocchio(model.joint_names)
    q, qd, qdd = state(robot, model.n)
    rest = np.zeros(model.n)
    external_wrenches = wrenches(robot) if loaded else None
    m = model.mass_matrix(q)
    expected = tree.mass_matrix(q)
    assert_close(m, expected, 1e-12)
    assert np.array_equal(m, m.T)
    assert np.linalg.eigvalsh(m).min() > 0.0
    for motion in ((qd, qdd), (qd, rest), (rest, rest)):
        rows = tree.rnea(q, *motion, external_wrenches)
        scale = float(np.max(np.abs(tree.g).T @ np.abs(rows))) + size(model, q, *motion)
        tau = tree.g.T @ rows
        assert_close(
            model.inverse_dynamics(q, *motion, external_wrenches), tau, 1e-12, scale
        )
        gain = float(np.abs(np.linalg.inv(expected)).sum(axis=1).max())
        result = model.forward_dynamics(q, motion[0], tau, external_wrenches)
        assert_close(result, motion[1], 1e-12 * max(1.0, gain * scale))
        # Torques are recovered up to rounding for any condition number of M.
        again = model.inverse_dynamics(q, motion[0], result, external_wrenches)
        assert_close(
            again, tau, 1e-12, scale + float(np.max(np.abs(m) @ np.abs(result)))
        )


@given(robot=robots())
def test_derivatives_of_inverse_dynamics(robot: Robot) -> None:
    """G^T (dtau_tree/dq) G."""
    model = robot.model()
    tree = robot.pinocchio(model.joint_names)
    q, qd, qdd = state(robot, model.n)
    rate = stride(robot, model.joint_names, rotors=True)
    row = np.abs(tree.g).T @ np.abs(tree.rnea(q, qd, qdd))
    by_rate = rate * float(np.abs(model.mass_matrix(q)).max() * np.abs(qd).sum()) + 1.0
    # Large torques may add up to small ones in the tree.
    scales = np.array([rate * size(model, q, qd, qdd), by_rate]) + float(row.max())
    result = model.inverse_dynamics_derivatives(q, qd, qdd)
    for got, expected, scale in zip(
        result, tree.derivatives(q, qd, qdd), scales, strict=True
    ):
        assert_close(got, expected, 1e-11, float(scale))


@given(robot=robots(), loaded=st.booleans())
def test_joint_reactions(robot: Robot, loaded: bool) -> None:
    """Reactions for an actuator at each joint."""
    model = robot.model()
    assert sorted(model.moving_joints) == sorted(robot.bare.movable)
    tree = robot.pinocchio(model.joint_names)
    q, qd, qdd = state(robot, model.n)
    external_wrenches = wrenches(robot) if loaded else None
    motion = tree.position(q), tree.g @ qd, tree.g @ qdd
    expected = tree.peer.reactions(*motion, model.moving_joints, external_wrenches)
    # Masses times accelerations, and arms of some metres.
    acceleration = (
        10.0
        + stride(robot, model.joint_names, qd) ** 2
        + stride(robot, model.joint_names, qdd)
    )
    scale = 10.0 * len(robot.bare.links) ** 2 * acceleration
    assert_close(
        model.joint_reactions(q, qd, qdd, external_wrenches), expected, 1e-12, scale
    )


@given(robot=robots())
def test_energies(robot: Robot) -> None:
    """Kinetic energy with the rotors' spin; potential energy up to a constant, that of fixed links."""
    model = robot.model()
    tree = robot.pinocchio(model.joint_names)
    q, qd, _ = state(robot, model.n)
    m = model.mass_matrix(q)
    rest = np.zeros(model.n)
    kinetic = model.kinetic_energy(q, qd)
    assert kinetic > 0.0 and model.kinetic_energy(q, rest) == 0.0
    expected = tree.peer.kinetic_energy(tree.position(q), tree.g @ qd)
    assert_close(kinetic, expected, 1e-13, float(np.abs(qd) @ np.abs(m) @ np.abs(qd)))
    rise = model.potential_energy(q) - model.potential_energy(rest)
    expected = tree.peer.potential_energy(
        tree.position(q)
    ) - tree.peer.potential_energy(tree.position(rest))
    assert_close(rise, expected, 1e-12, 100.0 * len(robot.bare.links) ** 2)


@given(robot=robots(rotors=False))
def test_poses_jacobians_and_their_rates(robot: Robot) -> None:
    """J = J_tree G. Since G is constant, dJ/dt qd is that of the tree, for any gravity; the root does not move."""
    model = robot.model()
    tilted = robot.model(gravity=[7.0, -5.0, 3.0])
    tree = robot.pinocchio(model.joint_names)
    q, qd, _ = state(robot, model.n)
    position = tree.position(q)
    fast = stride(robot, model.joint_names, qd)
    reach = 1.0 + float(np.abs(position).sum())
    links = np.random.default_rng(robot.seed).choice(model.link_names[1:], 3)
    for link in {*map(str, links), robot.bare.links[-1].name}:
        assert_close(
            model.link_pose(q, link), tree.peer.pose(position, link), 1e-13, reach
        )
        assert_close(
            model.jacobian(q, link), tree.jacobian(q, link), 1e-13, 10.0 * reach
        )
        expected = tree.peer.jacobian_dot_qd(position, tree.g @ qd, link)
        for each in (model, tilted):
            assert_close(
                each.jacobian_dot_qd(q, qd, link), expected, 1e-13, reach * fast**2
            )
    root = model.link_names[0]
    assert np.array_equal(model.link_pose(q, root), np.eye(4))
    assert (
        not model.jacobian(q, root).any()
        and not model.jacobian_dot_qd(q, qd, root).any()
    )


@given(robot=robots(rotors=False))
def test_regressor_and_inertial_parameters(robot: Robot) -> None:
    """Parameters of the link of each moving joint, about its origin, including all links fixed to it."""
    model: RobotModel = robot.model()
    q, qd, qdd = state(robot, model.n)
    tree = robot.pinocchio(model.joint_names)
    assert_close(
        model.inertial_parameters,
        tree.peer.inertial_parameters(model.moving_joints),
        1e-13,
        10.0,
    )
    rows = tree.peer.regressor(
        tree.position(q), tree.g @ qd, tree.g @ qdd, model.moving_joints
    )
    scale = float(np.abs(tree.g).sum() * np.abs(rows).max())
    assert_close(model.regressor(q, qd, qdd), tree.g.T @ rows, 1e-13, scale)
