"""Hints: probable causes of a torque residual, chosen by cross-validation."""

from __future__ import annotations

import copy
import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.analysis.diagnosis.causes import (
    DELAY,
    FRICTION,
    LINKS,
    RARE,
    Evidence,
    causes,
)
from robot_dynamics_ros.analysis.diagnosis.corrections import (
    Correction,
    corrections,
    misfit,
)
from robot_dynamics_ros.analysis.diagnosis.low_speed import steps_at_low_speed
from robot_dynamics_ros.analysis.diagnosis.recording_checks import (
    beyond_limits,
    doubtful_messages,
    impossible_recording,
    late_velocity,
)
from robot_dynamics_ros.analysis.diagnosis.residual import torque_noise, unexplained
from robot_dynamics_ros.analysis.identification.torque_analysis import (
    TorqueAnalysis,
    analyse_torque,
    jackknife,
    summed_products,
)
from robot_dynamics_ros.analysis.thresholds import (
    HINT_BETTER,
    HINT_BLOCKS,
    HINT_FOLDS,
    HINT_LEAST_REDUCTION,
    HINT_LEAST_SAMPLES,
    HINT_MOST_CAUSES,
    HINT_MOST_SAMPLES,
    HINT_NOISE_FLOOR,
    HINT_ROUGH_NOISE,
    HINT_ROUNDING,
    HINT_SHORTLIST,
    HINT_SLIDING_SPEED,
    HINT_UNDETERMINED,
    HINT_UNIFORM,
    LINK_PRIOR_SAMPLES,
    MATCHED_EVERY,
    RIDGE,
    RIVAL_COMPLEXITY,
    RIVAL_RANGE,
    RIVAL_SIGNIFICANT,
    TINY,
)
from robot_dynamics_ros.base.progress import progress
from robot_dynamics_ros.base.statistics import root_mean_square
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel


def hints(model: RobotModel, analysis: TorqueAnalysis) -> list[str]:
    """Return the probable causes of a torque residual, a sentence each with size and cure; empty if none explains it.

    ``model`` is the model of ``analysis``. A hypothesis is a set of up to three causes, such as a payload or friction,
    and at most one mistake of signs, order, units, gain or zero. It is fitted by weighted least squares and judged by
    cross-validation over blocks of the recording. Each cause must reduce the squared error, most by about 30 %, have a
    significant share of some joint's torque, and possible parameters. Hypotheses that cannot be distinguished share a
    sentence. The last sentence is on a residual that is clearly more than the noise. Fewer than 60 samples give no
    hints. A recording that contradicts itself or the limits, and a joint that moves in steps, give hints at that alone.
    """
    motion = analysis.motion
    stride = -(-len(motion.time) // HINT_MOST_SAMPLES)
    thin = slice(None, None, stride)
    if len(motion.time[thin]) < HINT_LEAST_SAMPLES:
        return []
    if impossible := impossible_recording(model, motion):
        return impossible
    doubtful = doubtful_messages(motion)
    if steps := steps_at_low_speed(model, motion):
        return [*doubtful, *steps]
    if late := late_velocity(motion):
        doubtful.append(late)
        qd = np.gradient(motion.q, motion.time, axis=0)
        motion = replace(motion, qd=qd, qdd=np.gradient(qd, motion.time, axis=0))
    part = replace(motion.part(thin), every=motion.every * stride)
    evidence = Evidence(part, np.gradient(motion.tau, motion.time, axis=0)[thin])
    floor = HINT_NOISE_FLOOR * root_mean_square(evidence.motion.tau) + TINY
    # no effort is measured there
    floor[np.ptp(evidence.motion.tau, axis=0) < TINY] = np.inf
    plain = _CrossValidation(model, Correction.none(model.n), evidence)
    if (root_mean_square(plain.residual) <= floor).all():
        return [*doubtful, *beyond_limits(model, motion)]
    shortlist = _shortlist(model, evidence)
    fits = [
        plain,
        *(_CrossValidation(model, correction, evidence) for correction in shortlist),
    ]
    weights = 1.0 / np.maximum(np.min([fit.noise() for fit in fits], axis=0), floor)
    measured = np.isfinite(floor)
    least = float(((floor[measured] * weights[measured]) ** 2).sum()) * len(
        evidence.motion.time
    )
    for fit in fits:
        fit.weigh(weights)
    candidates = _candidates(fits, plain, least)
    if not candidates:
        candidates = [_Candidate(plain, (), {})]
    best, texts = _with_rivals(candidates)
    corrected = best.fit.correction.apply(evidence).motion
    texts = [*doubtful, *beyond_limits(model, corrected), *texts]
    noise = torque_noise(model, corrected, best.fit.correction)
    if noise is not None:
        left = best.fit.left(best.names)
        texts += unexplained(model, corrected, left, best.fit.sliding, noise)
    return texts


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A correction, by its cross-validation ``fit``, and the ``names`` of causes, with a hint for each of them."""

    fit: _CrossValidation
    names: tuple[str, ...]
    hints: dict[str, str]

    @cached_property
    def costs(self) -> Array:
        """Squared errors (blocks,)."""
        return self.fit.block_costs(self.names)

    @property
    def complexity(self) -> float:
        return _complexity((self.fit, self.names))

    def is_better(self, rival: _Candidate) -> bool:
        """Return True if its error is less than that of ``rival``, by two standard errors of the difference."""
        differences = rival.costs - self.costs
        error = differences.std(ddof=1) * np.sqrt(len(differences))
        return bool(differences.sum() > RIVAL_SIGNIFICANT * error)


def _candidates(
    fits: Sequence[_CrossValidation], plain: _CrossValidation, least: float
) -> list[_Candidate]:
    """Return plausible candidates of the residual, the best score first, without those far from the best one."""
    # All causes together leave about the least error, which bounds the scores of the subsets: most need no fit.
    bounds = {
        fit: np.log((1.0 - HINT_LEAST_REDUCTION) * max(fit.least_cost(), least))
        for fit in fits
    }
    subsets = [
        itertools.combinations(plain.hypotheses, count)
        for count in range(HINT_MOST_CAUSES + 1)
    ]
    sets = [names for names in itertools.chain(*subsets) if len({*names} & {*RARE}) < 2]
    limit = np.inf
    found: list[tuple[float, _Candidate]] = []
    for fit, names in sorted(itertools.product(fits, sets), key=_complexity):
        # A fitted gain and link parameters explain the same.
        gained = (np.abs(fit.correction.gains) != 1.0).any()
        if (LINKS in names and gained) or (names and fit.correction.alone):
            continue
        if bounds[fit] + _complexity((fit, names)) >= limit:
            continue
        score = np.log(max(fit.cost(names), least)) + _complexity((fit, names))
        if (
            score < limit
            and (described := fit.describe(names, plain.cost([]))) is not None
        ):
            found.append((score, _Candidate(fit, names, described)))
            limit = min(limit, score + RIVAL_RANGE)
    found.sort(key=lambda one: one[0])
    return [candidate for _, candidate in found]


def _with_rivals(candidates: list[_Candidate]) -> tuple[_Candidate, list[str]]:
    """Return the best candidate, and its hints, each with those of rivals that do as well.

    A simpler candidate, of some of its parts, is preferred unless the best one is clearly better.
    """
    best = candidates[0]
    for simpler in candidates[1:]:
        # The hint at a delay has its own test.
        if simpler.hints.keys() | {DELAY} < best.hints.keys() | {
            DELAY
        } and not best.is_better(simpler):
            best = simpler
    texts = dict(best.hints)
    most = best.complexity - RIVAL_COMPLEXITY * np.log(1.0 - HINT_LEAST_REDUCTION)
    for rival in candidates:
        own = [key for key in best.hints if key not in rival.hints]
        others = [text for key, text in rival.hints.items() if key not in best.hints]
        if not own or not 0 < len(others) <= len(own) or best.is_better(rival):
            continue
        if rival.complexity <= most or rival.is_better(best):
            texts[own[0]] += f". Or instead: {'; and '.join(others)}"
    return best, list(texts.values())


def _complexity(hypothesis: tuple[_CrossValidation, Sequence[str]]) -> float:
    """Return the decrease of the log cost that the correction and the causes must achieve."""
    fit, names = hypothesis
    count = fit.correction.complexity + sum(
        fit.hypotheses[name].complexity for name in names
    )
    return float(-np.log(1.0 - HINT_LEAST_REDUCTION) * count)


def _shortlist(model: RobotModel, evidence: Evidence) -> list[Correction]:
    """Return the corrections after which the model's torques fit the efforts best."""
    costs = []
    candidates = list(corrections(model, evidence.motion))
    thinned = Evidence(
        evidence.motion.part(slice(None, None, MATCHED_EVERY)),
        evidence.effort_rate[::MATCHED_EVERY],
    )
    for correction in progress(candidates, "causes of the residual"):
        motion = correction.apply(thinned).motion
        gains = np.log(np.abs(correction.gains))
        errors = np.diagonal(misfit(model, motion, motion.tau)) - gains
        costs.append((float(errors.sum()) + correction.complexity * 0.1, correction))
    costs.sort(key=lambda cost: cost[0])
    return [correction for _, correction in costs[:HINT_SHORTLIST]]


class _CrossValidation:
    """Cross-validated least squares of the residual (m, n) of a corrected recording, for any set of causes.

    Residuals at rest are 0. The samples are divided into 24 consecutive blocks; every fourth block is in the same fold.
    """

    def __init__(
        self,
        model: RobotModel,
        correction: Correction,
        evidence: Evidence,
    ) -> None:
        self.correction = correction
        self._evidence = correction.apply(evidence)
        analysis = analyse_torque(model, self._evidence.motion)
        self.residual = analysis.residual * analysis.used
        self.sliding = analysis.used & ~analysis.reversing
        selected = causes(model)
        self.hypotheses = {
            name: cause(model, self._evidence) for name, cause in selected.items()
        }
        parts = self.hypotheses.values()
        ends = np.cumsum([0, *(part.columns.shape[2] for part in parts)]).tolist()
        self._columns = {
            name: np.arange(*pair)
            for name, pair in zip(selected, itertools.pairwise(ends), strict=True)
        }
        self._precision = np.concatenate(
            [np.broadcast_to(part.precision, part.columns.shape[2]) for part in parts]
        )
        columns = (
            np.concatenate([part.columns for part in parts], axis=2)
            * analysis.used[:, :, None]
        )
        self._rows = np.concatenate([columns, self.residual[:, :, None]], axis=2)
        self._squares = summed_products(np.array_split(self._rows, HINT_BLOCKS))

    def left(self, names: Sequence[str]) -> Array:
        """Return the residual (m, n) that the causes, fitted together, leave."""
        columns = self._indices(names)
        values = self._solved(self._blocks.sum(axis=0), columns)
        return self.residual - self._rows[:, :, columns] @ values

    def weigh(self, weights: Array) -> None:
        """Set the weights (n,) of the joints' errors, in the order and inverse unit of the recorded effort."""
        self._weights = weights
        corrected = weights[self.correction.efforts] / np.abs(self.correction.gains)
        self._blocks = np.einsum("knpq,n->kpq", self._squares, corrected**2)
        self._normal = _by_fold(self._blocks)

    def noise(self) -> Array:
        """Return each joint's RMS error (n,) with all causes or none, in the order and unit of the recorded effort."""
        sizes = root_mean_square(self._evidence.motion.tau) + TINY
        errors = []
        for j, (size, before) in enumerate(
            zip(sizes, root_mean_square(self.residual), strict=True)
        ):
            self._blocks = self._squares[:, j] / (HINT_ROUGH_NOISE * size) ** 2
            self._normal = _by_fold(self._blocks)
            errors.append(
                min(
                    before,
                    HINT_ROUGH_NOISE
                    * size
                    * np.sqrt(self.least_cost() / len(self.residual)),
                )
            )
        recorded = np.empty(len(sizes))
        recorded[self.correction.efforts] = errors / np.abs(self.correction.gains)
        return recorded

    def block_costs(self, names: Sequence[str]) -> Array:
        """Return the weighted sums (blocks,) of squared errors, predicted from the other folds."""
        columns = self._indices(names)
        used = np.append(columns, -1)
        values = np.append(
            -self._fits_without_fold(columns), np.ones((HINT_FOLDS, 1)), axis=1
        )
        values = np.tile(values, (HINT_BLOCKS // HINT_FOLDS, 1))
        squares = self._blocks[:, used[:, None], used]
        return np.asarray(np.einsum("kp,kpq,kq->k", values, squares, values))

    def cost(self, names: Sequence[str]) -> float:
        """Return the weighted sum of squared prediction errors over all folds, each predicted from the others."""
        # Rounding can make the cost of an exact fit negative.
        rounding = HINT_ROUNDING * self._blocks[:, -1, -1].sum()
        return float(max(self.block_costs(names).sum(), rounding, sys.float_info.min))

    @property
    def _frequent(self) -> list[str]:
        return [name for name in self.hypotheses if name not in RARE]

    def least_cost(self) -> float:
        """Return about the least ``cost`` of all sets of causes."""
        return min(self.cost([*self._frequent, *more]) for more in ((), *zip(RARE)))

    def describe(self, names: Sequence[str], before: float) -> dict[str, str] | None:
        """Return the hints, by name, for causes fitted together; None if one is implausible or none explains anything.

        The hints end before the first one that explains nothing.
        ``before`` is the cost without correction and causes.
        """
        columns = self._indices(names)
        values, errors = self._fit(names)
        described = {}
        sizes = root_mean_square(self._evidence.motion.tau)
        for name in names:
            hypothesis = self.hypotheses[name]
            own = np.isin(columns, self._columns[name])
            torque = root_mean_square(hypothesis.columns @ values[own])
            hint = hypothesis.describe(
                *(self._delay if name == DELAY else (values[own], errors[own]))
            )
            if hint is None or not (torque > hypothesis.effect * sizes).any():
                return None
            described[name] = hint
        # The correction comes first, then in each place the cause that reduces the remaining cost most.
        texts: dict[str, str] = {}
        if self.correction.hint:
            # Alone it may explain nothing: with the right units, too much friction in the model is seen.
            cost = self.cost([])
            with_it = "it explains"
            if cost >= before and names:
                cost = self.cost(names)
                with_it = "with the causes below it explains"
            if cost >= before:
                return None
            texts[self.correction.hint] = (
                f"{self.correction.hint} ({with_it} {_share(cost, before)})"
            )
            before = self.cost([])
        order: list[str] = []
        while len(order) < len(names):
            order.append(
                min(
                    set(names) - set(order),
                    key=lambda name: self.cost([*order, name]),
                )
            )
            cost = self.cost(order)
            if cost >= before:
                return texts or None
            name = order[-1]
            texts[name] = (
                f"{described[name]} (it explains {_share(cost, before, bool(texts))})"
            )
            before = cost
        return texts

    @cached_property
    def _delay(self) -> tuple[Array, Array]:
        """Return the delay (1,) and its standard error (1,), infinite if it does not reduce the prediction error.

        It is fitted with all other causes, by the rate of the torque that they predict: the noise in that of the effort
        would diminish it. Torques of joints near a reversal are left out: there, friction that depends on the travel
        since the reversal imitates a delay.
        """
        motion = self._evidence.motion
        fit = copy.copy(self)
        others = [name for name in self._frequent if name != DELAY]
        columns = self._indices(others)
        own = self._indices([DELAY])
        unexplained = self.residual - self._rows[:, :, columns] @ self._solved(
            self._blocks.sum(axis=0), columns
        )
        rows = self._rows.copy()
        speed = np.abs(motion.qd)
        rows[:, :, own] = -np.gradient(motion.tau - unexplained, motion.time, axis=0)[
            :, :, None
        ]
        sliding = (speed > HINT_SLIDING_SPEED * speed.max(axis=0))[:, :, None]
        fit._squares = summed_products(np.array_split(rows * sliding, HINT_BLOCKS))
        fit.weigh(self._weights)
        values, errors = fit._fit([DELAY, *others])
        return values[:1], errors[:1] if fit.cost([DELAY, *others]) < fit.cost(
            others
        ) else np.array([np.inf])

    def _indices(self, names: Sequence[str]) -> NDArray[np.intp]:
        return np.concatenate(
            [np.empty(0, dtype=np.intp), *(self._columns[name] for name in names)]
        )

    def _fits_without_fold(self, columns: NDArray[np.intp]) -> Array:
        """Return for each fold the parameters (folds, p) fitted to the other folds."""
        return self._solved(self._normal.sum(axis=0) - self._normal, columns)

    def _solved(self, normal: Array, columns: NDArray[np.intp]) -> Array:
        gram, moment, scale = _scaled(normal, columns, self._precision)
        return np.linalg.solve(gram, moment[..., None])[..., 0] / scale

    def _fit(self, names: Sequence[str]) -> tuple[Array, Array]:
        """Return the parameters (p,) of the causes fitted to all samples, and their standard errors (p,).

        These contain disagreement between blocks, by the jackknife (Efron 1982); the change of a parameter when
        friction and link parameters are fitted too, if these reduce the prediction error; and what link parameters
        leave undetermined, each uniform over its prior deviation, by the ratio of what they explain to the rest.
        """
        columns = self._indices(names)
        whole = self._blocks.sum(axis=0)
        values = self._solved(whole, columns)
        others = self._solved(whole - self._blocks, columns)
        variances = jackknife(others) ** 2
        cost = self.cost(names)
        links = [*names, *({LINKS} - set(names))]
        more = [*links, *({FRICTION} - set(names))]
        if self.cost(more) < HINT_BETTER * cost:
            variances += (
                self._solved(whole, self._indices(more))[: len(columns)] - values
            ) ** 2
        gram, _, scale = _scaled(
            whole,
            self._indices(links),
            HINT_UNIFORM / LINK_PRIOR_SAMPLES * self._precision,
        )
        ratio = (
            1.0 if LINKS in names else np.clip(cost / self.cost(links) - 1.0, 0.0, 1.0)
        )
        variances += ratio * (np.diag(np.linalg.inv(gram)) / scale**2)[: len(columns)]
        known = np.isin(columns, self._columns[LINKS], invert=True)
        gram, _, _ = _scaled(whole, columns[known], self._precision)
        errors = np.sqrt(variances)
        errors[
            np.flatnonzero(known)[
                RIDGE * np.diag(np.linalg.inv(gram)) > HINT_UNDETERMINED
            ]
        ] = np.inf
        return values, errors


def _share(cost: float, before: float, remaining: bool = False) -> str:
    error = "remaining squared error" if remaining else "squared error"
    return f"{100 * (1.0 - cost / before):.0f} % of the {error}"


def _by_fold(blocks: Array) -> Array:
    """Return sums (folds, ...) over every fourth of consecutive blocks (24, ...)."""
    return np.asarray(blocks.reshape(-1, HINT_FOLDS, *blocks.shape[1:]).sum(axis=0))


def _scaled(
    normal: Array, columns: NDArray[np.intp], precision: Array
) -> tuple[Array, Array, Array]:
    """Return regular normal equations (..., p, p), (..., p) for columns of unit length, and the lengths (..., p)."""
    gram = normal[..., columns[:, None], columns] + np.diag(precision[columns])
    scale = np.sqrt(np.diagonal(gram, axis1=-2, axis2=-1))
    scale = np.where(scale == 0.0, 1.0, scale)
    gram = gram / (scale[..., None] * scale[..., None, :])
    return gram + RIDGE * np.eye(len(columns)), normal[..., columns, -1] / scale, scale
