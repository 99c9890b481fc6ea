"""Kernels of a Python module that was compiled from a robot's exported C code."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from robot_dynamics_ros.dynamics.codegen.tracing import LinkPlacement
from robot_dynamics_ros.dynamics.kernels.composite_body import add_inertia
from robot_dynamics_ros.dynamics.kernels.entries import (
    OK,
    Call,
    GeneralKernels,
    Kernel,
)
from robot_dynamics_ros.dynamics.kernels.interpretation import interpreted
from robot_dynamics_ros.dynamics.kernels.layout import MASS, unpack
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray

_FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "gravity_torque", "mass_matrix")


class ExportedKernels(GeneralKernels):
    """Kernels of a module that was compiled from exported C code; the derivatives use the general kernel.

    Gravity and payload are arguments of the module's functions, so that they can change.

    Parameters
    ----------
    topology, parameters
        Flat model arrays of the robot.
    module
        The compiled module.
    bare
        ``parameters`` without the payload.
    carrier
        Placement of the payload's link.

    Attributes
    ----------
    payload
        Payload (10,) in the frame of its link; None if ``parameters`` and ``bare`` differ in more than gravity and
        payload, and the kernels are not those of the robot.
    """

    def __init__(
        self,
        topology: IntArray,
        parameters: Array,
        module: ModuleType,
        bare: Array,
        carrier: LinkPlacement,
    ) -> None:
        super().__init__(topology, parameters)
        self._module = module
        self._bare = bare
        self._carrier = carrier
        self._gravity = interpreted(unpack)(topology, parameters).gravity.copy()
        self.payload = payload_on(carrier, topology, parameters, bare)

    def with_parameters(self, parameters: Array) -> GeneralKernels:
        """Return the kernels of a robot with other parameters: general ones if more than gravity and payload differ."""
        kernels = ExportedKernels(
            self.topology, parameters, self._module, self._bare, self._carrier
        )
        return (
            GeneralKernels(self.topology, parameters)
            if kernels.payload is None
            else kernels
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _imported, (
            self.topology,
            self.parameters,
            self._module.__name__,
            self._bare,
            self._carrier,
        )

    def function(
        self,
        entry: Kernel,
        vectors: int,
        shape: tuple[int, ...],
        otherwise: Call,
        *bound: Array,
    ) -> Call:
        """Return the module's function of a state, or a general one; ``otherwise`` has the results that it refuses."""
        if entry.__name__ not in _FUNCTIONS:
            return super().function(entry, vectors, shape, otherwise, *bound)
        own, context = self._own(entry.__name__)
        function: Call = self._module.bind(own, otherwise, *context)
        return function

    def batch(self, entry: Kernel) -> Kernel:
        """Return a batched function that calls the module's."""
        general = super().batch(entry)
        function, context = self._own(entry.__name__.removesuffix("_batch"))

        def batch(*arrays: Array) -> int:
            try:
                arrays[-1][:] = function(*arrays[:-1], *context)
            except ArithmeticError:
                return general(*arrays)  # it finds the singular state
            return OK

        return batch

    def _own(self, name: str) -> tuple[Callable[..., Array], tuple[Any, ...]]:
        """Return the module's function of this name, and its arguments after the vectors."""
        context = (self._gravity, self.payload)
        return getattr(self._module, name), context[name == "mass_matrix" :]


def payload_on(
    carrier: LinkPlacement, topology: IntArray, parameters: Array, bare: Array
) -> Array | None:
    """Return the payload (10,) of a robot in the frame of its link, or None if more than gravity and payload differ.

    It is mass (kg), first moment (3), kg m, and inertia about the origin (ixx ixy ixz iyy iyz izz), kg m^2.

    ``parameters`` are the robot's, ``bare`` those of the same robot without payload.
    """
    difference = parameters - bare
    robot = interpreted(unpack)(topology, difference)
    robot.gravity[:] = 0.0
    added = np.zeros(10)
    if carrier.body >= 0:
        added += robot.bodies[carrier.body, MASS:]
        robot.bodies[carrier.body, MASS:] = 0.0
    if difference.any():
        return None
    payload = np.zeros(10)
    rotation = carrier.frame[:9].reshape(3, 3)
    position = carrier.frame[9:]
    inverse = np.concatenate([rotation.T.ravel(), -rotation.T @ position])
    interpreted(add_inertia)(inverse, added, payload)
    return payload


def _imported(
    topology: IntArray,
    parameters: Array,
    module: str,
    bare: Array,
    carrier: LinkPlacement,
) -> Any:
    return ExportedKernels(topology, parameters, import_module(module), bare, carrier)
