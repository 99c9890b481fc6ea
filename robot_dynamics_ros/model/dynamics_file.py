"""The dynamics file: what a URDF cannot say about friction, rotors, inertias and payload (YAML)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from robot_dynamics_ros.errors import RobotModelError
from robot_dynamics_ros.model.inertia import Array, Inertial, check_inertia, symmetric


@dataclass(frozen=True)
class JointDynamics:
    """Friction and rotor of one joint; None where the file does not say, so that the URDF's value holds."""

    viscous: float | None = None
    coulomb: float | None = None
    coulomb_negative: float | None = None
    sigmoid: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rotor_inertia: float = 0.0
    gear_ratio: float = 1.0
    rotor_carrier: str = "parent"


@dataclass(frozen=True)
class DynamicsFile:
    """The checked content of a dynamics file."""

    source: str = ""
    gravity: Array | None = None
    joints: dict[str, JointDynamics] = field(default_factory=dict)
    links: dict[str, Inertial] = field(default_factory=dict)
    payload: tuple[str, Inertial] | None = None


_TOP = ("gravity", "joints", "links", "payload")
_JOINT = (
    "viscous",
    "coulomb",
    "coulomb_negative",
    "sigmoid",
    "rotor_inertia",
    "gear_ratio",
    "rotor_carrier",
)
_SIGMOID = ("amplitude", "slope", "shift")
_INERTIAL = ("mass", "com", "inertia")
_CARRIERS = ("parent", "none")


class _UniqueKeys(yaml.SafeLoader):
    """Plain YAML; a key that stands twice in a table is an error, where PyYAML keeps the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Refuse a repeated key, then construct as usual."""
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"key {key!r} stands twice", node.start_mark)
        return super().construct_mapping(node, deep)


def read_dynamics_file(path: str | Path) -> DynamicsFile:
    """Read and check a dynamics file; every key is optional.

    Raises RobotModelError naming file, key and cure: a file that is not there or not YAML, unknown keys
    (the message lists the known ones), values of a wrong type or length, numbers that are not finite.
    """
    source = str(path)
    try:
        content = yaml.load(Path(path).read_bytes(), Loader=_UniqueKeys)
    except OSError as problem:
        raise RobotModelError(
            f"{source}: cannot read the dynamics file: {problem.strerror}. Cure: check the path"
        ) from None
    except (yaml.YAMLError, ValueError, RecursionError) as problem:
        # ValueError: e.g. an impossible date; RecursionError: nesting that no dynamics file has.
        first = str(problem).replace("\n", " ")
        raise RobotModelError(f"{source}: not plain YAML: {first}. Cure: correct it") from None
    if content is None:
        return DynamicsFile(source)
    top = _table(content, _TOP, f"{source}: top level")
    joints = {
        name: _joint(value, f'{source}: joint "{name}"')
        for name, value in _table(top.get("joints"), None, f"{source}: joints").items()
    }
    links = {
        name: _inertial(value, f'{source}: link "{name}"')
        for name, value in _table(top.get("links"), None, f"{source}: links").items()
    }
    gravity = _numbers(top["gravity"], 3, f"{source}: gravity") if top.get("gravity") is not None else None
    return DynamicsFile(source, gravity, joints, links, _payload(top.get("payload"), source))


def _table(value: Any, known: tuple[str, ...] | None, where: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise RobotModelError(f"{where}: a table of keys and values is expected, not {value!r}. Cure: correct it")
    for key in value:
        if not isinstance(key, str):
            raise RobotModelError(f"{where}: key {key!r} is no name. Cure: put it in quotes")
        if known is not None and key not in known:
            raise RobotModelError(f"{where}: unknown key {key!r}. Cure: use one of {', '.join(known)}")
    return value


def _number(value: Any, where: str, *, least: float = -math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        hint = " (YAML takes 1e-3 for a text: write 1.0e-3)" if isinstance(value, str) else ""
        raise RobotModelError(f"{where}: {value!r} is not a finite number{hint}. Cure: correct it")
    if value < least:
        raise RobotModelError(f"{where}: {value!r} is below {least:g}. Cure: correct it")
    return float(value)


def _numbers(value: Any, count: int, where: str) -> Array:
    if not isinstance(value, list) or len(value) != count:
        raise RobotModelError(f"{where}: a list of {count} numbers is expected, not {value!r}. Cure: correct it")
    return np.array([_number(item, where) for item in value])


def _joint(value: Any, where: str) -> JointDynamics:
    table = _table(value, _JOINT, where)
    sigmoid = _table(table.get("sigmoid"), _SIGMOID, f"{where} sigmoid")
    carrier = table.get("rotor_carrier", "parent")
    if carrier not in _CARRIERS:
        raise RobotModelError(f"{where} rotor_carrier: {carrier!r} is unknown. Cure: use one of {', '.join(_CARRIERS)}")

    def optional(key: str) -> float | None:
        return _number(table[key], f"{where} {key}", least=0.0) if key in table else None

    return JointDynamics(
        viscous=optional("viscous"),
        coulomb=optional("coulomb"),
        coulomb_negative=optional("coulomb_negative"),
        sigmoid=(
            _number(sigmoid.get("amplitude", 0.0), f"{where} sigmoid amplitude", least=0.0),
            _number(sigmoid.get("slope", 0.0), f"{where} sigmoid slope", least=0.0),
            _number(sigmoid.get("shift", 0.0), f"{where} sigmoid shift"),
        ),
        rotor_inertia=optional("rotor_inertia") or 0.0,
        gear_ratio=_number(table.get("gear_ratio", 1.0), f"{where} gear_ratio"),
        rotor_carrier=carrier,
    )


def _inertial(value: Any, where: str) -> Inertial:
    table = _table(value, _INERTIAL, where)
    missing = [key for key in _INERTIAL if key not in table]
    if missing:
        raise RobotModelError(f"{where}: {', '.join(missing)} missing. Cure: give mass, com and inertia")
    inertia = symmetric(*_numbers(table["inertia"], 6, f"{where} inertia"))
    problem = check_inertia(inertia)
    if problem is not None:
        raise RobotModelError(f"{where} inertia: {problem}. Cure: give ixx ixy ixz iyy iyz izz at the com (kg m^2)")
    mass = _number(table["mass"], f"{where} mass", least=0.0)
    return Inertial(mass, _numbers(table["com"], 3, f"{where} com"), inertia)


def _payload(value: Any, source: str) -> tuple[str, Inertial] | None:
    if value is None:
        return None
    table = dict(_table(value, ("link", *_INERTIAL), f"{source}: payload"))
    link = table.pop("link", None)
    if not isinstance(link, str):
        raise RobotModelError(f"{source}: payload: link is missing. Cure: name the link that carries it")
    return link, _inertial(table, f"{source}: payload")
