"""Finding a topic in a bag by what it is for."""

from __future__ import annotations

from collections.abc import Iterable

from robot_dynamics_ros.bags.message_types import BOOL, TEXT
from robot_dynamics_ros.bags.reader import BagReader
from robot_dynamics_ros.errors import BagError
from robot_dynamics_ros.parameters.configuration import TOPIC

_COMPANIONS = {"joint_states": {"robot_description": TEXT}, "command_states": {TOPIC: TEXT, "emergency_stop": BOOL}}


def companions(topics: Iterable[str]) -> dict[str, str]:
    """Return the latched topics of the robot and the controller whose ``topics`` are recorded, with their types."""
    parts = [topic.rpartition("/") for topic in topics]
    return {
        f"{parent}/{companion}": kind
        for parent, _, name in parts
        for companion, kind in _COMPANIONS.get(name, {}).items()
    }


def find_topic(reader: BagReader, name: str, kind: str, given: str | None = None) -> str | None:
    """Return the topic ``given``, else the only one whose last part is ``name``; None where there is none.

    ``kind`` is its type, such as ``sensor_msgs/msg/JointState``. Raises BagError, naming the bag's topics and the
    cure, where the given topic is not there, has another type, or several would do.
    """
    if given is not None:
        topic = given if given.startswith("/") else f"/{given}"
        if topic not in reader.topics:
            there = sorted(other for other, its_kind in reader.topics.items() if its_kind == kind)
            alike = f"name one of {', '.join(there)}" if there else f"record a topic of {kind}"
            raise BagError(f"{reader.path}: no messages on {topic}. Cure: {alike}")
    else:
        found = [topic for topic in reader.topics if topic.rsplit("/", 1)[-1] == name]
        fit = [topic for topic in found if reader.topics[topic] == kind] or found
        if not fit:
            return None
        if len(fit) > 1:
            raise BagError(f"{reader.path}: which {name}? Cure: name one of {', '.join(sorted(fit))}")
        topic = fit[0]
    if reader.topics[topic] != kind:
        raise BagError(f"{reader.path}: {topic} holds {reader.topics[topic]}, not {kind}. Cure: name another topic")
    return topic
