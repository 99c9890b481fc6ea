"""What rotors add: Tsai 9.9."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from oracles import tsai_geared_2r
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.formulations.link_tree import BASE, LinkTree, Rotor
from robot_dynamics_ros.formulations.rotor_terms import rotor_inertia
from robot_dynamics_ros.resources import robot_urdf


def test_geared_arm() -> None:
    """Tsai (9.163): rotors whose carriers do not turn about their axes have their reflected inertia only."""
    p = tsai_geared_2r.Parameters(*np.linspace(0.3, 1.4, 13).tolist())
    x, z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
    arm = LinkTree.of(RobotModel.from_urdf_file(robot_urdf("planar_2r")))
    rotors = (Rotor(BASE, z, p.i3z), Rotor(0, x, p.i4z), Rotor(0, x, p.i5z))
    ratios = np.array([[-p.n13, 0.0], [0.0, p.n54 * p.n25], [0.0, -p.n25]])  # (9.153)
    q = np.array([0.4, -0.9])
    M, dM = rotor_inertia(replace(arm, rotors=rotors, rotor_couplings=ratios), q)
    without = replace(p, i3z=0.0, i4z=0.0, i5z=0.0)
    np.testing.assert_allclose(M, tsai_geared_2r.mass_matrix(p, q) - tsai_geared_2r.mass_matrix(without, q), atol=1e-14)
    np.testing.assert_array_equal(dM, np.zeros((2, 2, 2)))


def test_rotor_along_its_carriers_axis() -> None:
    """Tsai (9.158): on link 1, about z, geared N to joint 2; the whole rotor turns at qd1 + N qd2."""
    N, inertia = -60.0, 2e-4
    arm = LinkTree.of(RobotModel.from_urdf_file(robot_urdf("planar_2r")))
    rotor = Rotor(0, np.array([0.0, 0.0, 1.0]), inertia)
    M, _ = rotor_inertia(replace(arm, rotors=(rotor,), rotor_couplings=np.array([[0.0, N]])), [0.4, -0.9])
    # The carrier's own inertia has the square of qd1 already.
    np.testing.assert_allclose(M, inertia * np.array([[0.0, N], [N, N**2]]), rtol=1e-12)
