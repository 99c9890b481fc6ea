"""Friction of a joint, linear in its coefficients for a given shape: Craig (6.110)-(6.112), Stribeck, sigmoid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d
from scipy.special import expit

from robot_dynamics_ros.kernels.types import Array

COEFFICIENTS = ("viscous", "coulomb", "coulomb_negative", "static", "sigmoid")
"""The dynamics file's names of the coefficients of each joint, in the order of the columns; sigmoid: its amplitude."""

_STILL = 0.02  # of a joint's highest speed: slower is as good as standing still
_SLOW = 0.05  # of a joint's highest speed, over which friction falls by a factor e
_STRIBECK_VELOCITIES = (0.02, 0.04, 0.08, 0.16)  # of a joint's highest speed
_SIGMOID_WIDTHS = (0.02, 0.04, 0.08, 0.16)  # of a joint's highest speed: inverse of the slope
_SIGMOID_SHIFTS = (-1.0, -0.5, 0.0, 0.5, 1.0)  # times the width


@dataclass(frozen=True)
class FrictionShape:
    """Parameters of a joint's friction in which its torque is not linear.

    All zero: viscous and Coulomb friction. With ``stribeck_velocity`` (rad/s or m/s) a static level, too; with
    ``sigmoid_slope`` (s/rad or s/m) and ``sigmoid_shift`` (rad/s or m/s) viscous friction and a sigmoid. The formulas
    are those of ``kernels/friction.py``.
    """

    stribeck_velocity: float = 0.0
    sigmoid_slope: float = 0.0
    sigmoid_shift: float = 0.0

    @property
    def used(self) -> tuple[bool, ...]:
        """True for each of COEFFICIENTS that this shape has."""
        dry = self.sigmoid_slope == 0.0
        return True, dry, dry, self.stribeck_velocity > 0.0, not dry


def friction_columns(rates: Array, shapes: Sequence[FrictionShape] | None = None) -> Array:
    """Return the torque (m, joints, 5) for a unit of each of COEFFICIENTS, at ``rates`` (m, joints).

    ``shapes``: one for each joint; by default viscous and Coulomb friction. Coefficients that a joint's shape lacks
    have columns of zeros.
    """
    columns = np.zeros((*rates.shape, len(COEFFICIENTS)))
    for j, shape in enumerate(shapes or [FrictionShape()] * rates.shape[1]):
        rate, falling = rates[:, j], np.zeros(len(rates))
        columns[:, j, 0] = rate
        if shape.sigmoid_slope > 0.0:
            slope, shift = shape.sigmoid_slope, shape.sigmoid_shift
            columns[:, j, 4] = expit(slope * (rate + shift)) - expit(slope * shift)
            continue
        if shape.stribeck_velocity > 0.0:
            falling = np.exp(-((rate / shape.stribeck_velocity) ** 2))
            columns[:, j, 3] = np.sign(rate) * falling
        columns[:, j, 1] = (rate > 0.0) * (1.0 - falling)
        columns[:, j, 2] = -1.0 * (rate < 0.0) * (1.0 - falling)
    return columns


def candidate_shapes(fastest: Array) -> Iterator[tuple[FrictionShape, ...]]:
    """Yield shapes beyond viscous and Coulomb friction, for joints with ``fastest`` (joints,) as highest speeds."""
    speeds = [float(speed) if speed > 0.0 else 1.0 for speed in fastest]
    for share in _STRIBECK_VELOCITIES:
        yield tuple(FrictionShape(stribeck_velocity=share * speed) for speed in speeds)
    for width in _SIGMOID_WIDTHS:
        for shift in _SIGMOID_SHIFTS:
            yield tuple(FrictionShape(0.0, 1.0 / (width * speed), shift * width * speed) for speed in speeds)


def nonlinear_friction(rates: Array, fastest: Array) -> Array:
    """Return the torque (m, joints, 3) of unit friction that is not linear in the speed.

    Its sizes are exp(-20 s), Stribeck's effect as an exponential (Armstrong-Helouvry, Dupont, Canudas de Wit,
    Automatica 1994), s^(1/2) and s^2, with the speed s as a share of ``fastest`` (joints,).
    """
    speeds = np.abs(rates) / np.where(fastest > 0.0, fastest, 1.0)
    sizes = np.stack([np.exp(-speeds / _SLOW), np.sqrt(speeds), speeds**2], axis=-1)
    return np.asarray(np.sign(rates)[:, :, np.newaxis] * sizes)


def at_rest(rates: Array, reach: int) -> NDArray[np.bool_]:
    """True (m, joints) if a joint stands still or reverses within ``reach`` samples.

    There dry friction is whatever holds the joint, and the filter smears the step of its reversal over its own
    length. Still is slower than 2 % of the joint's highest speed in ``rates`` (m, joints).
    """
    still: NDArray[np.bool_] = np.abs(rates) <= _STILL * np.abs(rates).max(axis=0, initial=0.0)
    still[1:] |= np.signbit(rates[1:]) != np.signbit(rates[:-1])
    if reach > 0:
        still = np.asarray(maximum_filter1d(still.astype(np.uint8), 2 * reach + 1, axis=0) > 0, dtype=np.bool_)
    return still
