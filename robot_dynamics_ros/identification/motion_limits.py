"""How far, how fast and how hard a motion may be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel

_TURN = np.pi  # to each side, rad or m, where a joint has no position limits
_SPEED = 1.0  # rad/s or m/s, where it has no velocity limit


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """Limits (n,) in SI units: positions from lower to upper; velocity, acceleration and effort to both sides."""

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    effort: Array

    @classmethod
    def of(cls, model: RobotModel, margin: float = 0.1, acceleration: ArrayLike = np.inf) -> MotionLimits:
        """Return the model's limits with a margin.

        ``margin`` is the share of each limit that is kept free: of the position range half of it at each end.
        Joints without position limits get a range of pi to each side of zero, those without velocity limit 1 rad/s
        or m/s. ``acceleration``, one for all or (n,), is taken as it is given. Raises RobotDynamicsError for what does
        not fit.
        """
        if not 0.0 <= margin < 1.0:
            raise RobotDynamicsError(f"a margin of {margin}. Cure: give 0 or more, and less than 1")
        n = model.n
        lower = np.where(np.isfinite(model.position_lower), model.position_lower, -_TURN)
        upper = np.where(np.isfinite(model.position_upper), model.position_upper, _TURN)
        inside = 0.5 * margin * (upper - lower)
        lower, upper = lower + inside, upper - inside
        if not (lower < upper).all():
            name = model.joint_names[int(np.argmin(upper - lower))]
            raise RobotDynamicsError(f"{name} has no room between its position limits. Cure: lock it, or widen them")
        velocity = np.where(np.isfinite(model.velocity_limits), model.velocity_limits, _SPEED) * (1.0 - margin)
        largest = _each("acceleration", acceleration, n)
        if not (largest > 0.0).all():
            raise RobotDynamicsError(f"an acceleration limit of {largest.min()}. Cure: give positive numbers")
        return cls(lower, upper, velocity, largest, model.effort_limits * (1.0 - margin))

    def time_to(self, q: Array) -> float:
        """Return the seconds that a quintic from rest to rest at ``q`` (n,) needs from anywhere within the limits.

        Its largest velocity is 15/8 d / T and its largest acceleration 10 / sqrt(3) d / T^2.
        """
        far = np.maximum(q - self.lower, self.upper - q)
        return float(
            max((1.875 * far / self.velocity).max(), np.sqrt(10.0 / np.sqrt(3.0) * far / self.acceleration).max())
        )

    def effort_ratio(self, model: RobotModel, q: Array, qd: Array, qdd: Array) -> float:
        """Return the largest effort, of inverse dynamics and friction, over its limit along a motion (m, n)."""
        tau = model.inverse_dynamics(q, qd, qdd) + model.friction_torque(q, qd)
        return float((np.abs(tau) / self.effort).max())


def _each(name: str, value: ArrayLike, n: int) -> Array:
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in ((), (1,), (n,)) or np.isnan(array).any():
        raise RobotDynamicsError(f"{name}: {value!r}. Cure: give one number, or {n}, one for each joint")
    return np.broadcast_to(array, (n,)).copy()
