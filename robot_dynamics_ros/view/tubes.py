"""Torque as an arrow around its joint's axis, force along it: tubes that keep their faces while they bend."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.kernels.types import Array

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
