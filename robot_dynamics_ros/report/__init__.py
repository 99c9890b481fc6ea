"""A recording as one page: what it holds, how well the arm tracked, with which torque, how punctually, and faults."""

from robot_dynamics_ros.report.page import write_report
from robot_dynamics_ros.report.recording import Recording, read_recording

__all__ = ["Recording", "read_recording", "write_report"]
