"""The torque is linear in the inertial parameters, Spong (9.121): regressor, parameters, and their names."""

from dataclasses import replace

import arms
import numpy as np
from comparing import assert_close
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from pinocchio_peer import Peer
from robots_with_drives import Robot, load, robots, size, state, with_part

from robot_dynamics_ros import RobotModel

Array = NDArray[np.float64]


def _scale(y: Array, parameters: Array) -> float:
    return float(np.max(np.abs(y) @ np.abs(parameters)))


@given(robot=robots())
def test_regressor_times_parameters_is_the_torque(robot: Robot) -> None:
    model = robot.model()
    q, qd, qdd = state(robot, model.n)
    y, parameters = model.regressor(q, qd, qdd), model.inertial_parameters
    assert y.shape == (model.n, len(parameters))
    assert len(parameters) == len(model.parameter_names) == 10 * len(model.moving_joints) + len(robot.rotors)
    assert len(set(model.parameter_names)) == len(parameters)
    scale = size(model, q, qd, qdd) + _scale(y, parameters)
    assert_close(y @ parameters, model.inverse_dynamics(q, qd, qdd), 1e-12, scale)


@given(robot=robots(rotors=False))
def test_bodies_agree_with_pinocchio(robot: Robot) -> None:
    """Parameters are those of the link of each moving joint, at its origin, with all that is fixed to it."""
    model = robot.model()
    q, qd, qdd = state(robot, model.n)
    tree = robot.pinocchio(model.joint_names)
    assert_close(model.inertial_parameters, tree.peer.inertial_parameters(model.moving_joints), 1e-13, 10.0)
    rows = tree.peer.regressor(tree.position(q), tree.g @ qd, tree.g @ qdd, model.moving_joints)
    expected = tree.g.T @ rows
    scale = float(np.abs(tree.g).sum() * np.abs(rows).max())
    assert_close(model.regressor(q, qd, qdd), expected, 1e-13, scale)


@given(robot=robots(), data=st.data())
def test_regressor_knows_no_parameters(robot: Robot, data: st.DataObject) -> None:
    """With more mass on one link, the same regressor gives the new torque."""
    model = robot.model()
    q, qd, qdd = state(robot, model.n)
    y = model.regressor(q, qd, qdd)
    rng = np.random.default_rng(robot.seed)
    link = data.draw(st.sampled_from([link.name for link in robot.bare.links[1:]]))
    bare = with_part(robot.bare, link, 0.7, rng.uniform(-1, 1, 3), np.diag([0.1, 0.2, 0.15]))
    changed = replace(robot, bare=bare).model()
    old, new = model.inertial_parameters, changed.inertial_parameters
    touched = {name.split(".")[0] for name, a, b in zip(model.parameter_names, old, new, strict=True) if a != b}
    assert len(touched) <= 1
    assert_close(changed.regressor(q, qd, qdd), y, 0.0)
    scale = size(changed, q, qd, qdd) + _scale(y, new)
    assert_close(y @ new, changed.inverse_dynamics(q, qd, qdd), 1e-12, scale)


@given(robot=robots(), data=st.data())
def test_a_rotors_column(robot: Robot, data: st.DataObject) -> None:
    """It is what the torque loses with the rotor, whose carrier keeps its numbers."""
    if not robot.rotors:
        return
    k = data.draw(st.integers(0, len(robot.rotors) - 1))
    model = robot.model()
    q, qd, qdd = state(robot, model.n)
    rotors = (*robot.rotors[:k], replace(robot.rotors[k], axial=0.0), *robot.rotors[k + 1 :])
    without = load(robot.arm, replace(robot, rotors=rotors).dynamics).inverse_dynamics(q, qd, qdd)
    column = model.regressor(q, qd, qdd)[:, model.parameter_names.index(_name(robot, k))]
    tau = model.inverse_dynamics(q, qd, qdd)
    assert_close(tau - without, robot.rotors[k].axial * column, 1e-12, size(model, q, qd, qdd))


def _name(robot: Robot, k: int) -> str:
    """What the model calls the k-th rotor: those in the short form first, the others by their place in the file."""
    rotor = robot.rotors[k]
    if rotor.joint is not None:
        return f"{rotor.joint} rotor.inertia"
    return f"rotors[{sum(other.joint is None for other in robot.rotors[:k])}].inertia"


def test_names() -> None:
    arm = arms.random_arm(np.random.default_rng(3), [0, 1, 2, 3], ["revolute", "fixed", "prismatic", "fixed"])
    _, first, tool, second, tip = arm.links
    model = RobotModel.from_urdf(arm.urdf)
    ten = ("mass", "mcx", "mcy", "mcz", "ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    assert model.parameter_names == tuple(f"{link.name}.{name}" for link in (first, second) for name in ten)
    masses = [(first.mass or 0.0) + (tool.mass or 0.0), (second.mass or 0.0) + (tip.mass or 0.0)]
    assert_close(model.inertial_parameters[[0, 10]], masses, 1e-15)


def test_parameters_belong_to_the_caller() -> None:
    model = RobotModel.from_urdf(arms.random_arm(np.random.default_rng(3), [0], ["revolute"]).urdf)
    model.inertial_parameters[:] = 0.0
    assert model.inertial_parameters[0] > 0.0


def test_one_link_by_hand() -> None:
    """A pendulum about z: tau = izz qdd + g (m cx cos q - m cy sin q), with gravity along -y."""
    arm = arms.Arm(
        (arms.Link("base"), arms.Link("bob", 2.0, (0.3, 0.1, 0.2), np.diag([0.1, 0.2, 0.15]))),
        (arms.Joint("swing", "revolute", "base", "bob"),),
    )
    model = RobotModel.from_urdf(arm.urdf, gravity=[0, -9.81, 0])
    q, qd, qdd = np.array([0.7]), np.array([3.0]), np.array([-2.0])
    expected = np.zeros(10)
    expected[[1, 2, 9]] = 9.81 * np.cos(0.7), -9.81 * np.sin(0.7), -2.0
    assert_close(model.regressor(q, qd, qdd), [expected], 1e-14)
    assert Peer(arm.urdf, ["swing"]).inertial_parameters(["swing"])[9] == model.inertial_parameters[9]
