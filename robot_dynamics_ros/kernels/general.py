"""Kernels of the most frequent calculations with the arrays of one robot bound, valid for any robot."""

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
    """Kernels of one robot, compiled once for all robots.

    Single-state kernels are compiled at first access. They return their last argument, which is the result, or another
    object if an argument is not a plain array of the right shape or if the mass matrix is singular. Batched kernels
    take C-contiguous arrays and return a status (see entries).

    Attributes
    ----------
    topology, parameters
        Model arrays (see layout). The kernels use copies.
    customised
        True if the kernels are generated for this robot.
    """

    customised = False

    def __init__(self, topology: IntArray, parameters: Array) -> None:
        self.topology = topology
        self.parameters = parameters
        # Writeable copies: for read-only arrays numba would compile each kernel again.
        self._fixed = topology.copy(), parameters.copy()
        self._scratch = entries.make_scratch(topology)

    def with_parameters(self, parameters: Array) -> GeneralKernels:
        """Return the kernels of a robot with other ``parameters``, as from ``layout.pack``, without compiling."""
        return GeneralKernels(self.topology, parameters)

    @cached_property
    def inverse_dynamics(self) -> Call:
        """Function of (q, qd, qdd, tau), each (n,)."""
        return self._single(entries.inverse_dynamics, (1, 1, 1, 1))

    @cached_property
    def gravity_torque(self) -> Call:
        """Function of (q, tau), each (n,)."""
        return self._single(entries.gravity_torque, (1, 1))

    @cached_property
    def mass_matrix(self) -> Call:
        """Function of (q, matrix): (n,) and (n, n)."""
        return self._single(entries.mass_matrix, (1, 2))

    @cached_property
    def forward_dynamics(self) -> Call:
        """Function of (q, qd, tau, qdd), each (n,)."""
        return self._single(entries.forward_dynamics, (1, 1, 1, 1))

    @cached_property
    def inverse_dynamics_derivatives(self) -> Call:
        """Function of (q, qd, qdd, dq, dqd): vectors (n,) and matrices (n, n)."""
        return self._single(entries.inverse_dynamics_derivatives, (1, 1, 1, 2, 2))

    @cached_property
    def inverse_dynamics_batch(self) -> Kernel:
        """Function of (q, qd, qdd, tau), each (count, n)."""
        return self._batch(entries.inverse_dynamics_batch)

    @cached_property
    def forward_dynamics_batch(self) -> Kernel:
        """Function of (q, qd, tau, qdd), each (count, n)."""
        return self._batch(entries.forward_dynamics_batch)

    def call(self, kernel: Kernel, axes: Sequence[int], *extra: Array) -> Call:
        """Return a single-state function with the robot and ``extra`` arguments bound, see ``direct_call``."""
        return direct_call(kernel, (*self._fixed, self._scratch, *extra), axes)

    def bound(self, kernel: Kernel, *extra: Any) -> Kernel:
        """Return a batched function with the robot and ``extra`` arguments bound."""
        return partial(kernel, *self._fixed, *extra)

    def _single(self, kernel: Kernel, axes: Sequence[int]) -> Call:
        return self.call(kernel, axes)

    def _batch(self, kernel: Kernel) -> Kernel:
        return self.bound(kernel, entries.NO_WRENCHES)
