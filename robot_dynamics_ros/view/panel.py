"""The numbers beside the picture: each joint's position, error and torque, with a bar for its share of the limit."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape

import numpy as np

from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.view.moment import Colour, Drawing, Moment, colour_of_share

_CELL = "padding:2px 6px 2px 0;text-align:right;white-space:nowrap"
_BAR = 56  # px


def short_names(names: Sequence[str]) -> list[str]:
    """Return the names without what all of them begin with, up to an underscore: panda_joint1 is joint1."""
    common = os.path.commonprefix(list(names)) if len(names) > 1 else ""
    begin = common.rfind("_") + 1
    return [name[begin:] for name in names]


def torque_texts(model: RobotModel, torque: Array) -> list[str]:
    """Return the torques (n,) as text with units; a dash where one is not known."""
    units = ["N" if name in model.prismatic_joints else "Nm" for name in model.joint_names]
    return [
        f"{_fixed(value, 1)} {unit}" if np.isfinite(value) else "–" for value, unit in zip(torque, units, strict=True)
    ]


def table(model: RobotModel, moment: Moment, drawing: Drawing, limited: Sequence[bool], torque_kind: str) -> str:
    """Return the numbers of a moment as HTML.

    ``limited`` (n,) says whether the shares are of effort limits; else they are of the largest torque.
    ``torque_kind`` is the heading of the torque.
    """
    error = None if moment.desired is None else 1e3 * (moment.desired - moment.q)
    texts = torque_texts(model, moment.torque)
    rows = []
    for j, name in enumerate(short_names(model.joint_names)):
        metres = model.joint_names[j] in model.prismatic_joints
        cells = [escape(name), f"{_fixed(moment.q[j], 3)} {'m' if metres else 'rad'}"]
        if error is not None:
            cells.append(f"{_fixed(error[j], 2)} {'mm' if metres else 'mrad'}")
        cells.append(texts[j])
        rows.append(_row(cells, _bar(float(drawing.shares[j]), bool(limited[j]))))
    heads = ["joint", "position", *(["error"] if error is not None else []), escape(torque_kind)]
    share = "of limit" if all(limited) else "of limit*"
    head = "".join(f"<th style='{_CELL};font-weight:600'>{text}</th>" for text in [*heads, share])
    foot = "" if all(limited) else "<div style='color:#868e96'>* no limit is known: of the largest torque</div>"
    return (
        "<div style='padding:0 0.9em 0.6em;font-size:11.5px;font-variant-numeric:tabular-nums;overflow-x:auto'>"
        f"<table style='border-collapse:collapse'><tr style='color:#868e96'>{head}</tr>{''.join(rows)}</table>"
        f"{foot}</div>"
    )


def lines(texts: Sequence[str]) -> str:
    """Return notes as HTML, one a line."""
    return "".join(
        f"<div style='padding:0 0.9em 0.5em;font-size:12px;color:#868e96'>{escape(text)}</div>" for text in texts
    )


def css(colour: Colour) -> str:
    """Return a colour as CSS has it."""
    return "#{:02x}{:02x}{:02x}".format(*colour)


def _fixed(value: float, digits: int) -> str:
    """Return a number with so many decimals, and no -0."""
    return f"{round(float(value), digits) + 0.0:.{digits}f}"


def _row(cells: Sequence[str], bar: str) -> str:
    return "<tr>" + "".join(f"<td style='{_CELL}'>{cell}</td>" for cell in cells) + f"<td>{bar}</td></tr>"


def _bar(share: float, limited: bool) -> str:
    width = round(_BAR * min(abs(share), 1.0))
    text = f"{100 * abs(share):.0f} %" + ("" if limited else "*")
    return (
        "<div style='display:flex;align-items:center;gap:5px'>"
        f"<div style='width:{_BAR}px;height:8px;border-radius:4px;background:#8883'>"
        f"<div style='width:{width}px;height:8px;border-radius:4px;background:{css(colour_of_share(share))}'></div>"
        f"</div><span style='white-space:nowrap'>{text}</span></div>"
    )
