"""Checked directions, mass properties and numbers, and the mistakes that explain wrong mass properties.

Probable mistakes are in the decimal point, the order, a sign, the units or the reference point. Nothing is corrected.
Units are kg, m and kg m^2.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.base.errors import RobotModelError
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.thresholds import (
    CLEAR_SPREAD,
    FOAM_DENSITY,
    HEAVY_LINK,
    HOUSING_MARGIN,
    LIGHTEST_GRAMS,
    LONG_LEVER,
    LONGEST_AXIS,
    MEASURED_INACCURACY,
    NEGLIGIBLE_INERTIA,
    PUBLISHED_ROUNDING,
    SHORTEST_AXIS,
    STEEL_DENSITY,
    THIN_ROD,
)

ELEMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
"""Names of the six elements of an inertia, in the order of this package."""


def unit_vector(axis: Array, where: str) -> Array:
    """Return an axis (3,) normalised to length 1, as a new array.

    Raises RobotModelError if the length is below 1e-12 or above 1e12; ``where`` is the beginning of its message.
    """
    length = math.hypot(*axis)
    if not SHORTEST_AXIS <= length <= LONGEST_AXIS:
        error = "zero" if length < SHORTEST_AXIS else "too long"
        raise RobotModelError(
            f"{where} {axis.tolist()} is {error}. Cure: set the direction of the axis"
        )
    return np.asarray(axis / np.linalg.norm(axis))


@dataclass(frozen=True)
class Inertial:
    """Mass (kg), centre of mass (3,) in the link's frame (m), and inertia (3, 3) about it in link axes (kg m^2)."""

    mass: float
    com: Array
    inertia: Array


def symmetric(
    ixx: float, ixy: float, ixz: float, iyy: float, iyz: float, izz: float
) -> Array:
    """Return the symmetric matrix (3, 3) with these six elements, kg m^2, [[ixx, ixy, ixz], ...]."""
    return np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])


def steiner(mass: float, offset: Array) -> Array:
    """Return the inertia (3, 3), kg m^2, about the origin of a point ``mass`` (kg) at ``offset`` (3,), m.

    Tsai (9.9), parallel axes.
    """
    return mass * (float(offset @ offset) * np.eye(3) - np.outer(offset, offset))


@dataclass
class InertiaSum:
    """Sum of mass, first moment of mass and inertia of several parts, about the origin and in the axes of a frame.

    Attributes
    ----------
    mass
        kg.
    moment
        First moment of mass (3,), kg m.
    inertia
        (3, 3), kg m^2, about the origin.
    """

    mass: float
    moment: Array
    inertia: Array

    @staticmethod
    def zero() -> InertiaSum:
        """Return an empty sum."""
        return InertiaSum(0.0, np.zeros(3), np.zeros((3, 3)))

    def add(self, part: Inertial, rotation: Array, position: Array) -> None:
        """Add a part in place; ``rotation`` (3, 3) and ``position`` (3,), m, place its link's frame in this frame.

        ``rotation`` has the axes of the link's frame as columns. Overflow results in numbers that are not finite.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # callers check the sum
            com = position + rotation @ part.com
            self.mass += part.mass
            self.moment += part.mass * com
            self.inertia += rotation @ part.inertia @ rotation.T + steiner(
                part.mass, com
            )

    def about_com(self) -> Array:
        """Return the inertia (3, 3), kg m^2, about the centre of mass; without mass, about the origin."""
        if self.mass <= 0.0:
            return self.inertia
        return np.asarray(self.inertia - steiner(self.mass, self.moment / self.mass))

    def flat(self) -> Array:
        """Return the ten elements (10,) in the kernels' layout: mass, first moment, ixx ixy ixz iyy iyz izz."""
        i = self.inertia
        return np.array(
            [
                self.mass,
                *self.moment,
                i[0, 0],
                i[0, 1],
                i[0, 2],
                i[1, 1],
                i[1, 2],
                i[2, 2],
            ]
        )


def check_inertia(inertia: Array) -> str | None:
    """Return the reason why no mass distribution can have this inertia (3, 3), kg m^2, or None.

    No principal moment may be negative, and none may exceed the sum of the other two (Tsai 9.2). The tolerance, 1e-6 of
    the largest moment, allows for published numbers with six digits.
    """
    moments = np.linalg.eigvalsh(inertia)
    scale = float(np.abs(moments).max())
    if scale < 1e-15:  # rounding errors of CAD exports, such as 1.4e-20
        return None
    if moments[0] < -PUBLISHED_ROUNDING * scale:
        return f"negative principal moment {moments[0]:.6g}"
    with np.errstate(over="ignore"):  # no moment exceeds infinity
        most = (moments[0] + moments[1]) * (
            1 + PUBLISHED_ROUNDING
        ) + PUBLISHED_ROUNDING * scale
    if moments[2] > most:
        return f"principal moment {moments[2]:.6g} exceeds the sum of the others ({moments[0]:.6g} + {moments[1]:.6g})"
    return None


def payload_inertial(
    mass: float,
    com: ArrayLike,
    inertia: ArrayLike,
    where: str = "payload",
    possible: bool = True,
) -> Inertial:
    """Check mass properties and return them as an Inertial.

    Parameters
    ----------
    mass
        Mass, kg.
    com
        Centre of mass (3,), m, in the link's frame.
    inertia
        ixx ixy ixz iyy iyz izz about the centre of mass in the link's axes, or the matrix (3, 3), symmetric to six
        digits; kg m^2.
    where
        Beginning of messages.
    possible
        False to accept an inertia that no body can have.

    Raises
    ------
    RobotModelError
        For a wrong shape, numbers that are not finite, a negative mass and, if ``possible``, an inertia that no body
        can have.
    """
    m, c, i = (_finite(value) for value in (mass, com, inertia))
    if m.shape != () or m < 0.0:
        raise RobotModelError(
            f"{where} mass: {mass!r} is not a finite number of at least 0. Cure: set it in kg"
        )
    if c.shape != (3,):
        raise RobotModelError(
            f"{where} com: {com!r} is not 3 finite numbers. Cure: set x y z in m"
        )
    error: str | None = f"{inertia!r} is not 6 finite numbers"
    if i.shape == (3, 3):
        error = f"{inertia!r} is not symmetric"
        # as R I R^T is
        if np.allclose(i, i.T, rtol=0.0, atol=PUBLISHED_ROUNDING * np.abs(i).max()):
            i = (0.5 * i + 0.5 * i.T)[np.triu_indices(3)]
    if i.shape == (6,):
        error = check_inertia(symmetric(*i)) if possible else None
    if error is not None:
        raise RobotModelError(
            f"{where} inertia: {error}. Cure: set ixx ixy ixz iyy iyz izz about the com (kg m^2)"
        )
    return Inertial(float(m), c, symmetric(*i))


def _finite(value: ArrayLike) -> Array:
    """Return ``value`` as an array, or an empty array if it is not finite real numbers."""
    array = real_numbers(value)
    return array if array is not None and np.isfinite(array).all() else np.empty(0)


def real_numbers(value: ArrayLike) -> Array | None:
    """Return real numbers of any type as a new C-contiguous float64 array, or None if ``value`` is not real numbers.

    Masked values of NumPy are no numbers.
    """
    rows = value if isinstance(value, list | tuple) else (value,)
    if any(map(np.ma.is_masked, rows)):
        return None
    try:
        given = np.asarray(value)
        # NumPy converts text and dates to numbers, and None to nan.
        if given.dtype.kind in "fiub" or (
            given.dtype.kind == "O" and all(isinstance(x, Real) for x in given.flat)
        ):
            return np.array(given, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        pass
    return None


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


@dataclass(frozen=True)
class WrittenInertial:
    """Mass properties of a link as a URDF has them, and the size of the link.

    Attributes
    ----------
    name
        Name of the link.
    mass
        Mass, kg.
    com
        Centre of mass (3,) in the link's frame, m.
    elements
        ixx ixy ixz iyy iyz izz about the centre of mass (6,), kg m^2, in axes of their own.
    size
        Largest distance, m, between two of: the link's joints, its parent's origin, the centre of mass, and a bound of
        the distances to those of the links that are fixed to it.
    moving
        True if a movable joint moves the link in its parent.
    limbs
        Number of movable joints on the link.
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
            for x in (STEEL_DENSITY, FOAM_DENSITY)
        )
        return steel, HOUSING_MARGIN * max(self.size, foam)

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

    def divided(self, mass: float, inertia: float) -> WrittenInertial:
        """Return the link with mass and inertia divided by these factors."""
        return replace(self, mass=self.mass / mass, elements=self.elements / inertia)

    def changed(self, slot: int, factor: float) -> WrittenInertial:
        """Return the link with one element of the inertia multiplied by ``factor``."""
        elements = self.elements.copy()
        elements[slot] *= factor
        return replace(self, elements=elements)


@np.errstate(over="ignore", invalid="ignore")  # infinity is implausible
def explain_inertia(link: WrittenInertial) -> str:
    """Return the end of a message about the impossible inertia of a link: size, and the mistake that explains it.

    A mistake is named if undoing it gives mass properties that a body of the link's size can have, and undoing another
    one does not.
    """
    text = f" ({_extent(link)})" if link.gyration > link.bounds[1] else ""
    for mistakes in (_row_by_row, _signs, _repeated, _other_order, _decimal_point):
        if found := list(mistakes(link)):
            return text + _explained(found)
    return text


def _explained(mistakes: Sequence[str]) -> str:
    return f"; explained by {mistakes[0]}" if len(mistakes) == 1 else ""


def _extent(link: WrittenInertial) -> str:
    return f"radius of gyration {link.gyration:.3g} m" + (
        f" in a link of {link.size:.2g} m" if link.size else ""
    )


def _row_by_row(link: WrittenInertial) -> Iterator[str]:
    """Yield the order of the whole matrix: iyy repeats ixy, and izz is lost."""
    ixx, ixy, ixz, repeated, iyy, iyz = link.elements
    if repeated == ixy:
        whole = (
            np.array([ixx, ixy, ixz, iyy, iyz, izz])
            for izz in np.linspace(abs(ixx - iyy), ixx + iyy, 21)
        )
        if any(replace(link, elements=elements).possible() for elements in whole):
            yield "the order row by row, ixx ixy ixz iyx iyy iyz"


def _signs(link: WrittenInertial) -> Iterator[str]:
    """Yield negative moments, or the product of inertia whose sign matters: only that of ixy ixz iyz does."""
    if negative := [slot for slot in _MOMENTS if link.elements[slot] < 0.0]:
        for slot in negative:
            link = link.changed(slot, -1.0)
        if link.possible():
            yield f"the sign of {' and '.join(ELEMENTS[slot] for slot in negative)}"
    elif link.changed(1, -1.0).possible():
        yield "the sign of ixy, ixz or iyz"


def _repeated(link: WrittenInertial) -> Iterator[str]:
    """Yield a product of inertia that has the value of a moment, and is impossible."""
    for slot in set(range(6)) - set(_MOMENTS):
        same = [
            ELEMENTS[moment]
            for moment in _MOMENTS
            if link.elements[moment] == link.elements[slot]
        ]
        if same and link.changed(slot, 0.0).possible():
            yield f"{ELEMENTS[slot]}, which repeats {same[0]}"


def _decimal_point(link: WrittenInertial) -> Iterator[str]:
    """Yield the element that another decimal point makes plausible, if the other elements differ less in size then.

    Measured inertias that are almost possible are not explained.
    """
    moments = np.linalg.eigvalsh(symmetric(*link.elements))
    if (
        max(-moments[0], moments[2] - moments[1] - moments[0])
        < MEASURED_INACCURACY * moments[2]
    ):
        return
    # slot -> spread of the moments, power of ten, value
    best: dict[int, tuple[float, float, float]] = {}
    for slot, power in product(range(6), _POWERS):
        for factor in (power, 1.0 / power):
            other = link.changed(slot, factor)
            if link.elements[slot] and other.plausible():
                least, _, most = sorted(other.elements[list(_MOMENTS)])
                spread = most / max(least, THIN_ROD * most)
                best[slot] = min(
                    best.get(slot, (math.inf, 0.0, 0.0)),
                    (spread, power, other.elements[slot]),
                )
    (first, slot), *others = sorted(
        (spread, slot) for slot, (spread, *_) in best.items()
    ) or [(math.inf, 0)]
    if math.isfinite(first) and all(
        spread > CLEAR_SPREAD * first for spread, _ in others
    ):
        yield f"the decimal point of {ELEMENTS[slot]}, {best[slot][2]:g} instead of {link.elements[slot]:g}"


def _other_order(link: WrittenInertial) -> Iterator[str]:
    for order, slots in _ORDERS.items():
        if replace(link, elements=link.elements[list(slots)]).plausible():
            yield order


@np.errstate(over="ignore", invalid="ignore")
def implausible_links(
    written: Iterable[WrittenInertial], inertials: Mapping[str, Inertial]
) -> list[str]:
    """Return messages about moving links whose mass properties are possible, but do not fit their size or neighbours.

    ``inertials`` are those of the links to consider, in link axes; ``written`` has all links.
    """
    links = [
        link
        for link in written
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


def _placeholders(links: Sequence[WrittenInertial]) -> Iterator[list[WrittenInertial]]:
    """Yield links of different masses that have the same equal moments, which does not fit their size."""
    groups: dict[float, list[WrittenInertial]] = defaultdict(list)
    for link in links:
        if _real(link) and link.isotropic and not link.plausible():
            groups[link.elements[0]].append(link)
    for group in groups.values():
        if len({link.mass for link in group}) > 1:
            yield group


def _placeholder_text(group: Sequence[WrittenInertial]) -> str:
    names = ", ".join(f'"{link.name}"' for link in group)
    widest = max(group, key=lambda link: link.gyration)
    return (
        f"link {names} <inertial>: the same ixx = iyy = izz = {widest.elements[0]:g} ({_extent(widest)}); "
        "explained by a placeholder"
    )


def _misfit(link: WrittenInertial, links: Sequence[WrittenInertial]) -> Iterator[str]:
    others = sorted(other.mass for other in links if other is not link)
    factor = link.mass / others[-1] if len(others) > 1 and link.limbs < 2 else 0.0
    reach = sum(other.size for other in links) - link.size
    distance = float(np.linalg.norm(link.com))
    if factor > HEAVY_LINK:
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


def _wrong_units(link: WrittenInertial) -> list[str]:
    if link.plausible():
        return []
    return [
        mistake
        for mistake, (mass, inertia) in _UNITS.items()
        if (mass == 1.0 or link.mass > mass * LIGHTEST_GRAMS)
        and link.divided(mass, inertia).plausible()
    ]


def _real(link: WrittenInertial) -> bool:
    """Return True if the inertia is possible and not zero."""
    return bool(np.abs(link.elements).max() > NEGLIGIBLE_INERTIA) and link.possible()


def _about_joints(
    links: Sequence[WrittenInertial], inertials: Mapping[str, Inertial]
) -> Iterator[str]:
    """Yield one message if every inertia can be one about the link's origin, which few inertias can by accident."""
    levers = [
        link
        for link in links
        if _real(link)
        and not link.isotropic
        and np.linalg.norm(link.com) > LONG_LEVER * link.gyration
    ]
    parts = [inertials[link.name] for link in levers]
    central = [
        check_inertia(part.inertia - steiner(part.mass, part.com)) is None
        for part in parts
    ]
    if len({part.mass for part in parts}) > 2 and all(central):
        names = ", ".join(link.name for link in levers)
        yield f"{names}: explained by inertias about the origin of the link instead of the centre of mass"
