"""Table of checks in docs/safety.md from the checks themselves: `python docs/generated.py`."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from robot_dynamics_ros import RobotModel  # noqa: E402
from robot_dynamics_ros.control.configuration.settings import ControllerSettings  # noqa: E402
from robot_dynamics_ros.control.controller import make_controller  # noqa: E402

PAGE = HERE / "safety.md"
_HEAD = "| cause | fails if | default | ends by itself |"
_AFTER = '\n\n"Yes" means'


def page() -> str:
    """Return the page with the present checks."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(_HEAD)
    after = rest.partition(_AFTER)[2]
    checks = make_controller(
        RobotModel.shipped("planar_2r"), ControllerSettings()
    ).checks
    rows = [
        f"| `{row.cause.value}` | {row.fails_if} | {row.default} | {row.ends} |"
        for row in checks.table()
    ]
    return (
        before + "\n".join([_HEAD, "| --- | --- | --- | --- |", *rows]) + _AFTER + after
    )
