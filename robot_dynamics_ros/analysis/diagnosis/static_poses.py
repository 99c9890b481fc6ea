"""Arms at rest under their own position control: friction, load and stiffness, and mistakes that explain the load.

The effort at rest is g(q) + f, where static friction f has any value up to its level. Approached from both sides, f has
both signs: half the difference of the efforts is friction, and their mean is the load, uncertain by what half the
difference lacks to the level. Under P control the effort is kp (q_cmd - q), with the same f: a line, without any model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
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
    # a driver that measures no effort reports 0
    effort = np.where(series.effort.any(), series.effort, np.nan)
    values = np.stack([command, series.position, effort])[:, usable]
    time = 1e-9 * (series.received[usable] - series.received[0])
    steps = np.diff(values[0], axis=0)
    signs = np.sign(steps) * (np.abs(steps) > POSE_STEADY)
    changes = np.flatnonzero(np.diff(signs, axis=0).any(axis=1)) + 1
    rests: list[Array] = []
    sweeps: list[Array] = []
    for rows in np.split(np.arange(len(steps)), changes):
        duration = np.ptp(time[rows]) if len(rows) else 0.0
        travel = np.ptp(values[0, rows], axis=0).max(initial=0.0)
        if duration < POSE_HELD or travel > POSE_SLOW * duration:
            continue
        moving = signs[rows[0]].any()
        parts = [rows[3 * len(rows) // 4 :]]
        if moving:
            parts = np.array_split(rows, int(duration / POSE_WINDOW))[1:-1]
        for part in parts:
            pose = values[:, part].mean(axis=1)
            motion = pose[1] - values[1, : part[-1]]
            far = np.abs(motion) > REST_TRAVEL
            # friction has the sign of the last motion, which is not that of the command where a joint sticks
            far[0] = True
            since = far[::-1].argmax(axis=0)
            direction = np.sign(motion[len(far) - 1 - since, np.arange(len(since))])
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
        Estimate of the load over the model's; without efforts undetermined.
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
    certain: list[str]
    rivals: list[Mistake]
    unexplained: bool


def analyse_sag(
    model: RobotModel, pairs: PosePairs, added: Array | None = None
) -> SagAnalysis:
    """Compare the loads of poses with a model, and find the mistakes of which each alone explains the difference.

    ``pairs`` are those of the model's joints, in its order; ``added`` (k, n) are known loads by an added weight.
    Without efforts the position errors are loads over unknown stiffnesses.
    """
    loads = _Loads(model, pairs, added)
    nothing = loads.fit(np.empty((*pairs.q.shape, 0)))
    ratio = np.array([np.ones(model.n), np.full(model.n, np.inf)])
    found = [
        one
        for one in _mistakes(loads, ratio)
        if one[0].is_possible() and one[0].effect > HINT_NEGLIGIBLE
    ]
    # Schwarz's criterion, in units of the misfit that the best explanation leaves
    scale = max(1.0, min([nothing.variance, *(fit.variance for fit, _ in found)]))
    penalty = scale * np.log(np.count_nonzero(loads.weight))
    scores = [fit.cost + penalty * len(fit.values) for fit, _ in found]
    best = min(scores, default=np.inf)
    explains = best + POSE_SIGNIFICANT * scale < nothing.cost
    explains &= best < (1.0 - POSE_EXPLAINED) * nothing.cost
    order = np.argsort(scores).tolist() if explains else []
    rivals = [found[k] for k in order if scores[k] < best + POSE_RIVAL * scale]
    each = np.array([fit.stiffness for fit, _ in rivals] or [nothing.stiffness])
    # the interval contains the stiffness by each rival
    spread = np.abs(each[:, 0] - each[0, 0]).max(axis=0)
    return SagAnalysis(
        sag=np.abs(pairs.error).max(axis=0),
        friction=loads.friction,
        ratio=ratio,
        offset=loads.offset,
        stiffness=np.array([each[0, 0], np.maximum(each[0, 1], spread)]),
        certain=loads.certain,
        rivals=[mistake for _, mistake in rivals],
        unexplained=bool(not explains and nothing.variance > POSE_MISFIT),
    )


class _LoadFit(NamedTuple):
    """Parameters (p,), errors (p,), stiffness (2, n), squared misfit, and that by degree of freedom, of a fit.

    ``effect`` is the largest change of a joint's load by the parameters, as a share of its load and friction (RMS).
    """

    values: Array
    errors: Array
    stiffness: Array
    cost: float
    variance: float
    effect: float

    def is_possible(self) -> bool:
        """Return True unless a stiffness is negative."""
        value, error = self.stiffness
        return bool((value > -HINT_INTERVAL * error).all())


class _Loads:
    """Loads of all joints in pairs of poses, as efforts, or without efforts as position errors.

    Attributes
    ----------
    model, q
        The model, and the positions (k, n).
    added
        Known loads (k, n) that are not the model's; None: none.
    effort
        Efforts (k, n), corrected for ``certain`` mistakes, or position errors without efforts.
    weight
        Inverse standard deviations (k, n) of the efforts.
    friction, offset, certain
        As in ``SagAnalysis``.
    """

    def __init__(
        self, model: RobotModel, pairs: PosePairs, added: Array | None
    ) -> None:
        self.model = model
        self.added = added
        self.q, error, effort, error_half, half = pairs
        self.with_effort = bool(np.isfinite(effort).all())
        # friction at rest is on the line, too
        constant = np.repeat([1.0, 0.0], len(effort))
        x = np.append(error, error_half, axis=0)
        y = np.append(effort, half, axis=0)
        lines = [_line(*columns, constant) for columns in zip(x.T, y.T, strict=True)]
        slope, offset = np.array(lines).transpose(1, 2, 0)
        sign = np.where(slope[0] < -HINT_INTERVAL * slope[1], -1.0, 1.0)
        self._slope = slope * [sign, np.ones(model.n)]
        self.offset = offset * [sign, np.ones(model.n)]
        effort = effort * sign
        half = half * sign
        size = np.abs(effort).max(axis=0)
        least = HINT_INTERVAL * offset[1] + HINT_NEGLIGIBLE * size
        biased = np.abs(offset[0]) > least
        effort = effort - np.where(biased, self.offset[0], 0.0)
        self.certain = [
            f"the effort of {name} has the wrong sign: it falls with the position error. Cure: reverse it in the "
            f"driver, or --drive-gains {name}=-1"
            for name in compress(model.joint_names, sign < 0.0)
        ]
        for j in np.flatnonzero(biased).tolist():
            zero = interval(*self.offset[:, j])
            self.certain.append(
                f"the effort of {model.joint_names[j]} has another zero: at position error 0 it is {zero}. Cure: zero "
                "the sensor"
            )
        self._compliance = np.ones(model.n)
        if not self.with_effort:
            effort = error
            half = error_half
            load = root_mean_square(self.load(self.q))
            load = np.maximum(load, POSE_NOISE * load.max()) + TINY
            self._compliance = root_mean_square(error) / load
        self.effort = effort
        self.friction = np.nan_to_num(np.abs(half)).max(axis=0, initial=0.0)
        noise = POSE_NOISE * root_mean_square(effort) + POSE_UNEVEN * self.friction
        lacking = (self.friction - half) / np.sqrt(3.0)
        self.weight = np.nan_to_num(1.0 / np.hypot(lacking, noise + TINY))

    def load(self, q: Array) -> Array:
        """Return the load (k, n) at positions (k, n)."""
        load = self.model.gravity_torque(q)
        return load if self.added is None else load + self.added

    def fit(self, columns: Array, load: Array | None = None) -> _LoadFit:
        """Fit ``columns`` (k, n, p) to the efforts less the ``load`` (k, n), by default that of the model.

        Without efforts the compliances of the joints are factors of the sum. Gauss-Newton begins without the columns.
        """
        load = self.load(self.q) if load is None else load
        n = self.model.n
        p = columns.shape[2]
        own = np.eye(n)[:, : 0 if self.with_effort else n]
        parameters = np.zeros(p)
        compliance = self._compliance.copy()
        for _ in range(1 if self.with_effort else POSE_ROUNDS):
            change = columns @ parameters
            table = np.concatenate(
                [compliance[:, None] * columns, (load + change)[:, :, None] * own],
                axis=2,
            )
            target = self.effort + compliance * change
            if self.with_effort:
                target = self.effort - load
            values, errors, cost, variance = _least_squares(
                (self.weight[:, :, None] * table).reshape(load.size, -1),
                (self.weight * target).ravel(),
            )
            parameters = values[:p]
            compliance[: own.shape[1]] = values[p:]
        errors = errors * np.sqrt(max(1.0, variance))
        stiffness = self._slope
        if not self.with_effort:
            compliance = np.where(np.abs(compliance) > TINY, compliance, TINY)
            stiffness = np.array([1.0 / compliance, errors[p:] / compliance**2])
        change = load + columns @ parameters - self.load(self.q)
        size = root_mean_square(self.effort) + self.friction + TINY
        effect = float((compliance * root_mean_square(change) / size).max())
        return _LoadFit(parameters, errors[:p], stiffness, cost, variance, effect)

    def zero(self, unit: Array, half: float) -> tuple[_LoadFit, float]:
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
        turns = np.round(x / (2.0 * np.pi)) if half == np.pi else 0.0
        return fit, float(x - 2.0 * np.pi * turns)

    def direction(self, columns: Array) -> tuple[_LoadFit, Array, Array]:
        """Fit the direction of gravity, and return the change (3,) of its vector with standard errors (3,).

        Its magnitude cannot be distinguished from unknown stiffnesses. ``columns`` (k, n, 3) are loads by gravity.
        """
        size = np.linalg.norm(self.model.gravity) or TINY
        tried = []
        for start in (*size * np.eye(3), *-size * np.eye(3)):
            normal = np.eye(3)[start == 0.0]
            fit = self.fit(columns @ normal.T, columns @ start)
            turned = start + fit.values @ normal
            shrink = size / np.linalg.norm(turned)
            fit = fit._replace(stiffness=fit.stiffness * shrink)
            errors = np.zeros(3)
            errors[start == 0.0] = fit.errors * shrink
            tried.append((fit, turned * shrink - self.model.gravity, errors))
        return min(tried, key=lambda one: (not one[0].is_possible(), one[0].cost))


def _line(x: Array, y: Array, constant: Array) -> tuple[Array, Array]:
    """Return slope and offset, each with its standard error, of y = slope x + offset constant; all are (k,).

    Both x, a position error with its resolution, and y have errors: the slope is uncertain by the difference of the
    regressions of each on the other.
    """
    rows = np.isfinite(x + y)
    x, y, constant = x[rows], y[rows], constant[rows]
    (slope, offset), errors, cost, variance = _least_squares(
        np.stack([x, constant], axis=1), y
    )
    spread, total = (_least_squares(constant[:, None], values)[2] for values in (x, y))
    slope_error = np.hypot(
        POSE_RESOLUTION / np.sqrt(spread + TINY**2), cost / max(total - cost, TINY)
    )
    errors = np.hypot(
        errors * np.sqrt(variance + TINY**2),
        slope * np.array([slope_error, POSE_RESOLUTION]),
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


def _mistakes(loads: _Loads, ratio: Array) -> Iterator[tuple[_LoadFit, Mistake]]:
    """Yield the mistakes that are significant if each is the only one, with their fits.

    ``ratio`` (2, n) gets the estimates of the load over the model's.
    """
    model = loads.model
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
    # what has a factor, its load, 1 for the joints whose effort has the factor, and the option that corrects it
    factors = [
        (f"the mass of {link}", by_body[:, :, body], np.zeros(n), "")
        for body, link in enumerate(model.moving_links)
        if _PAYLOAD + link not in known
    ]
    if loads.with_effort or loads.added is not None:
        factors.append(("the mass of all links", by_body.sum(axis=2), np.zeros(n), ""))
    if loads.with_effort:
        factors.append(("every effort", load, np.ones(n), "--drive-gains "))
    for name, unit in zip(model.joint_names, np.eye(n), strict=True):
        prismatic = name in model.prismatic_joints
        fit, zero = loads.zero(unit, LARGEST_PRISMATIC_ZERO if prismatic else np.pi)
        if excludes_zero(zero, fit.errors[0]):
            text = (
                f"the recorded position of {name} has another zero: it is {interval(zero, fit.errors[0])} "
                f"{'m' if prismatic else 'rad'} above the model's. Cure: calibrate it"
            )
            yield fit, Mistake(text)
        if loads.with_effort:
            option = f"--drive-gains {name}="
            factors.append((f"the effort of {name}", load * unit, unit, option))
    for what, column, joints, option in factors:
        fit = loads.fit(column[:, :, None])
        factor = 1.0 + fit.values[0]
        error = fit.errors[0]
        ratio[:, joints > 0.0] = [[factor], [error]]
        if factor > 0.0 and excludes_zero(factor - 1.0, error):
            cure = ". Cure: run robot_dynamics identify"
            if option:
                cure = f", by its unit, gear ratio or torque constant. Cure: {option}{1.0 / factor:.4g}"
            text = f"{what} is {interval(factor, error)} times that of the model{cure}"
            value, deviation = fit.stiffness / np.where(joints > 0.0, factor, 1.0)
            deviation = np.hypot(deviation, value * joints * error / factor)
            yield fit._replace(stiffness=np.array([value, deviation])), Mistake(text)
    for name, cause in known.items():
        gravity = name == "another direction of gravity"
        if not (gravity or name.startswith(_PAYLOAD)):
            continue
        hypothesis = cause(model, Evidence(motion, still))
        # gravity, or a mass and its first moment
        columns = hypothesis.columns[:, :, :4]
        fit = loads.fit(columns)
        values = fit.values
        errors = fit.errors
        change: dict[str, Any] = {}
        if gravity and not loads.with_effort:
            fit, values, errors = loads.direction(columns)
        if gravity:
            change = {"gravity": (model.gravity + values).tolist()}
        elif values[0] > 0.0 and model.payload_link is None:
            mass, *moment = values.tolist()
            payload = {"mass": mass, "com": [x / mass for x in moment]}
            payload |= {"link": name.removeprefix(_PAYLOAD), "inertia": [0.0] * 6}
            change = {"payload": payload}
        text = hypothesis.describe(values, errors) or ""
        if text:
            yield fit, Mistake(text, change)


_PAYLOAD = "a payload on "
