"""Scene in the browser: viser's scene, and the camera that frames the robot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics_ros.formulations.link_tree import BASE
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.view.moment import (
    FACES,
    Colour,
    Drawing,
    Moment,
    colour_of_share,
    link_poses,
    quaternions,
    reaction_arrows,
    ring,
    straight_arrow,
    turning_arrow,
)
from robot_dynamics_ros.view.panel import short_names, torque_texts
from robot_dynamics_ros.view.shapes import Shape, inertia_boxes, shrunk

if TYPE_CHECKING:
    from viser import FrameHandle, MeshHandle, SceneNodeHandle, ViserServer


FIELD_OF_VIEW = np.radians(35.0)  # from top to bottom
_FROM = np.array([0.78, -1.0, 0.42])
_MARGIN = 1.1


def corners(model: RobotModel, shapes: Sequence[Shape], poses: Iterable[Array], reach: float) -> Array:
    """Corners (m, 3), root frame, of the boxes around each shape, and arrows' ends, at each of some positions (n,)."""
    index = {link: i for i, link in enumerate(model.link_names)}
    boxes = []
    for shape in shapes:
        low, high = shape.vertices.min(axis=0), shape.vertices.max(axis=0)
        box = np.stack(np.meshgrid(*zip(low, high, strict=True), indexing="ij"), axis=-1).reshape(-1, 3)
        boxes.append((index[shape.link], box))
    found = [np.zeros((1, 3))]
    for q in poses:
        links = link_poses(model, q)
        rest = Moment(q, *np.zeros((3, model.n)))
        found.append(reaction_arrows(model, rest, reach)[:, 1])
        found += [box @ links[i, :3, :3].T + links[i, :3, 3] for i, box in boxes]
    return np.concatenate(found)


def viewpoint(points: Array) -> tuple[Array, Array]:
    """Return where to stand (3,) and what to look at (3,), so that the points (m, 3) fill the height of the picture."""
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


_GHOST: Colour = (30, 136, 229)
_FORCE: Colour = (120, 94, 190)
_CENTRE: Colour = (31, 41, 51)
_RING_COLOUR: Colour = (120, 126, 135)
_STALE: Colour = (150, 150, 150)
_SHRUNK = 0.002  # of the ghost, by the arm's reach
_RING, _TUBE = 0.11, 0.008  # of the torque arrows, by the arm's reach
LAYERS = {
    "ghost": ("desired arm", True),
    "torques": ("joint torques", True),
    "labels": ("labels", False),
    "reactions": ("joint forces", True),
    "centre": ("centre of mass", True),
    "inertias": ("inertia boxes", False),
}
"""What can be shown and hidden: what it is called, and whether it is there at first."""


class Stage:
    """The arm, its ghost, torques, joint forces and centre of mass, as nodes of viser's scene."""

    def __init__(
        self, server: ViserServer, model: RobotModel, shapes: Sequence[Shape], reach: float, ground: float
    ) -> None:
        """Put everything there; ``reach`` (m) says how large arrows and ground are, ``ground`` (m) how high that is."""
        self._server, self._model, self._reach = server, model, reach
        scene = server.scene
        self._layers = {
            name: scene.add_frame(f"/{name}", show_axes=False, visible=shown) for name, (_, shown) in LAYERS.items()
        }
        scene.add_frame("/arm", show_axes=False)
        self._links = self._frames("/arm")
        self._ghost = scene.add_frame("/ghost/desired", show_axes=False)
        self._ghosts = self._frames("/ghost/desired")
        self._surfaces = [(self._mesh("/arm", k, shape), shape.colour) for k, shape in enumerate(shapes)]
        for k, shape in enumerate(shapes):
            if model.packed.frames[shape.link].body != BASE:
                self._mesh("/ghost/desired", k, shrunk(shape, _SHRUNK * reach), ghost=True)
        self._boxes = self._frames("/inertias")
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
        self._add_ground(4.0 * reach, ground)

    def _add_ground(self, size: float, height: float) -> None:
        self._server.scene.add_grid(
            "/ground",
            size,
            size,
            cell_size=0.1,
            cell_color=(228, 230, 233),
            section_size=0.5,
            section_color=(196, 200, 206),
            fade_distance=3.0 * size,
            shadow_opacity=0.2,
            position=(0.0, 0.0, height),
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
        """Add an arrow and a label for each joint that is driven by itself, where it is."""
        model, scene = self._model, self._server.scene
        self._driven = [j for j, name in enumerate(model.joint_names) if name in model.moving_joints]
        bodies = [model.moving_joints.index(model.joint_names[j]) for j in self._driven]
        self._carriers = [model.link_names.index(model.packed.body_links[body]) for body in bodies]
        turns = model.packed.link_rotations.reshape(-1, 3, 3)[bodies].transpose(0, 2, 1)
        poses = np.tile(np.eye(4), (len(bodies), 1, 1))
        poses[:, :3, :3] = turns
        self._in_link = poses
        nothing = turning_arrow(0.0, 1.0, 1.0).astype(np.float32)
        add = scene.add_mesh_simple
        self._arrows = [
            add(f"/torques/{j}", nothing, FACES.astype(np.uint32), side="double", cast_shadow=False)
            for j in self._driven
        ]
        self._sliding = [model.joint_names[j] in model.prismatic_joints for j in self._driven]
        circle = ring(_RING * self._reach, 0.2 * _TUBE * self._reach).astype(np.float32)
        self._rings = [
            add(
                f"/torques/ring{j}",
                circle,
                FACES.astype(np.uint32),
                color=_RING_COLOUR,
                opacity=0.35,
                cast_shadow=False,
            )
            for j, sliding in zip(self._driven, self._sliding, strict=True)
            if not sliding
        ]
        self._labels = [
            scene.add_label(f"/labels/{j}", "", font_screen_scale=0.9, anchor="center-left") for j in self._driven
        ]

    def show_layer(self, name: str, shown: bool) -> None:
        """Show or hide one of ``LAYERS``."""
        self._layers[name].visible = shown

    def show(self, moment: Moment, drawing: Drawing) -> None:
        """Move everything to a moment; a browser sees all of it at once."""
        with self._server.atomic():
            for frames in (self._links, self._boxes):
                _place(frames, drawing.links)
            if drawing.ghost is not None:
                _place(self._ghosts, drawing.ghost)
            self._ghost.visible = drawing.ghost is not None
            self._show_torques(moment, drawing)
            self._forces.points = drawing.reactions.astype(np.float32)
            self._sphere.position = drawing.centre_of_mass

    def _show_torques(self, moment: Moment, drawing: Drawing) -> None:
        radius, thickness = _RING * self._reach, _TUBE * self._reach
        poses = drawing.links[self._carriers] @ self._in_link
        names, texts = short_names(self._model.joint_names), torque_texts(self._model, moment.torque)
        _place(self._rings, poses[np.logical_not(self._sliding)])
        _place(self._arrows, poses)
        joints = zip(self._arrows, self._labels, self._driven, self._sliding, poses, strict=True)
        for arrow, label, j, sliding, pose in joints:
            share = float(drawing.shares[j])
            if sliding:
                vertices = straight_arrow(share, 3.0 * radius, thickness)
            else:
                vertices = turning_arrow(share, radius, thickness)
            arrow.vertices = vertices.astype(np.float32)
            arrow.color = colour_of_share(share)
            label.position = pose[:3, 3] + 1.2 * radius * pose[:3, 0]
            label.text = f"{names[j]}  {texts[j]}"

    def stale(self, stale: bool) -> None:
        """Show the arm grey, or as it is again."""
        for surface, colour in self._surfaces:
            surface.color = _STALE if stale else colour


def _place(frames: Sequence[SceneNodeHandle], poses: Array) -> None:
    if not len(poses):
        return
    for frame, pose, turn in zip(frames, poses, quaternions(poses), strict=True):
        frame.position, frame.wxyz = pose[:3, 3], turn
