"""Invalid messages, a few hundred for each type: random bytes, and well-formed messages with invalid content.

Well-formed messages must not be valid commands, because a receiver has to execute valid commands from any sender: all
their numbers are not finite, or negative where they are integers.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from typing import Any

from rclpy.serialization import serialize_message

from robot_dynamics_ros.recordings.messages.cdr import LITTLE_ENDIAN
from robot_dynamics_ros.ros.nodes.conversions import message_class

NUMBERS = (math.nan, math.inf, -math.inf)
TEXTS = ("", "world", "panda_link7", "\u00fc" * 50, "../../etc", "x" * 5000, "<robot><link", "<robot name='x'/>",
         "<!DOCTYPE a [<!ENTITY b 'c'>]><a/>")  # fmt: skip
COUNT = 100  # well-formed messages, and the same number of random ones


def pool(kind: Any, names: Sequence[str], seed: int = 0) -> list[bytes]:
    """Return messages of a type for a robot with these joints: half random bytes, half well-formed."""
    chance = random.Random(seed)
    absurd = [serialize_message(_fill(kind(), chance, names)) for _ in range(COUNT)]
    noise = [LITTLE_ENDIAN + chance.randbytes(chance.choice((12, 60, 300))) for _ in range(COUNT // 2)]
    cut = [data[: chance.randrange(4, len(data))] for data in absurd[: COUNT // 2] if len(data) > 5]
    messages = [*absurd, *noise, *cut]
    chance.shuffle(messages)
    return messages


def _fill(message: Any, chance: random.Random, names: Sequence[str]) -> Any:
    """Set all fields; half of the lists of texts are the joints, half of the other lists have as many elements."""
    for name, kind in message.get_fields_and_field_types().items():
        match = re.fullmatch(r"sequence<([\w/]+)>", kind)
        if match and match[1] == "string" and chance.random() < 0.5:
            value: Any = list(names)
        elif match:
            count = len(names) if chance.random() < 0.5 else chance.choice((0, 1, len(names) + 1, 200))
            value = [_value(match[1], chance, names) for _ in range(min(count, 3) if "/" in kind else count)]
        else:
            value = _value(kind, chance, names)
        setattr(message, name, value)
    return message


def _value(kind: str, chance: random.Random, names: Sequence[str]) -> Any:
    if kind == "string":
        return chance.choice(TEXTS)
    if kind in ("double", "float"):
        return chance.choice(NUMBERS)
    if "/" in kind:
        return _fill(message_class(kind.replace("/", "/msg/"))(), chance, names)
    return chance.randrange(2**32) if kind.startswith("u") else -chance.randrange(1, 2**31)
