"""The torque is linear in the inertial parameters, Spong (9.121): regressor, parameters, and their names."""

from dataclasses import replace

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from robot_dynamics_ros import RobotModel
from support import arms
from support.comparing import assert_close
from support.robots_with_drives import Robot, load, robots, size, state


@given(robot=robots())
def test_regressor_times_parameters_is_the_torque(robot: Robot) -> None:
    model = robot.model()
    q, qd, qdd = state(robot, model.n)
    y = model.regressor(q, qd, qdd)
    parameters = model.inertial_parameters
    assert y.shape == (model.n, len(parameters))
    assert (
        len(parameters)
        == len(model.parameter_names)
        == 10 * len(model.moving_joints) + len(robot.rotors)
    )
    assert len(set(model.parameter_names)) == len(parameters)
    scale = size(model, q, qd, qdd) + float(np.max(np.abs(y) @ np.abs(parameters)))
    assert_close(y @ parameters, model.inverse_dynamics(q, qd, qdd), 1e-12, scale)


@given(robot=robots(), data=st.data())
def test_a_rotors_column(robot: Robot, data: st.DataObject) -> None:
    """The column is the change of the torque by the rotor. Its name has the joint, or the index in the file."""
    assume(robot.rotors)
    k = data.draw(st.integers(0, len(robot.rotors) - 1))
    rotor = robot.rotors[k]
    before = robot.rotors[:k]
    place = sum(other.joint is None for other in before)
    name = (
        f"rotors[{place}].inertia"
        if rotor.joint is None
        else f"{rotor.joint} rotor.inertia"
    )
    model = robot.model()
    q, qd, qdd = state(robot, model.n)
    rotors = (*before, replace(rotor, axial=0.0), *robot.rotors[k + 1 :])
    without = load(robot.arm, replace(robot, rotors=rotors).dynamics).inverse_dynamics(
        q, qd, qdd
    )
    column = model.regressor(q, qd, qdd)[:, model.parameter_names.index(name)]
    tau = model.inverse_dynamics(q, qd, qdd)
    assert_close(tau - without, rotor.axial * column, 1e-12, size(model, q, qd, qdd))


def test_parameters_have_the_names_of_the_moving_links_and_belong_to_the_caller() -> (
    None
):
    """Parameters of a link include links fixed to it."""
    arm = arms.random_arm(
        np.random.default_rng(3),
        [0, 1, 2, 3],
        ["revolute", "fixed", "prismatic", "fixed"],
    )
    _, first, tool, second, tip = arm.links
    model = RobotModel.from_urdf(arm.urdf)
    ten = ("mass", "mcx", "mcy", "mcz", "ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    assert model.parameter_names == tuple(
        f"{link.name}.{name}" for link in (first, second) for name in ten
    )
    masses = [
        (first.mass or 0.0) + (tool.mass or 0.0),
        (second.mass or 0.0) + (tip.mass or 0.0),
    ]
    model.inertial_parameters[:] = 0.0
    assert_close(model.inertial_parameters[[0, 10]], masses, 1e-15)
