"""The hottest kernels with the arrays of one robot bound: these work for any robot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

from robot_dynamics_ros.kernels import entries
from robot_dynamics_ros.kernels.direct_calls import direct_call
from robot_dynamics_ros.kernels.types import Array, IntArray

Kernel = Callable[..., int]
Call = Callable[..., object]


class GeneralKernels:
    """Inverse and forward dynamics, gravity torque, mass matrix and derivatives of the robot in two flat arrays.

    Those for one state are compiled when they are first asked for. They return their last argument, the result; or
    something else where an argument is no plain array of the right shape, or the mass matrix is singular. Those for
    many states take plain C-contiguous arrays and return a status (see entries).

    Attributes
    ----------
    structure, numbers
        The arrays, as given; the kernels work on copies.
    customised
        True if they are made for this robot.
    """

    customised = False

    def __init__(self, structure: IntArray, numbers: Array) -> None:
        self.structure = structure
        self.numbers = numbers
        # Copies, which can be written to: for others numba would compile everything once more.
        self._fixed = structure.copy(), numbers.copy()
        self._scratch = entries.make_scratch(structure)

    def with_numbers(self, numbers: Array) -> GeneralKernels:
        """Return the kernels of a robot that differs in its bodies' inertia only; nothing is compiled again."""
        return GeneralKernels(self.structure, numbers)

    @cached_property
    def inverse_dynamics(self) -> Call:
        """(q, qd, qdd, tau), each (n,)."""
        return self._single(entries.inverse_dynamics, (1, 1, 1, 1))

    @cached_property
    def gravity_torque(self) -> Call:
        """(q, tau), each (n,)."""
        return self._single(entries.gravity_torque, (1, 1))

    @cached_property
    def mass_matrix(self) -> Call:
        """(q (n,), matrix (n, n))."""
        return self._single(entries.mass_matrix, (1, 2))

    @cached_property
    def forward_dynamics(self) -> Call:
        """(q, qd, tau, qdd), each (n,)."""
        return self._single(entries.forward_dynamics, (1, 1, 1, 1))

    @cached_property
    def inverse_dynamics_derivatives(self) -> Call:
        """(q, qd, qdd, dq, dqd), vectors (n,) and matrices (n, n)."""
        return self._single(entries.inverse_dynamics_derivatives, (1, 1, 1, 2, 2))

    @cached_property
    def inverse_dynamics_batch(self) -> Kernel:
        """(q, qd, qdd, tau), each (count, n)."""
        return self._batch(entries.inverse_dynamics_batch)

    @cached_property
    def forward_dynamics_batch(self) -> Kernel:
        """(q, qd, tau, qdd), each (count, n)."""
        return self._batch(entries.forward_dynamics_batch)

    def call(self, kernel: Kernel, axes: Sequence[int], *extra: Array) -> Call:
        """Return an entry for one state with the robot bound, and what comes before the state; see direct_call."""
        return direct_call(kernel, (*self._fixed, self._scratch, *extra), axes)

    def bound(self, kernel: Kernel, *extra: Any) -> Kernel:
        """Return an entry for many states with the robot bound, and what else comes before the states."""
        return partial(kernel, *self._fixed, *extra)

    def _single(self, kernel: Kernel, axes: Sequence[int]) -> Call:
        return self.call(kernel, axes)

    def _batch(self, kernel: Kernel) -> Kernel:
        return self.bound(kernel, entries.NO_WRENCHES)
