"""What comes on /clock: times before 1970 are left out, and where there is a flood, everything for a second.

rclpy takes 2 ms to refuse such a time. Its events executor keeps an event for each message, however many there are.
"""

from __future__ import annotations

import math
import struct
import time
from collections.abc import Callable
from typing import Any

from builtin_interfaces.msg import Time
from rclpy.subscription import Subscription
from rclpy.timer import Timer
from rosgraph_msgs.msg import Clock

from robot_dynamics_ros.messages.cdr import BYTE_ORDERS, HEADER
from robot_dynamics_ros.nodes.bounded_log import BoundedLog
from robot_dynamics_ros.nodes.polled_inputs import PolledInputs, waiting

_WINDOW = 0.1  # s
_MOST = 1000  # messages in that time: ten times what fast simulations publish
_JUNK = 10  # as many messages one counts that is no time
_PAUSE = 1.0  # s


class ClockInput:
    """Stands between /clock, as bytes, and what rclpy does with a time."""

    def __init__(self, node: PolledInputs, receive: Callable[[Clock], None]) -> None:
        """``receive``: the callback of rclpy's time source."""
        self._node = node
        self._receive = receive
        self._log = BoundedLog(node.get_logger())
        self._begin, self._count = -math.inf, 0
        self._pause: Timer | None = None
        self.subscription: Subscription[Any] | None = None

    def poll(self) -> None:
        """Take in what waits, where no executor does."""
        if self.subscription is not None:
            for data, _ in waiting(self.subscription, _MOST):
                self.receive(data)

    def receive(self, data: bytes) -> None:
        """Take a message in."""
        if self._pause is not None:  # events from before it
            return
        sec, nanosec = _read_time(data)
        self._count += 1 if sec >= 0 else _JUNK
        if self._count > _MOST and self._is_flood():
            self._begin_pause()
        elif sec >= 0:
            self._receive(Clock(clock=Time(sec=sec, nanosec=nanosec)))
        else:
            self._log.error(
                f"/clock: {sec} s, before 1970, is ignored. Cure: see who publishes it", throttle_duration_sec=1.0
            )

    def _is_flood(self) -> bool:
        """Whether so many messages came in a short time; begin to count anew."""
        begin, self._begin, self._count = self._begin, time.monotonic(), 0
        return self._begin - begin < _WINDOW

    def _begin_pause(self) -> None:
        assert self.subscription is not None
        rate = _MOST / _WINDOW
        self._log.error(
            f"/clock: a flood of over {rate:g} messages a second, or of {rate / _JUNK:g} that are no times, is ignored "
            f"for {_PAUSE:g} s. Cure: see who publishes it"
        )
        self._node.poll_from_now(self.subscription)
        self._pause = self._node.create_steady_timer(_PAUSE, self._end_pause)

    def _end_pause(self) -> None:
        assert self._pause is not None and self.subscription is not None
        self._node.destroy_timer(self._pause)
        self._pause = None
        self._node.wait_from_now(self.subscription)


def _read_time(data: bytes) -> tuple[int, int]:
    """Return seconds and nanoseconds of a serialized time; -1 s where there is none."""
    order = BYTE_ORDERS.get(data[:2])
    if order is None or len(data) < HEADER + 8:
        return -1, 0
    sec, nanosec = struct.unpack_from(order + "iI", data, HEADER)
    return sec, nanosec
