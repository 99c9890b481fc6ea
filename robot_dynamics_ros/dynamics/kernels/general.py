"""Kernels of the most frequent calculations with the arrays of one robot bound, valid for any robot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from threading import RLock
from typing import Any

import numpy as np

from robot_dynamics_ros.dynamics.kernels import entries
from robot_dynamics_ros.dynamics.kernels.compilation import (
    COMPILED,
    NO_MACHINE_CODE,
    compile_only_for,
)
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray

Kernel = Callable[..., int]
Call = Callable[..., Any]  # see call_with_one

_FLOAT64 = np.dtype(np.float64)
# plain Python can switch threads during a call, and calls share scratch memory
_LOCK = RLock()


def bound_kernel(
    kernel: Kernel, fixed: Sequence[Array | IntArray], axes: Sequence[int]
) -> Kernel:
    """Return a compiled kernel with its first arguments bound, which takes no other types of arrays.

    Parameters
    ----------
    kernel
        Function of arrays that returns a status.
    fixed
        First arguments of the kernel, C-contiguous int64 or float64 arrays of shape (count,). They are not copied.
    axes
        Number of axes of each further argument, a C-contiguous, writeable float64 array. numba finds the machine code
        by the types of all arguments and raises NO_MACHINE_CODE if there is none; it does not check the byte order.
    """
    if not COMPILED:
        return partial(_interpreted, kernel, fixed, axes)
    kinds = [f"{array.dtype}[::1]" for array in fixed] + [
        f"float64[{(count - 1) * ':,'}::1]" for count in axes
    ]
    compile_only_for(kernel, f"int64({', '.join(kinds)})")
    return partial(kernel, *fixed)


def _interpreted(
    kernel: Kernel, fixed: Sequence[Any], axes: Sequence[int], *arguments: Any
) -> int:
    for array, count in zip(arguments, axes, strict=True):
        if (
            type(array) is not np.ndarray
            or array.ndim != count
            or not array.flags.carray
        ):
            raise TypeError
    with _LOCK:
        return kernel(*fixed, *arguments)


# One function for each number of vectors: passing on a tuple of arguments would take a tenth of a microsecond more.


def call_with_one(bound: Kernel, shape: tuple[int, ...]) -> Call:
    """Return a function of one vector of a state that returns the result of a ``bound_kernel``, an array (*shape).

    The result is None for another object than a C-contiguous, writeable float64 array of the right shape, and if the
    kernel fails. The last argument of ``bound``, which the function allocates, is the result.
    """

    def call(q: Any) -> Array | None:
        try:
            if q.dtype is not _FLOAT64:
                return None
            result = np.empty(shape)
            return result if bound(q, result) == entries.OK else None
        except NO_MACHINE_CODE:
            return None

    return call


def call_with_three(bound: Kernel, shape: tuple[int, ...]) -> Call:
    """Return a function of three vectors of a state, otherwise as ``call_with_one``."""

    def call(first: Any, second: Any, third: Any) -> Array | None:
        try:
            if (
                first.dtype is not _FLOAT64
                or second.dtype is not _FLOAT64
                or third.dtype is not _FLOAT64
            ):
                return None
            result = np.empty(shape)
            return result if bound(first, second, third, result) == entries.OK else None
        except NO_MACHINE_CODE:
            return None

    return call


class GeneralKernels:
    """Kernels of one robot, compiled once for all robots.

    A single-state property is a function from ``call_with_one`` or ``call_with_three``, compiled at first access; its
    result is also None if the mass matrix is singular. Batched functions take C-contiguous float64 arrays whose shapes
    the caller has checked, write to the last one, and return a status: OK, or SINGULAR + k n + j of entries for a
    singular mass matrix of state k at coordinate j. Positions are in rad or m, torques in Nm or N. Single-state calls
    of one object share scratch memory.

    Parameters
    ----------
    topology, parameters
        Flat model arrays of a robot, from layout.pack.

    Attributes
    ----------
    topology, parameters
        The model arrays. The kernels use copies.
    customised
        True if the kernels are generated for this robot.
    """

    customised = False

    def __init__(self, topology: IntArray, parameters: Array) -> None:
        self.topology = topology
        self.parameters = parameters
        # Writeable copies: for read-only arrays numba would compile each kernel again.
        self._fixed = topology.copy(), parameters.copy()
        self._with_scratch = self._fixed[0], entries.with_scratch(topology, parameters)
        self._n = int(topology[3])  # as coordinate_count, without compiling it

    def with_parameters(self, parameters: Array) -> GeneralKernels:
        """Return the kernels of a robot with the same topology and other ``parameters`` (elements,)."""
        return GeneralKernels(self.topology, parameters)

    def __reduce__(self) -> tuple[Any, ...]:
        # Compiled code is not pickled: the other process compiles it again or loads it from the cache.
        return type(self), (self.topology, self.parameters)

    @cached_property
    def inverse_dynamics(self) -> Call:
        """Function of (q, qd, qdd), each (n,): torque (n,) for the motion, without friction."""
        return self._single(entries.inverse_dynamics, 3, (self._n,))

    @cached_property
    def gravity_torque(self) -> Call:
        """Function of q (n,): torque (n,) that holds the robot at rest against gravity."""
        return self._single(entries.gravity_torque, 1, (self._n,))

    @cached_property
    def mass_matrix(self) -> Call:
        """Function of q (n,): mass matrix (n, n)."""
        return self._single(entries.mass_matrix, 1, (self._n, self._n))

    @cached_property
    def forward_dynamics(self) -> Call:
        """Function of (q, qd, tau), each (n,): acceleration (n,) under the torque, without friction."""
        return self._single(entries.forward_dynamics, 3, (self._n,))

    @cached_property
    def inverse_dynamics_derivatives(self) -> Call:
        """Function of (q, qd, qdd), each (n,): derivatives (2, n, n) of the torque by q and by qd.

        Element [0, i, j] is the derivative of torque i by position j, [1, i, j] that by velocity j.
        """
        return self._single(
            entries.inverse_dynamics_derivatives, 3, (2, self._n, self._n)
        )

    @cached_property
    def inverse_dynamics_batch(self) -> Kernel:
        """Function of (q, qd, qdd, tau), each (count, n): torques, without external wrenches and joint friction."""
        return self._batch(entries.inverse_dynamics_batch)

    @cached_property
    def forward_dynamics_batch(self) -> Kernel:
        """Function of (q, qd, tau, qdd), each (count, n): accelerations, without wrenches and joint friction."""
        return self._batch(entries.forward_dynamics_batch)

    def friction(self, joints: Array) -> Call:
        """Return a function of (fade (1,), q, qd, load (n,)): entries.friction_torque with its table ``joints``."""
        bound = bound_kernel(
            entries.friction_torque,
            (*self._with_scratch, joints.flatten()),
            (1, 1, 1, 1, 1),
        )

        def call(fade: Array, q: Any, qd: Any, load: Any) -> Array | None:
            try:
                if (
                    q.dtype is not _FLOAT64
                    or qd.dtype is not _FLOAT64
                    or load.dtype is not _FLOAT64
                ):
                    return None
                result = np.empty(self._n)
                return (
                    result if bound(fade, q, qd, load, result) == entries.OK else None
                )
            except NO_MACHINE_CODE:
                return None

        return call

    def bound(self, kernel: Kernel, *extra: Any) -> Kernel:
        """Return a batched function of entries.py with the model arrays and its next arguments ``extra`` bound.

        ``kernel`` is that function; the returned one takes its remaining arguments and returns its status.
        """
        return partial(kernel, *self._fixed, *extra)

    def _single(self, kernel: Kernel, vectors: int, shape: tuple[int, ...]) -> Call:
        """Return the function of one state for a single-state function of entries.py."""
        return self._call(kernel, self._with_scratch, vectors, shape)

    @staticmethod
    def _call(
        kernel: Kernel,
        fixed: Sequence[Array | IntArray],
        vectors: int,
        shape: tuple[int, ...],
    ) -> Call:
        bound = bound_kernel(kernel, fixed, [1] * vectors + [len(shape)])
        return (
            call_with_one(bound, shape)
            if vectors == 1
            else call_with_three(bound, shape)
        )

    def _batch(self, kernel: Kernel) -> Kernel:
        return self.bound(kernel, entries.NO_WRENCHES)
