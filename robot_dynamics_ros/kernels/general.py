"""The hottest kernels, tied to one robot: these work for any robot."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial

from robot_dynamics_ros.kernels import entries
from robot_dynamics_ros.kernels.direct_calls import direct_call
from robot_dynamics_ros.kernels.types import Array, IntArray

Kernel = Callable[..., int]
Call = Callable[..., object]


class GeneralKernels:
    """Inverse and forward dynamics, gravity torque, mass matrix and derivatives of the robot in two flat arrays.

    Those for one state are compiled when they are first asked for. They give their last argument, the result; or
    something else where an argument is no plain array of the right shape, or the mass matrix is singular. Those for
    many states take plain C-contiguous arrays and return a status (see entries).

    Attributes
    ----------
    customised
        Whether they are made for this robot.
    """

    customised = False

    def __init__(self, structure: IntArray, numbers: Array) -> None:
        self.structure = structure
        self.numbers = numbers

    def with_numbers(self, numbers: Array) -> GeneralKernels:
        """Return the kernels of a robot that differs in its bodies' inertia only; nothing is compiled again."""
        return GeneralKernels(self.structure, numbers)

    @cached_property
    def inverse_dynamics(self) -> Call:
        """(q, qd, qdd, tau), each (n,)."""
        return direct_call(entries.inverse_dynamics, self._robot, (1, 1, 1, 1))

    @cached_property
    def gravity_torque(self) -> Call:
        """(q, tau), each (n,)."""
        return direct_call(entries.gravity_torque, self._robot, (1, 1))

    @cached_property
    def mass_matrix(self) -> Call:
        """(q (n,), matrix (n, n))."""
        return direct_call(entries.mass_matrix, self._robot, (1, 2))

    @cached_property
    def forward_dynamics(self) -> Call:
        """(q, qd, tau, qdd), each (n,)."""
        return direct_call(entries.forward_dynamics, self._robot, (1, 1, 1, 1))

    @cached_property
    def inverse_dynamics_derivatives(self) -> Call:
        """(q, qd, qdd, dq, dqd), vectors (n,) and matrices (n, n)."""
        return direct_call(entries.inverse_dynamics_derivatives, self._robot, (1, 1, 1, 2, 2))

    @cached_property
    def inverse_dynamics_batch(self) -> Kernel:
        """(q, qd, qdd, tau), each (count, n)."""
        return self._tied(entries.inverse_dynamics_batch)

    @cached_property
    def forward_dynamics_batch(self) -> Kernel:
        """(q, qd, tau, qdd), each (count, n)."""
        return self._tied(entries.forward_dynamics_batch)

    @property
    def _robot(self) -> tuple[IntArray, Array]:
        return self.structure, self.numbers

    def _tied(self, kernel: Kernel) -> Kernel:
        return partial(kernel, *self._robot)
