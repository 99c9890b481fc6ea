"""Reading, writing and comparison of rosbags, with or without ROS."""

from robot_dynamics_ros.recordings.bags.comparison import (
    assert_bags_match,
    compare_bags,
)
from robot_dynamics_ros.recordings.bags.joint_series import (
    JointSeries,
    read_joint_states,
)
from robot_dynamics_ros.recordings.bags.reader import BagReader, read_description
from robot_dynamics_ros.recordings.bags.storage import BagWriter, Message

__all__ = [
    "BagReader",
    "BagWriter",
    "JointSeries",
    "Message",
    "assert_bags_match",
    "compare_bags",
    "read_description",
    "read_joint_states",
]
