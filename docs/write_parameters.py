"""Writes docs/parameters.md from the declarations of the nodes' parameters: `python docs/write_parameters.py`."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from robot_dynamics_ros.control import parameters as controller  # noqa: E402
from robot_dynamics_ros.control.trajectory import parameters as trajectory  # noqa: E402
from robot_dynamics_ros.parameters.kinds import Parameter  # noqa: E402
from robot_dynamics_ros.simulation import parameters as simulation  # noqa: E402

PAGE = HERE / "parameters.md"
_NODES: dict[str, Iterable[Parameter[Any]]] = {
    "computed_torque_node": controller.ALL,
    "simulation_node": simulation.ALL,
    "trajectory_node": trajectory.ALL,
}
_WHEN = {"start": "start", "configure": "configure", "run": "any time"}
_HEAD = """\
# Parameters

Made by `python docs/write_parameters.py` from the declarations in `control/settings.py` and the modules named
`parameters.py`. On a running node `ros2 param describe` says the same.

- **When**: *start* is read once when the process starts; *configure* when the node is configured, or learns its robot;
  *any time* may change while the node runs, several together by `set_parameters_atomically`. What is not allowed is
  refused with the reason, and nothing changes.
- **One for each joint, or one for all**: `[10.0]` is every joint, `[10.0, 10.0, 5.0]` one after the other. A single
  number counts as a list of one.
- A file gives them under `/**`, for nodes of any name in any namespace, or under a node's name:

```yaml
/**:
  ros__parameters:
    law: computed_torque
    gains:
      natural_frequency: [10.0]
      damping_ratio: [1.0]
    on_fault: hold
```

`use_sim_time` and QoS overrides (`qos_overrides./joint_states.subscription.reliability`) are those of every ROS node.
"""


def page() -> str:
    """Return the page."""
    return "\n".join([_HEAD, *(_section(node, declared) for node, declared in _NODES.items())])


def _section(node: str, declared: Iterable[Parameter[Any]]) -> str:
    rows = ["| parameter | default | what it is | allowed | when |", "| --- | --- | --- | --- | --- |"]
    rows += [
        f"| `{p.name}` | {_code(p.default)} | {_plain(p.description)} | {_plain(p.allowed())} | {_WHEN[p.when]} |"
        for p in declared
    ]
    return "\n".join([f"## {node}", "", *rows, ""])


def _code(value: object) -> str:
    return f"`{_yaml(value)}`"


def _yaml(value: object) -> str:
    """Return a value as a parameter file has it."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(_yaml(item) for item in value)}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and math.isinf(value):
        return ".inf"
    return str(value) or '""'


def _plain(text: str) -> str:
    """Return text that Markdown leaves as it is."""
    for sign in "|*<~":
        text = text.replace(sign, f"\\{sign}")
    return text


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
