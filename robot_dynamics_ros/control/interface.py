"""Values that enter and leave session and controller: unusable states, commands, log messages and outputs."""

from __future__ import annotations

from typing import NamedTuple

from robot_dynamics_ros.base.joint_messages import DriveCommand, TrajectoryPoints
from robot_dynamics_ros.control.laws import Motion
from robot_dynamics_ros.control.safety import Mode, Transition
from robot_dynamics_ros.control.trajectory.trajectory import Trajectory
from robot_dynamics_ros.dynamics.kernels.types import Array


class UnusableSample(NamedTuple):
    """Message that is not a valid joint state.

    Attributes
    ----------
    stamp
        Stamp of the message (ns), or 0.
    reason
        Description of the defect.
    incomplete
        True if joints are missing, as in messages for other parts of the robot.
    """

    stamp: int
    reason: str
    incomplete: bool = False


class Command(NamedTuple):
    """Result of a cycle.

    Attributes
    ----------
    mode
        Mode of the controller.
    desired
        Desired motion; the controller reuses the arrays in its next cycle.
    effort
        Commanded effort (n,), Nm or N; of drives with a loop of their own what they are expected to make at the
        measured state.
    saturated
        Names of the joints whose effort was clamped to its limit.
    drive
        Command of drives with a loop of their own; None for drives that take an effort only.
    """

    mode: Mode
    desired: Motion
    effort: Array
    saturated: tuple[str, ...]
    drive: DriveCommand | None = None


OK = 0
WARN = 1
ERROR = 2
"""Levels of diagnostic_msgs/DiagnosticStatus."""


class Note(NamedTuple):
    """Log message.

    Attributes
    ----------
    level
        OK, WARN or ERROR.
    text
        Text of the message.
    period
        Time (s) within which further messages of the same kind are suppressed; 0: none, inf: all.
    """

    level: int
    text: str
    period: float = 0.0

    @property
    def kind(self) -> str:
        """Text up to the first colon, which is the same for all messages of one kind."""
        return self.text.partition(":")[0]


class Followed(NamedTuple):
    """Accepted trajectory, with the points and the start stamp (ns) of its request, 0 for an immediate start."""

    trajectory: Trajectory
    points: TrajectoryPoints
    stamp: int


class Output(NamedTuple):
    """Result of an input: a command to publish, and events to report.

    Attributes
    ----------
    command
        Command; None: nothing is to be published.
    answered, number
        Stamp (ns) of the state for which the command was computed, None without one, and a sequence number. A repeated
        state results in the last command with the same number.
    external_torque
        External torque (n,), Nm or N, at the last state, positive in the direction of the joints; None if it is
        unknown.
    transitions
        Changes of mode since the last output.
    notes
        Log messages since the last output.
    followed
        Trajectory that was accepted, or None.
    """

    command: Command | None = None
    answered: int | None = None
    number: int = 0
    external_torque: Array | None = None
    transitions: tuple[Transition, ...] = ()
    notes: tuple[Note, ...] = ()
    followed: Followed | None = None
