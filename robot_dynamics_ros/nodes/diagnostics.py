"""Messages for /diagnostics, in the form that rqt_robot_monitor and diagnostic_aggregator read."""

from __future__ import annotations

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from robot_dynamics_ros.control.status import plain

# Bytes: that is what rclpy makes of the message's type byte.
OK: bytes = DiagnosticStatus.OK
WARN: bytes = DiagnosticStatus.WARN
ERROR: bytes = DiagnosticStatus.ERROR
STALE: bytes = DiagnosticStatus.STALE


def diagnostics_message(
    stamp: Time, name: str, hardware_id: str, level: bytes, message: str, values: dict[str, object]
) -> DiagnosticArray:
    """Return one status; ``values`` become texts, see ``plain``.

    By convention ``name`` is "<node name>: <what>" and ``hardware_id`` the robot's name (REP 107 and
    diagnostic_updater).
    """
    pairs = [KeyValue(key=key, value=plain(value)) for key, value in values.items()]
    status = DiagnosticStatus(level=level, name=name, message=message, hardware_id=hardware_id, values=pairs)
    result = DiagnosticArray(status=[status])
    result.header.stamp = stamp
    return result
