"""One HTML page, for which nothing else has to be there: no network, no other file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timezone
from html import escape

import numpy as np

from robot_dynamics_ros import __version__
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.report import figures, tables
from robot_dynamics_ros.report.figures import Figure
from robot_dynamics_ros.report.measures import Answers, Tracking, answers, intervals, tracking
from robot_dynamics_ros.report.page_style import SCRIPT, STYLE
from robot_dynamics_ros.report.recording import Recording

_MOST_EVENTS = 500


def page(recording: Recording) -> str:
    """Return the report of a recording as HTML, with plotly.js inside; RobotDynamicsError where that is missing."""
    try:
        from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]  # takes a moment to load
    except ImportError:
        raise RobotDynamicsError("a report needs plotly. Cure: pip install plotly") from None
    body = _Body()
    found = answers(recording)
    motion = tracking(recording, found)
    events = recording.diagnostics.events
    times = recording.at_arrival(np.array([event.received for event in events], dtype=np.int64))
    left = np.array([e.before == "active" or (not e.before and e.level == "ERROR") for e in events], dtype=bool)
    _summary(body, recording)
    _faults(body, recording, times)
    _tracking(body, recording, found, motion)
    _torque(body, recording)
    _timing(body, recording, found)
    _joints(body, recording, motion, times[left])
    title = escape("/".join(recording.path.resolve().parts[-2:]))
    # "</script>" in a name must not end the script.
    data = json.dumps(body.figures, allow_nan=False).replace("<", "\\u003c")
    nav = "".join(f'<a href="#{name}">{escape(text)}</a>' for name, text in body.sections)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}: report</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<link rel="icon" href="data:,">\n'
        f"<style>{STYLE}</style>\n<script>{get_plotlyjs()}</script>\n</head>\n<body>\n"
        f"<header><h1>{title}</h1><nav>{nav}</nav></header>\n<main>\n{body.html()}</main>\n"
        f"<footer>robot_dynamics {__version__}</footer>\n"
        f'<script type="application/json" id="figures">{data}</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n'
    )


class _Body:
    """What stands in the page so far; all texts are escaped here."""

    def __init__(self) -> None:
        self.figures: dict[str, Figure] = {}
        self.sections: list[tuple[str, str]] = []
        self._parts: list[str] = []

    def section(self, name: str, title: str) -> None:
        """Begin a section."""
        self._parts.append(
            ("</section>\n" if self.sections else "") + f'<section id="{name}"><h2>{escape(title)}</h2>\n'
        )
        self.sections.append((name, title))

    def text(self, text: str) -> None:
        """Say something."""
        self._parts.append(f"<p>{escape(text)}</p>\n")

    def missing(self, what: str, why: str) -> None:
        """Say what is not there, and why."""
        self._parts.append(f'<p class="missing"><b>{escape(what)}</b> {escape(why)}</p>\n')

    def figure(self, figure: Figure, kind: str = "") -> None:
        """Put a figure."""
        name = f"figure-{len(self.figures)}"
        self.figures[name] = figure
        height = figure["layout"]["height"]
        self._parts.append(f'<div class="figure {kind}" id="{name}" style="height:{height}px"></div>\n')

    def table(self, table: tables.Table) -> None:
        """Put a table."""

        def row(cells: Sequence[str], tag: str) -> str:
            parts = []
            for k, cell in enumerate(cells):
                kind = ' class="word"' if k < table.words else ""
                parts.append(f"<{tag}{kind}>{escape(cell)}</{tag}>")
            return f"<tr>{''.join(parts)}</tr>"

        rows = "\n".join(row(cells, "td") for cells in table.rows)
        head = row(table.heads, "th")
        self._parts.append(f'<div class="wide"><table><thead>{head}</thead>\n<tbody>{rows}</tbody></table></div>\n')

    def raw(self, html: str) -> None:
        """Put HTML that is escaped already."""
        self._parts.append(html)

    def html(self) -> str:
        """All of it."""
        return "".join(self._parts) + "</section>\n"


def _summary(body: _Body, recording: Recording) -> None:
    body.section("recording", "Recording")
    filled = [fact for fact in recording.topics if fact.count]
    first, last = min(fact.first for fact in filled), max(fact.last for fact in filled)
    began = datetime.fromtimestamp(first * 1e-9, tz=timezone.utc)
    joints = len(recording.state.joint_names)
    clock = "their stamps" if recording.stamped else "their arrival, as they have no stamps"
    body.text(
        f"{recording.path}: {(last - first) * 1e-9:.3f} s from {began:%Y-%m-%d %H:%M:%S} UTC, "
        f"{sum(fact.count for fact in filled)} messages. Time counts from the first joint states on {recording.topic} "
        f"({joints} joints), by {clock}."
    )
    if "model" in recording.why:
        body.missing("No robot model:", f"{recording.why['model']}. Units are taken as rad and Nm, limits as unknown.")
    body.table(tables.topics_table(recording))


def _faults(body: _Body, recording: Recording, times: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
    body.section("faults", "Faults")
    said, events = recording.diagnostics, recording.diagnostics.events
    if not said.count:
        body.missing("No diagnostics:", "the bag has no diagnostic_msgs/DiagnosticArray; record /diagnostics.")
        return
    figure = figures.fault_figure(recording, events, times)
    if not events:
        body.text(f"{said.count} messages of diagnostics tell of no fault.")
    if figure is not None:
        body.figure(figure, "timed")
    if events:
        body.table(tables.events_table(events[:_MOST_EVENTS], times[:_MOST_EVENTS]))
    if len(events) > _MOST_EVENTS:
        body.text(f"and {len(events) - _MOST_EVENTS} more.")


def _tracking(body: _Body, recording: Recording, found: Answers | None, motion: Tracking | None) -> None:
    body.section("tracking", "Tracking error")
    if found is None or motion is None:
        body.missing("No desired positions:", _no_commands(recording))
        return
    body.text(
        f"Desired less actual position in {len(found.states)} cycles: each message on {recording.command_topic} beside "
        "the joint states whose stamp it bears."
    )
    body.table(tables.tracking_table(recording, motion))


def _no_commands(recording: Recording) -> str:
    if "command" in recording.why:
        return f"{recording.why['command']}."
    if not recording.stamped:
        return "the joint states have no stamps of their own by which commands could be told apart."
    return f"{recording.command_topic} and {recording.topic} have no stamp, or no joint, in common."


def _torque(body: _Body, recording: Recording) -> None:
    body.section("torque", "Torque")
    analysis = recording.analysis
    if recording.command is None:
        body.missing("No commanded torque:", f"{recording.why['command']}.")
    if not np.isfinite(recording.state.effort).any():
        body.missing("No measured torque:", f"the messages on {recording.topic} leave effort empty.")
    if analysis is None:
        body.missing("No model torque:", f"{recording.why['analysis'].rstrip('.')}.")
    else:
        body.text(
            f"Residual: measured less model torque, from {len(analysis.motion.time)} samples; explained: share of the "
            f"measured variance that the model explains. Done to the recording: {recording.smoothing}."
        )
    body.table(tables.torque_table(recording))


def _timing(body: _Body, recording: Recording, found: Answers | None) -> None:
    body.section("timing", "Timing")
    if found is None:
        body.missing("No latency of commands:", _no_commands(recording))
    else:
        body.text(
            f"Latency: arrival of a command less arrival of the joint states that it answers. Of "
            f"{len(found.states) + found.lost} states {found.lost} have no answer; {found.late} answers came after the "
            "next state."
        )
    body.table(tables.timing_table(recording, found))
    shown = [
        ("interval of stamps", intervals(recording.state, True) if recording.stamped else np.empty(0), figures.ACTUAL),
        ("interval of arrival", intervals(recording.state, False), figures.ACTUAL),
        ("latency of commands", np.empty(0) if found is None else found.latency, figures.RESIDUAL),
    ]
    body.raw('<div class="beside">')
    for name, values, colour in shown:
        figure = figures.histogram_figure(name, values, colour)
        if figure is not None:
            body.figure(figure)
    body.raw("</div>\n")


def _joints(
    body: _Body,
    recording: Recording,
    motion: Tracking | None,
    fault_times: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> None:
    body.section("joints", "Joints")
    names = recording.state.joint_names
    boxes = "".join(
        f'<label><input type="checkbox" data-joint="joint-{j}" checked> {escape(name)}</label>'
        for j, name in enumerate(names)
    )
    body.raw(f'<div class="choice"><button data-all="1">all</button><button data-all="">none</button>{boxes}</div>\n')
    for j, name in enumerate(names):
        body.raw(f'<div class="joint" id="joint-{j}"><h3>{escape(name)}</h3>\n')
        body.raw(f'<p class="small">{_limits(recording, name)}</p>\n')
        figure = figures.joint_figure(recording, name, motion, fault_times)
        if figure is None:
            body.missing("Nothing to plot:", "its position and effort are empty.")
        else:
            body.figure(figure, "timed")
        body.raw("</div>\n")


def _limits(recording: Recording, joint: str) -> str:
    """Say what the model allows the joint."""
    limit, unit = recording.effort_limit(joint), "N" if recording.sliding(joint) else "Nm"
    return "no effort limit is known" if np.isinf(limit) else f"effort limit ±{limit:g} {unit}"
