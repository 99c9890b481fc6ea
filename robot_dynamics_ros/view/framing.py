"""Where to look from, so that the whole arm fills the picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.view.moment import Moment, link_poses, reaction_arrows
from robot_dynamics_ros.view.shapes import Shape

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
