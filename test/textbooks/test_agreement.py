"""All formulations agree with the kernels and the books, and therefore with each other.

Misprints are corrected. Milicevic: the first sum of (2.4) has accelerations, gravity enters by -m g^T U r, the sums of
(4.3)-(4.5) begin at the joint's own link, and that of (4.4) contains both terms. Tsai: (9.58) rotates only the
acceleration of the parent's origin.
"""

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from oracles import craig_rp, tsai_planar_2r, tsai_scara
from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.base.resources import robot_urdf
from robot_dynamics_ros.dynamics.model.link_tree import Link, LinkTree
from robot_dynamics_ros.textbooks import (
    generalized_dalembert,
    lagrange,
    newton_euler_equations,
)
from support import arms
from support import robots_with_drives as drives

RECURSIVE = (
    newton_euler_equations.newton_euler_base,
    newton_euler_equations.newton_euler_links,
)
CLOSED = (
    lagrange.generalized_forces,
    lagrange.generalized_torque,
    generalized_dalembert.generalized_torque,
)
LARGEST = 10  # links: the closed forms grow with their fourth power


@given(robot=drives.robots())
def test_any_robot(robot: drives.Robot) -> None:
    model = robot.model()
    tree = LinkTree.of(model)
    q, qd, qdd = drives.state(robot, model.n)
    scale = 1.0 + drives.size(model, q, qd, qdd)
    tau = model.inverse_dynamics(q, qd, qdd)
    small = len(tree.links) <= LARGEST
    for form in RECURSIVE + CLOSED if small else RECURSIVE:
        np.testing.assert_allclose(
            form(tree, q, qd, qdd), tau, rtol=0, atol=1e-10 * scale, err_msg=str(form)
        )
    f, n = newton_euler_equations.joint_reactions(tree, q, qd, qdd)
    # From the URDF's link frames to those with z on the joint.
    axes = np.array([model.link_frames[link].rotation for link in model.moving_links])
    reactions = np.concatenate(
        [np.einsum("iba,ib->ia", axes, part) for part in (f, n)], axis=1
    )
    kernels = model.joint_reactions(q, qd, qdd)
    np.testing.assert_allclose(
        reactions, kernels, rtol=0, atol=1e-10 * (scale + np.abs(kernels).max())
    )
    if small:
        M = model.mass_matrix(q)
        weight = 1e-10 * np.abs(model.mass_matrix(q)).max()
        D, h, c = lagrange.dynamic_coefficients(tree, q)
        terms = generalized_dalembert.dalembert_terms(tree, q, qd)
        for matrix in (D, terms.D_rot + terms.D_tran, lagrange.inertia_matrix(tree, q)):
            np.testing.assert_allclose(matrix, M, rtol=0, atol=weight)
        for gravity in (c, terms.c, lagrange.gravity_vector(tree, q)):
            np.testing.assert_allclose(
                gravity, model.gravity_torque(q), rtol=0, atol=1e-10 * scale
            )
        np.testing.assert_allclose(
            h @ qd, model.coriolis_matrix(q, qd), rtol=0, atol=1e-10 * scale
        )


@pytest.mark.parametrize("form", RECURSIVE + CLOSED)
@pytest.mark.parametrize(
    ("book", "build", "down"),
    [
        (tsai_planar_2r, arms.tsai_planar_2r, (0.0, -9.81, 0.0)),
        (tsai_scara, arms.tsai_scara, (0.0, 0.0, -9.81)),
        (craig_rp, arms.craig_rp, (0.0, -9.81, 0.0)),
    ],
)
def test_books(
    book: ModuleType,
    build: Callable[[Any], arms.Arm],
    down: Any,
    form: Callable[..., Any],
) -> None:
    """Tsai (9.73)-(9.74), (9.146)-(9.148), Craig example 6.5."""
    p = book.Parameters(0.5, 0.4, 3.0, 2.0, *([] if book is tsai_planar_2r else [1.0]))
    model = RobotModel.from_urdf(build(p).urdf, gravity=down)
    for q, qd, qdd in zip(*arms.states(1, model.n, 5), strict=True):
        expected = book.torque(p, q, qd, qdd)
        np.testing.assert_allclose(
            form(model, q, qd, qdd), expected, rtol=1e-12, atol=1e-11
        )


@pytest.mark.parametrize("form", RECURSIVE + CLOSED)
def test_wrong_shape(form: Callable[..., Any]) -> None:
    model = RobotModel.from_urdf_file(robot_urdf("planar_2r"))
    with pytest.raises(RobotDynamicsError, match=r"qd .*\(3,\)"):
        form(model, [0, 0], [0, 0, 0], [0, 0])


# --- The link tree, and what single forms have besides torques


@given(arm=arms.trees())
def test_frames_weights_and_paths(arm: arms.Arm) -> None:
    """Link frames have their origin on the joint; potential energy is -sum m g . c; paths begin at the base."""
    model = RobotModel.from_urdf(arm.urdf)
    tree = LinkTree.of(model)
    q = arms.states(arm.seed, model.n, 1)[0][0]
    rotations, origins = tree.base_placements(q)
    for name, origin in zip(model.moving_links, origins, strict=True):
        np.testing.assert_allclose(
            model.link_pose(q, name)[:3, 3], origin, rtol=0, atol=1e-12
        )
    energy = -sum(
        link.mass * tree.gravity @ (p + r @ link.com)
        for link, r, p in zip(tree.links, rotations, origins, strict=True)
    )
    np.testing.assert_allclose(energy, model.potential_energy(q), rtol=1e-12, atol=1e-9)
    for i in range(len(tree.links)):
        path = tree.path(i)
        assert path[-1] == i and tree.links[path[0]].parent == -1
        assert [tree.links[k].parent for k in path[1:]] == path[:-1]


@given(arm=arms.trees(5))
def test_jacobians_and_derivatives_are_slopes(arm: arms.Arm) -> None:
    """J_v from the position of the centre of mass, J_w from R' = [w x] R, dM from M; V satisfies the energy balance."""
    model = RobotModel.from_urdf(arm.urdf)
    tree = LinkTree.of(model)
    q, qd, _ = (x[0] for x in arms.states(arm.seed, model.n, 1))
    stride = float(np.abs(qd).sum()) + 1.0
    J_v, J_w = lagrange.link_jacobians(tree, q)
    rotations, _ = tree.base_placements(q)
    coms = np.array([link.com for link in tree.links])

    def placed(t: float) -> tuple[np.ndarray, np.ndarray]:
        R, p = tree.base_placements(q + t * qd)
        return p + np.einsum("iab,ib->ia", R, coms), R

    bound = 1e-8 * stride**2
    np.testing.assert_allclose(
        J_v @ qd, drives.slope(lambda t: placed(t)[0], stride), rtol=0, atol=bound
    )
    turning = drives.slope(lambda t: placed(t)[1], stride)
    np.testing.assert_allclose(
        np.cross((J_w @ qd)[:, :, None], rotations, axis=1), turning, rtol=0, atol=bound
    )
    M = lagrange.inertia_matrix(model, q)
    dM = lagrange.inertia_matrix_derivatives(model, q)
    slope = drives.slope(lambda t: lagrange.inertia_matrix(model, q + t * qd), stride)
    bound = 1e-8 * stride * np.abs(M).max()
    np.testing.assert_allclose(dM @ qd, slope, rtol=0, atol=bound)
    np.testing.assert_allclose(
        qd @ lagrange.velocity_coupling(model, q, qd),
        0.5 * qd @ slope @ qd,
        atol=bound * stride**2,
    )


def test_pseudo_inertia_of_points() -> None:
    """The sum of m r r^T over point masses, from their total mass, centre of mass and inertia."""
    rng = np.random.default_rng(3)
    masses = rng.uniform(0.1, 1.0, 6)
    points = rng.uniform(-0.5, 0.5, (6, 3))
    mass = float(masses.sum())
    com = masses @ points / masses.sum()
    inertia = sum(
        m * ((r @ r) * np.eye(3) - np.outer(r, r))
        for m, r in zip(masses, points - com, strict=True)
    )
    link = Link(
        "joint", -1, False, np.eye(3), np.zeros(3), mass, com, np.asarray(inertia)
    )
    r = np.column_stack([points, np.ones(6)])
    np.testing.assert_allclose(
        lagrange.pseudo_inertia(link), r.T * masses @ r, rtol=1e-12, atol=1e-14
    )


def test_planar_arm() -> None:
    """Tsai (9.114)-(9.118), by hand: h_122 = 2 h_112 / 2 = -h_211."""
    p = tsai_planar_2r.Parameters(0.5, 0.4, 3.0, 2.0)
    model = RobotModel.from_urdf(arms.tsai_planar_2r(p).urdf, gravity=[0.0, -p.g, 0.0])
    for q in arms.states(1, 2, 5)[0]:
        h = lagrange.dynamic_coefficients(model, q)[1]
        centrifugal = p.m2 * p.a1 * p.a2 * np.sin(q[1]) / 2
        expected = (
            np.array([[[0.0, -1.0], [-1.0, -1.0]], [[1.0, 0.0], [0.0, 0.0]]])
            * centrifugal
        )
        np.testing.assert_allclose(h, expected, atol=1e-13)


@given(arm=arms.trees())
def test_rotation_and_translation_apart(arm: arms.Arm) -> None:
    """Each part has the energy of its motion and satisfies qd . h = qd . dD/dt qd / 2."""
    tree = LinkTree.of(RobotModel.from_urdf(arm.urdf))
    q, qd, _ = (x[0] for x in arms.states(arm.seed, len(tree.links), 1))
    terms = generalized_dalembert.dalembert_terms(tree, q, qd)
    J_v, J_w = lagrange.link_jacobians(tree, q)
    rotations, _ = tree.base_placements(q)
    turning = translating = 0.0
    for link, R, v, w in zip(tree.links, rotations, J_v @ qd, J_w @ qd, strict=True):
        turning += 0.5 * (R.T @ w) @ link.inertia @ (R.T @ w)
        translating += 0.5 * link.mass * v @ v
    np.testing.assert_allclose(
        0.5 * qd @ terms.D_rot @ qd, turning, rtol=1e-10, atol=1e-14
    )
    np.testing.assert_allclose(
        0.5 * qd @ terms.D_tran @ qd, translating, rtol=1e-10, atol=1e-14
    )
    points = replace(
        tree, links=tuple(replace(k, inertia=np.zeros((3, 3))) for k in tree.links)
    )
    whole, moving = (lagrange.velocity_coupling(t, q, qd) for t in (tree, points))
    scale = 1e-10 * (1.0 + np.abs(whole).max())
    np.testing.assert_allclose(terms.h_tran, moving, rtol=0, atol=scale)
    np.testing.assert_allclose(terms.h_rot, whole - moving, rtol=0, atol=scale)
    stride = float(np.abs(qd).sum()) + 1.0
    bound = 1e-8 * stride**3 * (np.abs(terms.D_rot).max() + np.abs(terms.D_tran).max())
    for part, h in (("D_rot", terms.h_rot), ("D_tran", terms.h_tran)):
        slope = drives.slope(
            lambda t, part=part: getattr(
                generalized_dalembert.dalembert_terms(tree, q + t * qd, qd), part
            ),
            stride,
        )
        np.testing.assert_allclose(qd @ h, 0.5 * qd @ slope @ qd, rtol=0, atol=bound)
