"""Scene of the view: the robot in viser, the camera, and the model quantities that they need."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from robot_dynamics_ros.kernels.regressor import PARAMETERS
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.model.link_tree import BASE
from robot_dynamics_ros.view.geometry import (
    FACES,
    Colour,
    Shape,
    body_frames,
    colour_of_share,
    inertia_boxes,
    ring,
    shrunk,
    straight_arrow,
    turning_arrow,
)
from robot_dynamics_ros.view.motion import SceneState

if TYPE_CHECKING:
    from viser import FrameHandle, MeshHandle, SceneNodeHandle, ViserServer

FIELD_OF_VIEW = np.radians(35.0)  # vertical
_FROM = np.array([0.78, -1.0, 0.42])
_MARGIN = 1.1

_POSES = 200
_HALF_TURN, _HALF_STROKE = np.pi, 0.25  # half range of joints without limits: rad, m
_STANDARD_GRAVITY = 9.80665
_WEIGHT_IN_REACHES = 0.22  # length, relative to the reach, of a force equal to the weight of all moving bodies

_GHOST: Colour = (30, 136, 229)
_FORCE: Colour = (120, 94, 190)
_CENTRE: Colour = (31, 41, 51)
_RING_COLOUR: Colour = (120, 126, 135)
_STALE: Colour = (150, 150, 150)
_SHRUNK = 0.002  # inward offset of the desired arm, relative to the reach
_ARC_RADIUS, _SHAFT_RADIUS = 0.11, 0.008  # torque arrows, relative to the reach
LAYERS = {
    "ghost": ("desired arm", True),
    "torques": ("joint torques", True),
    "labels": ("labels", False),
    "reactions": ("joint forces", True),
    "centre": ("centre of mass", True),
    "inertias": ("inertia boxes", False),
}
"""Layers that can be shown and hidden: label, and True if initially visible."""


def position_range(model: RobotModel) -> tuple[Array, Array]:
    """Return lower and upper positions (n,) of the sliders: the limits, else +-pi rad or +-0.25 m."""
    prismatic = np.array([name in model.prismatic_joints for name in model.joint_names])
    half = np.where(prismatic, _HALF_STROKE, _HALF_TURN)
    lower, upper = model.position_lower, model.position_upper
    least = np.where(np.isfinite(upper), upper - 2.0 * half, -half)
    most = np.where(np.isfinite(lower), lower + 2.0 * half, half)
    return np.where(np.isfinite(lower), lower, least), np.where(np.isfinite(upper), upper, most)


def poses_in_range(model: RobotModel) -> Array:
    """Return positions (200, n) that are evenly distributed over the joint ranges and always the same."""
    lower, upper = position_range(model)
    return np.random.default_rng(0).uniform(lower, upper, (_POSES, model.n))


def reach_of(model: RobotModel) -> float:
    """Return the largest distance (m) of a link origin from the root origin over the joint ranges; 1 if it is 0."""
    poses = poses_in_range(model)
    far = max(np.linalg.norm(model.link_pose(poses, link)[:, :3, 3], axis=1).max() for link in model.link_names)
    return float(far) if far > 0.0 else 1.0


def torque_scale(model: RobotModel, recorded: ArrayLike | None = None) -> tuple[Array, NDArray[np.bool_]]:
    """Return the reference torque (n,) of each joint, and a mask (n,) that is True if it is the effort limit.

    Without a limit it is the largest ``recorded`` torque (..., n), or the largest gravity torque over the joint range.
    """
    limits = model.effort_limits
    known = np.isfinite(limits) & (limits > 0.0)
    shown = model.gravity_torque(poses_in_range(model)) if recorded is None else np.asarray(recorded, dtype=np.float64)
    largest = np.max(np.abs(np.nan_to_num(shown.reshape(-1, model.n))), axis=0, initial=0.0)
    largest[largest == 0.0] = 1.0
    return np.where(known, limits, largest), known


def torque_shares(torque: Array, scale: Array) -> Array:
    """Return torques (n,) divided by those of ``torque_scale``; 0 for unknown ones."""
    return np.nan_to_num(torque / scale, posinf=0.0, neginf=0.0)


def link_poses(model: RobotModel, q: ArrayLike, links: Sequence[str] | None = None) -> Array:
    """Return poses (links, 4, 4) of ``links`` (default: ``link_names``) in the root frame at q (n,)."""
    return np.stack([model.link_pose(q, link) for link in (model.link_names if links is None else links)])


def centre_of_mass(model: RobotModel, q: ArrayLike) -> Array:
    """Return the centre of mass (3,) of the moving bodies in the root frame at q (n,); zero if they have no mass."""
    bodies = model.inertial_parameters[: PARAMETERS * len(model.moving_joints)].reshape(-1, PARAMETERS)
    masses, poses = bodies[:, 0], link_poses(model, q, model.moving_links)
    first_moment: Array = np.einsum("kij,kj->i", poses[:, :3, :3], bodies[:, 1:4]) + masses @ poses[:, :3, 3]
    return first_moment / masses.sum() if masses.sum() > 0.0 else first_moment


def reaction_arrows(model: RobotModel, state: SceneState, reach: float) -> Array:
    """Return start and end points (k, 2, 3), in the root frame, of the force of ``joint_reactions`` at each joint.

    A force equal to the weight of all moving bodies, at standard gravity, is 0.22 ``reach`` (m) long.
    """
    forces = model.joint_reactions(state.q, state.qd, state.qdd)[:, :3]
    mass = float(model.inertial_parameters[: PARAMETERS * len(forces) : PARAMETERS].sum())
    length = _WEIGHT_IN_REACHES * reach / (mass * _STANDARD_GRAVITY) if mass > 0.0 else 0.0
    poses = link_poses(model, state.q, model.moving_links)
    begin = poses[:, :3, 3]
    return np.stack([begin, begin + length * np.einsum("kij,kj->ki", poses[:, :3, :3], forces)], axis=1)


def short_names(names: Sequence[str]) -> list[str]:
    """Return the names without their common prefix that ends with an underscore: panda_joint1 gives joint1."""
    common = os.path.commonprefix(list(names)) if len(names) > 1 else ""
    begin = common.rfind("_") + 1
    return [name[begin:] for name in names]


def torque_texts(model: RobotModel, torque: Array) -> list[str]:
    """Return the torques (n,) as text with units; a dash for unknown ones."""
    units = ["N" if name in model.prismatic_joints else "Nm" for name in model.joint_names]
    return [
        f"{fixed(value, 1)} {unit}" if np.isfinite(value) else "–" for value, unit in zip(torque, units, strict=True)
    ]


def fixed(value: float, digits: int) -> str:
    """Return a number as text with ``digits`` decimals, without negative zero."""
    return f"{round(float(value), digits) + 0.0:.{digits}f}"


def corners(model: RobotModel, shapes: Sequence[Shape], poses: Iterable[Array], reach: float) -> Array:
    """Return corners (m, 3), in the root frame, of the bounding boxes of shapes and arrows at all ``poses`` (n,)."""
    boxes = []
    for shape in shapes:
        ranges = zip(shape.vertices.min(axis=0), shape.vertices.max(axis=0), strict=True)
        box = np.stack(np.meshgrid(*ranges, indexing="ij"), axis=-1).reshape(-1, 3)
        boxes.append((model.link_names.index(shape.link), box))
    points = [np.zeros((1, 3))]
    for q in poses:
        links = link_poses(model, q)
        points.append(reaction_arrows(model, SceneState(q, *np.zeros((3, model.n))), reach)[:, 1])
        points += [box @ links[i, :3, :3].T + links[i, :3, 3] for i, box in boxes]
    return np.concatenate(points)


def viewpoint(points: Array) -> tuple[Array, Array]:
    """Return position (3,) and target (3,) of a camera for which the points (m, 3) fill the height of the image."""
    backward = _FROM / np.linalg.norm(_FROM)
    right = np.cross((0.0, 0.0, 1.0), backward)
    right /= np.linalg.norm(right)
    up = np.cross(backward, right)
    across, high, near = (points @ axis for axis in (right, up, backward))
    centre = 0.5 * (across.min() + across.max()) * right + 0.5 * (high.min() + high.max()) * up
    half = np.tan(0.5 * FIELD_OF_VIEW)
    needed = [np.abs(values - centre @ axis) / half + near for values, axis in ((across, right), (high, up))]
    depth = float(near.mean())
    distance = depth + _MARGIN * (float(np.max(needed)) - depth)
    return centre + distance * backward, centre + depth * backward


class Scene:
    """Nodes of viser's scene: the arm, the desired arm, torques, joint forces and the centre of mass."""

    def __init__(
        self, server: ViserServer, model: RobotModel, shapes: Sequence[Shape], reach: float, ground: float
    ) -> None:
        """Add all nodes; ``reach`` (m) scales arrows and ground, ``ground`` (m) is the height of the ground."""
        self._server, self._model, self._reach = server, model, reach
        scene = server.scene
        self.layers = {
            name: scene.add_frame(f"/{name}", show_axes=False, visible=shown) for name, (_, shown) in LAYERS.items()
        }
        scene.add_frame("/arm", show_axes=False)
        self._links = self._frames("/arm")
        self._ghost = scene.add_frame("/ghost/desired", show_axes=False)
        self._ghost_links = self._frames("/ghost/desired")
        self._surfaces = [(self._mesh("/arm", k, shape), shape.colour) for k, shape in enumerate(shapes)]
        for k, shape in enumerate(shapes):
            if model.link_frames[shape.link].body != BASE:
                self._mesh("/ghost/desired", k, shrunk(shape, _SHRUNK * reach), ghost=True)
        self._inertias = self._frames("/inertias")
        for k, shape in enumerate(inertia_boxes(model)):
            self._mesh("/inertias", k, shape)
        self._add_torques()
        self._forces = scene.add_arrows(
            "/reactions/forces",
            np.zeros((len(model.moving_joints), 2, 3), dtype=np.float32),
            _FORCE,
            shaft_radius=0.006 * reach,
            head_radius=0.016 * reach,
            head_length=0.04 * reach,
        )
        self._sphere = scene.add_icosphere("/centre/sphere", radius=0.02 * reach, color=_CENTRE)
        scene.add_grid(
            "/ground",
            4.0 * reach,
            4.0 * reach,
            cell_size=0.1,
            cell_color=(228, 230, 233),
            section_size=0.5,
            section_color=(196, 200, 206),
            fade_distance=12.0 * reach,
            shadow_opacity=0.2,
            position=(0.0, 0.0, ground),
        )

    def _frames(self, layer: str) -> list[FrameHandle]:
        add = self._server.scene.add_frame
        return [add(f"{layer}/{i}", show_axes=False) for i in range(len(self._model.link_names))]

    def _mesh(self, layer: str, k: int, shape: Shape, ghost: bool = False) -> MeshHandle:
        return self._server.scene.add_mesh_simple(
            f"{layer}/{self._model.link_names.index(shape.link)}/shape{k}",
            shape.vertices.astype(np.float32),
            shape.faces.astype(np.uint32),
            color=_GHOST if ghost else shape.colour,
            opacity=0.35 if ghost else 0.6 if layer == "/inertias" else None,
            cast_shadow=not ghost,
            side="double" if layer == "/arm" else "front",
        )

    def _add_torques(self) -> None:
        """Add an arrow and a label for each independent joint that moves a body, and a ring if it is revolute."""
        model, scene = self._model, self._server.scene
        self._driven = [j for j, name in enumerate(model.joint_names) if name in model.moving_joints]
        bodies = [model.moving_joints.index(model.joint_names[j]) for j in self._driven]
        self._carriers = [model.link_names.index(model.moving_links[body]) for body in bodies]
        self._in_link = body_frames(model)[bodies]
        self._prismatic = [model.joint_names[j] in model.prismatic_joints for j in self._driven]
        faces = FACES.astype(np.uint32)
        nothing = turning_arrow(0.0, 1.0, 1.0).astype(np.float32)
        self._arrows = [
            scene.add_mesh_simple(f"/torques/{j}", nothing, faces, side="double", cast_shadow=False)
            for j in self._driven
        ]
        circle = ring(_ARC_RADIUS * self._reach, 0.2 * _SHAFT_RADIUS * self._reach).astype(np.float32)
        self._rings = [
            scene.add_mesh_simple(
                f"/torques/ring{j}", circle, faces, color=_RING_COLOUR, opacity=0.35, cast_shadow=False
            )
            for j, prismatic in zip(self._driven, self._prismatic, strict=True)
            if not prismatic
        ]
        self._labels = [
            scene.add_label(f"/labels/{j}", "", font_screen_scale=0.9, anchor="center-left") for j in self._driven
        ]

    def show(self, state: SceneState, shares: Array) -> None:
        """Update all nodes to a state, with torques as ``shares`` (n,), in one atomic update."""
        model = self._model
        links = link_poses(model, state.q)
        ghost = None if state.desired is None else link_poses(model, state.desired)
        reactions = reaction_arrows(model, state, self._reach)
        centre = centre_of_mass(model, state.q)
        with self._server.atomic():
            _place(self._links, links)
            _place(self._inertias, links)
            if ghost is not None:
                _place(self._ghost_links, ghost)
            self._ghost.visible = ghost is not None
            self._show_torques(state.torque, shares, links[self._carriers] @ self._in_link)
            self._forces.points = reactions.astype(np.float32)
            self._sphere.position = centre

    def _show_torques(self, torque: Array, shares: Array, poses: Array) -> None:
        radius, thickness = _ARC_RADIUS * self._reach, _SHAFT_RADIUS * self._reach
        names, texts = short_names(self._model.joint_names), torque_texts(self._model, torque)
        _place(self._rings, poses[np.logical_not(self._prismatic)])
        _place(self._arrows, poses)
        joints = zip(self._arrows, self._labels, self._driven, self._prismatic, poses, strict=True)
        for arrow, label, j, prismatic, pose in joints:
            share = float(shares[j])
            if prismatic:
                vertices = straight_arrow(share, 3.0 * radius, thickness)
            else:
                vertices = turning_arrow(share, radius, thickness)
            arrow.vertices = vertices.astype(np.float32)
            arrow.color = colour_of_share(share)
            label.position = pose[:3, 3] + 1.2 * radius * pose[:3, 0]
            label.text = f"{names[j]}  {texts[j]}"

    def stale(self, stale: bool) -> None:
        """Show the arm in grey if ``stale``, else in its own colours."""
        for surface, colour in self._surfaces:
            surface.color = _STALE if stale else colour


def quaternions(poses: Array) -> Array:
    """Return the rotations of poses (m, 4, 4) as unit quaternions (m, 4), scalar first."""
    return np.asarray(np.roll(Rotation.from_matrix(poses[:, :3, :3]).as_quat(), 1, axis=1))


def _place(frames: Sequence[SceneNodeHandle], poses: Array) -> None:
    if not len(poses):
        return
    for frame, pose, turn in zip(frames, poses, quaternions(poses), strict=True):
        frame.position, frame.wxyz = pose[:3, 3], turn
