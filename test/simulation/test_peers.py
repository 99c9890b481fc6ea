"""Comparison with RK4 of MuJoCo and Pinocchio, and with MuJoCo's friction, which creeps."""

from pathlib import Path

import numpy as np
import pytest

from support.arms import Arm, Joint, Link

pytest.importorskip("mujoco")
pytest.importorskip("pinocchio")

from benchmarks import simulation_checks, simulation_peers
from benchmarks.robots import Robot
from benchmarks.simulation_checks import creep, path
from benchmarks.simulation_peers import (
    SETTINGS,
    Setting,
    load,
    ours,
    with_mujoco,
    with_pinocchio,
)

INERTIA = np.diag([0.03, 0.04, 0.05])
# Sibling joints in another order than the peers', and one locked joint.
TREE = Arm(
    (
        Link("base"),
        *(Link(f"link{i}", 1.0 + i, (0.02, 0.01 * i, -0.3), INERTIA) for i in range(4)),
    ),
    (
        Joint("z", "revolute", "base", "link0", (0.2, 0, 0), (0.3, 0, 0), (0, 1, 0)),
        Joint("y", "revolute", "link0", "link1", (0, 0, -0.4), (0, 0, 0.4), (1, 0, 0)),
        Joint("finger", "revolute", "link1", "link2", (0, 0, -0.3)),
        Joint("x", "revolute", "base", "link3", (-0.2, 0, 0), (0.2, 0.1, 0), (1, 0, 0)),
    ),
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use the tree instead of the Panda."""
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(TREE.urdf, encoding="utf-8")
    monkeypatch.setattr(simulation_peers, "urdf_file", lambda robot: urdf)
    monkeypatch.setitem(
        simulation_peers.ROBOTS, "panda", Robot("Panda", "arm.urdf", ("finger",))
    )
    monkeypatch.setitem(
        SETTINGS, "panda", Setting(0.5, 0.3, -9.81, dict.fromkeys("xyz", 0.2))
    )
    return tmp_path


def test_three_libraries_simulate_the_same_path(folder: Path) -> None:
    case = load("panda", folder, 1.0, coulomb=False)
    expected = path(ours(case, "rk4", customised=False), case)
    assert np.ptp(expected, axis=0).min() > 0.02
    for simulator in (with_mujoco(case, "RK4"), with_pinocchio(case)):
        for _ in range(2):
            np.testing.assert_allclose(
                path(simulator, case), expected, rtol=0, atol=1e-12
            )


def test_friction_that_holds_does_not_creep(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below the friction bound the plant does not move, but MuJoCo's frictionloss creeps; above it both slip."""
    monkeypatch.setattr(simulation_checks, "CREEP", 0.5)
    case = load("panda", folder, 0.1)
    assert creep(ours(case, "rk4", customised=False), case) == 0.0
    assert creep(ours(case, "semi_implicit", customised=False), case) == 0.0
    assert creep(with_mujoco(case, "Euler"), case) > 1e-4
    monkeypatch.setattr(simulation_checks, "LOAD_SHARE", 1.2)
    assert creep(ours(case, "rk4", customised=False), case) > 1e-4
