"""Fewer points that look like all of them."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.report.recording import Event, Recording
from robot_dynamics_ros.report.tables import TrackingErrors, column


def extremes(values: Array, points: int) -> NDArray[np.intp]:
    """Return which of m values to draw, increasing: not many more than ``points``, and none of the peaks is lost.

    Each of points / 2 equally long stretches keeps its smallest and its largest value, and one NaN where it has any,
    so that gaps stay gaps; the first and the last value stay.
    """
    m = len(values)
    if m <= points:
        return np.arange(m)
    length = -(-m // max(1, points // 2))
    # The last stretch is filled up with repetitions of the last value.
    rows = np.minimum(np.arange(-(-m // length) * length), m - 1).reshape(-1, length)
    table = values[rows]
    missing = np.isnan(table)
    first = np.arange(len(rows)) * length
    lowest = np.argmin(np.where(missing, np.inf, table), axis=1) + first
    highest = np.argmax(np.where(missing, -np.inf, table), axis=1) + first
    gaps = (np.argmax(missing, axis=1) + first)[missing.any(axis=1)]
    kept = np.unique(np.concatenate([[0, m - 1], lowest, highest, gaps]))
    return kept[kept < m]


Figure = dict[str, Any]

DESIRED, ACTUAL, ERROR, RESIDUAL, LIMIT = "#1f2933", "#1b7f9c", "#c8553d", "#6a5d9e", "#9aa5b1"
_FAULT, _GRID = "#d64545", "#e4e7eb"
_COLOURS = {"OK": "#3f9142", "WARN": "#f0b429"}
_POINTS = 2000
_ALL_POINTS = 200_000
_BINS = 80
_LINES = 100
_FAR = 4.0  # largest torques


def array(values: NDArray[Any], kind: str = "f4") -> dict[str, str]:
    """Return numbers as plotly.js reads them fastest, little-endian; ``kind`` is f4 or f8."""
    data = np.ascontiguousarray(values, dtype=f"<{kind}").tobytes()
    return {"dtype": kind, "bdata": base64.b64encode(data).decode()}


def line(name: str, time: Array, values: Array, points: int, **style: Any) -> Figure:
    """Return a trace of a signal (m,) over seconds (m,), at most about ``points`` of its points."""
    kept = extremes(values, points)
    look = {"color": style.pop("color"), "width": style.pop("width", 1.3), "dash": style.pop("dash", "solid")}
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": array(time[kept], "f8"),
        "y": array(values[kept]),
        "line": look,
        **style,
    }


class _FigureRows:
    """A figure of plots under each other that share the axis of time."""

    def __init__(self) -> None:
        self.traces: list[Figure] = []
        self.rows: list[tuple[str, float, list[float] | None]] = []

    def add(self, title: str, height: float, traces: list[Figure], limits: list[float] | None = None) -> None:
        """Add a plot where there is something to plot; ``limits`` are those of its axis, else what fits."""
        if not traces:
            return
        self.rows.append((title, height, limits))
        number = "" if len(self.rows) == 1 else str(len(self.rows))
        self.traces += [{**trace, "xaxis": "x", "yaxis": f"y{number}"} for trace in traces]

    def figure(self, time_axis: Figure, shapes: list[Figure], pixels: float = 150.0) -> Figure:
        """Return all plots, the first above."""
        total = sum(height for _, height, _ in self.rows)
        gap = 0.045
        layout: Figure = _layout(70 + pixels * total)
        top = 1.0
        for k, (title, height, limits) in enumerate(self.rows):
            bottom = max(0.0, top - (1.0 - gap * (len(self.rows) - 1)) * height / total)
            axis: Figure = {"domain": [bottom, top], "title": {"text": title}, "gridcolor": _GRID, "zeroline": False}
            if limits is not None:
                axis["range"] = limits
            layout["yaxis" if k == 0 else f"yaxis{k + 1}"] = axis
            top = bottom - gap
        last = "y" if len(self.rows) == 1 else f"y{len(self.rows)}"
        layout["xaxis"] = {**time_axis, "anchor": last}
        layout["shapes"] = shapes
        return {"data": self.traces, "layout": layout}


def joint_figure(recording: Recording, joint: str, found: TrackingErrors | None, fault_times: Array) -> Figure | None:
    """Return position, tracking error, torque and residual of a joint over time; None where there is nothing."""
    points = min(_POINTS, max(200, _ALL_POINTS // (6 * len(recording.state.joint_names))))
    sliding = recording.sliding(joint)
    state, command = recording.state, recording.command
    rows = _FigureRows()
    time = recording.seconds(state)
    commanded_at = None if command is None else recording.seconds(command)
    motion = []
    if (values := column(state, joint, "position")) is not None:
        motion.append(line("actual", time, values, points, color=ACTUAL, width=1.8))
    desired = column(command, joint, "position")
    if desired is not None and commanded_at is not None:
        motion.append(line("desired", commanded_at, desired, points, color=DESIRED, width=1.2, dash="4px,3px"))
    rows.add(f"position, {'m' if sliding else 'rad'}", 1.2, motion)
    if found is not None and joint in found.joint_names:
        error = 1e3 * found.error[:, found.joint_names.index(joint)]
        if np.isfinite(error).any():
            trace = line("tracking error", found.time, error, points, color=ERROR)
            rows.add(f"error, {'mm' if sliding else 'mrad'}", 0.9, [trace])
    _add_torque(rows, recording, joint, points)
    if not rows.rows:
        return None
    return rows.figure(_time_axis(recording), _fault_lines(fault_times))


def _add_torque(rows: _FigureRows, recording: Recording, joint: str, points: int) -> None:
    state, command = recording.state, recording.command
    unit = "N" if recording.sliding(joint) else "Nm"
    torque, peaks = [], [0.0]
    for name, series, style in (
        ("measured", state, {"color": ACTUAL, "width": 1.5}),
        ("commanded", command, {"color": DESIRED, "width": 1.0, "dash": "4px,3px"}),
    ):
        values = column(series, joint, "effort")
        if values is not None and series is not None:
            torque.append(line(f"{name} torque", recording.seconds(series), values, points, **style))
            peaks.append(float(np.abs(values[np.isfinite(values)]).max()))
    limit = recording.effort_limit(joint)
    limits = None
    # A limit far away would leave nothing of the signal to see; it is in the table.
    if torque and limit < _FAR * max(peaks):
        reach = 1.08 * max(limit, *peaks)
        limits = [-reach, reach]
        span = np.array(time_span(recording))
        for k, value in enumerate((limit, -limit)):
            torque.append(line("effort limit", span, np.full(2, value), 2, color=LIMIT, dash="dot", showlegend=k == 0))
    rows.add(f"torque, {unit}", 1.2, torque, limits)
    analysis = recording.analysis
    if analysis is not None and joint in analysis.motion.joint_names:
        time = _analysed_time(recording)
        residual = analysis.residual[:, analysis.motion.joint_names.index(joint)]
        trace = line("measured less model torque", time, residual, points, color=RESIDUAL)
        rows.add(f"residual, {unit}", 0.9, [trace])


def _analysed_time(recording: Recording) -> Array:
    """Seconds of the analysed samples, from the start of the report: those of a motion begin with its first."""
    assert recording.analysis is not None
    motion, state = recording.analysis.motion, recording.state.in_order(recording.analysis.motion.joint_names)
    seconds = recording.seconds(state)
    usable = np.isfinite(np.column_stack([seconds, state.position, state.effort])).all(axis=1)
    return motion.time + float(seconds[int(np.argmax(usable))])


def _fault_lines(times: Array) -> list[Figure]:
    return [
        {
            "type": "line",
            "xref": "x",
            "yref": "paper",
            "x0": float(time),
            "x1": float(time),
            "y0": 0,
            "y1": 1,
            "line": {"color": _FAULT, "width": 1, "dash": "dot"},
        }
        for time in times[:_LINES]
    ]


def histogram_figure(name: str, values: Array, colour: str) -> Figure | None:
    """Return how often each duration (s) occurs, in ms on a logarithmic count; None where there are none."""
    values = 1e3 * values[np.isfinite(values)]
    if not len(values):
        return None
    low, high = float(values.min()), float(values.max())
    # A few outliers would leave one bar of all the rest.
    reach = max(float(np.quantile(values, 0.999)), 3.0 * float(np.median(values)))
    low = max(low, -reach)
    high = min(high, 1.2 * reach)
    margin = 0.1 * abs(high + low) / 2.0 + 1e-3
    if high - low < margin:
        low, high = low - margin, high + margin
    counts, edges = np.histogram(np.clip(values, low, high), bins=_BINS, range=(low, high))
    beyond = int((values > high).sum())
    title = f"{name}, ms" + (f"<br>({beyond} beyond, in the last bar)" if beyond else "")
    layout = _layout(270)
    layout["margin"]["b"] = 62
    layout["showlegend"] = False
    layout["bargap"] = 0.05
    layout["xaxis"] = {"title": {"text": title}, "gridcolor": _GRID, "zeroline": False}
    layout["yaxis"] = {"title": {"text": "count"}, "type": "log", "gridcolor": _GRID, "dtick": 1}
    layout["yaxis"]["range"] = [-0.3, float(np.log10(counts.max())) + 0.3]
    trace = {
        "type": "bar",
        "name": name,
        "x": array((edges[1:] + edges[:-1]) / 2.0, "f8"),
        "y": array(counts.astype(float)),
        "width": float(edges[1] - edges[0]),
        "marker": {"color": colour},
        "hovertemplate": "%{x:.4g} ms: %{y}<extra></extra>",
    }
    return {"data": [trace], "layout": layout}


def fault_figure(recording: Recording, events: Sequence[Event], times: Array) -> Figure | None:
    """Return the mode of each sender over time, with a mark at each event; None where there is nothing to see."""
    modes = recording.diagnostics.modes
    if not modes and not events:
        return None
    traces: list[Figure] = []
    for sender, said in modes.items():
        when = recording.at_arrival(np.array([received for received, _ in said], dtype=np.int64))
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": escape(sender),
                "x": array(when, "f8"),
                "y": [escape(mode) for _, mode in said],
                "line": {"shape": "hv", "width": 2, "color": ACTUAL},
                "hoverinfo": "x+y+name",
            }
        )
    if events:
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": "event",
                "x": array(times, "f8"),
                "y": [escape(event.mode or event.level) for event in events],
                "text": [_hover(event) for event in events],
                "hovertemplate": "%{x:.3f} s<br>%{text}<extra></extra>",
                "marker": {
                    "color": [_COLOURS.get(event.level, _FAULT) for event in events],
                    "size": 9,
                    "symbol": "diamond",
                },
            }
        )
    layout = _layout(250)
    layout["xaxis"] = _time_axis(recording)
    layout["yaxis"] = {"type": "category", "gridcolor": _GRID}
    return {"data": traces, "layout": layout}


def _hover(event: Event) -> str:
    parts = [
        event.message,
        *(f"{name} {text}" for name, text in (("joint", event.joint), ("value", event.value)) if text),
    ]
    return "<br>".join(escape(part) for part in parts)


def time_span(recording: Recording) -> tuple[float, float]:
    """Return the seconds between which joint states and commands lie."""
    series = [recording.state] if recording.command is None else [recording.state, recording.command]
    times = np.concatenate([recording.seconds(one) for one in series])
    return float(np.nanmin(times)), float(np.nanmax(times))


def _time_axis(recording: Recording) -> Figure:
    first, last = time_span(recording)
    margin = 0.01 * (last - first)
    return {
        "title": {"text": "time, s"},
        "gridcolor": _GRID,
        "zeroline": False,
        "range": [first - margin, last + margin],
    }


def _layout(height: float) -> Figure:
    return {
        "height": round(height),
        "margin": {"l": 78, "r": 12, "t": 34, "b": 46},
        "font": {"family": "system-ui, -apple-system, 'Segoe UI', sans-serif", "size": 12, "color": "#323f4b"},
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "hovermode": "x unified",
        "legend": {"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom", "xanchor": "left"},
    }
