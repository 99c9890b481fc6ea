"""The hottest kernels, tied to one robot and generated for it."""

from __future__ import annotations

from functools import cached_property, partial

from robot_dynamics_ros.codegen.customised import customised_batch, customised_kernel
from robot_dynamics_ros.codegen.tracing import (
    FORWARD_DYNAMICS,
    GRAVITY_TORQUE,
    INVERSE_DYNAMICS,
    MASS_MATRIX,
    Algorithm,
)
from robot_dynamics_ros.kernels.general import GeneralKernels, Kernel
from robot_dynamics_ros.kernels.types import Floats, Ints


class CustomisedKernels(GeneralKernels):
    """As GeneralKernels, but compiled for this robot's tree, placements, couplings, rotors and gravity.

    Each is generated when it is first asked for. The derivatives, and forward dynamics where it cannot be traced
    (see tracing), stay the general ones.
    """

    def __init__(
        self, structure: Ints, numbers: Floats, made: dict[tuple[Algorithm, bool], Kernel | None] | None = None
    ) -> None:
        super().__init__(structure, numbers)
        self._made = {} if made is None else made

    def with_numbers(self, numbers: Floats) -> CustomisedKernels:
        """Return the kernels of a robot that differs in its bodies' inertia only; nothing is compiled again."""
        return CustomisedKernels(self.structure, numbers, self._made)

    @cached_property
    def inverse_dynamics(self) -> Kernel:
        """(q, qd, qdd, tau), each (n,)."""
        return self._customised(INVERSE_DYNAMICS) or super().inverse_dynamics

    @cached_property
    def gravity_torque(self) -> Kernel:
        """(q, tau), each (n,)."""
        return self._customised(GRAVITY_TORQUE) or super().gravity_torque

    @cached_property
    def mass_matrix(self) -> Kernel:
        """(q (n,), matrix (n, n))."""
        return self._customised(MASS_MATRIX) or super().mass_matrix

    @cached_property
    def forward_dynamics(self) -> Kernel:
        """(q, qd, tau, qdd), each (n,)."""
        return self._customised(FORWARD_DYNAMICS) or super().forward_dynamics

    @cached_property
    def inverse_dynamics_batch(self) -> Kernel:
        """(q, qd, qdd, tau), each (count, n)."""
        return self._customised(INVERSE_DYNAMICS, batch=True) or super().inverse_dynamics_batch

    @cached_property
    def forward_dynamics_batch(self) -> Kernel:
        """(q, qd, tau, qdd), each (count, n)."""
        return self._customised(FORWARD_DYNAMICS, batch=True) or super().forward_dynamics_batch

    def _customised(self, algorithm: Algorithm, *, batch: bool = False) -> Kernel | None:
        key = (algorithm, batch)
        if key not in self._made:
            make = customised_batch if batch else customised_kernel
            self._made[key] = make(algorithm, self.structure, self.numbers)
        kernel = self._made[key]
        return None if kernel is None else partial(kernel, self.numbers)
