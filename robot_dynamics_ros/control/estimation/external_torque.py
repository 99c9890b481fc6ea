"""External joint torque from commanded effort and motion: the generalised momentum observer.

De Luca and Mattone 2003, "Actuator failure detection and isolation using generalized momenta"; Haddadin, De Luca,
Albu-Schaeffer 2017, "Robot collisions: a survey on detection, isolation, and identification", IEEE Transactions on
Robotics 33(6).
"""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.control.configuration.tuning import Tuning
from robot_dynamics_ros.control.estimation.estimator import Estimate, VelocitySource
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel


def interval_torque(
    model: RobotModel,
    before: Array,
    after: Array,
    dt: float,
    smoothing_velocity: float = 0.01,
) -> Array:
    """Return the mean torque of the model (n,), Nm or N, between two states (2, n), ``dt`` (s) apart.

    Inverse dynamics and friction by the midpoint rule, ID(q, qd, dqd / dt) + F(q, qd): dqd is the change of the
    velocity, q and qd are the means of both states. Friction fades below ``smoothing_velocity``, rad/s or m/s.
    """
    q, qd = 0.5 * (before + after)
    qdd = (after[1] - before[1]) / dt
    torque = model.inverse_dynamics(q, qd, qdd)
    return torque + model.friction_torque(q, qd, smoothing_velocity)


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
        self._time = math.inf
        self._estimate = self._state = np.zeros(0)

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
        state = np.array((q, qd))
        if dt > 0.0:
            torque = interval_torque(
                model, self._state, state, dt, self._smoothing_velocity
            )
            self._estimate = self._estimate - np.expm1(-self._gain * dt) * (
                torque - effort - self._estimate
            )
        if not (dt > 0.0 and np.isfinite(self._estimate).all()):
            self.reset()
            self._estimate = np.zeros(model.n)
        self._time = time
        self._state = state
        return self._estimate.copy()


class ExternalTorque:
    """External torque of the controlled arm.

    Attributes
    ----------
    torque
        External torque (n,), Nm or N, positive in the direction of the joints; None without an observer, and before
        the first state with a known velocity.
    """

    torque: Array | None
    _settings: tuple[float, float] | None = None

    def __init__(self, tuning: Tuning) -> None:
        """Create the observer; with an ``observer_gain`` of 0 there is none."""
        self.tune(tuning)

    def tune(self, tuning: Tuning) -> None:
        """Apply new settings; if those of the observer change, it is reset."""
        s = tuning.settings
        settings = s.observer_gain, s.friction_smoothing_velocity
        if settings != self._settings:
            self._settings = settings
            self._observer = MomentumObserver(*settings) if settings[0] > 0.0 else None
            self.torque = None

    def observe(self, model: RobotModel, estimate: Estimate, effort: Array) -> None:
        """Update with the state of ``estimate``, reached under the commanded ``effort`` (n,), Nm or N.

        ``model`` has no gravity if the robot compensates for it. Without an observer or a known velocity nothing
        changes.
        """
        if self._observer is not None and estimate.source is not VelocitySource.UNKNOWN:
            # The lag of a filter would appear as torque.
            self.torque = self._observer.update(
                model, estimate.stamp, estimate.state[0], estimate.velocity, effort
            )

    def reset(self) -> None:
        """Reset the observer after a gap in the states; ``torque`` is None until the next state."""
        if self._observer is not None:
            self._observer.reset()
            self.torque = None
