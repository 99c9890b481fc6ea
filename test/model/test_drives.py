"""Rotors and friction as the dynamics file gives them, and as they are packed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import arms
import numpy as np
import pytest
import yaml
from comparing import assert_close
from hypothesis import given

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.kernels import layout
from robot_dynamics_ros.kernels.layout import PARENT, ROTOR
from robot_dynamics_ros.model.assembly import assemble
from robot_dynamics_ros.model.dynamics_file import read_dynamics_file
from robot_dynamics_ros.model.packed import PackedModel
from robot_dynamics_ros.model.urdf import parse_urdf

ARM = arms.random_arm(np.random.default_rng(9), [0, 1, 2, 3], ["revolute", "fixed", "revolute", "prismatic"])
A, B, C = ARM.movable
LINKS = [link.name for link in ARM.links]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("drives") / "arm.yaml"


def packed(arm: arms.Arm, content: dict[str, Any], file: Path, **keywords: Any) -> PackedModel:
    """The packed arm, with this content in a dynamics file."""
    file.write_text(yaml.safe_dump(content))
    arguments = {"gravity": None, "joints": None, "locked": None, "strict": False, **keywords}
    return assemble(parse_urdf(arm.urdf, "arm.urdf"), read_dynamics_file(file), **arguments)


def spin_rates(model: PackedModel) -> arms.Array:
    """Ratio of each rotor's spin to each coordinate's rate, (rotors, n)."""
    robot = model.robot
    ratios = np.zeros((len(robot.rotors), len(model.joint_names)))
    for row, (_, kind, first, after) in zip(ratios, robot.tree[len(robot.bodies) :], strict=True):
        assert kind == ROTOR
        row[robot.coordinates[first:after]] = robot.factors[first:after]
        assert np.all(row[robot.coordinates[first:after]] != 0.0)
    return ratios


# --- Rotors


def test_short_and_general_form_are_the_same(file: Path) -> None:
    """On the parent link about the joint's own axis, which the URDF gives in the child's frame."""
    short = packed(ARM, {"joints": {B: {"rotor_inertia": 1e-4, "gear_ratio": -60.0}}}, file)
    general = {"carrier": LINKS[2], "inertia": 1e-4, "ratio": {B: -60.0}}
    joint = next(j for j in parse_urdf(ARM.urdf, "").joints if j.name == B)
    axis = (joint.rotation @ joint.axis * 3.0).tolist()
    for rotor in (general, {**general, "axis": axis}):
        model = packed(ARM, {"rotors": [rotor]}, file)
        assert np.array_equal(model.structure, short.structure)
        assert_close(model.numbers, short.numbers, 1e-15)
        assert model.rotor_names == ("rotors[0]",)
    assert short.rotor_names == (f"{B} rotor",)


def test_rotor_rows(file: Path) -> None:
    """Short forms in the bodies' order, then the list's; carriers are bodies, -1 on the base or for none."""
    content = {
        "joints": {
            C: {"rotor_inertia": 3.0, "gear_ratio": 30.0},
            A: {"rotor_inertia": 1.0, "gear_ratio": 10.0},
            B: {"rotor_inertia": 2.0, "gear_ratio": 20.0, "rotor_carrier": "none"},
        },
        "rotors": [
            {"carrier": LINKS[2], "axis": [0, 3, 4], "inertia": 4.0, "ratio": {A: 1.0, C: -2.0}},
            {"carrier": LINKS[0], "axis": [1, 0, 0], "inertia": 5.0, "ratio": {C: 3.0}},
        ],
    }
    model = packed(ARM, content, file)
    assert model.rotor_names == (f"{A} rotor", f"{B} rotor", f"{C} rotor", "rotors[0]", "rotors[1]")
    assert model.robot.tree[3:, PARENT].tolist() == [-1, -1, 1, 0, -1]
    assert model.robot.rotors[:, layout.ROTOR_INERTIA].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert spin_rates(model).tolist() == [[10, 0, 0], [0, 20, 0], [0, 0, 30], [1, 0, -2], [0, 0, 3]]
    axes = model.robot.rotors[:, :3]
    assert_close(np.linalg.norm(axes, axis=1), np.ones(5), 1e-15)
    assert_close(model.frames[LINKS[2]].rotation.T @ axes[3], [0, 0.6, 0.8], 1e-15)


@given(arm=arms.coupled_trees())
def test_spin_is_expanded_to_the_independent_rates(arm: arms.Coupled, file: Path) -> None:
    """Ratio times the rates that the rows themselves give."""
    names = [*arm.arm.movable, *arm.coordinates]
    rotors = arms.random_rotors(np.random.default_rng(arm.arm.seed), arm.arm, names, 3)
    joints = {name: {"rotor_inertia": 1e-4, "gear_ratio": 50.0} for name in arm.arm.movable[:1]}
    model = packed(arm.arm, {**arm.dynamics, "rotors": rotors, "joints": joints}, file)
    g, _ = arm.matrix(list(model.joint_names))
    rates = dict(zip(arm.arm.movable, g, strict=True))
    rates |= {name: np.eye(len(g.T))[list(model.joint_names).index(name)] for name in arm.coordinates}
    assert model.rotor_names[0] == f"{arm.arm.movable[0]} rotor"
    assert_close(spin_rates(model)[0], 50.0 * rates[arm.arm.movable[0]], 1e-13)
    expected = [sum(ratio * rates[name] for name, ratio in rotor["ratio"].items()) for rotor in rotors]
    assert_close(spin_rates(model)[1:], expected, 1e-13)


@pytest.mark.parametrize(
    ("content", "locked"),
    [
        ({"rotors": [{"carrier": "none", "inertia": 1.0, "ratio": {B: 5.0}}]}, {B: 0.3}),
        ({"rotors": [{"carrier": "none", "inertia": 1.0, "ratio": {B: 0.0}}]}, {}),
        ({"joints": {B: {"rotor_inertia": 1.0}}}, {B: 0.3}),
        ({"joints": {B: {"rotor_inertia": 1.0, "gear_ratio": 0.0}}}, {}),
        ({"couplings": {B: {A: 0.5}}, "rotors": [{"carrier": "none", "inertia": 1.0, "ratio": {A: 1.0, B: -2.0}}]}, {}),
    ],
)
def test_rotors_that_stand_still_are_parts_of_their_carriers(
    content: dict[str, Any], locked: dict[str, float], file: Path
) -> None:
    model = packed(ARM, content, file, locked=locked)
    assert model.rotor_names == () and model.robot.rotors.shape == (0, 4)


def test_names_keep_their_place_in_the_list(file: Path) -> None:
    """The second of two is rotors[1], also where the first stands still; without inertia it stays a rotor."""
    rotors = [{"carrier": "none", "inertia": 0, "ratio": {name: 5.0}} for name in (A, B)]
    assert packed(ARM, {"rotors": rotors}, file, locked={A: 0.0}).rotor_names == ("rotors[1]",)


def test_rotor_may_drive_a_coordinate_alone(file: Path) -> None:
    """A flywheel: its inertia is all that the coordinate moves."""
    content = {
        "coordinates": ["p"],
        "rotors": [{"carrier": LINKS[1], "axis": [0, 0, 1], "inertia": 0.2, "ratio": {"p": 3}}],
    }
    model = packed(ARM, content, file)
    assert model.joint_names == (A, B, C, "p")
    assert spin_rates(model).tolist() == [[0, 0, 0, 3]]
    assert model.massless_ends == ()


@pytest.mark.filterwarnings("ignore::robot_dynamics_ros.errors.RobotModelWarning")  # thin rotors
@given(arm=arms.coupled_trees(max_joints=6))
def test_rotors_are_bodies_that_follow(arm: arms.Coupled, file: Path) -> None:
    """Against a tree in which each rotor is a body of its own, coupled by a row of G.

    Its carrier gives up the rotor's axial inertia, which it is understood to contain.
    """
    names = [*arm.arm.movable, *arm.coordinates]
    rotors = arms.random_rotors(np.random.default_rng(arm.arm.seed), arm.arm, names, 3)
    file.write_text(yaml.safe_dump({**arm.dynamics, "rotors": rotors}))
    model = RobotModel.from_urdf(arm.arm.urdf, dynamics=file)

    tree, rows = arm.arm, dict(arm.rows)
    for k, rotor in enumerate(rotors):
        axis = np.asarray(rotor["axis"]) / np.linalg.norm(rotor["axis"])
        inertia = rotor["inertia"] * np.outer(axis, axis)
        on_link = rotor["carrier"] != "none"
        carrier = next(
            link for link in tree.links if link.name == (rotor["carrier"] if on_link else tree.links[0].name)
        )
        if carrier.mass is not None:
            tree = tree.with_link(carrier.name, inertia=np.asarray(carrier.inertia) - inertia)
        body = arms.Link(f"rotor{k}", 0.0, (0, 0, 0), inertia)
        spin = arms.Joint(f"spin{k}", "continuous", carrier.name, body.name, axis=axis)
        tree = replace(tree, links=(*tree.links, body), joints=(*tree.joints, spin))
        rows[spin.name] = rotor["ratio"]
    file.write_text(yaml.safe_dump({**arm.dynamics, "couplings": rows}))
    explicit = RobotModel.from_urdf(tree.urdf, dynamics=file, joints=model.joint_names)
    q, qd, qdd = (x[0] for x in arms.states(arm.arm.seed, model.n, 1))
    expected = explicit.inverse_dynamics(q, qd, qdd)
    scale = float(np.abs(explicit.mass_matrix(q)).max() * 100)
    assert_close(model.inverse_dynamics(q, qd, qdd), expected, 1e-11, scale)
    assert_close(model.mass_matrix(q), explicit.mass_matrix(q), 1e-11)


# --- Friction


def row(model: PackedModel, name: str) -> dict[str, float]:
    """Friction parameters of one joint by name."""
    names = (
        "VISCOUS COULOMB COULOMB_NEGATIVE STATIC STRIBECK_VELOCITY RIPPLE_AMPLITUDE RIPPLE_PER_TURN RIPPLE_PHASE "
        "SIGMOID_AMPLITUDE SIGMOID_SLOPE SIGMOID_SHIFT"
    ).split()
    line = model.friction[model.moving_joints.index(name)]
    assert len(line) == len(names) == layout.FRICTION_SIZE
    return {key.lower(): float(line[getattr(layout, key)]) for key in names}


def test_friction_of_the_urdf(file: Path) -> None:
    arm = ARM.with_joint(B, extra='<dynamics damping="0.5" friction="0.25"/>')
    model = packed(arm, {}, file)
    assert row(model, B) == dict.fromkeys(row(model, B), 0.0) | {
        "viscous": 0.5,
        "coulomb": 0.25,
        "coulomb_negative": 0.25,
    }
    assert not any(row(model, A).values())


def test_file_goes_before_the_urdf(file: Path) -> None:
    arm = ARM.with_joint(B, extra='<dynamics damping="0.5" friction="0.25"/>')
    given = {
        "viscous": 0.1,
        "coulomb": 0.3,
        "coulomb_negative": 0.35,
        "static": 0.4,
        "stribeck_velocity": 0.05,
        "ripple": {"amplitude": 0.02, "per_turn": 100, "phase": 0.7},
        "sigmoid": {"amplitude": 0.5, "slope": 5.0, "shift": 0.04},
    }
    assert list(row(packed(arm, {"joints": {B: given}}, file), B).values()) == [
        *(0.1, 0.3, 0.35, 0.4, 0.05),
        *(0.02, 100.0, 0.7),
        *(0.5, 5.0, 0.04),
    ]
    assert row(packed(arm, {"joints": {B: {"coulomb": 0.4}}}, file), B)["coulomb_negative"] == 0.4
    assert row(packed(arm, {"joints": {B: {"coulomb_negative": 0.4}}}, file), B)["coulomb"] == 0.25
    assert row(packed(arm, {"joints": {B: {"coulomb": 0.0}}}, file), B)["viscous"] == 0.5


def test_each_joint_of_the_tree_has_its_own(file: Path) -> None:
    """Also where it follows another; a joint that stands still has none."""
    joints = {name: {"viscous": 1.0 + k} for k, name in enumerate((A, B, C))}
    model = packed(ARM, {"joints": joints, "couplings": {C: {A: 2.0}}}, file)
    assert model.friction[:, layout.VISCOUS].tolist() == [1.0, 2.0, 3.0]
    assert packed(ARM, {"joints": joints}, file, locked={B: 0.0}).friction[:, layout.VISCOUS].tolist() == [1.0, 3.0]


def test_ripple_counts_from_the_joints_own_zero(file: Path) -> None:
    """b = 2 a + 0.3: the ripple of b at a is that of an independent b at 2 a + 0.3."""
    ripple = {"joints": {B: {"coulomb": 1.0, "ripple": {"amplitude": 0.5, "per_turn": 7, "phase": 0.2}}}}
    file.write_text(yaml.safe_dump({**ripple, "couplings": {B: {A: 2.0, "offset": 0.3}}}))
    model = RobotModel.from_urdf(ARM.urdf, dynamics=file)
    file.write_text(yaml.safe_dump(ripple))
    free = RobotModel.from_urdf(ARM.urdf, dynamics=file)
    for a in np.linspace(-3, 3, 7):
        expected = free.friction_torque([a, 2 * a + 0.3, 0], [0, 1, 0])[1]
        assert expected == pytest.approx(1.0 + 0.5 * np.sin(7 * (2 * a + 0.3) + 0.2), abs=1e-12)
        assert_close(model.friction_torque([a, 0], [0.5, 0]), [2 * expected, 0], 1e-12)
