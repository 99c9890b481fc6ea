"""Trajectory files: a JointTrajectory as YAML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from robot_dynamics_ros.base.errors import TrajectoryError, did_you_mean
from robot_dynamics_ros.base.joint_messages import FIELDS, TrajectoryPoints
from robot_dynamics_ros.base.parameters.kinds import is_number
from robot_dynamics_ros.base.plain_yaml import NotPlainYaml, load_documents
from robot_dynamics_ros.control.trajectory.points import checked_points
from robot_dynamics_ros.dynamics.kernels.types import Array

_MESSAGE = ("header", "joint_names", "points")
_POINT = (*FIELDS, "time_from_start")
_TIME = ("sec", "nanosec")


def read_trajectory_file(path: str | Path) -> TrajectoryPoints:
    """Read a trajectory_msgs/JointTrajectory from a YAML file.

    Required are joint_names, and for each point positions (rad or m) and time_from_start {sec, nanosec}. Velocities,
    accelerations and effort of a point are optional; the header is ignored.

    Raises TrajectoryError, naming file, point and cure, if the file cannot be read, is not such a trajectory, has
    unknown keys, or the trajectory does not end at rest.
    """
    try:
        text = Path(path).read_bytes()
        documents = [
            document
            for document in load_documents(text, str(path))
            if document is not None
        ]
    except OSError as error:
        raise TrajectoryError(
            f"{path}: cannot read it: {error.strerror}. Cure: check the path"
        ) from None
    except NotPlainYaml as error:
        raise TrajectoryError(
            f"{path}: not plain YAML: {error}. Cure: correct the file"
        ) from None
    if len(documents) != 1:
        raise TrajectoryError(f"{path}: {len(documents)} messages. Cure: keep one")
    try:
        points = _trajectory(documents[0])
        checked_points(points, allow_nonzero_velocity_at_end=False)
    except TrajectoryError as error:
        raise TrajectoryError(f"{path}: {error}") from None
    return points


def write_trajectory_file(points: TrajectoryPoints, path: Path) -> None:
    """Write the positions, velocities and accelerations of ``points`` to ``path`` as a JointTrajectory in YAML.

    An existing file is replaced. Raises OSError if it cannot be written.
    """
    rows = []
    for k, t in enumerate(points.times.tolist()):
        sec, nanosec = divmod(round(t * 1e9), 1_000_000_000)
        row: dict[str, Any] = {"time_from_start": {"sec": sec, "nanosec": nanosec}}
        for field in FIELDS[:3]:
            values = getattr(points, field)
            if values is not None:
                row[field] = values[k].tolist()
        rows.append(row)
    path.write_text(
        yaml.safe_dump({"joint_names": list(points.joint_names), "points": rows}),
        encoding="utf-8",
    )


def _trajectory(message: Any) -> TrajectoryPoints:
    if not isinstance(message, dict) or not all(
        isinstance(message.get(k), list) for k in ("joint_names", "points")
    ):
        raise TrajectoryError(
            "no lists joint_names and points. Cure: write a JointTrajectory as `ros2 topic echo --full-length` shows "
            "it; give a parameter file, as robot_dynamics excite writes it, with --config"
        )
    _check_keys(message, _MESSAGE, "the trajectory")
    names = message["joint_names"]
    listed = all(isinstance(name, str) for name in names)
    if not (names and listed and len(set(names)) == len(names)):
        raise TrajectoryError(f"joint_names is {names!r}. Cure: list each joint once")
    points = message["points"]
    times = []
    for i, point in enumerate(points):
        if not isinstance(point, dict):
            raise TrajectoryError(
                f"point {i} is {point!r}. Cure: give positions and time_from_start"
            )
        _check_keys(point, _POINT, f"point {i}")
        times.append(_seconds(i, point.get("time_from_start")))
    fields = {field: _field(field, points, len(names)) for field in FIELDS}
    given = {field: table for field, table in fields.items() if table is not None}
    return TrajectoryPoints(tuple(names), np.array(times), **given)


def _field(field: str, points: list[dict[str, Any]], n: int) -> Array | None:
    """Return the numbers (m, n) of a field of m points; None for another one than the positions that no point has."""
    rows = [_numbers(i, field, point.get(field)) for i, point in enumerate(points)]
    if field != "positions" and not any(rows):
        return None
    for i, row in enumerate(rows):
        if len(row) != n:
            raise TrajectoryError(
                f"point {i} has {len(row)} {field} for {n} joint names. Cure: give one value for each joint in every "
                f"point, or omit {field} in all points"
            )
    return np.reshape(rows, (len(rows), n))


def _seconds(i: int, time: Any) -> float:
    table = time if isinstance(time, dict) else {}
    _check_keys(table, _TIME, f"point {i}: time_from_start")
    sec, nanosec = (table.get(key, 0) for key in _TIME)
    whole = all(type(value) is int for value in (sec, nanosec))  # False for a bool
    if not (table and whole and 0 <= sec < 2**31 and 0 <= nanosec < 10**9):
        raise TrajectoryError(
            f"point {i} has the time_from_start {time!r}. Cure: give {{sec: 1, nanosec: 500000000}}"
        )
    return float(sec + nanosec * 1e-9)


def _check_keys(table: Mapping[Any, Any], known: Sequence[str], where: str) -> None:
    for key in map(str, table):
        if key not in known:
            raise TrajectoryError(
                f'{where} has the unknown key "{key}". Cure: use {", ".join(known)}{did_you_mean(key, known)}'
            )


def _numbers(i: int, field: str, values: Any) -> list[float]:
    if values is None:
        return []
    if isinstance(values, list):
        if "..." in values:
            raise TrajectoryError(
                f"point {i}: {field} are truncated. Cure: use `ros2 topic echo --full-length`"
            )
        if all(is_number(value) for value in values):
            return [float(value) for value in values]
    raise TrajectoryError(
        f"point {i} has the {field} {values!r}. Cure: give a list of numbers"
    )
