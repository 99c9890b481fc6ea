"""q_tree = G q + c: which coordinates are independent, and how every joint follows them."""

import re
from pathlib import Path
from typing import Any

import arms
import numpy as np
import pinocchio as pin
import pytest
import yaml
from comparing import assert_close
from hypothesis import given
from hypothesis import strategies as st
from pinocchio_peer import Peer

from robot_dynamics_ros import RobotModel, RobotModelError
from robot_dynamics_ros.kernels.layout import AFTER, FIRST
from robot_dynamics_ros.model.assembly import assemble
from robot_dynamics_ros.model.dynamics_file import DynamicsFile, read_dynamics_file
from robot_dynamics_ros.model.packed import PackedModel
from robot_dynamics_ros.model.urdf import parse_urdf

CHAIN = arms.random_arm(np.random.default_rng(4), [0, 1, 2, 3], ["revolute"] * 4)
A, B, C, D = CHAIN.movable


def mimic(arm: arms.Arm, name: str, source: str, attributes: str = "") -> arms.Arm:
    """The arm with one joint that follows another."""
    return arm.with_joint(name, extra=f'<mimic joint="{source}" {attributes}/>')


def packed(
    arm: arms.Arm, content: dict[str, Any] | None = None, file: Path | None = None, **keywords: Any
) -> PackedModel:
    """The packed arm, with this content in a dynamics file."""
    dynamics = DynamicsFile()
    if content is not None and file is not None:
        file.write_text(yaml.safe_dump(content))
        dynamics = read_dynamics_file(file)
    arguments = {"gravity": None, "joints": None, "locked": None, "strict": False, **keywords}
    return assemble(parse_urdf(arm.urdf, "arm.urdf"), dynamics, **arguments)


def matrix(model: PackedModel) -> arms.Array:
    """G (bodies, n) from the packed entries."""
    robot = model.robot
    g = np.zeros((len(model.moving_joints), len(model.joint_names)))
    for row, (first, after) in enumerate(robot.tree[: len(g), [FIRST, AFTER]]):
        np.add.at(g[row], robot.coordinates[first:after], robot.factors[first:after])
    return g


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("couplings") / "couplings.yaml"


# --- What is independent, and G


def test_mimic_defaults() -> None:
    """Multiplier 1, offset 0."""
    model = packed(mimic(CHAIN, C, A))
    assert model.joint_names == (A, B, D)
    assert model.moving_joints == (A, B, C, D)
    assert np.array_equal(matrix(model), [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]])


def test_mimics_in_a_chain() -> None:
    """In the file a follower may stand before what it follows; b = -2 d + 0.1, a = 3 b + 1 = -6 d + 1.3."""
    arm = mimic(mimic(CHAIN, A, B, 'multiplier="3" offset="1"'), B, D, 'multiplier="-2" offset="0.1"')
    model = packed(arm)
    assert model.joint_names == (C, D)
    assert_close(matrix(model), [[0, -6], [0, -2], [1, 0], [0, 1]], 1e-15)
    expected = frames(CHAIN, np.array([1.3, 0.1, 0, 0]))
    for link, pose in link_poses(model, np.zeros(2)).items():
        assert_close(pose, expected[link], 1e-14)


def test_file_goes_before_the_mimic(file: Path) -> None:
    arm = mimic(CHAIN, C, A, 'multiplier="5"')
    model = packed(arm, {"couplings": {C: {B: 0.5, D: 2.0}}}, file)
    assert model.joint_names == (A, B, D)
    assert np.array_equal(matrix(model), [[1, 0, 0], [0, 1, 0], [0, 0.5, 2], [0, 0, 1]])


def test_remotely_driven_elbow(file: Path) -> None:
    """Spong section 9.4: p1 and p2 are the links' angles against the base, so that joint 2 turns by p2 - p1."""
    content = {"coordinates": ["p1", "p2"], "couplings": {A: {"p1": 1.0}, B: {"p1": -1.0, "p2": 1.0}}}
    model = packed(CHAIN, content, file)
    assert model.joint_names == (C, D, "p1", "p2")
    assert np.array_equal(matrix(model), [[0, 0, 1, 0], [0, 0, -1, 1], [1, 0, 0, 0], [0, 1, 0, 0]])
    assert model.position_lower[2] == -np.inf and model.position_upper[3] == np.inf
    assert np.isinf(model.velocity_limits[2:]).all() and np.isinf(model.effort_limits[2:]).all()
    assert np.isfinite(model.effort_limits[:2]).all()


@given(arm=arms.coupled_trees(), data=st.data())
def test_rows_are_resolved(arm: arms.Coupled, data: st.DataObject, file: Path) -> None:
    """Against the rows' own evaluation: random chains, order of names, and some of them locked."""
    names = data.draw(st.permutations(arm.independent))
    locked = {name: 0.25 + k for k, name in enumerate(names[data.draw(st.integers(1, len(names))) :])}
    names = names[: len(names) - len(locked)]
    g, c = arm.matrix(names, locked)
    if not np.any(g[:, : len(names)]):
        return
    idle = [name for name, column in zip(names, g.T, strict=True) if not column.any()]
    if idle:
        with pytest.raises(RobotModelError, match=idle[0]):
            packed(arm.arm, arm.dynamics, file, joints=names, locked=locked)
        return
    model = packed(arm.arm, arm.dynamics, file, joints=names, locked=locked)
    assert list(model.joint_names) == names
    # Bodies stand depth first, `g` in document order.
    rows = [arm.arm.movable.index(name) for name in model.moving_joints]
    assert_close(matrix(model), g[rows], 1e-13)
    still = [k for k in range(len(g)) if k not in rows]
    assert_close(g[still], np.zeros((len(still), len(names))), 1e-14)

    # And the links stand where Pinocchio's stand, with the joints at G q + c.
    q = np.random.default_rng(arm.arm.seed).uniform(-2, 2, len(names))
    expected = frames(arm.arm, g @ q + c)
    for link, pose in link_poses(model, q).items():
        assert_close(pose, expected[link], 1e-12)


def frames(arm: arms.Arm, positions: arms.Array) -> dict[str, arms.Array]:
    """Poses (4, 4) of all links by Pinocchio, which takes every movable joint as independent."""
    peer = Peer(arm.urdf, arm.movable)
    pin.framesForwardKinematics(peer.model, peer.data, peer.q(positions))
    return {link.name: peer.data.oMf[peer.model.getFrameId(link.name, pin.BODY)].homogeneous for link in arm.links}


def link_poses(model: PackedModel, q: arms.Array) -> dict[str, arms.Array]:
    """Poses (4, 4) of all links from the packed arrays, by products of transforms."""
    robot, angles = model.robot, matrix(model) @ q
    bodies: list[arms.Array] = []
    for body, (parent, kind), value in zip(robot.bodies, robot.tree[:, :2], angles, strict=False):
        placement, motion = np.eye(4), np.eye(4)
        placement[:3, :3], placement[:3, 3] = body[:9].reshape(3, 3), body[9:12]
        if kind == 0:
            motion[:2, :2] = [[np.cos(value), -np.sin(value)], [np.sin(value), np.cos(value)]]
        else:
            motion[2, 3] = value
        bodies.append((bodies[parent] if parent >= 0 else np.eye(4)) @ placement @ motion)
    poses = {}
    for link, frame in model.frames.items():
        local = np.eye(4)
        local[:3, :3], local[:3, 3] = frame.rotation, frame.position
        poses[link] = (bodies[frame.body] if frame.body >= 0 else np.eye(4)) @ local
    return poses


@given(arm=arms.coupled_trees())
def test_coupled_dynamics_are_the_trees(arm: arms.Coupled, file: Path) -> None:
    """tau = G^T tau_tree and M = G^T M_tree G, with Pinocchio's tree of independent joints."""
    file.write_text(yaml.safe_dump(arm.dynamics))
    model = RobotModel.from_urdf(arm.arm.urdf, dynamics=file, gravity=[1.0, 2.0, -9.0])
    g, c = arm.matrix(list(model.joint_names))
    peer = Peer(arm.arm.urdf, arm.arm.movable, [1.0, 2.0, -9.0])
    q, qd, qdd = (x[0] for x in arms.states(arm.arm.seed, model.n, 1))
    tree = peer.rnea(g @ q + c, g @ qd, g @ qdd)
    scale = float(np.abs(g).sum(axis=0).max() * np.abs(tree).max())
    assert_close(model.inverse_dynamics(q, qd, qdd), g.T @ tree, 1e-11, scale)
    assert_close(model.mass_matrix(q), g.T @ peer.crba(g @ q + c) @ g, 1e-11)


def test_mimic_is_pinocchios() -> None:
    """Against Pinocchio's own mimic joints."""
    arm = mimic(mimic(CHAIN, C, A, 'multiplier="-0.7" offset="0.3"'), D, B)
    model = RobotModel.from_urdf(arm.urdf)
    peer = pin.buildModelFromXML(arm.urdf, mimic=True)
    assert peer.nv == 2 and [peer.names[i] for i in peer.mimicking_joints] == [C, D]
    q, qd, qdd = (x[0] for x in arms.states(3, 2, 1))
    assert_close(model.inverse_dynamics(q, qd, qdd), pin.rnea(peer, peer.createData(), q, qd, qdd), 1e-12, 100.0)
    upper = np.triu(pin.crba(peer, peer.createData(), q))
    assert_close(model.mass_matrix(q), upper + np.triu(upper, 1).T, 1e-12)


@pytest.mark.parametrize(
    ("content", "coupled"),
    [
        ({}, False),
        ({"coordinates": ["p"], "couplings": {A: {"p": 1.0, "offset": 0.3}}}, True),
        ({"coordinates": ["p"], "couplings": {A: {"p": 2.0}}}, True),
        ({"couplings": {A: {B: 1.0}}}, True),
        ({"couplings": {A: {B: 1.0, C: 1.0}}}, True),
        ({"couplings": {A: {"offset": 1.0}}}, False),
        ({"rotors": [{"carrier": "none", "inertia": 1.0, "ratio": {A: 2.0, B: 1.0}}]}, False),
    ],
)
def test_coupled_says_whether_joints_follow_others(content: dict[str, Any], coupled: bool, file: Path) -> None:
    assert packed(CHAIN, content, file).coupled is coupled
    if not coupled:
        order = packed(CHAIN, content, file).joint_names[::-1]
        assert not packed(CHAIN, content, file, joints=order).coupled


# --- Locked and constant


def test_follower_of_a_locked_joint_stands_still(file: Path) -> None:
    """b = 2 a + 0.1 with a locked at 0.4: as an arm with both locked, at 0.4 and 0.9."""
    arm = mimic(CHAIN, B, A, 'multiplier="2" offset="0.1"')
    assert_same(packed(arm, locked={A: 0.4}), packed(CHAIN, locked={A: 0.4, B: 0.9}))
    assert_same(packed(arm, joints=[D, C], locked={A: 0.4}), packed(CHAIN, joints=[D, C], locked={A: 0.4, B: 0.9}))


def test_locked_follower_no_longer_follows() -> None:
    arm = mimic(mimic(CHAIN, B, A), C, B, 'multiplier="2"')
    assert_same(packed(arm, locked={B: 0.3}), packed(CHAIN, locked={B: 0.3, C: 0.6}))


def test_locked_coordinate(file: Path) -> None:
    content = {"coordinates": ["p"], "couplings": {A: {"p": 2.0}, B: {"p": 1.0, C: 1.0}}}
    model = packed(CHAIN, content, file, locked={"p": 0.5})
    assert_same(model, packed(CHAIN, {"couplings": {B: {C: 1.0, "offset": 0.5}}}, file, locked={A: 1.0}))


@pytest.mark.parametrize("row", [{"offset": 0.7}, {B: 0.0, "offset": 0.7}])
def test_row_without_factors_is_a_locked_joint(row: dict[str, float], file: Path) -> None:
    assert_same(packed(CHAIN, {"couplings": {A: row}}, file), packed(CHAIN, locked={A: 0.7}))


def test_factors_that_cancel_are_dropped(file: Path) -> None:
    """b = a - a: it stands still."""
    content = {"coordinates": ["p"], "couplings": {A: {"p": 1.0}, B: {"p": -1.0, A: 1.0}}}
    assert packed(CHAIN, content, file).moving_joints == (A, C, D)


def assert_same(model: PackedModel, expected: PackedModel) -> None:
    assert model.joint_names == expected.joint_names and model.moving_joints == expected.moving_joints
    assert np.array_equal(model.structure, expected.structure)
    assert_close(model.numbers, expected.numbers, 1e-14)


# --- Errors

BASE = {"coordinates": ["p"], "couplings": {A: {"p": 1.0}}}
TOOL = arms.replace(CHAIN, joints=(*CHAIN.joints[:3], arms.replace(CHAIN.joints[3], type="fixed")))

BAD: dict[str, tuple[arms.Arm, dict[str, Any], dict[str, Any], list[str]]] = {
    "unknown_joint": (CHAIN, {"couplings": {"thumb": {A: 1.0}}}, {}, ["couplings.yaml", "thumb", B]),
    "fixed_joint": (TOOL, {"couplings": {D: {A: 1.0}}}, {}, ["couplings.yaml", D, C]),
    "row_of_a_coordinate": (CHAIN, {**BASE, "couplings": {"p": {A: 1.0}}}, {}, ["couplings.yaml", '"p"', A]),
    "unknown_source": (CHAIN, {"couplings": {B: {"thumb": 1.0}}}, {}, ["couplings.yaml", B, "thumb", A]),
    "fixed_source": (TOOL, {"couplings": {B: {D: 1.0}}}, {}, ["couplings.yaml", B, D]),
    "itself": (CHAIN, {"couplings": {B: {B: 2.0}}}, {}, ["couplings.yaml", B, "cycle"]),
    "cycle": (
        CHAIN,
        {"couplings": {D: {C: 1.0}, B: {C: 1.0, A: 1.0}, C: {B: 2.0}}},
        {},
        ["couplings.yaml", f"(?=.*{B})(?=.*{C})(?!.*{D}.*cycle)", "cycle"],
    ),
    "cycle_with_a_mimic": (mimic(CHAIN, B, A), {"couplings": {A: {B: 1.0}}}, {}, [A, B, "cycle"]),
    "coordinate_named_as_a_joint": (CHAIN, {"coordinates": [A]}, {}, ["couplings.yaml", "coordinates", A]),
    "idle_coordinate": (CHAIN, {**BASE, "coordinates": ["p", "spare"]}, {}, ["couplings.yaml", "spare", "moves no"]),
    "coordinate_of_factor_zero": (CHAIN, {**BASE, "couplings": {A: {"p": 0.0}}}, {}, ["couplings.yaml", '"p"']),
    "coordinate_of_locked_joints": (CHAIN, BASE, {"locked": {A: 0.0}}, ["couplings.yaml", '"p"', "lock it"]),
    "too_large": (
        CHAIN,
        {"couplings": {A: {B: 1e200}, B: {C: 1e200}}},
        {},
        ["arm.urdf", A, "too large"],
    ),
    "too_large_ratio": (
        CHAIN,
        {"couplings": {A: {B: 1e200}}, "rotors": [{"carrier": "none", "inertia": 1.0, "ratio": {A: -1e200}}]},
        {},
        ["couplings.yaml", r"rotors\[0\]", "too large"],
    ),
    "follower_in_joints": (mimic(CHAIN, B, A), {}, {"joints": [A, B, C, D]}, ["joints", B, f"follows {A}", C]),
    "still_in_joints": (CHAIN, {"couplings": {B: {}}}, {"joints": CHAIN.movable}, ["joints", B, "stands still"]),
    "coordinate_left_out": (CHAIN, BASE, {"joints": [B, C, D]}, ["joints", r"\['p'\]", "locked"]),
    "driven_joint_for_its_coordinate": (CHAIN, BASE, {"joints": [A, B, C, D]}, ["joints", A, "follows p"]),
    "unknown_in_joints": (CHAIN, BASE, {"joints": ["x"]}, ["joints", '"x"', D, "p"]),
    "unknown_in_locked": (CHAIN, BASE, {"locked": {"x": 0.0}}, ["locked", '"x"', D, "p"]),
    "locked_coordinate_is_nan": (CHAIN, BASE, {"locked": {"p": np.nan}}, ["locked", '"p"', "nan"]),
    "locked_and_in_joints": (mimic(CHAIN, B, A), {}, {"joints": [A, B, C, D], "locked": {B: 1.0}}, [B, "locked"]),
    "nothing_moves": (CHAIN, {"couplings": {A: {}, B: {A: 1.0}, C: {}, D: {}}}, {}, ["arm.urdf", "no joint"]),
    "only_a_rotor_moves": (
        CHAIN,
        {"coordinates": ["p"], "rotors": [{"carrier": "none", "inertia": 1.0, "ratio": {"p": 1.0}}]},
        {"locked": dict.fromkeys(CHAIN.movable, 0.0)},
        ["arm.urdf", "no joint"],
    ),
}


@pytest.mark.parametrize(("arm", "content", "keywords", "words"), BAD.values(), ids=BAD.keys())
def test_what_cannot_be(
    arm: arms.Arm, content: dict[str, Any], keywords: dict[str, Any], words: list[str], file: Path
) -> None:
    with pytest.raises(RobotModelError) as failure:
        packed(arm, content, file, **keywords)
    for word in [*words, "Cure: "]:
        assert re.search(word, str(failure.value)), f"{word!r} is not in: {failure.value}"


def test_long_chains(file: Path) -> None:
    """Nothing recurses: 1500 joints, each following the next."""
    n = 1500
    follow = [f'<mimic joint="j{k + 1}"/>' for k in range(n - 1)] + [""]
    arm = arms.Arm(
        tuple(arms.Link(f"l{k}") for k in range(n + 1)),
        tuple(arms.Joint(f"j{k}", "continuous", "l0", f"l{k + 1}", extra=follow[k]) for k in range(n)),
    )
    with pytest.warns(UserWarning):
        model = packed(arm)
    assert model.joint_names == (f"j{n - 1}",)
    assert np.array_equal(matrix(model), np.ones((n, 1)))
