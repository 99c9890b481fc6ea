"""The hottest kernels, tied to one robot and generated for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial

from robot_dynamics_ros.codegen.customised import customised_batch, customised_kernel
from robot_dynamics_ros.codegen.tracing import (
    FORWARD_DYNAMICS,
    GRAVITY_TORQUE,
    INVERSE_DYNAMICS,
    MASS_MATRIX,
    Algorithm,
)
from robot_dynamics_ros.kernels.direct_calls import direct_call
from robot_dynamics_ros.kernels.general import Call, GeneralKernels, Kernel
from robot_dynamics_ros.kernels.types import Array, IntArray

_Make = Callable[[Algorithm, IntArray, Array], "Kernel | None"]


class CustomisedKernels(GeneralKernels):
    """As GeneralKernels, but compiled for this robot's tree, placements, couplings, rotors and gravity.

    Each is generated when it is first asked for. The derivatives, and forward dynamics where it cannot be traced
    (see tracing), stay the general ones.
    """

    customised = True

    def __init__(
        self, structure: IntArray, numbers: Array, made: dict[tuple[Algorithm, _Make], Kernel | None] | None = None
    ) -> None:
        super().__init__(structure, numbers)
        self._made = {} if made is None else made

    def with_numbers(self, numbers: Array) -> CustomisedKernels:
        """Return the kernels of a robot that differs in its bodies' inertia only; nothing is compiled again."""
        return CustomisedKernels(self.structure, numbers, self._made)

    @cached_property
    def inverse_dynamics(self) -> Call:
        """(q, qd, qdd, tau), each (n,)."""
        kernel = self._made_once(INVERSE_DYNAMICS, customised_kernel)
        return super().inverse_dynamics if kernel is None else direct_call(kernel, (self.numbers,), (1, 1, 1, 1))

    @cached_property
    def gravity_torque(self) -> Call:
        """(q, tau), each (n,)."""
        kernel = self._made_once(GRAVITY_TORQUE, customised_kernel)
        return super().gravity_torque if kernel is None else direct_call(kernel, (self.numbers,), (1, 1))

    @cached_property
    def mass_matrix(self) -> Call:
        """(q (n,), matrix (n, n))."""
        kernel = self._made_once(MASS_MATRIX, customised_kernel)
        return super().mass_matrix if kernel is None else direct_call(kernel, (self.numbers,), (1, 2))

    @cached_property
    def forward_dynamics(self) -> Call:
        """(q, qd, tau, qdd), each (n,)."""
        kernel = self._made_once(FORWARD_DYNAMICS, customised_kernel)
        return super().forward_dynamics if kernel is None else direct_call(kernel, (self.numbers,), (1, 1, 1, 1))

    @cached_property
    def inverse_dynamics_batch(self) -> Kernel:
        """(q, qd, qdd, tau), each (count, n)."""
        kernel = self._made_once(INVERSE_DYNAMICS, customised_batch)
        return super().inverse_dynamics_batch if kernel is None else partial(kernel, self.numbers)

    @cached_property
    def forward_dynamics_batch(self) -> Kernel:
        """(q, qd, tau, qdd), each (count, n)."""
        kernel = self._made_once(FORWARD_DYNAMICS, customised_batch)
        return super().forward_dynamics_batch if kernel is None else partial(kernel, self.numbers)

    def _made_once(self, algorithm: Algorithm, make: _Make) -> Kernel | None:
        key = (algorithm, make)
        if key not in self._made:
            self._made[key] = make(algorithm, self.structure, self.numbers)
        return self._made[key]
