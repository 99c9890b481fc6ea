"""Process that publishes junk on topics, or calls a service, and prints the number of messages or calls.

Junk consists of random bytes and of well-formed messages with invalid content, in equal parts. Well-formed messages
must not be valid commands, because a receiver has to execute valid commands from any sender: all their numbers are not
finite, or negative where they are integers. Calls must be refused or have no effect.
"""

from __future__ import annotations

import argparse
import math
import re
import time
from collections.abc import Sequence
from typing import Any

import hypothesis.strategies as st
import rclpy
from hypothesis.strategies import SearchStrategy
from rcl_interfaces.srv import SetParameters
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.serialization import serialize_message
from std_srvs.srv import Trigger

from robot_dynamics_ros.recordings.messages.cdr import LITTLE_ENDIAN
from robot_dynamics_ros.ros.conversions import message_class
from robot_dynamics_ros.ros.nodes.node_program import make_executor
from tools.fuzz.inputs import run_all

# s, limit for finding a receiver or service, and for the last responses
PATIENCE = 10.0
WAITING = 100  # maximum number of pending calls
COUNT = 200  # messages of a type, which are sent again and again

NUMBERS = st.sampled_from((math.nan, math.inf, -math.inf))
TEXTS = st.sampled_from(
    ("", "world", "panda_link7", "\u00fc" * 50, "../../etc", "x" * 5000, "<robot><link", "<robot name='x'/>",
     "<!DOCTYPE a [<!ENTITY b 'c'>]><a/>")
)  # fmt: skip


def junk(kind: Any, names: Sequence[str]) -> list[bytes]:
    """Return messages of a type for a robot with these joints, always the same ones."""
    found: list[bytes] = []
    absurd = _messages(kind, names).map(serialize_message)
    noise = st.binary(min_size=12, max_size=300).map(lambda data: LITTLE_ENDIAN + data)
    cut = absurd.flatmap(
        lambda data: st.integers(4, len(data)).map(lambda end: data[:end])
    )
    run_all(
        st.booleans().flatmap(lambda whole: absurd if whole else noise | cut),
        found.append,
        COUNT,
        0,
    )
    return found


def _messages(kind: Any, names: Sequence[str]) -> SearchStrategy[Any]:
    return st.builds(
        kind,
        **{
            name: _values(of, names)
            for name, of in kind.get_fields_and_field_types().items()
        },
    )


def _values(kind: str, names: Sequence[str]) -> SearchStrategy[Any]:
    """Return values of a field; half of the lists of texts are the joints, half of the others have as many elements."""
    if match := re.fullmatch(r"sequence<([\w/]+)>", kind):
        values = _values(match[1], names)
        count = min(len(names), 3) if "/" in match[1] else len(names)
        usual = (
            st.just(list(names))
            if match[1] == "string"
            else st.lists(values, min_size=count, max_size=count)
        )
        return usual | st.lists(values, max_size=3 if "/" in match[1] else 200)
    if "/" in kind:
        return _messages(message_class(kind.replace("/", "/msg/")), names)
    if kind in ("string", "double", "float"):
        return TEXTS if kind == "string" else NUMBERS
    return (
        st.integers(0, 2**32 - 1) if kind.startswith("u") else st.integers(-(2**31), -1)
    )


def publish(node: Node, options: argparse.Namespace) -> str:
    """Publish junk on all topics; return the number of messages as text."""
    floods = [
        _prepared(node, *topic.split("="), options.joints) for topic in options.targets
    ]
    print("begin", flush=True)
    count = 0
    begin = time.monotonic()
    while (passed := time.monotonic() - begin) < options.seconds:
        for _ in range(max(0, min(100, round(passed * options.rate) - count))):
            for publisher, messages in floods:
                publisher.publish(messages[count % len(messages)])
            count += 1
    return f"{count * len(floods)} messages in {time.monotonic() - begin:.3f} s"


def _prepared(
    node: Node, topic: str, kind: str, joints: list[str]
) -> tuple[Publisher, list[bytes]]:
    """Return a connected publisher and the messages that it can send."""
    message_type = message_class(kind)
    # robot_description is only received from latched publishers.
    durability = (
        DurabilityPolicy.TRANSIENT_LOCAL
        if topic.endswith("robot_description")
        else None
    )
    qos = (
        QoSProfile(depth=10)
        if durability is None
        else QoSProfile(depth=1, durability=durability)
    )
    publisher = node.create_publisher(message_type, topic, qos)
    deadline = time.monotonic() + PATIENCE
    while publisher.get_subscription_count() == 0 and time.monotonic() < deadline:
        time.sleep(0.01)
    return publisher, [
        data for data in junk(message_type, joints) if _can_be_sent(publisher, data)
    ]


def _can_be_sent(publisher: Publisher, data: bytes) -> bool:
    """Return True if the middleware accepts the message; types of fixed size have a maximum length."""
    try:
        publisher.publish(data)
    except RuntimeError:  # rclpy's RCLError is one
        return False
    return True


def call(node: Node, options: argparse.Namespace) -> str:
    """Call a service as fast as possible; return the number of calls and responses as text."""
    kind = Trigger
    request = Trigger.Request()
    service = options.targets[0]
    if service.endswith("set_parameters"):
        bad = Parameter("gains.natural_frequency", value=math.nan).to_parameter_msg()
        kind = SetParameters
        request = SetParameters.Request(parameters=[bad])
    executor = make_executor()
    executor.add_node(node)
    client = node.create_client(kind, service)
    if not client.wait_for_service(PATIENCE):
        raise SystemExit(f"{service} has no server")
    answers: list[float] = []
    print("begin", flush=True)
    count = 0
    begin = time.monotonic()
    while time.monotonic() - begin < options.seconds:
        waits = count - len(answers) >= WAITING
        if not waits:
            client.call_async(request).add_done_callback(
                lambda future: answers.append(time.monotonic())
            )
            count += 1
        executor.spin_once(timeout_sec=0.01 if waits else 0.0)
    seconds = time.monotonic() - begin
    while (
        len(answers) < count and time.monotonic() - begin < options.seconds + PATIENCE
    ):
        executor.spin_once(timeout_sec=0.1)
    return f"{count} calls in {seconds:.3f} s, {len(answers)} responses"


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.chaos.flood", description=__doc__
    )
    parser.add_argument(
        "targets",
        nargs="+",
        metavar="TARGET",
        help="topics with types, such as a=std_msgs/msg/String",
    )
    parser.add_argument(
        "--joints",
        nargs="+",
        default=["joint1"],
        help="joint names of the receiving robot",
    )
    parser.add_argument(
        "--rate", type=float, default=50_000.0, help="messages per second on each topic"
    )
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    rclpy.init(args=[])
    send = publish if "=" in options.targets[0] else call
    print(send(rclpy.create_node("flood"), options), flush=True)
    rclpy.shutdown()


if __name__ == "__main__":
    main()
