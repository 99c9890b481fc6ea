"""URDF of a robot given by Denavit-Hartenberg parameters, in the standard or in Craig's convention, and their files.

A row of the table is theta, d, a, alpha in the standard convention, Milicevic (2.1): frame i is frame i - 1, turned by
theta about z and moved by d along z, then moved by a along x and turned by alpha about x. In Craig's convention,
Craig (3.6), a row is alpha, a, d, theta: turned by alpha about x and moved by a along x, then moved by d along z and
turned by theta about z. Lengths are in m, angles in rad. The joint's position is added to theta, that of a prismatic
joint to d.

Numbers in a file (YAML, docs/dh_tables.md) can be texts with the four operations, powers (``**``), pi and the names in
``parameters``, such as ``m1*l1**2/12``.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from operator import add, mul, neg, sub, truediv
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, indent, tostring

import numpy as np
import yaml
from numpy.typing import ArrayLike

from robot_dynamics_ros.base.errors import RobotModelError, require_known
from robot_dynamics_ros.base.files import read_bytes
from robot_dynamics_ros.base.plain_yaml import NotPlainYaml, load_yaml
from robot_dynamics_ros.base.resources import find_resource
from robot_dynamics_ros.dynamics.description.inertia import (
    ELEMENTS,
    payload_inertial,
    real_numbers,
)
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.thresholds import (
    COSINE_NOISE,
    LONGEST_FORMULA,
    SLIDE_LIMITS,
)

MassProperties = tuple[float, ArrayLike, ArrayLike]
"""Mass (kg), centre of mass (3,) (m), and inertia about it, (6,) or (3, 3) (kg m^2), in the link's frame."""

# xyz and rpy of an <origin>
_Placement = tuple[tuple[float, float, float], tuple[float, float, float]]

_TYPES = {"R": "continuous", "P": "prismatic", "F": "fixed"}
_UNMOVED: _Placement = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))

# Keys of a file.
_KEYS = (
    "rows",
    "convention",
    "joints",
    "links",
    "limits",
    "parents",
    "down",
    "parameters",
    "dynamics",
)
_TEXTS = ("convention", "joints")
_OPERATORS: Mapping[type, Any] = {
    ast.Add: add,
    ast.Sub: sub,
    ast.Mult: mul,
    ast.Div: truediv,
    ast.Pow: pow,
    ast.USub: neg,
}


def dh_urdf(
    rows: ArrayLike,
    convention: str = "standard",
    joints: str | None = None,
    links: Sequence[MassProperties | None] | None = None,
    *,
    limits: Sequence[Sequence[float] | None] | None = None,
    parents: Sequence[int] | None = None,
    down: ArrayLike | None = None,
    name: str = "dh_arm",
) -> str:
    """Return the URDF of a robot with joint1 to joint<n>, and link0 to link<n>, whose frames are those of the table.

    In Craig's convention, joint<i> moves link<i>, with z on its axis. In the standard convention, a and alpha of a
    moving row are between the joint and frame i: unless both are 0, the joint moves a link axis<i> without mass, to
    which link<i> is fixed. Its frame is frame i - 1, turned by theta about z and moved by d along z.

    Parameters
    ----------
    rows
        (n, 4): theta, d, a, alpha, or in Craig's convention alpha, a, d, theta. The entry of the joint's variable is
        its offset.
    convention
        "standard" or "craig".
    joints
        A letter for each row: R for a revolute joint, P for a prismatic one, F for a fixed one, as of a tool frame.
        None: all are revolute.
    links
        Mass properties of link1 to link<n>, None for a link without mass. None: all are without mass.
    limits
        Lower and upper position limit, velocity and effort limit of each joint, or None: a revolute joint has no
        limits, a prismatic one is limited to 1 m in both directions.
    parents
        Index of the parent of each link, smaller than its own. None: a chain.
    down
        Direction (3,) of gravity in frame 0, of any length. The root is then a link base_link, with this direction
        along its -z. None: link0 is the root.
    name
        Name of the robot.

    Raises
    ------
    RobotModelError
        For arguments of a wrong size or type, numbers that are not finite, and an unknown convention. Also for a parent
        that is not before its link, a direction of zero length, and a negative mass.
    """
    if convention not in ("standard", "craig"):
        raise RobotModelError(
            f"convention: {convention!r} is unknown. Cure: use standard or craig"
        )
    table = _numbers("rows", rows, (-1, 4)).tolist()
    n = len(table)
    kinds = "R" * n if joints is None else joints
    if not isinstance(kinds, str) or len(kinds) != n or set(kinds) - set(_TYPES):
        raise RobotModelError(
            f"joints: {joints!r}. Cure: give a letter R, P or F for each of the {n} rows"
        )
    bodies = _each("links", links, n)
    bounds = _each("limits", limits, n)
    carriers = _each("parents", range(n) if parents is None else parents, n)
    robot = _element("robot", _element("link", name="link0"), name=name)
    if down is not None:
        root = _element("link", name="base_link")
        robot.extend(
            [
                root,
                _joint(
                    "base",
                    "F",
                    "base_link",
                    "link0",
                    _upright(_numbers("down", down, (3,))),
                ),
            ]
        )
    for i, (row, kind, body, bound, parent) in enumerate(
        zip(table, kinds, bodies, bounds, carriers, strict=True), start=1
    ):
        placements = _placements(row, convention, kind)
        robot.append(_element("link", *_inertial(f"link{i}", body), name=f"link{i}"))
        robot.extend(_joints(i, kind, parent, placements, _limit(i, kind, bound)))
    indent(robot)
    return tostring(robot, encoding="unicode") + "\n"


def _joints(
    i: int,
    kind: str,
    parent: Any,
    placements: tuple[_Placement, _Placement],
    limit: Sequence[Element],
) -> list[Element]:
    """Return the joint of row ``i``, and if link i is not at the joint, a link axis<i> and the joint between the two.

    ``placements`` are those of the joint on the parent link, and of link i on the joint.
    """
    if parent not in range(i):
        raise RobotModelError(
            f"parents: {parent!r} of link{i}. Cure: give an integer from 0 to {i - 1}"
        )
    before = f"link{int(parent)}"
    on_parent, on_joint = placements
    if on_joint == _UNMOVED:
        return [_joint(f"joint{i}", kind, before, f"link{i}", on_parent, limit)]
    return [
        _joint(f"joint{i}", kind, before, f"axis{i}", on_parent, limit),
        _element("link", name=f"axis{i}"),
        _joint(f"frame{i}", "F", f"axis{i}", f"link{i}", on_joint),
    ]


def _placements(
    row: Sequence[float], convention: str, kind: str
) -> tuple[_Placement, _Placement]:
    """Return the placements of the joint on the parent link, and of the link on the joint, at joint position 0."""
    if convention == "craig":
        return _craig_placement(*row), _UNMOVED
    theta, d, a, alpha = row
    if kind == "F":
        xyz = (a * math.cos(theta), a * math.sin(theta), d)
        return (xyz, (alpha, 0.0, theta)), _UNMOVED
    return ((0.0, 0.0, d), (0.0, 0.0, theta)), ((a, 0.0, 0.0), (alpha, 0.0, 0.0))


def _craig_placement(alpha: float, a: float, d: float, theta: float) -> _Placement:
    """Return the placement of frame i in frame i - 1, Craig (3.6), at joint position 0."""
    ca, sa, ct, st = (
        x if abs(x) > COSINE_NOISE else 0.0
        for angle in (alpha, theta)
        for x in (math.cos(angle), math.sin(angle))
    )
    xyz = (a, -d * sa, d * ca)
    if not alpha or not theta:
        return xyz, (alpha, 0.0, theta)
    # Rx(alpha) Rz(theta) = Rz(yaw) Ry(pitch) Rx(roll); the first column is (ct, st ca, st sa)
    level = math.hypot(ct, st * ca)
    pitch = math.atan2(-st * sa, level)
    if not level:  # x is along z of frame i - 1: roll and yaw are about the same axis
        return xyz, (0.0, pitch, math.atan2(st, ct * ca))
    return xyz, (math.atan2(ct * sa, ca), pitch, math.atan2(st * ca, ct))


def _upright(down: Array) -> _Placement:
    """Return the placement whose rotation turns the direction ``down`` to -z."""
    x, y, z = down.tolist()
    if not math.hypot(x, y, z):
        raise RobotModelError(
            "down: the direction is zero. Cure: set the direction of gravity in frame 0"
        )
    return _UNMOVED[0], (math.atan2(-y, -z), math.atan2(x, math.hypot(y, z)), 0.0)


def _inertial(link: str, body: MassProperties | None) -> list[Element]:
    if body is None:
        return []
    if not isinstance(body, Sequence) or len(body) != 3:
        raise RobotModelError(
            f"links: {body!r} of {link}. Cure: give mass, com and inertia"
        )
    checked = payload_inertial(*body, where=f"links: {link}", possible=False)
    moments = dict(
        zip(ELEMENTS, checked.inertia[np.triu_indices(3)].tolist(), strict=True)
    )
    mass = _element("mass", value=checked.mass)
    return [
        _element(
            "inertial",
            _element("origin", xyz=checked.com),
            mass,
            _element("inertia", **moments),
        )
    ]


def _limit(i: int, kind: str, bounds: Sequence[float] | None) -> list[Element]:
    if kind == "F" or (bounds is None and kind == "R"):
        return []
    lower, upper, velocity, effort = _numbers(
        f"limits of joint{i}", SLIDE_LIMITS if bounds is None else bounds, (4,)
    )
    return [
        _element("limit", lower=lower, upper=upper, velocity=velocity, effort=effort)
    ]


def _joint(
    name: str,
    kind: str,
    parent: str,
    child: str,
    placement: _Placement,
    limit: Sequence[Element] = (),
) -> Element:
    """Return the element of a joint about or along z of its frame; kind is a letter of ``joints``."""
    xyz, rpy = placement
    type_ = "revolute" if kind == "R" and limit else _TYPES[kind]
    parts = [
        _element("parent", link=parent),
        _element("child", link=child),
        _element("origin", xyz=xyz, rpy=rpy),
    ]
    axis = [] if kind == "F" else [_element("axis", xyz=(0, 0, 1))]
    return _element("joint", *parts, *axis, *limit, name=name, type=type_)


def _element(tag: str, *children: Element, **attributes: object) -> Element:
    """Return an element; attributes are texts, numbers or vectors."""

    def text(value: object) -> str:
        if isinstance(value, str):
            return value
        numbers = np.ravel(np.asarray(value)) + 0  # without -0.0
        return " ".join(map(repr, numbers.tolist()))

    element = Element(tag, {key: text(value) for key, value in attributes.items()})
    element.extend(children)
    return element


def _each(key: str, values: Any, n: int) -> Any:
    """Return ``values``, or n times None; RobotModelError unless there is one for each row."""
    if values is None:
        return [None] * n
    if isinstance(values, str) or not isinstance(values, Sequence) or len(values) != n:
        raise RobotModelError(
            f"{key}: {values!r}. Cure: list one for each of the {n} rows"
        )
    return values


def _numbers(key: str, values: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return finite numbers as an array of a shape, whose first length is free if it is -1."""
    array = real_numbers(values)
    if (
        array is None
        or array.ndim != len(shape)
        or array.shape[-1] != shape[-1]
        or not np.isfinite(array).all()
    ):
        form = "rows of 4" if shape[0] < 0 else str(shape[0])
        raise RobotModelError(f"{key}: {values!r}. Cure: give {form} finite numbers")
    return array


def read_dh_file(
    path: str | Path, parameters: Mapping[str, float | str] | None = None
) -> tuple[str, str]:
    """Return the URDF of a table's robot, and the text of its dynamics file, empty if the table has none.

    ``parameters``, numbers or formulas in SI units, replace those of the file with the same names. The name of the
    robot is that of the file. Raises RobotModelError if the file cannot be read or is no such table, and for
    unknown parameters.
    """
    try:
        table = load_yaml(read_bytes(path, "DH table"), str(path))
    except NotPlainYaml as error:
        raise RobotModelError(
            f"{path}: not plain YAML: {error}. Cure: correct the file"
        ) from None
    if not isinstance(table, dict) or "rows" not in table:
        raise RobotModelError(
            f"{path}: no key rows. Cure: write a DH table, docs/dh_tables.md"
        )
    for key in table:
        require_known(key, _KEYS, f"{path}: unknown key {key!r}", RobotModelError)
    try:
        names = _parameters(table.pop("parameters", {}), parameters or {})
        table = {
            key: value if key in _TEXTS else _valued(value, names)
            for key, value in table.items()
        }
        dynamics = table.pop("dynamics", None)
        return dh_urdf(
            **table, name=Path(path).stem
        ), "" if dynamics is None else yaml.safe_dump(dynamics)
    except RobotModelError as error:
        raise RobotModelError(f"{path}: {error}") from None


def textbook_arm(name: str, parameters: Mapping[str, float | str]) -> tuple[str, str]:
    """Return URDF and text of the dynamics file of an installed textbook arm, as ``read_dh_file``.

    Raises RobotDynamicsError for an unknown arm, and RobotModelError for unknown parameters.
    """
    return read_dh_file(find_resource("textbook_arms", f"{name}.yaml"), parameters)


def _parameters(own: Any, replaced: Mapping[str, float | str]) -> dict[str, float]:
    if not isinstance(own, dict):
        raise RobotModelError(f"parameters: {own!r}. Cure: give a number for each name")
    for name in replaced:
        require_known(name, own, f"parameter {name!r} is unknown", RobotModelError)
    values = _valued({**own, **replaced}, {"pi": math.pi})
    for name, value in values.items():
        if not isinstance(value, int | float):
            raise RobotModelError(
                f"parameter {name!r} is {value!r}. Cure: give a number"
            )
    return {"pi": math.pi, **values}


def _valued(value: Any, names: Mapping[str, float]) -> Any:
    """Return ``value`` with the numbers of all its formulas; other texts, such as names of joints, are unchanged."""
    if isinstance(value, dict):
        return {key: _valued(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_valued(item, names) for item in value]
    if not isinstance(value, str) or len(value) > LONGEST_FORMULA:
        return value
    try:
        return _number(ast.parse(value.strip(), mode="eval").body, names)
    except (
        SyntaxError,
        LookupError,
        AttributeError,
        ArithmeticError,
        ValueError,
        TypeError,
    ):
        return value


def _number(node: Any, names: Mapping[str, float]) -> float:
    """Return the number of a formula's syntax tree; LookupError or AttributeError for other content than formulas."""
    if isinstance(node, ast.Constant):
        return float(node.value)  # type: ignore[arg-type]
    if isinstance(node, ast.Name):
        return float(names[node.id])
    parts = [node.operand] if isinstance(node, ast.UnaryOp) else [node.left, node.right]
    return float(_OPERATORS[type(node.op)](*(_number(part, names) for part in parts)))
