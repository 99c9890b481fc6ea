"""Files with a table of Denavit-Hartenberg parameters (YAML): docs/dh_tables.md.

Their numbers can be texts with the four operations, powers (``**``), pi and the names in ``parameters``, such as
``m1*l1**2/12``.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from operator import add, mul, neg, sub, truediv
from pathlib import Path
from typing import Any

import yaml

from robot_dynamics_ros.base.errors import RobotModelError, require_known
from robot_dynamics_ros.base.files import read_bytes
from robot_dynamics_ros.base.plain_yaml import NotPlainYaml, load_yaml
from robot_dynamics_ros.base.resources import find_resource
from robot_dynamics_ros.dynamics.description.dh_table import dh_urdf

_KEYS = (
    "rows",
    "convention",
    "joints",
    "links",
    "limits",
    "parents",
    "down",
    "parameters",
    "dynamics",
)
_TEXTS = ("convention", "joints")
_LONGEST = 200  # characters of a formula, since the parser recurses
_OPERATORS: Mapping[type, Any] = {
    ast.Add: add,
    ast.Sub: sub,
    ast.Mult: mul,
    ast.Div: truediv,
    ast.Pow: pow,
    ast.USub: neg,
}


def read_dh_file(
    path: str | Path, parameters: Mapping[str, float | str] | None = None
) -> tuple[str, str]:
    """Return the URDF of a table's robot, and the text of its dynamics file, empty if the table has none.

    ``parameters``, numbers or formulas in SI units, replace those of the file with the same names. The name of the
    robot is that of the file. Raises RobotModelError if the file cannot be read or is no such table, and for
    unknown parameters.
    """
    try:
        table = load_yaml(read_bytes(path, "DH table"), str(path))
    except NotPlainYaml as error:
        raise RobotModelError(
            f"{path}: not plain YAML: {error}. Cure: correct the file"
        ) from None
    if not isinstance(table, dict) or "rows" not in table:
        raise RobotModelError(
            f"{path}: no key rows. Cure: write a DH table, docs/dh_tables.md"
        )
    for key in table:
        require_known(key, _KEYS, f"{path}: unknown key {key!r}", RobotModelError)
    try:
        names = _parameters(table.pop("parameters", {}), parameters or {})
        table = {
            key: value if key in _TEXTS else _valued(value, names)
            for key, value in table.items()
        }
        dynamics = table.pop("dynamics", None)
        return dh_urdf(
            **table, name=Path(path).stem
        ), "" if dynamics is None else yaml.safe_dump(dynamics)
    except RobotModelError as error:
        raise RobotModelError(f"{path}: {error}") from None


def textbook_arm(name: str, parameters: Mapping[str, float | str]) -> tuple[str, str]:
    """Return URDF and text of the dynamics file of an installed textbook arm, as ``read_dh_file``.

    Raises RobotDynamicsError for an unknown arm, and RobotModelError for unknown parameters.
    """
    return read_dh_file(find_resource("textbook_arms", f"{name}.yaml"), parameters)


def _parameters(own: Any, replaced: Mapping[str, float | str]) -> dict[str, float]:
    if not isinstance(own, dict):
        raise RobotModelError(f"parameters: {own!r}. Cure: give a number for each name")
    for name in replaced:
        require_known(name, own, f"parameter {name!r} is unknown", RobotModelError)
    values = _valued({**own, **replaced}, {"pi": math.pi})
    for name, value in values.items():
        if not isinstance(value, int | float):
            raise RobotModelError(
                f"parameter {name!r} is {value!r}. Cure: give a number"
            )
    return {"pi": math.pi, **values}


def _valued(value: Any, names: Mapping[str, float]) -> Any:
    """Return ``value`` with the numbers of all its formulas; other texts, such as names of joints, are unchanged."""
    if isinstance(value, dict):
        return {key: _valued(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_valued(item, names) for item in value]
    if not isinstance(value, str) or len(value) > _LONGEST:
        return value
    try:
        return _number(ast.parse(value.strip(), mode="eval").body, names)
    except (
        SyntaxError,
        LookupError,
        AttributeError,
        ArithmeticError,
        ValueError,
        TypeError,
    ):
        return value


def _number(node: Any, names: Mapping[str, float]) -> float:
    """Return the number of a formula's syntax tree; LookupError or AttributeError for other content than formulas."""
    if isinstance(node, ast.Constant):
        return float(node.value)  # type: ignore[arg-type]
    if isinstance(node, ast.Name):
        return float(names[node.id])
    parts = [node.operand] if isinstance(node, ast.UnaryOp) else [node.left, node.right]
    return float(_OPERATORS[type(node.op)](*(_number(part, names) for part in parts)))
