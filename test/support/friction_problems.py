"""Friction problem of a step in plain NumPy, with its solution by the kernels and by reference methods."""

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from robot_dynamics_ros.simulation.step import friction_problem, row
from robot_dynamics_ros.simulation.step.elimination import no_equations
from support.arms import Array


@dataclass
class Problem:
    """Minimise 1/2 (v - free)^T A (v - free) + forward max(z, 0) + backward max(-z, 0), z = E v in [lower, upper].

    Without E the rows are the joints, E = I, the unconstrained motion is tried first, and modes are labelled.
    """

    a: Array
    free: Array
    forward: Array
    backward: Array
    lower: Array
    upper: Array
    e: Array | None = None

    @property
    def directions(self) -> Array:
        return np.eye(len(self.free)) if self.e is None else self.e

    def scaled(self, unit: float) -> "Problem":
        names = ("free", "forward", "backward", "lower", "upper")
        return replace(self, **{name: unit * getattr(self, name) for name in names})

    def objective(self, v: Array) -> float:
        d = v - self.free
        z = self.directions @ v
        return float(
            d @ self.a @ d / 2
            + self.forward @ np.maximum(z, 0)
            + self.backward @ np.maximum(-z, 0)
        )

    def table(self) -> Array:
        """Return the rows of the kernel's problem."""
        rows = np.full((len(self.directions), row.SIZE), np.nan)
        rows[:, row.BOUND_FORWARD] = self.forward
        rows[:, row.BOUND_BACKWARD] = self.backward
        rows[:, row.LOWER] = self.lower
        rows[:, row.UPPER] = self.upper
        return rows

    def of_kernel(
        self, rows: Array, modes: NDArray[np.int64], held: Array | float = 0.0
    ) -> friction_problem.Problem:
        """Return the kernel's problem, with the impulse ``held`` in the unconstrained motion."""
        n = len(self.free)
        prior = np.broadcast_to(held, n).copy()
        free = self.free + np.linalg.solve(self.a, prior)
        return friction_problem.Problem(
            self.a, self.directions, rows, modes, free, prior, no_equations(n)
        )

    def solved(
        self, modes: NDArray[np.int64], held: Array | float = 0.0, descend: bool = False
    ) -> Any:
        """Return velocity, impulses, residual and number of linear systems solved; update ``modes``."""
        rows = self.table()
        problem = self.of_kernel(rows, modes, held)
        v = problem.free.copy()
        error = 0.0
        solves = 0
        if (
            descend
            or self.e is not None
            or not friction_problem.unconstrained_is_solution(
                rows, modes, v, problem.prior_impulse
            )
        ):
            most = 0 if descend else 3 * len(v) + 10 if self.e is None else 1
            solves, error = friction_problem.solve(problem, most, v)
            assert rows[:, row.VELOCITY] == pytest.approx(
                self.directions @ v, abs=1e-14, nan_ok=True
            )
        if self.e is None:
            row.label_modes(rows, modes)
        return v, rows[:, row.IMPULSE].copy(), error, solves

    def violation(self, v: Array) -> float:
        """Return the relative distance of A (v - free) to the E^T lambda with each lambda in its range."""
        e = self.directions
        z = e @ v
        room = 1e-9 * (1.0 + np.abs(e) @ np.abs(v))
        assert np.all((self.lower - room <= z) & (z <= self.upper + room))
        highest = np.where(z > room, -self.forward, self.backward)
        lowest = np.where(z < -room, self.backward, -self.forward)
        highest = np.where(z <= self.lower + room, np.inf, highest)
        lowest = np.where(z >= self.upper - room, -np.inf, lowest)
        # Without constraints v is the unconstrained velocity up to rounding.
        size = np.abs(self.a) @ (np.abs(v) + np.abs(self.free)) + np.abs(e).T @ (
            self.forward + self.backward
        )
        tiny = 1e-13 * size.max()  # lsq_linear wants an interval
        pull = self.a @ (v - self.free)
        answer = lsq_linear(
            e.T, pull, (lowest - tiny, highest + tiny), method="bvls", tol=1e-14
        )
        return float(np.max(np.abs(answer.fun)) / size.max())

    def residual(self, v: Array, impulse: Array) -> float:
        """Return the residual by its definition; soft thresholding of u is u - clip(u, -b, f)."""
        e = self.directions
        size = np.diag(self.a)
        own = (e**2 / size).sum(axis=1)
        u = e @ v - own * impulse
        proximal = np.clip(
            u - np.clip(u, -own * self.backward, own * self.forward),
            self.lower,
            self.upper,
        )
        balance = self.a @ (v - self.free) - e.T @ impulse
        return float(max(np.abs(balance / size).max(), np.abs(proximal - e @ v).max()))

    def brute_force(self) -> Array:
        """Return the best feasible point over all combinations of modes."""
        n = len(self.free)
        best = np.zeros(len(self.free))
        least = self.objective(np.zeros(len(self.free)))
        for modes in itertools.product(range(5), repeat=len(self.directions)):
            mode = np.array(modes)
            held = (mode != row.BACKWARD) & (mode != row.FORWARD)
            ends = np.select(
                [mode == row.AT_LOWER, mode == row.AT_UPPER],
                [self.lower, self.upper],
                0.0,
            )
            if not np.isfinite(ends).all():
                continue
            pull = np.select(
                [mode == row.BACKWARD, mode == row.FORWARD],
                [self.backward, -self.forward],
                0.0,
            )
            e = self.directions[held]
            system = np.block([[self.a, -e.T], [e, np.zeros((len(e), len(e)))]])
            load = np.concatenate(
                [self.a @ self.free + self.directions.T @ pull, ends[held]]
            )
            v = np.linalg.lstsq(system, load, rcond=1e-12)[0][:n]
            z = self.directions @ v
            room = 1e-10
            if (
                np.all((self.lower - room <= z) & (z <= self.upper + room))
                and self.objective(v) < least
            ):
                best = v
                least = self.objective(v)
        return best

    def textbook(
        self, weight: Array | float = 1.0
    ) -> tuple[int, NDArray[np.int64], Array]:
        """Solve by Nocedal and Wright, algorithm 16.3, from rest: number of linear systems, modes and solution.

        For linearly independent rows. The row whose impulse exceeds its bounds most, squared over ``weight``, is
        released first.
        """
        n = len(self.free)
        e = self.directions
        count = 0
        loose = (
            (self.forward + self.backward == 0.0)
            & (self.lower < 0.0)
            & (self.upper > 0.0)
        )
        modes = np.where(loose, row.FORWARD, row.STUCK)
        v = np.zeros(n)
        while True:
            slips = (modes == row.FORWARD) | (modes == row.BACKWARD)
            friction = np.select(
                [modes == row.FORWARD, modes == row.BACKWARD],
                [-self.forward, self.backward],
                0.0,
            )
            held = e[~slips]
            system = np.block(
                [[self.a, -held.T], [held, np.zeros((len(held), len(held)))]]
            )
            force = e.T @ friction - self.a @ (v - self.free)
            answer = np.linalg.solve(
                system, np.concatenate([force, np.zeros(len(held))])
            )
            step = answer[:n]
            impulse = friction.copy()
            impulse[~slips] = answer[n:]
            count += 1
            # Step to the first blocking row.
            z = e @ v
            dz = e @ step
            low = np.where((modes == row.BACKWARD) | loose, self.lower, 0.0)
            high = np.where((modes == row.FORWARD) | loose, self.upper, 0.0)
            end = np.where(dz < 0.0, low, high)
            turns = slips & (dz != 0.0)
            share = np.where(turns, (end - z) / np.where(turns, dz, 1.0), 1.0)
            first = int(np.argmin(share))
            before = self.objective(v)
            v = v + min(share[first], 1.0) * step
            assert self.objective(v) <= before + 1e-12 * abs(before), (
                "otherwise modes could repeat"
            )
            if share[first] < 1.0:
                limit = row.AT_LOWER if dz[first] < 0.0 else row.AT_UPPER
                modes[first] = limit if end[first] != 0.0 else row.STUCK
                continue
            above = impulse - self.backward
            below = -self.forward - impulse
            stuck = modes == row.STUCK
            backward = np.where(
                stuck & (self.lower < 0.0),
                above,
                np.where(modes == row.AT_LOWER, -above, 0.0),
            )
            forward = np.where(
                stuck & (self.upper > 0.0),
                below,
                np.where(modes == row.AT_UPPER, -below, 0.0),
            )
            gain = np.maximum(np.maximum(backward, forward), 0.0) ** 2 / weight
            first = int(np.argmax(gain))
            if gain[first] < 1e-20:
                return count, modes, v
            modes[first] = (
                row.BACKWARD if backward[first] > forward[first] else row.FORWARD
            )


def _matrix(rng: np.random.Generator, n: int, spread: float) -> Array:
    """Return a positive definite matrix with eigenvalues from 10^-spread to 1."""
    q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    a = q @ np.diag(10 ** rng.uniform(-spread, 0.0, n)) @ q.T
    return np.asarray((a + a.T) / 2)


def random_problem(rng: np.random.Generator, n: int, spread: float = 3.0) -> Problem:
    """Return a problem with rows = joints, with and without friction and limits; a large spread couples strongly."""
    a = _matrix(rng, n, spread)
    size = np.abs(a) @ np.ones(n)
    forward = rng.choice([0.0, 0.3, 1.0, 3.0], n) * rng.uniform(0, 1, n) * size
    backward = np.where(
        rng.random(n) < 0.5,
        forward,
        rng.choice([0.0, 1.0], n) * rng.uniform(0, 1, n) * size,
    )
    lower = -rng.choice([0.0, 0.1, 1.0, np.inf], n)
    upper = rng.choice([0.0, 0.1, 1.0, np.inf], n)
    return Problem(a, rng.standard_normal(n), forward, backward, lower, upper)


def random_rows(
    rng: np.random.Generator, n: int, count: int, *, whole: bool
) -> Problem:
    """Return a problem with ``count`` rows; ``whole``: elements of E are -1, 0 and 1, so that rows are dependent."""
    a = _matrix(rng, n, 3.0)
    e = (
        rng.choice([-1.0, 0.0, 1.0], (count, n))
        if whole
        else rng.standard_normal((count, n))
    )
    e[np.arange(count), rng.integers(0, n, count)] = 1.0
    size = np.abs(a).sum() / n
    forward = rng.choice([0.0, 0.3, 1.0, 3.0], count) * rng.uniform(0, 1, count) * size
    backward = np.where(
        rng.random(count) < 0.5, forward, rng.uniform(0, 1, count) * size
    )
    lower = -rng.choice([0.0, 0.1, 1.0, np.inf], count)
    upper = rng.choice([0.0, 0.1, 1.0, np.inf], count)
    return Problem(a, rng.standard_normal(n), forward, backward, lower, upper, e)
