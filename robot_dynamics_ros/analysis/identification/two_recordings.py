"""A payload, or the gains of the drives, from a recording without and one with a payload.

The base parameters of the arm, with rotors and friction, are common to both recordings, so that the model's values are
not used. A payload follows from the difference of the torques at the same places of the same motion, in which effects
that have no parameters cancel too. For the gains, the torque of a known payload sets the scale: M. Gautier, S. Briot,
"Global identification of joint drive gains and dynamic parameters of robots", JDSMC 2014. Intervals are jackknife
estimates over JACKKNIFE_BLOCKS consecutive blocks of each recording, so that the noise may be correlated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, stats

from robot_dynamics_ros.analysis.identification.estimate import (
    body_parameters,
    pseudo_inertia,
)
from robot_dynamics_ros.analysis.identification.friction_shapes import (
    BACKWARDS,
    FORWARDS,
    FrictionShape,
)
from robot_dynamics_ros.analysis.identification.least_squares import Samples
from robot_dynamics_ros.analysis.identification.parameterization import Parameterization
from robot_dynamics_ros.analysis.identification.recorded_motion import RecordedMotion
from robot_dynamics_ros.analysis.identification.torque_analysis import (
    jackknife,
    summed_products,
)
from robot_dynamics_ros.analysis.thresholds import (
    GAIN_UNCHANGED,
    GAINS_CONVERGED,
    GAP_STEPS,
    JACKKNIFE_BLOCKS,
    LEAST_SPREAD,
    LOAD_ROUNDS,
    NEGLIGIBLE_COLUMN,
    NORMAL_RANK,
    OTHER_MOTION,
    SEARCH_SAMPLES,
    SEARCH_STEP,
    TINY_NOISE,
    UNEXCITED_SHARE,
    WEIGHTING_ITERATIONS,
    WIDE_CENTRE,
    WIDE_INTERVAL,
)
from robot_dynamics_ros.base.errors import BagError, RobotDynamicsError
from robot_dynamics_ros.base.statistics import root_mean_square
from robot_dynamics_ros.dynamics.kernels.regressor import PARAMETERS
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel


class Intervals(NamedTuple):
    """Estimates (k,), and the half-widths (k,) of their 95 % intervals, infinite for undetermined quantities."""

    values: Array
    half_widths: Array


def estimate_payload(
    model: RobotModel, unloaded: RecordedMotion, loaded: RecordedMotion, link: str
) -> Intervals:
    """Estimate the payload on a link that the second of two recordings of the same motion has in addition.

    Returns mass (kg), centre of mass (3, m) and inertia about it (ixx ixy ixz iyy iyz izz, kg m^2) in the axes of the
    link. Masses and friction of the model are not used. Raises BagError for different motions and a negative mass, and
    RobotDynamicsError for an unknown link and one that no joint moves.
    """
    body, transform = _placement(model, link)
    parameterization = _by_direction(model.without_payload())
    samples = Samples.of(parameterization, _aligned(unloaded, loaded))
    columns, torque = _stacked(parameterization, samples)
    k = len(samples) // 2
    used = samples.used[:k] & samples.used[k:]
    own = columns[k:, :, PARAMETERS * body : PARAMETERS * (body + 1)] @ transform
    independent = parameterization.base.independent
    gears = _gear_columns(parameterization, samples, columns[:, :, independent], own)
    change = (columns[k:] - columns[:k])[:, :, independent]
    stacked = (
        np.concatenate([own, change, gears[k:] - gears[:k]], axis=2) * used[:, :, None]
    )
    result = _Fit.of(
        stacked, (torque[k:] - torque[:k]) * used, used, JACKKNIFE_BLOCKS
    ).intervals(_central)
    mass = result.values[0]
    if mass < -result.half_widths[0]:
        raise BagError(
            f"the payload has a mass of {mass:.3g} kg. Cure: give the recording without payload first"
        )
    wide = np.full(PARAMETERS, WIDE_CENTRE)
    wide[0] = WIDE_INTERVAL * mass
    wide[4:] = WIDE_INTERVAL * np.abs(result.values[[4, 7, 9]]).max()
    if result.half_widths[0] >= wide[0]:
        wide[:] = 0.0
    return _determined(result, wide)


def _gear_columns(
    parameterization: Parameterization, samples: Samples, base: Array, own: Array
) -> Array:
    """Return the friction (m, n, joints) in proportion to the load of each gear, for a unit of its coefficient.

    ``base`` (m, n, r) are the base columns, ``own`` (m / 2, n, 10) those of the payload, which the second half has.
    """
    sign = samples.friction[:, :, FORWARDS] + samples.friction[:, :, BACKWARDS]
    payload = np.concatenate([np.zeros_like(own), own])
    links = parameterization.base.independent < PARAMETERS * parameterization.bodies
    rigid = np.concatenate([payload, base[:, :, links]], axis=2)
    others = base[:, :, ~links]
    used = samples.used[:, :, None]
    load = samples.tau  # first guess: what the motor supplies
    for _ in range(LOAD_ROUNDS):
        gears = parameterization.at_coordinates(
            (sign * parameterization.joint_loads(load))[:, :, None]
        )
        stacked = np.concatenate([rigid, others, gears], axis=2) * used
        fit = _Fit.of(stacked, samples.tau * samples.used, samples.used, 1)
        load = rigid @ fit.values[: rigid.shape[2]]
    return gears


def estimate_drive_gains(
    model: RobotModel,
    unloaded: RecordedMotion,
    loaded: RecordedMotion,
    link: str,
    payload: tuple[float, ArrayLike, ArrayLike],
) -> Intervals:
    """Estimate the gains (n,) of the drives, Nm or N per recorded unit of effort.

    ``payload`` is mass, centre of mass and inertia of what the second recording has on ``link`` in addition, as for
    ``RobotModel.with_payload``. The motions may differ. Masses and friction of the model are not used. Raises
    RobotModelError as ``RobotModel.with_payload``.
    """
    bare = model.without_payload()
    parameterization = _by_direction(bare)
    samples = Samples.of(parameterization, [unloaded, loaded])
    columns, effort = _stacked(parameterization, samples)
    columns = columns[:, :, parameterization.base.independent]
    motion = samples.q, samples.qd, samples.qdd
    known = bare.with_payload(link, *payload).inverse_dynamics(
        *motion
    ) - bare.inverse_dynamics(*motion)
    known *= samples.used
    before, step = samples.recordings[0]
    known[: len(before.time[::step])] = 0.0
    # Noise of the effort in the regressor would reduce the estimates: the effort of the last estimate replaces it, and
    # gain * effort is linearized about that.
    n = model.n
    gains = np.zeros(model.n)
    expected = effort
    for _ in range(WEIGHTING_ITERATIONS):
        regressor = np.concatenate([expected[:, :, None] * np.eye(n), -columns], axis=2)
        fit = _Fit.of(
            regressor,
            known - gains * (effort - expected),
            samples.used,
            2 * JACKKNIFE_BLOCKS,
        )
        last = gains
        gains = fit.values[:n]
        if (np.abs(gains - last) <= GAINS_CONVERGED * np.abs(gains)).all():
            break
        expected = (columns @ fit.values[n:] + known) / np.where(
            gains == 0.0, np.inf, gains
        )
    result = fit.intervals(lambda x: x[:n])
    converged = np.abs(gains - last) < GAIN_UNCHANGED * result.half_widths
    return _determined(result, np.where(converged, WIDE_INTERVAL * np.abs(gains), 0.0))


class _Fit(NamedTuple):
    """Weighted least squares of p parameters.

    ``values`` and ``excited`` (p,) are the estimates and False for undetermined ones; ``blocks`` (blocks, p + 1, p + 1)
    the products of the weighted columns and the target.
    """

    values: Array
    excited: NDArray[np.bool_]
    blocks: Array

    @classmethod
    def of(
        cls, columns: Array, target: Array, used: NDArray[np.bool_], blocks: int
    ) -> _Fit:
        """Fit columns (m, n, p) to the target (m, n), iteratively weighted by the RMS residual of each joint."""
        stacked = np.concatenate([columns, target[:, :, None]], axis=2)
        by_joint = summed_products(np.array_split(stacked, blocks))
        counts = np.maximum(used.sum(axis=0), 1)
        noise = np.ones(target.shape[1])
        for _ in range(WEIGHTING_ITERATIONS):
            products = np.einsum("bjkl,j->bkl", by_joint, noise**-2.0)
            x, excited = _solution(products.sum(axis=0))
            last = noise
            noise = (
                np.sqrt(((target - columns @ x) ** 2).sum(axis=0) / counts) + TINY_NOISE
            )
            if np.abs(noise / last - 1.0).max() < GAINS_CONVERGED:
                break
        return cls(x, excited, products)

    def intervals(self, derived: Callable[[Array], Array]) -> Intervals:
        """Return quantities ``derived`` from the parameters, the first of which determine them one by one."""
        values = derived(self.values)
        count = len(self.blocks)
        total = self.blocks.sum(axis=0)
        left = np.array([derived(_solution(total - block)[0]) for block in self.blocks])
        deviations = jackknife(left)
        half_widths = stats.t.ppf(0.975, count - 1) * deviations
        return Intervals(
            values, np.where(self.excited[: len(values)], half_widths, np.inf)
        )


def _solution(products: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return the least-squares parameters (p,) of smallest norm, and True for those that are determined."""
    lengths = np.sqrt(np.diag(products)[:-1])
    lengths[lengths <= NEGLIGIBLE_COLUMN * lengths.max()] = np.inf
    values, vectors = np.linalg.eigh(products[:-1, :-1] / np.outer(lengths, lengths))
    seen = values > NORMAL_RANK * values[-1]
    inverse = vectors[:, seen] / values[seen] @ vectors[:, seen].T
    x = inverse @ (products[:-1, -1] / lengths) / lengths
    return x, np.linalg.norm(vectors[:, ~seen], axis=1) < UNEXCITED_SHARE


def _determined(intervals: Intervals, wide: Array) -> Intervals:
    """Return the intervals with infinite half-widths for those that are not below ``wide`` (k,)."""
    values, half_widths = intervals
    return Intervals(values, np.where(half_widths >= wide, np.inf, half_widths))


def _central(x: Array) -> Array:
    """Return mass, centre of mass and inertia about it (10,) of ten parameters about the origin, the first of ``x``."""
    pseudo = pseudo_inertia(x[:PARAMETERS])
    centre = pseudo[:3, 3] / (pseudo[3, 3] or np.inf)
    pseudo[:3, :3] -= pseudo[3, 3] * np.outer(centre, centre)
    return np.concatenate([x[:1], centre, body_parameters(pseudo)[4:]])


def _placement(model: RobotModel, link: str) -> tuple[int, Array]:
    """Return the body that carries the link, and the matrix (10, 10) from parameters at the link to the body's."""
    zero = np.zeros(model.n)
    pose = model.link_pose(zero, link)
    body = model.link_frames[link].body
    if body < 0:
        raise RobotDynamicsError(
            f'no joint moves the link "{link}". Cure: name a link that a joint moves'
        )
    pose = np.linalg.inv(model.link_pose(zero, model.moving_links[body])) @ pose
    return body, body_parameters(pose @ pseudo_inertia(np.eye(PARAMETERS)) @ pose.T).T


def _by_direction(model: RobotModel) -> Parameterization:
    """Return the parameterization with Coulomb friction by direction, which includes offsets of the effort."""
    shapes = (FrictionShape(directions=True),) * len(model.moving_joints)
    return Parameterization.of(model, shapes=shapes)


def _stacked(
    parameterization: Parameterization, samples: Samples
) -> tuple[Array, Array]:
    """Return regressor (m, n, p) and torque (m, n) of the samples; rows that are not used are zero."""
    _, columns, torque = zip(*samples.columns(parameterization), strict=True)
    return np.concatenate(columns), np.concatenate(torque)


def _aligned(unloaded: RecordedMotion, loaded: RecordedMotion) -> list[RecordedMotion]:
    """Return the parts of both motions at the same places, sample by sample."""
    place = loaded.time + _shift(unloaded, loaded)
    index = np.searchsorted(unloaded.time, place)
    within = (index > 0) & (index < len(unloaded.time))
    steps = np.diff(unloaded.time)
    within[within] = steps[index[within] - 1] < GAP_STEPS * np.median(steps)
    fields = (unloaded.q, unloaded.qd, unloaded.qdd, unloaded.tau)
    q, qd, qdd, tau = (_interpolated(place, unloaded.time, values) for values in fields)
    motions = [
        m.part(within) for m in (replace(loaded, q=q, qd=qd, qdd=qdd, tau=tau), loaded)
    ]
    far = np.ones(len(loaded.joint_names), dtype=bool)
    if np.count_nonzero(within) >= len(within) // 2:
        far = root_mean_square(motions[1].q - motions[0].q) > OTHER_MOTION * _spread(
            loaded
        )
    if far.any():
        joints = ", ".join(np.array(loaded.joint_names)[far])
        raise BagError(
            f"the recordings are of different motions: {joints}. Cure: record the same motion without and with the "
            "payload"
        )
    return motions


def _shift(unloaded: RecordedMotion, loaded: RecordedMotion) -> float:
    """Return the time (s) to add to that of the second motion, so that the positions agree best over half or more."""
    thinned = slice(None, None, max(1, len(loaded.time) // SEARCH_SAMPLES))
    spread = _spread(loaded)
    first = unloaded.time
    second = loaded.time[thinned]
    positions = loaded.q[thinned]
    half = 0.5 * len(second) * min(1.0, np.ptp(first) / np.ptp(second))

    def distance(shift: float) -> float:
        place = second + shift
        within = (place >= first[0]) & (place <= first[-1])
        if np.count_nonzero(within) < half:
            return np.inf
        return float(
            np.square(
                (positions - _interpolated(place, first, unloaded.q))[within] / spread
            ).mean()
        )

    start = min(
        np.arange(first[0] - second[-1], first[-1] - second[0], SEARCH_STEP),
        key=distance,
    )
    bounds = (start - SEARCH_STEP, start + SEARCH_STEP)
    return float(
        optimize.minimize_scalar(
            distance, bounds=bounds, method="bounded", options={"xatol": 1e-6}
        ).x
    )


def _spread(motion: RecordedMotion) -> Array:
    return np.asarray(np.maximum(motion.q.std(axis=0), LEAST_SPREAD))


def _interpolated(place: Array, time: Array, values: Array) -> Array:
    return np.stack([np.interp(place, time, column) for column in values.T], axis=1)
