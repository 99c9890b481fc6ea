"""Inertials from collision shapes: added, unchanged and rejected links."""

import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel, RobotModelError
from robot_dynamics_ros.textbooks.mass_properties import with_collision_inertials
from support.comparing import assert_close

LIMIT = '<limit lower="-1" upper="1" effort="10" velocity="2"/>'
pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")
BOX = '<box size="0.2 0.4 0.6"/>'


def collision(shape: str, origin: str = "") -> str:
    return f"<collision>{origin}<geometry>{shape}</geometry></collision>"


def robot(forearm: str, base: str = "", extra: str = "") -> str:
    """Return a base and a forearm that rotates about z."""
    return (
        f'<robot name="r"><link name="base">{base}</link><link name="forearm">{forearm}</link>'
        f'<joint name="elbow" type="revolute"><parent link="base"/><child link="forearm"/><axis xyz="0 0 1"/>{LIMIT}'
        f"</joint>{extra}</robot>"
    )


def parameters(text: str) -> dict[str, float]:
    """Return the forearm's ten parameters by name."""
    model = RobotModel.from_urdf(text, strict=True)
    return dict(
        zip(model.parameter_names, model.inertial_parameters.tolist(), strict=True)
    )


def tensor(actual: dict[str, float]) -> np.ndarray:
    xx, xy, xz, yy, yz, zz = (
        actual[f"forearm.{name}"] for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    )
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def test_box_in_its_own_place() -> None:
    """Tsai (9.12) and (9.9): 0.2 x 0.4 x 0.6 m at 1000 kg/m^3, its centre 0.3 m along z."""
    actual = parameters(
        with_collision_inertials(robot(collision(BOX, '<origin xyz="0 0 0.3"/>')), 1000)
    )
    assert actual["forearm.mass"] == pytest.approx(48.0, rel=1e-14)
    assert_close(
        [actual[f"forearm.mc{axis}"] for axis in "xyz"], [0.0, 0.0, 48.0 * 0.3], 1e-14
    )
    m = 48.0
    about_com = m / 12 * np.array([0.4**2 + 0.6**2, 0.6**2 + 0.2**2, 0.2**2 + 0.4**2])
    assert_close(tensor(actual), np.diag(about_com + [m * 0.09, m * 0.09, 0.0]), 1e-14)


def test_cylinder_and_sphere() -> None:
    """A cylinder is along the z axis of its <origin>, here rotated to y; Tsai (9.8)."""
    density = 2700.0
    r = 0.1
    h = 0.5
    turned = collision(
        f'<cylinder radius="{r}" length="{h}"/>',
        '<origin rpy="1.5707963267948966 0 0"/>',
    )
    actual = parameters(with_collision_inertials(robot(turned), density))
    m = density * math.pi * r**2 * h
    across = m * (3 * r**2 + h**2) / 12
    assert_close(tensor(actual), np.diag([across, m * r**2 / 2, across]), 1e-14)
    actual = parameters(
        with_collision_inertials(robot(collision(f'<sphere radius="{r}"/>')), density)
    )
    m = density * 4 / 3 * math.pi * r**3
    assert actual["forearm.mass"] == pytest.approx(m, rel=1e-14)
    assert_close(tensor(actual), np.eye(3) * 0.4 * m * r**2, 1e-14)


def test_shapes_add_up() -> None:
    """Two parts of a rotated box equal the box: products of inertia and the order of rotations matter."""
    rpy = np.array([0.3, -0.7, 1.1])
    centre = np.array([0.1, -0.2, 0.3])
    (cr, cp, cy) = np.cos(rpy)
    (sr, sp, sy) = np.sin(rpy)
    # The turned box's y axis, Craig (2.64).
    along_y = np.array([cy * sp * sr - sy * cr, sy * sp * sr + cy * cr, cp * sr])

    def origin(at: np.ndarray) -> str:
        return (
            f'<origin xyz="{" ".join(map(str, at))}" rpy="{" ".join(map(str, rpy))}"/>'
        )

    whole = robot(collision(BOX, origin(centre)))
    parts = robot(
        collision('<box size="0.2 0.3 0.6"/>', origin(centre - 0.05 * along_y))
        + collision('<box size="0.2 0.1 0.6"/>', origin(centre + 0.15 * along_y))
    )
    first, second = (
        parameters(with_collision_inertials(text, 800.0)) for text in (whole, parts)
    )
    assert abs(first["forearm.ixy"]) > 0.1
    assert_close(list(second.values()), list(first.values()), 1e-13)


def test_other_elements_are_unchanged() -> None:
    """Links with an inertial, frames without shapes, links that never move, other elements, and comments."""
    inertial = '<inertial><mass value="3"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    tool = '<link name="tool"/><joint name="weld" type="fixed"><parent link="forearm"/><child link="tool"/></joint>'
    stand = (
        f'<link name="stand">{collision(BOX)}</link>'
        '<joint name="bolts" type="fixed"><parent link="base"/><child link="stand"/></joint>'
    )
    rest = '<!-- by hand --><gazebo reference="tool"><selfCollide>true</selfCollide></gazebo>'
    mesh = collision('<mesh filename="package://a/b.stl"/>')
    text = robot(inertial + mesh, mesh, tool + stand + rest)
    result = with_collision_inertials(text, 1000.0)
    assert ElementTree.canonicalize(
        result, with_comments=True
    ) == ElementTree.canonicalize(text, with_comments=True)


def test_carried_links_behind_fixed_joints_count() -> None:
    """A hand fixed to the forearm moves with it; bytes can have an encoding declaration."""
    hand = f'<link name="hand">{collision(BOX)}</link>'
    weld = '<joint name="w" type="fixed"><parent link="forearm"/><child link="hand"/><origin xyz="0 0 1"/></joint>'
    text = '<?xml version="1.0" encoding="utf-8"?>' + robot(
        collision(BOX), extra=hand + weld
    )
    actual = parameters(with_collision_inertials(text.encode(), 1000.0))
    assert actual["forearm.mass"] == pytest.approx(96.0, rel=1e-14)
    assert actual["forearm.mcz"] == pytest.approx(48.0, rel=1e-14)


def test_meshes_are_named() -> None:
    """All links with meshes are in the message, also if only a part of a link is a mesh."""
    mesh = collision('<mesh filename="package://a/b.stl"/>')
    hand = f'<link name="hand">{collision("")}</link>'
    joint = f'<joint name="w" type="revolute"><parent link="forearm"/><child link="hand"/>{LIMIT}</joint>'
    with pytest.raises(RobotModelError, match=r'"forearm" \(mesh\), "hand" \(none\)'):
        with_collision_inertials(
            robot(collision(BOX) + mesh, extra=hand + joint), 1000.0
        )


@pytest.mark.parametrize("density", [0, math.inf, True, "1000"])
def test_density_is_a_number(density: object) -> None:
    with pytest.raises(RobotModelError, match=f"density is {re.escape(repr(density))}"):
        with_collision_inertials(robot(collision(BOX)), density)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "culprit"),
    [
        ("<robot", "XML"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><robot name="r"/>', "entities"),
        ("<sdf/>", "<sdf>"),
        (robot(collision('<box size="0.2 0.4"/>')), 'size="0.2 0.4"'),
        (robot(collision('<box size="1 2 nan"/>')), "'nan'"),
        (
            robot(collision('<box size="0.2 0 0.4"/>')),
            'link "forearm" <collision> 1 <box>',
        ),
        (robot(collision('<sphere radius="1e200"/>')), "inf kg"),
        (robot(collision('<cylinder radius="1"/>')), "'length'"),
        (robot(collision('<sphere radius="${r}"/>')), "xacro"),
        (
            robot(collision(BOX) + collision(BOX, '<origin xyz="0 0"/>')),
            "<collision> 2 <origin>: xyz=",
        ),
    ],
)
def test_malformed(text: str, culprit: str) -> None:
    with pytest.raises(RobotModelError, match=re.escape(culprit)):
        with_collision_inertials(text, 1000.0)
