"""What each link looks like: the shapes that its URDF gives, else ones drawn from the model."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.formulations.link_tree import BASE, LinkTree
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.view.moment import Colour

GREY: Colour = (200, 203, 208)
_DARK: Colour = (89, 94, 102)
_LINK, _JOINT = 0.025, 0.045  # radii by the arm's reach
_NAMED = 3  # files that a note names


@dataclass(frozen=True, eq=False)
class Shape:
    """A surface of one colour on a link: vertices (v, 3) in the link's frame, m, and triangles (f, 3) of them."""

    link: str
    vertices: Array
    faces: NDArray[np.int64]
    colour: Colour


def shrunk(shape: Shape, by: float) -> Shape:
    """Return a shape whose surface lies deeper by so much (m), so that it does not flicker through its original."""
    corners = shape.vertices[shape.faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals = np.zeros_like(shape.vertices)
    for k in range(3):
        np.add.at(normals, shape.faces[:, k], across)
    lengths = np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    return Shape(shape.link, shape.vertices - by * normals / lengths, shape.faces, shape.colour)


def require_viewer() -> None:
    """Raise RobotDynamicsError, with the cure, where viser or yourdfpy are not installed."""
    try:
        import_module("viser")
        import_module("yourdfpy")
    except ImportError as problem:
        raise RobotDynamicsError(
            f"the view needs viser and yourdfpy, but {problem.name} is not there. "
            "Cure: pip install 'robot_dynamics_ros[view]', or pip install viser yourdfpy"
        ) from None


def robot_shapes(model: RobotModel, text: str | bytes, folder: Path, reach: float) -> tuple[list[Shape], list[str]]:
    """Return what to draw, and notes for the user.

    Shapes and meshes are those of the URDF's visuals. Meshes are looked for beside the URDF, which lies in ``folder``,
    and above it, and in the share folders of AMENT_PREFIX_PATH; nothing is fetched. Bodies for which nothing is found
    are drawn from the model, as bars between their joints.
    """
    shapes, missing, notes = [], [], []
    try:
        for link, visual, colour in _visuals(text):
            found = _surfaces(visual.geometry, folder, colour)
            if found is None:
                missing.append(visual.geometry.mesh.filename)
                continue
            origin = np.eye(4) if visual.origin is None else visual.origin
            shapes += [_shape(link, mesh.apply_transform(origin), own) for mesh, own in found]
    except Exception as problem:  # whatever a parser of vendor tags stumbles over, the model has read the file
        notes.append(f"the URDF's visuals cannot be read ({problem}); the arm is drawn from its model")
        shapes = []
    if missing:
        files = sorted(set(missing))
        named = ", ".join(files[:_NAMED]) + (" and others" if len(files) > _NAMED else "")
        notes.append(f"{len(files)} meshes cannot be read ({named}); those links are drawn from the model")
    shapes = [shape for shape in shapes if shape.link in model.packed.frames and np.isfinite(shape.vertices).all()]
    return _merged(shapes) + list(_bars(model, {shape.link for shape in shapes}, reach)), notes


def inertia_boxes(model: RobotModel) -> list[Shape]:
    """Return for each body with mass the box of even density that has its mass and inertia.

    Sides from the principal moments, a^2 = 6 (I_b + I_c - I_a) / m; one that no body can have counts as 0.
    """
    import trimesh

    shapes = []
    tree = LinkTree.of(model)
    for link, name in zip(tree.links, model.packed.body_links, strict=True):
        if link.mass <= 0.0:
            continue
        moments, axes = np.linalg.eigh(link.inertia)
        sides = np.sqrt(np.maximum(6.0 / link.mass * (moments.sum() - 2.0 * moments), 1e-8))
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = axes * np.sign(np.linalg.det(axes)), link.com
        box = trimesh.creation.box(sides, transform=_body_in_link(model, name) @ pose)
        shapes.append(_shape(name, box, (106, 93, 158)))
    return shapes


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


def _surfaces(geometry: Any, folder: Path, colour: Colour | None) -> list[tuple[Any, Colour]] | None:
    """Return meshes and their colours, the material's where it has one; None where the file cannot be read."""
    import trimesh

    if geometry.mesh is None:
        if geometry.box is not None:
            mesh = trimesh.creation.box(geometry.box.size)
        elif geometry.sphere is not None:
            mesh = trimesh.creation.icosphere(3, geometry.sphere.radius)
        else:
            mesh = trimesh.creation.cylinder(geometry.cylinder.radius, geometry.cylinder.length, sections=48)
        return [(mesh, colour or GREY)]
    path = _find(geometry.mesh.filename, folder)
    if path is None:
        return None
    try:
        meshes = trimesh.load_scene(path).dump()
    except Exception:  # each format has a reader with errors of its own
        return None
    scale = np.ones(3) if geometry.mesh.scale is None else np.broadcast_to(geometry.mesh.scale, 3)
    surfaces = [mesh for mesh in meshes if isinstance(mesh, trimesh.Trimesh)]
    return [(mesh.apply_transform(np.diag([*scale, 1.0])), colour or _own_colour(mesh)) for mesh in surfaces] or None


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
    """Return the main colour of a mesh file's material; grey where it has none."""
    material = getattr(mesh.visual, "material", None)
    if material is None and mesh.visual.kind is None:
        return GREY
    return _rgb(np.asarray((mesh.visual if material is None else material).main_color, dtype=np.float64))


def _rgb(rgba: Array) -> Colour:
    red, green, blue = (int(np.clip(value, 0, 255)) for value in rgba[:3])
    return red, green, blue


def _shape(link: str, mesh: Any, colour: Colour) -> Shape:
    smooth = mesh.smooth_shaded  # edges stay sharp
    return Shape(link, np.asarray(smooth.vertices, dtype=np.float64), np.asarray(smooth.faces, dtype=np.int64), colour)


def _merged(shapes: list[Shape]) -> list[Shape]:
    """Join the shapes of each link that have one colour: fewer things to send and to move."""
    merged = []
    for link, colour in dict.fromkeys((shape.link, shape.colour) for shape in shapes):
        parts = [shape for shape in shapes if (shape.link, shape.colour) == (link, colour)]
        starts = np.cumsum([0] + [len(part.vertices) for part in parts[:-1]])
        faces = [part.faces + start for part, start in zip(parts, starts, strict=True)]
        merged.append(Shape(link, np.concatenate([p.vertices for p in parts]), np.concatenate(faces), colour))
    return merged


def _bars(model: RobotModel, drawn: set[str], reach: float) -> Iterator[Shape]:
    """Bars from joint to joint, and to the last link or the centre of mass, for bodies that have no shape."""
    import trimesh

    tree = LinkTree.of(model)
    body_of = {link: frame.body for link, frame in model.packed.frames.items()}
    seen = {body_of[link] for link in drawn}
    poses = {link: model.link_pose(np.zeros(model.n), link) for link in model.link_names}
    names = {BASE: model.link_names[0]} | dict(enumerate(model.packed.body_links))
    for body, name in names.items():
        if body in seen or (body == BASE and seen):
            continue
        to_link = np.linalg.inv(poses[name])
        ends = [to_link @ poses[names[k]][:, 3] for k, link in enumerate(tree.links) if link.parent == body]
        ends += [to_link @ poses[link][:, 3] for link, of in body_of.items() if of == body and link != name]
        if body != BASE:
            placed = _body_in_link(model, name)
            if not any(np.linalg.norm(end[:3]) > 0.01 * reach for end in ends):
                ends.append(placed @ [*tree.links[body].com, 1.0])
            hub = trimesh.creation.cylinder(_JOINT * reach, 2.4 * _JOINT * reach, transform=placed, sections=48)
            yield _shape(name, hub, _DARK)
        for end in ends:
            if np.linalg.norm(end[:3]) > 0.01 * reach:
                bar = trimesh.creation.cylinder(_LINK * reach, segment=[np.zeros(3), end[:3]], sections=32)
                yield _shape(name, bar, GREY)


def _body_in_link(model: RobotModel, link: str) -> Array:
    """Pose (4, 4) of the frame whose z axis is the joint's, as the kernels have it, in the frame of the link."""
    frame = model.packed.frames[link]
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = frame.rotation.T, -frame.rotation.T @ frame.position
    return pose
