"""Craig's configuration-space form against his example, and with velocity torques of the kernels."""

from collections.abc import Callable

import arms
import numpy as np
import pytest
from comparing import assert_close
from hypothesis import given

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.formulations import configuration_space

pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")


def agrees_with_the_kernels(model: RobotModel, seed: int) -> None:
    """Craig (6.63): at one position, B and C serve every velocity."""
    q = arms.states(seed, model.n, 1)[0][0]
    b = configuration_space.coriolis_coefficients(model, q)
    c = configuration_space.centrifugal_coefficients(model, q)
    assert b.shape == (model.n, model.n * (model.n - 1) // 2)
    for qd in arms.states(seed + 1, model.n, 3)[1]:
        gravity = model.gravity_torque(q)
        velocity = model.bias_torque(q, qd) - gravity
        products, squares = configuration_space.velocity_products(qd), configuration_space.velocity_squares(qd)
        assert_close(b @ products + c @ squares, velocity, 1e-10, float(np.abs(gravity).max()))
        assert_close(configuration_space.velocity_torque(model, q, qd), b @ products + c @ squares, 1e-14)


@pytest.mark.parametrize("robot", ["panda", "puma560", "scara", "ur5e"])
def test_shipped_robots(robot: str, load_robot: Callable[..., RobotModel]) -> None:
    agrees_with_the_kernels(load_robot(robot), 5)


@given(arm=arms.trees(max_joints=6))
def test_trees(arm: arms.Arm) -> None:
    agrees_with_the_kernels(RobotModel.from_urdf(arm.urdf), arm.seed)


def test_craigs_two_links() -> None:
    """Craig example 6.4: (6.66)-(6.68) for point masses at the ends of links l1, l2."""
    l1, l2, m2 = 0.5, 0.4, 1.5
    text = arms.planar_2r(l1, l2, arms.Link("", 2.0, (l1, 0, 0)), arms.Link("", m2, (l2, 0, 0))).urdf
    model = RobotModel.from_urdf(text, gravity=[0, -9.81, 0])
    q = np.array([0.3, -1.1])
    k = m2 * l1 * l2 * np.sin(q[1])
    assert_close(configuration_space.coriolis_coefficients(model, q), [[-2 * k], [0]], 1e-14)
    assert_close(configuration_space.centrifugal_coefficients(model, q), [[0, -k], [k, 0]], 1e-14)


def test_order_of_products() -> None:
    """Craig (6.64)."""
    qd = np.array([2.0, 3.0, 5.0, 7.0])
    assert configuration_space.velocity_products(qd).tolist() == [6, 10, 14, 15, 21, 35]
    assert configuration_space.velocity_squares(qd).tolist() == [4, 9, 25, 49]


def test_one_joint() -> None:
    """No pairs: B is empty."""
    arm = arms.random_arm(np.random.default_rng(1), [0], ["revolute"])
    model = RobotModel.from_urdf(arm.urdf)
    assert configuration_space.coriolis_coefficients(model, [0.3]).shape == (1, 0)
    assert_close(configuration_space.velocity_torque(model, [0.3], [2.0]), [0.0], 1e-14)
