"""Dynamics file (YAML): its effects, and the error for each mistake in it."""

import re
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel, RobotModelError, RobotModelWarning
from robot_dynamics_ros.base.errors import printable
from robot_dynamics_ros.dynamics.description.dynamics_file import (
    DynamicsFile,
    parse_dynamics_file,
)
from support import arms
from support.comparing import assert_close
from support.pinocchio_peer import Peer

ARM = arms.random_arm(
    np.random.default_rng(21),
    [0, 1, 2, 3],
    ["revolute", "continuous", "prismatic", "fixed"],
)
JOINT = ARM.movable[1]
LINK = ARM.links[2].name
TOOL = ARM.links[4].name
Q, QD, QDD = (x[0] for x in arms.states(21, 3, 1))


def _load(text: str, arm: arms.Arm = ARM, **keywords: object) -> RobotModel:
    dynamics = parse_dynamics_file(text, "arm.dynamics.yaml")
    return RobotModel.from_urdf(arm.urdf, dynamics=dynamics, **keywords)  # type: ignore[arg-type]


# --- Errors: dynamics files with one mistake, and what the message names


def joint(text: str) -> str:
    return f"joints: {{{JOINT}: {text}}}"


def entry(keys: dict[str, str]) -> str:
    """Return keys and values; a value of "" omits its key."""
    return (
        "{" + ", ".join(f"{key}: {value}" for key, value in keys.items() if value) + "}"
    )


def rotor(**changes: str) -> str:
    keys = {
        "carrier": LINK,
        "axis": "[0, 0, 1]",
        "inertia": "1.0e-4",
        "ratio": f"{{{JOINT}: 50}}",
        **changes,
    }
    return f"rotors: [{entry(keys)}]"


def loop(**changes: str) -> str:
    keys = {
        "link_a": LINK,
        "point_a": "[0, 0, 0.1]",
        "link_b": TOOL,
        "point_b": "[0.2, 0, 0]",
        **changes,
    }
    return f"loops: [{entry(keys)}]"


def body(**changes: str) -> str:
    return entry(
        {"mass": "1.0", "com": "[0, 0, 0]", "inertia": "[1, 0, 0, 1, 0, 1]", **changes}
    )


def coupling(text: str) -> str:
    return f"coordinates: [p]\ncouplings: {{{JOINT}: {text}}}"


BAD: dict[str, tuple[str, str]] = {
    "broken_yaml": ("joints: {a: [1, 2", "line 1"),
    "a_list": ("- gravity\n", r"\['gravity'\]"),
    "unknown_key": ("frictions: {}", "'frictions'"),
    "key_of_no_string": ("3: {}", "key 3"),
    "joints_a_list": ("joints: [1, 2]", "joints"),
    "joint_a_number": (joint("3.0"), f'"{JOINT}"'),
    "joint_key": (joint("{viscos: 1.0}"), f"{JOINT}.*'viscos'"),
    "number_nan": (joint("{viscous: .nan}"), f"{JOINT}.*viscous: nan"),
    "number_infinite": (joint("{coulomb: .inf}"), f"{JOINT}.*coulomb: inf"),
    "number_huge": (joint(f"{{viscous: 1{'0' * 400}}}"), f"{JOINT}.*viscous"),
    "number_a_word": (joint("{viscous: much}"), f"{JOINT}.*viscous: 'much'"),
    "number_with_unit": (joint("{coulomb: 1 Nm}"), f"{JOINT}.*coulomb: '1 Nm'"),
    "number_true": (joint("{viscous: true}"), f"{JOINT}.*viscous: True"),
    "number_nothing": (joint("{viscous: }"), f"{JOINT}.*viscous: None"),
    "number_negative": (
        joint("{static: 1.0, stribeck_velocity: -0.1}"),
        f"{JOINT}.*stribeck_velocity: -0.1",
    ),
    "sigmoid_a_number": (joint("{sigmoid: 1.0}"), f"{JOINT}.*sigmoid"),
    "sigmoid_key": (
        joint("{sigmoid: {amplitude: 1.0, slope: 1.0, shif: 0.0}}"),
        f"{JOINT}.*'shif'",
    ),
    "sigmoid_negative": (
        joint("{sigmoid: {amplitude: 1.0, slope: -1.0}}"),
        f"{JOINT}.*sigmoid slope: -1.0",
    ),
    "sigmoid_amplitude": (
        joint("{sigmoid: {amplitude: -1.0, slope: 1.0}}"),
        f"{JOINT}.*sigmoid amplitude: -1.0",
    ),
    "ripple_key": (
        joint("{ripple: {amplitude: 0.1, per_trun: 3}}"),
        f"{JOINT}.*ripple.*'per_trun'",
    ),
    "ripple_half": (joint("{ripple: {amplitude: 0.1}}"), f"{JOINT}.*ripple: per_turn"),
    "ripple_negative": (
        joint("{ripple: {amplitude: -0.1, per_turn: 3}}"),
        f"{JOINT}.*ripple amplitude: -0.1",
    ),
    "ripple_backwards": (
        joint("{ripple: {amplitude: 0.1, per_turn: -3}}"),
        f"{JOINT}.*ripple per_turn: -3",
    ),
    "static_below_coulomb": (
        joint("{coulomb: 0.5, static: 0.4}"),
        f"{JOINT}.*static.*0.4.*0.5",
    ),
    "static_below_negative": (
        joint("{coulomb_negative: 0.6, static: 0.4}"),
        f"{JOINT}.*static.*0.4.*0.6",
    ),
    "joint_carrier": (
        joint("{rotor_inertia: 1.0e-4, rotor_carrier: base}"),
        f"{JOINT}.*'base'",
    ),
    "rotors_a_table": (f"rotors: {{{JOINT}: {{inertia: 1}}}}", "rotors"),
    "rotor_a_number": (
        f"rotors: [{{carrier: none, inertia: 1, ratio: {{{JOINT}: 1}}}}, 3]",
        r"rotors\[1\]",
    ),
    "rotor_key": (rotor(ratios="2"), r"rotors\[0\].*'ratios'"),
    "rotor_without_inertia": (rotor(inertia=""), r"rotors\[0\].*inertia"),
    "rotor_without_carrier": (rotor(carrier=""), r"rotors\[0\].*carrier"),
    "rotor_on_nothing": (rotor(carrier="null"), r"rotors\[0\] carrier: None"),
    "rotor_on_unknown_link": (rotor(carrier="hand"), '"hand"'),
    "rotor_axis_short": (rotor(axis="[0, 1]"), r"rotors\[0\] axis"),
    "rotor_axis_zero": (rotor(axis="[0, 0, 0]"), r"rotors\[0\] axis"),
    "rotor_axis_too_long": (rotor(axis="[0, 0, 1.0e200]"), r"rotors\[0\] axis"),
    "rotor_axis_missing": (rotor(axis="", carrier=TOOL), rf"rotors\[0\].*axis.*{TOOL}"),
    "rotor_axis_of_two": (
        rotor(axis="", ratio=f"{{{JOINT}: 2, {ARM.movable[0]}: 1}}"),
        r"rotors\[0\].*axis",
    ),
    "rotor_inertia_negative": (rotor(inertia="-1.0"), r"rotors\[0\] inertia: -1.0"),
    "rotor_ratio_empty": (rotor(ratio="{}"), r"rotors\[0\] ratio"),
    "rotor_ratio_nan": (
        rotor(ratio=f"{{{JOINT}: .nan}}"),
        rf"rotors\[0\] ratio {JOINT}: nan",
    ),
    "coordinates_a_word": ("coordinates: p1", "coordinates.*'p1'"),
    "coordinate_a_number": ("coordinates: [p, 1]", "coordinates: 1"),
    "coordinate_blank": ("coordinates: ['']", "coordinates: ''"),
    "coordinate_twice": ("coordinates: [p, p]", 'coordinates: "p".*twice'),
    "coordinate_offset": ("coordinates: [offset]", 'coordinates: "offset"'),
    "coupling_a_number": (coupling("2.0"), f"couplings.*{JOINT}.*2.0"),
    "coupling_word": (coupling("{p: one}"), f"couplings.*{JOINT}.* p: 'one'"),
    "coupling_offset": (
        coupling("{p: 1, offset: .inf}"),
        f"couplings.*{JOINT}.*offset: inf",
    ),
    "loop_key": (loop(point_c="[0, 0, 0]"), r"loops\[0\].*'point_c'"),
    "loop_without_point": (loop(point_b=""), r"loops\[0\].*point_b"),
    "loop_on_nothing": (loop(link_a="null"), r"loops\[0\] link_a: None"),
    "loop_on_unknown_link": (loop(link_b="hand"), '"hand"'),
    "loop_on_one_link": (loop(link_b=LINK), rf"loops\[0\].*{LINK}"),
    "loop_point_infinite": (loop(point_b="[0, 0, .inf]"), r"loops\[0\] point_b: inf"),
    "gravity_short": ("gravity: [0, -9.81]", "gravity"),
    "gravity_number": ("gravity: -9.81", "gravity"),
    "gravity_nan": ("gravity: [0, 0, .nan]", "gravity: nan"),
    "unknown_link": (f"links: {{hand: {body()}}}", '"hand"'),
    "link_key": (f"links: {{{LINK}: {body(mas='1')}}}", f"{LINK}.*'mas'"),
    "link_without_com": (f"links: {{{LINK}: {body(com='')}}}", f"{LINK}.*com"),
    "link_mass_negative": (
        f"links: {{{LINK}: {body(mass='-1.0')}}}",
        f"{LINK}.*mass: -1.0",
    ),
    "link_com_short": (f"links: {{{LINK}: {body(com='[0, 0]')}}}", f"{LINK}.*com"),
    "link_inertia_short": (
        f"links: {{{LINK}: {body(inertia='[1, 1, 1]')}}}",
        f"{LINK}.*inertia",
    ),
    "link_inertia_negative": (
        f"links: {{{LINK}: {body(inertia='[1, 3, 0, 1, 0, 1]')}}}",
        f"{LINK}.*inertia",
    ),
    "payload_without_link": (f"payload: {body()}", "payload.*link"),
    "payload_on_unknown_link": (f"payload: {body(link='hand')}", '"hand"'),
    "payload_key": (f"payload: {body(link=TOOL, weight='1.0')}", "payload.*'weight'"),
}


@pytest.mark.parametrize(("text", "culprit"), BAD.values(), ids=BAD.keys())
def test_a_mistake_is_refused_by_file_and_culprit(text: str, culprit: str) -> None:
    with pytest.raises(
        RobotModelError, match=rf"(?s)^arm\.dynamics\.yaml: .*{culprit}"
    ):
        _load(text)


@pytest.mark.parametrize("path", ["/nowhere/no_such.yaml", "arm\0.yaml", 5])
def test_a_file_that_cannot_be_read_is_named(path: object) -> None:
    with pytest.raises(RobotModelError, match=re.escape(printable(str(path)))):
        RobotModel.from_urdf(ARM.urdf, dynamics=path)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("table", "culprit"),
    [
        ("{gear_ratio: 100}", "gear_ratio without rotor_inertia"),
        ("{rotor_carrier: none}", "rotor_carrier without rotor_inertia"),
        ("{coulomb: 1.0, stribeck_velocity: 0.1}", "stribeck_velocity without static"),
        ("{sigmoid: {amplitude: 1.0}}", "sigmoid without slope"),
        ("{sigmoid: {slope: 1.0}}", "sigmoid without amplitude"),
        ("{viscous: 017}", r"arm\.dynamics\.yaml: 017"),
    ],
)
def test_probable_mistakes_cause_warnings(table: str, culprit: str) -> None:
    with pytest.warns(RobotModelWarning, match=culprit):
        _load(joint(table))


def test_static_level_below_the_coulomb_level_of_the_urdf() -> None:
    """The Coulomb level of the file overrides that of the URDF."""
    arm = ARM.with_joint(JOINT, extra='<dynamics damping="0" friction="0.5"/>')
    with pytest.raises(RobotModelError, match=rf"{JOINT}.*static.*0\.4.*0\.5"):
        _load(joint("{static: 0.4}"), arm)
    assert _load(joint("{static: 0.4, coulomb: 0.1}"), arm).n == 3
    assert _load(joint("{static: 0.5}"), arm).n == 3


# --- What is read


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing\n",
        "{}",
        "joints:\nrotors:\ncoordinates:\nloops:\n",
        "rotors: []\n",
    ],
)
def test_empty_tables_are_nothing(text: str) -> None:
    assert parse_dynamics_file(text, "") == DynamicsFile()


def test_gravity_of_the_argument_overrides_the_file() -> None:
    text = "gravity: [0, 1, -3]"
    assert_close(_load(text).gravity, [0, 1, -3], 0.0)
    assert_close(_load(text, gravity=[2, 0, 0]).gravity, [2, 0, 0], 0.0)


def test_inertials_of_links_replace_the_urdfs(tmp_path: Path) -> None:
    """Compared with Pinocchio on a URDF with the same values. If the URDF has none, no missing mass is reported."""
    mass = 3.7
    com = [0.1, -0.2, 0.05]
    inertia = [[0.3, 0.01, -0.02], [0.01, 0.4, 0.03], [-0.02, 0.03, 0.5]]
    entries = np.array(inertia)[np.triu_indices(3)].tolist()
    peer = Peer(
        ARM.with_link(LINK, mass=mass, com=com, inertia=inertia).urdf, ARM.movable
    )
    file = tmp_path / "arm.yaml"
    file.write_text(
        f"links: {{{LINK}: {{mass: {mass}, com: {com}, inertia: {entries}}}}}"
    )
    for arm in (ARM, ARM.with_link(LINK, mass=None)):
        model = RobotModel.from_urdf(arm.urdf, dynamics=file, strict=True)
        assert_close(model.inverse_dynamics(Q, QD, QDD), peer.rnea(Q, QD, QDD), 1e-11)
        assert_close(model.mass_matrix(Q), peer.crba(Q), 1e-12)


def test_friction_and_rotor_of_a_locked_joint_are_allowed() -> None:
    model = _load(
        joint("{viscous: 1.0, rotor_inertia: 1.0e-4, gear_ratio: 50}"),
        locked={JOINT: 0.2},
    )
    assert_close(model.friction_torque(np.zeros(2), np.ones(2)), np.zeros(2), 0.0)
