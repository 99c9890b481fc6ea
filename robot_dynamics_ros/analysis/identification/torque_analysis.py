"""Terms of a model's torque along a recorded motion, and their errors."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.analysis.identification.friction_shapes import at_rest, near
from robot_dynamics_ros.analysis.identification.recorded_motion import RecordedMotion
from robot_dynamics_ros.analysis.thresholds import TINY
from robot_dynamics_ros.base.errors import BagError
from robot_dynamics_ros.base.statistics import root_mean_square
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.link_tree import LinkTree

LOADS = {
    "axial_force": "axial force, N",
    "radial_force": "radial force, N",
    "tilting_moment": "tilting moment, Nm",
}
"""Keys of the loads on a bearing, with their titles."""


@dataclass(frozen=True, eq=False)
class TorqueAnalysis:
    """Measured and modelled torque along a recorded motion: arrays (m, n) in Nm or N.

    Attributes
    ----------
    motion
        The motion, with the measured torque ``motion.tau``.
    inertia, velocity, gravity, friction
        Terms of the model: M(q) qdd, V(q, qd) = C(q, qd) qd and G(q) of Craig (6.59), rotors included, and F(q, qd),
        which passes the filter of the measured torque.
    determined
        The result (m, n) of ``torque_is_determined``. Statistics of a joint are those of its determined samples, or of
        all if none is determined.
    """

    motion: RecordedMotion
    inertia: Array
    velocity: Array
    gravity: Array
    friction: Array
    determined: NDArray[np.bool_]

    @property
    def model(self) -> Array:
        """Torque (m, n) of the model, Nm or N: inertia + velocity + gravity + friction."""
        return self.inertia + self.velocity + self.gravity + self.friction

    @property
    def residual(self) -> Array:
        """Measured torque minus the model's (m, n)."""
        return self.motion.tau - self.model

    @property
    def rms(self) -> Array:
        """Root mean square of the residual (n,)."""
        return self.size(self.residual)

    @property
    def used(self) -> NDArray[np.bool_]:
        """True (m, n) for the samples of the statistics."""
        return self.determined | ~self.determined.any(axis=0)

    def size(self, torque: Array) -> Array:
        """Return the root mean square (n,) of ``torque`` (m, n) over the samples of the statistics."""
        return root_mean_square(torque, where=self.used)

    @property
    def bias(self) -> Array:
        """Mean of the residual (n,)."""
        return np.asarray(self.residual.mean(axis=0, where=self.used))

    @property
    def explained(self) -> Array:
        """Share (n,) of the measured variance that the model explains: 1 - var(residual) / var(tau), at most 1.

        NaN if the measured torque of a joint is constant within rounding.
        """
        measured, left = (
            values.var(axis=0, where=self.used)
            for values in (self.motion.tau, self.residual)
        )
        varies = np.sqrt(measured) > TINY * (1.0 + self.size(self.motion.tau))
        return np.asarray(
            1.0
            - np.divide(
                left, measured, out=np.full_like(measured, np.nan), where=varies
            )
        )

    @cached_property
    def reversing(self) -> NDArray[np.bool_]:
        """True (m, n) where the filter smears the jump of the friction at a reversal."""
        forwards = self.motion.qd > 0.0
        return near(np.diff(forwards, axis=0, prepend=forwards[:1]), self.motion.reach)

    @property
    def explained_in_words(self) -> list[str]:
        """Texts (n,) for ``explained``: "-" for NaN, "not explained" below 0, else a percentage."""
        return [
            "-"
            if math.isnan(share)
            else "not explained"
            if share < 0.0
            else f"{100 * share:.2f} %"
            for share in self.explained.tolist()
        ]


def analyse_torque(model: RobotModel, motion: RecordedMotion) -> TorqueAnalysis:
    """Compute the terms of the model's torque along a recorded motion.

    Raises BagError if the joints of the motion are not those of the model, in its order.
    """
    if motion.joint_names != model.joint_names:
        raise BagError(
            f"the recording has the joints {', '.join(motion.joint_names)}, the model {', '.join(model.joint_names)}. "
            "Cure: rename or reorder the recording's, or lock the others in the model"
        )
    q, qd, qdd = motion.states
    gravity = model.gravity_torque(q)
    bias = model.bias_torque(q, qd)
    inertia = model.inverse_dynamics(q, qd, qdd)
    inertia -= bias
    bias -= gravity
    return TorqueAnalysis(
        motion,
        inertia,
        bias,
        gravity,
        modelled_friction(model, motion),
        torque_is_determined(model, motion),
    )


def modelled_friction(model: RobotModel, motion: RecordedMotion) -> Array:
    """Return the friction torque (m, n) of ``model``, in Nm or N, filtered as the effort is."""
    return motion.filtered(lambda q, qd, qdd: model.friction_torque(q, qd, qdd=qdd))


def torque_is_determined(
    model: RobotModel, motion: RecordedMotion
) -> NDArray[np.bool_]:
    """Return True (m, n) unless the coordinate does not move, or a joint that it moves is at rest nearby.

    Friction balances the load there. ``at_rest`` defines rest; nearby is within 1.5 periods of the filter's cutoff.
    """
    if len(motion.time) < 2:
        return np.zeros(motion.q.shape, dtype=np.bool_)
    factors = LinkTree.of(model).couplings
    qd = motion.qd @ factors.T
    rest = at_rest(qd, motion.qdd @ factors.T, motion.period, motion.reach)
    return np.asarray(
        ~motion.still & (rest.astype(np.float64) @ np.abs(factors) == 0.0),
        dtype=np.bool_,
    )


def largest_bearing_loads(
    model: RobotModel, motion: RecordedMotion
) -> list[dict[str, Any]]:
    """Return for each moving ``joint`` the largest load on its bearing along the motion, by the names in ``LOADS``.

    It is without the forces within the joint's gear.
    """
    loads = model.bearing_loads(*motion.states).max(axis=0).tolist()
    rows = zip(model.moving_joints, loads, strict=True)
    return [
        {"joint": name, **dict(zip(LOADS, numbers, strict=True))}
        for name, numbers in rows
    ]


def summed_products(parts: Iterable[Array]) -> Array:
    """Return the products (parts, n, c, c) of columns (m, n, c), summed over the m samples of each part."""
    columns = [np.ascontiguousarray(part.transpose(1, 2, 0)) for part in parts]
    return np.array([part @ part.transpose(0, 2, 1) for part in columns])


def jackknife(estimates: Array) -> Array:
    """Return standard errors (...) by the estimates (blocks, ...) without one block of samples each: Efron 1982."""
    return np.asarray(np.sqrt((len(estimates) - 1) * estimates.var(axis=0)))
