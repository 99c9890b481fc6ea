"""Forward dynamics against Pinocchio's ABA, and as the inverse of inverse dynamics."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import arms
import numpy as np
import pytest
from comparing import assert_close
from hypothesis import given
from hypothesis import strategies as st
from pinocchio_peer import Peer
from robots_with_drives import Robot, robots, size, state, wrenches

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.kernels.entries import make_work
from robot_dynamics_ros.kernels.forward_dynamics import solve_held_motion, solve_motion


@pytest.mark.parametrize("name", ["panda", "ur5e", "puma560"])
def test_shipped_robot_agrees_with_pinocchio(
    name: str, load_robot: Callable[..., Any], urdf_path: Callable[[str], Path]
) -> None:
    """The error of an acceleration is that of a torque times the condition of M.

    So 1e-10 is relative to the largest acceleration.
    """
    model = load_robot(name)
    peer = Peer(urdf_path(name).read_text(), model.joint_names)
    for q, qd, tau in zip(*arms.states(3, model.n, 100), strict=True):
        assert_close(model.forward_dynamics(q, qd, tau), peer.aba(q, qd, tau), 1e-10)


@given(arm=arms.trees())
def test_any_tree_agrees_with_pinocchio(arm: arms.Arm) -> None:
    model = RobotModel.from_urdf(arm.urdf)
    peer = Peer(arm.urdf, model.joint_names)
    q, qd, tau = (x[0] for x in arms.states(arm.seed, model.n, 1))
    assert_close(model.forward_dynamics(q, qd, tau), peer.aba(q, qd, tau), 1e-9)


@given(arm=arms.trees())
def test_external_wrenches_agree_with_pinocchio(arm: arms.Arm) -> None:
    model = RobotModel.from_urdf(arm.urdf)
    peer = Peer(arm.urdf, model.joint_names)
    wrench = {arm.links[-1].name: np.random.default_rng(arm.seed).uniform(-20, 20, 6)}
    q, qd, tau = (x[0] for x in arms.states(arm.seed, model.n, 1))
    expected = peer.aba(q, qd, tau, wrench)
    assert_close(model.forward_dynamics(q, qd, tau, external_wrenches=wrench), expected, 1e-9)


@given(arm=arms.trees())
def test_undoes_inverse_dynamics(arm: arms.Arm) -> None:
    model = RobotModel.from_urdf(arm.urdf)
    q, qd, qdd = (x[0] for x in arms.states(arm.seed, model.n, 1))
    again = model.forward_dynamics(q, qd, model.inverse_dynamics(q, qd, qdd))
    assert_close(again, qdd, 1e-9)


@pytest.mark.parametrize(
    ("name", "dynamics"),
    [
        *((name, None) for name in ("panda", "ur5e", "puma560", "scara", "planar_2r")),
        *((name, name) for name in ("panda", "ur5e", "puma560", "scara")),
        ("planar_2r", "planar_2r_craig"),
        ("planar_2r", "planar_2r_tsai"),
    ],
)
def test_undoes_inverse_dynamics_of_shipped_robots(
    name: str, dynamics: str | None, load_robot: Callable[..., Any]
) -> None:
    model = load_robot(name, dynamics)
    for q, qd, qdd in zip(*arms.states(5, model.n, 50), strict=True):
        again = model.forward_dynamics(q, qd, model.inverse_dynamics(q, qd, qdd))
        assert np.abs(again - qdd).max() < 1e-9


@given(robot=robots(), loaded=st.booleans())
def test_inverse_and_forward_dynamics_undo_each_other(robot: Robot, loaded: bool) -> None:
    """With couplings, rotors, payload and wrenches.

    Torques come back to rounding; an acceleration's error is that of the torque times M^-1.
    """
    model = robot.model()
    q, qd, qdd = state(robot, model.n)
    loads = wrenches(robot) if loaded else None
    tau = model.inverse_dynamics(q, qd, qdd, loads)
    scale = size(model, q, qd, qdd) + float(np.abs(tau).max())
    m = model.mass_matrix(q)
    gain = float(np.abs(np.linalg.inv(m)).sum(axis=1).max())
    found = model.forward_dynamics(q, qd, tau, loads)
    assert_close(found, qdd, 1e-12 * max(1.0, gain * scale))
    again = model.inverse_dynamics(q, qd, found, loads)
    assert_close(again, tau, 1e-12, scale + float(np.max(np.abs(m) @ np.abs(found))))


@given(robot=robots(), held=st.integers(0, 255))
def test_held_joints(robot: Robot, held: int) -> None:
    """A qdd + h = force + reaction: held joints do not accelerate, and only they have a reaction."""
    model = robot.model()
    n, kernels = model.n, model.packed.robot
    q, qd, force = state(robot, n)
    stiffness = np.linspace(0.5, 2.0, n)
    moves = np.array([float(not held >> k & 1) for k in range(n)])
    motion, none = np.empty((2 + n, n)), np.empty((0, 6))
    failed = solve_held_motion(
        kernels, q, qd, force, stiffness, moves, none, make_work(kernels), np.empty((n, n)), motion
    )
    assert failed == -1
    matrix, bias = model.mass_matrix(q) + np.diag(stiffness), model.bias_torque(q, qd)
    free = moves == 1.0
    acceleration = np.zeros(n)
    acceleration[free] = np.linalg.solve(matrix[np.ix_(free, free)], (force - bias)[free])
    gain = float(np.abs(np.linalg.inv(matrix)).sum(axis=1).max())
    scale = float(np.abs(bias).max()) + size(model, q, qd, acceleration)
    assert_close(motion[0], acceleration, 1e-12 * max(1.0, gain * scale))
    reaction = np.where(free, 0.0, matrix @ acceleration + bias - force)
    assert_close(motion[1], reaction, 1e-12 * max(1.0, float(np.linalg.cond(matrix))), scale)
    assert not motion[0][~free].any() and not motion[1][free].any()
    assert_close(motion[2:], matrix, 1e-14)


def test_what_cannot_be_solved_is_told() -> None:
    """Without inertia there is no acceleration; -1 says that there is one."""
    arm = arms.planar_2r(1.0, 1.0, arms.Link("", 1.0, (0.5, 0.0, 0.0)), arms.Link("", 1.0, (0.5, 0.0, 0.0)))
    robot = RobotModel.from_urdf(arm.urdf).packed.robot
    ones, none, matrix, qdd, motion = np.ones(2), np.empty((0, 6)), np.empty((2, 2)), np.empty(2), np.empty((4, 2))
    assert solve_motion(robot, ones, ones, ones, none, make_work(robot), matrix, qdd) == -1
    for singular in (0, 1):
        stiffness = np.zeros(2)
        stiffness[singular] = -100.0
        work = make_work(robot)
        assert solve_held_motion(robot, ones, ones, ones, stiffness, ones, none, work, matrix, motion) == singular
