"""Corrections of a recording: order, signs, units and zeros of positions, and order, signs and units of efforts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.analysis.diagnosis.causes import (
    Evidence,
    excludes_zero,
    interval,
)
from robot_dynamics_ros.analysis.identification.recorded_motion import RecordedMotion
from robot_dynamics_ros.analysis.identification.torque_analysis import (
    jackknife,
    modelled_friction,
)
from robot_dynamics_ros.analysis.thresholds import (
    CORRECTION_BLOCKS,
    EQUAL_UNIT_RATIO,
    EXTERNAL_SHARE,
    FARTHEST_BEYOND_LIMITS,
    FITTED_COMPLEXITY,
    HINT_SIGNIFICANT,
    LARGEST_PRISMATIC_ZERO,
    LEAST_UNIT_RATIO,
    LINK_SPREAD,
    MATCHED_BETTER,
    MATCHED_EVERY,
    SMALLEST_ZERO,
    TINY,
    ZERO_DIFFERENCE,
    ZERO_STARTS,
    ZERO_STEPS,
)
from robot_dynamics_ros.base.statistics import root_mean_square
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel

_PREFIXES = {1e3: "mNm", 1e-3: "kNm"}


@dataclass(frozen=True, eq=False)
class Correction:
    """Correction of one mistake of a recording.

    Attributes
    ----------
    hint
        The mistake and its cure; empty for no correction.
    joints, scales
        Index (n,) in the recording, and factor (n,), of position, velocity and acceleration of each joint of the model.
    offsets
        Angle or length (n,) that is added to the position, rad or m.
    efforts, gains
        Index (n,) in the recording, and gain (n,) in Nm or N per recorded unit, of the effort of each joint.
    complexity
        Number of causes that it counts as in model selection.
    alone
        True if it leaves no scale by which further causes could be determined.
    """

    hint: str
    joints: list[int]
    scales: Array
    offsets: Array
    efforts: list[int]
    gains: Array
    complexity: float
    alone: bool = False

    @classmethod
    def none(cls, n: int, complexity: float = 0.0) -> Correction:
        """Return the correction of ``n`` joints that changes nothing."""
        order = list(range(n))
        return cls("", order, np.ones(n), np.zeros(n), order, np.ones(n), complexity)

    def apply(self, evidence: Evidence) -> Evidence:
        """Return ``evidence`` in the model's order of joints, with corrected motion, and effort times ``gains``."""
        motion = evidence.motion
        q, qd, qdd = (values[:, self.joints] * self.scales for values in motion.states)
        tau, rate = (
            values[:, self.efforts] * self.gains
            for values in (motion.tau, evidence.effort_rate)
        )
        return Evidence(
            replace(motion, q=q + self.offsets, qd=qd, qdd=qdd, tau=tau), rate
        )


def corrections(model: RobotModel, motion: RecordedMotion) -> Iterator[Correction]:
    """Yield corrections of units, signs, zeros or order that ``motion``, with the joints of ``model``, may need."""
    columns = gear_columns(model, motion)
    ratios = _torque_ratios(model, motion, columns)
    yield from _gain_corrections(model, *ratios)
    yield from _zero_corrections(model, motion, columns)
    yield from _effort_order(model, motion)
    names = model.joint_names
    plain = Correction.none(model.n, 1.0)
    far = turns_far(model, motion)
    if far.any():
        yield replace(
            plain,
            hint=f"position and velocity of {', '.join(itertools.compress(names, far.tolist()))} are in degrees. Cure: "
            "report radians in the driver",
            scales=np.where(far, np.pi / 180.0, 1.0),
        )
    for j, name in enumerate(names):
        signs = np.where(np.arange(model.n) == j, -1.0, 1.0)
        yield replace(
            plain,
            hint=f"{name} turns the other way: position, velocity and effort have the wrong sign. Cure: reverse the "
            "joint's <axis> in the URDF, or the signs in the driver",
            scales=signs,
            gains=signs,
        )
        yield replace(
            plain,
            hint=f"position and velocity of {name} have the wrong sign, its effort has not. Cure: reverse them in the "
            "driver",
            scales=signs,
        )
    for i, j in itertools.combinations(range(model.n), 2):
        first = names[i]
        second = names[j]
        order = list(range(model.n))
        order[i] = j
        order[j] = i
        yield replace(
            plain,
            hint=f"{first} and {second} are swapped. Cure: check the names in the driver, or swap them back with "
            f"--rename {first}={second} {second}={first}",
            joints=order,
            efforts=order,
        )
        yield replace(
            plain,
            hint=f"position and velocity of {first} and {second} are swapped, their efforts are not. Cure: check the "
            "order of the positions in the driver",
            joints=order,
        )


def turns_far(model: RobotModel, motion: RecordedMotion) -> NDArray[np.bool_]:
    """Return True (n,) for revolute joints that turn so far that their positions may be in degrees."""
    revolute = [name not in model.prismatic_joints for name in model.joint_names]
    return np.asarray(revolute & (np.ptp(motion.q, axis=0) > FARTHEST_BEYOND_LIMITS))


def gear_columns(model: RobotModel, motion: RecordedMotion) -> list[Array]:
    """Return for each joint the torques (m, 5) that its gear may add.

    They are those of viscous friction, of Coulomb friction in both directions, of friction that grows with the load,
    and of rotor inertia, each for a coefficient of 1, with which they do not drive the joint.
    """
    load = np.abs(model.gear_load(*motion.states)) * np.sign(motion.qd)
    way = np.sign(motion.qd)
    parts = (motion.qd, np.maximum(way, 0.0), np.minimum(way, 0.0), load, motion.qdd)
    return list(np.stack(parts, axis=2).transpose(1, 0, 2))


def misfit(model: RobotModel, motion: RecordedMotion, effort: Array) -> Array:
    """Return the logarithm (n, k) of the RMS difference between the model's torques and ``effort`` (m, k).

    To the rigid-body torque of each of the n joints, friction and rotor inertia of any size are added, but none that
    drives the joint. ``motion`` has the joints of ``model``.
    """
    from scipy.optimize import nnls  # slow to import, which would delay --help

    rigid = model.inverse_dynamics(*motion.states)
    result = np.empty((model.n, effort.shape[1]))
    for j, gear in enumerate(gear_columns(model, motion)):
        q, r = np.linalg.qr(gear)
        left = effort - rigid[:, j, None]
        projected = q.T @ left
        beside = np.maximum((left**2).sum(axis=0) - (projected**2).sum(axis=0), 0.0)
        within = [nnls(r, column)[1] for column in projected.T]
        squares = (beside + np.square(within)) / len(effort)
        result[j] = 0.5 * np.log(squares + TINY**2)
    return result


def _effort_order(model: RobotModel, motion: RecordedMotion) -> Iterator[Correction]:
    """Yield the order and the signs in which the efforts fit the model's torques best, if it is another one.

    Each joint gets one recorded effort, so that the sum of the misfits is least: an assignment problem.
    """
    from scipy.optimize import linear_sum_assignment

    n = model.n
    thinned = motion.part(slice(None, None, MATCHED_EVERY))
    misfits = misfit(model, thinned, np.hstack([thinned.tau, -thinned.tau]))
    # A joint keeps its effort and sign unless another one fits clearly better.
    misfits[:, :n] -= MATCHED_BETTER * np.eye(n)
    both = np.stack([misfits[:, :n], misfits[:, n:]])
    _, order = linear_sum_assignment(both.min(axis=0))
    signs = np.where(both.argmin(axis=0)[np.arange(n), order] == 1, -1.0, 1.0)
    names = model.joint_names
    moved = np.flatnonzero(order != np.arange(n)).tolist()
    reversed_joints = np.flatnonzero(signs < 0.0).tolist()
    texts = []
    if len(moved) == 2:
        first, second = (names[j] for j in moved)
        texts.append(
            f"the efforts of {first} and {second} are swapped. Cure: check the order of the effort in the driver"
        )
    elif moved:
        owners = np.argsort(order)
        each = ", ".join(f"{names[j]} has that of {names[owners[j]]}" for j in moved)
        texts.append(
            f"the efforts are in another order: {each}. Cure: check the order of the effort in the driver"
        )
    if len(reversed_joints) == n:
        texts.append(
            "every effort has the wrong sign. Cure: reverse the signs in the driver: positive effort must "
            "accelerate the joint in positive direction"
        )
    elif reversed_joints:
        each = ", ".join(names[j] for j in reversed_joints)
        gains = " ".join(f"{names[j]}=-1" for j in reversed_joints)
        texts.append(
            f"the measured effort of {each} has the wrong sign. Cure: reverse its sign in the driver, or "
            f"--drive-gains {gains}"
        )
    if texts:
        yield replace(
            Correction.none(n, float(len(texts))),
            hint="; and ".join(texts),
            efforts=order.tolist(),
            gains=signs,
        )


def _gain_corrections(
    model: RobotModel, ratios: Array, errors: Array
) -> Iterator[Correction]:
    """Yield gains, of all efforts, of single ones and of each, if efforts are not in Nm or N by the model's torque."""
    names = model.joint_names
    plain = Correction.none(model.n, 1.0)
    explained = np.abs(ratios) > HINT_SIGNIFICANT * errors
    if not explained.any():
        return
    common = float(np.median(ratios[explained]))
    scatter = float(
        np.hypot(ratios[explained].std(), np.median(errors[explained]))
        / np.sqrt(explained.sum())
    )
    unit = next(
        (
            unit
            for unit in _PREFIXES
            if 1.0 / EQUAL_UNIT_RATIO < common / unit < EQUAL_UNIT_RATIO
        ),
        common,
    )
    # A remainder of the torque, after that of a model, looks alike.
    small = unit not in _PREFIXES and abs(common) < EXTERNAL_SHARE
    external = ", or an external torque" if small else ""
    if (
        max(abs(common), 1.0 / abs(common)) > LEAST_UNIT_RATIO
        and abs(common) > HINT_SIGNIFICANT * scatter
        and excludes_zero(common - 1.0, scatter)
    ):
        where = (
            f"as in {_PREFIXES[unit]}"
            if unit in _PREFIXES
            else f"as currents, torques before the gear{external}"
        )
        yield replace(
            plain,
            hint=f"every effort is {interval(common, scatter)} times the model's, {where}. Cure: record torque at the "
            f"joints in Nm, or --drive-gains {1.0 / unit:.4g}",
            gains=np.full(model.n, 1.0 / unit),
            alone=small,
        )
    fitted = Correction.none(model.n, FITTED_COMPLEXITY)
    different = np.abs(ratios - 1.0) > HINT_SIGNIFICANT * errors
    different &= (ratios > HINT_SIGNIFICANT * errors) & (errors > TINY * ratios)
    for j in np.flatnonzero(different).tolist():
        name = names[j]
        gain = interval(ratios[j], errors[j])
        yield replace(
            fitted,
            hint=f"the gain of the measured effort of {name} is {gain}, as by a wrong gear ratio or torque constant. "
            f"Cure: correct it in the driver, or --drive-gains {name}={1.0 / ratios[j]:.4g}",
            gains=np.where(np.arange(model.n) == j, 1.0 / ratios, 1.0),
        )
    # Smaller ones, and equal ones, are as well by the links' masses.
    large = np.abs(np.log(np.maximum(ratios, TINY))) > np.log(1.0 + LINK_SPREAD)
    equal = ratios[explained].max() < EQUAL_UNIT_RATIO * ratios[explained].min()
    if unit in _PREFIXES or equal or (different & large).sum() < 2:
        return
    ratios = np.where(explained, ratios, common)
    errors = np.where(explained, errors, np.inf)
    pairs = zip(names, 1.0 / ratios, errors / ratios**2, strict=True)
    gains = ", ".join(f"{name} {interval(gain, error)}" for name, gain, error in pairs)
    yield replace(
        fitted,
        hint="joint efforts are in different units per joint, by wrong gear ratios, or as currents, torques before "
        f"the gear{external}: gains {gains} by the model's masses. Cure: --drive-gains with the drives' own gains, or "
        "with these",
        gains=1.0 / ratios,
        complexity=1.5,
        alone=small,
    )


def _torque_ratios(
    model: RobotModel, motion: RecordedMotion, columns: Sequence[Array]
) -> tuple[Array, Array]:
    """Return the ratio (n,) of measured to model torque, and its standard error (n,).

    Unknown friction and rotor inertia, the ``columns`` of each joint, are fitted too, so that they do not count as a
    gain. If the torque with the model's friction has the same ratio within its uncertainty, this more precise ratio is
    taken.
    """
    rigid = model.inverse_dynamics(*motion.states)
    whole = rigid + modelled_friction(model, motion)
    found = []
    for j, others in enumerate(columns):
        free = _ratio(motion.tau[:, j], np.column_stack([rigid[:, j], others]))
        same = _ratio(motion.tau[:, j], whole[:, j, None])
        found.append(
            same
            if same[1] < free[1] and abs(same[0] - free[0]) < HINT_SIGNIFICANT * free[1]
            else free
        )
    ratios, errors = np.array(found).T
    return ratios, errors


def _ratio(measured: Array, columns: Array) -> tuple[float, float]:
    """Return the coefficient of the first of ``columns`` (m, k) in the fit to ``measured`` (m,), and its error."""
    parts = [np.arange(len(measured)), *_without_blocks(len(measured))]
    whole, *others = (
        np.linalg.lstsq(columns[rows], measured[rows], rcond=None)[0][0]
        for rows in parts
    )
    return float(whole), float(jackknife(np.array(others)))


def _zero_corrections(
    model: RobotModel, motion: RecordedMotion, columns: Sequence[Array]
) -> Iterator[Correction]:
    """Yield an offset for the position of each joint whose zero the model's torque determines to differ.

    Gauss-Newton starts at the best of several offsets. Unknown friction and rotor inertia, the ``columns`` of each
    joint, are fitted too.
    """
    plain = Correction.none(model.n, FITTED_COMPLEXITY)
    known = modelled_friction(model, motion)
    bases = [np.linalg.svd(own, full_matrices=False)[0] for own in columns]

    def error(offsets: Array) -> Array:
        left = (
            motion.tau
            - known
            - model.inverse_dynamics(motion.q + offsets, motion.qd, motion.qdd)
        )
        return np.stack(
            [x - basis @ (basis.T @ x) for x, basis in zip(left.T, bases, strict=True)],
            axis=1,
        )

    def cost(offsets: Array) -> float:
        return float(np.log(root_mean_square(error(offsets)) + TINY).sum())

    for j, name in enumerate(motion.joint_names):
        prismatic = name in model.prismatic_joints
        unit = np.where(np.arange(model.n) == j, 1.0, 0.0)
        offset = min(
            (LARGEST_PRISMATIC_ZERO if prismatic else np.pi) * ZERO_STARTS,
            key=lambda x: cost(x * unit),
        )
        for _ in range(ZERO_STEPS):
            here = error(offset * unit)
            slope = error((offset + ZERO_DIFFERENCE) * unit) - here
            slope /= ZERO_DIFFERENCE
            weights = 1.0 / (root_mean_square(here) + TINY) ** 2
            moment = -(slope * here) @ weights
            square = slope**2 @ weights + TINY
            offset += float(moment.sum() / square.sum())
        steps = [
            moment[k].sum() / square[k].sum() for k in _without_blocks(len(moment))
        ]
        deviation = float(jackknife(np.array(steps)))
        offset = offset if prismatic else float(np.angle(np.exp(1j * offset)))
        if (
            abs(offset) > SMALLEST_ZERO[prismatic]
            and excludes_zero(offset, deviation)
            and cost(offset * unit) < cost(0.0 * unit)
        ):
            yield replace(
                plain,
                hint=f"the recorded position of {name} has another zero: it is {interval(-offset, deviation)} "
                f"{'m' if prismatic else 'rad'} above the model's. Cure: calibrate it in the driver, or change the "
                "joint's <origin> in the URDF",
                offsets=offset * unit,
            )


def _without_blocks(count: int) -> list[NDArray[np.intp]]:
    """Return the indices of ``count`` samples without those of one of consecutive blocks, for each block."""
    rows = np.arange(count)
    return [
        np.setdiff1d(rows, block) for block in np.array_split(rows, CORRECTION_BLOCKS)
    ]
