"""Torque as an arrow around its joint's axis, force along it: tubes that keep their faces while they bend."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from robot_dynamics_ros.kernels.regressor import PARAMETERS
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel

Colour = tuple[int, int, int]

_ALONG, _AROUND = 28, 12
_HEAD = 3  # of the rings along: where the head begins, its rim, its tip
_HEAD_WIDTH, _HEAD_LENGTH = 2.4, 4.5  # in radii of the tube
_WHOLE_TURN = np.radians(300.0)  # of the arrow at the whole scale
_MOST = 1.15  # shares beyond are drawn as this one
_LEAST = 0.004  # shares below are not drawn

_RAMP = (0.0, 0.5, 0.8, 1.0)
_COLOURS = ((27, 127, 156), (63, 145, 66), (240, 160, 30), (214, 49, 49))


def colour_of_share(share: float) -> Colour:
    """Return the colour of a torque by its share of the limit, of either sign: blue, green at half, red from 1 on."""
    red, green, blue = (round(float(np.interp(abs(share), _RAMP, channel))) for channel in zip(*_COLOURS, strict=True))
    return red, green, blue


def turning_arrow(share: float, radius: float, thickness: float) -> Array:
    """Vertices (v, 3) of an arrow around the z axis, from x on, in the sense of the share's sign; 1 is 300 degrees.

    ``radius`` (m) is that of the arc, ``thickness`` (m) the radius of the tube. Faces are ``FACES``.
    """
    share = _drawn(share)
    angles = _along(abs(share) * _WHOLE_TURN, min(_HEAD_LENGTH * thickness / radius, abs(share) * _WHOLE_TURN))
    angles = angles * np.sign(share)
    outward = np.stack([np.cos(angles), np.sin(angles), np.zeros_like(angles)], axis=1)
    return _tube(radius * outward, outward, np.broadcast_to((0.0, 0.0, 1.0), outward.shape), _radii(share, thickness))


def ring(radius: float, thickness: float) -> Array:
    """Vertices (v, 3) of the circle on which a turning arrow lies, as thick (m) as is said. Faces are ``FACES``."""
    angles = np.linspace(0.0, 2.0 * np.pi, _ALONG + _HEAD)
    outward = np.stack([np.cos(angles), np.sin(angles), np.zeros_like(angles)], axis=1)
    up = np.broadcast_to((0.0, 0.0, 1.0), outward.shape)
    return _tube(radius * outward, outward, up, np.full_like(angles, thickness))


def straight_arrow(share: float, length: float, thickness: float) -> Array:
    """Vertices (v, 3) of an arrow along the z axis, in the sense of the share's sign; 1 is ``length`` (m)."""
    share = _drawn(share)
    places = _along(abs(share) * length, min(_HEAD_LENGTH * thickness, abs(share) * length)) * np.sign(share)
    path = np.stack([np.zeros_like(places), np.zeros_like(places), places], axis=1)
    first, second = (np.broadcast_to(axis, path.shape) for axis in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    return _tube(path, first, second, _radii(share, thickness))


def _drawn(share: float) -> float:
    share = float(np.clip(share, -_MOST, _MOST))
    return share if abs(share) >= _LEAST else 0.0


def _along(length: float, head: float) -> Array:
    """Places (rings,) along an arrow: both ends twice, to be closed, and the head's rim beside its neck."""
    shaft = np.linspace(0.0, length - head, _ALONG)
    return np.concatenate([[0.0], shaft, [length - head, length]])


def _radii(share: float, thickness: float) -> Array:
    radii = np.full(_ALONG + _HEAD, thickness if share else 0.0)
    radii[0] = radii[-1] = 0.0
    radii[-2] *= _HEAD_WIDTH
    return radii


def _tube(path: Array, first: Array, second: Array, radii: Array) -> Array:
    """Rings around a path (rings, 3), each in the plane of two unit vectors (rings, 3)."""
    turn = np.linspace(0.0, 2.0 * np.pi, _AROUND, endpoint=False)
    circle = np.cos(turn)[:, None] * first[:, None, :] + np.sin(turn)[:, None] * second[:, None, :]
    return (path[:, None, :] + radii[:, None, None] * circle).reshape(-1, 3)


def _faces() -> NDArray[np.int64]:
    ring, step = np.meshgrid(np.arange(_ALONG + _HEAD - 1), np.arange(_AROUND), indexing="ij")
    a = ring * _AROUND + step
    b = ring * _AROUND + (step + 1) % _AROUND
    faces = np.stack([a, b, b + _AROUND, a, b + _AROUND, a + _AROUND], axis=-1)
    return faces.reshape(-1, 3)


FACES = _faces()
"""Triangles (f, 3) of every arrow here, as places among its vertices."""


_POSES = 200
_HALF_TURN, _HALF_STROKE = np.pi, 0.25  # what joints without limits are thought to move to either side: rad, m
_STANDARD_GRAVITY = 9.80665
_WEIGHT_IN_REACHES = 0.22  # length of the arrow of a force as large as the weight of all that moves


@dataclass(frozen=True, eq=False)
class Moment:
    """An arm of n joints at one moment, in SI units.

    Attributes
    ----------
    q, qd, qdd
        Position, velocity and acceleration (n,).
    torque
        Joint torque to show (n,), NaN where it is not known.
    desired
        Desired position (n,); None where there is none.
    """

    q: Array
    qd: Array
    qdd: Array
    torque: Array
    desired: Array | None = None


@dataclass(frozen=True, eq=False)
class Drawing:
    """A moment as it is drawn, in the root frame: k moving joints.

    Attributes
    ----------
    links, ghost
        Poses (links, 4, 4) in the order of ``link_names``: of the arm, and of the desired one where it is known.
    shares
        Torque as a share of each joint's scale (n,), see ``torque_scale``; 0 where it is not known.
    reactions
        Begin and end of an arrow (k, 2, 3) for the force by which the parent holds each moving joint's child.
    centre_of_mass
        Of all that moves (3,).
    """

    links: Array
    ghost: Array | None
    shares: Array
    reactions: Array
    centre_of_mass: Array


def draw(model: RobotModel, moment: Moment, scale: Array, reach: float) -> Drawing:
    """Return what a moment looks like; ``scale`` (n,) is ``torque_scale``'s, ``reach`` (m) that of the arm."""
    links = link_poses(model, moment.q)
    ghost = None if moment.desired is None else link_poses(model, moment.desired)
    shares = np.nan_to_num(moment.torque / scale, posinf=0.0, neginf=0.0)
    return Drawing(links, ghost, shares, reaction_arrows(model, moment, reach), centre_of_mass(model, moment.q))


def link_poses(model: RobotModel, q: ArrayLike) -> Array:
    """Poses (links, 4, 4) of all links in the root frame at q (n,), in the order of ``link_names``."""
    return np.stack([model.link_pose(q, link) for link in model.link_names])


def quaternions(poses: Array) -> Array:
    """Rotations of poses (m, 4, 4) as unit quaternions (m, 4), the scalar first."""
    return np.asarray(np.roll(Rotation.from_matrix(poses[:, :3, :3]).as_quat(), 1, axis=1))


def centre_of_mass(model: RobotModel, q: ArrayLike) -> Array:
    """Centre of mass (3,) of all that moves in the root frame at q (n,); the root's origin where nothing has mass."""
    bodies = model.inertial_parameters[: PARAMETERS * len(model.moving_joints)].reshape(-1, PARAMETERS)
    moment, mass = np.zeros(3), float(bodies[:, 0].sum())
    for link, (m, x, y, z) in zip(model.packed.body_links, bodies[:, :4], strict=True):
        pose = model.link_pose(q, link)
        moment += pose[:3, :3] @ (x, y, z) + m * pose[:3, 3]
    return moment / mass if mass > 0.0 else moment


def reaction_arrows(model: RobotModel, moment: Moment, reach: float) -> Array:
    """Begin and end (k, 2, 3), root frame, of the force of ``joint_reactions`` at each moving joint's child.

    A force as large as the weight of all that moves is 0.22 ``reach`` long, at standard gravity.
    """
    forces = model.joint_reactions(moment.q, moment.qd, moment.qdd)[:, :3]
    mass = float(model.inertial_parameters[: PARAMETERS * len(forces) : PARAMETERS].sum())
    length = _WEIGHT_IN_REACHES * reach / (mass * _STANDARD_GRAVITY) if mass > 0.0 else 0.0
    arrows = np.empty((len(forces), 2, 3))
    for arrow, force, link in zip(arrows, forces, model.packed.body_links, strict=True):
        pose = model.link_pose(moment.q, link)
        arrow[0] = pose[:3, 3]
        arrow[1] = arrow[0] + length * (pose[:3, :3] @ force)
    return arrows


def torque_scale(model: RobotModel, recorded: ArrayLike | None = None) -> tuple[Array, NDArray[np.bool_]]:
    """Return the torque (n,) that counts as the whole of each joint, and whether it is the joint's effort limit (n,).

    Without a limit it is the largest of the ``recorded`` ones (..., n), or of the gravity torque over the range.
    """
    limits = model.effort_limits
    known = np.isfinite(limits) & (limits > 0.0)
    shown = model.gravity_torque(poses_in_range(model)) if recorded is None else np.asarray(recorded, dtype=np.float64)
    largest = np.max(np.abs(np.nan_to_num(shown.reshape(-1, model.n))), axis=0, initial=0.0)
    largest[largest == 0.0] = 1.0
    return np.where(known, limits, largest), known


def reach_of(model: RobotModel) -> float:
    """Return how far (m) any link's origin comes from the root's, over poses all over the range; 1 where nowhere."""
    poses = poses_in_range(model)
    far = max(np.linalg.norm(model.link_pose(poses, link)[:, :3, 3], axis=1).max() for link in model.link_names)
    return float(far) if far > 0.0 else 1.0


def poses_in_range(model: RobotModel) -> Array:
    """Positions (200, n), the same each time, spread evenly over what the joints can do."""
    lower, upper = position_range(model)
    return np.random.default_rng(0).uniform(lower, upper, (_POSES, model.n))


def position_range(model: RobotModel) -> tuple[Array, Array]:
    """Lower and upper positions (n,) to choose from: the limits, else half a turn or 0.25 m to either side."""
    sliding = np.array([name in model.prismatic_joints for name in model.joint_names])
    half = np.where(sliding, _HALF_STROKE, _HALF_TURN)
    lower, upper = model.position_lower, model.position_upper
    below, above = np.isfinite(lower), np.isfinite(upper)
    from_limit = np.where(above, upper - 2.0 * half, -half), np.where(below, lower + 2.0 * half, half)
    return np.where(below, lower, from_limit[0]), np.where(above, upper, from_limit[1])
