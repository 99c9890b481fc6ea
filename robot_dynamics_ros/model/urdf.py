"""URDF parser: a strict reading of links, inertials and joints.

The document is first reduced to the elements that dynamics need, and each value is checked. urdf_parser_py reads the
result: it fails on some visuals, transmissions and vendor tags, and it accepts texts such as nan and 1_000 as numbers.
``text`` is a URDF document, ``source`` the name of its file, with which messages begin.
"""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

import numpy as np
from urdf_parser_py.urdf import URDF

from robot_dynamics_ros.errors import RobotModelError, RobotModelWarning
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model.inertia import Inertial, check_inertia, symmetric, unit_vector
from robot_dynamics_ros.model.inertia_errors import explain_inertia

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")

# tag -> (attribute -> count of numbers, 0 for text), (child tags)
_GRAMMAR: dict[str, tuple[dict[str, int], tuple[str, ...]]] = {
    "robot": ({"name": 0}, ("link", "joint")),
    "link": ({"name": 0}, ("inertial",)),
    "inertial": ({}, ("origin", "mass", "inertia")),
    "origin": ({"xyz": 3, "rpy": 3}, ()),
    "mass": ({"value": 1}, ()),
    "inertia": ({key: 1 for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")}, ()),
    "joint": (
        {"name": 0, "type": 0},
        ("origin", "axis", "parent", "child", "limit", "dynamics", "mimic", "safety_controller"),
    ),
    "axis": ({"xyz": 3}, ()),
    "parent": ({"link": 0}, ()),
    "child": ({"link": 0}, ()),
    "limit": ({"lower": 1, "upper": 1, "effort": 1, "velocity": 1}, ()),
    "dynamics": ({"damping": 1, "friction": 1}, ()),
    "safety_controller": ({"soft_lower_limit": 1, "soft_upper_limit": 1}, ()),
    "mimic": ({"joint": 0, "multiplier": 1, "offset": 1}, ()),
}
_REQUIRED = {
    "robot": ("name",),
    "link": ("name",),
    "joint": ("name", "type"),
    "mass": ("value",),
    "axis": ("xyz",),
    "parent": ("link",),
    "child": ("link",),
    "mimic": ("joint",),
}
_REQUIRED_CHILDREN = {"joint": ("parent", "child"), "inertial": ("mass",)}
_REPEATED = ("link", "joint")


def reduce_urdf(text: str | bytes, source: str) -> ElementTree.Element:
    """Parse a URDF and return a new <robot> element with links, inertials and joints only.

    Raises
    ------
    RobotModelError
        For malformed XML, a document type, a root element other than <robot>, unexpanded xacro, and values that are
        not plain numbers. The message has ``source``, the element and the cure.
    """
    root = parse_xml(text, source)
    if root.tag != "robot":
        raise RobotModelError(f"{source}: root element is <{root.tag}>, not <robot>. Cure: pass a URDF")
    return _reduced(root, source, "<robot>")


def parse_xml(text: str | bytes, source: str) -> ElementTree.Element:
    """Return the root element of the XML document ``text``, including comments.

    Namespaces are not resolved, as in urdfdom: a prefix needs no declaration, and xmlns is an ordinary attribute.
    Raises RobotModelError for malformed XML and for a document type.
    """
    if not isinstance(text, (str, bytes)):
        raise RobotModelError(f"{source}: {type(text).__name__} is not text. Cure: pass the URDF as str or bytes")

    def refuse(name: str, *_: object) -> None:  # entities can read files and exhaust memory
        raise RobotModelError(
            f"{source}: <!DOCTYPE {name}>: document types and entities are not allowed. Cure: remove it"
        )

    builder = ElementTree.TreeBuilder(insert_comments=True)
    parser = expat.ParserCreate()
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.CommentHandler = builder.comment
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(text.lstrip(), True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise RobotModelError(f"{source}: not well-formed XML: {error}. Cure: check it with xmllint") from None
    return builder.close()


def _reduced(element: ElementTree.Element, source: str, where: str) -> ElementTree.Element:
    attributes, children = _GRAMMAR[element.tag]
    result = ElementTree.Element(element.tag)
    for name, count in attributes.items():
        value = element.get(name)
        if value is None:
            if name in _REQUIRED.get(element.tag, ()):
                raise RobotModelError(f"{source}: {where}: attribute {name!r} is missing. Cure: add it")
            continue
        if "${" in value or "$(" in value:
            raise RobotModelError(
                f'{source}: {where}: {name}="{value}" is unexpanded xacro. Cure: expand the file with xacro'
            )
        if count == 0 and not value.strip():
            raise RobotModelError(f"{source}: {where}: attribute {name!r} is empty. Cure: set its value")
        if count > 0:
            check_numbers(value, count, source, f'{where}: {name}="{value}"')
        result.set(name, value)
    seen: set[str] = set()
    for child in element:
        tag = child.tag if isinstance(child.tag, str) else ""
        if "xacro" in tag:
            raise RobotModelError(f"{source}: {where}: element {tag} is xacro. Cure: expand the file with xacro")
        if tag not in children or (tag == "axis" and element.get("type") == "fixed"):
            continue
        if tag in seen and tag not in _REPEATED:
            raise RobotModelError(f"{source}: {where}: <{tag}> is defined twice. Cure: remove one")
        seen.add(tag)
        inner = f'{tag} "{child.get("name")}"' if tag in _REPEATED else f"{where} <{tag}>"
        result.append(_reduced(child, source, inner))
    for tag in _REQUIRED_CHILDREN.get(element.tag, ()):
        if tag not in seen:
            raise RobotModelError(f"{source}: {where}: <{tag}> is missing. Cure: add it")
    return result


def check_numbers(value: str, count: int, source: str, where: str) -> None:
    """Raise RobotModelError if the attribute text ``value`` is not ``count`` finite numbers, separated by spaces.

    The message begins with ``source`` and ``where``, which is element and attribute.
    """
    words = value.split()
    if len(words) != count:
        raise RobotModelError(f"{source}: {where}: {len(words)} numbers instead of {count}. Cure: write {count}")
    for word in words:
        if not _NUMBER.fullmatch(word) or not math.isfinite(float(word)):
            raise RobotModelError(f"{source}: {where}: {word!r} is not a finite number. Cure: write a number")


MOVABLE = ("revolute", "continuous", "prismatic")
_INERTIA = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


@dataclass(frozen=True)
class Mimic:
    """Position of a mimic joint: multiplier * position of ``joint`` + offset, with the offset in rad or m."""

    joint: str
    multiplier: float
    offset: float


@dataclass(frozen=True)
class Joint:
    """Joint of a URDF.

    ``kind`` is "fixed", "revolute", "continuous" or "prismatic". ``rotation`` (3, 3), ``position`` (3,), m, and the
    unit vector ``axis`` (3,) give the joint's frame in the parent link's frame; ``axis`` is in the axes of the joint's
    frame. Limits, in rad or m, rad/s or m/s, and Nm or N, are infinite if there is none; soft limits then equal the
    position limits. ``damping`` is in N m s/rad or N s/m, ``friction`` in Nm or N.
    """

    name: str
    kind: str
    parent: str
    child: str
    rotation: Array
    position: Array
    axis: Array
    lower: float
    upper: float
    soft_lower: float
    soft_upper: float
    effort: float
    velocity: float
    damping: float
    friction: float
    mimic: Mimic | None


@dataclass(frozen=True)
class Description:
    """Checked URDF.

    Attributes
    ----------
    source
        Name of the file in messages.
    name
        Name of the robot.
    root
        Name of the root link.
    links
        Mass properties of all links by name, zero without <inertial>.
    joints
        All joints in depth-first order, children in document order.
    """

    source: str
    name: str
    root: str
    links: dict[str, Inertial]
    joints: tuple[Joint, ...]


def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """Return the rotation (3, 3) of URDF angles (rad): roll about fixed x, pitch about fixed y, yaw about fixed z."""
    cr, sr, cp, sp, cy, sy = (f(a) for a in (roll, pitch, yaw) for f in (math.cos, math.sin))
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def parse_urdf(text: str | bytes, source: str, *, strict: bool = False) -> Description:
    """Parse and check a URDF.

    Parameters
    ----------
    text
        The URDF document.
    source
        Name of the file for messages.
    strict
        True to raise an error instead of a warning for an inertia that no body can have.

    Raises
    ------
    RobotModelError
        For a document that is not a valid URDF. The message has file, element and cure. Valid but probably
        unintended content is a RobotModelWarning.
    """
    root_element = reduce_urdf(text, source)
    _warn_of_missing_values(root_element, source)
    for joint in root_element.iter("joint"):
        if joint.get("type") not in (*MOVABLE, "fixed"):
            raise RobotModelError(
                f'{source}: joint "{joint.get("name")}": type {joint.get("type")!r} is not supported. '
                f"Cure: use {', '.join(MOVABLE)} or fixed"
            )
    robot = _read(root_element, source)
    _refuse_duplicates(robot.links, "link", source)
    _refuse_duplicates(robot.joints, "joint", source)
    if not robot.links:
        raise RobotModelError(f"{source}: robot {robot.name!r} has no link. Cure: add at least one <link>")
    links = {link.name: _inertial(link, root_element, source) for link in robot.links}
    joints = [_joint(joint, links, source) for joint in robot.joints]
    _check_mimics({joint.name: joint for joint in joints}, source)
    root, ordered = _walk(links, joints, source)
    _warn(links, ordered, root_element, source, strict)
    return Description(source, robot.name, root, links, tuple(ordered))


def _read(root: ElementTree.Element, source: str) -> Any:
    for limit in root.iter("limit"):  # urdf_parser_py requires attributes that many files omit
        for name in ("effort", "velocity"):
            limit.set(name, limit.get(name, "0"))
        if limit.get("lower") is None and limit.get("upper") is None:
            limit.set("lower", "-inf")
            limit.set("upper", "inf")
    for safety in root.iter("safety_controller"):
        safety.set("k_velocity", "0")  # required, and not used here
    for inertia in root.iter("inertia"):
        for name in _INERTIA:
            inertia.set(name, inertia.get(name, "0"))
    try:
        return URDF.from_xml_string(ElementTree.tostring(root))
    except Exception as error:  # the parser raises Exception, AssertionError, ParseError and errors of lxml
        raise RobotModelError(
            f"{source}: {' '.join(str(error).split())}. Cure: correct the URDF (see wiki.ros.org/urdf/XML)"
        ) from error


def _refuse_duplicates(elements: list[Any], kind: str, source: str) -> None:
    seen: set[str] = set()
    for element in elements:
        if element.name in seen:
            raise RobotModelError(f'{source}: {kind} "{element.name}": the name is used twice. Cure: rename one')
        seen.add(element.name)


def _origin(element: Any) -> tuple[Array, Array]:
    origin = element.origin
    if origin is None:
        return np.eye(3), np.zeros(3)
    return rotation_from_rpy(*(origin.rpy or (0.0, 0.0, 0.0))), np.array(origin.xyz or (0.0, 0.0, 0.0))


def _inertial(link: Any, root: ElementTree.Element, source: str) -> Inertial:
    if link.inertial is None:
        return Inertial(0.0, np.zeros(3), np.zeros((3, 3)))
    where = f'{source}: link "{link.name}" <inertial>'
    mass = float(link.inertial.mass)
    if mass < 0.0:
        raise RobotModelError(f"{where}: mass {mass} is negative. Cure: set a mass of at least 0 kg")
    rotation, com = _origin(link.inertial)
    inertia = np.zeros((3, 3))
    if link.inertial.inertia is not None:
        i = link.inertial.inertia
        inertia = symmetric(i.ixx, i.ixy, i.ixz, i.iyy, i.iyz, i.izz)
    error = check_inertia(inertia)
    if error is not None and error.startswith("negative"):
        error += explain_inertia(root, link.name)
        raise RobotModelError(f"{where}: inertia has a {error}. Cure: correct the inertia (kg m^2)")
    return Inertial(mass, com, rotation @ inertia @ rotation.T)


def _joint(joint: Any, links: dict[str, Inertial], source: str) -> Joint:
    where = f'{source}: joint "{joint.name}"'
    for role, link in (("parent", joint.parent), ("child", joint.child)):
        if link not in links:
            raise RobotModelError(f"{where}: {role} link {link!r} does not exist. Cure: define it or correct the name")
    axis = np.array(joint.axis if joint.axis is not None else (1.0, 0.0, 0.0))
    if joint.type != "fixed":
        axis = unit_vector(axis, f"{where}: axis")
    lower, upper, effort, velocity = -math.inf, math.inf, math.inf, math.inf
    if joint.limit is not None:
        effort = joint.limit.effort or math.inf
        velocity = joint.limit.velocity or math.inf
        if joint.type != "continuous":
            lower, upper = joint.limit.lower, joint.limit.upper
    if lower > upper:
        raise RobotModelError(f"{where}: lower limit {lower} is above the upper {upper}. Cure: swap or correct them")
    if effort < 0.0 or velocity < 0.0:
        raise RobotModelError(f"{where}: an effort or velocity limit is negative. Cure: set its magnitude")
    damping = float((joint.dynamics and joint.dynamics.damping) or 0.0)
    friction = float((joint.dynamics and joint.dynamics.friction) or 0.0)
    if damping < 0.0 or friction < 0.0:
        raise RobotModelError(f"{where} <dynamics>: damping or friction is negative. Cure: set values of at least 0")
    rotation, position = _origin(joint)
    mimic = None
    if joint.mimic is not None and joint.type != "fixed":  # the <mimic> of a fixed joint has no effect
        multiplier, offset = joint.mimic.multiplier, joint.mimic.offset
        mimic = Mimic(joint.mimic.joint, 1.0 if multiplier is None else multiplier, offset or 0.0)
    return Joint(
        joint.name,
        joint.type,
        joint.parent,
        joint.child,
        rotation,
        position,
        axis,
        lower,
        upper,
        *_soft_limits(joint, lower, upper, where),
        effort,
        velocity,
        damping,
        friction,
        mimic,
    )


def _soft_limits(joint: Any, lower: float, upper: float, where: str) -> tuple[float, float]:
    """Return the limits of <safety_controller> if they are within the position limits; both 0 means none."""
    safety = joint.safety_controller
    soft = (0.0, 0.0) if safety is None else (safety.soft_lower_limit, safety.soft_upper_limit)
    if joint.type not in ("revolute", "prismatic") or soft == (0.0, 0.0):
        return lower, upper
    if lower <= soft[0] < soft[1] <= upper:
        return soft
    warnings.warn(
        f"{where} <safety_controller>: soft limits {soft[0]:g} to {soft[1]:g} are not within the limits {lower:g} to "
        f"{upper:g} and are ignored. Cure: set soft limits within the limits",
        RobotModelWarning,
        stacklevel=6,
    )
    return lower, upper


def _check_mimics(joints: dict[str, Joint], source: str) -> None:
    for joint in joints.values():
        followed = joint if joint.mimic is None else joints.get(joint.mimic.joint)
        if joint.mimic is not None and (followed is None or followed.kind not in MOVABLE):
            error = "does not exist" if followed is None else "is fixed"
            raise RobotModelError(
                f'{source}: joint "{joint.name}" <mimic>: joint "{joint.mimic.joint}" {error}. '
                "Cure: name a movable joint, or remove the <mimic>"
            )
    resolved: set[str] = set()
    for joint in joints.values():
        chain: dict[str, None] = {}  # a set that keeps the order
        while joint.mimic is not None and joint.name not in resolved:
            if joint.name in chain:
                cycle = list(chain)[list(chain).index(joint.name) :]
                raise RobotModelError(
                    f'{source}: joint "{joint.name}" <mimic>: joints {cycle} follow each other in a cycle. '
                    "Cure: remove one <mimic>"
                )
            chain[joint.name] = None
            joint = joints[joint.mimic.joint]
        resolved.update(chain)


def _walk(links: dict[str, Inertial], joints: list[Joint], source: str) -> tuple[str, list[Joint]]:
    """Return the root link and the joints in depth-first order; RobotModelError if the links do not form a tree."""
    moved_by: dict[str, Joint] = {}
    children: dict[str, list[Joint]] = {name: [] for name in links}
    for joint in joints:
        if joint.child in moved_by:
            raise RobotModelError(
                f'{source}: link "{joint.child}" has two parents (joints "{moved_by[joint.child].name}" and '
                f'"{joint.name}"). Cure: a URDF is a tree; remove one joint'
            )
        moved_by[joint.child] = joint
        children[joint.parent].append(joint)
    roots = [name for name in links if name not in moved_by]
    if len(roots) > 1:
        raise RobotModelError(f"{source}: links {roots} have no parent. Cure: connect all but one of them by joints")
    if not roots:
        raise RobotModelError(f"{source}: every link has a parent: the joints form a cycle. Cure: remove one joint")
    ordered: list[Joint] = []
    stack = list(reversed(children[roots[0]]))
    while stack:
        joint = stack.pop()
        ordered.append(joint)
        stack.extend(reversed(children[joint.child]))
    if len(ordered) < len(joints):
        lost = sorted({joint.name for joint in joints} - {joint.name for joint in ordered})
        raise RobotModelError(f"{source}: joints {lost} form a cycle apart from the root. Cure: remove one of them")
    return roots[0], ordered


def _warn_of_missing_values(root: ElementTree.Element, source: str) -> None:
    """Warn of missing values that are read as 0, and of joints whose limits are equal."""
    limits = {
        joint.get("name"): [limit.get("lower"), limit.get("upper")]
        for joint in root.iter("joint")
        if joint.get("type") in ("revolute", "prismatic")
        for limit in joint.iter("limit")
    }
    single = [name for name, pair in limits.items() if pair.count(None) == 1]
    equal = [name for name, (low, high) in limits.items() if low and high and float(low) == float(high)]
    incomplete = [
        link.get("name") for link in root.iter("link") for i in link.iter("inertia") if len(i.attrib) < len(_INERTIA)
    ]
    for names, error, cure in (
        (single, "only one of lower and upper is set, the other is 0", "set both in <limit>"),
        (
            equal,
            "lower and upper limit are equal: the joint cannot move",
            "correct <limit>, or make the joint fixed",
        ),
        (incomplete, f"<inertia> lacks some of {' '.join(_INERTIA)}, which are 0", "complete <inertia>"),
    ):
        if names:
            warnings.warn(
                f"{source}: {', '.join(map(str, names))}: {error}. Cure: {cure}", RobotModelWarning, stacklevel=5
            )


def _warn(
    links: dict[str, Inertial], joints: list[Joint], root: ElementTree.Element, source: str, strict: bool
) -> None:
    movable = [joint for joint in joints if joint.kind in MOVABLE]
    unlimited = [j.name for j in movable if j.kind != "continuous" and not math.isfinite(j.upper)]
    weak = [j.name for j in movable if not (math.isfinite(j.effort) and math.isfinite(j.velocity))]
    missing = [
        f"{', '.join(names)}: no {quantity} limit"
        for names, quantity in ((unlimited, "position"), (weak, "effort or velocity"))
        if names
    ]
    if missing:
        warnings.warn(
            f"{source}: {'; '.join(missing)} (absent or 0): none is applied. Cure: set it in <limit>",
            RobotModelWarning,
            stacklevel=5,
        )
    for joint in joints:
        error = check_inertia(links[joint.child].inertia)
        if error is not None:
            error += f": no body can have this inertia{explain_inertia(root, joint.child)}"
            message = f'{source}: link "{joint.child}" <inertial>: {error}'
            if strict:
                raise RobotModelError(f"{message}. Cure: correct it, or load with strict=False")
            cure = "Cure: correct it, or define the link in a dynamics file"
            warnings.warn(f"{message}. {cure}", RobotModelWarning, stacklevel=5)
