"""Friction, linear in its COEFFICIENTS, which are keys of the dynamics file: kernels/friction.py has the law."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_opening, maximum_filter1d

from robot_dynamics_ros.analysis.thresholds import (
    FRICTION_DECAY,
    REST_SPEED_SHARE,
    SIGNLESS_SPEED,
    STICKING_TIME,
)
from robot_dynamics_ros.base.statistics import root_mean_square
from robot_dynamics_ros.dynamics.kernels import entries, friction, layout
from robot_dynamics_ros.dynamics.kernels.friction import (
    FRICTION_PARAMETERS,
    FrictionParameter,
)
from robot_dynamics_ros.dynamics.kernels.types import Array

_COULOMB = [friction.COULOMB, friction.COULOMB_NEGATIVE]
_PLAIN = [friction.VISCOUS, *_COULOMB]
IDENTIFIED = sorted(x for x in FRICTION_PARAMETERS if x.column in _PLAIN or x.tried)
"""Parameters with a column in ``friction_columns``."""
COEFFICIENTS = tuple(parameter.group for parameter in IDENTIFIED)
"""Friction coefficients of a joint by their keys in the dynamics file; ``sigmoid`` is its amplitude."""
COLUMNS = [parameter.column for parameter in IDENTIFIED]
"""Columns of COEFFICIENTS in the friction table."""
FORWARDS, BACKWARDS, STATIC, LOAD, SIGMOID = map(
    COEFFICIENTS.index,
    ("coulomb", "coulomb_negative", "static", "load_coefficient", "sigmoid"),
)
"""Indices of these in COEFFICIENTS."""
# exponent of the velocity in a parameter, by its unit
_EXPONENTS = {"rad/s, m/s": 1, "s/rad, s/m": -1}
_POWERS = [_EXPONENTS.get(x.unit, 0) for x in sorted(FRICTION_PARAMETERS)]

_COUNT = len(COEFFICIENTS)
TERMS = [[parameter.column for parameter in term.parameters] for term in friction.TERMS]
"""Columns of the friction table by term; torques of a term depend on its own parameters only."""


@lru_cache
def _free_joints(count: int) -> tuple[NDArray[np.int64], Array]:
    """Return model arrays of ``count`` joints without mass, each with its own coordinate."""
    each = np.arange(count)
    arrays = layout.ModelArrays(
        np.stack([-np.ones_like(each), np.zeros_like(each), each, each + 1], axis=1),
        each,
        np.ones(count),
        np.zeros((count, layout.BODY_SIZE)),
        np.zeros((0, layout.ROTOR_SIZE)),
        np.zeros(3),
    )
    return layout.pack(arrays, count)


_DEFAULT = tuple(float(k in _PLAIN) for k in range(friction.FRICTION_SIZE))


@dataclass(frozen=True)
class FrictionShape:
    """Terms of a joint's friction, with the parameters on which its torque depends nonlinearly.

    By default: viscous and Coulomb friction. ``row`` (FRICTION_SIZE,) is a row of the friction table with 1
    for each of COEFFICIENTS that friction has; dependence on the load, which needs Coulomb friction, has one
    coefficient for both directions of the power. With ``directions`` each direction of motion has its own Coulomb
    level, and the effort of the joint no offset: their torques are the same.
    """

    row: tuple[float, ...] = _DEFAULT
    directions: bool = False

    def having(self, values: Mapping[int, float]) -> FrictionShape:
        """Return the shape with these values in columns of its row."""
        row = tuple(values.get(k, x) for k, x in enumerate(self.row))
        return replace(self, row=row)

    def scaled(self, factor: float) -> FrictionShape:
        """Return the shape whose velocities are larger by ``factor``."""
        scaled = (x * factor**p for x, p in zip(self.row, _POWERS, strict=True))
        return replace(self, row=tuple(scaled))

    def without(self, parameter: FrictionParameter) -> FrictionShape:
        """Return the shape without one of IDENTIFIED, and with the default of the parameters that it was tried with.

        A shape without the parameter is unchanged.
        """
        changed = {parameter.column}.union(*parameter.tried)
        has = self.row[parameter.column] > 0.0
        return self.having({k: _DEFAULT[k] for k in changed if has})

    @property
    def used(self) -> tuple[bool, ...]:
        """True for each of COEFFICIENTS, in their order, that this shape has."""
        return tuple(self.row[column] > 0.0 for column in COLUMNS)

    @property
    def unevenness(self) -> float:
        """Half the difference of the levels of a sigmoid of unit amplitude; 0 with ``directions``.

        It looks like an offset. Columns of friction are without it, and levels of Coulomb friction compensate for it.
        """
        if self.directions:
            return 0.0
        argument = self.row[friction.SIGMOID_SLOPE] * self.row[friction.SIGMOID_SHIFT]
        return float(friction.logistic(argument)) - 0.5

    @property
    def nonlinear(self) -> bool:
        """True if friction depends on the load, or has a velocity as a parameter."""
        return self.used[LOAD] or self.scaled(2.0) != self


NO_DRY_FRICTION = dict.fromkeys([*_COULOMB, friction.LOAD_COEFFICIENT], 0.0)
"""Values of a shape without Coulomb friction and dependence on the load."""


Form = frozenset[str]
"""Values of FORM_TERMS: further COEFFICIENTS, "directions", and "auto" if terms are chosen from the data."""
FORM_TERMS = {"load": "load_coefficient", "stribeck": "static"} | {
    name: name for name in ("sigmoid", "quadratic", "cubic", "directions", "auto")
}
"""Terms beside viscous and Coulomb friction by their names in --friction."""


def friction_columns(
    rates: Array,
    shapes: Sequence[FrictionShape] | None = None,
    kinds: Iterable[int] = range(_COUNT),
) -> Array:
    """Return each joint's friction torque (m, joints, c) in Nm or N for a unit of each of COEFFICIENTS and of the load.

    ``rates`` (m, joints) are in rad/s or m/s. ``shapes`` has one for each joint; the default is viscous and Coulomb
    friction. Columns of coefficients that a shape lacks, and that are not of ``kinds``, are zero.
    """
    columns = np.zeros((*rates.shape, _COUNT))
    for j, shape in enumerate(shapes or [FrictionShape()] * rates.shape[1]):
        used = [k for k in kinds if shape.used[k]]
        if not used:
            continue
        table = np.tile(shape.row, (_COUNT, 1))
        table[:, COLUMNS] *= np.eye(_COUNT)
        table[LOAD, friction.LOAD_COEFFICIENT_BACKDRIVING] = 1.0
        # A Coulomb level reduces the excess of the static level: its column is the difference that it makes.
        table[[FORWARDS, BACKWARDS], friction.STATIC] = 1.0
        chosen = [*used, STATIC]
        rate = np.repeat(rates[:, [j]], len(chosen), axis=1)
        unit = np.empty_like(rate)
        load = np.ones_like(rate)
        joints = _free_joints(len(chosen))
        entries.friction_batch(*joints, table[chosen], 0.0, rate, rate, load, unit)
        columns[:, j, used] = unit[:, :-1]
        dry = [k for k in used if k in (FORWARDS, BACKWARDS)]
        columns[:, j, dry] -= unit[:, -1:]
        if SIGMOID in used:
            columns[:, j, SIGMOID] += shape.unevenness
    return columns


def extended_shapes(
    shape: FrictionShape, fastest: float, loadable: bool, form: Form
) -> Iterator[FrictionShape]:
    """Yield the shape of a joint with one more term, or unchanged if it has it, or if it is not of the ``form``.

    The order of the terms is the same for all joints.

    The terms are those of IDENTIFIED with the values that they list, for the joint's highest speed, ``fastest``, rad/s
    or m/s; for the speed 0 they are those of the speed 1. Dependence on the load is for a ``loadable`` joint.
    """
    speed = fastest or 1.0
    for parameter in IDENTIFIED:
        has = shape.row[parameter.column] > 0.0
        motor = loadable or parameter.column != friction.LOAD_COEFFICIENT
        for tried in parameter.tried:
            values = {k: x * speed ** _POWERS[k] for k, x in tried.items()}
            extended = shape.having({parameter.column: 1.0, **values})
            # Dependence on the load needs Coulomb friction, and so do the two levels of a shifted sigmoid.
            possible = extended.used[FORWARDS] or not shape.used[LOAD]
            possible &= extended.used[FORWARDS] or extended.unevenness == 0.0
            possible &= "auto" in form or parameter.group in form
            yield extended if motor and possible and not has else shape


def nonlinear_friction(rates: Array, fastest: Array) -> Array:
    """Return three friction torques (m, joints, 3) of unit amplitude, signed as the velocity and nonlinear in it.

    Their magnitudes are exp(-20 s), an exponential Stribeck effect (Armstrong-Helouvry, Dupont, Canudas de Wit,
    Automatica 1994), s^(1/2) and s^2, where s = abs(rate) / fastest for ``rates`` (m, joints), ``fastest`` (joints,).
    """
    speeds = np.abs(rates) / np.where(fastest > 0.0, fastest, 1.0)
    sizes = np.stack(
        [np.exp(-speeds / FRICTION_DECAY), np.sqrt(speeds), speeds**2], axis=-1
    )
    return np.asarray(np.sign(rates)[:, :, None] * sizes)


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
    slow = REST_SPEED_SHARE * fastest
    signless = np.abs(rates) < SIGNLESS_SPEED * fastest
    still = np.abs(rates) <= slow
    typical = root_mean_square(accelerations)
    for j in np.flatnonzero(typical > 0.0):
        reversal = 2.0 * slow[j] / (typical[j] * dt)
        shortest = max(1, math.ceil(min(STICKING_TIME * reversal, len(rates) + 1)))
        still[:, j] = binary_opening(still[:, j], np.ones(shortest, dtype=np.bool_))
    return near(still | signless, reach)


def near(marked: NDArray[np.bool_], reach: int) -> NDArray[np.bool_]:
    """Return True (m, joints) up to ``reach`` samples before or after a True in ``marked`` (m, joints)."""
    return np.asarray(
        maximum_filter1d(marked.astype(np.uint8), 2 * reach + 1, axis=0) > 0,
        dtype=np.bool_,
    )
