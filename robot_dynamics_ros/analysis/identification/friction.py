"""Friction, linear in its COEFFICIENTS, which are keys of the dynamics file: kernels/friction.py has the laws."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_opening, maximum_filter1d
from scipy.special import expit

from robot_dynamics_ros.dynamics.kernels.types import Array

COEFFICIENTS = (
    "viscous", "coulomb", "coulomb_negative", "static", "sigmoid", "quadratic", "cubic", "load_coefficient"
)  # fmt: skip
"""Friction coefficients of a joint by their keys in the dynamics file; ``sigmoid`` is its amplitude."""
FORWARDS, BACKWARDS, STATIC, LOAD = map(
    COEFFICIENTS.index, ("coulomb", "coulomb_negative", "static", "load_coefficient")
)
"""Indices of these in COEFFICIENTS."""

REST_SHARE = 0.02
"""Share of its highest speed up to which a joint counts as being at rest."""
_SIGNLESS = 3e-4  # of a joint's highest speed: noise may reverse a lower one
_STICKING = 1.5  # of the time that a reversal takes
_DECAY = 0.05  # of a joint's highest speed, over which friction falls by a factor e
_STRIBECK_VELOCITIES = (0.02, 0.04, 0.08, 0.16)  # of a joint's highest speed
# of a joint's highest speed: inverse of the slope
_SIGMOID_WIDTHS = (0.02, 0.04, 0.08, 0.16)
_SIGMOID_SHIFTS = (-0.5, 0.0, 0.5)  # times the width


@dataclass(frozen=True)
class FrictionShape:
    """Friction parameters of a joint on which its torque depends nonlinearly; by default: viscous and Coulomb friction.

    ``stribeck_velocity`` w (rad/s or m/s) above 0 makes dry friction coulomb (1 - e) + static e at the velocity v, with
    e = exp(-(v/w)^2). ``sigmoid_slope`` a (s/rad or s/m) above 0 adds sigmoid (s(a (v + d)) - s(a d)), with
    s(x) = 1 / (1 + exp(-x)) and ``sigmoid_shift`` d (rad/s or m/s). ``load`` adds load_coefficient |load| to
    dry friction, which grows at rest in the ratio of the static to the Coulomb level. ``quadratic`` and ``cubic`` add
    friction in proportion to v |v| and v^3. Without ``coulomb``, which ``load`` needs, its level is 0.
    """

    stribeck_velocity: float = 0.0
    sigmoid_slope: float = 0.0
    sigmoid_shift: float = 0.0
    quadratic: bool = False
    cubic: bool = False
    load: bool = False
    coulomb: bool = True

    def scaled(self, factor: float) -> FrictionShape:
        """Return the shape whose velocities are larger by ``factor``."""
        velocity = factor * self.stribeck_velocity
        shift = factor * self.sigmoid_shift
        return replace(
            self,
            stribeck_velocity=velocity,
            sigmoid_slope=self.sigmoid_slope / factor,
            sigmoid_shift=shift,
        )

    @property
    def nonlinear(self) -> bool:
        """True if friction depends on the load, or has a velocity as a parameter."""
        return self.load or self.stribeck_velocity > 0.0 or self.sigmoid_slope > 0.0

    @property
    def used(self) -> tuple[bool, ...]:
        """True for each of COEFFICIENTS, in their order, that this shape has."""
        return (
            True,
            self.coulomb,
            self.coulomb,
            self.stribeck_velocity > 0.0,
            self.sigmoid_slope > 0.0,
            self.quadratic,
            self.cubic,
            self.load,
        )


def friction_columns(
    rates: Array, shapes: Sequence[FrictionShape] | None = None
) -> Array:
    """Return each joint's friction torque (m, joints, 8) in Nm or N for a unit of each of COEFFICIENTS and of the load.

    ``rates`` (m, joints) are in rad/s or m/s. ``shapes`` has one for each joint; the default is viscous and Coulomb
    friction. Columns of coefficients that a shape lacks are zero.
    """
    columns = np.zeros((*rates.shape, len(COEFFICIENTS)))
    for j, shape in enumerate(shapes or [FrictionShape()] * rates.shape[1]):
        rate = rates[:, j]
        falling = np.zeros(len(rates))
        if shape.stribeck_velocity > 0.0:
            falling = np.exp(-((rate / shape.stribeck_velocity) ** 2))
        slope = shape.sigmoid_slope
        shift = shape.sigmoid_shift
        by_coefficient = (
            rate,
            (rate > 0.0) * (1.0 - falling),
            -1.0 * (rate < 0.0) * (1.0 - falling),
            np.sign(rate) * falling,
            expit(slope * (rate + shift)) - expit(slope * shift),
            rate * np.abs(rate),
            rate**3,
            np.sign(rate),
        )
        columns[:, j] = np.stack(by_coefficient, axis=1) * shape.used
    return columns


def extended_shapes(
    shape: FrictionShape, fastest: float, loadable: bool
) -> Iterator[FrictionShape]:
    """Yield the shape of a joint with one more term, or unchanged if it has this term; the same terms for all joints.

    The terms are dependence on the load, if the joint is ``loadable``, v |v|, v^3, the Stribeck effect, and a sigmoid,
    which may replace Coulomb friction. Stribeck velocities and widths of the sigmoids are 2 to 16 % of the joint's
    highest speed, ``fastest``, rad/s or m/s; for the speed 0 they are those of the speed 1.
    """
    speed = fastest or 1.0
    yield replace(shape, load=loadable, coulomb=shape.coulomb or loadable)
    yield replace(shape, quadratic=True)
    yield replace(shape, cubic=True)
    for share in _STRIBECK_VELOCITIES:
        velocity = shape.stribeck_velocity or share * speed
        yield replace(shape, stribeck_velocity=velocity)
    for share, shift, coulomb in itertools.product(
        _SIGMOID_WIDTHS, _SIGMOID_SHIFTS, (True, False)
    ):
        width = share * speed
        yield (
            shape
            if shape.sigmoid_slope > 0.0
            else replace(
                shape,
                sigmoid_slope=1.0 / width,
                sigmoid_shift=shift * width,
                coulomb=coulomb or shape.load,
            )
        )


def nonlinear_friction(rates: Array, fastest: Array) -> Array:
    """Return three friction torques (m, joints, 3) of unit amplitude, signed as the velocity and nonlinear in it.

    Their magnitudes are exp(-20 s), an exponential Stribeck effect (Armstrong-Helouvry, Dupont, Canudas de Wit,
    Automatica 1994), s^(1/2) and s^2, where s = abs(rate) / fastest for ``rates`` (m, joints), ``fastest`` (joints,).
    """
    speeds = np.abs(rates) / np.where(fastest > 0.0, fastest, 1.0)
    sizes = np.stack([np.exp(-speeds / _DECAY), np.sqrt(speeds), speeds**2], axis=-1)
    return np.asarray(np.sign(rates)[:, :, np.newaxis] * sizes)


def at_rest(
    rates: Array, accelerations: Array, dt: float, reach: int
) -> NDArray[np.bool_]:
    """Return True (m, joints) where a joint is at rest up to ``reach`` samples before or after.

    Friction is undetermined there, since it balances the load. At rest means below 2 % of the joint's highest speed in
    ``rates`` (m, joints), for 1.5 times as long as a reversal takes at its RMS acceleration: less is a reversal without
    sticking. A sample below 0.03 % counts too, since noise may reverse its sign. ``accelerations`` (m, joints) are
    those of the joints, ``dt`` (s) is the time between samples.
    """
    fastest = np.abs(rates).max(axis=0, initial=0.0)
    slow = REST_SHARE * fastest
    signless = np.abs(rates) < _SIGNLESS * fastest
    still = np.abs(rates) <= slow
    typical = np.sqrt(np.square(accelerations).mean(axis=0))
    for j in np.flatnonzero(typical > 0.0):
        reversal = 2.0 * slow[j] / (typical[j] * dt)
        shortest = max(1, math.ceil(min(_STICKING * reversal, len(rates) + 1)))
        still[:, j] = binary_opening(still[:, j], np.ones(shortest, dtype=np.bool_))
    return near(still | signless, reach)


def near(marked: NDArray[np.bool_], reach: int) -> NDArray[np.bool_]:
    """Return True (m, joints) up to ``reach`` samples before or after a True in ``marked`` (m, joints)."""
    return np.asarray(
        maximum_filter1d(marked.astype(np.uint8), 2 * reach + 1, axis=0) > 0,
        dtype=np.bool_,
    )
