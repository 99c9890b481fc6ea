"""What can go wrong in a cycle, and how it is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from robot_dynamics_ros.kernels.types import Array


class Cause(str, Enum):
    """Why a check failed; the values are what /diagnostics and bags show."""

    STATE_INVALID = "state_invalid"
    STATE_STALE = "state_stale"
    STATE_IMPLAUSIBLE = "state_implausible"
    STAMP_REPEATS = "stamp_repeats"
    CLOCK_JUMPED_BACK = "clock_jumped_back"
    CLOCK_JUMPED_AHEAD = "clock_jumped_ahead"
    POSITION_LIMIT = "position_limit"
    VELOCITY_LIMIT = "velocity_limit"
    FOLLOWING_ERROR = "following_error"
    SATURATION = "saturation"
    COLLISION = "collision"
    CYCLE_RATE = "cycle_rate"
    TORQUE_NOT_FINITE = "torque_not_finite"
    EMERGENCY_STOP = "emergency_stop"
    DEACTIVATED = "deactivated"


@dataclass(frozen=True)
class Fault:
    """A failed check: its cause, the joint and the number that failed it ("" and nan: none), and a sentence."""

    cause: Cause
    message: str
    joint: str = ""
    value: float = float("nan")


def first_not_finite(names: Sequence[str], values: Array) -> tuple[str, float] | None:
    """Return name and number of the first of ``values`` (n,) that is not finite, or None."""
    finite = np.isfinite(values)
    if finite.all():
        return None
    j = int(np.argmin(finite))
    return names[j], float(values[j])
