"""Generalized d'Alembert: Milicevic (4.1)-(4.5)."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.formulations.generalized_dalembert import dalembert_terms
from robot_dynamics_ros.formulations.lagrange_link_jacobians import link_jacobians
from robot_dynamics_ros.formulations.link_tree import LinkTree
from support import arms
from support import robots_with_drives as drives


@given(arm=arms.trees())
def test_rotation_and_translation_apart(arm: arms.Arm) -> None:
    """Each part has the energy of its motion and is in balance on its own: qd . h is half of qd . dD/dt qd."""
    tree = LinkTree.of(RobotModel.from_urdf(arm.urdf))
    q, qd, _ = (x[0] for x in arms.states(arm.seed, len(tree.links), 1))
    terms = dalembert_terms(tree, q, qd)
    J_v, J_w = link_jacobians(tree, q)
    rotations, _ = tree.base_placements(q)
    turning = translating = 0.0
    for link, R, v, w in zip(tree.links, rotations, J_v @ qd, J_w @ qd, strict=True):
        turning += 0.5 * (R.T @ w) @ link.inertia @ (R.T @ w)
        translating += 0.5 * link.mass * v @ v
    np.testing.assert_allclose(0.5 * qd @ terms.D_rot @ qd, turning, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(0.5 * qd @ terms.D_tran @ qd, translating, rtol=1e-10, atol=1e-14)
    stride = float(np.abs(qd).sum()) + 1.0
    bound = 1e-8 * stride**3 * (np.abs(terms.D_rot).max() + np.abs(terms.D_tran).max())
    for part, h in (("D_rot", terms.h_rot), ("D_tran", terms.h_tran)):
        slope = drives.slope(lambda t, part=part: getattr(dalembert_terms(tree, q + t * qd, qd), part), stride)
        np.testing.assert_allclose(qd @ h, 0.5 * qd @ slope @ qd, rtol=0, atol=bound)
