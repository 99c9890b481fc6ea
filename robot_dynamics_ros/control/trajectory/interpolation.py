"""Hermite interpolation by linear, cubic and quintic polynomials, and cubic splines (C2).

``times`` (m,) are the times (s) of m knots, ``motion`` (4, n, m) position, velocity, acceleration and effort there.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_banded
from scipy.special import comb

from robot_dynamics_ros.control.thresholds import CURVE_SAMPLES
from robot_dynamics_ros.dynamics.kernels.types import Array


def segments(times: Array, motion: Array, degree: int) -> Array:
    """Return the polynomials of ``degree`` 1, 3 or 5 between m knots, each in the time since the start of its segment.

    Shape (m - 1, degree + 1, 4, n): by descending power, then position, velocity, acceleration and effort. Hermite
    interpolation of positions (degree 1), velocities (3) and accelerations (5); effort is linear. Overflow results in
    non-finite coefficients.
    """
    q, qd, qdd, effort = motion.swapaxes(1, 2)
    m = len(times) - 1
    n = q.shape[1]
    polynomials = np.zeros((m, degree + 1, 4, n))
    # View (degree + 1, 4, m, n) of them by ascending power
    c = polynomials[:, ::-1].transpose(1, 2, 0, 3)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        h = np.diff(times)[:, None]
        d = q[1:] - q[:-1]
        v0 = qd[:-1] * h
        v1 = qd[1:] * h
        a0 = qdd[:-1] * h**2
        a1 = qdd[1:] * h**2
        c[0, 0] = q[:-1]
        c[1, 0] = d / h if degree == 1 else qd[:-1]
        if degree == 3:
            c[2, 0] = (3 * d - 2 * v0 - v1) / h**2
            c[3, 0] = (v0 + v1 - 2 * d) / h**3
        elif degree == 5:
            c[2, 0] = qdd[:-1] / 2
            c[3, 0] = (10 * d - 6 * v0 - 4 * v1 - (3 * a0 - a1) / 2) / h**3
            c[4, 0] = (-15 * d + 8 * v0 + 7 * v1 + (3 * a0 - 2 * a1) / 2) / h**4
            c[5, 0] = (6 * d - 3 * (v0 + v1) - (a0 - a1) / 2) / h**5
        for order in (1, 2):
            c[:-1, order] = np.arange(1, degree + 1)[:, None, None] * c[1:, order - 1]
        c[0, 3] = effort[:-1]
        c[1, 3] = np.diff(effort, axis=0) / h
    return polynomials


def excess(
    times: Array, motion: Array, degree: int, order: int, low: Array, high: Array
) -> tuple[float, int, float] | None:
    """Return where a derivative of the position leaves the range ``low`` to ``high`` (n,) most, or None.

    It is that of ``order`` 0 (position) to 3 (jerk). The polynomials between the knots have the ``degree`` 1, 3 or 5.
    The result is the start time (s) of the segment, the joint's index in ``motion``, whose effort may be missing, and
    the value. A polynomial is bounded by its Bernstein coefficients; if they are not conclusive, it is sampled.
    """
    q, qd, qdd = motion[:3]
    h = np.diff(times)
    if order > degree:
        return None
    # Coarse bounds are conclusive for most joints, and save most of the time for long trajectories.
    longest = h.max(initial=0.0)
    (speed, bend) = np.abs(motion[1:3]).max(axis=2)
    coarse = q
    reach = longest * (0.4 * speed + 0.05 * longest * bend)
    if order == 1:
        middle = np.diff(q) * (degree / h) - 0.5 * (degree - 1) * (
            qd[:, 1:] + qd[:, :-1]
        )
        coarse = np.append(qd, middle, axis=1)
        reach = 0.5 * longest * bend
    near = (coarse.min(axis=1) - reach < low) | (coarse.max(axis=1) + reach > high)
    unsure = np.flatnonzero(near if order < 2 else np.isfinite(high))
    q, qd, qdd, low, high = (x[unsure] for x in (q, qd, qdd, low, high))
    begin = q[:, :-1]
    end = q[:, 1:]
    step = h / degree
    rows = (
        [begin, end]
        if degree == 1
        else [begin, begin + step * qd[:, :-1], end - step * qd[:, 1:], end]
    )
    if degree == 5:
        third = h * h / 20
        rows[2:2] = [
            2 * rows[1] - begin + third * qdd[:, :-1],
            2 * rows[2] - end + third * qdd[:, 1:],
        ]
    control = np.array(rows)
    for k in range(order):
        control = np.diff(control, axis=0) * ((degree - k) / h)
    if not len(h):
        control = np.array([(q, qd, qdd, np.zeros_like(qdd))[order]])
    near = (control.min(axis=0) < low[:, None]) | (control.max(axis=0) > high[:, None])
    joint, segment = np.nonzero(near)
    values = _bernstein(len(control) - 1) @ control[:, near]
    beyond = np.maximum(low[joint] - values, values - high[joint])
    if beyond.max(initial=0.0) == 0.0:
        return None
    sample, i = np.unravel_index(beyond.argmax(), beyond.shape)
    return float(times[segment[i]]), int(unsure[joint[i]]), float(values[sample, i])


def _bernstein(degree: int) -> Array:
    """Return the Bernstein polynomials of ``degree`` at ``CURVE_SAMPLES`` equal intervals, as columns."""
    u = np.linspace(0.0, 1.0, CURVE_SAMPLES + 1)[:, None]
    k = np.arange(degree + 1)
    return np.asarray(comb(degree, k) * u**k * (1.0 - u) ** (degree - k))


def spline_velocities(times: Array, q: Array, begin: Array) -> Array:
    """Return the velocities (m, n) of the cubic spline (C2) through q (m, n) at times (m,), m at least 2.

    Its initial velocity is ``begin`` (n,), its final velocity zero: the complete cubic spline of de Boor, A Practical
    Guide to Splines, chapter IV. Overflow results in non-finite velocities.
    """
    bands = np.zeros((3, len(times)))
    right = np.zeros_like(q)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        h = np.diff(times)
        bands[0, 2:] = h[:-1]
        bands[1] = 1.0
        bands[1, 1:-1] = 2.0 * (h[:-1] + h[1:])
        bands[2, :-2] = h[1:]
        slope = np.diff(q, axis=0) / h[:, None]
        right[0] = begin
        right[1:-1] = 3.0 * (h[1:, None] * slope[:-1] + h[:-1, None] * slope[1:])
    try:
        return np.asarray(
            solve_banded((1, 1), bands, right, check_finite=False, overwrite_b=True)
        )
    except np.linalg.LinAlgError:
        return np.full_like(q, np.nan)
