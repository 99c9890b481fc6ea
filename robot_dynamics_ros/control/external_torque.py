"""External joint torque from commanded effort and motion: the generalised momentum observer.

De Luca and Mattone 2003, "Actuator failure detection and isolation using generalized momenta"; Haddadin, De Luca,
Albu-Schaeffer 2017, "Robot collisions: a survey on detection, isolation, and identification", IEEE Transactions on
Robotics 33(6).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from robot_dynamics_ros.control.feedback import Feedback
from robot_dynamics_ros.control.safety import Cause, Fault
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel


class MomentumObserver:
    """Estimates the torque r (n,) that the world exerts ON the joints: M qdd + C qd + g = u - F + r.

    With the momentum p = M(q) qd, r = K (p(t) - p(0) - int (u - F + C^T qd - g + r) ds), C by Christoffel
    symbols, so that dM/dt = C + C^T. Then r' = K (external - r): a first-order lag of 1 / K, the joints
    apart from each other, without accelerations and without inverting M. This is the same at the samples:

        external_k = (p_k - p_{k-1}) / dt - u_{k-1} - (s_k + s_{k-1}) / 2,    s = C^T qd - g - F
        r_k = exp(-K dt) r_{k-1} + (1 - exp(-K dt)) external_k

    where external_k is the mean over the interval: exact for the effort, which is held, of second order in dt
    for s by the trapezoidal rule. The lag is exact for an external torque that is constant over each
    interval, so that any gain is stable at any rate.

    Errors of the model show as external torque: a payload, wrong masses. Friction at rest is whatever holds the joint,
    up to the static level, and is not measured: F fades to 0 below ``friction_smoothing_velocity``. The estimate of a
    resting joint then is the external torque less the friction that holds it, and noise around rest makes no steps of
    twice the Coulomb torque. A threshold on r should lie above the joints' static friction.
    """

    def __init__(self, gain: float | Array, friction_smoothing_velocity: float = 0.01) -> None:
        """``gain`` K in 1/s, one number or (n,); the smoothing velocity in rad/s or m/s, 0 for none.

        Raises RobotDynamicsError for a gain that is not finite and positive and a velocity that is not
        finite and at least 0.
        """
        self._gain = np.array(gain, dtype=np.float64)
        if self._gain.ndim > 1 or not ((self._gain > 0.0) & (self._gain < np.inf)).all():
            raise RobotDynamicsError(
                f"observer gain: {self._gain.tolist()} 1/s. Cure: give positive numbers, as 20, one or n of them"
            )
        if not 0.0 <= friction_smoothing_velocity < math.inf:
            raise RobotDynamicsError(
                f"friction_smoothing_velocity: {friction_smoothing_velocity}. Cure: give a number, at least 0"
            )
        self._smoothing_velocity = friction_smoothing_velocity
        self.reset()

    def reset(self) -> None:
        """Start anew: the next state is the first, where the estimate is 0.

        To be called after a gap in the states or the efforts, over which the torque is not known to have been held.
        """
        self._model: RobotModel | None = None
        self._time = math.inf
        self._estimate = self._q = self._qd = self._momentum = self._drift = np.zeros(0)

    def update(self, model: RobotModel, time: float, q: Array, qd: Array, effort: Array) -> Array:
        """Return the estimated external torque (n,), Nm or N, positive along the joints.

        ``q``, ``qd`` (n,) is the state at ``time`` (s), ``effort`` (n,) the torque that was sent, after all limits,
        for the interval that ends now. ``qd`` should be little filtered: its lag shows as torque while the
        arm accelerates. The model may lack gravity where the robot compensates for it by itself; with a model that
        differs from the last one the estimate stays continuous. A repeated time changes nothing; one that went
        back starts anew.

        Raises
        ------
        RobotDynamicsError
            Where the estimate comes out non-finite, naming the joint, and for a gain of another length than
            the model; the observer stays as it was.
        """
        dt = time - self._time
        if dt == 0.0:
            return self._estimate.copy()
        momentum, drift = self._terms(model, q, qd)
        if dt < 0.0 or self._model is None:
            if self._gain.size not in (1, model.n):
                raise RobotDynamicsError(
                    f"observer gain: {self._gain.size} numbers. Cure: give one, or {model.n}: one for each of "
                    f"{', '.join(model.joint_names)}"
                )
            _check_finite(model, momentum + drift)
            self._estimate = np.zeros(model.n)
        else:
            if model is not self._model:
                self._model = model
                self._momentum, self._drift = self._terms(model, self._q, self._qd)
            external = (momentum - self._momentum) / dt - effort - 0.5 * (drift + self._drift)
            _check_finite(model, external)
            share: Array = -np.expm1(-self._gain * dt)
            self._estimate = self._estimate + share * (external - self._estimate)
        self._model, self._time = model, time
        self._q, self._qd = q.copy(), qd.copy()
        self._momentum, self._drift = momentum, drift
        return self._estimate.copy()

    def _terms(self, model: RobotModel, q: Array, qd: Array) -> tuple[Array, Array]:
        """Return the momentum M qd, and s = C^T qd - g - F, each (n,)."""
        friction = model.friction_torque(q, qd, self._smoothing_velocity)
        drift: Array = qd @ model.coriolis_matrix(q, qd) - model.gravity_torque(q) - friction
        momentum: Array = model.mass_matrix(q) @ qd
        return momentum, drift


def _check_finite(model: RobotModel, torque: Array) -> None:
    """Raise RobotDynamicsError for a non-finite torque (n,), which would spoil every later estimate."""
    if not math.isfinite(torque.sum()):
        bad = int(np.argmin(np.isfinite(torque)))
        raise RobotDynamicsError(
            f'joint "{model.joint_names[bad]}": the external torque comes out as {torque[bad]}. '
            "Cure: check measured position, velocity and effort"
        )


class ExternalTorque:
    """External torque of one arm under observation, and the check for collisions; a zero gain means no observer.

    Attributes
    ----------
    torque
        External torque (n,), Nm or N; None while it is not known.
    """

    def __init__(self, gain: float, friction_smoothing_velocity: float) -> None:
        """``gain`` (1/s) and ``friction_smoothing_velocity`` (rad/s or m/s) as MomentumObserver."""
        self._observer = MomentumObserver(gain, friction_smoothing_velocity) if gain > 0.0 else None
        self.torque: Array | None = None

    def observe(self, model: RobotModel, feedback: Feedback, effort: Array) -> None:
        """Take in a good state, reached under ``effort`` (n,)."""
        if self._observer is not None and feedback.settled:
            q, speed = feedback.state[0], feedback.unfiltered  # a filter's lag would show as torque
            self.torque = self._observer.update(model, feedback.stamp, q, speed, effort)

    def forget(self) -> None:
        """Start anew after a gap in the states."""
        if self._observer is not None:
            self._observer.reset()
            self.torque = None

    def collision(self, joint_names: Sequence[str], threshold: Array) -> Fault | None:
        """Return a fault where the torque exceeds the ``threshold`` (n,) of a joint."""
        if self.torque is None:
            return None
        over = np.abs(self.torque) > threshold
        if not over.any():
            return None
        j = int(np.argmax(over))
        name, value = joint_names[j], float(self.torque[j])
        text = f'joint "{name}": external torque {value:.6g}, over observer.collision_threshold {threshold[j]:g}. '
        return Fault(Cause.COLLISION, text + "Cure: see what the arm has hit", name, value)
