"""Texts of the panel as HTML: table of joints, legend and notes.

n is the number of joints of the model. The share of a joint is its torque divided by its effort limit, or, if it has no
limit, by its largest torque; ``limited`` (n,) is True for the joints with a limit.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape

import numpy as np

from robot_dynamics_ros.analysis.view import scene
from robot_dynamics_ros.analysis.view.camera import GRID_CELL
from robot_dynamics_ros.analysis.view.geometry import (
    BOX_COLOUR,
    GREY,
    Colour,
    colour_of_share,
)
from robot_dynamics_ros.analysis.view.scene_state import SceneState
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel

WIDTH = 420
"""Width (px) of the panel, in which the table fits with joint names of any length."""

_BAR = 40  # px
_MUTED = "#6b7280"
_CELL = "padding:1px 0 1px 8px;text-align:right;white-space:nowrap"
_NAME = "padding:1px 0;text-align:left;overflow-wrap:anywhere;width:99%"


def table(
    model: RobotModel, state: SceneState, shares: Array, limited: Sequence[bool]
) -> str:
    """Return an HTML table with a row for each joint: position, error, torque, and a bar for its share.

    The error is desired minus displayed position; its column is left out if ``state`` has no desired position.
    ``shares`` (n,) are the shares and ``limited`` (n,) their kind.
    """
    error = None if state.desired is None else 1e3 * (state.desired - state.q)
    texts = scene.torque_texts(model, state.torque)
    rows = []
    for j, name in enumerate(scene.short_names(model.joint_names)):
        metres = model.joint_names[j] in model.prismatic_joints
        cells = [f"{scene.fixed(state.q[j], 3)} {'m' if metres else 'rad'}"]
        if error is not None:
            cells.append(f"{scene.fixed(error[j], 2)} {'mm' if metres else 'mrad'}")
        cells += [texts[j], _bar(float(shares[j]), limited[j])]
        columns = "".join(f"<td style='{_CELL}'>{cell}</td>" for cell in cells)
        rows.append(f"<tr><td style='{_NAME}'>{_breakable(name)}</td>{columns}</tr>")
    heads = [
        "position",
        *(["error"] if error is not None else []),
        "torque",
        "of limit" + "*" * (not all(limited)),
    ]
    head = "".join(f"<th style='{_CELL};font-weight:600'>{text}</th>" for text in heads)
    foot = (
        ""
        if all(limited)
        else f"<div style='color:{_MUTED}'>* no effort limit: percentage of the largest torque</div>"
    )
    return (
        "<div style='padding:0 0.9em 0.4em;font-size:11.5px;line-height:1.4;font-variant-numeric:tabular-nums'>"
        f"<table style='border-collapse:collapse;width:100%'><tr style='color:{_MUTED}'>"
        f"<th style='{_NAME};font-weight:600'>joint</th>{head}</tr>{''.join(rows)}</table>{foot}</div>"
    )


def _breakable(name: str) -> str:
    """Return a name as HTML that may be broken after its underscores."""
    return escape(name).replace("_", "_<wbr>")


def _bar(share: float, limited: bool) -> str:
    width = round(_BAR * min(abs(share), 1.0))
    text = f"{100 * abs(share):.0f} %" + ("" if limited else "*")
    return (
        "<div style='display:flex;align-items:center;justify-content:flex-end;gap:5px'>"
        f"<div style='width:{_BAR}px;height:8px;border-radius:4px;background:#8883'>"
        f"<div style='width:{width}px;height:8px;border-radius:4px;background:{_css(colour_of_share(share))}'></div>"
        f"</div><span style='min-width:3.2em'>{text}</span></div>"
    )


def legend(
    model: RobotModel,
    reach: float,
    shown: Collection[str],
    position: str,
    torque: str,
    limited: Sequence[bool],
) -> str:
    """Return an HTML list with symbol and meaning of everything in the scene that is visible.

    ``shown`` contains the visible layers: "arm", "ghost" (desired position), "torques", "reactions" (joint forces),
    "centre" (of mass), "inertias" and "ground"; others are ignored. ``position`` and ``torque`` are texts for the
    displayed ones, such as "measured position". ``reach`` (m) is the length that scales the arrows, ``limited`` (n,)
    the kind of each joint's share.
    """
    prismatic = [name in model.prismatic_joints for name in model.joint_names]
    whole = (
        "effort limit"
        if all(limited)
        else "largest torque"
        if not any(limited)
        else "effort limit (*: largest torque)"
    )
    sizes = (
        [f"{scene.STROKE * reach:.2g} m of a straight arrow"] if any(prismatic) else []
    )
    sizes += [] if all(prismatic) else ["300° of the ring"]
    scale = scene.force_scale(model, reach)
    force = (
        f"; a length of {GRID_CELL:g} m is {GRID_CELL / scale:.2g} N" if scale else ""
    )
    entries = {
        "arm": (_box(GREY), f"<b>robot</b>, at the {escape(position)}"),
        "ghost": (
            _box(scene.GHOST, 0.35),
            "<b>desired position</b>; inside the robot where the error is small",
        ),
        "torques": (
            _TORQUE,
            f"<b>joint torque</b> ({escape(torque)}): {' or '.join(sizes)} for the {whole}. {_ramp()}",
        ),
        "reactions": (
            _ARROW,
            f"<b>joint force</b> on the next link, from the model{force}",
        ),
        "centre": (_BALL, "<b>centre of mass</b> of all moving links"),
        "inertias": (
            _box(BOX_COLOUR, 0.6),
            "<b>inertia</b> of a link, as a box of uniform density with its mass",
        ),
        "ground": (
            _GRID,
            f"<b>grid</b> of {GRID_CELL:g} m, with bold lines every {5 * GRID_CELL:g} m",
        ),
    }
    left = "padding:3px 8px 0 0;vertical-align:top"
    rows = "".join(
        f"<tr><td style='{left}'>{symbol}</td><td style='padding:1px 0'>{text}</td></tr>"
        for name, (symbol, text) in entries.items()
        if name in shown
    )
    return f"<div style='padding:0 0.9em 0.4em;font-size:12px;line-height:1.35'><table>{rows}</table></div>"


def lines(texts: Sequence[str]) -> str:
    """Return HTML with a paragraph of small text for each of ``texts``, which are escaped."""
    style = (
        f"padding:0 0.9em 0.5em;font-size:12px;color:{_MUTED};overflow-wrap:anywhere"
    )
    return "".join(f"<div style='{style}'>{escape(text)}</div>" for text in texts)


def _css(colour: Colour) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)


def _ramp() -> str:
    """Return the colours of shares from 0 to 100 %."""
    stops = ",".join(
        _css(colour_of_share(share)) for share in np.linspace(0.0, 1.0, 11)
    )
    return (
        "<span style='white-space:nowrap'>0 <span style='display:inline-block;width:64px;height:8px;border-radius:4px;"
        f"background:linear-gradient(90deg,{stops})'></span> 100 %</span>"
    )


def _symbol(drawing: str) -> str:
    return f"<svg width='20' height='14' viewBox='0 0 20 14' style='display:block'>{drawing}</svg>"


def _box(colour: Colour, opacity: float = 1.0) -> str:
    return _symbol(
        f"<rect x='1' y='1' width='18' height='12' rx='3' fill='{_css(colour)}' fill-opacity='{opacity}'/>"
    )


_TORQUE = _symbol(
    f"<path d='M3 12 A8 8 0 0 1 14 4' fill='none' stroke='{_css(colour_of_share(0.5))}' stroke-width='3'/>"
    f"<path d='M12 0 L20 5 L12 9 Z' fill='{_css(colour_of_share(0.5))}'/>"
)
_ARROW = _symbol(
    f"<path d='M1 7 H12' stroke='{_css(scene.FORCE)}' stroke-width='3'/>"
    f"<path d='M11 2 L20 7 L11 12 Z' fill='{_css(scene.FORCE)}'/>"
)
_BALL = _symbol(f"<circle cx='10' cy='7' r='5' fill='{_css(scene.CENTRE)}'/>")
_GRID = _symbol("<path d='M1 4 H19 M1 10 H19 M6 1 V13 M14 1 V13' stroke='#9aa0a8'/>")
