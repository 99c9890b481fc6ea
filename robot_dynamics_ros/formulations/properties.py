"""Properties of the equations of motion: Craig (6.63)-(6.65), Spong (9.58)-(9.63), (9.109)-(9.133).

The configuration-space form, Christoffel symbols, skew symmetry and passivity, bounds on the inertia matrix, linearity
in the parameters. Spong's D is M here, P the potential energy.

The derivatives of the inertia matrix are exact: those of the link Jacobians that it is made of, with couplings and
rotors (``lagrange``). So the symbols come from the definition alone and check the kernels, which get the
Coriolis matrix otherwise (``RobotModel.coriolis_matrix``: half of dtau/dqd).

The bounds of (9.120) are found numerically: many positions, then descent with exact derivatives from the best of them.
That is an estimate from inside: each is attained at a position that is reported, and one further out may be missed.

The ten parameters of every link and the rotors' inertias suffice, tau = Y Theta (``RobotModel.regressor``); fewer do,
since joints couple the links. ``model.base_parameters`` finds them numerically, Gautier 1990. Spong's five
parameters of the elbow are minimal where l1 is not known: Theta_2 is l1 Theta_5, so where lengths are known, as here,
four are left, without gravity three.

In print (9.63) has q_j for q_i in its first term, (9.115) lacks qd behind C, (9.118) needs P bounded from below,
(9.121) lacks qdd behind D; (9.124) is m2 lc2^2 + I2, (9.129) m2 lc2, (9.131) lacks g, and in (9.132) the sin q2 term of
row 1 is -(qd2^2 + 2 qd1 qd2), the third entry of row 2 qdd1 + qdd2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.formulations.lagrange import inertia_matrix_derivatives
from robot_dynamics_ros.formulations.link_tree import checked
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.model.base_parameters import BaseParameters
from robot_dynamics_ros.model.link_tree import LinkTree

_STATES = 60  # random ones for each joint: many more equations than the ten parameters of a link
_SPEED, _ACCELERATION = 3.0, 10.0  # rad/s, rad/s^2 or in m
_POSITIONS, _IMPROVED = 2000, 4  # of the search for bounds


def christoffel_symbols(robot: RobotModel | LinkTree, q: ArrayLike) -> Array:
    """Christoffel symbols c_ijk of the first kind at q (n,), as (n, n, n) in this order, Spong (9.58).

    They are symmetric in i and j; sum_ij c_ijk qd_i qd_j is what velocity adds to torque k, Spong (9.60).
    """
    d = inertia_matrix_derivatives(robot, q)  # [k, j, i]: that of d_kj by q_i
    return np.asarray(0.5 * (np.einsum("kji->ijk", d) + np.einsum("kij->ijk", d) - d))


def coriolis_matrix(robot: RobotModel | LinkTree, q: ArrayLike, qd: ArrayLike) -> Array:
    """C(q, qd) (n, n) with c_kj = sum_i c_ijk qd_i, Spong (9.62), at q and qd (n,)."""
    tree, (qd,) = checked(robot, qd=qd)
    return np.asarray(np.einsum("ijk,i->kj", christoffel_symbols(tree, q), qd))


def skew_symmetric_matrix(robot: RobotModel | LinkTree, q: ArrayLike, qd: ArrayLike) -> Array:
    """N = dM/dt - 2 C (n, n) of Spong (9.109) and (9.110) at q and qd (n,): its transpose is -N (9.111)."""
    tree, (qd,) = checked(robot, qd=qd)
    rate = inertia_matrix_derivatives(tree, q) @ qd  # (9.109)
    return np.asarray(rate - 2.0 * coriolis_matrix(tree, q, qd))


def velocity_products(qd: ArrayLike) -> Array:
    """[qd qd] (n (n - 1) / 2,), Craig (6.64): qd_1 qd_2, qd_1 qd_3, ... qd_(n-1) qd_n, of qd (n,)."""
    rates = np.asarray(qd, dtype=np.float64)
    first, second = np.triu_indices(len(rates), 1)
    return np.asarray(rates[first] * rates[second])


def velocity_squares(qd: ArrayLike) -> Array:
    """[qd^2] (n,), Craig (6.65), of qd (n,)."""
    return np.asarray(np.asarray(qd, dtype=np.float64) ** 2)


def coriolis_coefficients(robot: RobotModel | LinkTree, q: ArrayLike) -> Array:
    """B(q) (n, n (n - 1) / 2) of Craig (6.63) at q (n,), columns in the order of ``velocity_products``."""
    c = christoffel_symbols(robot, q)
    first, second = np.triu_indices(len(c), 1)
    return np.asarray(2.0 * c[first, second].T)


def centrifugal_coefficients(robot: RobotModel | LinkTree, q: ArrayLike) -> Array:
    """C(q) (n, n) of Craig (6.63) at q (n,): row k is what the squared rates add to torque k.

    It is no ``coriolis_matrix``, which depends on the rates.
    """
    return np.asarray(np.einsum("jjk->kj", christoffel_symbols(robot, q)))


def velocity_torque(robot: RobotModel | LinkTree, q: ArrayLike, qd: ArrayLike) -> Array:
    """V(q, qd) = B [qd qd] + C [qd^2] (n,), Craig (6.63), at q and qd (n,), N m or N."""
    tree, (qd,) = checked(robot, qd=qd)
    products = coriolis_coefficients(tree, q) @ velocity_products(qd)
    return np.asarray(products + centrifugal_coefficients(tree, q) @ velocity_squares(qd))


def energy_balance(
    model: RobotModel, time: ArrayLike, q: ArrayLike, qd: ArrayLike, tau: ArrayLike
) -> tuple[Array, Array]:
    """Return H (m,), Spong (9.113), and the work of the torques (m,), J, along a motion: Spong (9.113)-(9.118).

    ``time`` (m,) rises, s; q, qd (m, n) and tau (m, n), without friction, belong to it. The work is the integral of
    qd^T tau from the first instant, H(t) - H(0) where no other forces act; it is that of the cubic spline through the
    power, its error of fourth order in the spacing. The arm gives away at most the energy that it had, so it is
    passive: work >= min H - H(0), where min H is over all states. Raises RobotDynamicsError where the shapes do not
    fit.
    """
    from scipy.interpolate import CubicSpline  # half a second to load, which inspect would wait for

    t = np.asarray(time, dtype=np.float64)
    positions, rates, torques = (np.asarray(x, dtype=np.float64) for x in (q, qd, tau))
    if t.ndim != 1 or len(t) < 2 or not np.all(np.diff(t) > 0.0):
        raise RobotDynamicsError("time is no row of at least 2 rising numbers. Cure: give it in s, without repetitions")
    for name, given in (("q", positions), ("qd", rates), ("tau", torques)):
        if given.shape != (len(t), model.n):
            raise RobotDynamicsError(
                f"{name} has shape {given.shape}, expected {(len(t), model.n)}. Cure: give one row for each time"
            )
    energy = model.kinetic_energy(positions, rates) + model.potential_energy(positions)
    power = CubicSpline(t, np.einsum("ti,ti->t", rates, torques))
    return energy, np.asarray(power.antiderivative()(t))


@dataclass(frozen=True, eq=False)
class InertiaBounds:
    """Constants of Spong (9.120): lower |x|^2 <= x^T M(q) x <= upper |x|^2, in the units of M.

    Where some joints turn and others slide, the units of M differ by entry, and so the numbers depend on rad and m.

    Attributes
    ----------
    lower, upper
        The least and the greatest eigenvalue of the search. In norms: |M| <= upper, |M^-1| <= 1 / lower.
    lower_at, upper_at
        (n,): the positions where M has them.
    """

    lower: float
    upper: float
    lower_at: Array
    upper_at: Array


def eigenvalue_range(model: RobotModel, q: ArrayLike) -> tuple[float, float]:
    """Least and greatest eigenvalue of M(q), Spong (9.119), at q (n,)."""
    eigenvalues = np.linalg.eigvalsh(model.mass_matrix(model.vector("q", q)))
    return float(eigenvalues[0]), float(eigenvalues[-1])


def inertia_bounds(model: RobotModel, lower: ArrayLike | None = None, upper: ArrayLike | None = None) -> InertiaBounds:
    """Bounds of Spong (9.120) over lower <= q <= upper (n,), rad or m; where None, over the position limits.

    Coordinates that only move revolute joints, by whole numbers, need no limit: a full turn is enough. 2000 positions
    are evaluated, always the same ones, and the best 4 of them improved. Raises RobotDynamicsError, naming the joints,
    for a range that is needed and missing or is empty.
    """
    low, high = _ranges(model, lower, upper)
    q = np.random.default_rng(0).uniform(low, high, (_POSITIONS, model.n))
    eigenvalues = np.linalg.eigvalsh(model.mass_matrix(q))
    least = _descend(model, q[np.argsort(eigenvalues[:, 0])[:_IMPROVED]], low, high, 0)
    greatest = _descend(model, q[np.argsort(-eigenvalues[:, -1])[:_IMPROVED]], low, high, -1)
    return InertiaBounds(eigenvalue_range(model, least)[0], eigenvalue_range(model, greatest)[1], least, greatest)


def _ranges(model: RobotModel, lower: ArrayLike | None, upper: ArrayLike | None) -> tuple[Array, Array]:
    """Return the ranges (n,) to search, a full turn in place of none."""
    tree = LinkTree.of(model)
    low = model.vector("lower", model.position_lower if lower is None else lower)
    high = model.vector("upper", model.position_upper if upper is None else upper)
    unbounded = ~(np.isfinite(low) & np.isfinite(high))
    slides = np.array([link.prismatic for link in tree.links])
    endless = np.any(tree.couplings[slides] != 0.0, axis=0) | np.any(tree.couplings % 1.0 != 0.0, axis=0)
    for bad, error in (
        (~(low <= high), "the range is empty. Cure: give lower below upper"),
        (
            unbounded & endless,
            "no position limits, and no full turn after which all repeats. Cure: pass lower and upper",
        ),
    ):
        if bad.any():
            names = [name for name, refused in zip(model.joint_names, bad, strict=True) if refused]
            raise RobotDynamicsError(f"joints {names}: {error}")
    return np.where(unbounded, -np.pi, low), np.where(unbounded, np.pi, high)


def _descend(model: RobotModel, starts: Array, low: Array, high: Array, which: int) -> Array:
    """Return the best position (n,) from starts (k, n) for the least (``which`` 0) or the greatest (-1) eigenvalue."""
    import scipy.optimize  # half a second to load, which inspect would wait for

    sign = 1.0 if which == 0 else -1.0
    # In units of its own size, so that tolerances mean the same for small and large arms.
    scale = max(abs(eigenvalue_range(model, starts[0])[which]), 1e-12)

    def value(q: Array) -> float:
        return sign * eigenvalue_range(model, q)[which] / scale

    def slope(q: Array) -> Array:
        x = np.linalg.eigh(model.mass_matrix(q))[1][:, which]
        # Of a simple eigenvalue: x^T dM x, with |x| = 1.
        return np.asarray(sign * np.einsum("a,abi,b->i", x, inertia_matrix_derivatives(model, q), x) / scale)

    bounds = list(zip(low.tolist(), high.tolist(), strict=True))
    ends = [
        scipy.optimize.minimize(
            value, start, jac=slope, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-15, "gtol": 1e-9}
        ).x
        for start in starts
    ]
    return np.asarray(min((np.clip(end, low, high) for end in ends), key=value))


@dataclass(frozen=True, eq=False)
class MinimalParameters:
    """The fewest parameters that give the robot's torque: tau = Y(q, qd, qdd) Theta, Spong (9.121).

    Attributes
    ----------
    model
        The robot.
    base
        How they combine ``RobotModel.parameter_names``: theta = base.combination @ inertial parameters.
    """

    model: RobotModel
    base: BaseParameters

    @property
    def names(self) -> tuple[str, ...]:
        """Each as a sum (r,), like "link1.mcx + 0.5 link2.mass"."""
        return self.base.names

    @property
    def theta(self) -> Array:
        """Their values (r,) for the robot, payload included, SI units: Spong (9.133)."""
        return np.asarray(self.base.combination @ self.model.inertial_parameters)

    @property
    def without_effect(self) -> tuple[str, ...]:
        """The inertial parameters that no torque depends on."""
        return tuple(self.model.parameter_names[k] for k in self.base.without_effect.tolist())

    def regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Y (..., n, r) of Spong (9.132) at q, qd, qdd (..., n): the columns of the independent parameters."""
        return np.asarray(self.model.regressor(q, qd, qdd)[..., self.base.independent])


def minimal_parameters(model: RobotModel) -> MinimalParameters:
    """Find the minimal parameters of a robot, Spong (9.121), from its regressor at random states in its limits.

    They are the same at each call. What gravity alone shows counts where the model has gravity.
    """
    rng = np.random.default_rng(0)
    shape = _STATES * model.n, model.n
    q = rng.uniform(*position_ranges(model), shape)
    qd = rng.uniform(-_SPEED, _SPEED, shape)
    qdd = rng.uniform(-_ACCELERATION, _ACCELERATION, shape)
    columns = model.regressor(q, qd, qdd).reshape(-1, len(model.parameter_names))
    return MinimalParameters(model, BaseParameters.of(columns, model.parameter_names))


def position_ranges(model: RobotModel) -> tuple[Array, Array]:
    """Return lower and upper positions (n,), rad or m: the limits, or -pi and pi where there are none."""
    limited = np.isfinite(model.position_lower) & np.isfinite(model.position_upper)
    return np.where(limited, model.position_lower, -np.pi), np.where(limited, model.position_upper, np.pi)
