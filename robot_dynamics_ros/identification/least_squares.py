"""Weighted least squares on the base regressor, Spong (9.121), with standard deviations that hold on real recordings.

Of a recording only samples count that are nearly independent of each other, and none of a joint at rest. The standard
deviations allow for correlated noise, for parts of the recording that disagree, and for what the model neglects.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.errors import BagError
from robot_dynamics_ros.identification.friction import at_rest
from robot_dynamics_ros.identification.motion import RecordedMotion
from robot_dynamics_ros.identification.parameterization import Parameterization
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model.base_parameters import BaseParameters
from robot_dynamics_ros.progress import progress

PARTS = 5
"""Parts of each recording's samples, one after the other, that cross-validation leaves out in turn."""

_CHUNK = 1024  # samples whose regressor is in memory at a time
_REACH = 1.5  # periods of the cutoff that the filter smears a step over, to each side
_RECORDED_RANK = 1e-7  # of a column: where less is left of it, it shows nothing
_LEAST_NOISE = 1e-6  # of a joint's torque: recordings without noise exist in simulation only
_TINY = 1e-12  # Nm or N, of a joint without any torque
_LAG = 1e-3  # s, of difference quotients
_NOISE_RATIO = 2.0  # of two estimates of a variance, as noise alone gives it
_SIGNIFICANT = 1.5  # standard deviations of chi-squared above its mean
_ROUNDS = 30
_CONVERGED = 1e-6


@dataclass(frozen=True, eq=False)
class Samples:
    """Motion and torque at m times.

    Attributes
    ----------
    q, qd, qdd, tau
        (m, n) in SI units.
    qddd, taud
        Rates (m, n) of acceleration and torque.
    used
        (m, n): True if this joint's torque counts, see ``friction.at_rest``.
    part
        (m,): number of the part, of PARTS.
    """

    q: Array
    qd: Array
    qdd: Array
    tau: Array
    qddd: Array
    taud: Array
    used: NDArray[np.bool_]
    part: NDArray[np.intp]

    @classmethod
    def of(cls, parameterization: Parameterization, motions: Sequence[RecordedMotion]) -> Samples:
        """Choose samples of recordings.

        They are half a period of the filter's cutoff apart: what the filter leaves of white noise is then nearly white
        again, and nothing else is lost. Gautier 1997, "parallel decimate".
        """
        recordings = []
        for motion in motions:
            step, reach, cutoff = 1, 0, motion.smoothing.cutoff
            if cutoff and len(motion.time) > 1:
                period = float(np.median(np.diff(motion.time)))
                step = max(1, int(0.5 / (cutoff * period) + 1e-6))
                reach = math.ceil(_REACH / (cutoff * period))
            used = ~parameterization.touched(at_rest(parameterization.joint_rates(motion.qd), reach)[::step])
            part = np.arange(len(used)) * PARTS // max(len(used), 1)
            rates = (np.gradient(values, motion.time, axis=0) for values in (motion.qdd, motion.tau))
            chosen = (values[::step] for values in (motion.q, motion.qd, motion.qdd, motion.tau, *rates))
            recordings.append((*chosen, used, part))
        return cls(*(np.concatenate(parts) for parts in zip(*recordings, strict=True)))

    def __len__(self) -> int:
        return len(self.q)

    @property
    def chunks(self) -> int:
        """Number of chunks that ``columns`` yields."""
        return -(-len(self) // _CHUNK)

    def columns(self, parameterization: Parameterization, overlap: int = 0) -> Iterator[tuple[slice, Array, Array]]:
        """Yield places, columns (k, n, p) and torque (k, n) of the samples, chunk by chunk.

        Rows that do not count are zero. Each chunk begins with the last ``overlap`` samples of the one before it.
        """
        for start in range(0, len(self), _CHUNK):
            places = slice(max(0, start - overlap), min(start + _CHUNK, len(self)))
            motion = self.q[places], self.qd[places], self.qdd[places]
            used = self.used[places]
            torque = (self.tau[places] - parameterization.known(*motion)) * used
            yield places, parameterization.columns(*motion) * used[:, :, np.newaxis], torque


@dataclass(frozen=True, eq=False)
class Factors:
    """Triangular factors [R z] of columns and torque, for each part and each joint: (PARTS, n, p + 1, p + 1).

    They hold all that least squares needs of the samples, whose number is in ``counts`` (PARTS, n).
    """

    triangles: Array
    counts: NDArray[np.intp]

    @classmethod
    def of(
        cls,
        parameterization: Parameterization,
        samples: Samples,
        more: Callable[[slice, Array], Array] | None = None,
    ) -> Factors:
        """Reduce the samples chunk by chunk: Golub, Van Loan, sequential QR.

        ``more`` returns further columns (k, n, e) for places of samples and their columns (k, n, p); they stand
        between those and the torque.
        """
        n = parameterization.model.n
        triangles = np.zeros((PARTS, n, 0, 0))
        for places, columns, torque in progress(samples.columns(parameterization), "regressor", samples.chunks):
            used = samples.used[places]
            rows = [columns, torque[:, :, np.newaxis]]
            if more is not None:
                rows.insert(1, more(places, columns) * used[:, :, np.newaxis])
            stacked = np.concatenate(rows, axis=2)
            if not triangles.size:
                triangles = np.zeros((PARTS, n, stacked.shape[2], stacked.shape[2]))
            part = samples.part[places]
            for k in np.unique(part):
                for j in range(n):
                    chosen = stacked[(part == k) & used[:, j], j]
                    triangles[k, j] = np.linalg.qr(np.vstack([triangles[k, j], chosen]), mode="r")
        counts = np.array([np.count_nonzero(samples.used[samples.part == k], axis=0) for k in range(PARTS)])
        return cls(triangles, counts)

    def weighted(self, deviations: Array, parts: NDArray[np.bool_] | None = None) -> Array:
        """Return [R z] (p + 1, p + 1) of some parts (default: all), rows over the joints' ``deviations`` (n,)."""
        chosen = self.triangles if parts is None else self.triangles[parts]
        stacked = (chosen / deviations[:, np.newaxis, np.newaxis]).reshape(-1, chosen.shape[-1])
        return np.asarray(np.linalg.qr(stacked, mode="r"))

    def squares(self, x: Array) -> Array:
        """Sum of the squares of the residuals (PARTS, n) for the parameters ``x`` (p,)."""
        residual = self.triangles @ np.append(-x, 1.0)
        return np.asarray(np.einsum("kji,kji->kj", residual, residual))


@dataclass(frozen=True, eq=False)
class BaseEstimate:
    """Least squares of the base parameters.

    Attributes
    ----------
    base
        The base parameters: those of the model, or less, where the recording does not move enough.
    values, deviations
        (r,): estimates and their standard deviations, in SI units: what noise and disagreeing parts of the recording
        leave open, and how far an estimate moves where delays and nonlinear friction are fitted along.
    noise
        (n,): standard deviation of each joint's residual torque.
    condition
        Condition number of the weighted base regressor, with columns of unit length.
    unseen
        Names of base parameters of the model that the recording does not show.
    """

    base: BaseParameters
    values: Array
    deviations: Array
    noise: Array
    condition: float
    unseen: tuple[str, ...]


def estimate_base(parameterization: Parameterization, samples: Samples, factors: Factors) -> BaseEstimate:
    """Estimate the base parameters: least squares, weighted by each joint's residual, until the weights converge.

    Raises BagError if there are fewer samples than base parameters.
    """
    base, counts = parameterization.base, factors.counts.sum(axis=0)
    silent = [name for name, count in zip(parameterization.model.joint_names, counts, strict=True) if not count]
    if silent:
        raise BagError(
            f"the recording: {', '.join(silent)} never moves one way for longer than three periods of the filter's "
            "cutoff. Cure: record a motion of all joints, or give a higher cutoff"
        )
    if counts.sum() <= 2 * len(base.names):
        raise BagError(
            f"the recording: {counts.sum()} torques are too few for {len(base.names)} base parameters. "
            "Cure: record longer"
        )
    noise = np.ones(len(counts))
    recorded = BaseParameters.of(factors.weighted(noise)[:, :-1], parameterization.names, _RECORDED_RANK)
    lost: list[int] = []
    if len(recorded.names) < len(base.names):
        lost = np.setdiff1d(base.independent, recorded.independent).tolist()
        base = recorded
    freedom = 1.0 - len(base.names) / counts.sum()
    floor = _LEAST_NOISE * np.sqrt(factors.squares(np.zeros(len(parameterization.names))).sum(axis=0) / counts) + _TINY
    x = np.zeros(len(parameterization.names))
    for _ in range(_ROUNDS):
        weighted = factors.weighted(noise)
        matrix, target = weighted[:, base.independent], weighted[:, -1]
        x[base.independent] = np.linalg.lstsq(matrix, target, rcond=None)[0]
        before, noise = noise, np.sqrt(factors.squares(x).sum(axis=0) / (freedom * counts))
        noise = np.maximum(noise, floor)
        if np.abs(noise / before - 1.0).max() < _CONVERGED:
            break
    matrix = factors.weighted(noise)[:, base.independent]
    condition = float(np.linalg.cond(matrix / np.linalg.norm(matrix, axis=0)))
    inverse = np.linalg.pinv(matrix)
    inverse = inverse @ inverse.T
    covariance = inverse @ _scatter(parameterization, samples, base, x, noise, freedom) @ inverse
    variances = np.maximum(np.diag(covariance), 0.0) * _variance_factor(factors, base, noise, np.diag(covariance))
    deviations = np.sqrt(variances + _modelling_error(parameterization, samples, base, x, noise) ** 2)
    unseen = tuple(parameterization.names[k] for k in lost)
    return BaseEstimate(base, x[base.independent], deviations, noise, condition, unseen)


def _variance_factor(factors: Factors, base: BaseParameters, noise: Array, variances: Array) -> float:
    """Return the ratio of the jackknife's variances over PARTS to ``variances`` (r,), or 1 where noise explains it.

    The median over the base parameters is taken, since single ratios scatter widely. Efron, "The jackknife, the
    bootstrap and other resampling plans", 1982, chapter 3.
    """
    there = [k for k in range(PARTS) if factors.counts[k].any()]
    freedom = len(there) - 1
    if freedom < 1:
        return 1.0
    without = [factors.weighted(noise, np.arange(PARTS) != k) for k in there]
    left = np.array([np.linalg.lstsq(w[:, base.independent], w[:, -1], rcond=None)[0] for w in without])
    squares = freedom * left.var(axis=0)
    usual = (1.0 - 2.0 / (9.0 * freedom)) ** 3  # median of chi-squared over its mean, by Wilson and Hilferty
    ratio = float(np.median(squares / np.maximum(variances, np.finfo(float).tiny))) / usual
    return ratio if ratio > _NOISE_RATIO else 1.0


def _modelling_error(
    parameterization: Parameterization, samples: Samples, base: BaseParameters, x: Array, noise: Array
) -> Array:
    """Return the change of the base parameters (r,) if effects that the model neglects are estimated with them.

    These are, to first order, a delay of the effort, a lag of the velocity behind the position, and friction that is
    not linear in the speed. The change is zero where they explain no more than noise would.
    """
    fastest = np.abs(parameterization.joint_rates(samples.qd)).max(axis=0, initial=0.0)

    def neglected(places: slice, columns: Array) -> Array:
        q, qd, qdd, qddd = (values[places] for values in (samples.q, samples.qd, samples.qdd, samples.qddd))
        late = parameterization.columns(q, qd + _LAG * qdd, qdd + _LAG * qddd) @ x
        lag = (late - parameterization.columns(q, qd, qdd) @ x) / _LAG
        effects = [samples.taud[places][:, :, np.newaxis], lag[:, :, np.newaxis]]
        if parameterization.friction == "viscous_coulomb":
            effects.append(parameterization.nonlinear_friction(qd, fastest))
        return np.concatenate(effects, axis=2)

    factors = Factors.of(parameterization, samples, neglected).weighted(noise)
    kept = [*base.independent, *range(len(x), factors.shape[1])]
    triangle = np.asarray(np.linalg.qr(factors[:, kept], mode="r"))
    lengths = np.linalg.norm(triangle[:, :-1], axis=0)
    lengths[lengths == 0.0] = 1.0
    values = np.linalg.lstsq(triangle[:, :-1] / lengths, triangle[:, -1], rcond=_RECORDED_RANK)[0] / lengths
    r, count = len(base.names), len(lengths) - len(base.names)
    explained = float(np.sum(triangle[r:-1, -1] ** 2))  # chi-squared with count degrees of freedom, if by noise
    if explained < count + _SIGNIFICANT * math.sqrt(2.0 * count):
        return np.zeros(r)
    return np.asarray(values[:r] - x[base.independent])


def _scatter(
    parameterization: Parameterization, samples: Samples, base: BaseParameters, x: Array, noise: Array, freedom: float
) -> Array:
    """Covariance (r, r) of X^T e, for residuals whose correlation over time and between joints does not change.

    Sum over the lags l of w_l X_t^T C_l X_(t+l), C_l the residuals' covariance (n, n) at that lag and w_l Bartlett's
    weights, so many of them as Andrews 1991 (6.4) finds of a first-order process: White's and Newey and West's
    estimator with X taken as given, which serves for fewer samples.
    """
    chunks = progress(samples.columns(parameterization), "residuals", samples.chunks)
    error = np.concatenate([torque - columns @ x for _, columns, torque in chunks]) / noise
    lags = _lags(error)
    counted = samples.used.astype(np.float64)
    covariances = []
    for lag in range(lags + 1):
        pairs = counted[: len(error) - lag].T @ counted[lag:]
        sums = error[: len(error) - lag].T @ error[lag:]
        covariances.append((1.0 - lag / (lags + 1)) * sums / np.maximum(pairs, 1.0) / freedom)
    total = np.zeros((len(base.names), len(base.names)))
    for places, columns, _ in progress(samples.columns(parameterization, overlap=lags), "deviations", samples.chunks):
        rows = columns[:, :, base.independent] / noise[:, np.newaxis]
        fresh = 0 if places.start == 0 else lags
        for lag, covariance in enumerate(covariances):
            late = rows[max(fresh, lag) :]
            early = rows[max(fresh, lag) - lag : len(rows) - lag]
            product = early.reshape(-1, len(total)).T @ (covariance @ late).reshape(-1, len(total))
            total += product if lag == 0 else product + product.T
    return total


def _lags(error: Array) -> int:
    """Return the number of lags of Bartlett's weights: Andrews 1991, (5.3) and (6.4), for correlation rho."""
    rho = float((error[1:] * error[:-1]).sum() / max((error * error).sum(), 1e-300))
    rho = min(abs(rho), 0.97)
    reach = 1.1447 * (4.0 * rho**2 / (1.0 - rho**2) ** 2 * len(error)) ** (1.0 / 3.0)
    return int(min(reach, len(error) // 10))
