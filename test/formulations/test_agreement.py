"""All forms of the dynamics say the same as the kernels and the books, and so as each other.

So read as their files say where the print is wrong. Milicevic: the first sum of (2.4) has accelerations, gravity
enters by -m g^T U r, the sums of (4.3)-(4.5) begin at the joint's own link and that of (4.4) holds both its terms.
Tsai: (9.58) turns only the acceleration of the parent's origin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from oracles import craig_rp, tsai_planar_2r, tsai_scara
from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.formulations import (
    generalized_dalembert,
    lagrange_euler,
    lagrange_link_jacobians,
    newton_euler_base,
    newton_euler_links,
)
from robot_dynamics_ros.formulations.link_tree import LinkTree
from robot_dynamics_ros.resources import robot_names, robot_urdf
from support import arms
from support import robots_with_drives as drives

RECURSIVE = (newton_euler_base.newton_euler_base, newton_euler_links.newton_euler_links)
CLOSED = (
    lagrange_link_jacobians.generalized_forces,
    lagrange_euler.generalized_torque,
    generalized_dalembert.generalized_torque,
)
LARGEST = 10  # links: the closed forms grow with their fourth power


def check(model: RobotModel, state: tuple[Any, Any, Any]) -> None:
    tree = LinkTree.of(model)
    q, qd, qdd = state
    scale = 1.0 + drives.size(model, q, qd, qdd)
    tau = model.inverse_dynamics(q, qd, qdd)
    small = len(tree.links) <= LARGEST
    for form in RECURSIVE + CLOSED if small else RECURSIVE:
        np.testing.assert_allclose(form(tree, q, qd, qdd), tau, rtol=0, atol=1e-10 * scale, err_msg=str(form))
    f, n = newton_euler_links.joint_reactions(tree, q, qd, qdd)
    axes = model.packed.link_rotations.reshape(-1, 3, 3)  # from the URDF's link frames to those with z on the joint
    reactions = np.concatenate([np.einsum("iba,ib->ia", axes, part) for part in (f, n)], axis=1)
    kernels = model.joint_reactions(q, qd, qdd)
    np.testing.assert_allclose(reactions, kernels, rtol=0, atol=1e-10 * (scale + np.abs(kernels).max()))
    if small:
        M, weight = model.mass_matrix(q), 1e-10 * np.abs(model.mass_matrix(q)).max()
        D, h, c = lagrange_euler.dynamic_coefficients(tree, q)
        terms = generalized_dalembert.dalembert_terms(tree, q, qd)
        for matrix in (D, terms.D_rot + terms.D_tran, lagrange_link_jacobians.inertia_matrix(tree, q)):
            np.testing.assert_allclose(matrix, M, rtol=0, atol=weight)
        for gravity in (c, terms.c, lagrange_link_jacobians.gravity_vector(tree, q)):
            np.testing.assert_allclose(gravity, model.gravity_torque(q), rtol=0, atol=1e-10 * scale)
        np.testing.assert_allclose(h @ qd, model.coriolis_matrix(q, qd), rtol=0, atol=1e-10 * scale)


@pytest.mark.filterwarnings("ignore:.*no body can have:robot_dynamics_ros.RobotModelWarning")
@pytest.mark.parametrize("robot", robot_names())
def test_shipped_robots(robot: str, load_robot: Callable[..., RobotModel]) -> None:
    model = load_robot(robot, None if robot == "planar_2r" else robot)
    check(model, next(zip(*arms.states(7, model.n, 1), strict=True)))


@given(robot=drives.robots())
def test_any_robot(robot: drives.Robot) -> None:
    model = robot.model()
    check(model, drives.state(robot, model.n))


@pytest.mark.parametrize("form", RECURSIVE + CLOSED)
@pytest.mark.parametrize(
    ("book", "build", "down"),
    [
        (tsai_planar_2r, arms.tsai_planar_2r, (0.0, -9.81, 0.0)),
        (tsai_scara, arms.tsai_scara, (0.0, 0.0, -9.81)),
        (craig_rp, arms.craig_rp, (0.0, -9.81, 0.0)),
    ],
)
def test_books(book: ModuleType, build: Callable[[Any], arms.Arm], down: Any, form: Callable[..., Any]) -> None:
    """Tsai (9.73)-(9.74), (9.146)-(9.148), Craig example 6.5."""
    p = book.Parameters(0.5, 0.4, 3.0, 2.0, *([] if book is tsai_planar_2r else [1.0]))
    model = RobotModel.from_urdf(build(p).urdf, gravity=down)
    for q, qd, qdd in zip(*arms.states(1, model.n, 5), strict=True):
        expected = book.torque(p, q, qd, qdd)
        np.testing.assert_allclose(form(model, q, qd, qdd), expected, rtol=1e-12, atol=1e-11)


def test_gravity_is_the_base_accelerating_against_it() -> None:
    """Craig 6.5: a prismatic joint along the vertical feels -g as it feels that acceleration."""
    arm = arms.random_arm(np.random.default_rng(5), [0, 1, 2], ["prismatic", "revolute", "revolute"])
    arm = arm.with_joint(arm.movable[0], axis=(0, 0, 1), rpy=(0, 0, 0))
    tree = LinkTree.of(RobotModel.from_urdf(arm.urdf))
    q, qd, qdd = (x[0] for x in arms.states(2, 3, 1))
    lifted, floating = qdd - [tree.gravity[2], 0.0, 0.0], replace(tree, gravity=np.zeros(3))
    for form in RECURSIVE:
        np.testing.assert_allclose(form(tree, q, qd, qdd), form(floating, q, qd, lifted), rtol=1e-11)


@pytest.mark.parametrize("form", RECURSIVE + CLOSED)
def test_wrong_shape(form: Callable[..., Any]) -> None:
    model = RobotModel.from_urdf_file(robot_urdf("planar_2r"))
    with pytest.raises(RobotDynamicsError, match=r"qd .*\(3,\)"):
        form(model, [0, 0], [0, 0, 0], [0, 0])
