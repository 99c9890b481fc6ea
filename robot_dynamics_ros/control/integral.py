"""The integral of the position error, for laws that take it."""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.kernels.types import Array


class ErrorIntegral:
    """Integral of e over time (n,), rad s or m s, that does not wind up while efforts are limited.

    Conditional integration: Astrom and Hagglund, Advanced PID Control (2006), 3.5. A joint's integral stands still
    while a limit cuts its own torque and its error would push it further; inertia couples joints, but the
    diagonal of M is positive, so that an error always raises its own joint's torque.

    Attributes
    ----------
    value
        The integral, always the same array.
    """

    def __init__(self, n: int) -> None:
        self.value: Array = np.zeros(n)
        self._step = np.empty(n)

    def reset(self) -> None:
        """Forget everything."""
        self.value[:] = 0.0

    def keep_torque(self, ki: Array, new: Array) -> None:
        """Go on with a ``new`` gain (n,) in place of ``ki`` (n,) without a step of their product, but to zero."""
        self.value *= np.divide(ki, new, out=np.zeros_like(ki), where=new > 0.0)

    def add(self, error: Array, dt: float, cut: Array) -> None:
        """Add ``error`` (n,) over ``dt`` (s), after a cycle whose limits have ``cut`` off effort (n,), Nm or N."""
        np.multiply(error, dt, out=self._step)
        self._step[cut * error > 0.0] = 0.0
        self.value += self._step
