"""Recorder node: writes the messages of topics, as received, to an MCAP bag."""

from __future__ import annotations

import struct
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosbags.interfaces import Qos

from robot_dynamics_ros.base.errors import BagError, RobotDynamicsError
from robot_dynamics_ros.base.parameters.kinds import Names, Parameter, Text
from robot_dynamics_ros.recordings.bags import BagWriter
from robot_dynamics_ros.recordings.bags.reader import CONFIGURATION_TOPIC, companions
from robot_dynamics_ros.recordings.bags.storage import BOOL, LATCHED, RELIABLE
from robot_dynamics_ros.recordings.messages.cdr import CdrReader
from robot_dynamics_ros.ros.conversions import message_class
from robot_dynamics_ros.ros.nodes.node_program import NodeProgram, run
from robot_dynamics_ros.ros.thresholds import LAST_MESSAGES_TIME, RECORDER_QUEUE
from robot_dynamics_ros.runs.configuration import Configuration

OUTPUT = Text(
    "output", "", "Folder of the new bag, which must not exist yet", when="start"
)
TOPICS = Names(
    "topics",
    [],
    "Topics to record. With a topic joint_states also robot_description, with a topic command_states also "
    "configuration, emergency_stop and brakes_engaged of the same namespace and the configured emergency_stop_topics "
    "are recorded if they are published",
    when="start",
)
ALL: tuple[Parameter[Any], ...] = (OUTPUT, TOPICS)


class RecorderNode(NodeProgram):
    """Node that records topics with the times of reception, until it is interrupted.

    It starts when all topics exist, for which it waits without a time limit. On a terminal it prints the
    number of messages of each topic five times a second. The file is flushed every second, so that a killed process
    loses at most the last second.
    """

    def __init__(self, **options: Any) -> None:
        """Create the node; ``options`` are keyword arguments of ``rclpy.node.Node``.

        Raises BagError if the parameter ``output`` or ``topics`` is empty, or the folder exists.
        """
        super().__init__("recorder", ALL, **options)
        self._writer: BagWriter | None = None
        self._topics = [
            self.resolve_topic_name(name) for name in TOPICS.read(self.values)
        ]
        self._output = OUTPUT.read(self.values)
        if not self._output or not self._topics:
            raise BagError("parameters output and topics: one is empty. Cure: set both")
        if Path(self._output).exists():
            raise BagError(
                f"{self._output}: it exists already. Cure: set the parameter output to a new folder"
            )
        self._companions = companions(self._topics)
        self._counts = dict.fromkeys(self._topics, 0)
        self._recorded: set[str] = set()
        self._begin = 0.0
        self.create_steady_timer(0.2, self._update)
        self.create_steady_timer(1.0, lambda: self._save(BagWriter.flush))

    def _update(self) -> None:
        if self._writer is None:
            self._open_when_all_exist()
        self._save(self._add_companions)
        if self._writer is not None and sys.stderr.isatty():
            counts = "  ".join(
                f"{topic} {count}" for topic, count in self._counts.items()
            )
            print(
                f"\r{time.monotonic() - self._begin:8.1f} s  {counts} ",
                end="",
                file=sys.stderr,
                flush=True,
            )

    def _open_when_all_exist(self) -> None:
        kinds = {
            name: kinds[0]
            for name, kinds in self.get_topic_names_and_types()
            if name in self._counts
        }
        if len(kinds) < len(self._counts):
            missing = sorted(set(self._counts) - set(kinds))
            self.get_logger().info(
                f"waiting for {', '.join(missing)}", throttle_duration_sec=5.0
            )
            return
        try:
            classes = {topic: message_class(kind) for topic, kind in kinds.items()}
            self._writer = BagWriter(
                self._output, kinds, {topic: self._offers(topic) for topic in kinds}
            )
        except BagError as error:
            self.fail(error)
            return
        for topic, kind in classes.items():
            self._subscribe(topic, kind)
        self._begin = time.monotonic()
        self.get_logger().info(f"recording {', '.join(kinds)}; press Ctrl-C to stop")

    def _add_companions(self, writer: BagWriter) -> None:
        for topic, kind in self._companions.items():
            publishers = self.get_publishers_info_by_topic(topic)
            if topic not in self._recorded and any(
                info.topic_type == kind for info in publishers
            ):
                writer.add_topic(topic, kind, self._offers(topic))
                self._counts[topic] = 0
                self._subscribe(topic, message_class(kind))

    def _offers(self, topic: str) -> list[Qos]:
        """Return the QoS to record: that of a latched topic if all publishers keep their messages, else the default."""
        infos = self.get_publishers_info_by_topic(topic)
        kept = DurabilityPolicy.TRANSIENT_LOCAL
        is_latched = infos and all(one.qos_profile.durability == kept for one in infos)
        return [LATCHED if is_latched else RELIABLE]

    def _subscribe(self, topic: str, kind: Any) -> None:
        """Subscribe with the strictest reliability and durability that are compatible with all publishers."""
        offers = [info.qos_profile for info in self.get_publishers_info_by_topic(topic)]
        qos = QoSProfile(depth=RECORDER_QUEUE, reliability=ReliabilityPolicy.RELIABLE)
        if any(offer.reliability == ReliabilityPolicy.BEST_EFFORT for offer in offers):
            qos.reliability = ReliabilityPolicy.BEST_EFFORT
        if self._offers(topic) == [LATCHED]:
            qos.durability = DurabilityPolicy.TRANSIENT_LOCAL
        self.create_subscription(
            kind, topic, partial(self._record, topic), qos, raw=True
        )
        self._recorded.add(topic)

    def _record(self, topic: str, data: bytes) -> None:
        at = time.time_ns()
        self._save(lambda writer: writer.write(topic, at, data))
        self._counts[topic] += 1
        if topic in self._companions and topic.endswith(f"/{CONFIGURATION_TOPIC}"):
            self._companions |= dict.fromkeys(_emergency_stops(data), BOOL)

    def _save(self, work: Callable[[BagWriter], None]) -> None:
        """Call ``work`` with the bag's writer if it is open; a BagError ends the node."""
        if self._writer is None or self.error is not None:
            return
        try:
            work(self._writer)
        except BagError as error:
            self.fail(error)

    def close(self) -> None:
        """Complete the bag and report its content."""
        self.spin_until(
            lambda: False, LAST_MESSAGES_TIME if self._writer is not None else 0.0
        )
        self._save(BagWriter.close)
        if self.error is not None:
            return
        if self._writer is None:
            self.get_logger().warning(
                f"nothing recorded: not all of {', '.join(self._topics)} were published"
            )
        else:
            lines = [f"{count:10d}  {topic}" for topic, count in self._counts.items()]
            print(
                "\n".join(["", *lines, f"written to {self._output}"]), file=sys.stderr
            )


def _emergency_stops(data: bytes) -> tuple[str, ...]:
    """Return the names in emergency_stop_topics of a serialized ~/configuration; none if it cannot be parsed."""
    with suppress(struct.error, ValueError, RobotDynamicsError):
        configuration = Configuration.parse(CdrReader(data).text())
        if configuration is not None:
            return configuration.emergency_stop_topics
    return ()


main = partial(run, RecorderNode, ALL)

if __name__ == "__main__":
    main()
