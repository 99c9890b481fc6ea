"""Physically consistent fits against definitions, closed forms and a general optimiser."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize

from robot_dynamics_ros.analysis.identification.estimate import (
    body_parameters,
    feasible_fit,
    physical_prior,
    pseudo_inertia,
)

Array = NDArray[np.float64]


def cloud(
    rng: np.random.Generator, count: int = 8, size: float = 0.2
) -> tuple[Array, Array]:
    """Return random point masses and their positions."""
    return rng.uniform(0.1, 1.0, count), rng.uniform(
        -size, size, (count, 3)
    ) + rng.uniform(-0.3, 0.3, 3)


def parameters_of(masses: Array, positions: Array) -> Array:
    """Return mass, first moment and inertia about the origin by definition: I = sum m (|r|^2 1 - r r^T)."""
    inertia = sum(
        m * (r @ r * np.eye(3) - np.outer(r, r))
        for m, r in zip(masses, positions, strict=True)
    )
    return np.array(
        [masses.sum(), *(masses @ positions), *np.asarray(inertia)[np.triu_indices(3)]]
    )


def test_pseudo_inertia_is_the_second_moment_of_mass() -> None:
    """P = sum m [r; 1] [r; 1]^T, Wensing, Kim, Slotine 2018, and the inverse function."""
    masses, positions = cloud(np.random.default_rng(0))
    ones = np.column_stack([positions, np.ones(len(positions))])
    parameters = parameters_of(masses, positions)
    np.testing.assert_allclose(
        pseudo_inertia(parameters), (ones.T * masses) @ ones, rtol=0, atol=1e-14
    )
    np.testing.assert_allclose(
        body_parameters(pseudo_inertia(parameters)), parameters, rtol=0, atol=1e-14
    )


@pytest.mark.parametrize("target", [3.0, 0.5, -2.0])
def test_scalar_fit_by_closed_form(target: float) -> None:
    """The minimum of 1/2 (x - z)^2 + w (x/x0 - log x/x0 - 1) is the positive root of x^2 + (w/x0 - z) x - w = 0."""
    weight = 0.2
    prior = 0.7
    body = parameters_of(*cloud(np.random.default_rng(2)))
    triangle = np.zeros((1, 12))
    triangle[0, 10:] = 1.0, target
    fitted = feasible_fit(triangle, np.append(body, prior), 1, 1.0, np.array([weight]))
    b = weight / prior - target
    assert fitted[10] == pytest.approx(
        0.5 * (-b + np.sqrt(b * b + 4.0 * weight)), rel=1e-8
    )
    np.testing.assert_allclose(fitted[:10], body, rtol=1e-9)


def test_fit_matches_general_optimizer() -> None:
    """BFGS on P = L L^T finds no lower cost, and the same P."""
    rng = np.random.default_rng(3)
    prior = parameters_of(*cloud(rng))
    # fewer rows than parameters
    triangle = np.column_stack([rng.standard_normal((6, 10)), rng.standard_normal(6)])
    weight = 0.3
    inverse = np.linalg.inv(pseudo_inertia(prior))
    below = np.tril_indices(4)

    def cost(x: Array) -> float:
        pseudo = pseudo_inertia(x)
        divergence = (
            np.trace(inverse @ pseudo) - np.linalg.slogdet(inverse @ pseudo)[1] - 4.0
        )
        return float(
            0.5 * np.sum((triangle[:, :10] @ x - triangle[:, 10]) ** 2)
            + weight * divergence
        )

    def of_factor(entries: Array) -> float:
        factor = np.zeros((4, 4))
        factor[below] = entries
        return cost(body_parameters(factor @ factor.T))

    start = np.linalg.cholesky(pseudo_inertia(prior))[below]
    best = minimize(
        of_factor, start, method="BFGS", options={"gtol": 1e-7, "maxiter": 5000}
    )
    fitted = feasible_fit(triangle, prior, 1, weight, np.empty(0))
    assert cost(fitted) <= best.fun + 1e-9
    factor = np.zeros((4, 4))
    factor[below] = best.x
    np.testing.assert_allclose(
        fitted, body_parameters(factor @ factor.T), rtol=0, atol=1e-4
    )


def test_fit_to_impossible_data_is_physical() -> None:
    """A negative mass, and moments of inertia that violate the triangle inequality, each measured within 1 %."""
    prior = parameters_of(*cloud(np.random.default_rng(5)))
    measured = prior.copy()
    measured[0] = -1.0
    measured[4] = 10.0 * (prior[7] + prior[9])
    triangle = 100.0 * np.column_stack([np.eye(10), measured])
    fitted = feasible_fit(triangle, prior, 1, 1.0, np.empty(0))
    pseudo = pseudo_inertia(fitted)
    assert np.linalg.eigvalsh(pseudo).min() > 0.0
    moments = np.linalg.eigvalsh(np.trace(pseudo[:3, :3]) * np.eye(3) - pseudo[:3, :3])
    assert moments[2] < moments[0] + moments[1]


def test_fit_is_independent_of_frame_and_units() -> None:
    """The same body, data and prior in another frame and in millimetres: P' = T P T^T, Lee, Wensing, Park 2020."""
    rng = np.random.default_rng(6)
    prior, true = (parameters_of(*cloud(rng)) for _ in range(2))
    change = np.eye(4)
    change[:3, :3] = 1e3 * np.linalg.qr(rng.standard_normal((3, 3)))[0]
    change[:3, 3] = rng.uniform(-500.0, 500.0, 3)
    moved = np.column_stack(
        [
            body_parameters(change @ pseudo_inertia(unit) @ change.T)
            for unit in np.eye(10)
        ]
    )
    matrix = rng.standard_normal((7, 10))
    target = matrix @ true
    here = feasible_fit(np.column_stack([matrix, target]), prior, 1, 0.5, np.empty(0))
    there = feasible_fit(
        np.column_stack([matrix @ np.linalg.inv(moved), target]),
        moved @ prior,
        1,
        0.5,
        np.empty(0),
    )
    np.testing.assert_allclose(
        there, moved @ here, rtol=1e-6, atol=1e-7 * np.abs(moved @ here).max()
    )


def test_physical_prior() -> None:
    """A thin rod gets a radius of gyration of 1 cm, a massless body becomes a ball, a physical body is unchanged."""
    length = 0.5
    mass = 2.0
    rod = np.array(
        [
            mass,
            mass * length / 2,
            0,
            0,
            0,
            0,
            0,
            mass * length**2 / 3,
            0,
            mass * length**2 / 3,
        ]
    )
    fitted = physical_prior(np.array([rod, np.zeros(10)]))
    assert np.linalg.eigvalsh(pseudo_inertia(fitted)).min() > 0.0
    np.testing.assert_allclose(fitted[0, :4], rod[:4])
    thick = mass * 0.01**2
    np.testing.assert_allclose(
        fitted[0, [4, 7, 9]], rod[[4, 7, 9]] + [2 * thick, thick, thick], rtol=1e-9
    )
    assert fitted[1, 0] == pytest.approx(0.05 * mass)
    np.testing.assert_allclose(fitted[1, [4, 7, 9]], 2 * fitted[1, 0] * 0.05**2)
    body = parameters_of(*cloud(np.random.default_rng(7)))[np.newaxis]
    np.testing.assert_allclose(physical_prior(body), body, rtol=0, atol=1e-14)
