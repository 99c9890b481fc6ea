"""Wrench of a parent on the child of each moving joint; test_pinocchio.py has random robots."""

import numpy as np
import pytest

from oracles import tsai_planar_2r
from robot_dynamics_ros import RobotModel
from support import arms
from support.comparing import assert_close


@pytest.mark.parametrize("seed", range(2))
def test_forces_in_the_planar_arm(seed: int) -> None:
    """Tsai example 9.7.1: forces at both joints of the planar arm, in the links' axes."""
    p = tsai_planar_2r.Parameters(*np.random.default_rng(seed).uniform(0.2, 3.0, 5).tolist())
    model = RobotModel.from_urdf(arms.tsai_planar_2r(p).urdf, gravity=[0, -p.g, 0])
    for q, qd, qdd in zip(*arms.states(seed, 2, 10), strict=True):
        reactions = model.joint_reactions(q, qd, qdd)
        assert_close(reactions[:, :3], tsai_planar_2r.joint_forces(p, q, qd, qdd), 1e-13, 100.0)
        assert_close(reactions[:, 5], tsai_planar_2r.torque(p, q, qd, qdd), 1e-13, 1000.0)
