"""Directions out of files."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.errors import RobotModelError
from robot_dynamics_ros.kernels.types import Array

_SHORTEST, _LONGEST = 1e-12, 1e12


def unit_vector(axis: Array, where: str) -> Array:
    """Return an axis (3,) with length 1; RobotModelError, which begins with ``where``, where it has no direction.

    What is too long is refused as well: its length would overflow.
    """
    length = math.hypot(*axis)
    if not _SHORTEST <= length <= _LONGEST:
        what = "zero" if length < _SHORTEST else "too long"
        raise RobotModelError(f"{where} {axis.tolist()} is {what}. Cure: give the direction of the axis")
    return np.asarray(axis / np.linalg.norm(axis))


_ROUNDING = 1e-6  # relative: published numbers have six digits


@dataclass(frozen=True)
class Inertial:
    """Mass (kg), centre of mass (3,) (m) and inertia (3, 3) at the centre of mass (kg m^2), in link axes."""

    mass: float
    com: Array
    inertia: Array


def symmetric(ixx: float, ixy: float, ixz: float, iyy: float, iyz: float, izz: float) -> Array:
    """Return the (3, 3) matrix of the six numbers, in the URDF's order."""
    return np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])


def steiner(mass: float, offset: Array) -> Array:
    """Inertia (3, 3) of a point mass at ``offset``: the parallel-axis theorem, Tsai (9.9)."""
    return mass * (float(offset @ offset) * np.eye(3) - np.outer(offset, offset))


@dataclass
class InertiaSum:
    """Mass, first moment and inertia about a frame's origin, in its axes: these add."""

    mass: float
    moment: Array
    inertia: Array

    @staticmethod
    def zero() -> InertiaSum:
        """Return the empty sum."""
        return InertiaSum(0.0, np.zeros(3), np.zeros((3, 3)))

    def add(self, part: Inertial, rotation: Array, position: Array) -> None:
        """Add a part whose link frame stands at ``rotation`` (3, 3), ``position`` (3,) in this frame."""
        with np.errstate(over="ignore", invalid="ignore"):  # refused by those who ask for a sum
            com = position + rotation @ part.com
            self.mass += part.mass
            self.moment += part.mass * com
            self.inertia += rotation @ part.inertia @ rotation.T + steiner(part.mass, com)

    def flat(self) -> Array:
        """Return the ten numbers of the kernels' layout: mass, moment, ixx ixy ixz iyy iyz izz."""
        i = self.inertia
        return np.array([self.mass, *self.moment, i[0, 0], i[0, 1], i[0, 2], i[1, 1], i[1, 2], i[2, 2]])


def check_inertia(inertia: Array) -> str | None:
    """Say what makes an inertia matrix impossible for any mass distribution, or None.

    Principal moments must not be negative and, of three, none may exceed the sum of the others
    (Tsai 9.2). Rounding in published six-digit numbers is forgiven.
    """
    moments = np.linalg.eigvalsh(inertia)
    scale = float(np.abs(moments).max())
    if scale < 1e-15:  # rounding dust of CAD exports, e.g. 1.4e-20
        return None
    if moments[0] < -_ROUNDING * scale:
        return f"negative principal moment {moments[0]:.6g}"
    with np.errstate(over="ignore"):  # nothing exceeds infinity
        most = (moments[0] + moments[1]) * (1 + _ROUNDING) + _ROUNDING * scale
    if moments[2] > most:
        return f"principal moment {moments[2]:.6g} exceeds the sum of the others ({moments[0]:.6g} + {moments[1]:.6g})"
    return None


def payload_inertial(mass: float, com: ArrayLike, inertia: ArrayLike, where: str = "payload") -> Inertial:
    """Mass (kg), centre of mass (3,) (m) and inertia at it (kg m^2), checked, as an Inertial.

    ``inertia`` is ixx ixy ixz iyy iyz izz or the matrix (3, 3), symmetric to six digits. Raises RobotModelError,
    which begins with ``where``, for a wrong number of numbers, numbers that are not finite, a negative mass and an
    inertia that no body can have.
    """
    m, c, i = (_finite(value) for value in (mass, com, inertia))
    if m.shape != () or m < 0.0:
        raise RobotModelError(f"{where} mass: {mass!r} is not a finite number of at least 0. Cure: give kg")
    if c.shape != (3,):
        raise RobotModelError(f"{where} com: {com!r} is not 3 finite numbers. Cure: give x y z in m")
    problem: str | None = f"{inertia!r} is not 6 finite numbers"
    if i.shape == (3, 3):
        problem = f"{inertia!r} is not symmetric"
        if np.allclose(i, i.T, rtol=0.0, atol=_ROUNDING * np.abs(i).max()):  # as R I R^T is
            i = (0.5 * i + 0.5 * i.T)[np.triu_indices(3)]
    if i.shape == (6,):
        problem = check_inertia(symmetric(*i))
    if problem is not None:
        raise RobotModelError(f"{where} inertia: {problem}. Cure: give ixx ixy ixz iyy iyz izz at the com (kg m^2)")
    return Inertial(float(m), c, symmetric(*i))


def _finite(value: ArrayLike) -> Array:
    """``value`` as an array, an empty one where it is anything but finite real numbers."""
    array = real_numbers(value)
    return array if array is not None and np.isfinite(array).all() else np.empty(0)


def real_numbers(value: ArrayLike) -> Array | None:
    """Real numbers of any kind as a new float64 array in C order, None for all else."""
    try:
        given = np.asarray(value)
        # NumPy would read numbers out of text and dates, and nan out of None.
        if given.dtype.kind in "fiub" or (given.dtype.kind == "O" and all(isinstance(x, Real) for x in given.flat)):
            return np.array(given, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        pass
    return None
