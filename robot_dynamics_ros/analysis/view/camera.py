"""Camera of the view, and the places of several robots beside each other.

Points and offsets are in m and in the axes of the model's root frame, z upwards. The camera looks from the right front,
and from above, with a vertical field of view of 35 degrees.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from robot_dynamics_ros.analysis.view.geometry import Shape
from robot_dynamics_ros.analysis.view.scene import link_poses, reaction_arrows
from robot_dynamics_ros.analysis.view.scene_state import SceneState
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel

FIELD_OF_VIEW = np.radians(35.0)  # vertical
GRID_CELL = 0.1  # m, of the ground
_BACKWARD = np.array([0.78, -1.0, 0.42]) / np.linalg.norm([0.78, -1.0, 0.42])
_RIGHT: Array = np.array([1.0, 0.78, 0.0]) / np.linalg.norm([1.0, 0.78])
_MARGIN = 1.1


def corners(
    model: RobotModel, shapes: Sequence[Shape], poses: Iterable[Array], reach: float
) -> Array:
    """Return the corners (m, 3), in the root frame, of the bounding boxes of all shapes at all ``poses``.

    Each of ``poses`` is a joint position (n,), rad or m. The points also include the origin and the ends of the
    joint-force arrows with the arm at rest, which ``reach`` (m), the largest distance of a link from the root, scales.
    """
    boxes = []
    for shape in shapes:
        ranges = zip(
            shape.vertices.min(axis=0), shape.vertices.max(axis=0), strict=True
        )
        box = np.stack(np.meshgrid(*ranges, indexing="ij"), axis=-1).reshape(-1, 3)
        boxes.append((model.link_names.index(shape.link), box))
    points = [np.zeros((1, 3))]
    for q in poses:
        links = link_poses(model, q)
        points.append(
            reaction_arrows(model, SceneState(q, *np.zeros((3, model.n))), reach)[:, 1]
        )
        points += [box @ links[i, :3, :3].T + links[i, :3, 3] for i, box in boxes]
    return np.concatenate(points)


def viewpoint(points: Array) -> tuple[Array, Array]:
    """Return position and look-at point, (3,) each, of a camera whose image the points (m, 3) fill in one direction."""
    up = np.cross(_BACKWARD, _RIGHT)
    across, high, near = (points @ axis for axis in (_RIGHT, up, _BACKWARD))
    centre = (
        0.5 * (across.min() + across.max()) * _RIGHT
        + 0.5 * (high.min() + high.max()) * up
    )
    half = np.tan(0.5 * FIELD_OF_VIEW)
    needed = [
        np.abs(values - centre @ axis) / half + near
        for values, axis in ((across, _RIGHT), (high, up))
    ]
    depth = float(near.mean())
    distance = depth + _MARGIN * (float(np.max(needed)) - depth)
    return centre + distance * _BACKWARD, centre + depth * _BACKWARD


def side_by_side(points: Array, count: int) -> Array:
    """Return offsets (count, 3), m, that place ``count`` equal robots side by side, from left to right in the image.

    The points (m, 3) are those that one robot needs, such as ``corners``. The first offset is zero.
    """
    width: float = np.ptp(points @ _RIGHT)
    return np.arange(count)[:, None] * _MARGIN * width * _RIGHT
