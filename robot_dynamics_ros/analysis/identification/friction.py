"""Friction, linear in COEFFICIENTS viscous, coulomb, coulomb_negative, static, sigmoid: Craig (6.110)-(6.112)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d
from scipy.special import expit

from robot_dynamics_ros.dynamics.kernels.types import Array

COEFFICIENTS = ("viscous", "coulomb", "coulomb_negative", "static", "sigmoid")
"""Friction coefficients of a joint by their keys in the dynamics file; ``sigmoid`` is its amplitude."""

REST_SHARE = 0.02
"""Share of its highest speed up to which a joint counts as being at rest."""
_DECAY = 0.05  # of a joint's highest speed, over which friction falls by a factor e
_STRIBECK_VELOCITIES = (0.02, 0.04, 0.08, 0.16)  # of a joint's highest speed
_SIGMOID_WIDTHS = (0.02, 0.04, 0.08, 0.16)  # of a joint's highest speed: inverse of the slope
_SIGMOID_SHIFTS = (-1.0, -0.5, 0.0, 0.5, 1.0)  # times the width


@dataclass(frozen=True)
class FrictionShape:
    """Friction parameters of a joint on which its torque depends nonlinearly; all zero: viscous and Coulomb friction.

    ``stribeck_velocity`` w (rad/s or m/s) above 0 makes dry friction coulomb (1 - e) + static e at the velocity v, with
    e = exp(-(v/w)^2). ``sigmoid_slope`` a (s/rad or s/m) above 0 replaces it by sigmoid (s(a (v + d)) - s(a d)), with
    s(x) = 1 / (1 + exp(-x)) and ``sigmoid_shift`` d (rad/s or m/s).
    """

    stribeck_velocity: float = 0.0
    sigmoid_slope: float = 0.0
    sigmoid_shift: float = 0.0

    @property
    def used(self) -> tuple[bool, ...]:
        """True for each of the five COEFFICIENTS, in their order, that this shape has."""
        dry = self.sigmoid_slope == 0.0
        return True, dry, dry, self.stribeck_velocity > 0.0, not dry


def friction_columns(rates: Array, shapes: Sequence[FrictionShape] | None = None) -> Array:
    """Return each joint's friction torque (m, joints, 5) in Nm or N for a unit of each of COEFFICIENTS.

    ``rates`` (m, joints) are in rad/s or m/s. ``shapes`` has one for each joint; the default is viscous and Coulomb
    friction. Columns of coefficients that a shape lacks are zero.
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
    """Yield tuples with a candidate shape for each joint: with the Stribeck effect, then sigmoids.

    Stribeck velocities and widths of the sigmoids are 2 to 16 % of the highest speed of each joint, ``fastest``
    (joints,), rad/s or m/s; for a joint with the speed 0 they are those of the speed 1.
    """
    speeds = [float(speed) if speed > 0.0 else 1.0 for speed in fastest]
    for share in _STRIBECK_VELOCITIES:
        yield tuple(FrictionShape(stribeck_velocity=share * speed) for speed in speeds)
    for width in _SIGMOID_WIDTHS:
        for shift in _SIGMOID_SHIFTS:
            yield tuple(FrictionShape(0.0, 1.0 / (width * speed), shift * width * speed) for speed in speeds)


def nonlinear_friction(rates: Array, fastest: Array) -> Array:
    """Return three friction torques (m, joints, 3) of unit amplitude, signed as the velocity and nonlinear in it.

    Their magnitudes are exp(-20 s), an exponential Stribeck effect (Armstrong-Helouvry, Dupont, Canudas de Wit,
    Automatica 1994), s^(1/2) and s^2, where s = abs(rate) / fastest for ``rates`` (m, joints), ``fastest`` (joints,).
    """
    speeds = np.abs(rates) / np.where(fastest > 0.0, fastest, 1.0)
    sizes = np.stack([np.exp(-speeds / _DECAY), np.sqrt(speeds), speeds**2], axis=-1)
    return np.asarray(np.sign(rates)[:, :, np.newaxis] * sizes)


def at_rest(rates: Array, reach: int) -> NDArray[np.bool_]:
    """Return True (m, joints) where a joint is at rest or reverses up to ``reach`` samples before or after.

    Friction is undetermined there: it balances the load at rest, and the filter smears its step at a reversal. At rest
    means below 2 % of the joint's highest speed in ``rates`` (m, joints).
    """
    still: NDArray[np.bool_] = np.abs(rates) <= REST_SHARE * np.abs(rates).max(axis=0, initial=0.0)
    still[1:] |= np.signbit(rates[1:]) != np.signbit(rates[:-1])
    if reach > 0:
        still = np.asarray(maximum_filter1d(still.astype(np.uint8), 2 * reach + 1, axis=0) > 0, dtype=np.bool_)
    return still
