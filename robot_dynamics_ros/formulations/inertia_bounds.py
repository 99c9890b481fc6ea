"""Bounds on the inertia matrix over the joint ranges, Spong (9.119)-(9.120): lambda_m I <= M(q) <= lambda_M I.

The two constants are found numerically: many positions, then descent with exact derivatives from the best of them.
That is an estimate from inside: each is attained at a position that is reported, and one further out may be missed.
What is guaranteed is ``InertiaBounds.guaranteed_upper``: nothing in the ranges exceeds it, but it is crude.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.optimize
from numpy.typing import ArrayLike

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.formulations.lagrange_link_jacobians import inertia_matrix_derivatives
from robot_dynamics_ros.formulations.link_tree import BASE, LinkTree
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel


@dataclass(frozen=True, eq=False)
class InertiaBounds:
    """Constants of Spong (9.120): lower |x|^2 <= x^T M(q) x <= upper |x|^2, in the units of M.

    Where some joints turn and others slide, the units of M differ by entry, and so the numbers depend on rad and m.

    Attributes
    ----------
    lower, upper
        The least and the greatest eigenvalue that was found. In norms: |M| <= upper, |M^-1| <= 1 / lower.
    lower_at, upper_at
        (n,): the positions where M has them.
    guaranteed_upper
        No position in the ranges has a greater eigenvalue; never below ``upper``.
    """

    lower: float
    upper: float
    lower_at: Array
    upper_at: Array
    guaranteed_upper: float


def eigenvalue_range(model: RobotModel, q: ArrayLike) -> tuple[float, float]:
    """Least and greatest eigenvalue of M(q), Spong (9.119), at q (n,)."""
    eigenvalues = np.linalg.eigvalsh(model.mass_matrix(model.vector("q", q)))
    return float(eigenvalues[0]), float(eigenvalues[-1])


def inertia_bounds(
    model: RobotModel,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    *,
    samples: int = 2000,
    starts: int = 4,
) -> InertiaBounds:
    """Bounds of Spong (9.120) over lower <= q <= upper (n,), rad or m; where None, over the position limits.

    Coordinates that only turn joints, by whole numbers, need no limit: a full turn stands for all. ``samples``
    positions are looked at, always the same ones, and ``starts`` of them improved. Raises RobotDynamicsError, naming
    the joints, for a range that is needed and missing or is empty.
    """
    tree = LinkTree.of(model)
    low, high = _ranges(model, tree, lower, upper)
    q = np.random.default_rng(0).uniform(low, high, (max(samples, starts, 1), model.n))
    eigenvalues = np.linalg.eigvalsh(model.mass_matrix(q))
    least = _descend(model, q[np.argsort(eigenvalues[:, 0])[:starts]], low, high, 0)
    greatest = _descend(model, q[np.argsort(-eigenvalues[:, -1])[:starts]], low, high, -1)
    extent = np.maximum(np.abs(low), np.abs(high))
    return InertiaBounds(
        eigenvalue_range(model, least)[0],
        eigenvalue_range(model, greatest)[1],
        least,
        greatest,
        _trace_bound(tree, np.abs(tree.couplings) @ extent),
    )


def _ranges(model: RobotModel, tree: LinkTree, lower: ArrayLike | None, upper: ArrayLike | None) -> tuple[Array, Array]:
    """The ranges (n,) to search, a full turn in place of none."""
    low = model.vector("lower", model.position_lower if lower is None else lower).copy()
    high = model.vector("upper", model.position_upper if upper is None else upper).copy()
    if not np.all(low <= high):
        names = [name for name, fits in zip(model.joint_names, low <= high, strict=True) if not fits]
        raise RobotDynamicsError(f"joints {names}: the range is empty. Cure: give lower below upper")
    open_ended = ~(np.isfinite(low) & np.isfinite(high))
    slides = np.array([link.prismatic for link in tree.links])
    endless = np.any(tree.couplings[slides] != 0.0, axis=0) | np.any(tree.couplings % 1.0 != 0.0, axis=0)
    if np.any(open_ended & endless):
        names = [name for name, bad in zip(model.joint_names, open_ended & endless, strict=True) if bad]
        raise RobotDynamicsError(
            f"joints {names}: no position limits, and no full turn after which all repeats. Cure: pass lower and upper"
        )
    return np.where(open_ended, -np.pi, low), np.where(open_ended, np.pi, high)


def _descend(model: RobotModel, starts: Array, low: Array, high: Array, which: int) -> Array:
    """The best position (n,) from all starts (k, n) for the eigenvalue ``which``: 0 the least, -1 the greatest."""
    sign = 1.0 if which == 0 else -1.0
    # In units of its own size, so that tolerances mean the same for small and large arms.
    scale = max(abs(eigenvalue_range(model, starts[0])[which]), 1e-12)

    def value(q: Array) -> float:
        return sign * eigenvalue_range(model, q)[which] / scale

    def slope(q: Array) -> Array:
        x = np.linalg.eigh(model.mass_matrix(q))[1][:, which]
        # Of a simple eigenvalue: x^T dM x, with |x| = 1.
        return np.asarray(sign * np.einsum("a,abi,b->i", x, inertia_matrix_derivatives(model, q), x) / scale)

    bounds = list(zip(low.tolist(), high.tolist(), strict=True))
    ends = []
    for start in starts:
        result = scipy.optimize.minimize(
            value, start, jac=slope, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-15, "gtol": 1e-9}
        )
        ends.append(np.clip(result.x, low, high))
    return np.asarray(min(ends, key=value))


def _trace_bound(tree: LinkTree, extent: Array) -> float:
    """At least the greatest eigenvalue wherever joints (links,) stay within +- ``extent``.

    No eigenvalue exceeds the trace of M = sum of m Jv^T Jv + Jw^T I Jw; no column of Jv is longer than the way from the
    joint to the centre of mass, link by link, nor one of Jw than 1.
    """
    turns = np.array([[0.0 if link.prismatic else 1.0] for link in tree.links]) * np.abs(tree.couplings)
    reach = [
        float(np.linalg.norm(link.position)) + (float(way) if link.prismatic else 0.0)
        for link, way in zip(tree.links, extent, strict=True)
    ]
    bound = 0.0
    for i, link in enumerate(tree.links):
        linear, way = np.zeros(tree.couplings.shape[1]), float(np.linalg.norm(link.com))
        for j in reversed(tree.path(i)):
            linear += np.abs(tree.couplings[j]) * (1.0 if tree.links[j].prismatic else way)
            way += reach[j]
        angular = turns[tree.path(i)].sum(axis=0)
        bound += float(link.mass * linear @ linear + np.linalg.eigvalsh(link.inertia)[-1] * angular @ angular)
    for rotor, row in zip(tree.rotors, np.abs(tree.rotor_couplings), strict=True):
        carried = np.zeros_like(row) if rotor.carrier == BASE else turns[tree.path(rotor.carrier)].sum(axis=0)
        bound += rotor.inertia * float(row @ row + 2.0 * row @ carried)
    return bound
