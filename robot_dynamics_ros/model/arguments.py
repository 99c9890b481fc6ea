"""What callers hand over: any kind of numbers in, float64 arrays out, or an error that says what was expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model.inertia import real_numbers
from robot_dynamics_ros.model.packed import LinkFrame

_NO_WRENCHES: Array = np.empty((0, 6))
# NumPy broadcasts up to 32 axes, of which wrenches and results take some.
_MOST_AXES = 24


def numbers(name: str, value: ArrayLike, joint_names: Sequence[str], *, single: bool = False) -> Array:
    """Return ``value`` as float64 (..., n) in C order, the same array where it is that already.

    Raises RobotDynamicsError, calling it ``name``, for anything but real numbers whose last axis has length
    n; where ``single``, for anything but n numbers. They may be infinite.
    """
    n = len(joint_names)
    # Contiguous, aligned and writable (carray): for any other kind numba would compile anew.
    plain = type(value) is np.ndarray and value.dtype == np.float64 and value.flags.carray
    expected = f"({n},)" if single else f"({n},) or (..., {n})"
    array = value if plain else real_numbers(value)
    if array is None:
        raise RobotDynamicsError(f"{name}: {value!r} is not an array of {n} numbers. Cure: pass shape {expected}")
    assert isinstance(array, np.ndarray)
    if array.ndim < 1 or array.shape[-1] != n or (single and array.ndim != 1):
        raise RobotDynamicsError(
            f"{name} has shape {array.shape}, expected {expected}. Cure: one value for each of {', '.join(joint_names)}"
        )
    return array


def wrenches_on_bodies(wrenches: Mapping[str, ArrayLike] | None, frames: Mapping[str, LinkFrame], bodies: int) -> Array:
    """Wrenches (..., 6) on links as wrenches (..., bodies, 6) on the kernels' bodies; (0, 6) for None.

    Raises RobotDynamicsError for an unknown link and for values that are not six numbers.
    """
    if wrenches is None:
        return _NO_WRENCHES
    if not isinstance(wrenches, Mapping):
        raise RobotDynamicsError(
            f"external_wrenches: {wrenches!r} names no links. Cure: give a mapping from each link to six numbers"
        )
    checked: list[tuple[LinkFrame, Array]] = []
    for link, value in wrenches.items():
        frame = frames.get(link)
        if frame is None:
            raise RobotDynamicsError(f'external_wrenches: no link "{link}". Cure: use one of {", ".join(frames)}')
        wrench = real_numbers(value)
        if wrench is None:
            raise RobotDynamicsError(
                f'external_wrenches: link "{link}": {value!r} is not 6 numbers. Cure: force, then moment'
            )
        if wrench.shape[-1:] != (6,):
            raise RobotDynamicsError(
                f'external_wrenches: link "{link}": shape {wrench.shape}, expected (6,) or (..., 6). '
                "Cure: force, then moment"
            )
        checked.append((frame, wrench))
    if not checked:
        return np.zeros((bodies, 6))
    batch = _broadcast({link: wrench.shape[:-1] for link, (_, wrench) in zip(wrenches, checked, strict=True)})
    total = np.zeros((*batch, bodies, 6))
    for frame, wrench in checked:
        if frame.body >= 0:
            force = _turned(wrench[..., :3], frame.rotation)
            moment = _turned(wrench[..., 3:], frame.rotation) + np.cross(frame.position, force)
            total[..., frame.body, :3] += force
            total[..., frame.body, 3:] += moment
    return total


def _turned(vectors: Array, rotation: Array) -> Array:
    """Rotation times vectors (..., 3), element by element: a matrix product rounds by how many there are."""
    x, y, z = vectors[..., 0:1], vectors[..., 1:2], vectors[..., 2:3]
    turned: Array = x * rotation[:, 0] + y * rotation[:, 1] + z * rotation[:, 2]
    return turned


def common_shape(arguments: Mapping[str, Array]) -> tuple[int, ...]:
    """Leading axes of all arguments together, by NumPy's broadcasting.

    A vector's own axis is its last one, that of wrenches on bodies the last two. Raises RobotDynamicsError,
    giving the shapes, where they do not go together.
    """
    return _broadcast({name: array.shape[: -own_axes(name)] for name, array in arguments.items()})


def own_axes(name: str) -> int:
    """Number of axes of an argument that are not leading axes."""
    return 2 if name == "external_wrenches" else 1


def _broadcast(shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    first, *others = shapes.values()
    if max(map(len, shapes.values())) > _MOST_AXES:
        raise RobotDynamicsError(f"leading axes are too many: {_listed(shapes)}. Cure: give at most {_MOST_AXES}")
    if all(shape == first for shape in others):
        return first
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        raise RobotDynamicsError(f"leading axes do not go together: {_listed(shapes)}. Cure: give equal ones") from None


def _listed(shapes: Mapping[str, tuple[int, ...]]) -> str:
    return ", ".join(f"{name} {shape}" for name, shape in shapes.items())
