"""Invalid parameter files, with errors of YAML and of ROS node names."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import yaml

from tools.fuzz import dynamics_files
from tools.fuzz.parameter_values import some

_MARK = "ros__parameters"
_PARTS = ("/**", "/*", "**", "*", "/", "", "arm", "computed_torque_node", "/arm/computed_torque_node", "a" * 300, ".",
          "[a", "(", "+")  # fmt: skip


def mutated(rng: random.Random, originals: Sequence[object]) -> bytes:
    """Return a file with invalid parameters or unusual node names, damaged or not."""
    content: Any = {"/**": {_MARK: some(rng)}} if rng.random() < 0.6 else rng.choice(originals)
    if rng.random() < 0.3:
        name = "".join(rng.choices(_PARTS, k=rng.choice((1, 1, 2, 5)))) * rng.choice((1, 1, 1, 300)) + rng.choice(
            _PARTS
        )
        content = {name: next(iter(content.values())), **content}
    if rng.random() < 0.5:
        return yaml.safe_dump(content, allow_unicode=True).encode()
    return dynamics_files.mutated(rng, content)
