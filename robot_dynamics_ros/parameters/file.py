"""ROS 2 parameter files, read without ROS."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import dropwhile
from pathlib import Path
from typing import Any

from robot_dynamics_ros.errors import RobotDynamicsError, RobotModelWarning
from robot_dynamics_ros.parameters.kinds import Parameter, Values
from robot_dynamics_ros.plain_yaml import NotPlainYaml, load_yaml

_MARK = "ros__parameters"
_EVERY_NODE = "/**"
_SIMILAR = 0.81  # more than names of different nodes resemble each other, by difflib's measure


def read_parameter_file(path: str | Path | None, node: str, parameters: Iterable[Parameter[Any]]) -> Values:
    """Return the values of a node's ``parameters``: those of a file, else their defaults.

    ``node`` is its name with its namespace, as /arm/computed_torque_node. As for ROS, a key of the file is a node's
    name, alone or in the tables of its namespaces; * stands for one part of it, ** for any number; parameters of
    /** come first, those of the node's own name last. Names that the node does not know are other nodes'.

    Raises RobotDynamicsError, naming the file and the cure, where it is no parameter file or says nothing of the node.
    """
    values: dict[str, object] = {parameter.name: parameter.default for parameter in parameters}
    if path is not None:
        given = file_parameters(path, node)
        for message in misspelt(given, list(values)):
            warnings.warn(f"{path}: {message}", RobotModelWarning, stacklevel=2)
        values.update(given)
    return values.get


def misspelt(names: Iterable[str], known: Sequence[str]) -> list[str]:
    """Return a message for each name that is not known and resembles a known one, or lacks its prefix.

    One file may serve several nodes: a name that resembles none of a node's parameters is another node's.
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
    matching = [name for name in tables if _matches(_parts(name), _parts(node))]
    if not matching:
        raise RobotDynamicsError(
            f"{path}: nothing in it is for {node}, only for {', '.join(tables)}. Cure: write /** for any node"
        )
    matching.sort(key=lambda name: (name != _EVERY_NODE, name == node))
    return {key: value for name in matching for key, value in _flat(tables[name], "")}


def parameter_tables(path: str | Path) -> dict[str, Mapping[str, object]]:
    """Return a file's parameters by the keys of their nodes; RobotDynamicsError where it is no parameter file."""
    try:
        content = load_yaml(Path(path).read_bytes(), str(path))
    except OSError as problem:
        raise RobotDynamicsError(f"{path}: cannot read it: {problem.strerror}. Cure: check the path") from None
    except NotPlainYaml as problem:
        raise RobotDynamicsError(f"{path}: not plain YAML: {problem}. Cure: correct it") from None
    tables = dict(_tables(content, ""))
    if not tables:
        raise RobotDynamicsError(f'{path}: it has no "{_MARK}". Cure: give a parameter file, as config/panda.yaml')
    return tables


def _tables(content: object, prefix: str) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the nodes' names and their parameters."""
    if not isinstance(content, dict):
        return
    for key, value in content.items():
        if key == _MARK and isinstance(value, dict):
            yield prefix, value
        else:
            yield from _tables(value, f"{prefix}/{str(key).strip('/')}")


def _parts(name: str) -> list[str]:
    return name.strip("/").split("/")


def _matches(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether the parts of a node's name are those of a pattern, in which * is one of any name, ** any number."""
    if not pattern:
        return not parts
    if pattern[0] == "**":
        after = list(dropwhile("**".__eq__, pattern))
        return any(_matches(after, parts[taken:]) for taken in range(len(parts) + 1))
    return bool(parts) and pattern[0] in ("*", parts[0]) and _matches(pattern[1:], parts[1:])


def _flat(table: Mapping[Any, object], prefix: str) -> Iterator[tuple[str, object]]:
    """Yield parameters by their full names: tables in tables are joined by dots."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
