"""Checked directions, mass properties and numbers. Units are kg, m and kg m^2."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.base.errors import RobotModelError
from robot_dynamics_ros.dynamics.kernels.types import Array

_SHORTEST = 1e-12
_LONGEST = 1e12


def unit_vector(axis: Array, where: str) -> Array:
    """Return an axis (3,) normalised to length 1, as a new array.

    Raises RobotModelError if the length is below 1e-12 or above 1e12; ``where`` is the beginning of its message.
    """
    length = math.hypot(*axis)
    if not _SHORTEST <= length <= _LONGEST:
        error = "zero" if length < _SHORTEST else "too long"
        raise RobotModelError(
            f"{where} {axis.tolist()} is {error}. Cure: set the direction of the axis"
        )
    return np.asarray(axis / np.linalg.norm(axis))


_ROUNDING = 1e-6  # relative, for published numbers with six digits


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
    if moments[0] < -_ROUNDING * scale:
        return f"negative principal moment {moments[0]:.6g}"
    with np.errstate(over="ignore"):  # no moment exceeds infinity
        most = (moments[0] + moments[1]) * (1 + _ROUNDING) + _ROUNDING * scale
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
        if np.allclose(i, i.T, rtol=0.0, atol=_ROUNDING * np.abs(i).max()):
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
