"""Player node: publishes the messages of a bag once, with the timing with which they were received."""

from __future__ import annotations

import threading
import time
import warnings
from functools import partial
from typing import Any

from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from robot_dynamics_ros.base.errors import BagError, BagWarning, printable
from robot_dynamics_ros.base.parameters.kinds import (
    POSITIVE,
    Names,
    Number,
    Parameter,
    Text,
)
from robot_dynamics_ros.recordings.bags.reader import BagReader, require_topics
from robot_dynamics_ros.ros.conversions import message_class
from robot_dynamics_ros.ros.nodes.node_program import NodeProgram, run
from robot_dynamics_ros.ros.thresholds import (
    ACKNOWLEDGE_TIMEOUT,
    CONNECTION_SETTLING_TIME,
)

INPUT = Text(
    "input", "", "Path of the bag: its folder, or one of its files", when="start"
)
RATE = Number(
    "rate",
    1.0,
    "Playback rate; 2.0 is twice as fast as recorded",
    POSITIVE,
    when="start",
)
TOPICS = Names(
    "topics",
    [],
    "Topics to play; empty: all whose message type is installed",
    when="start",
)
LISTENERS = Names(
    "listeners",
    [],
    "Names of nodes that must have subscribed before playback begins",
    when="start",
)

ALL: tuple[Parameter[Any], ...] = (INPUT, RATE, TOPICS, LISTENERS)


class PlayerNode(NodeProgram):
    """Node that plays a bag and then ends.

    It starts when all subscribers are connected, none has been added for a second, and the nodes of the parameter
    ``listeners`` have subscribed, for which it waits without a time limit. Topics that were recorded as latched
    (transient local) are published as latched. Messages that are late by the steady clock are published at once.
    """

    def __init__(self, **options: Any) -> None:
        """Open the bag; ``options`` are keyword arguments of ``rclpy.node.Node``.

        Raises BagError if the bag cannot be read, and for unknown topics and message types.
        """
        super().__init__("player", ALL, **options)
        if not INPUT.read(self.values):
            raise BagError(
                "parameter input: it is empty. Cure: set it to the path of a bag"
            )
        self._rate = RATE.read(self.values)
        self._listeners = set(LISTENERS.read(self.values))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", BagWarning)
            self._bag = BagReader(INPUT.read(self.values))
        for warning in caught:
            self.get_logger().warning(printable(str(warning.message)))
        self._outlets = self._make_publishers(list(TOPICS.read(self.values)))
        self._connected: list[tuple[int, int]] = []
        self._since = time.monotonic()
        self._ended = threading.Event()
        # callbacks must not delay messages
        self._player = threading.Thread(target=self._play)
        self.create_timer(0.1, self._play_when_connected)

    def _make_publishers(self, topics: list[str]) -> dict[str, Any]:
        require_topics(self._bag, topics)
        publishers = {}
        for topic in topics or self._bag.topics:
            try:
                kind = message_class(self._bag.topics[topic])
            except BagError as error:
                if topics:
                    raise
                self.get_logger().warning(printable(f"{topic} is not played: {error}"))
                continue
            qos = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
            if topic in self._bag.latched:
                qos.durability = DurabilityPolicy.TRANSIENT_LOCAL
            publishers[topic] = self.create_publisher(kind, topic, qos)
        if not publishers:
            raise BagError(
                f"{self._bag.path}: no topic to play. Cure: install the packages of its message types"
            )
        return publishers

    def _play_when_connected(self) -> None:
        if self._player.ident is not None:
            return
        names: set[str] = set()
        connected = []
        unmatched = []
        for publisher in self._outlets.values():
            ends = self.get_subscriptions_info_by_topic(publisher.topic_name)
            names.update(end.node_name for end in ends)
            connected.append((len(ends), publisher.get_subscription_count()))
            if connected[-1][1] < len(ends):
                unmatched.append(publisher.topic_name)
        if connected != self._connected:
            self._connected = connected
            self._since = time.monotonic()
        if missing := self._listeners - names:
            self.get_logger().info(
                f"waiting for {', '.join(sorted(missing))} to subscribe",
                throttle_duration_sec=5.0,
            )
        elif time.monotonic() - self._since < CONNECTION_SETTLING_TIME:
            return
        elif unmatched and self._listeners:
            self.get_logger().info(
                f"waiting for a connection on {', '.join(unmatched)}",
                throttle_duration_sec=5.0,
            )
        else:
            self._player.start()

    def _play(self) -> None:
        topics = list(self._outlets)
        self.get_logger().info(
            f"playing {self._bag.count(topics)} messages on {', '.join(topics)}"
        )
        try:
            count = self._send_all(topics)
        except BagError as error:
            self.fail(error)
            return
        for publisher in self._outlets.values():
            if not publisher.wait_for_all_acked(Duration(seconds=ACKNOWLEDGE_TIMEOUT)):
                self.get_logger().warning(
                    f"{publisher.topic_name}: not every subscriber acknowledged all messages"
                )
        self.get_logger().info(f"played {count} messages")
        self.done = True

    def _send_all(self, topics: list[str]) -> int:
        """Publish each message when it is due, and return the number of messages."""
        count = 0
        first = 0
        start = 0.0
        for message in self._bag.messages(topics):
            if count == 0:
                first = message.received
                start = time.monotonic()
            due = start + (message.received - first) * 1e-9 / self._rate
            if self._ended.wait(max(0.0, due - time.monotonic())):
                break
            if message.kind == self._bag.topics[message.topic]:
                self._outlets[message.topic].publish(message.data)
            count += 1
        return count

    def close(self) -> None:
        """Stop playback and close the bag."""
        self._ended.set()
        if self._player.ident is not None:
            self._player.join()
        self._bag.close()


main = partial(run, PlayerNode, ALL)

if __name__ == "__main__":
    main()
