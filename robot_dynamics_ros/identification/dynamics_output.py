"""Identified parameters as a dynamics file."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.identification.estimate import Identification
from robot_dynamics_ros.identification.parameterization import COEFFICIENTS
from robot_dynamics_ros.kernels.regressor import PARAMETERS
from robot_dynamics_ros.model.inertia import steiner, symmetric

_FRICTION = (*COEFFICIENTS, "static", "stribeck_velocity", "ripple", "sigmoid")
_TABLES = ("joints", "links", "couplings")


def dynamics_document(identification: Identification, prior: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a dynamics file that makes the prior model the identified one.

    ``prior`` is the content of its own dynamics file, of which all stays that was not identified: couplings, the
    payload, and friction where it was kept. The link that a joint moves gets its whole body; links that are fixed to
    that one count with it, and have no mass of their own any more.
    """
    parameterization = identification.parameterization
    model = parameterization.model
    document: dict[str, Any] = copy.deepcopy(dict(prior))
    document["gravity"] = model.gravity.tolist()
    values = dict(zip(parameterization.names, identification.values.tolist(), strict=True))
    joints = document["joints"] = dict(document.get("joints") or {})
    for name in model.moving_joints:
        entry = joints.get(name) or {}
        friction = {c: values[f"{name}.{c}"] for c in COEFFICIENTS if f"{name}.{c}" in values}
        if parameterization.friction == "keep":
            friction = {key: value for key, value in entry.items() if key in _FRICTION}
        elif parameterization.friction == "none":
            friction = dict.fromkeys(COEFFICIENTS, 0.0)
        elif "coulomb_negative" not in friction:
            friction["coulomb_negative"] = friction["coulomb"]
        joint = joints[name] = {**friction, **{key: value for key, value in entry.items() if key not in _FRICTION}}
        if f"{name} rotor.inertia" in values:
            joint["rotor_inertia"] = values[f"{name} rotor.inertia"]
        elif f"{name}.rotor_inertia" in values:
            joint |= {"rotor_inertia": values[f"{name}.rotor_inertia"], "gear_ratio": 1.0, "rotor_carrier": "none"}
    for k, rotor in enumerate(document.get("rotors") or []):
        rotor["inertia"] = values.get(f"rotors[{k}].inertia", rotor["inertia"])
    bodies = identification.values[: PARAMETERS * parameterization.bodies].reshape(-1, PARAMETERS)
    links = document["links"] = dict(document.get("links") or {})
    for link, frame in model.packed.frames.items():
        if frame.body >= 0:
            links[link] = {"mass": 0.0, "com": [0.0] * 3, "inertia": [0.0] * 6}
            if link == model.packed.body_links[frame.body]:
                mass, com = float(bodies[frame.body, 0]), bodies[frame.body, 1:4] / bodies[frame.body, 0]
                inertia = symmetric(*bodies[frame.body, 4:]) - steiner(mass, com)
                links[link] = {"mass": mass, "com": com.tolist(), "inertia": inertia[np.triu_indices(3)].tolist()}
    return document


def write_dynamics_file(
    path: Path, document: Mapping[str, Any], comments: Sequence[str], *, overwrite: bool = False
) -> None:
    """Write a dynamics file that begins with ``comments``, a line for each joint, link and rotor.

    Raises RobotDynamicsError where it cannot be written, or exists and ``overwrite`` is False.
    """
    tables = {
        key: {name: _Line(entry) for name, entry in value.items()} if key in _TABLES and value else value
        for key, value in document.items()
    }
    text = "".join(f"# {line}\n" for line in comments)
    text += yaml.dump(tables, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=10_000)
    try:
        with path.open("w" if overwrite else "x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise RobotDynamicsError(f"{path}: {error.strerror}. Cure: name another file with --output") from None


class _Line(dict[str, Any]):
    """A table that is written on one line."""


class _Dumper(yaml.SafeDumper):
    """YAML with every number and list in full, without references."""

    def ignore_aliases(self, data: Any) -> bool:
        """Return True: nothing is written as a reference."""
        return True


_Dumper.add_representer(
    _Line, lambda dumper, table: dumper.represent_mapping("tag:yaml.org,2002:map", table, flow_style=True)
)
