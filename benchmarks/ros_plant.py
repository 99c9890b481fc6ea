"""Measuring side of the loop: publishes joint_states at 1 kHz and receives the efforts."""

from __future__ import annotations

import time
from array import array
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from rclpy.clock import Clock, ClockType  # type: ignore[attr-defined]
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from benchmarks.robots import Floats

PERIOD_NS = 1_000_000
# consecutive ticks with an outstanding command after which the plant waits for it
BEHIND = 10
PATIENCE = 100  # ticks that it waits
IDLE_TICKS = 100  # between two states for nodes that are not being measured


class Turn(NamedTuple):
    """Round trip times (s) in order of reception; numbers of cycles, and of cycles without a timely response."""

    trips: Floats
    cycles: int
    unanswered: int


class RoundTrips:
    """Assignment of commands to states. Times are in nanoseconds of one clock.

    An effort command does not identify its state, but commands are received in the order of the states, one for each. A
    command therefore belongs to the oldest state without one. After a loss a command stays outstanding: BEHIND ticks
    later no states are sent until all commands are received, and PATIENCE ticks later the missing ones count as lost.
    Each of these ticks is a cycle without a response.
    """

    def __init__(self) -> None:
        # send times of the states without a command
        self._pending: deque[int] = deque()
        self._behind = 0
        self.start_counting()

    def start_counting(self) -> None:
        """Discard the results so far, but keep outstanding commands."""
        self._trips = array("q")
        self._cycles = self._unsent = self._lost = 0

    @property
    def outstanding(self) -> bool:
        """True if a command is outstanding."""
        return bool(self._pending)

    def tick(self) -> bool:
        """Begin a cycle; return True if its state is to be sent."""
        self._cycles += 1
        self._behind = self._behind + 1 if self._pending else 0
        if self._behind > BEHIND + PATIENCE:
            self.give_up()
        if self._behind > BEHIND:
            self._unsent += 1
        return self._behind <= BEHIND

    def send(self, now: int) -> None:
        """Register that the state is sent."""
        self._pending.append(now)

    def answer(self, now: int) -> None:
        """Register a received command."""
        if self._pending:
            self._trips.append(now - self._pending.popleft())

    def give_up(self) -> None:
        """Count outstanding commands as lost."""
        self._lost += len(self._pending)
        self._pending.clear()
        self._behind = 0

    def result(self) -> Turn:
        """Return the results since ``start_counting``."""
        trips = np.array(self._trips, dtype=np.float64)
        late = int(np.count_nonzero(trips > PERIOD_NS))
        return Turn(1e-9 * trips, self._cycles, late + self._lost + self._unsent)


class PlantEcho:
    """Publisher of a constant state of the arm on ``/<kind>/joint_states``, for each kind of node in turn.

    The response is a message on ``/<kind>/effort_commands``. Kinds that are not being measured get ten states a second,
    right after a received command, because a controller without states would report a fault.

    Attributes
    ----------
    received
        Kinds of nodes that have responded.
    commands
        Last message on ``/<kind>/command_states`` of each kind that publishes it.
    """

    def __init__(
        self,
        node: Node,
        executor: Executor,
        kinds: Sequence[str],
        names: Sequence[str],
        q: Floats,
        effort: Floats,
    ) -> None:
        """Publish that the joints ``names`` are at rest at ``q`` (n,) with ``effort`` (n,)."""
        self._executor = executor
        self._state = JointState(
            name=list(names),
            position=q.tolist(),
            velocity=[1e-9] * len(names),
            effort=effort.tolist(),
        )
        self._publishers = {
            kind: node.create_publisher(
                JointState, f"/{kind}/joint_states", QoSProfile(depth=10)
            )
            for kind in kinds
        }
        self.received: set[str] = set()
        self.commands: dict[str, JointState] = {}
        self._trips = RoundTrips()
        self._kind: str | None = None
        self._sending = self._idle_due = False
        self._ticks = 0
        # A long queue, so that a delay of this process loses no command.
        answers = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)
        for kind in kinds:
            node.create_subscription(
                Float64MultiArray,
                f"/{kind}/effort_commands",
                partial(self._receive, kind),
                answers,
            )
            keep = partial(self.commands.__setitem__, kind)
            node.create_subscription(
                JointState, f"/{kind}/command_states", keep, answers
            )
        node.create_timer(
            1e-9 * PERIOD_NS, self._tick, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )

    def spin(self, seconds: float) -> None:
        """Run the loop for ``seconds``."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            self._executor.spin_once(timeout_sec=left)

    def begin(self, kind: str) -> None:
        """Begin to measure this kind of node."""
        self._kind = kind
        self._sending = True

    def start_counting(self) -> None:
        """Discard the results so far."""
        self._trips.start_counting()

    def end(self) -> Turn:
        """End the measurement, wait for outstanding commands, and return the results."""
        self._sending = False
        end = time.monotonic() + 1e-9 * PERIOD_NS * PATIENCE
        while self._trips.outstanding and time.monotonic() < end:
            self.spin(1e-9 * PERIOD_NS)
        self._trips.give_up()
        self._kind = None
        return self._trips.result()

    def _receive(self, kind: str, message: Float64MultiArray) -> None:
        now = time.perf_counter_ns()
        self.received.add(kind)
        if kind == self._kind:
            self._trips.answer(now)
            if self._idle_due:
                self._send_to_idle()

    def _tick(self) -> None:
        self._ticks += 1
        self._idle_due |= self._ticks % IDLE_TICKS == 0
        if self._kind is None:
            if self._idle_due:
                self._send_to_idle()
        elif self._sending and self._trips.tick():
            self._date()
            self._trips.send(time.perf_counter_ns())
            self._publishers[self._kind].publish(self._state)

    def _send_to_idle(self) -> None:
        self._idle_due = False
        self._date()
        for kind, publisher in self._publishers.items():
            if kind != self._kind:
                publisher.publish(self._state)

    def _date(self) -> None:
        self._state.velocity[0] *= -1.0  # as the last digit of an encoder changes
        at = self._state.header.stamp
        at.sec, at.nanosec = divmod(time.time_ns(), 1_000_000_000)
