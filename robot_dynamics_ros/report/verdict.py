"""Verdict of a report: tracking, faults, timing and torque of a recording, in plain words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics_ros.bags.storage import DIAGNOSTIC_ARRAY
from robot_dynamics_ros.identification.hints import hints
from robot_dynamics_ros.report.recording import (
    CRITERION,
    Answers,
    Recording,
    TrackingErrors,
    column,
    largest,
    rms,
    why_unpaired,
)

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
        return _unknown("tracking", why_unpaired(recording))
    sizes, peaks = (np.array([kind(error) for error in errors.error.T]) for kind in (rms, largest))
    if np.isnan(sizes).all():
        return _unknown("tracking", "no positions were recorded. Cure: record a topic whose driver fills position")
    units = ["mm" if recording.sliding(name) else "mrad" for name in errors.joint_names]
    allowed, count = errors.allowed_rms, int(np.isfinite(sizes).sum())
    j, k = int(np.nanargmax(sizes / allowed)), int(np.nanargmax(peaks))
    met = earlier = int((sizes <= allowed).sum())
    until = ""
    if len(before := errors.error[errors.time < min(recording.fault_times, default=-np.inf)]):
        earlier = int((np.array([rms(error) for error in before.T]) <= allowed).sum())
        until = f", {earlier} until the first fault"
    text = (
        f"{met} of {count} joints meet the criterion{until}. Worst is {errors.joint_names[j]}: RMS error "
        f"{1e3 * sizes[j]:.4g} {units[j]}, {1e3 * allowed[j]:.4g} {units[j]} allowed. Largest error: "
        f"{1e3 * peaks[k]:.4g} {units[k]}, in {errors.joint_names[k]}. Criterion: {CRITERION}."
    )
    limits = {name: 0.999 * recording.effort_limit(name) for name in errors.joint_names}
    efforts = {name: largest(column(recording.command, name, "effort")) for name in limits}
    if clamped := [name for name, limit in limits.items() if 0.0 < limit <= efforts[name]]:
        text += f" At the effort limit: {', '.join(clamped)}."
    if earlier < count:
        return Statement("bad", "Does not track well.", text)
    return Statement("good", "Tracks well." if met == count else "Tracks well until the first fault.", text)


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
    return Statement("bad", f"{len(faults)} fault{'s' if len(faults) > 1 else ''}.", text)


def _timing(recording: Recording, answered: Answers | None) -> Statement:
    if answered is None:
        return _unknown("lost and late cycles", why_unpaired(recording))
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
    if model is None or analysis is None:
        missing = [recording.why[part] for part in ("state", "model", "analysis") if part in recording.why]
        reasons = dict.fromkeys(reason.rstrip(".") for reason in missing)
        if state is not None and model is None and not np.isfinite(state.effort).any():
            reasons["The joint states have no effort. Cure: record a topic whose driver fills effort"] = None
        return _unknown("the torque residual", ". ".join(reasons))
    names = analysis.motion.joint_names
    measured = np.array([rms(column(state, name, "effort")) for name in names])
    shares = np.divide(analysis.rms, measured, out=np.zeros_like(measured), where=measured > 0.0)
    j, causes = int(np.argmax(shares)), tuple(hints(model, analysis))
    found = "No likely cause was found."
    if causes:
        found = "Likely cause:" if len(causes) == 1 else "Likely causes, the likeliest first:"
    text = (
        f"Worst is {names[j]}: its RMS residual (measured minus model torque) is {100 * shares[j]:.1f} % of its RMS "
        f"measured torque, {100 * _ALLOWED_RESIDUAL:g} % allowed. {found}"
    )
    if shares[j] <= _ALLOWED_RESIDUAL:
        return Statement("good", "The model explains the measured torque.", text, causes)
    return Statement("bad", "The model leaves a part of the measured torque unexplained.", text, causes)
