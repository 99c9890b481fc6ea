"""Checks of the publishers of joint_states and effort_commands: none is received, or more than one publishes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rclpy.clock import Clock, ClockType  # type: ignore[attr-defined]
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription
from rclpy.timer import Timer

PATIENCE = 3.0  # s from the activation on: discovery takes a moment


def why_deaf(node: Node, topic: str, seconds: float) -> str:
    """Return cause and cure where ``topic`` has publishers and nothing has come in so many seconds, else nothing."""
    publishers = node.count_publishers(topic)
    if seconds < PATIENCE or publishers == 0:
        return ""
    name = node.resolve_topic_name(topic)
    return (
        f"{name} has {publishers} {'publisher' if publishers == 1 else 'publishers'}, but nothing has come in "
        f"{seconds:.0f} s. Cure: see that it publishes (`ros2 topic hz {name}`); where this node was killed before "
        "(kill -9), the shared memory between the two may be broken: end this node in order and start it again, else "
        "start the publisher again, too"
    )


def other_publishers(node: Node) -> str:
    """Return cause and cure where others publish effort_commands, or more than one joint_states, else nothing."""
    texts, me = [], node.get_fully_qualified_name()
    for topic in ("effort_commands", "joint_states"):
        if node.count_publishers(topic) < 2:  # a tenth of the time that their names take
            continue
        infos = node.get_publishers_info_by_topic(topic)
        names = sorted(f"{info.node_namespace.rstrip('/')}/{info.node_name}" for info in infos)
        if len(names) > 1:  # discovery counts a publisher before it knows the name
            if me in names:
                names.remove(me)
            texts.append(f"{node.resolve_topic_name(topic)} is to have one publisher, others are {', '.join(names)}")
    return f"{'; '.join(texts)}. Cure: end all but one publisher of each" if texts else ""


_MOST_AT_ONCE = 10  # of one topic


class PolledInputs(Node):
    """A node some of whose topics are polled: before each cycle, and now and then where no cycle comes."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._polled: list[Subscription[Any]] = []
        super().__init__(*arguments, **options)

    @property
    def subscriptions(self) -> Iterator[Subscription[Any]]:
        """What an executor waits for."""
        return (subscription for subscription in super().subscriptions if subscription not in self._polled)

    def create_polled(
        self, kind: Any, topic: str, receive: Callable[[Any], None], qos: QoSProfile, raw: bool = True
    ) -> Subscription[Any]:
        """Subscribe to a topic that is polled; arguments as for ``create_subscription``."""
        subscription = self.create_subscription(kind, topic, receive, qos, raw=raw)
        self.poll_from_now(subscription)
        return subscription

    def create_steady_timer(self, period: float, callback: Callable[[], None]) -> Timer:
        """A timer (s) that goes on where simulated time stands still, or never begins."""
        return self.create_timer(period, callback, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def poll_from_now(self, subscription: Subscription[Any]) -> None:
        """Take a subscription from the executor."""
        self._polled.append(subscription)
        if self.executor is not None:
            self.executor.wake()

    def wait_from_now(self, subscription: Subscription[Any]) -> None:
        """Give a subscription back to the executor, unless it is destroyed."""
        if subscription in self._polled:
            self._polled.remove(subscription)
        if self.executor is not None:
            self.executor.wake()

    def destroy_subscription(self, subscription: Subscription[Any]) -> bool:
        """Take it out of the graph; whether it was there."""
        if subscription in self._polled:
            self._polled.remove(subscription)
        return bool(super().destroy_subscription(subscription))

    def poll(self) -> None:
        """Let callbacks have the messages that wait, the oldest ones first and a few of each topic at most."""
        for subscription in self._polled:
            receive: Any = subscription.callback
            for message, _ in waiting(subscription, _MOST_AT_ONCE):
                receive(message)


def waiting(subscription: Subscription[Any], most: int) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """Take the messages that wait, the oldest ones first, with what the middleware tells of each."""
    take: Any = subscription.handle.take_message
    for _ in range(most):
        taken = take(subscription.msg_type, subscription.raw)
        if taken is None:  # as nearly always, after 0.3 us
            return
        yield taken
