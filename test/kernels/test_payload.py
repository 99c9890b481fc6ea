"""A payload is numbers alone: the same as in the file or the URDF, changed at run time, and nothing is compiled."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from robot_dynamics_ros import RobotModel, RobotModelError
from robot_dynamics_ros.kernels.compilation import COMPILED
from support import arms
from support.comparing import assert_close
from support.robots_with_drives import Robot, load, robots, size, state


def _carrying(model: RobotModel, robot: Robot, link: str) -> RobotModel:
    assert robot.payload is not None
    return model.with_payload(link, float(robot.payload.mass or 0.0), robot.payload.com, robot.payload.inertia)


def _same(a: RobotModel, b: RobotModel, robot: Robot) -> bool:
    """Bit for bit."""
    q, qd, third = state(robot, a.n)
    results = [
        (
            model.forward_dynamics(q, qd, third),
            *model.inverse_dynamics_derivatives(q, qd, third),
            model.joint_reactions(q, qd, third),
            model.regressor(q, qd, third),
            model.inertial_parameters,
            model.potential_energy(q),
            model.kinetic_energy(q, qd),
        )
        for model in (a, b)
    ]
    return all(np.array_equal(x, y) for x, y in zip(*results, strict=True))


@given(robot=robots(payload=True))
def test_it_is_the_payload_of_the_file(robot: Robot) -> None:
    """And in place of another one; the models it came from are as they were."""
    empty, in_file = replace(robot, payload=None).model(), robot.model()
    other = robot.bare.links[-1].name
    carrying = _carrying(empty, robot, robot.holder)
    assert _same(carrying, in_file, robot)
    assert _same(_carrying(in_file, robot, other), _carrying(empty, robot, other), robot)
    assert _same(in_file.with_payload(other, 0.0, np.zeros(3), np.zeros((3, 3))), empty, robot)
    assert _same(empty, replace(robot, payload=None).model(), robot)


@given(robot=robots(payload=True))
def test_it_is_a_fixed_link_of_the_urdf(robot: Robot) -> None:
    assert robot.payload is not None
    model, arm = robot.model(), robot.arm
    grip = arms.Joint("grip", "fixed", robot.holder, robot.payload.name)
    welded = load(
        replace(arm, links=(*arm.links, robot.payload), joints=(*arm.joints, grip)),
        replace(robot, payload=None).dynamics,
    )
    q, qd, qdd = state(robot, model.n)
    expected, scale = welded.inverse_dynamics(q, qd, qdd), size(model, q, qd, qdd)
    assert_close(model.inverse_dynamics(q, qd, qdd), expected, 1e-13, scale)
    assert_close(model.inertial_parameters, welded.inertial_parameters, 1e-13, 10.0)


@pytest.fixture(scope="module")
def model() -> RobotModel:
    return RobotModel.from_urdf(arms.random_arm(np.random.default_rng(2), [0, 1], ["revolute", "prismatic"]).urdf)


def test_on_the_root_it_changes_nothing(model: RobotModel) -> None:
    q, qd, qdd = (x[0] for x in arms.states(2, 2, 1))
    loaded = model.with_payload(model.link_names[0], 5.0, [1, 2, 3], [1, 0, 0, 1, 0, 1])
    assert np.array_equal(loaded.inverse_dynamics(q, qd, qdd), model.inverse_dynamics(q, qd, qdd))


def test_forms_of_the_inertia(model: RobotModel) -> None:
    inertia, q = arms.central_inertia(np.random.default_rng(3), 2.0), np.array([0.4, -0.3])
    forms: list[Any] = [inertia, inertia.tolist(), inertia[np.triu_indices(3)]]
    first, *others = (model.with_payload(model.link_names[-1], 2.0, [0, 0, 0], form).mass_matrix(q) for form in forms)
    assert all(np.array_equal(first, other) for other in others)


def test_unknown_link(model: RobotModel) -> None:
    with pytest.raises(RobotModelError, match="gripper"):
        model.with_payload("gripper", 1.0, np.zeros(3), np.eye(3))


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled at all")
@pytest.mark.parametrize("customised", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_nothing_is_compiled(customised: bool, model: RobotModel) -> None:
    """A model that differs by its payload runs what the model it came from has compiled."""
    from numba import njit
    from numba.core import event

    origin = model.customised() if customised else model
    q, qd, qdd = arms.states(2, 2, 4)

    def call(model: RobotModel) -> None:
        for states in ((q, qd, qdd), (q[0], qd[0], qdd[0])):
            model.inverse_dynamics(*states)
            model.forward_dynamics(*states)
            model.inverse_dynamics_derivatives(*states)
            model.mass_matrix(states[0])
            model.gravity_torque(states[0])

    call(origin)
    with event.install_recorder("numba:compile") as compiled:
        call(origin.with_payload(model.link_names[-1], 2.0, [0.1, 0.2, 0.3], [1, 0, 0, 1, 0, 1]))
        assert not compiled.buffer
        njit(lambda x: x + 1.0)(1.0)
    assert compiled.buffer  # the recorder would have noticed


def test_customised_kernels_carry_it_too(model: RobotModel) -> None:
    payload = model.link_names[-1], 2.0, [0.1, 0.2, 0.3], [1, 0, 0, 1, 0, 1]
    q, qd, qdd = arms.states(2, 2, 4)
    tailored, expected = model.customised().with_payload(*payload), model.with_payload(*payload)
    for states in ((q, qd, qdd), (q[0], qd[0], qdd[0])):
        assert_close(tailored.inverse_dynamics(*states), expected.inverse_dynamics(*states), 1e-13, 100.0)
        assert_close(tailored.forward_dynamics(*states), expected.forward_dynamics(*states), 1e-12, 100.0)
        assert_close(tailored.mass_matrix(states[0]), expected.mass_matrix(states[0]), 1e-13)
        assert_close(tailored.gravity_torque(states[0]), expected.gravity_torque(states[0]), 1e-13, 100.0)
