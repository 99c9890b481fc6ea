"""Mass matrix by composite bodies against Pinocchio's CRBA.

Also the properties that Tsai (9.86)-(9.87) give it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import arms
import numpy as np
import pytest
from comparing import assert_close
from hypothesis import given
from pinocchio_peer import Peer
from robots_with_drives import Robot, robots, size, state

from robot_dynamics_ros import RobotModel


@pytest.mark.parametrize("name", ["panda", "ur5e", "puma560"])
def test_shipped_robot_agrees_with_pinocchio(
    name: str, load_robot: Callable[..., Any], urdf_path: Callable[[str], Path]
) -> None:
    model = load_robot(name)
    peer = Peer(urdf_path(name).read_text(), model.joint_names)
    for q in arms.states(2, model.n, 100)[0]:
        assert np.abs(model.mass_matrix(q) - peer.crba(q)).max() < 1e-10


@given(arm=arms.trees())
def test_any_tree_agrees_with_pinocchio(arm: arms.Arm) -> None:
    model = RobotModel.from_urdf(arm.urdf)
    peer = Peer(arm.urdf, model.joint_names)
    for q in arms.states(arm.seed, model.n, 3)[0]:
        assert_close(model.mass_matrix(q), peer.crba(q), 1e-12)


@given(arm=arms.trees())
def test_symmetric_and_positive_definite(arm: arms.Arm) -> None:
    """K = qd^T M qd / 2 > 0 for every motion (Tsai 9.87)."""
    model = RobotModel.from_urdf(arm.urdf)
    q, qd, _ = (x[0] for x in arms.states(arm.seed, model.n, 1))
    m = model.mass_matrix(q)
    assert np.array_equal(m, m.T)
    assert np.linalg.eigvalsh(m).min() > 0.0
    assert model.kinetic_energy(q, qd) == pytest.approx(float(qd @ m @ qd) / 2, rel=1e-12)


@given(arm=arms.trees())
def test_columns_are_torques_of_unit_accelerations(arm: arms.Arm) -> None:
    model = RobotModel.from_urdf(arm.urdf, gravity=[0, 0, 0])
    q = arms.states(arm.seed, model.n, 1)[0][0]
    rest = np.zeros(model.n)
    columns = [model.inverse_dynamics(q, rest, unit) for unit in np.eye(model.n)]
    assert_close(model.mass_matrix(q), np.array(columns).T, 1e-13)


@given(arm=arms.trees())
def test_velocity_terms_do_the_work_of_the_changing_mass_matrix(arm: arms.Arm) -> None:
    """qd . V = qd^T (dM/dt) qd / 2, which Mdot - 2C skew says.

    Here dM/dt is a fourth-order central difference along qd.
    """
    model = RobotModel.from_urdf(arm.urdf)
    q, qd, _ = (x[0] for x in arms.states(arm.seed, model.n, 1))
    h = 1e-4
    step = [model.mass_matrix(q + k * h * qd) for k in (-2, -1, 1, 2)]
    rate = (8 * (step[2] - step[1]) - (step[3] - step[0])) / (12 * h)
    power = float(qd @ (model.bias_torque(q, qd) - model.gravity_torque(q)))
    scale = 1.0 + float(np.abs(step[0]).max() * np.abs(qd).sum() ** 3)
    assert power == pytest.approx(float(qd @ rate @ qd) / 2, abs=1e-8 * scale)


@given(arm=arms.trees())
def test_gravity_torque_is_the_gradient_of_the_potential(arm: arms.Arm) -> None:
    """Tsai (9.102) against (9.88), whose value Pinocchio gives too."""
    gravity = [2.0, -3.0, -9.0]
    model = RobotModel.from_urdf(arm.urdf, gravity=gravity)
    peer = Peer(arm.urdf, model.joint_names, gravity)
    q = arms.states(arm.seed, model.n, 1)[0][0]
    h = 1e-4
    gradient = [
        (
            8 * (model.potential_energy(q + h * e) - model.potential_energy(q - h * e))
            - (model.potential_energy(q + 2 * h * e) - model.potential_energy(q - 2 * h * e))
        )
        / (12 * h)
        for e in np.eye(model.n)
    ]
    size = 1.0 + abs(model.potential_energy(q))
    assert_close(model.gravity_torque(q), gradient, 1e-8, size)
    rise = model.potential_energy(q) - model.potential_energy(np.zeros(model.n))
    expected = peer.potential_energy(q) - peer.potential_energy(np.zeros(model.n))
    assert rise == pytest.approx(expected, abs=1e-11 * size)


@given(robot=robots())
def test_any_robot(robot: Robot) -> None:
    """Symmetric, positive definite, and dtau/dqdd, with couplings and rotors too."""
    model = robot.model(gravity=[0, 0, 0])
    q = state(robot, model.n)[0]
    m, rest = model.mass_matrix(q), np.zeros(model.n)
    assert np.array_equal(m, m.T)
    assert np.linalg.eigvalsh(m).min() > 0.0
    columns = [model.inverse_dynamics(q, rest, unit) for unit in np.eye(model.n)]
    assert_close(m, np.array(columns).T, 1e-12)
    # The torque is affine in the acceleration, so that a difference over any step is the derivative.
    _, qd, qdd = state(robot, model.n)
    whole = robot.model()
    steps = [whole.inverse_dynamics(q, qd, qdd + e) - whole.inverse_dynamics(q, qd, qdd - e) for e in np.eye(model.n)]
    assert_close(m, np.array(steps).T / 2.0, 1e-12, size(whole, q, qd, qdd))
