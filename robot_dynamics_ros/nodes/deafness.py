"""Checks of the publishers of joint_states and effort_commands: none is received, or more than one publishes."""

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
