"""Lines that are combinations of coordinates, one segment at a time, and how few solves lead to the solution."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray
from simulation.test_coupled_stick_slip import Problem

from robot_dynamics_ros.simulation import coupled_stick_slip as coupled
from robot_dynamics_ros.simulation import stick_slip as ss

Array = NDArray[np.float64]


def _sum_of_two(free: float, lower: float = -4.0, upper: float = 5.0, grips: tuple[float, float] = (1, 3)) -> Problem:
    """A = 1, one line z = v1 + v2, whose free velocity is this: z = free + 2 lambda."""
    p = Problem(np.random.default_rng(0), 2, 1, whole=True)
    p.a, p.e, p.free = np.eye(2), np.ones((1, 2)), np.array([free - 10.0, 10.0])
    p.forward, p.backward = np.array([grips[0]], float), np.array([grips[1]], float)
    p.lower, p.upper = np.array([lower]), np.array([upper])
    return p


@pytest.mark.parametrize("start", range(5))
def test_one_line_through_all_segments(start: int) -> None:
    """By hand, from any pattern; one solve where the pattern is right."""
    cases = [
        (-13.0, -4.0, 4.5, ss.WALL_LOWER),
        (-8.0, -2.0, 3.0, ss.BACKWARD),
        (-2.0, 0.0, 1.0, ss.STUCK),
        (1.0, 0.0, -0.5, ss.STUCK),
        (4.0, 2.0, -1.0, ss.FORWARD),
        (10.0, 5.0, -2.5, ss.WALL_UPPER),
    ]
    for free, velocity, impulse, segment in cases:
        p, pattern = _sum_of_two(free), np.array([start])
        v, pull, error, solves = p.counted(pattern, np.zeros(2))
        assert v == pytest.approx(p.free + impulse, abs=1e-13)
        assert [v.sum(), pull[0], error] == pytest.approx([velocity, impulse, 0.0], abs=1e-13)
        assert pattern[0] == segment
        assert solves == (1 if start == segment else 2 + abs(segment - ss.STUCK)), "then from rest, segment by segment"


@pytest.mark.parametrize("start", range(5))
def test_a_line_without_room_is_held_by_its_limit(start: int) -> None:
    """Whatever the load, and without friction too; the other way it is free to go."""
    for grips in ((1, 3), (0, 0)):
        for free, velocity in ((-50.0, 0.0), (50.0, 50.0 - 2.0 * grips[0])):
            p = _sum_of_two(free, 0.0, np.inf, grips)
            assert p.solved(np.array([start]), np.zeros(2))[0].sum() == pytest.approx(velocity, abs=1e-13)
        for free, velocity in ((50.0, 0.0), (-50.0, -50.0 + 2.0 * grips[1])):
            p = _sum_of_two(free, -np.inf, 0.0, grips)
            assert p.solved(np.array([start]), np.zeros(2))[0].sum() == pytest.approx(velocity, abs=1e-13)
        p = _sum_of_two(7.0, 0.0, 0.0, grips)
        assert p.solved(np.array([start]), np.zeros(2))[0].sum() == pytest.approx(0.0, abs=1e-13)


@pytest.mark.parametrize("start", [ss.BACKWARD, ss.FORWARD])
def test_a_line_without_friction_goes_either_way(start: int) -> None:
    for free, velocity in ((-9.0, -4.0), (-3.0, -3.0), (0.0, 0.0), (3.0, 3.0), (9.0, 5.0)):
        p = _sum_of_two(free, grips=(0, 0))
        v, _, _, solves = p.counted(np.array([start]), np.zeros(2))
        assert v.sum() == pytest.approx(velocity, abs=1e-13)
        assert solves == (1 if free == velocity else 3), "turning round is no other segment"


def test_what_is_carried_already_changes_nothing() -> None:
    for free in (-13.0, -8.0, -2.0, 1.0, 4.0, 10.0):
        expected, impulse, _ = _sum_of_two(free).solved(np.array([ss.STUCK]), np.zeros(2))
        v, pull, error = _sum_of_two(free).solved(np.array([ss.STUCK]), np.array([7.0, -2.0]))
        assert v == pytest.approx(expected, abs=1e-13)
        assert pull == pytest.approx(impulse, abs=1e-13)
        assert error < 1e-13


def test_a_matrix_that_is_not_positive_definite_is_told_by_the_velocity() -> None:
    p = _sum_of_two(4.0)
    for start, bad in itertools.product(range(5), range(2)):
        p.a = np.diag(np.where(np.arange(2) == bad, -1.0, 1.0))
        lines = np.zeros((1, ss.LINE_SIZE))
        v = np.empty(2)
        lines[:, ss.LOWER], lines[:, ss.UPPER] = -np.inf, np.inf
        coupled.solve_coupled(p.a, p.e, lines, np.array([start]), p.free, np.zeros(2), v)
        assert np.isnan(v).all()


@pytest.mark.parametrize(
    ("free", "velocity", "both"),
    [
        (-10.0, -4.0, (ss.WALL_LOWER, ss.BACKWARD)),
        (-6.0, 0.0, (ss.BACKWARD, ss.STUCK)),
        (2.0, 0.0, (ss.STUCK, ss.FORWARD)),
        (7.0, 5.0, (ss.FORWARD, ss.WALL_UPPER)),
    ],
)
def test_where_two_segments_meet_a_line_stays_on_its_own(free: float, velocity: float, both: tuple[int, int]) -> None:
    for start in both:
        pattern = np.array([start])
        v, _, error, solves = _sum_of_two(free).counted(pattern, np.zeros(2))
        assert (solves, pattern[0]) == (1, start)
        assert [v.sum(), error] == pytest.approx([velocity, 0.0], abs=1e-14)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("sign", [1, -1])
def test_rounding_of_the_load_is_no_reason_to_slide(unit: float, sign: int) -> None:
    """A load that is above the grip by 1e-12 of it still sticks, in any unit and with one solve; by 1e-8 it slides."""
    for other in (0.0, 3.0):
        grips = (3.0 * unit, other * unit) if sign > 0 else (other * unit, 3.0 * unit)
        for above, solves in ((1e-12, 1), (1e-8, 3)):
            p = _sum_of_two(0.0, -np.inf, np.inf, grips)
            p.free = sign * np.array([3.0 * unit * (1.0 + above), 3.0 * unit * (1.0 + above)])
            v, _, error, count = p.counted(np.array([ss.STUCK]), np.zeros(2))
            assert count == solves
            assert sign * v.sum() == pytest.approx(6.0 * unit * above * (solves > 1), rel=1e-6, abs=1e-15 * unit)
            assert error <= 1e-11 * unit


def _one_coordinate(free: float, factors: list[float], grip: float, lower: float, upper: float) -> Problem:
    """A = 1, and lines that are multiples of one coordinate, with the same friction and limits."""
    p, count = _sum_of_two(0.0), len(factors)
    p.a, p.free, p.e = np.eye(1), np.array([free]), np.array(factors)[:, None]
    p.forward = p.backward = np.full(count, grip)
    p.lower, p.upper = np.full(count, lower), np.full(count, upper)
    return p


@pytest.mark.parametrize("unit", [1.0, 1e-12])
def test_lines_that_contradict_each_other_are_no_solution(unit: float) -> None:
    """v <= 1 and 2 v <= 1, both at their ends: only the second one can be; in any unit."""
    for factors in ([1.0, 2.0], [2.0, 1.0], [1.0, -2.0]):
        p = _one_coordinate(9.0 * unit, factors, 0.0, -unit, unit)
        for start in ([4, 4], [4, 0], [0, 4], [2, 2], [4, 2], [2, 4], [3, 3]):
            v, _, error = p.solved(np.array(start), np.zeros(1))
            assert v[0] == pytest.approx(0.5 * unit, rel=1e-15)
            assert error < 1e-14 * unit


@pytest.mark.parametrize(
    ("load", "lower", "upper", "start"),
    [(1.5, -np.inf, np.inf, 1), (1.5, -1.0, 0.5, 1), (1.5, 0.0, 0.5, 4), (-1.5, -1.0, 0.0, 0), (-1.5, -np.inf, 0.0, 1)],
)
def test_two_bearings_on_one_axle_hold_it_together(load: float, lower: float, upper: float, start: int) -> None:
    """Each with friction of 1. One of them is about to slide: from rest, nothing is left to do."""
    p = _one_coordinate(load, [1.0, 1.0], 1.0, lower, upper)
    v, impulse, error, solves = p.counted(np.array([start, start]), np.zeros(1))
    assert (v[0], impulse.sum(), error, solves) == (0.0, -load, 0.0, 2)
    assert np.abs(impulse).max() <= 1.0


def test_a_line_that_just_reaches_its_limit_goes_on_by_itself() -> None:
    """Free velocities of 6 and -5 end at 5 and -4 with friction alone; without friction 5 and -4 do, on the wall."""
    for free, velocity, way in ((6.0, 5.0, ss.FORWARD), (-5.0, -4.0, ss.BACKWARD)):
        pattern = np.array([ss.STUCK])
        v, _, error, solves = _one_coordinate(free, [1.0], 1.0, -4.0, 5.0).counted(pattern, np.zeros(1))
        assert (v[0], error, solves, pattern[0]) == (velocity, 0.0, 3, way)
    for free, wall in ((5.0, ss.WALL_UPPER), (-4.0, ss.WALL_LOWER)):
        pattern = np.array([wall])
        v, _, error, solves = _one_coordinate(free, [1.0], 0.0, -4.0, 5.0).counted(pattern, np.zeros(1))
        assert (v[0], error, solves, pattern[0]) == (free, 0.0, 1, wall)


def _textbook(p: Problem) -> tuple[int, NDArray[np.int64], Array]:
    """Nocedal and Wright, algorithm 16.3, from rest: linear systems solved, the segments, and the solution.

    For lines that do not depend on each other. Of those at rest or at a limit, the one starts whose impulse is
    outside its bounds by most.
    """
    n, count = len(p.free), 0
    loose = p.forward + p.backward == 0.0
    segments, v = np.where(loose & (p.lower < 0.0) & (p.upper > 0.0), ss.FORWARD, ss.STUCK), np.zeros(n)
    while True:
        slides = (segments == ss.FORWARD) | (segments == ss.BACKWARD)
        friction = np.select([segments == ss.FORWARD, segments == ss.BACKWARD], [-p.forward, p.backward], 0.0)
        held = p.e[~slides]
        system = np.block([[p.a, -held.T], [held, np.zeros((len(held), len(held)))]])
        force = p.e.T @ friction - p.a @ (v - p.free)
        answer = np.linalg.solve(system, np.concatenate([force, np.zeros(len(held))]))
        step, impulse = answer[:n], friction.copy()
        impulse[~slides] = answer[n:]
        count += 1
        z, dz = p.e @ v, p.e @ step
        low = np.where((segments == ss.BACKWARD) | loose, p.lower, 0.0)
        high = np.where((segments == ss.FORWARD) | loose, p.upper, 0.0)
        end = np.where(dz < 0.0, low, high)
        turns = slides & (dz != 0.0)
        share = np.where(turns, (end - z) / np.where(turns, dz, 1.0), 1.0)
        first, before = int(np.argmin(share)), p.objective(v)
        v = v + min(share[first], 1.0) * step
        assert p.objective(v) <= before + 1e-12 * abs(before), "or patterns could come back"
        if share[first] < 1.0:
            wall = ss.WALL_LOWER if dz[first] < 0.0 else ss.WALL_UPPER
            segments[first] = wall if end[first] != 0.0 else ss.STUCK
            continue
        above, below = impulse - p.backward, -p.forward - impulse
        stuck = segments == ss.STUCK
        backward = np.where(stuck & (p.lower < 0.0), above, np.where(segments == ss.WALL_LOWER, -above, 0.0))
        forward = np.where(stuck & (p.upper > 0.0), below, np.where(segments == ss.WALL_UPPER, -below, 0.0))
        excess = np.maximum(backward, forward)
        first = int(np.argmax(excess))
        if excess[first] < 1e-11:
            return count, segments, v
        segments[first] = ss.BACKWARD if backward[first] > forward[first] else ss.FORWARD


@pytest.mark.parametrize("unit", [1.0, 1e-9])
@pytest.mark.parametrize("seed", range(30))
def test_descends_as_the_textbook_does(seed: int, unit: float) -> None:
    """Where the pattern it starts with is not the solution's, in as many solves: each step is the right one."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    count = int(rng.integers(2, n + 1))
    p = Problem(rng, n, count, whole=False)
    expected, segments, solution = _textbook(p)
    for part in (p.free, p.forward, p.backward, p.lower, p.upper):
        part *= unit
    loose = p.forward + p.backward == 0.0
    for start in (segments, (segments + 1 + rng.integers(0, 4, count)) % 5):
        pattern = start.copy()
        v, _, _, solves = p.counted(pattern, np.zeros(n))
        assert v == pytest.approx(unit * solution, abs=1e-9 * unit)
        assert np.all((pattern == segments) | (loose & (np.abs(pattern - ss.STUCK) == 1)))
        assert solves in ((1,) if start is segments else (1, 1 + expected))
    assert solves == 1 + expected or loose.any(), "only what nothing holds slides on two segments"


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_line_that_is_pulled_back_from_its_limit_stops_on_the_way(sign: float) -> None:
    """The first joint starts, is at its limit, and the light second one throws it back, with more than its friction."""
    p, a = _sum_of_two(0.0), np.array([[1.0, 0.27], [0.27, 0.09]])
    p.a, p.e, p.free = a, np.eye(2), sign * np.linalg.solve(a, np.array([3.0, 2.5]))
    p.forward = p.backward = np.ones(2)
    p.lower, p.upper = -np.array([0.1, np.inf]), np.array([0.1, np.inf])
    expected, segments, solution = _textbook(p)
    v, _, _, solves = p.counted(np.array([ss.STUCK, ss.STUCK]), np.zeros(2))
    assert v == pytest.approx(solution, rel=1e-12)
    assert solves == 1 + expected == 9
    assert sign * v[0] < 0.0 < sign * v[1]


@pytest.mark.parametrize("seed", range(10))
def test_residual_is_that_of_its_definition(seed: int) -> None:
    """With any velocity and impulses; shrinking u by [-b, f] is u - clip(u, -b, f)."""
    rng = np.random.default_rng(seed)
    n, count = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    p = Problem(rng, n, count, whole=False)
    v, carried, size = rng.standard_normal(n), rng.standard_normal(n), np.diag(p.a)
    own = (p.e**2 / size).sum(axis=1)
    for scale in (0.0, 0.01, 1.0):
        lines = np.full((count, ss.LINE_SIZE), np.nan)
        lines[:, ss.GRIP_FORWARD], lines[:, ss.GRIP_BACKWARD] = p.forward, p.backward
        lines[:, ss.LOWER], lines[:, ss.UPPER] = p.lower, p.upper
        lines[:, ss.VELOCITY], lines[:, ss.IMPULSE] = p.e @ v, scale * rng.standard_normal(count)
        # The free velocity that these impulses lead to this velocity from, but for a part of random size.
        pull = p.e.T @ lines[:, ss.IMPULSE] - carried + rng.choice([0.0, 1.0]) * rng.standard_normal(n)
        free = v - np.linalg.solve(p.a, pull)
        u = p.e @ v - own * lines[:, ss.IMPULSE]
        proximal = np.clip(u - np.clip(u, -own * p.backward, own * p.forward), p.lower, p.upper)
        balance = p.a @ (v - free) + carried - p.e.T @ lines[:, ss.IMPULSE]
        expected = max(np.abs(balance / size).max(), np.abs(proximal - p.e @ v).max())
        found = coupled._residual(p.a, p.e, lines, free, carried, v)
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-12)
