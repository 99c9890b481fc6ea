"""Base parameters: the linear combinations of inertial parameters that determine the torque.

They are computed numerically by M. Gautier, "Numerical calculation of the base inertial parameters of robots", ICRA
1990. W (rows, p) is the regressor at random states, so that the torques are W x for the p parameters x (p,). A QR
factorisation with column pivoting gives its rank r. With r independent columns W_b and a permutation P of the
parameters into the independent ones x_b and the others x_d, W = W_b [1 K] P, so that W x = W_b (x_b + K x_d). Those of
a robot are its minimal parameters: Spong (9.121).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model.robot_model import RobotModel
from robot_dynamics_ros.dynamics.thresholds import (
    BASE_NEGLIGIBLE,
    BASE_RANK,
    BASE_ROUNDING,
    RANDOM_ACCELERATION,
    RANDOM_VELOCITY,
    STATES_PER_JOINT,
)

Places = NDArray[np.intp]


# Order of preference: the parameters that textbooks keep come first (Khalil's rules for axes along z), mass last.
_READABLE = ("izz", "ixx", "ixy", "ixz", "iyz", "mcx", "mcy", "iyy", "mcz", "mass")


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """The r base parameters of p parameters x: base = combination x. The torque depends on x through them only.

    Attributes
    ----------
    independent
        (r,): indices of the columns of the regressor that form the base regressor W_b, ascending.
    combination
        (r, p): row i has 1 for the independent parameter ``independent[i]``, 0 for the other independent ones, and row
        i of K for the dependent parameters.
    names
        (r,): each base parameter as a sum, such as "link2.ixx - link2.iyy + 0.1 link3.mcx".
    without_effect
        Indices of the parameters that have no effect on the torque.
    """

    independent: Places
    combination: Array
    names: tuple[str, ...]
    without_effect: Places

    @classmethod
    def of(
        cls, columns: Array, names: Sequence[str], tolerance: float = BASE_RANK
    ) -> BaseParameters:
        """Return the base parameters of a regressor W.

        Parameters
        ----------
        columns
            Regressor (rows, p) of many states, one above the other, or its triangular factor.
        names
            Names of the p parameters. Those that end in ".izz", ".mcx" and so on are preferred as independent ones in
            the order of textbooks.
        tolerance
            A column is dependent if its residual after projection onto the others is below this fraction of its
            length.
        """
        if len(columns) > columns.shape[1]:
            # the same dependencies in fewer rows
            columns = np.asarray(np.linalg.qr(columns, mode="r"))
        lengths = np.linalg.norm(columns, axis=0)
        seen = np.flatnonzero(lengths > BASE_NEGLIGIBLE * lengths.max(initial=0.0))
        unit = columns[:, seen] / lengths[seen]
        # SciPy before 1.14 cannot factorise an empty matrix.
        triangle, pivots = (
            scipy.linalg.qr(unit, mode="r", pivoting=True)
            if unit.size
            else (unit, seen)
        )
        diagonal = np.abs(np.diag(triangle))
        rank = int(np.count_nonzero(diagonal > tolerance * diagonal.max(initial=0.0)))
        chosen = _readable(unit, [names[k] for k in seen.tolist()], rank, tolerance)
        if chosen is None:
            chosen = np.sort(pivots[:rank])
        independent = seen[chosen]
        dependent = np.setdiff1d(seen, independent)
        combination = np.zeros((rank, len(names)))
        combination[np.arange(rank), independent] = 1.0
        solution = np.linalg.lstsq(
            columns[:, independent], columns[:, dependent], rcond=None
        )[0]
        # Relative to the columns' lengths, so that rounding errors of a sum of long columns are dropped.
        share = np.abs(solution) * lengths[independent, np.newaxis] / lengths[dependent]
        combination[:, dependent] = np.where(share > BASE_ROUNDING, solution, 0.0)
        sums = tuple(
            _sum(row, names, first)
            for row, first in zip(combination, independent, strict=True)
        )
        return cls(
            independent, combination, sums, np.setdiff1d(np.arange(len(names)), seen)
        )


@dataclass(frozen=True, eq=False)
class MinimalParameters:
    """Smallest set of parameters that determines the robot's torque: tau = Y(q, qd, qdd) Theta, Spong (9.121).

    Attributes
    ----------
    model
        The robot.
    base
        Combinations of ``RobotModel.parameter_names``: theta = base.combination @ inertial parameters.
    """

    model: RobotModel
    base: BaseParameters

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the r minimal parameters as sums of inertial parameters, such as "link1.mcx + 0.5 link2.mass"."""
        return self.base.names

    @property
    def theta(self) -> Array:
        """Values (r,) of the parameters for the robot, including its payload, in SI units: Spong (9.133)."""
        return np.asarray(self.base.combination @ self.model.inertial_parameters)

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Names of the inertial parameters that have no effect on the torque."""
        return tuple(
            self.model.parameter_names[k] for k in self.base.without_effect.tolist()
        )

    def regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Return Y (..., n, r) of Spong (9.132) at q, qd, qdd (..., n), rad or m.

        Column i is the torque for a unit value of minimal parameter i; Y Theta is the torque without friction. Raises
        RobotDynamicsError for arguments of a wrong shape.
        """
        return np.asarray(self.model.regressor(q, qd, qdd)[..., self.base.independent])


def minimal_parameters(model: RobotModel) -> MinimalParameters:
    """Return the minimal parameters of a robot, Spong (9.121), from its regressor at random states in its limits.

    The result is the same at each call. Parameters that only gravity makes visible are included if the model has
    gravity.
    """
    rng = np.random.default_rng(0)
    shape = STATES_PER_JOINT * model.n, model.n
    q = rng.uniform(*position_ranges(model), shape)
    qd = rng.uniform(-RANDOM_VELOCITY, RANDOM_VELOCITY, shape)
    qdd = rng.uniform(-RANDOM_ACCELERATION, RANDOM_ACCELERATION, shape)
    columns = model.regressor(q, qd, qdd).reshape(-1, len(model.parameter_names))
    return MinimalParameters(model, BaseParameters.of(columns, model.parameter_names))


def position_ranges(model: RobotModel, prismatic: float = np.pi) -> tuple[Array, Array]:
    """Return lower and upper positions (n,), rad or m: the position limits, or half a turn to each side of zero.

    The half range of prismatic joints without limits is ``prismatic`` (m). With one limit the range of the same width
    begins or ends there.
    """
    slides = [name in model.prismatic_joints for name in model.joint_names]
    half = np.where(slides, prismatic, np.pi)
    least = np.where(
        np.isfinite(model.position_upper), model.position_upper - 2.0 * half, -half
    )
    lower = np.where(np.isfinite(model.position_lower), model.position_lower, least)
    upper = np.where(
        np.isfinite(model.position_upper), model.position_upper, lower + 2.0 * half
    )
    return lower, np.maximum(lower, upper)


def _readable(
    unit: Array, names: Sequence[str], rank: int, tolerance: float
) -> Places | None:
    """Select independent columns one by one in the order of _READABLE; None if they do not attain the rank."""

    def place(k: int) -> tuple[int, int]:
        kind = names[k].rsplit(".", 1)[-1]
        return _READABLE.index(kind) if kind in _READABLE else len(_READABLE), k

    basis = np.empty((rank, len(unit)))
    chosen: list[int] = []
    # Friction parameters are independent of inertial ones in any order; rotors are grouped.
    for k in sorted(range(len(names)), key=place):
        column = unit[:, k].copy()
        for _ in range(2):  # twice is enough (Kahan, Parlett)
            column -= (basis[: len(chosen)] @ column) @ basis[: len(chosen)]
        length = np.linalg.norm(column)
        if length > tolerance:
            if len(chosen) == rank:
                return None
            basis[len(chosen)] = column / length
            chosen.append(k)
    return np.sort(np.array(chosen, dtype=np.intp)) if len(chosen) == rank else None


def _sum(row: Array, names: Sequence[str], first: int) -> str:
    """Write a row of the combination as a sum, starting with the independent parameter."""
    terms = [names[first]]
    for k in np.flatnonzero(row).tolist():
        if k != first:
            size = abs(row[k])
            factor = "" if abs(size - 1.0) < 1e-9 else f"{size:.4g} "
            terms.append(f"{'-' if row[k] < 0.0 else '+'} {factor}{names[k]}")
    return " ".join(terms)
