"""Estimate of the joint state, the only source of measured states for checks, laws, hold, goals and diagnostics.

Stamps are times of measurement by the ROS clock. Arrays (n,) are in the robot's joint order: positions in rad or m,
velocities in rad/s or m/s.
"""

from __future__ import annotations

import math
from enum import Enum
from typing import NamedTuple

from robot_dynamics_ros.control.safety import Fault
from robot_dynamics_ros.dynamics.kernels.types import Array


class VelocitySource(Enum):
    """Source of an estimated velocity.

    UNKNOWN: neither measured nor differentiated yet, it is 0. HELD: that of an earlier state, as the stamp repeats.
    """

    UNKNOWN = "unknown"
    MEASURED = "measured"
    DIFFERENTIATED = "differentiated"
    HELD = "held"


class Trust(Enum):
    """Trust in the estimate; the worst joint decides.

    FULL: positions and velocities agree. POSITION: measured velocities contradict the positions, or are missing for a
    while; they are differentiated instead. NONE: a position stands still although it must move, or no valid state
    arrives.
    """

    FULL = "full"
    POSITION = "position"
    NONE = "none"


class Estimate(NamedTuple):
    """Estimate of the joint state after a message or at a cycle; it never changes.

    Attributes
    ----------
    state
        Position and filtered velocity of the last valid state, (2, n); zeros before the first one.
    velocity
        Unfiltered velocity (n,).
    source
        Source of the velocity.
    known
        True after the first valid state.
    stamp
        Stamp (s) of the last valid state; -inf before the first one.
    age
        Age (s) of the last message of these joints, valid or not, in the last cycle; inf without one.
    stale
        True if that is more than ``state_timeout``.
    trust
        Trust in the state. It is NONE if the state is unknown or stale, or if neither the newest message was valid nor
        a valid state arrived since the cycle before.
    defect
        In this order: the last defect of a message since the cycle before, even if a valid one followed; that of the
        newest message; a stale state; else None.
    stamp_repeats
        True if a state since the cycle before had the stamp of the previous one.
    """

    state: Array
    velocity: Array
    source: VelocitySource = VelocitySource.UNKNOWN
    known: bool = False
    stamp: float = -math.inf
    age: float = math.inf
    stale: bool = True
    trust: Trust = Trust.NONE
    defect: Fault | None = None
    stamp_repeats: bool = False

    @property
    def valid(self) -> bool:
        """True if at least the positions may serve as feedback."""
        return self.trust is not Trust.NONE
