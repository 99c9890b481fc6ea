"""Lagrange-Euler by 4x4 matrices: Milicevic (2.1)-(2.15)."""

from __future__ import annotations

import numpy as np

from oracles import tsai_planar_2r
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.formulations.lagrange_euler import dynamic_coefficients, pseudo_inertia
from robot_dynamics_ros.formulations.link_tree import Link
from support import arms


def test_pseudo_inertia_of_points() -> None:
    """The sum of m r r^T over point masses, from the mass, centre and inertia that they have together."""
    rng = np.random.default_rng(3)
    masses, points = rng.uniform(0.1, 1.0, 6), rng.uniform(-0.5, 0.5, (6, 3))
    mass, com = float(masses.sum()), masses @ points / masses.sum()
    inertia = sum(m * ((r @ r) * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, points - com, strict=True))
    link = Link("joint", -1, False, np.eye(3), np.zeros(3), mass, com, np.asarray(inertia))
    r = np.column_stack([points, np.ones(6)])
    np.testing.assert_allclose(pseudo_inertia(link), r.T * masses @ r, rtol=1e-12, atol=1e-14)


def test_planar_arm() -> None:
    """Tsai (9.114)-(9.118): D, c, and by hand h_122 = 2 h_112 / 2 = -h_211."""
    p = tsai_planar_2r.Parameters(0.5, 0.4, 3.0, 2.0)
    model = RobotModel.from_urdf(arms.tsai_planar_2r(p).urdf, gravity=[0.0, -p.g, 0.0])
    for q in arms.states(1, 2, 5)[0]:
        D, h, c = dynamic_coefficients(model, q)
        np.testing.assert_allclose(D, tsai_planar_2r.mass_matrix(p, q), atol=1e-13)
        np.testing.assert_allclose(c, tsai_planar_2r.gravity(p, q), atol=1e-13)
        centrifugal = p.m2 * p.a1 * p.a2 * np.sin(q[1]) / 2
        expected = np.array([[[0.0, -1.0], [-1.0, -1.0]], [[1.0, 0.0], [0.0, 0.0]]]) * centrifugal
        np.testing.assert_allclose(h, expected, atol=1e-13)
