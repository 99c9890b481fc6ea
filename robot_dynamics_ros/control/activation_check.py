"""Check of the efforts that a driver reports against the model's gravity torque, before anything moves.

A wrong sign, joints in a wrong order or gravity counted twice make an arm jump when a controller starts. At rest they
show in the measured effort, which should be g(q), Craig (6.59), but for the friction that holds. Each hypothesis
predicts an effort h, and misses joint i by

    z_i = |measured_i - h_i| / (friction_i + floor + TOLERANCE |h_i|).

A wrong one is accepted only if it misses no joint by more than 1, g(q) misses some joint by MARGIN or
more, and neither g(q) nor 0 fits together with a mass at the tip: that is a payload.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel

TOLERANCE = 0.12
"""Usual relative error of measured effort and model."""
FLOOR = 0.02
"""Usual error of every joint, as a share of the largest gravity torque: offsets, cables, unmodelled friction."""
LEAST_FLOOR = 0.01
"""Least floor (Nm or N), so that rounding is no load where gravity does nothing."""
MARGIN = 2.5
"""Least miss of g(q) with which a wrong hypothesis is accepted."""
ZERO = 0.1
"""Share of the largest gravity torque below which efforts are zero: brakes, or a robot that leaves gravity out."""

_CAUSES_AND_CURES = {
    "sign": ("wrong sign of the measured effort", "turn round the sign in the driver, or the axes in the URDF"),
    "order": (
        "measured efforts in a wrong order, the joints look swapped",
        "report efforts in the order of the names, and check which motor is which joint",
    ),
    "twice": (
        "the measured effort is about twice gravity",
        "let only one of robot and controllers make up for gravity (robot_compensates_gravity), or check that the URDF "
        "has all masses",
    ),
    "half": (
        "the measured effort is about half of gravity",
        "check the masses in the URDF, the gravity, and the unit of the efforts",
    ),
}


def check_activation(model: RobotModel, q: Array, measured: Array | None) -> tuple[str, ...]:
    """Check the measured effort (n,) of an arm at rest at ``q`` (n,), as ``check_effort`` says.

    The model is one with gravity, also where the robot compensates for it.
    """
    gravity = model.gravity_torque(q)
    return check_effort(model.joint_names, measured, gravity, holding_friction(model, q), tip_load(model, q))


def holding_effort(model: RobotModel, q: Array, measured: Array | None) -> Array | None:
    """Return the measured effort (n,) where it holds the arm at rest at ``q`` (n,).

    None where it does not: not reported, not finite, or about zero, as with brakes on.
    """
    if measured is None or not np.isfinite(measured).all():
        return None
    gravity = model.gravity_torque(q)
    return None if _about_zero(measured, gravity, _slack(gravity, holding_friction(model, q))) else measured


def check_effort(
    joint_names: Sequence[str], measured: Array | None, gravity: Array, friction: Array, load: Array
) -> tuple[str, ...]:
    """Compare measured effort with gravity; return warnings, or raise an error for a difference that makes an arm jump.

    Refused: wrong sign (of all joints or of some), joints in another order, about twice or half of g(q).
    Fine: about g(q); about zero (brakes hold, or the robot leaves gravity out of what it reports); efforts that are
    not reported (None, empty; for single joints: not finite); a pose where gravity does nothing. Anything else,
    as a payload that the model does not know or contact, gives a warning with the joint that fits worst.

    Not everything shows in one pose: twice the gravity of a single joint looks like a payload, two joints that carry
    the same can be swapped unseen, and the sign of a joint shows only where it carries about twice its friction
    and a twentieth of what the most loaded joint does.

    Parameters
    ----------
    joint_names
        Names of the n joints.
    measured
        Measured effort (n,), Nm or N.
    gravity
        g(q) (n,), Nm or N.
    friction
        Static friction (n,), at least 0, that may hide in the measured effort, Nm or N; see ``holding_friction``.
    load
        Effort (n,) that a mass of 1 kg at the tip takes, Nm or N; see ``tip_load``. Zeros: no load is considered.

    Raises
    ------
    RobotDynamicsError
        Naming cause, joints, values and cure; also for efforts of another number than the joints.
    """
    if measured is None or measured.size == 0:
        return ()
    if measured.shape != gravity.shape:
        raise RobotDynamicsError(
            f"activation_check: {measured.size} efforts, expected {gravity.size}. "
            f"Cure: report one for each of {', '.join(joint_names)}, or none"
        )
    known = np.isfinite(measured)
    if not known.any():
        return ()
    names = [name for name, reported in zip(joint_names, known, strict=True) if reported]
    m, g, load = measured[known], gravity[known], load[known]
    slack = _slack(g, friction[known])

    def misses(expected: Array) -> Array:
        tolerance: Array = slack + TOLERANCE * np.abs(expected)
        return np.abs(m - expected) / tolerance

    right = misses(g)
    off = right > 1.0
    carries_nothing = bool((np.abs(g) <= 2.0 * slack).all())
    if carries_nothing or _about_zero(m, g, slack) or not off.any():
        return ()

    wrong = _wrong_hypotheses(m, g, off)
    worst = {name: float(misses(expected).max()) for name, expected in wrong.items()}
    best = min(worst, key=worst.__getitem__)
    if worst[best] <= 1.0 and right.max() >= MARGIN:
        with_load = min(float(misses(_with_load(m, base, load, slack)).max()) for base in (g, np.zeros_like(g)))
        if with_load > 1.0:
            cause, cure = _CAUSES_AND_CURES[best]
            listed = ", ".join(f'"{names[j]}" {m[j]:.3g} (gravity takes {g[j]:.3g})' for j in np.flatnonzero(off))
            raise RobotDynamicsError(
                f"activation_check: {cause}: {listed}. Cure: {cure}; "
                "or turn activation_check off where all this is known to be right"
            )
    j = int(np.argmax(right))
    return (
        f'activation_check: joint "{names[j]}" reports an effort of {m[j]:.3g}, gravity takes {g[j]:.3g}. Cure: give '
        "the model the payload that the arm carries, free it from contact, or check its masses",
    )


def _slack(gravity: Array, friction: Array) -> Array:
    """Return the usual difference (n,) between measured effort and model, Nm or N."""
    slack: Array = friction + max(FLOOR * float(np.abs(gravity).max()), LEAST_FLOOR)
    return slack


def _about_zero(measured: Array, gravity: Array, slack: Array) -> bool:
    """True if the motors hold none of the gravity torque: brakes do, or the robot leaves gravity out."""
    return bool((np.abs(measured) <= slack + ZERO * float(np.abs(gravity).max())).all())


def holding_friction(model: RobotModel, q: Array) -> Array:
    """Return the friction (n,) that may hold the resting joints at ``q`` (n,), Nm or N; 0 where the model has none.

    The largest of both directions, at creeping (static level, Stribeck) and at 0.1 rad/s or m/s, where smooth
    models of dry friction (a sigmoid) have most of it.
    """
    speeds = np.array([1e-9, -1e-9, 0.1, -0.1])
    friction: Array = np.abs(model.friction_torque(q, np.outer(speeds, np.ones(model.n)))).max(axis=0)
    return friction


def tip_load(model: RobotModel, q: Array) -> Array:
    """Return the effort (n,) for a mass of 1 kg at ``q`` (n,), Nm or N: -J^T g at the link that most joints move."""
    jacobians = [model.jacobian(q, link)[:3] for link in reversed(model.link_names)]
    tip = max(jacobians, key=lambda jacobian: int(np.count_nonzero(np.abs(jacobian).max(axis=0) > 1e-9)))
    effort: Array = -tip.T @ model.gravity
    return effort


def _wrong_hypotheses(measured: Array, gravity: Array, off: NDArray[np.bool_]) -> dict[str, Array]:
    """Return the effort (n,) that each error predicts; ``off``: the joints that do not report gravity."""
    # Sorting both pairs the joints that are off with the least sum of squares: no permutation fits better.
    order = gravity.copy()
    places = np.flatnonzero(off)
    order[places[np.argsort(measured[places])]] = np.sort(gravity[places])
    sign = np.where(off, -gravity, gravity)
    return {"sign": sign, "order": order, "twice": 2.0 * gravity, "half": 0.5 * gravity}


def _with_load(measured: Array, base: Array, load: Array, slack: Array) -> Array:
    """Return ``base`` (n,) with the mass at the tip, not negative, that brings it nearest to the measured effort."""
    weight = 1.0 / (slack + TOLERANCE * np.abs(base))
    column = load * weight
    square = float(column @ column)
    mass = max(float(column @ (weight * (measured - base))) / square, 0.0) if square > 0.0 else 0.0
    loaded: Array = base + mass * load
    return loaded
