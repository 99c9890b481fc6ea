"""Invalid and unusual URDFs: each mistake is an error with its culprit; defaults are those of the format."""

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel, RobotModelError, RobotModelWarning
from robot_dynamics_ros.base.errors import printable
from support.comparing import assert_close

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
    """Return a one-joint robot (links base and forearm, joint elbow) with one part replaced."""
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
    """Return a <joint> element."""
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{origin}{axis}{limit}</joint>'


def follower(mimic: str) -> str:
    """Return the robot with a mimic joint, finger, and a fixed joint, weld."""
    finger = joint("finger", "forearm", "hand", limit=f"{LIMIT}<mimic {mimic}/>")
    return robot(
        extra=massive("hand")
        + massive("plate")
        + finger
        + joint("weld", "forearm", "plate", "fixed")
    )


def massive(name: str) -> str:
    """Return a <link> element with mass."""
    return f'<link name="{name}">{INERTIAL}</link>'


def inertia(mass: str = "1", **entries: str) -> str:
    """Return an <inertial> element."""
    values = {
        "ixx": "1",
        "ixy": "0",
        "ixz": "0",
        "iyy": "1",
        "iyz": "0",
        "izz": "1",
        **entries,
    }
    text = " ".join(f'{k}="{v}"' for k, v in values.items())
    return f'<inertial><mass value="{mass}"/><inertia {text}/></inertial>'


#: Text, and what the message names: the element, and what is wrong with it.
BAD: dict[str, tuple[Any, str]] = {
    "blank": ("  \n ", "XML"),
    "unclosed": ('<robot name="r"><link name="a"></robot>', "line 1"),
    "binary": (b"<\x00\x01\x02\xff", "XML"),
    "no_text": (None, "NoneType"),
    "wrong_root": ('<sdf version="1.6"><model name="m"/></sdf>', "<sdf>"),
    "no_links": ('<robot name="r"/>', "'r'"),
    "no_movable_joint": (robot(joint_type="fixed"), "joint"),
    "xacro_expression": (
        robot(origin='<origin xyz="0 0 ${height}"/>'),
        r"elbow.*\$\{height\}.*xacro",
    ),
    "xacro_command": (
        robot(inertial=inertia(mass="$(arg mass)")),
        r"forearm.*mass.*\$\(arg mass\).*xacro",
    ),
    "xacro_element": (
        robot(extra='<xacro:arm xmlns:xacro="http://www.ros.org/wiki/xacro"/>'),
        "xacro:arm",
    ),
    "nan": (robot(inertial=inertia(mass="nan")), "forearm.*mass.*'nan'"),
    "infinite": (robot(inertial=inertia(mass="inf")), "forearm.*mass.*'inf'"),
    "infinite_lower": (
        robot(limit='<limit lower="inf" upper="inf"/>'),
        "elbow.*lower.*inf",
    ),
    "negative_infinite": (
        robot(limit='<limit lower="-1" upper="1" effort="-inf"/>'),
        "elbow.*effort",
    ),
    "too_large": (robot(inertial=inertia(mass="1e999")), "forearm.*mass.*'1e999'"),
    "underscore": (robot(inertial=inertia(mass="1_000")), "forearm.*mass.*'1_000'"),
    "two_numbers": (robot(origin='<origin xyz="0 0"/>'), 'elbow.*xyz="0 0"'),
    "four_numbers": (robot(axis='<axis xyz="0 0 1 0"/>'), 'elbow.*axis.*xyz="0 0 1 0"'),
    "nan_rpy": (robot(origin='<origin rpy="0 nan 0"/>'), "elbow.*rpy.*'nan'"),
    "nan_damping": (
        robot(limit=LIMIT + '<dynamics damping="nan" friction="0"/>'),
        "elbow.*dynamics.*damping.*'nan'",
    ),
    "unknown_type": (robot(joint_type="hinge"), "elbow.*hinge"),
    "no_type": (
        robot(
            extra='<joint name="wrist"><parent link="base"/><child link="x"/></joint>'
        ),
        "wrist.*type",
    ),
    "empty_link_name": (robot(extra='<link name=" "/>'), "link.*name"),
    "unnamed_link": (robot(extra="<link/>"), "link.*name"),
    "no_parent": (
        robot(extra='<joint name="wrist" type="fixed"><child link="base"/></joint>'),
        "wrist",
    ),
    "mass_without_value": (
        robot(inertial="<inertial><mass/></inertial>"),
        "forearm.*mass.*value",
    ),
    "inertial_without_mass": (
        robot(inertial="<inertial><inertia/></inertial>"),
        "forearm.*<mass>",
    ),
    "negative_mass": (robot(inertial=inertia(mass="-2")), "forearm.*mass -2"),
    "negative_inertia": (robot(inertial=inertia(ixx="-0.1")), "forearm.*inertia.*-0.1"),
    "indefinite_inertia": (robot(inertial=inertia(ixy="3")), "forearm.*inertia.*-2"),
    "zero_axis": (robot(axis='<axis xyz="0 0 0"/>'), "elbow.*axis"),
    "origin_twice": (robot(origin="<origin/><origin/>"), "elbow.*<origin>"),
    "duplicate_link": (robot(extra=massive("forearm")), "link.*forearm"),
    "duplicate_joint": (
        robot(extra=massive("hand") + joint("elbow", "forearm", "hand")),
        "joint.*elbow",
    ),
    "cycle_beside_the_tree": (
        robot(
            extra=massive("a")
            + massive("b")
            + joint("ab", "a", "b")
            + joint("ba", "b", "a")
        ),
        r"\['ab', 'ba'\].*cycle",
    ),
    "cycle_of_all": (
        robot(
            links=massive("a") + massive("b"),
            joints=joint("ab", "a", "b") + joint("ba", "b", "a"),
        ),
        "cycle",
    ),
    "two_roots": (robot(extra='<link name="island"/>'), r"\['base', 'island'\]"),
    "two_parents": (
        robot(extra=joint("second", "base", "forearm", "fixed")),
        "forearm.*elbow.*second",
    ),
    "unknown_parent": (
        robot(extra=massive("hand") + joint("wrist", "ghost", "hand")),
        "wrist.*parent.*ghost",
    ),
    "unknown_child": (
        robot(extra=joint("wrist", "forearm", "ghost")),
        "wrist.*child.*ghost",
    ),
    "crossed_limits": (
        robot(limit='<limit lower="2" upper="-2" effort="1" velocity="1"/>'),
        "elbow.*2.*-2",
    ),
    "negative_effort": (
        robot(limit='<limit lower="-1" upper="1" effort="-5" velocity="1"/>'),
        "elbow.*effort",
    ),
    "negative_velocity": (
        robot(limit='<limit lower="-1" upper="1" effort="5" velocity="-1"/>'),
        "elbow.*velocity",
    ),
    "negative_damping": (
        robot(limit=LIMIT + '<dynamics damping="-1"/>'),
        "elbow.*dynamics",
    ),
    "negative_friction": (
        robot(limit=LIMIT + '<dynamics friction="-1"/>'),
        "elbow.*dynamics",
    ),
    "mimic_of_nothing": (follower('joint="ghost"'), "finger.*mimic.*ghost"),
    "mimic_of_a_fixed_joint": (follower('joint="weld"'), "finger.*mimic.*weld.*fixed"),
    "mimic_of_itself": (follower('joint="finger"'), "finger.*mimic.*cycle"),
    "mimic_cycle": (
        follower('joint="elbow"').replace(LIMIT, LIMIT + '<mimic joint="finger"/>', 1),
        "mimic(?=.*finger)(?=.*elbow).*cycle",
    ),
    "mimic_without_joint": (follower('multiplier="2"'), "finger.*mimic.*joint"),
    "html": ("<!DOCTYPE html><html><body></body></html>", "HTML page.*Cure"),
    "mimic_infinite": (
        follower('joint="elbow" offset="-inf"'),
        "finger.*mimic.*offset.*'-inf'",
    ),
}


@pytest.mark.parametrize(("text", "culprit"), BAD.values(), ids=BAD.keys())
def test_bad_urdf_is_refused_by_its_culprit(text: Any, culprit: str) -> None:
    with pytest.raises(RobotModelError, match=culprit) as failure:
        RobotModel.from_urdf(text)
    assert len(str(failure.value)) < 600, "longer than a person reads"


def test_bad_files_are_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken_arm.urdf"
    broken.write_text(robot(joint_type="hinge"))
    for path in (broken, tmp_path, "/nowhere/no_such_arm.urdf", "arm\0.urdf"):
        with pytest.raises(RobotModelError, match=re.escape(printable(str(path)))):
            RobotModel.from_urdf_file(path)


def test_text_and_path_mixed_up() -> None:
    """The error names the right function and does not contain a whole document."""
    for path in ("robots/arm.urdf", Path("robots/arm.urdf")):
        with pytest.raises(RobotModelError, match="from_urdf_file"):
            RobotModel.from_urdf(path)  # type: ignore[arg-type]
    for text in (robot(), robot().encode()):
        with pytest.raises(RobotModelError, match="from_urdf$") as failure:
            RobotModel.from_urdf_file(text)  # type: ignore[arg-type]
        assert "forearm" not in str(failure.value)


def test_long_errors_are_cut() -> None:
    """Culprit and cure are kept."""
    links = "".join(f'<link name="link_{k}"/>' for k in range(2_000))
    with pytest.raises(
        RobotModelError, match=r"link_0'.* \[\.\.\.\] .*Cure: "
    ) as failure:
        RobotModel.from_urdf(robot(extra=links))
    assert len(str(failure.value)) < 3000


def test_a_plain_robot_is_silent_and_has_its_limits() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RobotModel.from_urdf(robot())
    assert model.joint_names == ("elbow",) and model.link_names == ("base", "forearm")
    assert limits(model) == [-1.0, 1.0, 10.0, 2.0]
    assert [*model.soft_lower, *model.soft_upper] == [-1.0, 1.0]


def limits(model: RobotModel) -> list[float]:
    """Return lower and upper position, effort and velocity limit of the only joint."""
    each = (
        model.position_lower,
        model.position_upper,
        model.effort_limits,
        model.velocity_limits,
    )
    return [float(value) for (value,) in each]


def test_text_forms() -> None:
    """A str with an encoding declaration (as robot_state_publisher sends), bytes, and a byte order mark."""
    declared = '<?xml version="1.0" encoding="utf-8"?>\n' + robot()
    for text in (
        declared,
        declared.encode(),
        robot().encode(),
        declared.encode("utf-8-sig"),
        "\n" + robot(),
    ):
        assert RobotModel.from_urdf(text).n == 1
    latin = '<?xml version="1.0" encoding="iso-8859-1"?><!-- \u00fc -->' + robot()
    assert RobotModel.from_urdf(latin.encode("iso-8859-1")).n == 1
    assert RobotModel.from_urdf(latin).n == 1


def test_content_without_effect_on_the_dynamics_is_silent() -> None:
    extra = """
      <gazebo reference="forearm"><material>Gazebo/Blue</material></gazebo>
      <transmission name="t"><type>SimpleTransmission</type><joint name="nowhere"/></transmission>
      <ros2_control name="c"><joint name="ghost"><state_interface name="effort"/></joint></ros2_control>
      <material name="grey"><color rgba="1 1 1 nan"/></material><sensor name="s"/><mujoco/>
    """
    visual = '<visual><geometry><mesh filename="package://nowhere/a.stl"/></geometry></visual>'
    links = f'<link name="base">{visual}</link><link name="forearm">{INERTIAL}{visual}</link>'
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RobotModel.from_urdf(robot(links=links, extra=extra))
    assert model.n == 1


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (robot(extra='<loop_joint name="l"/>'), ["loop_joint", "robot"]),
        (
            robot(extra='<brand:new xmlns:brand="http://x.org"/>'),
            ["brand:new", "robot"],
        ),
        (
            robot(origin='<origin xyz="0 0 1" rpy_degrees="90 0 0"/>'),
            ["rpy_degrees", "origin", "elbow"],
        ),
        (
            robot(limit=LIMIT + '<dynamics damping="1" armature="1"/>'),
            ["armature", "dynamics", "elbow"],
        ),
        (
            robot(
                links=f'<link name="base"/><link name="forearm" mass="1">{INERTIAL}<weird/></link>'
            ),
            ["mass", "weird"],
        ),
    ],
)
def test_unknown_content_causes_one_warning(text: str, names: list[str]) -> None:
    with pytest.warns(RobotModelWarning, match="unknown") as caught:
        RobotModel.from_urdf(text)
    assert len(caught) == 1 and all(name in str(caught[0].message) for name in names)


def test_documents_that_urdfdom_accepts() -> None:
    """Prefixes without a declaration, a default namespace, and an <axis> without xyz on a fixed joint."""
    plate = joint("weld", "forearm", "plate", "fixed", axis="<axis/>", limit="")
    text = robot(
        extra=f'<gazebo a:b="c"><foo:bar>x</foo:bar></gazebo>{massive("plate")}{plate}'
    )
    text = text.replace("<robot", '<robot xmlns="http://www.ros.org"', 1)
    assert RobotModel.from_urdf(text).link_names == ("base", "forearm", "plate")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            robot(limit='<limit lower="-1" effort="1" velocity="1"/>'),
            ["only one of lower and upper"],
        ),
        (
            robot(limit='<limit lower="0" upper="0.0" effort="1" velocity="1"/>'),
            ["equal"],
        ),
        (
            robot(limit='<limit lower="-180" upper="180" effort="1" velocity="1"/>'),
            ["degrees"],
        ),
        (robot(origin='<origin rpy="90 0 0"/>'), ["degrees"]),
        (
            robot(inertial=inertia().replace("<mass", '<origin rpy="0 0 -90"/><mass')),
            ["degrees"],
        ),
        (robot(inertial=inertia().replace("iyy", "iyv")), ["iyv", "iyy"]),
        (robot(inertial=inertia().replace('ixz="0"', "")), ["ixz"]),
    ],
)
def test_probable_mistakes_cause_warnings(text: str, words: list[str]) -> None:
    with pytest.warns(RobotModelWarning) as caught:
        RobotModel.from_urdf(text)
    for warning, word in zip(caught, words, strict=True):
        assert re.search("elbow|forearm", str(warning.message)) and word in str(
            warning.message
        )


@pytest.mark.parametrize("kind", ["floating", "planar"])
def test_floating_and_planar_joints_are_fixed(kind: str) -> None:
    """Of a base and of a camera, with a warning; --joints refuses them by name."""

    def arm(kind: str) -> str:
        ends = {"stand": ("world", "base"), "mount": ("forearm", "camera")}
        joints = [
            joint(
                name, *links, kind, '<axis xyz="0 0 0"/>', "", '<origin xyz="1 2 3"/>'
            )
            for name, links in ends.items()
        ]
        return robot(
            extra="".join([massive("camera"), '<link name="world"/>', *joints])
        )

    with pytest.warns(RobotModelWarning, match=f"stand .{kind}., mount .{kind}."):
        model = RobotModel.from_urdf(arm(kind))
    fixed = RobotModel.from_urdf(arm("fixed"))
    assert np.array_equal(model._data.parameters, fixed._data.parameters)
    with (
        pytest.warns(RobotModelWarning),
        pytest.raises(RobotModelError, match=f'"mount": it is {kind}'),
    ):
        RobotModel.from_urdf(arm(kind), joints=["elbow", "mount"])


@pytest.mark.parametrize("tilt", [1e-3, 1e-8, 1e-12, 0.0])
def test_axis_near_z_is_exact(tilt: float) -> None:
    """Gravity torque of 1 kg at 1 m along y, about an axis tilted from the vertical to x."""
    text = robot(
        axis=f'<axis xyz="{tilt!r} 0 1"/>',
        inertial=inertia().replace("<mass", '<origin xyz="0 1 0"/><mass'),
    )
    torque = RobotModel.from_urdf(text).gravity_torque([0.0])
    assert torque == pytest.approx(9.81 * np.sin(np.arctan(tilt)), rel=1e-12)


def test_missing_axis_is_x() -> None:
    """The URDF default is 1 0 0: gravity along -z exerts a moment on a mass at +y, but not on one at +x."""
    body = '<inertial><origin xyz="0.5 0.25 0"/><mass value="2"/></inertial>'
    model = RobotModel.from_urdf(robot(axis="", inertial=body))
    assert_close(model.gravity_torque([0.0]), [2.0 * 9.81 * 0.25], 1e-14)


def test_missing_inertia_entries_are_zero() -> None:
    model = RobotModel.from_urdf(
        robot(inertial='<inertial><origin xyz="2 0 0"/><mass value="3"/></inertial>')
    )
    assert_close(model.mass_matrix([0.0]), [[12.0]], 1e-15)


@pytest.mark.parametrize(
    ("soft", "expected"), [((-0.5, 0.7), (-0.5, 0.7)), ((-0.5, 1.1), (-1.0, 1.0))]
)
def test_soft_limits_are_read_where_they_are_inside(soft: Any, expected: Any) -> None:
    safety = f'<safety_controller soft_lower_limit="{soft[0]}" soft_upper_limit="{soft[1]}" k_velocity="10"/>'
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = RobotModel.from_urdf(robot(limit=LIMIT + safety))
    assert_close([*model.soft_lower, *model.soft_upper], expected, 0.0)
    assert_close([*model.position_lower, *model.position_upper], [-1.0, 1.0], 0.0)
    assert ["elbow" in str(warning.message) for warning in caught] == [True] * (
        soft != expected
    )


INF = float("inf")


@pytest.mark.parametrize(
    ("kind", "limit", "expected"),
    [
        ("continuous", "", [-INF, INF, INF, INF]),
        ("continuous", LIMIT, [-INF, INF, 10.0, 2.0]),
        ("revolute", "", [-INF, INF, INF, INF]),
        (
            "revolute",
            '<limit upper="2" effort="1" velocity="1"/>',
            [0.0, 2.0, 1.0, 1.0],
        ),
        (
            "revolute",
            '<limit lower="-1" upper="1" effort="0" velocity="0"/>',
            [-1.0, 1.0, INF, INF],
        ),
        ("revolute", '<limit lower="-1" upper="1" effort="5"/>', [-1.0, 1.0, 5.0, INF]),
        (
            "continuous",
            '<limit lower="-inf" upper="inf" effort="0" velocity="0"/>',
            [-INF, INF, INF, INF],
        ),
        (
            "revolute",
            '<limit lower="-inf" upper="inf" effort="1" velocity="1"/>',
            [-INF, INF, 1.0, 1.0],
        ),
        (
            "revolute",
            '<limit lower="-Infinity" upper="2" effort="inf" velocity="1"/>',
            [-INF, 2.0, INF, 1.0],
        ),
    ],
)
def test_limits_that_are_absent_zero_or_infinite(
    kind: str, limit: str, expected: list[float]
) -> None:
    """A missing bound is 0 by the format. A limit of zero would forbid all torque and means none. One warning each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = RobotModel.from_urdf(robot(joint_type=kind, limit=limit))
    assert limits(model) == expected
    assert ["elbow" in str(warning.message) for warning in caught] == [True] * (
        limit != LIMIT
    )


def test_impossible_inertia_causes_a_warning_or_an_error() -> None:
    """No body has ixx + iyy < izz."""
    text = robot(inertial=inertia(ixx="0.1", iyy="0.1", izz="1"))
    with pytest.warns(RobotModelWarning, match="forearm"):
        RobotModel.from_urdf(text)
    with pytest.raises(RobotModelError, match="forearm"):
        RobotModel.from_urdf(text, strict=True)


NEGATIVE = {"mass": "1e-6", "ixx": "-3.5e-8", "iyy": "1e-7", "izz": "1e-7"}


def test_negative_moment_without_effect_causes_a_warning() -> None:
    """A light antenna on the base or on a heavy link; also the root itself."""
    antenna = f'<link name="antenna">{inertia(**NEGATIVE)}</link>'
    for mast in ("base", "forearm"):
        text = robot(extra=antenna + joint("weld", mast, "antenna", "fixed", limit=""))
        with pytest.warns(RobotModelWarning, match="antenna.*negative") as caught:
            model = RobotModel.from_urdf(text)
        assert len(caught) == 1
        assert_close(
            model.mass_matrix([0.0]), [[1.0 + 1e-7 * (mast == "forearm")]], 1e-15
        )
        with pytest.raises(RobotModelError, match="antenna"):
            RobotModel.from_urdf(text, strict=True)
    with pytest.warns(RobotModelWarning, match="base.*negative"):
        RobotModel.from_urdf(
            robot(
                links=f'<link name="base">{inertia(**NEGATIVE)}</link>{massive("forearm")}'
            )
        )


def test_negative_moment_in_a_body_that_it_spoils_is_refused() -> None:
    """A heavy load on the forearm whose inertia the forearm cannot compensate; a dynamics file can replace it."""
    load = f'<link name="load">{inertia(ixx="-3")}</link>' + joint(
        "weld", "forearm", "load", "fixed", limit=""
    )
    with pytest.raises(RobotModelError, match="load.*negative principal moment -3"):
        RobotModel.from_urdf(robot(extra=load))


def test_inertias_on_the_boundary_are_possible() -> None:
    """Thin rods to six digits, no mass, and rounding errors with negative eigenvalues, as in the iCub's URDF."""
    rod = repr(2.3 * 0.7**2 / 12)
    entries = [
        {"ixx": "0", "iyy": rod, "izz": rod},
        {"ixx": "0", "iyy": "1000", "izz": "1000.0015"},
        {"mass": "0"},
    ]
    entries += [
        {"ixx": "0", "iyy": "0", "izz": "0", "ixz": dust}
        for dust in ("2.40741e-35", "1.35525e-20")
    ]
    for values in entries:
        hand = f'<link name="hand">{inertia(**values)}</link>' + joint(
            "weld", "forearm", "hand", "fixed", limit=""
        )
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            RobotModel.from_urdf(robot(extra=hand), strict=True)


def test_point_mass_on_its_axis() -> None:
    """The link has mass, but no inertia about the joint's axis at any configuration."""
    point = inertia(ixx="0", iyy="0", izz="0").replace(
        "<mass", '<origin xyz="0.3 0 0.4"/><mass'
    )
    roll = joint(
        "roll",
        "forearm",
        "hand",
        axis='<axis xyz="0.6 0 0.8"/>',
        origin='<origin rpy="1 2 3" xyz="1 2 3"/>',
    )
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
    """A point mass above a pan and tilt joint has inertia about the pan axis only if it is tilted."""
    tilt = joint("tilt", "forearm", "head", axis='<axis xyz="0 1 0"/>')
    point = inertia(ixx="0", iyy="0", izz="0").replace(
        "<mass", '<origin xyz="0 0 1"/><mass'
    )
    with pytest.warns(
        RobotModelWarning, match=r"\['elbow'\] have no mass of their own"
    ):
        model = RobotModel.from_urdf(
            robot(inertial="", extra=f'<link name="head">{point}</link>{tilt}')
        )
    model.require_mass()
    model.warm_up()


def test_order_is_depth_first_in_document_order() -> None:
    """Children are in document order; a joint can precede the joint of its parent."""
    edges = [
        ("tip", "z", "z_tip"),
        ("z", "base", "z"),
        ("b", "z", "b"),
        ("a", "base", "a"),
        ("c", "a", "c"),
    ]
    links = "".join(massive(name) for name in ("z_tip", "a", "z", "base", "b", "c"))
    model = RobotModel.from_urdf(
        robot(links=links, joints="".join(joint(*edge) for edge in edges))
    )
    assert list(model.joint_names) == ["z", "tip", "b", "a", "c"]


def test_mimic_inside_a_fixed_joint_does_not_matter() -> None:
    """The <mimic> of a fixed joint has no effect."""
    weld = '<joint name="weld" type="fixed">'
    text = follower('joint="elbow"').replace(weld, weld + '<mimic joint="ghost"/>')
    assert RobotModel.from_urdf(text).n == 1


def test_gravity_that_is_not_finite_is_refused() -> None:
    with pytest.raises(RobotModelError, match="gravity"):
        RobotModel.from_urdf(robot(), gravity=[0, 0, np.nan])
