"""Choice of the friction shape of each joint by cross-validation."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from robot_dynamics_ros.analysis.identification.friction import (
    COEFFICIENTS,
    LOAD,
    STATIC,
    FrictionShape,
    friction_columns,
    velocity_shapes,
)
from robot_dynamics_ros.analysis.identification.least_squares import (
    PARTS,
    BaseEstimate,
    Factors,
    Samples,
)
from robot_dynamics_ros.analysis.identification.parameterization import Parameterization
from robot_dynamics_ros.dynamics.kernels.types import Array

# standard error: Breiman et al. 1984, "Classification and regression trees"
_SIGNIFICANT = 1.0
_BETTER = 0.97  # of the RMS error
_LARGEST_STEP = math.log(1.2)  # of the logarithm of a velocity
# of velocities: the grid has the factor 2
_REFINEMENTS = tuple(2.0**power for power in (0.5, 0.25, 0.125, 0.0625))
_SIMPLER: tuple[dict[str, Any], ...] = (
    {"stribeck_velocity": 0.0}, {"quadratic": False}, {"cubic": False}, {"load": False}
)  # fmt: skip

Shapes = tuple[FrictionShape, ...]


def chosen_shapes(
    parameterization: Parameterization, samples: Samples, values: Array, noise: Array
) -> Shapes:
    """Return the friction shape of each joint, chosen by cross-validation with the inertias of ``values`` (p,).

    Another shape than viscous and Coulomb friction must reduce the RMS error by 3 % and a standard error, and must not
    increase the error of all samples, including those at rest. Tried in turn are friction that depends on the load,
    v |v| or v^3, the Stribeck effect or a sigmoid, whose velocities are refined, and again the load; terms that others
    make superfluous are left out. ``noise`` (n,) weights the joints.
    """
    choice = _Choice(parameterization, samples, values, noise)
    fastest = np.abs(parameterization.joint_rates(samples.qd)).max(axis=0, initial=0.0)
    independent = [
        joint in parameterization.model.joint_names
        for joint in parameterization.model.moving_joints
    ]

    def loaded(shapes: Shapes) -> Shapes:
        """Return the shapes with dependence on the load, if their joint has a motor and dry friction."""
        able = zip(shapes, independent, strict=True)
        return tuple(
            replace(s, load=True) if own and s.sigmoid_slope == 0.0 else s
            for s, own in able
        )

    plain = (FrictionShape(),) * parameterization.bodies
    shapes = choice.improved(plain, loaded(plain))
    powers = ({"quadratic": True}, {"cubic": True})
    shapes = choice.improved(
        shapes,
        *(tuple(replace(shape, **power) for shape in shapes) for power in powers),
    )
    shapes = choice.improved(shapes, *velocity_shapes(shapes, fastest))
    for factor in _REFINEMENTS:
        faster, slower = (
            tuple(shape.scaled(share) for shape in shapes)
            for share in (factor, 1.0 / factor)
        )
        shapes = choice.improved(shapes, faster, slower, better=1.0, significant=0.0)
    shapes = choice.improved(shapes, loaded(shapes))
    for simpler in _SIMPLER:
        shapes = choice.improved(
            tuple(replace(shape, **simpler) for shape in shapes), shapes
        )
    return shapes


def refined_shapes(
    parameterization: Parameterization, samples: Samples, estimate: BaseEstimate
) -> Shapes:
    """Return the shapes after a step of the Gauss-Newton method in their velocities and all base parameters.

    The step changes a velocity by the factor 1.2 at most.
    """
    slopes = samples.filtered(parameterization.scale_derivatives)[:, :, np.newaxis]
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
    """Cross-validated errors of friction shapes, with given inertias."""

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
        q = samples.q
        qd = samples.qd
        qdd = samples.qdd
        inertial = values * (np.arange(len(values)) < parameterization.new_rotors.stop)
        self._torque = (
            samples.tau
            - parameterization.columns(q, qd, qdd, samples.friction) @ inertial
        ) / noise
        load = replace(parameterization, at=values).gear_load(q, qd, qdd)
        self._loads = parameterization.joint_loads(load)[:, :, np.newaxis]

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
        parameterization = self._parameterization
        samples = self._samples
        torque = self._torque
        friction = samples.filtered(
            lambda q, qd, qdd: friction_columns(
                parameterization.joint_rates(qd), shapes
            )
        )
        # The static level may grow with the load independently of the Coulomb level: without it the fit is nonlinear.
        by_load = friction[:, :, [LOAD, STATIC]] * self._loads
        terms = np.concatenate([friction[:, :, :LOAD], by_load], axis=2)
        columns = parameterization.at_coordinates(terms) / self._noise[:, np.newaxis]
        used = np.array(
            [
                (*shape.used, shape.load and shape.stribeck_velocity > 0.0)
                for shape in shapes
            ]
        ).T.ravel()
        rows = np.concatenate([columns[:, :, used], torque[:, :, np.newaxis]], axis=2)
        falling = np.array([shape.stribeck_velocity > 0.0 for shape in shapes])
        physical = np.ones(len(shapes), dtype=bool)
        squares = np.zeros_like(torque)
        fit = np.zeros(len(used))
        for part in range(PARTS):
            left_out = samples.part == part
            triangle = np.asarray(
                np.linalg.qr(rows[samples.used & ~left_out[:, np.newaxis]], mode="r")
            )
            fit[used] = lsq_linear(
                triangle[:, :-1], triangle[:, -1], (0.0, np.inf), method="bvls"
            ).x
            _, forwards, backwards, static, *_, load, _ = fit.reshape(
                len(COEFFICIENTS) + 1, -1
            )
            physical &= (static >= np.maximum(forwards, backwards)) | ~falling
            physical &= load < 1.0
            squares[left_out] = (rows[left_out] @ np.append(-fit[used], 1.0)) ** 2
        parts = (np.arange(PARTS)[:, np.newaxis] == samples.part).astype(np.float64)
        moved = parameterization.moves.astype(np.float64)
        total = parts @ (squares * samples.used) @ moved.T
        counts = parts @ samples.used @ moved.T
        return total / np.maximum(counts, 1.0), parts @ squares @ moved.T, physical
