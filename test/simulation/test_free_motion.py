"""Motion without friction: energy, order of convergence, and MuJoCo's Runge-Kutta."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from simulation import plants

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.simulation import Plant

START = [0.3, -0.5, 0.2, -1.5, 0.1, 1.0, 0.3]
URDF = Callable[[str], Path]


@pytest.mark.parametrize("start", [START, [0.0, 0.4, 0.0, -2.0, 0.0, 1.6, 0.8]])
def test_free_panda_keeps_its_energy_for_ten_seconds(start: list[float], urdf_path: URDF) -> None:
    """To 1e-5 of its peak kinetic energy, falling under gravity without torque or friction."""
    model = RobotModel.from_urdf(plants.unlimited(urdf_path("panda")))
    plant = Plant(model, initial_positions=start)
    kinetic, total = [], []
    for _ in range(1000):
        plant.step(np.zeros(7), 10)
        kinetic.append(model.kinetic_energy(plant.position, plant.velocity))
        total.append(kinetic[-1] + model.potential_energy(plant.position))
    drift = np.abs(np.array(total) - model.potential_energy(start)).max()
    assert max(kinetic) > 1.0
    assert drift <= 1e-5 * max(kinetic)


def _end(model: RobotModel, integrator: str, step: float, duration: float, **start: Any) -> NDArray[np.float64]:
    plant = Plant(model, integrator, step, **start)
    plant.step([3.0, -1.0], round(duration / step))
    return np.concatenate([plant.position, plant.velocity])


@pytest.mark.parametrize(("integrator", "order"), [("rk4", 4), ("semi_implicit", 1)])
def test_order_of_convergence(integrator: str, order: int, load_robot: Callable[..., Any]) -> None:
    """Halving the step divides the error by 2^order, seen from the differences of three runs."""
    model = load_robot("planar_2r", "planar_2r_tsai")
    start = {"initial_positions": [0.2, -0.7], "initial_velocities": [0.5, 1.0]}
    coarse, middle, fine = (_end(model, integrator, h, 0.64, **start) for h in (0.008, 0.004, 0.002))
    ratio = np.abs(coarse - middle).max() / np.abs(middle - fine).max()
    assert np.log2(ratio) == pytest.approx(order, abs=0.25)


def test_viscous_friction_keeps_fourth_order(urdf_path: URDF, tmp_path: Path) -> None:
    file = tmp_path / "viscous.yaml"
    sigmoid = "{amplitude: 0.5, slope: 3.0, shift: 0.1}"
    file.write_text(f"joints: {{joint1: {{viscous: 2.0}}, joint2: {{viscous: 1.0, sigmoid: {sigmoid}}}}}")
    model = RobotModel.from_urdf_file(urdf_path("planar_2r"), dynamics=file)
    start = {"initial_positions": [0.2, -0.7], "initial_velocities": [0.5, 1.0]}
    coarse, middle, fine = (_end(model, "rk4", h, 0.64, **start) for h in (0.008, 0.004, 0.002))
    ratio = np.abs(coarse - middle).max() / np.abs(middle - fine).max()
    assert np.log2(ratio) == pytest.approx(4, abs=0.25)


def test_semi_implicit_viscous_friction_decays_as_by_hand() -> None:
    """m v' = -b v by implicit Euler: v divides by 1 + dt b / m each step, for any b."""
    for viscous in (1.0, 1e6):
        plant = plants.slider(
            2.0, 0.0, (0, 0, 0), viscous=viscous, integrator="semi_implicit", initial_velocities=[1.0]
        )
        plant.step([0.0], 3)
        assert plant.velocity[0] == pytest.approx((1 + 0.001 * viscous / 2.0) ** -3, rel=1e-12)


def test_agrees_with_mujoco(urdf_path: URDF) -> None:
    """The same classical Runge-Kutta steps of the same bodies, for one second from rest under torque."""
    mujoco = pytest.importorskip("mujoco")
    text = plants.unlimited(urdf_path("ur5e"))
    peer = mujoco.MjModel.from_xml_string(text)
    peer.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    peer.opt.timestep = 0.001
    peer.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    peer.dof_damping[:] = 0.0
    peer.dof_frictionloss[:] = 0.0
    model = RobotModel.from_urdf(text)
    assert not model.friction_torque(np.zeros(6), np.ones(6)).any()
    names = [mujoco.mj_id2name(peer, mujoco.mjtObj.mjOBJ_JOINT, k) for k in range(peer.njnt)]
    order = [names.index(name) for name in model.joint_names]
    data = mujoco.MjData(peer)
    start = np.array([0.1, -1.2, 1.4, -0.5, 0.7, 0.2])
    tau = model.gravity_torque(start) + [3.0, 10.0, -3.0, 0.05, -0.03, 0.001]
    data.qpos[order] = start
    data.qfrc_applied[order] = tau
    plant = Plant(model, initial_positions=start)
    for _ in range(1000):
        mujoco.mj_step(peer, data)
    plant.step(tau, 1000)
    assert np.abs(plant.velocity).max() > 1.0
    assert np.abs(plant.position - data.qpos[order]).max() < 1e-9
    assert np.abs(plant.velocity - data.qvel[order]).max() < 1e-9
