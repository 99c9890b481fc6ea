"""Elimination of constraint rows, against NumPy's rank, null space and linear systems."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import null_space

from robot_dynamics_ros.simulation.step import elimination, row
from support.arms import Array

SEEDS = range(12)


def _rows(rng: np.random.Generator, n: int, count: int) -> Array:
    """Return rows with elements -1, 0, 1 and 2, so that some are dependent; one is zero."""
    e = rng.choice([-1.0, 0.0, 1.0, 2.0], (count, n))
    e[rng.integers(count)] = 0.0
    return e


def _eliminated(
    e: Array, chosen: NDArray[np.bool_], targets: Array
) -> elimination.Equations:
    return elimination.add_rows(
        elimination.no_equations(e.shape[1]), e, chosen, targets
    )


def _hold(matrix: Array, directions: Array, rows: Array, motion: Array) -> int:
    none = elimination.no_equations(len(matrix))
    return int(elimination.hold_at_rest(none, matrix, directions, rows, motion)[0])


def _independent(e: Array, chosen: NDArray[np.bool_]) -> list[int]:
    """Return the chosen rows that are independent of earlier chosen ones."""
    independent: list[int] = []
    for k in np.flatnonzero(chosen):
        if np.linalg.matrix_rank(e[[*independent, k]]) > len(independent):
            independent.append(int(k))
    return independent


@pytest.mark.parametrize("scale", [1.0, 1e-20, 1e20])
@pytest.mark.parametrize("seed", SEEDS)
def test_equations_are_those_of_the_independent_rows(seed: int, scale: float) -> None:
    """Reduced row echelon form with NumPy's rank, in any unit."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    count = int(rng.integers(2, 8))
    e = scale * _rows(rng, n, count)
    chosen = rng.random(count) < 0.8
    targets = rng.standard_normal(count)
    equations = _eliminated(e, chosen, targets)
    members = equations.members[: equations.rank]
    pivots = equations.pivots[: equations.rank]
    assert equations.rank == len(_independent(e / scale, chosen))
    assert len(_independent(e[members] / scale, chosen[members])) == equations.rank
    table = equations.table[: equations.rank, :n]
    right = equations.table[: equations.rank, -1]
    assert np.array_equal(table[:, pivots], np.eye(equations.rank)), "to the bit"
    mixture = equations.table[: equations.rank, n : n + equations.rank]
    assert np.abs(mixture @ e[members] - table).max(initial=0.0) < 1e-12
    expected = mixture @ targets[members]
    assert np.abs(right - expected).max(initial=0.0) <= 1e-12 * np.abs(expected).max(
        initial=0.0
    )
    v = rng.standard_normal(n)
    before = v.copy()
    elimination.satisfy(equations, v)
    assert table @ v == pytest.approx(right, rel=1e-12, abs=1e-13)
    others = np.setdiff1d(np.arange(n), pivots)
    assert np.array_equal(v[others], before[others]), (
        "a vector changes only in its pivots"
    )


@pytest.mark.parametrize("nearness", [1e-9, 1e-13])
def test_rows_that_differ_by_rounding_are_dependent(nearness: float) -> None:
    e = np.array([[1.0, 1.0, 0.0], [1.0, 1.0 + nearness, 0.0]])
    assert _eliminated(e, np.ones(2, bool), np.zeros(2)).rank == (
        2 if nearness > 1e-11 else 1
    )


def test_the_largest_element_is_the_pivot() -> None:
    e = np.array([[1e-14, 1.0, 0.3], [1.0, 1.0, 0.7], [0.2, 1.0, -0.5]])
    solution = np.array([0.1, 0.2, 0.3])
    v = np.zeros(3)
    equations = _eliminated(e, np.ones(3, bool), e @ solution)
    elimination.satisfy(equations, v)
    assert equations.pivots[0] == 1
    assert v == pytest.approx(solution, rel=1e-13)


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_the_coordinate_without_mass_is_named(bad: int) -> None:
    matrix = np.diag(np.where(np.arange(3) == bad, -1.0, 1.0))
    for held in (None, 0, 1, 2):
        e = np.zeros((1, 3))
        e[0, held or 0] = held is not None
        equations = _eliminated(e, np.ones(1, bool), np.zeros(1))
        failed = elimination.minimise_in_null_space(
            equations, matrix, np.ones(3), np.empty(3)
        )
        assert failed == (-1 if held == bad else bad), "one that is held needs no mass"
        rows = np.full((1, row.SIZE), float(held is not None))
        motion = np.vstack([np.zeros(3), np.ones(3), matrix])
        assert _hold(matrix, e, rows, motion) == failed


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_at_rest_stay_at_rest(seed: int) -> None:
    """The acceleration minimises 1/2 a^T A a - load^T a subject to E a = 0; the reaction does no work."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    count = int(rng.integers(2, 6))
    half = rng.standard_normal((n, n))
    e = _rows(rng, n, count)
    matrix = half @ half.T + 0.1 * np.eye(n)
    load = rng.standard_normal(n)
    rests = rng.random(count) < 0.5
    allowed = null_space(e[rests]) if rests.any() else np.eye(n)
    expected = allowed @ np.linalg.solve(allowed.T @ matrix @ allowed, allowed.T @ load)

    x = np.full(n, np.nan)
    equations = _eliminated(e, rests, rng.standard_normal(count))
    assert elimination.minimise_in_null_space(equations, matrix, load, x) == -1
    assert x == pytest.approx(expected, rel=1e-10, abs=1e-12)

    rows = np.full((count, row.SIZE), np.nan)
    rows[:, row.AT_REST] = rests
    motion = np.vstack([np.full(n, np.nan), load, matrix])
    assert _hold(matrix, e, rows, motion) == -1
    acceleration, reaction = motion[:2]
    assert acceleration == pytest.approx(expected, rel=1e-10, abs=1e-12)
    assert reaction == pytest.approx(matrix @ acceleration - load, rel=1e-10, abs=1e-12)
    assert np.abs(allowed.T @ reaction).max(initial=0.0) < 1e-11 and np.array_equal(
        motion[2:], matrix
    )


def test_the_last_of_many_rows_is_at_rest() -> None:
    directions = np.vstack([np.eye(2)] * 10)
    rows = np.zeros((20, row.SIZE))
    rows[19, row.AT_REST] = 1.0
    motion = np.vstack([np.zeros(2), [3.0, 5.0], np.eye(2)])
    assert _hold(np.eye(2), directions, rows, motion) == -1
    assert motion[:2].tolist() == [[3.0, 0.0], [0.0, -5.0]]


def test_rows_with_targets_reach_them() -> None:
    """x + y = 1.5, with x - y and z free; then a target for y as well."""
    e = np.array([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0], [0.0, 0.0, 1.0]])
    position = np.array([0.5, 0.7, 0.3])
    for required, end in (
        ([1.5, np.nan, np.nan], None),
        ([1.5, 0.25, -2.0], [0.875, 0.625, -2.0]),
    ):
        targets = np.array(required)
        elimination.satisfy(_eliminated(e, ~np.isnan(targets), targets), position)
        assert position[0] + position[1] == 1.5
        assert position.tolist() == end if end else position[2] == 0.3
