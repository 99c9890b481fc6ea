"""What a parent exerts on the child of each moving joint: Pinocchio's, Tsai's, and the balance of what hangs there."""

import arms
import numpy as np
import pytest
from comparing import assert_close
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from oracles import tsai_planar_2r
from robots_with_drives import Robot, Tree, robots, size, state, stride, wrenches

from robot_dynamics_ros import RobotModel

Array = NDArray[np.float64]


def _scale(robot: Robot, model: RobotModel, qd: Array, qdd: Array) -> float:
    """Size of forces and moments anywhere: masses times accelerations, and arms of some metres."""
    fast = stride(robot, model.joint_names, qd)
    acceleration = 10.0 + fast**2 + stride(robot, model.joint_names, qdd)
    return 10.0 * len(robot.bare.links) ** 2 * acceleration


def _expected(robot: Robot, tree: Tree, model: RobotModel, motion: tuple[Array, Array, Array], loads: object) -> Array:
    q, qd, qdd = motion
    given = tree.position(q), tree.g @ qd, tree.g @ qdd
    return tree.peer.reactions(*given, model.moving_joints, loads)  # type: ignore[arg-type]


@given(robot=robots(), loaded=st.booleans())
def test_any_robot_agrees_with_pinocchio(robot: Robot, loaded: bool) -> None:
    """In the tree in which rotors are bodies, with each joint driven at the joint."""
    model = robot.model()
    assert sorted(model.moving_joints) == sorted(robot.bare.movable)
    tree = robot.pinocchio(model.joint_names)
    q, qd, qdd = state(robot, model.n)
    loads = wrenches(robot) if loaded else None
    expected = _expected(robot, tree, model, (q, qd, qdd), loads)
    got = model.joint_reactions(q, qd, qdd, loads)
    assert_close(got, expected, 1e-12, _scale(robot, model, qd, qdd))


def _inertials(robot: Robot) -> dict[str, list[tuple[float, Array, Array]]]:
    """Mass, centre and central inertia of what each link is made of, the payload with its holder."""
    parts: dict[str, list[tuple[float, Array, Array]]] = {link.name: [] for link in robot.arm.links}
    for link in robot.arm.links[1:]:
        parts[link.name].append((float(link.mass or 0.0), np.asarray(link.com), np.asarray(link.inertia)))
    if robot.payload is not None:
        load = robot.payload
        parts[robot.holder].append((float(load.mass or 0.0), np.asarray(load.com), np.asarray(load.inertia)))
    return parts


def _beyond(robot: Robot, child: str) -> set[str]:
    """The links that hang on this one, itself included."""
    found = {child}
    for joint in robot.arm.joints:  # parents first
        if joint.parent in found:
            found.add(joint.child)
    return found


def _needed(robot: Robot, model: RobotModel, motion: tuple[Array, Array, Array], link: str) -> tuple[Array, Array]:
    """Force and moment about the root's origin that move one link, in root axes: Newton and Euler, body by body."""
    q, qd, qdd = motion
    pose, jacobian = model.link_pose(q, link), model.jacobian(q, link)
    turn, origin = pose[:3, :3], pose[:3, 3]
    w = (jacobian @ qd)[3:]
    acceleration = jacobian @ qdd + model.jacobian_dot_qd(q, qd, link)
    a, dw = acceleration[:3], acceleration[3:]
    force, moment = np.zeros(3), np.zeros(3)
    for mass, com, central in _inertials(robot)[link]:
        arm, inertia = turn @ com, turn @ central @ turn.T
        push = mass * (a + np.cross(dw, arm) + np.cross(w, np.cross(w, arm)) - np.array(robot.gravity))
        force += push
        moment += inertia @ dw + np.cross(w, inertia @ w) + np.cross(origin + arm, push)
    # A rotor at rest is in the link's own inertia; what is left is its spin.
    names = list(model.joint_names)
    spins = robot.matrix(names)[0][len(robot.bare.movable) :]
    for rotor, ratio in zip(robot.rotors, spins, strict=True):
        if rotor.carrier == link:
            axis = turn @ rotor.axis
            moment += rotor.axial * ((ratio @ qdd) * axis + (ratio @ qd) * np.cross(w, axis))
    return force, moment


@given(robot=robots(), loaded=st.booleans())
def test_everything_beyond_a_joint_is_in_balance(robot: Robot, loaded: bool) -> None:
    """The reaction and the wrenches from outside together move all links beyond the joint."""
    model = robot.model()
    q, qd, qdd = state(robot, model.n)
    loads = wrenches(robot) if loaded else {}
    got = model.joint_reactions(q, qd, qdd, loads or None)
    needed = {}
    for link in model.link_names[1:]:
        force, moment = _needed(robot, model, (q, qd, qdd), link)
        if link in loads:
            turn, origin = model.link_pose(q, link)[:3, :3], model.link_pose(q, link)[:3, 3]
            push = turn @ loads[link][:3]
            force = force - push
            moment = moment - turn @ loads[link][3:] - np.cross(origin, push)
        needed[link] = force, moment
    children = {joint.name: joint.child for joint in robot.arm.joints}
    scale = _scale(robot, model, qd, qdd) * (1.0 + float(np.abs(robot.matrix(model.joint_names)[0] @ q).sum()))
    for joint, reaction in zip(model.moving_joints, got, strict=True):
        child = children[joint]
        beyond = _beyond(robot, child)
        force = sum((needed[link][0] for link in beyond), np.zeros(3))
        moment = sum((needed[link][1] for link in beyond), np.zeros(3))
        pose = model.link_pose(q, child)
        moment = moment - np.cross(pose[:3, 3], force)
        expected = np.concatenate([pose[:3, :3].T @ force, pose[:3, :3].T @ moment])
        assert_close(reaction, expected, 1e-12, scale)


@given(robot=robots(coupled=False))
def test_axial_part_is_the_torque_less_the_rotors(robot: Robot) -> None:
    """tau_j = axial part + ratio I (spin acceleration + carrier's acceleration about the axis), Tsai (9.157)."""
    model = robot.model()
    q, qd, qdd = state(robot, model.n)
    joints = {joint.name: joint for joint in robot.arm.joints}
    axial = np.zeros(model.n)
    for name, reaction in zip(model.moving_joints, model.joint_reactions(q, qd, qdd), strict=True):
        part = reaction[:3] if joints[name].type == "prismatic" else reaction[3:]
        axial[model.joint_names.index(name)] = part @ np.asarray(joints[name].axis)
    tau = axial.copy()
    for rotor, ratio in zip(robot.rotors, robot.matrix(model.joint_names)[0][model.n :], strict=True):
        along = 0.0
        if rotor.carrier != "none":
            turning = model.jacobian(q, rotor.carrier)[3:] @ qdd + model.jacobian_dot_qd(q, qd, rotor.carrier)[3:]
            along = float(model.link_pose(q, rotor.carrier)[:3, :3] @ rotor.axis @ turning)
        tau += ratio * rotor.axial * (ratio @ qdd + along)
    scale = size(model, q, qd, qdd) + float(np.abs(axial).max())
    assert_close(model.inverse_dynamics(q, qd, qdd), tau, 1e-12, scale)


@pytest.mark.parametrize("seed", range(4))
def test_forces_in_the_planar_arm(seed: int) -> None:
    """Tsai example 9.7.1: forces at both joints of the planar arm, in the links' axes."""
    p = tsai_planar_2r.Parameters(*np.random.default_rng(seed).uniform(0.2, 3.0, 5).tolist())
    model = RobotModel.from_urdf(arms.tsai_planar_2r(p).urdf, gravity=[0, -p.g, 0])
    for q, qd, qdd in zip(*arms.states(seed, 2, 10), strict=True):
        reactions = model.joint_reactions(q, qd, qdd)
        for got, expected in zip(reactions, tsai_planar_2r.joint_forces(p, q, qd, qdd), strict=True):
            assert_close(got[:3], expected, 1e-13, 100.0)
        assert_close(reactions[:, 5], tsai_planar_2r.torque(p, q, qd, qdd), 1e-13, 1000.0)


def test_weight_of_a_hanging_mass() -> None:
    """A mass of 2 kg that hangs half a metre aside: its weight up, and 1 g about the joint."""
    arm = arms.Arm(
        (arms.Link("base"), arms.Link("weight", 2.0, (0.5, 0, 0))), (arms.Joint("j", "prismatic", "base", "weight"),)
    )
    rest = np.zeros(1)
    reaction = RobotModel.from_urdf(arm.urdf, gravity=[0, 0, -10.0]).joint_reactions(rest, rest, rest)
    assert_close(reaction, [[0.0, 0.0, 20.0, 0.0, -10.0, 0.0]], 1e-15)
