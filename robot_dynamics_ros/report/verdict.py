"""Verdict of a report: tracking, faults, timing and torque of a recording, in plain words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics_ros.bags.storage import DIAGNOSTIC_ARRAY
from robot_dynamics_ros.identification.hints import hints
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.report.recording import (
    CRITERION,
    NO_STATES,
    Answers,
    Recording,
    TrackingErrors,
    column,
    rms,
    why_unpaired,
)

_SMALL_RESIDUAL = 0.1  # of the RMS of the measured torque


class Statement(NamedTuple):
    """Statement of the verdict; ``kind`` is good, bad or unknown, ``items`` is a numbered list after the text."""

    kind: str
    title: str
    text: str
    items: tuple[str, ...] = ()


def verdict(
    recording: Recording, answered: Answers | None, errors: TrackingErrors | None, fault_times: Array
) -> list[Statement]:
    """Return the statements on tracking, faults, timing and torque; ``fault_times`` (k,), s, are those of the faults.

    A statement that the recording does not allow is replaced by the reason, with a cure.
    """
    return [
        _tracking(recording, errors, len(fault_times)),
        _faults(recording, fault_times),
        _timing(recording, answered),
        _torque(recording),
    ]


def _unknown(part: str, why: str) -> Statement:
    return Statement("unknown", f"No statement on {part} is possible:", f"{why.rstrip('.')}.")


def _tracking(recording: Recording, errors: TrackingErrors | None, faults: int) -> Statement:
    if errors is None:
        return _unknown("tracking", why_unpaired(recording))
    ratios = np.array([rms(error) for error in errors.error.T]) / errors.criterion
    if np.isnan(ratios).all():
        return _unknown("tracking", "no positions were recorded. Cure: record a topic whose driver fills position")
    names, units = errors.joint_names, ["mm" if recording.sliding(name) else "mrad" for name in errors.joint_names]
    j, count, above = int(np.nanargmax(ratios)), np.isfinite(ratios).sum(), (ratios > 1.0).sum()
    criterion = 1e3 * errors.criterion[j]
    size = f"{names[j]}: {ratios[j] * criterion:.4g} {units[j]}, criterion {criterion:.4g} {units[j]}"
    peaks = []
    for unit in dict.fromkeys(units):
        error = np.abs(errors.error[:, [unit == other for other in units]])
        row, k = np.unravel_index(int(np.argmax(np.where(np.isfinite(error), error, -1.0))), error.shape)
        name = [name for name, other in zip(names, units, strict=True) if other == unit][k]
        peaks.append(f"{1e3 * error[row, k]:.4g} {unit} in {name} at {errors.time[row]:.3f} s")
    text = (
        f"RMS error above the criterion in {above} of {count} joints, relative to it largest in {size}. Largest error: "
        f"{' and '.join(peaks)}. Criterion of RMS: {CRITERION}."
    )
    text += " Time after the fault is included." if faults else ""
    return Statement("bad", "Does not track well.", text) if above else Statement("good", "Tracks well.", text)


def _faults(recording: Recording, times: Array) -> Statement:
    diagnostics = recording.diagnostics
    readable = diagnostics.count - diagnostics.unreadable
    if not diagnostics.topics or (diagnostics.count and not readable):
        return _unknown("faults", f"the bag has no messages of type {DIAGNOSTIC_ARRAY}. Cure: record /diagnostics")
    faults = [event for event in diagnostics.events if event.fault]
    if not faults:
        warnings = sum(event.level == "WARN" for event in diagnostics.events)
        more = f"Warnings: {warnings}, see Faults." if warnings else "There is no warning either."
        return Statement("good", "No fault.", more)
    first, time = faults[0], times[0]
    named = [f"{key} {value}" for key, value in (("joint", first.joint), ("value", first.value)) if value]
    text = f"First at {time:.3f} s: {', '.join([first.cause or first.sender, *named])}. {first.message.rstrip('.')}."
    if first.sender in diagnostics.modes:
        text += f" Mode at the end: {diagnostics.modes[first.sender][-1].mode}."
    return Statement("bad", f"Faults: {len(faults)}.", text)


def _timing(recording: Recording, answered: Answers | None) -> Statement:
    if answered is None:
        return _unknown("lost and late cycles", why_unpaired(recording))
    count = len(answered.states) + answered.lost
    text = f"Of {count} states {answered.lost} have no command (lost), {answered.late} one after the next state (late)."
    if recording.simulated_time:
        text += " Arrivals are in simulated time, which does not measure the computer."
    if answered.lost or answered.late:
        return Statement("bad", f"Cycles lost: {answered.lost}, late: {answered.late}.", text)
    return Statement("good", "No lost or late cycles.", text)


def _torque(recording: Recording) -> Statement:
    """Return the statement on the torque residual, with the causes that ``robot_dynamics torque`` finds."""
    model, analysis, state = recording.model, recording.analysis, recording.state
    if state is None:
        return _unknown("the torque residual", NO_STATES)
    if model is None or analysis is None:
        reasons = [recording.why[part].rstrip(".") for part in ("model", "analysis") if part in recording.why]
        if model is None and not np.isfinite(state.effort).any():
            reasons[-1] = "the joint states have no effort. Cure: record a topic whose driver fills effort"
        return _unknown("the torque residual", ". ".join(dict.fromkeys(reasons)))
    names = analysis.motion.joint_names
    measured = np.array([rms(column(state, name, "effort")) for name in names])
    shares = np.divide(analysis.rms, measured, out=np.zeros_like(measured), where=measured > 0.0)
    j = int(np.argmax(shares))
    unit = "N" if recording.sliding(names[j]) else "Nm"
    small = shares[j] <= _SMALL_RESIDUAL
    causes = tuple(hints(model, analysis))
    text = (
        f"RMS residual (measured minus model torque) relative to RMS measured torque largest in {names[j]}: "
        f"{100 * shares[j]:.2g} %, {analysis.rms[j]:.4g} of {measured[j]:.4g} {unit} (criterion {_SMALL_RESIDUAL:.0%}). "
        + ("Likely causes, the likeliest first:" if causes else "No likely cause of the residual was found.")
    )
    title = f"The model {'explains' if small else 'does not explain'} the measured torque."
    return Statement("good" if small else "bad", title, text, causes)
