"""Message classes by the names of their types."""

import pytest
from sensor_msgs.msg import JointState

from robot_dynamics_ros.errors import BagError
from robot_dynamics_ros.nodes.messages import message_class


def test_a_type_that_is_installed() -> None:
    assert message_class("sensor_msgs/msg/JointState") is JointState


@pytest.mark.parametrize(
    "kind", ["nowhere_msgs/msg/Grip", "sensor_msgs/msg/Grip", "sensor_msgs/JointState", "", "../x/y"]
)
def test_one_that_is_not(kind: str) -> None:
    with pytest.raises(BagError, match="not installed"):
        message_class(kind)
