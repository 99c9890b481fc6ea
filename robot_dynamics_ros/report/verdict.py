"""Verdict of a report: tracking, faults, timing and torque of a recording, in plain words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics_ros.bags.storage import DIAGNOSTIC_ARRAY
from robot_dynamics_ros.identification.hints import hints
from robot_dynamics_ros.report import recording as data
from robot_dynamics_ros.report.recording import Answers, Recording, TrackingErrors

_ALLOWED_RESIDUAL = 0.1  # of the RMS of the measured torque


class Statement(NamedTuple):
    """Statement of the verdict; ``kind`` is good, bad or unknown, ``items`` is a numbered list after the text."""

    kind: str
    title: str
    text: str
    items: tuple[str, ...] = ()


def verdict(recording: Recording, answered: Answers | None, errors: TrackingErrors | None) -> list[Statement]:
    """Return the statements on tracking, faults, timing and torque.

    A statement that the recording does not allow is replaced by the reason, with a cure.
    """
    return [_tracking(recording, errors), _faults(recording), _timing(recording, answered), _torque(recording)]


def _unknown(part: str, why: str) -> Statement:
    return Statement("unknown", f"No statement on {part} is possible:", f"{why.rstrip('.')}.")


def _tracking(recording: Recording, errors: TrackingErrors | None) -> Statement:
    if errors is None:
        return _unknown("tracking", data.why_unpaired(recording))
    sizes, peaks = (np.array([kind(error) for error in errors.error.T]) for kind in (data.rms, data.largest))
    if np.isnan(sizes).all():
        return _unknown("tracking", "no positions were recorded. Cure: record a topic whose driver fills position")
    units = ["mm" if recording.sliding(name) else "mrad" for name in errors.joint_names]
    met, count = int((sizes <= errors.allowed_rms).sum()), int(np.isfinite(sizes).sum())
    j, k = int(np.nanargmax(sizes / errors.allowed_rms)), int(np.nanargmax(peaks))
    text = (
        f"{met} of {count} joints meet the criterion. Worst is {errors.joint_names[j]}: RMS error {1e3 * sizes[j]:.4g} "
        f"{units[j]}, {1e3 * errors.allowed_rms[j]:.4g} {units[j]} allowed. Largest error: {1e3 * peaks[k]:.4g} "
        f"{units[k]}, in {errors.joint_names[k]}. Criterion: {data.CRITERION}."
    )
    text += " The time after the fault is included." if len(recording.fault_times) else ""
    return Statement("good", "Tracks well.", text) if met == count else Statement("bad", "Does not track well.", text)


def _faults(recording: Recording) -> Statement:
    diagnostics = recording.diagnostics
    readable = diagnostics.count - diagnostics.unreadable
    if not diagnostics.topics or (diagnostics.count and not readable):
        return _unknown("faults", f"the bag has no messages of type {DIAGNOSTIC_ARRAY}. Cure: record /diagnostics")
    faults = [event for event in diagnostics.events if event.fault]
    if not faults:
        warnings = sum(event.level == "WARN" for event in diagnostics.events)
        return Statement("good", "No fault.", f"Warnings: {warnings or 'none'}.")
    first = faults[0]
    named = [f"{key} {value}" for key, value in (("joint", first.joint), ("value", first.value)) if value]
    cause = ", ".join([first.cause or first.sender, *named])
    text = f"First at {recording.fault_times[0]:.3f} s: {cause}. {first.message.rstrip('.')}."
    if first.sender in diagnostics.modes:
        text += f" Mode at the end: {diagnostics.modes[first.sender][-1].mode}."
    return Statement("bad", f"Faults: {len(faults)}.", text)


def _timing(recording: Recording, answered: Answers | None) -> Statement:
    if answered is None:
        return _unknown("lost and late cycles", data.why_unpaired(recording))
    text = "A cycle is lost if its state has no command, and late if its command arrives after the next state."
    if recording.simulated_time:
        text += " Arrivals are in simulated time: they do not show delays of a computer."
    if answered.lost or answered.late:
        count = len(answered.states) + answered.lost
        return Statement("bad", f"Of {count} cycles {answered.lost} are lost and {answered.late} late.", text)
    return Statement("good", f"None of {len(answered.states)} cycles is lost or late.", text)


def _torque(recording: Recording) -> Statement:
    """Return the statement on the torque residual, with the causes that ``robot_dynamics torque`` reports."""
    model, analysis, state = recording.model, recording.analysis, recording.state
    if state is None:
        return _unknown("the torque residual", data.NO_STATES)
    if model is None or analysis is None:
        reasons = {recording.why[part].rstrip("."): None for part in ("model", "analysis") if part in recording.why}
        if model is None and not np.isfinite(state.effort).any():
            reasons["The joint states have no effort. Cure: record a topic whose driver fills effort"] = None
        return _unknown("the torque residual", ". ".join(reasons))
    names = analysis.motion.joint_names
    measured = np.array([data.rms(data.column(state, name, "effort")) for name in names])
    shares = np.divide(analysis.rms, measured, out=np.zeros_like(measured), where=measured > 0.0)
    j, causes = int(np.argmax(shares)), tuple(hints(model, analysis))
    text = (
        f"Worst is {names[j]}: its RMS residual (measured minus model torque) is {100 * shares[j]:.2g} % of its RMS "
        f"measured torque, {100 * _ALLOWED_RESIDUAL:g} % allowed. "
        + (
            "Likely causes of the residual, the likeliest first:"
            if causes
            else "No likely cause of a residual was found."
        )
    )
    if shares[j] <= _ALLOWED_RESIDUAL:
        return Statement("good", "The model explains the measured torque.", text, causes)
    return Statement("bad", "The model does not explain the measured torque.", text, causes)
