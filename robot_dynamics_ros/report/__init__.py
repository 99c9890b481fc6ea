"""A recording as one page: what it holds, how well the arm tracked, with which torque, how punctually, and faults."""

from robot_dynamics_ros.report.recording import Recording, read_recording
from robot_dynamics_ros.report.writing import write_report

__all__ = ["Recording", "read_recording", "write_report"]
