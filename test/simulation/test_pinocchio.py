"""Motion without friction beside Pinocchio's articulated-body algorithm under the same Runge-Kutta."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from simulation import plants

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.simulation import Plant

pytest.importorskip("pinocchio")
from pinocchio_peer import Peer  # noqa: E402

Array = NDArray[np.float64]
STARTS = {
    "panda": [0.3, -0.5, 0.2, -1.5, 0.1, 1.0, 0.3],
    "ur5e": [0.1, -1.2, 1.4, -0.5, 0.7, 0.2],
    "planar_2r": [0.2, -0.7],
}


def _peer_end(peer: Peer, q: Array, v: Array, tau: Array, dt: float, count: int) -> tuple[Array, Array]:
    """The classical Runge-Kutta method, acceleration by Pinocchio's ABA."""
    for _ in range(count):
        a1 = peer.aba(q, v, tau)
        v2 = v + dt / 2 * a1
        a2 = peer.aba(q + dt / 2 * v, v2, tau)
        v3 = v + dt / 2 * a2
        a3 = peer.aba(q + dt / 2 * v2, v3, tau)
        v4 = v + dt * a3
        a4 = peer.aba(q + dt * v3, v4, tau)
        q = q + dt / 6 * (v + 2 * v2 + 2 * v3 + v4)
        v = v + dt / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    return q, v


@pytest.mark.parametrize("name", STARTS)
def test_agrees_with_pinocchio_under_the_same_steps(name: str, urdf_path: Callable[[str], Path]) -> None:
    """One second of 1 ms steps from rest under torque beside gravity: positions to 1e-9, velocities to 1e-8."""
    text = plants.unlimited(urdf_path(name))
    model = RobotModel.from_urdf(text)
    assert not model.friction_torque(np.zeros(model.n), np.ones(model.n)).any()
    peer = Peer(text, model.joint_names)
    start = np.array(STARTS[name])
    tau = model.gravity_torque(start) + np.diag(model.mass_matrix(start))
    plant = Plant(model, "rk4", 0.001, initial_positions=start)
    plant.step(tau, 1000)
    q, v = _peer_end(peer, start, np.zeros(model.n), tau, 0.001, 1000)
    assert np.abs(v).max() > 1.0
    assert np.abs(plant.position - q).max() < 1e-9
    assert np.abs(plant.velocity - v).max() < 1e-8
