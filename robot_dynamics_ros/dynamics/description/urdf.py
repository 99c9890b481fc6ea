"""URDF documents: a strict reading of the XML, then links, inertials and joints.

``source`` is the name of the file, with which messages begin. `UrdfDocument` checks and reduces the document, because
urdf_parser_py knows version 1.0 only, fails on some visuals, transmissions and vendor tags, and accepts texts such as
nan and 1_000 as numbers. urdf_parser_py reads the result, but for origins and for the limits that version 1.2 added.

Versions are those of urdfdom 6: 1.1 added ``quat_xyzw`` and capsules, 1.2 limits of acceleration and jerk.
"""

from __future__ import annotations

import copy
import math
import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, tostring
from xml.parsers import expat

import numpy as np
from urdf_parser_py.urdf import URDF

from robot_dynamics_ros.base.errors import (
    IncompleteModelWarning,
    RobotModelError,
    RobotModelWarning,
)
from robot_dynamics_ros.base.files import checksum
from robot_dynamics_ros.dynamics.description.inertia import (
    ELEMENTS,
    Inertial,
    WrittenInertial,
    symmetric,
    unit_vector,
)
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.thresholds import (
    COMMON_LIMIT,
    FARTHEST_LIMIT,
    HEAVIEST_ROBOT,
    LARGEST_DISTANCE,
    LARGEST_TURN,
    QUATERNION_LENGTH,
    STEEL_DENSITY,
    UNLIMITED_LIMIT,
)

MOVABLE = ("revolute", "continuous", "prismatic")
"""Types of joints that can move."""

VERSIONS = ("1.0", "1.1", "1.2")
"""Known versions of the format, oldest first; a document without a version has the first."""


_UNSUPPORTED = ("floating", "planar")
_EXTENDED = ("acceleration", "deceleration", "jerk")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_NAMED = 3  # maximum number of elements in a message


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

    @property
    def distance(self) -> float:
        """Distance of the joint from the origin of the parent link's frame, m."""
        return float(np.linalg.norm(self.position))


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
    written
        The elements ixx ixy ixz iyy iyz izz (6,) of links with <inertial>, in its own axes, by name.
    sha256
        Checksum of the document's text, hexadecimal.
    """

    source: str
    name: str
    root: str
    links: dict[str, Inertial]
    joints: tuple[Joint, ...]
    unsupported: dict[str, str]
    written: dict[str, Array]
    sha256: str

    @np.errstate(over="ignore", invalid="ignore")
    def written_inertials(self) -> dict[str, WrittenInertial]:
        """Return the mass properties of the links with <inertial> as they are written, by name."""
        parents = {joint.child: joint for joint in self.joints}
        carried: dict[str, list[Joint]] = defaultdict(list)
        for joint in self.joints:
            carried[joint.parent].append(joint)

        def extent(name: str) -> float:
            points = [np.zeros(3), *(joint.position for joint in carried[name])]
            if name in self.written:
                points.append(self.links[name].com)
            return max(float(np.linalg.norm(a - b)) for a in points for b in points)

        result: dict[str, WrittenInertial] = {}
        for name, elements in self.written.items():
            fixed = [joint for joint in carried[name] if joint.kind == "fixed"]
            own = parents.get(name)
            sizes = [
                extent(name),
                *(joint.distance + extent(joint.child) for joint in fixed),
                0.0 if own is None else own.distance,
            ]
            link = self.links[name]
            result[name] = WrittenInertial(
                name,
                link.mass,
                link.com,
                elements,
                size=max(sizes),
                moving=own is not None and own.kind != "fixed",
                limbs=len(carried[name]) - len(fixed),
            )
        return result


def parse_urdf(text: str | bytes, source: str) -> Description:
    """Parse and check the URDF document ``text``, but for inertias that no body can have.

    Raises RobotModelError for a document that is not a valid URDF. The message has file, element and cure. Valid but
    probably unintended content is a RobotModelWarning.
    """
    document = UrdfDocument(text, source)
    document.warn()
    robot = document.robot
    unsupported = _fix_unsupported(robot)
    _check_types(robot.findall("joint"), source)
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
    written = {
        link.name: _elements(link) for link in parsed.links if link.inertial is not None
    }
    joints = [
        _joint(joint, element, links, source)
        for joint, element in zip(parsed.joints, robot.iter("joint"), strict=True)
    ]
    root, ordered = _walk(links, joints, source)
    description = Description(
        source,
        parsed.name,
        root,
        links,
        tuple(ordered),
        unsupported,
        written,
        checksum(text),
    )
    for error, cure in (
        *_doubtful_values(robot, unsupported),
        *_unit_errors(robot, description),
    ):
        warnings.warn(
            f"{source}: {error}. Cure: {cure}", RobotModelWarning, stacklevel=4
        )
    _warn_of_missing_limits(ordered, source)
    return description


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


def _check_types(joints: Iterable[Element], source: str) -> None:
    for joint in joints:
        if joint.get("type") not in (*MOVABLE, "fixed"):
            raise RobotModelError(
                f'{source}: joint "{joint.get("name")}": type {joint.get("type")!r} is not supported. '
                f"Cure: use {', '.join(MOVABLE)} or fixed"
            )


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
        for key in ELEMENTS:
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
    inertia = symmetric(*_elements(link))
    with np.errstate(over="ignore", invalid="ignore"):
        inertia = rotation @ inertia @ rotation.T
    if not np.isfinite(inertia).all():
        raise RobotModelError(
            f"{where}: the inertia overflows a float. Cure: check the units"
        )
    return Inertial(mass, com, inertia)


def _elements(link: Any) -> Array:
    """Return ixx ixy ixz iyy iyz izz (6,) of a link with <inertial>, zero without <inertia>."""
    inertia = link.inertial.inertia
    return (
        np.zeros(6)
        if inertia is None
        else np.array([getattr(inertia, key) for key in ELEMENTS], dtype=np.float64)
    )


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
        if len(i.attrib) < len(ELEMENTS)
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
            f"<inertia> lacks some of {' '.join(ELEMENTS)}, which are 0",
            "complete <inertia>",
        ),
    ):
        if names:
            yield f"{', '.join(map(str, names))}: {error}", cure


def _unit_errors(root: Element, description: Description) -> Iterator[tuple[str, str]]:
    """Yield error and cure for angles in degrees, and for lengths in mm and masses in g throughout the robot.

    They are named if numbers are far larger than those of robots.
    """
    wide = [
        joint.get("name", "")
        for joint in root.iter("joint")
        for limit in joint.iter("limit")
        if joint.get("type") in ("revolute", "prismatic") and _is_wide(limit)
    ]
    if wide:
        yield (
            f"{', '.join(wide)}: position limits beyond {FARTHEST_LIMIT:g} rad or m; explained by degrees or mm",
            "write lower and upper in rad or m, or make a joint without limits continuous",
        )
    turned = [
        element.get("name", "")
        for element in root
        for origin in element.iter("origin")
        if max(map(abs, numbers(origin, "rpy", "0"))) > LARGEST_TURN
    ]
    if turned:
        yield (
            f"{', '.join(turned)}: rpy of more than a turn; explained by degrees",
            "write the rpy of <origin> in rad",
        )
    distances = [joint.distance for joint in description.joints if joint.distance]
    typical = np.median(distances or [0.0])
    metre = 1.0
    if typical > LARGEST_DISTANCE:
        metre = 1e3
        yield (
            f"the joints are typically {typical:.3g} m apart; explained by lengths in mm",
            "write xyz in m, and inertias in kg m^2",
        )
    # most robots are lighter, and the sizes of their links are not needed
    if sum(link.mass for link in description.links.values()) < HEAVIEST_ROBOT:
        return
    links = [link for link in description.written_inertials().values() if link.moving]
    mass = sum(link.mass for link in links)
    balls = (
        STEEL_DENSITY * math.pi / 6 * sum((link.size / metre) ** 3 for link in links)
    )
    if mass > HEAVIEST_ROBOT and mass > balls > 0.0:
        yield (
            f"the moving links have {mass:.4g} kg, more than balls of steel of their size; explained by masses in g",
            "write masses in kg, and inertias in kg m^2",
        )


def _is_wide(limit: Element) -> bool:
    ends = numbers(limit, "lower", "0") + numbers(limit, "upper", "0")
    farthest = max(map(abs, ends))
    return FARTHEST_LIMIT < farthest < UNLIMITED_LIMIT and farthest != COMMON_LIMIT


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
    "inertia": _Rule({key: 1 for key in ELEMENTS}),
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
                *_EXTENDED,
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
    **{("limit", key): "1.2" for key in _EXTENDED},
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
        if not abs(length - 1.0) < QUATERNION_LENGTH:
            raise RobotModelError(
                f'{where}: quat_xyzw="{value}" has length {length:.6g}. Cure: normalise x y z w to 1'
            )

    def reduced(self, element: Element, owner: str, path: str = "") -> Element:
        """Return a new element with the known and checked content of ``element``, a part of this document.

        ``owner`` and ``path`` name the element in messages, such as 'link "hand"' and " <visual> 1". Raises
        RobotModelError as `__init__` does.
        """
        result = Element(element.tag, self._attributes(element, owner, path))
        for child in self._children(element, owner, path):
            result.append(child)
        return result

    def _attributes(self, element: Element, owner: str, path: str) -> dict[str, str]:
        rule = _GRAMMAR[element.tag]
        where = f"{self.source}: {owner}{path}"
        result: dict[str, str] = {}
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
            result[name] = value
        for name in element.attrib:
            if name not in (*rule.attributes, *rule.ignored) and not name.startswith(
                "xml"
            ):
                self._unknown.setdefault(f"{name} of <{element.tag}>", []).append(owner)
        return result

    def _children(self, element: Element, owner: str, path: str) -> Iterator[Element]:
        rule = _GRAMMAR[element.tag]
        where = f"{self.source}: {owner}{path}"
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
            if tag in _REPEATED:
                yield self.reduced(child, f'{tag} "{child.get("name")}"')
            else:
                yield self.reduced(child, owner, f"{path} <{tag}>")
        for tag in _REQUIRED_CHILDREN.get(element.tag, ()):
            if tag not in seen:
                raise RobotModelError(f"{where}: <{tag}> is missing. Cure: add it")


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
