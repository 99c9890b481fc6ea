"""Bad and messy URDFs.

Each mistake is one clear error; defaults are the format's; what does not matter here causes no word.
"""

import re
import sys
import warnings
from pathlib import Path
from typing import Any

import arms
import numpy as np
import pytest
from comparing import assert_close
from pinocchio_peer import Peer

from robot_dynamics_ros import RobotDynamicsError, RobotModel, RobotModelError, RobotModelWarning
from robot_dynamics_ros.formulations.collision_inertias import with_collision_inertials

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
LIMIT = '<limit lower="-1" upper="1" effort="10" velocity="2"/>'


def robot(
    *,
    links: str | None = None,
    joints: str | None = None,
    inertial: str = INERTIAL,
    joint_type: str = "revolute",
    axis: str = '<axis xyz="0 0 1"/>',
    limit: str = LIMIT,
    origin: str = "",
    extra: str = "",
) -> str:
    """A one-joint robot (links base and forearm, joint elbow) with one part replaced."""
    if links is None:
        links = f'<link name="base"/><link name="forearm">{inertial}</link>'
    if joints is None:
        joints = joint("elbow", "base", "forearm", joint_type, axis, limit, origin)
    return f'<robot name="r">{links}{joints}{extra}</robot>'


def joint(
    name: str,
    parent: str,
    child: str,
    kind: str = "revolute",
    axis: str = "",
    limit: str = LIMIT,
    origin: str = "",
) -> str:
    """A <joint> element."""
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{origin}{axis}{limit}</joint>'


def follower(mimic: str) -> str:
    """The robot with a second joint, finger, that mimics, and a fixed one, weld."""
    finger = joint("finger", "forearm", "hand", limit=f"{LIMIT}<mimic {mimic}/>")
    return robot(extra=massive("hand") + massive("plate") + finger + joint("weld", "forearm", "plate", "fixed"))


def massive(name: str) -> str:
    """A <link> element with mass."""
    return f'<link name="{name}">{INERTIAL}</link>'


def inertia(mass: str = "1", **entries: str) -> str:
    """An <inertial> element."""
    values = {"ixx": "1", "ixy": "0", "ixz": "0", "iyy": "1", "iyz": "0", "izz": "1", **entries}
    text = " ".join(f'{k}="{v}"' for k, v in values.items())
    return f'<inertial><mass value="{mass}"/><inertia {text}/></inertial>'


ENTITY = '<?xml version="1.0"?><!DOCTYPE robot [<!ENTITY a "base">]>' + robot(extra='<link name="&a;2"/>')
EXTERNAL = '<?xml version="1.0"?><!DOCTYPE robot [<!ENTITY a SYSTEM "file:///etc/hostname">]>' + robot(
    extra="<x>&a;</x>"
)
BILLION = (
    '<?xml version="1.0"?><!DOCTYPE robot [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {chr(98 + k)} "{f"&{chr(97 + k)};" * 10}">' for k in range(9))
    + "]>"
    + robot(extra="<x>&j;</x>")
)

#: text, and words that the message must hold: the element, and what is wrong or what would be right
BAD: dict[str, tuple[str | bytes, list[str]]] = {
    "empty": ("", ["empty|XML"]),
    "blank": ("  \n ", ["empty|XML"]),
    "not_xml": ("panda.urdf", ["XML"]),
    "unclosed": ('<robot name="r"><link name="a"></robot>', ["XML", "line"]),
    "binary": (b"\x00\x01\x02\xff", ["XML|encod"]),
    "doctype": ("<!DOCTYPE robot>" + robot(), ["DOCTYPE"]),
    "entity": (ENTITY, ["DOCTYPE|entit"]),
    "external_entity": (EXTERNAL, ["DOCTYPE|entit"]),
    "billion_laughs": (BILLION, ["DOCTYPE|entit"]),
    "wrong_root": ('<sdf version="1.6"><model name="m"/></sdf>', ["sdf", "robot"]),
    "no_links": ('<robot name="r"/>', ["link"]),
    "xacro_left_over": (robot(origin='<origin xyz="0 0 ${height}"/>'), ["elbow", r"\$\{height\}", "xacro"]),
    "xacro_in_name": (robot(extra='<link name="${prefix}tool"/>'), [r"\$\{prefix\}", "xacro"]),
    "nan_mass": (robot(inertial=inertia(mass="nan")), ["forearm", "mass", "nan"]),
    "inf_inertia": (robot(inertial=inertia(ixx="inf")), ["forearm", "ixx", "inf"]),
    "underscore": (robot(inertial=inertia(mass="1_000")), ["forearm", "mass", "1_000"]),
    "word_for_number": (robot(origin='<origin xyz="0 0 zero"/>'), ["elbow", "xyz", "zero"]),
    "two_numbers": (robot(origin='<origin xyz="0 0"/>'), ["elbow", "xyz", "3|three"]),
    "four_numbers": (robot(axis='<axis xyz="0 0 1 0"/>'), ["elbow", "axis", "3|three"]),
    "nan_rpy": (robot(origin='<origin rpy="0 nan 0"/>'), ["elbow", "rpy", "nan"]),
    "inf_limit": (
        robot(limit='<limit lower="-1" upper="nan" effort="1" velocity="1"/>'),
        ["elbow", "upper", "nan"],
    ),
    "bogus_type": (robot(joint_type="hinge"), ["elbow", "hinge"]),
    "no_type": (
        robot(joints='<joint name="elbow"><parent link="base"/><child link="forearm"/></joint>'),
        ["elbow", "type"],
    ),
    "negative_mass": (robot(inertial=inertia(mass="-2")), ["forearm", "mass", "-2"]),
    "negative_inertia": (robot(inertial=inertia(ixx="-0.1")), ["forearm", "inertia", "eigenvalue|negative"]),
    "indefinite_inertia": (robot(inertial=inertia(ixy="3")), ["forearm", "inertia", "eigenvalue|negative"]),
    "inertia_without_mass_value": (robot(inertial="<inertial><mass/></inertial>"), ["forearm", "mass"]),
    "inertial_without_mass": (robot(inertial="<inertial><inertia/></inertial>"), ["forearm", "mass"]),
    "zero_axis": (robot(axis='<axis xyz="0 0 0"/>'), ["elbow", "axis"]),
    "duplicate_link": (robot(extra=massive("forearm")), ["forearm", "twice|duplicate|more than once|unique"]),
    "duplicate_joint": (
        robot(extra=massive("hand") + joint("elbow", "forearm", "hand")),
        ["elbow", "twice|duplicate|more than once|unique"],
    ),
    "unnamed_link": (robot(extra="<link/>"), ["link", "name"]),
    "unnamed_joint": (
        robot(extra=massive("hand") + '<joint type="fixed"><parent link="base"/><child link="hand"/></joint>'),
        ["joint", "name"],
    ),
    "cycle": (
        robot(
            extra=massive("a") + massive("b") + joint("ab", "a", "b") + joint("ba", "b", "a"),
        ),
        ["a|b", "cycle|loop"],
    ),
    "whole_cycle": (
        robot(links=massive("a") + massive("b"), joints=joint("ab", "a", "b") + joint("ba", "b", "a")),
        ["a|b", "cycle|loop|root"],
    ),
    "own_parent": (robot(extra=massive("a") + joint("aa", "a", "a")), ["aa|a", "cycle|loop|itself"]),
    "two_roots": (robot(extra='<link name="island"/>'), ["island", "base", "root|no parent"]),
    "two_parents": (robot(extra=joint("second", "base", "forearm", "fixed")), ["forearm", "elbow", "second"]),
    "unknown_parent": (robot(extra=massive("hand") + joint("wrist", "ghost", "hand")), ["wrist", "ghost"]),
    "unknown_child": (robot(extra=joint("wrist", "forearm", "ghost")), ["wrist", "ghost"]),
    "no_parent": (
        robot(extra=massive("hand") + '<joint name="wrist" type="fixed"><child link="hand"/></joint>'),
        ["wrist", "parent"],
    ),
    "no_child": (
        robot(extra='<joint name="wrist" type="fixed"><parent link="base"/></joint>'),
        ["wrist", "child"],
    ),
    "crossed_limits": (
        robot(limit='<limit lower="2" upper="-2" effort="1" velocity="1"/>'),
        ["elbow", "lower", "upper"],
    ),
    "negative_effort": (
        robot(limit='<limit lower="-1" upper="1" effort="-5" velocity="1"/>'),
        ["elbow", "effort"],
    ),
    "floating": (robot(joint_type="floating"), ["elbow", "floating"]),
    "planar": (robot(joint_type="planar"), ["elbow", "planar"]),
    "mimic_of_nothing": (follower('joint="ghost"'), ["finger", "mimic", "ghost"]),
    "mimic_of_a_fixed_joint": (follower('joint="weld"'), ["finger", "mimic", "weld", "fixed"]),
    "mimic_of_itself": (follower('joint="finger"'), ["finger", "mimic", "cycle"]),
    "mimic_cycle": (
        follower('joint="elbow"').replace(LIMIT, LIMIT + '<mimic joint="finger"/>', 1),
        ["finger", "elbow", "mimic", "cycle"],
    ),
    "mimic_without_joint": (follower('multiplier="2"'), ["finger", "mimic", "joint"]),
    "mimic_nan": (follower('joint="elbow" multiplier="nan"'), ["finger", "mimic", "multiplier", "nan"]),
    "mimic_infinite": (follower('joint="elbow" offset="-inf"'), ["finger", "mimic", "offset", "-inf"]),
    "mimic_word": (follower('joint="elbow" offset="far"'), ["finger", "mimic", "offset", "far"]),
    "mimic_xacro": (follower('joint="${side}_elbow"'), ["finger", r"\$\{side\}", "xacro"]),
    "mimic_twice": (follower('joint="elbow"/><mimic joint="elbow"'), ["finger", "mimic", "twice"]),
    "origin_twice": (robot(origin="<origin/><origin/>"), ["elbow", "origin", "twice"]),
    "xacro_command": (robot(inertial=inertia(mass="$(arg mass)")), ["forearm", "mass", r"\$\(arg mass\)", "xacro"]),
    "xacro_element": (
        robot(extra='<xacro:arm xmlns:xacro="http://www.ros.org/wiki/xacro"/>'),
        ["xacro"],
    ),
    "infinite_effort": (robot(limit='<limit lower="-1" upper="1" effort="inf" velocity="1"/>'), ["elbow", "effort"]),
    "nan_damping": (
        robot(limit=LIMIT + '<dynamics damping="nan" friction="0"/>'),
        ["elbow", "dynamics", "damping", "nan"],
    ),
    "negative_friction": (robot(limit=LIMIT + '<dynamics friction="-1"/>'), ["elbow", "dynamics", "friction"]),
    "no_movable_joint": (robot(joint_type="fixed"), ["joint"]),
}


@pytest.mark.parametrize(("text", "words"), BAD.values(), ids=BAD.keys())
def test_bad_urdf_is_one_clear_error(text: str | bytes, words: list[str], tmp_path: Path) -> None:
    """From text and from a file, where the message also names the file."""
    with pytest.raises(RobotModelError) as failure:
        RobotModel.from_urdf(text)
    message = str(failure.value)
    for word in [*words, "Cure: "]:
        assert re.search(word, message), f"{word!r} is not in: {message}"
    assert len(message) < 600, "longer than a person reads"

    path = tmp_path / "broken_arm.urdf"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(RobotModelError) as failure:
        RobotModel.from_urdf_file(path)
    message = str(failure.value)
    for word in ["broken_arm.urdf", *words]:
        assert re.search(word, message), f"{word!r} is not in: {message}"


def test_missing_file_is_named() -> None:
    with pytest.raises(RobotModelError, match=r"no_such_arm\.urdf"):
        RobotModel.from_urdf_file("/nowhere/no_such_arm.urdf")


def test_text_and_path_mixed_up() -> None:
    """The error names the other function; no error prints a whole document."""
    with pytest.raises(RobotModelError, match="from_urdf_file"):
        RobotModel.from_urdf("robots/arm.urdf")
    with pytest.raises(RobotModelError, match="from_urdf_file"):
        RobotModel.from_urdf(Path("robots/arm.urdf"))  # type: ignore[arg-type]
    for text in (robot(), robot().encode()):
        with pytest.raises(RobotModelError, match="from_urdf$") as failure:
            RobotModel.from_urdf_file(text)  # type: ignore[arg-type]
        assert "forearm" not in str(failure.value)


def test_long_errors_are_cut() -> None:
    """Culprit and cure stay."""
    links = "".join(f'<link name="link_{k}"/>' for k in range(20_000))
    with pytest.raises(RobotModelError, match=r"link_0'.* \[\.\.\.\] .*Cure: ") as failure:
        RobotModel.from_urdf(robot(extra=links))
    assert len(str(failure.value)) < 3000


def test_nul_in_a_path() -> None:
    with pytest.raises(RobotModelError, match="cannot read the URDF"):
        RobotModel.from_urdf_file("arm\0.urdf")


def test_folder_instead_of_file(tmp_path: Path) -> None:
    with pytest.raises(RobotModelError, match=re.escape(tmp_path.name)):
        RobotModel.from_urdf_file(tmp_path)


@pytest.mark.parametrize("text", [None, 3, ["<robot/>"]])
def test_no_text_at_all(text: Any) -> None:
    with pytest.raises(RobotModelError, match="str|text"):
        RobotModel.from_urdf(text)


def test_good_robot_is_silent(capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RobotModel.from_urdf(robot())
    assert model.n == 1
    assert list(model.joint_names) == ["elbow"]
    assert list(model.link_names) == ["base", "forearm"]
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


def test_text_forms() -> None:
    """A str with an encoding line (robot_state_publisher sends those), bytes, a byte order mark."""
    declared = '<?xml version="1.0" encoding="utf-8"?>\n' + robot()
    for text in (declared, declared.encode(), robot().encode(), declared.encode("utf-8-sig"), "\n" + robot()):
        assert RobotModel.from_urdf(text).n == 1
    latin = '<?xml version="1.0" encoding="iso-8859-1"?><!-- \u00fc -->' + robot()
    assert RobotModel.from_urdf(latin.encode("iso-8859-1")).n == 1
    assert RobotModel.from_urdf(latin).n == 1


def test_unknown_tags_are_silent(capfd: pytest.CaptureFixture[str]) -> None:
    extra = """
      <gazebo reference="forearm"><material>Gazebo/Blue</material></gazebo>
      <transmission name="t"><type>SimpleTransmission</type><joint name="nowhere"/></transmission>
      <ros2_control name="c"><joint name="ghost"><state_interface name="effort"/></joint></ros2_control>
      <material name="grey"><color rgba="1 1 1 nan"/></material><brand:new xmlns:brand="http://x.org"/>
    """
    visual = '<visual><geometry><mesh filename="package://nowhere/a.stl"/></geometry></visual>'
    links = f'<link name="base">{visual}</link><link name="forearm">{INERTIAL}{visual}<weird/></link>'
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RobotModel.from_urdf(robot(links=links, extra=extra))
    assert model.n == 1
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


def test_what_urdfdom_takes() -> None:
    """Prefixes without a declaration, a default namespace, and an axis without xyz where it does not matter."""
    plate = joint("weld", "forearm", "plate", "fixed", axis="<axis/>", limit="")
    text = robot(extra=f'<gazebo a:b="c"><foo:bar>x</foo:bar></gazebo>{massive("plate")}{plate}')
    text = text.replace("<robot", '<robot xmlns="http://www.ros.org"', 1)
    assert RobotModel.from_urdf(text).link_names == ("base", "forearm", "plate")
    assert RobotModel.from_urdf(with_collision_inertials(text, 1000.0)).n == 1


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (robot(limit='<limit lower="-1" effort="1" velocity="1"/>'), "only one of lower and upper"),
        (robot(limit='<limit lower="0" upper="0.0" effort="1" velocity="1"/>'), "equal"),
        (robot(inertial=inertia().replace("iyy", "iyv")), "iyy"),
        (robot(inertial=inertia().replace('ixz="0"', "")), "ixz"),
    ],
)
def test_what_is_read_but_probably_not_meant(text: str, word: str) -> None:
    with pytest.warns(RobotModelWarning, match=word) as caught:
        RobotModel.from_urdf(text)
    assert len(caught) == 1 and re.search("elbow|forearm", str(caught[0].message))


def test_missing_axis_is_x() -> None:
    """The URDF default is 1 0 0: gravity along -z then turns a mass at +y, not one at +x."""
    body = '<inertial><origin xyz="0.5 0.25 0"/><mass value="2"/></inertial>'
    model = RobotModel.from_urdf(robot(axis="", inertial=body))
    assert_close(model.gravity_torque([0.0]), [2.0 * 9.81 * 0.25], 1e-14)


def test_missing_origin_is_identity() -> None:
    assert_close(
        RobotModel.from_urdf(robot()).mass_matrix([0.3]),
        RobotModel.from_urdf(robot(origin='<origin xyz="0 0 0" rpy="0 0 0"/>')).mass_matrix([0.3]),
        0.0,
    )


def test_missing_inertia_entries_are_zero() -> None:
    model = RobotModel.from_urdf(robot(inertial='<inertial><origin xyz="2 0 0"/><mass value="3"/></inertial>'))
    assert_close(model.mass_matrix([0.0]), [[12.0]], 1e-15)


def test_turned_inertial_frame() -> None:
    """<inertial><origin rpy> turns the inertia's axes, against Pinocchio."""
    turned = (
        '<inertial><origin xyz="0.1 -0.2 0.3" rpy="0.4 -0.5 0.6"/><mass value="2"/>'
        '<inertia ixx="0.3" ixy="0.01" ixz="-0.02" iyy="0.4" iyz="0.03" izz="0.5"/></inertial>'
    )
    text = robot(inertial=turned, axis='<axis xyz="0.6 0 0.8"/>', origin='<origin xyz="1 2 3" rpy="-1 0.2 3"/>')
    model = RobotModel.from_urdf(text)
    peer = Peer(text, ["elbow"])
    q, qd, qdd = (x[0] for x in arms.states(0, 1, 1))
    assert_close(model.inverse_dynamics(q, qd, qdd), peer.rnea(q, qd, qdd), 1e-12)


def test_limits_are_read() -> None:
    model = RobotModel.from_urdf(robot())
    assert_close(model.position_lower, [-1.0], 0.0)
    assert_close(model.position_upper, [1.0], 0.0)
    assert_close(model.effort_limits, [10.0], 0.0)
    assert_close(model.velocity_limits, [2.0], 0.0)
    assert_close([*model.soft_lower, *model.soft_upper], [-1.0, 1.0], 0.0)


@pytest.mark.parametrize(("soft", "expected"), [((-0.5, 0.7), (-0.5, 0.7)), ((-0.5, 1.1), (-1.0, 1.0))])
def test_soft_limits_are_read_where_they_are_inside(soft: Any, expected: Any) -> None:
    safety = f'<safety_controller soft_lower_limit="{soft[0]}" soft_upper_limit="{soft[1]}" k_velocity="10"/>'
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = RobotModel.from_urdf(robot(limit=LIMIT + safety))
    assert_close([*model.soft_lower, *model.soft_upper], expected, 0.0)
    assert_close([*model.position_lower, *model.position_upper], [-1.0, 1.0], 0.0)
    assert ["elbow" in str(warning.message) for warning in caught] == [True] * (soft != expected)


def test_continuous_joint_has_no_position_limit() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RobotModel.from_urdf(robot(joint_type="continuous", limit=""))
    assert model.position_lower[0] == -np.inf and model.position_upper[0] == np.inf
    assert model.effort_limits[0] == np.inf and model.velocity_limits[0] == np.inf


def test_revolute_without_limit_works_with_a_warning() -> None:
    with pytest.warns(RobotModelWarning, match="elbow.*position limit") as caught:
        model = RobotModel.from_urdf(robot(limit=""))
    messages = [str(warning.message) for warning in caught]
    assert all("elbow" in message for message in messages) and len(messages) <= 2
    assert model.position_lower[0] == -np.inf and model.position_upper[0] == np.inf
    assert model.effort_limits[0] == np.inf and model.velocity_limits[0] == np.inf


def test_missing_bound_is_zero() -> None:
    """The format's default of lower and upper is 0."""
    with pytest.warns(RobotModelWarning):
        model = RobotModel.from_urdf(robot(limit='<limit upper="2" effort="1" velocity="1"/>'))
    assert_close([*model.position_lower, *model.position_upper], [0.0, 2.0], 0.0)


@pytest.mark.parametrize("numbers", ['effort="0" velocity="0"', 'effort="0"', ""])
def test_zero_or_absent_limits_mean_no_limit(numbers: str) -> None:
    """A limit of zero would forbid all torque: it is read as not given, with one warning."""
    with pytest.warns(RobotModelWarning, match="elbow") as caught:
        model = RobotModel.from_urdf(robot(limit=f'<limit lower="-1" upper="1" {numbers}/>'))
    assert len(caught) == 1
    assert model.effort_limits[0] == np.inf and model.velocity_limits[0] == np.inf
    assert model.position_upper[0] == 1.0


def test_impossible_inertia_warns_or_is_refused() -> None:
    """ixx + iyy < izz holds for no body."""
    text = robot(inertial=inertia(ixx="0.1", iyy="0.1", izz="1"))
    with pytest.warns(RobotModelWarning, match="forearm"):
        RobotModel.from_urdf(text)
    with pytest.raises(RobotModelError, match="forearm"):
        RobotModel.from_urdf(text, strict=True)


def test_thin_rod_is_possible() -> None:
    """The boundary of the triangle inequality is a real body: no warning for rounding."""
    rod = repr(2.3 * 0.7**2 / 12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RobotModel.from_urdf(robot(inertial=inertia(ixx="0", iyy=rod, izz=rod)), strict=True)


@pytest.mark.parametrize("ixz", ["2.40741e-35", "1.35525e-20"])
def test_rounding_dust_is_no_mistake(ixz: str) -> None:
    """The public URDF of the iCub has links with these inertias, whose eigenvalues are negative."""
    dust = inertia(ixx="0", iyy="0", izz="0", ixz=ixz)
    assert (
        RobotModel.from_urdf(robot(extra=f'<link name="head">{dust}</link>' + joint("neck", "forearm", "head"))).n == 2
    )


def test_massless_link_that_carries_mass() -> None:
    text = robot(inertial="", extra=massive("hand") + joint("wrist", "forearm", "hand", axis='<axis xyz="1 0 0"/>'))
    with pytest.warns(RobotModelWarning, match="forearm|elbow"):
        model = RobotModel.from_urdf(text)
    q, qd, qdd = (x[0] for x in arms.states(0, 2, 1))
    tau = model.inverse_dynamics(q, qd, qdd)
    assert_close(model.forward_dynamics(q, qd, tau), qdd, 1e-9)
    with pytest.raises(RobotModelError, match="forearm|elbow"):
        RobotModel.from_urdf(text, strict=True)


def test_massless_end_body() -> None:
    """Torques of a massless end body are zero.

    Its acceleration is undefined, and the error names the joint.
    """
    with pytest.warns(RobotModelWarning, match="tip|wrist"):
        model = RobotModel.from_urdf(robot(extra='<link name="tip"/>' + joint("wrist", "forearm", "tip")))
    q, qd, qdd = (x[0] for x in arms.states(0, 2, 1))
    alone = RobotModel.from_urdf(robot())
    assert_close(model.inverse_dynamics(q, qd, qdd), [*alone.inverse_dynamics(q[:1], qd[:1], qdd[:1]), 0.0], 1e-14)
    with pytest.raises(RobotDynamicsError, match="wrist"):
        model.forward_dynamics(q, qd, qdd)


def test_point_mass_on_its_axis() -> None:
    """It has mass, but nothing resists the joint, whatever the configuration and wherever on the axis it is."""
    point = inertia(ixx="0", iyy="0", izz="0").replace("<mass", '<origin xyz="0.3 0 0.4"/><mass')
    roll = joint("roll", "forearm", "hand", axis='<axis xyz="0.6 0 0.8"/>', origin='<origin rpy="1 2 3" xyz="1 2 3"/>')
    text = robot(extra=f'<link name="hand">{point}</link>{roll}')
    with pytest.warns(RobotModelWarning, match="roll"):
        model = RobotModel.from_urdf(text)
    with pytest.raises(RobotModelError, match="roll"):
        model.require_mass()
    with pytest.raises(RobotModelError, match="roll"):
        model.forward_dynamics(*np.ones((3, 2)))
    model.warm_up()
    with pytest.raises(RobotModelError, match="roll"):
        RobotModel.from_urdf(text, strict=True)


def test_warm_up_where_the_zero_configuration_is_singular() -> None:
    """A point mass above a pan and tilt joint resists the pan joint once it is tilted."""
    tilt = joint("tilt", "forearm", "head", axis='<axis xyz="0 1 0"/>')
    point = inertia(ixx="0", iyy="0", izz="0").replace("<mass", '<origin xyz="0 0 1"/><mass')
    with pytest.warns(RobotModelWarning, match=r"\['elbow'\] have no mass of their own"):
        model = RobotModel.from_urdf(robot(inertial="", extra=f'<link name="head">{point}</link>{tilt}'))
    model.require_mass()
    model.warm_up()


def test_inertia_of_the_root_is_ignored() -> None:
    text = robot(links=massive("base") + massive("forearm"))
    assert_close(RobotModel.from_urdf(text).mass_matrix([0.0]), RobotModel.from_urdf(robot()).mass_matrix([0.0]), 0.0)


def test_order_is_depth_first_in_document_order() -> None:
    """Children come in document order, whatever their names; a joint may stand before its parent's."""
    edges = [("tip", "z", "z_tip"), ("z", "base", "z"), ("b", "z", "b"), ("a", "base", "a"), ("c", "a", "c")]
    links = "".join(massive(name) for name in ("z_tip", "a", "z", "base", "b", "c"))
    model = RobotModel.from_urdf(robot(links=links, joints="".join(joint(*edge) for edge in edges)))
    assert list(model.joint_names) == ["z", "tip", "b", "a", "c"]


def test_mimic_joint_follows() -> None:
    """finger = 2 elbow + 0.5: as the arm of independent joints at those positions."""
    text = follower('joint="elbow" multiplier="2" offset="0.5"')
    model = RobotModel.from_urdf(text, gravity=[1, 2, 3])
    free = RobotModel.from_urdf(re.sub("<mimic.*?/>", "", text), gravity=[1, 2, 3])
    assert list(model.joint_names) == ["elbow"] and list(free.joint_names) == ["elbow", "finger"]
    tree = free.inverse_dynamics([0.3, 1.1], [0.7, 1.4], [-0.2, -0.4])
    assert_close(model.inverse_dynamics([0.3], [0.7], [-0.2]), [tree[0] + 2 * tree[1]], 1e-14)


def test_mimic_inside_a_fixed_joint_does_not_matter() -> None:
    """What cannot move follows nothing."""
    weld = '<joint name="weld" type="fixed">'
    text = follower('joint="elbow"').replace(weld, weld + '<mimic joint="ghost"/>')
    assert RobotModel.from_urdf(text).n == 1


def test_no_file_that_a_urdf_names_is_opened(tmp_path: Path) -> None:
    """Meshes, textures and plugins are not looked at, whether they are there or not."""
    there = tmp_path / "mesh.stl"
    there.write_text("solid")
    names = [f"file://{there}", str(there), "package://nowhere/gone.stl", "model.dae"]
    meshes = "".join(f'<visual><geometry><mesh filename="{name}"/></geometry></visual>' for name in names)
    shapes = meshes.replace("visual", "collision")
    links = f'<link name="base">{meshes}</link><link name="forearm">{INERTIAL}{shapes}</link>'
    extra = f'<gazebo><plugin filename="{there}"/></gazebo><material name="m"><texture filename="{there}"/></material>'
    opened: list[str] = []
    watching = True

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if watching and event == "open":
            opened.append(str(arguments[0]))

    sys.addaudithook(watch)  # it cannot be taken off again
    try:
        model = RobotModel.from_urdf(robot(links=links, extra=extra))
        there.read_text()
    finally:
        watching = False
    assert model.n == 1
    assert opened.count(str(there)) == 1, "the watch itself, and nothing else"
    assert not [name for name in opened if "gone" in name or "model.dae" in name]


@pytest.mark.parametrize("gravity", [[0, 0], [0, 0, np.nan], "down", [0, 0, 0, -9.81], 9.81])
def test_bad_gravity(gravity: Any) -> None:
    with pytest.raises(RobotModelError, match="gravity"):
        RobotModel.from_urdf(robot(), gravity=gravity)
