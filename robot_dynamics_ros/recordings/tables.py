"""Recordings in tables: text, MAT, NPZ and NPY files, and a YAML file that describes their columns (docs/import.md).

The content of a file is a mapping of arrays by name, of which MAT files can have some in structs. Text and NPY files
have one table, "", and its columns "1" to "k"; text has them also by the names in its header.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics_ros.base.errors import (
    BagError,
    RobotDynamicsError,
    require_known,
    use_one_of,
)
from robot_dynamics_ros.base.files import read_bytes
from robot_dynamics_ros.base.plain_yaml import load_yaml
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.recordings.messages.joint_state import FIELDS

COMMANDED = "commanded_"
"""Beginning of the keys of commanded quantities; the rest is one of ``FIELDS``."""

_POSITION = {
    "rad": 1.0,
    "deg": math.pi / 180.0,
    "turn": 2.0 * math.pi,
    "m": 1.0,
    "mm": 1e-3,
}
_UNITS = {
    "time": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9},
    "position": _POSITION,
    "velocity": {f"{unit}/s": value for unit, value in _POSITION.items()},
    "effort": {"Nm": 1.0, "mNm": 1e-3, "N": 1.0, "A": 1.0, "mA": 1e-3},
}
_QUANTITIES = ("time", *FIELDS, *(COMMANDED + field for field in FIELDS))
_PARTS = ("columns", "unit", "offset", "file", "axis")


class TableRecording(NamedTuple):
    """Recording of n joints at m times.

    ``stamps`` (m,), ns, are not negative and do not decrease. ``values`` has (m, n) in SI units for keys such as
    position and commanded_position.
    """

    joint_names: list[str]
    stamps: IntArray
    values: dict[str, Array]


def read_table(data: Path, description: Path) -> TableRecording:
    """Return the recording in the file ``data`` by the YAML file ``description``.

    Raises BagError, which names key and column, if the description is wrong or does not fit the data, or if times are
    missing or decrease.
    """
    if not description.exists():
        columns = ", ".join(_known(_content(data)))
        raise BagError(
            f"{description}: it does not exist. Cure: describe in it, as in docs/import.md, the columns {columns}"
        )
    key = "joints"
    values = {}
    read = cache(_content)
    try:
        content: Any = load_yaml(
            read_bytes(description, "description"), str(description)
        )
        if key not in content:
            raise BagError("it is missing. Cure: list the names of the joints")
        joints = list(map(str, content.pop(key)))
        rate = content.pop("rate", None)
        for key, entry in content.items():
            require_known(key, _QUANTITIES, "unknown key", BagError)
            file = data.parent / entry.get("file", data.name)
            values[key] = _values(key, entry, joints, read(file))
        key = "time"
        return TableRecording(joints, _stamps(values, rate), values)
    except (
        RobotDynamicsError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:
        text = f"{description}: {key}: {error}"
        cure = "" if "Cure: " in text else ". Cure: write it as in docs/import.md"
        raise BagError(text + cure) from None


def _values(
    key: str, entry: dict[str, Any], joints: list[str], content: Mapping[str, Any]
) -> Array:
    """Return a quantity, (m, n) in SI units; time may have several columns, such as s and ns."""
    for part in entry:
        require_known(part, _PARTS, f"unknown key {part!r}", BagError)
    names = _names(entry.get("columns", ""), joints)
    arrays = [_array(content, name) for name in names]
    table = np.column_stack([x.T if entry.get("axis") else x for x in arrays])
    if key != "time" and table.shape[1] != len(joints):
        raise BagError(
            f"{table.shape[1]} columns for {len(joints)} joints. Cure: choose one for each; axis: 1 if time runs along "
            "the rows"
        )
    empty = ~np.isfinite(table).any(axis=0)
    if empty.any():
        raise BagError(
            f"column {empty.argmax() + 1} of {names}: no numbers. Cure: choose another, or write decimal points"
        )
    if "unit" not in entry:
        raise BagError("unit is missing. Cure: give a name or a factor to the SI unit")
    units = entry["unit"]
    known = _UNITS[key.removeprefix(COMMANDED)]
    factors = []
    for unit in units if isinstance(units, list) else [units]:
        if isinstance(unit, str):
            require_known(unit, known, f"unit {unit!r}", BagError)
        factors.append(known.get(unit, unit))
    return np.asarray((table - entry.get("offset", 0.0)) * factors, dtype=np.float64)


def _names(columns: Any, joints: list[str]) -> list[str]:
    """Return the names in a list, in a span such as q_1-6 or 2-7, or those with {} replaced by the joints' names."""
    if isinstance(columns, list):
        return list(map(str, columns))
    text = str(columns)
    if "{}" in text:
        return [text.replace("{}", name) for name in joints]
    span = re.fullmatch(r"(.*?)(\d+)-(\d+)(.*)", text)
    if not span:
        return [text]
    numbers = range(int(span[2]), int(span[3]) + 1)
    return [f"{span[1]}{number}{span[4]}" for number in numbers]


def _stamps(values: dict[str, Array], rate: float | None) -> IntArray:
    """Return stamps (m,), ns, by the times, which are removed from ``values``, or by the rate."""
    rows = {key: len(table) for key, table in values.items()}
    if len(set(rows.values())) != 1:
        raise BagError(f"the numbers of rows differ: {rows}. Cure: cut the files")
    if ("time" in values) == (rate is not None):
        raise BagError(
            "rate or time is necessary, and not both. Cure: give one of them"
        )
    if rate is None:
        times = values.pop("time").sum(axis=1)
    else:
        times = np.arange(max(rows.values())) / rate
    later = np.diff(times) >= 0.0
    if not later.all():
        raise BagError(
            f"row {later.argmin() + 2} is earlier than the row before it, or empty. Cure: choose another column, or "
            "divide the file"
        )
    stamps: IntArray = np.rint((times - min(times[0], 0.0)) * 1e9).astype(np.int64)
    return stamps


def _content(path: Path) -> Mapping[str, Any]:
    """Return the content of a file; text that is not a number is NaN."""
    if not path.exists():
        raise BagError(f"{path}: it does not exist. Cure: correct the name")
    try:
        if path.suffix == ".mat":
            from scipy.io import loadmat  # slow to import, which would delay --help

            return dict(loadmat(path, simplify_cells=True))
        if path.suffix in (".npz", ".npy"):
            content: Any = np.load(path)
            return content if isinstance(content, Mapping) else _numbered(content)
        return _text_content(path)
    except Exception as error:  # broken files raise errors of many types
        reason = " ".join(str(error).split())
        raise BagError(
            f"{path}: {reason}. Cure: give text, NPZ, NPY or MAT, in MATLAB save(file, '-v7'), not -v7.3"
        ) from None


def _array(content: Mapping[str, Any], name: str) -> Array:
    """Return the array ``name``, such as ``data.q`` in a struct, or ``data.2``, the second column of an array."""
    group, _, rest = name.partition(".")
    if name not in content and group in content:
        inner = content[group]
        inner = inner if isinstance(inner, Mapping) else _numbered(inner)
        return _array(inner, rest)
    if name not in content:
        known = _known(content)
        raise BagError(f"no column or array {name!r}. Cure: {use_one_of(name, known)}")
    return np.asarray(content[name], dtype=np.float64)


def _known(content: Mapping[str, Any]) -> list[str]:
    """Return the names of the content, with its numbered columns as a span."""
    numbers = [name for name in content if name.isdigit()]
    names = [name for name in content if name and name not in numbers]
    return [*names, f"1-{len(numbers)}"] if numbers else names


def _numbered(table: Array) -> dict[str, Array]:
    """Return a table as the array "", and its columns by their numbers."""
    columns = {str(number): column for number, column in enumerate(table.T, 1)}
    return {"": table} | columns


def _text_content(path: Path) -> dict[str, Array]:
    """Return the table of a text file and its columns.

    The line in the middle determines delimiter and number of columns. The header is the first line with as many fields
    before the first with a number; it may be a comment, as numpy.savetxt writes it.
    """
    lines = path.read_text("utf-8-sig", errors="replace").splitlines()
    sample = lines[len(lines) // 2]
    delimiter = next((mark for mark in ";\t," if mark in sample), None)
    count = len(sample.split(delimiter))
    names: list[str] = []
    for first, line in enumerate(lines):  # noqa: B007  (used below)
        text = line.lstrip("#% ")
        fields = text.split(delimiter)
        if len(fields) == count:
            if np.isfinite(np.genfromtxt([text], delimiter=delimiter)).any():
                break
            names = names or [field.strip(' "') for field in fields]
    try:
        table = np.loadtxt(lines, delimiter=delimiter, skiprows=first, ndmin=2)
    except ValueError:  # missing values, for which genfromtxt needs much memory
        table = np.genfromtxt(lines, delimiter=delimiter, skip_header=first)
        table = table.reshape(-1, count)
    return _numbered(table) | dict(zip(names, table.T, strict=False))
