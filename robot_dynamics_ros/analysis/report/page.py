"""HTML page of a report: texts and tables.

page.css is its style sheet; page.js draws the figures and zooms them together.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from html import escape
from pathlib import Path
from types import MappingProxyType

import numpy as np

from robot_dynamics_ros import __version__
from robot_dynamics_ros.analysis.diagnosis.causes import interval
from robot_dynamics_ros.analysis.identification.friction_shapes import COEFFICIENTS
from robot_dynamics_ros.analysis.identification.identified_file import (
    IdentifiedParameter,
)
from robot_dynamics_ros.analysis.identification.torque_analysis import (
    LOADS,
    largest_bearing_loads,
)
from robot_dynamics_ros.analysis.report import figures
from robot_dynamics_ros.analysis.report.figures import Figure
from robot_dynamics_ros.analysis.report.recording import (
    CRITERION,
    Recording,
    TrackingErrors,
    answers,
    column,
    largest,
    rms,
    tracking,
)
from robot_dynamics_ros.analysis.report.verdict import (
    Statement,
    allowed_residuals,
    verdict,
)
from robot_dynamics_ros.base.errors import BagError, RobotDynamicsError
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.recordings.bags.joint_series import Answers
from robot_dynamics_ros.recordings.bags.storage import DIAGNOSTIC_ARRAY, Event

_MAX_EVENTS = 500
_NONE = "–"
_QUANTILES = (0.0, 0.5, 0.95, 0.99, 0.999, 1.0)
_STYLE, _SCRIPT = (
    Path(__file__).with_name(name).read_text(encoding="utf-8")
    for name in ("page.css", "page.js")
)


def write_report(
    recording: Recording,
    output: str | Path,
    *,
    identified: Mapping[str, Sequence[IdentifiedParameter]] = MappingProxyType({}),
    overwrite: bool = False,
) -> list[Statement]:
    """Write the report of a recording as one HTML page that needs no network. Return the statements of its verdict.

    ``identified`` has parameters for a table, by the name of their dynamics file. Raises BagError if the file cannot be
    written, or exists and ``overwrite`` is False, and RobotDynamicsError if plotly is not installed.
    """
    text, statements = _html(recording, identified)
    try:
        with Path(output).open("w" if overwrite else "x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise BagError(f"{output}: {error.strerror}. Cure: name another file") from None
    return statements


def _html(
    recording: Recording, identified: Mapping[str, Sequence[IdentifiedParameter]]
) -> tuple[str, list[Statement]]:
    try:
        from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]  # slow to load
    except ImportError:
        raise RobotDynamicsError(
            "plotly is not installed, which draws the report. Cure: pip install plotly"
        ) from None
    page = _Page()
    answered = answers(recording)
    errors = tracking(recording, answered)
    statements = verdict(recording, answered, errors)
    page.section("verdict", "Verdict")
    for statement in statements:
        page.statement(*statement)
    if errors is not None:
        page.figure(figures.error_figure(recording, errors), "timed")
    _add_recording(page, recording)
    _add_faults(page, recording)
    _add_tracking(page, recording, answered, errors)
    _add_torque(page, recording)
    _add_identified(page, identified)
    _add_timing(page, recording, answered)
    _add_joints(page, recording, errors)
    title = escape("/".join(recording.path.resolve().parts[-2:]))
    # "</script>" in a name must not end the script.
    data = json.dumps(page.figures, allow_nan=False).replace("<", "\\u003c")
    nav = "".join(
        f'<a href="#{name}">{escape(text)}</a>' for name, text in page.sections.items()
    )
    html = (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}: report</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<link rel="icon" href="data:,">\n'
        f"<style>\n{_STYLE}</style>\n<script>{get_plotlyjs()}</script>\n</head>\n<body>\n"
        f"<header><h1>{title}</h1><nav>{nav}</nav></header>\n<main>\n{''.join(page.html)}</section>\n</main>\n"
        f"<footer>robot_dynamics {__version__}</footer>\n"
        f'<script type="application/json" id="figures">{data}</script>\n'
        f"<script>\n{_SCRIPT}</script>\n</body>\n</html>\n"
    )
    return html, statements


class _Page:
    """HTML of the sections of a page, and its figures. All methods escape their texts."""

    def __init__(self) -> None:
        self.html: list[str] = []
        self.figures: dict[str, Figure] = {}
        self.sections: dict[str, str] = {}

    def section(self, name: str, title: str) -> None:
        """Begin a section."""
        end = "</section>\n" if self.sections else ""
        self.html.append(f'{end}<section id="{name}"><h2>{escape(title)}</h2>\n')
        self.sections[name] = title

    def text(self, text: str) -> None:
        """Add a paragraph."""
        self.html.append(f"<p>{escape(text)}</p>\n")

    def statement(
        self, kind: str, title: str, text: str, items: Sequence[str] = ()
    ) -> None:
        """Add a paragraph that begins with a bold title; ``kind`` is its CSS class, ``items`` a list after it."""
        points = (
            f"<ol>{''.join(f'<li>{escape(item)}</li>' for item in items)}</ol>"
            if items
            else ""
        )
        self.html.append(
            f'<div class="{kind}"><p><b>{escape(title)}</b> {escape(text)}</p>{points}</div>\n'
        )

    def figure(self, figure: Figure | None, kind: str = "") -> None:
        """Add a figure, unless it is None; ``kind`` is an additional CSS class."""
        if figure is None:
            return
        name = f"figure-{len(self.figures)}"
        self.figures[name] = figure
        height = figure["layout"]["height"]
        self.html.append(
            f'<div class="figure {kind}" id="{name}" style="height:{height}px"></div>\n'
        )

    def table(
        self, heads: Sequence[str], rows: Iterable[Sequence[str]], words: int
    ) -> None:
        """Add a table; the first ``words`` columns have text, the others numbers."""

        def row(cells: Sequence[str], tag: str) -> str:
            kinds = [' class="word"'] * words + [""] * (len(cells) - words)
            html = "".join(
                f"<{tag}{kind}>{escape(cell)}</{tag}>"
                for kind, cell in zip(kinds, cells, strict=True)
            )
            return f"<tr>{html}</tr>"

        head = row(heads, "th")
        body = "\n".join(row(cells, "td") for cells in rows)
        self.html.append(
            f'<div class="wide"><table><thead>{head}</thead>\n<tbody>{body}</tbody></table></div>\n'
        )


def _number(value: float, digits: int = 4) -> str:
    return f"{value:.{digits}g}" if math.isfinite(value) else _NONE


def _add_recording(page: _Page, recording: Recording) -> None:
    page.section("recording", "Recording")
    filled = [fact for fact in recording.topics if fact.count]
    first = min(fact.first for fact in filled) * 1e-9
    last = max(fact.last for fact in filled) * 1e-9
    if recording.counts_from_zero:
        began = f"{first:.3f} s on a clock that counts from zero"
    else:
        began = (
            f"{datetime.fromtimestamp(first, tz=timezone.utc):%Y-%m-%d %H:%M:%S} UTC"
        )
    page.text(
        f"{recording.path}: {last - first:.3f} s of arrivals from {began}, "
        f"{sum(fact.count for fact in filled)} messages, {len(recording.series.joint_names)} joints."
    )
    zero = (
        "message"
        if recording.state is None or recording.command is None
        else "message with a command"
    )
    page.text(
        f"Time is that of the stamps on {recording.series_topic}, and is 0 at the first {zero} there (stamp "
        f"{recording.start * 1e-9:.3f} s). Faults have the time of the last stamp before their arrival, plus the time "
        "since then. The log of robot_dynamics replay and simulate has the same times."
        if recording.stamped
        else f"Time is that of arrival, as {recording.series_topic} has no stamps, and is 0 at the first message."
    )
    if recording.model is None:
        page.text(
            "Without a robot model units are assumed to be rad and Nm, and limits are unknown."
        )
    rows = [
        (fact.topic, fact.kind, str(fact.count), _number(fact.rate))
        for fact in recording.topics
    ]
    page.table(("topic", "type", "messages", "rate, Hz"), rows, words=2)


def _add_faults(page: _Page, recording: Recording) -> None:
    diagnostics = recording.diagnostics
    events = recording.diagnostics.events
    if not diagnostics.topics:
        return
    page.section("faults", "Faults")
    if diagnostics.unreadable:
        page.statement(
            "unknown",
            f"{diagnostics.unreadable} of {diagnostics.count} messages of diagnostics are left out:",
            f"they are no {DIAGNOSTIC_ARRAY}. Cure: check the publishers of {', '.join(diagnostics.topics)}.",
        )
    readable = diagnostics.count - diagnostics.unreadable
    if not events and (readable or not diagnostics.count):
        page.text(
            f"No fault and no change of mode in {readable} messages on {', '.join(diagnostics.topics)}. "
            "(A simulation and a replay write only changes of mode there.)"
        )
    times = recording.at_arrival(
        np.array([event.received for event in events], dtype=np.int64)
    )
    page.figure(figures.fault_figure(recording, events, times), "timed")
    if events:
        heads = (
            "time,\u00a0s",
            "sender",
            "level",
            "mode",
            "cause",
            "joint",
            "value",
            "message",
        )
        page.table(
            heads, event_rows(events[:_MAX_EVENTS], times[:_MAX_EVENTS]), words=8
        )
    if len(events) > _MAX_EVENTS:
        page.text(f"{len(events) - _MAX_EVENTS} more events are not listed.")


def event_rows(events: Sequence[Event], times: Array) -> Iterator[Sequence[str]]:
    """Yield a row for each event: time, sender, level, mode, cause, joint, value and message, as texts.

    ``times`` (k,) are those of the k ``events``, in s. A change of mode is "before → mode".
    """
    for time, e in zip(times, events, strict=True):
        mode = f"{e.before} → {e.mode}" if e.before else e.mode
        seconds = f"{time:.3f}"
        yield seconds, e.sender, e.level, mode, e.cause, e.joint, e.value, e.message


def _add_tracking(
    page: _Page,
    recording: Recording,
    answered: Answers | None,
    errors: TrackingErrors | None,
) -> None:
    if answered is None or errors is None:
        return
    page.section("tracking", "Tracking error")
    page.text(
        f"Desired minus actual position in {len(answered.states)} cycles. Each message on {recording.command_topic} is "
        f"compared with the message on {recording.topic} with the same stamp. Criterion: {CRITERION}."
    )
    heads = ("joint", "unit", "RMS", "RMS allowed", "largest", "at, s")
    page.table(heads, tracking_rows(recording, errors), words=2)


def tracking_rows(
    recording: Recording, errors: TrackingErrors
) -> Iterator[Sequence[str]]:
    """Yield a row of texts for each joint: name, unit mrad or mm, RMS error, allowed RMS, largest, its time (s)."""
    for joint, error, allowed in zip(
        errors.joint_names, errors.error.T, errors.allowed_rms, strict=True
    ):
        worst = np.abs(np.where(np.isfinite(error), error, 0.0))
        at = f"{errors.time[int(np.argmax(worst))]:.3f}" if worst.any() else _NONE
        unit = "mm" if recording.sliding(joint) else "mrad"
        sizes = (rms(error), allowed, largest(error))
        yield joint, unit, *(_number(1e3 * value) for value in sizes), at


def _add_torque(page: _Page, recording: Recording) -> None:
    analysis = recording.analysis
    heads = [
        "joint",
        "unit",
        "commanded, RMS",
        "commanded, largest",
        "measured, RMS",
        "measured, largest",
        "limit",
        "largest / limit",
        "residual, RMS",
        "RMS allowed",
        "bias",
        "explained",
        "" if recording.other is None else f"residual, RMS, {recording.other[0]}",
    ]
    columns = zip(heads, *torque_rows(recording), strict=True)
    kept_heads, *rows = zip(
        *(column for column in columns if set(column[1:]) != {_NONE}), strict=True
    )
    if len(kept_heads) == 2:
        return
    page.section("torque", "Torque")
    if analysis is not None:
        page.text(
            f"Residual: measured minus model torque, from {len(analysis.motion.time)} samples. Explained: share of the "
            f"variance of the measured torque that the model explains. Processing: {analysis.motion.smoothing}. The "
            "measured RMS is filtered too; the largest torques and the plots of the measured torque are as recorded."
        )
    page.table(kept_heads, rows, words=2)
    if analysis is not None and recording.model is not None:
        page.text(
            "Largest loads on the joints' bearings along the motion, without the forces within their gears."
        )
        loads = largest_bearing_loads(recording.model, analysis.motion)
        page.table(
            ("joint", *LOADS.values()),
            [(row["joint"], *(_number(row[key]) for key in LOADS)) for row in loads],
            1,
        )


def _add_identified(
    page: _Page, identified: Mapping[str, Sequence[IdentifiedParameter]]
) -> None:
    if identified:
        page.section("identified", "Identified parameters")
    for file, parameters in identified.items():
        page.text(
            f"{file}: friction, then the other base parameters, in SI units. Estimates of unconstrained least squares "
            "with 95 % intervals; values in the file, whose inertias are physically consistent."
        )
        ordered = sorted(
            parameters, key=lambda one: one.name.rpartition(".")[2] not in COEFFICIENTS
        )
        rows = [
            (one.name, interval(one.estimate, one.deviation), _number(one.in_file))
            for one in ordered
        ]
        page.table(("parameter", "estimate", "in the file"), rows, words=1)


def torque_rows(recording: Recording) -> Iterator[Sequence[str]]:
    """Yield a row of 13 texts for each joint, with "–" for unknown values.

    They are name, unit, RMS and largest commanded effort, RMS and largest measured effort, effort limit, share of it
    that the largest reaches, RMS torque residual (measured minus model), allowed RMS residual, mean residual, share of
    the measured torque's variance that the model explains, and RMS residual of the other model.
    """
    analysis = recording.analysis
    for joint in recording.joint_names:
        cells = [joint, "N" if recording.sliding(joint) else "Nm"]
        efforts = [
            column(series, joint, "effort")
            for series in (recording.command, recording.state)
        ]
        for values in efforts:
            cells += [_number(rms(values)), _number(largest(values))]
        limit = recording.effort_limit(joint)
        share = recording.largest_effort(joint) / limit if limit > 0.0 else math.nan
        cells += [
            _number(limit),
            f"{_number(100 * share, 3)} %" if math.isfinite(limit) else _NONE,
        ]
        if analysis is not None and joint in analysis.motion.joint_names:
            j = analysis.motion.joint_names.index(joint)
            # filtered, and without rest, as the residual is
            cells[4] = _number(analysis.size(analysis.motion.tau)[j])
            allowed = allowed_residuals(recording, analysis)[j]
            explained = analysis.explained_in_words[j]
            cells += [
                _number(analysis.rms[j]),
                _number(allowed),
                _number(analysis.bias[j], 3),
                _NONE if explained == "-" else explained,
                _NONE
                if recording.other is None
                else _number(recording.other[1].rms[j]),
            ]
        else:
            cells += [_NONE] * 5
        yield cells


def _add_timing(page: _Page, recording: Recording, answered: Answers | None) -> None:
    page.section("timing", "Timing")
    page.text(
        f"Intervals between messages on {recording.series_topic}, by their stamps and by their arrival."
    )
    if answered is not None:
        page.text(
            f"Latency: arrival of a command minus arrival of the joint states with the same stamp. Of "
            f"{len(answered.states) + answered.lost} states {answered.lost} have no command; {answered.late} commands "
            "arrived after the next state."
        )
        if negative := int((answered.latency < 0.0).sum()):
            page.text(
                f"{negative} latencies are negative: the recorder received the command before the state. Arrivals are "
                "then no exact measure of the controller."
            )
    measured = durations(recording, answered)
    heads = ("ms", "count", "smallest", "median", "95 %", "99 %", "99.9 %", "largest")
    page.table(heads, timing_rows(measured), words=1)
    page.html.append('<div class="beside">')
    for name, values in measured.items():
        page.figure(figures.histogram_figure(name, values))
    page.html.append("</div>\n")


def durations(recording: Recording, answered: Answers | None) -> dict[str, Array]:
    """Return the intervals between messages, by stamp and by arrival, each (k,), s, by the name for the table.

    Without stamps there are only those by arrival. The latency of commands is included unless ``answered`` is None.
    """
    stamps: Array = np.diff(recording.series.stamps) * 1e-9
    arrivals = np.asarray(
        np.diff(np.sort(recording.series.received)) * 1e-9, dtype=np.float64
    )
    latency = {} if answered is None else {"latency of commands": answered.latency}
    if recording.stamped and np.array_equal(stamps, arrivals):
        return {"interval of stamps and of arrival": stamps, **latency}
    return {
        **({"interval of stamps": stamps} if recording.stamped else {}),
        "interval of arrival": arrivals,
        **latency,
    }


def timing_rows(measured: Mapping[str, Array]) -> Iterator[Sequence[str]]:
    """Yield a row of texts for each item of ``measured`` (s): name, count; 0, 50, 95, 99, 99.9, 100 % quantile, ms."""
    for name, values in measured.items():
        known = values if len(values) else [math.nan]
        quantiles = map(_number, 1e3 * np.quantile(known, _QUANTILES))
        yield name, str(len(values)), *quantiles


def _add_joints(
    page: _Page, recording: Recording, errors: TrackingErrors | None
) -> None:
    page.section("joints", "Joints")
    buttons = '<button data-open="1">open all</button> <button data-open="">close all</button>'
    page.html.append(f'<p class="choice">A joint opens by a click. {buttons}</p>\n')
    if recording.analysis is not None:
        page.text(
            "Shaded: rest (grey), where friction is unknown, and reversals (yellow), where it jumps. The plots over "
            "velocity and load are without rest. Load: torque that the gear transmits to the link, by the model."
        )
    known = () if errors is None else tracking_rows(recording, errors)
    rows = {row[0]: row for row in known}
    for j, name in enumerate(recording.joint_names):
        limit = recording.effort_limit(name)
        unit = "N" if recording.sliding(name) else "Nm"
        facts = [
            "effort limit unknown"
            if math.isinf(limit)
            else f"effort limit ±{limit:g} {unit}"
        ]
        if name in rows:
            _, unit, error, _, most, _ = rows[name]
            facts.insert(0, f"tracking error RMS {error} {unit}, largest {most} {unit}")
        head = f"<b>{escape(name)}</b> <span>{escape('; '.join(facts))}</span>"
        page.html.append(
            f'<details class="joint" id="joint-{j}"><summary>{head}</summary>\n'
        )
        figure = figures.joint_figure(recording, name, errors)
        if figure is None:
            page.text(
                f"No plot: {recording.series_topic} has neither position nor effort of this joint."
            )
        page.figure(figure, "timed")
        page.figure(figures.scatter_figure(recording, name))
        page.html.append("</details>\n")
