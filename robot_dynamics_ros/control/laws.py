"""Joint-space control laws, their gains, and settings with one number for each joint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel


def per_joint(
    name: str,
    values: Sequence[float],
    joint_names: Sequence[str],
    *,
    most: float = np.finfo(float).max,
    of: str = "joint",
) -> Array:
    """Return ``values``, n of them or one for all, as (n,); each must lie in 0..``most``.

    Raises RobotDynamicsError naming the setting, the joint (or the component, which ``of`` names) and the cure.
    """
    array = np.array(values, dtype=np.float64)
    n = len(joint_names)
    if array.shape == (1,):
        array = np.repeat(array, n)
    if array.shape != (n,):
        raise RobotDynamicsError(f"{name}: {array.size} numbers. Cure: give one, or {n}: for {', '.join(joint_names)}")
    for joint, value in zip(joint_names, array.tolist(), strict=True):
        if not 0.0 <= value <= most:
            what = "finite numbers, at least 0" if most > 1e300 and most < np.inf else f"numbers from 0 to {most:g}"
            raise RobotDynamicsError(f'{name}: {value} for {of} "{joint}". Cure: give {what}')
    return array


def per_joint_limit(name: str, values: Sequence[float], joint_names: Sequence[str]) -> Array:
    """Return limits (n,), infinite where ``values`` is empty; as ``per_joint``, but none may be zero."""
    if len(values) == 0:
        return np.full(len(joint_names), np.inf)
    limits = per_joint(name, values, joint_names, most=np.inf)
    for joint, value in zip(joint_names, limits.tolist(), strict=True):
        if value == 0.0:
            raise RobotDynamicsError(f'{name}: 0 for joint "{joint}". Cure: give more, or leave it empty for no limit')
    return limits


@dataclass(frozen=True, eq=False)
class Gains:
    """Gains (n,) on the errors of position and velocity, and on the integral of the position error.

    For `computed_torque` they give accelerations (1/s^2, 1/s, 1/s^3), for the other laws torques (Nm/rad, Nms/rad).
    """

    kp: Array
    kd: Array
    ki: Array


@dataclass(frozen=True, eq=False)
class Motion:
    """Position, velocity and acceleration, each (n,), of the independent joints."""

    q: Array
    qd: Array
    qdd: Array


def feedforward(model: RobotModel, gains: Gains, desired: Motion, q: Array, qd: Array, integral: Array) -> Array:
    """Return ID(q_d, qd_d, qdd_d): open loop, without the measured state.

    Craig, Introduction to Robotics, (6.45)-(6.53), computed along the desired path as in 10.5.
    """
    return model.inverse_dynamics(desired.q, desired.qd, desired.qdd)


def computed_torque(model: RobotModel, gains: Gains, desired: Motion, q: Array, qd: Array, integral: Array) -> Array:
    """Return ID(q, qd, qdd_d + Kd e' + Kp e + Ki int e): inverse dynamics at the measured state.

    The error then obeys e'' + Kd e' + Kp e + Ki int e = 0. Craig 10.4; Luh, Walker and Paul 1980 ("resolved
    acceleration"); with the integral Lewis, Dawson and Abdallah, Robot Manipulator Control, 4.4.
    """
    return model.inverse_dynamics(q, qd, desired.qdd + _pd(gains, desired, q, qd) + gains.ki * integral)


def pd_feedforward(model: RobotModel, gains: Gains, desired: Motion, q: Array, qd: Array, integral: Array) -> Array:
    """Return ID(q_d, qd_d, qdd_d) + Kp e + Kd e': feedforward of the desired motion, and feedback of each joint.

    Craig 10.5, "feedforward nonlinear control"; Kelly, Santibanez and Loria, Control of Robot Manipulators in Joint
    Space (2005), chapter 12.
    """
    return model.inverse_dynamics(desired.q, desired.qd, desired.qdd) + _pd(gains, desired, q, qd)


def pd_plus(model: RobotModel, gains: Gains, desired: Motion, q: Array, qd: Array, integral: Array) -> Array:
    """Return M(q) qdd_d + C(q, qd) qd_d + g(q) + Kp e + Kd e', C by Christoffel symbols: globally stable tracking.

    1/2 e'^T M e' + 1/2 e^T Kp e falls at the rate e'^T Kd e', as dM/dt - 2 C is skew. Paden and Panja 1988,
    "Globally asymptotically stable PD+ controller for robot manipulators".
    """
    inertial = model.mass_matrix(q) @ desired.qdd
    velocity = model.coriolis_matrix(q, qd) @ desired.qd
    torque: Array = inertial + velocity + model.gravity_torque(q) + _pd(gains, desired, q, qd)
    return torque


def pd_gravity(model: RobotModel, gains: Gains, desired: Motion, q: Array, qd: Array, integral: Array) -> Array:
    """Return g(q) + Kp e + Kd e', which holds without error. Takegaki and Arimoto 1981."""
    return model.gravity_torque(q) + _pd(gains, desired, q, qd)


def pd(model: RobotModel, gains: Gains, desired: Motion, q: Array, qd: Array, integral: Array) -> Array:
    """Return Kp e + Kd e', independent joint control. Craig 10.6."""
    return _pd(gains, desired, q, qd)


def gravity_compensation(
    model: RobotModel, gains: Gains, desired: Motion, q: Array, qd: Array, integral: Array
) -> Array:
    """Return g(q): the arm floats, to be moved by hand. G of Craig (6.59)."""
    return model.gravity_torque(q)


def _pd(gains: Gains, desired: Motion, q: Array, qd: Array) -> Array:
    return gains.kp * (desired.q - q) + gains.kd * (desired.qd - qd)


@dataclass(frozen=True, kw_only=True)
class Law:
    """Properties of a control law."""

    needs_state: bool = True
    """True if the measured state enters."""
    gains_are_accelerations: bool = False
    """True if inertia multiplies the gains; so it does, by convention, where the law itself has no feedback."""
    compensates_gravity: bool = True
    """True if g(q), or g of the desired position, is part of it in every state. What else it commands at rest then
    carries a load that the model does not know, and hold carries that load on after a fault."""
    compensates_friction: bool = False
    """True if friction at the desired velocity is to be added."""
    follows: bool = True
    """True if the joints follow the desired motion."""
    integrates: bool = False
    """True if the integral of the error enters."""
    task_space: bool = False
    """True if a link follows targets, with the joints' desired motion as posture: see task_space.py."""


@dataclass(frozen=True, kw_only=True)
class JointLaw(Law):
    """Joint-space law: its properties, and its ``torque`` as a function."""

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
