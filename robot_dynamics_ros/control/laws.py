"""Joint-space control laws and their gains.

Each law returns the joint torque (n,), Nm or N, for the measured position ``q`` and velocity ``qd`` (n,). The
``desired`` motion has q_d, qd_d and qdd_d, the ``gains`` Kp, Kd and Ki. The error e is q_d - q, e' is qd_d - qd, and
``integral`` (n,), rad s or m s, is int e. Laws ignore arguments that their formulas do not contain. M, C and g are mass
matrix, Coriolis matrix and gravity torque of ``model``; ID(q, qd, qdd) are its inverse dynamics without friction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel


@dataclass(frozen=True, eq=False)
class Gains:
    """Gains ``kp``, ``kd`` and ``ki`` (n,) of position error, velocity error and integral of the position error.

    Units are 1/s^2, 1/s and 1/s^3 for ``computed_torque``, whose feedback is an acceleration, and Nm/rad and Nms/rad
    (N/m and Ns/m) for laws whose feedback is a torque, which have no ``ki``.
    """

    kp: Array
    kd: Array
    ki: Array

    @cached_property
    def has_integral_gain(self) -> bool:
        """True if an integral gain is not zero."""
        return bool(self.ki.any())


@dataclass(frozen=True, eq=False)
class Motion:
    """Position (rad or m), velocity and acceleration, each (n,), of the independent joints."""

    q: Array
    qd: Array
    qdd: Array


def feedforward(
    model: RobotModel,
    gains: Gains,
    desired: Motion,
    q: Array,
    qd: Array,
    integral: Array,
) -> Array:
    """Return ID(q_d, qd_d, qdd_d), the open-loop inverse dynamics of the desired motion.

    Craig, Introduction to Robotics, (6.45)-(6.53), along the desired path as in 10.5.
    """
    return model.inverse_dynamics(desired.q, desired.qd, desired.qdd)


def computed_torque(
    model: RobotModel,
    gains: Gains,
    desired: Motion,
    q: Array,
    qd: Array,
    integral: Array,
) -> Array:
    """Return ID(q, qd, qdd_d + Kd e' + Kp e + Ki int e), the inverse dynamics at the measured state.

    The closed-loop error dynamics are e'' + Kd e' + Kp e + Ki int e = 0. Craig 10.4; Luh, Walker and Paul 1980
    ("resolved acceleration"); with the integral Lewis, Dawson and Abdallah, Robot Manipulator Control, 4.4.
    """
    acceleration = desired.qdd + pd(model, gains, desired, q, qd, integral)
    if gains.has_integral_gain:
        acceleration = acceleration + gains.ki * integral
    return model.inverse_dynamics(q, qd, acceleration)


def pd_feedforward(
    model: RobotModel,
    gains: Gains,
    desired: Motion,
    q: Array,
    qd: Array,
    integral: Array,
) -> Array:
    """Return ID(q_d, qd_d, qdd_d) + Kp e + Kd e', inverse dynamics feedforward with independent joint feedback.

    Craig 10.5, "feedforward nonlinear control"; Kelly, Santibanez and Loria, Control of Robot Manipulators in Joint
    Space (2005), chapter 12.
    """
    return model.inverse_dynamics(desired.q, desired.qd, desired.qdd) + pd(
        model, gains, desired, q, qd, integral
    )


def pd_plus(
    model: RobotModel,
    gains: Gains,
    desired: Motion,
    q: Array,
    qd: Array,
    integral: Array,
) -> Array:
    """Return M(q) qdd_d + C(q, qd) qd_d + g(q) + Kp e + Kd e', with C by Christoffel symbols.

    Globally asymptotically stable tracking: 1/2 e'^T M e' + 1/2 e^T Kp e decreases at the rate e'^T Kd e', because
    dM/dt - 2 C is skew-symmetric. Paden and Panja 1988, "Globally asymptotically stable PD+ controller for robot
    manipulators".
    """
    inertial = model.mass_matrix(q) @ desired.qdd
    velocity = model.coriolis_matrix(q, qd) @ desired.qd
    torque: Array = (
        inertial
        + velocity
        + model.gravity_torque(q)
        + pd(model, gains, desired, q, qd, integral)
    )
    return torque


def pd_gravity(
    model: RobotModel,
    gains: Gains,
    desired: Motion,
    q: Array,
    qd: Array,
    integral: Array,
) -> Array:
    """Return g(q) + Kp e + Kd e', PD control with gravity compensation. Takegaki and Arimoto 1981."""
    return model.gravity_torque(q) + pd(model, gains, desired, q, qd, integral)


def pd(
    model: RobotModel,
    gains: Gains,
    desired: Motion,
    q: Array,
    qd: Array,
    integral: Array,
) -> Array:
    """Return Kp e + Kd e', independent joint PD control. Craig 10.6."""
    return gains.kp * (desired.q - q) + gains.kd * (desired.qd - qd)


def gravity_compensation(
    model: RobotModel,
    gains: Gains,
    desired: Motion,
    q: Array,
    qd: Array,
    integral: Array,
) -> Array:
    """Return g(q), gravity compensation without feedback, for manual guidance. G of Craig (6.59)."""
    return model.gravity_torque(q)


@dataclass(frozen=True, kw_only=True)
class Law:
    """Properties of a control law.

    Attributes
    ----------
    torque
        Function of this module for a joint-space law; its arguments are model, gains, desired motion, and q, qd,
        integral, each (n,), and it returns the joint torque (n,), Nm or N. None for a task-space law, which follows
        end-effector targets with the desired joint motion as posture.
    needs_state
        True if the law uses the measured state.
    gains_are_accelerations
        True if the feedback is an acceleration, multiplied by the inertia; by convention also for laws without
        feedback.
    compensates_gravity
        True if the torque contains g(q), or g of the desired position, in every state. Any further torque at rest then
        compensates an unmodelled load, and the position hold after a fault keeps it.
    compensates_friction
        True if friction compensation for the desired velocity can be added.
    follows
        True if the joints follow the desired motion.
    integrates
        True if the law uses the integral of the position error.
    """

    torque: Callable[[RobotModel, Gains, Motion, Array, Array, Array], Array] | None = (
        None
    )
    needs_state: bool = True
    gains_are_accelerations: bool = False
    compensates_gravity: bool = True
    compensates_friction: bool = False
    follows: bool = True
    integrates: bool = False

    @property
    def task_space(self) -> bool:
        """True for task-space laws."""
        return self.torque is None


LAWS: dict[str, Law] = {
    "feedforward": Law(
        torque=feedforward,
        needs_state=False,
        gains_are_accelerations=True,
        compensates_friction=True,
    ),
    "computed_torque": Law(
        torque=computed_torque,
        gains_are_accelerations=True,
        compensates_friction=True,
        integrates=True,
    ),
    "pd_feedforward": Law(torque=pd_feedforward, compensates_friction=True),
    "pd_plus": Law(torque=pd_plus, compensates_friction=True),
    "pd_gravity": Law(torque=pd_gravity),
    "pd": Law(torque=pd, compensates_gravity=False),
    "gravity_compensation": Law(
        torque=gravity_compensation, gains_are_accelerations=True, follows=False
    ),
    "task_space_computed_torque": Law(
        gains_are_accelerations=True, compensates_friction=True, follows=False
    ),
}
