"""Task-space control law: joint torque for the desired motion of the end effector, and its targets.

x is the pose of the end-effector link in the root frame. Twists, accelerations and wrenches are (6,), linear then
angular, at the origin of the end-effector link in the root frame's axes. The components of a pose are x y z, rx ry rz:
position, and rotation about each axis. Plausible numbers are finite and at most 1e9.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.control.laws import Motion
from robot_dynamics_ros.control.trajectory.points import LARGEST
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.model.urdf_document import UNIT_LENGTH, rotation_from_quaternion
from robot_dynamics_ros.moved import former_attribute, former_name

__path__: list[str] = []  # a package, so that moved.py can import the former submodules


def pose_error(desired: Array, pose: Array) -> Array:
    """Return translation (3,), m, and rotation vector (3,), rad, from ``pose`` to ``desired``, both (4, 4), as (6,).

    Both are in the root frame's axes. The angle is at most pi; at pi the sign of the axis is arbitrary.
    """
    return np.concatenate([desired[:3, 3] - pose[:3, 3], rotation_vector(desired[:3, :3] @ pose[:3, :3].T)])


def rotation_vector(rotation: ArrayLike) -> Array:
    """Return axis times angle (3,), rad, of a rotation matrix (3, 3), accurate at small angles and at pi.

    The angle is from 0 to pi. The matrix is not checked.
    """
    r = np.asarray(rotation, dtype=np.float64)
    # 4 times the products of the quaternion's (w, x, y, z); the largest row has no cancellation: Shepperd 1978.
    diagonal = np.diag(r)
    trace = diagonal.sum()
    products = np.empty((4, 4))
    products[0, 0] = 1.0 + trace
    products[0, 1:] = products[1:, 0] = r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]
    products[1:, 1:] = r + r.T
    products[np.arange(1, 4), np.arange(1, 4)] = 1.0 - trace + 2.0 * diagonal
    row = products[np.argmax(np.diag(products))]
    w, v = row[0], row[1:] if row[0] >= 0.0 else -row[1:]
    length = np.linalg.norm(v)
    if length == 0.0:
        return np.zeros(3)
    return np.asarray(2.0 * np.arctan2(length, abs(w)) / length * v)


def rotation_matrix(vector: Array) -> Array:
    """Return the rotation matrix (3, 3) of axis times angle (3,), rad, by Rodrigues' formula, Craig (2.80)."""
    angle = math.hypot(*vector)
    x, y, z = vector * np.sinc(angle / (2.0 * np.pi))  # 2 sin(angle / 2) along the axis
    half = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + math.cos(angle / 2.0) * half + half @ half / 2.0)


def pose_of(position: ArrayLike, quaternion: ArrayLike) -> Array:
    """Return the pose (4, 4) of a position (3,), m, and a quaternion (4,), x y z w as in geometry_msgs/Pose.

    Raises RobotDynamicsError for numbers that are not finite, and for a quaternion whose length differs from 1 by 1e-3
    or more; smaller differences are normalised.
    """
    p, given = np.asarray(position, dtype=np.float64), np.asarray(quaternion, dtype=np.float64)
    if p.shape != (3,) or not np.isfinite(p).all():
        raise RobotDynamicsError(f"position {p.tolist()}. Cure: give three finite numbers")
    length = float(np.linalg.norm(given))
    if given.shape != (4,) or not abs(length - 1.0) < UNIT_LENGTH:
        raise RobotDynamicsError(f"quaternion {given.tolist()} has length {length:.6g}. Cure: give x y z w of length 1")
    pose = np.eye(4)
    pose[:3, :3] = rotation_from_quaternion(*given / length)
    pose[:3, 3] = p
    return pose


COMPONENTS = ("x", "y", "z", "rx", "ry", "rz")
"""Components of a pose: position, and rotation about each axis."""
ALL = (0, 1, 2, 3, 4, 5)


@dataclass(frozen=True, eq=False)
class TaskMotion:
    """Pose (4, 4), twist (6,) and acceleration (6,) of the end effector in the root frame: m, rad, per s, per s^2."""

    pose: Array
    twist: Array
    acceleration: Array

    @classmethod
    def at_rest(cls, pose: ArrayLike) -> TaskMotion:
        """Return the motion of an end effector at rest at a pose (4, 4)."""
        return cls(np.array(pose, dtype=np.float64), np.zeros(6), np.zeros(6))


@dataclass(frozen=True, eq=False)
class TaskGains:
    """Gains of ``task_space_computed_torque``.

    Attributes
    ----------
    kp, kd
        Gains (6,) of the pose and velocity errors of the end effector, 1/s^2 and 1/s; kd positive.
    posture_kp, posture_kd
        Gains (n,) of the joint motion in the null space of the Jacobian, 1/s^2 and 1/s; posture_kd positive. At a
        singularity posture_kd alone damps the singular direction.
    linear_velocity, angular_velocity
        Largest velocity (m/s, rad/s) of the approach relative to the desired velocity; inf: not limited.
    singular_value
        Threshold of damping, positive: in directions with a smaller singular value of the Jacobian (m or rad, per rad
        or m), the task-space mass is computed with this value instead, so that it stays bounded.
    """

    kp: Array
    kd: Array
    posture_kp: Array
    posture_kd: Array
    linear_velocity: float = math.inf
    angular_velocity: float = math.inf
    singular_value: float = 0.03


class TaskTorque(NamedTuple):
    """Torque of the task-space control law, with its errors and conditioning.

    Attributes
    ----------
    torque
        Joint torque (n,), Nm or N.
    error
        Translation (m) and rotation vector (rad) from measured to desired pose, (6,), root axes; 0 in free components.
    joint_velocities
        Joint velocities (n,), rad/s or m/s, of the desired twist, by the dynamically consistent inverse.
    smallest_singular_value
        Smallest singular value of the Jacobian of the controlled components; 0 at a singularity.
    damped
        True if it is below the gains' ``singular_value``; the end effector then does not follow in that direction.
    """

    torque: Array
    error: Array
    joint_velocities: Array
    smallest_singular_value: float
    damped: bool


def task_space_computed_torque(
    model: RobotModel,
    gains: TaskGains,
    link: str,
    desired: TaskMotion,
    q: Array,
    qd: Array,
    rows: tuple[int, ...] = ALL,
    posture: Motion | None = None,
    joint_velocities: Array | None = None,
) -> TaskTorque:
    """Return J^T F + (I - J^T Jbar^T)(M qdd0 + V + G), F = Mx (xdd_d + Kd e' + Kp e) + Vx + Gx, without friction.

    J is the Jacobian of the end-effector link. M, V and G are mass matrix, velocity terms and gravity torque of the
    joint-space dynamics, Mx, Vx and Gx those of the task-space dynamics, and xdd_d is the desired acceleration. The
    error dynamics of the end effector are e'' + Kd e' + Kp e = 0, where e (6,) is translation (m) and rotation vector
    (rad) from the measured to the desired pose. In the null space, by the dynamically consistent inverse Jbar, the
    joints follow the posture p, pd, pdd: qdd0 = pdd + posture_kd (pd - qd) + posture_kp (p - q). Craig (6.99), (6.104)
    with the control of 10.4; Khatib 1987; orientation Luh, Walker and Paul 1980. The torque is finite at singularities,
    because the task-space mass is bounded in singular directions.

    For large e the velocity of approach xd = Kp/Kd e is saturated with its direction kept (Khatib 1987, "A unified
    approach"), so that Kp e = Kd xd. It is limited by the velocities in the gains, near singularities by the distance
    to them, and by the joint velocities. The velocity Kp/Kd (p - q) of the posture is saturated in the same way.

    Parameters
    ----------
    model
        Robot model.
    gains
        Gains and limits of the law.
    link
        End-effector link.
    desired
        Desired motion of the end effector.
    q, qd
        Measured positions and velocities (n,).
    rows
        Indices 0 to 5 of the controlled components, of position x y z and rotation about x y z; at most n. The other
        components are free.
    posture
        Desired joint motion in the null space; None: only damping.
    joint_velocities
        Smallest and largest velocities (2, K), rad/s or m/s, of the rows of ``model.limit_rows``. The approach to the
        target uses half of them, that to the posture a quarter; the motion of the target is added. None: no limits.

    Raises
    ------
    RobotDynamicsError
        For an unknown link, invalid rows, more rows than joints, ``q`` and ``qd`` that are not n finite numbers, and
        joints that move no mass.
    """
    if not rows or not set(rows) <= set(ALL) or len(set(rows)) < len(rows):
        raise RobotDynamicsError(f"rows {rows}. Cure: choose different numbers 0 to 5: x y z, rotation about x y z")
    if len(rows) > model.n:
        raise RobotDynamicsError(
            f"{len(rows)} components of the end effector's motion, but {model.n} joints. "
            f"Cure: choose at most {model.n} rows"
        )
    model.require_mass()
    q, qd = model.vector("q", q), model.vector("qd", qd)
    if not (np.isfinite(q).all() and np.isfinite(qd).all()):
        raise RobotDynamicsError(f"q = {q.tolist()}, qd = {qd.tolist()}. Cure: give finite positions and velocities")
    select = list(rows)
    error = np.zeros(6)
    error[select] = pose_error(desired.pose, model.link_pose(q, link))[select]
    j = model.jacobian(q, link)[select]
    m = model.mass_matrix(q)
    u, sigma, v_t = np.linalg.svd(j)
    smallest = float(sigma[-1])
    mass, inverse = _task_mass(j, m, u, sigma, v_t[: len(rows)], gains.singular_value)
    approach = _before_singularities(
        gains, _approach(gains, error)[select], u, sigma, v_t, lambda way: model.jacobian_dot_qd(q, way, link)[select]
    )
    approach *= _share(0.5, model.limit_rows.rates(inverse @ approach), joint_velocities)
    command = desired.acceleration[select] + gains.kd[select] * (desired.twist[select] + approach - j @ qd)
    free = -gains.posture_kd * qd
    if posture is not None:
        # Projected to the null space, so that saturation does not act on the end effector; zero near singularities.
        null = v_t[len(rows) :]
        velocity = gains.posture_kp / gains.posture_kd * (posture.q - q)
        velocity = null.T @ np.linalg.solve(null @ m @ null.T, null @ (m @ velocity))
        velocity *= _share(0.25, model.limit_rows.rates(velocity), joint_velocities) * min(
            1.0, max(0.0, smallest / gains.singular_value - 1.0)
        )
        free += posture.qdd + gains.posture_kd * (posture.qd + velocity)
    # The equation of the docstring with Vx and Gx inserted.
    beyond = command - model.jacobian_dot_qd(q, qd, link)[select] - j @ free
    torque = model.inverse_dynamics(q, qd, free) + j.T @ (mass @ beyond)
    return TaskTorque(torque, error, inverse @ desired.twist[select], smallest, smallest < gains.singular_value)


def _task_mass(j: Array, m: Array, u: Array, sigma: Array, v_t: Array, least: float) -> tuple[Array, Array]:
    """Return Mx = (J M^-1 J^T)^-1 (m, m), Craig (6.99), and Jbar = M^-1 J^T Mx (n, m).

    Singular values of J (m, n) below ``least`` are replaced by it.
    """
    m_inverse = np.linalg.inv(m)
    inverse = m_inverse @ j.T
    mobility = j @ inverse
    if sigma[-1] < least:
        # In a nearly singular direction u_k the mobility of the end effector is sigma_k^2 v_k^T M^-1 v_k.
        missing = np.maximum(least**2 - sigma**2, 0.0) * np.einsum("ki,ij,kj->k", v_t, m_inverse, v_t)
        mobility += (u * missing) @ u.T
    mass = np.asarray(np.linalg.inv(mobility), dtype=np.float64)
    return mass, inverse @ mass


def _approach(gains: TaskGains, error: Array) -> Array:
    """Return Kp/Kd e (6,), saturated to the velocities in the gains."""
    velocity = gains.kp / gains.kd * error
    for part, most in ((slice(0, 3), gains.linear_velocity), (slice(3, 6), gains.angular_velocity)):
        speed = math.hypot(*velocity[part])
        if speed > most:
            velocity[part] *= most / speed
    return velocity


def _before_singularities(
    gains: TaskGains, approach: Array, u: Array, sigma: Array, v_t: Array, bend: Callable[[Array], Array]
) -> Array:
    """Return the velocity of approach (m,), reduced along singular vectors u in which it leads to a singularity.

    The joints move along v at s' = xd / sigma, which changes sigma by s' dsigma/ds: with a constant xd they converge to
    the singularity at the rate -xd dsigma/ds / sigma^2. Up to a quarter of Kd the velocity loop is critically damped;
    at higher rates the joints oscillate about the singularity. ``bend`` returns dJ/ds v (m,) along a vector v (n,).
    """
    rate = 0.25 * min(gains.kd.min(), gains.posture_kd.min())
    for k, most in enumerate(rate * np.maximum(sigma, gains.singular_value) ** 2):
        along = float(u[:, k] @ approach)
        if abs(along) > most:
            # Near the singularity v rotates within v and the null space; the trace bounds the slope in all directions.
            ways = [v_t[k], *(v_t[len(sigma) :] if sigma[k] < gains.singular_value else ())]
            slope = sum(max(0.0, -math.copysign(1.0, along) * float(u[:, k] @ bend(way))) for way in ways)
            if abs(along) * slope > most:
                approach = approach - (along - math.copysign(most / slope, along)) * u[:, k]
    return approach


def _share(part: float, velocity: Array, limits: Array | None) -> float:
    """Return the factor, at most 1, that scales a joint velocity (n,) to within ``part`` of the limits (2, n)."""
    if limits is None:
        return 1.0
    room = part * np.where(velocity > 0.0, np.maximum(limits[1], 1e-9), np.minimum(limits[0], -1e-9))
    return float(1.0 / max(1.0, (velocity / room).max()))


Feedforward = Literal["twist", "acceleration"]


class EndEffectorTarget(NamedTuple):
    """Message with a target of the end effector.

    Attributes
    ----------
    quantity
        "pose", "twist" or "acceleration".
    stamp
        Stamp of the message (ns of the ROS clock); 0: now.
    frame
        Name of the frame in which ``numbers`` are expressed; "": the root link.
    numbers
        Pose: position (m) and quaternion x y z w, (7,). Others: linear, then angular part, (6,).
    """

    quantity: Literal["pose", "twist", "acceleration"]
    stamp: int
    frame: str
    numbers: Array


_MOST_WAITING = 100  # bounds the memory
_REST: Array = np.zeros(6)


@dataclass(slots=True)
class _Target:
    """Pose from ``begin`` (s) on, and its feedforward; a pose to hold has no stamp and no feedforward."""

    begin: float
    pose: Array
    stamp: int | None = None
    feedforward: dict[Feedforward, Array] = field(default_factory=dict)


class EndEffectorState(NamedTuple):
    """Errors of the end effector in the controlled components, and conditioning.

    Attributes
    ----------
    position_error, rotation_error
        Magnitudes (m, rad) of translation and rotation to the desired pose.
    smallest_singular_value, damped
        Smallest singular value of the Jacobian of the controlled components, and True if it is below the threshold of
        damping; the end effector then does not follow in that direction.
    """

    position_error: float
    rotation_error: float
    smallest_singular_value: float
    damped: bool


class EndEffectorTargets:
    """Desired motion of the end effector, from target messages.

    Times are seconds by the clock of the controller's trajectories, stamps the nanoseconds in header.stamp of messages.
    A target is valid from its begin on, and replaces targets that begin at the same time or later. A twist or
    acceleration belongs to the one pose of the same stamp, in any order of arrival; it extrapolates the target. A pose
    to hold, set by ``hold``, is not a target. Poses are in the root frame, m.

    Attributes
    ----------
    timeout
        Longest time (s) of extrapolation, at first 0; afterwards the target is at rest.
    """

    def __init__(self) -> None:
        self.timeout = 0.0
        self.clear()

    def clear(self) -> None:
        """Drop all targets."""
        self._current: _Target | None = None
        self._waiting: list[_Target] = []
        self._early: dict[tuple[Feedforward, int], tuple[float, Array]] = {}

    @property
    def none_has_begun(self) -> bool:
        """True if neither a target is in effect, by a call of ``at``, nor a pose to hold has been set."""
        return self._current is None

    @property
    def empty(self) -> bool:
        """True if there is no target at all: none in effect and none waiting for its begin; a pose to hold is none."""
        return not self._waiting and (self._current is None or self._current.stamp is None)

    none_has_come = former_attribute("empty")

    def hold(self, pose: Array) -> None:
        """Set a pose (4, 4) to hold until a target begins; it ends the target in effect."""
        self._current = _Target(0.0, pose)

    def follow(self, pose: Array, stamp: int, begin: float, now: float) -> None:
        """Add a target pose (4, 4) for the time ``begin`` (s), before or after ``now`` (s), with its ``stamp`` (ns).

        Raises RobotDynamicsError for implausible positions and if too many targets wait; the targets are then
        unchanged.
        """
        _check("position", pose[:3, 3])
        waiting = [target for target in self._waiting if target.begin < begin]
        if len(waiting) >= _MOST_WAITING:
            raise RobotDynamicsError(
                f"{len(waiting)} targets have times in the future already. Cure: send fewer ahead of time"
            )
        target = _Target(begin, pose, stamp)
        kinds: Sequence[Feedforward] = ("twist", "acceleration")
        for kind in kinds:
            early = self._early.pop((kind, stamp), None)
            # A stamp of 0 does not identify the pose: feedforward older than the timeout is discarded.
            if early is not None and (stamp != 0 or now - early[0] <= self.timeout):
                target.feedforward[kind] = early[1]
        self._waiting = [*waiting, target]

    def feed_forward(self, kind: Feedforward, vector: Array, stamp: int, now: float) -> None:
        """Add ``vector`` (6,), by ``kind`` a twist or acceleration, for the pose with this ``stamp`` (ns).

        The units are m and rad, per s or per s^2. The pose may arrive later. ``now`` is the time (s). Raises
        RobotDynamicsError for implausible numbers; the targets are then unchanged.
        """
        _check(kind, vector)
        for target in (*self._waiting, *([] if self._current is None else [self._current])):
            if target.stamp == stamp and kind not in target.feedforward and now - target.begin <= self.timeout:
                target.feedforward[kind] = vector
                return
        self._early[kind, stamp] = now, vector
        if len(self._early) > 2 * _MOST_WAITING:
            del self._early[next(iter(self._early))]

    def at(self, time: float) -> TaskMotion:
        """Return the desired motion at ``time`` (s), which must not decrease; a target or a pose to hold is required.

        With twist v, w and acceleration a, alpha of a target, and t since its begin, the position of its pose p changes
        to p + v t + a t^2 / 2, its rotation by the exponential of w t + alpha t^2 / 2 (exact for parallel w and alpha,
        else second order in t), up to ``timeout``. A pose to hold, and a pose without both, is at rest.
        """
        while self._waiting and self._waiting[0].begin <= time:
            self._current = self._waiting.pop(0)
        assert self._current is not None
        target = self._current
        if not target.feedforward:
            return TaskMotion(target.pose, _REST, _REST)
        twist = target.feedforward.get("twist", _REST)
        acceleration = target.feedforward.get("acceleration", _REST)
        t = time - target.begin
        over = t > self.timeout
        t = min(t, self.timeout)
        change = t * twist + 0.5 * t * t * acceleration
        pose = target.pose.copy()
        pose[:3, 3] += change[:3]
        pose[:3, :3] = rotation_matrix(change[3:]) @ pose[:3, :3]
        return TaskMotion(pose, _REST, _REST) if over else TaskMotion(pose, twist + t * acceleration, acceleration)


def _check(name: str, values: Array) -> None:
    if not (np.abs(values) <= LARGEST).all():  # False for NaN
        raise RobotDynamicsError(f"{name} {values.tolist()}. Cure: give finite numbers of at most {LARGEST:g}")


def __getattr__(name: str) -> object:
    return former_name(__name__, {"HandState": EndEffectorState, "HandTargets": EndEffectorTargets}, name)
