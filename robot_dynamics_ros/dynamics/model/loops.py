"""Closed kinematic chains: constraints of the loops, and positions at which they are closed.

A closed chain is a tree whose loops are cut and then closed by constraints phi(q) = 0, LaValle (13.171). A loop holds a
point of link a at a point of link b, like a ball joint. q is in rad or m.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics_ros.base.errors import RobotDynamicsError, did_you_mean
from robot_dynamics_ros.dynamics import thresholds
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model.robot_model import RobotModel

NEGLIGIBLE = 1e-5
"""Relative size below which a number counts as zero.

So 1.5708 instead of pi / 2 in a URDF does not tilt the joints of a planar mechanism out of its plane.
"""


@dataclass(frozen=True, eq=False)
class Constraints:
    """k constraints G(q) qd = f at one state, LaValle (13.165), (13.170).

    Attributes
    ----------
    jacobian
        G (k, n).
    drift
        dG/dt qd - df/dt (k,): G qdd + drift = 0.
    error
        phi(q) (k,), 0 if satisfied, with G = dphi/dq, LaValle (13.171). Zeros for constraints on velocities only.
    rate
        Right side f (k,), such as f(q, u) for an input u; 0 for closed loops.
    """

    jacobian: Array
    drift: Array
    error: Array
    rate: Array | float = 0.0


def loop_constraints(model: RobotModel, q: ArrayLike, qd: ArrayLike) -> Constraints:
    """Return the three constraints of each loop of the model, phi = p_b - p_a in root axes (m), at q and qd (n,).

    p_a, p_b are the points of a loop. A point at r from its link's origin has the Jacobian J_v - [r]x J_w and, at qdd =
    0, the acceleration a + alpha x r + w x (w x r), Craig (6.12). Raises RobotDynamicsError for a model without loops.
    """
    if not model.loops:
        raise RobotDynamicsError(
            f'robot "{model.name}" has no loops. Cure: define them in its dynamics file'
        )
    ends = [
        [
            _point(model, q, qd, loop.link_a, loop.point_a),
            _point(model, q, qd, loop.link_b, loop.point_b),
        ]
        for loop in model.loops
    ]
    position, jacobian, drift = (
        np.concatenate([b[part] - a[part] for a, b in ends]) for part in range(3)
    )
    return Constraints(jacobian, drift, position)


def loop_forces(multipliers: ArrayLike) -> Array:
    """Return the forces (..., loops, 3) of link a on link b of each loop, N, in root axes.

    ``multipliers`` (..., 3 loops) are those of a motion with ``loop_constraints``. The result may be a view of them.
    """
    values = np.asarray(multipliers, dtype=np.float64)
    return values.reshape(*values.shape[:-1], -1, 3)


def close_loops(
    model: RobotModel,
    q: ArrayLike,
    *,
    held: Sequence[str] = (),
    tolerance: float = 1e-12,
) -> Array:
    """Return positions (n,) near the guess ``q`` (n,) at which all loops are closed within a tolerance.

    A Gauss-Newton method with steps of least norm, which are halved while the gap does not decrease. Joint limits are
    ignored.

    Parameters
    ----------
    model
        Robot with loops.
    q
        Initial guess (n,), rad or m.
    held
        Names of the joints whose positions are fixed.
    tolerance
        Largest accepted distance (m) between the two points of a loop, along each root axis.

    Raises
    ------
    RobotDynamicsError
        If no such position is found; the message has the loop with the largest gap. Also for a robot without loops, a
        wrong shape of ``q``, and as ``joint_indices``.
    """
    position = model.vector("q", q).copy()
    moved = np.setdiff1d(np.arange(model.n), joint_indices(model, held))
    rest = np.zeros(model.n)
    now = loop_constraints(model, position, rest)
    for _ in range(thresholds.CLOSING_ITERATIONS):
        if largest_magnitude(now.error) <= tolerance:
            return position
        step = np.zeros(model.n)
        step[moved] = np.linalg.lstsq(
            now.jacobian[:, moved], -now.error, rcond=NEGLIGIBLE
        )[0]
        part = 1.0
        trial = loop_constraints(model, position + step, rest)
        while np.linalg.norm(trial.error) >= np.linalg.norm(now.error) and part > 1e-6:
            part /= 2.0
            trial = loop_constraints(model, position + part * step, rest)
        if part <= 1e-6:
            break
        position = position + part * step
        now = trial
    gaps = np.linalg.norm(loop_forces(now.error), axis=1)
    widest = model.loops[int(np.argmax(gaps))]
    raise RobotDynamicsError(
        f'the loop between "{widest.link_a}" and "{widest.link_b}" has a gap of {np.max(gaps):.3g} m. '
        "Cure: choose a closer guess, hold fewer joints, check the points, or increase tolerance"
    )


def joint_indices(model: RobotModel, names: Sequence[str]) -> NDArray[np.int64]:
    """Return the indices of the named independent joints in the model's vectors, in the order of ``names``.

    Raises RobotDynamicsError for an unknown or repeated name.
    """
    for name in names:
        if name not in model.joint_names:
            names = ", ".join(model.joint_names)
            raise RobotDynamicsError(
                f'no joint "{name}". Cure: use some of {names}{did_you_mean(name, model.joint_names)}'
            )
        if list(names).count(name) > 1:
            raise RobotDynamicsError(
                f'joint "{name}" is named twice. Cure: name each driven joint once'
            )
    return np.array([model.joint_names.index(name) for name in names], dtype=np.int64)


def largest_magnitude(values: Array) -> float:
    """Return the largest magnitude of ``values``, 0 if there are none."""
    return float(np.max(np.abs(values), initial=0.0))


def _point(
    model: RobotModel, q: ArrayLike, qd: ArrayLike, link: str, point: ArrayLike
) -> tuple[Array, Array, Array]:
    """Return position (3,), Jacobian (3, n) and, at qdd = 0, acceleration (3,) of a link's point in root axes."""
    pose = model.link_pose(q, link)
    jacobian = model.jacobian(q, link)
    bias = model.jacobian_dot_qd(q, qd, link)
    r = pose[:3, :3] @ np.asarray(point, dtype=np.float64)
    w = jacobian[3:] @ model.vector("qd", qd)
    acceleration = bias[:3] + np.cross(bias[3:], r) + np.cross(w, np.cross(w, r))
    return (
        pose[:3, 3] + r,
        jacobian[:3] - np.cross(r, jacobian[3:], axisb=0, axisc=0),
        acceleration,
    )
