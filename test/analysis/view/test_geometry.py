"""Shapes of links: visuals of the URDF if available, else bars between the joints."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.analysis.view import geometry as module
from robot_dynamics_ros.analysis.view.camera import (
    FIELD_OF_VIEW,
    corners,
    side_by_side,
    viewpoint,
)
from robot_dynamics_ros.analysis.view.geometry import (
    GREY,
    Shape,
    inertia_boxes,
    require_viewer,
    robot_shapes,
    shrunk,
)
from robot_dynamics_ros.base.errors import RobotDynamicsError
from support.report_recordings import ARM

MODEL = RobotModel.from_urdf(ARM)
UPPER = '<link name="upper">'
VERSION_1_1 = ARM.replace("<robot", '<robot version="1.1"', 1)


@pytest.fixture(autouse=True)
def _trimesh() -> None:
    pytest.importorskip("trimesh")


def shapes_of(
    visuals: str, folder: Path = Path("/nowhere")
) -> tuple[list[Shape], list[str]]:
    return robot_shapes(MODEL, ARM.replace(UPPER, UPPER + visuals), folder, reach=1.0)


def mesh(name: str) -> str:
    return (
        f'<visual><geometry><mesh filename="{name}" scale="2 2 2"/></geometry></visual>'
    )


def test_visual() -> None:
    """A box of 1 by 2 by 3, rotated about x by 90 degrees and translated."""
    box = '<geometry><box size="1 2 3"/></geometry><material name="m"><color rgba="1 0.5 0 1"/></material>'
    found, notes = shapes_of(
        f'<visual><origin xyz="10 0 0" rpy="1.5707963267948966 0 0"/>{box}</visual>'
    )
    (shape,) = (s for s in found if s.link == "upper")
    assert np.ptp(shape.vertices, axis=0) == pytest.approx([1.0, 3.0, 2.0])
    assert shape.vertices.mean(axis=0) == pytest.approx([10.0, 0.0, 0.0])
    assert shape.colour == (255, 127, 0) and notes == []
    assert {s.link for s in found} == {"upper", "slide"}, (
        "a body without visuals has a bar"
    )


def test_capsule_and_quaternion_of_urdf_1_1() -> None:
    """``length`` is that of the cylinder, without the hemispheres; 90 degrees about x turn it to y."""
    visual = f'<visual><origin xyz="10 0 0" quat_xyzw="{0.5**0.5} 0 0 {0.5**0.5}"/>'
    visual += '<geometry><capsule radius="0.1" length="0.5"/></geometry></visual>'
    found, notes = robot_shapes(
        MODEL, VERSION_1_1.replace(UPPER, UPPER + visual), Path("/nowhere"), 1.0
    )
    (shape,) = (s for s in found if s.link == "upper")
    assert (
        np.ptp(shape.vertices, axis=0) == pytest.approx([0.2, 0.7, 0.2]) and notes == []
    )
    assert shape.vertices.mean(axis=0) == pytest.approx([10.0, 0.0, 0.0])
    found, (note,) = shapes_of(visual)
    assert "upper" in note, "version 1.0 has no capsules"


@pytest.mark.parametrize(
    "name",
    ["part.stl", "package://some_description/meshes/part.stl", "file://{}/part.stl"],
)
def test_mesh_is_found(name: str, tmp_path: Path) -> None:
    import trimesh

    urdf = tmp_path / "some_description" / "urdf"
    urdf.mkdir(parents=True)
    (tmp_path / "some_description" / "meshes").mkdir()
    box = trimesh.creation.box((1.0, 1.0, 1.0))
    for folder in (urdf, tmp_path, tmp_path / "some_description" / "meshes"):
        box.export(folder / "part.stl")
    found, notes = shapes_of(mesh(name.format(tmp_path)), urdf)
    (shape,) = (s for s in found if s.link == "upper")
    assert (
        np.ptp(shape.vertices, axis=0) == pytest.approx([2.0, 2.0, 2.0])
        and shape.colour == GREY
    )
    assert notes == []


BROKEN = '<visual><geometry><box size="1 two 3"/></geometry></visual>'


@pytest.mark.parametrize(
    ("visual", "culprit"),
    [
        *(
            (mesh(name), name)
            for name in (
                "http://example.com/part.stl",
                "package://nowhere/part.dae",
                "broken.stl",
            )
        ),
        (BROKEN, "visuals"),
    ],
)
def test_body_whose_visual_cannot_be_had_is_drawn_from_the_model(
    visual: str, culprit: str, tmp_path: Path
) -> None:
    (tmp_path / "broken.stl").write_bytes(b"solid no")
    found, (note,) = shapes_of(visual, tmp_path)
    assert culprit in note
    assert {s.link for s in found} == {"upper", "slide"}


def test_bars_reach_from_joint_to_joint(urdf_path: Callable[[str], Path]) -> None:
    """A robot without visuals is drawn in about the same size."""
    path = urdf_path("ur5e")
    text = path.read_text()
    model = RobotModel.from_urdf_file(path)
    bare = re.sub(r"<visual>.*?</visual>", "", text, flags=re.DOTALL)
    sizes = []
    for urdf in (text, bare):
        found, notes = robot_shapes(model, urdf, path.parent, reach=1.0)
        assert notes == [] and all(len(s.faces) for s in found)
        sizes.append(np.ptp(corners(model, found, [np.zeros(6)], 1.0), axis=0).max())
    assert sizes[1] == pytest.approx(sizes[0], rel=0.3)


def test_inertia_boxes() -> None:
    """2 kg: a^2 = 6 (0.02 + 0.02 - 0.01) / 2 along x, 6 (0.01 + 0.02 - 0.02) / 2 across it."""
    upper, _ = inertia_boxes(MODEL)
    assert np.ptp(upper.vertices, axis=0) == pytest.approx(np.sqrt([0.09, 0.03, 0.03]))
    assert 0.5 * (
        upper.vertices.min(axis=0) + upper.vertices.max(axis=0)
    ) == pytest.approx([0.2, 0.0, 0.0])


def test_shrunk() -> None:
    found, _ = shapes_of('<visual><geometry><sphere radius="1"/></geometry></visual>')
    (shape,) = (s for s in found if s.link == "upper")
    assert np.linalg.norm(shrunk(shape, 0.1).vertices, axis=1) == pytest.approx(
        0.9, abs=0.01
    )


def test_everything_is_in_the_picture(urdf_path: Callable[[str], Path]) -> None:
    """From the viewpoint the arm fills the height of the image and stays inside it."""
    path = urdf_path("panda")
    model = RobotModel.from_urdf_file(path)
    found, _ = robot_shapes(model, path.read_bytes(), path.parent, 1.0)
    points = corners(
        model, found, [np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.0])], 1.0
    )
    position, look_at = viewpoint(points)
    ahead = (look_at - position) / np.linalg.norm(look_at - position)
    right = np.cross(ahead, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right)
    seen = points - position
    edges = (
        np.abs([seen @ right, seen @ np.cross(right, ahead)])
        / (seen @ ahead)
        / np.tan(FIELD_OF_VIEW / 2)
    )
    assert (seen @ ahead > 0.0).all() and 0.7 < edges.max() < 1.0


def test_robots_stand_side_by_side() -> None:
    """None overlaps another in the image: the offsets, seen from the camera, are larger than the width."""
    points = np.random.default_rng(0).uniform(-1.0, 1.0, (100, 3))
    position, look_at = viewpoint(points)
    right = np.cross(look_at - position, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right)
    first, second, third = side_by_side(points, 3)
    assert first.tolist() == [0.0, 0.0, 0.0] and third == pytest.approx(2.0 * second)
    assert (
        np.ptp(points @ right) < second @ right == pytest.approx(np.linalg.norm(second))
    )


def test_without_viser(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ImportError(name=name)

    monkeypatch.setattr(module, "import_module", absent)
    with pytest.raises(RobotDynamicsError, match="viser"):
        require_viewer()
