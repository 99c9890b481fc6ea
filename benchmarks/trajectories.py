"""Benchmark of reading a trajectory in the controller: from the serialized message to the one with effort.

``python -m benchmarks.trajectories`` prints the table of docs/benchmarks.md; ``--write FILE`` updates it.
Before the timing, the serialized messages must be equal to those of rclpy.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np
from rclpy.serialization import deserialize_message, serialize_message
from rclpy.utilities import get_rmw_implementation_identifier
from tqdm import tqdm
from trajectory_msgs.msg import JointTrajectory

from benchmarks.document import machine, markdown_table, print_report, report_parser
from benchmarks.robots import Floats, shipped
from benchmarks.timing import Timed, available_cores, bound_to, interleaved
from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.control.trajectory.trajectory import Trajectory
from robot_dynamics_ros.control.trajectory.trajectory_effort import trajectory_effort
from robot_dynamics_ros.recordings.messages.joint_trajectory import (
    read_trajectory,
    write_trajectory,
)
from robot_dynamics_ros.ros.conversions import trajectory_message
from robot_dynamics_ros.runs.generators import point_to_point

COMMAND = "python -m benchmarks.trajectories"
PART = "make bench-trajectories"

POINTS = (1, 200, 1000)
GIVEN = ("positions", "velocities", "accelerations")
MEASURED = ("positions", "accelerations")  # the last field that points have
ROUNDS = 15
BLOCK = 20  # calls in a turn
BLOCK_POINTS = 1000  # maximum number of points of these calls
CYCLE = 2e-3  # seconds, at 500 Hz
CYCLE_POINTS = 200
SMOOTHING = 0.01
# s, default of trajectory_effort_period, longer than the time between points
PERIOD = 0.02

RCLPY_READ = "rclpy: read"
RCLPY_WRITE = "rclpy: write"
READ = "read_trajectory"
FROM_POINTS = "Trajectory.from_points"
EFFORT = "trajectory_effort"
WRITE = "write_trajectory"
TOGETHER = "these four together"
STEPS = (RCLPY_READ, RCLPY_WRITE, READ, FROM_POINTS, EFFORT, WRITE, TOGETHER)

Times = Mapping[tuple[int, str], Mapping[str, Floats]]
"""Seconds a call in each round: number of points and their last field, step."""


class Controller:
    """Operations of the node on a trajectory message, for the shipped Panda with Coulomb friction at rest."""

    def __init__(self) -> None:
        self.model = shipped("panda", "panda_coulomb")
        self.start = 0.5 * (self.model.position_lower + self.model.position_upper)

    def follow(self, points: TrajectoryPoints) -> Trajectory:
        """Return the interpolated trajectory from the robot's position."""
        state = np.vstack((self.start, np.zeros((3, self.model.n))))
        return Trajectory.from_points(points, self.model.joint_names, 0.0, state)

    def filled(
        self, trajectory: Trajectory, points: TrajectoryPoints
    ) -> TrajectoryPoints:
        """Return the points with effort, friction included."""
        *_, result = trajectory_effort(
            self.model, trajectory, points.joint_names, PERIOD, SMOOTHING
        )
        assert result is not None
        return result

    def take_in(self, data: bytes) -> bytes:
        """Perform all operations on a serialized message and return the serialized result."""
        stamp, points = read_trajectory(data)
        return write_trajectory(stamp, self.filled(self.follow(points), points))


def message(controller: Controller, count: int, last: str) -> JointTrajectory:
    """Return a minimum-jerk motion of ``count`` points, 0.01 s apart, with the fields up to ``last``."""
    goal = controller.start + 0.2
    whole = point_to_point(
        controller.model.joint_names, controller.start, goal, 0.01 * count, 100.0
    )
    fields = [getattr(whole, field)[1:] for field in GIVEN[: GIVEN.index(last) + 1]]
    made = trajectory_message(
        TrajectoryPoints(whole.joint_names, whole.times[1:], *fields)
    )
    assert len(made.points) == count
    return made


def read_by_rclpy(data: bytes) -> TrajectoryPoints:
    """Deserialize with rclpy and convert the message objects to arrays."""
    made = deserialize_message(data, JointTrajectory)
    times = [
        p.time_from_start.sec + p.time_from_start.nanosec * 1e-9 for p in made.points
    ]
    tables = [[getattr(p, field) for p in made.points] for field in GIVEN]
    fields = (np.array(rows) if len(rows[0]) else None for rows in tables)
    return TrajectoryPoints(tuple(made.joint_names), np.array(times), *fields)


def write_by_rclpy(points: TrajectoryPoints) -> bytes:
    """Convert arrays to message objects and serialize with rclpy."""
    return bytes(serialize_message(trajectory_message(points)))


def steps(controller: Controller, count: int, last: str) -> dict[str, Timed]:
    """Return each operation and its arguments for one message.

    Exits if our serialized messages differ from those of rclpy.
    """
    made = message(controller, count, last)
    data = bytes(serialize_message(made))
    _, points = read_trajectory(data)
    trajectory = controller.follow(points)
    filled = controller.filled(trajectory, points)
    expected = read_by_rclpy(data)
    same = all(
        np.array_equal(getattr(points, field), getattr(expected, field))
        for field in ("times", *GIVEN, "effort")
    )
    by_rclpy = deserialize_message(write_by_rclpy(filled), JointTrajectory)
    if (
        not same
        or deserialize_message(controller.take_in(data), JointTrajectory) != by_rclpy
    ):
        raise SystemExit(
            f"{count} points up to {last}: our serialized messages differ from rclpy's; nothing is timed. "
            "Cure: find the wrong library"
        )
    return {
        RCLPY_READ: Timed(read_by_rclpy, [(data,)]),
        RCLPY_WRITE: Timed(write_by_rclpy, [(filled,)]),
        READ: Timed(read_trajectory, [(data,)]),
        FROM_POINTS: Timed(controller.follow, [(points,)]),
        EFFORT: Timed(controller.filled, [(trajectory, points)]),
        WRITE: Timed(write_trajectory, [(0, filled)]),
        TOGETHER: Timed(controller.take_in, [(data,)]),
    }


def run() -> Times:
    """Compare, then time each kind of message on one core; shows a progress bar."""
    times: dict[tuple[int, str], Mapping[str, Floats]] = {}
    with bound_to(available_cores(1)):
        controller = Controller()
        for count, last in tqdm([*product(POINTS, MEASURED)], leave=False):
            timed = steps(controller, count, last)
            times[count, last] = interleaved(
                timed, ROUNDS, max(1, min(BLOCK, BLOCK_POINTS // count))
            )
    return times


def table(times: Times) -> str:
    """Return a table of median times (ms), a column for each operation."""
    rows = [["points", "fields up to", *STEPS]]
    for (count, last), by_step in times.items():
        cells = [f"{1e3 * float(np.median(by_step[step])):.3g}" for step in STEPS]
        rows.append([f"{count:,}", last, *cells[:-1], f"**{cells[-1]}**"])
    return markdown_table(rows)


def report(times: Times) -> str:
    """Return the results of ``run`` as Markdown."""
    longest = max(
        float(np.median(times[CYCLE_POINTS, last][TOGETHER])) for last in MEASURED
    )
    return f"""\
Machine: {machine(("numba", "numpy"))}, {get_rmw_implementation_identifier()}. Command: `{COMMAND}`.

Medians of {ROUNDS} rounds in which the steps take turns, on one core, in milliseconds; the shipped Panda with friction.
{CYCLE_POINTS} points take up to {1e3 * longest:.2g} ms: {100 * longest / CYCLE:.0f} % of a cycle at {1 / CYCLE:.0f} Hz.

{table(times)}
"""


if __name__ == "__main__":
    print_report(
        report_parser(COMMAND, __doc__).parse_args(), lambda: report(run()), PART
    )
