"""Rotors (Tsai 9.9): the coupling to the carrier's rotation and the default carrier; test_pinocchio.py has any."""

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from support import arms
from support.comparing import assert_close
from support.robots_with_drives import load


@pytest.mark.parametrize("ratio", [50.0, -50.0])
@pytest.mark.parametrize("carrier", [{"rotor_carrier": "parent"}, {}, {"rotor_carrier": "none"}])
def test_parallel_axes_couple_by_tsai_9_157(carrier: dict[str, str], ratio: float) -> None:
    """K_hat = I r^2 qd2^2 / 2 + I r qd1 qd2 adds I r^2 to m22 and, on the parent, I r to m12; that is the default."""
    inertia, q = 3e-4, np.array([0.4, -0.9])
    first = arms.Link("", 2.0, (0.2, 0, 0), np.eye(3) * 0.02)
    arm = arms.planar_2r(0.5, 0.4, first, arms.Link("", 1.0, (0.1, 0, 0), np.eye(3) * 0.01))
    rotor = {"rotor_inertia": inertia, "gear_ratio": ratio, **carrier}
    added = load(arm, {"joints": {"joint2": rotor}}).mass_matrix(q) - RobotModel.from_urdf(arm.urdf).mass_matrix(q)
    coupling = 0.0 if "none" in carrier.values() else inertia * ratio
    assert_close(added, [[0.0, coupling], [coupling, inertia * ratio**2]], 1e-14)
