"""Motion without Coulomb friction: order of convergence, closed-form decay, and comparison with Pinocchio."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.simulation import Plant
from support import plants

STARTS = {
    "panda": [0.3, -0.5, 0.2, -1.5, 0.1, 1.0, 0.3],
    "ur5e": [0.1, -1.2, 1.4, -0.5, 0.7, 0.2],
    "planar_2r": [0.2, -0.7],
}
URDF = Callable[[str], Path]


@pytest.mark.parametrize(("integrator", "order"), [("rk4", 4), ("semi_implicit", 1)])
def test_order_of_convergence(integrator: str, order: int, urdf_path: URDF) -> None:
    """Halving the step divides the error by 2^order, also with viscous friction; from differences of three runs."""
    friction = {
        "viscous": 1.0,
        "sigmoid": {"amplitude": 0.5, "slope": 3.0, "shift": 0.1},
    }
    model = plants.with_friction(
        urdf_path("planar_2r").read_text(),
        {"joint1": {"viscous": 2.0}, "joint2": friction},
    )
    ends = []
    for step in (0.008, 0.004, 0.002):
        start = {"initial_positions": [0.2, -0.7], "initial_velocities": [0.5, 1.0]}
        plant = plants.start(model, integrator, step, **start)
        plant.step([3.0, -1.0], round(0.64 / step))
        ends.append(np.concatenate([plant.position, plant.velocity]))
    ratio = np.abs(ends[0] - ends[1]).max() / np.abs(ends[1] - ends[2]).max()
    assert np.log2(ratio) == pytest.approx(order, abs=0.25)


@pytest.mark.parametrize("viscous", [1.0, 1e6])
def test_semi_implicit_viscous_friction_is_implicit_euler(viscous: float) -> None:
    """m v' = -b v by implicit Euler: v divides by 1 + dt b / m each step, for any b."""
    start = {"integrator": "semi_implicit", "initial_velocities": [1.0]}
    plant = plants.slider(2.0, 0.0, (0, 0, 0), viscous=viscous, **start)
    plant.step([0.0], 3)
    assert plant.velocity[0] == pytest.approx(
        (1 + 0.001 * viscous / 2.0) ** -3, rel=1e-12
    )


@pytest.mark.parametrize("name", STARTS)
def test_agrees_with_pinocchio(name: str, urdf_path: URDF) -> None:
    pytest.importorskip("pinocchio")
    from support.pinocchio_peer import Peer

    text = plants.unlimited(urdf_path(name))
    start = np.array(STARTS[name])
    dt = 0.001
    model = RobotModel.from_urdf(text)
    assert not model.friction_torque(np.zeros(model.n), np.ones(model.n)).any()
    peer: Any = Peer(text, model.joint_names)
    tau = model.gravity_torque(start) + np.diag(model.mass_matrix(start))
    q = start
    v = np.zeros(model.n)
    for _ in range(1000):
        a1 = peer.aba(q, v, tau)
        v2 = v + dt / 2 * a1
        a2 = peer.aba(q + dt / 2 * v, v2, tau)
        v3 = v + dt / 2 * a2
        a3 = peer.aba(q + dt / 2 * v2, v3, tau)
        v4 = v + dt * a3
        a4 = peer.aba(q + dt * v3, v4, tau)
        q = q + dt / 6 * (v + 2 * v2 + 2 * v3 + v4)
        v = v + dt / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    plant = Plant(model, initial_positions=start)
    plant.step(tau, 1000)
    assert (
        np.abs(plant.velocity).max() > 1.0 and np.abs(plant.position - q).max() < 1e-9
    )
    assert np.abs(plant.velocity - v).max() < 1e-8
