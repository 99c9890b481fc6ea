"""A trajectory in a file, as `ros2 topic echo` shows a trajectory_msgs/JointTrajectory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints, checked_points
from robot_dynamics_ros.errors import TrajectoryError
from robot_dynamics_ros.plain_yaml import NotPlainYaml, load_documents

_FIELDS = ("positions", "velocities", "accelerations", "effort")


def read_trajectory_file(path: str | Path) -> TrajectoryPoints:
    """Return the trajectory of a YAML file: joint_names, and points with positions and time_from_start.

    A point's velocities, accelerations and effort are optional; time_from_start is {sec, nanosec}. Anything else, the
    header for instance, is passed over. Raises TrajectoryError, naming file, point and cure, for a file that
    cannot be read or holds no such trajectory, and for a trajectory that does not end at rest.
    """
    try:
        documents = [document for document in load_documents(Path(path).read_bytes()) if document is not None]
    except OSError as problem:
        raise TrajectoryError(f"{path}: cannot read it: {problem.strerror}. Cure: check the path") from None
    except NotPlainYaml as problem:
        raise TrajectoryError(f"{path}: not plain YAML: {problem}. Cure: correct it") from None
    if len(documents) != 1:
        raise TrajectoryError(f"{path}: it holds {len(documents)} messages. Cure: leave one")
    try:
        points = _trajectory(documents[0])
        checked_points(points, allow_nonzero_velocity_at_end=False)
    except TrajectoryError as problem:
        raise TrajectoryError(f"{path}: {problem}") from None
    return points


def _trajectory(message: Any) -> TrajectoryPoints:
    if not isinstance(message, dict) or not all(isinstance(message.get(k), list) for k in ("joint_names", "points")):
        raise TrajectoryError(
            "no lists joint_names and points. Cure: write a JointTrajectory as `ros2 topic echo --full-length` shows it"
        )
    names = message["joint_names"]
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
        raise TrajectoryError(f"joint_names is {names!r}. Cure: name each joint once")
    rows: dict[str, list[list[float]]] = {field: [] for field in _FIELDS}
    times = []
    for i, point in enumerate(message["points"]):
        if not isinstance(point, dict):
            raise TrajectoryError(f"point {i} is {point!r}. Cure: give positions and time_from_start")
        times.append(_seconds(i, point.get("time_from_start")))
        for field in _FIELDS:
            rows[field].append(_numbers(i, field, point.get(field)))
        if not rows["positions"][-1]:
            raise TrajectoryError(f"point {i} has no positions. Cure: give one for each joint")
    return TrajectoryPoints.from_rows(names, times, *rows.values())


def _seconds(i: int, time: Any) -> float:
    parts = [time.get(key, 0) for key in ("sec", "nanosec")] if isinstance(time, dict) else []
    if not parts or not all(isinstance(part, int) and not isinstance(part, bool) for part in parts):
        raise TrajectoryError(f"point {i} has the time_from_start {time!r}. Cure: give {{sec: 1, nanosec: 500000000}}")
    return float(parts[0] + parts[1] * 1e-9)


def _numbers(i: int, field: str, values: Any) -> list[float]:
    if values is None:
        return []
    if isinstance(values, list):
        if "..." in values:
            raise TrajectoryError(f"point {i}: its {field} are cut short. Cure: `ros2 topic echo --full-length`")
        if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
            return [float(value) for value in values]
    raise TrajectoryError(f"point {i} has the {field} {values!r}. Cure: give a list of numbers")
