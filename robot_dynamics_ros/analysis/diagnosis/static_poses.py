"""Arms at rest under their own position control: friction, load and stiffness, and mistakes that explain the load.

The effort at rest is g(q) + f, where static friction f has any value up to its level. Approached from both sides, f has
both signs: half the difference of the efforts is friction, and their mean is the load, uncertain by what half the
difference lacks to the level. Under P control the effort is kp (q_cmd - q), with the same f: a line, without any model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics_ros.analysis.diagnosis.causes import (
    Evidence,
    causes,
    excludes_zero,
    interval,
)
from robot_dynamics_ros.analysis.identification.recorded_motion import RecordedMotion
from robot_dynamics_ros.analysis.thresholds import (
    HINT_INTERVAL,
    HINT_NEGLIGIBLE,
    HINT_UNDETERMINED,
    LARGEST_PRISMATIC_ZERO,
    POSE_DISTANCE,
    POSE_EXPLAINED,
    POSE_HELD,
    POSE_LEAST_PAIRS,
    POSE_MISFIT,
    POSE_NOISE,
    POSE_RESOLUTION,
    POSE_RIVAL,
    POSE_ROUNDS,
    POSE_SIGNIFICANT,
    POSE_SLOW,
    POSE_STEADY,
    POSE_UNEVEN,
    POSE_WINDOW,
    REST_TRAVEL,
    RIDGE,
    TINY,
    ZERO_DIFFERENCE,
    ZERO_STARTS,
    ZERO_STEPS,
)
from robot_dynamics_ros.base.errors import BagError
from robot_dynamics_ros.base.statistics import root_mean_square
from robot_dynamics_ros.dynamics.kernels.regressor import PARAMETERS
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.recordings.bags import JointSeries


class PosePairs(NamedTuple):
    """Means of n joints over k pairs of poses that are approached from both sides, each (k, n).

    Attributes
    ----------
    q, error, effort
        Position and position error (rad or m), and effort (Nm or N), which is NaN without any.
    error_half, effort_half
        Half the value approached upwards less that approached downwards; NaN where both approaches have one direction.
    """

    q: Array
    error: Array
    effort: Array
    error_half: Array
    effort_half: Array


def read_pairs(series: JointSeries, command: Array) -> PosePairs:
    """Return pairs of poses at rest of a recording, or of slow sweeps if there are less than five pairs at rest.

    ``command`` (m, n) are the commanded positions at the messages of ``series``, NaN where there is none. At rest the
    command is constant for 0.5 s or more, whose last quarter counts. A sweep is slower than 0.2 rad/s or m/s.

    Raises BagError if there are less than five pairs.
    """
    usable = np.isfinite(command + series.position).all(axis=1)
    command = command[usable]
    values = np.stack([command, series.position[usable], series.effort[usable]])
    time = 1e-9 * (series.received[usable] - series.received[0])
    steps = np.diff(command, axis=0)
    signs = np.sign(steps) * (np.abs(steps) > POSE_STEADY)
    changes = np.flatnonzero(np.diff(signs, axis=0).any(axis=1)) + 1
    rests: list[Array] = []
    sweeps: list[Array] = []
    for rows in np.split(np.arange(len(steps)), changes):
        moving = signs[rows[:1]].any()
        duration = np.ptp(time[rows]) if len(rows) else 0.0
        if duration < POSE_HELD:
            continue
        parts = [rows[3 * len(rows) // 4 :]]
        if moving:
            slow = np.ptp(command[rows], axis=0).max() < POSE_SLOW * duration
            parts = (
                np.array_split(rows, int(duration / POSE_WINDOW))[1:-1] if slow else []
            )
        for part in parts:
            pose = values[:, part].mean(axis=1)
            travel = pose[1] - values[1, : part[-1]]
            far = np.abs(travel) > REST_TRAVEL
            # friction has the sign of the last motion, which is not that of the command where a joint sticks
            far[0] = True
            since = far[::-1].argmax(axis=0)
            direction = np.sign(travel[len(far) - 1 - since, np.arange(len(since))])
            if moving or since.min() >= len(part):
                (sweeps if moving else rests).append(np.array([*pose, direction]))
    pairs = _paired(rests, command.shape[1])
    if len(pairs.q) < POSE_LEAST_PAIRS:
        pairs = _paired(sweeps, command.shape[1])
        # damping is on no line with the effort of a P control
        pairs = pairs._replace(error_half=np.full_like(pairs.q, np.nan))
    if len(pairs.q) < POSE_LEAST_PAIRS:
        raise BagError(
            f"the recording: {len(rests)} poses at rest, and {len(pairs.q)} pairs of these or of slow sweeps, too few. "
            "Cure: hold ten or more poses for a second, and approach each once upwards and once downwards"
        )
    return pairs


def _paired(poses: Sequence[Array], n: int) -> PosePairs:
    """Pair poses (4, n), command, position, effort and direction of motion, with the nearest of another direction."""
    command, q, effort, direction = np.reshape(poses, (len(poses), 4, n)).swapaxes(0, 1)
    opposite = direction[:, None] * direction < 0.0
    distance = np.abs(command[:, None] - command).max(axis=2)
    distance[~opposite.any(axis=2)] = np.inf
    nearest = distance.min(axis=1, initial=POSE_DISTANCE)
    near = distance <= nearest[:, None]
    first, second = np.nonzero(np.triu(near | near.T))
    way = np.where(opposite[first, second], direction[first], np.nan)
    error = command - q

    def mean(values: Array) -> Array:
        return np.asarray(0.5 * (values[first] + values[second]))

    def half(values: Array) -> Array:
        return np.asarray(0.5 * way * (values[first] - values[second]))

    return PosePairs(mean(q), mean(error), mean(effort), half(error), half(effort))


class Mistake(NamedTuple):
    """A mistake that explains the loads: ``text`` with its size and cure.

    ``change`` are the entries of the dynamics file that correct the model, empty for other mistakes.
    """

    text: str
    change: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class SagAnalysis:
    """Loads of n joints, and mistakes that explain their difference from the model.

    Estimates are values and standard errors (2, n); infinite errors are those of undetermined values.

    Attributes
    ----------
    sag
        Largest mean position error (n,), rad or m.
    friction
        Largest half difference of both approaches (n,), Nm or N.
    ratio
        Estimate of the load over the model's; without efforts undetermined, but for an added weight.
    offset
        Estimate of the effort at position error 0, Nm or N.
    stiffness
        Estimate of the stiffness of the position control, Nm/rad or N/m. Without efforts and an added weight it is that
        for the masses of the model.
    certain
        Mistakes that the line of the efforts over the position errors shows without a model.
    rivals
        Mistakes of which each alone explains the loads, the best first. Several cannot be distinguished.
    unexplained
        True if the model does not fit, and no single mistake explains why.
    """

    sag: Array
    friction: Array
    ratio: Array
    offset: Array
    stiffness: Array
    certain: list[Mistake]
    rivals: list[Mistake]
    unexplained: bool


def analyse_sag(recordings: Sequence[tuple[RobotModel, PosePairs]]) -> SagAnalysis:
    """Compare the loads of poses with models, and find the mistakes of which each alone explains the difference.

    ``recordings`` are the model of the robot with its poses, and optionally the same with an added, known weight. All
    have the joints of the model, in its order. Without efforts the position errors are loads over unknown stiffnesses.
    """
    loads = _Loads(recordings)
    nothing = loads.fit(np.empty((*loads.q.shape, 0)))
    ratio = np.array([np.ones(loads.q.shape[1]), np.full(loads.q.shape[1], np.inf)])
    found = [
        (fit, mistake) for fit, mistake in _mistakes(loads, ratio) if fit.is_possible()
    ]
    scale = max(1.0, min([nothing.variance, *(fit.variance for fit, _ in found)]))
    penalty = scale * np.log(np.count_nonzero(loads.weight))
    scores = [fit.cost + penalty * len(fit.values) for fit, _ in found]
    best = min(scores, default=np.inf)
    significant = nothing.cost > best + POSE_SIGNIFICANT * scale
    explains = significant and best < (1.0 - POSE_EXPLAINED) * nothing.cost
    order: list[int] = np.argsort(scores).tolist() if explains else []
    rivals = [found[k] for k in order if scores[k] < best + POSE_RIVAL * scale]
    each = np.array([fit.stiffness for fit, _ in rivals] or [nothing.stiffness])
    # the interval contains the stiffness by each rival
    spread = np.abs(each[:, 0] - each[0, 0]).max(axis=0)
    return SagAnalysis(
        sag=np.abs(loads.error).max(axis=0),
        friction=loads.friction,
        ratio=ratio,
        offset=loads.offset,
        stiffness=np.array([each[0, 0], np.maximum(each[0, 1], spread)]),
        certain=loads.certain,
        rivals=[mistake for _, mistake in rivals],
        unexplained=not explains and nothing.variance > POSE_MISFIT,
    )


class _Fit(NamedTuple):
    """Parameters (p,), errors (p,), stiffness (2, n), squared misfit, and that by degree of freedom, of a fit."""

    values: Array
    errors: Array
    stiffness: Array
    cost: float
    variance: float

    def is_possible(self) -> bool:
        """Return True unless a stiffness is negative."""
        value, error = self.stiffness
        return bool((value > -HINT_INTERVAL * error).all())


class _Loads:
    """Loads of all joints in pairs of poses, as efforts, or without efforts as position errors.

    Attributes
    ----------
    models
        The models.
    q, error
        Positions and position errors (k, n).
    effort
        Efforts (k, n), corrected for ``certain`` mistakes. Without efforts position errors times guessed stiffnesses.
    weight
        Inverse standard deviations (k, n) of the efforts.
    friction, offset, stiffness, certain
        As in ``SagAnalysis``.
    """

    def __init__(self, recordings: Sequence[tuple[RobotModel, PosePairs]]) -> None:
        self.models = [model for model, _ in recordings]
        pairs = [pairs for _, pairs in recordings]
        self._group = np.repeat(np.arange(len(pairs)), [len(one.q) for one in pairs])
        self.q, self.error, effort, error_half, half = (
            np.concatenate(values) for values in zip(*pairs, strict=True)
        )
        self.with_effort = bool(np.isfinite(effort).all())
        n = self.q.shape[1]
        self.offset = np.array([np.zeros(n), np.full(n, np.inf)])
        self.stiffness = self.offset.copy()
        self.certain: list[Mistake] = []
        if self.with_effort:
            for j, name in enumerate(self.models[0].joint_names):
                # friction at rest is on the line, too
                x = np.append(self.error[:, j], error_half[:, j])
                y = np.append(effort[:, j], half[:, j])
                slope, offset = _line(x, y, np.repeat([1.0, 0.0], len(effort)))
                if slope[0] < -HINT_INTERVAL * slope[1]:
                    self.certain.append(
                        Mistake(
                            f"the effort of {name} has the wrong sign: it falls with the position error. Cure: reverse "
                            f"it in the driver, or --drive-gains {name}=-1"
                        )
                    )
                    for values in (slope, offset, effort.T[j], half.T[j]):
                        values *= [-1.0, 1.0] if len(values) == 2 else -1.0
                size = np.abs(effort[:, j]).max()
                if abs(offset[0]) > HINT_INTERVAL * offset[1] + HINT_NEGLIGIBLE * size:
                    self.certain.append(
                        Mistake(
                            f"the effort of {name} has another zero: at position error 0 it is {interval(*offset)}. "
                            "Cure: zero the sensor"
                        )
                    )
                    effort[:, j] -= offset[0]
                self.stiffness[:, j] = slope
                self.offset[:, j] = offset
        self._guess = np.ones(n)
        if not self.with_effort:
            load = root_mean_square(self.load(self.q))
            load = np.maximum(load, POSE_NOISE * load.max()) + TINY
            self._guess = load / (root_mean_square(self.error) + TINY)
            effort = self._guess * self.error
            half = self._guess * error_half
        self.effort = effort
        self.friction = np.nanmax(np.abs(half), axis=0, initial=0.0)
        noise = POSE_NOISE * root_mean_square(effort) + POSE_UNEVEN * self.friction
        lacking = (self.friction - half) / np.sqrt(3.0)
        self.weight = np.nan_to_num(1.0 / np.hypot(lacking, noise + TINY))

    def load(self, q: Array) -> Array:
        """Return the gravity torque (k, n) at positions (k, n)."""
        return self.of_models([model.gravity_torque(q) for model in self.models])

    def of_models(self, values: Sequence[Array]) -> Array:
        """Return for each pair the row of the values (k, ...) of its model."""
        return np.stack(values)[self._group, np.arange(len(self.q))]

    def fit(self, columns: Array, load: Array | None = None) -> _Fit:
        """Fit ``columns`` (k, n, p) to the efforts less the ``load`` (k, n), by default that of the models.

        Without efforts the stiffnesses are fitted, too.
        """
        load = self.load(self.q) if load is None else load
        n = load.shape[1]
        p = columns.shape[2]
        weight = self.weight[:, :, None]
        values = np.append(np.zeros(p), np.ones(n))
        table = columns
        target = self.effort - load
        # the product of compliances and parameters is linearized
        for _ in range(1 if self.with_effort else POSE_ROUNDS):
            if not self.with_effort:
                compliance = values[p:, None] * np.eye(n)
                change = columns @ values[:p]
                own = (load + change)[:, :, None] * np.eye(n)
                table = np.concatenate([compliance @ columns, own], axis=2)
                target = self.effort + change @ compliance
            values, errors, cost, variance = _least_squares(
                (weight * table).reshape(load.size, -1), (self.weight * target).ravel()
            )
        errors = errors * np.sqrt(max(1.0, variance))
        stiffness = self.stiffness
        if not self.with_effort:
            own = np.where(np.abs(values[p:]) > TINY, values[p:], TINY)
            stiffness = self._guess * np.array([1.0 / own, errors[p:] / own**2])
        return _Fit(values[:p], errors[:p], stiffness, cost, variance)

    def zero(self, unit: Array, half: float) -> tuple[_Fit, float]:
        """Fit the zero of the joint with the ``unit`` vector (n,), within ``half`` (rad or m), by Gauss-Newton."""

        def load(x: float) -> Array:
            return self.load(self.q - x * unit)

        nothing = np.empty((*self.q.shape, 0))
        starts = [(self.fit(nothing, load(x)), x) for x in half * ZERO_STARTS]
        _, x = min(starts, key=lambda one: (not one[0].is_possible(), one[0].cost))
        for _ in range(ZERO_STEPS):
            change = load(x + ZERO_DIFFERENCE) - load(x - ZERO_DIFFERENCE)
            slope = change / (2.0 * ZERO_DIFFERENCE)
            fit = self.fit(slope[:, :, None], load(x))
            x += fit.values[0]
        return fit, float(x)

    def direction(self, columns: Array, gravity: Array) -> tuple[_Fit, Array, Array]:
        """Fit the direction of gravity, as unknown stiffnesses leave no more, and return its change (3,) with errors.

        ``columns`` (k, n, 3) are loads by gravity.
        """
        size = np.linalg.norm(gravity)
        tried = []
        for start in (*size * np.eye(3), *-size * np.eye(3)):
            normal = np.eye(3)[start == 0.0]
            fit = self.fit(columns @ normal.T, columns @ start)
            turned = start + fit.values @ normal
            shrink = size / np.linalg.norm(turned)
            fit = fit._replace(stiffness=fit.stiffness * shrink)
            errors = np.zeros(3)
            errors[start == 0.0] = fit.errors * shrink
            tried.append((fit, turned * shrink - gravity, errors))
        return min(tried, key=lambda one: (not one[0].is_possible(), one[0].cost))


def _line(x: Array, y: Array, constant: Array) -> tuple[Array, Array]:
    """Return slope and offset, each with its standard error, of y = slope x + offset constant; all are (k,).

    Both x, a position error with its resolution, and y have errors: the slope is uncertain by the difference of the
    regressions of each on the other.
    """
    rows = np.isfinite(x + y)
    x, y, constant = x[rows], y[rows], constant[rows]
    values, errors, cost, variance = _least_squares(np.stack([x, constant], axis=1), y)
    _, _, total, _ = _least_squares(constant[:, None], y)
    slope, offset = values
    inverse = cost / max(total - cost, TINY)
    resolution = POSE_RESOLUTION / np.array([x.std() * np.sqrt(len(x)) + TINY, 1.0])
    errors = np.hypot(
        errors * np.sqrt(variance), slope * np.hypot(resolution, [inverse, 0.0])
    )
    return np.array([slope, errors[0]]), np.array([offset, errors[1]])


def _least_squares(table: Array, target: Array) -> tuple[Array, Array, float, float]:
    """Return values (p,), errors (p,) for unit variance, squared misfit, and that by degree of freedom.

    Errors are infinite for undetermined values. Twice the errors are 95 % intervals by Student's distribution.
    """
    from scipy.special import stdtrit  # slow to import, which would delay --help

    scale = np.linalg.norm(table, axis=0)
    scale[scale < TINY] = np.inf
    inverse = np.linalg.pinv(table / scale, rcond=np.sqrt(RIDGE))
    values = inverse @ target / scale
    misfit = target - table @ values
    seen = np.einsum("pk,kp->p", inverse, table / scale)
    free = max(np.count_nonzero(target) - round(seen.sum()), 1)
    errors = (
        stdtrit(free, 0.975) / HINT_INTERVAL * np.linalg.norm(inverse, axis=1) / scale
    )
    errors[seen < 1.0 - HINT_UNDETERMINED] = np.inf
    cost = float(misfit @ misfit)
    return values, errors, cost, cost / free


def _mistakes(loads: _Loads, ratio: Array) -> Iterator[tuple[_Fit, Mistake]]:
    """Yield the mistakes that are significant if each is the only one, with their fits.

    ``ratio`` gets the estimates of the load over the model's.
    """
    model = loads.models[0]
    n = model.n
    load = loads.load(loads.q)
    still = np.zeros_like(load)
    motion = RecordedMotion(
        model.joint_names, still[:, 0], loads.q, still, still, loads.effort
    )
    known = causes(model)
    bodies = model.body_parameters
    regressor = model.regressor(*motion.states)[:, :, : bodies.size]
    by_body = (regressor.reshape(*load.shape, -1, PARAMETERS) * bodies).sum(axis=3)
    weighted = len(loads.models) > 1
    # what is larger than in the model by a factor, its load, and the factor of the efforts of the joints
    factors = [
        (f"the mass of {link}", by_body[:, :, body], np.zeros(n))
        for body, link in enumerate(model.moving_links)
        if _PAYLOAD + link not in known
    ]
    if loads.with_effort or weighted:
        factors.append(("the mass of all links", by_body.sum(axis=2), np.zeros(n)))
    if loads.with_effort:
        factors.append(("every effort", load, np.ones(n)))
    for j, (name, unit) in enumerate(zip(model.joint_names, np.eye(n), strict=True)):
        prismatic = name in model.prismatic_joints
        fit, zero = loads.zero(unit, LARGEST_PRISMATIC_ZERO if prismatic else np.pi)
        if excludes_zero(zero, fit.errors[0]):
            text = (
                f"the recorded position of {name} has another zero: it is {interval(zero, fit.errors[0])} "
                f"{'m' if prismatic else 'rad'} above the model's. Cure: calibrate it"
            )
            yield fit, Mistake(text)
        if loads.with_effort:
            factors.append((f"the effort of {name}", load * unit, unit))
        if loads.with_effort or weighted:
            fit = loads.fit((by_body.sum(axis=2) * unit)[:, :, None])
            ratio[:, j] = 1.0 + fit.values[0], fit.errors[0]
    for what, column, joints in factors:
        fit = loads.fit(column[:, :, None])
        factor = 1.0 + fit.values[0]
        error = fit.errors[0]
        if factor > 0.0 and excludes_zero(factor - 1.0, error):
            text = f"{what} is {interval(factor, error)} times that of the model"
            if joints.any():
                joint = what.removeprefix("the effort of ") + "="
                gain = f"{joint.removeprefix('every effort=')}{1.0 / factor:.4g}"
                text += f", by its unit, gear ratio or torque constant. Cure: --drive-gains {gain}"
            value, deviation = fit.stiffness / np.where(joints > 0.0, factor, 1.0)
            deviation = np.hypot(deviation, value * joints * error / factor)
            yield fit._replace(stiffness=np.array([value, deviation])), Mistake(text)
    for name, cause in known.items():
        gravity = name == "another direction of gravity"
        if not (gravity or name.startswith(_PAYLOAD)):
            continue
        hypotheses = [cause(one, Evidence(motion, still)) for one in loads.models]
        # a mass and its first moment, or gravity
        columns = loads.of_models([one.columns[:, :, :4] for one in hypotheses])
        fit = loads.fit(columns)
        values = fit.values
        errors = fit.errors
        if gravity and not loads.with_effort:
            fit, values, errors = loads.direction(columns, model.gravity)
        described = hypotheses[0].describe(values, errors)
        change: dict[str, Any] = {}
        if gravity:
            change = {"gravity": (model.gravity + values).tolist()}
        elif values[0] > 0.0 and model.payload_link is None:
            mass, *moment = values.tolist()
            change = {
                "payload": {
                    "link": name.removeprefix(_PAYLOAD),
                    "mass": mass,
                    "com": [x / mass for x in moment],
                    "inertia": [0.0] * 6,
                }
            }
        if described is not None:
            yield fit, Mistake(described, change)


_PAYLOAD = "a payload on "
