"""Dynamics file of an identified model, with a table of what was identified in its comments."""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import yaml

from robot_dynamics_ros.analysis.identification.estimate import Identification
from robot_dynamics_ros.analysis.identification.friction_shapes import (
    COEFFICIENTS,
    IDENTIFIED,
    FrictionShape,
)
from robot_dynamics_ros.analysis.thresholds import LARGEST_LOAD_COEFFICIENT
from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.dynamics.description.inertia import steiner, symmetric
from robot_dynamics_ros.dynamics.kernels.friction import (
    FRICTION_KEYS,
    FRICTION_PARAMETERS,
)
from robot_dynamics_ros.dynamics.kernels.regressor import PARAMETERS

_TABLES = ("joints", "links", "couplings")
_TABLE_HEAD = (
    f"{'estimate':>11}{'std. dev.':>11}{'in the file':>13}  base parameter (SI units)"
)
_TABLE_ROW = re.compile(
    "^#" + 3 * r" +(-?\d+(?:\.\d*)?(?:e[+-]\d+)?)" + "  (.+)$", re.MULTILINE
)


# symbols of W. Khalil, E. Dombre, "Modeling, Identification and Control of Robots", 2002, chapters 9 and 12
_SYMBOLS = {
    "mass": "M",
    **{f"mc{axis}": f"M{axis.upper()}" for axis in "xyz"},
    **{f"i{axes}": axes.upper() for axes in ("xx", "xy", "xz", "yy", "yz", "zz")},
    "rotor.inertia": "IA",
    "rotor_inertia": "IA",
    "inertia": "IA",
    "viscous": "F_v",
    "coulomb": "F_s",
    "coulomb_negative": "F_s^-",
    "static": "F_{st}",
    "sigmoid": "A",
    "quadratic": "F_{v2}",
    "cubic": "F_{v3}",
    "load_coefficient": r"\mu",
}


def dynamics_document(
    identification: Identification, prior: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the content of a dynamics file that turns the prior model into the identified one.

    ``prior`` is the content of the prior model's dynamics file, empty if it has none. Entries that were not identified
    are kept: couplings, the payload, friction of kind ``keep`` and of joints that do not move. A direction without
    motion gets the Coulomb friction of the other. The link that a joint moves gets the parameters of the whole moving
    body; links fixed to it get mass 0.
    """
    parameterization = identification.parameterization
    model = parameterization.model
    document: dict[str, Any] = copy.deepcopy(dict(prior))
    document["gravity"] = model.gravity.tolist()
    values = dict(
        zip(parameterization.names, identification.values.tolist(), strict=True)
    )
    seen = {
        parameterization.names[k]
        for k in np.flatnonzero(identification.estimate.base.combination.any(axis=0))
    }
    joints = document["joints"] = dict(document.get("joints") or {})
    for name, shape in zip(model.moving_joints, parameterization.shapes, strict=True):
        entry = joints.get(name) or {}
        still = name in identification.estimate.still
        names = {c: f"{name}.{c}" for c in COEFFICIENTS if f"{name}.{c}" in values}
        coefficients = {
            c: values[full]
            for c, full in names.items()
            if full in seen or not c.startswith("coulomb")
        }
        friction = _friction_entry(coefficients, shape)
        if parameterization.friction == "keep" or still:
            friction = {
                key: value for key, value in entry.items() if key in FRICTION_KEYS
            }
        joint = joints[name] = {
            **friction,
            **{key: value for key, value in entry.items() if key not in FRICTION_KEYS},
        }
        if f"{name} rotor.inertia" in values:
            joint["rotor_inertia"] = values[f"{name} rotor.inertia"]
        elif f"{name}.rotor_inertia" in values and not still:
            joint |= {
                "rotor_inertia": values[f"{name}.rotor_inertia"],
                "gear_ratio": 1.0,
                "rotor_carrier": "none",
            }
    for k, rotor in enumerate(document.get("rotors") or []):
        rotor["inertia"] = values.get(f"rotors[{k}].inertia", rotor["inertia"])
    bodies = identification.values[: PARAMETERS * parameterization.bodies].reshape(
        -1, PARAMETERS
    )
    links = document["links"] = dict(document.get("links") or {})
    for link, frame in model.link_frames.items():
        if frame.body >= 0:
            links[link] = {"mass": 0.0, "com": [0.0] * 3, "inertia": [0.0] * 6}
            if link == model.moving_links[frame.body]:
                mass = float(bodies[frame.body, 0])
                com = bodies[frame.body, 1:4] / bodies[frame.body, 0]
                inertia = symmetric(*bodies[frame.body, 4:]) - steiner(mass, com)
                links[link] = {
                    "mass": mass,
                    "com": com.tolist(),
                    "inertia": inertia[np.triu_indices(3)].tolist(),
                }
    return document


def _friction_entry(
    coefficients: Mapping[str, float], shape: FrictionShape
) -> dict[str, Any]:
    """Return the friction entry of a joint in the dynamics file."""
    forwards, backwards = (
        coefficients.get(key, 0.0) for key in ("coulomb", "coulomb_negative")
    )
    values = {"viscous": 0.0, "coulomb": backwards, "coulomb_negative": forwards}
    for parameter in FRICTION_PARAMETERS:
        value = shape.row[parameter.column]
        if parameter in IDENTIFIED and parameter.group in coefficients:
            values[parameter.key] = coefficients[parameter.group]
        elif not parameter.linear and value != 0.0:
            values[parameter.key] = value
    uneven = shape.unevenness * coefficients.get("sigmoid", 0.0)
    levels = (
        max(values["coulomb"] + uneven, 0.0),
        max(values["coulomb_negative"] - uneven, 0.0),
    )
    values["coulomb"], values["coulomb_negative"] = levels
    if "static" in values:
        values["static"] = max(values["static"], *levels)
    if "load_coefficient" in values:  # a larger one locks the joint
        ratio = values.get("static", 0.0) / (min(levels) or np.inf)
        values["load_coefficient"] = min(
            values["load_coefficient"], LARGEST_LOAD_COEFFICIENT / max(1.0, ratio)
        )
    entry: dict[str, Any] = {}
    for key, value in values.items():
        group, _, name = key.rpartition(".")
        inner = entry.setdefault(group, {}) if group else entry
        inner[name] = value
    return entry


class IdentifiedParameter(NamedTuple):
    """A base parameter, in SI units.

    Attributes
    ----------
    name
        Linear combination of parameters, or a friction coefficient.
    estimate, deviation
        Unconstrained least-squares estimate and its standard deviation.
    in_file
        Value by the dynamics file, whose inertias are physically consistent.
    undetermined
        True if the 95 % interval is wider than the estimate and the value in the file.
    latex
        Name in Khalil's symbols, with the number of the joint.
    """

    name: str
    estimate: float
    deviation: float
    in_file: float
    undetermined: bool
    latex: str


def identified_parameters(identification: Identification) -> list[IdentifiedParameter]:
    """Return all base parameters of an identification."""
    estimate = identification.estimate
    columns = (
        estimate.base.names,
        estimate.values,
        estimate.deviations,
        identification.base_values,
        identification.undetermined,
        [_latex(name, identification) for name in estimate.base.names],
    )
    return list(itertools.starmap(IdentifiedParameter, zip(*columns, strict=True)))


def parameter_table(parameters: Sequence[IdentifiedParameter]) -> list[str]:
    """Return the lines of a table of ``parameters``, for ``read_parameter_table``."""
    lines = [_TABLE_HEAD]
    for row in parameters:
        found = f"{row.estimate:>11.4g}{row.deviation:>11.2g}"
        if row.undetermined:
            found = f"{'undetermined':>22}"
        lines.append(f"{found}{row.in_file:>13.4g}  {row.name}")
    return lines


def _latex(name: str, identification: Identification) -> str:
    """Return the name of a base parameter in LaTeX."""
    model = identification.parameterization.model
    owners = [*model.moving_links, *model.moving_joints]
    count = len(model.moving_joints)

    def symbol(found: re.Match[str]) -> str:
        number = owners.index(found[1]) % count + 1 if found[1] in owners else found[1]
        return f"{_SYMBOLS[found[2]]}_{{{number}}}"

    return re.sub(
        rf"(\S+?)[. ]({'|'.join(map(re.escape, _SYMBOLS))})(?!\S)", symbol, name
    )


def read_parameter_table(text: str) -> list[IdentifiedParameter]:
    """Return the determined parameters of the ``parameter_table`` in the comments of a dynamics file."""
    rows = _TABLE_ROW.findall(text.partition(_TABLE_HEAD)[2])
    return [
        IdentifiedParameter(
            name, float(estimate), float(deviation), float(value), False, name
        )
        for estimate, deviation, value, name in rows
    ]


def write_dynamics_file(
    path: Path,
    document: Mapping[str, Any],
    comments: Sequence[str],
    *,
    joint_comments: Mapping[str, str] = MappingProxyType({}),
    footer: Sequence[str] = (),
    overwrite: bool = False,
) -> None:
    """Write ``document`` as a dynamics file (YAML) between the lines of comment ``comments`` and ``footer``.

    ``joint_comments`` are written behind the entries of joints, by name. Raises RobotDynamicsError if the file cannot
    be written, or if it exists and ``overwrite`` is False.
    """
    text = "".join(f"# {line}\n" for line in comments)
    for key, value in document.items():
        if key not in _TABLES or not value:
            text += yaml.safe_dump(
                {key: value}, sort_keys=False, default_flow_style=None, width=np.inf
            )
            continue
        text += f"{key}:\n"
        for name, entry in value.items():
            note = joint_comments.get(name) if key == "joints" else None
            text += f"  {_flow(name)}: {_flow(entry)}" + (
                f"  # {note}\n" if note else "\n"
            )
    try:
        with path.open("w" if overwrite else "x", encoding="utf-8") as file:
            file.write(text + "".join(f"# {line}\n" for line in footer))
    except OSError as error:
        raise RobotDynamicsError(
            f"{path}: {error.strerror}. Cure: name another file with --output"
        ) from None


def _flow(value: Any) -> str:
    """Return ``value`` as YAML on one line."""
    return str(
        yaml.safe_dump([value], default_flow_style=True, sort_keys=False, width=np.inf)
    )[1:-2]
