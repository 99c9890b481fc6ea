"""Choice of the friction shape of each joint by cross-validation."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from robot_dynamics_ros.analysis.identification.friction_shapes import (
    BACKWARDS,
    COEFFICIENTS,
    FORWARDS,
    IDENTIFIED,
    LOAD,
    NO_DRY_FRICTION,
    STATIC,
    FrictionShape,
    extended_shapes,
    friction_columns,
)
from robot_dynamics_ros.analysis.identification.least_squares import (
    PARTS,
    BaseEstimate,
    Factors,
    Samples,
)
from robot_dynamics_ros.analysis.identification.parameterization import Parameterization
from robot_dynamics_ros.analysis.identification.torque_analysis import summed_products
from robot_dynamics_ros.dynamics.kernels.types import Array

_BLOCKS = 25  # consecutive blocks of the samples: every fifth is left out at a time
# standard error: Breiman et al. 1984, "Classification and regression trees"
_SIGNIFICANT = 1.0
_BETTER = 0.97  # of the RMS error
_LARGEST_STEP = math.log(1.2)  # of the logarithm of a velocity
# of velocities: the grid has the factor 2
_REFINEMENTS = tuple(2.0**power for power in (0.5, 0.25, 0.125, 0.0625))
# of a column's squared length: added to the diagonal of normal equations
_RIDGE = 1e-10
_ADDED = [parameter for parameter in IDENTIFIED if parameter.tried]
_DETERMINED = 2.0  # standard deviations

Shapes = tuple[FrictionShape, ...]


def chosen_shapes(
    parameterization: Parameterization, samples: Samples, values: Array, noise: Array
) -> Shapes:
    """Return the friction shape of each joint, chosen by cross-validation in which inertias are fitted, too.

    Forward selection: in each round a joint gets the term of ``extended_shapes`` that reduces its error most. The term
    must reduce the RMS error by 3 % and a standard error, and must not increase the error of all samples, including
    those at rest. Then velocities are refined. At the end, terms that others make superfluous are left out.
    ``values`` (p,) determine the load, ``noise`` (n,) weights the joints.
    """
    choice = _Choice(parameterization, samples, values, noise)
    rates = parameterization.joint_rates(samples.qd)
    fastest = np.abs(rates).max(axis=0, initial=0.0).tolist()
    motors = [
        joint in parameterization.model.joint_names
        for joint in parameterization.model.moving_joints
    ]
    shapes: Shapes = (FrictionShape(),) * parameterization.bodies
    while True:
        candidates = map(extended_shapes, shapes, fastest, motors)
        extended = choice.improved(shapes, *zip(*candidates, strict=True))
        if extended == shapes:
            break
        shapes = extended
        for factor in _REFINEMENTS:
            faster, slower = (
                tuple(shape.scaled(share) for shape in shapes)
                for share in (factor, 1.0 / factor)
            )
            shapes = choice.improved(
                shapes, faster, slower, better=1.0, significant=0.0
            )
    for parameter in _ADDED:
        without = tuple(shape.without(parameter) for shape in shapes)
        shapes = choice.improved(without, shapes)
    smooth = tuple(shape.having(NO_DRY_FRICTION) for shape in shapes)
    return choice.improved(smooth, shapes)


def determined_shapes(
    parameterization: Parameterization, estimate: BaseEstimate
) -> Shapes:
    """Return the shapes without the terms whose coefficient is smaller than two standard deviations."""
    sizes = (estimate.values / estimate.deviations).tolist()
    names = np.array(parameterization.names)[estimate.base.independent].tolist()
    small = {name: size < _DETERMINED for name, size in zip(names, sizes, strict=True)}
    shapes = []
    for joint, shape in zip(
        parameterization.model.moving_joints, parameterization.shapes, strict=True
    ):
        for parameter in _ADDED:
            if small.get(f"{joint}.{parameter.group}"):
                shape = shape.without(parameter)
        shapes.append(shape)
    return tuple(shapes)


def refined_shapes(
    parameterization: Parameterization, samples: Samples, estimate: BaseEstimate
) -> Shapes:
    """Return the shapes after a step of the Gauss-Newton method in their velocities and all base parameters.

    The step changes a velocity by the factor 1.2 at most.
    """
    slopes = samples.filtered(parameterization.scale_derivatives)[:, :, None]
    factors = Factors.of(
        parameterization,
        samples,
        lambda chunk, _: parameterization.at_coordinates(slopes[chunk]),
    )
    triangle = factors.weighted(estimate.noise)
    kept = [
        *estimate.base.independent,
        *range(len(parameterization.names), triangle.shape[1] - 1),
    ]
    steps = np.linalg.lstsq(triangle[:, kept], triangle[:, -1], rcond=None)[0][
        len(estimate.values) :
    ]
    scales = np.exp(np.clip(steps, -_LARGEST_STEP, _LARGEST_STEP)).tolist()
    return tuple(
        shape.scaled(scale)
        for shape, scale in zip(parameterization.shapes, scales, strict=True)
    )


class _Choice:
    """Cross-validated errors of friction shapes."""

    def __init__(
        self,
        parameterization: Parameterization,
        samples: Samples,
        values: Array,
        noise: Array,
    ) -> None:
        self._parameterization = parameterization
        self._samples = samples
        self._noise = noise
        motion = samples.q, samples.qd, samples.qdd
        base = parameterization.base.independent
        inertial = base[base < parameterization.new_rotors.stop]
        columns = parameterization.columns(*motion, samples.friction)[:, :, inertial]
        self._inertial = columns / noise[:, None]
        self._torque = (samples.tau / noise)[:, :, None]
        load = replace(parameterization, at=values).gear_load(*motion)
        self._loads = parameterization.joint_loads(load)[:, :, None]
        self._part = np.arange(len(samples)) * _BLOCKS // len(samples) % PARTS
        self._known: dict[Shapes, tuple[Array, Array, NDArray[np.bool_]]] = {}

    def improved(
        self,
        shapes: Shapes,
        *candidates: Shapes,
        better: float = _BETTER,
        significant: float = _SIGNIFICANT,
    ) -> Shapes:
        """Return ``shapes`` with those of the candidates that predict a joint's torque better.

        A candidate must reduce the RMS error to the share ``better``, by ``significant`` standard errors.
        """
        chosen = list(shapes)
        before, before_all, _ = self._errors(shapes)
        least = better**2 * before.mean(axis=0)
        for candidate in candidates:
            after, after_all, physical = self._errors(candidate)
            gain = before - after
            clear = gain.mean(axis=0) > significant * gain.std(
                axis=0, ddof=1
            ) / np.sqrt(PARTS)
            smaller = (after.mean(axis=0) < least) & (
                after_all.sum(axis=0) <= before_all.sum(axis=0)
            )
            for j in np.flatnonzero(physical & clear & smaller):
                chosen[j] = candidate[j]
                least[j] = after[:, j].mean()
        return tuple(chosen)

    def _errors(self, shapes: Shapes) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Return the mean square of used and the sum of squares of all samples (PARTS, joints); True if physical."""
        if shapes not in self._known:
            self._known[shapes] = self._validated(shapes)
        return self._known[shapes]

    def _validated(self, shapes: Shapes) -> tuple[Array, Array, NDArray[np.bool_]]:
        parameterization = self._parameterization
        samples = self._samples
        friction = samples.filtered(
            lambda q, qd, qdd: friction_columns(
                parameterization.joint_rates(qd), shapes
            )
        )
        # The static level may grow with the load independently of the Coulomb level: without it the fit is nonlinear.
        friction[:, :, [LOAD]] *= self._loads
        by_load = friction[:, :, [STATIC]] * self._loads
        terms = np.concatenate([friction, by_load], axis=2)
        columns = parameterization.at_coordinates(terms) / self._noise[:, None]
        has = np.array([shape.used for shape in shapes]).T
        used = np.concatenate([has, has[[LOAD]] & has[[STATIC]]]).ravel()
        rows = np.concatenate(
            [self._inertial, columns[:, :, used], self._torque], axis=2
        )
        determined = self._squares(rows * samples.used[:, :, None])
        everywhere = self._squares(rows)
        inertial = self._inertial.shape[2]
        lower = np.zeros(rows.shape[2] - 1)
        lower[:inertial] = -np.inf
        physical = np.ones(len(shapes), dtype=bool)
        coefficients = np.zeros(len(used))
        residuals = np.ones((PARTS, rows.shape[2]))
        for part in range(PARTS):
            others = np.delete(determined, part, axis=0).sum(axis=(0, 1))
            fit = _bounded_fit(others, lower)
            coefficients[used] = fit[inertial:]
            values = coefficients.reshape(len(COEFFICIENTS) + 1, -1)
            level = np.maximum(values[FORWARDS], values[BACKWARDS])
            physical &= (values[STATIC] >= level) | ~has[STATIC]
            physical &= values[LOAD] < 1.0
            residuals[part, :-1] = -fit
        squares, squares_everywhere = (
            np.einsum("kjpq,kp,kq->kj", products, residuals, residuals)
            for products in (determined, everywhere)
        )
        moved = parameterization.moves.astype(np.float64)
        counts = np.array(
            [samples.used[self._part == k].sum(axis=0) for k in range(PARTS)]
        )
        return (
            squares @ moved.T / np.maximum(counts @ moved.T, 1.0),
            squares_everywhere @ moved.T,
            physical,
        )

    def _squares(self, rows: Array) -> Array:
        """Return the products (PARTS, n, c, c) of columns ``rows`` (m, n, c), summed over each part."""
        return summed_products(rows[self._part == k] for k in range(PARTS))


def _bounded_fit(squares: Array, lower: Array) -> Array:
    """Return the least-squares solution (c,), at least ``lower``, of products (c + 1, c + 1) of columns and torque."""
    scale = np.sqrt(np.diagonal(squares))
    scale = np.where(scale == 0.0, 1.0, scale)
    scaled = squares / scale / scale[:, None] + _RIDGE * np.eye(len(scale))
    triangle = np.linalg.cholesky(scaled).T
    fit = lsq_linear(
        triangle[:, :-1], triangle[:, -1], (lower, np.inf), method="bvls"
    ).x
    return np.asarray(fit * scale[-1] / scale[:-1])
