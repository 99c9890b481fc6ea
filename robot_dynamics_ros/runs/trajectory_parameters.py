"""Parameters of trajectory_node, and the trajectory defined by them; ``values`` returns a parameter's value by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.base.parameters.kinds import (
    NOT_NEGATIVE,
    POSITIVE,
    Names,
    Number,
    Numbers,
    Parameter,
    Text,
    Values,
    WholeNumber,
)
from robot_dynamics_ros.runs.generators import (
    fourier,
    point_to_point,
    quintic_then_sine,
)
from robot_dynamics_ros.runs.trajectory_file import read_trajectory_file

FROM_FILE = "file"

JOINTS = Names(
    "joints",
    [],
    "Names of the joints to move; empty: those of the first joint_states message",
)
KIND = Text(
    "trajectory.kind",
    "quintic_then_sine",
    "quintic_then_sine: to the center, then a sine about it; point_to_point: only there; fourier: along a "
    "Fourier series, from its start; file: the trajectory of a file",
    choices=("quintic_then_sine", "point_to_point", "fourier", FROM_FILE),
)
START = Numbers(
    "trajectory.start",
    [],
    "Start positions (rad or m); empty: those of joint_states",
    how_many="one for each joint",
)
CENTER = Numbers(
    "trajectory.center",
    [0.0],
    "Goal positions, and center of the sine or the series (rad or m)",
)
AMPLITUDE = Numbers("trajectory.amplitude", [0.2], "Amplitude of the sine (rad or m)")
FREQUENCY = Numbers("trajectory.frequency", [0.3], "Frequency of the sine (Hz)")
MOVE_TIME = Number(
    "trajectory.move_time",
    3.0,
    "Duration (s) of the move to the center, or to the start of the series",
    POSITIVE,
)
TOTAL_TIME = Number(
    "trajectory.total_time", 10.0, "Duration (s) of quintic_then_sine", POSITIVE
)
BASE_FREQUENCY = Number(
    "trajectory.base_frequency",
    0.1,
    "Base frequency of the Fourier series (Hz)",
    POSITIVE,
)
_COEFFICIENTS = "the same number for each joint, one joint after the other"
SINE = Numbers(
    "trajectory.sine",
    [],
    "Fourier series: a in q = center + sum a/(l w) sin(l w t) - b/(l w) cos(l w t)",
    how_many=_COEFFICIENTS,
)
COSINE = Numbers(
    "trajectory.cosine", [], "Fourier series: b (rad/s or m/s)", how_many=_COEFFICIENTS
)
CYCLES = WholeNumber(
    "trajectory.cycles", 1, "Fourier series: number of periods", 1, 100_000
)
FILE = Text(
    "trajectory.file",
    "",
    "YAML file with a JointTrajectory in the format of `ros2 topic echo`, published unchanged",
)
RATE = Number(
    "trajectory.rate",
    20.0,
    "Points per second; the controller interpolates by quintics",
    POSITIVE,
)
START_DELAY = Number(
    "trajectory.start_delay",
    0.0,
    "Delay (s) from the newest joint_states to the start, written to header.stamp, so that the start is the same in a "
    "replay; 0: start on arrival",
    NOT_NEGATIVE,
)
LISTENERS = Names(
    "listeners",
    ["computed_torque_node"],
    "Names of the nodes that have to subscribe before the trajectory is published",
    when="start",
)

ALL: tuple[Parameter[Any], ...] = tuple(
    value for value in list(globals().values()) if isinstance(value, Parameter)
)


def trajectory_of_file(values: Values) -> TrajectoryPoints:
    """Return the trajectory of the file named by the parameter trajectory.file.

    Raises RobotDynamicsError, naming parameter or file, and the cure, if the parameter is empty, or the file cannot be
    read or has no valid trajectory that ends at rest.
    """
    path = FILE.read(values)
    if not path:
        raise RobotDynamicsError(
            "parameter trajectory.file: no file. Cure: give the path of a JointTrajectory in YAML"
        )
    return read_trajectory_file(path)


def trajectory_from(
    values: Values, joint_names: Sequence[str], start: Sequence[float]
) -> TrajectoryPoints:
    """Return a generated trajectory for the n joints ``joint_names``, from ``start`` (n,), rad or m.

    By the parameter trajectory.kind it is a point-to-point motion, a sine, or a Fourier series. Raises
    RobotDynamicsError, naming the parameter, for invalid values.
    """
    center = CENTER.read(values)
    kind = KIND.read(values)
    move_time = MOVE_TIME.read(values)
    rate = RATE.read(values)
    if kind == "point_to_point":
        return point_to_point(joint_names, start, center, move_time, rate)
    if kind == "fourier":
        series = (
            SINE.read(values),
            COSINE.read(values),
            BASE_FREQUENCY.read(values),
            CYCLES.read(values),
        )
        return fourier(joint_names, start, center, *series, move_time, rate)
    sine = AMPLITUDE.read(values), FREQUENCY.read(values)
    return quintic_then_sine(
        joint_names, start, center, *sine, move_time, TOTAL_TIME.read(values), rate
    )
