"""Exciting trajectories: periodic motions within limits for the identification of dynamic parameters."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.optimize
from numpy.typing import ArrayLike, NDArray

from robot_dynamics_ros.analysis.thresholds import (
    CONDITION_POINTS,
    DEFAULT_VELOCITY_LIMIT,
    EFFORT_PENALTY,
    EXCITATION_DIFFERENCE,
    EXCITATION_ITERATIONS,
    LEAST_EFFORT_SHARE,
    LIMIT_POINTS,
    REGRESSOR_ENTRIES,
    SPECTRUM_POWER,
)
from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.progress import progress
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.base_parameters import (
    minimal_parameters,
    position_ranges,
)
from robot_dynamics_ros.runs.generators import fourier_wave


@dataclass(frozen=True, eq=False)
class ExcitationLimits:
    """Limits (n,) in SI units: lower and upper position, and largest magnitude of velocity, acceleration and effort."""

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    effort: Array

    @classmethod
    def of(
        cls, model: RobotModel, margin: float = 0.1, acceleration: ArrayLike = np.inf
    ) -> ExcitationLimits:
        """Return the model's limits, reduced by a margin.

        ``margin``, from 0 to less than 1, is the share of each limit that stays free; of a position range, half of it
        at each end. Joints without position limits get -pi to pi (rad or m), without velocity limit 1 rad/s or m/s, and
        without effort limit inf. ``acceleration``, a number or (n,), is a further limit and not reduced. Raises
        RobotDynamicsError for a margin or an acceleration out of range, and for a joint whose position range is empty.
        """
        if not 0.0 <= margin < 1.0:
            raise RobotDynamicsError(
                f"margin {margin} is out of range. Cure: give 0 or more, and less than 1"
            )
        n = model.n
        lower, upper = position_ranges(model)
        inside = 0.5 * margin * (upper - lower)
        lower = lower + inside
        upper = upper - inside
        if not (lower < upper).all():
            name = model.joint_names[int(np.argmin(upper - lower))]
            raise RobotDynamicsError(
                f'joint "{name}" has no range between its position limits. Cure: lock it, or widen them'
            )
        velocity = np.where(
            np.isfinite(model.velocity_limits),
            model.velocity_limits,
            DEFAULT_VELOCITY_LIMIT,
        ) * (1.0 - margin)
        largest = np.asarray(acceleration, dtype=np.float64)
        if largest.shape not in ((), (1,), (n,)) or np.isnan(largest).any():
            raise RobotDynamicsError(
                f"acceleration {acceleration!r} does not fit {n} joints. Cure: give one number, or {n} numbers"
            )
        largest = np.broadcast_to(largest, (n,)).copy()
        if not (largest > 0.0).all():
            raise RobotDynamicsError(
                f"acceleration {largest.min()} is out of range. Cure: give positive numbers"
            )
        slowest = np.minimum(model.acceleration_limits, model.deceleration_limits)
        largest = np.minimum(largest, slowest * (1.0 - margin))
        return cls(
            lower, upper, velocity, largest, model.effort_limits * (1.0 - margin)
        )

    def time_to(self, q: Array) -> float:
        """Return the duration (s) of a quintic from rest to rest at ``q`` (n,), from any position within the limits."""
        # For distance d and duration T: largest velocity 15/8 d / T, largest acceleration 10 / sqrt(3) d / T^2.
        far = np.maximum(q - self.lower, self.upper - q)
        return float(
            np.maximum(
                1.875 * far / self.velocity,
                np.sqrt(10.0 / np.sqrt(3.0) * far / self.acceleration),
            ).max()
        )

    def effort_ratio(self, model: RobotModel, q: Array, qd: Array, qdd: Array) -> float:
        """Return the largest ratio of effort (inverse dynamics and friction) to its limit along a motion.

        ``q``, ``qd`` and ``qdd`` (m, n) are in SI units. More than 1: a limit is exceeded; 0 for infinite limits.
        """
        tau = model.inverse_dynamics(q, qd, qdd) + model.friction_torque(q, qd, qdd=qdd)
        return float((np.abs(tau) / self.effort).max())


@dataclass(frozen=True, eq=False)
class Excitation:
    """Periodic motion q(t) = center + sum_l a_l / (w l) sin(w l t) - b_l / (w l) cos(w l t), w = 2 pi base_frequency.

    Attributes
    ----------
    joint_names, center
        The n joints, and the constant term (n,) of their positions in rad or m.
    sine, cosine
        The coefficients a and b (n, L) of the velocity in rad/s or m/s, for L harmonics.
    base_frequency
        Frequency of the first harmonic (Hz): the inverse of the period.
    condition
        Condition number of the base regressor over one period, its columns scaled to unit length.
    """

    joint_names: tuple[str, ...]
    center: Array
    sine: Array
    cosine: Array
    base_frequency: float
    condition: float

    def samples(self, count: int) -> tuple[Array, Array, Array]:
        """Return q, qd, qdd (count, n) in SI units at the times k / (count base_frequency) s, k = 0 to count - 1."""
        times = np.arange(count) / (count * self.base_frequency)
        wave = fourier_wave(
            times, self.sine, self.cosine, 2 * math.pi * self.base_frequency
        )
        return self.center + wave[0], wave[1], wave[2]


def find_excitation(
    model: RobotModel,
    limits: ExcitationLimits,
    period: float,
    harmonics: int = 5,
    restarts: int = 5,
    seed: int = 0,
) -> tuple[Excitation, float]:
    """Find a periodic motion with a small condition number of the base regressor.

    The result is the motion and, for comparison, the condition number of the first random motion. Starting from
    ``restarts`` (1 or more) random motions, L-BFGS-B minimizes a smooth approximation of the condition number; the same
    ``seed`` gives the same motion, within rounding errors on another processor. ``period`` is in s, the number of
    ``harmonics`` is 2 or more. Scaling and shifting each series keeps position, velocity and acceleration within
    ``limits``; a quadratic penalty keeps the efforts (inverse dynamics and friction) within theirs. Collisions are not
    considered.

    Raises RobotDynamicsError for arguments out of range, and if no motion within the effort limits is found.
    """
    if not (math.isfinite(period) and period > 0.0):
        raise RobotDynamicsError(
            f"duration {period} s is out of range. Cure: give a positive number"
        )
    if harmonics < 2 or restarts < 1:
        raise RobotDynamicsError(
            f"{harmonics} harmonics and {restarts} restarts are too few. Cure: give at least 2 harmonics and 1 restart"
        )
    search = _Search(model, limits, 1.0 / period, harmonics)
    rng = np.random.default_rng(seed)
    starts = [rng.normal(size=search.size) for _ in range(restarts)]
    first = search.excitation(starts[0])
    bar = progress(range(restarts * EXCITATION_ITERATIONS), "exciting trajectory")
    excitations = []
    for start in starts:
        part = islice(bar, EXCITATION_ITERATIONS)
        if (motion := search.minimise(start, partial(_advance, part))) is not None:
            excitations.append(motion)
        deque(part, maxlen=0)  # a search may converge before its last iteration
    if not excitations:
        raise RobotDynamicsError(
            f"no motion within the effort limits was found from {restarts} random motions. Cure: a smaller margin, a "
            "longer duration, or another seed"
        )
    return min(
        excitations, key=lambda excitation: excitation.condition
    ), first.condition


def _advance(bar: Iterator[int], _: Array) -> None:
    next(bar, None)


class _Search:
    """Map of unbounded variables x (size,) to motions within the limits, and their cost."""

    def __init__(
        self,
        model: RobotModel,
        limits: ExcitationLimits,
        base_frequency: float,
        harmonics: int,
    ) -> None:
        self._model = model
        self._limits = limits
        self._frequency = base_frequency
        order = np.arange(1.0, harmonics + 1.0)
        # Series that start at rest: sum a_l = 0 and sum l b_l = 0.
        self._sine_basis = scipy.linalg.null_space(np.ones((1, harmonics)))
        self._cosine_basis = scipy.linalg.null_space(order[None])
        self.limit_count = LIMIT_POINTS * harmonics
        self._count = CONDITION_POINTS * harmonics
        self._shapes = self._waves(self.limit_count)
        self._samples = self._waves(self._count)
        # Bound on a series of L terms between its samples, relative to its largest sample: Ehlich, Zeller 1964.
        self._between = 1.0 / math.cos(math.pi * harmonics / self.limit_count)
        self._coefficients = 2 * (harmonics - 1)
        self.size = model.n * (self._coefficients + 2)

    def _waves(self, count: int) -> Array:
        """Return q, qd, qdd (3, count, 2 L - 2) of the basis of all series that start at rest."""
        zero_sine = np.zeros_like(self._sine_basis.T)
        zero_cosine = np.zeros_like(self._cosine_basis.T)
        sine = np.concatenate([self._sine_basis.T, zero_sine])
        cosine = np.concatenate([zero_cosine, self._cosine_basis.T])
        times = np.arange(count) / (count * self._frequency)
        return np.array(
            fourier_wave(times, sine, cosine, 2 * math.pi * self._frequency)
        )

    @cached_property
    def _base(self) -> NDArray[np.intp]:
        """Indices of the regressor columns of a set of base parameters."""
        return minimal_parameters(self._model).base.independent

    def _parameters(self, x: Array) -> tuple[Array, Array]:
        """Return center (..., n) and coefficients (..., n, 2 L - 2) of the motion of x (..., size)."""
        limits = self._limits
        table = x.reshape(*x.shape[:-1], self._model.n, -1)
        shape = table[..., : self._coefficients]
        q, qd, qdd = (shape @ wave.T for wave in self._shapes)
        low = q.min(axis=-1)
        high = q.max(axis=-1)
        # for extrema between the samples
        room = 0.5 * (high - low) * (self._between - 1.0)
        low = low - room
        high = high + room
        largest = np.minimum(
            (limits.upper - limits.lower) / (high - low),
            np.minimum(
                limits.velocity / (np.abs(qd).max(axis=-1) * self._between),
                limits.acceleration / (np.abs(qdd).max(axis=-1) * self._between),
            ),
        )
        scale = largest * _sigmoid(table[..., -2] + 2.0)
        place = _sigmoid(table[..., -1])
        least = limits.lower - scale * low
        most = limits.upper - scale * high
        return least + place * (most - least), scale[..., None] * shape

    def excitation(self, x: Array) -> Excitation:
        """Return the motion of x (size,)."""
        center, coefficients = self._parameters(x)
        half = self._coefficients // 2
        sine = coefficients[:, :half] @ self._sine_basis.T
        cosine = coefficients[:, half:] @ self._cosine_basis.T
        regressor = self._model.regressor(*self._motion(center, coefficients))
        condition = math.sqrt(self._spectrum(regressor).ratio)
        return Excitation(
            self._model.joint_names, center, sine, cosine, self._frequency, condition
        )

    def _motion(self, center: Array, coefficients: Array) -> Array:
        """Return q, qd, qdd (3, m, n) at the m samples of the regressor."""
        motion = self._samples @ coefficients.T
        motion[0] += center
        return motion

    def _spectrum(self, regressor: Array) -> _Spectrum:
        columns = regressor[..., self._base].reshape(-1, len(self._base))
        norms = np.linalg.norm(columns, axis=0)
        # A joint at rest has columns of zeros.
        columns = columns / np.maximum(norms, np.finfo(np.float64).tiny)
        return _Spectrum(columns, norms, *np.linalg.eigh(columns.T @ columns))

    def cost(self, x: Array, share: float = 1.0) -> tuple[float, Array]:
        """Return cost and gradient (size,) at x (size,): log10 of the smooth condition number plus a penalty.

        The penalty is the sum of squares of the relative excess of the effort over ``share`` times its limit.
        """
        model = self._model
        limit = share * self._limits.effort
        center, coefficients = self._parameters(x)
        motion = self._motion(center, coefficients)
        regressor = model.regressor(*motion)
        friction = model.friction_torque(*motion[:2], qdd=motion[2])
        tau = regressor @ model.inertial_parameters + friction
        over = np.maximum(np.abs(tau) / limit - 1.0, 0.0)
        spectrum = self._spectrum(regressor)
        cost = spectrum.smooth_condition() + EFFORT_PENALTY * float((over**2).sum())
        by_tau = 2.0 * EFFORT_PENALTY * over * np.sign(tau) / limit
        by_regressor = by_tau[..., None] * model.inertial_parameters
        by_regressor[..., self._base] += spectrum.gradient().reshape(*by_tau.shape, -1)
        by_motion = self._gradient_by_motion(
            motion, regressor, by_regressor, friction, by_tau
        )
        by_center = by_motion[0].sum(axis=0)
        by_coefficients = np.einsum("kmj,kmc->jc", by_motion, self._samples)
        centers, tables = self._parameters(
            x + EXCITATION_DIFFERENCE * np.eye(self.size)
        )
        change = (centers - center) @ by_center + (
            (tables - coefficients) * by_coefficients
        ).sum(axis=(1, 2))
        return cost, change / EXCITATION_DIFFERENCE

    def _gradient_by_motion(
        self,
        motion: Array,
        regressor: Array,
        by_regressor: Array,
        friction: Array,
        by_friction: Array,
    ) -> Array:
        """Return the gradient of the cost with respect to q, qd, qdd (3, m, n).

        ``by_regressor`` (m, n, p) and ``by_friction`` (m, n) are the gradients with respect to regressor and friction
        torque, whose derivatives are forward differences.
        """
        m, n = friction.shape
        gradient = np.empty((3 * n, m))
        weights = by_regressor.reshape(m, -1, 1)
        before = (regressor.reshape(m, 1, -1) @ weights)[:, 0, 0] + (
            friction * by_friction
        ).sum(axis=1)
        steps = EXCITATION_DIFFERENCE * np.eye(3 * n).reshape(3 * n, 3, 1, n)
        for rows in np.array_split(
            np.arange(3 * n), math.ceil(3 * n * regressor.size / REGRESSOR_ENTRIES)
        ):
            states = np.moveaxis(motion + steps[rows], 1, 0)
            after = (
                self._model.regressor(*states).reshape(len(rows), m, 1, -1) @ weights
            )[..., 0, 0]
            after += (
                self._model.friction_torque(*states[:2], qdd=states[2]) * by_friction
            ).sum(axis=2)
            gradient[rows] = (after - before) / EXCITATION_DIFFERENCE
        return np.swapaxes(gradient.reshape(3, n, m), 1, 2)

    def minimise(
        self, start: Array, step: Callable[[Array], object]
    ) -> Excitation | None:
        """Return the best motion from ``start`` (size,); None if it exceeds the effort limits.

        ``step`` is called after each iteration.
        """
        # its type hints lack functions that return their gradient too
        search: Any = scipy.optimize.minimize
        x = start
        share = 1.0
        options = {"maxiter": EXCITATION_ITERATIONS}
        while share > LEAST_EFFORT_SHARE:
            x = search(
                self.cost,
                x,
                (share,),
                jac=True,
                method="L-BFGS-B",
                options=options,
                callback=step,
            ).x
            excitation = self.excitation(x)
            excess = self._limits.effort_ratio(
                self._model, *excitation.samples(self.limit_count)
            )
            if excess <= 1.0:
                return excitation
            share *= 0.99 / excess
        return None


class _Spectrum(NamedTuple):
    """Regressor columns C (rows, k) scaled to unit length, their lengths before, eigenvalues and -vectors of C^T C."""

    columns: Array
    norms: Array
    values: Array
    vectors: Array

    @property
    def ratio(self) -> float:
        """Largest over smallest eigenvalue: the square of the condition number of C."""
        return float(self.values[-1] / max(self.values[0], np.finfo(np.float64).eps))

    def smooth_condition(self) -> float:
        """Return log10 of the condition number of C in the norm (sum of l^p)^(1 / 2p) of its eigenvalues l.

        The condition number itself has kinks where eigenvalues coincide, as the largest and the smallest ones do at its
        minimum. A search along kinks amplifies rounding errors.
        """
        values = self._positive()
        return math.log10(
            (values**SPECTRUM_POWER).sum() * (values**-SPECTRUM_POWER).sum()
        ) / (2 * SPECTRUM_POWER)

    def gradient(self) -> Array:
        """Return the gradient of ``smooth_condition`` with respect to the unscaled columns Y (rows, k)."""
        values = self._positive()
        largest = values**SPECTRUM_POWER
        smallest = values**-SPECTRUM_POWER
        slopes = (largest / largest.sum() - smallest / smallest.sum()) / (
            math.log(10.0) * values
        )
        slopes[self.values < values] = 0.0
        # For an eigenvalue l with unit eigenvector v: dl = 2 (C v)^T dC v, with C_k = Y_k / |Y_k|.
        gradient = self.columns @ (slopes * self.vectors @ self.vectors.T)
        gradient -= (gradient * self.columns).sum(axis=0) * self.columns
        moving = self.norms > np.finfo(np.float64).tiny
        return np.asarray(
            np.divide(gradient, self.norms, out=np.zeros_like(gradient), where=moving)
        )

    def _positive(self) -> Array:
        return np.maximum(self.values, np.finfo(np.float64).eps)


def _sigmoid(x: Array) -> Array:
    return 0.5 * (1.0 + np.tanh(0.5 * x))
