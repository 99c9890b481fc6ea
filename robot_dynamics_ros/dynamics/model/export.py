"""Export of one robot's dynamics as C: what the code generator needs of a model, results of the self-test, and use."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics_ros.base.errors import RobotDynamicsError, RobotModelError
from robot_dynamics_ros.base.resources import package_version
from robot_dynamics_ros.dynamics.codegen.c_project import (
    RobotProperties,
    Vectors,
    write_project,
)
from robot_dynamics_ros.dynamics.codegen.c_source import Tree
from robot_dynamics_ros.dynamics.codegen.exported import ExportedKernels
from robot_dynamics_ros.dynamics.codegen.tracing import LinkPlacement
from robot_dynamics_ros.dynamics.description.inertia import (
    Inertial,
    InertiaSum,
    symmetric,
)
from robot_dynamics_ros.dynamics.kernels.entries import GeneralKernels
from robot_dynamics_ros.dynamics.kernels.layout import MASS
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model.model_data import ModelData, views
from robot_dynamics_ros.dynamics.thresholds import EXPORT_TOLERANCE

if TYPE_CHECKING:
    from robot_dynamics_ros.dynamics.model.robot_model import RobotModel

# File systems allow 255 characters, with the endings of C and Python.
_PREFIX = re.compile(r"[A-Za-z]\w{0,99}", re.ASCII)
_NOTHING = Inertial(0.0, np.zeros(3), np.zeros((3, 3)))


def export_c(
    model: RobotModel,
    data: ModelData,
    directory: Path,
    links: Sequence[str] | None,
    name: str | None,
    overwrite: bool,
) -> str:
    """Write the files of ``RobotModel.export_c`` for a model that has the ``data``, and return and raise as it does.

    ``links`` are checked by the caller.
    """
    if model.loops:
        raise RobotDynamicsError(
            f'export: robot "{model.name}" has closed loops, whose constraints the C functions do not contain. '
            "Cure: export a model whose dynamics file has no loops; its functions are those of the open tree"
        )
    names = [*dict.fromkeys(model.end_links if links is None else links)]
    holder = model.payload_link or (names or model.end_links)[0]
    identifiers = dict(zip(_identifiers(names, ""), names, strict=True))
    robot = Tree(
        name=_prefix(model.name, name),
        topology=data.topology,
        parameters=_bare(data),
        friction=data.friction,
        payload=_placement(data, holder),
        links={key: _placement(data, name) for key, name in identifiers.items()},
    )
    payload = _NOTHING if data.payload is None else data.payload[1]
    properties = RobotProperties(
        title=model.name,
        version=package_version(),
        joints=model.joint_names,
        units=[
            "m" if name in model.prismatic_joints else "rad"
            for name in model.joint_names
        ],
        limits={
            name: getattr(model, name)
            for name in (
                "position_lower",
                "position_upper",
                "velocity_limits",
                "effort_limits",
            )
        },
        gravity=model.gravity,
        payload=_about_origin(payload),
        payload_link=holder,
        links=identifiers,
        checksums=data.checksums,
    )
    general = replace(model, kernels=GeneralKernels(data.topology, data.parameters))
    vectors = _vectors(general, holder, payload, identifiers)
    write_project(directory, robot, properties, vectors, overwrite)
    return robot.name


def with_module(model: RobotModel, data: ModelData, module: ModuleType) -> RobotModel:
    """Return the model of ``RobotModel.use`` for a model that has the ``data``, and raise as it does."""

    def refused(reason: str) -> RobotDynamicsError:
        return RobotDynamicsError(
            f'{module.__name__}: {reason}. Cure: export robot "{model.name}" again, and install the folder'
        )

    if not hasattr(module, "bind"):
        raise refused("not a module of C code that this version exported")
    for title, own, other in zip(
        ("URDF", "dynamics file"),
        data.checksums,
        (module.urdf_sha256, module.dynamics_sha256),
        strict=True,
    ):
        if own != other:
            raise refused(f"it was exported from another {title}")
    if module.joint_names != model.joint_names:
        raise refused(
            f"its joints are {', '.join(module.joint_names)}, not {', '.join(model.joint_names)}"
        )
    if model.payload_link not in (None, module.payload_link):
        raise refused(
            f'its payload is on link "{module.payload_link}", not on "{model.payload_link}"'
        )
    carrier = _placement(data, module.payload_link)
    arrays = data.topology, data.parameters
    general = replace(model, kernels=GeneralKernels(*arrays))
    used = replace(
        model, kernels=ExportedKernels(*arrays, module, _bare(data), carrier)
    )
    for q, qd, qdd in np.random.default_rng(0).uniform(-3.0, 3.0, (100, 3, model.n)):
        tau = general.inverse_dynamics(q, qd, qdd)
        pairs = {
            "inverse_dynamics": (used.inverse_dynamics(q, qd, qdd), tau),
            "gravity_torque": (used.gravity_torque(q), general.gravity_torque(q)),
            "mass_matrix": (used.mass_matrix(q), general.mass_matrix(q)),
        }
        if not data.massless_joints:
            pairs["forward_dynamics"] = (
                general.inverse_dynamics(q, qd, used.forward_dynamics(q, qd, tau)),
                tau,
            )
        for function, (result, expected) in pairs.items():
            if not np.linalg.norm(
                result - expected
            ) <= EXPORT_TOLERANCE * np.linalg.norm(expected):
                raise refused(f"{function} differs from the model at q = {q.tolist()}")
    return used


def _bare(data: ModelData) -> Array:
    """Return the parameters without the payload."""
    parameters = data.parameters.copy()
    views(data.topology, parameters).bodies[:, MASS:] = data.bare_inertials
    return parameters


def _placement(data: ModelData, link: str) -> LinkPlacement:
    frame = data.frames[link]
    return LinkPlacement(frame.body, frame.placement)


def _prefix(title: str, name: str | None) -> str:
    """Return the prefix ``name`` of the C names, or one made of the robot's name."""
    prefix = _identifiers([title], "robot_")[0] if name is None else name
    if not _PREFIX.fullmatch(prefix):
        raise RobotDynamicsError(
            f'export: "{prefix}" cannot begin names of C functions and files. Cure: give a --name of at most 100 '
            'letters, digits and "_", the first a letter'
        )
    return prefix


def _identifiers(names: Sequence[str], prefix: str) -> list[str]:
    """Return different C identifiers for names; ``prefix`` precedes one that would begin with a digit."""
    result: list[str] = []
    for name in names:
        text = re.sub(r"\W", "_", name, flags=re.ASCII) or "_"
        text = prefix + text if text[0].isdigit() or text[0] == "_" else text
        # jacobian_dot_qd_a is a function of link a
        text = "link_" + text if text.startswith("dot_qd_") else text
        while text in result:
            text += "_"
        result.append(text)
    return result


def _about_origin(payload: Inertial) -> Array:
    total = InertiaSum.zero()
    total.add(payload, np.eye(3), np.zeros(3))
    return total.flat()


def _states(model: RobotModel, payload: Inertial) -> list[dict[str, Array]]:
    """Return arguments of the C functions by name at zero, random and extreme states.

    Payload and gravity are the model's or other ones.
    """
    rng = np.random.default_rng(0)
    n = model.n
    lower = np.clip(model.position_lower, -1e3, 1e3)
    upper = np.clip(model.position_upper, -1e3, 1e3)
    near = np.clip(-np.pi, lower, upper), np.clip(np.pi, lower, upper)
    speed = np.minimum(model.velocity_limits, 100.0)
    heavy = Inertial(
        50.0, np.array([0.1, -0.2, 0.3]), symmetric(2.0, 0.1, -0.2, 3.0, 0.3, 2.5)
    )
    small = Inertial(
        0.7,
        np.array([-0.02, 0.01, 0.05]),
        symmetric(0.002, 1e-4, 0.0, 0.003, -2e-4, 0.0025),
    )
    tilted = np.array([3.0, -5.0, 7.0])

    def state(
        q: Array, rates: float, load: Inertial, gravity: Array
    ) -> dict[str, Array]:
        motion = {
            name: rates * rng.uniform(-1.0, 1.0, n)
            for name in ("qdd", "tau", "load", "qdd_d")
        }
        qd = min(rates, 1.0) * speed * rng.uniform(-1.0, 1.0, n)
        arguments = {
            "q": q,
            "qd": qd,
            **motion,
            "q_d": q + 0.01,
            "qd_d": qd * 0.9,
            "kp": np.full(n, 100.0),
            "kd": np.full(n, 20.0),
            "gravity": gravity,
            "payload": _about_origin(load),
            "mass": np.array(load.mass),
            "com": load.com,
            "inertia": load.inertia[np.triu_indices(3)],
            "smoothing_velocity": np.array(rng.choice([0.0, 0.1])),
        }
        return {name: value + 0.0 for name, value in arguments.items()}

    return [
        state(np.clip(np.zeros(n), lower, upper), 0.0, payload, model.gravity),
        *(state(rng.uniform(*near), 10.0, payload, model.gravity) for _ in range(2)),
        *(state(rng.uniform(*near), 10.0, small, tilted) for _ in range(2)),
        state(rng.uniform(*near), 10.0, _NOTHING, np.zeros(3)),
        state(lower, 1e3, heavy, model.gravity),
        state(upper, 1e3, heavy, tilted),
    ]


def _vectors(
    model: RobotModel, holder: str, payload: Inertial, links: dict[str, str]
) -> Vectors:
    """Return states of the self-test with the results of the general kernels."""
    states = _states(model, payload)
    outcomes = [_outcomes(model, holder, state, links) for state in states]
    results = [result for result, _ in outcomes]
    return Vectors(
        arguments={
            name: np.array([state[name] for state in states]) for name in states[0]
        },
        expected={
            name: np.array([result[name][0].ravel() for result in results])
            for name in results[0]
        },
        terms={
            name: np.array([result[name][1] for result in results])
            for name in results[0]
        },
        singular=np.array([float(singular) for _, singular in outcomes]),
    )


def _outcomes(
    model: RobotModel, holder: str, x: dict[str, Array], links: dict[str, str]
) -> tuple[dict[str, tuple[Array, float]], bool]:
    """Return by function its result at a state and the magnitude of its terms, and True if forward dynamics fails."""
    model = model.with_gravity(x["gravity"]).with_payload(
        holder, float(x["mass"]), x["com"], x["inertia"]
    )
    q = x["q"]
    qd = x["qd"]
    qdd = x["qdd"]
    law = x["qdd_d"] + x["kd"] * (x["qd_d"] - qd) + x["kp"] * (x["q_d"] - q)
    matrix = model.mass_matrix(q)
    weight = float(model.body_parameters[:, 0].sum() * np.linalg.norm(x["gravity"]))
    size = float(np.linalg.norm(matrix))
    force = weight + size * float(np.linalg.norm(qdd) + np.linalg.norm(law) + qd @ qd)
    fade = float(x["smoothing_velocity"])
    results = {
        "make_payload": (x["payload"], 0.0),
        "inverse_dynamics": (model.inverse_dynamics(q, qd, qdd), force),
        "gravity_torque": (model.gravity_torque(q), weight),
        "bias_torque": (model.bias_torque(q, qd), force),
        "mass_matrix": (matrix, size),
        "gear_load": (model.gear_load(q, qd, qdd), force),
        "friction_torque": (model.friction_torque(q, qd, fade, load=x["load"]), 0.0),
        "computed_torque": (model.inverse_dynamics(q, qd, law), force),
    }
    for key, link in links.items():
        jacobian = model.jacobian(q, link)
        size = float(np.linalg.norm(jacobian))
        product = model.jacobian_dot_qd(q, qd, link)
        results |= {
            f"pose_{key}": (model.link_pose(q, link), 0.0),
            f"jacobian_{key}": (jacobian, size),
            f"jacobian_dot_qd_{key}": (product, size * float(qd @ qd) + 100.0),
        }
    try:
        model.forward_dynamics(q, qd, x["tau"])
    except RobotModelError:
        return results, True
    return results, False
