"""Conversion of RobotModel arguments to float64 arrays, and calls of batched kernels on all cores.

A body is a moving link with all links fixed to it. The z axis of its frame is the axis of the joint that moves it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.base.errors import RobotDynamicsError, require_known
from robot_dynamics_ros.dynamics.description.inertia import real_numbers
from robot_dynamics_ros.dynamics.kernels.compilation import numba
from robot_dynamics_ros.dynamics.kernels.entries import OK, SINGULAR
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model.model_data import LinkFrame
from robot_dynamics_ros.dynamics.thresholds import (
    BATCH_BLOCK,
    MOST_LEADING_AXES,
    STATES_PER_THREAD,
)

Result = TypeVar("Result")
Wrenches = Mapping[str, ArrayLike]

_NO_WRENCHES: Array = np.empty((0, 6))


def joint_vectors(
    name: str, value: ArrayLike, joint_names: Sequence[str], *, single: bool = False
) -> Array:
    """Return ``value`` as a C-contiguous float64 array (..., n), without a copy if it already is one.

    Infinite values and NaN are accepted.

    Parameters
    ----------
    name
        Name of the argument for messages.
    value
        Real numbers of shape (..., n).
    joint_names
        The n joint names, for messages.
    single
        True if the shape must be (n,).

    Raises
    ------
    RobotDynamicsError
        If ``value`` has another shape or is not an array of real numbers.
    """
    n = len(joint_names)
    # Contiguous, aligned and writeable (carray): numba would compile again for any other array.
    plain = (
        type(value) is np.ndarray and value.dtype == np.float64 and value.flags.carray
    )
    expected = f"({n},)" if single else f"({n},) or (..., {n})"
    array = value if plain else real_numbers(value)
    if array is None:
        raise RobotDynamicsError(
            f"{name}: {value!r} is not an array of {n} numbers. Cure: pass an array {expected}"
        )
    assert isinstance(array, np.ndarray)
    if array.ndim < 1 or array.shape[-1] != n or (single and array.ndim != 1):
        raise RobotDynamicsError(
            f"{name} has shape {array.shape}, expected {expected}. "
            f"Cure: pass one value for each of {', '.join(joint_names)}"
        )
    return array


def wrenches_on_bodies(
    wrenches: Wrenches | None,
    frames: Mapping[str, LinkFrame],
    bodies: int,
) -> Array:
    """Convert wrenches that act on links to wrenches (..., bodies, 6) on the kernels' bodies.

    Results are force (N) and moment (Nm) at the origin and in the axes of each body's frame, summed over its links.
    Wrenches on links of the fixed base have no effect.

    Parameters
    ----------
    wrenches
        Force (N) and moment (Nm), (..., 6), by link, at the origin and in the axes of the link's frame. None gives an
        array (0, 6), an empty mapping zeros. Leading axes of several links are broadcast.
    frames
        Frame of each link on its body, by name.
    bodies
        Number of bodies.

    Raises
    ------
    RobotDynamicsError
        For other than a mapping, an unknown link, a value that is not six numbers, and leading axes that cannot be
        broadcast.
    """
    if wrenches is None:
        return _NO_WRENCHES
    if not isinstance(wrenches, Mapping):
        raise RobotDynamicsError(
            f"external_wrenches: {wrenches!r} is not a mapping. Cure: pass a mapping from link names to six numbers"
        )
    checked: list[tuple[LinkFrame, Array]] = []
    for link, value in wrenches.items():
        require_known(link, frames, f'external_wrenches: no link "{link}"')
        frame = frames[link]
        wrench = real_numbers(value)
        if wrench is None:
            raise RobotDynamicsError(
                f'external_wrenches: link "{link}": {value!r} is not 6 numbers. Cure: pass force, then moment'
            )
        if wrench.shape[-1:] != (6,):
            raise RobotDynamicsError(
                f'external_wrenches: link "{link}": shape {wrench.shape}, expected (6,) or (..., 6). '
                "Cure: pass force, then moment"
            )
        checked.append((frame, wrench))
    if not checked:
        return np.zeros((bodies, 6))
    batch = _broadcast(
        {
            link: wrench.shape[:-1]
            for link, (_, wrench) in zip(wrenches, checked, strict=True)
        }
    )
    total = np.zeros((*batch, bodies, 6))
    for frame, wrench in checked:
        if frame.body >= 0:
            force = _turned(wrench[..., :3], frame.rotation)
            moment = _turned(wrench[..., 3:], frame.rotation) + np.cross(
                frame.position, force
            )
            total[..., frame.body, :3] += force
            total[..., frame.body, 3:] += moment
    return total


def _turned(vectors: Array, rotation: Array) -> Array:
    """Return rotated vectors (..., 3), element by element: rounding in a matrix product depends on their number."""
    x = vectors[..., 0:1]
    y = vectors[..., 1:2]
    z = vectors[..., 2:3]
    turned: Array = x * rotation[:, 0] + y * rotation[:, 1] + z * rotation[:, 2]
    return turned


def _own_axes(name: str) -> int:
    """Return the number of axes of an argument that are not leading axes."""
    return 2 if name == "external_wrenches" else 1


def _broadcast(shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    first, *others = shapes.values()
    if max(map(len, shapes.values())) > MOST_LEADING_AXES:
        raise RobotDynamicsError(
            f"too many leading axes: {_listed(shapes)}. Cure: use at most {MOST_LEADING_AXES}"
        )
    if all(shape == first for shape in others):
        return first
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        raise RobotDynamicsError(
            f"leading axes cannot be broadcast: {_listed(shapes)}. Cure: pass equal leading axes"
        ) from None


def _listed(shapes: Mapping[str, tuple[int, ...]]) -> str:
    return ", ".join(f"{name} {shape}" for name, shape in shapes.items())


def cores() -> int:
    """Return the number of processor cores that this process may use, at most NUMBA_NUM_THREADS."""
    count = (
        len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count() or 1
    )
    return count if numba is None else min(count, numba.config.NUMBA_NUM_THREADS)


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Return the threads of this process, which a forked process does not inherit; compiled loops release the GIL."""
    return ThreadPoolExecutor(cores(), thread_name_prefix="robot_dynamics")


def over_rows(
    function: Callable[[slice], Result],
    count: int,
    block: int,
    parts: int | None = None,
) -> list[Result]:
    """Call ``function`` for slices of ``count`` rows in parallel on all cores, and return the results in order.

    ``function`` gets a slice object and must release the GIL to run in parallel. Each slice but the last is a multiple
    of ``block`` rows. ``parts`` is the number of slices, at least 1; None: one for each core. There are fewer slices if
    there are fewer blocks, and no call for a ``count`` of 0.
    """
    size = max(1, -(-count // (parts or cores()) // block)) * block
    slices = [slice(start, start + size) for start in range(0, count, size)]
    if len(slices) == 1:
        return [function(slices[0])]
    return list(_pool(os.getpid()).map(function, slices))


def evaluate(
    function: Callable[..., int], shape: tuple[int, ...], arguments: Mapping[str, Array]
) -> tuple[Array, tuple[int, Array] | None]:
    """Call a batched kernel for every state of the broadcast arguments, on all cores.

    Leading axes are all axes before the last one of a vector, and before the last two of wrenches on bodies.

    Parameters
    ----------
    function
        Kernel (*arguments, result) -> status, for C-contiguous arrays with one leading axis, which writes to the
        result. The status is OK, or for the first singular state SINGULAR + n times its index + coordinate.
    shape
        Shape of the result for a single state.
    arguments
        Arrays by name, in the order of the kernel's arguments; "external_wrenches" are on bodies. "q" must be among
        them if the kernel can return SINGULAR.

    Returns
    -------
    result
        Array (..., *shape).
    singular
        None, or of the first singular state the index of the coordinate at which the mass matrix is not positive
        definite, and the position (n,).

    Raises
    ------
    RobotDynamicsError
        If the leading axes cannot be broadcast. The message has the shapes.
    """
    batch = _broadcast(
        {name: array.shape[: -_own_axes(name)] for name, array in arguments.items()}
    )
    result = np.empty((*batch, *shape))
    status = _spread(function, batch, arguments, result)
    if status < SINGULAR:
        return result, None
    q = arguments["q"]
    state, joint = divmod(status - SINGULAR, q.shape[-1])
    return result, (joint, q.reshape(-1, q.shape[-1])[state])


def _spread(
    function: Callable[..., int],
    batch: tuple[int, ...],
    arguments: Mapping[str, Array],
    result: Array,
) -> int:
    """Call ``function(*arguments, result)``; return OK or the smallest other status, of the first such state."""
    count = math.prod(batch)
    arrays = [
        _in_a_row(array, batch, _own_axes(name), count)
        for name, array in arguments.items()
    ]
    arrays.append(result.reshape((count, *result.shape[len(batch) :])))
    parts = min(cores(), count // STATES_PER_THREAD)
    if parts < 2:
        return function(*arrays)

    def run(rows: slice) -> int:
        status = function(*(array[rows] for array in arrays))
        return (
            status if status == OK else status + rows.start * arguments["q"].shape[-1]
        )

    return min(
        (
            status
            for status in over_rows(run, count, BATCH_BLOCK, parts)
            if status != OK
        ),
        default=OK,
    )


def _in_a_row(array: Array, batch: tuple[int, ...], axes: int, count: int) -> Array:
    own = array.shape[array.ndim - axes :]
    if array.shape != batch + own:
        # A copy, since a broadcast view is read-only and numba would compile again for it.
        array = np.array(np.broadcast_to(array, batch + own), order="C")
    return array.reshape((count, *own))
