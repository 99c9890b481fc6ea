"""ROS 2 parameter files, read without ROS."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from robot_dynamics_ros.errors import RobotDynamicsError, RobotModelWarning
from robot_dynamics_ros.parameters.kinds import Parameter, Values
from robot_dynamics_ros.plain_yaml import NotPlainYaml, load_yaml

_MARK = "ros__parameters"
_EVERY_NODE = "/**"
_SIMILAR = 0.81  # difflib's similarity ratio; parameter names of different nodes are less similar


def read_parameter_file(path: str | Path | None, node: str, parameters: Iterable[Parameter[Any]]) -> Values:
    """Return the values of a node's ``parameters``: those of a file, else their defaults.

    ``node`` is its name with its namespace, as /arm/computed_torque_node. As in ROS, a key of the file is a node's
    name, alone or in the tables of its namespaces; * matches one part of it, ** any number; parameters under /**
    are applied first, those under the node's own name last. Names that the node does not declare are ignored.

    Raises RobotDynamicsError if it is no parameter file or contains nothing for the node.
    """
    values: dict[str, object] = {parameter.name: parameter.default for parameter in parameters}
    if path is not None:
        given = file_parameters(path, node)
        for message in misspelt(given, list(values)):
            warnings.warn(f"{path}: {message}", RobotModelWarning, stacklevel=2)
        values.update(given)
    return values.get


def misspelt(names: Iterable[str], known: Sequence[str]) -> list[str]:
    """Return a message for each unknown name that resembles a known one, or lacks its prefix.

    One file may serve several nodes, so that any other unknown name is taken for another node's parameter.
    """
    messages = []
    for name in sorted(set(names).difference(known)):
        complete = [other for other in known if other.endswith(f".{name}")]
        if meant := complete or get_close_matches(name, known, 1, _SIMILAR):
            messages.append(f"parameter {name} is unknown, and ignored. Cure: see if {meant[0]} is meant")
    return messages


def file_parameters(path: str | Path, node: str) -> dict[str, object]:
    """Return a file's parameters for a node, by their full names; errors and ``node`` as in read_parameter_file."""
    tables = parameter_tables(path)
    matching = [name for name in tables if _matches(name, node)]
    if not matching:
        raise RobotDynamicsError(
            f"{path}: nothing in it is for {node}, only for {', '.join(tables)}. Cure: write /** for any node"
        )
    matching.sort(key=lambda name: (name != _EVERY_NODE, name == node))
    return {key: value for name in matching for key, value in _flat(tables[name], "")}


def parameter_tables(path: str | Path) -> dict[str, Mapping[str, object]]:
    """Return a file's parameters by the keys of their nodes; RobotDynamicsError if it is no parameter file."""
    try:
        content = load_yaml(Path(path).read_bytes(), str(path))
    except OSError as error:
        raise RobotDynamicsError(f"{path}: cannot read it: {error.strerror}. Cure: check the path") from None
    except NotPlainYaml as error:
        raise RobotDynamicsError(f"{path}: not plain YAML: {error}. Cure: correct it") from None
    tables = dict(_tables(content, ""))
    if not tables:
        raise RobotDynamicsError(f'{path}: it has no "{_MARK}". Cure: give a parameter file, as config/panda.yaml')
    return tables


def _tables(content: object, prefix: str) -> Iterator[tuple[str, Mapping[str, object]]]:
    for key, value in content.items() if isinstance(content, dict) else ():
        if key == _MARK and isinstance(value, dict):
            yield prefix, value
        else:
            yield from _tables(value, f"{prefix}/{str(key).strip('/')}")


def _matches(pattern: str, node: str) -> bool:
    """Return True if a node's name matches a pattern, in which * is one part of any name, ** any number of parts."""
    collapsed = re.sub(r"(/\*\*)+(?=/|$)", "/**", f"/{pattern.strip('/')}")
    wildcards = {"*": "/[^/]+", "**": "(/[^/]+)*"}
    regex = "".join(wildcards.get(part, f"/{re.escape(part)}") for part in collapsed.split("/")[1:])
    return re.fullmatch(regex, f"/{node.strip('/')}") is not None


def _flat(table: Mapping[Any, object], prefix: str) -> Iterator[tuple[str, object]]:
    """Yield parameters by their full names: names of nested tables are joined by dots."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
