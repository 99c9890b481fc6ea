"""Values that programs often handle incorrectly, and functions that damage bytes."""

from __future__ import annotations

import random

NUMBERS = (
    "0 -0 1 -1 0.5 1e-9 1e-300 5e-324 1e9 1e300 1.7976931348623157e308 1e309 -1e309 nan -nan NaN inf -inf Infinity "
    "1_000 0x10 1e 1e+ . - + 1,5 1.5.5 ١ ½ 1e99999 00001 1d5 true none ${x} $(x) 1;2 9007199254740993 3.14159265"
).split()
TEXTS = ("", " ", "\t", "a" * 5000, "ä", "名", "\u202e", "'", '"', "&", "../../etc/passwd", "/dev/zero",
         "file:///etc/passwd", "package://x/y.stl", "%s%n", "{}", "[]", "~", "world", "base_link", "None", "0",
         "\ud7ff", "@bait@", "file://@bait@")  # fmt: skip


def number(rng: random.Random) -> str:
    """Return a number, or text similar to one."""
    if rng.random() < 0.5:
        return rng.choice(NUMBERS)
    return repr(rng.choice((-1, 1)) * 10.0 ** rng.uniform(-12, 12))


def numbers(rng: random.Random) -> str:
    """Return several of them, separated by spaces as in attributes of a URDF."""
    count = rng.choice((0, 1, 2, 3, 3, 3, 4, 6, 50))
    return rng.choice((" ", " ", "  ", "\n", ",")).join(number(rng) for _ in range(count))


def damaged(rng: random.Random, data: bytes) -> bytes:
    """Return the bytes with some flipped, removed, repeated, swapped or inserted."""
    kept = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        if not kept:
            return bytes(kept)
        at = rng.randrange(len(kept))
        span = min(len(kept) - at, rng.choice((1, 1, 2, 4, 8, 64, 1024)))
        match rng.randrange(7):
            case 0:
                kept[at] ^= 1 << rng.randrange(8)
            case 1:
                kept[at : at + span] = rng.randbytes(span)
            case 2:
                del kept[at : at + span]
            case 3:
                kept[at:at] = kept[at : at + span]
            case 4:
                kept[at : at + span] = rng.choice((b"\0", b"\xff", b"\x7f", b"\x80")) * span
            case 5:
                del kept[at:]
            case 6:
                other = rng.randrange(len(kept))
                kept[at : at + span] = kept[other : other + span]
    return bytes(kept)
