"""Reader of ROS 2 parameter files that needs no ROS.

As in ROS, a top-level key of a file is a node name, written alone or nested in tables of its namespaces. In a key, *
matches one part of a name and ** any number of parts. A node name is given with its namespace, such as
/arm/computed_torque_node. Parameters under /** are applied first, those under the node's own name last.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from robot_dynamics_ros.base import thresholds
from robot_dynamics_ros.base.errors import RobotDynamicsError, RobotModelWarning
from robot_dynamics_ros.base.parameters.kinds import Parameter, Values
from robot_dynamics_ros.base.plain_yaml import NotPlainYaml, load_yaml

_MARK = "ros__parameters"
_EVERY_NODE = "/**"
_OF_EVERY_NODE = ("use_sim_time", "qos_overrides", "start_type_description_service")


def read_parameter_file(
    path: str | Path | None, node: str, parameters: Iterable[Parameter[Any]]
) -> Values:
    """Return the values of a node's parameters from a parameter file, or their defaults.

    Parameters that the node does not declare are ignored; a RobotModelWarning is issued if their names resemble
    declared ones, or if the file gives them to this node alone. Values are not checked here, but by the ``read`` of
    their declaration.

    Parameters
    ----------
    path
        The parameter file; None gives the defaults.
    node
        Name of the node with its namespace, such as /arm/computed_torque_node.
    parameters
        The parameters that the node declares.

    Returns
    -------
    Values
        Function that returns the value for a parameter's name, None for an unknown one.

    Raises
    ------
    RobotDynamicsError
        If the file cannot be read, is not a parameter file or has no entry for the node.
    """
    values: dict[str, object] = {
        parameter.name: parameter.default for parameter in parameters
    }
    if path is not None:
        given, own = file_parameters(path, node)
        for message in unknown(given, list(values), own):
            warnings.warn(f"{path}: {message}", RobotModelWarning, stacklevel=2)
        values.update(given)
    return values.get


def unknown(
    names: Iterable[str], known: Sequence[str], own: Collection[str] = ()
) -> list[str]:
    """Return a message for each name that is not ``known`` and that can only be meant for this node.

    These are the names in ``own``, which are given to this node alone, and those that resemble a known name (without
    regard to capitals), lack only its prefix, which ends with a dot, or are keys of a table in its place. Others cause
    no message, since one file can serve several nodes; nor do the parameters of every ROS node. The messages are in
    alphabetical order of the names.
    """
    messages = []
    for name in sorted({*names, *own}.difference(known)):
        if name.partition(".")[0] in _OF_EVERY_NODE:
            continue
        lower = name.lower()  # as all known names
        complete = [other for other in known if other.endswith(f".{lower}")]
        tables = [other for other in known if lower.startswith(f"{other}.")]
        if tables:
            cure = f"give a value or a list such as locked: [finger_joint=0.02], as {tables[0]} is no table"
        elif meant := complete or get_close_matches(
            lower, known, 1, thresholds.SIMILAR_PARAMETERS
        ):
            cure = f"correct it if {meant[0]} is meant"
        elif name in own:
            cure = "remove it; docs/parameters.md lists all"
        else:
            continue
        messages.append(f"parameter {name} is unknown and ignored. Cure: {cure}")
    return messages


def file_parameters(path: str | Path, node: str) -> tuple[dict[str, object], set[str]]:
    """Return the values in the file ``path`` for the node ``node``, by the parameters' full names, and its own names.

    The latter are given to ``node`` alone, by its name in the file. Names of nested tables are joined by dots, as in
    "payload.mass". Values are as in the file, undeclared parameters included. Raises RobotDynamicsError if the file
    cannot be read, is not a parameter file or has no entry for the node.
    """
    tables = parameter_tables(path)
    matching = [name for name in tables if _matches(name, node)]
    if not matching:
        raise RobotDynamicsError(
            f"{path}: no entry for node {node}, only for {', '.join(tables)}. Cure: use the key /** for all nodes"
        )
    matching.sort(key=lambda name: (name != _EVERY_NODE, name == node))
    values: dict[str, object] = {}
    own: set[str] = set()
    for name in matching:
        table = dict(_flat(tables[name], ""))
        values |= table
        if "*" not in name:
            own.update(table)
    return values, own


def parameter_tables(path: str | Path) -> dict[str, Mapping[str, object]]:
    """Return the parameter tables of the file ``path``, values by key, by the node name in the file with namespace.

    Patterns such as /** stay as they are. Nested tables stay nested. Raises RobotDynamicsError if the file cannot be
    read or is not a parameter file.
    """
    try:
        content = load_yaml(Path(path).read_bytes(), str(path))
    except OSError as error:
        raise RobotDynamicsError(
            f"{path}: cannot read the file: {error.strerror}. Cure: check the path"
        ) from None
    except NotPlainYaml as error:
        raise RobotDynamicsError(
            f"{path}: not plain YAML: {error}. Cure: correct the file"
        ) from None
    tables = dict(_tables(content, "", path))
    if not tables:
        raise RobotDynamicsError(
            f'{path}: no key "{_MARK}". Cure: pass a parameter file such as config/panda.yaml'
        )
    return tables


def _tables(
    content: object, prefix: str, path: str | Path
) -> Iterator[tuple[str, Mapping[str, object]]]:
    for key, value in content.items() if isinstance(content, dict) else ():
        name = f"{prefix}/{str(key).strip('/')}"
        if not isinstance(value, dict):  # refused by ROS, too
            raise RobotDynamicsError(
                f'{path}: "{name}" is {value!r}. Cure: write parameters in a table "{_MARK}"'
            )
        if key == _MARK:
            yield prefix, value
        else:
            yield from _tables(value, name, path)


def _matches(pattern: str, node: str) -> bool:
    """Return True if a node name matches a pattern: * is one part of a name, ** any number of parts."""
    collapsed = re.sub(r"(/\*\*)+(?=/|$)", "/**", f"/{pattern.strip('/')}")
    wildcards = {"*": "/[^/]+", "**": "(/[^/]+)*"}
    regex = "".join(
        wildcards.get(part, f"/{re.escape(part)}") for part in collapsed.split("/")[1:]
    )
    return re.fullmatch(regex, f"/{node.strip('/')}") is not None


def _flat(table: Mapping[Any, object], prefix: str) -> Iterator[tuple[str, object]]:
    """Yield parameters by their full names, joining the names of nested tables with dots."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
