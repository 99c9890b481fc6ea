"""The model of a robot that carries its own weight: the same numbers but for gravity, and nothing is compiled."""

from typing import Any

import arms
import numpy as np
import pytest
from comparing import assert_close
from hypothesis import given
from robots_with_drives import Robot, robots, size, state

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.kernels.compilation import COMPILED

ARM = arms.random_arm(np.random.default_rng(2), [0, 1], ["revolute", "prismatic"])
PAYLOAD = ARM.links[-1].name, 2.0, [0.1, 0.2, 0.3], [1.0, 0.0, 0.0, 1.0, 0.0, 1.0]


@given(robot=robots(payload=True))
def test_nothing_has_weight_and_all_else_is_as_it_was(robot: Robot) -> None:
    model = robot.model()
    without = model.without_gravity()
    q, qd, qdd = state(robot, model.n)
    scale = size(model, q, qd, qdd)
    assert_close(without.gravity, np.zeros(3), 0.0)
    assert_close(without.gravity_torque(q), np.zeros(model.n), 0.0)
    assert without.potential_energy(q) == 0.0
    expected = model.inverse_dynamics(q, qd, qdd) - model.gravity_torque(q)
    assert_close(without.inverse_dynamics(q, qd, qdd), expected, 1e-12, scale)
    for same in ("mass_matrix", "link_names", "parameter_names", "inertial_parameters", "effort_limits"):
        a, b = (getattr(each, same) for each in (model, without))
        assert np.array_equal(a(q), b(q)) if callable(a) else np.array_equal(a, b)
    assert np.array_equal(model.friction_torque(q, qd), without.friction_torque(q, qd))
    # The model it came from has its weight still.
    assert np.array_equal(model.gravity, robot.model().gravity)
    assert np.array_equal(model.gravity_torque(q), robot.model().gravity_torque(q))


@pytest.mark.parametrize("customised", [False, True])
def test_with_a_payload_before_or_after(customised: bool) -> None:
    """Both orders are the robot loaded with zero gravity and that payload; of states alone and many at once."""
    model = RobotModel.from_urdf(ARM.urdf, gravity=[1.0, 2.0, -9.0])
    expected = RobotModel.from_urdf(ARM.urdf, gravity=[0.0, 0.0, 0.0]).with_payload(*PAYLOAD)
    if customised:
        model = model.customised()
    q, qd, qdd = arms.states(2, 2, 4)
    for found in (model.with_payload(*PAYLOAD).without_gravity(), model.without_gravity().with_payload(*PAYLOAD)):
        assert type(found.kernels) is type(model.kernels)
        for states in ((q, qd, qdd), (q[0], qd[0], qdd[0])):
            assert_close(found.inverse_dynamics(*states), expected.inverse_dynamics(*states), 1e-13, 100.0)
            assert_close(found.forward_dynamics(*states), expected.forward_dynamics(*states), 1e-12, 100.0)
            assert_close(found.mass_matrix(states[0]), expected.mass_matrix(states[0]), 1e-13)
            assert_close(found.gravity_torque(states[0]), np.zeros_like(states[0]), 0.0)


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled at all")
def test_nothing_is_compiled() -> None:
    from numba.core import event

    model = RobotModel.from_urdf(ARM.urdf)
    states: Any = [x[0] for x in arms.states(2, 2, 1)]

    def call(model: RobotModel) -> None:
        model.inverse_dynamics(*states)
        model.gravity_torque(states[0])
        model.mass_matrix(states[0])
        model.coriolis_matrix(*states[:2])

    call(model)
    with event.install_recorder("numba:compile") as compiled:
        call(model.without_gravity())
    assert not compiled.buffer
