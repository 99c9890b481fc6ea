"""The types of messages that bags hold, as rosbags knows them."""

from __future__ import annotations

from functools import cache
from typing import Any

from rosbags.typesys import Stores, get_typestore
from rosbags.typesys.store import Typestore

JOINT_STATE = "sensor_msgs/msg/JointState"
DIAGNOSTIC_ARRAY = "diagnostic_msgs/msg/DiagnosticArray"
BOOL = "std_msgs/msg/Bool"
TEXT = "std_msgs/msg/String"


@cache
def message_types() -> Typestore:
    """Return the types of the newest ROS 2; the first call takes a tenth of a second, which --help need not."""
    return get_typestore(Stores.LATEST)


def text_message(text: str) -> bytes:
    """Return a serialized std_msgs/String."""
    store: Any = message_types()
    return bytes(store.serialize_cdr(store.types[TEXT](data=text), TEXT))
