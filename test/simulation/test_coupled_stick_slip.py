"""The friction problem along combinations of coordinates, against its optimality conditions in NumPy and SciPy."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import lsq_linear
from simulation.test_stick_slip import random_problem

from robot_dynamics_ros.simulation import coupled_stick_slip as coupled
from robot_dynamics_ros.simulation import stick_slip as ss

Array = NDArray[np.float64]


class Problem:
    """minimise 1/2 (v - free)^T A (v - free) + forward max(z, 0) + backward max(-z, 0), z = E v in [lower, upper]."""

    def __init__(self, rng: np.random.Generator, n: int, count: int, *, whole: bool) -> None:
        """``whole``: factors of E are -1, 0 and 1, so that lines depend on each other."""
        q, _ = np.linalg.qr(rng.standard_normal((n, n)))
        self.a = q @ np.diag(10 ** rng.uniform(-3.0, 0.0, n)) @ q.T
        self.a = (self.a + self.a.T) / 2
        self.e = rng.choice([-1.0, 0.0, 1.0], (count, n)) if whole else rng.standard_normal((count, n))
        self.e[np.arange(count), rng.integers(0, n, count)] = 1.0
        size = np.abs(self.a).sum() / n
        self.forward = rng.choice([0.0, 0.3, 1.0, 3.0], count) * rng.uniform(0, 1, count) * size
        self.backward = np.where(rng.random(count) < 0.5, self.forward, rng.uniform(0, 1, count) * size)
        self.lower = -rng.choice([0.0, 0.1, 1.0, np.inf], count)
        self.upper = rng.choice([0.0, 0.1, 1.0, np.inf], count)
        self.free = rng.standard_normal(n)

    def solved(self, pattern: NDArray[np.int64], carried: Array) -> tuple[Array, Array, float]:
        v, impulse, error, _ = self.counted(pattern, carried)
        return v, impulse, error

    def counted(self, pattern: NDArray[np.int64], carried: Array) -> tuple[Array, Array, float, int]:
        """Velocity, impulses, residual and the linear systems solved."""
        lines = np.full((len(self.e), ss.LINE_SIZE), np.nan)
        lines[:, ss.GRIP_FORWARD], lines[:, ss.GRIP_BACKWARD] = self.forward, self.backward
        lines[:, ss.LOWER], lines[:, ss.UPPER] = self.lower, self.upper
        v = np.empty(len(self.free))
        free = self.free + np.linalg.solve(self.a, carried)
        solves, error = coupled.solve_coupled(self.a, self.e, lines, pattern, free, carried, v)
        assert lines[:, ss.VELOCITY] == pytest.approx(self.e @ v, abs=1e-14)
        return v, lines[:, ss.IMPULSE].copy(), error, solves

    def objective(self, v: Array) -> float:
        d, z = v - self.free, self.e @ v
        return float(d @ self.a @ d / 2 + self.forward @ np.maximum(z, 0) + self.backward @ np.maximum(-z, 0))

    def violation(self, v: Array) -> float:
        """How far A (v - free) is from any E^T lambda with each lambda in its range; relative."""
        z = self.e @ v
        room = 1e-9 * (1.0 + np.abs(self.e) @ np.abs(v))
        assert np.all((self.lower - room <= z) & (z <= self.upper + room))
        highest = np.where(z > room, -self.forward, self.backward)
        lowest = np.where(z < -room, self.backward, -self.forward)
        highest = np.where(z <= self.lower + room, np.inf, highest)
        lowest = np.where(z >= self.upper - room, -np.inf, lowest)
        pull = self.a @ (v - self.free)
        # Where nothing holds it, v is the free velocity to rounding.
        size = np.abs(self.a) @ (np.abs(v) + np.abs(self.free)) + np.abs(self.e).T @ (self.forward + self.backward)
        tiny = 1e-13 * size.max()  # lsq_linear wants an interval
        answer = lsq_linear(self.e.T, pull, (lowest - tiny, highest + tiny), method="bvls", tol=1e-14)
        return float(np.max(np.abs(answer.fun)) / size.max())


@given(seed=st.integers(0, 2**31 - 1), n=st.integers(1, 5), extra=st.integers(-2, 4), whole=st.booleans())
def test_satisfies_the_optimality_conditions(seed: int, n: int, extra: int, whole: bool) -> None:
    rng = np.random.default_rng(seed)
    count = max(1, n + extra)
    p = Problem(rng, n, count, whole=whole)
    v, impulse, error = p.solved(rng.integers(0, 5, count), np.zeros(n))
    assert p.violation(v) < 1e-8
    assert error < 1e-8 * (1.0 + np.abs(p.free).max())
    assert impulse @ (p.e @ v) <= 1e-12


def test_ten_thousand_problems_with_lines_that_depend_on_each_other_are_all_solved() -> None:
    """Where many kinks meet in one point, an active set could go round in circles."""
    worst = 0.0
    for seed in range(10_000):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 4))
        p = Problem(rng, n, n + int(rng.integers(0, 5)), whole=True)
        worst = np.maximum(worst, p.solved(rng.integers(0, 5, len(p.e)), np.zeros(n))[2])  # NaN stays
    assert worst < 1e-9


@given(seed=st.integers(0, 2**31 - 1), n=st.integers(1, 6))
def test_equals_the_separable_solution_where_each_line_is_a_coordinate(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    p = random_problem(rng, n, 2.0)
    expected, impulse, _ = p.solved(np.full(n, ss.STUCK), np.zeros(n))
    q = Problem(rng, n, n, whole=False)
    q.a, q.e, q.free = p.a, np.eye(n), p.free
    q.forward, q.backward, q.lower, q.upper = p.forward, p.backward, p.lower, p.upper
    v, pull, _ = q.solved(rng.integers(0, 5, n), p.a @ rng.standard_normal(n))
    assert np.abs(v - expected).max() < 1e-9
    assert np.abs(pull - impulse).max() < 1e-9 * (1.0 + np.abs(impulse).max())
    assert np.array_equal(v == 0.0, expected == 0.0), "what sticks has the velocity 0, not nearly 0"


def test_a_stuck_combination_keeps_both_coordinates_together() -> None:
    """A = 1, z = v2 - v1 stuck, free velocity (3, 1): both move at 2, and friction gives -1 and 1."""
    p = Problem(np.random.default_rng(0), 2, 1, whole=True)
    p.a, p.e, p.free = np.eye(2), np.array([[-1.0, 1.0]]), np.array([3.0, 1.0])
    p.forward = p.backward = np.array([1.5])
    p.lower, p.upper = np.array([-np.inf]), np.array([np.inf])
    v, impulse, error = p.solved(np.array([ss.BACKWARD]), np.zeros(2))
    assert v[0] == v[1] == pytest.approx(2.0, abs=1e-14)
    assert impulse == pytest.approx([1.0])
    assert error == pytest.approx(0.0, abs=1e-15)


def brute_force(p: Problem) -> Array:
    """The best feasible point over all patterns of fixed and sliding lines: the solution is among them."""
    n, count = len(p.free), len(p.e)
    best, least = np.zeros(n), p.objective(np.zeros(n))
    for pattern in itertools.product(range(5), repeat=count):
        ends = np.select([[s == 0 for s in pattern], [s == 4 for s in pattern]], [p.lower, p.upper], 0.0)
        pull = np.select([[s == 1 for s in pattern], [s == 3 for s in pattern]], [p.backward, -p.forward], 0.0)
        held = np.array([s not in (1, 3) for s in pattern])
        if not np.isfinite(ends).all():
            continue
        e = p.e[held]
        system = np.block([[p.a, -e.T], [e, np.zeros((len(e), len(e)))]])
        v = np.linalg.lstsq(system, np.concatenate([p.a @ p.free + p.e.T @ pull, ends[held]]), rcond=1e-12)[0][:n]
        z, room = p.e @ v, 1e-10
        if np.all((p.lower - room <= z) & (z <= p.upper + room)) and p.objective(v) < least:
            best, least = v, p.objective(v)
    return best


@pytest.mark.parametrize("seed", range(30))
def test_finds_the_best_of_all_patterns(seed: int) -> None:
    """From a random pattern; and the pattern that it tells is that of the solution."""
    rng = np.random.default_rng(seed)
    n, count = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    p = Problem(rng, n, count, whole=True)
    pattern = rng.integers(0, 5, count)
    v, impulse, error = p.solved(pattern, np.zeros(n))
    assert np.abs(v - brute_force(p)).max() < 1e-8
    assert error < 1e-9
    z, room = p.e @ v, 1e-9
    ends = {ss.WALL_LOWER: p.lower, ss.STUCK: np.zeros(count), ss.WALL_UPPER: p.upper}
    for k, segment in enumerate(pattern):
        if segment in ends:
            assert z[k] == pytest.approx(ends[segment][k], abs=room)
        elif p.forward[k] + p.backward[k] > 0.0:
            assert z[k] > -room if segment == ss.FORWARD else z[k] < room
            assert impulse[k] == (-p.forward[k] if segment == ss.FORWARD else p.backward[k])
    again, same, _, solves = p.counted(pattern, np.zeros(n))
    assert solves == 1, "the solution's own pattern leads there at once"
    assert again == pytest.approx(v, abs=1e-12)
    assert same == pytest.approx(impulse, abs=1e-12)
