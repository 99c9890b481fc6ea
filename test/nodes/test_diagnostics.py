"""Messages for /diagnostics."""

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.serialization import deserialize_message, serialize_message

from robot_dynamics_ros.nodes.diagnostics import ERROR, OK, STALE, WARN, diagnostics_message


def test_levels_are_those_of_the_message_definition() -> None:
    """diagnostic_msgs/msg/DiagnosticStatus: OK=0 WARN=1 ERROR=2 STALE=3, of type byte."""
    assert [OK, WARN, ERROR, STALE] == [b"\x00", b"\x01", b"\x02", b"\x03"]


def test_message_arrives_as_it_was_sent() -> None:
    values: dict[str, object] = {"law": "pd", "cycles": 5, "joints": ("a", "b")}
    sent = diagnostics_message(Time(sec=3, nanosec=7), "arm: controller", "panda", ERROR, "hold: stale", values)
    got = deserialize_message(serialize_message(sent), DiagnosticArray)
    assert (got.header.stamp.sec, got.header.stamp.nanosec) == (3, 7)
    (status,) = got.status
    assert (status.level, status.name, status.message, status.hardware_id) == (
        ERROR,
        "arm: controller",
        "hold: stale",
        "panda",
    )
    assert [(pair.key, pair.value) for pair in status.values] == [("law", "pd"), ("cycles", "5"), ("joints", "a, b")]
