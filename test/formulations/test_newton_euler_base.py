"""Newton-Euler in the base frame: Milicevic Table 1."""

from __future__ import annotations

from dataclasses import replace

import arms
import numpy as np
import robots_with_drives as drives
from hypothesis import given
from oracles import tsai_planar_2r

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.formulations.link_tree import LinkTree
from robot_dynamics_ros.formulations.newton_euler_base import newton_euler_base


def test_planar_arm() -> None:
    """Tsai (9.73)-(9.74)."""
    p = tsai_planar_2r.Parameters(0.5, 0.4, 3.0, 2.0)
    model = RobotModel.from_urdf(arms.tsai_planar_2r(p).urdf, gravity=[0.0, -p.g, 0.0])
    for q, qd, qdd in zip(*arms.states(1, 2, 5), strict=True):
        np.testing.assert_allclose(
            newton_euler_base(model, q, qd, qdd), tsai_planar_2r.torque(p, q, qd, qdd), atol=1e-12
        )


@given(arm=arms.trees())
def test_power(arm: arms.Arm) -> None:
    """What the joints put in becomes kinetic and potential energy."""
    model = RobotModel.from_urdf(arm.urdf)
    q, qd, qdd = (x[0] for x in arms.states(arm.seed, model.n, 1))

    def energy(t: float) -> float:
        position, rate = q + t * qd + 0.5 * t * t * qdd, qd + t * qdd
        return float(model.kinetic_energy(position, rate) + model.potential_energy(position))

    stride = float(np.abs(qd).sum()) + 1.0
    tau = newton_euler_base(model, q, qd, qdd)
    scale = stride * (1.0 + drives.size(model, q, qd, qdd) * model.n)
    np.testing.assert_allclose(qd @ tau, drives.slope(energy, stride), rtol=0, atol=1e-7 * scale)


def test_gravity_is_the_base_accelerating_against_it() -> None:
    """Craig 6.5: a prismatic joint along the vertical feels -g as it feels that acceleration."""
    arm = arms.random_arm(np.random.default_rng(5), [0, 1, 2], ["prismatic", "revolute", "revolute"])
    arm = arm.with_joint(arm.movable[0], axis=(0, 0, 1), rpy=(0, 0, 0))
    tree = LinkTree.of(RobotModel.from_urdf(arm.urdf))
    q, qd, qdd = (x[0] for x in arms.states(2, 3, 1))
    lifted = qdd - [tree.gravity[2], 0.0, 0.0]
    floating = replace(tree, gravity=np.zeros(3))
    expected = newton_euler_base(floating, q, qd, lifted)
    np.testing.assert_allclose(newton_euler_base(tree, q, qd, qdd), expected, rtol=1e-11)
