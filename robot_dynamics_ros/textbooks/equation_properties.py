"""Properties of the equations of motion: Craig (6.63)-(6.65), Spong (9.58)-(9.63), (9.109)-(9.133).

Configuration-space form, Christoffel symbols, skew symmetry and passivity, bounds on the inertia matrix, linearity in
the parameters. M is the mass matrix, Spong's D, P the potential energy, H the kinetic and potential energy. ``robot``
is a model or its link tree (``LinkTree.of`` the model); q, qd and qdd have shape (n,), in rad or m. Vectors of a wrong
shape raise RobotDynamicsError.

The derivatives of the inertia matrix are exact: they are computed from the link Jacobians, with couplings and rotors
(``lagrange``). The Christoffel symbols therefore follow from their definition. They verify the kernels, which compute
the Coriolis matrix as half of dtau/dqd (``RobotModel.coriolis_matrix``).

``inertia_bounds`` searches those of (9.120): the best of many positions, improved by descent with exact derivatives.
Each bound is attained at a reported position; a larger range can be missed. ``guaranteed_inertia_bounds`` and
``passivity_bound`` (9.112) follow from lengths and inertias. They hold at every position, but are not attained.

The torque is linear in the ten parameters of every link and the rotors' inertias, tau = Y Theta
(``RobotModel.regressor``). Fewer parameters suffice, since joints couple the links; ``model.base_parameters`` computes
them numerically, Gautier 1990. Spong's five parameters of the elbow are minimal for unknown l1. Since Theta_2 is l1
Theta_5, known lengths as here leave four, or three without gravity.

Misprints: (9.63) has q_j for q_i in its first term, (9.115) lacks qd after C, (9.118) requires a P bounded from below,
(9.121) lacks qdd after D; (9.124) is m2 lc2^2 + I2, (9.129) m2 lc2, (9.131) lacks g. In (9.132) the sin q2 term of row
1 is -(qd2^2 + 2 qd1 qd2), and the third entry of row 2 is qdd1 + qdd2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.link_tree import BASE, LinkTree
from robot_dynamics_ros.textbooks import thresholds
from robot_dynamics_ros.textbooks.lagrange import inertia_matrix_derivatives
from robot_dynamics_ros.textbooks.shared_terms import checked, real


def christoffel_symbols(robot: RobotModel | LinkTree, q: ArrayLike) -> Array:
    """Return the Christoffel symbols c_ijk of the first kind (n, n, n) at q (n,): Spong (9.58).

    The result has c_ijk at [i, j, k], symmetric in i and j. The velocity part of torque k is sum_ij c_ijk qd_i qd_j,
    Spong (9.60).
    """
    d = inertia_matrix_derivatives(robot, q)  # [k, j, i]: that of d_kj by q_i
    return np.asarray(0.5 * (np.einsum("kji->ijk", d) + np.einsum("kij->ijk", d) - d))


def coriolis_matrix(robot: RobotModel | LinkTree, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return C(q, qd) (n, n) with c_kj = sum_i c_ijk qd_i, Spong (9.62), at q and qd (n,).

    c_ijk are the Christoffel symbols of M; C qd is the Coriolis and centrifugal torque.
    """
    tree, (qd,) = checked(robot, qd=qd)
    return np.asarray(np.einsum("ijk,i->kj", christoffel_symbols(tree, q), qd))


def skew_symmetric_matrix(
    robot: RobotModel | LinkTree, q: ArrayLike, qd: ArrayLike
) -> Array:
    """Return N = dM/dt - 2 C (n, n) of Spong (9.109) and (9.110) at q and qd (n,); it is skew-symmetric (9.111).

    C is the ``coriolis_matrix``.
    """
    tree, (qd,) = checked(robot, qd=qd)
    rate = inertia_matrix_derivatives(tree, q) @ qd  # (9.109)
    return rate - 2.0 * coriolis_matrix(tree, q, qd)


def velocity_products(qd: ArrayLike) -> Array:
    """Return [qd qd] (n (n - 1) / 2,) of qd (n,): qd_1 qd_2, qd_1 qd_3, ... qd_(n-1) qd_n, Craig (6.64)."""
    rates = real(qd)
    first, second = np.triu_indices(len(rates), 1)
    return rates[first] * rates[second]


def velocity_squares(qd: ArrayLike) -> Array:
    """Return [qd^2] (n,), the squares of the elements of qd (n,): Craig (6.65)."""
    return real(qd) ** 2


def coriolis_coefficients(robot: RobotModel | LinkTree, q: ArrayLike) -> Array:
    """Return B(q) (n, n (n - 1) / 2) of Craig (6.63) at q (n,): row k multiplies the products of rates in torque k.

    The columns have the order qd_1 qd_2, qd_1 qd_3, ... qd_(n-1) qd_n of ``velocity_products``.
    """
    c = christoffel_symbols(robot, q)
    first, second = np.triu_indices(len(c), 1)
    return 2.0 * c[first, second].T


def centrifugal_coefficients(robot: RobotModel | LinkTree, q: ArrayLike) -> Array:
    """Return C(q) (n, n) of Craig (6.63) at q (n,): row k multiplies the squared rates in torque k.

    It is not the ``coriolis_matrix``, which depends on the rates.
    """
    return np.asarray(np.einsum("jjk->kj", christoffel_symbols(robot, q)))


def velocity_torque(robot: RobotModel | LinkTree, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return V(q, qd) = B [qd qd] + C [qd^2] (n,), Craig (6.63), the Coriolis and centrifugal torque, N m or N.

    B and C are the results of ``coriolis_coefficients`` and ``centrifugal_coefficients`` at q (n,).
    """
    tree, (qd,) = checked(robot, qd=qd)
    products = coriolis_coefficients(tree, q) @ velocity_products(qd)
    return products + centrifugal_coefficients(tree, q) @ velocity_squares(qd)


def energy_balance(
    model: RobotModel, time: ArrayLike, q: ArrayLike, qd: ArrayLike, tau: ArrayLike
) -> tuple[Array, Array]:
    """Return the total energy H and the work of the torques along a motion, (m,) each, J: Spong (9.113)-(9.118).

    The work is the integral of qd^T tau from the first instant, computed by a cubic spline through the power, with an
    error of fourth order in the spacing. It equals H(t) - H(0) if no other forces act. The arm can release at most its
    initial energy, so it is passive: work >= min H - H(0), with the minimum over all states.

    Parameters
    ----------
    model
        The robot.
    time
        Times (m,), s, strictly ascending.
    q, qd, tau
        Positions, velocities and joint torques (m, n), in rad or m and Nm or N. A joint torque is the motor torque less
        friction.

    Raises
    ------
    RobotDynamicsError
        For arguments of a wrong shape, and for times that are not ascending.
    """
    # imported here, since it delays `inspect` by half a second
    from scipy.interpolate import CubicSpline

    t = real(time)
    positions, rates, torques = (real(x) for x in (q, qd, tau))
    if t.ndim != 1 or len(t) < 2 or not np.all(np.diff(t) > 0.0):
        raise RobotDynamicsError(
            "time is not ascending, or has fewer than 2 values. Cure: pass ascending times (m,)"
        )
    for name, given in (("q", positions), ("qd", rates), ("tau", torques)):
        if given.shape != (len(t), model.n):
            raise RobotDynamicsError(
                f"{name} has shape {given.shape}, expected {(len(t), model.n)}. Cure: pass one row for each time"
            )
    energy = model.kinetic_energy(positions, rates) + model.potential_energy(positions)
    power = CubicSpline(t, np.einsum("ti,ti->t", rates, torques))
    return energy, power.antiderivative()(t)


class InertiaBounds(NamedTuple):
    """Constants of Spong (9.120): lower |x|^2 <= x^T M(q) x <= upper |x|^2, in the units of M.

    For robots with revolute and prismatic joints the units of M differ by element; the bounds are for rad and m.

    Attributes
    ----------
    lower, upper
        Least and greatest eigenvalue of M. As norms: |M| <= upper, |M^-1| <= 1 / lower.
    lower_at, upper_at
        Positions (n,) of these eigenvalues.
    """

    lower: float
    upper: float
    lower_at: Array
    upper_at: Array


def eigenvalue_range(model: RobotModel, q: ArrayLike) -> tuple[float, float]:
    """Return the least and the greatest eigenvalue of M(q), Spong (9.119), at q (n,), in the units of M."""
    eigenvalues = np.linalg.eigvalsh(model.mass_matrix(model.vector("q", q)))
    return float(eigenvalues[0]), float(eigenvalues[-1])


def inertia_bounds(
    model: RobotModel, lower: ArrayLike | None = None, upper: ArrayLike | None = None
) -> InertiaBounds:
    """Return estimates of the least and the greatest eigenvalue of M(q), Spong (9.120), over a range of positions.

    2000 positions, the same at each call, are evaluated, and the best 4 of them improved. Coordinates that move only
    revolute joints, by integer factors, need no limits: a full turn is enough.

    Parameters
    ----------
    model
        The robot.
    lower, upper
        Ends of the range (n,), rad or m; None: the position limits, or a full turn where there is none.

    Raises
    ------
    RobotDynamicsError
        For a range that is empty, or missing although it is needed. The message has the joints.
    """
    low, high = _ranges(model, lower, upper)
    q = np.random.default_rng(0).uniform(
        low, high, (thresholds.BOUND_POSITIONS, model.n)
    )
    eigenvalues = np.linalg.eigvalsh(model.mass_matrix(q))
    least = _descend(
        model,
        q[np.argsort(eigenvalues[:, 0])[: thresholds.BOUND_IMPROVED]],
        low,
        high,
        0,
    )
    greatest = _descend(
        model,
        q[np.argsort(-eigenvalues[:, -1])[: thresholds.BOUND_IMPROVED]],
        low,
        high,
        -1,
    )
    return InertiaBounds(
        eigenvalue_range(model, least)[0],
        eigenvalue_range(model, greatest)[1],
        least,
        greatest,
    )


def guaranteed_inertia_bounds(
    model: RobotModel, lower: ArrayLike | None = None, upper: ArrayLike | None = None
) -> tuple[float, float]:
    """Return bounds of the eigenvalues of M(q) that hold at every position of a range, Spong (9.120), in units of M.

    Upper bound: |v_c| and |w| of each link are at most weighted sums of the |qd_j|, with the longest distance from
    joint j as weight. For the matrix A of the energy of these sums, x^T M x <= |x|^T A |x|. Lower bound: det M is at
    least the product of d_j, the inertia of link j alone about its joint, since its articulated-body inertia is not
    smaller. By Hadamard's inequality (M^-1)_kk <= (product of A_jj for j other than k) / det M, and 1 / lambda_min <=
    trace M^-1. The bound is 0 if a link has no inertia about its joint, and if a carrier has less than its rotors.

    Arguments and errors are those of ``inertia_bounds``.
    """
    tree = LinkTree.of(model)
    v, w, _ = _reaches(tree, *_ranges(model, lower, upper))
    g = np.abs(tree.couplings)
    inertias = np.array([link.inertia for link in tree.links])
    spins = np.abs(tree.rotor_couplings)
    for k, rotor in enumerate(tree.rotors):
        if rotor.carrier != BASE:
            inertias[rotor.carrier] -= rotor.inertia * np.outer(rotor.axis, rotor.axis)
            spins[k] += w[rotor.carrier] @ g
    masses = np.array([link.mass for link in tree.links])
    com = np.array([link.com for link in tree.links])
    moments = np.linalg.eigvalsh(inertias)
    joints = (v.T * masses) @ v + (w.T * moments[:, -1]) @ w
    coordinates = (
        g.T @ joints @ g + (spins.T * [rotor.inertia for rotor in tree.rotors]) @ spins
    )
    about_axes = inertias[:, 2, 2] + masses * (com[:, 0] ** 2 + com[:, 1] ** 2)
    own = np.where([link.prismatic for link in tree.links], masses, about_axes)
    highest = float(np.linalg.eigvalsh(coordinates)[-1])
    if not np.all(own > 0.0) or np.any(
        moments[:, 0] < -thresholds.ROUNDING * moments[:, -1]
    ):
        return 0.0, highest
    lowest = np.prod(own / np.diag(joints)) / np.sum(1.0 / np.diag(joints))
    return float(
        lowest * np.linalg.eigvalsh(tree.couplings.T @ tree.couplings)[0]
    ), highest


def passivity_bound(
    model: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
) -> float:
    """Return a constant beta, J, for which the work of the torques is never below -beta: Spong (9.112), (9.118).

    It is H at the initial state less a bound of the potential energy that holds at every position of the range, from
    the longest distances of the centres of mass.

    Parameters
    ----------
    model
        The robot.
    q, qd
        Initial position and velocity (n,).
    lower, upper
        Range of positions, as for ``inertia_bounds``.

    Raises
    ------
    RobotDynamicsError
        As ``inertia_bounds``.
    """
    tree = LinkTree.of(model)
    _, _, radii = _reaches(tree, *_ranges(model, lower, upper))
    least = 0.0
    for i, (link, radius) in enumerate(zip(tree.links, radii.tolist(), strict=True)):
        first = tree.links[tree.path(i)[0]].position
        least -= link.mass * (
            float(tree.gravity @ first) + radius * float(np.linalg.norm(tree.gravity))
        )
    return float(model.kinetic_energy(q, qd) + model.potential_energy(q)) - least


def _reaches(tree: LinkTree, low: Array, high: Array) -> tuple[Array, Array, Array]:
    """Return bounds of the speed and of the angular speed of each link per joint rate, and of its distance.

    The first two have shape (links, joints). The distance (links,), m, is that of the centre of mass from the place of
    the first joint on the link's path.
    """
    count = len(tree.links)
    ranges = np.maximum(np.abs(low), np.abs(high))
    strokes = np.abs(tree.couplings) @ ranges * [link.prismatic for link in tree.links]
    v = np.zeros((count, count))
    w = np.zeros((count, count))
    radii = np.zeros(count)
    for i, link in enumerate(tree.links):
        distance = float(np.linalg.norm(link.com))
        for j in reversed(tree.path(i)):
            v[i, j], w[i, j] = (
                (1.0, 0.0) if tree.links[j].prismatic else (distance, 1.0)
            )
            radii[i] = distance + strokes[j]
            distance = radii[i] + float(np.linalg.norm(tree.links[j].position))
    return v, w, radii


def elbow_regressor(
    q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, gravity: float = 9.81
) -> Array:
    """Return Y (2, 5) of the planar elbow's torque Y Theta: Spong (9.132) with its misprints corrected.

    Theta, (9.133), is m1 lc1^2 + m2 (l1^2 + lc2^2) + I1 + I2, m2 l1 lc2, m2 lc2^2 + I2, m1 lc1 + m2 l1, m2 lc2. q, qd
    and qdd are (2,), in rad (another length raises ValueError); ``gravity`` in m/s^2 acts against the direction of q1 =
    90 degrees.
    """
    (q1, q2), (v1, v2), (a1, a2) = (real(x) for x in (q, qd, qdd))
    c = np.cos(q2)
    s = np.sin(q2)
    g1 = gravity * np.cos(q1)
    g12 = gravity * np.cos(q1 + q2)
    first = [a1, c * (2.0 * a1 + a2) - s * (v2**2 + 2.0 * v1 * v2), a2, g1, g12]
    return np.array([first, [0.0, c * a1 + s * v1**2, a1 + a2, 0.0, g12]])


def _ranges(
    model: RobotModel, lower: ArrayLike | None, upper: ArrayLike | None
) -> tuple[Array, Array]:
    """Return the ranges (n,) to search, a full turn if there is none."""
    tree = LinkTree.of(model)
    low = model.vector("lower", model.position_lower if lower is None else lower)
    high = model.vector("upper", model.position_upper if upper is None else upper)
    unbounded = ~(np.isfinite(low) & np.isfinite(high))
    slides = np.array([link.prismatic for link in tree.links])
    endless = np.any(tree.couplings[slides] != 0.0, axis=0) | np.any(
        tree.couplings % 1.0 != 0.0, axis=0
    )
    for bad, error in (
        (~(low <= high), "the range is empty. Cure: pass lower below upper"),
        (
            unbounded & endless,
            "no position limits, and the configuration does not repeat after a full turn. Cure: pass lower and upper",
        ),
    ):
        if bad.any():
            names = [
                name
                for name, refused in zip(model.joint_names, bad, strict=True)
                if refused
            ]
            raise RobotDynamicsError(f"joints {names}: {error}")
    return np.where(unbounded, -np.pi, low), np.where(unbounded, np.pi, high)


def _descend(
    model: RobotModel, starts: Array, low: Array, high: Array, which: int
) -> Array:
    """Return the best position (n,) from starts (k, n) for the least (``which`` 0) or the greatest (-1) eigenvalue."""
    import scipy.optimize  # imported here, since it delays `inspect` by half a second

    sign = 1.0 if which == 0 else -1.0
    # Normalised, so that the tolerances apply to small and large arms alike.
    scale = max(abs(eigenvalue_range(model, starts[0])[which]), 1e-12)

    def value(q: Array) -> float:
        return sign * eigenvalue_range(model, q)[which] / scale

    def slope(q: Array) -> Array:
        x = np.linalg.eigh(model.mass_matrix(q))[1][:, which]
        # The derivative of a simple eigenvalue is x^T dM x, with |x| = 1.
        return np.asarray(
            sign
            * np.einsum("a,abi,b->i", x, inertia_matrix_derivatives(model, q), x)
            / scale
        )

    bounds = list(zip(low.tolist(), high.tolist(), strict=True))
    ends = [
        scipy.optimize.minimize(
            value,
            start,
            jac=slope,
            method="L-BFGS-B",
            bounds=bounds,
            options={"ftol": 1e-15, "gtol": 1e-9},
        ).x
        for start in starts
    ]
    return min((np.clip(end, low, high) for end in ends), key=value)
