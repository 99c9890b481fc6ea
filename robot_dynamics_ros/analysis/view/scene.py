"""Scene of the view: the robot in viser, and the model quantities that it needs.

n is the number of joints of ``model``; q is their position (n,), in rad or m, and torques are in Nm or N. Poses are
homogeneous matrices (4, 4). The root frame is that of the first link. The reach (m) is the largest distance of a link
origin from the root origin; it scales arrows and symbols.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from robot_dynamics_ros.analysis.thresholds import CAMERA_POSES, SCENE_HALF_STROKE
from robot_dynamics_ros.analysis.view import geometry
from robot_dynamics_ros.analysis.view.scene_state import SceneState
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.base_parameters import position_ranges
from robot_dynamics_ros.dynamics.model.link_tree import BASE

if TYPE_CHECKING:
    from viser import FrameHandle, MeshHandle, SceneNodeHandle, ViserServer

_STANDARD_GRAVITY = 9.80665
# length, relative to the reach, of a force equal to the weight of all moving bodies
_WEIGHT_IN_REACHES = 0.22

GHOST: geometry.Colour = (30, 136, 229)
FORCE: geometry.Colour = (120, 94, 190)
CENTRE: geometry.Colour = (31, 41, 51)
_RING_COLOUR: geometry.Colour = (120, 126, 135)
_STALE: geometry.Colour = (150, 150, 150)
_SHRUNK = 0.002  # inward offset of the desired arm, relative to the reach
# Torque arrows, relative to the reach.
_ARC_RADIUS = 0.11
_SHAFT_RADIUS = 0.008
STROKE = 3.0 * _ARC_RADIUS
"""Length of the arrow for the whole torque of a prismatic joint, relative to the reach."""
LAYERS = {
    "arm": ("robot", True),
    "ghost": ("desired position", True),
    "torques": ("joint torques", True),
    "labels": ("labels", False),
    "reactions": ("joint forces", True),
    "centre": ("centre of mass", True),
    "inertias": ("inertia boxes", False),
}
"""Layers that can be shown and hidden: label, and True if initially visible."""


def position_range(model: RobotModel) -> tuple[Array, Array]:
    """Return lower and upper positions (n,), rad or m, of the sliders: the limits of the joints.

    Without limits they are +-pi rad or +-0.25 m; with one limit the range of the same width that begins or ends there.
    Equal limits count as none, because exporters write 0 and 0 for limits that are not set.
    """
    lower, upper = position_ranges(model, SCENE_HALF_STROKE)
    slides = [name in model.prismatic_joints for name in model.joint_names]
    half = np.where(slides, SCENE_HALF_STROKE, np.pi)
    apart = lower < upper
    return np.where(apart, lower, -half), np.where(apart, upper, half)


def poses_in_range(model: RobotModel) -> Array:
    """Return 200 random positions (200, n), uniform in ``position_range`` and the same at each call."""
    lower, upper = position_range(model)
    return np.random.default_rng(0).uniform(lower, upper, (CAMERA_POSES, model.n))


def reach_of(model: RobotModel) -> float:
    """Return the largest distance (m) of a link origin from the root origin at ``poses_in_range``; 1 if it is 0."""
    poses = poses_in_range(model)
    far = max(
        np.linalg.norm(model.link_pose(poses, link)[:, :3, 3], axis=1).max()
        for link in model.link_names
    )
    return float(far) if far > 0.0 else 1.0


def torque_scale(
    model: RobotModel, recorded: ArrayLike | None = None
) -> tuple[Array, NDArray[np.bool_]]:
    """Return the positive reference torque (n,) of each joint, and a mask (n,) that is True if it is the effort limit.

    Without a limit it is the largest absolute torque of ``recorded`` (..., n), or, if that is None, of gravity at
    ``poses_in_range``; 1 if this is 0.
    """
    limits = model.effort_limits
    known = np.isfinite(limits) & (limits > 0.0)
    shown = (
        model.gravity_torque(poses_in_range(model))
        if recorded is None
        else np.asarray(recorded, dtype=np.float64)
    )
    largest = np.max(
        np.abs(np.nan_to_num(shown.reshape(-1, model.n))), axis=0, initial=0.0
    )
    largest[largest == 0.0] = 1.0
    return np.where(known, limits, largest), known


def torque_shares(torque: Array, scale: Array) -> Array:
    """Return torques (n,) divided by ``scale`` (n,), the reference torques of ``torque_scale``; 0 for NaN."""
    return np.nan_to_num(torque / scale, posinf=0.0, neginf=0.0)


def link_poses(
    model: RobotModel, q: ArrayLike, links: Sequence[str] | None = None
) -> Array:
    """Return poses (links, 4, 4) of the frames of ``links``, in their order, in the root frame at q (n,).

    By default they are all links of the model, in the order of ``model.link_names``.
    """
    return np.stack(
        [
            model.link_pose(q, link)
            for link in (model.link_names if links is None else links)
        ]
    )


def centre_of_mass(model: RobotModel, q: ArrayLike) -> Array:
    """Return the centre of mass (3,), m, of the moving bodies in the root frame at q (n,); zero without mass."""
    bodies = model.body_parameters
    masses = bodies[:, 0]
    poses = link_poses(model, q, model.moving_links)
    first_moment: Array = (
        np.einsum("kij,kj->i", poses[:, :3, :3], bodies[:, 1:4])
        + masses @ poses[:, :3, 3]
    )
    return first_moment / masses.sum() if masses.sum() > 0.0 else first_moment


def force_scale(model: RobotModel, reach: float) -> float:
    """Return the length of force arrows (m/N): 0.22 ``reach`` (m) for the weight of all moving bodies; 0 without mass.

    The weight is that at standard gravity.
    """
    mass = float(model.body_parameters[:, 0].sum())
    return (
        _WEIGHT_IN_REACHES * reach / (mass * _STANDARD_GRAVITY) if mass > 0.0 else 0.0
    )


def reaction_arrows(model: RobotModel, state: SceneState, reach: float) -> Array:
    """Return start and end points (k, 2, 3), m, in the root frame, of the arrows of the joint forces.

    The k arrows are those of ``model.moving_joints``, in their order. Each begins at the origin of the joint's child
    link and shows the force (N) of parent on child by inverse dynamics at ``state``, times ``force_scale(model,
    reach)``.
    """
    forces = model.joint_reactions(state.q, state.qd, state.qdd)[:, :3]
    poses = link_poses(model, state.q, model.moving_links)
    scale = force_scale(model, reach)
    begin = poses[:, :3, 3]
    return np.stack(
        [begin, begin + scale * np.einsum("kij,kj->ki", poses[:, :3, :3], forces)],
        axis=1,
    )


def short_names(names: Sequence[str]) -> list[str]:
    """Return the names without the prefix and the suffix that all have, in the same order.

    left_elbow_joint and left_wrist_joint give elbow and wrist. Only whole words, which end or begin at an underscore,
    are left out, and no name becomes empty. A single name is not shortened.
    """
    if len(names) < 2:
        return list(names)
    begin = os.path.commonprefix(list(names)).rfind("_") + 1
    rest = [name[begin:] for name in names]
    common = os.path.commonprefix([name[::-1] for name in rest])[::-1]
    suffix = common[common.find("_") :] if "_" in common else ""
    return (
        [name.removesuffix(suffix) for name in rest]
        if all(name != suffix for name in rest)
        else rest
    )


def torque_texts(model: RobotModel, torque: Array) -> list[str]:
    """Return a text for each torque (n,), with one decimal and its unit, N or Nm; a dash if it is not finite."""
    units = [
        "N" if name in model.prismatic_joints else "Nm" for name in model.joint_names
    ]
    return [
        f"{fixed(value, 1)} {unit}" if np.isfinite(value) else "–"
        for value, unit in zip(torque, units, strict=True)
    ]


def fixed(value: float, digits: int) -> str:
    """Return a number as text with ``digits`` decimals, without negative zero."""
    return f"{round(float(value), digits) + 0.0:.{digits}f}"


class Scene:
    """Nodes of viser's scene for one robot: the arm, the desired arm, torques, joint forces and the centre of mass.

    The nodes are added to ``server`` below a node named ``root``, at ``offset`` (3,), m, from the origin of the scene.
    ``shapes`` are the surfaces of the links, from ``robot_shapes``; ``reach`` (m) scales the arrows. The robot has no
    valid pose before the first ``show``. ``layers`` has a parent node for each key of ``LAYERS``, such as "arm" and
    "torques"; its ``visible`` shows or hides the layer.
    """

    def __init__(
        self,
        server: ViserServer,
        model: RobotModel,
        shapes: Sequence[geometry.Shape],
        reach: float,
        root: str = "/robot",
        offset: ArrayLike = (0.0, 0.0, 0.0),
    ) -> None:
        """Add all nodes. The class describes the arguments."""
        self._server = server
        self._model = model
        self._reach = reach
        self._root = root
        scene = server.scene
        scene.add_frame(root, show_axes=False, position=np.asarray(offset))
        self.layers = {
            name: scene.add_frame(f"{root}/{name}", show_axes=False, visible=shown)
            for name, (_, shown) in LAYERS.items()
        }
        self._links = self._frames("arm")
        self._ghost = scene.add_frame(f"{root}/ghost/desired", show_axes=False)
        self._ghost_links = self._frames("ghost/desired")
        self._surfaces = [
            (self._mesh("arm", k, shape), shape.colour)
            for k, shape in enumerate(shapes)
        ]
        for k, shape in enumerate(shapes):
            if model.link_frames[shape.link].body != BASE:
                self._mesh(
                    "ghost/desired",
                    k,
                    geometry.shrunk(shape, _SHRUNK * reach),
                    ghost=True,
                )
        self._inertias = self._frames("inertias")
        for k, shape in enumerate(geometry.inertia_boxes(model)):
            self._mesh("inertias", k, shape)
        self._add_torques()
        self._forces = scene.add_arrows(
            f"{root}/reactions/forces",
            np.zeros((len(model.moving_joints), 2, 3), dtype=np.float32),
            FORCE,
            shaft_radius=0.006 * reach,
            head_radius=0.016 * reach,
            head_length=0.04 * reach,
        )
        self._sphere = scene.add_icosphere(
            f"{root}/centre/sphere", radius=0.02 * reach, color=CENTRE
        )

    def _frames(self, layer: str) -> list[FrameHandle]:
        add = self._server.scene.add_frame
        return [
            add(f"{self._root}/{layer}/{i}", show_axes=False)
            for i in range(len(self._model.link_names))
        ]

    def _mesh(
        self, layer: str, k: int, shape: geometry.Shape, ghost: bool = False
    ) -> MeshHandle:
        return self._server.scene.add_mesh_simple(
            f"{self._root}/{layer}/{self._model.link_names.index(shape.link)}/shape{k}",
            shape.vertices.astype(np.float32),
            shape.faces.astype(np.uint32),
            color=GHOST if ghost else shape.colour,
            opacity=0.35 if ghost else 0.6 if layer == "inertias" else None,
            cast_shadow=not ghost,
            side="double" if layer == "arm" else "front",
        )

    def _add_torques(self) -> None:
        """Add an arrow and a label for each independent joint that moves a body, and a ring if it is revolute."""
        model = self._model
        scene = self._server.scene
        root = self._root
        self._driven = [
            j for j, name in enumerate(model.joint_names) if name in model.moving_joints
        ]
        bodies = [model.moving_joints.index(model.joint_names[j]) for j in self._driven]
        self._carriers = [
            model.link_names.index(model.moving_links[body]) for body in bodies
        ]
        self._in_link = geometry.body_frames(model)[bodies]
        self._prismatic = [
            model.joint_names[j] in model.prismatic_joints for j in self._driven
        ]
        faces = geometry.FACES.astype(np.uint32)
        nothing = geometry.turning_arrow(0.0, 1.0, 1.0).astype(np.float32)
        self._arrows = [
            scene.add_mesh_simple(
                f"{root}/torques/{j}", nothing, faces, side="double", cast_shadow=False
            )
            for j in self._driven
        ]
        circle = geometry.ring(
            _ARC_RADIUS * self._reach, 0.2 * _SHAFT_RADIUS * self._reach
        ).astype(np.float32)
        self._rings = [
            scene.add_mesh_simple(
                f"{root}/torques/ring{j}",
                circle,
                faces,
                color=_RING_COLOUR,
                opacity=0.35,
                cast_shadow=False,
            )
            for j, prismatic in zip(self._driven, self._prismatic, strict=True)
            if not prismatic
        ]
        self._labels = [
            scene.add_label(
                f"{root}/labels/{j}", "", font_screen_scale=0.9, anchor="center-left"
            )
            for j in self._driven
        ]

    def show(self, state: SceneState, shares: Array) -> None:
        """Update all nodes to ``state`` in one atomic update.

        ``shares`` (n,) are the torques of the state divided by those of whole arrows, as ``torque_shares`` returns.
        Without desired position the desired arm is hidden.
        """
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
            self._show_torques(
                state.torque, shares, links[self._carriers] @ self._in_link
            )
            self._forces.points = reactions.astype(np.float32)
            self._sphere.position = centre

    def _show_torques(self, torque: Array, shares: Array, poses: Array) -> None:
        radius = _ARC_RADIUS * self._reach
        thickness = _SHAFT_RADIUS * self._reach
        names = short_names(self._model.joint_names)
        texts = torque_texts(self._model, torque)
        _place(self._rings, poses[np.logical_not(self._prismatic)])
        _place(self._arrows, poses)
        joints = zip(
            self._arrows,
            self._labels,
            self._driven,
            self._prismatic,
            poses,
            strict=True,
        )
        for arrow, label, j, prismatic, pose in joints:
            share = float(shares[j])
            if prismatic:
                vertices = geometry.straight_arrow(
                    share, STROKE * self._reach, thickness
                )
            else:
                vertices = geometry.turning_arrow(share, radius, thickness)
            arrow.vertices = vertices.astype(np.float32)
            arrow.color = geometry.colour_of_share(share)
            label.position = pose[:3, 3] + 1.2 * radius * pose[:3, 0]
            label.text = f"{names[j]}  {texts[j]}"

    def stale(self, stale: bool) -> None:
        """Show the arm in grey if ``stale``, else in its own colours."""
        for surface, colour in self._surfaces:
            surface.color = _STALE if stale else colour


def quaternions(poses: Array) -> Array:
    """Return the rotations of poses (m, 4, 4) as unit quaternions (m, 4), in the order w, x, y, z."""
    return np.roll(Rotation.from_matrix(poses[:, :3, :3]).as_quat(), 1, axis=1)


def _place(frames: Sequence[SceneNodeHandle], poses: Array) -> None:
    if not len(poses):
        return
    for frame, pose, turn in zip(frames, poses, quaternions(poses), strict=True):
        frame.position = pose[:3, 3]
        frame.wxyz = turn
