"""Friction and limits for the event method: what acts between two events, and who moves after one.

It shares nothing with stick_slip.py and the friction kernels, so that each can tell whether the other is right.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.layout import (
    COULOMB,
    COULOMB_NEGATIVE,
    RIPPLE_AMPLITUDE,
    RIPPLE_PER_TURN,
    RIPPLE_PHASE,
    SIGMOID_AMPLITUDE,
    SIGMOID_SHIFT,
    SIGMOID_SLOPE,
    STATIC,
    STRIBECK_VELOCITY,
    VISCOUS,
)
from robot_dynamics_ros.kernels.types import Array

Flags = NDArray[np.bool_]

# Relative rounding of a force that still counts as inside its bounds.
_ROUNDING = 1e-13
_MOST_PIVOTS = 10_000


class EventFriction:
    """The friction of n joints from their table (n, 11): the laws that kernels/friction.py names."""

    def __init__(self, table: Array) -> None:
        self._table = table
        self._levels = table[:, COULOMB], table[:, COULOMB_NEGATIVE]
        self._has_stribeck: Flags = table[:, STRIBECK_VELOCITY] > 0.0
        self._stribeck = np.where(self._has_stribeck, table[:, STRIBECK_VELOCITY], 1.0)
        self.dry: Flags = table[:, [COULOMB, COULOMB_NEGATIVE, STATIC, RIPPLE_AMPLITUDE]].max(axis=1) > 0.0

    def smooth(self, v: Array) -> Array:
        """The torque (n,) that viscous and sigmoid friction take; 1 / (1 + exp(-x)) = (1 + tanh(x / 2)) / 2."""
        slope, shift = self._table[:, SIGMOID_SLOPE], self._table[:, SIGMOID_SHIFT]
        rise = 0.5 * (np.tanh(0.5 * slope * (v + shift)) - np.tanh(0.5 * slope * shift))
        total: Array = self._table[:, VISCOUS] * v + self._table[:, SIGMOID_AMPLITUDE] * rise
        return total

    def at_rest(self, q: Array) -> tuple[Array, Array]:
        """The most (n,) that friction can take from a joint at rest, against forward and backward motion."""
        still = np.ones_like(q)
        return self._grip(self._levels[0], still, q), self._grip(self._levels[1], still, q)

    def starting(self, q: Array) -> tuple[Array, Array]:
        """What it takes just after the start: less than at rest where the static level has no Stribeck velocity."""
        fade = self._has_stribeck.astype(np.float64)
        return self._grip(self._levels[0], fade, q), self._grip(self._levels[1], fade, q)

    def sliding(self, q: Array, v: Array, direction: Array) -> Array:
        """The torque (n,) that dry friction takes from joints that slide in these directions (n,); 0: none."""
        fade = np.where(self._has_stribeck, np.exp(-((v / self._stribeck) ** 2)), 0.0)
        total: Array = direction * self._grip(np.where(direction > 0.0, *self._levels), fade, q)
        return total

    def _grip(self, level: Array, fade: Array, q: Array) -> Array:
        t = self._table
        ripple = t[:, RIPPLE_AMPLITUDE] * np.sin(t[:, RIPPLE_PER_TURN] * q + t[:, RIPPLE_PHASE])
        size: Array = np.maximum(level + fade * np.maximum(t[:, STATIC] - level, 0.0) + ripple, 0.0)
        return size


def move(matrix: Array, load: Array, moving: Flags) -> tuple[Array, Array]:
    """Acceleration (n,) where only the ``moving`` joints (n,) move, and the force (n,) that holds the others."""
    acceleration = np.zeros_like(load)
    acceleration[moving] = np.linalg.solve(matrix[moving][:, moving], load[moving])
    return acceleration, np.where(moving, 0.0, matrix @ acceleration - load)


def settle(matrix: Array, load: Array, rest: Flags, lowest: Array, highest: Array) -> tuple[Array, Flags]:
    """Return the acceleration (n,), exactly 0 for joints that stay at rest, and which joints (n,) move.

    The acceleration a minimises 1/2 a^T M a - a^T load + sum of grip+_j max(a_j, 0) + grip-_j max(-a_j, 0) over
    the joints at rest: M a = load + force with lowest = -grip+ <= force <= highest = grip-, the force at its
    lowest where a_j > 0 and at its highest where a_j < 0. A position limit makes one bound infinite. The
    solution is the only one.

    Murty's least-index principal pivoting with two bounds (Judice and Pires 1994): guess who moves and which
    way, solve, let the first joint that cannot do so do otherwise, repeat. It ends for every positive
    definite matrix.

    Parameters
    ----------
    matrix
        M (n, n), positive definite.
    load
        Shape (n,), Nm or N; the friction of sliding joints is in it.
    rest
        Shape (n,): joints at rest; the others are free to move.
    lowest, highest
        Bounds (n,) of the forces on the joints at rest.

    Raises
    ------
    RobotDynamicsError
        Where it finds no end because of rounding.
    """
    holds, forward, backward, free = 0, 1, -1, 2
    guess = np.where(rest, holds, free)
    for _ in range(_MOST_PIVOTS):
        bound = np.select([guess == forward, guess == backward], [lowest, highest], 0.0)
        acceleration, force = move(matrix, load + bound, guess != holds)
        size = _ROUNDING * (np.abs(matrix) @ np.abs(acceleration) + np.abs(load + bound))
        cannot = np.where(
            guess == holds,
            np.maximum(force - highest, lowest - force) > size,
            (guess != free) & (guess * acceleration * np.diagonal(matrix) < -size),
        )
        if not cannot.any():
            return acceleration, guess != holds
        first = int(np.argmax(cannot))
        if guess[first] != holds:
            guess[first] = holds
        else:
            guess[first] = backward if force[first] > highest[first] else forward
    raise RobotDynamicsError(
        "it cannot be told which joints stick: the mass matrix is close to singular. "
        "Cure: check the masses and inertias of the links"
    )
