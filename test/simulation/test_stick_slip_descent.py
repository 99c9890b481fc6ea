"""The way down from rest to the solution of the friction problem, solve by solve, against the textbook in NumPy."""

import numpy as np
import pytest
from numpy.typing import NDArray
from simulation.test_stick_slip import Problem, random_problem

from robot_dynamics_ros.simulation import stick_slip as ss

Array = NDArray[np.float64]


def _textbook(p: Problem) -> tuple[int, Array]:
    """Nocedal and Wright, algorithm 16.3, from rest: linear systems solved, and the solution.

    The step goes as far as every joint stays on its segment; at the end of a whole step the joint starts whose
    impulse is outside its bounds by most, measured by what the objective gains.
    """
    n, size = len(p.free), np.diag(p.a)
    slippery = (p.forward + p.backward == 0.0) & (p.lower < 0.0) & (p.upper > 0.0)
    segments, v, count = np.where(slippery, ss.FORWARD, ss.STUCK), np.zeros(n), 0
    while True:
        slides = (segments == ss.FORWARD) | (segments == ss.BACKWARD)
        target = np.select([segments == ss.WALL_LOWER, segments == ss.WALL_UPPER], [p.lower, p.upper], 0.0)
        pull = np.where(segments == ss.FORWARD, -p.forward, p.backward) - p.a @ (target - p.free)
        target[slides] += np.linalg.solve(p.a[np.ix_(slides, slides)], pull[slides])
        count += 1
        low = np.where((segments == ss.BACKWARD) | slippery, p.lower, 0.0)
        high = np.where((segments == ss.FORWARD) | slippery, p.upper, 0.0)
        end = np.clip(target, low, high)
        leaves = slides & (end != target)
        share = np.where(leaves, (end - v) / np.where(leaves, target - v, 1.0), 1.0)
        first, before = int(np.argmin(share)), p.objective(v)
        v = v + min(share[first], 1.0) * (target - v)
        assert p.objective(v) <= before + 1e-12 * abs(before), "or patterns could come back"
        if share[first] < 1.0:
            v[first] = end[first]
            wall = ss.WALL_LOWER if target[first] < end[first] else ss.WALL_UPPER
            segments[first] = wall if end[first] != 0.0 else ss.STUCK
            continue
        impulse = p.a @ (v - p.free)
        above, below = impulse - p.backward, -p.forward - impulse
        stuck = segments == ss.STUCK
        backward = np.where(stuck & (p.lower < 0.0), above, np.where(segments == ss.WALL_LOWER, -above, 0.0))
        forward = np.where(stuck & (p.upper > 0.0), below, np.where(segments == ss.WALL_UPPER, -below, 0.0))
        gain = np.maximum(np.maximum(backward, forward), 0.0) ** 2 / size
        first = int(np.argmax(gain))
        if gain[first] < 1e-20:
            return count, v
        segments[first] = ss.BACKWARD if backward[first] > forward[first] else ss.FORWARD


#: Problems, found by search, in which joints turn round on the way or are pulled back from their limits.
TURNING = (131, 265, 1333, 755, 76, 103, 120, 470, 482, 525, 626, 680, 707, 719, 852, 858, 864, 1019, 1349, 1466, 6, 18)


def _descends_as_the_textbook_does(rng: np.random.Generator, p: Problem) -> None:
    n, (expected, v) = len(p.free), _textbook(p)
    joints = p.table(np.zeros(n))
    solves = ss.descend(p.a, joints, rng.integers(0, 5, n), np.empty((n, n)), np.empty(n))
    assert joints[:, ss.VELOCITY] == pytest.approx(v, rel=1e-9, abs=1e-10)
    assert solves == expected


@pytest.mark.parametrize("seed", [*range(1, 6), *TURNING])
def test_descends_as_the_textbook_does(seed: int) -> None:
    """From rest in as many solves: no step is too long, or too short, or the wrong one."""
    rng = np.random.default_rng(seed)
    p = random_problem(rng, int(rng.integers(4, 9)), 4.0)
    p.forward, p.backward = 0.03 * p.forward, 0.03 * p.backward
    _descends_as_the_textbook_does(rng, p)


@pytest.mark.parametrize("seed", [9, 13, 21, 39, 54, 55, 62, 72, 85, 95, 114])
def test_meets_one_limit_after_the_other_as_the_textbook_does(seed: int) -> None:
    """Fast joints, half of them without friction, between limits; found by search: their order is not obvious."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 9))
    p = random_problem(rng, n, 3.0)
    p.free = 3.0 * p.free
    some = rng.choice([0.0, 0.03], n)
    p.forward, p.backward = some * p.forward, some * p.backward
    p.lower, p.upper = -rng.choice([0.1, 1.0, 3.0], n), rng.choice([0.1, 1.0, 3.0], n)
    _descends_as_the_textbook_does(rng, p)
