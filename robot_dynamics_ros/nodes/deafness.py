"""What to say where somebody publishes joint_states and nothing comes."""

from __future__ import annotations

from rclpy.node import Node

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
