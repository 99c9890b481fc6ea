"""Geometry of the view: torque arrows, visual shapes of the URDF, bars between joints, and boxes of equal inertia.

Vertices are in m. ``FACES`` has the triangles of all arrows and rings, as vertex indices (f, 3). A share is a joint
torque divided by the torque that corresponds to a whole arrow, usually the effort limit; its sign is that of the
torque. Shares beyond +-1.15 are drawn as +-1.15, and those below 0.004 not at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.base.errors import RobotDynamicsError, RobotModelError
from robot_dynamics_ros.dynamics.description.urdf import (
    UrdfDocument,
    numbers,
    placement,
)
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.link_tree import BASE, LinkTree

Colour = tuple[int, int, int]

_ALONG = 28
_AROUND = 12
_RINGS = _ALONG + 3  # with the closed start, the rim of the arrowhead and its point
_HEAD_WIDTH = 2.4  # in radii of the shaft
_HEAD_LENGTH = 4.5  # in radii of the shaft
_WHOLE_TURN = np.radians(300.0)  # angle of an arrow with share 1
_MOST = 1.15  # larger shares are drawn with this one
_LEAST = 0.004  # smaller shares are not drawn

_RAMP = (0.0, 0.5, 0.8, 1.0)
_RAMP_COLOURS = ((27, 127, 156), (63, 145, 66), (240, 160, 30), (214, 49, 49))
GREY: Colour = (200, 203, 208)
_DARK: Colour = (89, 94, 102)
BOX_COLOUR: Colour = (106, 93, 158)
# Radii of bars relative to the reach.
_LINK = 0.025
_JOINT = 0.045
_NAMED = 3  # maximum number of files in a note


def colour_of_share(share: float) -> Colour:
    """Return the RGB colour (0 to 255) of a share: blue at 0, green at +-0.5, orange at +-0.8, red from +-1 on."""
    channels = zip(*_RAMP_COLOURS, strict=True)
    red, green, blue = (
        round(float(np.interp(abs(share), _RAMP, channel))) for channel in channels
    )
    return red, green, blue


def turning_arrow(share: float, radius: float, thickness: float) -> Array:
    """Return vertices (v, 3) of an arc-shaped arrow around the z axis, from the x axis to ``share`` times 300 degrees.

    ``radius`` (m) is the radius of the arc around the origin, ``thickness`` (m) that of the shaft. A positive share
    turns counterclockwise about z. The triangles are ``FACES``.
    """
    return _arc(
        radius,
        *_profile(share, _WHOLE_TURN, _HEAD_LENGTH * thickness / radius, thickness),
    )


def ring(radius: float, thickness: float) -> Array:
    """Return vertices (v, 3) of a ring around the z axis, with its centre at the origin; the triangles are ``FACES``.

    ``radius`` (m) is the radius of the circle, ``thickness`` (m) that of the tube.
    """
    return _arc(
        radius, np.linspace(0.0, 2.0 * np.pi, _RINGS), np.full(_RINGS, thickness)
    )


def straight_arrow(share: float, length: float, thickness: float) -> Array:
    """Return vertices (v, 3) of an arrow along the z axis from the origin, ``share`` times ``length`` (m) long.

    ``thickness`` (m) is the radius of the shaft. A negative share points along -z. The triangles are ``FACES``.
    """
    places, radii = _profile(share, length, _HEAD_LENGTH * thickness, thickness)
    path = np.zeros((_RINGS, 3))
    path[:, 2] = places
    return _rings(path, np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]), radii)


def _profile(
    share: float, whole: float, head: float, thickness: float
) -> tuple[Array, Array]:
    """Return positions (rings,) along an arrow of length share * whole, and the radius at each.

    The first ring closes the shaft; the rim of the head is at the end of the shaft.
    """
    share = float(np.clip(share, -_MOST, _MOST))
    share = share if abs(share) >= _LEAST else 0.0
    length = abs(share) * whole
    neck = length - min(head, length)
    places = np.concatenate([[0.0], np.linspace(0.0, neck, _ALONG), [neck, length]])
    # a short arrow is a small head, not a disc
    radii = np.full(_RINGS, thickness * min(1.0, length / head))
    radii[[0, -1]] = 0.0
    radii[-2] *= _HEAD_WIDTH
    return places * np.sign(share), radii


def _arc(radius: float, angles: Array, radii: Array) -> Array:
    outward = np.stack([np.cos(angles), np.sin(angles), np.zeros_like(angles)], axis=1)
    return _rings(radius * outward, outward, np.array([0.0, 0.0, 1.0]), radii)


def _rings(path: Array, first: Array, second: Array, radii: Array) -> Array:
    """Return rings around a path (rings, 3), each in the plane of two unit vectors, (3,) or (rings, 3)."""
    turn = np.linspace(0.0, 2.0 * np.pi, _AROUND, endpoint=False)[:, None]
    circle = np.cos(turn) * first[..., None, :] + np.sin(turn) * second[..., None, :]
    return (path[:, None, :] + radii[:, None, None] * circle).reshape(-1, 3)


def _faces() -> NDArray[np.int64]:
    ring, step = np.meshgrid(np.arange(_RINGS - 1), np.arange(_AROUND), indexing="ij")
    a = ring * _AROUND + step
    b = ring * _AROUND + (step + 1) % _AROUND
    return np.stack([a, b, b + _AROUND, a, b + _AROUND, a + _AROUND], axis=-1).reshape(
        -1, 3
    )


FACES = _faces()
"""Triangles (f, 3) of all arrows and rings, as vertex indices."""


@dataclass(frozen=True, eq=False)
class Shape:
    """Surface of one colour on a link: vertices (v, 3) in the link frame (m), triangles (f, 3) of vertex indices.

    ``link`` is the name of the link, ``colour`` RGB from 0 to 255.
    """

    link: str
    vertices: Array
    faces: NDArray[np.int64]
    colour: Colour


def shrunk(shape: Shape, by: float) -> Shape:
    """Return a shape whose surface is offset inwards by ``by`` (m), to avoid z-fighting with the original."""
    from trimesh import Trimesh

    normals = Trimesh(shape.vertices, shape.faces, process=False).vertex_normals
    return replace(shape, vertices=shape.vertices - by * normals)


def require_viewer() -> None:
    """Raise RobotDynamicsError if viser or trimesh is not installed."""
    try:
        import_module("viser")
        import_module("trimesh")
    except ImportError as error:
        raise RobotDynamicsError(
            f"the view needs viser and trimesh, but {error.name} is not installed. "
            "Cure: pip install viser 'trimesh[easy]'"
        ) from None


def robot_shapes(
    model: RobotModel, text: str | bytes, folder: Path, reach: float
) -> tuple[list[Shape], list[str]]:
    """Return shapes for the visuals of a URDF, and notes for the user about visuals and meshes that cannot be read.

    ``text`` is the URDF of ``model``. Meshes are searched in ``folder``, which contains the URDF, in the folders above
    it, and in the share folders of AMENT_PREFIX_PATH; nothing is downloaded. Bodies without readable visuals are drawn
    as bars between their joints, of a thickness relative to ``reach`` (m), the largest distance of a link from the
    root. Invalid visuals cause no error.
    """
    shapes: list[Shape] = []
    broken: list[str] = []
    missing: set[str] = set()
    document = UrdfDocument(text, model.name)
    colours = {
        material.get("name"): material.find("color")
        for material in document.root.findall("material")
    }
    for link in document.root.findall("link"):
        name = str(link.get("name"))
        for number, visual in enumerate(link.findall("visual"), start=1):
            try:
                part = document.reduced(visual, f'link "{name}"', f" <visual> {number}")
                shape = _only_shape(part, name)
                pose = np.eye(4)
                pose[:3, :3], pose[:3, 3] = placement(part)
                meshes = _meshes(shape, folder)
                if not meshes:
                    missing.add(str(shape.get("filename")))
                colour = _colour(visual, colours)
                shapes += [
                    _shape(
                        name, mesh.apply_transform(pose), colour or _own_colour(mesh)
                    )
                    for mesh in meshes
                ]
            except (
                Exception
            ) as error:  # trimesh raises various errors; the model has read the file
                broken.append(str(error))
    notes = (
        [f"{len(broken)} visuals cannot be read ({broken[0]}) and are not drawn"]
        if broken
        else []
    )
    if missing:
        named = ", ".join(sorted(missing)[:_NAMED]) + (
            " and others" if len(missing) > _NAMED else ""
        )
        notes.append(
            f"{len(missing)} meshes cannot be read ({named}); those links are drawn from the model"
        )
    frames = model.link_frames
    shapes = [
        shape
        for shape in shapes
        if shape.link in frames and np.isfinite(shape.vertices).all()
    ]
    return [*shapes, *_bars(model, {shape.link for shape in shapes}, reach)], notes


def _only_shape(visual: Element, link: str) -> Element:
    """Return the box, cylinder, sphere, capsule or mesh of a reduced <visual> of ``link``."""
    shapes = visual.findall("geometry/*")
    if len(shapes) != 1:
        raise RobotModelError(
            f'link "{link}" <visual>: {len(shapes)} known shapes in <geometry>. Cure: write one'
        )
    return shapes[0]


def _colour(
    visual: Element, colours: dict[str | None, Element | None]
) -> Colour | None:
    """Return the colour of a <visual>, of its material or of the material of that name in ``colours``, or None."""
    material = visual.find("material")
    if material is None:
        return None
    colour = material.find("color")
    colour = colours.get(material.get("name")) if colour is None else colour
    return (
        None if colour is None else _rgb(255.0 * np.array(numbers(colour, "rgba", "")))
    )


def _meshes(shape: Element, folder: Path) -> list[Any]:
    """Return the meshes of a reduced shape; an empty list if its file cannot be read."""
    import trimesh

    if shape.tag == "box":
        return [trimesh.creation.box(numbers(shape, "size", ""))]
    if shape.tag != "mesh":
        radius, length = (float(shape.get(name, "0")) for name in ("radius", "length"))
        if shape.tag == "sphere":
            return [trimesh.creation.icosphere(3, radius)]
        if shape.tag == "capsule":
            return [trimesh.creation.capsule(length, radius)]
        return [trimesh.creation.cylinder(radius, length, sections=48)]
    path = _find(shape.get("filename", ""), folder)
    if path is None:
        return []
    try:
        meshes = trimesh.load_scene(path).dump()
    except Exception:  # each mesh format has a reader with its own errors
        return []
    scale = numbers(shape, "scale", "1 1 1")
    return [
        mesh.apply_transform(np.diag([*scale, 1.0]))
        for mesh in meshes
        if isinstance(mesh, trimesh.Trimesh)
    ]


def _find(name: str, folder: Path) -> Path | None:
    """Return the path of a mesh file in a URDF; None if it does not exist."""
    scheme, separator, rest = name.partition("://")
    if not separator:
        candidates = [folder / name]
    elif scheme == "file":
        candidates = [Path(rest)]
    elif scheme == "package":
        inside = rest.partition("/")[2]
        prefixes = filter(
            None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
        )
        candidates = [Path(prefix) / "share" / rest for prefix in prefixes]
        candidates += [
            above / part
            for above in (folder, *folder.parents)
            for part in (rest, inside)
        ]
    else:
        candidates = []
    return next((path for path in candidates if path.is_file()), None)


def _own_colour(mesh: Any) -> Colour:
    """Return the main colour of a mesh's material; grey if it has none."""
    material = getattr(mesh.visual, "material", None)
    if material is None and mesh.visual.kind is None:
        return GREY
    return _rgb((mesh.visual if material is None else material).main_color)


def _rgb(rgba: NDArray[Any]) -> Colour:
    red, green, blue = (int(np.clip(value, 0, 255)) for value in rgba[:3])
    return red, green, blue


def _shape(link: str, mesh: Any, colour: Colour) -> Shape:
    import trimesh

    # Edges stay sharp. Only the surface is passed on, because a texture would be copied for each smooth part.
    smooth = trimesh.Trimesh(mesh.vertices, mesh.faces).smooth_shaded
    return Shape(
        link,
        np.asarray(smooth.vertices, dtype=np.float64),
        np.asarray(smooth.faces, dtype=np.int64),
        colour,
    )


def _bars(model: RobotModel, drawn: set[str], reach: float) -> Iterator[Shape]:
    """Yield bars between joints, and to the last link or the centre of mass, for bodies without shapes."""
    import trimesh

    links = LinkTree.of(model).links
    frames = model.link_frames
    seen = {frames[link].body for link in drawn}
    axes = {BASE: np.eye(4)} | dict(enumerate(body_frames(model)))
    names = {BASE: model.link_names[0]} | dict(enumerate(model.moving_links))
    for body, name in names.items():
        if body in seen or (body == BASE and seen):
            continue
        ends = [link.position for link in links if link.parent == body]
        ends += [frame.position for frame in frames.values() if frame.body == body]
        far = [end for end in ends if np.linalg.norm(end) > 0.01 * reach]
        if body != BASE:
            hub = trimesh.creation.cylinder(
                _JOINT * reach, 2.4 * _JOINT * reach, transform=axes[body], sections=48
            )
            yield _shape(name, hub, _DARK)
            centre = links[body].com
            if not far and np.linalg.norm(centre) > 0.01 * reach:
                far = [centre]
        for end in far:
            bar = trimesh.creation.cylinder(
                _LINK * reach,
                segment=[np.zeros(3), axes[body][:3, :3] @ end],
                sections=32,
            )
            yield _shape(name, bar, GREY)


def inertia_boxes(model: RobotModel) -> list[Shape]:
    """Return for each moving body with mass the box of uniform density that has the same mass and inertia.

    With the mass m and the principal moments of inertia I_a, I_b, I_c about the centre of mass, the side along axis a
    follows from a^2 = 6 (I_b + I_c - I_a) / m; sides are at least 0.1 mm. Each box is in the frame of the body's link.
    """
    import trimesh

    shapes = []
    for link, name, frame in zip(
        LinkTree.of(model).links, model.moving_links, body_frames(model), strict=True
    ):
        if link.mass <= 0.0:
            continue
        moments, axes = np.linalg.eigh(link.inertia)
        sides = np.sqrt(
            np.maximum(6.0 / link.mass * (moments.sum() - 2.0 * moments), 1e-8)
        )
        pose = np.eye(4)
        pose[:3, :3] = axes * np.sign(np.linalg.det(axes))
        pose[:3, 3] = link.com
        shapes.append(
            _shape(
                name, trimesh.creation.box(sides, transform=frame @ pose), BOX_COLOUR
            )
        )
    return shapes


def body_frames(model: RobotModel) -> Array:
    """Return poses (bodies, 4, 4) of frames with z along the joint axis, in the frames of ``model.moving_links``.

    Bodies have the order of ``moving_links``. Each frame has the origin of its link frame. They are the frames of the
    dynamics algorithms.
    """
    poses = np.tile(np.eye(4), (len(model.moving_joints), 1, 1))
    poses[:, :3, :3] = [
        model.link_frames[link].rotation.T for link in model.moving_links
    ]
    return poses
