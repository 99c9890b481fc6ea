"""Simulated bad network between plant and controller, run as a separate process.

It forwards joint_states, effort_commands and /clock as bytes. Parameters change its behaviour at run time, see
``SETTINGS``.
"""

from __future__ import annotations

import random
import sched
import struct
import threading
import time
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics_ros.ros.nodes.node_program import NodeProgram, run

SETTINGS = {
    "delay": 0.0,  # s, of each message
    "jitter": 0.0,  # s, largest additional delay; the order is kept
    "dropped": 0.0,  # share of the messages
    "doubled": 0.0,  # share that is repeated after KEPT_BACK
    "reordered": 0.0,  # share that is delayed by KEPT_BACK, out of order
    "stamp_offset": 0.0,  # s added to the stamps of joint_states
    "clock_offset": 0.0,  # s added to the times of /clock
    "clock_stopped": 0.0,  # not 0: /clock is not forwarded
}
KEPT_BACK = 0.01  # s: five periods of 500 Hz
STARTED = 100.0  # s, time on /clock when the plant starts, so that it can jump back
FROM_PLANT = "plant/joint_states"
FROM_CONTROLLER = "controller/effort_commands"
PLANT_CLOCK = "plant/clock"

_STAMP = struct.Struct("<iI")
_HEADER = 4


class Line:
    """Arrival times of the messages of one direction, in seconds of one clock."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._last = 0.0

    def arrivals(self, now: float, settings: dict[str, float]) -> list[float]:
        """Return the arrival times of a message that is sent at ``now``: none, one or two."""
        chance = self._random.random
        if chance() < settings["dropped"]:
            return []
        due = self._last = max(
            now + settings["delay"] + settings["jitter"] * chance(), self._last
        )
        if chance() < settings["reordered"]:
            return [due + KEPT_BACK]
        return [due, due + KEPT_BACK] if chance() < settings["doubled"] else [due]


def shifted(data: bytes, seconds: float) -> bytes:
    """Return a little-endian message that begins with a time or a header, with the time shifted by ``seconds``."""
    sec, nanosec = _STAMP.unpack_from(data, _HEADER)
    at = sec * 1_000_000_000 + nanosec + round(seconds * 1e9)
    return (
        data[:_HEADER]
        + _STAMP.pack(*divmod(at, 1_000_000_000))
        + data[_HEADER + _STAMP.size :]
    )


class NetworkNode(NodeProgram):
    """Node that forwards the messages of plant and controller late, twice, or not at all."""

    def __init__(self) -> None:
        super().__init__("network")
        self._settings = dict(SETTINGS)
        for name, value in SETTINGS.items():
            self.declare_parameter(name, value)
        self.add_on_set_parameters_callback(self._set)
        self._late = sched.scheduler(time.monotonic)
        self._changed = threading.Event()
        self._sender = threading.Thread(target=self._send, daemon=True)
        self._connect(JointState, FROM_PLANT, "joint_states", 1)
        self._connect(Float64MultiArray, FROM_CONTROLLER, "effort_commands", 2)
        self._connect_clock()
        self._sender.start()

    def _connect_clock(self) -> None:
        """Forward /clock at once, changed, or not at all."""
        publisher = self.create_publisher(Clock, "/clock", QoSProfile(depth=1))

        def receive(data: bytes) -> None:
            if not self._settings["clock_stopped"]:
                publisher.publish(
                    shifted(data, STARTED + self._settings["clock_offset"])
                )

        self.create_subscription(
            Clock, PLANT_CLOCK, receive, QoSProfile(depth=1), raw=True
        )

    def _connect(self, kind: Any, source: str, target: str, seed: int) -> None:
        publisher = self.create_publisher(kind, target, QoSProfile(depth=10))
        line = Line(seed)

        def receive(data: bytes) -> None:
            now = time.monotonic()
            settings = self._settings
            if kind is JointState and settings["stamp_offset"]:
                data = shifted(data, settings["stamp_offset"])
            arrivals = line.arrivals(now, settings)
            if arrivals == [now]:
                publisher.publish(data)
                return
            for due in arrivals:
                self._late.enterabs(due, 0, publisher.publish, (data,))
            self._changed.set()

        self.create_subscription(kind, source, receive, QoSProfile(depth=10), raw=True)

    def _send(self) -> None:
        """Publish messages that are due, in a thread of its own, independent of timer periods."""
        while not self.done:
            self._changed.clear()
            self._changed.wait(self._late.run(blocking=False) or 0.1)

    def _set(self, changes: list[Parameter[Any]]) -> SetParametersResult:
        self._settings = self._settings | {
            change.name: float(change.value) for change in changes
        }
        return SetParametersResult(successful=True)

    def close(self) -> None:
        """Stop the sender."""
        self.done = True
        self._sender.join()


if __name__ == "__main__":
    run(NetworkNode, ())
