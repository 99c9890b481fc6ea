"""Fields of any message as named values, for comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from robot_dynamics_ros.bags.storage import JOINT_STATE, JOINT_TRAJECTORY, message_types
from robot_dynamics_ros.messages.joint_state import Renaming

_SHORT = 32  # elements of arrays that are a field each
_POINT_FIELDS = ("positions", "velocities", "accelerations", "effort")


def known(kind: str) -> bool:
    """Return True if messages of this type can be decoded."""
    return kind in message_types().fielddefs


def has_stamp(kind: str) -> bool:
    """Return True if messages of this type begin with a std_msgs/Header."""
    fields = message_types().fielddefs[kind][1] if known(kind) else []
    return bool(fields) and fields[0][0] == "header" and fields[0][1][1] == "std_msgs/msg/Header"


def contents(data: bytes, kind: str, rename: Renaming) -> dict[str, Any]:
    """Return the fields of a message: floating-point numbers as arrays (k,), all others as they are.

    Names are paths such as ``transforms[0].transform.translation.x``; joints are named: ``panda_joint1
    position``. Long arrays, and the points of a trajectory, are one field. The stamp is left out, as messages are
    paired by it. A message that cannot be decoded is its bytes.
    """
    try:
        message: Any = message_types().deserialize_cdr(data, kind)
    except Exception:  # an unknown type, or whatever broken bytes lead to
        return {"bytes": data}
    fields: dict[str, Any] = {}
    if kind == JOINT_STATE:
        _joint_state(message, rename, fields)
    elif kind == JOINT_TRAJECTORY:
        _trajectory(message, rename, fields)
    else:
        _flatten(message, "", fields)
    return fields


def unique(names: Sequence[str]) -> list[str]:
    """Number names that occur twice."""
    counts, repeats = Counter(names), Counter[str]()
    numbered = []
    for name in names:
        repeats[name] += 1
        numbered.append(name if counts[name] == 1 else f"{name} ({repeats[name]})")
    return numbered


def without_number(frame_id: str) -> str:
    """Return a frame_id, empty where it is the running number of a command: recordings begin at different ones."""
    return "" if len(frame_id) == 10 and frame_id.isdecimal() else frame_id


def _joint_state(message: Any, rename: Renaming, fields: dict[str, Any]) -> None:
    names = unique([rename(name) for name in message.name])
    fields["header.frame_id"] = without_number(message.header.frame_id)
    for field in ("position", "velocity", "effort"):
        values = getattr(message, field)
        if len(values) == len(names):
            fields.update({f"{name} {field}": np.array([value]) for name, value in zip(names, values, strict=True)})
        else:
            _flatten_value(values, field, fields)


def _trajectory(message: Any, rename: Renaming, fields: dict[str, Any]) -> None:
    names = unique([rename(name) for name in message.joint_names])
    fields["header.frame_id"] = message.header.frame_id
    times = [point.time_from_start for point in message.points]
    fields["time_from_start"] = [(time.sec, time.nanosec) for time in times]
    for field in _POINT_FIELDS:
        rows = [getattr(point, field) for point in message.points]
        if all(len(row) == len(names) for row in rows):
            table = np.array(rows, dtype=np.float64).reshape(len(rows), len(names))
            fields.update({f"{name} {field}": table[:, k].copy() for k, name in enumerate(names)})
        else:
            for i, row in enumerate(rows):
                _flatten_value(row, f"points[{i}].{field}", fields)


def _flatten(message: Any, path: str, fields: dict[str, Any]) -> None:
    for field in message.__dataclass_fields__:
        if field != "__msgtype__" and not (path == "header" and field == "stamp"):
            _flatten_value(getattr(message, field), f"{path}.{field}" if path else field, fields)


def _flatten_value(value: Any, path: str, fields: dict[str, Any]) -> None:
    if isinstance(value, float):
        fields[path] = np.array([value])
    elif isinstance(value, np.ndarray):
        if value.dtype.kind != "f":
            fields[path] = (value.dtype.str, value.tobytes()) if len(value) > _SHORT else value.tolist()
        elif len(value) > _SHORT:
            fields[path] = value.astype(np.float64)
        else:
            numbers = value.astype(np.float64)
            fields.update({f"{path}[{i}]": numbers[i : i + 1] for i in range(len(numbers))})
    elif isinstance(value, list) and value and hasattr(value[0], "__dataclass_fields__"):
        for i, item in enumerate(value):
            _flatten(item, f"{path}[{i}]", fields)
    elif hasattr(value, "__dataclass_fields__"):
        _flatten(value, path, fields)
    else:
        fields[path] = value
