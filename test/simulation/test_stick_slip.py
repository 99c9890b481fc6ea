"""The friction problem against its optimality conditions and against trying every pattern, in plain NumPy.

The problem is strictly convex: the point that satisfies the optimality conditions is the only solution.
"""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from robot_dynamics_ros.simulation import stick_slip as ss

Array = NDArray[np.float64]


@dataclass
class Problem:
    """minimise 1/2 (v - free)^T A (v - free) + forward max(v, 0) + backward max(-v, 0) in [lower, upper]."""

    a: Array
    free: Array
    forward: Array
    backward: Array
    lower: Array
    upper: Array

    def objective(self, v: Array) -> float:
        d = v - self.free
        return float(d @ self.a @ d / 2 + self.forward @ np.maximum(v, 0) + self.backward @ np.maximum(-v, 0))

    def table(self, held: Array) -> Array:
        joints = np.full((len(self.free), ss.LINE_SIZE), np.nan)
        joints[:, ss.FREE] = self.free + np.linalg.solve(self.a, held)
        joints[:, ss.HELD] = held
        joints[:, ss.GRIP_FORWARD] = self.forward
        joints[:, ss.GRIP_BACKWARD] = self.backward
        joints[:, ss.LOWER] = self.lower
        joints[:, ss.UPPER] = self.upper
        joints[:, ss.IMPULSE] = 0.0
        return joints

    def solved(self, pattern: NDArray[np.int64], held: Array, descend: bool = False) -> tuple[Array, Array, float]:
        n = len(self.free)
        joints = self.table(held)
        factor, change = np.empty((n, n)), np.empty(n)
        if descend:
            ss.descend(self.a, joints, pattern, factor, change)
            error = ss.residual(self.a, joints)
        else:
            _, error = ss.solve(self.a, joints, pattern, factor, change)
        return joints[:, ss.VELOCITY].copy(), joints[:, ss.IMPULSE].copy(), error

    def violation(self, v: Array) -> float:
        """Largest violation of the optimality conditions, relative to the size of the impulses."""
        impulse = self.a @ (v - self.free)
        size = np.abs(self.a) @ np.abs(v - self.free) + self.forward + self.backward + 1e-300
        highest = np.where(v > 0, -self.forward, self.backward)
        lowest = np.where(v < 0, self.backward, -self.forward)
        highest = np.where(v == self.lower, np.inf, highest)
        lowest = np.where(v == self.upper, -np.inf, lowest)
        assert np.all((self.lower <= v) & (v <= self.upper))
        return float(np.max(np.maximum(impulse - highest, lowest - impulse) / size))


def random_problem(rng: np.random.Generator, n: int, spread: float = 3.0) -> Problem:
    """Strongly coupled for a large spread; joints without friction, without limits, at their limits."""
    q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    a = q @ np.diag(10 ** rng.uniform(-spread, 0.0, n)) @ q.T
    a = (a + a.T) / 2
    size = np.abs(a) @ np.ones(n)
    forward = rng.choice([0.0, 0.3, 1.0, 3.0], n) * rng.uniform(0, 1, n) * size
    backward = np.where(rng.random(n) < 0.5, forward, rng.choice([0.0, 1.0], n) * rng.uniform(0, 1, n) * size)
    lower = -rng.choice([0.0, 0.1, 1.0, np.inf], n)
    upper = rng.choice([0.0, 0.1, 1.0, np.inf], n)
    return Problem(a, rng.standard_normal(n), forward, backward, lower, upper)


def brute_force(p: Problem) -> Array:
    """The best feasible point over all patterns of fixed and sliding joints: the solution is among them."""
    n = len(p.free)
    best, best_value = np.zeros(n), p.objective(np.zeros(n))
    for pattern in itertools.product(range(5), repeat=n):
        v = np.select([[s == 0 for s in pattern], [s == 4 for s in pattern]], [p.lower, p.upper], 0.0)
        pull = np.select([[s == 1 for s in pattern], [s == 3 for s in pattern]], [p.backward, -p.forward], 0.0)
        slides = np.array([s in (1, 3) for s in pattern])
        if not np.isfinite(v).all():
            continue
        if slides.any():
            rhs = pull[slides] - p.a[np.ix_(slides, ~slides)] @ (v - p.free)[~slides]
            v[slides] = p.free[slides] + np.linalg.solve(p.a[np.ix_(slides, slides)], rhs)
        if np.all((p.lower <= v) & (v <= p.upper)) and p.objective(v) < best_value:
            best, best_value = v, p.objective(v)
    return best


@pytest.mark.parametrize("descend", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_finds_the_best_of_all_patterns(seed: int, descend: bool) -> None:
    rng = np.random.default_rng(seed)
    p = random_problem(rng, int(rng.integers(1, 5)), 2.0)
    n = len(p.free)
    v, _, error = p.solved(rng.integers(0, 5, n) if not descend else np.full(n, ss.STUCK), np.zeros(n), descend)
    assert np.abs(v - brute_force(p)).max() < 1e-9
    assert error < 1e-9


@given(seed=st.integers(0, 2**31 - 1), n=st.integers(1, 9), descend=st.booleans())
def test_satisfies_the_optimality_conditions(seed: int, n: int, descend: bool) -> None:
    rng = np.random.default_rng(seed)
    p = random_problem(rng, n, 5.0)
    v, impulse, _ = p.solved(rng.integers(0, 5, n), np.zeros(n), descend)
    assert p.violation(v) < 1e-9
    assert np.all(impulse * v <= 0.0)


def test_simultaneous_moves_may_cycle_and_the_fallback_still_finds_the_solution() -> None:
    """Problems, found by search, on which moving all joints at once comes back to the same patterns."""
    for seed in (347, 392, 1546, 2072, 2502):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 10))
        p = random_problem(rng, n, 3.0)
        joints = p.table(np.zeros(n))
        solves, _ = ss.solve(p.a, joints, rng.integers(0, 5, n), np.empty((n, n)), np.empty(n))
        assert 3 * n + 10 < solves < 8 * n + 10
        assert p.violation(joints[:, ss.VELOCITY]) < 1e-12


@given(seed=st.integers(0, 2**31 - 1), n=st.integers(1, 8))
def test_neither_the_pattern_nor_what_is_held_changes_the_solution(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    p = random_problem(rng, n, 2.0)
    first, _, _ = p.solved(np.full(n, ss.STUCK), np.zeros(n))
    again, _, _ = p.solved(rng.integers(0, 5, n), p.a @ rng.standard_normal(n))
    assert np.abs(first - again).max() < 1e-10


@given(seed=st.integers(0, 2**31 - 1), n=st.integers(1, 8))
def test_the_solutions_pattern_is_a_fixed_point_and_takes_one_solve_at_most(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    p = random_problem(rng, n, 2.0)
    pattern = np.full(n, ss.STUCK)
    v, _, _ = p.solved(pattern, np.zeros(n))
    joints, before = p.table(np.zeros(n)), pattern.copy()
    solves, _ = ss.solve(p.a, joints, pattern, np.empty((n, n)), np.empty(n))
    assert solves <= 1
    assert np.array_equal(pattern, before)
    assert np.array_equal(joints[:, ss.VELOCITY], v)


def test_sliding_joints_that_go_on_sliding_keep_the_bits_of_the_free_velocity() -> None:
    p = random_problem(np.random.default_rng(3), 5)
    p.lower[:], p.upper[:] = -np.inf, np.inf
    p.free[:] = [1e3, -1e3, 1e3, -1e3, 1e3]
    pattern = np.where(p.free > 0, ss.FORWARD, ss.BACKWARD)
    held = np.where(p.free > 0, -p.forward, p.backward)
    joints = p.table(held)
    joints[:, ss.FREE] = p.free
    ss.solve(p.a, joints, pattern, np.empty((5, 5)), np.empty(5))
    assert np.array_equal(joints[:, ss.VELOCITY], p.free)


def test_one_joint_through_all_segments() -> None:
    """A = 2, dt tau+ = 1, dt tau- = 3, -4 <= v <= 5: by hand, v = free + lambda / 2."""
    cases = [
        (-9.0, -4.0, 10.0, ss.WALL_LOWER),
        (-3.0, -1.5, 3.0, ss.BACKWARD),
        (-1.0, 0.0, 2.0, ss.STUCK),
        (0.25, 0.0, -0.5, ss.STUCK),
        (3.0, 2.5, -1.0, ss.FORWARD),
        (8.0, 5.0, -6.0, ss.WALL_UPPER),
    ]
    one = np.ones(1)
    for start in range(5):
        for free, velocity, impulse, segment in cases:
            p = Problem(np.full((1, 1), 2.0), free * one, one, 3 * one, -4 * one, 5 * one)
            pattern = np.array([start])
            v, pull, error = p.solved(pattern, np.zeros(1))
            assert pattern[0] == segment
            assert [v[0], pull[0], error] == pytest.approx([velocity, impulse, 0.0], abs=1e-14)
            assert (v[0] == 0.0) == (segment == ss.STUCK)


def test_a_joint_pressed_against_its_limit_at_rest_is_held_by_the_wall_not_by_friction() -> None:
    one = np.ones(1)
    for free, segment in [(-9.0, ss.WALL_LOWER), (-1.0, ss.STUCK), (0.2, ss.STUCK), (3.0, ss.FORWARD)]:
        p = Problem(np.full((1, 1), 2.0), free * one, one, 3 * one, 0 * one, 5 * one)
        pattern = np.array([ss.WALL_LOWER])
        v, _, _ = p.solved(pattern, np.zeros(1))
        assert pattern[0] == segment
        assert v[0] == max(0.0, free - 0.5 if segment == ss.FORWARD else 0.0)


def test_residual_measures_the_distance_from_the_solution() -> None:
    """One joint, A = 2, dt tau = 1, free 3: v = 2.5; at any v > 0 the residual is |v - 2.5|."""
    one = np.ones(1)
    p = Problem(np.full((1, 1), 2.0), 3 * one, one, one, -np.inf * one, np.inf * one)
    for v in (0.5, 2.5, 4.0):
        joints = p.table(np.zeros(1))
        joints[0, ss.VELOCITY] = v
        assert ss.residual(p.a, joints) == pytest.approx(abs(v - 2.5), abs=1e-15)
