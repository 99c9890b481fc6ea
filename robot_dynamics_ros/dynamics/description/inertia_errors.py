"""Probable mistakes in the units of a URDF, and in its mass properties: decimal point, order, sign, reference point.

A mistake is named if undoing it gives mass properties that a body of the link's size can have, and undoing another one
does not; degrees, millimetres and grams, if the numbers are far larger than those of robots. Nothing is changed.
``root`` is the <robot> element of a ``Description``. Units are kg, m and kg m^2.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from xml.etree.ElementTree import Element

import numpy as np

from robot_dynamics_ros.dynamics.description.inertia import (
    Inertial,
    check_inertia,
    steiner,
    symmetric,
)
from robot_dynamics_ros.dynamics.description.urdf_document import numbers, placement
from robot_dynamics_ros.dynamics.kernels.types import Array

_SLOTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_MOMENTS = (0, 3, 5)
_ORDERS = {  # slots in which another order of the six has ixx ixy ixz iyy iyz izz
    "the order of the lower triangle, ixx ixy iyy ixz iyz izz": (0, 1, 3, 2, 4, 5),
    "the order ixx iyy izz ixy ixz iyz": (0, 3, 4, 1, 5, 2),
}
_UNITS = {  # factors of mass and inertia
    "an inertia in g m^2, or its decimal point": (1.0, 1e3),
    "an inertia in kg mm^2": (1.0, 1e6),
    "an inertia in g mm^2": (1.0, 1e9),
    "a mass in g": (1e3, 1.0),
    "a mass in g with an inertia in g m^2": (1e3, 1e3),
    "a mass in g with an inertia in g mm^2": (1e3, 1e9),
}
_POWERS = [10.0**n for n in range(1, 10)]
_STEEL = 8000.0  # kg/m^3
_FOAM = 20.0  # kg/m^3
_MARGIN = 1.5  # housings exceed the distances between joints
_HEAVY = 3.0  # times the heaviest other link
_LIGHTEST = 0.05  # kg, of a mass in g
# distance of the centre of mass over radius of gyration, above which the reference point matters
_LEVER = 0.3
# of the largest moment, by which measured moments violate the triangle inequality
_INACCURACY = 0.1
_CLEARLY = 4.0  # ratio of spreads
_THIN = 1e-3  # ratio of moments; of thinner rods it does not matter
_NEGLIGIBLE = 1e-15  # kg m^2
_FARTHEST = 20.0  # rad or m, of position limits
_UNLIMITED = 1e3  # rad or m; limits of this size stand for none
_COMMON = 100.0  # rad or m; a common limit of joints without limits
_TURN = 7.0  # rad
_LARGE = 10.0  # m, of a typical distance between joints
_HEAVIEST = 100.0  # kg, of all moving links


@dataclass(frozen=True)
class _Link:
    """Mass properties as they are written, ``elements`` in the order of the slots, and the ``size`` of the link.

    The size is the largest distance between two of: the link's joints, its parent's origin, the centre of mass, and a
    bound of the distances to those of the links that are fixed to it. Where ``moving``, a movable joint moves the link
    in its parent; ``limbs`` movable joints are on it.
    """

    name: str
    mass: float
    com: Array
    elements: Array
    size: float
    moving: bool
    limbs: int

    @property
    def gyration(self) -> float:
        """Largest radius of gyration, m."""
        largest = float(np.linalg.eigvalsh(symmetric(*self.elements))[2])
        return math.sqrt(max(largest, 0.0) / self.mass) if self.mass else 0.0

    @property
    def bounds(self) -> tuple[float, float]:
        """Plausible radii of gyration: from a ball of steel up to one of foam, or up to the size of the link."""
        steel, foam = (
            math.sqrt(0.4) * (3 * self.mass / (4 * math.pi * x)) ** (1 / 3)
            for x in (_STEEL, _FOAM)
        )
        return steel, _MARGIN * max(self.size, foam)

    @property
    def isotropic(self) -> bool:
        """True for equal moments without products, as of a placeholder."""
        ixx, ixy, ixz, iyy, iyz, izz = self.elements
        return bool(ixx == iyy == izz and ixy == ixz == iyz == 0.0)

    def possible(self) -> bool:
        """Return True if a body can have the inertia."""
        return (
            bool(np.isfinite(self.elements).all())
            and check_inertia(symmetric(*self.elements)) is None
        )

    def plausible(self) -> bool:
        """Return True if a body of this mass and size can have the inertia."""
        low, high = self.bounds
        return self.possible() and low <= self.gyration <= high

    def divided(self, mass: float, inertia: float) -> _Link:
        """Return the link with mass and inertia divided by these factors."""
        return replace(self, mass=self.mass / mass, elements=self.elements / inertia)

    def changed(self, slot: int, factor: float) -> _Link:
        """Return the link with one element of the inertia multiplied by ``factor``."""
        elements = self.elements.copy()
        elements[slot] *= factor
        return replace(self, elements=elements)


@np.errstate(over="ignore", invalid="ignore")  # infinity is implausible
def explain_inertia(root: Element, name: str) -> str:
    """Return the end of a message about the impossible inertia of a link: size, and the mistake that explains it.

    The mistake is missing if none explains it, or several do.
    """
    link = next(link for link in _links(root) if link.name == name)
    text = f" ({_extent(link)})" if link.gyration > link.bounds[1] else ""
    for mistakes in (_row_by_row, _signs, _repeated, _other_order, _decimal_point):
        if found := list(mistakes(link)):
            return text + _explained(found)
    return text


def _explained(mistakes: Sequence[str]) -> str:
    return f"; explained by {mistakes[0]}" if len(mistakes) == 1 else ""


def _extent(link: _Link) -> str:
    return f"radius of gyration {link.gyration:.3g} m" + (
        f" in a link of {link.size:.2g} m" if link.size else ""
    )


def _row_by_row(link: _Link) -> Iterator[str]:
    """Yield the order of the whole matrix: iyy repeats ixy, and izz is lost."""
    ixx, ixy, ixz, repeated, iyy, iyz = link.elements
    if repeated == ixy:
        whole = (
            np.array([ixx, ixy, ixz, iyy, iyz, izz])
            for izz in np.linspace(abs(ixx - iyy), ixx + iyy, 21)
        )
        if any(replace(link, elements=elements).possible() for elements in whole):
            yield "the order row by row, ixx ixy ixz iyx iyy iyz"


def _signs(link: _Link) -> Iterator[str]:
    """Yield negative moments, or the product of inertia whose sign matters: only that of ixy ixz iyz does."""
    if negative := [slot for slot in _MOMENTS if link.elements[slot] < 0.0]:
        for slot in negative:
            link = link.changed(slot, -1.0)
        if link.possible():
            yield f"the sign of {' and '.join(_SLOTS[slot] for slot in negative)}"
    elif link.changed(1, -1.0).possible():
        yield "the sign of ixy, ixz or iyz"


def _repeated(link: _Link) -> Iterator[str]:
    """Yield a product of inertia that has the value of a moment, and is impossible."""
    for slot in set(range(6)) - set(_MOMENTS):
        same = [
            _SLOTS[moment]
            for moment in _MOMENTS
            if link.elements[moment] == link.elements[slot]
        ]
        if same and link.changed(slot, 0.0).possible():
            yield f"{_SLOTS[slot]}, which repeats {same[0]}"


def _decimal_point(link: _Link) -> Iterator[str]:
    """Yield the element that another decimal point makes plausible, if the other elements differ less in size then.

    Measured inertias that are almost possible are not explained.
    """
    moments = np.linalg.eigvalsh(symmetric(*link.elements))
    if (
        max(-moments[0], moments[2] - moments[1] - moments[0])
        < _INACCURACY * moments[2]
    ):
        return
    # slot -> spread of the moments, power of ten, value
    best: dict[int, tuple[float, float, float]] = {}
    for slot, power in product(range(6), _POWERS):
        for factor in (power, 1.0 / power):
            other = link.changed(slot, factor)
            if link.elements[slot] and other.plausible():
                least, _, most = sorted(other.elements[list(_MOMENTS)])
                spread = most / max(least, _THIN * most)
                best[slot] = min(
                    best.get(slot, (math.inf, 0.0, 0.0)),
                    (spread, power, other.elements[slot]),
                )
    (first, slot), *others = sorted(
        (spread, slot) for slot, (spread, *_) in best.items()
    ) or [(math.inf, 0)]
    if math.isfinite(first) and all(spread > _CLEARLY * first for spread, _ in others):
        yield f"the decimal point of {_SLOTS[slot]}, {best[slot][2]:g} instead of {link.elements[slot]:g}"


def _other_order(link: _Link) -> Iterator[str]:
    for order, slots in _ORDERS.items():
        if replace(link, elements=link.elements[list(slots)]).plausible():
            yield order


@np.errstate(over="ignore", invalid="ignore")
def implausible_links(root: Element, inertials: Mapping[str, Inertial]) -> list[str]:
    """Return messages about moving links whose mass properties are possible, but do not fit their size or neighbours.

    ``inertials`` are those of the links to consider, in link axes.
    """
    links = [
        link
        for link in _links(root)
        if link.moving and link.mass > 0.0 and link.name in inertials
    ]
    placeholders = list(_placeholders(links))
    listed = [link for group in placeholders for link in group]
    return [
        *map(_placeholder_text, placeholders),
        *(
            f'link "{link.name}" <inertial>: {text}'
            for link in links
            if link not in listed
            for text in _misfit(link, links)
        ),
        *_about_joints(links, inertials),
    ]


def _placeholders(links: Sequence[_Link]) -> Iterator[list[_Link]]:
    """Yield links of different masses that have the same equal moments, which does not fit their size."""
    groups: dict[float, list[_Link]] = defaultdict(list)
    for link in links:
        if _real(link) and link.isotropic and not link.plausible():
            groups[link.elements[0]].append(link)
    for group in groups.values():
        if len({link.mass for link in group}) > 1:
            yield group


def _placeholder_text(group: Sequence[_Link]) -> str:
    names = ", ".join(f'"{link.name}"' for link in group)
    widest = max(group, key=lambda link: link.gyration)
    return (
        f"link {names} <inertial>: the same ixx = iyy = izz = {widest.elements[0]:g} ({_extent(widest)}); "
        "explained by a placeholder"
    )


def _misfit(link: _Link, links: Sequence[_Link]) -> Iterator[str]:
    others = sorted(other.mass for other in links if other is not link)
    factor = link.mass / others[-1] if len(others) > 1 and link.limbs < 2 else 0.0
    reach = sum(other.size for other in links) - link.size
    distance = float(np.linalg.norm(link.com))
    if factor > _HEAVY:
        text = f"mass {link.mass:g} kg is {factor:.2g} times that of the heaviest other moving link"
        yield text + _explained(_wrong_units(link))
    elif distance > max(1.0, reach):
        yield f"the centre of mass is {distance:.3g} m away; explained by a position in mm"
    elif _real(link) and not link.plausible():
        found = _wrong_units(link)
        if not found and any(
            link.divided(1.0, power).plausible()
            for power in (1e-3, 1e-2, 0.1, 10.0, 100.0)
        ):
            found = ["a decimal point of mass or inertia"]
        small = (
            ", less than a ball of steel has" if link.gyration < link.bounds[0] else ""
        )
        yield _extent(link) + small + _explained(found)


def _wrong_units(link: _Link) -> list[str]:
    if link.plausible():
        return []
    return [
        mistake
        for mistake, (mass, inertia) in _UNITS.items()
        if (mass == 1.0 or link.mass > mass * _LIGHTEST)
        and link.divided(mass, inertia).plausible()
    ]


def _real(link: _Link) -> bool:
    """Return True if the inertia is possible and not zero."""
    return bool(np.abs(link.elements).max() > _NEGLIGIBLE) and link.possible()


def _about_joints(
    links: Sequence[_Link], inertials: Mapping[str, Inertial]
) -> Iterator[str]:
    """Yield one message if every inertia can be one about the link's origin, which few inertias can by accident."""
    levers = [
        link
        for link in links
        if _real(link)
        and not link.isotropic
        and np.linalg.norm(link.com) > _LEVER * link.gyration
    ]
    parts = [inertials[link.name] for link in levers]
    central = [
        check_inertia(part.inertia - steiner(part.mass, part.com)) is None
        for part in parts
    ]
    if len({part.mass for part in parts}) > 2 and all(central):
        names = ", ".join(link.name for link in levers)
        yield f"{names}: explained by inertias about the origin of the link instead of the centre of mass"


def unit_errors(root: Element) -> Iterator[tuple[str, str]]:
    """Yield error and cure for angles in degrees, and for lengths in mm and masses in g throughout the robot."""
    wide = [
        joint.get("name", "")
        for joint in root.iter("joint")
        for limit in joint.iter("limit")
        if joint.get("type") in ("revolute", "prismatic") and _is_wide(limit)
    ]
    if wide:
        yield (
            f"{', '.join(wide)}: position limits beyond {_FARTHEST:g} rad or m; explained by degrees or mm",
            "write lower and upper in rad or m, or make a joint without limits continuous",
        )
    turned = [
        element.get("name", "")
        for element in root
        for origin in element.iter("origin")
        if max(map(abs, numbers(origin, "rpy", "0"))) > _TURN
    ]
    if turned:
        yield (
            f"{', '.join(turned)}: rpy of more than a turn; explained by degrees",
            "write the rpy of <origin> in rad",
        )
    distances = list(filter(None, map(_distance, root.iter("joint"))))
    typical = np.median(distances or [0.0])
    metre = 1.0
    if typical > _LARGE:
        metre = 1e3
        yield (
            f"the joints are typically {typical:.3g} m apart; explained by lengths in mm",
            "write xyz in m, and inertias in kg m^2",
        )
    # most robots are lighter, and the sizes of their links are not needed
    if sum(float(mass.get("value", "0")) for mass in root.iter("mass")) < _HEAVIEST:
        return
    links = [link for link in _links(root) if link.moving]
    mass = sum(link.mass for link in links)
    balls = _STEEL * math.pi / 6 * sum((link.size / metre) ** 3 for link in links)
    if mass > _HEAVIEST and mass > balls > 0.0:
        yield (
            f"the moving links have {mass:.4g} kg, more than balls of steel of their size; explained by masses in g",
            "write masses in kg, and inertias in kg m^2",
        )


def _is_wide(limit: Element) -> bool:
    ends = numbers(limit, "lower", "0") + numbers(limit, "upper", "0")
    farthest = max(map(abs, ends))
    return _FARTHEST < farthest < _UNLIMITED and farthest != _COMMON


def _links(root: Element) -> list[_Link]:
    inertials = {
        link.get("name", ""): inertial
        for link in root.iter("link")
        for inertial in link.iter("inertial")
    }
    parents = {}
    carried: dict[str, list[Element]] = defaultdict(list)
    for joint in root.iter("joint"):
        parents[_attribute(joint, "child", "link")] = joint
        carried[_attribute(joint, "parent", "link")].append(joint)

    def extent(name: str) -> float:
        points = [np.zeros(3), *map(_position, carried[name])]
        if name in inertials:
            points.append(_position(inertials[name]))
        return max(float(np.linalg.norm(a - b)) for a in points for b in points)

    links = []
    for name, inertial in inertials.items():
        elements = [
            float(_attribute(inertial, "inertia", slot, "0")) for slot in _SLOTS
        ]
        fixed = [joint for joint in carried[name] if joint.get("type") == "fixed"]
        sizes = [extent(name)]
        for joint in fixed:
            child = _attribute(joint, "child", "link")
            sizes.append(_distance(joint) + extent(child))
        moving = False
        if (own := parents.get(name)) is not None:
            sizes.append(_distance(own))
            moving = own.get("type") != "fixed"
        links.append(
            _Link(
                name,
                float(_attribute(inertial, "mass", "value", "0")),
                _position(inertial),
                np.array(elements),
                max(sizes),
                moving,
                len(carried[name]) - len(fixed),
            )
        )
    return links


def _attribute(parent: Element, tag: str, name: str, default: str = "") -> str:
    element = parent.find(tag)
    return default if element is None else element.get(name, default)


def _position(element: Element) -> Array:
    return placement(element)[1]


def _distance(element: Element) -> float:
    return float(np.linalg.norm(_position(element)))
