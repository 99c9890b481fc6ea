"""Parameter sets of the battery: the defaults of the package, first_motion.yaml of docs/real_arm.md, and drives.

The set "drives" has the defaults for drives with a loop of their own.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import yaml

from robot_dynamics_ros.base.parameters import IMPEDANCE
from robot_dynamics_ros.control.configuration.settings import (
    ALL,
    ControllerSettings,
    read_settings,
)
from support.documents.markdown_blocks import ROOT, blocks
from tools.fault_battery.arms import Arm, load

SETS = ("default", "first_motion", "drives")
_DEFAULTS = {parameter.name: parameter.default for parameter in ALL}


@cache
def first_motion() -> dict[str, Any]:
    """Return the values of first_motion.yaml by the names of parameters."""
    page = ROOT / "docs" / "real_arm.md"
    (text,) = (b.text for b in blocks(page) if b.file == "first_motion.yaml")
    values: dict[str, Any] = {}
    pending = [("", yaml.safe_load(text)["/**"]["ros__parameters"])]
    while pending:
        prefix, table = pending.pop()
        for key, value in table.items():
            if isinstance(value, dict):
                pending.append((f"{prefix}{key}.", value))
            else:
                values[prefix + key] = value
    return values


@cache
def _share(arm: str) -> float:
    return load(arm).gravity_share()


def settings_of(
    arm: Arm, name: str, task: bool, more: dict[str, Any]
) -> ControllerSettings:
    """Return the settings of the set ``name`` for ``arm``, with ``more`` values by the names of parameters.

    The law is computed torque, or in task space if ``task``. As the page asks for, ``effort_limit_scale`` of
    first_motion.yaml is above the share that gravity needs.
    """
    values = dict(_DEFAULTS)
    if name == "first_motion":
        values |= {k: v for k, v in first_motion().items() if k in values}
        least = 1.12 * _share(arm.name)
        scale = max(float(values["effort_limit_scale"][0]), least)
        values["effort_limit_scale"] = [min(scale, 1.0)]
    if name == "drives":
        values["command_interfaces"] = IMPEDANCE
    values["law"] = "task_space_computed_torque" if task else "computed_torque"
    if task:
        components = "x y z" if len(arm.start) >= 6 else "x z"
        values |= {"task_space.link": arm.tool, "task_space.components": components}
    return read_settings((values | more).__getitem__)
