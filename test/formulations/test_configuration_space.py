"""Craig's configuration-space form against his example, and with velocity torques of the kernels."""

import numpy as np
from hypothesis import given

from oracles import craig_planar_2r
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.formulations import configuration_space
from support import arms
from support.comparing import assert_close


@given(arm=arms.trees(6))
def test_trees(arm: arms.Arm) -> None:
    """Craig (6.63): at one position, B and C serve every velocity."""
    model = RobotModel.from_urdf(arm.urdf)
    q = arms.states(arm.seed, model.n, 1)[0][0]
    b = configuration_space.coriolis_coefficients(model, q)
    c = configuration_space.centrifugal_coefficients(model, q)
    assert b.shape == (model.n, model.n * (model.n - 1) // 2)
    for qd in arms.states(arm.seed + 1, model.n, 3)[1]:
        gravity = model.gravity_torque(q)
        velocity = model.bias_torque(q, qd) - gravity
        products, squares = configuration_space.velocity_products(qd), configuration_space.velocity_squares(qd)
        assert_close(b @ products + c @ squares, velocity, 1e-10, float(np.abs(gravity).max()))
        assert_close(configuration_space.velocity_torque(model, q, qd), b @ products + c @ squares, 1e-14)


def test_craigs_two_links() -> None:
    """Craig example 6.4: (6.66)-(6.68) for point masses at the ends of links l1, l2."""
    p, q = craig_planar_2r.Parameters(0.5, 0.4, 2.0, 1.5), np.array([0.3, -1.1])
    model = RobotModel.from_urdf(arms.craig_planar_2r(p).urdf)
    b, c = craig_planar_2r.coriolis_and_centrifugal(p, q)
    assert_close(configuration_space.coriolis_coefficients(model, q), b, 1e-14)
    assert_close(configuration_space.centrifugal_coefficients(model, q), c, 1e-14)


def test_order_of_products() -> None:
    """Craig (6.64)."""
    qd = np.array([2.0, 3.0, 5.0, 7.0])
    assert configuration_space.velocity_products(qd).tolist() == [6, 10, 14, 15, 21, 35]
    assert configuration_space.velocity_squares(qd).tolist() == [4, 9, 25, 49]
