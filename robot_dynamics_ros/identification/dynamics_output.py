"""What was identified as a dynamics file."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.identification.estimate import Identification
from robot_dynamics_ros.identification.unknowns import COEFFICIENTS
from robot_dynamics_ros.kernels.regressor import PARAMETERS
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model.inertia import steiner, symmetric

_FRICTION = (*COEFFICIENTS, "static", "stribeck_velocity", "ripple", "sigmoid")
_TABLES = ("joints", "links", "couplings")
_NOTHING = {"mass": 0.0, "com": [0.0] * 3, "inertia": [0.0] * 6}


def dynamics_document(identification: Identification, prior: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a dynamics file that makes the prior model the identified one.

    ``prior`` is the content of its own dynamics file, of which all stays that was not identified: couplings, the
    payload, and friction where it was kept. The link that a joint moves gets its whole body; links that are fixed to
    that one count with it, and have no mass of their own any more.
    """
    unknowns = identification.unknowns
    model = unknowns.model
    document: dict[str, Any] = copy.deepcopy(dict(prior))
    document["gravity"] = model.gravity.tolist()
    values = dict(zip(unknowns.names, identification.values.tolist(), strict=True))
    joints = document["joints"] = dict(document.get("joints") or {})
    for name in model.moving_joints:
        entry = {key: value for key, value in (joints.get(name) or {}).items() if key not in _FRICTION}
        friction = {c: values[f"{name}.{c}"] for c in COEFFICIENTS if f"{name}.{c}" in values}
        if unknowns.friction == "keep":
            friction = {key: value for key, value in (joints.get(name) or {}).items() if key in _FRICTION}
        elif unknowns.friction == "none":
            friction = dict.fromkeys(COEFFICIENTS, 0.0)
        elif "coulomb_negative" not in friction:
            friction["coulomb_negative"] = friction["coulomb"]
        joints[name] = {**friction, **entry, **_rotor(name, entry, values)}
    for k, rotor in enumerate(document.get("rotors") or []):
        rotor["inertia"] = values.get(f"rotors[{k}].inertia", rotor["inertia"])
    document["links"] = {**(document.get("links") or {}), **_links(identification)}
    return document


def _rotor(joint: str, entry: Mapping[str, Any], values: Mapping[str, float]) -> dict[str, Any]:
    own, new = f"{joint} rotor.inertia", f"{joint}.rotor_inertia"
    if own in values:
        return {"rotor_inertia": values[own]}
    if new in values:
        return {"rotor_inertia": values[new], "gear_ratio": 1.0, "rotor_carrier": "none"}
    return {}


def _links(identification: Identification) -> dict[str, dict[str, Any]]:
    packed = identification.unknowns.model.packed
    bodies = identification.values[: PARAMETERS * len(packed.body_links)].reshape(-1, PARAMETERS)
    links: dict[str, dict[str, Any]] = {}
    for link, frame in packed.frames.items():
        if frame.body >= 0:
            links[link] = _inertial(bodies[frame.body]) if link == packed.body_links[frame.body] else dict(_NOTHING)
    return links


def _inertial(parameters: Array) -> dict[str, Any]:
    mass = float(parameters[0])
    com = parameters[1:4] / mass
    inertia = symmetric(*parameters[4:]) - steiner(mass, com)
    return {"mass": mass, "com": com.tolist(), "inertia": inertia[np.triu_indices(3)].tolist()}


def write_dynamics_file(
    path: Path, document: Mapping[str, Any], comments: Sequence[str], *, overwrite: bool = False
) -> None:
    """Write a dynamics file that begins with ``comments``.

    Raises RobotDynamicsError where it cannot be written, or exists and ``overwrite`` is False.
    """
    text = "".join(f"# {line}\n" for line in comments) + _Plain.text(document)
    try:
        with path.open("w" if overwrite else "x", encoding="utf-8") as file:
            file.write(text)
    except OSError as problem:
        raise RobotDynamicsError(f"{path}: {problem.strerror}. Cure: name another file with --output") from None


class _Line(dict[str, Any]):
    """A table that stands on one line."""


class _Plain(yaml.SafeDumper):
    """Every number and list in full; nothing is said by reference."""

    def ignore_aliases(self, data: Any) -> bool:
        """Always."""
        return True

    @classmethod
    def text(cls, document: Mapping[str, Any]) -> str:
        """Return the document as YAML, a line for each joint, link and rotor."""
        lines = {
            key: {name: _Line(entry) for name, entry in value.items()} if key in _TABLES and value else value
            for key, value in document.items()
        }
        return str(yaml.dump(lines, Dumper=cls, sort_keys=False, default_flow_style=None, width=10_000))


def _line(dumper: yaml.SafeDumper, table: _Line) -> yaml.Node:
    return dumper.represent_mapping("tag:yaml.org,2002:map", table, flow_style=True)


_Plain.add_representer(_Line, _line)
