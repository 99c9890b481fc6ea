"""Size of the terms in the derivatives of the torque, as computed by kernels/derivatives.py.

All moments, velocities and inertias there are about the first body's origin, so that the scale grows with the square of
the distance from it, also for joints far out with small loads. As in scale.py, lengths replace vectors: motions are
pairs of an angular and a linear part, wrenches of a moment and a force.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.robots import Floats
from tools.numerics.scale import FLOOR, Sizes, path

_ZERO = np.zeros(2)


class _Body(NamedTuple):
    """Inertia (2, 2) about this origin, from motion to momentum; wrench (2,); B (2,), see kernels/derivatives.py."""

    inertia: Floats
    wrench: Floats
    b: Floats


class _Axis(NamedTuple):
    """Joint axis S and its derivatives S' and S''; velocity and acceleration of its body; distance from the origin."""

    s: Floats
    ds: Floats
    dds: Floats
    v: Floats
    a: Floats
    reach: float


def _cross(a: Floats, b: Floats) -> Floats:
    return np.array([a[0] * b[0], a[0] * b[1] + a[1] * b[0]])


def derivative_scales(
    of: Sizes, q: Floats, qd: Floats, qdd: Floats
) -> tuple[Floats, Floats]:
    """Return the scales of the derivatives (n, n) of the torque with respect to q and qd."""
    positions, rates, accelerations = (of.couplings @ np.abs(x) for x in (q, qd, qdd))
    axes = _move(of, positions, rates, accelerations)
    bodies = [_load(of, i, axis) for i, axis in enumerate(axes)]
    rows = len(of.couplings)
    by_q = np.full((rows, rows), FLOOR)
    by_qd = np.full((rows, rows), FLOOR)
    for row, (inertia, carrier) in enumerate(
        zip(of.rotors, of.carriers, strict=True), start=len(bodies)
    ):
        if carrier >= 0:
            w = inertia * axes[carrier].v[0]
            bodies[carrier].wrench[0] += inertia * accelerations[row] + w * rates[row]
            bodies[carrier].b[0] += inertia * rates[row]
            for i in path(of, carrier):
                s = axes[i].s[0]
                ds = axes[i].ds[0]
                dds = axes[i].dds[0]
                by_qd[i, row] += w * s
                by_qd[row, i] += 2.0 * inertia * ds + w * s
                by_q[row, i] += inertia * dds + w * ds
    _gather(of, axes, bodies, by_q, by_qd)
    return (
        of.couplings.T @ by_q @ of.couplings + FLOOR,
        of.couplings.T @ by_qd @ of.couplings + FLOOR,
    )


def _move(
    of: Sizes, positions: Floats, rates: Floats, accelerations: Floats
) -> list[_Axis]:
    axes: list[_Axis] = []
    base = _Axis(_ZERO, _ZERO, _ZERO, _ZERO, np.array([0.0, of.gravity]), 0.0)
    # Distance from the previous frame to the body's, including the position of a prismatic joint.
    ways = of.ways + np.where(of.slides, positions[: len(of.parents)], 0.0)
    for i, parent in enumerate(of.parents):
        before = axes[parent] if parent >= 0 else base
        reach = before.reach + ways[i]
        if parent < 0:
            reach = reach + ways[0] if i else 0.0
        s = np.array([0.0, 1.0] if of.slides[i] else [1.0, reach])
        v = before.v + rates[i] * s + FLOOR
        ds = _cross(v, s)
        a = before.a + accelerations[i] * s + rates[i] * ds + FLOOR
        axes.append(_Axis(s, ds, _cross(a, s) + _cross(v, ds), v, a, reach))
    return axes


def _load(of: Sizes, i: int, axis: _Axis) -> _Body:
    m = of.masses[i]
    reach = axis.reach
    (w, u) = axis.v
    h = of.moments[i] + m * reach + FLOOR
    j = of.inertias[i] + 2.0 * of.moments[i] * reach + m * reach * reach + FLOOR
    inertia = np.array([[j, h], [h, m]])
    moment, p = inertia @ axis.v
    return _Body(
        inertia,
        inertia @ axis.a + [w * moment + u * p, w * p],
        np.array([j * w + h * u, p]),
    )


def _gather(
    of: Sizes, axes: list[_Axis], bodies: list[_Body], by_q: Floats, by_qd: Floats
) -> None:
    """Replace bodies by the sums of all bodies that they carry."""
    for j in reversed(range(len(bodies))):
        (inertia, wrench, b) = bodies[j]
        (s, ds, dds, *_) = axes[j]
        first = inertia @ dds + 2.0 * ds[0] * b + [s @ wrench, s[0] * wrench[1]]
        second = 2.0 * (inertia @ ds + s[0] * b)
        inertial = inertia @ s
        back = 2.0 * (b @ s)
        for i in path(of, j):
            s, ds, dds, *_ = axes[i]
            by_q[i, j] += s @ first
            by_qd[i, j] += s @ second
            by_q[j, i] += inertial @ dds + back * ds[0]
            by_qd[j, i] += 2.0 * (inertial @ ds) + back * s[0]
        parent = of.parents[j]
        if parent >= 0:
            bodies[parent] = _Body(
                *(x + y for x, y in zip(bodies[parent], bodies[j], strict=True))
            )
