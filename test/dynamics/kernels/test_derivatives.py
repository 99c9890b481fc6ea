"""Coriolis matrix from Christoffel symbols, and the accuracy of derivatives far from the root."""

import numpy as np
from hypothesis import given

from robot_dynamics_ros import RobotModel
from support import arms
from support.comparing import assert_close
from support.robots_with_drives import Robot, robots, size, slope, state, stride


@given(robot=robots())
def test_coriolis_matrix_is_the_sum_of_christoffel_symbols(robot: Robot) -> None:
    """C_kj = sum_i (dm_kj/dq_i + dm_ki/dq_j - dm_ij/dq_k) qd_i / 2, Spong (9.58), (9.62), proposition 9.1."""
    model = robot.model()
    q, qd, _ = state(robot, model.n)
    rate = stride(robot, model.joint_names)
    change = np.array(
        [
            slope(lambda h, e=unit: model.mass_matrix(q + h * e), rate)
            for unit in np.eye(model.n)
        ]
    )
    symbols = (
        change.transpose(1, 2, 0)
        + change.transpose(1, 0, 2)
        - change.transpose(0, 1, 2)
    )
    # change[i, k, j] = dm_kj/dq_i, so that symbols[k, j, i] is the bracket.
    expected = 0.5 * np.einsum("kji,i->kj", symbols, qd)
    scale = rate * float(np.abs(model.mass_matrix(q)).max() * np.abs(qd).sum())
    c = model.coriolis_matrix(q, qd)
    gravity = model.gravity_torque(q)
    assert_close(c, expected, 1e-9, scale)
    scale = float(np.abs(c) @ np.abs(qd) @ np.ones(model.n)) + float(
        np.abs(gravity).max()
    )
    scale += rate * size(model, q, qd, np.zeros(model.n))
    assert_close(c @ qd + gravity, model.bias_torque(q, qd), 1e-12, scale)


def test_an_arm_far_from_its_root_keeps_its_digits() -> None:
    """Derivatives do not depend on the arm's base position; lever arms of 1000 km would lose twelve digits."""
    types = ["revolute", "continuous", "prismatic", "revolute", "revolute"]
    arm = moved = arms.random_arm(np.random.default_rng(4), [0, 1, 2, 0, 4], types)
    for joint in arm.joints:
        if joint.parent == arm.links[0].name:
            moved = moved.with_joint(
                joint.name, xyz=np.asarray(joint.xyz) + [1e6, -2e6, 3e6]
            )
    near = RobotModel.from_urdf(arm.urdf)
    far = RobotModel.from_urdf(moved.urdf)
    motion = [x[0] for x in arms.states(5, near.n, 1)]
    for got, expected in zip(
        far.inverse_dynamics_derivatives(*motion),
        near.inverse_dynamics_derivatives(*motion),
        strict=True,
    ):
        assert_close(got, expected, 1e-8)
