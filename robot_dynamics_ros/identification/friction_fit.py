"""Friction as columns of the regressor: it is linear in its coefficients, Craig (6.110)-(6.112)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d

from robot_dynamics_ros.kernels.layout import COULOMB, COULOMB_NEGATIVE, STATIC, VISCOUS
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel

KINDS = ("viscous_coulomb", "none", "keep")
"""What friction is identified: viscous and Coulomb by direction; none; none, but the model's own is known."""

COEFFICIENTS = ("viscous", "coulomb", "coulomb_negative")
"""The dynamics file's names of what is identified for each joint, in the order of the columns."""

_STILL = 0.02  # of a joint's highest speed: slower is as good as standing still


def friction_columns(rates: Array) -> Array:
    """Torque (m, joints, 3) of each joint for a unit of each of its COEFFICIENTS, at ``rates`` (m, joints).

    F(v) = viscous v + coulomb for v > 0, - coulomb_negative for v < 0: Craig (6.112), with a level for each direction.
    """
    return np.stack([rates, (rates > 0.0).astype(np.float64), -(rates < 0.0).astype(np.float64)], axis=-1)


def own_coefficients(model: RobotModel) -> Array:
    """The model's own COEFFICIENTS of its moving joints (joints, 3), in SI units."""
    table: Array = model.packed.friction[:, [VISCOUS, COULOMB, COULOMB_NEGATIVE]].copy()
    return table


def sticks(model: RobotModel, kind: str) -> NDArray[np.bool_]:
    """Which moving joints (joints,) have dry friction under ``kind``, so that their torque is not known at rest."""
    if kind == "viscous_coulomb":
        return np.ones(len(model.moving_joints), dtype=bool)
    if kind == "none":
        return np.zeros(len(model.moving_joints), dtype=bool)
    dry: NDArray[np.bool_] = np.any(model.packed.friction[:, [COULOMB, COULOMB_NEGATIVE, STATIC]] > 0.0, axis=1)
    return dry


def at_rest(rates: Array, reach: int) -> NDArray[np.bool_]:
    """Where (m, joints) a joint stands still or turns round within ``reach`` samples.

    There dry friction is whatever holds the joint, and the filter smears the step of its reversal over its own
    length. Still is slower than 2 % of the joint's highest speed in ``rates`` (m, joints).
    """
    still: NDArray[np.bool_] = np.abs(rates) <= _STILL * np.abs(rates).max(axis=0, initial=0.0)
    still[1:] |= np.signbit(rates[1:]) != np.signbit(rates[:-1])
    if reach > 0:
        still = np.asarray(maximum_filter1d(still.astype(np.uint8), 2 * reach + 1, axis=0) > 0, dtype=np.bool_)
    return still
