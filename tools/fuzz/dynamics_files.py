"""Invalid dynamics files, with errors of YAML and of the dynamics."""

from __future__ import annotations

import copy
import random
from typing import Any

import yaml

from tools.fuzz.nasty import NUMBERS, TEXTS, damaged

#: A file with every key.
EXAMPLE: Any = {
    "gravity": [0.0, 0.0, -9.81],
    "joints": {
        "panda_joint1": {
            "viscous": 0.5,
            "coulomb": 0.3,
            "coulomb_negative": 0.35,
            "static": 0.4,
            "stribeck_velocity": 0.05,
            "ripple": {"amplitude": 0.02, "per_turn": 100, "phase": 0.0},
            "sigmoid": {"amplitude": 0.546, "slope": 5.12, "shift": 0.0395},
            "rotor_inertia": 2e-4,
            "gear_ratio": 100.0,
            "rotor_carrier": "parent",
        }
    },
    "links": {"panda_link3": {"mass": 3.2, "com": [0.04, 0.01, -0.07], "inertia": [0.02, 0, 0, 0.02, 0, 0.01]}},
    "rotors": [
        {"carrier": "panda_link1", "axis": [0, 0, 1], "inertia": 1e-4, "ratio": {"panda_joint2": -60.0}},
    ],
    "payload": {"link": "panda_link8", "mass": 1.2, "com": [0, 0, 0.05], "inertia": [0.01, 0, 0, 0.01, 0, 0.005]},
    "loops": [
        {"link_a": "panda_link1", "point_a": [0.1, 0, 0], "link_b": "panda_link5", "point_b": [0, 0.2, 0]},
    ],
}
_LINES = (
    b"!!python/object/apply:os.system ['true']\n",
    b"a: &a [x, x]\nb: &b [*a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c]\n",
    b"gravity: *nothing\n",
    b"--- \n...\n--- 2\n",
    b"joints: {<<: {a: 1}}\n",
    b"\t- x\n",
    b"gravity: !!float nan\n",
    b"? [a, b]\n: c\n",
    b"payload: !!timestamp 2001-12-14\n",
    b"[" * 3000 + b"\n",
    b"payload: !include @bait@\n",
    b"%YAML 9.9\n%TAG ! tag:@bait@,2000:\n---\n",
    b"\xff\xfe",
)


def mutated(rng: random.Random, original: object) -> bytes:
    """Return a damaged dynamics file."""
    content: Any = copy.deepcopy(original)
    for _ in range(rng.choice((1, 1, 2, 4))):
        content = _change(rng, content)
    data = yaml.safe_dump(content, allow_unicode=True).encode()
    if rng.random() < 0.1:
        data = damaged(rng, data)
    if rng.random() < 0.05:
        line = rng.choice(_LINES)
        data = line + data if rng.random() < 0.5 else data + line
    return data


def _change(rng: random.Random, content: Any) -> Any:
    """Change an element at a random path."""
    if isinstance(content, dict) and content and rng.random() < 0.8:
        key = rng.choice(list(content))
        match rng.randrange(10):
            case 0:
                del content[key]
            case 1:
                content[rng.choice((*TEXTS[:8], 1, None, 2.5, True))] = content[key]
            case 2:
                content[rng.choice(list(content))] = copy.deepcopy(content[key])
            case _:
                content[key] = _change(rng, content[key])
        return content
    if isinstance(content, list) and content and rng.random() < 0.8:
        at = rng.randrange(len(content))
        match rng.randrange(6):
            case 0:
                del content[at]
            case 1:
                content.append(copy.deepcopy(content[at]))
            case _:
                content[at] = _change(rng, content[at])
        return content
    return _value(rng)


def _value(rng: random.Random) -> object:
    match rng.randrange(8):
        case 0 | 1 | 2:
            return rng.choice((-1, 1)) * 10.0 ** rng.uniform(-320, 308)
        case 3:
            return rng.choice((0, -1, 1, 2**70, -0.0, float("nan"), float("inf"), float("-inf")))
        case 4:
            return rng.choice((*NUMBERS, *TEXTS[:8]))
        case 5:
            return rng.choice((None, True, [], {}, [[]], [1, 2, 3], {"a": 1}))
        case 6:
            return [rng.uniform(-2, 2) for _ in range(rng.choice((1, 3, 6, 7)))]
        case _:
            return rng.choice(("panda_joint1", "panda_link8", "panda_joint8", "parent", "none", "base"))
