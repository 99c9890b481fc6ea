"""Commands that act some time after they were given, as those of a bus and a drive do."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array


class EffortDelay:
    """A delay line for torques: one that is given before a step acts from ``steps`` steps later on.

    It holds until the next one acts. With 0 steps it acts at once.

    Parameters
    ----------
    steps
        How many steps of the plant a command takes on its way.
    effort
        Torque (..., n), Nm or N, that acts until the first command does.

    Raises
    ------
    RobotDynamicsError
        For a number of steps that is negative or not whole.
    """

    def __init__(self, steps: int, effort: ArrayLike) -> None:
        if not isinstance(steps, int | np.integer) or isinstance(steps, bool) or steps < 0:
            raise RobotDynamicsError(f"effort delay of {steps!r} steps. Cure: give a whole number, at least 0")
        self._steps = int(steps)
        self._acting: Array = np.array(effort, dtype=np.float64)
        self._now = 0
        self._coming: deque[tuple[int, Array]] = deque()

    def give(self, tau: ArrayLike) -> None:
        """Send a torque (..., n) on its way; of several given before the same step, the last one counts."""
        due = self._now + self._steps
        if self._coming and self._coming[-1][0] == due:
            self._coming.pop()
        self._coming.append((due, np.array(tau, dtype=np.float64)))

    def pieces(self, count: int) -> Iterator[tuple[Array, int]]:
        """The next ``count`` steps, cut where the acting torque changes: each torque (..., n) and how many steps.

        A piece counts as done when it has been handed out.
        """
        end = self._now + count
        while self._now < end:
            while self._coming and self._coming[0][0] <= self._now:
                self._acting = self._coming.popleft()[1]
            until = min(end, self._coming[0][0]) if self._coming else end
            steps, self._now = until - self._now, until
            yield self._acting, steps
