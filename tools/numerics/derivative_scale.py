"""Size of the terms in the derivatives of the torque, as computed by kernels/derivatives.py.

All moments, velocities and inertias there are about the first body's origin, so that the scale grows with the square of
the distance from it, also for joints far out with small loads. As in scale.py, lengths replace vectors: motions are
pairs of an angular and a linear part, wrenches of a moment and a force.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tools.numerics.scale import FLOOR, Sizes, path

Floats = NDArray[np.float64]
Pair = tuple[float, float]


class _Inertia(NamedTuple):
    """Mass, first moment and inertia about this origin; wrench; and the two parts of B (see kernels/derivatives.py)."""

    m: float
    h: float
    j: float
    moment: float = 0.0
    force: float = 0.0
    n: float = 0.0
    p: float = 0.0

    def times(self, b: Pair) -> Pair:
        return self.j * b[0] + self.h * b[1], self.m * b[1] + self.h * b[0]


class _Axis(NamedTuple):
    """Joint axis S and its derivatives S' and S''; velocity and acceleration of its body; distance from the origin."""

    s: Pair
    ds: Pair
    dds: Pair
    v: Pair
    a: Pair
    reach: float


def _cross(a: Pair, b: Pair) -> Pair:
    return a[0] * b[0], a[0] * b[1] + a[1] * b[0]


def _sum(*pairs: Pair) -> Pair:
    return sum(x for x, _ in pairs), sum(y for _, y in pairs)


def _dot(a: Pair, b: Pair) -> float:
    return a[0] * b[0] + a[1] * b[1]


def _times(factor: float, a: Pair) -> Pair:
    return factor * a[0], factor * a[1]


def derivative_scales(of: Sizes, q: Floats, qd: Floats, qdd: Floats) -> tuple[Floats, Floats]:
    """Return the scales of the derivatives (n, n) of the torque with respect to q and qd."""
    positions, rates, accelerations = (of.couplings @ np.abs(x) for x in (q, qd, qdd))
    axes = _move(of, positions, rates, accelerations)
    bodies = [_load(of, i, axis) for i, axis in enumerate(axes)]
    rows = len(of.couplings)
    by_q, by_qd = np.full((rows, rows), FLOOR), np.full((rows, rows), FLOOR)
    _turn_rotors(of, rates, accelerations, axes, bodies, by_q, by_qd)
    _gather(of, axes, bodies, by_q, by_qd)
    return of.couplings.T @ by_q @ of.couplings + FLOOR, of.couplings.T @ by_qd @ of.couplings + FLOOR


def _move(of: Sizes, positions: Floats, rates: Floats, accelerations: Floats) -> list[_Axis]:
    axes: list[_Axis] = []
    base = _Axis((0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, of.gravity), 0.0)
    for i, parent in enumerate(of.parents):
        before = axes[parent] if parent >= 0 else base
        reach = before.reach + _way(of, positions, i)
        if parent < 0:
            reach = reach + _way(of, positions, 0) if i else 0.0
        s = (0.0, 1.0) if of.slides[i] else (1.0, reach)
        v = _sum(before.v, _times(rates[i], s), (FLOOR, FLOOR))
        ds = _cross(v, s)
        a = _sum(before.a, _times(accelerations[i], s), _times(rates[i], ds), (FLOOR, FLOOR))
        axes.append(_Axis(s, ds, _sum(_cross(a, s), _cross(v, ds)), v, a, reach))
    return axes


def _way(of: Sizes, positions: Floats, i: int) -> float:
    """Return the distance from the previous frame to the body's, including the position of a prismatic joint."""
    return float(of.ways[i] + (positions[i] if of.slides[i] else 0.0))


def _load(of: Sizes, i: int, axis: _Axis) -> _Inertia:
    m, reach, (w, u) = of.masses[i], axis.reach, axis.v
    h = of.moments[i] + m * reach + FLOOR
    j = of.inertias[i] + 2.0 * of.moments[i] * reach + m * reach * reach + FLOOR
    still = _Inertia(m, h, j)
    moment, p = still.times(axis.v)
    load = _sum(still.times(axis.a), (w * moment + u * p, w * p))
    return _Inertia(m, h, j, *load, j * w + h * u, p)


def _turn_rotors(
    of: Sizes,
    rates: Floats,
    accelerations: Floats,
    axes: list[_Axis],
    bodies: list[_Inertia],
    by_q: Floats,
    by_qd: Floats,
) -> None:
    for row, (inertia, carrier) in enumerate(zip(of.rotors, of.carriers, strict=True), start=len(bodies)):
        if carrier < 0:
            continue
        w = inertia * axes[carrier].v[0]
        load, body = inertia * accelerations[row] + w * rates[row], bodies[carrier]
        bodies[carrier] = body._replace(moment=body.moment + load, n=body.n + inertia * rates[row])
        for i in path(of, carrier):
            axis = axes[i]
            by_qd[i, row] += w * axis.s[0]
            by_qd[row, i] += 2.0 * inertia * axis.ds[0] + w * axis.s[0]
            by_q[row, i] += inertia * axis.dds[0] + w * axis.ds[0]


def _gather(of: Sizes, axes: list[_Axis], bodies: list[_Inertia], by_q: Floats, by_qd: Floats) -> None:
    """Replace bodies by the sums of all bodies that they carry."""
    for j in reversed(range(len(bodies))):
        body, (s, ds, dds, *_) = bodies[j], axes[j]
        first = _sum(
            body.times(dds),
            (2.0 * body.n * ds[0], 2.0 * body.p * ds[0]),
            (s[0] * body.moment + s[1] * body.force, s[0] * body.force),
        )
        second = _times(2.0, _sum(body.times(ds), (body.n * s[0], body.p * s[0])))
        inertial, back = body.times(s), 2.0 * (body.n * s[0] + body.p * s[1])
        for i in path(of, j):
            s, ds, dds, *_ = axes[i]
            by_q[i, j] += _dot(s, first)
            by_qd[i, j] += _dot(s, second)
            by_q[j, i] += _dot(inertial, dds) + back * ds[0]
            by_qd[j, i] += 2.0 * _dot(inertial, ds) + back * s[0]
        parent = of.parents[j]
        if parent >= 0:
            bodies[parent] = _Inertia(*(x + y for x, y in zip(bodies[parent], body, strict=True)))
