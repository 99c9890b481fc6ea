"""Links, inertials and joints of a URDF; ``source`` is the name of its file, with which messages begin.

`UrdfDocument` checks and reduces the document, because urdf_parser_py knows version 1.0 only, fails on some visuals,
transmissions and vendor tags, and accepts texts such as nan and 1_000 as numbers. urdf_parser_py reads the result, but
for origins and for the limits that version 1.2 added.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element, tostring

import numpy as np
from urdf_parser_py.urdf import URDF

from robot_dynamics_ros.base.errors import (
    IncompleteModelWarning,
    RobotModelError,
    RobotModelWarning,
)
from robot_dynamics_ros.base.files import checksum
from robot_dynamics_ros.dynamics.description.inertia import (
    Inertial,
    symmetric,
    unit_vector,
)
from robot_dynamics_ros.dynamics.description.inertia_errors import unit_errors
from robot_dynamics_ros.dynamics.description.urdf_document import (
    UrdfDocument,
    placement,
)
from robot_dynamics_ros.dynamics.kernels.types import Array

MOVABLE = ("revolute", "continuous", "prismatic")
_UNSUPPORTED = ("floating", "planar")
_INERTIA = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_EXTENDED = ("acceleration", "deceleration", "jerk")


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
    frame. Limits, in rad or m, their derivatives per s, s^2 and s^3, and Nm or N, are infinite if there is none; soft
    limits then equal the position limits. ``damping`` is in N m s/rad or N s/m, ``friction`` in Nm or N.
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
    acceleration: float
    deceleration: float
    jerk: float
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
    unsupported
        Types of the floating and planar joints by name, which are read as fixed.
    robot
        <robot> element with the links and joints that were read.
    sha256
        Checksum of the document's text, hexadecimal.
    """

    source: str
    name: str
    root: str
    links: dict[str, Inertial]
    joints: tuple[Joint, ...]
    unsupported: dict[str, str]
    robot: Element
    sha256: str


def parse_urdf(text: str | bytes, source: str) -> Description:
    """Parse and check the URDF document ``text``, but for inertias that no body can have.

    Raises RobotModelError for a document that is not a valid URDF. The message has file, element and cure. Valid but
    probably unintended content is a RobotModelWarning.
    """
    document = UrdfDocument(text, source)
    document.warn()
    robot = document.robot
    unsupported = _fix_unsupported(robot)
    for joint in robot.iter("joint"):
        if joint.get("type") not in (*MOVABLE, "fixed"):
            raise RobotModelError(
                f'{source}: joint "{joint.get("name")}": type {joint.get("type")!r} is not supported. '
                f"Cure: use {', '.join(MOVABLE)} or fixed"
            )
    for kind in ("link", "joint"):
        _refuse_duplicates(robot.findall(kind), kind, source)
    parsed = _parsed(robot, source)
    if not parsed.links:
        raise RobotModelError(
            f"{source}: robot {parsed.name!r} has no link. Cure: add at least one <link>"
        )
    links = {
        link.name: _inertial(link, element, source)
        for link, element in zip(parsed.links, robot.iter("link"), strict=True)
    }
    joints = [
        _joint(joint, element, links, source)
        for joint, element in zip(parsed.joints, robot.iter("joint"), strict=True)
    ]
    _check_mimics({joint.name: joint for joint in joints}, source)
    root, ordered = _walk(links, joints, source)
    for error, cure in (*_doubtful_values(robot, unsupported), *unit_errors(robot)):
        warnings.warn(
            f"{source}: {error}. Cure: {cure}", RobotModelWarning, stacklevel=4
        )
    _warn_of_missing_limits(ordered, source)
    return Description(
        source,
        parsed.name,
        root,
        links,
        tuple(ordered),
        unsupported,
        robot,
        checksum(text),
    )


def _fix_unsupported(robot: Element) -> dict[str, str]:
    """Make floating and planar joints fixed; return their types by name."""
    types: dict[str, str] = {}
    for joint in robot.iter("joint"):
        kind = joint.get("type", "")
        if kind in _UNSUPPORTED:
            types[joint.get("name", "")] = kind
            joint.set("type", "fixed")
            for axis in joint.findall("axis"):
                joint.remove(axis)
    return types


def _refuse_duplicates(elements: Iterable[Element], kind: str, source: str) -> None:
    seen: set[str | None] = set()
    for element in elements:
        name = element.get("name")
        if name in seen:
            raise RobotModelError(
                f'{source}: {kind} "{name}": the name is used twice. Cure: rename one'
            )
        seen.add(name)


def _parsed(robot: Element, source: str) -> Any:
    """Return the object of urdf_parser_py for a checked <robot> element, without the content of later versions."""
    robot = copy.deepcopy(robot)
    robot.attrib.pop("version", None)
    for origin in robot.iter("origin"):
        origin.attrib.clear()  # read by `placement`, quaternions included
    for limit in robot.iter("limit"):
        for key in _EXTENDED:
            limit.attrib.pop(key, None)
        if limit.get("lower") is None and limit.get("upper") is None:
            limit.attrib.update(lower="-inf", upper="inf")
        # urdf_parser_py requires attributes that many files omit
        for key in ("effort", "velocity"):
            limit.attrib.setdefault(key, "0")
    for safety in robot.iter("safety_controller"):
        safety.set("k_velocity", "0")  # required, and not used here
    for inertia in robot.iter("inertia"):
        for key in _INERTIA:
            inertia.attrib.setdefault(key, "0")
    try:
        return URDF.from_xml_string(tostring(robot))
    except Exception as error:  # the parser raises Exception, AssertionError, ParseError and errors of lxml
        raise RobotModelError(
            f"{source}: {' '.join(str(error).split())}. Cure: correct the URDF (see wiki.ros.org/urdf/XML)"
        ) from error


def _inertial(link: Any, element: Element, source: str) -> Inertial:
    inertial = element.find("inertial")
    if inertial is None:
        return Inertial(0.0, np.zeros(3), np.zeros((3, 3)))
    where = f'{source}: link "{link.name}" <inertial>'
    mass = link.inertial.mass
    if mass < 0.0:
        raise RobotModelError(
            f"{where}: mass {mass} is negative. Cure: set a mass of at least 0 kg"
        )
    rotation, com = placement(inertial)
    inertia = np.zeros((3, 3))
    if link.inertial.inertia is not None:
        inertia = symmetric(*(getattr(link.inertial.inertia, key) for key in _INERTIA))
    with np.errstate(over="ignore", invalid="ignore"):
        inertia = rotation @ inertia @ rotation.T
    if not np.isfinite(inertia).all():
        raise RobotModelError(
            f"{where}: the inertia overflows a float. Cure: check the units"
        )
    return Inertial(mass, com, inertia)


def _joint(
    joint: Any, element: Element, links: dict[str, Inertial], source: str
) -> Joint:
    where = f'{source}: joint "{joint.name}"'
    for role, link in (("parent", joint.parent), ("child", joint.child)):
        if link not in links:
            raise RobotModelError(
                f"{where}: {role} link {link!r} does not exist. Cure: define it or correct the name"
            )
    axis = unit_vector(np.array(joint.axis or (1.0, 0.0, 0.0)), f"{where}: axis")
    damping = (joint.dynamics and joint.dynamics.damping) or 0.0
    friction = (joint.dynamics and joint.dynamics.friction) or 0.0
    if damping < 0.0 or friction < 0.0:
        raise RobotModelError(
            f"{where} <dynamics>: damping or friction is negative. Cure: set values of at least 0"
        )
    rotation, position = placement(element)
    lower, upper = _position_limits(joint, where)
    mimic = None
    # the <mimic> of a fixed joint has no effect
    if joint.mimic is not None and joint.type != "fixed":
        multiplier = joint.mimic.multiplier
        offset = joint.mimic.offset
        mimic = Mimic(
            joint.mimic.joint, 1.0 if multiplier is None else multiplier, offset or 0.0
        )
    soft_lower, soft_upper = _soft_limits(joint, lower, upper, where)
    return Joint(
        name=joint.name,
        kind=joint.type,
        parent=joint.parent,
        child=joint.child,
        rotation=rotation,
        position=position,
        axis=axis,
        lower=lower,
        upper=upper,
        soft_lower=soft_lower,
        soft_upper=soft_upper,
        **_magnitude_limits(joint, element, where),
        damping=damping,
        friction=friction,
        mimic=mimic,
    )


def _position_limits(joint: Any, where: str) -> tuple[float, float]:
    if joint.limit is None or joint.type == "continuous":
        return -math.inf, math.inf
    lower = joint.limit.lower
    upper = joint.limit.upper
    if lower > upper or math.inf in (lower, -upper):
        raise RobotModelError(
            f"{where}: lower limit {lower} is above the upper {upper}. Cure: swap or correct them"
        )
    return lower, upper


def _magnitude_limits(joint: Any, element: Element, where: str) -> dict[str, float]:
    """Return limits of magnitudes, infinite where they are absent or 0: a limit of 0 would forbid any motion."""
    limits = dict.fromkeys(("effort", "velocity", *_EXTENDED), 0.0)
    for limit in element.iter("limit"):
        limits |= {"effort": joint.limit.effort, "velocity": joint.limit.velocity}
        limits |= {key: float(limit.get(key, "0")) for key in _EXTENDED}
    for key, value in limits.items():
        if value < 0.0:
            raise RobotModelError(
                f"{where}: the {key} limit is negative. Cure: set its magnitude"
            )
    return {key: value or math.inf for key, value in limits.items()}


def _soft_limits(
    joint: Any, lower: float, upper: float, where: str
) -> tuple[float, float]:
    """Return the limits of <safety_controller> if they are within the position limits; both 0 means none."""
    safety = joint.safety_controller
    soft = (
        (0.0, 0.0)
        if safety is None
        else (safety.soft_lower_limit, safety.soft_upper_limit)
    )
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
        if joint.mimic is not None and (
            followed is None or followed.kind not in MOVABLE
        ):
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


def _walk(
    links: dict[str, Inertial], joints: list[Joint], source: str
) -> tuple[str, list[Joint]]:
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
        raise RobotModelError(
            f"{source}: links {roots} have no parent. Cure: connect all but one of them by joints"
        )
    if not roots:
        raise RobotModelError(
            f"{source}: every link has a parent: the joints form a cycle. Cure: remove one joint"
        )
    ordered: list[Joint] = []
    stack = list(reversed(children[roots[0]]))
    while stack:
        joint = stack.pop()
        ordered.append(joint)
        stack.extend(reversed(children[joint.child]))
    if len(ordered) < len(joints):
        lost = sorted(
            {joint.name for joint in joints} - {joint.name for joint in ordered}
        )
        raise RobotModelError(
            f"{source}: joints {lost} form a cycle apart from the root. Cure: remove one of them"
        )
    return roots[0], ordered


def _doubtful_values(
    root: Element, unsupported: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield error and cure for unsupported joints, equal limits, and missing values that are read as 0."""
    limits = {
        joint.get("name"): [limit.get("lower"), limit.get("upper")]
        for joint in root.iter("joint")
        if joint.get("type") in ("revolute", "prismatic")
        for limit in joint.iter("limit")
    }
    single = [name for name, pair in limits.items() if pair.count(None) == 1]
    equal = [
        name
        for name, (low, high) in limits.items()
        if low and high and float(low) == float(high)
    ]
    zero = [
        joint.get("name")
        for joint in root.iter("joint")
        for limit in joint.iter("limit")
        if any(float(limit.get(key, "1")) == 0.0 for key in _EXTENDED)
    ]
    incomplete = [
        link.get("name")
        for link in root.iter("link")
        for i in link.iter("inertia")
        if len(i.attrib) < len(_INERTIA)
    ]
    for names, error, cure in (
        (
            [f"{name} ({kind})" for name, kind in unsupported.items()],
            "not supported, and fixed at <origin>",
            "make the joint fixed, or remove what does not belong to the arm",
        ),
        (
            single,
            "only one of lower and upper is set, the other is 0",
            "set both in <limit>",
        ),
        (
            equal,
            "lower and upper limit are equal: the joint cannot move",
            "correct <limit>, or make the joint fixed",
        ),
        (
            zero,
            f"one of {', '.join(_EXTENDED)} is 0: none is applied",
            "set it in <limit>, or remove it",
        ),
        (
            incomplete,
            f"<inertia> lacks some of {' '.join(_INERTIA)}, which are 0",
            "complete <inertia>",
        ),
    ):
        if names:
            yield f"{', '.join(map(str, names))}: {error}", cure


def _warn_of_missing_limits(joints: list[Joint], source: str) -> None:
    movable = [joint for joint in joints if joint.kind in MOVABLE]
    inner = [j for j in movable if j.kind != "continuous"]
    lower = [j.name for j in inner if math.isinf(j.lower)]
    upper = [j.name for j in inner if math.isinf(j.upper)]
    both = [name for name in lower if name in upper]
    missing = [
        f"{', '.join(names)}: no {quantity} limit"
        for names, quantity in (
            (both, "position"),
            ([name for name in lower if name not in both], "lower position"),
            ([name for name in upper if name not in both], "upper position"),
            ([j.name for j in movable if math.isinf(j.effort)], "effort"),
            ([j.name for j in movable if math.isinf(j.velocity)], "velocity"),
        )
        if names
    ]
    if missing:
        warnings.warn(
            f"{source}: {'; '.join(missing)} (absent or infinite; 0 for effort and velocity). Cure: set it in <limit>",
            IncompleteModelWarning,
            stacklevel=5,
        )
