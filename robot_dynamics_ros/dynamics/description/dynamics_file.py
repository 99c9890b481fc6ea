"""Dynamics file (YAML): friction, rotors, inertias, couplings, loops and payload, for which URDF has no elements."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from robot_dynamics_ros.base.errors import (
    RobotModelError,
    RobotModelWarning,
    require_known,
)
from robot_dynamics_ros.base.files import checksum, read_bytes
from robot_dynamics_ros.base.plain_yaml import NotPlainYaml, load_yaml
from robot_dynamics_ros.dynamics.description.inertia import (
    Inertial,
    payload_inertial,
    unit_vector,
)
from robot_dynamics_ros.dynamics.kernels.friction import (
    FRICTION_KEYS,
    FRICTION_PARAMETERS,
)
from robot_dynamics_ros.dynamics.kernels.types import Array


@dataclass(frozen=True)
class JointDynamics:
    """Friction and rotor of one joint.

    Attributes
    ----------
    friction
        Friction parameters of the file, in SI units, by their keys in FRICTION_PARAMETERS of kernels/friction.
    rotor_inertia, gear_ratio
        Axial inertia of the motor's rotor, kg m^2, and its spin rate per joint rate, signed.
    rotor_carrier
        "parent": the joint's parent link carries the rotor, whose axis is the joint's. "none": no link carries it, and
        only its reflected inertia, gear_ratio^2 rotor_inertia, is considered.
    """

    friction: Mapping[str, float] = field(default_factory=dict)
    rotor_inertia: float = 0.0
    gear_ratio: float = 1.0
    rotor_carrier: str = "parent"


@dataclass(frozen=True)
class Rotor:
    """Rotor in the general form, for any number of joints.

    Attributes
    ----------
    carrier
        Link that carries the rotor, and whose mass properties include it at rest. None: only the reflected inertia is
        considered, and ``axis`` has no effect.
    axis
        Unit vector (3,) in the frame of the carrier link. None: that of the joint in ``ratio``, which must then be the
        only one and have the carrier as parent link.
    inertia
        Axial inertia, kg m^2.
    ratio
        Factors by joint or coordinate: the spin rate relative to the carrier is the sum of factor times rate.
    """

    carrier: str | None
    axis: Array | None
    inertia: float
    ratio: dict[str, float]


@dataclass(frozen=True)
class Row:
    """Position of a joint as an affine function: the sum of factor times position over the names, plus ``offset``.

    ``factors`` are by the names of joints and coordinates. Positions and ``offset`` are in rad or m.
    """

    factors: dict[str, float]
    offset: float = 0.0


@dataclass(frozen=True)
class Loop:
    """Closed kinematic chain: a point of ``link_a`` coincides with a point of ``link_b``.

    Each point is (3,), m, in the frame of its link.
    """

    link_a: str
    point_a: tuple[float, float, float]
    link_b: str
    point_b: tuple[float, float, float]


@dataclass(frozen=True)
class DynamicsFile:
    """Checked content of a dynamics file, in SI units.

    Attributes
    ----------
    source
        Name of the file in messages.
    gravity
        Acceleration of gravity (3,) in the root frame, m/s^2; None: not in the file.
    joints
        Friction and rotor by joint.
    links
        Mass properties by link, which replace those of the URDF.
    rotors
        Rotors in the general form.
    coordinates
        Names of coordinates that are not joints.
    couplings
        Row of each coupled joint, by name.
    loops
        Closed kinematic chains.
    payload
        Link with the payload, and the payload's mass properties in the link's frame.
    sha256
        Checksum of the file's text, hexadecimal; empty if there is no file.
    """

    source: str = ""
    gravity: Array | None = None
    joints: dict[str, JointDynamics] = field(default_factory=dict)
    links: dict[str, Inertial] = field(default_factory=dict)
    rotors: tuple[Rotor, ...] = ()
    coordinates: tuple[str, ...] = ()
    couplings: dict[str, Row] = field(default_factory=dict)
    loops: tuple[Loop, ...] = ()
    payload: tuple[str, Inertial] | None = None
    sha256: str = field(default="", compare=False)


def _keys(content: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(content))


_TOP = _keys(DynamicsFile)[1:-1]
_ROTOR = _keys(JointDynamics)[1:]
_INERTIAL = _keys(Inertial)
_CARRIERS = ("parent", "none")
_NO_CARRIER = "none"
_LARGEST = float(np.finfo(np.float64).max)  # integers in YAML can be larger
_OFFSET = "offset"


Content = TypeVar("Content")


def read_dynamics_file(path: str | Path) -> DynamicsFile:
    """Read and check a dynamics file; every key is optional.

    Raises
    ------
    RobotModelError
        For a file that cannot be read, and as ``parse_dynamics_file``. The message has the file, the key and the cure;
        for an unknown key, the known ones.
    """
    return parse_dynamics_file(read_bytes(path, "dynamics file"), str(path))


def parse_dynamics_file(text: str | bytes, source: str) -> DynamicsFile:
    """Check the content of a dynamics file, ``text``; ``source`` is its name in messages.

    Raises RobotModelError, with the key and the cure, for invalid YAML, unknown or missing keys, and values of a wrong
    type or length. It is also raised for numbers that are not finite or out of range, and inertias that no body can
    have. Keys without effect cause a RobotModelWarning.
    """
    try:
        content = load_yaml(text, source)
    except NotPlainYaml as error:
        raise RobotModelError(
            f"{source}: not plain YAML: {error}. Cure: correct the file"
        ) from None
    if content is None:
        return DynamicsFile(source, sha256=checksum(text))
    top = _table(content, _TOP, f"{source}: top level")
    return DynamicsFile(
        source,
        gravity=None
        if top.get("gravity") is None
        else _numbers(top["gravity"], 3, f"{source}: gravity"),
        joints=_named(top, "joints", "joint", _joint, source),
        links=_named(top, "links", "link", _inertial, source),
        rotors=_listed(top, "rotors", _rotor, source),
        coordinates=_coordinates(top.get("coordinates"), f"{source}: coordinates"),
        couplings=_named(top, "couplings", "couplings: joint", _row, source),
        loops=_listed(top, "loops", _loop, source),
        payload=_payload(top.get("payload"), source),
        sha256=checksum(text),
    )


def _named(
    top: Mapping[str, Any],
    key: str,
    kind: str,
    read: Callable[[Any, str], Content],
    source: str,
) -> dict[str, Content]:
    table = _table(top.get(key), None, f"{source}: {key}")
    return {
        name: read(value, f'{source}: {kind} "{name}"') for name, value in table.items()
    }


def _listed(
    top: Mapping[str, Any], key: str, read: Callable[[Any, str], Content], source: str
) -> tuple[Content, ...]:
    values = _list(top.get(key), "tables", f"{source}: {key}")
    return tuple(read(value, f"{source}: {key}[{k}]") for k, value in enumerate(values))


def _table(value: Any, known: tuple[str, ...] | None, where: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise RobotModelError(
            f"{where}: {value!r} is not a table. Cure: write a table of keys and values"
        )
    for key in value:
        if not isinstance(key, str):
            raise RobotModelError(
                f"{where}: key {key!r} is not a string. Cure: put it in quotes"
            )
        if known is not None:
            require_known(key, known, f"{where}: unknown key {key!r}", RobotModelError)
    return value


def _list(value: Any, content: str, where: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise RobotModelError(
            f"{where}: {value!r} is not a list. Cure: write a list of {content}"
        )
    return value


def _required(table: Mapping[str, Any], keys: tuple[str, ...], where: str) -> None:
    missing = [key for key in keys if key not in table]
    if missing:
        raise RobotModelError(
            f"{where}: {', '.join(missing)} missing. Cure: add {', '.join(missing)}"
        )


def _number(value: Any, where: str, *, least: float = -math.inf) -> float:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    if not plain or abs(value) > _LARGEST or math.isnan(value):
        raise RobotModelError(
            f"{where}: {value!r} is not a finite number. Cure: write a number, without a unit"
        )
    if value < least:
        raise RobotModelError(
            f"{where}: {value!r} is below {least:g}. Cure: write a number of at least {least:g}"
        )
    return float(value)


def _numbers(value: Any, count: int, where: str) -> Array:
    if not isinstance(value, list) or len(value) != count:
        raise RobotModelError(
            f"{where}: {value!r} is not a list of {count} numbers. Cure: write {count} numbers"
        )
    return np.array([_number(item, where) for item in value])


def _joint(value: Any, where: str) -> JointDynamics:
    table = _table(value, (*FRICTION_KEYS, *_ROTOR), where)
    friction = _friction(table, where)
    needs = [
        *(("gear_ratio", "rotor_inertia"), ("rotor_carrier", "rotor_inertia")),
        *((x.enables, x.name) for x in FRICTION_PARAMETERS if x.key not in friction),
    ]
    for name, missing in needs:
        if name in table and missing not in table:
            warnings.warn(
                f"{where}: {name} without {missing} has no effect. Cure: add {missing}, or remove {name}",
                RobotModelWarning,
                stacklevel=8,
            )
    carrier = table.get("rotor_carrier", "parent")
    if carrier not in _CARRIERS:
        raise RobotModelError(
            f"{where} rotor_carrier: {carrier!r} is unknown. Cure: use one of {', '.join(_CARRIERS)}"
        )
    return JointDynamics(
        friction,
        rotor_inertia=_number(
            table.get("rotor_inertia", 0.0), f"{where} rotor_inertia", least=0.0
        ),
        gear_ratio=_number(table.get("gear_ratio", 1.0), f"{where} gear_ratio"),
        rotor_carrier=carrier,
    )


def _friction(table: Mapping[str, Any], where: str) -> dict[str, float]:
    """Return the friction parameters in the entry of a joint by their keys."""
    values = {}
    for parameter in FRICTION_PARAMETERS:
        inner = table
        place = where
        if parameter.group != parameter.key:
            place = f"{where} {parameter.group}"
            known = tuple(
                x.name for x in FRICTION_PARAMETERS if x.group == parameter.group
            )
            inner = _table(table.get(parameter.group), known, place)
            if inner and parameter.required:
                _required(inner, (parameter.name,), place)
        if parameter.name in inner:
            values[parameter.key] = _number(
                inner[parameter.name],
                f"{place} {parameter.name}",
                least=parameter.least,
            )
    return values


def _rotor(value: Any, where: str) -> Rotor:
    table = _table(value, _keys(Rotor), where)
    _required(table, ("carrier", "inertia", "ratio"), where)
    carrier = table["carrier"]
    if not isinstance(carrier, str):
        raise RobotModelError(
            f"{where} carrier: {carrier!r} is not a name. Cure: name a link, or {_NO_CARRIER}"
        )
    axis = None
    if "axis" in table:
        axis = unit_vector(
            _numbers(table["axis"], 3, f"{where} axis"), f"{where} axis:"
        )
    ratio = _table(table["ratio"], None, f"{where} ratio")
    if not ratio:
        raise RobotModelError(
            f"{where} ratio: the table is empty. Cure: add a ratio for a joint or coordinate"
        )
    return Rotor(
        carrier=None if carrier == _NO_CARRIER else carrier,
        axis=axis,
        inertia=_number(table["inertia"], f"{where} inertia", least=0.0),
        ratio={
            name: _number(number, f"{where} ratio {name}")
            for name, number in ratio.items()
        },
    )


def _coordinates(value: Any, where: str) -> tuple[str, ...]:
    names = _list(value, "names", where)
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise RobotModelError(
                f"{where}: {name!r} is not a name. Cure: put it in quotes"
            )
        if name == _OFFSET:
            raise RobotModelError(
                f'{where}: "{_OFFSET}" is reserved for the constant in couplings. Cure: rename it'
            )
        if name in seen:
            raise RobotModelError(
                f'{where}: "{name}" is listed twice. Cure: remove one'
            )
        seen.add(name)
    return tuple(names)


def _row(value: Any, where: str) -> Row:
    table = dict(_table(value, None, where))
    offset = _number(table.pop(_OFFSET, 0.0), f"{where} {_OFFSET}")
    return Row(
        {name: _number(factor, f"{where} {name}") for name, factor in table.items()},
        offset,
    )


def _loop(value: Any, where: str) -> Loop:
    table = _table(value, _keys(Loop), where)
    _required(table, _keys(Loop), where)
    for key in ("link_a", "link_b"):
        if not isinstance(table[key], str):
            raise RobotModelError(
                f"{where} {key}: {table[key]!r} is not a name. Cure: name a link"
            )
    if table["link_a"] == table["link_b"]:
        raise RobotModelError(
            f'{where}: link_a and link_b are both "{table["link_a"]}". Cure: name different links'
        )
    (ax, ay, az), (bx, by, bz) = (
        _numbers(table[key], 3, f"{where} {key}").tolist()
        for key in ("point_a", "point_b")
    )
    return Loop(table["link_a"], (ax, ay, az), table["link_b"], (bx, by, bz))


def _inertial(value: Any, where: str) -> Inertial:
    table = _table(value, _INERTIAL, where)
    _required(table, _INERTIAL, where)
    mass = _number(table["mass"], f"{where} mass", least=0.0)
    com = _numbers(table["com"], 3, f"{where} com")
    inertia = _numbers(table["inertia"], 6, f"{where} inertia")
    return payload_inertial(mass, com, inertia, where)


def _payload(value: Any, source: str) -> tuple[str, Inertial] | None:
    if value is None:
        return None
    table = dict(_table(value, ("link", *_INERTIAL), f"{source}: payload"))
    link = table.pop("link", None)
    if not isinstance(link, str):
        raise RobotModelError(
            f"{source}: payload: link is missing. Cure: name the link that carries it"
        )
    return link, _inertial(table, f"{source}: payload")
