"""One joint sticks while its neighbour slides: the step's equations again, in plain NumPy."""

import numpy as np
from numpy.typing import NDArray
from simulation import plants

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.simulation import Plant

Array = NDArray[np.float64]
DT = 0.001
COULOMB, VISCOUS = np.array([6.0, 0.9]), np.array([0.5, 0.3])
FRICTION = {f"joint{k + 1}": {"coulomb": COULOMB[k].item(), "viscous": VISCOUS[k].item()} for k in range(2)}


def _waves(model: RobotModel, plant: Plant, k: int) -> Array:
    wave = np.array([5.5 * np.sin(0.011 * k), 3.0 * np.sin(0.023 * k)])
    return model.gravity_torque(plant.position) + wave


def test_semi_implicit_step_satisfies_the_optimality_conditions() -> None:
    """A (v+ - v) - dt (tau - h - b v) = lambda, A = M + dt diag b, to 1e-9 of dt tau_c in each of 1000 steps.

    lambda = -dt tau_c sign v+ where a joint slides and |lambda| <= dt tau_c where it sticks; q+ = q + dt v+.
    """
    model = plants.planar(FRICTION)
    plant = Plant(model, "semi_implicit", DT, initial_positions=[0.4, -0.9])
    one_sticks = 0
    for k in range(1000):
        q, v, tau = plant.position, plant.velocity, _waves(model, plant, k)
        plant.step(tau)
        after = plant.velocity
        a = model.mass_matrix(q) + DT * np.diag(VISCOUS)
        impulse = a @ (after - v) - DT * (tau - model.bias_torque(q, v) - VISCOUS * v)
        sticks = after == 0.0
        error = np.where(
            sticks, np.maximum(np.abs(impulse) - DT * COULOMB, 0.0), impulse + DT * COULOMB * np.sign(after)
        )
        assert np.abs(error).max() < 1e-9 * DT * COULOMB.min()
        assert np.abs(plant.impulse - impulse).max() < 1e-9 * DT * COULOMB.min()
        assert np.abs(plant.position - q - DT * after).max() < 1e-15
        assert np.array_equal(plant.stuck, sticks)
        one_sticks += sticks.tolist() == [True, False]
    assert one_sticks > 300


def _locked_step(model: RobotModel, q: Array, v: Array, tau: Array) -> tuple[float, float, float]:
    """Position and velocity of joint 2 after a Runge-Kutta step with joint 1 fixed, and the impulse that fixes it."""
    sign = np.sign(v[1])

    def slope(q2: float, v2: float) -> tuple[float, float]:
        here, rate = np.array([q[0], q2]), np.array([0.0, v2])
        m, h = model.mass_matrix(here), model.bias_torque(here, rate)
        a2 = (tau[1] - h[1] - VISCOUS[1] * v2 - sign * COULOMB[1]) / m[1, 1]
        return a2, m[0, 1] * a2 + h[0] - tau[0]

    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    rates, forces = [], []
    q2, v2 = q[1], v[1]
    for ahead in (0.5 * DT, 0.5 * DT, DT, 0.0):
        a, force = slope(q2, v2)
        rates.append((v2, a))
        forces.append(force)
        q2, v2 = q[1] + ahead * v2, v[1] + ahead * a
    weights = DT / 6 * np.array([1, 2, 2, 1])
    (b, c), d = weights @ np.array(rates), weights @ np.array(forces)
    return q[1] + b, v[1] + c, d


def test_rk4_step_is_that_of_the_neighbour_alone() -> None:
    """While joint 1 sticks, joint 2 makes the classical step of an arm of one joint, and lambda_1 holds joint 1.

    lambda_1 is the force M_12 a_2 + h_1 - tau_1 over the stages: within dt tau_c; lambda_2 = -dt tau_c sign v_2.
    """
    model = plants.planar(FRICTION)
    plant = Plant(model, "rk4", DT, initial_positions=[0.4, -0.9])
    seen = 0
    for k in range(1000):
        q, v, tau, before = plant.position, plant.velocity, _waves(model, plant, k), plant.stuck
        plant.step(tau)
        if before.tolist() == plant.stuck.tolist() == [True, False] and v[1] * plant.velocity[1] > 0.0:
            q2, v2, held = _locked_step(model, q, v, tau)
            assert plant.position[0] == q[0]
            assert plant.velocity[0] == 0.0
            assert abs(plant.position[1] - q2) < 1e-15
            assert abs(plant.velocity[1] - v2) < 1e-12
            expected = np.array([held, -DT * COULOMB[1] * np.sign(v2)])
            assert np.abs(plant.impulse - expected).max() < 1e-9 * DT * COULOMB.min()
            assert abs(held) <= DT * COULOMB[0] * (1 + 1e-9)
            seen += 1
    assert seen > 300
