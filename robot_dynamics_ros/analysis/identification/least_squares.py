"""Weighted least squares on the base regressor, Spong (9.121), with standard deviations that hold on real recordings.

Only nearly independent samples are used, and no torque of a joint at rest. Each recording has VALIDATION_PARTS (5)
consecutive parts for cross-validation. R and z are a triangular factor of the regressor columns and the torque: for p
parameters x, |R x - z|^2 is the sum of squared residuals. The standard deviations account for correlated noise, for
disagreement between parts of the recording, and for effects that the model neglects.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.analysis.identification.friction_shapes import (
    nonlinear_friction,
)
from robot_dynamics_ros.analysis.identification.parameterization import Parameterization
from robot_dynamics_ros.analysis.identification.recorded_motion import RecordedMotion
from robot_dynamics_ros.analysis.identification.torque_analysis import (
    jackknife,
    torque_is_determined,
)
from robot_dynamics_ros.analysis.thresholds import (
    COLUMN_RANK,
    ESTIMATES_AGREE,
    LAG_DIFFERENCE,
    LEAST_NOISE,
    NEGLECTED_SIGNIFICANT,
    NOISE_CONVERGED,
    NOISE_RATIO,
    REGRESSOR_CHUNK,
    TINY_NOISE,
    VALIDATION_PARTS,
    WEIGHTING_ITERATIONS,
)
from robot_dynamics_ros.base.errors import BagError
from robot_dynamics_ros.base.progress import progress
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model.base_parameters import BaseParameters


@dataclass(frozen=True, eq=False)
class Samples:
    """Motion and measured torque of n joints at m times.

    Attributes
    ----------
    recordings
        The recordings, with all their samples, and the number of their samples for each one here.
    q, qd, qdd, tau
        Position, velocity, acceleration and torque (m, n) in SI units; the torque that is known is subtracted.
    qddd, taud
        Time derivatives (m, n) of acceleration and torque.
    friction, frictiond
        Friction (m, joints, c) of the joints for a unit of each coefficient, filtered as the torque is, and its time
        derivative.
    used
        The result (m, n) of ``torque_is_determined`` for each recording: torques that are used.
    part
        Number (m,) of the part of its recording, from 0 to VALIDATION_PARTS - 1.
    recording
        Number (m,) of the recording.
    """

    recordings: tuple[tuple[RecordedMotion, int], ...]
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    qddd: Array
    taud: Array
    friction: Array
    frictiond: Array
    used: NDArray[np.bool_]
    part: NDArray[np.intp]
    recording: NDArray[np.intp]

    @classmethod
    def of(
        cls, parameterization: Parameterization, motions: Sequence[RecordedMotion]
    ) -> Samples:
        """Return samples of recordings that are half a period of the filter's cutoff apart.

        The filtered noise is nearly white there: parallel decimation, Gautier 1997. Without a filter all are returned.
        ``motions`` have the joints of the model, in its order.
        """
        samples = []
        recordings = []
        moves = ~np.all([motion.still for motion in motions], axis=0)
        for k, motion in enumerate(motions):
            step = max(1, int(0.5 / motion.step + 1e-6)) if motion.step else 1
            used = torque_is_determined(parameterization.model, motion)[::step]
            part = np.arange(len(used)) * VALIDATION_PARTS // max(len(used), 1)
            # Noise in the position of a joint that does not move would separate inertias that move together.
            q = np.where(moves, motion.q, motion.q.mean(axis=0))
            qd, qdd = (
                np.where(moves, values, 0.0) for values in (motion.qd, motion.qdd)
            )
            moving = replace(motion, q=q, qd=qd, qdd=qdd)
            friction = moving.filtered(parameterization.joint_friction)
            rates = (
                np.gradient(values, motion.time, axis=0)
                for values in (qdd, motion.tau, friction)
            )
            qddd, taud, frictiond = rates
            tau = motion.tau - moving.filtered(parameterization.known)
            arrays = (q, qd, qdd, tau, qddd, taud, friction, frictiond)
            number = np.full(len(used), k)
            samples.append((*(values[::step] for values in arrays), used, part, number))
            recordings.append((moving, step))
        return cls(
            tuple(recordings),
            *(np.concatenate(parts) for parts in zip(*samples, strict=True)),
        )

    def filtered(self, law: Callable[[Array, Array, Array], Array]) -> Array:
        """Return ``law(q, qd, qdd)`` of the recorded motions (k, n), filtered as the torque is, at the samples."""
        return np.concatenate(
            [motion.filtered(law)[::step] for motion, step in self.recordings]
        )

    def centred(self, values: Array, offsets: NDArray[np.bool_]) -> Array:
        """Return ``values`` (m, n, c) without the means of each recording, where the effort has ``offsets`` (n,)."""
        result = values.copy()
        for k in range(len(self.recordings)):
            rows = self.recording == k
            used = self.used[rows][:, :, None]
            sums = np.sum(values[rows], axis=0, where=used)
            means = sums / np.maximum(used.sum(axis=0), 1)
            result[rows] -= means * offsets[:, None]
        return result

    def __len__(self) -> int:
        return len(self.q)

    @property
    def chunks(self) -> int:
        """Number of chunks that ``columns`` yields."""
        return -(-len(self) // REGRESSOR_CHUNK)

    def columns(
        self, parameterization: Parameterization, overlap: int = 0
    ) -> Iterator[tuple[slice, Array, Array]]:
        """Yield slice, regressor columns (k, n, p) and torque (k, n) of chunks of the samples; unused rows are zero.

        Each chunk repeats the last ``overlap`` samples of the one before it. Friction that depends on the load is
        linearized about the parameters ``at``, so that least squares is a step of the Gauss-Newton method.
        """
        for start in range(0, len(self), REGRESSOR_CHUNK):
            chunk = slice(
                max(0, start - overlap), min(start + REGRESSOR_CHUNK, len(self))
            )
            motion = self.q[chunk], self.qd[chunk], self.qdd[chunk]
            friction = self.friction[chunk]
            torque = self.tau[chunk]
            columns = parameterization.columns(*motion, friction)
            if parameterization.loaded:
                derivatives = parameterization.load_derivatives(
                    motion, columns, friction
                )
                columns = columns + derivatives
                torque = torque + derivatives @ parameterization.at
            used = self.used[chunk]
            yield chunk, columns * used[:, :, None], torque * used


@dataclass(frozen=True, eq=False)
class Factors:
    """Factors [R z], ``triangles`` (parts, n, p + 1, p + 1), of regressor and torque, for each part and joint.

    Where the effort has an offset in each recording, all columns are without their means over its torques used, which
    has the effect of a free offset. ``means`` (n, recordings, p + 1) are these means, 0 elsewhere; ``counts`` (parts,
    n) are the numbers of torques used.
    """

    triangles: Array
    counts: NDArray[np.intp]
    means: Array

    @classmethod
    def of(
        cls,
        parameterization: Parameterization,
        samples: Samples,
        additional: Callable[[slice, Array], Array] | None = None,
        chosen: NDArray[np.intp] | None = None,
    ) -> Factors:
        """Return the factors of samples by sequential QR (Golub, Van Loan).

        ``additional`` returns columns (k, n, e) to insert before the torque, for a slice of the samples and its columns
        (k, n, p). ``chosen`` are the columns to use instead of all p.
        """
        n = parameterization.model.n
        chosen = np.arange(len(parameterization.names)) if chosen is None else chosen
        offsets = np.eye(len(samples.recordings))[samples.recording]
        triangles = np.zeros((VALIDATION_PARTS, n, 0, 0))
        for chunk, columns, torque in progress(
            samples.columns(parameterization), "regressor", samples.chunks
        ):
            used = samples.used[chunk]
            ones = (parameterization.offsets & used)[:, :, None]
            kept = columns[:, :, chosen]
            rows = [offsets[chunk, None, :] * ones, kept, torque[:, :, None]]
            if additional is not None:
                rows.insert(2, additional(chunk, columns) * used[:, :, None])
            stacked = np.concatenate(rows, axis=2)
            if not triangles.size:
                triangles = np.zeros(
                    (VALIDATION_PARTS, n, stacked.shape[2], stacked.shape[2])
                )
            part = samples.part[chunk]
            for k in np.unique(part):
                for j in range(n):
                    added = stacked[(part == k) & used[:, j], j]
                    triangles[k, j] = np.linalg.qr(
                        np.vstack([triangles[k, j], added]), mode="r"
                    )
        counts = np.array(
            [
                np.count_nonzero(samples.used[samples.part == k], axis=0)
                for k in range(VALIDATION_PARTS)
            ]
        )
        first = slice(offsets.shape[1])
        others = slice(offsets.shape[1], None)
        means = _shares(triangles, others, to=first)
        centred = triangles[..., others] - triangles[..., first] @ means
        return cls(centred, counts, means)

    @cached_property
    def _of_joints(self) -> Array:
        """Factors (n, p + 1, p + 1) of all parts."""
        size = self.triangles.shape[-1]
        # NumPy 1.21 factorises one matrix at a time
        return np.stack(
            [
                np.linalg.qr(joint.reshape(-1, size), mode="r")
                for joint in self.triangles.swapaxes(0, 1)
            ]
        )

    def weighted(
        self, deviations: Array, parts: NDArray[np.bool_] | None = None
    ) -> Array:
        """Return [R z] (p + 1, p + 1) of the parts that are True in ``parts`` (parts,), by default all.

        Residuals of each joint are weighted by 1 / ``deviations`` (n,), in Nm or N.
        """
        chosen = self._of_joints if parts is None else self.triangles[parts]
        stacked = (chosen / deviations[:, None, None]).reshape(-1, chosen.shape[-1])
        return np.asarray(np.linalg.qr(stacked, mode="r"))

    def without_parts(self, deviations: Array) -> dict[int, Array]:
        """Return ``weighted`` without one of the parts that have torques, by the number of this part."""
        return {
            k: self.weighted(deviations, np.arange(VALIDATION_PARTS) != k)
            for k in range(VALIDATION_PARTS)
            if self.counts[k].any()
        }

    def orthogonal(self, columns: slice, to: slice) -> Factors:
        """Return factors whose ``columns`` are orthogonal to the columns ``to``, which come first, for each joint."""
        triangles = self.triangles.copy()
        triangles[..., columns] -= triangles[..., to] @ _shares(triangles, columns, to)
        return replace(self, triangles=triangles)

    def offsets(self, x: Array) -> Array:
        """Return the effort offset (recordings, n), Nm or N, for the parameters ``x`` (p,); 0 where it has none."""
        return np.asarray((self.means @ np.append(-x, 1.0)).T)

    def squares(self, x: Array) -> Array:
        """Return the sum of squared residuals (parts, n) of the parameters ``x`` (p,)."""
        residual = self.triangles @ np.append(-x, 1.0)
        return np.asarray(np.einsum("kji,kji->kj", residual, residual))


def _shares(triangles: Array, columns: slice, to: slice) -> Array:
    """Return the shares (n, t, c) of t columns in a least-squares fit of c ``columns`` of factors, for each joint."""
    stacked = triangles.swapaxes(0, 1).reshape(
        triangles.shape[1], -1, triangles.shape[-1]
    )
    fits = [
        np.linalg.lstsq(rows[:, to], rows[:, columns], rcond=COLUMN_RANK)[0]
        for rows in stacked
    ]
    return np.array(fits)


@dataclass(frozen=True, eq=False)
class BaseEstimate:
    """Least-squares estimate of r base parameters.

    Attributes
    ----------
    base
        The base parameters: those of the model, or fewer if the recording does not excite all of them.
    values
        Estimates (r,) in SI units.
    deviations
        Their standard deviations (r,). They include noise, disagreement between parts of the recording, and the change
        of an estimate if delays and nonlinear friction are estimated too. Friction is the best fit of its kind to the
        robot's friction at the samples used.
    noise
        Standard deviation (n,) of the residual torque of each joint in Nm or N; tiny if its torque is not used.
    condition
        Condition number of the weighted base regressor with columns of unit length.
    unseen
        Names of the base parameters of the model that the recording does not excite.
    still
        Names of the moving joints that do not move in the recording. Their torque is not used.
    offsets, offset_deviations
        Offset (recordings, n) of the measured effort, Nm or N, and its standard deviation; 0 where it has none.
    covariance
        Covariance (r, r) of ``values`` for white noise.
    """

    base: BaseParameters
    values: Array
    deviations: Array
    noise: Array
    condition: float
    unseen: tuple[str, ...]
    still: tuple[str, ...]
    offsets: Array
    offset_deviations: Array
    covariance: Array

    @property
    def parameters(self) -> Array:
        """Parameters (p,) with the torque of the estimate: ``values``, and 0 for those that are not independent."""
        result = np.zeros(self.base.combination.shape[1])
        result[self.base.independent] = self.values
        return result

    def agrees(self, other: BaseEstimate) -> bool:
        """Return True if the values of another estimate differ by less than a thousandth of the standard deviations."""
        same = np.array_equal(self.base.independent, other.base.independent)
        return same and bool(
            (
                np.abs(self.values - other.values) < ESTIMATES_AGREE * self.deviations
            ).all()
        )


def estimate_base(
    parameterization: Parameterization, samples: Samples, factors: Factors
) -> BaseEstimate:
    """Return ``solve_base`` with standard deviations for correlated noise and neglected effects."""
    estimate = solve_base(parameterization, samples, factors)
    base = estimate.base
    x = estimate.parameters
    noise = estimate.noise
    inverse = estimate.covariance
    scores, of_means = _score_covariance(
        parameterization, samples, factors, base, x, noise
    )
    covariance = inverse @ scores @ inverse
    factor = _variance_factor(factors, base, noise, np.diag(covariance))
    variances = factor * np.maximum(np.diag(covariance), 0.0)
    error = _modelling_error(parameterization, samples, base, x, noise)
    means = factors.means[:, :, base.independent]
    by_parameters = np.einsum("jri,ik,jrk->rj", means, covariance, means)
    of_offsets = factor * (of_means * noise**2 + by_parameters) + (means @ error).T ** 2
    return replace(
        estimate,
        deviations=np.sqrt(variances + error**2),
        offset_deviations=np.sqrt(of_offsets) * factors.means.any(axis=2).T,
    )


def solve_base(
    parameterization: Parameterization, samples: Samples, factors: Factors
) -> BaseEstimate:
    """Estimate the base parameters by least squares, iteratively weighted by the inverse of each joint's RMS residual.

    The standard deviations are for white noise and no offset. ``factors`` are ``Factors.of(parameterization,
    samples)``. Raises BagError if a joint moves, but never for long enough, or if there are too few torques (two or
    less for each base parameter).
    """
    base = parameterization.base
    counts = factors.counts.sum(axis=0)
    moves = samples.qd.any(axis=0)
    idle = compress(parameterization.model.joint_names, moves & (counts == 0))
    if names := ", ".join(idle):
        raise BagError(
            f"the recording: {names} never moves for longer than three periods of the filter's cutoff. "
            "Cure: record longer motions of it, or give a higher cutoff"
        )
    if counts.sum() <= 2 * len(base.names):
        raise BagError(
            f"the recording: {counts.sum()} torques of moving joints are too few for {len(base.names)} base "
            "parameters. Cure: record a longer motion of all joints"
        )
    counts = np.maximum(counts, 1)
    noise: Array = np.ones(len(counts))
    recorded = BaseParameters.of(
        factors.weighted(noise)[:, :-1], parameterization.names, COLUMN_RANK
    )
    unexcited: list[int] = []
    if len(recorded.names) < len(base.names):
        unexcited = np.setdiff1d(base.independent, recorded.independent).tolist()
        base = recorded
    freedom = _freedom(factors, base)
    x = np.zeros(len(parameterization.names))
    floor = LEAST_NOISE * np.sqrt(factors.squares(x).sum(axis=0) / counts) + TINY_NOISE
    for _ in range(WEIGHTING_ITERATIONS):
        x[base.independent] = least_squares(factors.weighted(noise), base.independent)
        before = noise
        noise = np.sqrt(factors.squares(x).sum(axis=0) / (freedom * counts))
        noise = np.maximum(noise, floor)
        if np.abs(noise / before - 1.0).max() < NOISE_CONVERGED:
            break
    matrix = factors.weighted(noise)[:, base.independent]
    condition = float(np.linalg.cond(matrix / np.linalg.norm(matrix, axis=0)))
    inverse = np.linalg.pinv(matrix)
    covariance = inverse @ inverse.T
    unseen = tuple(parameterization.names[k] for k in unexcited)
    turned = parameterization.moves[:, moves].any(axis=1)
    still = tuple(np.array(parameterization.model.moving_joints)[~turned].tolist())
    return BaseEstimate(
        base,
        x[base.independent],
        np.sqrt(np.diag(covariance)),
        noise,
        condition,
        unseen,
        still,
        factors.offsets(x),
        np.zeros(factors.means.shape[1::-1]),
        covariance,
    )


def _freedom(factors: Factors, base: BaseParameters) -> float:
    """Return the share of the torques beyond those that determine the base parameters and offsets."""
    offsets = np.count_nonzero(factors.means.any(axis=2))
    return 1.0 - (len(base.names) + offsets) / float(factors.counts.sum())


def least_squares(triangle: Array, columns: Sequence[int] | NDArray[np.intp]) -> Array:
    """Return the least-squares solution (k,) for k of the p ``columns`` of a factor [R z] (rows, p + 1)."""
    solution = np.linalg.lstsq(triangle[:, columns], triangle[:, -1], rcond=None)[0]
    return np.asarray(solution, dtype=np.float64)


def _variance_factor(
    factors: Factors, base: BaseParameters, noise: Array, variances: Array
) -> float:
    """Return the median ratio of jackknife variances (Efron 1982) to ``variances`` (r,); 1 if insignificant."""
    without = factors.without_parts(noise).values()
    freedom = len(without) - 1
    if freedom < 1:
        return 1.0
    left = np.array([least_squares(w, base.independent) for w in without])
    squares = jackknife(left) ** 2
    # median of chi-squared over its mean, by Wilson and Hilferty
    usual = (1.0 - 2.0 / (9.0 * freedom)) ** 3
    ratio = (
        float(np.median(squares / np.maximum(variances, np.finfo(float).tiny))) / usual
    )
    return ratio if ratio > NOISE_RATIO else 1.0


def _modelling_error(
    parameterization: Parameterization,
    samples: Samples,
    base: BaseParameters,
    x: Array,
    noise: Array,
) -> Array:
    """Return the change of the base parameters (r,) if effects that the model neglects are estimated too.

    These are a delay of the effort, a lag of the velocity, and friction nonlinear in the speed. 0 if insignificant.
    The part of nonlinear friction that the joint's own friction columns explain over the samples used is no error:
    friction parameters are those of the best fit, such as a line in the speed, to the robot's friction there.
    """
    fastest = np.abs(parameterization.joint_rates(samples.qd)).max(axis=0, initial=0.0)
    nonlinear = samples.filtered(
        lambda q, qd, qdd: nonlinear_friction(parameterization.joint_rates(qd), fastest)
    )

    def neglected(chunk: slice, columns: Array) -> Array:
        q, qd, qdd, qddd = (
            values[chunk]
            for values in (samples.q, samples.qd, samples.qdd, samples.qddd)
        )
        friction = samples.friction[chunk]
        frictiond = samples.frictiond[chunk]
        late = parameterization.columns(
            q,
            qd + LAG_DIFFERENCE * qdd,
            qdd + LAG_DIFFERENCE * qddd,
            friction + LAG_DIFFERENCE * frictiond,
        )
        lag = (
            (late - parameterization.columns(q, qd, qdd, friction)) @ x / LAG_DIFFERENCE
        )
        effects = [samples.taud[chunk][:, :, None], lag[:, :, None]]
        if parameterization.friction == "viscous_coulomb":
            effects.append(parameterization.at_coordinates(nonlinear[chunk]))
        return np.concatenate(effects, axis=2)

    r = len(base.names)
    first = np.searchsorted(base.independent, parameterization.new_rotors.stop)
    factors = Factors.of(parameterization, samples, neglected, base.independent)
    nonlinear_columns = slice(r + 2, -1)
    friction = slice(int(first), r)
    triangle = factors.orthogonal(nonlinear_columns, to=friction).weighted(noise)
    lengths = np.linalg.norm(triangle[:, :-1], axis=0)
    lengths[lengths == 0.0] = 1.0
    values = (
        np.linalg.lstsq(triangle[:, :-1] / lengths, triangle[:, -1], rcond=COLUMN_RANK)[
            0
        ]
        / lengths
    )
    count = len(lengths) - r
    # for pure noise: chi-squared with count degrees of freedom
    explained = float(np.sum(triangle[r:-1, -1] ** 2))
    if explained < count + NEGLECTED_SIGNIFICANT * math.sqrt(2.0 * count):
        return np.zeros(r)
    return np.asarray(values[:r] - x[base.independent])


def _score_covariance(
    parameterization: Parameterization,
    samples: Samples,
    factors: Factors,
    base: BaseParameters,
    x: Array,
    noise: Array,
) -> tuple[Array, Array]:
    """Return the covariance (r, r) of X^T e for residuals e that are correlated over time and between joints.

    And the variance (recordings, n) of the mean of e.

    It is the sum over lags l of w_l X_t^T C_l X_(t+l), with the residuals' covariance C_l (n, n) and Bartlett's weights
    w_l: the estimator of Newey and West for stationary residuals, which needs fewer samples.
    """
    chunks = progress(samples.columns(parameterization), "residuals", samples.chunks)
    error = np.concatenate([torque - columns @ x for _, columns, torque in chunks])
    error -= factors.offsets(x)[samples.recording] * samples.used
    error /= noise
    lags = _lags(error)
    freedom = _freedom(factors, base)
    counted = samples.used.astype(np.float64)
    covariances = []
    for lag in range(lags + 1):
        pairs = counted[: len(error) - lag].T @ counted[lag:]
        sums = error[: len(error) - lag].T @ error[lag:]
        covariances.append(
            (1.0 - lag / (lags + 1)) * sums / np.maximum(pairs, 1.0) / freedom
        )
    total = np.zeros((len(base.names), len(base.names)))
    for chunk, columns, _ in progress(
        samples.columns(parameterization, overlap=lags), "deviations", samples.chunks
    ):
        means = factors.means[:, samples.recording[chunk]].swapaxes(0, 1)
        centred = columns - means[..., :-1] * samples.used[chunk][:, :, None]
        rows = centred[:, :, base.independent] / noise[:, None]
        fresh = 0 if chunk.start == 0 else lags
        for lag, covariance in enumerate(covariances):
            late = rows[max(fresh, lag) :]
            early = rows[max(fresh, lag) - lag : len(rows) - lag]
            product = early.reshape(-1, len(total)).T @ (covariance @ late).reshape(
                -1, len(total)
            )
            total += product if lag == 0 else product + product.T
    both_sides = 2.0 * sum(covariances) - covariances[0]
    of_recordings = np.eye(len(samples.recordings))[:, samples.recording] @ counted
    return total, np.diag(both_sides) / np.maximum(of_recordings, 1.0)


def _lags(error: Array) -> int:
    """Return the number of lags of Bartlett's weights for a first-order process: Andrews 1991, (5.3) and (6.4)."""
    rho = float((error[1:] * error[:-1]).sum() / max((error * error).sum(), 1e-300))
    rho = min(abs(rho), 0.97)
    reach = 1.1447 * (4.0 * rho**2 / (1.0 - rho**2) ** 2 * len(error)) ** (1.0 / 3.0)
    return int(min(reach, len(error) // 10))
