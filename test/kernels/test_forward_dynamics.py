"""Forward dynamics against Pinocchio's ABA, and as the inverse of inverse dynamics."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import arms
import numpy as np
import pytest
from comparing import assert_close
from hypothesis import given
from pinocchio_peer import Peer

from robot_dynamics_ros import RobotModel


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
