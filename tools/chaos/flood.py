"""Process that publishes junk at a given rate or as fast as possible, and prints the number of messages."""

from __future__ import annotations

import argparse
import time

import rclpy
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile

from robot_dynamics_ros.ros.nodes.conversions import message_class
from tools.chaos.junk import pool

MATCHED = 10.0  # s to find a receiver


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.chaos.flood", description=__doc__)
    parser.add_argument("topics", nargs="+", metavar="TOPIC=TYPE", help="such as a=sensor_msgs/msg/JointState")
    parser.add_argument("--joints", nargs="+", default=["joint1"], help="joint names of the receiving robot")
    parser.add_argument(
        "--rate", type=float, default=50_000.0, help="messages per second on each topic (default: %(default)g)"
    )
    parser.add_argument("--seconds", type=float, default=3.0, help="(default: %(default)g)")
    options = parser.parse_args(arguments)
    rclpy.init(args=[])
    node = rclpy.create_node("flood")
    floods = [_prepared(node, *topic.split("="), options.joints) for topic in options.topics]
    print("begin", flush=True)
    count, begin = 0, time.monotonic()
    while (passed := time.monotonic() - begin) < options.seconds:
        for _ in range(max(0, min(100, round(passed * options.rate) - count))):
            for publisher, messages in floods:
                publisher.publish(messages[count % len(messages)])
            count += 1
    print(f"{count * len(floods)} messages in {time.monotonic() - begin:.3f} s", flush=True)
    rclpy.shutdown()


def _prepared(node: Node, topic: str, kind: str, joints: list[str]) -> tuple[Publisher, list[bytes]]:
    """Return a connected publisher and the messages that it can send."""
    message_type = message_class(kind)
    # robot_description is only received from latched publishers.
    durability = DurabilityPolicy.TRANSIENT_LOCAL if topic.endswith("robot_description") else None
    qos = QoSProfile(depth=10) if durability is None else QoSProfile(depth=1, durability=durability)
    publisher = node.create_publisher(message_type, topic, qos)
    deadline = time.monotonic() + MATCHED
    while publisher.get_subscription_count() == 0 and time.monotonic() < deadline:
        time.sleep(0.01)
    return publisher, [data for data in pool(message_type, joints) if _can_be_sent(publisher, data)]


def _can_be_sent(publisher: Publisher, data: bytes) -> bool:
    """Return True if the middleware accepts the message; types of fixed size have a maximum length."""
    try:
        publisher.publish(data)
    except RuntimeError:  # rclpy's RCLError is one
        return False
    return True


if __name__ == "__main__":
    main()
