"""The same algorithms in three libraries for the same robot, with vectors in the order of ``joint_names``.

Each call gets another state and returns its result as users of the library get it. Not timed: the conversion of vectors
to the library's own order, its workspace, and for MuJoCo views of its state and a buffer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import mujoco
import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from benchmarks.robots import Floats
from robot_dynamics_ros import RobotModel

STATES = 100_000
THREADS = 2
BATCH = f", {STATES:,} states"

# Arguments of each algorithm, as columns of the random states.
SINGLE = {
    "inverse_dynamics": ("q", "qd", "qdd"),
    "gravity_torque": ("q",),
    "mass_matrix": ("q",),
    "forward_dynamics": ("q", "qd", "tau"),
    "inverse_dynamics_derivatives": ("q", "qd", "qdd"),
}
BATCHED = {
    name + BATCH: SINGLE[name] for name in ("inverse_dynamics", "forward_dynamics")
}
ALGORITHMS = {**SINGLE, **BATCHED}


class Call(NamedTuple):
    """One algorithm of one library."""

    function: Callable[..., Any]
    arguments: Callable[..., tuple[Any, ...]]
    """Function from vectors or batches in our order to the arguments of ``function``."""
    value: Callable[[Any], Floats]
    """Function from the result to numbers in our order; derivatives as (2, n, n)."""


Calls = dict[str, Call]


def ours(model: RobotModel) -> Calls:
    """Return the public methods of a model."""

    def call(name: str) -> Call:
        return Call(
            getattr(model, name.removesuffix(BATCH)),
            lambda *vectors: vectors,
            lambda result: np.array(result),
        )

    return {name: call(name) for name in ALGORITHMS}


def pinocchio(urdf: Path, joint_names: Sequence[str]) -> dict[str, Calls]:
    """Return Pinocchio's functions with default arguments, and with world axes if they have that option.

    Joints that are not in ``joint_names`` are locked at position 0. Batches run on THREADS threads.
    """
    model = pin.buildModelFromUrdf(str(urdf))
    others = [
        model.getJointId(name)
        for name in list(model.names)[1:]
        if name not in joint_names
    ]
    model = pin.buildReducedModel(model, others, pin.neutral(model))
    data = model.createData()
    pool = pin.ModelPool(model, THREADS)
    joints = [model.joints[model.getJointId(name)] for name in joint_names]
    order = np.array([joint.idx_v for joint in joints])

    def positions(q: Floats) -> Floats:
        # Continuous joints are given by cosine and sine.
        out = np.empty((*q.shape[:-1], model.nq))
        for j, joint in enumerate(joints):
            columns = (
                q[..., j]
                if joint.nq == 1
                else np.stack([np.cos(q[..., j]), np.sin(q[..., j])], axis=-1)
            )
            out[..., joint.idx_q : joint.idx_q + joint.nq] = columns.reshape(
                (*q.shape[:-1], joint.nq)
            )
        return out

    def vectors(q: Floats, *rates: Floats) -> list[Floats]:
        return [positions(q), *(_reordered(rate, order) for rate in rates)]

    def square(matrix: Floats) -> Floats:
        return np.array(matrix[np.ix_(order, order)])

    def symmetric(upper: Floats) -> Floats:
        return square(np.triu(upper) + np.triu(upper, 1).T)

    def one(
        function: Callable[..., Any], value: Callable[[Any], Floats], *extra: object
    ) -> Call:
        return Call(
            function, lambda *states: (model, data, *vectors(*states), *extra), value
        )

    def many(function: Callable[..., Any]) -> Call:
        # One state a column, in the layout that Pinocchio reads without a copy.
        return Call(
            function,
            lambda *states: (THREADS, pool, *(rows.T for rows in vectors(*states))),
            lambda result: np.array(result[order].T),
        )

    def torque(result: Floats) -> Floats:
        return np.array(result[order])

    calls = {
        "inverse_dynamics": one(pin.rnea, torque),
        "gravity_torque": one(pin.computeGeneralizedGravity, torque),
        "mass_matrix": one(pin.crba, symmetric),
        "forward_dynamics": one(pin.aba, torque),
        "inverse_dynamics_derivatives": one(
            pin.computeRNEADerivatives,
            lambda result: np.stack([square(result[0]), square(result[1])]),
        ),
        "inverse_dynamics" + BATCH: many(pin.rneaInParallel),
        "forward_dynamics" + BATCH: many(pin.abaInParallel),
    }
    world = {
        "mass_matrix": one(pin.crba, symmetric, pin.Convention.WORLD),
        "forward_dynamics": one(pin.aba, torque, pin.Convention.WORLD),
    }
    return {"Pinocchio": calls, "Pinocchio (WORLD)": world}


def mujoco_calls(urdf: Path, joint_names: Sequence[str]) -> Calls:
    """Return the steps of MuJoCo's engine that each algorithm needs, without constraints and contacts."""
    model = mujoco.MjModel.from_xml_string(mujoco_urdf(urdf.read_bytes(), joint_names))
    model.opt.disableflags |= (
        mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CONTACT
    )
    data = mujoco.MjData(model)
    position = data.qpos
    velocity = data.qvel
    applied = data.qfrc_applied
    acceleration: Floats = data.qacc
    torque = np.zeros(model.nv)
    matrix = np.zeros((model.nv, model.nv))
    order = np.array([model.joint(name).dofadr[0] for name in joint_names])

    def inverse(q: Floats, qd: Floats, qdd: Floats) -> Floats:
        position[:] = q
        velocity[:] = qd
        acceleration[:] = qdd
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        mujoco.mj_rne(model, data, 1, torque)
        return torque

    def mass(q: Floats) -> Floats:
        position[:] = q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_crb(model, data)
        mujoco.mj_fullM(model, data, matrix)
        return matrix

    def forward(q: Floats, qd: Floats, tau: Floats) -> Floats:
        position[:] = q
        velocity[:] = qd
        applied[:] = tau
        mujoco.mj_forward(model, data)
        return acceleration

    def arguments(*states: Floats) -> tuple[Floats, ...]:
        return tuple(_reordered(state, order) for state in states)

    return {
        "inverse_dynamics": Call(
            inverse, arguments, lambda result: np.array(result[order])
        ),
        "mass_matrix": Call(
            mass, arguments, lambda result: np.array(result[np.ix_(order, order)])
        ),
        "forward_dynamics": Call(
            forward, arguments, lambda result: np.array(result[order])
        ),
    }


def mujoco_urdf(urdf: bytes, joint_names: Sequence[str]) -> str:
    """Return a URDF for MuJoCo in which only ``joint_names`` move, without shapes and friction."""
    root = ElementTree.fromstring(urdf)
    for link in root.findall("link"):
        _remove(link, "visual", "collision")
    for joint in root.findall("joint"):
        _remove(joint, "dynamics", "mimic", "safety_controller")
        if joint.get("name") not in joint_names:
            joint.set("type", "fixed")
    _remove(root, "mujoco")
    options = {
        "fusestatic": "true",
        "balanceinertia": "false",
        "inertiafromgeom": "false",
        "discardvisual": "true",
    }
    ElementTree.SubElement(ElementTree.SubElement(root, "mujoco"), "compiler", options)
    return ElementTree.tostring(root, encoding="unicode")


def _remove(element: ElementTree.Element, *tags: str) -> None:
    for child in [child for child in element if child.tag in tags]:
        element.remove(child)


def _reordered(vector: Floats, order: NDArray[np.int64]) -> Floats:
    out: Floats = np.empty_like(vector)
    out[..., order] = vector
    return out
