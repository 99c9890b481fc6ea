"""Terms that several formulations share: rotors, and the transformation to the independent coordinates.

``robot`` is a model or its link tree (``LinkTree.of`` the model). n is the number of independent coordinates, ``links``
that of moving links, each with one joint. G (links, n), ``LinkTree.couplings``, maps rates of coordinates to rates of
joints. q and qd have shape (n,), in rad or m. Vectors of a wrong shape raise RobotDynamicsError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.base.errors import RobotDynamicsError, require_known
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.link_tree import BASE, Link, LinkTree


def checked(
    robot: RobotModel | LinkTree, **vectors: ArrayLike
) -> tuple[LinkTree, list[Array]]:
    """Return the link tree of a robot, and ``vectors``, given by name, as arrays (n,) in the same order.

    Arrays of Python objects, such as symbols, are not converted to floats. Raises RobotDynamicsError, with the vector's
    name, for any other shape.
    """
    tree = robot if isinstance(robot, LinkTree) else LinkTree.of(robot)
    n = tree.couplings.shape[1]
    arrays = []
    for name, values in vectors.items():
        array = np.asarray(values)
        if array.shape != (n,):
            raise RobotDynamicsError(
                f"{name} has shape {array.shape}, expected ({n},). Cure: pass {n} numbers"
            )
        arrays.append(array if array.dtype == object else array.astype(np.float64))
    return tree, arrays


def real(value: ArrayLike) -> Array:
    """Return a value as an array of floats."""
    return np.asarray(value, dtype=np.float64)


def shaped(name: str, value: ArrayLike, shape: tuple[int, ...], cure: str) -> Array:
    """Return a value as an array of floats; RobotDynamicsError with its name and ``cure`` for another shape."""
    array = real(value)
    if array.shape != shape:
        raise RobotDynamicsError(
            f"{name} has shape {array.shape}, expected {shape}. Cure: {cure}"
        )
    return array


def cross(a: Array, b: Array) -> Array:
    """Return a x b (3,) of two vectors (3,), of numbers or symbols.

    ``numpy.cross`` of NumPy 1.21 rejects a vector of symbols beside one of floats.
    """
    (a1, a2, a3) = a
    (b1, b2, b3) = b
    return np.array([a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1])


def frame_on_body(model: RobotModel, link: str) -> tuple[int, Array]:
    """Return the index of the moving link that carries a link's frame, or BASE, and the frame's pose (4, 4) in it.

    Raises RobotDynamicsError for an unknown link.
    """
    require_known(link, model.link_names, f'no link "{link}"')
    frame = model.link_frames[link]
    pose = np.eye(4)
    pose[:3, :3] = np.array(frame.rotation).reshape(3, 3)
    pose[:3, 3] = np.array(frame.position)
    return frame.body, pose


def with_end_effector(model: RobotModel, link: str) -> LinkTree:
    """Return the link tree of a model with the frame of ``link`` as one more, massless link: Craig's frame {n + 1}.

    It has no motion of its own: its joint, with the link's name, does not follow any coordinate. Raises
    RobotDynamicsError for an unknown link.
    """
    tree = LinkTree.of(model)
    (body, pose) = frame_on_body(model, link)
    frame = Link(
        link, body, False, pose[:3, :3], pose[:3, 3], 0.0, np.zeros(3), np.zeros((3, 3))
    )
    still = np.zeros((1, model.n))
    return replace(
        tree, links=(*tree.links, frame), couplings=np.vstack([tree.couplings, still])
    )


def to_coordinates(tree: LinkTree, term: Array) -> Array:
    """Transform a joint-space term, each axis of length ``links``, to the coordinates, each axis of length n.

    ``term`` has any number of axes. By virtual work, the result is G^T tau for a vector, G^T M G for a matrix, or G on
    each tensor axis.
    """
    for _ in range(term.ndim):
        term = np.moveaxis(term, 0, -1) @ tree.couplings
    return term


def rotor_ratios(
    circuits: Mapping[str, tuple[str, float]], joints: Sequence[str]
) -> Array:
    """Return the rates of gears and rotors by those of the joints (circuits, joints): Tsai (9.149)-(9.153).

    Its rows are the ``ratio`` of rotors in a dynamics file, and ``LinkTree.rotor_couplings`` of the robot with them.

    Parameters
    ----------
    circuits
        Fundamental circuits: by the name of each gear or rotor another one, or the joint, that it meshes with, and N.
        It turns by N times the angle of the other one, both relative to the same carrier.
    joints
        Names of the joints.

    Raises
    ------
    RobotDynamicsError
        For a gear whose circuits do not lead to a joint.
    """
    ratios = np.zeros((len(circuits), len(joints)))
    for row, (rotor, (gear, ratio)) in zip(ratios, circuits.items(), strict=True):
        passed = {rotor}
        while gear not in joints:
            problem = f'circuit of "{rotor}": "{gear}" does not lead to a joint'
            others = [name for name in (*circuits, *joints) if name not in passed]
            require_known(gear, others, problem)
            passed.add(gear)
            gear, further = circuits[gear]
            ratio *= further
        row[joints.index(gear)] = ratio
    return ratios


def rotor_inertia(robot: RobotModel | LinkTree, q: ArrayLike) -> tuple[Array, Array]:
    """Return the rotors' part of the mass matrix and its derivatives at q (n,).

    Tsai (9.157): a rotor with axial inertia I that spins at N qd about the axis e of a carrier with angular velocity w
    adds I (N qd)^2 / 2 + I (w . e) N qd to the kinetic energy.

    Returns
    -------
    M, dM
        (n, n) and (n, n, n), kg m^2 for revolute coordinates. dM[i, j, k] is the derivative of M[i, j] by q[k].
    """
    tree, (q,) = checked(robot, q=q)
    n = len(q)
    M = np.zeros((n, n))
    dM = np.zeros((n, n, n))
    rotations, _ = tree.base_placements(q)
    z = rotations[:, :, 2]
    G = tree.couplings
    for rotor, N in zip(tree.rotors, tree.rotor_couplings, strict=True):
        w = np.zeros(len(tree.links))
        dw = np.zeros((len(tree.links), len(tree.links)))
        if rotor.carrier != BASE:
            e = rotations[rotor.carrier] @ rotor.axis
            revolute = [
                i for i in tree.path(rotor.carrier) if not tree.links[i].prismatic
            ]
            for place, i in enumerate(revolute):
                w[i] = e @ z[i]  # w . e = sum_i w_i qd_i
                for k in revolute[place + 1 :]:
                    # joint k rotates e, but not z_i
                    dw[i, k] = e @ np.cross(z[i], z[k])
        w = w @ G
        dw = G.T @ dw @ G
        M += rotor.inertia * (np.outer(N, N) + np.outer(w, N) + np.outer(N, w))
        dM += rotor.inertia * (
            np.einsum("ik,j->ijk", dw, N) + np.einsum("i,jk->ijk", N, dw)
        )
    return M, dM


def velocity_coupling_of(dM: Array, qd: Array) -> Array:
    """Return the Coriolis and centrifugal torque V (n,), Nm or N, Tsai (9.101), at the velocity qd (n,).

    dM (n, n, n) has the derivatives of the mass matrix: dM[i, j, k] is that of M_ij by q_k.
    """
    return np.asarray(
        np.einsum("ijk,j,k->i", dM, qd, qd) - 0.5 * np.einsum("jki,j,k->i", dM, qd, qd)
    )
