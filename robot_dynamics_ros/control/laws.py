"""Control laws: from desired and measured motion to joint torque. Pure functions. The task-space law: task_space/law.py.

Each takes the model, gains, the desired motion, the measured state and the integral of the error, each (n,) in
radians or metres and seconds, and returns the torque (n,), Nm or N, without friction compensation. e = q_d - q, and
the arguments that a law does not name do not enter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from robot_dynamics_ros.control.gains import Gains
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel


@dataclass(frozen=True, eq=False)
class Motion:
    """Position, velocity and acceleration, each (n,)."""

    q: Array
    qd: Array
    qdd: Array


def feedforward(model: RobotModel, gains: Gains, desired: Motion, q: Array, qd: Array, integral: Array) -> Array:
    """ID(q_d, qd_d, qdd_d): open loop, the measured state does not enter.

    Craig, Introduction to Robotics, (6.45)-(6.53), computed along the desired path as in 10.5.
    """
    return model.inverse_dynamics(desired.q, desired.qd, desired.qdd)


def computed_torque(model: RobotModel, gains: Gains, desired: Motion, q: Array, qd: Array, integral: Array) -> Array:
    """ID(q, qd, qdd_d + Kd e' + Kp e + Ki int e): the model inverted at the measured state.

    The error then obeys e'' + Kd e' + Kp e + Ki int e = 0. Craig 10.4; Luh, Walker and Paul 1980 ("resolved
    acceleration"); with the integral Lewis, Dawson and Abdallah, Robot Manipulator Control, 4.4.
    """
    return model.inverse_dynamics(q, qd, desired.qdd + _pd(gains, desired, q, qd) + gains.ki * integral)


def pd_feedforward(model: RobotModel, gains: Gains, desired: Motion, q: Array, qd: Array, integral: Array) -> Array:
    """ID(q_d, qd_d, qdd_d) + Kp e + Kd e': what the desired motion takes, and each joint's own feedback.

    Craig 10.5, "feedforward nonlinear control"; Kelly, Santibanez and Loria, Control of Robot Manipulators in Joint
    Space (2005), chapter 12.
    """
    return model.inverse_dynamics(desired.q, desired.qd, desired.qdd) + _pd(gains, desired, q, qd)


def pd_plus(model: RobotModel, gains: Gains, desired: Motion, q: Array, qd: Array, integral: Array) -> Array:
    """M(q) qdd_d + C(q, qd) qd_d + g(q) + Kp e + Kd e', C by Christoffel symbols: globally stable when tracking.

    1/2 e'^T M e' + 1/2 e^T Kp e falls at the rate e'^T Kd e', as dM/dt - 2 C is skew. Paden and Panja 1988,
    "Globally asymptotically stable PD+ controller for robot manipulators".
    """
    inertial = model.mass_matrix(q) @ desired.qdd
    velocity = model.coriolis_matrix(q, qd) @ desired.qd
    torque: Array = inertial + velocity + model.gravity_torque(q) + _pd(gains, desired, q, qd)
    return torque


def pd_gravity(model: RobotModel, gains: Gains, desired: Motion, q: Array, qd: Array, integral: Array) -> Array:
    """g(q) + Kp e + Kd e': holds without error. Takegaki and Arimoto 1981."""
    return model.gravity_torque(q) + _pd(gains, desired, q, qd)


def pd(model: RobotModel, gains: Gains, desired: Motion, q: Array, qd: Array, integral: Array) -> Array:
    """Kp e + Kd e': each joint for itself, the baseline. Craig 10.6."""
    return _pd(gains, desired, q, qd)


def gravity_compensation(
    model: RobotModel, gains: Gains, desired: Motion, q: Array, qd: Array, integral: Array
) -> Array:
    """g(q): the arm floats, to be moved by hand. G of Craig (6.59)."""
    return model.gravity_torque(q)


def _pd(gains: Gains, desired: Motion, q: Array, qd: Array) -> Array:
    """Kp e + Kd e'."""
    return gains.kp * (desired.q - q) + gains.kd * (desired.qd - qd)


@dataclass(frozen=True, kw_only=True)
class Law:
    """What a control law needs.

    Attributes
    ----------
    needs_state
        Whether the measured state enters.
    gains_are_accelerations
        Whether inertia multiplies the gains; so it does, by convention, where the law itself has no feedback.
    compensates_gravity
        True if g(q), or g of the desired position, is part of it.
    compensates_friction
        Whether friction at the desired velocity is to be added.
    follows
        Whether the joints follow the desired motion.
    integrates
        Whether the integral of the error enters.
    task_space
        Whether a link follows targets of its own, and the joints' desired motion is only the posture that they keep
        as far as it allows: see task_space/law.py.
    """

    needs_state: bool = True
    gains_are_accelerations: bool = False
    compensates_gravity: bool = True
    compensates_friction: bool = False
    follows: bool = True
    integrates: bool = False
    task_space: bool = False


@dataclass(frozen=True, kw_only=True)
class JointLaw(Law):
    """A law of the joints: ``torque`` is the law itself."""

    torque: Callable[[RobotModel, Gains, Motion, Array, Array, Array], Array]


JOINT_LAWS: dict[str, JointLaw] = {
    "feedforward": JointLaw(
        torque=feedforward, needs_state=False, gains_are_accelerations=True, compensates_friction=True
    ),
    "computed_torque": JointLaw(
        torque=computed_torque, gains_are_accelerations=True, compensates_friction=True, integrates=True
    ),
    "pd_feedforward": JointLaw(torque=pd_feedforward, compensates_friction=True),
    "pd_plus": JointLaw(torque=pd_plus, compensates_friction=True),
    "pd_gravity": JointLaw(torque=pd_gravity),
    "pd": JointLaw(torque=pd, compensates_gravity=False),
    "gravity_compensation": JointLaw(torque=gravity_compensation, gains_are_accelerations=True, follows=False),
}

LAWS: dict[str, Law] = {
    **JOINT_LAWS,
    "task_space_computed_torque": Law(
        gains_are_accelerations=True, compensates_friction=True, follows=False, task_space=True
    ),
}
