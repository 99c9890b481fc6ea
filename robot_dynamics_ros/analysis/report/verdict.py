"""Verdict of a report: tracking, faults, timing and torque of a recording, in plain words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics_ros.analysis.diagnosis.hints import hints
from robot_dynamics_ros.analysis.identification.torque_analysis import TorqueAnalysis
from robot_dynamics_ros.analysis.report.recording import (
    CRITERION,
    Recording,
    TrackingErrors,
    column,
    largest,
    rms,
    why_unpaired,
)
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.recordings.bags.joint_series import Answers
from robot_dynamics_ros.recordings.bags.storage import DIAGNOSTIC_ARRAY

_TORQUE_CRITERION = (
    "RMS residual at most 1 % of the joint's effort limit, but not less than 10 % and not more than 50 % of its RMS "
    "measured torque (10 % without a limit)"
)


class Statement(NamedTuple):
    """Titled statement of the verdict; ``kind`` is good, bad or unknown, ``items`` a numbered list after the text."""

    kind: str
    title: str
    text: str
    items: tuple[str, ...] = ()


def verdict(
    recording: Recording, answered: Answers | None, errors: TrackingErrors | None
) -> list[Statement]:
    """Return the statements on tracking, faults, timing and torque.

    ``answered`` and ``errors`` are the results of ``answers`` and ``tracking`` of ``report.recording`` for it. Parts
    without a statement come last, as kind unknown with the reason and a cure, one statement for each reason.
    """
    found = [
        _tracking(recording, errors),
        _faults(recording),
        _timing(recording, answered),
        _torque(recording),
    ]
    unknown = [statement for statement in found if statement.kind == "unknown"]
    parts = {
        why: ", ".join(one.title for one in unknown if one.text == why)
        for _, _, why, _ in unknown
    }
    return [
        *(statement for statement in found if statement.kind != "unknown"),
        *(
            Statement("unknown", f"No statement on {part} is possible:", why)
            for why, part in parts.items()
        ),
    ]


def _unknown(part: str, why: str) -> Statement:
    return Statement("unknown", part, f"{why.rstrip('.')}.")


def _tracking(recording: Recording, errors: TrackingErrors | None) -> Statement:
    if errors is None:
        return _unknown("tracking", why_unpaired(recording))
    sizes, peaks = (
        np.array([kind(error) for error in errors.error.T]) for kind in (rms, largest)
    )
    if np.isnan(sizes).all():
        return _unknown(
            "tracking",
            "no positions were recorded. Cure: record a topic whose driver fills position",
        )
    units = ["mm" if recording.sliding(name) else "mrad" for name in errors.joint_names]
    allowed = errors.allowed_rms
    count = int(np.isfinite(sizes).sum())
    j = int(np.nanargmax(sizes / allowed))
    of_unit = [
        np.where([unit == one for one in units], peaks, np.nan)
        for unit in dict.fromkeys(units)
    ]
    peak = [
        int(np.nanargmax(values)) for values in of_unit if np.isfinite(values).any()
    ]
    met = earlier = int((sizes <= allowed).sum())
    until = ""
    if len(
        before := errors.error[
            errors.time < min(recording.fault_times, default=-np.inf)
        ]
    ):
        earlier = int((np.array([rms(error) for error in before.T]) <= allowed).sum())
        until = f", {earlier} until the first fault"
    text = (
        f"{met} of {count} joints meet the criterion{until}. Worst is {errors.joint_names[j]}: RMS error "
        f"{1e3 * sizes[j]:.4g} {units[j]}, {1e3 * allowed[j]:.4g} {units[j]} allowed. Largest error: "
        f"{', '.join(f'{1e3 * peaks[k]:.4g} {units[k]} in {errors.joint_names[k]}' for k in peak)}. "
        f"Criterion: {CRITERION}."
    )
    limits = {name: 0.999 * recording.effort_limit(name) for name in errors.joint_names}
    efforts = {
        name: largest(column(recording.command, name, "effort")) for name in limits
    }
    if clamped := [
        name for name, limit in limits.items() if 0.0 < limit <= efforts[name]
    ]:
        text += f" At the effort limit: {', '.join(clamped)}."
    if earlier < count:
        return Statement("bad", "Does not track well.", text)
    return Statement(
        "good",
        "Tracks well." if met == count else "Tracks well until the first fault.",
        text,
    )


def _faults(recording: Recording) -> Statement:
    diagnostics = recording.diagnostics
    readable = diagnostics.count - diagnostics.unreadable
    if not diagnostics.topics or (diagnostics.count and not readable):
        return _unknown(
            "faults",
            f"the bag has no messages of type {DIAGNOSTIC_ARRAY}. Cure: record /diagnostics",
        )
    faults = [event for event in diagnostics.events if event.fault]
    if not faults:
        warnings = sum(event.level == "WARN" for event in diagnostics.events)
        return Statement("good", "No fault.", f"Warnings: {warnings or 'none'}.")
    first = faults[0]
    named = [
        f"{key} {value}"
        for key, value in (("joint", first.joint), ("value", first.value))
        if value
    ]
    cause = ", ".join([first.cause or first.sender, *named])
    text = f"First at {recording.fault_times[0]:.3f} s: {cause}. {first.message.rstrip('.')}."
    if first.sender in diagnostics.modes:
        text += f" Mode at the end: {diagnostics.modes[first.sender][-1].mode}."
    return Statement(
        "bad", f"{len(faults)} fault{'s' if len(faults) > 1 else ''}.", text
    )


def _timing(recording: Recording, answered: Answers | None) -> Statement:
    if answered is None:
        return _unknown("lost and late cycles", why_unpaired(recording))
    text = "A cycle is lost if its state has no command, and late if its command arrives after the next state."
    if recording.counts_from_zero:
        text += " Arrivals are on a clock that counts from zero: if simulated, they do not show delays of a computer."
    if answered.lost or answered.late:
        count = len(answered.states) + answered.lost
        return Statement(
            "bad",
            f"Of {count} cycles {answered.lost} are lost and {answered.late} late.",
            text,
        )
    return Statement(
        "good", f"None of {len(answered.states)} cycles is lost or late.", text
    )


def allowed_residuals(recording: Recording, analysis: TorqueAnalysis) -> Array:
    """Return the largest RMS torque residual (n,), Nm or N, allowed for the n joints of ``analysis``.

    It is 1 % of the joint's effort limit, but within 10 to 50 % of its RMS measured torque; 10 % without a limit.
    """
    limits = np.array(
        [recording.effort_limit(name) for name in analysis.motion.joint_names]
    )
    measured = analysis.size(analysis.motion.tau)
    return np.clip(
        np.where(np.isfinite(limits), 0.01 * limits, 0.0),
        0.1 * measured,
        0.5 * measured,
    )


def _torque(recording: Recording) -> Statement:
    """Return the statement on the torque residual, with the causes that ``robot_dynamics torque`` reports."""
    model = recording.model
    analysis = recording.analysis
    state = recording.state
    if model is None or analysis is None:
        why = recording.why["state" if state is None else "analysis"].rstrip(".")
        if state is not None and model is None and not np.isfinite(state.effort).any():
            why += ". The joint states have no effort. Cure: record a topic whose driver fills effort"
        return _unknown("the torque residual", why)
    names = analysis.motion.joint_names
    allowed = allowed_residuals(recording, analysis)
    shares = np.divide(
        analysis.rms, allowed, out=np.zeros_like(allowed), where=allowed > 0.0
    )
    j = int(np.argmax(shares))
    causes = tuple(hints(model, analysis))
    met = int((shares <= 1.0).sum())
    measured = analysis.size(analysis.motion.tau)[j]
    unit = "N" if recording.sliding(names[j]) else "Nm"
    left = int((~analysis.used[:, j]).sum())
    text = (
        f"Worst is {names[j]}: RMS residual (measured minus model torque) {analysis.rms[j]:.3g} {unit}, "
        f"{allowed[j]:.3g} {unit} allowed; RMS measured torque {measured:.3g} {unit}, {left} of {len(analysis.used)} "
        f"samples left out at rest, where friction is undetermined. Criterion: {_TORQUE_CRITERION}."
    )
    if causes:
        text += " Hint:" if len(causes) == 1 else " Hints, the likeliest first:"
    elif met < len(names):
        text += " There is no hint at a cause."
    title = f"The model torque meets the criterion in {met} of {len(names)} joints."
    return Statement("good" if met == len(names) else "bad", title, text, causes)
