"""External joint torque from commanded effort and motion: the generalised momentum observer.

De Luca and Mattone 2003, "Actuator failure detection and isolation using generalized momenta"; Haddadin, De Luca,
Albu-Schaeffer 2017, "Robot collisions: a survey on detection, isolation, and identification", IEEE Transactions on
Robotics 33(6).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.control.configuration.tuning import Tuning
from robot_dynamics_ros.control.estimation.estimator import Estimate, VelocitySource
from robot_dynamics_ros.dynamics.kernels.control_cycle import (
    REFERENCE,
    RESPONSE_MEMORY,
    RESPONSE_STATES,
    UNANSWERED,
    check_response,
)
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel


class MomentumObserver:
    """Observer of the external joint torque r (n,), positive if it acts on the joints: M qdd + C qd + g = u - F + r.

    M is the mass matrix, C the Coriolis matrix, g the gravity torque, u the commanded effort, F the friction torque, K
    the gain. r' = K (external - r): a decoupled first-order lag with time constant 1 / K. In discrete time:

        external_k = ID(q, qd, dqd / dt) + F(q, qd) - u_{k-1}
        r_k = exp(-K dt) r_{k-1} + (1 - exp(-K dt)) external_k

    ID are the inverse dynamics, dqd is the change of the velocity in the interval dt, and q and qd are the means of its
    two states. external_k dt is the change of the momentum M qd that the model does not explain: exact for u, which is
    held, and second order in dt by the midpoint rule. The lag is exact for an external torque that is constant in each
    interval, so that any gain is stable at any rate.

    Model errors, such as a payload or wrong masses, appear as external torque. Static friction is not measured: F
    fades to 0 below ``friction_smoothing_velocity``, to avoid steps of twice the Coulomb torque from velocity noise.
    For a joint at rest, r is therefore the external torque less the static friction. A threshold on r should exceed
    the static friction of the joints.

    Attributes
    ----------
    dt
        Last interval (s) between two states; inf before the second one.
    model_torque, external
        Torque of the model, ID + F, and external torque in that interval, (n,), Nm or N.
    """

    def __init__(self, gain: float, friction_smoothing_velocity: float = 0.01) -> None:
        """Create an observer with the ``gain`` K (1/s) and a smoothing velocity (rad/s or m/s); 0: no smoothing.

        Raises RobotDynamicsError for a gain that is not finite and positive.
        """
        if not 0.0 < gain < math.inf:
            raise RobotDynamicsError(
                f"observer gain: {gain} 1/s. Cure: give a positive number such as 20"
            )
        self._gain = gain
        self._smoothing_velocity = friction_smoothing_velocity
        self.reset()

    def reset(self) -> None:
        """Reset the observer; the estimate at the next state is 0.

        Required after a gap in the states or efforts, as the torque is assumed to be held between states.
        """
        self.dt = math.inf
        self.model_torque = self.external = np.zeros(0)
        self._time = math.inf
        self._estimate = self._q = self._qd = np.zeros(0)

    def update(
        self, model: RobotModel, time: float, q: Array, qd: Array, effort: Array
    ) -> Array:
        """Update the observer with a state and return the external torque.

        The first state returns zeros. An unchanged time returns the last estimate; a time that went back resets the
        observer.

        Parameters
        ----------
        model
            Robot model; without gravity if the robot compensates for it. The estimate is continuous over a change.
        time
            Time (s) of the state.
        q, qd
            Position (rad or m) and velocity, each (n,). The lag of a velocity filter appears as external torque during
            acceleration.
        effort
            Commanded effort (n,), Nm or N, after all limits, in the interval that ends at ``time``.

        Returns
        -------
        ndarray
            External torque (n,), Nm or N, positive in the direction of the joints. A value that is not finite resets
            the observer.
        """
        dt = time - self._time
        if dt == 0.0:
            return self._estimate.copy()
        if dt > 0.0:
            middle = 0.5 * (q + self._q)
            velocity = 0.5 * (qd + self._qd)
            acceleration = (qd - self._qd) / dt
            torque = model.inverse_dynamics(middle, velocity, acceleration)
            torque = torque + model.friction_torque(
                middle, velocity, self._smoothing_velocity
            )
            external = torque - effort
            self._estimate = self._estimate - np.expm1(-self._gain * dt) * (
                external - self._estimate
            )
            self.dt = dt
            self.model_torque = torque
            self.external = external
        if not (dt > 0.0 and np.isfinite(self._estimate).all()):
            self.reset()
            self._estimate = np.zeros(model.n)
        self._time = time
        self._q = q.copy()
        self._qd = qd.copy()
        return self._estimate.copy()


class ExternalTorque:
    """External torque of the controlled arm, and the check by it that joints answer their efforts.

    Attributes
    ----------
    torque
        External torque (n,), Nm or N, positive in the direction of the joints; None if ``observer_gain`` is 0, and
        before the first state with a known velocity.
    unanswered
        Index of the first joint that does not answer its effort, by ``check_response``; -1: there is none.
    """

    def __init__(self, tuning: Tuning) -> None:
        """Create the observer; its lag is not used if ``observer_gain`` is 0."""
        n = len(tuning.effort_limits)
        self._memory = np.zeros((RESPONSE_MEMORY, n))
        self._bounds = self._limits = np.full(n, np.inf)
        self._step = tuning.position_step
        self.unanswered = -1
        self._continues = False
        self._model: RobotModel | None = None
        self._source = VelocitySource.UNKNOWN
        self._begin(tuning)

    def _begin(self, tuning: Tuning) -> None:
        self._settings = _observer_settings(tuning)
        gain, smoothing_velocity = self._settings
        self._publishes = gain > 0.0
        self._observer = MomentumObserver(gain or 1.0, smoothing_velocity)
        self.torque: Array | None = None

    def tune(self, tuning: Tuning) -> None:
        """Apply new settings; if those of the observer change, it is reset."""
        self._step = tuning.position_step
        if _observer_settings(tuning) != self._settings:
            self._begin(tuning)

    def set_friction(self, friction: Array, limits: Array) -> None:
        """Set the static ``friction`` (n,) of the model and the effort ``limits`` (n,), Nm or N.

        A joint may rest while its effort changes by twice its friction, or by 15 % of its limit if the model has none,
        and by 5 % of its limit.
        """
        unmodelled = np.where(friction > 0.0, 2.0 * friction, 0.15 * limits)
        self._bounds = unmodelled + 0.05 * limits
        self._limits = limits

    @property
    def reference(self) -> Array:
        """External torque (n,), Nm or N, when the joints last moved."""
        reference: Array = self._memory[REFERENCE]
        return reference

    @property
    def doubted(self) -> NDArray[np.bool_]:
        """True for the joints (n,) that do not answer their efforts."""
        return np.asarray(self._memory[UNANSWERED] >= RESPONSE_STATES)

    def observe(self, model: RobotModel, estimate: Estimate, effort: Array) -> None:
        """Update with the state of ``estimate``, reached under the commanded ``effort`` (n,), Nm or N.

        ``model`` has no gravity if the robot compensates for it. Without a known velocity nothing changes. A joint that
        is refuted restarts the check.
        """
        if estimate.source is VelocitySource.UNKNOWN or not estimate.trusted:
            return
        if estimate.stamp_repeats or estimate.source is not self._source:
            self.reset()
        self._source = estimate.source
        observer = self._observer
        self._continues = self._continues and model is self._model
        self._model = model
        # The lag of a filter would appear as torque.
        state = np.array((estimate.state[0], estimate.velocity))
        torque = observer.update(model, estimate.stamp, state[0], state[1], effort)
        if self._publishes:
            self.torque = torque
        if observer.dt == math.inf:
            return
        self.unanswered = check_response(
            state,
            observer.external,
            observer.model_torque,
            self._bounds,
            self._limits,
            self._step,
            observer.dt if self._continues else math.inf,
            self._memory,
        )
        self._continues = True

    def reset(self) -> None:
        """Reset observer and check after a gap in the states; ``torque`` is None until the next state."""
        self._observer.reset()
        self._continues = False
        self.torque = None
        self.unanswered = -1


def _observer_settings(tuning: Tuning) -> tuple[float, float]:
    return tuning.settings.observer_gain, tuning.settings.friction_smoothing_velocity
