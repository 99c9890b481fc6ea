"""The hottest kernels, tied to one robot: these work for any robot."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial

from robot_dynamics_ros.kernels import entries
from robot_dynamics_ros.kernels.compilation import only_for
from robot_dynamics_ros.kernels.types import Floats, Ints

Kernel = Callable[..., int]

_ROBOT = "int64(int64[::1], float64[::1]"
_VECTOR = ", float64[::1]"
_MATRIX = ", float64[:,::1]"


class GeneralKernels:
    """Inverse and forward dynamics, gravity torque, mass matrix and derivatives of the robot in two flat arrays.

    Each takes C-contiguous float64 arrays, the result last, and returns a status (see entries). Those for one
    state are compiled when they are first asked for, and raise TypeError for arrays of any other kind.
    """

    def __init__(self, structure: Ints, numbers: Floats) -> None:
        self.structure = structure
        self.numbers = numbers

    def with_numbers(self, numbers: Floats) -> GeneralKernels:
        """Return the kernels of a robot that differs in its bodies' inertia only; nothing is compiled again."""
        return GeneralKernels(self.structure, numbers)

    @cached_property
    def inverse_dynamics(self) -> Kernel:
        """(q, qd, qdd, tau), each (n,)."""
        return self._tied(only_for(entries.inverse_dynamics, f"{_ROBOT}{4 * _VECTOR})"))

    @cached_property
    def gravity_torque(self) -> Kernel:
        """(q, tau), each (n,)."""
        return self._tied(only_for(entries.gravity_torque, f"{_ROBOT}{2 * _VECTOR})"))

    @cached_property
    def mass_matrix(self) -> Kernel:
        """(q (n,), matrix (n, n))."""
        return self._tied(only_for(entries.mass_matrix, f"{_ROBOT}{_VECTOR}{_MATRIX})"))

    @cached_property
    def forward_dynamics(self) -> Kernel:
        """(q, qd, tau, qdd), each (n,)."""
        return self._tied(only_for(entries.forward_dynamics, f"{_ROBOT}{4 * _VECTOR})"))

    @cached_property
    def inverse_dynamics_derivatives(self) -> Kernel:
        """(q, qd, qdd, dq, dqd), vectors (n,) and matrices (n, n)."""
        return self._tied(only_for(entries.inverse_dynamics_derivatives, f"{_ROBOT}{3 * _VECTOR}{2 * _MATRIX})"))

    @cached_property
    def inverse_dynamics_batch(self) -> Kernel:
        """(q, qd, qdd, tau), each (count, n)."""
        return self._tied(entries.inverse_dynamics_batch)

    @cached_property
    def forward_dynamics_batch(self) -> Kernel:
        """(q, qd, tau, qdd), each (count, n)."""
        return self._tied(entries.forward_dynamics_batch)

    def _tied(self, kernel: Kernel) -> Kernel:
        return partial(kernel, self.structure, self.numbers)
