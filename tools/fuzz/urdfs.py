"""Invalid URDFs, with errors of XML, URDF and robots."""

from __future__ import annotations

import copy
import random
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from tools.fuzz.nasty import TEXTS, damaged, number, numbers

_ATTRIBUTES = ("name", "type", "xyz", "rpy", "value", "link", "joint", "lower", "upper", "effort", "velocity", "ixx",
               "ixy", "izz", "damping", "friction", "multiplier", "offset", "filename", "version", "quat_xyzw",
               "acceleration", "deceleration", "jerk", "radius", "length")  # fmt: skip
_TAGS = ("link", "joint", "inertial", "origin", "mass", "inertia", "axis", "parent", "child", "limit", "dynamics",
         "mimic", "visual", "collision", "robot", "transmission", "ros2_control", "geometry", "capsule",
         "x:y")  # fmt: skip
_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar", "mimic", "Revolute", "")
_HEADS = (
    b'<?xml version="1.0" encoding="utf-16"?>',
    b'<?xml version="1.1"?>',
    b'<?xml version="1.0" encoding="rot13"?>',
    b'<!DOCTYPE robot [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>',
    b'<!DOCTYPE robot SYSTEM "file:///etc/passwd">',
    b'<!DOCTYPE robot SYSTEM "@bait@">',
    b'<!DOCTYPE robot [<!ENTITY % a SYSTEM "file://@bait@"> %a;]>',
    b'<?xml-stylesheet href="file://@bait@"?>',
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\0",
)


def mutated(rng: random.Random, original: bytes) -> bytes:
    """Return a damaged URDF, mostly in its structure, sometimes in its bytes."""
    root = ElementTree.fromstring(original)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        _change(rng, root)
    data = ElementTree.tostring(root)
    if rng.random() < 0.1:
        data = damaged(rng, data)
    if rng.random() < 0.05:
        data = rng.choice(_HEADS) + data
    return data


def _change(rng: random.Random, root: Element) -> None:
    elements = list(root.iter())
    element = rng.choice(elements)
    if rng.random() < 0.7:  # mostly elements of the dynamics
        known = [e for e in elements if e.tag in _TAGS[:12]]
        element = rng.choice(known) if known else element
    key = rng.choice(list(element.attrib) or list(_ATTRIBUTES))
    match rng.randrange(16):
        case 0:
            element.attrib.pop(key, None)
        case 1 | 2 | 3:
            element.set(key, numbers(rng) if key in ("xyz", "rpy", "quat_xyzw") else number(rng))
        case 4:
            element.set(key, rng.choice(TEXTS))
        case 5:
            element.set(rng.choice(_ATTRIBUTES), number(rng))
        case 6 if len(element):
            element.remove(rng.choice(list(element)))
        case 7 if len(element):
            element.append(copy.deepcopy(rng.choice(list(element))))
        case 8:
            element.append(copy.deepcopy(rng.choice(elements)))
        case 9:
            element.tag = rng.choice(_TAGS)
        case 10:
            element.text = rng.choice(TEXTS)
        case 11:
            for child in element.iter():
                if "type" in child.attrib:
                    child.set("type", rng.choice(_TYPES))
        case 12:
            _cross(rng, root)
        case 13:
            _nest(rng, element)
        case 14:
            _name_files(rng, root)
        case 15:
            _lengthen(rng, root)


def _cross(rng: random.Random, root: Element) -> None:
    """Change the links of a joint or its mimic: cycles, two parents, itself."""
    joints = [e for e in root.iter("joint") if e.get("name")]
    if not joints:
        return
    joint, other = rng.choice(joints), rng.choice(joints)
    for tag in rng.choice((("parent",), ("child",), ("parent", "child"), ("mimic",))):
        if tag == "mimic":
            ElementTree.SubElement(joint, "mimic", joint=str(other.get("name")), multiplier=number(rng))
            continue
        end, theirs = joint.find(tag), other.find(rng.choice(("parent", "child")))
        if end is not None and theirs is not None:
            end.set("link", str(theirs.get("link")))


def _nest(rng: random.Random, element: Element) -> None:
    """Nest elements, or add many siblings."""
    tag = rng.choice(_TAGS)
    inner = element
    for k in range(rng.choice((2, 20, 300))):
        child = ElementTree.SubElement(inner, tag, name=f"n{k}")
        if rng.random() < 0.9:
            inner = child


def _name_files(rng: random.Random, root: Element) -> None:
    """Insert the path of a file in all places that URDF and XML allow."""
    where = rng.choice(("@bait@", "file://@bait@", "package:/@bait@"))
    for element in root.iter():
        if "filename" in element.attrib:
            element.set("filename", where)
    include = {"href": where, "filename": where, "xmlns:xi": "http://www.w3.org/2001/XInclude"}
    ElementTree.SubElement(root, rng.choice(("xi:include", "include", "xacro:include", "mesh")), include)


def _lengthen(rng: random.Random, root: Element) -> None:
    """Append many links, in series or in parallel."""
    links = [link for link in root.iter("link") if link.get("name")]
    if not links:
        return
    parent = str(rng.choice(links).get("name"))
    row, kind = rng.random() < 0.5, rng.choice(_TYPES[:4])
    for k in range(rng.choice((1, 5, 5, 30, 100))):
        name = f"more{k}"
        link = ElementTree.SubElement(root, "link", name=name)
        link.append(Element("inertial"))
        ElementTree.SubElement(link[0], "mass", value=number(rng))
        joint = ElementTree.SubElement(root, "joint", name=f"to_{name}", type=kind)
        for tag, end in (("parent", parent), ("child", name)):
            ElementTree.SubElement(joint, tag, link=end)
        parent = name if row else parent
