"""Limits of the coordinates, from those of all moving joints: positions, rates, efforts, and full turns.

A joint that follows one coordinate alone, q_joint = factor q + offset, limits this coordinate. A joint that depends on
several coordinates, for example of a differential wrist, has a row of its own: lower <= factors q + offset <= upper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.base.errors import RobotModelError
from robot_dynamics_ros.dynamics.description.couplings import Couplings
from robot_dynamics_ros.dynamics.description.urdf import Joint
from robot_dynamics_ros.dynamics.kernels.types import Array

LOWER, UPPER, SOFT_LOWER, SOFT_UPPER, VELOCITY = range(5)
# signed limits are tighter if they are smaller
_SIGNS = np.array([-1.0, 1.0, -1.0, 1.0, 1.0])


@dataclass(frozen=True)
class LimitRows:
    """Limits of the motion of all moving joints: K rows, the n coordinates and then joints that depend on several.

    Arrays are read-only. Units are rad or m, and per s.

    Attributes
    ----------
    names
        Names of the K rows: those of the coordinates, then those of limited joints that depend on several.
    limits
        (5, K): lower and upper position limit, lower and upper soft limit, and velocity limit; infinite if there is
        none.
    owners
        Name of the joint that each limit belongs to, in the shape of ``limits``.
    factors, offsets
        (K - n, n) and (K - n,): the positions of the last rows are ``factors`` q + ``offsets``.
    """

    names: tuple[str, ...]
    limits: Array
    owners: tuple[tuple[str, ...], ...]
    factors: Array
    offsets: Array

    @property
    def has_sums(self) -> bool:
        """True if there are rows of joints that depend on several coordinates."""
        return len(self.offsets) > 0

    def positions(self, q: Array) -> Array:
        """Return the positions (..., K) of the rows at ``q`` (..., n); ``q`` itself if K is n."""
        return (
            np.concatenate([q, q @ self.factors.T + self.offsets], axis=-1)
            if self.has_sums
            else q
        )

    def rates(self, qd: Array) -> Array:
        """Return the rates (..., K) of the rows for the rates ``qd`` (..., n); ``qd`` itself if K is n."""
        return (
            np.concatenate([qd, qd @ self.factors.T], axis=-1) if self.has_sums else qd
        )

    def largest(self, values: Array) -> Array:
        """Return the largest magnitudes (K,) of the rows for magnitudes of the coordinates up to ``values`` (n,)."""
        if not self.has_sums:
            return values
        parts = np.multiply(
            np.abs(self.factors),
            values,
            out=np.zeros_like(self.factors),
            where=self.factors != 0.0,
        )
        return np.concatenate([values, parts.sum(axis=1)])

    def nearest(self, x: Array, low: Array, high: Array, passes: int = 10_000) -> Array:
        """Return a vector (n,) near ``x`` (n,) whose rows, without ``offsets``, are from ``low`` to ``high`` (K,).

        By up to ``passes`` alternating projections: one for orthogonal rows, many for almost parallel ones.
        """
        n = len(x)
        for _ in range(passes):
            x = np.minimum(np.maximum(x, low[:n]), high[:n])
            if not self.has_sums:
                break
            rest = self.factors @ x
            beyond = rest - np.minimum(np.maximum(rest, low[n:]), high[n:])
            if not (np.abs(beyond) > 1e-12 * (1.0 + np.abs(rest))).any():
                break
            for row, least, most in zip(self.factors, low[n:], high[n:], strict=True):
                value = row @ x
                x = x - (value - min(max(value, least), most)) / (row @ row) * row
        return x

    def within(self, q: Array) -> Array:
        """Return positions (n,) within the position limits, near ``q`` (n,)."""
        shift = np.concatenate([np.zeros(len(q)), self.offsets])
        return self.nearest(q, self.limits[LOWER] - shift, self.limits[UPPER] - shift)

    def owner_note(self, limit: int, row: int) -> str:
        """Return text for messages that names the joint with a limit, in parentheses after a space.

        It is empty if the limit is the row's own. ``limit`` is LOWER to VELOCITY, ``row`` the index of the row.
        """
        owner = self.owners[limit][row]
        return (
            ""
            if owner == self.names[row]
            else f' (of joint "{owner}", which follows it)'
        )


@dataclass(frozen=True)
class JointLimits:
    """Limits of the n coordinates and of the moving joints, read-only and infinite if there is none.

    Units are rad or m, per s, s^2 and s^3, and Nm or N.

    Attributes
    ----------
    rows
        Position and velocity limits of all moving joints, as limits of the coordinates and of their sums.
    effort
        (n,): effort limits of the independent joints, and for named coordinates the largest effort of the joints that
        they move.
    rates
        (3, n): limits of acceleration, deceleration and jerk of the coordinates, with those of joints that follow one
        coordinate alone.
    joints
        (moving joints, 3): lower and upper position limit of the moving joints, minus the offset of coupled ones, and
        velocity limit.
    continuous
        (n,): True for URDF joints of type continuous that no other joint follows, for which q and q + 2 pi are the
        same configuration.
    """

    rows: LimitRows
    effort: Array
    rates: Array
    joints: Array
    continuous: NDArray[np.bool_]


def joint_limits(
    moving: Sequence[Joint], couplings: Couplings, source: str
) -> JointLimits:
    """Return the limits of the ``moving`` joints and of their coordinates; ``source`` is the beginning of messages.

    Raises RobotModelError, naming the joints, if position limits exclude each other.
    """
    return JointLimits(
        _limit_rows(moving, couplings, source),
        _effort_limits(moving, couplings),
        _rate_limits(moving, couplings),
        _without_offsets(moving, couplings),
        _continuous(moving, couplings),
    )


def _limit_rows(
    moving: Sequence[Joint], couplings: Couplings, source: str
) -> LimitRows:
    names = couplings.names
    limits = np.tile(
        [-math.inf, math.inf, -math.inf, math.inf, math.inf], (len(names), 1)
    )
    owners = [[name] * 5 for name in names]
    sums: list[tuple[str, Array, float]] = []
    # a coordinate's own limits first
    for joint in sorted(moving, key=lambda joint: joint.name not in names):
        row = couplings.rows[joint.name]
        own = _limits(joint)
        if len(row.factors) > 1:
            if np.isfinite(own).any():
                sums.append(
                    (
                        joint.name,
                        np.array([row.factors.get(name, 0.0) for name in names]),
                        row.offset,
                    )
                )
                limits = np.vstack([limits, own])
                owners = [*owners, [joint.name] * 5]
            continue
        ((name, factor),) = row.factors.items()
        j = names.index(name)
        own = _of_coordinate(own, factor, row.offset)
        for k in np.flatnonzero(_SIGNS * own < _SIGNS * limits[j]).tolist():
            limits[j, k] = own[k]
            owners[j][k] = joint.name
    rows = LimitRows(
        (*names, *(name for name, _, _ in sums)),
        limits.T.copy(),
        tuple(zip(*owners, strict=True)),
        np.array([factors for _, factors, _ in sums]).reshape(-1, len(names)),
        np.array([offset for _, _, offset in sums]),
    )
    _refuse_empty(rows, source)
    return rows


def _limits(joint: Joint) -> Array:
    return np.array(
        [joint.lower, joint.upper, joint.soft_lower, joint.soft_upper, joint.velocity]
    )


def _of_coordinate(limits: Array, factor: float, offset: float) -> Array:
    """Return the limits (5,) of a coordinate from those of a joint at ``factor`` times its position plus ``offset``."""
    with np.errstate(over="ignore"):
        position = (limits[:VELOCITY] - offset) / factor
        speed = limits[VELOCITY] / abs(factor)
    return np.append(
        position if factor > 0.0 else position[[UPPER, LOWER, SOFT_UPPER, SOFT_LOWER]],
        speed,
    )


_EXCLUDED = (
    "their position limits exclude each other by their coupling. "
    "Cure: correct the limits, or the factors and offsets of <mimic> or couplings"
)


def _refuse_empty(rows: LimitRows, source: str) -> None:
    """Raise RobotModelError if limits of one coordinate exclude each other, or the limits of coordinates a sum."""
    n = rows.factors.shape[1]
    limits = rows.limits
    for lower, upper in ((LOWER, UPPER), (SOFT_LOWER, SOFT_UPPER)):
        for j in np.flatnonzero(limits[lower] > limits[upper]).tolist():
            joints = f'joints "{rows.owners[lower][j]}" and "{rows.owners[upper][j]}"'
            raise RobotModelError(f"{source}: {joints}: {_EXCLUDED}")
    for factors, offset, name, low, high in zip(
        rows.factors,
        rows.offsets,
        rows.names[n:],
        limits[LOWER, n:],
        limits[UPPER, n:],
        strict=True,
    ):
        used = np.flatnonzero(factors)
        ends = (
            np.sort(factors[used] * limits[: UPPER + 1, used], axis=0).sum(axis=1)
            + offset
        )
        if ends[0] > high or ends[1] < low:
            joints = ", ".join(
                f'"{joint}"' for joint in (name, *(rows.names[j] for j in used))
            )
            raise RobotModelError(f"{source}: joints {joints}: {_EXCLUDED}")


def _effort_limits(moving: Sequence[Joint], couplings: Couplings) -> Array:
    """Return the effort limits (n,): of the joint, and for a named coordinate the largest effort of its joints.

    By virtual work the joints' efforts add up to sum of factor times effort, at most sum of |factor| times limit.
    """
    limits = {joint.name: joint.effort for joint in moving}
    for name in couplings.names:
        if name not in limits:
            factors = (couplings.rows[joint.name].factors for joint in moving)
            limits[name] = sum(
                abs(row[name]) * joint.effort
                for row, joint in zip(factors, moving, strict=True)
                if name in row
            )
    return np.array([limits[name] for name in couplings.names])


def _rate_limits(moving: Sequence[Joint], couplings: Couplings) -> Array:
    """Return the limits of acceleration, deceleration and jerk (3, n) of coordinates that one joint alone follows.

    That is also the joint itself. A joint that follows several coordinates does not limit them.
    """
    limits = np.full((3, len(couplings.names)), math.inf)
    for joint in moving:
        factors = couplings.rows[joint.name].factors
        if len(factors) == 1:
            ((name, factor),) = factors.items()
            own = np.array([joint.acceleration, joint.deceleration, joint.jerk]) / abs(
                factor
            )
            j = couplings.names.index(name)
            limits[:, j] = np.minimum(limits[:, j], own)
    return limits


def _without_offsets(moving: Sequence[Joint], couplings: Couplings) -> Array:
    """Return position and velocity limits (moving joints, 3); positions in kernels are without offsets."""
    offsets = [couplings.rows[joint.name].offset for joint in moving]
    return np.array(
        [
            (joint.lower - offset, joint.upper - offset, joint.velocity)
            for joint, offset in zip(moving, offsets, strict=True)
        ]
    )


def _continuous(moving: Sequence[Joint], couplings: Couplings) -> NDArray[np.bool_]:
    kinds = {joint.name: joint.kind for joint in moving}
    followed = [couplings.rows[joint.name].factors for joint in moving]
    # A full turn of a joint that others follow changes the configuration.
    return np.array(
        [
            kinds.get(name) == "continuous"
            and sum(name in row for row in followed) == 1
            for name in couplings.names
        ]
    )
