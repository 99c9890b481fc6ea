"""The segments of the friction problem one by one: which exist, where they end, and how few solves lead there."""

import numpy as np
import pytest
from simulation.test_stick_slip import Problem, random_problem

from robot_dynamics_ros.simulation import stick_slip as ss


def test_each_column_has_its_own_place() -> None:
    """All of 0 is a joint at rest."""
    columns = [ss.FREE, ss.HELD, ss.GRIP_FORWARD, ss.GRIP_BACKWARD, ss.LOWER, ss.UPPER, ss.VELOCITY, ss.IMPULSE]
    assert sorted([*columns, ss.NOISE, ss.SLIPPERY, ss.RESTS]) == list(range(ss.LINE_SIZE))
    assert ss.residual(np.eye(1), np.zeros((1, ss.LINE_SIZE))) == 0.0


def segment_of(p: Problem, j: int, velocity: float, impulse: float) -> int:
    """What the segments' definitions make of a solution."""
    if velocity == p.lower[j] < 0.0 or (velocity == 0.0 == p.lower[j] and impulse >= p.backward[j]):
        return ss.WALL_LOWER
    if velocity == p.upper[j] > 0.0 or (velocity == 0.0 == p.upper[j] and impulse <= -p.forward[j]):
        return ss.WALL_UPPER
    if velocity == 0.0 and (p.forward[j] + p.backward[j] > 0.0 or 0.0 in (p.lower[j], p.upper[j])):
        return ss.STUCK
    return ss.BACKWARD if velocity < 0.0 else ss.FORWARD


@pytest.mark.parametrize("descend", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_tells_the_segments_of_the_solution(seed: int, descend: bool) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    p = random_problem(rng, n, 2.0)
    held = p.a @ rng.standard_normal(n) * (seed % 2)
    joints, pattern = p.table(held), rng.integers(0, 5, n)
    work = np.empty((n, n)), np.empty(n)
    if descend:
        assert ss.descend(p.a, joints, pattern, *work) <= 3 * n + 2, "not many more than there are joints"
        ss.label(joints, pattern)
    else:
        ss.solve(p.a, joints, pattern, *work)
    v, impulse = joints[:, ss.VELOCITY], joints[:, ss.IMPULSE]
    assert pattern.tolist() == [segment_of(p, j, v[j], impulse[j]) for j in range(n)]
    expected = p.a @ (v - p.free)
    assert impulse == pytest.approx(expected, abs=1e-12 * (1.0 + np.abs(expected).max()))
    assert np.all(impulse[pattern == ss.FORWARD] == -p.forward[pattern == ss.FORWARD]), "to the bit"
    assert np.all(impulse[pattern == ss.BACKWARD] == p.backward[pattern == ss.BACKWARD]), "to the bit"
    again = p.table(impulse.copy())
    again[:, ss.FREE] = v
    assert ss.solve(p.a, again, pattern, *work) == (0, 0.0), "a free motion that is the solution goes on"
    assert np.array_equal(again[:, [ss.VELOCITY, ss.IMPULSE]], joints[:, [ss.VELOCITY, ss.IMPULSE]])


@pytest.mark.parametrize("grips", [(0.0, 0.0), (0.5, 0.0), (0.0, 0.5)])
@pytest.mark.parametrize("lower", [0.0, -0.5, -np.inf])
@pytest.mark.parametrize("upper", [0.0, 0.5, np.inf])
def test_only_segments_that_exist_are_tried(grips: tuple[float, float], lower: float, upper: float) -> None:
    """A wall at rest is no segment of its own; without friction and walls there is no rest."""
    slippery = not any(grips) and lower < 0.0 < upper
    exist = {ss.WALL_LOWER: -np.inf < lower < 0.0, ss.BACKWARD: lower < 0.0, ss.STUCK: not slippery}
    exist |= {ss.FORWARD: upper > 0.0, ss.WALL_UPPER: 0.0 < upper < np.inf}
    instead = {ss.WALL_LOWER: [1, 2], ss.BACKWARD: [2], ss.STUCK: [3], ss.FORWARD: [2], ss.WALL_UPPER: [3, 2]}
    for segment in range(5):
        joints, pattern = np.full((1, ss.LINE_SIZE), np.nan), np.array([segment])
        joints[0, [ss.GRIP_FORWARD, ss.GRIP_BACKWARD, ss.LOWER, ss.UPPER]] = *grips, lower, upper
        ss.admit(joints, pattern)
        assert pattern[0] == next(s for s in [segment, *instead[segment]] if exist[s])
        assert joints[0, ss.SLIPPERY] == slippery


@pytest.mark.parametrize("sign", [1, -1])
def test_a_load_of_all_that_friction_holds_is_one_on_the_limit(sign: int) -> None:
    """A joint at its limit is pressed there with exactly its friction, or with a little less."""
    one, room = np.ones(1), (-5.0, 0.0) if sign > 0 else (0.0, 5.0)
    wall = ss.WALL_UPPER if sign > 0 else ss.WALL_LOWER
    for load, segment in ((3.0, wall), (np.nextafter(3.0, 0.0), ss.STUCK)):
        p = Problem(np.ones((1, 1)), sign * load * one, 3 * one, 3 * one, room[0] * one, room[1] * one)
        for start in range(5):
            pattern = np.array([start])
            assert p.solved(pattern, np.zeros(1)) == (0.0, -sign * load, 0.0)
            assert pattern[0] == segment


def _one(free: float, grips: tuple[float, float] = (1.0, 1.0), low: float = -4.0, high: float = 5.0) -> Problem:
    """A = 1: v = free + lambda."""
    one = np.ones(1)
    return Problem(np.ones((1, 1)), free * one, grips[0] * one, grips[1] * one, low * one, high * one)


def _solves(p: Problem, pattern: list[int], held: float = 0.0) -> tuple[int, float, int]:
    """Linear systems solved, velocity and segment of the first joint, starting from this pattern."""
    n = len(pattern)
    joints, segments = p.table(np.full(n, held)), np.array(pattern)
    solves, error = ss.solve(p.a, joints, segments, np.empty((n, n)), np.empty(n))
    assert error <= 2e-12 * np.abs(p.free).max(), "no more than rounding"
    return solves, float(joints[0, ss.VELOCITY]), int(segments[0])


SEGMENTS = [
    (-7.0, -4.0, ss.WALL_LOWER),
    (-3.0, -2.0, ss.BACKWARD),
    (-0.5, 0.0, ss.STUCK),
    (0.5, 0.0, ss.STUCK),
    (3.0, 2.0, ss.FORWARD),
    (7.0, 5.0, ss.WALL_UPPER),
]


@pytest.mark.parametrize(("free", "velocity", "segment"), SEGMENTS)
def test_one_solve_a_segment_on_the_way(free: float, velocity: float, segment: int) -> None:
    """A joint that has to go from one segment to another passes those between; from rest as well."""
    for start in range(5):
        assert _solves(_one(free), [start]) == (1 + abs(segment - start), velocity, segment)
        joints, pattern = _one(free).table(np.zeros(1)), np.array([start])
        solves = ss.descend(np.ones((1, 1)), joints, pattern, np.empty((1, 1)), np.empty(1))
        assert (solves, pattern[0]) == (1 + abs(segment - ss.STUCK), segment)
        assert joints[0, ss.VELOCITY] == velocity


@pytest.mark.parametrize(("free", "velocity", "segment"), SEGMENTS)
def test_nothing_is_solved_where_the_free_motion_has_the_right_impulse(
    free: float, velocity: float, segment: int
) -> None:
    """With another impulse in it, or from another segment, something is."""
    for start in range(5):
        for held in (velocity - free, velocity - free + 0.25, velocity - free - 0.25):
            solves, v, found = _solves(_one(free), [start], held)
            assert (v, found) == (velocity, segment)
            assert (solves == 0) == (start == segment and held == velocity - free)


def test_one_joint_that_does_not_go_on_is_enough_to_solve() -> None:
    """Two joints that slide on; then one that would have to stop."""
    a = np.eye(2)
    for free, solves in (([3.0, 3.0], 0), ([3.0, 0.0], 2), ([0.0, 3.0], 2)):
        joints = Problem(a, np.array(free), np.ones(2), np.ones(2), -9 * np.ones(2), 9 * np.ones(2)).table(-np.ones(2))
        pattern = np.array([ss.FORWARD, ss.FORWARD])
        assert ss.goes_on(joints, pattern) == (solves == 0)
        assert ss.solve(a, joints, pattern, np.empty((2, 2)), np.empty(2)) == (solves, 0.0)
        assert joints[:, ss.VELOCITY].tolist() == [max(f - 1.0, 0.0) for f in free]


@pytest.mark.parametrize(
    ("free", "velocity", "both"),
    [
        (-5.0, -4.0, (ss.WALL_LOWER, ss.BACKWARD)),
        (-1.0, 0.0, (ss.BACKWARD, ss.STUCK)),
        (1.0, 0.0, (ss.STUCK, ss.FORWARD)),
        (6.0, 5.0, (ss.FORWARD, ss.WALL_UPPER)),
    ],
)
def test_where_two_segments_meet_a_joint_stays_on_its_own(free: float, velocity: float, both: tuple[int, int]) -> None:
    for start in both:
        assert _solves(_one(free), [start]) == (1, velocity, start)


@pytest.mark.parametrize("sign", [1, -1])
def test_without_friction_or_load_a_joint_stays_at_its_limit(sign: int) -> None:
    """At rest there, or on the way with exactly the free velocity that ends there: nothing is to be solved."""
    low, high, wall = (-5.0, 0.0, ss.WALL_UPPER) if sign > 0 else (0.0, 5.0, ss.WALL_LOWER)
    assert _solves(_one(0.0, (0.0, 0.0), low, high), [ss.STUCK]) == (0, 0.0, wall)
    assert _solves(_one(0.0, (0.0, 0.0), low, high), [wall]) == (0, 0.0, wall)
    assert _solves(_one(5.0 * sign, (0.0, 0.0), -5.0, 5.0), [wall]) == (0, 5.0 * sign, wall)


@pytest.mark.parametrize("start", [ss.BACKWARD, ss.FORWARD])
def test_without_friction_both_directions_are_one_segment(start: int) -> None:
    for free, velocity, solves in ((-9.0, -4.0, 2), (-3.0, -3.0, 0), (0.0, 0.0, 0), (3.0, 3.0, 0), (9.0, 5.0, 2)):
        segment = ss.WALL_LOWER if free < -4.0 else ss.WALL_UPPER if free > 5.0 else None
        expected = ss.BACKWARD if free < 0.0 else ss.FORWARD
        found = _solves(_one(free, (0.0, 0.0)), [start])
        assert found == (solves, velocity, expected if segment is None else segment)
        again = _one(free, (0.0, 0.0)).table(np.zeros(1))
        descent = ss.descend(np.ones((1, 1)), again, np.array([start]), np.empty((1, 1)), np.empty(1))
        assert (descent, again[0, ss.VELOCITY]) == (max(1, solves), velocity)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("sign", [1, -1])
def test_rounding_of_the_load_is_no_reason_to_slide(unit: float, sign: int) -> None:
    """A load that is above the grip by 1e-12 of it still sticks, in any unit and with one solve; by 1e-8 it slides."""
    for other in (0.0, 3.0):
        grips = (3.0 * unit, other * unit) if sign > 0 else (other * unit, 3.0 * unit)
        load = 3.0 * unit * sign
        above = load * (1.0 + 1e-12)
        p = _one(above, grips, -np.inf, np.inf)
        assert _solves(p, [ss.STUCK]) == (1, 0.0, ss.STUCK)
        assert _solves(p, [ss.STUCK], -above) == (0, 0.0, ss.STUCK), "held by the free motion"
        above = load * (1.0 + 1e-8)
        assert _solves(_one(above, grips, -np.inf, np.inf), [ss.STUCK])[1] == pytest.approx(above - load, rel=1e-6)


def test_rounding_of_large_parts_of_a_small_load_is_no_reason_to_slide() -> None:
    """Two joints held with impulses of -1 - 1e-7 and -3e6: the first is the difference of parts of 2e6."""
    a, free = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([1e6 + 0.5 * (1.0 + 1e-7), -2e6])
    for sign in (1.0, -1.0):
        wide = np.full(2, np.inf)
        p = Problem(a, sign * free, np.array([1.0, 1e7]), np.array([1.0, 1e7]), -wide, wide)
        assert _solves(p, [ss.STUCK, ss.STUCK]) == (1, 0.0, ss.STUCK)


@pytest.mark.parametrize("signs", [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)])
@pytest.mark.parametrize("first", [0, 1])
def test_the_joint_that_gains_most_starts(signs: tuple[float, float], first: int) -> None:
    """Loads 3 and 2 on grips of 1: where the first joint moves, the second one need not, and two solves are enough."""
    flip = np.diag(signs)
    a = flip @ np.array([[1.0, 0.9], [0.9, 1.0]]) @ flip
    load = flip @ np.where(np.arange(2) == first, 3.0, 2.0)
    free, wide = np.linalg.solve(a, load), np.full(2, np.inf)
    joints = Problem(a, free, np.ones(2), np.ones(2), -wide, wide).table(np.zeros(2))
    assert ss.descend(a, joints, np.full(2, ss.STUCK), np.empty((2, 2)), np.empty(2)) == 2
    expected = flip @ np.where(np.arange(2) == first, 2.0, 0.0)
    assert joints[:, ss.VELOCITY] == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("bad", [0, 1])
def test_a_matrix_that_is_not_positive_definite_gives_no_number(bad: int) -> None:
    a, wide = np.diag(np.where(np.arange(2) == bad, -1.0, 1.0)), np.full(2, np.inf)
    p = Problem(a, np.array([4.0, 5.0]), np.ones(2), np.ones(2), -wide, wide)
    joints = p.table(np.zeros(2))
    ss.solve(a, joints, np.full(2, ss.FORWARD), np.empty((2, 2)), np.empty(2))
    assert np.isnan(joints[:, ss.VELOCITY]).all()


@pytest.mark.parametrize("seed", range(10))
def test_residual_is_that_of_its_definition(seed: int) -> None:
    """With any velocity; shrinking u by [-b, f] is u - clip(u, -b, f)."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    p = random_problem(rng, n, 1.0)
    held = rng.standard_normal(n)
    joints, v = p.table(held), rng.choice([0.1, 1.0, 5.0], n) * rng.standard_normal(n)
    joints[:, ss.VELOCITY] = v
    own = 1.0 / np.diag(p.a)
    u = v - own * (p.a @ (v - p.free))
    proximal = np.clip(u - np.clip(u, -own * p.backward, own * p.forward), p.lower, p.upper)
    assert ss.residual(p.a, joints) == pytest.approx(np.abs(proximal - v).max(), rel=1e-10)
