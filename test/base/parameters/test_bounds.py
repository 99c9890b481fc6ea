"""Bounds: allowed numbers, and their descriptions."""

import math

import pytest

from robot_dynamics_ros.base.parameters import kinds as bounds
from robot_dynamics_ros.base.parameters.kinds import Bounds

INF = math.inf
NAN = math.nan
TINY = 5e-324  # the smallest number above zero

CASES: list[tuple[Bounds, list[float], list[float], str]] = [
    (bounds.ANY, [-1e308, 0.0, 1e308], [INF, -INF, NAN], "a number"),
    (
        bounds.NOT_NEGATIVE,
        [0.0, -0.0, 1e308],
        [-TINY, INF, -INF, NAN],
        "a number of at least 0",
    ),
    (bounds.POSITIVE, [TINY, 1e308], [0.0, -0.0, -1.0, INF, NAN], "a number above 0"),
    (
        bounds.NOT_NEGATIVE_OR_INFINITE,
        [0.0, 1.0, INF],
        [-TINY, -INF, NAN],
        "a number of at least 0 or .inf",
    ),
    (
        bounds.POSITIVE_OR_INFINITE,
        [TINY, INF],
        [0.0, -INF, NAN],
        "a number above 0 or .inf",
    ),
    (
        bounds.RATE,
        [0.001, 1e5],
        [0.0, 0.000999, 100000.1, INF, NAN],
        "a number from 0.001 to 100000",
    ),
    (
        bounds.RATE_OR_ZERO,
        [0.0, 0.001, 1e5],
        [0.0009, -0.001, INF, NAN],
        "0, or a number from 0.001 to 100000",
    ),
    (Bounds(0.0, 1.0), [0.0, 0.5, 1.0], [-0.1, 1.1, INF, NAN], "a number from 0 to 1"),
    (
        Bounds(0.0, 1.0, above=True),
        [TINY, 1.0],
        [0.0, 1.1, NAN],
        "a number above 0, at most 1",
    ),
]


@pytest.mark.parametrize(
    ("within", "good", "bad", "phrase"), CASES, ids=[case[3] for case in CASES]
)
def test_bounds(
    within: Bounds, good: list[float], bad: list[float], phrase: str
) -> None:
    assert [value for value in good if value not in within] == []
    assert [value for value in bad if value in within] == []
    assert within.phrase("a number") == phrase
