"""Friction problem with rows = joints: optimality conditions, all combinations of modes, reference implementation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics_ros.simulation.step import friction_problem, row
from support.friction_problems import Problem, random_problem


def _one(
    free: float,
    bounds: tuple[float, float] = (1.0, 1.0),
    low: float = -4.0,
    high: float = 5.0,
    coupled: bool = False,
) -> Problem:
    """Return a problem with z = free + lambda: one joint with A = 1, or the row z = v1 + v2 with A = 2."""
    rest = [np.array([x]) for x in (*bounds, low, high)]
    if coupled:
        return Problem(
            2.0 * np.eye(2), free * np.array([0.75, 0.25]), *rest, np.ones((1, 2))
        )
    return Problem(np.ones((1, 1)), np.array([free]), *rest)


def _wide(a: np.ndarray, free: np.ndarray, bounds: list[float]) -> Problem:
    """Return a problem without limits and with equal friction in both directions."""
    bound = np.array(bounds)
    wide = np.full(len(bounds), np.inf)
    return Problem(a, free, bound, bound, -wide, wide)


def _mode_of(p: Problem, j: int, velocity: float, impulse: float) -> int:
    """Return the mode of a solution by the definitions."""
    if velocity == p.lower[j] < 0.0 or (
        velocity == 0.0 == p.lower[j] and impulse >= p.backward[j]
    ):
        return row.AT_LOWER
    if velocity == p.upper[j] > 0.0 or (
        velocity == 0.0 == p.upper[j] and impulse <= -p.forward[j]
    ):
        return row.AT_UPPER
    if velocity == 0.0 and (
        p.forward[j] + p.backward[j] > 0.0 or 0.0 in (p.lower[j], p.upper[j])
    ):
        return row.STUCK
    return row.BACKWARD if velocity < 0.0 else row.FORWARD


both_solvers = pytest.mark.parametrize("coupled", [False, True], ids=["joint", "row"])


@given(seed=st.integers(0, 2**31 - 1), n=st.integers(1, 9), descend=st.booleans())
def test_solution_satisfies_the_optimality_conditions(
    seed: int, n: int, descend: bool
) -> None:
    rng = np.random.default_rng(seed)
    p = random_problem(rng, n, 5.0)
    v, impulse, _, _ = p.solved(rng.integers(0, 5, n), descend=descend)
    assert p.violation(v) < 1e-9 and np.all(impulse * v <= 0.0)
    assert np.all((p.lower <= v) & (v <= p.upper))


@pytest.mark.parametrize("descend", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_solution_is_the_best_of_all_combinations_of_modes(
    seed: int, descend: bool
) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    p = random_problem(rng, n, 2.0)
    held = p.a @ rng.standard_normal(n) * (seed % 2)
    modes = rng.integers(0, 5, n)
    v, impulse, error, solves = p.solved(modes, held, descend)
    assert np.abs(v - p.brute_force()).max() < 1e-9 and error < 1e-9
    assert not descend or solves <= 3 * n + 2, "not many more than there are joints"
    assert modes.tolist() == [_mode_of(p, j, v[j], impulse[j]) for j in range(n)]
    expected = p.a @ (v - p.free)
    assert impulse == pytest.approx(
        expected, abs=1e-12 * (1.0 + np.abs(expected).max())
    )
    assert np.all(impulse[modes == row.FORWARD] == -p.forward[modes == row.FORWARD]), (
        "to the bit"
    )
    assert np.all(
        impulse[modes == row.BACKWARD] == p.backward[modes == row.BACKWARD]
    ), "to the bit"
    before = modes.copy()
    rows = p.table()
    assert friction_problem.unconstrained_is_solution(rows, modes, v, impulse)
    row.label_modes(rows, modes)
    assert np.array_equal(modes, before)
    assert np.array_equal(
        rows[:, [row.VELOCITY, row.IMPULSE]], np.column_stack([v, impulse])
    )


def test_fallback_finds_the_solution_where_simultaneous_moves_cycle() -> None:
    """Problems, from a random search, on which changing all modes at once cycles."""
    for seed in (347, 392, 1546, 2072, 2502):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 10))
        p = random_problem(rng, n, 3.0)
        v, _, _, solves = p.solved(rng.integers(0, 5, n))
        assert 3 * n + 10 < solves < 8 * n + 10 and p.violation(v) < 1e-12


#: Problems, from a random search, in which joints reverse or are pulled back from their limits.
TURNING = (
    131,
    265,
    1333,
    755,
    76,
    103,
    120,
    470,
    482,
    525,
    626,
    680,
    707,
    719,
    852,
    858,
    864,
    1019,
    1349,
    1466,
    6,
    18,
)
#: Fast joints, half of them without friction, that reach one limit after the other.
FAST = (9, 13, 21, 39, 54, 55, 62, 72, 85, 95, 114)


@pytest.mark.parametrize(
    ("seed", "fast"),
    [*((k, False) for k in (1, 2, *TURNING)), *((k, True) for k in FAST)],
)
def test_descent_takes_as_many_solves_as_the_reference(seed: int, fast: bool) -> None:
    """From rest, with the steps of the reference implementation."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 9))
    p = random_problem(rng, n, 3.0 if fast else 4.0)
    some = rng.choice([0.0, 0.03], n) if fast else 0.03
    p.forward = some * p.forward
    p.backward = some * p.backward
    if fast:
        p.free = 3.0 * p.free
        p.lower = -rng.choice([0.1, 1.0, 3.0], n)
        p.upper = rng.choice([0.1, 1.0, 3.0], n)
    expected, _, solution = p.textbook()
    v, _, _, solves = p.solved(rng.integers(0, 5, n), descend=True)
    assert v == pytest.approx(solution, rel=1e-9, abs=1e-10)
    assert solves == expected


@pytest.mark.parametrize("bounds", [(0.0, 0.0), (0.5, 0.0), (0.0, 0.5)])
@pytest.mark.parametrize("lower", [0.0, -0.5, -np.inf])
@pytest.mark.parametrize("upper", [0.0, 0.5, np.inf])
def test_only_modes_that_exist_are_tried(
    bounds: tuple[float, float], lower: float, upper: float
) -> None:
    """There is no limit mode at a velocity bound of 0, and no stuck mode without friction and limits."""
    frictionless = not any(bounds) and lower < 0.0 < upper
    exist = {
        row.AT_LOWER: -np.inf < lower < 0.0,
        row.BACKWARD: lower < 0.0,
        row.STUCK: not frictionless,
    }
    exist |= {row.FORWARD: upper > 0.0, row.AT_UPPER: 0.0 < upper < np.inf}
    instead = {
        row.AT_LOWER: [1, 2],
        row.BACKWARD: [2],
        row.STUCK: [3],
        row.FORWARD: [2],
        row.AT_UPPER: [3, 2],
    }
    for mode in range(5):
        rows = _one(np.nan, bounds, lower, upper).table()
        modes = np.array([mode])
        friction_problem.replace_invalid_modes(rows, modes)
        assert modes[0] == next(s for s in [mode, *instead[mode]] if exist[s])
        assert row.is_frictionless(rows, 0) == frictionless


@both_solvers
@pytest.mark.parametrize(
    ("free", "velocity", "mode"),
    [
        (-7.0, -4.0, row.AT_LOWER),
        (-3.0, -2.0, row.BACKWARD),
        (-0.5, 0.0, row.STUCK),
        (0.5, 0.0, row.STUCK),
        (3.0, 2.0, row.FORWARD),
        (7.0, 5.0, row.AT_UPPER),
    ],
)
def test_one_solve_a_mode_on_the_way(
    free: float, velocity: float, mode: int, coupled: bool
) -> None:
    """One per mode passed; a coupled row starts from rest; none if the unconstrained motion is the solution."""
    p = _one(free, coupled=coupled)
    right = velocity - free
    room = 1e-13 * coupled
    for start in range(5):
        modes = np.array([start])
        v, impulse, error, solves = p.solved(modes)
        assert [v.sum(), impulse[0], error] == pytest.approx(
            [velocity, right, 0.0], rel=0, abs=room
        )
        from_rest = 1 + abs(mode - row.STUCK)
        assert solves == (
            (1 + from_rest if start != mode else 1)
            if coupled
            else 1 + abs(mode - start)
        )
        assert modes[0] == mode
        v, impulse, error, solves = p.solved(np.array([start]), descend=True)
        assert [v.sum(), impulse[0], error] == pytest.approx(
            [velocity, right, 0.0], rel=0, abs=room
        )
        assert solves == from_rest
        for held in (right, right + 0.25, right - 0.25):
            v, _, _, solves = p.solved(np.array([start]), held)
            assert v.sum() == pytest.approx(velocity, rel=0, abs=room)
            assert coupled or (solves == 0) == (start == mode and held == right)


@both_solvers
@pytest.mark.parametrize(
    ("free", "velocity", "both"),
    [
        (-5.0, -4.0, (row.AT_LOWER, row.BACKWARD)),
        (-1.0, 0.0, (row.BACKWARD, row.STUCK)),
        (1.0, 0.0, (row.STUCK, row.FORWARD)),
        (6.0, 5.0, (row.FORWARD, row.AT_UPPER)),
    ],
)
def test_where_two_modes_meet_each_is_kept(
    free: float, velocity: float, both: tuple[int, int], coupled: bool
) -> None:
    for start in both:
        modes = np.array([start])
        v, _, error, solves = _one(free, coupled=coupled).solved(modes)
        assert (solves, modes[0]) == (1, start)
        assert [v.sum(), error] == pytest.approx(
            [velocity, 0.0], rel=0, abs=1e-14 * coupled
        )


@pytest.mark.parametrize("sign", [1, -1])
def test_limit_holds_a_joint_once_the_load_reaches_the_friction_bound(
    sign: int,
) -> None:
    limit = row.AT_UPPER if sign > 0 else row.AT_LOWER
    room = (-5.0, 0.0) if sign > 0 else (0.0, 5.0)
    loads = (
        (3.0, limit),
        (np.nextafter(3.0, 0.0), row.STUCK),
        (-3.5, row.BACKWARD if sign > 0 else row.FORWARD),
    )
    for load, mode in loads:
        for start in range(5):
            modes = np.array([start])
            v, impulse, error, _ = _one(sign * load, (3.0, 3.0), *room).solved(modes)
            expected = (0.0, -sign * load) if load > 0.0 else (-0.5 * sign, 3.0 * sign)
            assert (v, impulse, error) == (*expected, 0.0) and modes[0] == mode
    for free, at in ((0.0, row.STUCK), (0.0, limit), (5.0 * sign, limit)):
        modes = np.array([at])
        p = _one(free, (0.0, 0.0), *(room if free == 0.0 else (-5.0, 5.0)))
        v, _, _, solves = p.solved(modes)
        assert (v, solves, modes[0]) == (free, 0, limit), (
            "without friction or load it stays there"
        )


def test_nothing_is_solved_only_if_no_mode_changes() -> None:
    """Two joints that continue to slip; then one that stops."""
    for free, solves in (([3.0, 3.0], 0), ([3.0, 0.0], 1), ([0.0, 3.0], 1)):
        p = _wide(np.eye(2), np.array(free), [1.0, 1.0])
        modes = np.array([row.FORWARD, row.FORWARD])
        v, _, error, count = p.solved(modes, -1.0)
        assert (count, error, v.tolist()) == (
            solves,
            0.0,
            [max(f - 1.0, 0.0) for f in free],
        )


@both_solvers
@pytest.mark.parametrize("start", [row.BACKWARD, row.FORWARD])
def test_without_friction_both_directions_are_one_mode(
    start: int, coupled: bool
) -> None:
    for free, velocity, solves in (
        (-9.0, -4.0, 1),
        (-3.0, -3.0, 0),
        (0.0, 0.0, 0),
        (3.0, 3.0, 0),
        (9.0, 5.0, 1),
    ):
        modes = np.array([start])
        p = _one(free, (0.0, 0.0), coupled=coupled)
        v, _, _, count = p.solved(modes)
        assert v.sum() == pytest.approx(velocity, rel=0, abs=1e-13 * coupled)
        # Rows are not tried at the unconstrained motion first, and then descend from rest.
        assert count == (1 + 2 * solves if coupled else solves)
        if solves:
            assert modes[0] == (row.AT_LOWER if free < 0.0 else row.AT_UPPER)
        elif not coupled:
            assert modes[0] == (row.BACKWARD if free < 0.0 else row.FORWARD)
            assert p.solved(np.array([start]), descend=True)[3] == 1


@both_solvers
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("sign", [1, -1])
def test_rounding_of_the_load_does_not_cause_slipping(
    unit: float, sign: int, coupled: bool
) -> None:
    """A load 1e-12 above the friction bound (relative) still sticks, in any unit and with one solve; 1e-8 slips."""
    for other in (0.0, 3.0):
        bounds = (3.0 * unit, other * unit) if sign > 0 else (other * unit, 3.0 * unit)
        load = 3.0 * unit * sign
        for above, solves in ((1e-12, 1), (1e-8, 3 if coupled else 2)):
            p = _one(load * (1.0 + above), bounds, -np.inf, np.inf, coupled)
            v, _, error, count = p.solved(np.array([row.STUCK]))
            assert count == solves
            assert v.sum() == pytest.approx(
                load * above * (solves > 1), rel=1e-6, abs=1e-15 * unit
            )
            assert error <= 1e-11 * unit
        if not coupled:
            p = _one(load * (1.0 + 1e-12), bounds, -np.inf, np.inf)
            v, _, _, count = p.solved(np.array([row.STUCK]), -load * (1.0 + 1e-12))
            assert (v, count) == (0.0, 0), "held by the unconstrained motion"


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_rounding_of_large_terms_does_not_cause_slipping(sign: float) -> None:
    """Two stuck joints with impulses of -1 - 1e-7 and -3e6: the first is the difference of terms of 2e6."""
    a = np.array([[2.0, 1.0], [1.0, 2.0]])
    free = np.array([1e6 + 0.5 * (1.0 + 1e-7), -2e6])
    v, _, _, solves = _wide(a, sign * free, [1.0, 1e7]).solved(
        np.array([row.STUCK, row.STUCK])
    )
    assert (v[0], solves) == (0.0, 1)


@pytest.mark.parametrize("bad", [0, 1])
def test_indefinite_matrix_gives_nan(bad: int) -> None:
    p = _wide(
        np.diag(np.where(np.arange(2) == bad, -1.0, 1.0)),
        np.array([4.0, 5.0]),
        [1.0, 1.0],
    )
    assert np.isnan(p.solved(np.full(2, row.FORWARD))[0]).all()
