"""Comparison of the measured effort with the model's gravity torque before activation.

A wrong sign, a wrong order of the joints, or gravity compensated twice make an arm jump when a controller starts. At
rest they are visible in the measured effort, which should be g(q), Craig (6.59), up to static friction. A hypothesis
predicts an effort h; its normalised residual at joint i is

    z_i = |measured_i - h_i| / (friction_i + floor + ACTIVATION_MODEL_ERROR |h_i|),

with the static friction of the joint, a floor for errors of any joint (a share of the largest gravity torque), and the
relative error ACTIVATION_MODEL_ERROR of the model. An error hypothesis is accepted only if all of its z_i are at most
1, some z_i of g(q) is at least ACTIVATION_LEAST_RESIDUAL (above 1), and neither g(q) nor 0 plus the effort of a payload
at the end effector fits.

Errors: wrong sign of all or some joints, wrong order of the joints, about twice or half of g(q). Accepted: about g(q);
about zero (brakes on, or reports without gravity); efforts of single joints that are not reported (not finite); poses
without gravity torque. Any other difference, such as an unmodelled payload or contact, results in a warning that names
the joint with the largest residual. Positions q are in rad or m, efforts in Nm or N.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.control.thresholds import (
    ACTIVATION_FLOOR,
    ACTIVATION_LEAST_FLOOR,
    ACTIVATION_LEAST_RESIDUAL,
    ACTIVATION_MODEL_ERROR,
    ACTIVATION_ZERO_EFFORT,
    PAYLOAD_LEVER,
)
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel

_SIGN = "wrong sign of the measured effort: {}. Cure: change the sign in the driver, or the axes in the URDF"
_ORDER = (
    "wrong order of the measured efforts, joints seem to be swapped: {}. Cure: report efforts in the order of the "
    "names, and check the assignment of motors to joints"
)
_TWICE = (
    "the measured effort is about twice the gravity torque: {}. Cure: compensate gravity either in the robot or in the "
    "controller (robot_compensates_gravity), or check the URDF for missing masses"
)
_HALF = (
    "the measured effort is about half the gravity torque: {}. Cure: check the masses in the URDF, the gravity vector "
    "and the unit of the efforts"
)


def check_activation(model: RobotModel, q: Array, measured: Array) -> tuple[str, ...]:
    """Compare the measured effort (n,) of an arm at rest at ``q`` (n,) with the model.

    ``model`` must include gravity even if the robot compensates for it. Returns the texts of warnings, usually none.
    Raises RobotDynamicsError, naming cause, joints, values and cure, for a wrong sign or order of the efforts, and for
    about twice or half the gravity torque.
    """
    return check_effort(
        model.joint_names,
        measured,
        model.gravity_torque(q),
        holding_friction(model, q),
        payload_effort(model, q),
    )


def holding_effort(
    model: RobotModel, q: Array, measured: Array, limits: Array
) -> tuple[Array | None, tuple[str, ...]]:
    """Return the measured effort (n,) if it holds the arm at rest at ``q`` (n,), else None, with the reason as text.

    It does if g(q) and a payload at the end effector explain it, within friction and the tolerances above, whose centre
    of mass is at most 0.2 m from the link's origin, and which the effort ``limits`` (n,) can hold. It does not if it is
    twice g(q), because gravity may then be counted twice. There is no reason if it is not finite, or about zero, for
    example with brakes on: for every joint within its static friction plus about a tenth of the largest gravity torque.
    """
    gravity = model.gravity_torque(q)
    slack = _slack(gravity, holding_friction(model, q))
    if not np.isfinite(measured).all() or _about_zero(measured, gravity, slack):
        return None, ()
    expected, mass = _with_load(measured, gravity, payload_effort(model, q), slack)
    rotations = np.linalg.norm(_end_effector_jacobian(model, q)[3:], axis=0)
    moment = mass * float(np.linalg.norm(model.gravity)) * PAYLOAD_LEVER * rotations
    misses = _residuals(measured, expected, slack + moment)
    twice = bool((_residuals(measured, 2.0 * gravity, slack) <= 1.0).all())
    if misses.max() <= 1.0 and (np.abs(expected) <= limits).all() and not twice:
        return measured, ()
    j = int(np.argmax(np.abs(measured - gravity) if twice else misses))
    reason = "twice the gravity torque" if twice else "which no payload explains"
    return None, (
        f'activation_check: joint "{model.joint_names[j]}" reports an effort of {measured[j]:.3g}, {reason}: the '
        f"command starts at the gravity torque, {gravity[j]:.3g}. Cure: check unit and sign of efforts",
    )


def check_effort(
    joint_names: Sequence[str],
    measured: Array,
    gravity: Array,
    friction: Array,
    load: Array,
) -> tuple[str, ...]:
    """Compare the measured effort with the gravity torque.

    One pose does not reveal every error: twice the gravity of a single joint looks like a payload, swapped joints with
    equal load are not detected, and a wrong sign is detected only if the joint's gravity torque is at least about twice
    its friction and a twentieth of the largest gravity torque.

    Parameters
    ----------
    joint_names
        Names of the n joints.
    measured
        Measured effort (n,), Nm or N; not finite for a joint: not reported.
    gravity
        g(q) (n,), Nm or N.
    friction
        Static friction (n,), at least 0, Nm or N.
    load
        Effort (n,), Nm or N, by which the motors hold a payload of 1 kg at the end effector. Zeros: no payload is
        considered.

    Returns
    -------
    tuple of str
        Texts of the warnings; empty if there is none.

    Raises
    ------
    RobotDynamicsError
        For a wrong sign or order of the efforts, and about twice or half the gravity torque, naming cause, joints,
        values and cure.
    """
    known = np.isfinite(measured)
    if not known.any():
        return ()
    names = [joint_names[j] for j in np.flatnonzero(known).tolist()]
    m = measured[known]
    g = gravity[known]
    load = load[known]
    slack = _slack(g, friction[known])
    right = _residuals(m, g, slack)
    off = right > 1.0
    carries_nothing = bool((np.abs(g) <= 2.0 * slack).all())
    if carries_nothing or _about_zero(m, g, slack) or not off.any():
        return ()

    worst = {
        error: float(_residuals(m, effort, slack).max())
        for error, effort in _wrong_hypotheses(m, g, off).items()
    }
    error = min(worst, key=worst.__getitem__)
    loaded = [_with_load(m, base, load, slack)[0] for base in (g, np.zeros_like(g))]
    no_payload_fits = all(_residuals(m, effort, slack).max() > 1.0 for effort in loaded)
    if (
        worst[error] <= 1.0
        and no_payload_fits
        and right.max() >= ACTIVATION_LEAST_RESIDUAL
    ):
        listed = ", ".join(
            f'"{names[j]}" {m[j]:.3g} (gravity torque {g[j]:.3g})'
            for j in np.flatnonzero(off)
        )
        raise RobotDynamicsError(
            f"activation_check: {error.format(listed)}; or set activation_check to false if the efforts are known to "
            "be right"
        )
    j = int(np.argmax(right))
    return (
        f'activation_check: joint "{names[j]}" reports an effort of {m[j]:.3g}, its gravity torque is {g[j]:.3g}. '
        "Cure: add the arm's payload to the model, remove contacts, or check the masses of the model",
    )


def _residuals(measured: Array, expected: Array, slack: Array) -> Array:
    """Return the normalised residuals z (n,) of a hypothesis, at most 1 within tolerance."""
    return np.abs(measured - expected) / (
        slack + ACTIVATION_MODEL_ERROR * np.abs(expected)
    )


def _slack(gravity: Array, friction: Array) -> Array:
    """Return the pose-independent tolerance (n,) between measured effort and model, Nm or N."""
    return friction + max(
        ACTIVATION_FLOOR * float(np.abs(gravity).max()), ACTIVATION_LEAST_FLOOR
    )


def _about_zero(measured: Array, gravity: Array, slack: Array) -> bool:
    """True if the measured effort is about zero: brakes on, or reports without gravity."""
    return bool(
        (
            np.abs(measured)
            <= slack + ACTIVATION_ZERO_EFFORT * float(np.abs(gravity).max())
        ).all()
    )


def holding_friction(model: RobotModel, q: Array) -> Array:
    """Return the friction (n,), at least 0, Nm or N, that may hold the joints at rest at ``q`` (n,).

    It is the maximum over both directions and two speeds: 1e-9 (static friction, Stribeck) and 0.1 rad/s or m/s, at
    which a sigmoid friction model is almost saturated.
    """
    speeds = np.array([1e-9, -1e-9, 0.1, -0.1])
    return np.asarray(
        np.abs(model.friction_torque(q, np.outer(speeds, np.ones(model.n)))).max(axis=0)
    )


def payload_effort(model: RobotModel, q: Array) -> Array:
    """Return the effort (n,), Nm or N, by which the motors hold 1 kg at the end effector, at ``q`` (n,).

    It is -J^T g, with the acceleration of gravity g and the linear Jacobian J (3, n) of the end effector's origin. The
    end effector is the link that the largest number of joints moves, the last one of several.
    """
    return np.asarray(-_end_effector_jacobian(model, q)[:3].T @ model.gravity)


def _end_effector_jacobian(model: RobotModel, q: Array) -> Array:
    """Return the Jacobian (6, n) of the link that the largest number of joints moves, the last one of several."""
    jacobians = [model.jacobian(q, link) for link in reversed(model.link_names)]
    return max(
        jacobians,
        key=lambda jacobian: int(
            np.count_nonzero(np.abs(jacobian[:3]).max(axis=0) > 1e-9)
        ),
    )


def _wrong_hypotheses(
    measured: Array, gravity: Array, off: NDArray[np.bool_]
) -> dict[str, Array]:
    """Return the effort (n,) predicted by each error, by its text; ``off`` (n,) are the joints outside tolerance."""
    # Sorting both sequences gives the permutation with the least sum of squares.
    order = gravity.copy()
    places = np.flatnonzero(off)
    order[places[np.argsort(measured[places])]] = np.sort(gravity[places])
    sign = np.where(off, -gravity, gravity)
    return {_SIGN: sign, _ORDER: order, _TWICE: 2.0 * gravity, _HALF: 0.5 * gravity}


def _with_load(
    measured: Array, base: Array, load: Array, slack: Array
) -> tuple[Array, float]:
    """Return ``base`` (n,) plus the effort of the payload that fits the measured effort best, and its mass, kg."""
    weight = 1.0 / (slack + ACTIVATION_MODEL_ERROR * np.abs(base))
    column = load * weight
    square = float(column @ column)
    mass = (
        max(float(column @ (weight * (measured - base))) / square, 0.0)
        if square > 0.0
        else 0.0
    )
    return base + mass * load, mass
