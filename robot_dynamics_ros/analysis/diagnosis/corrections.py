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
    friction,
    interval,
    load_friction,
    rotors,
)
from robot_dynamics_ros.analysis.identification.recorded_motion import RecordedMotion
from robot_dynamics_ros.analysis.identification.torque_analysis import (
    jackknife,
    modelled_friction,
)
from robot_dynamics_ros.analysis.thresholds import (
    ALIKE_CORRELATION,
    COMPARED_VELOCITY,
    CORRECTION_BLOCKS,
    EQUAL_UNIT_RATIO,
    EQUAL_VELOCITY_RATIO,
    FARTHEST_BEYOND_LIMITS,
    FASTEST_OVER_LIMITS,
    FITTED_COMPLEXITY,
    GAP_STEPS,
    HINT_SIGNIFICANT,
    LARGEST_PRISMATIC_ZERO,
    LEAST_UNIT_RATIO,
    POSITION_RANGE_MARGIN,
    SMALLEST_ZERO,
    TINY,
    UNLIKE_CORRELATION,
    ZERO_DIFFERENCE,
    ZERO_STARTS,
    ZERO_STEPS,
)
from robot_dynamics_ros.base.statistics import root_mean_square
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel

_PREFIXES = {1e3: "mNm", 1e-3: "kNm"}
_DEGREE = np.pi / 180.0  # rad
_RATIOS = {
    -1.0: "one of both has the wrong sign",
    1.0 / _DEGREE: "in degrees/s",
    _DEGREE: "the position is in degrees",
}


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
    """

    hint: str
    joints: list[int]
    scales: Array
    offsets: Array
    efforts: list[int]
    gains: Array
    complexity: float

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


def impossible_motion(model: RobotModel, motion: RecordedMotion) -> list[str]:
    """Return hints, without a fit, for a motion that contradicts itself or the limits; empty if there are none.

    ``motion`` has the joints of ``model``, in its order. The hints are for velocities that are not the derivative of
    the position or, if there are none, for positions more than 4 pi (rad or m) beyond a limit and velocities above five
    times theirs. Torques of such a motion tell nothing.
    """
    velocities: dict[str, list[str]] = {}
    steps = np.diff(motion.time)
    even = steps < GAP_STEPS * np.median(steps)
    inside = 1 + np.flatnonzero(even[:-1] & even[1:])
    slope = (motion.q[inside + 1] - motion.q[inside - 1]) / (
        motion.time[inside + 1] - motion.time[inside - 1]
    )[:, None]
    speeds = root_mean_square(motion.qd[inside]) + TINY
    rates = root_mean_square(slope) + TINY
    # correlations, velocities by positions
    likeness = (motion.qd[inside] / speeds).T @ (slope / rates) / len(inside)
    for j in np.flatnonzero((rates > COMPARED_VELOCITY) & ~motion.still).tolist():
        name = motion.joint_names[j]
        ratio = likeness[j, j] * speeds[j] / rates[j]
        other = int(np.abs(likeness[j]).argmax())
        if (
            abs(likeness[j, j]) > ALIKE_CORRELATION
            and not 1.0 / EQUAL_VELOCITY_RATIO < ratio < EQUAL_VELOCITY_RATIO
        ):
            cause = next(
                (
                    text
                    for value, text in _RATIOS.items()
                    if 1.0 / EQUAL_VELOCITY_RATIO < ratio / value < EQUAL_VELOCITY_RATIO
                ),
                "other units",
            )
            velocities.setdefault(cause, []).append(f"{name} {ratio:.3g} times")
        elif (
            abs(likeness[j, other]) > ALIKE_CORRELATION
            and abs(likeness[j, j]) < UNLIKE_CORRELATION
        ):
            velocities.setdefault("another order", []).append(
                f"{name} that of {motion.joint_names[other]}"
            )
    contradictions = [
        f"the recorded velocity is not the derivative of the position, but {', '.join(joints)}: {cause}. Cure: correct "
        "positions or velocities in the driver"
        for cause, joints in velocities.items()
    ]
    return contradictions or _out_of_limits(model, motion, impossible=True)


def beyond_limits(model: RobotModel, motion: RecordedMotion) -> list[str]:
    """Return hints for positions beyond the limits, but not so far that they are impossible; empty without any."""
    return _out_of_limits(model, motion, impossible=False)


def _out_of_limits(
    model: RobotModel, motion: RecordedMotion, impossible: bool
) -> list[str]:
    lower = model.position_lower
    upper = model.position_upper
    least = motion.q.min(axis=0)
    most = motion.q.max(axis=0)
    beyond = np.maximum(lower - least, most - upper)
    margin = POSITION_RANGE_MARGIN * (1.0 + upper - lower)
    fast = np.abs(motion.qd).max(axis=0) / model.velocity_limits
    joints: dict[str, list[str]] = {}
    for j, name in enumerate(motion.joint_names):
        unit, other, factor = (
            ("m", "mm", 1e-3)
            if name in model.prismatic_joints
            else ("rad", "degrees", _DEGREE)
        )
        far = beyond[j] > FARTHEST_BEYOND_LIMITS
        if beyond[j] > margin[j] and far == impossible:
            fits = (
                max(lower[j] - factor * least[j], factor * most[j] - upper[j])
                < margin[j]
            )
            cause = (
                f"in {other}"
                if far and fits
                else "in counts"
                if far
                else "another zero, sign, order or unit"
            )
            joints.setdefault(
                f"positions are beyond the limits{{}}: {cause}?", []
            ).append(f"{name} by {beyond[j]:.3g} {unit}")
        elif impossible and fast[j] > FASTEST_OVER_LIMITS:
            joints.setdefault(
                f"velocities exceed the limits{{}}: in {other}/s or counts/s?", []
            ).append(f"{name} {fast[j]:.3g} times")
    return [
        f"{text.format(', ' + ', '.join(parts))} Cure: report SI units from the URDF's zero in the driver, or correct "
        "the limits in the URDF"
        for text, parts in joints.items()
    ]


def corrections(model: RobotModel, evidence: Evidence) -> Iterator[Correction]:
    """Yield corrections of units, signs or order that ``evidence``, with the joints of ``model``, may need."""
    names = evidence.motion.joint_names
    plain = Correction.none(len(names), 1.0)
    columns = _gear_columns(model, evidence)
    ratios = _torque_ratios(model, evidence, columns)
    yield from _unit_corrections(model, *ratios)
    yield from _gain_corrections(model, *ratios)
    yield from _degree_corrections(model, evidence.motion)
    yield from _zero_corrections(model, evidence, columns)
    yield replace(
        plain,
        hint="every effort has the wrong sign. Cure: reverse the signs in the driver: positive effort must "
        "accelerate the joint in positive direction",
        gains=-plain.gains,
    )
    for j, name in enumerate(names):
        signs = plain.scales.copy()
        signs[j] = -1.0
        yield replace(
            plain,
            hint=f"the measured effort of {name} has the wrong sign. Cure: reverse its sign in the driver, or "
            f"--drive-gains {name}=-1",
            gains=signs,
        )
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
    for i, j in itertools.combinations(range(len(names)), 2):
        first = names[i]
        second = names[j]
        order = list(range(len(names)))
        order[i] = j
        order[j] = i
        yield replace(
            plain,
            hint=f"the efforts of {first} and {second} are swapped. Cure: check the order of the effort in the driver",
            efforts=order,
        )
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


def _unit_corrections(
    model: RobotModel, ratios: Array, errors: Array
) -> Iterator[Correction]:
    """Yield gains, one for all efforts and one for each, if the efforts are not in Nm or N by the model's torque."""
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
    if max(abs(common), 1.0 / abs(common)) > LEAST_UNIT_RATIO and excludes_zero(
        common - 1.0, scatter
    ):
        where = (
            f"as in {_PREFIXES[unit]}"
            if unit in _PREFIXES
            else "as currents, or torques before the gear"
        )
        yield replace(
            plain,
            hint=f"every effort is {interval(common, scatter)} times the model's, {where}. Cure: record torque at the "
            f"joints in Nm, or --drive-gains {1.0 / unit:.4g}",
            gains=np.full(model.n, 1.0 / unit),
        )
    ratios = np.where(explained, ratios, common)
    errors = np.where(explained, errors, np.inf)
    spread = np.maximum(ratios / common, common / ratios)
    if unit in _PREFIXES and 0.0 < spread.min() and spread.max() < EQUAL_UNIT_RATIO:
        return
    if (np.maximum(np.abs(ratios), 1.0 / np.abs(ratios)) > LEAST_UNIT_RATIO).any():
        pairs = zip(names, 1.0 / ratios, errors / ratios**2, strict=True)
        gains = ", ".join(
            f"{name} {interval(gain, error)}" for name, gain, error in pairs
        )
        yield replace(
            plain,
            hint="joint efforts are in different units per joint, as currents or torques before the gear: gains "
            f"{gains} by the model's masses. Cure: --drive-gains with the drives' own gains, or with these",
            gains=1.0 / ratios,
            complexity=1.5,
        )


def _gain_corrections(
    model: RobotModel, ratios: Array, errors: Array
) -> Iterator[Correction]:
    """Yield the gain of each joint's effort that is determined to differ from 1."""
    plain = Correction.none(model.n, FITTED_COMPLEXITY)
    for j, (name, ratio, error) in enumerate(
        zip(model.joint_names, ratios.tolist(), errors.tolist(), strict=True)
    ):
        if ratio > HINT_SIGNIFICANT * error and excludes_zero(ratio - 1.0, error):
            yield replace(
                plain,
                hint=f"the gain of the measured effort of {name} is {interval(ratio, error)}, as by a wrong gear ratio "
                f"or torque constant. Cure: correct it in the driver, or --drive-gains {name}={1.0 / ratio:.4g}",
                gains=np.where(np.arange(model.n) == j, 1.0 / ratio, 1.0),
            )


def _torque_ratios(
    model: RobotModel, evidence: Evidence, columns: Sequence[Array]
) -> tuple[Array, Array]:
    """Return the ratio (n,) of measured to model torque, and its standard error (n,).

    Unknown friction and rotor inertia, the ``columns`` of each joint, are fitted too, so that they do not count as a
    gain. If the torque with the model's friction has the same ratio within its uncertainty, this more precise ratio is
    taken.
    """
    motion = evidence.motion
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


def _degree_corrections(
    model: RobotModel, motion: RecordedMotion
) -> Iterator[Correction]:
    """Yield radians for degrees, of the revolute joints that would turn far if they were in radians."""
    far = np.ptp(motion.q, axis=0) > FARTHEST_BEYOND_LIMITS
    joints = [
        bool(far[j]) and name not in model.prismatic_joints
        for j, name in enumerate(model.joint_names)
    ]
    if any(joints):
        yield replace(
            Correction.none(model.n, 1.0),
            hint=f"position and velocity of {', '.join(itertools.compress(model.joint_names, joints))} are in degrees. "
            "Cure: report radians in the driver",
            scales=np.where(joints, _DEGREE, 1.0),
        )


def _zero_corrections(
    model: RobotModel, evidence: Evidence, columns: Sequence[Array]
) -> Iterator[Correction]:
    """Yield an offset for the position of each joint whose zero the model's torque determines to differ.

    Gauss-Newton starts at the best of several offsets. Unknown friction and rotor inertia, the ``columns`` of each
    joint, are fitted too.
    """
    motion = evidence.motion
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
            slope = (
                error((offset + ZERO_DIFFERENCE) * unit)
                - error((offset - ZERO_DIFFERENCE) * unit)
            ) / (2.0 * ZERO_DIFFERENCE)
            weights = 1.0 / (root_mean_square(here) + TINY) ** 2
            moment = -(slope * here) @ weights
            square = slope**2 @ weights
            offset += float(moment.sum() / (square.sum() + TINY))
        steps = [
            moment[k].sum() / (square[k].sum() + TINY)
            for k in _without_blocks(len(moment))
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


def _gear_columns(model: RobotModel, evidence: Evidence) -> list[Array]:
    """Return for each joint the columns (m, 5) of friction, friction by load and rotor inertia."""
    columns = np.concatenate(
        [cause(model, evidence).columns for cause in (friction, load_friction, rotors)],
        axis=2,
    )
    return [columns[:, j, j :: model.n] for j in range(model.n)]


def _without_blocks(count: int) -> list[NDArray[np.intp]]:
    """Return the indices of ``count`` samples without those of one of consecutive blocks, for each block."""
    rows = np.arange(count)
    return [
        np.setdiff1d(rows, block) for block in np.array_split(rows, CORRECTION_BLOCKS)
    ]
