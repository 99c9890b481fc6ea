"""Plausibility of a measured state after the one before it."""

from __future__ import annotations

import math

from robot_dynamics_ros.kernels.compilation import kernel
from robot_dynamics_ros.kernels.types import Array

GOOD, UNCHANGED, OUT_OF_BOUNDS = 0, -1, -2


@kernel
def check_state(
    new: Array, last: Array, largest: float, step: Array, speed: Array, dt: float, measures_velocity: bool
) -> int:
    """Return GOOD, UNCHANGED for equal states, OUT_OF_BOUNDS for a number beyond ``largest``, or 1 + a joint.

    That joint is implausible. States (2, n) are positions and velocities, and ``dt`` (s) is the time between them; they
    are not compared where it is not positive. A position may change by ``step`` (n,) and by twice the velocity times
    ``dt``; where no velocity is measured, ``speed`` (n,) stands for twice the velocity. A velocity beyond ``speed`` has
    to move its joint. A joint with an infinite ``step`` is not compared.
    """
    unchanged, wrong, joint = True, False, GOOD
    for j in range(new.shape[1]):
        q, qd = new[0, j], new[1, j]
        wrong = wrong or not (abs(q) <= largest and abs(qd) <= largest)  # nor is NaN
        change = abs(q - last[0, j])
        unchanged = unchanged and change == 0.0 and qd == last[1, j]
        if dt > 0.0 and joint == GOOD and step[j] < math.inf:
            fastest, moves = speed[j], True
            if measures_velocity:
                fastest = 2.0 * max(abs(qd), abs(last[1, j]))
                moves = abs(qd) <= speed[j] or change >= 0.25 * abs(qd) * dt
            if change > step[j] + fastest * dt or not moves:
                joint = 1 + j
    if wrong:
        return OUT_OF_BOUNDS
    return UNCHANGED if unchanged else joint
