"""Derivatives of inverse dynamics and the Coriolis matrix.

Against Pinocchio's, which know nothing of rotors and couplings; against differences; and as Christoffel
symbols (Spong (9.61)-(9.63)) and by what these promise (Spong, proposition 9.1: dM/dt - 2 C is skew).
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import arms
import numpy as np
import pytest
from comparing import assert_close
from hypothesis import given
from numpy.typing import NDArray
from pinocchio_peer import Peer
from robots_with_drives import Robot, robots, size, slope, state, stride

from robot_dynamics_ros import RobotModel

Array = NDArray[np.float64]


def _sizes(model: RobotModel, q: Array, qd: Array, qdd: Array, rate: float) -> tuple[float, float]:
    """Size of the terms of dtau/dq and dtau/dqd, where ``rate`` is that of the fastest chain."""
    torque = size(model, q, qd, qdd)
    return rate * torque, rate * float(np.abs(model.mass_matrix(q)).max() * np.abs(qd).sum()) + 1.0


@pytest.mark.parametrize("name", ["panda", "ur5e", "puma560", "scara"])
def test_shipped_robot_agrees_with_pinocchio(
    name: str, load_robot: Callable[..., Any], urdf_path: Callable[[str], Path]
) -> None:
    model = load_robot(name)
    peer = Peer(urdf_path(name).read_text(), model.joint_names)
    for q, qd, qdd in zip(*arms.states(9, model.n, 50), strict=True):
        for got, expected in zip(
            model.inverse_dynamics_derivatives(q, qd, qdd), peer.derivatives(q, qd, qdd), strict=True
        ):
            assert_close(got, expected, 1e-12)


@given(robot=robots())
def test_any_robot_agrees_with_pinocchio(robot: Robot) -> None:
    """G^T (dtau_tree/dq) G of the tree in which each rotor is a body of its own."""
    model = robot.model()
    tree = robot.pinocchio(model.joint_names)
    q, qd, qdd = state(robot, model.n)
    # Large torques may add up to small ones in the tree.
    row = float(np.max(np.abs(tree.g).T @ np.abs(tree.rnea(q, qd, qdd))))
    scales = np.array(_sizes(model, q, qd, qdd, stride(robot, model.joint_names, rotors=True))) + row
    for got, expected, scale in zip(
        model.inverse_dynamics_derivatives(q, qd, qdd), tree.derivatives(q, qd, qdd), scales, strict=True
    ):
        assert_close(got, expected, 1e-11, float(scale))


@given(robot=robots())
def test_differences_of_the_torque(robot: Robot) -> None:
    model = robot.model()
    q, qd, qdd = state(robot, model.n)
    dq, dqd = model.inverse_dynamics_derivatives(q, qd, qdd)
    rate = stride(robot, model.joint_names)
    by_position, by_rate = _sizes(model, q, qd, qdd, rate)
    for k, unit in enumerate(np.eye(model.n)):
        moved = slope(lambda h, e=unit: model.inverse_dynamics(q + h * e, qd, qdd), rate)
        assert_close(dq[:, k], moved, 1e-8, by_position)
        # Quadratic in the rates: a central difference over any step is exact.
        faster = (model.inverse_dynamics(q, qd + unit, qdd) - model.inverse_dynamics(q, qd - unit, qdd)) / 2.0
        assert_close(dqd[:, k], faster, 1e-12, by_rate + by_position)


@given(robot=robots())
def test_coriolis_matrix_is_the_sum_of_christoffel_symbols(robot: Robot) -> None:
    """C_kj = sum_i (dm_kj/dq_i + dm_ki/dq_j - dm_ij/dq_k) qd_i / 2, Spong (9.58) and (9.62), by differences."""
    model = robot.model()
    q, qd, _ = state(robot, model.n)
    rate = stride(robot, model.joint_names)
    change = np.array([slope(lambda h, e=unit: model.mass_matrix(q + h * e), rate) for unit in np.eye(model.n)])
    symbols = change.transpose(1, 2, 0) + change.transpose(1, 0, 2) - change.transpose(0, 1, 2)
    # change[i, k, j] = dm_kj/dq_i, so that symbols[k, j, i] is the bracket.
    expected = 0.5 * np.einsum("kji,i->kj", symbols, qd)
    scale = rate * float(np.abs(model.mass_matrix(q)).max() * np.abs(qd).sum())
    assert_close(model.coriolis_matrix(q, qd), expected, 1e-9, scale)


@given(robot=robots())
def test_what_the_coriolis_matrix_promises(robot: Robot) -> None:
    """C qd + g is the bias; C is linear in the rates; dM/dt - 2 C is skew, with dM/dt along the motion."""
    model = robot.model()
    q, qd, _ = state(robot, model.n)
    c, gravity = model.coriolis_matrix(q, qd), model.gravity_torque(q)
    fastest = stride(robot, model.joint_names, qd)
    scale = float(np.abs(c) @ np.abs(qd) @ np.ones(model.n)) + float(np.abs(gravity).max())
    scale += stride(robot, model.joint_names) * size(model, q, qd, np.zeros(model.n))
    assert_close(c @ qd + gravity, model.bias_torque(q, qd), 1e-12, scale)
    other = np.random.default_rng(robot.seed).uniform(-3, 3, model.n)
    both = model.coriolis_matrix(q, qd + other)
    parts = model.coriolis_matrix(q, other)
    assert_close(both, c + parts, 1e-12, scale + float(np.abs(parts).max()))
    # Both ways round gives the same cross terms: the symbols are symmetric.
    assert_close(c @ other, parts @ qd, 1e-12, 10.0 * scale)
    change = slope(lambda h: model.mass_matrix(q + h * qd), fastest)
    skew = change - 2.0 * c
    assert_close(skew, -skew.T, 1e-9, fastest * float(np.abs(model.mass_matrix(q)).max()))


@given(robot=robots())
def test_derivatives_without_motion(robot: Robot) -> None:
    """At rest dtau/dqd is zero, and dtau/dq is the gradient of gravity: symmetric, a Hessian."""
    model = robot.model()
    q, rest = state(robot, model.n)[0], np.zeros(model.n)
    dq, dqd = model.inverse_dynamics_derivatives(q, rest, rest)
    assert_close(dqd, np.zeros((model.n, model.n)), 0.0)
    scale = stride(robot, model.joint_names) * float(np.abs(model.gravity_torque(q)).max() + 1.0)
    assert_close(dq, dq.T, 1e-11, scale)


def test_an_arm_far_from_its_root_keeps_its_digits() -> None:
    """Where the arm stands changes nothing, though lever arms of 1000 km would cost twelve digits."""
    arm = arms.random_arm(
        np.random.default_rng(4), [0, 1, 2, 0, 4], ["revolute", "continuous", "prismatic", "revolute", "revolute"]
    )
    moved = arm
    for joint in arm.joints:
        if joint.parent == arm.links[0].name:
            moved = moved.with_joint(joint.name, xyz=np.asarray(joint.xyz) + [1e6, -2e6, 3e6])
    near, far = RobotModel.from_urdf(arm.urdf), RobotModel.from_urdf(moved.urdf)
    q, qd, qdd = (x[0] for x in arms.states(5, near.n, 1))
    for got, expected in zip(
        far.inverse_dynamics_derivatives(q, qd, qdd), near.inverse_dynamics_derivatives(q, qd, qdd), strict=True
    ):
        assert_close(got, expected, 1e-8)
