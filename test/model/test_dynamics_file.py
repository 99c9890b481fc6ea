"""The dynamics file (YAML): what it changes, and one clear error for each mistake in it."""

import re
from dataclasses import replace
from pathlib import Path

import arms
import numpy as np
import pytest
from comparing import assert_close
from pinocchio_peer import Peer

from robot_dynamics_ros import RobotModel, RobotModelError, RobotModelWarning
from robot_dynamics_ros.model.dynamics_file import DynamicsFile, JointDynamics, Loop, Row, read_dynamics_file

ARM = arms.random_arm(np.random.default_rng(21), [0, 1, 2, 3], ["revolute", "continuous", "prismatic", "fixed"])
JOINT = ARM.movable[1]
LINK = ARM.links[2].name
TOOL = ARM.links[4].name
Q, QD, QDD = (x[0] for x in arms.states(21, 3, 1))


def _load(tmp_path: Path, text: str, **keywords: object) -> RobotModel:
    file = tmp_path / "arm.dynamics.yaml"
    file.write_text(text)
    return RobotModel.from_urdf(ARM.urdf, dynamics=file, **keywords)  # type: ignore[arg-type]


BODY = "mass: 1.0, com: [0, 0, 0], inertia: [1, 0, 0, 1, 0, 1]"
JOINT_KEYS = [
    "viscous",
    "coulomb",
    "coulomb_negative",
    "static",
    "stribeck_velocity",
    "ripple",
    "sigmoid",
    "rotor_inertia",
    "gear_ratio",
    "rotor_carrier",
]
TOP_KEYS = ["gravity", "joints", "links", "rotors", "coordinates", "couplings", "loops", "payload"]


def rotor(**changes: str) -> str:
    """A dynamics file with one rotor of the general form; a change of "" leaves that key out."""
    keys = {"carrier": LINK, "axis": "[0, 0, 1]", "inertia": "1.0e-4", "ratio": f"{{{JOINT}: 50}}", **changes}
    return "rotors: [{" + ", ".join(f"{key}: {value}" for key, value in keys.items() if value) + "}]"


def loop(**changes: str) -> str:
    """A dynamics file with one loop; a change of "" leaves that key out."""
    keys = {"link_a": LINK, "point_a": "[0, 0, 0.1]", "link_b": TOOL, "point_b": "[0.2, 0, 0]", **changes}
    return "loops: [{" + ", ".join(f"{key}: {value}" for key, value in keys.items() if value) + "}]"


def coupling(text: str, coordinates: str = "[p]") -> str:
    """A dynamics file with a row for the joint."""
    return f"coordinates: {coordinates}\ncouplings: {{{JOINT}: {text}}}"


#: text, and words that the message must hold
BAD: dict[str, tuple[str, list[str]]] = {
    "broken_yaml": ("joints: {a: [1, 2", ["YAML", "line"]),
    "a_list": ("- gravity\n", ["mapping|keys"]),
    "a_word": ("gravity", ["mapping|keys"]),
    "unknown_key": ("frictions: {}", ["frictions", *TOP_KEYS]),
    "key_of_no_string": ("3: {}", ["3"]),
    "unknown_joint": ("joints: {shoulder: {viscous: 1.0}}", ["shoulder", JOINT]),
    "fixed_joint": (f"joints: {{{ARM.joints[3].name}: {{viscous: 1.0}}}}", [ARM.joints[3].name]),
    "unknown_joint_key": (f"joints: {{{JOINT}: {{viscos: 1.0}}}}", [JOINT, "viscos", *JOINT_KEYS]),
    "joints_a_list": ("joints: [1, 2]", ["joints"]),
    "joint_a_number": (f"joints: {{{JOINT}: 3.0}}", [JOINT]),
    "nan_number": (f"joints: {{{JOINT}: {{viscous: .nan}}}}", [JOINT, "viscous", "nan"]),
    "infinite_number": (f"joints: {{{JOINT}: {{coulomb: .inf}}}}", [JOINT, "coulomb", "inf"]),
    "word_for_number": (f"joints: {{{JOINT}: {{viscous: much}}}}", [JOINT, "viscous", "much"]),
    "true_for_number": (f"joints: {{{JOINT}: {{viscous: true}}}}", [JOINT, "viscous"]),
    "nothing_for_number": (f"joints: {{{JOINT}: {{viscous: }}}}", [JOINT, "viscous"]),
    "list_for_number": (f"joints: {{{JOINT}: {{viscous: [1.0]}}}}", [JOINT, "viscous"]),
    "sigmoid_a_number": (f"joints: {{{JOINT}: {{sigmoid: 1.0}}}}", [JOINT, "sigmoid"]),
    "sigmoid_key": (
        f"joints: {{{JOINT}: {{sigmoid: {{amplitude: 1.0, slope: 1.0, shif: 0.0}}}}}}",
        [JOINT, "shif", "amplitude", "slope", "shift"],
    ),
    "carrier": (
        f"joints: {{{JOINT}: {{rotor_inertia: 1.0e-4, rotor_carrier: base}}}}",
        [JOINT, "base", "parent", "none"],
    ),
    "huge_number": (f"joints: {{{JOINT}: {{viscous: 1{'0' * 400}}}}}", [JOINT, "viscous", "finite"]),
    "negative_static": (f"joints: {{{JOINT}: {{static: -1}}}}", [JOINT, "static", "-1", "below 0"]),
    "static_below_coulomb": (
        f"joints: {{{JOINT}: {{coulomb: 0.5, static: 0.4}}}}",
        [JOINT, "static", "0.4", "Coulomb", "0.5"],
    ),
    "static_below_the_negative_level": (
        f"joints: {{{JOINT}: {{coulomb: 0.3, coulomb_negative: 0.6, static: 0.4}}}}",
        [JOINT, "static", "0.4", "Coulomb", "0.6"],
    ),
    "negative_stribeck": (f"joints: {{{JOINT}: {{stribeck_velocity: -0.1}}}}", [JOINT, "stribeck_velocity", "-0.1"]),
    "ripple_a_number": (f"joints: {{{JOINT}: {{ripple: 0.1}}}}", [JOINT, "ripple", "0.1"]),
    "ripple_key": (
        f"joints: {{{JOINT}: {{ripple: {{amplitude: 0.1, per_trun: 3}}}}}}",
        [JOINT, "ripple", "per_trun", "amplitude", "per_turn", "phase"],
    ),
    "half_a_ripple": (f"joints: {{{JOINT}: {{ripple: {{amplitude: 0.1}}}}}}", [JOINT, "ripple", "per_turn missing"]),
    "negative_ripple": (
        f"joints: {{{JOINT}: {{ripple: {{amplitude: -0.1, per_turn: 3}}}}}}",
        [JOINT, "ripple amplitude", "-0.1"],
    ),
    "ripple_phase": (
        f"joints: {{{JOINT}: {{ripple: {{amplitude: 0.1, per_turn: 3, phase: .nan}}}}}}",
        [JOINT, "ripple phase", "nan"],
    ),
    "rotors_a_table": (f"rotors: {{{JOINT}: {{inertia: 1}}}}", ["rotors", "list"]),
    "rotor_a_number": ("rotors: [{carrier: none, inertia: 1, ratio: {x: 1}}, 3]".replace("x", JOINT), [r"rotors\[1\]"]),
    "rotor_key": (rotor(ratios="2"), [r"rotors\[0\]", "ratios", "carrier", "axis", "inertia", "ratio"]),
    "rotor_without_carrier": (rotor(carrier=""), [r"rotors\[0\]", "carrier missing"]),
    "rotor_on_nothing": (rotor(carrier="null"), [r"rotors\[0\] carrier", "None", "none"]),
    "rotor_on_unknown_link": (rotor(carrier="hand"), ["hand", LINK]),
    "rotor_axis_short": (rotor(axis="[0, 1]"), [r"rotors\[0\] axis", "3"]),
    "rotor_axis_zero": (rotor(axis="[0, 0, 0]"), [r"rotors\[0\] axis", "zero"]),
    "rotor_axis_infinite": (rotor(axis="[0, 0, .inf]"), [r"rotors\[0\] axis", "inf"]),
    "rotor_axis_missing": (rotor(axis="", carrier=TOOL), [r"rotors\[0\]", "axis is missing", TOOL]),
    "rotor_axis_missing_for_two": (
        rotor(axis="", carrier=ARM.joints[1].parent, ratio=f"{{{JOINT}: 2, {ARM.movable[0]}: 1}}"),
        [r"rotors\[0\]", "axis is missing"],
    ),
    "rotor_without_inertia": (rotor(inertia=""), [r"rotors\[0\]", "inertia missing"]),
    "rotor_inertia_negative": (rotor(inertia="-1.0"), [r"rotors\[0\] inertia", "-1"]),
    "rotor_without_ratio": (rotor(ratio=""), [r"rotors\[0\]", "ratio missing"]),
    "rotor_ratio_empty": (rotor(ratio="{}"), [r"rotors\[0\] ratio", "at least one"]),
    "rotor_ratio_a_number": (rotor(ratio="50"), [r"rotors\[0\] ratio", "50"]),
    "rotor_ratio_nan": (rotor(ratio=f"{{{JOINT}: .nan}}"), [r"rotors\[0\] ratio", JOINT, "nan"]),
    "rotor_of_unknown_joint": (rotor(ratio="{shoulder: 1}"), [r"rotors\[0\] ratio", "shoulder", JOINT]),
    "rotor_of_fixed_joint": (rotor(ratio=f"{{{ARM.joints[3].name}: 1}}"), [r"rotors\[0\] ratio", ARM.joints[3].name]),
    "coordinates_a_word": ("coordinates: p1", ["coordinates", "list", "p1"]),
    "coordinate_a_number": ("coordinates: [p, 1]", ["coordinates", "1", "quotes"]),
    "coordinate_a_yaml_word": ("coordinates: [y, no]", ["coordinates", "False", "quotes"]),
    "coordinate_blank": ("coordinates: ['']", ["coordinates", "quotes"]),
    "coordinate_twice": ("coordinates: [p, p]", ["coordinates", "p", "twice"]),
    "coordinate_offset": ("coordinates: [offset]", ["coordinates", "offset", "rename"]),
    "coordinate_of_a_joints_name": (f"coordinates: [{JOINT}]", ["coordinates", JOINT, "joint"]),
    "coordinate_without_use": ("coordinates: [p]", ["coordinates", "p", "moves no joint"]),
    "couplings_a_list": ("couplings: [1]", ["couplings", r"\[1\]"]),
    "coupling_a_number": (coupling("2.0"), ["couplings", JOINT, "2.0"]),
    "coupling_of_unknown_joint": ("couplings: {thumb: {p: 1}}\ncoordinates: [p]", ["thumb", JOINT]),
    "coupling_to_unknown": (coupling("{p: 1, q: 1}"), ["couplings", JOINT, '"q"', "p"]),
    "coupling_word": (coupling("{p: one}"), ["couplings", JOINT, "p", "one"]),
    "coupling_offset": (coupling("{p: 1, offset: .inf}"), ["couplings", JOINT, "offset", "inf"]),
    "coupling_cycle": (f"couplings: {{{JOINT}: {{{JOINT}: 1}}}}", ["couplings", JOINT, "cycle"]),
    "loops_a_table": ("loops: {link_a: x}", ["loops", "list"]),
    "loop_a_word": (f"loops: [{LINK}]", [r"loops\[0\]", LINK]),
    "loop_key": (loop(point_c="[0, 0, 0]"), [r"loops\[0\]", "point_c", "link_a", "point_a", "link_b", "point_b"]),
    "loop_without_point": (loop(point_b=""), [r"loops\[0\]", "point_b missing"]),
    "loop_on_nothing": (loop(link_a="null"), [r"loops\[0\] link_a", "None", "name a link"]),
    "loop_on_unknown_link": (loop(link_b="hand"), ["hand", LINK]),
    "loop_on_one_link": (loop(link_b=LINK), [r"loops\[0\]", LINK, "two different"]),
    "loop_point_short": (loop(point_a="[0, 1]"), [r"loops\[0\] point_a", "3"]),
    "loop_point_infinite": (loop(point_b="[0, 0, .inf]"), [r"loops\[0\] point_b", "inf"]),
    "gravity_short": ("gravity: [0, -9.81]", ["gravity", "3|three"]),
    "gravity_number": ("gravity: -9.81", ["gravity", "3|three"]),
    "gravity_nan": ("gravity: [0, 0, .nan]", ["gravity", "nan"]),
    "unknown_link": (f"links: {{hand: {{{BODY}}}}}", ["hand", LINK]),
    "unknown_link_key": (f"links: {{{LINK}: {{mas: 1.0, {BODY}}}}}", [LINK, "mas", "mass", "com", "inertia"]),
    "com_short": (
        f"links: {{{LINK}: {{mass: 1.0, com: [0, 0], inertia: [1, 0, 0, 1, 0, 1]}}}}",
        [LINK, "com", "3|three"],
    ),
    "inertia_short": (
        f"links: {{{LINK}: {{mass: 1.0, com: [0, 0, 0], inertia: [1, 1, 1]}}}}",
        [LINK, "inertia", "6|six"],
    ),
    "half_a_link": (f"links: {{{LINK}: {{mass: 1.0}}}}", [LINK, "com", "inertia"]),
    "negative_mass": (
        f"links: {{{LINK}: {{mass: -1.0, com: [0, 0, 0], inertia: [1, 0, 0, 1, 0, 1]}}}}",
        [LINK, "mass"],
    ),
    "negative_inertia": (
        f"links: {{{LINK}: {{mass: 1.0, com: [0, 0, 0], inertia: [1, 3, 0, 1, 0, 1]}}}}",
        [LINK, "inertia", "eigenvalue|negative"],
    ),
    "payload_without_link": (f"payload: {{{BODY}}}", ["payload", "link"]),
    "payload_on_unknown_link": (f"payload: {{link: hand, {BODY}}}", ["hand", LINK]),
    "payload_key": (f"payload: {{link: {TOOL}, weight: 1.0, {BODY}}}", ["payload", "weight", "mass"]),
    "payload_negative": (
        f"payload: {{link: {TOOL}, mass: -1.0, com: [0, 0, 0], inertia: [1, 0, 0, 1, 0, 1]}}",
        ["payload", "mass"],
    ),
    "duplicate_key": ("gravity: [0, 0, -1]\ngravity: [0, 0, -2]\n", ["gravity"]),
    "python_object": ("gravity: !!python/object/apply:os.getcwd []", ["tag|YAML|python"]),
    "python_name": ("joints: !!python/name:os.system", ["tag|YAML|python"]),
    "custom_tag": ("gravity: !secret [0, 0, 1]", ["tag|YAML|secret"]),
}


@pytest.mark.parametrize(("text", "words"), BAD.values(), ids=BAD.keys())
def test_bad_dynamics_file_is_one_clear_error(text: str, words: list[str], tmp_path: Path) -> None:
    with pytest.raises(RobotModelError) as failure:
        _load(tmp_path, text)
    message = str(failure.value)
    for word in [r"arm\.dynamics\.yaml", "Cure: ", *words]:
        assert re.search(word, message), f"{word!r} is not in: {message}"


def test_missing_dynamics_file_is_named() -> None:
    with pytest.raises(RobotModelError, match=r"no_such\.yaml"):
        RobotModel.from_urdf(ARM.urdf, dynamics="/nowhere/no_such.yaml")


def test_python_tags_run_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    with pytest.raises(RobotModelError):
        _load(tmp_path, f"gravity: !!python/object/apply:os.mkdir ['{mark}']")
    assert not mark.exists()


@pytest.mark.parametrize("text", ["", "# nothing\n", "{}", "joints: {}\n", "joints:\nlinks:\n"])
def test_empty_file_changes_nothing(text: str, tmp_path: Path) -> None:
    expected = RobotModel.from_urdf(ARM.urdf).inverse_dynamics(Q, QD, QDD)
    assert_close(_load(tmp_path, text).inverse_dynamics(Q, QD, QDD), expected, 0.0)


def test_gravity_of_the_file_and_of_the_argument(tmp_path: Path) -> None:
    text = "gravity: [0, 1, -3]"
    peer = Peer(ARM.urdf, ARM.movable, [0, 1, -3])
    assert_close(_load(tmp_path, text).gravity_torque(Q), peer.gravity(Q), 1e-12)
    peer = Peer(ARM.urdf, ARM.movable, [2, 0, 0])
    assert_close(_load(tmp_path, text, gravity=[2, 0, 0]).gravity_torque(Q), peer.gravity(Q), 1e-12)


def test_exponents_without_a_point_are_numbers(tmp_path: Path) -> None:
    """YAML 1.1 reads 2e-1 as a word; a person means a number."""
    model = _load(tmp_path, f"joints: {{{JOINT}: {{viscous: 2e-1}}}}")
    assert_close(model.friction_torque(np.zeros(3), [0, 3, 0]), [0, 0.6, 0], 1e-15)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("{gear_ratio: 100}", "gear_ratio without rotor_inertia"),
        ("{sigmoid: {amplitude: 1.0}}", "sigmoid without slope"),
        ("{viscous: 017}", r"arm\.dynamics\.yaml: 017"),
    ],
)
def test_what_is_probably_not_meant(table: str, words: str, tmp_path: Path) -> None:
    with pytest.warns(RobotModelWarning, match=words):
        _load(tmp_path, f"joints: {{{JOINT}: {table}}}")


def test_a_unit_after_a_number(tmp_path: Path) -> None:
    with pytest.raises(RobotModelError, match="coulomb: '1 Nm' .* Cure: .*unit"):
        _load(tmp_path, f"joints: {{{JOINT}: {{coulomb: 1 Nm}}}}")


def test_link_inertial_is_replaced(tmp_path: Path) -> None:
    """Against Pinocchio on a URDF that holds the same numbers."""
    mass, com, i = (
        3.7,
        [0.1, -0.2, 0.05],
        np.array([[0.3, 0.01, -0.02], [0.01, 0.4, 0.03], [-0.02, 0.03, 0.5]]),
    )
    entries = [0.3, 0.01, -0.02, 0.4, 0.03, 0.5]
    model = _load(tmp_path, f"links: {{{LINK}: {{mass: {mass}, com: {com}, inertia: {entries}}}}}")
    peer = Peer(ARM.with_link(LINK, mass=mass, com=com, inertia=i).urdf, ARM.movable)
    assert_close(model.inverse_dynamics(Q, QD, QDD), peer.rnea(Q, QD, QDD), 1e-11)
    assert_close(model.mass_matrix(Q), peer.crba(Q), 1e-12)


def test_link_gets_an_inertial_that_the_urdf_lacks(tmp_path: Path) -> None:
    """No warning about missing mass either."""
    bare = replace(ARM, links=tuple(arms.Link(x.name) if x.name == LINK else x for x in ARM.links))
    link = next(x for x in ARM.links if x.name == LINK)
    i = np.asarray(link.inertia)[np.triu_indices(3)].tolist()
    file = tmp_path / "link.yaml"
    file.write_text(f"links: {{{LINK}: {{mass: {link.mass!r}, com: {np.asarray(link.com).tolist()}, inertia: {i}}}}}")
    model = RobotModel.from_urdf(bare.urdf, dynamics=file, strict=True)
    assert_close(model.inverse_dynamics(Q, QD, QDD), Peer(ARM.urdf, ARM.movable).rnea(Q, QD, QDD), 1e-11)


@pytest.mark.parametrize("on", [LINK, TOOL])
def test_payload_is_a_body_fixed_to_the_link(on: str, tmp_path: Path) -> None:
    """Against Pinocchio on a URDF with one link more; one of the two links hangs on a fixed joint."""
    mass, com, i = 1.2, [0.0, 0.1, 0.05], np.diag([0.01, 0.02, 0.025])
    text = f"payload: {{link: {on}, mass: {mass}, com: {com}, inertia: [0.01, 0, 0, 0.02, 0, 0.025]}}"
    loaded = replace(
        ARM,
        links=(*ARM.links, arms.Link("payload", mass, com, i)),
        joints=(*ARM.joints, arms.Joint("grip", "fixed", on, "payload")),
    )
    peer = Peer(loaded.urdf, ARM.movable)
    model = _load(tmp_path, text)
    assert_close(model.inverse_dynamics(Q, QD, QDD), peer.rnea(Q, QD, QDD), 1e-11)
    assert_close(model.mass_matrix(Q), peer.crba(Q), 1e-12)
    assert_close(model.gravity_torque(Q), peer.gravity(Q), 1e-12)


def test_friction_and_rotor_of_a_locked_joint_are_allowed(tmp_path: Path) -> None:
    model = _load(
        tmp_path,
        f"joints: {{{JOINT}: {{viscous: 1.0, rotor_inertia: 1.0e-4, gear_ratio: 50}}}}",
        locked={JOINT: 0.2},
    )
    assert model.n == 2
    assert_close(model.friction_torque(np.zeros(2), np.ones(2)), np.zeros(2), 0.0)


def _read(tmp_path: Path, text: str) -> DynamicsFile:
    file = tmp_path / "arm.dynamics.yaml"
    file.write_text(text)
    return read_dynamics_file(file)


def test_everything_is_read(tmp_path: Path) -> None:
    """The example of the design, number by number."""
    text = """
gravity: [0.0, 0.5, -9.81]
joints:
  j1: {viscous: 0.5, coulomb: 0.3, coulomb_negative: 0.35, static: 0.4, stribeck_velocity: 0.05,
       ripple: {amplitude: 0.02, per_turn: 100, phase: 0.1}, sigmoid: {amplitude: 0.546, slope: 5.12, shift: 0.0395},
       rotor_inertia: 2.0e-4, gear_ratio: -100.0, rotor_carrier: none}
  j2: {}
links:
  l3: {mass: 3.2, com: [0.04, 0.01, -0.07], inertia: [0.02, 0.001, 0.002, 0.021, 0.003, 0.01]}
rotors:
  - {carrier: l1, axis: [0, 0, -2], inertia: 1.0e-4, ratio: {j2: -60.0, p1: 1}}
  - {carrier: none, inertia: 0, ratio: {p2: 3}}
coordinates: [p1, p2]
couplings:
  j1: {p1: 1.0}
  j2: {p1: -1.0, p2: 1.0, offset: 0.25}
  j3:
loops:
  - {link_a: l1, point_a: [0, 1, 2], link_b: l2, point_b: [0.5, 0, -1]}
payload: {link: l8, mass: 1.2, com: [0, 0, 0.05], inertia: [0.01, 0, 0, 0.01, 0, 0.005]}
"""
    content = _read(tmp_path, text)
    assert content.source.endswith("arm.dynamics.yaml")
    assert content.gravity is not None and content.gravity.tolist() == [0.0, 0.5, -9.81]
    assert content.joints == {
        "j1": JointDynamics(
            0.5, 0.3, 0.35, 0.4, 0.05, (0.02, 100.0, 0.1), (0.546, 5.12, 0.0395), 2.0e-4, -100.0, "none"
        ),
        "j2": JointDynamics(),
    }
    assert content.coordinates == ("p1", "p2")
    assert content.couplings == {"j1": Row({"p1": 1.0}), "j2": Row({"p1": -1.0, "p2": 1.0}, 0.25), "j3": Row({})}
    assert content.loops == (Loop("l1", (0.0, 1.0, 2.0), "l2", (0.5, 0.0, -1.0)),)
    first, second = content.rotors
    assert first.carrier == "l1" and first.inertia == 1.0e-4 and first.ratio == {"j2": -60.0, "p1": 1.0}
    assert first.axis is not None and first.axis.tolist() == [0.0, 0.0, -1.0]
    assert second.carrier is None and second.axis is None and second.inertia == 0.0
    assert content.links["l3"].inertia.tolist() == [[0.02, 0.001, 0.002], [0.001, 0.021, 0.003], [0.002, 0.003, 0.01]]
    assert content.payload is not None and content.payload[0] == "l8" and content.payload[1].mass == 1.2


@pytest.mark.parametrize(
    "text", ["rotors:\ncoordinates:\ncouplings:\nloops:\n", "rotors: []\ncoordinates: []\ncouplings: {}\nloops: []\n"]
)
def test_empty_tables_are_nothing(text: str, tmp_path: Path) -> None:
    content = _read(tmp_path, text)
    assert content.rotors == () and content.coordinates == () and content.couplings == {} and content.loops == ()


def test_static_level_below_the_coulomb_level_of_the_urdf(tmp_path: Path) -> None:
    """The file's own Coulomb level goes before the URDF's."""
    arm = ARM.with_joint(JOINT, extra='<dynamics damping="0" friction="0.5"/>')
    file = tmp_path / "static.yaml"
    file.write_text(f"joints: {{{JOINT}: {{static: 0.4}}}}")
    with pytest.raises(RobotModelError, match=rf"static\.yaml.*{JOINT}.*static.*0\.4.*0\.5.*Cure"):
        RobotModel.from_urdf(arm.urdf, dynamics=file)
    file.write_text(f"joints: {{{JOINT}: {{static: 0.4, coulomb: 0.1}}}}")
    assert RobotModel.from_urdf(arm.urdf, dynamics=file).n == 3
