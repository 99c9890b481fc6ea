"""How the report looks, and what it does: choose joints, zoom all plots of time together."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timezone
from html import escape
from pathlib import Path

import numpy as np

from robot_dynamics_ros import __version__
from robot_dynamics_ros.errors import BagError, RobotDynamicsError
from robot_dynamics_ros.report import figures, tables
from robot_dynamics_ros.report.figures import Figure
from robot_dynamics_ros.report.recording import Recording
from robot_dynamics_ros.report.tables import Answers, TrackingErrors, answers, intervals, tracking

STYLE = """
:root { --ink: #1f2933; --soft: #616e7c; --line: #e4e7eb; --accent: #1b7f9c; }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: white;
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
header { position: sticky; top: 0; z-index: 5; background: white; border-bottom: 1px solid var(--line);
  padding: 10px 28px; display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 28px; }
h1 { font-size: 20px; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 18px; margin: 34px 0 8px; }
h3 { font-size: 15px; margin: 22px 0 0; overflow-wrap: anywhere; }
nav a { color: var(--accent); text-decoration: none; margin-right: 18px; }
nav a:hover { text-decoration: underline; }
main { max-width: 1240px; margin: 0 auto; padding: 0 28px 28px; }
section { scroll-margin-top: 54px; }
p { margin: 6px 0 10px; max-width: 80em; overflow-wrap: anywhere; }
.missing { border-left: 3px solid #f0b429; background: #fffbea; padding: 6px 12px; }
.small { color: var(--soft); font-size: 13px; margin: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 8px 0 14px; font-size: 14px; }
th, td { padding: 3px 14px 3px 0; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; color: var(--soft); white-space: normal; vertical-align: bottom; }
th.word, td.word { text-align: left; }
td:last-child.word { white-space: normal; min-width: 16em; }
.beside { display: grid; grid-template-columns: repeat(auto-fit, minmax(330px, 1fr)); gap: 8px; }
.choice { display: flex; flex-wrap: wrap; gap: 4px 16px; align-items: center; }
.choice button { font: inherit; border: 1px solid var(--line); background: white; border-radius: 4px;
  padding: 1px 10px; cursor: pointer; }
.hidden { display: none; }
footer { color: var(--soft); font-size: 13px; padding: 12px 28px; border-top: 1px solid var(--line); }
@page { margin: 12mm; }
@media print {
  header { position: static; padding: 0; } nav, .choice { display: none; }
  .wide { overflow: visible; } table { font-size: 11px; } th, td { white-space: normal; padding-right: 8px; }
  .joint, .figure, tr { break-inside: avoid; } h2, h3 { break-after: avoid; } main { max-width: none; padding: 0; }
}
"""

SCRIPT = """
"use strict";
const figures = JSON.parse(document.getElementById("figures").textContent);
const drawn = [];
for (const [name, figure] of Object.entries(figures)) {
  const place = document.getElementById(name);
  drawn.push(Plotly.newPlot(place, figure.data, figure.layout, {responsive: true, displaylogo: false}));
}
const timed = [...document.querySelectorAll(".timed")];
let follows = false;
async function follow(source, change) {
  if (follows) return;
  const range = change["xaxis.range"] || [change["xaxis.range[0]"], change["xaxis.range[1]"]];
  let update = null;
  if (change["xaxis.autorange"]) update = {"xaxis.autorange": true};
  else if (range[0] !== undefined) update = {"xaxis.range": range};
  if (!update) return;
  follows = true;
  await Promise.all(timed.filter(other => other !== source).map(other => Plotly.relayout(other, {...update})));
  follows = false;
}
Promise.all(drawn).then(() => {
  for (const place of timed) place.on("plotly_relayout", change => follow(place, change));
  document.body.dataset.drawn = drawn.length;
});
function show(box) {
  const joint = document.getElementById(box.dataset.joint);
  joint.classList.toggle("hidden", !box.checked);
  if (box.checked) for (const place of joint.querySelectorAll(".figure")) Plotly.Plots.resize(place);
}
const boxes = [...document.querySelectorAll("input[data-joint]")];
for (const box of boxes) { box.checked = true; box.addEventListener("change", () => show(box)); }
for (const button of document.querySelectorAll("button[data-all]")) {
  button.addEventListener("click", () => {
    for (const box of boxes) { box.checked = button.dataset.all !== ""; show(box); }
  });
}
// Paper is narrower than the screen, and tells nobody.
addEventListener("beforeprint", () => {
  for (const place of document.querySelectorAll(".figure"))
    Plotly.relayout(place, {width: place.closest(".beside") ? 330 : 690});
});
addEventListener("afterprint", () => {
  for (const place of document.querySelectorAll(".figure")) Plotly.relayout(place, {width: null, autosize: true});
});
"""


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


def _tracking(body: _Body, recording: Recording, found: Answers | None, motion: TrackingErrors | None) -> None:
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
    motion: TrackingErrors | None,
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


def write_report(recording: Recording, output: str | Path, *, overwrite: bool = False) -> None:
    """Write a recording's report as one HTML page, which opens without network.

    Raises BagError where the file cannot be written, or exists and ``overwrite`` is False.
    """
    text = page(recording)
    try:
        with Path(output).open("w" if overwrite else "x", encoding="utf-8") as file:
            file.write(text)
    except OSError as problem:
        raise BagError(f"{output}: {problem.strerror}. Cure: name another file") from None
