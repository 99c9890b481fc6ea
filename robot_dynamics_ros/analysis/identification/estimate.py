"""Identification: physically consistent parameters that fit recorded torques, close to a prior model.

The ten parameters of a body are its mass m (kg), first moment h = m c (3, kg m), and moments of inertia ixx, ixy, ixz,
iyy, iyz, izz (kg m^2) of I about the origin of its link frame, in the axes of that frame. Its pseudo-inertia
P = [[S, h], [h^T, m]], S = tr(I)/2 1 - I, is positive definite if and only if a distribution of mass has these
parameters: P. Wensing, S. Kim, J.-J. Slotine, "Linear matrix inequalities for physically consistent inertial parameter
identification", RA-L 2018. Where the data do not determine a parameter, the entropic divergence from the prior P0,
D(P, P0) = tr(P0^-1 P) - log det(P0^-1 P) - 4, does. It is independent of frames and units, and keeps P positive
definite: T. Lee, P. Wensing, F. Park, "Geometric robot dynamic identification: a convex programming approach", T-RO
2020.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import lsq_linear

from robot_dynamics_ros.analysis.identification.friction_shapes import (
    BACKWARDS,
    COEFFICIENTS,
    COLUMNS,
    FORWARDS,
    IDENTIFIED,
    LOAD,
    NO_DRY_FRICTION,
    SIGMOID,
    STATIC,
    TERMS,
    Form,
    FrictionShape,
    extended_shapes,
    friction_columns,
)
from robot_dynamics_ros.analysis.identification.least_squares import (
    BaseEstimate,
    Factors,
    Samples,
    estimate_base,
    least_squares,
    solve_base,
)
from robot_dynamics_ros.analysis.identification.parameterization import (
    KINDS,
    Parameterization,
)
from robot_dynamics_ros.analysis.identification.recorded_motion import RecordedMotion
from robot_dynamics_ros.analysis.identification.torque_analysis import summed_products
from robot_dynamics_ros.analysis.thresholds import (
    ADDED_ROTOR,
    BARRIER_WEIGHT,
    FRICTION_ROUNDS,
    LEAST_FRICTION_PRIOR,
    LEAST_GYRATION,
    MASSLESS_GYRATION,
    MASSLESS_SHARE,
    NEWTON_ARMIJO,
    NEWTON_CONVERGED,
    NEWTON_HALVINGS,
    NEWTON_STEPS,
    PRIOR_WEIGHTS,
    REST_SPEED_SHARE,
    RIDGE,
    SHAPE_BETTER,
    SHAPE_BLOCKS,
    SHAPE_CHOICES,
    SHAPE_DETERMINED,
    SHAPE_LARGEST_STEP,
    SHAPE_REFINEMENTS,
    SHAPE_SAMPLES,
    SHAPE_SIGNIFICANT,
    SHAPE_STRETCHES,
    VALIDATION_PARTS,
    WIDE_OFFSET,
)
from robot_dynamics_ros.base.errors import RobotDynamicsError, require_known
from robot_dynamics_ros.base.progress import progress
from robot_dynamics_ros.base.statistics import root_mean_square
from robot_dynamics_ros.dynamics.kernels.friction import SIGMOID_SHIFT
from robot_dynamics_ros.dynamics.kernels.regressor import PARAMETERS
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel


def pseudo_inertia(parameters: Array) -> Array:
    """Return the pseudo-inertia P (..., 4, 4) of the ten parameters (..., 10) of bodies."""
    inertia = parameters[..., [[4, 5, 6], [5, 7, 8], [6, 8, 9]]]
    pseudo = np.empty((*parameters.shape[:-1], 4, 4))
    pseudo[..., :3, :3] = (
        0.5 * np.trace(inertia, axis1=-2, axis2=-1)[..., None, None] * np.eye(3)
        - inertia
    )
    pseudo[..., :3, 3] = pseudo[..., 3, :3] = parameters[..., 1:4]
    pseudo[..., 3, 3] = parameters[..., 0]
    return pseudo


def body_parameters(pseudo: Array) -> Array:
    """Return the ten parameters (..., 10) of bodies with the pseudo-inertia P (..., 4, 4): I = tr(S) 1 - S."""
    s = pseudo[..., :3, :3]
    inertia = np.trace(s, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - s
    upper = np.triu_indices(3)
    return np.concatenate(
        [pseudo[..., 3, 3:], pseudo[..., :3, 3], inertia[..., upper[0], upper[1]]],
        axis=-1,
    )


_UNITS = pseudo_inertia(np.eye(PARAMETERS))


def physical_prior(parameters: Array) -> Array:
    """Return the ten ``parameters`` (bodies, 10) of each body, adjusted to a positive definite pseudo-inertia.

    Thin rods, point masses and impossible inertias get a radius of gyration about their centre of mass of at least 1 cm
    in every direction. A body without mass becomes a ball at its link's origin with 5 % of the mean mass of the others
    (1 kg if there are none) and a radius of gyration of 5 cm.
    """
    masses = parameters[:, 0]
    mean = float(masses[masses > 0.0].mean()) if (masses > 0.0).any() else 1.0
    result = []
    for pseudo in pseudo_inertia(parameters):
        mass = pseudo[3, 3]
        if mass <= 0.0:
            small = MASSLESS_SHARE * mean
            result.append(np.diag([*[small * MASSLESS_GYRATION**2] * 3, small]))
            continue
        com = pseudo[:3, 3] / mass
        values, axes = np.linalg.eigh(pseudo[:3, :3] - mass * np.outer(com, com))
        about = axes @ np.diag(np.maximum(values, mass * LEAST_GYRATION**2)) @ axes.T
        fixed = pseudo.copy()
        fixed[:3, :3] = about + mass * np.outer(com, com)
        result.append(fixed)
    return body_parameters(np.array(result))


def feasible_fit(
    triangle: Array,
    prior: Array,
    bodies: int,
    weight: float,
    weights: Array,
    start: Array | None = None,
) -> Array:
    """Return the parameters x (p,) that minimize a convex cost: squared residual plus distance from the prior.

    The cost is 1/2 |R x - z|^2 + ``weight`` sum D(P, P0) + ``weights`` (x/x0 - log(x/x0) - 1), where x starts with the
    ten parameters of each of ``bodies`` bodies, in SI units, and continues with positive scalars. It is minimized by
    Newton's method with a line search (Boyd, Vandenberghe, "Convex optimization", chapter 9.6).

    ``triangle`` (rows, p + 1) is [R z]: regressor and torque divided by the noise, or their triangular factor.
    ``prior`` (p,) is x0, with P0 of each body. Its P0 must be positive definite and its scalars positive, as those of
    ``start`` (p,), the first iterate (default: the prior). ``weights`` (p - 10 bodies,) belong to the scalars.
    """
    first = PARAMETERS * bodies
    matrix = triangle[:, :-1]
    target = triangle[:, -1]
    inverse = np.asarray(np.linalg.inv(_pseudo(prior, first)), dtype=np.float64)
    constant = np.linalg.slogdet(inverse)[1].sum()

    def cost(x: Array) -> float:
        share = x[first:] / prior[first:]
        try:
            factors = np.linalg.cholesky(_pseudo(x, first))
        except np.linalg.LinAlgError:
            return np.inf
        if (share <= 0.0).any():
            return np.inf
        logs = constant + 2.0 * np.log(np.diagonal(factors, axis1=1, axis2=2)).sum()
        divergence = (
            np.einsum("bij,bji->", inverse, _pseudo(x, first)) - logs - 4.0 * bodies
        )
        residual = matrix @ x - target
        return float(
            0.5 * residual @ residual
            + weight * divergence
            + weights @ (share - np.log(share) - 1.0)
        )

    x = (prior if start is None else start).copy()
    now = cost(x)
    for _ in range(NEWTON_STEPS):
        rows, right = _newton(x, inverse, first, weight, weights, prior)
        above = np.column_stack([matrix, target - matrix @ x])
        reduced = np.asarray(
            np.linalg.qr(np.vstack([above, np.column_stack([rows, right])]), mode="r")
        )[: len(x)]
        step = solve_triangular(reduced[:, :-1], reduced[:, -1])
        decrement = float(reduced[:, -1] @ reduced[:, -1])
        if decrement < NEWTON_CONVERGED:
            x = x + step  # such a small step stays feasible (Dikin's ellipsoid)
            break
        share = 1.0
        for _ in range(NEWTON_HALVINGS):
            after = cost(x + share * step)
            if after <= now - NEWTON_ARMIJO * share * decrement:
                break
            share *= 0.5
        else:
            break  # rounding: no step lowers the cost
        x = x + share * step
        now = after
    return x


def _pseudo(x: Array, first: int) -> Array:
    return pseudo_inertia(x[:first].reshape(-1, PARAMETERS))


def _newton(
    x: Array, inverse: Array, first: int, weight: float, weights: Array, prior: Array
) -> tuple[Array, Array]:
    """Return rows A and right side b whose least-squares solution s is the Newton step of the divergences."""
    # With P = L L^T, F_k = L^-1 E_k L^-T: Hessian tr(F_k F_l) = A^T A, gradient tr(F_k (L^T P0^-1 L - 1)) = -A^T b.
    factors = np.linalg.cholesky(_pseudo(x, first))
    bodies = len(factors)
    scalars = len(x) - first
    # NumPy 1 takes fewer axes for vectors
    half = np.linalg.solve(factors[:, None], _UNITS[None])
    # (bodies, 10, 4, 4)
    units = np.linalg.solve(factors[:, None], np.swapaxes(half, -1, -2))
    off = np.swapaxes(factors, 1, 2) @ inverse @ factors - np.eye(4)
    rows = np.zeros((16 * bodies + scalars, len(x)))
    for body in range(bodies):
        places = slice(PARAMETERS * body, PARAMETERS * (body + 1))
        rows[16 * body : 16 * (body + 1), places] = (
            np.sqrt(weight) * units[body].reshape(PARAMETERS, 16).T
        )
    rows[range(16 * bodies, len(rows)), range(first, len(x))] = (
        np.sqrt(weights) / x[first:]
    )
    right = np.sqrt(weights) * (x[first:] / prior[first:] - 1.0)
    return rows, -np.concatenate([np.sqrt(weight) * off.ravel(), right])


FRICTION_KINDS = ("auto", *KINDS)
"""Friction to identify.

``auto``: viscous and Coulomb friction, and each further term that cross-validation favours in a joint.
``viscous_coulomb``: viscous and Coulomb friction. ``none``: no friction. ``keep``: the prior model's, unchanged.
"""

# --- choice of friction shapes

_ADDED = [parameter for parameter in IDENTIFIED if parameter.tried]

Shapes = tuple[FrictionShape, ...]


@dataclass(frozen=True, eq=False)
class Identification:
    """Result of ``identify``: p parameters of a robot, and their r base parameters.

    Attributes
    ----------
    parameterization
        The identified parameters by name, and the prior model.
    estimate
        The base parameters by unconstrained least squares, with standard deviations.
    values
        Physically consistent parameters (p,) in SI units, in the order of ``parameterization.names``.
    weight
        Weight of the prior model in ``values``, chosen by cross-validation.
    loss
        Relative increase of the weighted RMS residual from unconstrained least squares to ``values``; 0.1 is 10 %.
    samples
        Number of measured torques used, over all joints.
    effort_offsets
        Offset (recordings, n) of the measured effort, Nm or N, that goes with ``values``; 0 where it has none.
    reductions
        Share by which each further term of friction, such as "joint2.sigmoid", reduces the cross-validated RMS error.
    undetermined_offsets
        Coordinates whose effort may have an offset that the motions do not distinguish from gravity or friction.
    """

    parameterization: Parameterization
    estimate: BaseEstimate
    values: Array
    weight: float
    loss: float
    samples: int
    effort_offsets: Array
    reductions: Mapping[str, float]
    undetermined_offsets: tuple[str, ...]

    @property
    def undetermined(self) -> NDArray[np.bool_]:
        """True (r,) for base parameters whose 95 % interval is wider than the estimate and the terms of the value."""
        estimate = self.estimate
        terms = np.abs(estimate.base.combination) @ np.abs(self.values)
        size = np.maximum(terms, np.abs(estimate.values))
        return np.asarray(SHAPE_DETERMINED * estimate.deviations > size)

    @property
    def base_values(self) -> Array:
        """Base parameters (r,) of ``values``, comparable with ``estimate.values``."""
        return self.estimate.base.combination @ self.values


def identify(
    model: RobotModel,
    motions: Sequence[RecordedMotion],
    friction: str = FRICTION_KINDS[0],
    forms: Mapping[str, Form] = MappingProxyType({}),
) -> Identification:
    """Identify inertial parameters, rotor inertias and friction of a robot from recorded motions.

    ``model`` is the prior. ``motions`` must have its joints, in its order. ``friction`` is "viscous_coulomb", "none",
    "keep" (the prior's) or "auto" (also what FRICTION_KINDS lists, where cross-validation favours it). ``forms`` has
    other friction of joints by name. Of a joint that does not move, neither torque nor friction is used. Raises
    RobotDynamicsError for any other kind, for an unknown joint, and for forms with "none" and "keep"; and BagError as
    ``solve_base`` if the motions are too short.
    """
    for joint in forms:
        require_known(
            joint, model.moving_joints, f"friction of {joint!r}: no such joint"
        )
    if forms and friction not in FRICTION_KINDS[:2]:
        raise RobotDynamicsError(
            f"friction {friction!r} and forms for {', '.join(forms)}. Cure: give auto or viscous_coulomb"
        )
    common = frozenset({"auto"} & {friction})
    of_joints = [forms.get(joint, common) for joint in model.moving_joints]
    kind = KINDS[0] if friction == FRICTION_KINDS[0] else friction
    parameterization = Parameterization.of(model, kind, _plain_shapes(of_joints))
    searched = [_thinned(motion, motions) for motion in motions]
    parameterization, fit, reductions, undetermined = _structured(
        parameterization, searched, of_joints
    )
    if any(part is not motion for part, motion in zip(searched, motions, strict=True)):
        parameterization = replace(parameterization, at=fit.values)
        fit = _fitted(parameterization, motions)
    samples, factors, _, weight, values = fit
    estimate = estimate_base(parameterization, samples, factors)
    least, constrained = (
        float((factors.squares(x) / estimate.noise**2).sum())
        for x in (estimate.parameters, values)
    )
    loss = math.sqrt(constrained / least) - 1.0
    return Identification(
        parameterization,
        estimate,
        values,
        weight,
        loss,
        int(factors.counts.sum()),
        factors.offsets(values),
        reductions,
        undetermined,
    )


def _thinned(
    motion: RecordedMotion, motions: Sequence[RecordedMotion]
) -> RecordedMotion:
    """Return stretches of a motion, so that all ``motions`` have no more than SHAPE_SAMPLES samples."""
    share = SHAPE_SAMPLES / sum(len(other.time) for other in motions)
    if share >= 1.0:
        return motion
    place = np.arange(len(motion.time)) * SHAPE_STRETCHES / len(motion.time)
    return motion.part(place % 1.0 < share)


def _structured(
    parameterization: Parameterization,
    motions: Sequence[RecordedMotion],
    forms: Sequence[Form],
) -> tuple[Parameterization, _ModelFit, dict[str, float], tuple[str, ...]]:
    """Return the parameterization with offsets and friction that the motions show, and its fit.

    And ``reductions`` and ``undetermined_offsets`` of the result.
    """
    # An offset looks like the Coulomb friction of a joint that moves in one direction only.
    reverses = _reverses(motions)
    offsets = parameterization.offsets & reverses
    parameterization = replace(parameterization, offsets=offsets)
    fit = _fitted(parameterization, motions)
    possible = reverses & _even(parameterization)
    needed = _needed_offsets(parameterization, fit, possible)
    if needed.any():
        offsets = parameterization.offsets + needed
        parameterization = replace(parameterization, offsets=offsets)
        fit = _fitted(parameterization, motions)
    reductions = dict[str, float]()
    for _ in range(SHAPE_CHOICES if any(forms) else 0):
        shapes, reductions = chosen_shapes(parameterization, fit, forms)
        if shapes == parameterization.shapes:
            break
        parameterization, fit = _with_shapes(parameterization, shapes, fit, motions)
    estimate = estimate_base(parameterization, fit.samples, fit.factors)
    shapes = determined_shapes(parameterization, estimate, forms, fit.values)
    large = np.abs(estimate.offsets) > SHAPE_DETERMINED * estimate.offset_deviations
    offsets = np.asarray(large.any(axis=0))
    effort = root_mean_square(fit.samples.tau)
    wide = (
        SHAPE_DETERMINED * estimate.offset_deviations.min(axis=0) > WIDE_OFFSET * effort
    )
    unknown = (wide | ~parameterization.offsets) & ~offsets & _even(parameterization)
    unknown |= needed
    unknown &= fit.samples.used.any(axis=0)
    names = np.array(parameterization.model.joint_names)[unknown]
    if shapes != parameterization.shapes or (offsets != parameterization.offsets).any():
        parameterization = replace(parameterization, offsets=offsets)
        parameterization, fit = _with_shapes(parameterization, shapes, fit, motions)
    kept = {
        name: reductions[name] for name in parameterization.names if name in reductions
    }
    return parameterization, fit, kept, tuple(names.tolist())


class _ModelFit(NamedTuple):
    """Samples, their factors, the base parameters, the weight of the prior, and consistent values (p,)."""

    samples: Samples
    factors: Factors
    estimate: BaseEstimate
    weight: float
    values: Array


def _with_shapes(
    parameterization: Parameterization,
    shapes: Shapes,
    fit: _ModelFit,
    motions: Sequence[RecordedMotion],
) -> tuple[Parameterization, _ModelFit]:
    """Return the parameterization with friction shapes and its fit, begun at the values of ``fit``."""
    known = dict(zip(parameterization.names, fit.values.tolist(), strict=True))
    offsets = parameterization.offsets
    parameterization = replace(
        Parameterization.of(parameterization.model, parameterization.friction, shapes),
        offsets=offsets,
    )
    values = np.array([known.get(name, 0.0) for name in parameterization.names])
    fit = fit._replace(values=values)
    nonlinear = any(shape.nonlinear for shape in shapes)
    for _ in range(FRICTION_ROUNDS):
        parameterization = replace(parameterization, at=fit.values, shapes=shapes)
        before = fit.estimate
        fit = _fitted(parameterization, motions)
        if not nonlinear or fit.estimate.agrees(before):
            break
        shapes = refined_shapes(
            replace(parameterization, at=fit.values), fit.samples, fit.estimate
        )
    return parameterization, fit


def _fitted(
    parameterization: Parameterization, motions: Sequence[RecordedMotion]
) -> _ModelFit:
    samples = Samples.of(parameterization, motions)
    factors = Factors.of(parameterization, samples)
    estimate = solve_base(parameterization, samples, factors)
    prior = _prior(parameterization, estimate, samples)
    weight = _chosen_weight(parameterization, factors, estimate.noise, prior)
    return _ModelFit(
        samples,
        factors,
        estimate,
        weight,
        _fit(parameterization, factors.weighted(estimate.noise), prior, weight),
    )


def _prior(
    parameterization: Parameterization, estimate: BaseEstimate, samples: Samples
) -> Array:
    """Return consistent values (p,) near the model's own; friction from the estimate, if it has any."""
    prior = parameterization.own.copy()
    first = parameterization.scalars.start
    bodies = physical_prior(prior[:first].reshape(-1, PARAMETERS))
    prior[:first] = bodies.ravel()
    prior[parameterization.new_rotors] = ADDED_ROTOR * parameterization.joint_inertias(
        samples.q[:: max(1, len(samples) // 50)], bodies[:, 0] * LEAST_GYRATION**2
    )
    estimates = dict(
        zip(estimate.base.independent.tolist(), estimate.values.tolist(), strict=True)
    )
    floor = LEAST_FRICTION_PRIOR * float(estimate.noise.mean())
    for k in range(parameterization.new_rotors.stop, len(prior)):
        prior[k] = max(estimates.get(k, prior[k]), floor)
    return prior


def _fit(
    parameterization: Parameterization,
    triangle: Array,
    prior: Array,
    weight: float,
    start: Array | None = None,
) -> Array:
    weights = np.full(
        parameterization.scalars.stop - parameterization.scalars.start, BARRIER_WEIGHT
    )
    weights[: len(parameterization.model.rotor_names)] = weight
    return feasible_fit(
        triangle, prior, parameterization.bodies, weight, weights, start
    )


def _chosen_weight(
    parameterization: Parameterization, factors: Factors, noise: Array, prior: Array
) -> float:
    """Return the weight of the prior by cross-validation over the parts.

    It is the largest within a standard error of the best: Breiman et al. 1984, "Classification and regression trees".
    """
    triangles = factors.without_parts(noise)
    squares = np.empty((len(PRIOR_WEIGHTS), len(triangles)))
    fits = [prior] * len(triangles)
    # each fit starts from the last
    for row in progress(range(len(PRIOR_WEIGHTS))[::-1], "cross-validation"):
        for column, (k, triangle) in enumerate(triangles.items()):
            fits[column] = _fit(
                parameterization,
                triangle,
                prior,
                float(PRIOR_WEIGHTS[row]),
                fits[column],
            )
            squares[row, column] = (
                factors.squares(fits[column])[k] / noise**2
            ).sum() / factors.counts[k].sum()
    best = squares[int(np.argmin(squares.mean(axis=1)))]
    error = best.std(ddof=1) / np.sqrt(len(best)) if len(best) > 1 else 0.0
    return float(
        PRIOR_WEIGHTS[np.flatnonzero(squares.mean(axis=1) <= best.mean() + error)[-1]]
    )


def _reverses(motions: Sequence[RecordedMotion]) -> NDArray[np.bool_]:
    """Return True (n,) for joints that move in both directions."""
    rates = np.concatenate([motion.qd for motion in motions])
    slow = REST_SPEED_SHARE * np.abs(rates).max(axis=0)
    return np.asarray((rates.max(axis=0) > slow) & (rates.min(axis=0) < -slow))


def _even(parameterization: Parameterization) -> NDArray[np.bool_]:
    """Return True (n,) for coordinates whose friction has no ``directions``."""
    directions = [shape.directions for shape in parameterization.shapes]
    return np.asarray(~parameterization.moves[directions].any(axis=0))


def _needed_offsets(
    parameterization: Parameterization, fit: _ModelFit, possible: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return True (n,) for ``possible`` coordinates whose effort has an offset that no physical weight explains.

    No motion distinguishes it from a weight, but masses are positive, and recordings may have different offsets.
    """
    further = possible & ~parameterization.offsets
    if not further.any():
        return further
    parameterization = replace(parameterization, offsets=possible)
    factors = Factors.of(parameterization, fit.samples)
    estimate = solve_base(parameterization, fit.samples, factors)
    least = factors.squares(estimate.parameters).sum(axis=0)
    consistent = fit.factors.squares(fit.values).sum(axis=0)
    return np.asarray(further & (least < SHAPE_BETTER**2 * consistent))


def chosen_shapes(
    parameterization: Parameterization, fit: _ModelFit, forms: Sequence[Form]
) -> tuple[Shapes, dict[str, float]]:
    """Return the friction shape of each joint, chosen by cross-validation in which inertias are fitted, too.

    And the share by which each added term reduces the RMS error, by its name in a parameterization. Joints with a given
    form get its terms.

    Forward selection: in each round a joint gets the term of ``extended_shapes`` that reduces its error most. The term
    must reduce the RMS error by 3 % and a standard error, and must not increase the error of all samples, including
    those at rest. Then velocities are refined. At the end, terms that others make superfluous are left out. The values
    of ``fit`` determine the load, its noise weights the joints.
    """
    samples = fit.samples
    noise = fit.estimate.noise
    choice = _Choice(parameterization, samples, fit.values, noise, forms)
    rates = parameterization.joint_rates(samples.qd)
    fastest = np.abs(rates).max(axis=0, initial=0.0).tolist()
    motors = [
        joint in parameterization.model.joint_names
        for joint in parameterization.model.moving_joints
    ]
    shapes = _plain_shapes(forms)
    while True:
        candidates = map(extended_shapes, shapes, fastest, motors, forms)
        extended = choice.improved(shapes, *zip(*candidates, strict=True))
        if extended == shapes:
            break
        shapes = extended
        for factor in SHAPE_REFINEMENTS:
            faster, slower = (
                tuple(shape.scaled(share) for shape in shapes)
                for share in (factor, 1.0 / factor)
            )
            shapes = choice.improved(shapes, faster, slower, refined=True)
    for parameter in _ADDED:
        without = tuple(shape.without(parameter) for shape in shapes)
        shapes = choice.improved(without, shapes)
    smooth = tuple(
        shape if shape.unevenness else shape.having(NO_DRY_FRICTION) for shape in shapes
    )
    shapes = choice.improved(smooth, shapes)
    reductions = {}
    for parameter in _ADDED:
        without = tuple(shape.without(parameter) for shape in shapes)
        shares = choice.reductions(without, shapes)
        for joint, shape, share in zip(
            parameterization.model.moving_joints, shapes, shares, strict=True
        ):
            if shape.row[parameter.column] > 0.0:
                reductions[f"{joint}.{parameter.group}"] = share
    return shapes, reductions


def _plain_shapes(forms: Sequence[Form]) -> Shapes:
    """Return shapes of viscous and Coulomb friction."""
    directions = ("directions" in form for form in forms)
    return tuple(FrictionShape(directions=distinct) for distinct in directions)


def determined_shapes(
    parameterization: Parameterization,
    estimate: BaseEstimate,
    forms: Sequence[Form],
    values: Array,
) -> Shapes:
    """Return the shapes without the chosen terms whose coefficient is smaller than two standard deviations.

    A sigmoid is not shifted if the Coulomb level of ``values`` (p,) does not compensate its unevenness.
    """
    sizes_of = dict(zip(parameterization.names, values.tolist(), strict=True))
    sizes = (estimate.values / estimate.deviations).tolist()
    names = np.array(parameterization.names)[estimate.base.independent].tolist()
    small = {
        name: size < SHAPE_DETERMINED for name, size in zip(names, sizes, strict=True)
    }
    shapes = []
    for joint, shape, form in zip(
        parameterization.model.moving_joints,
        parameterization.shapes,
        forms,
        strict=True,
    ):
        for parameter in _ADDED if "auto" in form else ():
            if small.get(f"{joint}.{parameter.group}"):
                shape = shape.without(parameter)
        uneven = abs(shape.unevenness) * sizes_of.get(f"{joint}.sigmoid", 0.0)
        if uneven > sizes_of.get(f"{joint}.coulomb", 0.0):
            shape = shape.having({SIGMOID_SHIFT: 0.0})
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
    steps = least_squares(triangle, kept)[len(estimate.values) :]
    scales = np.exp(np.clip(steps, -SHAPE_LARGEST_STEP, SHAPE_LARGEST_STEP)).tolist()
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
        forms: Sequence[Form],
    ) -> None:
        self._parameterization = parameterization
        self._samples = samples
        self._noise = noise
        # terms of a given form need no reason
        self._given = np.array(["auto" not in form for form in forms])
        motion = samples.q, samples.qd, samples.qdd
        base = parameterization.base.independent
        inertial = base[base < parameterization.new_rotors.stop]
        columns = parameterization.columns(*motion, samples.friction)[:, :, inertial]
        self._inertial = samples.centred(
            columns / noise[:, None], parameterization.offsets
        )
        self._torque = samples.centred(
            (samples.tau / noise)[:, :, None], parameterization.offsets
        )
        load = replace(parameterization, at=values).gear_load(*motion)
        self._loads = parameterization.joint_loads(load)[:, :, None]
        self._part = (
            np.arange(len(samples)) * SHAPE_BLOCKS // len(samples) % VALIDATION_PARTS
        )
        self._known: dict[Shapes, tuple[Array, Array, NDArray[np.bool_]]] = {}
        self._columns: dict[tuple[int, int, tuple[float, ...]], Array] = {}

    def improved(
        self,
        shapes: Shapes,
        *candidates: Shapes,
        refined: bool = False,
    ) -> Shapes:
        """Return ``shapes`` with those of the candidates that predict a joint's torque better.

        A candidate must reduce the RMS error by 3 % and a standard error, unless the form is given, or if ``refined``
        at all.
        """
        better, significant = (
            (1.0, 0.0) if refined else (SHAPE_BETTER, SHAPE_SIGNIFICANT)
        )
        forced = self._given & (not refined)
        chosen = list(shapes)
        before, before_all, _ = self._errors(shapes)
        least = np.where(forced, np.inf, better**2 * before.mean(axis=0))
        for candidate in candidates:
            after, after_all, physical = self._errors(candidate)
            gain = before - after
            # errors are infinite or NaN for a joint whose effort has no noise
            with np.errstate(invalid="ignore"):
                deviation = gain.std(axis=0, ddof=1) / np.sqrt(VALIDATION_PARTS)
                clear = gain.mean(axis=0) > significant * deviation
            clear &= after_all.sum(axis=0) <= before_all.sum(axis=0)
            smaller = after.mean(axis=0) < least
            changed = [
                one != other for one, other in zip(candidate, shapes, strict=True)
            ]
            for j in np.flatnonzero(physical & (clear | forced) & smaller & changed):
                chosen[j] = candidate[j]
                least[j] = after[:, j].mean()
        return tuple(chosen)

    def reductions(self, before: Shapes, after: Shapes) -> list[float]:
        """Return the share by which the RMS error of each joint is smaller with the shapes ``after``."""
        squares = [self._errors(shapes)[0].mean(axis=0) for shapes in (before, after)]
        floor = np.finfo(float).tiny
        ratio = squares[1] / np.maximum(squares[0], floor)
        return [float(share) for share in 1.0 - np.sqrt(ratio)]

    def _errors(self, shapes: Shapes) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Return the mean square of used and the sum of squares of all samples (parts, joints); True if physical."""
        if shapes not in self._known:
            self._known[shapes] = self._validated(shapes)
        return self._known[shapes]

    def _validated(self, shapes: Shapes) -> tuple[Array, Array, NDArray[np.bool_]]:
        parameterization = self._parameterization
        samples = self._samples
        friction = self._friction(shapes)
        # The static level may grow with the load independently of the Coulomb level: without it the fit is nonlinear.
        friction[:, :, [LOAD]] *= self._loads
        by_load = friction[:, :, [STATIC]] * self._loads
        friction[:, :, FORWARDS] += friction[:, :, BACKWARDS]
        terms = np.concatenate([friction, by_load], axis=2)
        columns = parameterization.at_coordinates(terms) / self._noise[:, None]
        columns = samples.centred(columns, parameterization.offsets)
        has = np.array([shape.used for shape in shapes]).T
        has[BACKWARDS] = False
        used = np.concatenate([has, has[[LOAD]] & has[[STATIC]]]).ravel()
        rows = np.concatenate(
            [self._inertial, columns[:, :, used], self._torque], axis=2
        )
        determined = self._squares(rows * samples.used[:, :, None])
        everywhere = self._squares(rows)
        inertial = self._inertial.shape[2]
        lower = np.zeros(rows.shape[2] - 1)
        lower[:inertial] = -np.inf
        uneven = np.array([abs(shape.unevenness) for shape in shapes])
        physical = np.ones(len(shapes), dtype=bool)
        coefficients = np.zeros(len(used))
        residuals = np.ones((VALIDATION_PARTS, rows.shape[2]))
        for part in range(VALIDATION_PARTS):
            others = np.delete(determined, part, axis=0).sum(axis=(0, 1))
            fit = _bounded_fit(others, lower)
            coefficients[used] = fit[inertial:]
            values = coefficients.reshape(len(COEFFICIENTS) + 1, -1)
            physical &= (values[STATIC] >= values[FORWARDS]) | ~has[STATIC]
            physical &= values[LOAD] < 1.0
            physical &= values[FORWARDS] >= uneven * values[SIGMOID]
            residuals[part, :-1] = -fit
        squares, squares_everywhere = (
            np.einsum("kjpq,kp,kq->kj", products, residuals, residuals)
            for products in (determined, everywhere)
        )
        moved = parameterization.moves.astype(np.float64)
        counts = np.array(
            [samples.used[self._part == k].sum(axis=0) for k in range(VALIDATION_PARTS)]
        )
        return (
            squares @ moved.T / np.maximum(counts @ moved.T, 1.0),
            squares_everywhere @ moved.T,
            physical,
        )

    def _friction(self, shapes: Shapes) -> Array:
        """Return the columns (m, joints, c) of friction; those of a term are computed once for a joint."""
        friction = np.zeros((len(self._samples), len(shapes), len(COEFFICIENTS)))
        for term in TERMS:
            kinds = [k for k, column in enumerate(COLUMNS) if column in term]
            keys = [
                (j, term[0], tuple(shape.row[k] for k in term))
                for j, shape in enumerate(shapes)
            ]
            new = [j for j, key in enumerate(keys) if key not in self._columns]
            if new and kinds:
                columns = self._term(kinds, new, [shapes[j] for j in new])
                self._columns |= {keys[j]: columns[:, k] for k, j in enumerate(new)}
            for j, key in enumerate(keys if kinds else []):
                friction[:, j, kinds] = self._columns[key]
        return friction

    def _term(
        self, kinds: list[int], joints: list[int], shapes: Sequence[FrictionShape]
    ) -> Array:
        rates = self._parameterization.joint_rates

        def law(q: Array, qd: Array, qdd: Array) -> Array:
            return friction_columns(rates(qd)[:, joints], shapes, kinds)[:, :, kinds]

        return self._samples.filtered(law)

    def _squares(self, rows: Array) -> Array:
        """Return the products (parts, n, c, c) of columns ``rows`` (m, n, c), summed over each part."""
        return summed_products(rows[self._part == k] for k in range(VALIDATION_PARTS))


def _bounded_fit(squares: Array, lower: Array) -> Array:
    """Return the least-squares solution (c,), at least ``lower``, of products (c + 1, c + 1) of columns and torque."""
    scale = np.sqrt(np.diagonal(squares))
    scale = np.where(scale == 0.0, 1.0, scale)
    scaled = squares / scale / scale[:, None] + RIDGE * np.eye(len(scale))
    triangle = np.linalg.cholesky(scaled).T
    fit = lsq_linear(
        triangle[:, :-1], triangle[:, -1], (lower, np.inf), method="bvls"
    ).x
    return np.asarray(fit * scale[-1] / scale[:-1])
