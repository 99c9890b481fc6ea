"""From recordings to a robot's parameters: base parameters by least squares, then inertias that bodies can have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.identification.feasible import feasible_fit, physical_prior
from robot_dynamics_ros.identification.least_squares import BaseEstimate, Factors, estimate_base
from robot_dynamics_ros.identification.motion import Motion
from robot_dynamics_ros.identification.samples import PARTS, Samples
from robot_dynamics_ros.identification.unknowns import Unknowns
from robot_dynamics_ros.kernels.regressor import PARAMETERS
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.progress import progress

_WEIGHTS = 10.0 ** np.arange(0.0, 5.0)
"""What the prior model may weigh; 100 holds a parameter to about a tenth of itself, as if measured so well."""

_BARRIER = 1e-3
"""What the prior of friction and of new rotors weighs: it keeps them positive, and is nothing beside any data."""

_NEW_ROTOR = 0.01  # of the inertia at the joint: prior of a rotor that the model does not have
_LEAST_FRICTION = 1e-3  # of the joints' noise, for a unit of rate


@dataclass(frozen=True, eq=False)
class Identification:
    """What recordings say of a robot.

    Attributes
    ----------
    unknowns
        What was identified, and the prior model.
    estimate
        The base parameters by unconstrained least squares, with standard deviations.
    values
        (p,): all unknowns, physically consistent: what the dynamics file gets.
    weight
        What the prior model weighs in them, chosen by cross-validation over PARTS of the samples.
    loss
        By what share the weighted RMS residual of ``values`` exceeds that of the base parameters.
    samples
        Torques that were used, of all joints.
    """

    unknowns: Unknowns
    estimate: BaseEstimate
    values: Array
    weight: float
    loss: float
    samples: int

    @property
    def base_values(self) -> Array:
        """The base parameters (r,) that ``values`` have."""
        return self.estimate.base.combination @ self.values


def identify(model: RobotModel, motions: Sequence[Motion], friction: str = "viscous_coulomb") -> Identification:
    """Identify a robot from recorded motions of its joints, in its order.

    ``friction``: one of friction_fit.KINDS. Raises RobotDynamicsError for another, and BagError, with its cure,
    where a joint never moves or the samples are too few.
    """
    unknowns = Unknowns.of(model, friction)
    samples = Samples.of(unknowns, motions)
    factors = Factors.of(unknowns, samples)
    estimate = estimate_base(unknowns, samples, factors)
    prior = _prior(unknowns, estimate, samples)
    weight = _chosen_weight(unknowns, factors, estimate.noise, prior)
    values = _fit(unknowns, factors.weighted(estimate.noise), prior, weight)
    x = np.zeros(len(values))
    x[estimate.base.independent] = estimate.values
    least, constrained = (float((factors.squares(y) / estimate.noise**2).sum()) for y in (x, values))
    loss = float(np.sqrt(constrained / least)) - 1.0
    return Identification(unknowns, estimate, values, weight, loss, int(factors.counts.sum()))


def _prior(unknowns: Unknowns, estimate: BaseEstimate, samples: Samples) -> Array:
    """Physical values (p,) near the model's own; of friction, where the data tell it, near what they tell."""
    prior = unknowns.own.copy()
    first = unknowns.scalars.start
    prior[:first] = physical_prior(prior[:first].reshape(-1, PARAMETERS)).ravel()
    prior[unknowns.new_rotors] = _NEW_ROTOR * unknowns.joint_inertias(samples.q[:: max(1, len(samples) // 50)])
    found = dict(zip(estimate.base.independent.tolist(), estimate.values.tolist(), strict=True))
    floor = _LEAST_FRICTION * float(estimate.noise.mean())
    for k in range(unknowns.new_rotors.stop, len(prior)):
        prior[k] = max(found.get(k, prior[k]), floor)
    return prior


def _fit(unknowns: Unknowns, triangle: Array, prior: Array, weight: float, start: Array | None = None) -> Array:
    weights = np.full(unknowns.scalars.stop - unknowns.scalars.start, _BARRIER)
    weights[: len(unknowns.model.packed.rotor_names)] = weight
    return feasible_fit(triangle, prior, unknowns.bodies, weight, weights, start)


def _chosen_weight(unknowns: Unknowns, factors: Factors, noise: Array, prior: Array) -> float:
    """Return what the prior may weigh: it is chosen by predicting each part from the others.

    The largest weight whose mean square is within a standard error of the least, since a few parts cannot tell such
    weights apart: Breiman et al. 1984, "Classification and regression trees", the one-standard-error rule.
    """
    there = [k for k in range(PARTS) if factors.counts[k].any()]
    triangles = [factors.weighted(noise, np.arange(PARTS) != k) for k in there]
    squares = np.empty((len(_WEIGHTS), len(there)))
    fits = [prior] * len(there)
    for row in progress(range(len(_WEIGHTS))[::-1], "cross-validation"):  # from the prior on
        for column, (k, triangle) in enumerate(zip(there, triangles, strict=True)):
            fits[column] = _fit(unknowns, triangle, prior, float(_WEIGHTS[row]), fits[column])
            squares[row, column] = (factors.squares(fits[column])[k] / noise**2).sum() / factors.counts[k].sum()
    best = squares[int(np.argmin(squares.mean(axis=1)))]
    error = best.std(ddof=1) / np.sqrt(len(there)) if len(there) > 1 else 0.0
    return float(_WEIGHTS[np.flatnonzero(squares.mean(axis=1) <= best.mean() + error)[-1]])
