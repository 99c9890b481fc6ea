"""Rounding errors of every quantity of a model, in eps times the size of its terms."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from benchmarks.robots import Floats
from robot_dynamics_ros import RobotModel, RobotModelError
from tools.numerics import oracle as oracle
from tools.numerics import scale as scale
from tools.numerics.arms import MOTIONS, Motion
from tools.numerics.derivative_scale import derivative_scales
from tools.numerics.oracle import MP, Exact

EPS = float(np.finfo(np.float64).eps)

QUANTITIES = (
    "inverse_dynamics",
    "bias_torque",
    "gravity_torque",
    "mass_matrix",
    "forward_dynamics",
    "dtau/dq",
    "dtau/dqd",
    "regressor",
    "jacobian",
    "jacobian_dot_qd",
    "kinetic_energy",
    "potential_energy",
    "friction_torque",
)


def units(got: Any, exact: Any, size: Any) -> float:
    """Return the largest error in units of eps times ``size``, elementwise; infinite if ``got`` is not finite."""
    worst = 0.0
    for ours, true, scale_ in np.broadcast(
        np.asarray(got), np.asarray(exact), np.asarray(size)
    ):
        if not np.isfinite(ours):
            return np.inf
        worst = max(
            worst, float(abs(MP.mpf(float(ours)) - true) / (MP.mpf(EPS) * scale_))
        )
    return worst


class Measured:
    """Model and the same robot with 50 digits; ``many`` is True for the kernels of batches."""

    def __init__(self, model: RobotModel, many: bool = False) -> None:
        self.model = model
        self.many = many
        self.exact = oracle.exact_robot(model)
        self.sizes = scale.sizes(model)

    def ours(self, quantity: str, *arguments: Any) -> Floats:
        """Return the model's result of the method ``quantity`` for one state."""
        method = getattr(self.model, quantity)
        if not self.many:
            return np.asarray(method(*arguments))
        return np.asarray(
            method(
                *(x[np.newaxis] if isinstance(x, np.ndarray) else x for x in arguments)
            )[0]
        )

    def errors(self, motion: Motion) -> dict[str, float]:
        """Return the error of each of QUANTITIES for one motion; NaN if forward dynamics reports singularity."""
        model = self.model
        robot = self.exact
        sizes = self.sizes
        q, qd, qdd = motion
        rest = np.zeros(model.n)
        link = model.link_names[-1]
        bias = oracle.torque(robot, q, qd, rest)
        matrix = oracle.mass_matrix(robot, q)
        matrix_size = scale.matrix_scale(sizes, q)
        speeds = np.abs(qd) + scale.FLOOR
        # Arguments, exact result and size of the terms of each method.
        table: dict[str, tuple[tuple[Any, ...], Any, Any]] = {
            "inverse_dynamics": (
                motion,
                bias + matrix @ oracle.exact(qdd),
                scale.torque_scale(sizes, *motion),
            ),
            "bias_torque": ((q, qd), bias, scale.torque_scale(sizes, q, qd, rest)),
            "gravity_torque": (
                (q,),
                oracle.torque(robot, q, rest, rest),
                scale.torque_scale(sizes, q, rest, rest),
            ),
            "mass_matrix": ((q,), matrix, matrix_size),
            "regressor": (
                motion,
                oracle.regressor(model, robot, *motion),
                scale.regressor_scale(sizes, *motion),
            ),
            "jacobian": (
                (q, link),
                oracle.jacobian(model, robot, q, link),
                scale.jacobian_scale(model, sizes, q, link),
            ),
            "jacobian_dot_qd": (
                (q, qd, link),
                oracle.jacobian_dot_qd(model, robot, q, qd, link),
                scale.acceleration_scale(model, sizes, q, qd, link),
            ),
            "kinetic_energy": (
                (q, qd),
                oracle.kinetic_energy(matrix, qd),
                0.5 * speeds @ matrix_size @ speeds + scale.FLOOR,
            ),
            "potential_energy": (
                (q,),
                oracle.potential_energy(robot, q),
                scale.potential_scale(sizes, q),
            ),
            "friction_torque": (
                (q, qd),
                oracle.friction_torque(model, robot, q, qd),
                scale.friction_scale(model, sizes, q, qd),
            ),
        }
        found = {
            name: units(self.ours(name, *given), exact, size)
            for name, (given, exact, size) in table.items()
        }
        ours, true, size_ = self._derivatives(motion)
        found["dtau/dq"], found["dtau/dqd"] = map(units, ours, true, size_)
        found["forward_dynamics"] = self._forward_error(
            motion, bias, matrix, matrix_size
        )
        return found

    def _derivatives(self, motion: Motion) -> tuple[Any, Any, Any]:
        batch = (np.array([x]) for x in motion)
        ours = [x[0] for x in self.model.inverse_dynamics_derivatives(*batch)]
        return (
            ours,
            oracle.derivatives(self.exact, *motion),
            derivative_scales(self.sizes, *motion),
        )

    def _forward_error(
        self, motion: Motion, bias: Exact, matrix: Exact, matrix_size: Floats
    ) -> float:
        """Return the error relative to one eps in tau, bias and matrix: |M^-1| (|M| |qdd| + |h| + |tau|)."""
        q, qd, _ = motion
        tau = self.ours("inverse_dynamics", *motion)
        try:
            got = self.ours("forward_dynamics", q, qd, tau)
        except RobotModelError:
            return np.nan
        true, inverse = oracle.acceleration(matrix, bias, tau)
        load = (
            matrix_size @ np.abs(true)
            + scale.torque_scale(self.sizes, q, qd, np.zeros(len(q)))
            + np.abs(tau)
        )
        return units(got, true, np.abs(inverse) @ load + scale.FLOOR)

    def plain_errors(self, motion: Motion) -> Plain:
        """Return relative errors for one motion."""
        q, qd, qdd = motion
        rest = np.zeros(len(q))
        matrix = oracle.mass_matrix(self.exact, q)
        bias = oracle.torque(self.exact, q, qd, rest)
        tau = self.ours("inverse_dynamics", *motion)
        ours, exact, _ = self._derivatives(motion)
        root = np.array([MP.sqrt(x) for x in np.diag(matrix)])
        try:
            got = self.ours("forward_dynamics", q, qd, tau)
            true, _ = oracle.acceleration(matrix, bias, tau)
            error = float(
                _length(root * (oracle.exact(got) - true)) / _length(root * true)
            )
        except RobotModelError:
            error = np.nan
        return Plain(
            torque=_relative(tau, bias + matrix @ oracle.exact(qdd)),
            derivatives=_relative_rows(np.hstack(ours), np.hstack(exact)),
            condition=_condition(matrix),
            scaled_condition=_condition(matrix / np.outer(root, root)),
            acceleration=error,
        )


class Plain(NamedTuple):
    """Relative errors, and condition numbers of the mass matrix.

    Inverse dynamics: largest error divided by largest torque; derivatives: the same for each joint's row. Condition
    number of M, and of M in joint units in which its diagonal elements are 1. Forward dynamics: norm of the error in
    these units; NaN if singular.
    """

    torque: float
    derivatives: float
    condition: float
    scaled_condition: float
    acceleration: float


def _relative(got: Any, true: Exact) -> float:
    return float(np.max(abs(oracle.exact(got) - true)) / np.max(abs(true)))


def _relative_rows(got: Any, true: Exact) -> float:
    """Return the largest error of a row divided by its largest element; rows that are exactly 0 are ignored."""
    largest = np.max(abs(true), axis=1)
    rows = largest > np.max(largest) * MP.mpf(10) ** -28
    return float(
        np.max(np.max(abs(oracle.exact(got) - true), axis=1)[rows] / largest[rows])
    )


def _length(vector: Exact) -> Any:
    return MP.sqrt(vector @ vector)


def _condition(matrix: Exact) -> float:
    """Return the largest divided by the smallest eigenvalue."""
    values = MP.eigsy(MP.matrix(matrix.tolist()), eigvals_only=True)
    return float(max(values) / min(values))


def motions(kind: str, n: int, count: int) -> list[Motion]:
    """Return ``count`` motions of a kind of MOTIONS, always the same ones."""
    rng = np.random.default_rng([9, list(MOTIONS).index(kind)])
    return [MOTIONS[kind](n, rng) for _ in range(count)]


def measure(measured: Measured, kind: str, count: int) -> dict[str, Floats]:
    """Return the errors (count,) of each quantity for ``count`` motions of a kind of MOTIONS."""
    rows = [
        measured.errors(motion) for motion in motions(kind, measured.model.n, count)
    ]
    return {name: np.array([row[name] for row in rows]) for name in QUANTITIES}
