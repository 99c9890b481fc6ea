"""Reports: one HTML page about a recording, with a verdict, faults, tracking, torque and timing."""

from robot_dynamics_ros.analysis.report.page import write_report
from robot_dynamics_ros.analysis.report.recording import Recording, read_recording

__all__ = ["Recording", "read_recording", "write_report"]
