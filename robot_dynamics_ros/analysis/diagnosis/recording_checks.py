"""Checks of a recording by itself, without a fit of the model: what no robot and no motion can produce."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.analysis.diagnosis.causes import interval
from robot_dynamics_ros.analysis.diagnosis.corrections import (
    gear_columns,
    misfit,
    turns_far,
)
from robot_dynamics_ros.analysis.identification.recorded_motion import RecordedMotion
from robot_dynamics_ros.analysis.identification.torque_analysis import jackknife
from robot_dynamics_ros.analysis.thresholds import (
    ALIKE_CORRELATION,
    CLIPPED_RATIO,
    CLIPPED_SHARE,
    COMPARED_VELOCITY,
    CORRECTION_BLOCKS,
    EQUAL_VELOCITY_RATIO,
    EXTERNAL_REST,
    EXTERNAL_SHARE,
    FARTHEST_BEYOND_LIMITS,
    FASTEST_OVER_LIMITS,
    GAP_STEPS,
    HINT_SIGNIFICANT,
    LONGEST_MESSAGE_PERIOD,
    MATCHED_EVERY,
    POSITION_RANGE_MARGIN,
    REPEATED_SHARE,
    REPEATED_SPAN,
    REST_SPEED_SHARE,
    SHORTEST_VELOCITY_DELAY,
    SPIKE_SIZE,
    STILL_SPREAD,
    TINY,
    UNIT_CONFIRMED,
    UNLIKE_CORRELATION,
)
from robot_dynamics_ros.base.statistics import root_mean_square
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.recordings.bags import JointSeries

_DEGREE = np.pi / 180.0  # rad
_ANGLES = {"in rad": 1.0, "in turns": 2.0 * np.pi, "in half turns": np.pi}
_RATIOS = {
    -1.0: "one of both has the wrong sign",
    1.0 / _DEGREE: "in degrees/s",
    _DEGREE: "the position is in degrees",
}
_TURN = 2.0 * np.pi
_CURE = "Cure: report SI units from the URDF's zero in the driver, or correct the limits in the URDF"
_STAMPS = {1e3: "ms", 1e6: "us", 1e9: "ns"}


def impossible_recording(model: RobotModel, motion: RecordedMotion) -> list[str]:
    """Return hints at messages, velocities, positions or efforts that no robot can have; empty if there are none.

    ``motion`` has the joints of ``model``, in its order. Torques of such a motion tell nothing. The hints are of one
    kind: messages with spikes, a constant position or a clipped effort; velocities that are not the derivative of the
    position; positions more than 4 pi (rad or m) beyond a limit, velocities above five times theirs, and positions in
    another unit by the torques; efforts that are not those of the joints.
    """
    return (
        _broken_messages(model, motion)
        or _contradictions(motion)
        or _impossible_positions(model, motion)
        or _external_efforts(model, motion)
    )


def doubtful_messages(motion: RecordedMotion) -> list[str]:
    """Return hints at efforts that are constant, and at messages that repeat others, while joints move."""
    if motion.series is None or motion.still.all():
        return []
    series = _complete(motion.series)
    texts = []
    constant = ~motion.still & (np.ptp(series.effort, axis=0) == 0.0)
    if names := ", ".join(np.array(motion.joint_names)[constant]):
        texts.append(
            f"the measured effort is constant: {names}. Cure: check that the driver measures it"
        )
    values = np.hstack([series.position, series.effort])
    span = REPEATED_SPAN
    moves = (values[2 * span :] != values[: -2 * span]).any(axis=1)
    equal = (values[1:] == values[:-1]).all(axis=1)[span : span + len(moves)]
    share = float(equal[moves].mean()) if moves.any() else 0.0
    if share > REPEATED_SHARE:
        texts.append(
            f"{100 * share:.0f} % of the messages repeat the values of the one before, with another stamp: the driver "
            "publishes faster than it measures. Cure: record each measurement once"
        )
    return texts


def beyond_limits(model: RobotModel, motion: RecordedMotion) -> list[str]:
    """Return hints for positions beyond the limits, but not so far that they are impossible; empty without any."""
    beyond = _beyond(model, motion.q)
    margin = _margin(model)
    turned = [_beyond(model, motion.q + turn) < margin for turn in (_TURN, -_TURN)]
    joints: dict[str, list[str]] = defaultdict(list)
    marked = (beyond > margin) & (beyond < FARTHEST_BEYOND_LIMITS)
    for j in np.flatnonzero(marked).tolist():
        name = motion.joint_names[j]
        unit = "m" if name in model.prismatic_joints else "rad"
        cause = "another zero, sign, order or unit"
        if unit == "rad" and (turned[0][j] or turned[1][j]):
            cause = "a full turn off"
        joints[cause].append(f"{name} by {beyond[j]:.3g} {unit}")
    return [
        f"positions are beyond the limits, {', '.join(parts)}: {cause}? {_CURE}"
        for cause, parts in joints.items()
    ]


def _beyond(model: RobotModel, q: Array) -> Array:
    """Return the largest distances (n,) of positions (m, n) beyond the limits, negative within them."""
    below = model.position_lower - q.min(axis=0)
    return np.asarray(np.maximum(below, q.max(axis=0) - model.position_upper))


def _margin(model: RobotModel) -> Array:
    """Return the distances (n,) by which positions may exceed the limits."""
    return POSITION_RANGE_MARGIN * (1.0 + model.position_upper - model.position_lower)


def _complete(series: JointSeries) -> JointSeries:
    """Return the messages without NaN in position and effort."""
    finite = np.isfinite(series.position) & np.isfinite(series.effort)
    return series.rows(np.all(finite, axis=1))


def _broken_messages(model: RobotModel, motion: RecordedMotion) -> list[str]:
    if motion.series is None:
        return []
    from scipy.ndimage import median_filter  # slow to import, which would delay --help

    series = _complete(motion.series)
    velocity = np.nan_to_num(series.velocity)
    fields = {
        "position": series.position, "velocity": velocity, "effort": series.effort
    }  # fmt: skip
    found: dict[str, list[str]] = defaultdict(list)
    for field, values in fields.items():
        spread = np.quantile(np.abs(values - np.median(values, axis=0)), 0.99, axis=0)
        # single counts of a joint at rest are no spikes
        spread = np.maximum(spread, STILL_SPREAD * spread.max())
        smooth = median_filter(values, size=(5, 1), mode="nearest")
        spikes = np.abs(values - smooth) > SPIKE_SIZE * (spread + TINY)
        text = (
            f"single messages have spikes in the {field}: {{}}. Cure: find their source in the driver, and leave these "
            "messages out"
        )
        for j in np.flatnonzero(spikes.any(axis=0)).tolist():
            found[text].append(f"{motion.joint_names[j]} {spikes[:, j].sum()}")
    speed = np.abs(np.gradient(series.position, axis=0))
    moving = speed > REST_SPEED_SHARE * speed.max(axis=0)
    fast = root_mean_square(velocity) > COMPARED_VELOCITY
    frozen = fast & (np.ptp(series.position, axis=0) == 0.0)
    for j, name in enumerate(motion.joint_names):
        if frozen[j]:
            found[
                "the recorded position is constant, while the velocity is not: {}. Cure: check the driver"
            ].append(name)
        for bound in _bounds(series.effort[moving[:, j], j]):
            # The robot's own limit is no mistake of the recording.
            if abs(bound) > 0.98 * model.effort_limits[j]:
                continue
            found[
                "the measured effort is clipped, as by a limit of the sensor or of the message: {}. Cure: record "
                "slower motions or lighter loads, or raise the limit"
            ].append(f"{name} at {bound:.4g}")
    return [text.format(", ".join(parts)) for text, parts in found.items()]


def _bounds(effort: Array) -> Iterator[float]:
    """Yield the largest and smallest of efforts (m,) if many, more than at the three next values, are equal to it."""
    values, counts = np.unique(effort, return_counts=True)
    least = max(CLIPPED_SHARE * len(effort), 5.0)
    for step in (1, -1) if len(values) > 4 else ():
        number, *following = counts[::step][:4].tolist()
        if number > max(least, CLIPPED_RATIO * sum(following)):
            yield float(values[::step][0])


def _contradictions(motion: RecordedMotion) -> list[str]:
    """Return hints at velocities that are not the derivative of the position."""
    inside, slope = _slopes(motion)
    speeds = root_mean_square(motion.qd[inside]) + TINY
    rates = root_mean_square(slope) + TINY
    # correlations, velocities by positions
    likeness = (motion.qd[inside] / speeds).T @ (slope / rates) / len(inside)
    compared = (np.maximum(rates, speeds) > COMPARED_VELOCITY) & ~motion.still
    own = np.diagonal(likeness)
    ratios = own * speeds / rates
    period = motion.period / motion.every
    common = float(np.median(ratios[compared])) if compared.any() else 1.0
    for factor, unit in _STAMPS.items():
        wrong = (
            f"the stamps are in {unit}, but are read as s"
            if _equal(common / factor) and period > LONGEST_MESSAGE_PERIOD
            else f"the stamps are too close, as of s that are read as {unit}"
            if _equal(common * factor) and period < 1e-5 * LONGEST_MESSAGE_PERIOD
            else ""
        )
        if wrong:
            return [
                f"the recorded velocities are {common:.4g} times the derivatives of the positions, and messages "
                f"{period:.3g} s apart: {wrong}. Cure: convert the stamps"
            ]
    velocities: dict[str, list[str]] = defaultdict(list)
    for j in np.flatnonzero(compared).tolist():
        name = motion.joint_names[j]
        other = int(np.abs(likeness[j]).argmax())
        if abs(own[j]) > ALIKE_CORRELATION and not _equal(ratios[j]):
            causes = (
                text for value, text in _RATIOS.items() if _equal(ratios[j] / value)
            )
            cause = next(causes, "other units")
            velocities[cause].append(f"{name} {ratios[j]:.3g} times")
        elif (
            abs(likeness[j, other]) > ALIKE_CORRELATION
            and abs(own[j]) < UNLIKE_CORRELATION
        ):
            velocities["another order"].append(
                f"{name} that of {motion.joint_names[other]}"
            )
    return [
        f"the recorded velocity is not the derivative of the position, but {', '.join(joints)}: {cause}. Cure: correct "
        "positions or velocities in the driver"
        for cause, joints in velocities.items()
    ]


def _equal(ratio: float) -> bool:
    """Return True for a ratio of velocities that are equal but for filters."""
    return 1.0 / EQUAL_VELOCITY_RATIO < ratio < EQUAL_VELOCITY_RATIO


def _slopes(motion: RecordedMotion) -> tuple[NDArray[np.intp], Array]:
    """Return the indices (k,) of samples between two others without a gap, and the slopes (k, n) of position there."""
    steps = np.diff(motion.time)
    even = steps < GAP_STEPS * np.median(steps)
    inside = 1 + np.flatnonzero(even[:-1] & even[1:])
    duration = motion.time[inside + 1] - motion.time[inside - 1]
    return inside, (motion.q[inside + 1] - motion.q[inside - 1]) / duration[:, None]


def late_velocity(motion: RecordedMotion) -> str:
    """Return a hint at velocities that lag the positions, or lead them, by 5 ms or more; empty without.

    The lag of each joint is fitted by qd(t) = dq/dt (t - lag) = dq/dt - lag d2q/dt2; the hint has the median.
    """
    inside, slope = _slopes(motion)
    moves = (root_mean_square(slope) > COMPARED_VELOCITY) & ~motion.still
    if not moves.any():
        return ""
    rate = np.gradient(slope, motion.time[inside], axis=0)
    sums = np.stack([rate * (slope - motion.qd[inside]), rate**2])[:, :, moves]
    blocks = np.array_split(sums, CORRECTION_BLOCKS, axis=1)
    others = sums.sum(axis=1) - [block.sum(axis=1) for block in blocks]
    products, squares = others.transpose(1, 0, 2)
    lags = 1e3 * np.median(products / (squares + TINY), axis=1)  # ms
    lag = float(lags.mean())
    error = float(jackknife(lags))
    if abs(lag) < max(SHORTEST_VELOCITY_DELAY, HINT_SIGNIFICANT * error):
        return ""
    return (
        f"the recorded velocity is {interval(abs(lag), error)} ms {'behind' if lag > 0.0 else 'ahead of'} the "
        "derivative of the position. Cure: correct it in the driver, or record no velocity: it is then differentiated "
        "from the position, as for the hints below"
    )


def _impossible_positions(model: RobotModel, motion: RecordedMotion) -> list[str]:
    """Return hints at positions and velocities far beyond the limits, or in another unit of angles.

    A unit is confirmed if the positions are within the limits in it, and the model's torques then fit the efforts.
    """
    prismatic = np.array([x in model.prismatic_joints for x in motion.joint_names])
    beyond = _beyond(model, motion.q)
    far = beyond > FARTHEST_BEYOND_LIMITS
    half = 0.5 * (model.position_upper - model.position_lower)
    half[~np.isfinite(half)] = 0.0
    # factors, and positions at 0
    units = {
        "in mm" if prismatic[far].all() else "in degrees": (
            np.where(prismatic, 1e-3, _DEGREE),
            0.0 * half,
        ),
        "from -100 to 100": (half / 100.0, model.position_upper - half),
    }
    if not far.any():
        units = {
            unit: (np.where(prismatic, 1.0, factor), 0.0 * half)
            for unit, factor in _ANGLES.items()
        }
    chosen = far | ~far.any()
    thinned = motion.part(slice(None, None, MATCHED_EVERY))
    fits: dict[str, float] = {}
    for unit, (scale, zero) in units.items():
        scale = np.where(chosen, scale, 1.0)
        q = thinned.q * scale + np.where(chosen, zero, 0.0)
        inside = _beyond(model, q) < _margin(model)
        if unit == "in rad" or (inside & (scale > 0.0))[chosen].all():
            moved = replace(
                thinned, q=q, qd=thinned.qd * scale, qdd=thinned.qdd * scale
            )
            size = np.log(root_mean_square(thinned.tau) + TINY)
            fit = np.diagonal(misfit(model, moved, thinned.tau)) - size
            fits[unit] = float(fit.mean())
    best = min(fits.values(), default=0.0) + 0.5 * UNIT_CONFIRMED
    possible = [unit for unit, fit in fits.items() if fit < min(best, -UNIT_CONFIRMED)]
    if not far.any() and possible and "in rad" not in possible:
        return [f"positions and velocities are {' or '.join(possible)}. {_CURE}"]
    if not possible:
        possible = [*fits, "in counts", "those of the motor before the gear"]
        # The range of a calibration need not be that of the limits.
        if np.abs(motion.q[:, far]).max(initial=0.0) < 101.0:
            possible.append("from -100 to 100 in a calibrated range")
    fast = np.abs(motion.qd).max(axis=0) / model.velocity_limits
    fast[far] = 0.0
    texts = {
        f"positions are beyond the limits{{}}: {' or '.join(possible)}?": (
            [f"by {x:.3g} rad (m)" for x in beyond], far,
        ),
        "velocities exceed the limits{}: in degrees/s, mm/s or counts/s?": (
            [f"{x:.3g} times" for x in fast], fast > FASTEST_OVER_LIMITS,
        ),
    }  # fmt: skip
    return [
        f"{text.format(_listed(motion, sizes, marked))} {_CURE}"
        for text, (sizes, marked) in texts.items()
        if marked.any()
    ]


def _listed(
    motion: RecordedMotion, sizes: Sequence[str], marked: NDArray[np.bool_]
) -> str:
    """Return the names of the ``marked`` joints (n,) with their sizes (n,)."""
    pairs = zip(motion.joint_names, sizes, marked, strict=True)
    return "".join(f", {name} {size}" for name, size, one in pairs if one)


def _external_efforts(model: RobotModel, motion: RecordedMotion) -> list[str]:
    """Return a hint at efforts that are small beside the model's torques and not proportional to them."""
    if turns_far(model, motion).any():
        return []
    expected = model.inverse_dynamics(*motion.states)
    gravity = model.gravity_torque(motion.q)
    measured = root_mean_square(motion.tau) + TINY
    friction = model.friction_torque(motion.q, motion.qd, qdd=motion.qdd)
    shares = measured / (root_mean_square(expected + friction) + TINY)
    loaded = ~motion.still & (measured > 2.0 * TINY)
    if not loaded.any() or shares[loaded].max() > EXTERNAL_SHARE:
        return []
    left = []
    for j, gear in enumerate(gear_columns(model, motion)):
        columns = np.column_stack([expected[:, j], gravity[:, j], gear])
        fit = np.linalg.lstsq(columns, motion.tau[:, j], rcond=None)[0]
        left.append(root_mean_square(motion.tau[:, j] - columns @ fit) / measured[j])
    if np.median(np.array(left)[loaded]) < EXTERNAL_REST:
        return []
    each = ", ".join(
        f"{motion.joint_names[j]} {100 * shares[j]:.0f} %"
        for j in np.flatnonzero(loaded).tolist()
    )
    return [
        f"the efforts are small beside the model's torques, and not proportional to them: {each}. They are an external "
        "torque, from which the driver has subtracted a model, or torques before the gear or currents of a robot "
        "whose masses differ. Cure: record the measured joint torque"
    ]
