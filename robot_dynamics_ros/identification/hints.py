"""Hints: probable causes of a torque residual, judged by samples that they predict without being fitted to them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.identification.motion import (
    RecordedMotion,
    TorqueAnalysis,
    analyse_torque,
    root_mean_square,
)
from robot_dynamics_ros.kernels.regressor import PARAMETERS
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.model.link_tree import LinkTree
from robot_dynamics_ros.progress import progress

_SAMPLES = 1000
_FEWEST = 60
_SHARE = 0.3  # of what is left over that a hint must explain
_EFFECT = 0.03  # of some joint's measured torque that a hint must make
_CLOSE = 1.3  # times the squared error of the best: another cause that is as good is named too
_MOST = 3
_FLOOR = 1e-3  # of a joint's measured torque: an error that small is none
_TINY = 1e-9  # Nm or N
_BLOCKS = 24
_FOLDS = 4
_SINGULAR = 1e-7  # of the greatest eigenvalue, of columns of unit length
_STILL = 0.02  # of a joint's greatest speed: slower than that, its Coulomb friction grows in proportion
_SAME = 0.05  # relative difference that is none
_NO_WEIGHT = 0.15  # of the model's gravity
_SMALL_ANGLE = 3.0  # degrees
_FELT = 1e-7  # of the square of the strongest direction's torque
_LIGHT = 0.02  # kg, or kg m
_FAR = 2.0  # m


def hints(model: RobotModel, analysis: TorqueAnalysis) -> list[str]:
    """Return what is probably wrong, the likeliest first; empty where nothing explains the residual.

    Each cause is fitted to the residual by least squares, joints weighted by the error that the best cause leaves in
    them, and judged by the share of the residual's variance that it predicts in blocks of the recording that it was
    not fitted to; so noise, and numbers to spare, explain nothing. The best is named if that share is 30 % or more and
    it makes 3 % of some joint's torque. What is left is then examined again, with the named causes fitted along: up
    to three hints.
    """
    motion = analysis.motion.part(slice(None, None, -(-len(analysis.motion.time) // _SAMPLES)))
    if len(motion.time) < _FEWEST:
        return []
    links = model.moving_links
    kinds: dict[str, Kind] = {
        "another direction of gravity": _gravity,
        **{f"a payload on {links[body]}": partial(_payload, body) for body in _last_bodies(model)},
        "missing friction": _friction,
        "a scale of all efforts": _scale,
        "constant offsets": _offsets,
    }
    case = _Case(model, kinds, motion, analyse_torque(model, motion).residual)
    causes: list[tuple[str, str | None, str]] = []
    while len(causes) < _MOST and (step := _next(case)) is not None:
        case, name, how_sure = step
        causes.append((name, case.words(name), how_sure))
    # With all causes fitted together the numbers are better.
    return [f"{case.words(name) or words} ({how_sure})" for name, words, how_sure in causes]


class Hypothesis(NamedTuple):
    """A cause whose torque is linear in p numbers.

    Attributes
    ----------
    columns
        (m, n, p): the torque that each number adds to the model's.
    words
        From the fitted numbers and their standard errors, (p,) each, to the cause, its size and the cure; None where
        the numbers make no sense.
    """

    columns: Array
    words: Callable[[Array, Array], str | None]


Kind = Callable[[RobotModel, RecordedMotion], Hypothesis]


@dataclass(frozen=True, eq=False)
class Mistake:
    """A mistake in how the recording is read, and the motion without it."""

    name: str
    motion: RecordedMotion
    words: str


@dataclass(frozen=True, eq=False)
class _Case:
    """A reading of the recording: its residual (m, n), the causes that are fitted to it, the mistake it is without."""

    model: RobotModel
    kinds: Mapping[str, Kind]
    motion: RecordedMotion
    residual: Array
    causes: Mapping[str, Hypothesis] = field(default_factory=dict)
    mistake: Mistake | None = None

    def with_cause(self, name: str) -> _Case:
        return replace(self, causes={**self.causes, name: self.kinds[name](self.model, self.motion)})

    def without_mistake(self, mistake: Mistake) -> _Case:
        residual = analyse_torque(self.model, mistake.motion).residual
        causes = {name: self.kinds[name](self.model, mistake.motion) for name in self.causes}
        return replace(self, motion=mistake.motion, residual=residual, causes=causes, mistake=mistake)

    @cached_property
    def floor(self) -> Array:
        """Error (n,) of each joint that counts as none."""
        return _FLOOR * root_mean_square(self.motion.tau) + _TINY

    def predicted_error(self, weights: Array) -> Array:
        """Return the error (m, n) that the causes leave in the blocks that they are not fitted to."""
        return self._fit.predicted_error(weights) if self.causes else self.residual

    def words(self, name: str) -> str | None:
        """Describe a cause or the mistake, as all causes are fitted together; None where that makes no sense."""
        if self.mistake is not None and self.mistake.name == name:
            return self.mistake.words
        error = root_mean_square(self.predicted_error(np.ones(self.model.n)))
        values, errors = self._fit.values(1.0 / np.maximum(error, self.floor))
        ends = np.cumsum([cause.columns.shape[2] for cause in self.causes.values()])[:-1]
        place = list(self.causes).index(name)
        return self.causes[name].words(np.split(values, ends)[place], np.split(errors, ends)[place])

    @cached_property
    def _fit(self) -> CrossValidation:
        return CrossValidation(np.concatenate([cause.columns for cause in self.causes.values()], axis=2), self.residual)


def _next(case: _Case) -> tuple[_Case, str, str] | None:
    """Return the case with the cause that predicts most of what is left, its name and how sure it is, or None."""
    left = root_mean_square(case.predicted_error(np.ones(case.model.n)))
    if (left <= case.floor).all():
        return None
    trials = {name: case.with_cause(name) for name in case.kinds if name not in case.causes}
    if case.mistake is None:  # one is all that a reading may have
        for mistake in progress(list(_mistakes(case.motion)), "looking for what is wrong"):
            trials[mistake.name] = case.without_mistake(mistake)
    rough = 1.0 / np.maximum(left, case.floor)
    errors = [root_mean_square(trial.predicted_error(rough)) for trial in trials.values()]
    weights = 1.0 / np.maximum(np.min(errors, axis=0), case.floor)
    now = case.predicted_error(weights)

    def cost(error: Array) -> float:
        return float(((error * weights) ** 2).sum())

    def makes_sense(name: str, trial: _Case) -> bool:
        if trial.mistake is not case.mistake:
            return True
        effect = root_mean_square(now - trial.predicted_error(weights))
        return bool((effect > _EFFECT * root_mean_square(trial.motion.tau)).any()) and trial.words(name) is not None

    shares = {name: 1.0 - cost(trial.predicted_error(weights)) / cost(now) for name, trial in trials.items()}
    good = [name for name, share in shares.items() if share > _SHARE and makes_sense(name, trials[name])]
    if not good:
        return None
    most = max(shares[name] for name in good)
    best, *rivals = (name for name in good if 1.0 - shares[name] <= _CLOSE * (1.0 - most))
    rest = "what is left after that" if case.causes or case.mistake is not None else "what the model leaves"
    how_sure = f"it predicts {100 * shares[best]:.0f} % of {rest}"
    if rivals:
        how_sure += f"; so does, nearly, {' or '.join(rivals)}"
    return trials[best], best, how_sure


def _mistakes(motion: RecordedMotion) -> Iterator[Mistake]:
    """Yield every single mistake of sign or order that the recording may have."""
    names = motion.joint_names
    in_place, same = list(range(len(names))), np.ones(len(names))

    def effort(order: list[int], signs: Array) -> RecordedMotion:
        return replace(motion, tau=motion.tau[:, order] * signs)

    def all_of(order: list[int], signs: Array) -> RecordedMotion:
        q, qd, qdd, tau = (values[:, order] * signs for values in (motion.q, motion.qd, motion.qdd, motion.tau))
        return replace(motion, q=q, qd=qd, qdd=qdd, tau=tau)

    for j, name in enumerate(names):
        signs = same.copy()
        signs[j] = -1.0
        yield Mistake(
            f"the sign of {name}'s effort",
            effort(in_place, signs),
            f"the measured effort of {name} has the wrong sign. Cure: turn its sign in the driver",
        )
        yield Mistake(
            f"the sign of {name}",
            all_of(in_place, signs),
            f"{name} turns the other way: position, velocity and effort have the wrong sign. Cure: turn the joint's "
            "<axis> in the URDF, or the signs in the driver",
        )
    for i, j in itertools.combinations(in_place, 2):
        first, second = names[i], names[j]
        order = in_place.copy()
        order[i], order[j] = j, i
        yield Mistake(
            f"the efforts of {first} and {second} swapped",
            effort(order, same),
            f"the efforts of {first} and {second} are swapped. Cure: see the order of the effort in the driver",
        )
        yield Mistake(
            f"{first} and {second} swapped",
            all_of(order, same),
            f"{first} and {second} are swapped. Cure: see the names in the driver, or swap them back with "
            f"--rename {first}={second} {second}={first}",
        )


def _gravity(model: RobotModel, motion: RecordedMotion) -> Hypothesis:
    columns = np.stack([model.with_gravity(unit).gravity_torque(motion.q) for unit in np.eye(3)], axis=-1)

    def words(values: Array, errors: Array) -> str | None:
        given = model.gravity
        flat = columns.reshape(-1, 3)
        usual = float(np.linalg.norm(given)) or 9.81
        # The projection on the directions of gravity that some joint feels along the motion.
        strength, directions = np.linalg.eigh(flat.T @ flat)
        directions = directions[:, strength > _FELT * strength[-1]]
        felt = directions @ directions.T
        seen, expected = felt @ (given + values), felt @ given
        size = float(np.linalg.norm(seen))
        if size < _NO_WEIGHT * np.linalg.norm(expected):
            return (
                "the measured effort has no gravity in it: the driver takes it out, or the arm is balanced. "
                "Cure: --gravity 0 0 0"
            )
        # What no joint feels is as large as gravity's usual size leaves it.
        hidden = given - expected
        rest = np.sqrt(max(0.0, usual**2 - size**2))
        direction = seen + hidden * (rest / np.linalg.norm(hidden) if hidden.any() else 0.0)
        size = float(np.linalg.norm(direction))
        if abs(size - usual) > 2 * _SAME * usual:
            return None
        vector = " ".join(f"{x:g}" for x in np.round(direction * usual / size, 2) + 0.0)
        if not given.any():
            return (
                f"the measured effort has gravity in it, the model has none: it is ({vector}) m/s^2. "
                f"Cure: --gravity {vector}"
            )
        angle = float(np.degrees(np.arccos(np.clip(direction @ given / (size * usual), -1.0, 1.0))))
        if angle < _SMALL_ANGLE:
            return None
        mounted = "on a wall" if abs(angle - 90.0) < 10.0 else "on a ceiling" if angle > 170.0 else "tilted"
        return (
            f"gravity points {angle:.0f} degrees away from the model's, as for a robot that is mounted {mounted}: "
            f"it is ({vector}) m/s^2. Cure: --gravity {vector}, or gravity in the dynamics file"
        )

    return Hypothesis(columns, words)


def _last_bodies(model: RobotModel) -> list[int]:
    """Return the bodies that may carry a payload: those that carry nothing, and those that carry several."""
    parents = [link.parent for link in LinkTree.of(model).links]
    carried = [parents.count(body) for body in range(len(parents))]
    last = [body for body, count in enumerate(carried) if count == 0]
    branching = {parents[body] for body in last if parents[body] >= 0 and carried[parents[body]] > 1}
    return [*last, *sorted(branching)]


def _payload(body: int, model: RobotModel, motion: RecordedMotion) -> Hypothesis:
    link = model.moving_links[body]
    own = slice(PARAMETERS * body, PARAMETERS * (body + 1))

    def words(values: Array, errors: Array) -> str | None:
        mass, moment = values[0], values[1:4]
        if abs(mass) > 3.0 * errors[0] and abs(mass) > _LIGHT:
            com = moment / mass
            if np.linalg.norm(com) > _FAR:
                return None
            where = f"with its centre of mass at [{', '.join(f'{x:.3f}' for x in com)}] m in the axes of {link}"
            size = f"{abs(mass):.2f} kg on {link}, {where}"
            heavier = mass > 0.0
        else:
            # Nothing in this motion weighs the link by itself, as where its origin does not move.
            if np.linalg.norm(moment) < _LIGHT:
                return None
            size = f"a first moment of [{', '.join(f'{x:.3f}' for x in moment)}] kg m on {link}"
            heavier = True
        if heavier:
            return (
                f"the robot carries what the model does not know: {size}. Cure: give it as payload in the dynamics file"
            )
        return (
            f"the model carries what the robot does not: {size}, such as a hand that is not mounted. Cure: give the "
            "links that are not there mass 0 under links in the dynamics file, or take out its payload"
        )

    columns = model.regressor(motion.q, motion.qd, motion.qdd)[:, :, own]
    return Hypothesis(columns, words)


def _friction(model: RobotModel, motion: RecordedMotion) -> Hypothesis:
    """Viscous, Coulomb forwards, Coulomb backwards: n columns each."""
    n = model.n
    columns = np.zeros((len(motion.time), n, 3 * n))
    joints = np.arange(n)
    slow = np.maximum(_STILL * np.abs(motion.qd).max(axis=0), np.finfo(np.float64).tiny)
    columns[:, joints, joints] = motion.qd
    columns[:, joints, n + joints] = np.clip(motion.qd / slow, 0.0, 1.0)
    columns[:, joints, 2 * n + joints] = np.clip(motion.qd / slow, -1.0, 0.0)

    def words(values: Array, errors: Array) -> str | None:
        viscous, forwards, backwards = values.reshape(3, model.n)
        known = model.friction_torque(motion.q, motion.qd)
        torque = columns @ values
        matters = root_mean_square(torque) > _SAME * root_mean_square(motion.tau)
        # In all, friction takes power in either direction; what does not is an offset, or another cause's shadow.
        takes = np.ones(model.n, dtype=bool)
        for direction in (1.0, -1.0):
            moving = direction * motion.qd > 0.0
            takes &= (moving * motion.qd * (known + torque)).sum(axis=0) >= 0.0
        listed = matters & takes
        if not listed.any():
            return None
        missing = not known[:, listed].any()
        what = "the model has no friction where the robot has" if missing else "friction differs from the model's, by"
        each = "; ".join(
            f"{name} viscous {viscous[j]:.2g}, Coulomb {forwards[j]:.2g} forwards and {backwards[j]:.2g} backwards"
            for j, name in enumerate(model.joint_names)
            if listed[j]
        )
        return (
            f"{what}: {each}. Cure: give viscous, coulomb and coulomb_negative in the dynamics file, "
            "or let identify do it"
        )

    return Hypothesis(columns, words)


def _scale(model: RobotModel, motion: RecordedMotion) -> Hypothesis:
    torque = model.inverse_dynamics(motion.q, motion.qd, motion.qdd) + model.friction_torque(motion.q, motion.qd)

    def words(values: Array, errors: Array) -> str | None:
        scale = 1.0 + float(values[0])
        if abs(scale + 1.0) < 2 * _SAME:
            return "every effort has the wrong sign. Cure: turn the signs in the driver: effort moves the joint forward"
        if abs(scale - 1.0) < _SAME or abs(scale) < 5.0 * errors[0]:
            return None
        return (
            f"every effort is {scale:.4g} times the model's, as in other units or on the other side of the gears. "
            "Cure: record torque at the joints in Nm"
        )

    return Hypothesis(torque[:, :, np.newaxis], words)


def _offsets(model: RobotModel, motion: RecordedMotion) -> Hypothesis:
    columns = np.broadcast_to(np.eye(model.n), (len(motion.time), model.n, model.n)).copy()

    def words(values: Array, errors: Array) -> str | None:
        matters = root_mean_square(columns @ values) > _SAME * root_mean_square(motion.tau)
        offsets = [f"{name} {x:.3g}" for name, x, big in zip(model.joint_names, values, matters, strict=True) if big]
        if not offsets:
            return None
        return f"the measured effort has constant offsets: {', '.join(offsets)}. Cure: zero the torque sensors"

    return Hypothesis(columns, words)


class CrossValidation:
    """Fits of a residual (m, n) by columns (m, n, p), each joint with a weight.

    The samples are 24 blocks in a row; each fourth of the blocks is predicted by the fit to the others. The normal
    equations of each joint and part are made once, so that other weights cost little.
    """

    def __init__(self, columns: Array, residual: Array) -> None:
        fold = np.arange(len(residual)) * _BLOCKS // len(residual) % _FOLDS
        self._residual = residual
        self._owns = [fold == k for k in range(_FOLDS)]
        self._parts = [np.ascontiguousarray(columns[own].transpose(1, 0, 2)) for own in self._owns]  # (n, m, p)
        turned = [part.transpose(0, 2, 1) for part in self._parts]
        self._grams = np.array([turn @ part for turn, part in zip(turned, self._parts, strict=True)])
        self._moments = np.array(
            [(turn @ residual[own].T[:, :, np.newaxis])[..., 0] for turn, own in zip(turned, self._owns, strict=True)]
        )

    def predicted_error(self, weights: Array) -> Array:
        """Return what is left of the residual (m, n), each sample predicted by the other parts."""
        error = self._residual.copy()
        for own, part, values in zip(self._owns, self._parts, self._left_out(weights), strict=True):
            error[own] -= (part @ values).T
        return error

    def values(self, weights: Array) -> tuple[Array, Array]:
        """Return the numbers (p,) fitted to all samples, and their standard errors; infinite where they are open.

        By the jackknife (Efron 1982): neighbouring samples err together, so that counting them would flatter.
        """
        grams, moments = self._weighted(weights)
        values, loose = _solve(grams.sum(axis=0), moments.sum(axis=0))
        others = self._left_out(weights)
        errors = np.sqrt((_FOLDS - 1) / _FOLDS * ((others - others.mean(axis=0)) ** 2).sum(axis=0))
        return values, np.where(loose, np.inf, errors)

    def _left_out(self, weights: Array) -> Array:
        """Return for each part the numbers (parts, p) fitted to the others."""
        grams, moments = self._weighted(weights)
        rest = zip(grams.sum(axis=0) - grams, moments.sum(axis=0) - moments, strict=True)
        return np.array([_solve(gram, moment)[0] for gram, moment in rest])

    def _weighted(self, weights: Array) -> tuple[Array, Array]:
        squares = weights**2
        return np.einsum("knpq,n->kpq", self._grams, squares), np.einsum("knp,n->kp", self._moments, squares)


def _solve(gram: Array, moment: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Solve normal equations, shortest where they are singular; also return the numbers that are left open (p,)."""
    scale = np.sqrt(np.diag(gram))
    scale[scale == 0.0] = 1.0
    eigenvalues, vectors = np.linalg.eigh(gram / np.outer(scale, scale))
    kept = eigenvalues > _SINGULAR * eigenvalues[-1]
    inverse = vectors[:, kept] / eigenvalues[kept]
    loose: NDArray[np.bool_] = (vectors[:, ~kept] ** 2).sum(axis=1) > 1e-4
    return inverse @ (vectors[:, kept].T @ (moment / scale)) / scale, loose
