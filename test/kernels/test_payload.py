"""A payload is numbers alone: the same as in the file or the URDF, changed at run time, and nothing is compiled."""

from dataclasses import replace
from typing import Any

import arms
import numpy as np
import pytest
from comparing import assert_close
from hypothesis import given
from hypothesis import strategies as st
from robots_with_drives import Robot, load, robots, size, state

from robot_dynamics_ros import RobotModel, RobotModelError
from robot_dynamics_ros.kernels.compilation import COMPILED

SIX = np.triu_indices(3)


def _carrying(model: RobotModel, robot: Robot, link: str) -> RobotModel:
    assert robot.payload is not None
    return model.with_payload(link, float(robot.payload.mass or 0.0), robot.payload.com, robot.payload.inertia)


def _results(model: RobotModel, robot: Robot) -> list[Any]:
    q, qd, third = state(robot, model.n)
    return [
        model.inverse_dynamics(q, qd, third),
        model.forward_dynamics(q, qd, third),
        model.mass_matrix(q),
        model.gravity_torque(q),
        *model.inverse_dynamics_derivatives(q, qd, third),
        model.joint_reactions(q, qd, third),
        model.regressor(q, qd, third),
        model.inertial_parameters,
        model.potential_energy(q),
        model.kinetic_energy(q, qd),
    ]


def _same(a: RobotModel, b: RobotModel, robot: Robot) -> bool:
    pairs = zip(_results(a, robot), _results(b, robot), strict=True)
    return a.parameter_names == b.parameter_names and all(np.array_equal(x, y) for x, y in pairs)


@given(robot=robots(payload=True))
def test_it_is_the_payload_of_the_file(robot: Robot) -> None:
    """And in place of another one: bit for bit."""
    empty, in_file = replace(robot, payload=None).model(), robot.model()
    before = _results(empty, robot)
    carrying = _carrying(empty, robot, robot.holder)
    assert _same(carrying, in_file, robot)
    other = robot.bare.links[-1].name
    assert _same(_carrying(in_file, robot, other), _carrying(empty, robot, other), robot)
    assert _same(_carrying(_carrying(carrying, robot, other), robot, robot.holder), in_file, robot)
    assert _same(in_file.with_payload(other, 0.0, np.zeros(3), np.zeros((3, 3))), empty, robot)
    # The models it came from are as they were.
    assert all(np.array_equal(x, y) for x, y in zip(before, _results(empty, robot), strict=True))
    assert _same(in_file, robot.model(), robot)


@given(robot=robots(payload=True))
def test_it_is_a_link_of_the_urdf(robot: Robot) -> None:
    """A fixed link with that inertial."""
    assert robot.payload is not None
    model = robot.model()
    arm = robot.arm
    arm = replace(
        arm,
        links=(*arm.links, robot.payload),
        joints=(*arm.joints, arms.Joint("grip", "fixed", robot.holder, robot.payload.name)),
    )
    welded = load(arm, replace(robot, payload=None).dynamics)
    q, qd, qdd = state(robot, model.n)
    scale = size(model, q, qd, qdd)
    assert_close(model.mass_matrix(q), welded.mass_matrix(q), 1e-13)
    assert_close(model.inverse_dynamics(q, qd, qdd), welded.inverse_dynamics(q, qd, qdd), 1e-13, scale)
    assert_close(model.inertial_parameters, welded.inertial_parameters, 1e-13, 10.0)


def test_on_the_root_it_changes_nothing() -> None:
    model = RobotModel.from_urdf(arms.random_arm(np.random.default_rng(2), [0, 1], ["revolute", "prismatic"]).urdf)
    q, qd, qdd = (x[0] for x in arms.states(2, 2, 1))
    loaded = model.with_payload(model.link_names[0], 5.0, [1, 2, 3], [1, 0, 0, 1, 0, 1])
    assert np.array_equal(loaded.inverse_dynamics(q, qd, qdd), model.inverse_dynamics(q, qd, qdd))


@given(form=st.sampled_from(["six", "matrix", "lists"]))
def test_forms_of_the_inertia(form: str) -> None:
    model = RobotModel.from_urdf(arms.random_arm(np.random.default_rng(2), [0, 1], ["revolute", "prismatic"]).urdf)
    inertia = arms.central_inertia(np.random.default_rng(3), 2.0)
    given_as: Any = {"six": inertia[SIX], "matrix": inertia, "lists": inertia.tolist()}[form]
    q = np.array([0.4, -0.3])
    expected = model.with_payload(model.link_names[-1], 2.0, np.zeros(3), inertia).mass_matrix(q)
    assert np.array_equal(model.with_payload(model.link_names[-1], 2.0, [0, 0, 0], given_as).mass_matrix(q), expected)


def test_unknown_link() -> None:
    model = RobotModel.from_urdf(arms.random_arm(np.random.default_rng(2), [0], ["revolute"]).urdf)
    with pytest.raises(RobotModelError, match=f"(?s)(?=.*gripper)(?=.*{model.link_names[1]})"):
        model.with_payload("gripper", 1.0, np.zeros(3), np.eye(3))


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled at all")
@pytest.mark.parametrize("customised", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_nothing_is_compiled(customised: bool) -> None:
    """A model that differs by its payload runs what the model it came from has compiled."""
    from numba import njit
    from numba.core import event

    arm = arms.random_arm(np.random.default_rng(2), [0, 1], ["revolute", "prismatic"])
    model = RobotModel.from_urdf(arm.urdf)
    if customised:
        model = model.customised()
    q, qd, qdd = arms.states(2, 2, 4)

    def call(model: RobotModel) -> None:
        for states in ((q, qd, qdd), (q[0], qd[0], qdd[0])):
            model.inverse_dynamics(*states)
            model.forward_dynamics(*states)
            model.inverse_dynamics_derivatives(*states)
            model.mass_matrix(states[0])
            model.gravity_torque(states[0])

    call(model)
    with event.install_recorder("numba:compile") as compiled:
        call(model.with_payload(model.link_names[-1], 2.0, [0.1, 0.2, 0.3], [1, 0, 0, 1, 0, 1]))
    assert not compiled.buffer
    # The recorder would have noticed.
    with event.install_recorder("numba:compile") as compiled:
        njit(lambda x: x + 1.0)(1.0)
    assert compiled.buffer


def test_customised_kernels_carry_it_too() -> None:
    arm = arms.random_arm(np.random.default_rng(2), [0, 1], ["revolute", "prismatic"])
    model = RobotModel.from_urdf(arm.urdf)
    payload = model.link_names[-1], 2.0, [0.1, 0.2, 0.3], [1, 0, 0, 1, 0, 1]
    q, qd, qdd = arms.states(2, 2, 4)
    tailored, expected = model.customised().with_payload(*payload), model.with_payload(*payload)
    for states in ((q, qd, qdd), (q[0], qd[0], qdd[0])):
        assert_close(tailored.inverse_dynamics(*states), expected.inverse_dynamics(*states), 1e-13, 100.0)
        assert_close(tailored.forward_dynamics(*states), expected.forward_dynamics(*states), 1e-12, 100.0)
        assert_close(tailored.mass_matrix(states[0]), expected.mass_matrix(states[0]), 1e-13)
        assert_close(tailored.gravity_torque(states[0]), expected.gravity_torque(states[0]), 1e-13, 100.0)
