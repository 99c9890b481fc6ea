"""What is probably wrong, where a model does not explain the measured torque."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from robot_dynamics_ros.identification.explanations import Explanation, Fitted, Mistake, explanations, mistakes
from robot_dynamics_ros.identification.folded_fits import FoldedFits
from robot_dynamics_ros.identification.motion import Motion
from robot_dynamics_ros.identification.torque_analysis import TorqueAnalysis, analyse_torque, root_mean_square
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.progress import progress

_SAMPLES = 1000
_FEWEST = 60
_SHARE = 0.3  # of what is left over that a hint must explain
_EFFECT = 0.03  # of some joint's measured torque that a hint must make
_CLOSE = 1.3  # times the squared error of the best: another explanation that is as good is named too
_MOST = 3
_FLOOR = 1e-3  # of a joint's measured torque: an error that small is none
_TINY = 1e-9  # Nm or N


def hints(model: RobotModel, analysis: TorqueAnalysis) -> list[str]:
    """Return what is probably wrong, the likeliest first; empty where nothing explains the residual.

    Each explanation is fitted to the residual by least squares, joints weighted by the error that the best
    explanation leaves in them, and judged by the share of the residual's variance that it predicts in blocks of the
    recording that it was not fitted to; so noise, and numbers to spare, explain nothing. The best is named if that
    share is 30 % or more and it makes 3 % of some joint's torque. What is left is then examined again, with what
    was found fitted along: up to three hints.
    """
    motion = analysis.motion.part(slice(None, None, -(-len(analysis.motion.time) // _SAMPLES)))
    if len(motion.time) < _FEWEST:
        return []
    case = _Case.of(model, motion)
    found: list[tuple[Explanation | Mistake, str | None, str]] = []
    while len(found) < _MOST and (step := _next(case)) is not None:
        case, added, how_sure = step
        found.append((added, case.words(added), how_sure))
    # With all causes fitted together the numbers are better.
    return [f"{case.words(added) or words} ({how_sure})" for added, words, how_sure in found]


@dataclass(frozen=True, eq=False)
class _Case:
    """A reading of the recording: its residual (m, n) with mistakes corrected, and causes with their columns."""

    model: RobotModel
    motion: Motion
    residual: Array
    causes: tuple[tuple[Explanation, Array], ...] = ()
    corrected: tuple[Mistake, ...] = ()

    @classmethod
    def of(cls, model: RobotModel, motion: Motion) -> _Case:
        return cls(model, motion, analyse_torque(model, motion).residual)

    def with_cause(self, cause: Explanation) -> _Case:
        columns = cause.columns(self.model, self.motion)
        return replace(self, causes=(*self.causes, (cause, columns)))

    def without_mistake(self, mistake: Mistake) -> _Case:
        case = _Case.of(self.model, mistake.correct(self.motion))
        for cause, _ in self.causes:
            case = case.with_cause(cause)
        return replace(case, corrected=(*self.corrected, mistake))

    def predicted_error(self, weights: Array) -> Array:
        """Return the error (m, n) that the causes leave in the blocks that they are not fitted to."""
        return self._fits.predicted_error(weights) if self.causes else self.residual

    def words(self, added: Explanation | Mistake) -> str | None:
        """Say what was added, as all causes are fitted together; None where that cannot be meant."""
        if isinstance(added, Mistake):
            return added.words
        values, errors = self._fits.values(1.0 / _error_scale(self.motion, self.predicted_error(np.ones(self.model.n))))
        first = 0
        for cause, columns in self.causes:
            own = slice(first, first + columns.shape[2])
            if cause is added:
                fitted = Fitted(values[own], errors[own], columns @ values[own])
                return cause.words(self.model, self.motion, fitted)
            first = own.stop
        raise AssertionError(added.name)

    @cached_property
    def _fits(self) -> FoldedFits:
        return FoldedFits(np.concatenate([columns for _, columns in self.causes], axis=2), self.residual)


def _next(case: _Case) -> tuple[_Case, Explanation | Mistake, str] | None:
    """Return the case with the explanation that predicts most of what is left, and how sure it is; None for none."""
    none = _FLOOR * root_mean_square(case.motion.tau) + _TINY
    left = root_mean_square(case.predicted_error(np.ones(case.model.n)))
    if (left <= none).all():
        return None
    trials = _trials(case)
    rough = 1.0 / np.maximum(left, none)
    errors = [root_mean_square(trial.predicted_error(rough)) for _, trial in trials]
    weights = 1.0 / np.maximum(np.min(errors, axis=0), none)
    now = case.predicted_error(weights)
    shares = [1.0 - _cost(trial.predicted_error(weights), weights) / _cost(now, weights) for _, trial in trials]
    good = [k for k, share in enumerate(shares) if share > _SHARE and _makes_sense(*trials[k], now, weights)]
    if not good:
        return None
    most = max(shares[k] for k in good)
    best, *rivals = (k for k in good if 1.0 - shares[k] <= _CLOSE * (1.0 - most))
    rest = "what is left after that" if case.causes or case.corrected else "what the model leaves"
    how_sure = f"it predicts {100 * shares[best]:.0f} % of {rest}"
    if rivals:
        how_sure += f"; so does, nearly, {' or '.join(trials[k][0].name for k in rivals)}"
    return trials[best][1], trials[best][0], how_sure


def _trials(case: _Case) -> list[tuple[Explanation | Mistake, _Case]]:
    """Return the case with each explanation that it does not have yet; one mistake is all that it may have."""
    known = {cause.name for cause, _ in case.causes}
    causes = [cause for cause in explanations(case.model) if cause.name not in known]
    readings = [] if case.corrected else list(mistakes(case.model.joint_names))
    return [
        *((cause, case.with_cause(cause)) for cause in causes),
        *((mistake, case.without_mistake(mistake)) for mistake in progress(readings, "looking for what is wrong")),
    ]


def _makes_sense(added: Explanation | Mistake, trial: _Case, now: Array, weights: Array) -> bool:
    if isinstance(added, Mistake):
        return True
    effect = root_mean_square(now - trial.predicted_error(weights))
    return bool((effect > _EFFECT * root_mean_square(trial.motion.tau)).any()) and trial.words(added) is not None


def _cost(error: Array, weights: Array) -> float:
    return float(((error * weights) ** 2).sum())


def _error_scale(motion: Motion, error: Array) -> Array:
    return np.maximum(root_mean_square(error), _FLOOR * root_mean_square(motion.tau) + _TINY)
