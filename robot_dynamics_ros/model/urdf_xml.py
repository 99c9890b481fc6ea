"""First look at a URDF: well-formed, harmless, plain numbers; keeps only what dynamics need.

urdf_parser_py stumbles over visuals, transmissions and vendor tags and takes numbers that are none
(nan, 1_000), so it gets a document reduced to links, inertials and joints, each value checked here.
"""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree
from xml.parsers import expat

from robot_dynamics_ros.errors import RobotModelError

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")

# tag -> (attribute -> how many numbers it holds, 0 for text), (child tags)
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
    """Parse a URDF and return its <robot> element with links, inertials and joints only.

    Raises RobotModelError, naming ``source``, element and cure, for XML that is malformed or brings a
    document type, a wrong root tag, xacro that is not expanded, and values that are not plain numbers.
    """
    root = parse_xml(text, source)
    if root.tag != "robot":
        raise RobotModelError(f"{source}: root element is <{root.tag}>, not <robot>. Cure: pass a URDF")
    return _reduced(root, source, "<robot>")


def parse_xml(text: str | bytes, source: str) -> ElementTree.Element:
    """Return the root element of a document, its comments included. Errors as ``reduce_urdf``.

    Namespaces are not resolved, as in urdfdom: a prefix needs no declaration, and xmlns is an ordinary attribute.
    """
    if not isinstance(text, (str, bytes)):
        raise RobotModelError(f"{source}: {type(text).__name__} given. Cure: pass the URDF's text, str or bytes")

    def refuse(name: str, *_: object) -> None:  # entities can read files and blow up
        raise RobotModelError(f"{source}: <!DOCTYPE {name}>: document types and entities are refused. Cure: remove it")

    builder = ElementTree.TreeBuilder(insert_comments=True)
    parser = expat.ParserCreate()
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.CommentHandler = builder.comment
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(text.lstrip(), True)
    except (expat.ExpatError, ValueError, LookupError) as problem:
        raise RobotModelError(f"{source}: not well-formed XML: {problem}. Cure: check it with xmllint") from None
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
                f'{source}: {where}: {name}="{value}" is a left-over of xacro. Cure: expand the file with xacro first'
            )
        if count == 0 and not value.strip():
            raise RobotModelError(f"{source}: {where}: attribute {name!r} is empty. Cure: give it a value")
        if count > 0:
            check_numbers(value, count, source, f'{where}: {name}="{value}"')
        result.set(name, value)
    seen: set[str] = set()
    for child in element:
        tag = child.tag if isinstance(child.tag, str) else ""
        if "xacro" in tag:
            raise RobotModelError(f"{source}: {where}: element {tag} is xacro. Cure: expand the file with xacro first")
        if tag not in children or (tag == "axis" and element.get("type") == "fixed"):
            continue
        if tag in seen and tag not in _REPEATED:
            raise RobotModelError(f"{source}: {where}: <{tag}> stands there twice. Cure: remove one")
        seen.add(tag)
        inner = f'{tag} "{child.get("name")}"' if tag in _REPEATED else f"{where} <{tag}>"
        result.append(_reduced(child, source, inner))
    for tag in _REQUIRED_CHILDREN.get(element.tag, ()):
        if tag not in seen:
            raise RobotModelError(f"{source}: {where}: <{tag}> is missing. Cure: add it")
    return result


def check_numbers(value: str, count: int, source: str, where: str) -> None:
    """Raise RobotModelError, naming ``source`` and ``where``, for an attribute that is not ``count`` finite numbers."""
    words = value.split()
    if len(words) != count:
        raise RobotModelError(f"{source}: {where}: {len(words)} numbers where {count} belong. Cure: correct it")
    for word in words:
        if not _NUMBER.fullmatch(word) or not math.isfinite(float(word)):
            raise RobotModelError(f"{source}: {where}: {word!r} is not a finite number. Cure: correct it")
