"""Rotors (Tsai 9.9): reflected inertia alone, and the exact coupling to the carrier's rotation (9.157)."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import arms
import numpy as np
import pytest
import yaml
from comparing import assert_close
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from pinocchio_peer import Peer
from robots_with_drives import Robot, load, robots, size, state, stride

from robot_dynamics_ros import RobotModel

Array = NDArray[np.float64]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield tmp_path_factory.mktemp("rotors")


def _load(folder: Path, arm: arms.Arm, rotors: dict[str, dict[str, Any]], **keywords: Any) -> RobotModel:
    dynamics = folder / "rotors.dynamics.yaml"
    dynamics.write_text(yaml.safe_dump({"joints": rotors}))
    return RobotModel.from_urdf(arm.urdf, dynamics=dynamics, **keywords)


def _rotors(arm: arms.Arm, carrier: str) -> dict[str, dict[str, Any]]:
    rng = np.random.default_rng(arm.seed + 1)
    return {
        name: {
            "rotor_inertia": float(rng.uniform(1e-5, 1e-4)),
            "gear_ratio": float(rng.choice([-1, 1]) * rng.uniform(20, 120)),
            "rotor_carrier": carrier,
        }
        for name in arm.movable
    }


def _rpy_matrix(rpy: Any) -> Array:
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def _explicit_tree(arm: arms.Arm, rotors: dict[str, dict[str, Any]]) -> arms.Arm:
    """Each rotor as a body of its own on its carrier.

    The carrier gives up the rotor's axial inertia, since it is understood to contain it.
    """
    tree = arm
    for joint in arm.joints:
        if joint.name not in rotors:
            continue
        axis = np.asarray(joint.axis)
        inertia = rotors[joint.name]["rotor_inertia"] * np.outer(axis, axis)
        turn = _rpy_matrix(joint.rpy)
        carrier = next(link for link in tree.links if link.name == joint.parent)
        if carrier.mass is not None:
            tree = tree.with_link(carrier.name, inertia=np.asarray(carrier.inertia) - turn @ inertia @ turn.T)
        rotor = arms.Link(f"rotor_{joint.name}", 0.0, (0, 0, 0), inertia)
        spin = replace(joint, name=f"spin_{joint.name}", type="continuous", child=rotor.name)
        tree = replace(tree, links=(*tree.links, rotor), joints=(*tree.joints, spin))
    return tree


@given(arm=arms.trees(max_joints=6))
def test_reflected_inertia_is_pinocchios_armature(arm: arms.Arm, folder: Path) -> None:
    rotors = _rotors(arm, "none")
    model = _load(folder, arm, rotors)
    peer = Peer(arm.urdf, model.joint_names)
    peer.set_armature({name: r["rotor_inertia"] * r["gear_ratio"] ** 2 for name, r in rotors.items()})
    q, qd, qdd = (x[0] for x in arms.states(arm.seed, model.n, 1))
    assert_close(model.mass_matrix(q), peer.crba(q), 1e-12)
    assert_close(model.inverse_dynamics(q, qd, qdd), peer.rnea(q, qd, qdd), 1e-10)
    assert_close(model.forward_dynamics(q, qd, qdd), peer.aba(q, qd, qdd), 1e-9)


@given(arm=arms.trees(max_joints=6))
def test_carried_rotor_is_a_body_that_spins_at_a_ratio(arm: arms.Arm, folder: Path) -> None:
    """M = G^T M_tree G and tau = G^T tau_tree, where G ties each rotor's angle to its joint."""
    rotors = _rotors(arm, "parent")
    model = _load(folder, arm, rotors)
    names = [*model.joint_names, *(f"spin_{name}" for name in model.joint_names)]
    peer = Peer(_explicit_tree(arm, rotors).urdf, names)
    g = np.vstack([np.eye(model.n), np.diag([rotors[name]["gear_ratio"] for name in model.joint_names])])
    q, qd, qdd = (x[0] for x in arms.states(arm.seed, model.n, 1))
    scale = float(np.abs(peer.rnea(g @ q, g @ qd, g @ qdd)).max())
    assert_close(model.mass_matrix(q), g.T @ peer.crba(g @ q) @ g, 1e-11)
    assert_close(model.inverse_dynamics(q, qd, qdd), g.T @ peer.rnea(g @ q, g @ qd, g @ qdd), 1e-10, scale)
    assert_close(model.bias_torque(q, qd), g.T @ peer.bias(g @ q, g @ qd), 1e-10, scale)
    assert_close(model.gravity_torque(q), g.T @ peer.gravity(g @ q), 1e-10, scale)
    assert model.kinetic_energy(q, qd) == pytest.approx(peer.kinetic_energy(g @ q, g @ qd), rel=1e-11)
    assert_close(model.forward_dynamics(q, qd, model.inverse_dynamics(q, qd, qdd)), qdd, 1e-9)


@pytest.mark.parametrize("ratio", [50.0, -50.0])
def test_parallel_axes_couple_by_tsai_9_157(ratio: float, folder: Path) -> None:
    """Two parallel joints.

    K_hat = I r^2 qd2^2 / 2 + I r qd1 qd2 adds I r^2 to m22 and I r to m12, with the ratio's sign.
    """
    inertia = 3e-4
    arm = arms.planar_2r(
        0.5,
        0.4,
        arms.Link("", 2.0, (0.2, 0, 0), np.eye(3) * 0.02),
        arms.Link("", 1.0, (0.1, 0, 0), np.eye(3) * 0.01),
    )
    rotor = {"rotor_inertia": inertia, "gear_ratio": ratio, "rotor_carrier": "parent"}
    q = np.array([0.4, -0.9])
    added = _load(folder, arm, {"joint2": rotor}).mass_matrix(q) - RobotModel.from_urdf(arm.urdf).mass_matrix(q)
    assert_close(added, [[0.0, inertia * ratio], [inertia * ratio, inertia * ratio**2]], 1e-14)


def test_parent_is_the_default_carrier(folder: Path) -> None:
    arm = arms.random_arm(np.random.default_rng(2), [0, 1], ["revolute", "revolute"])
    rotor = {"rotor_inertia": 1e-4, "gear_ratio": 80.0}
    q = np.array([0.3, 0.7])
    name = arm.movable[1]
    silent, parent = (
        _load(folder, arm, {name: rotor}),
        _load(folder, arm, {name: {**rotor, "rotor_carrier": "parent"}}),
    )
    assert_close(silent.mass_matrix(q), parent.mass_matrix(q), 1e-15)


def test_rotor_of_a_locked_joint_rests_on_its_carrier(folder: Path) -> None:
    """The carrier's inertia already holds the rotor at rest: nothing is added."""
    arm = arms.random_arm(np.random.default_rng(6), [0, 1, 2], ["revolute", "revolute", "continuous"])
    first, second, third = arm.movable
    choice: dict[str, Any] = {"joints": [first, third], "locked": {second: 0.6}}
    rotor = {second: {"rotor_inertia": 1e-4, "gear_ratio": 80.0}}
    q, qd, qdd = (x[0] for x in arms.states(6, 2, 1))
    with_rotor, without = _load(folder, arm, rotor, **choice), RobotModel.from_urdf(arm.urdf, **choice)
    assert_close(with_rotor.inverse_dynamics(q, qd, qdd), without.inverse_dynamics(q, qd, qdd), 1e-14)


# --- Rotors of the general form, on any robot


@given(robot=robots())
def test_rotors_are_bodies_coupled_by_a_row(robot: Robot) -> None:
    """Each rotor as a link of its own URDF joint, which our own couplings then tie to what drives it.

    Its mass and its inertia across the axis leave the carrier with it; both stand still in the carrier, so
    that nothing changes by the way the numbers are shared out.
    """
    if not robot.rotors:
        return
    model = robot.model()
    content = robot.dynamics
    content["rotors"] = []
    content["joints"] = {}
    content.pop("payload", None)  # a link of the explicit tree
    rows = {f"spin_{k}": dict(rotor.ratio) for k, rotor in enumerate(robot.rotors)}
    content["couplings"] = {**robot.rows, **rows}
    explicit = load(robot.tree, content)
    assert explicit.joint_names == model.joint_names
    q, qd, qdd = state(robot, model.n)
    scale = size(model, q, qd, qdd)
    assert_close(explicit.mass_matrix(q), model.mass_matrix(q), 1e-12)
    tau, bias = model.inverse_dynamics(q, qd, qdd), model.bias_torque(q, qd)
    assert_close(explicit.inverse_dynamics(q, qd, qdd), tau, 1e-11, scale)
    assert_close(explicit.bias_torque(q, qd), bias, 1e-11, scale)
    assert_close(explicit.gravity_torque(q), model.gravity_torque(q), 1e-11, scale)
    gain = float(np.abs(np.linalg.inv(model.mass_matrix(q))).sum(axis=1).max())
    assert_close(explicit.forward_dynamics(q, qd, tau), qdd, 1e-11 * max(1.0, gain * scale))
    assert explicit.kinetic_energy(q, qd) == pytest.approx(model.kinetic_energy(q, qd), rel=1e-11)
    rate = stride(robot, model.joint_names, rotors=True)
    for got, expected in zip(
        explicit.inverse_dynamics_derivatives(q, qd, qdd), model.inverse_dynamics_derivatives(q, qd, qdd), strict=True
    ):
        assert_close(got, expected, 1e-11, rate * scale)


@given(robot=robots(coupled=False, rotors=False), data=st.data())
def test_rotors_on_what_does_not_turn_are_pinocchios_armature(robot: Robot, data: st.DataObject) -> None:
    """On the base, on links that are fixed to it, on links that only slide, or without carrier."""
    arm = robot.arm
    resting = ["none", arm.links[0].name]
    for joint in arm.joints:
        if joint.parent in resting and joint.type in ("fixed", "prismatic"):
            resting.append(joint.child)
    rng = np.random.default_rng(robot.seed)
    rotors = []
    armature = dict.fromkeys(arm.movable, 0.0)
    for _ in range(data.draw(st.integers(1, 6))):
        inertia, ratio, joint_name = rng.uniform(1e-5, 1e-4), rng.uniform(-100, 100), str(rng.choice(arm.movable))
        armature[joint_name] += inertia * ratio**2
        axis, carrier = rng.standard_normal(3).tolist(), data.draw(st.sampled_from(resting))
        rotors.append(
            {"carrier": carrier, "axis": axis, "inertia": float(inertia), "ratio": {joint_name: float(ratio)}}
        )
    model = load(arm, {**robot.dynamics, "rotors": rotors})
    peer = Peer(robot.tree.urdf, model.joint_names, robot.gravity)
    peer.set_armature(armature)
    q, qd, qdd = state(robot, model.n)
    scale = size(model, q, qd, qdd)
    assert_close(model.mass_matrix(q), peer.crba(q), 1e-12)
    assert_close(model.inverse_dynamics(q, qd, qdd), peer.rnea(q, qd, qdd), 1e-12, scale)
    gain = float(np.abs(np.linalg.inv(peer.crba(q))).sum(axis=1).max())
    assert_close(model.forward_dynamics(q, qd, qdd), peer.aba(q, qd, qdd), 1e-12 * max(1.0, gain * scale))


def test_rotor_driven_by_several_joints() -> None:
    """A differential: I r r^T on the mass matrix, where the carrier does not turn."""
    arm = arms.random_arm(np.random.default_rng(5), [0, 1, 2], ["revolute", "prismatic", "continuous"])
    ratio = dict(zip(arm.movable, (30.0, -50.0, 7.0), strict=True))
    rotor = {"carrier": "none", "inertia": 2e-4, "ratio": ratio}
    q, qd, _ = (x[0] for x in arms.states(5, 3, 1))
    with_rotor, without = load(arm, {"rotors": [rotor]}), RobotModel.from_urdf(arm.urdf)
    r = np.array(list(ratio.values()))
    assert_close(with_rotor.mass_matrix(q) - without.mass_matrix(q), 2e-4 * np.outer(r, r), 1e-13)
    assert_close(with_rotor.bias_torque(q, qd), without.bias_torque(q, qd), 1e-13, 100.0)


def test_rotors_add_up() -> None:
    """Everything is linear in their inertias: what three rotors at unlike ratios change is what each changes alone."""
    arm = arms.random_arm(np.random.default_rng(6), [0, 1, 2], ["revolute"] * 3)
    rng = np.random.default_rng(7)
    rotors: list[dict[str, Any]] = [
        {
            "carrier": arm.links[1 + k].name,
            "axis": rng.uniform(-1, 1, 3).tolist(),
            "inertia": 0.01 * (k + 1),
            "ratio": {arm.joints[2 - k].name: 5.0 * (k - 3)},
        }
        for k in range(3)
    ]
    q, qd, qdd = (x[0] for x in arms.states(8, 3, 1))

    def dynamics(*chosen: dict[str, Any]) -> Array:
        model = load(arm, {"rotors": list(chosen)})
        derivatives = model.inverse_dynamics_derivatives(q, qd, qdd)
        return np.vstack([model.inverse_dynamics(q, qd, qdd), model.mass_matrix(q), *derivatives])

    bare = dynamics()
    assert_close(dynamics(*rotors) - bare, sum(dynamics(rotor) - bare for rotor in rotors), 1e-12)
