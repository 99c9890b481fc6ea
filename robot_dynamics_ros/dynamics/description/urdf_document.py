"""URDF documents: XML, format versions, and a strict reading of the elements that dynamics and shapes need.

Versions are those of urdfdom 6: 1.1 added ``quat_xyzw`` and capsules, 1.2 limits of acceleration and jerk.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element
from xml.parsers import expat

import numpy as np

from robot_dynamics_ros.base.errors import RobotModelError, RobotModelWarning
from robot_dynamics_ros.dynamics.kernels.types import Array

VERSIONS = ("1.0", "1.1", "1.2")
"""Known versions of the format, oldest first; a document without a version has the first."""

UNIT_LENGTH = 1e-3
"""Difference of a quaternion's length from 1 that is an error; smaller ones are normalised."""

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_NAMED = 3  # maximum number of elements in a message


class _Rule(NamedTuple):
    """Content of an element: attributes with their counts of numbers (0 for text), child elements, and other content.

    ``ignored`` are names of attributes and child elements that change neither geometry, mass nor joints. All others
    cause a warning.
    """

    attributes: Mapping[str, int]
    children: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


_GRAMMAR = {
    "robot": _Rule(
        {"name": 0, "version": 0},
        ("link", "joint"),
        ("material", "gazebo", "transmission", "sensor", "ros2_control", "mujoco"),
    ),
    "link": _Rule(
        {"name": 0},
        ("inertial",),
        # `UrdfDocument.reduced` reads visual and collision on request; contact to surface are of simulators.
        (
            "visual",
            "collision",
            "collision_checking",
            "contact",
            "self_filter",
            "surface",
            "type",
        ),
    ),
    "inertial": _Rule({}, ("origin", "mass", "inertia")),
    "origin": _Rule({"xyz": 3, "rpy": 3, "quat_xyzw": 4}),
    "mass": _Rule({"value": 1}),
    "inertia": _Rule({key: 1 for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")}),
    "joint": _Rule(
        {"name": 0, "type": 0},
        (
            "origin",
            "axis",
            "parent",
            "child",
            "limit",
            "dynamics",
            "mimic",
            "safety_controller",
        ),
        ("calibration", "dont_collapse"),
    ),
    "axis": _Rule({"xyz": 3}),
    "parent": _Rule({"link": 0}),
    "child": _Rule({"link": 0}),
    "limit": _Rule(
        {
            key: 1
            for key in (
                "lower",
                "upper",
                "effort",
                "velocity",
                "acceleration",
                "deceleration",
                "jerk",
            )
        },
        # of the drives of one manufacturer
        ignored=("command_effort", "current", "gear_velocity"),
    ),
    "dynamics": _Rule({"damping": 1, "friction": 1}),
    "safety_controller": _Rule(
        {"soft_lower_limit": 1, "soft_upper_limit": 1},
        ignored=("k_position", "k_velocity"),
    ),
    "mimic": _Rule({"joint": 0, "multiplier": 1, "offset": 1}),
    "visual": _Rule({}, ("origin", "geometry")),
    "collision": _Rule({}, ("origin", "geometry")),
    "geometry": _Rule({}, ("box", "cylinder", "sphere", "capsule", "mesh")),
    "box": _Rule({"size": 3}),
    "cylinder": _Rule({"radius": 1, "length": 1}),
    "sphere": _Rule({"radius": 1}),
    "capsule": _Rule({"radius": 1, "length": 1}),
    "mesh": _Rule({"filename": 0, "scale": 3}),
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
    "box": ("size",),
    "cylinder": ("radius", "length"),
    "sphere": ("radius",),
    "capsule": ("radius", "length"),
    "mesh": ("filename",),
}
_REQUIRED_CHILDREN = {
    "joint": ("parent", "child"),
    "inertial": ("mass",),
    "visual": ("geometry",),
}
_REPEATED = ("link", "joint")
# element and its attribute or child -> version that introduced it
_SINCE = {
    ("origin", "quat_xyzw"): "1.1",
    ("geometry", "capsule"): "1.1",
    ("limit", "acceleration"): "1.2",
    ("limit", "deceleration"): "1.2",
    ("limit", "jerk"): "1.2",
}


class UrdfDocument:
    """Checked URDF document.

    Attributes
    ----------
    source
        Name of the file, with which messages begin.
    version
        Version of the format, one of ``VERSIONS``.
    root
        <robot> element of the document, unchanged.
    robot
        New <robot> element with links, inertials and joints only, as far as ``version`` has their content.
    """

    def __init__(self, text: str | bytes, source: str) -> None:
        """Parse and check the document ``text``.

        Raises
        ------
        RobotModelError
            For malformed XML, a document type, a root element other than <robot>, an unknown version, unexpanded xacro,
            values that are not plain numbers, and an <origin> with rpy and quat_xyzw or with a quaternion that is not
            normalised. The message has ``source``, the element and the cure.
        """
        self.source = source
        self.root = parse_xml(text, source)
        if self.root.tag != "robot":
            raise RobotModelError(
                f"{source}: root element is <{self.root.tag}>, not <robot>. Cure: pass a URDF"
            )
        version = self.root.get("version", VERSIONS[0]).strip()
        self.version = VERSIONS[0] if version == "1" else version
        if self.version not in VERSIONS:
            raise RobotModelError(
                f'{source}: <robot>: version="{version}" is unknown. Cure: use one of {", ".join(VERSIONS)}'
            )
        self._unknown: dict[str, list[str]] = {}
        self.robot = self.reduced(self.root, "<robot>")
        for owner, element in self._parts("origin"):
            self._check_quaternion(element, owner)

    def warn(self) -> None:
        """Issue a RobotModelWarning for content that is newer than the version, and one for content that is unknown."""
        newer: dict[str, list[str]] = {}
        for (tag, name), since in _SINCE.items():
            for owner, element in self._parts(tag):
                if self.version < since and (
                    name in element.attrib or element.find(name) is not None
                ):
                    newer.setdefault(f"{name} of version {since}", []).append(owner)
        for found, error, cure in (
            (
                newer,
                f"ignored in version {self.version}",
                f'set version="{VERSIONS[-1]}" in <robot> if it is meant, with either rpy or quat_xyzw',
            ),
            (self._unknown, "unknown and ignored", "correct the name, or remove it"),
        ):
            if found:
                listed = "; ".join(
                    f"{name} ({_some(owners)})"
                    for name, owners in list(found.items())[: 2 * _NAMED]
                )
                warnings.warn(
                    f"{self.source}: {error}: {listed}. Cure: {cure}",
                    RobotModelWarning,
                    stacklevel=5,
                )

    def _parts(self, tag: str) -> Iterator[tuple[str, Element]]:
        """Yield the elements ``tag`` within links and joints, each after its link or joint as text."""
        for owner in self.root:
            if owner.tag in _REPEATED:
                for element in owner.iter(tag):
                    yield f'{owner.tag} "{owner.get("name")}"', element

    def _check_quaternion(self, origin: Element, owner: str) -> None:
        value = origin.get("quat_xyzw")
        where = f"{self.source}: {owner} <origin>"
        if value is None or self.version < _SINCE["origin", "quat_xyzw"]:
            return
        if origin.get("rpy") is not None:
            raise RobotModelError(
                f"{where}: both rpy and quat_xyzw are set. Cure: remove one"
            )
        check_numbers(value, 4, self.source, f'{owner} <origin>: quat_xyzw="{value}"')
        length = math.hypot(*map(float, value.split()))
        if not abs(length - 1.0) < UNIT_LENGTH:
            raise RobotModelError(
                f'{where}: quat_xyzw="{value}" has length {length:.6g}. Cure: normalise x y z w to 1'
            )

    def reduced(self, element: Element, owner: str, path: str = "") -> Element:
        """Return a new element with the known and checked content of ``element``, a part of this document.

        ``owner`` and ``path`` name the element in messages, such as 'link "hand"' and " <visual> 1". Raises
        RobotModelError as `__init__` does.
        """
        rule = _GRAMMAR[element.tag]
        where = f"{self.source}: {owner}{path}"
        result = Element(element.tag)
        for name, count in rule.attributes.items():
            value = element.get(name)
            if value is None:
                if name in _REQUIRED.get(element.tag, ()):
                    raise RobotModelError(
                        f"{where}: attribute {name!r} is missing. Cure: add it"
                    )
                continue
            if _SINCE.get((element.tag, name), "") > self.version:
                continue
            if "${" in value or "$(" in value:
                raise RobotModelError(
                    f'{where}: {name}="{value}" is unexpanded xacro. Cure: expand the file with xacro'
                )
            if count == 0 and not value.strip():
                raise RobotModelError(
                    f"{where}: attribute {name!r} is empty. Cure: set its value"
                )
            if count > 0 and not (
                element.tag == "limit" and _INFINITE.fullmatch(value.strip())
            ):
                check_numbers(
                    value, count, self.source, f'{owner}{path}: {name}="{value}"'
                )
            result.set(name, value)
        for name in element.attrib:
            if name not in (*rule.attributes, *rule.ignored) and not name.startswith(
                "xml"
            ):
                self._unknown.setdefault(f"{name} of <{element.tag}>", []).append(owner)
        seen: set[str] = set()
        for child in element:
            tag = child.tag if isinstance(child.tag, str) else ""
            if "xacro" in tag:
                raise RobotModelError(
                    f"{where}: element {tag} is xacro. Cure: expand the file with xacro"
                )
            if tag not in rule.children:
                if tag and tag not in rule.ignored:
                    self._unknown.setdefault(f"<{tag}> in <{element.tag}>", []).append(
                        owner
                    )
                continue
            if (tag == "axis" and element.get("type") == "fixed") or _SINCE.get(
                (element.tag, tag), ""
            ) > self.version:
                continue
            if tag in seen and tag not in _REPEATED:
                raise RobotModelError(
                    f"{where}: <{tag}> is defined twice. Cure: remove one"
                )
            seen.add(tag)
            named = tag in _REPEATED
            result.append(
                self.reduced(
                    child,
                    f'{tag} "{child.get("name")}"' if named else owner,
                    "" if named else f"{path} <{tag}>",
                )
            )
        for tag in _REQUIRED_CHILDREN.get(element.tag, ()):
            if tag not in seen:
                raise RobotModelError(f"{where}: <{tag}> is missing. Cure: add it")
        return result


def _some(owners: list[str]) -> str:
    different = list(dict.fromkeys(owners))
    more = f" and {len(different) - _NAMED} others" if len(different) > _NAMED else ""
    return ", ".join(different[:_NAMED]) + more


def parse_xml(text: str | bytes, source: str) -> Element:
    """Return the root element of the XML document ``text``, including comments.

    Namespaces are not resolved, as in urdfdom: a prefix needs no declaration, and xmlns is an ordinary attribute.
    Raises RobotModelError for malformed XML, for a document type, and for other than str or bytes.
    """
    if not isinstance(text, (str, bytes)):
        raise RobotModelError(
            f"{source}: {type(text).__name__} is not text. Cure: pass the URDF as str or bytes"
        )

    # entities can read files and exhaust memory
    def refuse(name: str, *_: object) -> None:
        if name.lower() == "html":
            raise RobotModelError(
                f"{source}: it is an HTML page. Cure: pass the URDF itself, which a site offers as raw text"
            )
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
        raise RobotModelError(
            f"{source}: not well-formed XML: {error}. Cure: pass a URDF, or use xmllint"
        ) from None
    return builder.close()


def check_numbers(value: str, count: int, source: str, where: str) -> None:
    """Raise RobotModelError if the attribute text ``value`` is not ``count`` finite numbers, separated by spaces.

    The message begins with ``source`` and ``where``, which is element and attribute.
    """
    words = value.split()
    if len(words) != count:
        raise RobotModelError(
            f"{source}: {where}: {len(words)} numbers instead of {count}. Cure: write {count}"
        )
    for word in words:
        if not _NUMBER.fullmatch(word) or not math.isfinite(float(word)):
            raise RobotModelError(
                f"{source}: {where}: {word!r} is not a finite number. Cure: write a number"
            )


def numbers(element: Element, name: str, default: str) -> list[float]:
    """Return the numbers of an attribute of a reduced element, those of ``default`` if it is absent."""
    return [float(word) for word in element.get(name, default).split()]


def placement(parent: Element) -> tuple[Array, Array]:
    """Return rotation (3, 3) and position (3,), m, of the <origin> of a reduced element; identity if it has none."""
    origin = parent.find("origin")
    if origin is None:
        return np.eye(3), np.zeros(3)
    if origin.get("quat_xyzw") is None:
        rotation = rotation_from_rpy(*numbers(origin, "rpy", "0 0 0"))
    else:
        quaternion = np.array(numbers(origin, "quat_xyzw", ""))
        rotation = rotation_from_quaternion(*quaternion / np.linalg.norm(quaternion))
    return rotation, np.array(numbers(origin, "xyz", "0 0 0"))


def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """Return the rotation (3, 3) of URDF angles (rad): roll about fixed x, pitch about fixed y, yaw about fixed z."""
    cr, sr, cp, sp, cy, sy = (
        f(a) for a in (roll, pitch, yaw) for f in (math.cos, math.sin)
    )
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rotation_from_quaternion(x: float, y: float, z: float, w: float) -> Array:
    """Return the rotation (3, 3) of a quaternion of length 1."""
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
            [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
            [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )
