"""URDF and MJCF documents of a model for other programs, and the model's differences from them in these programs."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.analysis.thresholds import COMPARED_STATES, LEAST_INERTIA
from robot_dynamics_ros.base.errors import RobotModelWarning
from robot_dynamics_ros.dynamics.description.inertia import ELEMENTS, steiner, symmetric
from robot_dynamics_ros.dynamics.description.urdf import parse_urdf, parse_xml
from robot_dynamics_ros.dynamics.kernels.friction import (
    COULOMB,
    COULOMB_NEGATIVE,
    FRICTION_PARAMETERS,
    SIGMOID_AMPLITUDE,
    VISCOUS,
)
from robot_dynamics_ros.dynamics.kernels.regressor import PARAMETERS
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model.link_tree import BASE, LinkTree
from robot_dynamics_ros.dynamics.model.robot_model import RobotModel

_GRAVITY = (0.0, 0.0, -9.81)  # of programs that load a URDF
_DECLARATION = '<?xml version="1.0" encoding="utf-8"?>'

_Terms = Callable[[Array, Array], tuple[Array, Array, Array]]
"""Function of position and velocity (n,): gravity torque (n,), mass matrix (n, n) and bias torque (n,)."""


class _Moved(NamedTuple):
    """Friction and reflected rotor inertia of a joint, and mass properties of the body that it moves, in link axes."""

    link: str
    mass: float
    com: Array
    inertia: Array
    damping: float
    friction: float
    armature: float


def _moved(model: RobotModel) -> dict[str, _Moved]:
    """Return the properties of the moving joints by name."""
    armature = dict(
        zip(model.joint_names, np.diag(_rotor_inertia(model)).tolist(), strict=True)
    )
    moved = {}
    for joint, link, body, row in zip(
        model.moving_joints,
        model.moving_links,
        model.body_parameters,
        model.friction_parameters,
        strict=True,
    ):
        mass = float(body[0])
        com = body[1:4] / (body[0] or 1.0)
        inertia = symmetric(*body[4:]) - steiner(mass, com)
        coulomb = row[COULOMB] + row[COULOMB_NEGATIVE] + abs(row[SIGMOID_AMPLITUDE])
        moved[joint] = _Moved(
            link,
            mass,
            com,
            inertia,
            row[VISCOUS],
            0.5 * coulomb,
            armature.get(joint, 0.0),
        )
    return moved


def _rotor_inertia(model: RobotModel) -> Array:
    """Return the rotors' reflected inertia (n, n): the part of the mass matrix by their spin on their carriers."""
    spins = model.coupling_matrix[len(model.moving_joints) :]
    return (
        spins.T * model.inertial_parameters[PARAMETERS * len(model.moving_links) :]
    ) @ spins


def urdf_text(urdf: str | bytes, model: RobotModel) -> str:
    """Return the URDF of ``model`` with the model's inertias and friction, otherwise the content of ``urdf``.

    The link that a joint moves has the <inertial> of the whole body, including the payload; links fixed to it have
    none. A sigmoid is Coulomb friction of half its amplitude, and Coulomb friction the mean of both directions. Raises
    RobotModelError as ``parse_xml``.
    """
    robot = parse_xml(urdf, "URDF")
    moved = _moved(model)
    bodies = {entry.link: entry for entry in moved.values() if entry.mass > 0.0}
    for link in robot.findall("link"):
        if model.link_frames[link.get("name", "")].body >= 0:
            for old in link.findall("inertial"):
                link.remove(old)
            if body := bodies.get(link.get("name", "")):
                inertial = Element("inertial")
                SubElement(inertial, "origin", xyz=_text(body.com), rpy="0 0 0")
                SubElement(inertial, "mass", value=_text(body.mass))
                moments = map(_text, body.inertia[np.triu_indices(3)])
                SubElement(
                    inertial, "inertia", dict(zip(ELEMENTS, moments, strict=True))
                )
                link.insert(0, inertial)
                indent(inertial, level=2)
                inertial.tail = link.text = "\n    "
    for joint in robot.findall("joint"):
        if entry := moved.get(joint.get("name", "")):
            for old in joint.findall("dynamics"):
                joint.remove(old)
            SubElement(
                joint,
                "dynamics",
                damping=_text(entry.damping),
                friction=_text(entry.friction),
            )
    text = urdf if isinstance(urdf, str) else urdf.decode(errors="replace")
    header = re.match(r"(\s*<\?.*?\?>|\s*<!--.*?-->)*", text, re.DOTALL)
    comments = re.findall(r"<!--.*?-->", header[0], re.DOTALL) if header else []
    return "\n".join([_DECLARATION, *comments, tostring(robot, encoding="unicode"), ""])


def mjcf_text(urdf: str | bytes, model: RobotModel) -> str:
    """Return the MJCF of ``model``, whose URDF is ``urdf``: bodies and joints, without shapes, actuators and couplings.

    The root link is the world, each other link a body with the frame of the link. Inertias and friction are those of
    ``urdf_text``, but mass and moments of inertia are at least 1e-12 (kg, kg m^2), and the largest moment is at most
    the sum of the others. Rotor inertia is the armature of its joint. Locked joints are fixed. Raises RobotModelError
    for an invalid URDF.
    """
    with warnings.catch_warnings():
        # issued when the model was loaded
        warnings.simplefilter("ignore", RobotModelWarning)
        description = parse_urdf(urdf, "URDF")
    moved = _moved(model)
    root = Element("mujoco", model=model.name)
    SubElement(root, "compiler", angle="radian")
    SubElement(root, "option", gravity=_text(model.gravity))
    bodies = {description.root: SubElement(root, "worldbody")}
    for joint in description.joints:
        body = bodies[joint.child] = SubElement(
            bodies[joint.parent], "body", name=joint.child
        )
        entry = moved.get(joint.name)
        if entry is None:
            parent, child = (
                model.link_frames[link] for link in (joint.parent, joint.child)
            )
            _place(
                body,
                parent.rotation.T @ child.rotation,
                parent.rotation.T @ (child.position - parent.position),
            )
            continue
        _place(body, joint.rotation, joint.position)
        moments, axes = np.linalg.eigh(entry.inertia)
        moments = np.maximum(moments, LEAST_INERTIA)
        # MuJoCo allows no rounding error of flat bodies
        moments[2] = min(moments[2], moments[0] + moments[1])
        _place(
            SubElement(
                body,
                "inertial",
                mass=_text(max(entry.mass, LEAST_INERTIA)),
                diaginertia=_text(moments),
            ),
            axes,
            entry.com,
        )
        kind = "slide" if joint.kind == "prismatic" else "hinge"
        element = SubElement(
            body, "joint", name=joint.name, type=kind, axis=_text(joint.axis)
        )
        if -np.inf < joint.lower < joint.upper < np.inf:
            element.set("range", _text([joint.lower, joint.upper]))
        friction = {
            "damping": entry.damping,
            "frictionloss": entry.friction,
            "armature": entry.armature,
        }
        element.attrib.update({key: _text(value) for key, value in friction.items()})
    indent(root)
    return "\n".join([_DECLARATION, tostring(root, encoding="unicode"), ""])


def _place(element: Element, rotation: Array, position: Array) -> None:
    element.attrib.update(pos=_text(position), xyaxes=_text(rotation[:, :2].T))


def _text(value: ArrayLike) -> str:
    return " ".join(map(repr, np.ravel(value).astype(float).tolist()))


def lost_properties(model: RobotModel) -> list[str]:
    """Return a line for each kind of property of ``model`` that its URDF, or URDF and MJCF, do not contain."""
    friction = model.friction_parameters
    reflected = _rotor_inertia(model)
    inertias = zip(model.joint_names, np.diag(reflected).tolist(), strict=True)
    carried = any(rotor.carrier != BASE for rotor in LinkTree.of(model).rotors)
    asymmetric = friction[:, COULOMB] != friction[:, COULOMB_NEGATIVE]
    kinds = {"the direction of Coulomb friction (they have the mean)": asymmetric}
    kinds |= {
        f"friction of the key {x.group}": friction[:, x.column] != 0.0
        for x in FRICTION_PARAMETERS
        if x.linear and x.column not in (VISCOUS, COULOMB, COULOMB_NEGATIVE)
    }
    both = "URDF and MJCF lack"
    urdf = "the URDF lacks"
    names: dict[str, Iterable[str]] = {
        f"{both} {kind}": itertools.compress(model.moving_joints, has)
        for kind, has in kinds.items()
    }
    names |= {
        f"{urdf} rotor inertia, the armature of Pinocchio and MuJoCo": [
            f"{n} {i:.6g}" for n, i in inertias if i > 0.0
        ],
        f"{both} torques between joints by the rotors": model.rotor_names
        if carried or _coupled(reflected)
        else (),
        f"{urdf} gravity": []
        if tuple(model.gravity) == _GRAVITY
        else [str(model.gravity.tolist())],
        f"{both} couplings, but for <mimic> in the URDF": sorted(
            {*model.moving_joints} - {*model.joint_names}
        ),
        f"{both} closed loops": [
            f"{loop.link_a} to {loop.link_b}" for loop in model.loops
        ],
        "locked joints move in the URDF, and links behind them are merged": model.locked,
        "both files have the payload in the moving link that carries": filter(
            None, [model.payload_link]
        ),
    }
    lines = ((text, ", ".join(listed)) for text, listed in names.items())
    return [f"{text}: {listed}" for text, listed in lines if listed]


def _coupled(matrix: Array) -> bool:
    return bool(np.any(matrix != np.diag(np.diag(matrix))))


def differences(
    model: RobotModel, urdf: str | None, mjcf: str | None
) -> dict[str, Array]:
    """Return the differences (3,) of gravity torque, mass matrix and bias torque between ``model`` and its documents.

    ``urdf`` and ``mjcf`` are results of ``urdf_text`` and ``mjcf_text``, or None; both need uncoupled joints, and
    locked joints at 0. The keys are the programs that load them: Pinocchio, which gets the rotor inertia as armature,
    and MuJoCo, if they are installed. Each difference is the largest one at ten random states, relative to the largest
    value of the model.
    """
    loaded: dict[str, _Terms] = {}
    if urdf is not None and find_spec("pinocchio"):
        loaded["URDF and armature in Pinocchio"] = _pinocchio(model, urdf)
    if mjcf is not None and find_spec("mujoco"):
        loaded["MJCF in MuJoCo"] = _mujoco(model, mjcf)
    lower = np.maximum(model.position_lower, -np.pi)
    upper = np.minimum(model.position_upper, np.pi)
    rng = np.random.default_rng(0)
    states = [
        (rng.uniform(lower, upper), rng.uniform(-1.0, 1.0, model.n))
        for _ in range(COMPARED_STATES)
    ]
    expected = [
        (model.gravity_torque(q), model.mass_matrix(q), model.bias_torque(q, qd))
        for q, qd in states
    ]
    largest = [np.abs(values).max() or 1.0 for values in zip(*expected, strict=True)]
    results = {}
    for name, terms in loaded.items():
        pairs = [
            zip(terms(*state), known, strict=True)
            for state, known in zip(states, expected, strict=True)
        ]
        results[name] = (
            np.max([[np.abs(x - y).max() for x, y in pair] for pair in pairs], axis=0)
            / largest
        )
    return results


def _pinocchio(model: RobotModel, urdf: str) -> _Terms:
    pin = import_module("pinocchio")
    peer = pin.buildModelFromXML(urdf)
    peer.gravity.linear = model.gravity
    own = [peer.joints[peer.getJointId(name)].idx_v for name in model.joint_names]
    order = np.eye(peer.nv)[:, own]
    peer.armature = order @ np.diag(_rotor_inertia(model))
    data = peer.createData()

    def terms(q: Array, qd: Array) -> tuple[Array, Array, Array]:
        # A step from the neutral position: continuous joints have two coordinates.
        position = pin.integrate(peer, pin.neutral(peer), order @ q)
        gravity = pin.computeGeneralizedGravity(peer, data, position)
        upper = np.triu(pin.crba(peer, data, position))
        mass = upper + np.triu(upper, 1).T
        bias = pin.nonLinearEffects(peer, data, position, order @ qd)
        return gravity @ order, order.T @ mass @ order, bias @ order

    return terms


def _mujoco(model: RobotModel, mjcf: str) -> _Terms:
    mujoco = import_module("mujoco")
    peer = mujoco.MjModel.from_xml_string(mjcf)
    data = mujoco.MjData(peer)
    order = np.eye(peer.nv)[
        :, [peer.joint(name).dofadr[0] for name in model.joint_names]
    ]

    def terms(q: Array, qd: Array) -> tuple[Array, Array, Array]:
        bias = []
        for rate in (0.0 * qd, qd):
            data.qpos[:] = order @ q
            data.qvel[:] = order @ rate
            mujoco.mj_forward(peer, data)
            bias.append(data.qfrc_bias @ order)
        mass = np.empty((peer.nv, peer.nv))
        for column, unit in zip(mass, np.eye(peer.nv), strict=True):
            mujoco.mj_mulM(peer, data, column, unit)
        return bias[0], order.T @ mass @ order, bias[1]

    return terms
