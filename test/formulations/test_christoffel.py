"""Christoffel symbols against the kernels, Spong's elbow, and energy."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given
from scipy.integrate import solve_ivp

from oracles import spong_elbow
from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.formulations import configuration_space as christoffel
from support import robots_with_drives
from support.comparing import assert_close
from support.worked_arms import IN_PLANE, elbow, load


@given(robot=robots_with_drives.robots())
def test_any_robot(robot: robots_with_drives.Robot) -> None:
    """Spong (9.62), (9.111), for trees with couplings, rotors on moving carriers and a payload."""
    model = robot.model()
    assume(len(model.moving_joints) <= 8)
    q, qd, _ = robots_with_drives.state(robot, model.n)
    c = christoffel.coriolis_matrix(model, q, qd)
    assert_close(c, model.coriolis_matrix(q, qd), 1e-10)
    n = christoffel.skew_symmetric_matrix(model, q, qd)
    assert_close(n.T, -n, 1e-10, float(np.abs(c).max()))


def test_planar_elbow() -> None:
    """Spong (9.83): h = -m2 l1 lc2 sin q2, and (9.88)."""
    p = spong_elbow.Parameters(0.7, 0.2, 0.3, 1.5, 2.5, 0.05, 0.1)
    model = load(elbow(p), IN_PLANE)
    q, qd = np.array([0.4, 1.1]), np.array([0.8, -1.7])
    h = -p.m2 * p.l1 * p.lc2 * np.sin(q[1])
    expected = np.zeros((2, 2, 2))
    expected[0, 1, 0] = expected[1, 0, 0] = expected[1, 1, 0] = h
    expected[0, 0, 1] = -h
    assert_close(christoffel.christoffel_symbols(model, q), expected, 1e-14)
    assert_close(christoffel.coriolis_matrix(model, q, qd), spong_elbow.coriolis_matrix(p, q, qd), 1e-14)


def test_energy_balance(load_robot: Callable[..., RobotModel]) -> None:
    """Spong (9.117)-(9.118): work is energy gained; a free arm gives away no more than it had."""
    model = load_robot("scara")

    def torque(t: float) -> np.ndarray:
        return np.array([2.0, 1.0, 20.0]) * np.sin([3.0 * t, 5.0 * t, 4.0 * t])

    def rates(t: float, z: np.ndarray) -> np.ndarray:
        return np.concatenate([z[3:], model.forward_dynamics(z[:3], z[3:], torque(t))])

    time = np.linspace(0.0, 2.0, 801)
    motion = solve_ivp(rates, (0.0, 2.0), np.zeros(6), t_eval=time, rtol=1e-11, atol=1e-12).y.T
    q, qd = motion[:, :3], motion[:, 3:]
    balance = christoffel.energy_balance(model, time, q, qd, [torque(t) for t in time])
    assert np.ptp(balance.energy) > 1.0  # J
    assert_close(balance.residual, np.zeros(801), 1e-7)
    damped = christoffel.energy_balance(model, time, q, qd, np.array([torque(t) for t in time]) + 0.5 * qd)
    assert damped.residual[-1] > 0.1  # what friction would take


def test_rows_that_do_not_belong(load_robot: Callable[..., RobotModel]) -> None:
    model, rows = load_robot("scara"), np.zeros((4, 3))
    with pytest.raises(RobotDynamicsError, match=r"tau .*\(3, 3\)"):
        christoffel.energy_balance(model, [0, 1, 2, 3], rows, rows, rows[:3])
    with pytest.raises(RobotDynamicsError, match="time"):
        christoffel.energy_balance(model, [0, 1, 1, 3], rows, rows, rows)
