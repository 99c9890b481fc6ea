"""effort_commands as the bytes that DDS carries (see cdr): a Float64MultiArray without dimensions and offset."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.messages.cdr import LITTLE_ENDIAN

FLOAT64_MULTI_ARRAY = "std_msgs/msg/Float64MultiArray"


class EffortWriter:
    """Writes efforts of n joints."""

    def __init__(self, n: int) -> None:
        self._before = LITTLE_ENDIAN + struct.pack("<III", 0, 0, n) + bytes(4)

    def write(self, effort: NDArray[np.float64]) -> bytes:
        """Return the message of efforts (n,), Nm or N."""
        return self._before + effort.tobytes()
