"""Values of the controller's parameters, as set by `ros2 param set` or parameter files."""

from __future__ import annotations

import random
from typing import Any

from robot_dynamics_ros.base.parameters.kinds import Values
from robot_dynamics_ros.control import parameters as controller
from tools.fuzz.nasty import TEXTS

_KNOWN = {parameter.name: parameter for parameter in controller.ALL}


def made(rng: random.Random) -> bytes:
    """Return an input that ``values`` converts to names and values of a few parameters."""
    return rng.randbytes(8)


def values(data: bytes) -> Values:
    """Return chosen values, and the defaults of all other parameters."""
    given = some(random.Random(data))
    return lambda name: given[name] if name in given else _KNOWN[name].default


def some(rng: random.Random) -> dict[str, Any]:
    """Return a few parameters with values of any kind."""
    return {name: _value(rng, name) for name in rng.sample(sorted(_KNOWN), rng.choice((1, 1, 2, 5)))}


def _value(rng: random.Random, name: str) -> Any:
    default = _KNOWN[name].default
    if rng.random() < 0.5:  # of the right kind
        if isinstance(default, bool):
            return rng.random() < 0.5
        if isinstance(default, str):
            return rng.choice((*getattr(_KNOWN[name], "choices", ()), *TEXTS[:6]))
        if isinstance(default, float):
            return _number(rng)
        if isinstance(default, list | tuple):
            return [_number(rng) for _ in range(rng.choice((0, 1, 2, 2, 3)))]
    return rng.choice(
        (None, True, 0, -1, 2**63 - 1, -(2**63), _number(rng), "", "x", [], [True], [""], ["a"], [_number(rng)],
         [0.0] * 2, [1, 2], [float("nan")], [2**62], b"a", [b"a"])
    )  # fmt: skip


def _number(rng: random.Random) -> float:
    if rng.random() < 0.3:
        return rng.choice((0.0, -0.0, 1.0, -1.0, float("nan"), float("inf"), -float("inf"), 5e-324, 1.7e308))
    return rng.choice((1, 1, 1, -1)) * 10.0 ** rng.uniform(-9, 9)
