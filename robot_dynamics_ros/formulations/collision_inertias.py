"""Inertials for links of a URDF that have none, from their simple collision shapes, where somebody asks for them."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import numpy as np

from robot_dynamics_ros.errors import RobotModelError
from robot_dynamics_ros.formulations.mass_properties import box_inertia, cylinder_inertia, sphere_inertia
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model.inertia import Inertial, InertiaSum, steiner
from robot_dynamics_ros.model.urdf import rotation_from_rpy
from robot_dynamics_ros.model.urdf_xml import check_numbers, parse_xml, reduce_urdf

_SOURCE = "URDF"
_SIZES = {"box": {"size": 3}, "cylinder": {"radius": 1, "length": 1}, "sphere": {"radius": 1}}


def with_collision_inertials(urdf: str | bytes, density: float) -> str:
    """Return a URDF's text with an <inertial> in each link that has none but collision shapes.

    The shapes count as solid and homogeneous, ``density`` kg/m^3 each; where they overlap the mass counts twice.
    Links with an <inertial> stay as they are, and so do links without collision shapes and those that never move, the
    root among them. Nothing calls this unasked: a guess of masses is the caller's to make. Comments outside <robot>
    are dropped.

    Raises
    ------
    RobotModelError
        For text that is no URDF, as ``RobotModel.from_urdf``; a density that is no number above 0; a shape whose size
        is missing, no number or not above 0; and, naming all such links, for links whose mass would be that of a mesh
        or another shape that is no box, cylinder or sphere.
    """
    if isinstance(density, bool) or not isinstance(density, (int, float, np.number)) or not 0.0 < density < math.inf:
        raise RobotModelError(f"density is {density!r}. Cure: give kg/m^3, a finite number above 0")
    # Refuses what is malformed or harmful; what it returns has no shapes.
    still = _still_links(reduce_urdf(urdf, _SOURCE))
    robot = parse_xml(urdf, _SOURCE)
    shapeless = []
    for link in robot.findall("link"):
        collisions = link.findall("collision")
        if link.find("inertial") is not None or not collisions or link.get("name") in still:
            continue
        shapes = [_shape(collision) for collision in collisions]
        solids = [shape for shape in shapes if shape is not None and shape.tag in _SIZES]
        if len(solids) < len(shapes):
            kinds = sorted({"none" if shape is None else shape.tag for shape in shapes} - set(_SIZES))
            shapeless.append(f'"{link.get("name")}" ({", ".join(kinds)})')
            continue
        total = InertiaSum.zero()
        for number, (collision, solid) in enumerate(zip(collisions, solids, strict=True), start=1):
            where = f'link "{link.get("name")}" <collision> {number}'
            total.add(_solid(solid, float(density), where), *_placement(collision, where))
        link.insert(0, _inertial_element(total))
    if shapeless:
        raise RobotModelError(
            f"{_SOURCE}: links {', '.join(shapeless)}: no <inertial>, and collision geometry whose mass is not known "
            "(no mesh is opened). Cure: give them an <inertial>, or box, cylinder or sphere as collision geometry"
        )
    return ElementTree.tostring(robot, encoding="unicode")


def _still_links(robot: ElementTree.Element) -> set[str | None]:
    """Names of the links that no joint moves: the root, and what fixed joints tie to it."""
    moved = {}
    for joint in robot.iter("joint"):
        parent, child = joint.find("parent"), joint.find("child")
        if parent is not None and child is not None:
            moved[child.get("link")] = (parent.get("link"), joint.get("type"))
    still: set[str | None] = set()
    for link in robot.iter("link"):
        chain, name = set(), link.get("name")
        while name in moved and name not in chain and moved[name][1] == "fixed":
            chain.add(name)
            name = moved[name][0]
        if name not in moved:
            still.add(link.get("name"))
    return still


def _shape(collision: ElementTree.Element) -> ElementTree.Element | None:
    """The shape of a <collision>: the only element in its <geometry>."""
    shapes = [shape for shape in collision.findall("geometry/*") if isinstance(shape.tag, str)]
    return shapes[0] if len(shapes) == 1 else None


def _solid(shape: ElementTree.Element, density: float, where: str) -> Inertial:
    """Mass and inertia of a shape in its own frame; cylinders stand along z."""
    where = f"{where} <{shape.tag}>"
    sizes = [_numbers(shape, name, count, where) for name, count in _SIZES[shape.tag].items()]
    if min(value for values in sizes for value in values) <= 0.0:
        raise RobotModelError(f"{_SOURCE}: {where}: a size is not above 0. Cure: give lengths in m")
    if shape.tag == "box":
        mass = density * math.prod(sizes[0])
    elif shape.tag == "cylinder":
        (radius,), (length,) = sizes
        mass = density * math.pi * radius * radius * length
    else:
        ((radius,),) = sizes
        mass = density * 4.0 / 3.0 * math.pi * radius * radius * radius
    if not 0.0 < mass < math.inf:
        raise RobotModelError(f"{_SOURCE}: {where}: its mass is {mass} kg. Cure: give lengths in m, density in kg/m^3")
    if shape.tag == "box":
        return Inertial(mass, np.zeros(3), box_inertia(mass, sizes[0]))
    if shape.tag == "cylinder":
        return Inertial(mass, np.zeros(3), cylinder_inertia(mass, radius, length))
    return Inertial(mass, np.zeros(3), sphere_inertia(mass, radius))


def _placement(collision: ElementTree.Element, where: str) -> tuple[Array, Array]:
    """Rotation (3, 3) and position (3,) of a <collision>'s shape in the link's frame."""
    origin = collision.find("origin")
    if origin is None:
        return np.eye(3), np.zeros(3)
    where = f"{where} <origin>"
    rpy = _numbers(origin, "rpy", 3, where) if "rpy" in origin.attrib else [0.0, 0.0, 0.0]
    xyz = _numbers(origin, "xyz", 3, where) if "xyz" in origin.attrib else [0.0, 0.0, 0.0]
    return rotation_from_rpy(*rpy), np.array(xyz)


def _numbers(element: ElementTree.Element, name: str, count: int, where: str) -> list[float]:
    value = element.get(name)
    if value is None:
        raise RobotModelError(f"{_SOURCE}: {where}: attribute {name!r} is missing. Cure: add it")
    if "${" in value or "$(" in value:
        raise RobotModelError(
            f'{_SOURCE}: {where}: {name}="{value}" is a left-over of xacro. Cure: expand the file with xacro first'
        )
    check_numbers(value, count, _SOURCE, f'{where}: {name}="{value}"')
    return [float(word) for word in value.split()]


def _inertial_element(total: InertiaSum) -> ElementTree.Element:
    """The <inertial> of a sum about the link's origin, with its inertia at the centre of mass in the link's axes."""
    com = total.moment / total.mass
    inertia = total.inertia - steiner(total.mass, com)
    element = ElementTree.Element("inertial")
    ElementTree.SubElement(element, "origin", xyz=" ".join(repr(x) for x in com.tolist()), rpy="0 0 0")
    ElementTree.SubElement(element, "mass", value=repr(total.mass))
    entries = zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), inertia[np.triu_indices(3)].tolist(), strict=True)
    ElementTree.SubElement(element, "inertia", {name: repr(value) for name, value in entries})
    return element
