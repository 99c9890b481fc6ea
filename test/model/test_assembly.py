"""The packed robot: what stands where, before any kernel sees it."""

from pathlib import Path
from typing import Any

import arms
import numpy as np
import pytest
import yaml
from comparing import assert_close
from hypothesis import given
from pinocchio_peer import Peer

from robot_dynamics_ros import RobotModelError, RobotModelWarning
from robot_dynamics_ros.kernels import layout
from robot_dynamics_ros.kernels.layout import MASS
from robot_dynamics_ros.model.assembly import assemble
from robot_dynamics_ros.model.dynamics_file import DynamicsFile, read_dynamics_file
from robot_dynamics_ros.model.inertia import payload_inertial
from robot_dynamics_ros.model.packed import PackedModel, with_payload
from robot_dynamics_ros.model.urdf import parse_urdf

ARM = arms.random_arm(np.random.default_rng(8), [0, 1, 2, 2], ["revolute", "fixed", "prismatic", "continuous"])
A, B, C = ARM.movable
LINKS = [link.name for link in ARM.links]
LOAD = (1.5, [0.1, -0.2, 0.3], [0.02, 0.001, 0.002, 0.03, 0.003, 0.04])


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("assembly") / "arm.yaml"


def packed(arm: arms.Arm, content: dict[str, Any], file: Path, **keywords: Any) -> PackedModel:
    """The packed arm, with this content in a dynamics file."""
    file.write_text(yaml.safe_dump(content))
    arguments = {"gravity": None, "joints": None, "locked": None, "strict": False, **keywords}
    return assemble(parse_urdf(arm.urdf, "arm.urdf"), read_dynamics_file(file), **arguments)


def test_names_and_links_of_the_bodies(file: Path) -> None:
    model = packed(ARM, {}, file, joints=[C, A], locked={B: 0.1})
    assert model.joint_names == (C, A)
    assert model.moving_joints == (A, C)
    assert model.body_links == (LINKS[1], LINKS[4])
    assert model.rotor_names == () and model.payload is None and model.massless_ends == ()
    assert [frame.body for frame in model.frames.values()] == [-1, 0, 0, 0, 1]
    assert list(model.frames) == [LINKS[0], LINKS[1], LINKS[2], LINKS[3], LINKS[4]]
    assert model.robot.tree.tolist() == [[-1, layout.REVOLUTE, 0, 1], [0, layout.REVOLUTE, 1, 2]]
    assert model.robot.coordinates.tolist() == [1, 0] and model.robot.factors.tolist() == [1.0, 1.0]
    assert model.structure.dtype == np.int64 and model.numbers.dtype == np.float64


@given(arm=arms.trees())
def test_link_rotations_turn_the_links_axes_into_the_bodys(arm: arms.Arm) -> None:
    """A body's z axis is its joint's axis, which the URDF gives in the link's axes."""
    model = assemble(parse_urdf(arm.urdf, "arm"), DynamicsFile(), None, None, None, False)
    axes = {joint.name: np.asarray(joint.axis) for joint in arm.joints}
    for name, link, rotation in zip(model.moving_joints, model.body_links, model.link_rotations, strict=True):
        turn = rotation.reshape(3, 3)
        assert_close(turn @ axes[name], [0, 0, 1], 1e-14)
        assert_close(turn @ turn.T, np.eye(3), 1e-14)
        assert np.array_equal(turn, model.frames[link].rotation)
        assert np.array_equal(model.frames[link].position, np.zeros(3))


@given(arm=arms.trees())
def test_inertial_parameters_are_pinocchios(arm: arms.Arm) -> None:
    """In the link's axes, at its origin, with all that is fixed to it."""
    model = assemble(parse_urdf(arm.urdf, "arm"), DynamicsFile(), None, None, None, False)
    peer = Peer(arm.urdf, arm.movable).model
    got = model.inertial_parameters().reshape(-1, 10)
    for name, parameters in zip(model.moving_joints, got, strict=True):
        body = peer.inertias[peer.getJointId(name)]
        c = body.lever
        about = body.inertia + body.mass * (c @ c * np.eye(3) - np.outer(c, c))
        assert_close(parameters, [body.mass, *body.mass * c, *about[np.triu_indices(3)]], 1e-13)


def test_inertial_parameters_end_with_the_rotors(file: Path) -> None:
    rotors = [{"carrier": "none", "inertia": inertia, "ratio": {A: 1.0}} for inertia in (0.25, 0.5)]
    assert packed(ARM, {"rotors": rotors}, file).inertial_parameters()[30:].tolist() == [0.25, 0.5]


# --- Payload


@pytest.mark.parametrize("link", LINKS)
def test_payload_of_the_file_or_later_is_the_same(link: str, file: Path) -> None:
    """Bit for bit, and a second one replaces the first."""
    mass, com, inertia = LOAD
    content = {"payload": {"link": link, "mass": mass, "com": com, "inertia": inertia}}
    bare, loaded = packed(ARM, {}, file), packed(ARM, content, file)
    later = with_payload(bare, link, payload_inertial(*LOAD))
    other = with_payload(with_payload(bare, LINKS[4], payload_inertial(9, com, inertia)), link, payload_inertial(*LOAD))
    for model in (later, other):
        assert np.array_equal(model.numbers, loaded.numbers)
        assert model.payload is not None and model.payload[0] == link
    for model in (loaded, later, other):
        assert np.array_equal(model.structure, bare.structure)
        assert np.array_equal(model.bare_inertials, bare.bare_inertials)
    assert np.array_equal(bare.robot.bodies[:, MASS:], bare.bare_inertials)
    added = loaded.robot.bodies[:, MASS].sum() - bare.robot.bodies[:, MASS].sum()
    assert added == pytest.approx(mass if link != LINKS[0] else 0.0, abs=1e-12)


def test_payload_on_an_unknown_link(file: Path) -> None:
    with pytest.raises(RobotModelError, match=f'payload.*"hand".*Cure.*{LINKS[4]}'):
        with_payload(packed(ARM, {}, file), "hand", payload_inertial(*LOAD))


def test_payload_gives_mass_to_a_massless_end(file: Path) -> None:
    arm = ARM.with_link(LINKS[4], mass=None)
    with pytest.warns(RobotModelWarning, match=rf"\['{C}'\] move no mass"):
        model = packed(arm, {}, file)
    assert model.massless_ends == (C,)
    assert with_payload(model, LINKS[4], payload_inertial(*LOAD)).massless_ends == ()


@pytest.mark.parametrize("matrix", [False, True])
def test_payload_inertial_takes_six_numbers_or_a_matrix(matrix: bool) -> None:
    mass, com, six = LOAD
    inertia = np.array([[six[0], six[1], six[2]], [six[1], six[3], six[4]], [six[2], six[4], six[5]]])
    got = payload_inertial(mass, tuple(com), inertia if matrix else six)
    assert got.mass == mass and got.com.tolist() == com
    assert np.array_equal(got.inertia, inertia)


def test_a_payload_inertia_is_symmetric_to_rounding() -> None:
    """As R I R^T is."""
    inertia = np.array([[0.2, 0.01, 0], [0.01 * (1 + 1e-12), 0.3, 0], [0, 0, 0.4]])
    got = payload_inertial(1.0, [0, 0, 0], inertia).inertia
    assert np.array_equal(got, got.T)
    assert_close(got, inertia, 1e-12)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((np.nan, LOAD[1], LOAD[2]), "payload mass.*nan.*Cure"),
        ((-1.0, LOAD[1], LOAD[2]), "payload mass.*-1.*Cure"),
        (([1.0], LOAD[1], LOAD[2]), "payload mass.*Cure"),
        (("heavy", LOAD[1], LOAD[2]), "payload mass.*heavy.*Cure"),
        ((1.0, [0, 0], LOAD[2]), "payload com.*3.*Cure"),
        ((1.0, [0, 0, np.inf], LOAD[2]), "payload com.*inf.*Cure"),
        ((1.0, None, LOAD[2]), "payload com.*None.*Cure"),
        ((1.0, LOAD[1], [1, 1, 1]), "payload inertia.*6.*Cure"),
        ((1.0, LOAD[1], [1, 0, 0, 1, 0, np.nan]), "payload inertia.*nan.*Cure"),
        ((1.0, LOAD[1], [[1], [2, 3]]), "payload inertia.*6.*Cure"),
        ((1.0, LOAD[1], [[1, 0, 0], [0.1, 1, 0], [0, 0, 1]]), "payload inertia.*not symmetric.*Cure"),
        ((1.0, LOAD[1], [1, 3, 0, 1, 0, 1]), "payload inertia.*negative.*Cure"),
        ((1.0, LOAD[1], [1, 0, 0, 1, 0, 5]), "payload inertia.*exceeds.*Cure"),
    ],
)
def test_impossible_payloads(values: tuple[Any, Any, Any], words: str) -> None:
    with pytest.raises(RobotModelError, match=words):
        payload_inertial(*values)


# --- Bodies without mass


def test_coordinate_of_a_massless_joint_and_another_has_mass(file: Path) -> None:
    """The massless end C follows A, which moves mass: nothing is undefined."""
    arm = ARM.with_link(LINKS[4], mass=None)
    assert packed(arm, {"couplings": {C: {A: 1.0}}}, file).massless_ends == ()


def test_coordinate_that_only_drives_massless_ends(file: Path) -> None:
    arm = ARM.with_link(LINKS[4], mass=None).with_link(LINKS[3], mass=None)
    content = {"coordinates": ["p"], "couplings": {C: {"p": 1.0}, B: {"p": 2.0}}}
    with pytest.warns(RobotModelWarning, match=r"\['p'\] move no mass"):
        assert packed(arm, content, file).massless_ends == ("p",)


@pytest.mark.parametrize(("inertia", "ends"), [(1e-4, ()), (0.0, (C,))])
@pytest.mark.filterwarnings("ignore::robot_dynamics_ros.errors.RobotModelWarning")
def test_a_rotor_is_mass_enough(inertia: float, ends: tuple[str, ...], file: Path) -> None:
    arm = ARM.with_link(LINKS[4], mass=None)
    content = {"rotors": [{"carrier": "none", "inertia": inertia, "ratio": {C: 100.0}}]}
    assert packed(arm, content, file).massless_ends == ends


def test_massless_body_inside(file: Path) -> None:
    """Its own mass is missing, what it carries has some; `strict` refuses."""
    arm = ARM.with_link(LINKS[1], mass=None).with_link(LINKS[2], mass=None)
    with pytest.warns(RobotModelWarning, match=rf"\['{A}'\] have no mass of their own") as caught:
        assert packed(arm, {}, file).massless_ends == ()
    assert len(caught) == 1
    with pytest.raises(RobotModelError, match=rf"{A}.*no mass.*Cure"):
        packed(arm, {}, file, strict=True)
    content = {"payload": {"link": LINKS[1], "mass": 1.0, "com": [0, 0, 0], "inertia": [1, 0, 0, 1, 0, 1]}}
    assert packed(arm, content, file, strict=True).massless_ends == ()
