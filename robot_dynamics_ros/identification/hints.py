"""Hints: probable causes of a torque residual, judged by samples that they predict without being fitted to them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.identification.causes import FRICTION, Evidence, causes, friction
from robot_dynamics_ros.identification.motion import TorqueAnalysis, analyse_torque, root_mean_square
from robot_dynamics_ros.identification.readings import Reading, as_recorded, readings
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.progress import progress

_SAMPLES = 1000
_FEWEST = 60
_SHARE = 0.3  # of what is left over that a cause must explain
_ROUGH = 0.3  # of a joint's torque: its error, to begin with
_MOST = 3
_SHORTLIST = 2  # mistakes of reading that are examined with all causes
_FLOOR = 1e-3  # of a joint's measured torque: an error that small is none
_TINY = 1e-9  # Nm or N
_BLOCKS = 24
_FOLDS = 4
_SINGULAR = 1e-8  # of the normal equations of columns of unit length
_OPEN = 1e-4  # of a number's square that nothing determines


def hints(model: RobotModel, analysis: TorqueAnalysis) -> list[str]:
    """Return what is probably wrong, the likeliest first; empty if nothing explains the residual.

    A hypothesis is up to three causes of ``causes`` together, for the recording as it is or without one mistake of
    ``readings``. It is fitted to the residual by least squares, joints weighted by the error that can be reached,
    and judged by the error that it leaves in blocks of the recording that it was not fitted to, so that neither
    noise nor additional parameters improve the score. Each cause must take away a share of the squared error (30 %,
    where its ``complexity`` is 1) and make a share of some joint's torque (its ``effect``), and its numbers must
    make sense.
    """
    motion = analysis.motion
    thin = slice(None, None, -(-len(motion.time) // _SAMPLES))
    if len(motion.time[thin]) < _FEWEST:
        return []
    evidence = Evidence(motion.part(thin), np.gradient(motion.tau, motion.time, axis=0)[thin])
    floor = _FLOOR * root_mean_square(evidence.motion.tau) + _TINY
    floor[np.ptp(evidence.motion.tau, axis=0) < _TINY] = np.inf  # nothing is measured there
    plain = _Trial(model, as_recorded(model.n), evidence)
    if (root_mean_square(plain.residual) <= floor).all():
        return []
    noise = np.maximum(plain.noise(), floor)
    trials = [plain, *(_Trial(model, reading, evidence) for reading in _shortlist(model, evidence, 1.0 / noise))]
    weights = 1.0 / np.maximum(np.min([trial.noise() for trial in trials], axis=0), floor)
    measured = np.isfinite(floor)
    least = float(((floor[measured] * weights[measured]) ** 2).sum()) * len(evidence.motion.time)
    for trial in trials:
        trial.weigh(weights)
    # No set of causes leaves much less than all of them, which bounds the scores of those that are not tried.
    bounds = {trial: np.log((1.0 - _SHARE) * max(trial.cost(list(trial.hypotheses)), least)) for trial in trials}
    best, found = np.inf, None
    for trial, names in sorted(itertools.chain(*(trial.subsets() for trial in trials)), key=_complexity):
        if bounds[trial] + _complexity((trial, names)) >= best:
            continue
        score = np.log(max(trial.cost(names), least)) + _complexity((trial, names))
        if score < best and (words := trial.words(names, plain.cost([]))) is not None:
            best, found = score, words
    return found or []


def _complexity(hypothesis: tuple[_Trial, Sequence[str]]) -> float:
    """Return by how much its causes must lower the logarithm of the cost."""
    trial, names = hypothesis
    count = trial.reading.complexity + sum(trial.hypotheses[name].complexity for name in names)
    return float(-np.log(1.0 - _SHARE) * count)


def _shortlist(model: RobotModel, evidence: Evidence, weights: Array) -> list[Reading]:
    """Return the readings that leave least of the residual, friction fitted along."""
    costs = []
    evidence = evidence.part(slice(None, None, 3))
    for reading in progress(list(readings(model, evidence)), "looking for what is wrong"):
        trial = _Trial(model, reading, evidence, only_friction=True)
        trial.weigh(weights)
        costs.append((np.log(trial.cost([FRICTION])) + _complexity((trial, [])), reading))
    costs.sort(key=lambda cost: cost[0])
    return [reading for _, reading in costs[:_SHORTLIST]]


class _Trial:
    """A reading of the recording, with the normal equations of its residual (m, n) and all causes.

    The samples are 24 blocks in a row; each fourth of the blocks is predicted by the fit to the others.
    """

    def __init__(self, model: RobotModel, reading: Reading, evidence: Evidence, only_friction: bool = False) -> None:
        self.reading = reading
        self._evidence = reading.of(evidence)
        self.residual = analyse_torque(model, self._evidence.motion).residual
        kinds = {FRICTION: friction} if only_friction else causes(model)
        self.hypotheses = {name: kind(model, self._evidence) for name, kind in kinds.items()}
        parts = self.hypotheses.values()
        ends = np.cumsum([0, *(part.columns.shape[2] for part in parts)]).tolist()
        self._places = {name: np.arange(*pair) for name, pair in zip(kinds, itertools.pairwise(ends), strict=True)}
        self._precision = np.concatenate([part.precision for part in parts])
        rows = np.concatenate([*(part.columns for part in parts), self.residual[:, :, np.newaxis]], axis=2)
        fold = np.arange(len(rows)) * _BLOCKS // len(rows) % _FOLDS
        own = [np.ascontiguousarray(rows[fold == k].transpose(1, 2, 0)) for k in range(_FOLDS)]
        self._squares = np.array([part @ part.transpose(0, 2, 1) for part in own])  # (folds, n, p + 1, p + 1)

    def weigh(self, weights: Array) -> None:
        """Weigh the joints' errors, (n,) in the order and unit of the effort as recorded."""
        read = weights[self.reading.efforts] / np.abs(self.reading.gains)
        self._normal = np.einsum("knpq,n->kpq", self._squares, read**2)

    def noise(self) -> Array:
        """Return the error (n,) that each joint alone leaves with all causes or none, in the units of the effort."""
        everything = list(self.hypotheses)
        sizes = root_mean_square(self._evidence.motion.tau) + _TINY
        errors = []
        for j, (size, before) in enumerate(zip(sizes, root_mean_square(self.residual), strict=True)):
            self._normal = self._squares[:, j] / (_ROUGH * size) ** 2
            errors.append(min(before, _ROUGH * size * np.sqrt(self.cost(everything) / len(self.residual))))
        recorded = np.empty(len(sizes))
        recorded[self.reading.efforts] = errors / np.abs(self.reading.gains)
        return recorded

    def subsets(self) -> Iterator[tuple[_Trial, Sequence[str]]]:
        """Yield every choice of up to three causes."""
        for count in range(_MOST + 1):
            for names in itertools.combinations(self.hypotheses, count):
                yield self, names

    def cost(self, names: Sequence[str]) -> float:
        """Return the weighted sum of the squared errors of these causes in the blocks that they are not fitted to."""
        places = self._at(names)
        here = np.append(places, -1)
        values = np.append(-self._left_out(places), np.ones((_FOLDS, 1)), axis=1)
        return float(np.einsum("kp,kpq,kq->", values, self._normal[:, here[:, np.newaxis], here], values))

    def words(self, names: Sequence[str], before: float) -> list[str] | None:
        """Describe the mistake of the reading and these causes, fitted together; None if one makes no sense.

        ``before``: the cost without them.
        """
        places = self._at(names)
        values, errors = self._values(places)
        described = {}
        sizes = root_mean_square(self._evidence.motion.tau)
        for name in names:
            hypothesis, own = self.hypotheses[name], np.isin(places, self._places[name])
            torque = root_mean_square(hypothesis.columns @ values[own])
            words = hypothesis.words(values[own], errors[own])
            if words is None or not (torque > hypothesis.effect * sizes).any():
                return None
            described[name] = words
        # The mistake comes first, then the causes: of those that are left always the one that predicts most.
        order: list[str] = []
        texts: list[str] = []
        rest = "what the model leaves"
        while len(texts) < len(names) + bool(self.reading.words):
            if self.reading.words and not texts:
                text, cost = self.reading.words, self.cost([])
            else:
                order.append(min(set(names) - set(order), key=lambda name: self.cost([*order, name])))
                text, cost = described[order[-1]], self.cost(order)
            texts.append(f"{text} (it predicts {100 * (1.0 - cost / before):.0f} % of {rest})")
            before, rest = cost, "what is left after that"
        return texts

    def _at(self, names: Sequence[str]) -> NDArray[np.intp]:
        return np.concatenate([np.empty(0, dtype=np.intp), *(self._places[name] for name in names)])

    def _left_out(self, places: NDArray[np.intp]) -> Array:
        """Return for each part the numbers (parts, p) fitted to the others."""
        gram, moment, scale = _scaled(self._normal.sum(axis=0) - self._normal, places, self._precision)
        return np.linalg.solve(gram, moment[..., np.newaxis])[..., 0] / scale

    def _values(self, places: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return the numbers (p,) fitted to all samples, and their standard errors; infinite where they are open.

        The errors are the jackknife's (Efron 1982), since those of neighbouring samples are correlated.
        """
        gram, moment, scale = _scaled(self._normal.sum(axis=0), places, self._precision)
        inverse = np.linalg.inv(gram)
        others = self._left_out(places)
        errors = np.sqrt((_FOLDS - 1) / _FOLDS * ((others - others.mean(axis=0)) ** 2).sum(axis=0))
        return inverse @ moment / scale, np.where(_SINGULAR * np.diag(inverse) > _OPEN, np.inf, errors)


def _scaled(normal: Array, places: NDArray[np.intp], precision: Array) -> tuple[Array, Array, Array]:
    """Return regular normal equations (..., p, p), (..., p) for columns of unit length, and the lengths (..., p)."""
    gram = normal[..., places[:, np.newaxis], places] + np.diag(precision[places])
    scale = np.sqrt(np.diagonal(gram, axis1=-2, axis2=-1))
    scale = np.where(scale == 0.0, 1.0, scale)
    gram = gram / (scale[..., np.newaxis] * scale[..., np.newaxis, :])
    return gram + _SINGULAR * np.eye(len(places)), normal[..., places, -1] / scale, scale
