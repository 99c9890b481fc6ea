"""Kernels of the most frequent calculations with the arrays of one robot bound, valid for any robot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

from robot_dynamics_ros.dynamics.kernels import entries
from robot_dynamics_ros.dynamics.kernels.direct_calls import direct_call
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray

Kernel = Callable[..., int]
Call = Callable[..., object]


class GeneralKernels:
    """Kernels of one robot, compiled once for all robots.

    A single-state property is a function that is compiled at first access. It takes C-contiguous float64 arrays, writes
    the result to the last one (derivatives: to the last two), and returns the last one. It returns another object if an
    argument is not such an array or has the wrong shape, and if the mass matrix is singular. Batched functions take
    C-contiguous float64 arrays whose shapes the caller has checked, write to the last one, and return a status: OK, or
    SINGULAR + k n + j of entries for a singular mass matrix of state k at coordinate j. Positions are in rad or m,
    torques in Nm or N. Single-state calls of one object share scratch memory and must not run concurrently.

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
        self._scratch = entries.make_scratch(topology)

    def with_parameters(self, parameters: Array) -> GeneralKernels:
        """Return the kernels of a robot with the same topology and other ``parameters``, without compiling.

        ``parameters`` (elements,) is the array of that name from layout.pack for that robot.
        """
        return GeneralKernels(self.topology, parameters)

    @cached_property
    def inverse_dynamics(self) -> Call:
        """Function of (q, qd, qdd, tau), each (n,): torque ``tau`` for the motion, without friction."""
        return self._single(entries.inverse_dynamics, (1, 1, 1, 1))

    @cached_property
    def gravity_torque(self) -> Call:
        """Function of (q, tau), each (n,): torque ``tau`` that holds the robot at rest against gravity."""
        return self._single(entries.gravity_torque, (1, 1))

    @cached_property
    def mass_matrix(self) -> Call:
        """Function of (q, matrix), shapes (n,) and (n, n): mass matrix at ``q``."""
        return self._single(entries.mass_matrix, (1, 2))

    @cached_property
    def forward_dynamics(self) -> Call:
        """Function of (q, qd, tau, qdd), each (n,): acceleration ``qdd`` under the torque, without friction."""
        return self._single(entries.forward_dynamics, (1, 1, 1, 1))

    @cached_property
    def inverse_dynamics_derivatives(self) -> Call:
        """Function of (q, qd, qdd, dq, dqd), vectors (n,), matrices (n, n): derivatives of the torque by q and qd.

        Writes dtau/dq to ``dq`` and dtau/dqd to ``dqd``; element [i, j] is that of torque i by coordinate j.
        """
        return self._single(entries.inverse_dynamics_derivatives, (1, 1, 1, 2, 2))

    @cached_property
    def inverse_dynamics_batch(self) -> Kernel:
        """Function of (q, qd, qdd, tau), each (count, n): torques, without external wrenches and joint friction."""
        return self._batch(entries.inverse_dynamics_batch)

    @cached_property
    def forward_dynamics_batch(self) -> Kernel:
        """Function of (q, qd, tau, qdd), each (count, n): accelerations, without wrenches and joint friction."""
        return self._batch(entries.forward_dynamics_batch)

    def call(self, kernel: Kernel, axes: Sequence[int], *extra: Array) -> Call:
        """Return a single-state function with the robot and ``extra`` arguments bound.

        ``kernel`` is a single-state function of entries.py, whose arguments after the scratch array start with
        ``extra`` arrays (elements,). ``axes`` are the numbers of axes of the remaining arguments, which the returned
        function takes. It returns the last one, the result, or another object for invalid arguments.
        """
        return direct_call(kernel, (*self._fixed, self._scratch, *extra), axes)

    def bound(self, kernel: Kernel, *extra: Any) -> Kernel:
        """Return a batched function of entries.py with the model arrays and its next arguments ``extra`` bound.

        ``kernel`` is that function; the returned one takes its remaining arguments and returns its status.
        """
        return partial(kernel, *self._fixed, *extra)

    def _single(self, kernel: Kernel, axes: Sequence[int]) -> Call:
        return self.call(kernel, axes)

    def _batch(self, kernel: Kernel) -> Kernel:
        return self.bound(kernel, entries.NO_WRENCHES)
