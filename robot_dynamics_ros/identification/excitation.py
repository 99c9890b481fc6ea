"""Exciting trajectories: periodic motions within limits from which parameters can be identified."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.optimize
from numpy.typing import ArrayLike, NDArray

from robot_dynamics_ros.control.trajectory.generators import fourier_wave
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.formulations.properties import minimal_parameters
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.progress import progress

_TURN = np.pi  # to each side, rad or m, where a joint has no position limits
_SPEED = 1.0  # rad/s or m/s, where it has no velocity limit
_CONDITION_POINTS = 10  # samples in each period of the highest harmonic, where the regressor is evaluated
_LIMIT_POINTS = 80  # where limits are checked
_STEP = 1e-6  # of the numerical gradient
_PENALTY = 10.0  # decades of the condition number for one effort twice its bound
_LEAST_SHARE = 0.5  # of the effort limits: a bound that has to be lower finds no motion
_ITERATIONS = 40
_NUMBERS = 4_000_000  # of regressors at once


@dataclass(frozen=True, eq=False)
class ExcitationLimits:
    """Limits (n,) in SI units: positions from lower to upper; velocity, acceleration and effort to both sides."""

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    effort: Array

    @classmethod
    def of(cls, model: RobotModel, margin: float = 0.1, acceleration: ArrayLike = np.inf) -> ExcitationLimits:
        """Return the model's limits with a margin.

        ``margin`` is the share of each limit that is kept free: of the position range half of it at each end.
        Joints without position limits get a range of pi to each side of zero, those without velocity limit 1 rad/s
        or m/s. ``acceleration``, one for all or (n,), is taken as it is given. Raises RobotDynamicsError for what does
        not fit.
        """
        if not 0.0 <= margin < 1.0:
            raise RobotDynamicsError(f"a margin of {margin}. Cure: give 0 or more, and less than 1")
        n = model.n
        lower = np.where(np.isfinite(model.position_lower), model.position_lower, -_TURN)
        upper = np.where(np.isfinite(model.position_upper), model.position_upper, _TURN)
        inside = 0.5 * margin * (upper - lower)
        lower, upper = lower + inside, upper - inside
        if not (lower < upper).all():
            name = model.joint_names[int(np.argmin(upper - lower))]
            raise RobotDynamicsError(f"{name} has no room between its position limits. Cure: lock it, or widen them")
        velocity = np.where(np.isfinite(model.velocity_limits), model.velocity_limits, _SPEED) * (1.0 - margin)
        largest = np.asarray(acceleration, dtype=np.float64)
        if largest.shape not in ((), (1,), (n,)) or np.isnan(largest).any():
            raise RobotDynamicsError(
                f"acceleration: {acceleration!r}. Cure: give one number, or {n}, one for each joint"
            )
        largest = np.broadcast_to(largest, (n,)).copy()
        if not (largest > 0.0).all():
            raise RobotDynamicsError(f"an acceleration limit of {largest.min()}. Cure: give positive numbers")
        return cls(lower, upper, velocity, largest, model.effort_limits * (1.0 - margin))

    def time_to(self, q: Array) -> float:
        """Return the seconds that a quintic from rest to rest at ``q`` (n,) needs from anywhere within the limits.

        Its largest velocity is 15/8 d / T and its largest acceleration 10 / sqrt(3) d / T^2.
        """
        far = np.maximum(q - self.lower, self.upper - q)
        return float(
            np.maximum(1.875 * far / self.velocity, np.sqrt(10.0 / np.sqrt(3.0) * far / self.acceleration)).max()
        )

    def effort_ratio(self, model: RobotModel, q: Array, qd: Array, qdd: Array) -> float:
        """Return the largest effort, of inverse dynamics and friction, over its limit along a motion (m, n)."""
        tau = model.inverse_dynamics(q, qd, qdd) + model.friction_torque(q, qd)
        return float((np.abs(tau) / self.effort).max())


@dataclass(frozen=True, eq=False)
class Excitation:
    """A periodic motion q = center + series, see ``control.fourier``, in rad or m and seconds.

    Attributes
    ----------
    joint_names, center
        The n joints, and the middle of their series (n,).
    sine, cosine
        The coefficients a and b (n, L) of the velocity.
    base_frequency
        Hz; the period is its inverse.
    condition
        Condition number of the base regressor over a period, columns of unit length.
    """

    joint_names: tuple[str, ...]
    center: Array
    sine: Array
    cosine: Array
    base_frequency: float
    condition: float

    def samples(self, count: int) -> tuple[Array, Array, Array]:
        """Return q, qd, qdd (count, n) at even times of one period."""
        times = np.arange(count) / (count * self.base_frequency)
        wave = fourier_wave(times, self.sine, self.cosine, 2 * math.pi * self.base_frequency)
        return self.center + wave[0], wave[1], wave[2]


def find_excitation(
    model: RobotModel,
    limits: ExcitationLimits,
    period: float,
    harmonics: int = 5,
    restarts: int = 5,
    seed: int = 0,
) -> tuple[Excitation, float]:
    """Return the best motion, and the condition number of the first random one, which fills the limits too.

    Every motion that is tried keeps position, velocity and acceleration within ``limits`` by its construction: each
    joint's series is scaled and placed between them. Efforts, of inverse dynamics and friction, are held by a quadratic
    penalty beyond a bound, which is lowered until the whole motion keeps the limits. The condition number is minimised
    from ``restarts`` random motions by a quasi-Newton method (L-BFGS-B), so that the same seed gives the same motion.
    ``period`` is in s, ``harmonics`` L is 2 or more.

    Raises RobotDynamicsError, with the cure, where the arguments do not fit or no motion keeps the efforts.
    """
    if not (math.isfinite(period) and period > 0.0):
        raise RobotDynamicsError(f"the duration is {period} s. Cure: give a positive number")
    if harmonics < 2 or restarts < 1:
        raise RobotDynamicsError(
            f"{harmonics} harmonics, {restarts} restarts. Cure: at least 2 harmonics and 1 restart"
        )
    search = _Search(model, limits, 1.0 / period, harmonics)
    rng = np.random.default_rng(seed)
    starts = [rng.normal(size=search.size) for _ in range(restarts)]
    first = search.excitation(starts[0])
    steps = progress(range(restarts * _ITERATIONS), "looking for an exciting trajectory")
    kept = [motion for start in starts if (motion := search.minimise(start, lambda x: next(steps, None))) is not None]
    if not kept:
        raise RobotDynamicsError(
            "no motion was found that keeps the effort limits. Cure: a smaller margin, a longer duration, "
            "or another --seed"
        )
    return min(kept, key=lambda excitation: excitation.condition), first.condition


class _Search:
    """Map from unbounded numbers x (size,) to motions within the limits, and their costs."""

    def __init__(self, model: RobotModel, limits: ExcitationLimits, base_frequency: float, harmonics: int) -> None:
        self._model, self._limits, self._frequency = model, limits, base_frequency
        order = np.arange(1.0, harmonics + 1.0)
        # Series that start at rest: sum a_l = 0 and sum l b_l = 0.
        self._sine_basis = scipy.linalg.null_space(np.ones((1, harmonics)))
        self._cosine_basis = scipy.linalg.null_space(order[np.newaxis])
        self.limit_count = _LIMIT_POINTS * harmonics
        self._count = _CONDITION_POINTS * harmonics
        self._shapes = self._waves(self.limit_count)
        self._samples = self._waves(self._count)
        # Between its samples a series of L terms exceeds them by no more: Ehlich, Zeller 1964.
        self._between = 1.0 / math.cos(math.pi * harmonics / self.limit_count)
        self._coefficients = 2 * (harmonics - 1)
        self.size = model.n * (self._coefficients + 2)

    def _waves(self, count: int) -> Array:
        """Return q, qd, qdd (3, count, coefficients) of each series that starts at rest."""
        zero_sine, zero_cosine = np.zeros_like(self._sine_basis.T), np.zeros_like(self._cosine_basis.T)
        sine = np.concatenate([self._sine_basis.T, zero_sine])
        cosine = np.concatenate([zero_cosine, self._cosine_basis.T])
        times = np.arange(count) / (count * self._frequency)
        return np.array(fourier_wave(times, sine, cosine, 2 * math.pi * self._frequency))

    @cached_property
    def _base(self) -> NDArray[np.intp]:
        """The regressor's columns that belong to base parameters."""
        return minimal_parameters(self._model).base.independent

    def _parameters(self, x: Array) -> tuple[Array, Array]:
        """Return center (..., n) and coefficients (..., n, 2 L - 2) of x (..., size), within the limits."""
        limits = self._limits
        table = x.reshape(*x.shape[:-1], self._model.n, -1)
        shape = table[..., : self._coefficients]
        q, qd, qdd = (shape @ wave.T for wave in self._shapes)
        low, high = q.min(axis=-1), q.max(axis=-1)
        room = 0.5 * (high - low) * (self._between - 1.0)  # for what lies between the samples
        low, high = low - room, high + room
        largest = np.minimum(
            (limits.upper - limits.lower) / (high - low),
            np.minimum(
                limits.velocity / (np.abs(qd).max(axis=-1) * self._between),
                limits.acceleration / (np.abs(qdd).max(axis=-1) * self._between),
            ),
        )
        scale = largest * _sigmoid(table[..., -2] + 2.0)
        place = _sigmoid(table[..., -1])
        least, most = limits.lower - scale * low, limits.upper - scale * high
        return least + place * (most - least), scale[..., np.newaxis] * shape

    def excitation(self, x: Array) -> Excitation:
        """Return the motion of x (size,)."""
        center, coefficients = self._parameters(x)
        half = self._coefficients // 2
        sine = coefficients[:, :half] @ self._sine_basis.T
        cosine = coefficients[:, half:] @ self._cosine_basis.T
        condition = 10.0 ** float(self._conditions(x[np.newaxis])[0][0])
        return Excitation(self._model.joint_names, center, sine, cosine, self._frequency, condition)

    def _conditions(self, x: Array, share: float = 1.0) -> tuple[Array, Array]:
        """Return log10 of the condition number (k,), and the penalty (k,) on efforts, of each x (k, size).

        Each sample and joint adds the square of the part by which its effort exceeds ``share`` of its limit.
        """
        center, coefficients = self._parameters(x)
        q, qd, qdd = (np.swapaxes(coefficients @ wave.T, -1, -2) for wave in self._samples)
        q = q + center[:, np.newaxis]
        regressor = self._model.regressor(q, qd, qdd)
        tau = regressor @ self._model.inertial_parameters + self._model.friction_torque(q, qd)
        over = np.maximum(np.abs(tau) / (share * self._limits.effort) - 1.0, 0.0)
        columns = regressor[..., self._base].reshape(len(x), -1, len(self._base))
        # A motion that is next to rest has columns of zeros.
        columns = columns / np.maximum(np.linalg.norm(columns, axis=1, keepdims=True), np.finfo(np.float64).tiny)
        eigenvalues = np.linalg.eigvalsh(np.swapaxes(columns, 1, 2) @ columns)
        tiny = np.finfo(np.float64).eps
        return 0.5 * np.log10(eigenvalues[:, -1] / np.maximum(eigenvalues[:, 0], tiny)), (over**2).sum(axis=(1, 2))

    def minimise(self, start: Array, step: Callable[[Array], object]) -> Excitation | None:
        """Return the best motion from ``start`` (size,), or None where it exceeds the effort limits.

        ``step`` is called after each iteration.
        """
        numbers = self._count * self._model.n * len(self._model.inertial_parameters)  # of a regressor
        steps = np.concatenate([np.zeros((1, self.size)), _STEP * np.eye(self.size)])

        def cost(x: Array, share: float) -> tuple[float, Array]:
            # All neighbours at once: few calls of the regressor for the whole gradient.
            parts = np.array_split(x + steps, math.ceil(len(steps) * numbers / _NUMBERS))
            conditions, penalties = np.hstack([self._conditions(part, share) for part in parts])
            costs = conditions + _PENALTY * penalties
            return float(costs[0]), (costs[1:] - costs[0]) / _STEP

        search: Any = scipy.optimize.minimize  # its types know no function that returns its gradient too
        x, share, options = start, 1.0, {"maxiter": _ITERATIONS}
        while share > _LEAST_SHARE:
            x = search(cost, x, (share,), jac=True, method="L-BFGS-B", options=options, callback=step).x
            excitation = self.excitation(x)
            excess = self._limits.effort_ratio(self._model, *excitation.samples(self.limit_count))
            if excess <= 1.0:
                return excitation
            share *= 0.99 / excess
        return None


def _sigmoid(x: Array) -> Array:
    return 0.5 * (1.0 + np.tanh(0.5 * x))
