"""Figures of the report: dicts of "data" and "layout" for plotly.js. Times are in s after ``Recording.start``."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.analysis.identification.torque_analysis import TorqueAnalysis
from robot_dynamics_ros.analysis.report.recording import (
    Recording,
    TrackingErrors,
    column,
)
from robot_dynamics_ros.control.safety import Mode
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.recordings.bags.storage import Event

Figure = dict[str, Any]
_Row = tuple[str, list[Figure]]  # title, traces

DESIRED = "#1f2933"
ACTUAL = "#1b7f9c"
ERROR = "#c8553d"
RESIDUAL = "#6a5d9e"
LIMIT = "#9aa5b1"
_MOTION = ("actual", "desired")
_TORQUE = ("measured torque", "commanded torque")
_SHARE = "drive's own share"
_COLOURS = {"actual": ACTUAL, "desired": DESIRED, "model torque": "#d9822b"}
_COLOURS |= {"measured torque": "#3f9142", "commanded torque": "#8a5a2b"}
_COLOURS |= {_SHARE: "#2f6fde"}
_FAULT = "#d64545"
_GRID = "#e4e7eb"
_OTHER = "#b83280"
_REST = "#d9dee4"
_REVERSAL = "#f3efe2"
_LEVEL_COLOURS = {"OK": "#3f9142", "WARN": "#f0b429"}
_JOINT_COLOURS = (
    ACTUAL,
    ERROR,
    RESIDUAL,
    "#3f9142",
    "#d69e2e",
    "#b83280",
    "#1f2933",
    "#8ca0b3",
)
_DASHES = ("solid", "dash", "dot")
_SENDER_COLOURS = (ACTUAL, RESIDUAL, ERROR, DESIRED)
_POINTS = 2000  # per trace over time
_DOTS = 1000  # per scatter plot
_BINS = 80
_MAX_FAULT_LINES = 100
# effort limits above this multiple of the largest effort are not drawn
_MAX_LIMIT_RATIO = 2.5


def extremes(values: Array, points: int) -> NDArray[np.intp]:
    """Return increasing indices into ``values`` (m,), of those to draw: all if m <= ``points``, else about ``points``.

    The values are then divided into points / 2 intervals of equal length. Each keeps its smallest and its largest
    value, and one NaN if it has any, so that gaps remain visible. The first and the last value are kept.
    """
    m = len(values)
    if m <= points:
        return np.arange(m)
    length = -(-m // max(1, points // 2))
    # Repetitions of the last value complete the last interval.
    rows = np.minimum(np.arange(-(-m // length) * length), m - 1).reshape(-1, length)
    table = values[rows]
    missing = np.isnan(table)
    first = np.arange(len(rows)) * length
    lowest = np.argmin(np.where(missing, np.inf, table), axis=1) + first
    highest = np.argmax(np.where(missing, -np.inf, table), axis=1) + first
    gaps = (np.argmax(missing, axis=1) + first)[missing.any(axis=1)]
    kept = np.unique(np.concatenate([[0, m - 1], lowest, highest, gaps]))
    return kept[kept < m]


def _array(values: NDArray[Any], kind: str = "f4") -> dict[str, str]:
    """Return numbers as a typed array of plotly.js, little-endian; ``kind`` is f4 or f8."""
    data = np.ascontiguousarray(values, dtype=f"<{kind}").tobytes()
    return {"dtype": kind, "bdata": base64.b64encode(data).decode()}


def _line(
    name: str, time: Array, values: Array, color: str, dash: str = "solid"
) -> Figure:
    """Return the trace of a signal (m,) over time (m,), s."""
    kept = extremes(values, _POINTS)
    line = {"color": color, "width": 1.3, "dash": dash}
    y = _array(values[kept])
    return _trace("lines", name, _array(time[kept], "f8"), y, line=line)


def _trace(mode: str, name: str, x: Any, y: Any, **style: Any) -> Figure:
    return {"type": "scatter", "mode": mode, "name": name, "x": x, "y": y, **style}


def _measured_and_commanded(
    recording: Recording, joint: str, field: str, names: tuple[str, str]
) -> list[Figure]:
    """Return the traces of a field of joint states and commands, if they have it; ``names`` are the traces' names."""
    traces = []
    for name, series, dash in zip(
        names, (recording.state, recording.command), ("solid", "4px,3px"), strict=True
    ):
        values = column(series, joint, field)
        if series is not None and len(values):
            traces.append(
                _line(name, recording.seconds(series), values, _COLOURS[name], dash)
            )
    return traces


def joint_figure(
    recording: Recording, joint: str, tracking: TrackingErrors | None
) -> Figure | None:
    """Return the plots of the joint with this name over time; None if the recording has none of their values.

    They are torque, measured minus model torque, position, velocity, and tracking error (none if ``tracking`` is None).
    Rests and reversals are shaded: the friction is unknown there, or jumps.
    """
    unit = "m" if recording.sliding(joint) else "rad"
    rows = _torque_rows(recording, joint)
    for field, rate in (("position", ""), ("velocity", "/s")):
        if motion := _measured_and_commanded(recording, joint, field, _MOTION):
            rows.append((f"{field}, {unit}{rate}", motion))
    if tracking is not None and joint in tracking.joint_names:
        error = 1e3 * tracking.error[:, tracking.joint_names.index(joint)]
        if np.isfinite(error).any():
            rows.append(
                (
                    f"error, m{unit}",
                    [_line("tracking error", tracking.time, error, ERROR)],
                )
            )
    figure = _stacked(recording, rows)
    analysis = recording.analysis
    if (
        figure is not None
        and analysis is not None
        and joint in analysis.motion.joint_names
    ):
        j = analysis.motion.joint_names.index(joint)
        time = recording.analysis_seconds(analysis)
        for mask, color in (
            (analysis.reversing, _REVERSAL),
            (~analysis.determined, _REST),
        ):
            ends = np.flatnonzero(
                np.diff(mask[:, j], prepend=False, append=False)
            ).reshape(-1, 2)
            path = "".join(
                f"M{first:.4f},0V1H{last:.4f}V0Z"
                for first, last in time[ends - [0, 1]].tolist()
            )
            shape = {
                "type": "path",
                "yref": "paper",
                "path": path,
                "fillcolor": color,
                "line": {"width": 0},
            }
            figure["layout"]["shapes"] += [{**shape, "layer": "below"}] if path else []
    return figure


def scatter_figure(recording: Recording, joint: str) -> Figure | None:
    """Return the residual over velocity, friction over velocity, and the residual over the load of a joint, Nm or N.

    At most 1000 samples are drawn, those of the statistics: without those near rest, unless there are no others. None
    if the measured torque or the model torque of the joint is unknown.
    """
    model = recording.model
    analysis = recording.analysis
    if model is None or analysis is None or joint not in analysis.motion.joint_names:
        return None
    motion = analysis.motion
    j = analysis.motion.joint_names.index(joint)
    moving = np.flatnonzero(analysis.used[:, j])
    kept = moving[:: -(-len(moving) // _DOTS) or 1]
    length, unit = ("m", "N") if recording.sliding(joint) else ("rad", "Nm")
    speed = motion.qd[kept, j]
    load = model.gear_load(*motion.states)[kept, j]
    residuals = _residuals(recording, analysis)
    measured = analysis.residual + analysis.friction
    friction = [
        ("measured minus rigid-body torque", measured, _COLOURS["measured torque"]),
        ("friction of the model", analysis.friction, _COLOURS["model torque"]),
    ]
    layout = _layout(300) | {
        "hovermode": "closest",
        "grid": {"rows": 1, "columns": 3, "pattern": "independent"},
    }
    layout["margin"]["b"] = 56
    data: list[Figure] = []
    layout["legend"]["itemsizing"] = "constant"  # dots of 3 pixels are too small there
    plots = (
        (f"velocity, {length}/s", speed, "residual", residuals),
        (f"velocity, {length}/s", speed, "friction", friction),
        (f"load of the gear, {unit}", load, "residual", residuals),
    )
    for k, (title, x, name, traces) in enumerate(plots, 1):
        layout |= {f"xaxis{k}": _axis(title), f"yaxis{k}": _axis(f"{name}, {unit}")}
        for label, values, color in traces:
            trace = _trace(
                "markers",
                escape(label),
                _array(x),
                _array(values[kept, j]),
                marker={"color": color, "size": 3, "opacity": 0.6},
                showlegend=k < 3,
            )
            axes = {"xaxis": f"x{k}", "yaxis": f"y{k}", "legendgroup": label}
            data.append(trace | axes)
    return {"data": data, "layout": layout}


def error_figure(recording: Recording, tracking: TrackingErrors) -> Figure | None:
    """Return the tracking errors of all joints over time, mrad or mm; None if all are NaN."""
    units: dict[str, list[Figure]] = {}
    for k, (joint, error) in enumerate(
        zip(tracking.joint_names, 1e3 * tracking.error.T, strict=True)
    ):
        if np.isfinite(error).any():
            traces = units.setdefault("mm" if recording.sliding(joint) else "mrad", [])
            color = _JOINT_COLOURS[k % len(_JOINT_COLOURS)]
            dash = _DASHES[k // len(_JOINT_COLOURS) % len(_DASHES)]
            traces.append(_line(escape(joint), tracking.time, error, color, dash))
    rows = [(f"error, {unit}", traces) for unit, traces in units.items()]
    figure = _stacked(recording, rows, 220)
    # Each further row of the legend needs height; its columns are as wide as the longest name.
    columns = max(1, 1100 // (50 + 7 * max(map(len, tracking.joint_names))))
    if figure is not None:
        figure["layout"]["height"] += 19 * ((len(tracking.joint_names) - 1) // columns)
    return figure


def _torque_rows(recording: Recording, joint: str) -> list[_Row]:
    unit = "N" if recording.sliding(joint) else "Nm"
    torque = _measured_and_commanded(recording, joint, "effort", _TORQUE)
    share = column(recording.own_share, joint, "effort")
    if recording.own_share is not None and len(share):
        time = recording.seconds(recording.own_share)
        torque.append(_line(_SHARE, time, share, _COLOURS[_SHARE]))
    peak = recording.largest_effort(joint)
    limit = recording.effort_limit(joint)
    # A limit far above the signal would compress it to a line.
    if torque and limit < _MAX_LIMIT_RATIO * peak:
        span = np.array(recording.time_span())
        torque += [
            _line("effort limit", span, np.full(2, level), LIMIT, "dot")
            for level in (limit, -limit)
        ]
    rows = [(f"torque, {unit}", torque)] if torque else []
    analysis = recording.analysis
    if (
        recording.state is not None
        and analysis is not None
        and joint in analysis.motion.joint_names
    ):
        time = recording.analysis_seconds(analysis)
        j = analysis.motion.joint_names.index(joint)
        torque.append(
            _line("model torque", time, analysis.model[:, j], _COLOURS["model torque"])
        )
        residuals = [
            _line(name, time, values[:, j], color)
            for name, values, color in _residuals(recording, analysis)
        ]
        rows.append((f"residual, {unit}", residuals))
    return rows


def _residuals(
    recording: Recording, analysis: TorqueAnalysis
) -> list[tuple[str, Array, str]]:
    """Return name, residual and colour of the model and, if there is one, of the other model."""
    found = [("torque residual", analysis.residual, RESIDUAL)]
    if recording.other is not None:
        name, other = recording.other
        found.append((f"torque residual, {name}", other.residual, _OTHER))
    return found


def _stacked(
    recording: Recording, rows: Sequence[_Row], height: int = 130
) -> Figure | None:
    """Return plots of ``height`` pixels one below the other, with faults as vertical lines; None for no rows.

    The time axis is common. The legend has one entry for each name.
    """
    if not rows:
        return None
    style = {"color": _FAULT, "width": 1, "dash": "dot"}
    line = {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "line": style}
    layout = _layout(98 + height * len(rows))
    layout["xaxis"] = _time_axis(recording)
    layout["grid"] = {"rows": len(rows), "columns": 1, "ygap": 0.2}
    layout["shapes"] = [
        {**line, "x0": time, "x1": time}
        for time in recording.fault_times[:_MAX_FAULT_LINES].tolist()
    ]
    data: list[Figure] = []
    for k, (title, traces) in enumerate(rows, 1):
        layout[f"yaxis{k}"] = _axis(title)
        for trace in traces:
            name = trace["name"]
            new = name not in (other["name"] for other in data)
            legend = {"legendgroup": name, "showlegend": new, "yaxis": f"y{k}"}
            data.append(trace | legend)
    return {"data": data, "layout": layout}


def histogram_figure(name: str, values: Array) -> Figure | None:
    """Return the histogram in ms of durations ``values`` (m,), s, titled ``name``; None if none of them is finite."""
    values = 1e3 * values[np.isfinite(values)]
    if not len(values):
        return None
    low = float(values.min())
    high = float(values.max())
    # A few outliers would compress all other bars to one.
    reach = max(float(np.quantile(values, 0.999)), 3.0 * float(np.median(values)))
    low = max(low, -reach)
    high = min(high, 1.2 * reach)
    margin = 0.1 * abs(high + low) / 2.0 + 1e-3
    if high - low < margin:
        low = low - margin
        high = high + margin
    counts, edges = np.histogram(
        np.clip(values, low, high), bins=_BINS, range=(low, high)
    )
    beyond = int((values > high).sum())
    title = f"{name}, ms" + (
        f"<br>(last bar includes larger durations: {beyond})" if beyond else ""
    )
    layout = _layout(280)
    layout["margin"]["b"] = 62
    layout |= {"showlegend": False, "bargap": 0.05, "xaxis": _axis(title)}
    layout["yaxis"] = _axis(
        "count", type="log", dtick=1, range=[-0.3, float(np.log10(counts.max())) + 0.3]
    )
    bars = {
        "type": "bar",
        "marker": {"color": ACTUAL},
        "hovertemplate": "%{x:.4g} ms: %{y}<extra></extra>",
        "name": name,
        "x": _array((edges[1:] + edges[:-1]) / 2.0, "f8"),
        "y": _array(counts),
        "width": float(edges[1] - edges[0]),
    }
    return {"data": [bars], "layout": layout}


def fault_figure(
    recording: Recording, events: Sequence[Event], times: Array
) -> Figure | None:
    """Return the mode of each sender over the whole recording, and a marker for each event.

    ``times`` (k,), s, belong to the k ``events``. None if there are neither modes nor events.
    """
    senders = recording.diagnostics.modes
    histories = [*map(recording.mode_history, senders)]
    marks = [event.mode or event.level for event in events]
    if not histories and not events:
        return None
    data: list[Figure] = []
    for k, (sender, (since, modes)) in enumerate(zip(senders, histories, strict=True)):
        color = _SENDER_COLOURS[k % len(_SENDER_COLOURS)]
        line = {"shape": "hv", "width": 2, "color": color}
        x = _array(since, "f8")
        y = [*map(escape, modes)]
        data.append(_trace("lines", escape(sender), x, y, line=line))
    if events:
        colors = [_LEVEL_COLOURS.get(event.level, _FAULT) for event in events]
        trace = _trace(
            "markers",
            "event",
            _array(times, "f8"),
            [*map(escape, marks)],
            marker={"color": colors, "size": 9, "symbol": "diamond"},
            text=[escape(event.message) for event in events],
            hovertemplate="%{x:.3f} s<br>%{text}<extra></extra>",
        )
        data.append(trace)
    known = [mode.value for mode in reversed(Mode)]
    levels = dict.fromkeys(
        [*marks, *(mode for _, modes in histories for mode in modes)]
    )
    order = sorted(
        levels, key=lambda level: known.index(level) if level in known else -1
    )
    layout = _layout(120 + 30 * len(order))
    layout["xaxis"] = _time_axis(recording)
    layout["yaxis"] = _axis(
        "",
        type="category",
        automargin=True,
        range=[-0.5, len(order) - 0.5],
        categoryorder="array",
        categoryarray=[*map(escape, order)],
    )
    return {"data": data, "layout": layout}


def _time_axis(recording: Recording) -> Figure:
    first, last = recording.time_span()
    margin = 0.01 * (last - first) or 1.0
    return _axis("time, s", range=[first - margin, last + margin])


def _axis(title: str, **more: Any) -> Figure:
    return {"title": {"text": title}, "gridcolor": _GRID, "zeroline": False, **more}


def _layout(height: float) -> Figure:
    return {
        "height": round(height),
        "margin": {"l": 78, "r": 12, "t": 52, "b": 46},
        "font": {
            "family": "system-ui, -apple-system, 'Segoe UI', sans-serif",
            "size": 12,
            "color": "#323f4b",
        },
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "hovermode": "x unified",
        "legend": {
            "orientation": "h",
            "x": 0,
            "y": 1.0,
            "yanchor": "bottom",
            "maxheight": 0.9,
        },
    }
