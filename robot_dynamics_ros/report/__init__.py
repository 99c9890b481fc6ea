"""Report on a recording as one page: contents, tracking, torque, timing and faults."""

from robot_dynamics_ros.report.page import write_report
from robot_dynamics_ros.report.recording import Recording, read_recording

__all__ = ["Recording", "read_recording", "write_report"]
