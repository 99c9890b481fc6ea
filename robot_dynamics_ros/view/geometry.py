"""Geometry of the view: arrows of torques, the URDF's shapes, bars between joints, and boxes of inertia."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.model.link_tree import BASE, LinkTree

Colour = tuple[int, int, int]

_ALONG, _AROUND = 28, 12
_RINGS = _ALONG + 3  # with the closed begin, the head's rim and its tip
_HEAD_WIDTH, _HEAD_LENGTH = 2.4, 4.5  # in radii of the tube
_WHOLE_TURN = np.radians(300.0)  # of the arrow at the whole scale
_MOST = 1.15  # shares beyond are drawn as this one
_LEAST = 0.004  # shares below are not drawn

_RAMP = (0.0, 0.5, 0.8, 1.0)
_RAMP_COLOURS = ((27, 127, 156), (63, 145, 66), (240, 160, 30), (214, 49, 49))
GREY: Colour = (200, 203, 208)
_DARK: Colour = (89, 94, 102)
_BOX_COLOUR: Colour = (106, 93, 158)
_LINK, _JOINT = 0.025, 0.045  # radii by the arm's reach
_NAMED = 3  # files that a note names


def colour_of_share(share: float) -> Colour:
    """Return the colour of a torque by its share of the limit, of either sign: blue, green at half, red from 1 on."""
    channels = zip(*_RAMP_COLOURS, strict=True)
    red, green, blue = (round(float(np.interp(abs(share), _RAMP, channel))) for channel in channels)
    return red, green, blue


def turning_arrow(share: float, radius: float, thickness: float) -> Array:
    """Vertices (v, 3) of an arrow around the z axis, from x on, in the sense of the share's sign; 1 is 300 degrees.

    ``radius`` (m) is that of the arc, ``thickness`` (m) the radius of the tube. Faces are ``FACES``.
    """
    return _arc(radius, *_profile(share, _WHOLE_TURN, _HEAD_LENGTH * thickness / radius, thickness))


def ring(radius: float, thickness: float) -> Array:
    """Vertices (v, 3) of the circle on which a turning arrow lies; arguments and faces as there."""
    return _arc(radius, np.linspace(0.0, 2.0 * np.pi, _RINGS), np.full(_RINGS, thickness))


def straight_arrow(share: float, length: float, thickness: float) -> Array:
    """Vertices (v, 3) of an arrow along the z axis, in the sense of the share's sign; 1 is ``length`` (m)."""
    places, radii = _profile(share, length, _HEAD_LENGTH * thickness, thickness)
    path = np.zeros((_RINGS, 3))
    path[:, 2] = places
    return _tube(path, np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]), radii)


def _profile(share: float, whole: float, head: float, thickness: float) -> tuple[Array, Array]:
    """Return places (rings,) along an arrow of length share * whole, and the tube's radius at each.

    The first ring closes the tube; the head's rim is at its neck.
    """
    share = float(np.clip(share, -_MOST, _MOST))
    share = share if abs(share) >= _LEAST else 0.0
    length = abs(share) * whole
    neck = length - min(head, length)
    places = np.concatenate([[0.0], np.linspace(0.0, neck, _ALONG), [neck, length]])
    radii = np.full(_RINGS, thickness if share else 0.0)
    radii[[0, -1]] = 0.0
    radii[-2] *= _HEAD_WIDTH
    return places * np.sign(share), radii


def _arc(radius: float, angles: Array, radii: Array) -> Array:
    outward = np.stack([np.cos(angles), np.sin(angles), np.zeros_like(angles)], axis=1)
    return _tube(radius * outward, outward, np.array([0.0, 0.0, 1.0]), radii)


def _tube(path: Array, first: Array, second: Array, radii: Array) -> Array:
    """Rings around a path (rings, 3), each in the plane of two unit vectors, (3,) or (rings, 3)."""
    turn = np.linspace(0.0, 2.0 * np.pi, _AROUND, endpoint=False)[:, None]
    circle = np.cos(turn) * first[..., None, :] + np.sin(turn) * second[..., None, :]
    return (path[:, None, :] + radii[:, None, None] * circle).reshape(-1, 3)


def _faces() -> NDArray[np.int64]:
    ring, step = np.meshgrid(np.arange(_RINGS - 1), np.arange(_AROUND), indexing="ij")
    a = ring * _AROUND + step
    b = ring * _AROUND + (step + 1) % _AROUND
    return np.stack([a, b, b + _AROUND, a, b + _AROUND, a + _AROUND], axis=-1).reshape(-1, 3)


FACES = _faces()
"""Triangles (f, 3) of every arrow here, as indices of its vertices."""


@dataclass(frozen=True, eq=False)
class Shape:
    """A surface of one colour on a link: vertices (v, 3) in the link's frame, m, and triangles (f, 3) of them."""

    link: str
    vertices: Array
    faces: NDArray[np.int64]
    colour: Colour


def shrunk(shape: Shape, by: float) -> Shape:
    """Return a shape whose surface lies deeper by so much (m), so that it does not flicker through its original."""
    from trimesh import Trimesh

    normals = Trimesh(shape.vertices, shape.faces, process=False).vertex_normals
    return replace(shape, vertices=shape.vertices - by * normals)


def require_viewer() -> None:
    """Raise RobotDynamicsError, with the cure, where viser or yourdfpy are not installed."""
    try:
        import_module("viser")
        import_module("yourdfpy")
    except ImportError as error:
        raise RobotDynamicsError(
            f"the view needs viser and yourdfpy, but {error.name} is not there. "
            "Cure: pip install 'robot_dynamics_ros[view]', or pip install viser yourdfpy"
        ) from None


def robot_shapes(model: RobotModel, text: str | bytes, folder: Path, reach: float) -> tuple[list[Shape], list[str]]:
    """Return the shapes of a robot by its URDF's ``text``, and notes for the user; ``reach`` (m) as of ``reach_of``.

    Shapes and meshes are those of the URDF's visuals. Meshes are looked for beside the URDF, which lies in ``folder``,
    and above it, and in the share folders of AMENT_PREFIX_PATH; nothing is fetched. Bodies for which nothing is found
    are drawn from the model, as bars between their joints.
    """
    shapes: list[Shape] = []
    notes = []
    missing: set[str] = set()
    try:
        for link, visual, colour in _visuals(text):
            meshes = _meshes(visual.geometry, folder)
            if not meshes:
                missing.add(visual.geometry.mesh.filename)
            for mesh in meshes:
                placed = mesh if visual.origin is None else mesh.apply_transform(visual.origin)
                shapes.append(_shape(link, placed, colour or _own_colour(mesh)))
    except Exception as error:  # whatever a parser of vendor tags stumbles over, the model has read the file
        notes.append(f"the URDF's visuals cannot be read ({error}); the arm is drawn from its model")
        shapes = []
    if missing:
        named = ", ".join(sorted(missing)[:_NAMED]) + (" and others" if len(missing) > _NAMED else "")
        notes.append(f"{len(missing)} meshes cannot be read ({named}); those links are drawn from the model")
    frames = model.link_frames
    shapes = [shape for shape in shapes if shape.link in frames and np.isfinite(shape.vertices).all()]
    return [*shapes, *_bars(model, {shape.link for shape in shapes}, reach)], notes


def _visuals(text: str | bytes) -> Iterator[tuple[str, Any, Colour | None]]:
    """Yield link, visual and the colour of its material, where that has one."""
    from yourdfpy import URDF  # type: ignore[import-untyped]  # takes a moment to load

    data = text.encode() if isinstance(text, str) else text
    robot = URDF.load(BytesIO(data), build_scene_graph=False, load_meshes=False).robot
    materials = {material.name: material for material in robot.materials}
    for link in robot.links:
        for visual in link.visuals:
            material = visual.material
            if material is not None and material.color is None:
                material = materials.get(material.name)
            has_colour = material is not None and material.color is not None
            yield link.name, visual, _rgb(255.0 * material.color.rgba) if has_colour else None


def _meshes(geometry: Any, folder: Path) -> list[Any]:
    """Return the meshes of a visual; none where its file cannot be read."""
    import trimesh

    if geometry.mesh is None:
        if geometry.box is not None:
            return [trimesh.creation.box(geometry.box.size)]
        if geometry.sphere is not None:
            return [trimesh.creation.icosphere(3, geometry.sphere.radius)]
        return [trimesh.creation.cylinder(geometry.cylinder.radius, geometry.cylinder.length, sections=48)]
    path = _find(geometry.mesh.filename, folder)
    if path is None:
        return []
    try:
        meshes = trimesh.load_scene(path).dump()
    except Exception:  # each format has a reader with errors of its own
        return []
    scale = np.ones(3) if geometry.mesh.scale is None else np.broadcast_to(geometry.mesh.scale, 3)
    return [mesh.apply_transform(np.diag([*scale, 1.0])) for mesh in meshes if isinstance(mesh, trimesh.Trimesh)]


def _find(name: str, folder: Path) -> Path | None:
    """Return the file that a URDF names, where it is on this machine."""
    scheme, separator, rest = name.partition("://")
    if not separator:
        candidates = [folder / name]
    elif scheme == "file":
        candidates = [Path(rest)]
    elif scheme == "package":
        inside = rest.partition("/")[2]
        prefixes = filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep))
        candidates = [Path(prefix) / "share" / rest for prefix in prefixes]
        candidates += [above / part for above in (folder, *folder.parents) for part in (rest, inside)]
    else:
        candidates = []
    return next((path for path in candidates if path.is_file()), None)


def _own_colour(mesh: Any) -> Colour:
    """Return the main colour of a mesh's material; grey where it has none."""
    material = getattr(mesh.visual, "material", None)
    if material is None and mesh.visual.kind is None:
        return GREY
    return _rgb((mesh.visual if material is None else material).main_color)


def _rgb(rgba: NDArray[Any]) -> Colour:
    red, green, blue = (int(np.clip(value, 0, 255)) for value in rgba[:3])
    return red, green, blue


def _shape(link: str, mesh: Any, colour: Colour) -> Shape:
    smooth = mesh.smooth_shaded  # edges stay sharp
    return Shape(link, np.asarray(smooth.vertices, dtype=np.float64), np.asarray(smooth.faces, dtype=np.int64), colour)


def _bars(model: RobotModel, drawn: set[str], reach: float) -> Iterator[Shape]:
    """Bars from joint to joint, and to the last link or the centre of mass, for bodies that have no shape."""
    import trimesh

    tree, frames, axes = LinkTree.of(model), model.link_frames, body_frames(model)
    seen = {frames[link].body for link in drawn}
    poses = {link: model.link_pose(np.zeros(model.n), link) for link in model.link_names}
    names = {BASE: model.link_names[0]} | dict(enumerate(model.moving_links))
    for body, name in names.items():
        if body in seen or (body == BASE and seen):
            continue
        to_link = np.linalg.inv(poses[name])
        ends = [to_link @ poses[names[k]][:, 3] for k, link in enumerate(tree.links) if link.parent == body]
        ends += [to_link @ poses[link][:, 3] for link in frames if frames[link].body == body and link != name]
        far = [end[:3] for end in ends if np.linalg.norm(end[:3]) > 0.01 * reach]
        if body != BASE:
            hub = trimesh.creation.cylinder(_JOINT * reach, 2.4 * _JOINT * reach, transform=axes[body], sections=48)
            yield _shape(name, hub, _DARK)
            centre = (axes[body] @ [*tree.links[body].com, 1.0])[:3]
            if not far and np.linalg.norm(centre) > 0.01 * reach:
                far = [centre]
        for end in far:
            bar = trimesh.creation.cylinder(_LINK * reach, segment=[np.zeros(3), end], sections=32)
            yield _shape(name, bar, GREY)


def inertia_boxes(model: RobotModel) -> list[Shape]:
    """Return for each body with mass the box of even density that has its mass and inertia.

    Sides from the principal moments, a^2 = 6 (I_b + I_c - I_a) / m; one that no body can have counts as 0.
    """
    import trimesh

    shapes = []
    for link, name, frame in zip(LinkTree.of(model).links, model.moving_links, body_frames(model), strict=True):
        if link.mass <= 0.0:
            continue
        moments, axes = np.linalg.eigh(link.inertia)
        sides = np.sqrt(np.maximum(6.0 / link.mass * (moments.sum() - 2.0 * moments), 1e-8))
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = axes * np.sign(np.linalg.det(axes)), link.com
        shapes.append(_shape(name, trimesh.creation.box(sides, transform=frame @ pose), _BOX_COLOUR))
    return shapes


def body_frames(model: RobotModel) -> Array:
    """Poses (bodies, 4, 4) of the kernels' body frames, whose z axis is the joint's, in the frames of the links."""
    poses = np.tile(np.eye(4), (len(model.moving_joints), 1, 1))
    poses[:, :3, :3] = [model.link_frames[link].rotation.T for link in model.moving_links]
    return poses
