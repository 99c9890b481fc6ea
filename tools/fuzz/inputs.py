"""Strategies of values that programs often handle incorrectly, damaged bytes, and invalid URDF and YAML files."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import hypothesis.strategies as st
import yaml
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import DrawFn, SearchStrategy

from robot_dynamics_ros.control.configuration import settings as controller

T = TypeVar("T")

NUMBERS = st.sampled_from(
    "0 -0 1 -1 1e-9 1e-300 5e-324 1e300 1.7976931348623157e308 1e309 -1e309 nan -nan NaN inf -inf Infinity 1_000 0x10 "
    "1e 1e+ . - + 1,5 1.5.5 ١ ½ 1e99999 00001 1d5 true none ${x} $(x) 1;2 9007199254740993 3.14159265".split()
) | st.floats(-1e12, 1e12).map(repr)
TEXTS = st.sampled_from(
    ("", " ", "\t", "a" * 5000, "ä", "名", "\u202e", "'", '"', "&", "../../etc/passwd", "/dev/zero", "%s%n", "{}", "[]",
     "file:///etc/passwd", "package://x/y.stl", "~", "world", "base_link", "None", "0", "\ud7ff", "@bait@",
     "file://@bait@")
) | st.text(max_size=8)  # fmt: skip
NAMES = st.sampled_from(
    ("panda_joint1", "panda_link8", "panda_joint8", "parent", "none", "base")
)
LEAVES = (
    st.floats()
    | st.floats(-10.0, 10.0)
    | st.integers()
    | st.booleans()
    | st.none()
    | NUMBERS
    | TEXTS
    | NAMES
)
VALUES = (
    LEAVES | st.lists(LEAVES, max_size=7) | st.dictionaries(TEXTS, LEAVES, max_size=2)
)
FEW = st.sampled_from((1, 1, 1, 2, 4))

_ATTRIBUTES = ("name", "type", "xyz", "rpy", "value", "link", "joint", "lower", "upper", "effort", "velocity", "ixx",
               "damping", "friction", "multiplier", "offset", "filename", "version", "quat_xyzw", "jerk")  # fmt: skip
_TAGS = ("link", "joint", "inertial", "origin", "mass", "inertia", "axis", "parent", "child", "limit", "dynamics",
         "mimic", "transmission", "ros2_control", "geometry", "capsule", "x:y", "xi:include", "include",
         "xacro:include", "mesh")  # fmt: skip
_TYPES = (
    "revolute",
    "continuous",
    "prismatic",
    "fixed",
    "floating",
    "planar",
    "mimic",
    "Revolute",
    "",
)
_XML_HEADS = (
    b'<?xml version="1.0" encoding="utf-16"?>',
    b'<?xml version="1.1"?>',
    b'<?xml version="1.0" encoding="rot13"?>',
    b'<!DOCTYPE robot [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>',
    b'<!DOCTYPE robot SYSTEM "@bait@">',
    b'<!DOCTYPE robot [<!ENTITY % a SYSTEM "file://@bait@"> %a;]>',
    b'<?xml-stylesheet href="file://@bait@"?>',
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\0",
)
_YAML_LINES = (
    b"!!python/object/apply:os.system ['true']\n",
    b"a: &a [x, x]\nb: &b [*a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c]\n",
    b"gravity: *nothing\n",
    b"--- \n...\n--- 2\n",
    b"joints: {<<: {a: 1}}\n",
    b"\t- x\n",
    b"gravity: !!float nan\n",
    b"? [a, b]\n: c\n",
    b"payload: !!timestamp 2001-12-14\n",
    b"[" * 3000 + b"\n",
    b"payload: !include @bait@\n",
    b"%YAML 9.9\n%TAG ! tag:@bait@,2000:\n---\n",
    b"\xff\xfe",
)


def run_all(
    strategy: SearchStrategy[T], run: Callable[[T], object], count: int, of: object
) -> None:
    """Call ``run`` with ``count`` inputs, always the same ones for a seed ``of``."""
    checks = list(HealthCheck)

    @seed(of)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=checks,
    )
    @given(strategy)
    def attempt(data: T) -> None:
        run(data)

    attempt()


def pick(draw: DrawFn, items: Sequence[T]) -> T:
    """Return one of these, faster than ``sampled_from``, which examines all of them."""
    return items[draw(st.integers(0, len(items) - 1))]


def mostly(
    usual: SearchStrategy[Any], unusual: SearchStrategy[Any], of: int = 16
) -> SearchStrategy[Any]:
    """Return a strategy that is ``unusual`` once ``of`` times."""
    return st.integers(1, of).flatmap(lambda k: unusual if k == of // 2 else usual)


def damaged(data: bytes) -> SearchStrategy[bytes]:
    """Return a strategy of these bytes with a few parts removed, replaced or inserted."""
    places = st.integers(0, len(data))
    spans = st.sampled_from((0, 1, 1, 2, 4, 8, 64, 1024, len(data)))
    copies = st.builds(lambda at, span: data[at : at + span], places, spans)
    repeats = st.builds(
        lambda byte, span: byte * span,
        st.sampled_from((b"\0", b"\xff", b"\x7f", b"\x80")),
        FEW,
    )
    edits = st.lists(
        st.tuples(places, spans, st.binary(max_size=8) | repeats | copies),
        min_size=1,
        max_size=8,
    )
    return edits.map(partial(_edited, data))


def as_yaml(content: object) -> bytes:
    """Return a YAML file with this content."""
    return yaml.safe_dump(content, allow_unicode=True).encode()


def _edited(data: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    for at, span, part in edits:
        data = data[:at] + part + data[at + span :]
    return data


@st.composite
def urdfs(draw: DrawFn, originals: Sequence[bytes]) -> bytes:
    """Return a damaged URDF, mostly in its structure, sometimes in its bytes."""
    root = ElementTree.fromstring(pick(draw, originals))
    for _ in range(pick(draw, (1, 1, 1, 2, 3, 8))):
        _change_element(draw, root)
    data = ElementTree.tostring(root)
    head = mostly(st.just(b""), st.sampled_from(_XML_HEADS), 20)
    return draw(head) + draw(mostly(st.just(data), damaged(data), 10))


def _change_element(draw: DrawFn, root: Element) -> None:
    elements = list(root.iter())
    if draw(st.integers(0, 3)):  # mostly elements of the dynamics
        elements = [element for element in elements if element.tag in _TAGS] or elements
    element = pick(draw, elements)
    other = pick(draw, elements)
    key = pick(draw, list(element.attrib) or _ATTRIBUTES)
    match draw(st.integers(0, 13)):
        case 0:
            element.attrib.pop(key, None)
        case 1 | 2 | 3:
            count = (
                pick(draw, (3, 3, 0, 1, 4, 50))
                if key in ("xyz", "rpy", "quat_xyzw")
                else 1
            )
            element.set(
                key,
                pick(draw, (" ", "  ", "\n", ",")).join(
                    draw(NUMBERS) for _ in range(count)
                ),
            )
        case 4:
            element.set(key, draw(TEXTS))
        case 5:
            element.set(pick(draw, _ATTRIBUTES), draw(NUMBERS))
        case 6:  # cycles, two parents, itself
            element.set(
                key, other.get(key) or other.get("link") or other.get("name") or ""
            )
        case 7 if len(element):
            element.remove(pick(draw, list(element)))
        case 8 if root not in other:
            element.append(copy.deepcopy(other))
        case 9:
            element.tag = pick(draw, _TAGS)
            element.text = draw(TEXTS)
        case 10:
            for child in element.iter():
                if "type" in child.attrib:
                    child.set("type", pick(draw, _TYPES))
        case 11:  # deep, or many siblings
            tag = pick(draw, _TAGS)
            nested = draw(st.booleans())
            for k in range(pick(draw, (2, 20, 300))):
                child = ElementTree.SubElement(element, tag, name=f"n{k}")
                element = child if nested else element
        case 12:
            _name_files(draw, root)
        case 13:
            _append_links(draw, root)


def _name_files(draw: DrawFn, root: Element) -> None:
    """Insert the path of a file in all places that URDF and XML allow."""
    where = pick(draw, ("@bait@", "file://@bait@", "package:/@bait@"))
    for element in root.iter():
        if "filename" in element.attrib:
            element.set("filename", where)
    include = {
        "href": where,
        "filename": where,
        "xmlns:xi": "http://www.w3.org/2001/XInclude",
    }
    ElementTree.SubElement(root, pick(draw, _TAGS[-4:]), include)


def _append_links(draw: DrawFn, root: Element) -> None:
    """Append many links, in series or in parallel."""
    parent = pick(draw, [link.get("name", "") for link in root.iter("link")] or [""])
    mass = draw(NUMBERS)
    in_series = draw(st.booleans())
    kind = pick(draw, _TYPES[:4])
    for k in range(pick(draw, (1, 5, 5, 30, 100))):
        link = ElementTree.SubElement(root, "link", name=f"more{k}")
        ElementTree.SubElement(
            ElementTree.SubElement(link, "inertial"), "mass", value=mass
        )
        joint = ElementTree.SubElement(root, "joint", name=f"to_more{k}", type=kind)
        for tag, end in (("parent", parent), ("child", f"more{k}")):
            ElementTree.SubElement(joint, tag, link=end)
        parent = f"more{k}" if in_series else parent


@st.composite
def yaml_files(draw: DrawFn, originals: Sequence[object]) -> bytes:
    """Return a YAML file with values at random places removed, repeated or replaced, sometimes with damaged bytes."""
    content: Any = copy.deepcopy(pick(draw, originals))
    for _ in range(draw(FEW)):
        content = _change_value(draw, content)
    data = as_yaml(content)
    data = draw(mostly(st.just(data), damaged(data), 10))
    line = draw(mostly(st.just(b""), st.sampled_from(_YAML_LINES), 20))
    return line + data if draw(st.booleans()) else data + line


def _change_value(draw: DrawFn, content: Any) -> Any:
    """Change an element at a random path."""
    if isinstance(content, float) and draw(st.booleans()):
        return content * draw(st.floats(0.0, 2.0))
    if (
        not isinstance(content, dict | list)
        or not content
        or draw(st.integers(0, 9)) == 2
    ):
        return draw(VALUES)
    keys: list[Any] = (
        list(content) if isinstance(content, dict) else list(range(len(content)))
    )
    key = pick(draw, keys)
    match draw(st.integers(0, 8)):
        case 0:
            del content[key]
        case 1 if isinstance(content, list):
            content.append(copy.deepcopy(content[key]))
        case 1:
            content[draw(TEXTS | LEAVES)] = copy.deepcopy(content[key])
        case 2:
            content[pick(draw, keys)] = copy.deepcopy(content[key])
        case _:
            content[key] = _change_value(draw, content[key])
    return content


def _values_of(parameter: Any) -> SearchStrategy[Any]:
    """Return values of a parameter, half of them of the right type."""
    numbers = mostly(st.floats(1e-3, 1e3) | st.floats(0.0, 1.0), st.floats(), 4)
    right: SearchStrategy[Any] = st.lists(numbers, max_size=3)
    if isinstance(parameter.default, bool):
        right = st.booleans()
    elif isinstance(parameter.default, str):
        right = st.sampled_from((*getattr(parameter, "choices", ()), "")) | TEXTS
    elif isinstance(parameter.default, float):
        right = numbers
    return mostly(
        right,
        LEAVES
        | st.binary(max_size=2)
        | st.lists(LEAVES | st.binary(max_size=2), max_size=2),
        2,
    )


def parameters() -> SearchStrategy[dict[str, Any]]:
    """Return a few parameters of the controller."""
    values = {parameter.name: _values_of(parameter) for parameter in controller.ALL}
    chosen = st.lists(
        st.sampled_from(sorted(values)), min_size=1, max_size=5, unique=True
    )
    return chosen.flatmap(
        lambda names: st.fixed_dictionaries({name: values[name] for name in names})
    )


_NODES = st.lists(
    st.sampled_from(("/**", "/*", "**", "*", "/", "", "arm", "computed_torque_node", "/arm/computed_torque_node", ".",
                     "a" * 300, "[a", "(", "+", "/**" * 300)), max_size=5
).map("".join)  # fmt: skip


@st.composite
def parameter_files(draw: DrawFn, originals: Sequence[Any]) -> bytes:
    """Return a file with invalid parameters or unusual node names, half of them damaged."""
    invalid = parameters().map(lambda values: {"/**": {"ros__parameters": values}})
    content = draw(invalid | st.sampled_from(originals))
    if draw(st.integers(0, 2)) == 1:
        content = {draw(_NODES): next(iter(content.values())), **content}
    whole = as_yaml(content)
    return whole if draw(st.booleans()) else draw(yaml_files([content]))
