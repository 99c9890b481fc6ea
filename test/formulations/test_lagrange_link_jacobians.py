"""Lagrange's equations by link Jacobians: Tsai (9.78)-(9.103)."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from oracles import tsai_scara
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.formulations.lagrange_link_jacobians import (
    gravity_vector,
    inertia_matrix,
    inertia_matrix_derivatives,
    link_jacobians,
    velocity_coupling,
)
from robot_dynamics_ros.formulations.link_tree import LinkTree
from support import arms
from support import robots_with_drives as drives


def test_scara() -> None:
    """Tsai (9.139)-(9.145)."""
    p = tsai_scara.Parameters(0.5, 0.4, 3.0, 2.0, 1.0)
    model = RobotModel.from_urdf(arms.tsai_scara(p).urdf)
    for q, qd, _ in zip(*arms.states(1, 3, 5), strict=True):
        np.testing.assert_allclose(inertia_matrix(model, q), tsai_scara.mass_matrix(p, q), atol=1e-13)
        np.testing.assert_allclose(velocity_coupling(model, q, qd), tsai_scara.velocity_coupling(p, q, qd), atol=1e-12)
        np.testing.assert_allclose(gravity_vector(model, q), tsai_scara.gravity(p, q), atol=1e-12)


@given(arm=arms.trees(max_joints=5))
def test_jacobians_and_derivatives_are_slopes(arm: arms.Arm) -> None:
    """J_v of the centre of mass's position; J_w by R' = [w x] R; dM of M, and the work of V is what M takes up."""
    model = RobotModel.from_urdf(arm.urdf)
    tree = LinkTree.of(model)
    q, qd, _ = (x[0] for x in arms.states(arm.seed, model.n, 1))
    stride = float(np.abs(qd).sum()) + 1.0
    J_v, J_w = link_jacobians(tree, q)
    rotations, _ = tree.base_placements(q)
    coms = np.array([link.com for link in tree.links])

    def placed(t: float) -> tuple[np.ndarray, np.ndarray]:
        R, p = tree.base_placements(q + t * qd)
        return p + np.einsum("iab,ib->ia", R, coms), R

    bound = 1e-8 * stride**2
    np.testing.assert_allclose(J_v @ qd, drives.slope(lambda t: placed(t)[0], stride), rtol=0, atol=bound)
    turning = drives.slope(lambda t: placed(t)[1], stride)
    np.testing.assert_allclose(np.cross((J_w @ qd)[:, :, None], rotations, axis=1), turning, rtol=0, atol=bound)
    M, dM = inertia_matrix(model, q), inertia_matrix_derivatives(model, q)
    slope = drives.slope(lambda t: inertia_matrix(model, q + t * qd), stride)
    bound = 1e-8 * stride * np.abs(M).max()
    np.testing.assert_allclose(dM @ qd, slope, rtol=0, atol=bound)
    np.testing.assert_allclose(qd @ velocity_coupling(model, q, qd), 0.5 * qd @ slope @ qd, atol=bound * stride**2)
