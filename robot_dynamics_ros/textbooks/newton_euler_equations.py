"""Newton and Euler equations of one rigid body, and the recursion over the links of a robot.

Craig 6.2-6.5, Tsai 9.3-9.7, Milicevic Tables 1 and 2. Arguments (3,) of the functions of one body can be in any axes,
the same for all arguments of a call. Inertias (3, 3) are about the centre of mass.

``robot`` is a model or its link tree (``LinkTree.of`` the model), ``links`` the number of moving links. Position q,
velocity qd and acceleration qdd have shape (n,), in rad or m; torques are without friction. Link frames are Craig's,
with z on the axis of the link's own joint. Craig's recursion is for revolute joints; prismatic ones are from Tsai and
Milicevic.
The z_{i-1} and p_{i-1} of Milicevic's Table 1 are z_i and p_i here, so that p*_i leads from the parent's origin and
rotates with the parent. Table 1 is the recursion with all vectors in the axes of the base, Table 2 in those of the
links. Tsai treats gravity as a force, (9.60) and (9.65); here the base accelerates against gravity,
which is equivalent. A bracket of Tsai (9.58) is misplaced: only the acceleration of the parent's origin is rotated into
the link's frame. Rotors follow Tsai (9.157). Vectors of a wrong shape raise RobotDynamicsError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.link_tree import BASE, LinkTree
from robot_dynamics_ros.textbooks.propagation import link_velocities
from robot_dynamics_ros.textbooks.shared_terms import checked, cross, to_coordinates

Z = np.array([0.0, 0.0, 1.0])


class NewtonEulerTrace(NamedTuple):
    """Results of each step of Craig (6.45)-(6.53), Tsai (9.49)-(9.70).

    Arrays (links, 3) have one row for each link of ``LinkTree.links``, at the origin and in the axes of the link's
    frame. Tsai's f* and n* are -F and -N. His v and dv are those of the origin of the next link, and his dv is without
    gravity.

    Attributes
    ----------
    w, dw
        Angular velocity, rad/s, and angular acceleration, rad/s^2: (6.45), (6.46).
    v
        Velocity of the frame's origin, m/s: Tsai (9.55).
    dv, dv_c
        Acceleration of the frame's origin and of the centre of mass, m/s^2, minus that of gravity: (6.47), (6.48).
    g
        Acceleration of gravity, m/s^2: Tsai (9.60).
    F, N
        Force, N, and moment, Nm, on the link's mass about its centre, without its weight: (6.49), (6.50). N includes
        the link's rotors.
    f, n
        Force, N, and moment, Nm, of the parent on the link: (6.51), (6.52).
    tau
        Torque (n,) of the coordinates, Nm or N: (6.53).
    """

    w: Array
    dw: Array
    v: Array
    dv: Array
    dv_c: Array
    g: Array
    F: Array
    N: Array
    f: Array
    n: Array
    tau: Array


def point_velocity(origin: Array, w: Array, r: Array, relative: Array) -> Array:
    """Return the velocity (3,), m/s, of a point in a moving frame: Craig (6.5), (5.13), Tsai (9.32).

    Parameters
    ----------
    origin
        Velocity of the frame's origin, m/s.
    w
        Angular velocity of the frame, rad/s.
    r
        Position of the point relative to the frame's origin, m.
    relative
        Velocity of the point relative to the frame, m/s.
    """
    return origin + relative + np.cross(w, r)


def point_acceleration(
    origin: Array, w: Array, dw: Array, r: Array, relative: Array, gaining: Array
) -> Array:
    """Return the acceleration (3,), m/s^2, of a point in a moving frame: Craig (6.10).

    Craig (6.12) is the special case of a point fixed to the frame.

    Parameters
    ----------
    origin
        Acceleration of the frame's origin, m/s^2.
    w, dw
        Angular velocity and acceleration of the frame, rad/s and rad/s^2.
    r
        Position of the point relative to the frame's origin, m.
    relative, gaining
        Velocity and acceleration of the point relative to the frame, m/s and m/s^2.
    """
    return (
        origin
        + gaining
        + 2.0 * np.cross(w, relative)
        + np.cross(dw, r)
        + np.cross(w, np.cross(w, r))
    )


def angular_acceleration(w: Array, dw: Array, relative: Array, gaining: Array) -> Array:
    """Return the angular acceleration (3,), rad/s^2, of a body in a rotating frame: Craig (6.15).

    Parameters
    ----------
    w, dw
        Angular velocity and acceleration of the frame, rad/s and rad/s^2.
    relative, gaining
        Angular velocity (rad/s) and acceleration (rad/s^2) of the body relative to the frame.
    """
    return dw + gaining + np.cross(w, relative)


def linear_momentum(mass: float, v_c: Array) -> Array:
    """Return the linear momentum m v_c (3,), kg m/s, for the velocity v_c (m/s) of the centre of mass: Tsai (9.18)."""
    return mass * v_c


def angular_momentum(
    mass: float, inertia: Array, p_c: Array, v_c: Array, w: Array
) -> Array:
    """Return the angular momentum (3,), kg m^2/s, about a point: Tsai (9.22), (9.24).

    Parameters
    ----------
    mass, inertia
        Mass, kg, and inertia (3, 3) about the centre of mass, kg m^2.
    p_c
        Position of the centre of mass relative to the point, m.
    v_c, w
        Velocity (3,) of the centre of mass, m/s, and angular velocity (3,), rad/s.
    """
    return np.cross(p_c, linear_momentum(mass, v_c)) + inertia @ w


def kinetic_energy(mass: float, inertia: Array, v_c: Array, w: Array) -> float:
    """Return the kinetic energy K, J, of a body: Tsai (9.34), Craig (6.69), Spong (9.41).

    ``mass`` is in kg, ``inertia`` (3, 3) about the centre of mass in kg m^2. ``v_c`` (3,) is the velocity of the centre
    of mass, m/s, and ``w`` (3,) the angular velocity, rad/s.
    """
    return float(0.5 * mass * v_c @ v_c + 0.5 * w @ inertia @ w)


def newton_force(mass: float, dv_c: Array) -> Array:
    """Return the force (3,), N, for acceleration dv_c (m/s^2) of the centre of mass: Craig (6.29), Tsai (9.38)."""
    return mass * dv_c


def euler_moment(inertia: Array, w: Array, dw: Array) -> Array:
    """Return the moment (3,), Nm, on a body about its centre of mass: Craig (6.30), Tsai (9.45), (9.47).

    ``inertia`` (3, 3) is about the centre of mass, kg m^2. ``w`` and ``dw`` (3,) are angular velocity and acceleration,
    rad/s and rad/s^2.
    """
    return inertia @ dw + cross(w, inertia @ w)


def newton_euler_base(
    robot: RobotModel | LinkTree, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike
) -> Array:
    """Return the torque (n,) for q, qd, qdd (n,) by Milicevic Table 1, with all vectors in the base frame; Nm or N.

    The friction b_i qd_i of the table is omitted.
    """
    tree, (q, qd, qdd) = checked(robot, q=q, qd=qd, qdd=qdd)
    rotations, p = tree.base_placements(q)
    links = [
        replace(link, com=R @ link.com, inertia=R @ link.inertia @ R.T)
        for R, link in zip(rotations, tree.links, strict=True)
    ]
    rotors = [
        rotor
        if rotor.carrier == BASE
        else replace(rotor, axis=rotations[rotor.carrier] @ rotor.axis)
        for rotor in tree.rotors
    ]
    turned = replace(tree, links=tuple(links), rotors=tuple(rotors))
    frames = base_axes(tree, rotations, p)
    return _recursion(turned, frames, qd, qdd, None)[-1]


def newton_euler_links(
    robot: RobotModel | LinkTree, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike
) -> Array:
    """Return the torque (n,) for q, qd, qdd (n,), with all vectors of a link in its frame; Nm or N.

    Craig (6.45)-(6.53), Tsai (9.49)-(9.70), Milicevic Table 2. The friction of Tsai (9.70) is omitted.
    """
    tree, (q, qd, qdd) = checked(robot, q=q, qd=qd, qdd=qdd)
    return _recursion(tree, _link_axes(tree, q), qd, qdd, None)[-1]


def joint_reactions(
    robot: RobotModel | LinkTree, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike
) -> tuple[Array, Array]:
    """Return force f, N, and moment n, Nm, (links, 3) of each link's parent on the link: Tsai (9.65)-(9.66).

    For q, qd, qdd (n,), at the origin and in the axes of the link's frame; rows are in the order of ``LinkTree.links``.
    The origin is on the joint's axis. The z component of the moment, or of the force of a prismatic joint, is the
    torque of the link's joint.
    """
    trace = newton_euler_trace(robot, q, qd, qdd)
    return trace.f, trace.n


def newton_euler_trace(
    robot: RobotModel | LinkTree,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    loads: Array | None = None,
) -> NewtonEulerTrace:
    """Return all intermediate results of the recursion in link frames for q, qd, qdd (n,).

    ``loads`` (links, 6) has the force, N, then moment, Nm, of each link on the environment, at the origin and in the
    axes of its frame; None: none. Those of the last link are f and n of link n + 1 in Craig (6.51), (6.52).
    """
    tree, (q, qd, qdd) = checked(robot, q=q, qd=qd, qdd=qdd)
    w, dw, dv, dv_c, *forces = _recursion(tree, _link_axes(tree, q), qd, qdd, loads)
    _, v = link_velocities(tree, q, qd)
    rotations, _ = tree.base_placements(q)
    return NewtonEulerTrace(w, dw, v, dv, dv_c, tree.gravity @ rotations, *forces)


class RecursionAxes(NamedTuple):
    """Axes of the vectors of each link in a recursion: those of the link, or the base's for all links.

    Attributes
    ----------
    z, p
        (links, 3): axis of the link's joint, and the origin of its frame from that of its parent (m).
    inward, outward
        Functions of the index of a link and a vector (3,), from the axes of its parent to its own, and back.
    """

    z: Array
    p: Sequence[Array]
    inward: Callable[[int, Array], Array]
    outward: Callable[[int, Array], Array]


def base_axes(tree: LinkTree, rotations: Array, p: Array) -> RecursionAxes:
    """Return the axes of the base for all links, from ``LinkTree.base_placements``."""
    origins = [
        p_i if link.parent == BASE else p_i - p[link.parent]
        for p_i, link in zip(p, tree.links, strict=True)
    ]
    z = rotations[:, :, 2]
    return RecursionAxes(z, origins, lambda i, x: x, lambda i, x: x)


def _link_axes(tree: LinkTree, q: Array) -> RecursionAxes:
    """Return the axes of the links' own frames at q (n,)."""
    placements = [
        link.placed(x)
        for link, x in zip(tree.links, tree.joint_positions(q), strict=True)
    ]
    return RecursionAxes(
        np.tile(Z, (len(placements), 1)),
        [p for _, p in placements],
        lambda i, x: placements[i][0].T @ x,
        lambda i, x: placements[i][0] @ x,
    )


def outward_motion(
    tree: LinkTree, axes: RecursionAxes, rates: Array, accelerations: Array
) -> tuple[list[Array], list[Array], list[Array]]:
    """Return w, dw and dv of each link (``NewtonEulerTrace``), from the base outwards.

    ``rates`` and ``accelerations`` are those of the joints (links,). The base accelerates against the tree's gravity.
    """
    w, dw, dv = (list[Array]() for _ in range(3))
    for i, link in enumerate(tree.links):
        if link.parent == BASE:
            w_i = np.zeros(3)
            dw_i = np.zeros(3)
            dv_i = axes.inward(i, -tree.gravity)
        else:
            w_p = w[link.parent]
            dw_p = dw[link.parent]
            P = axes.p[i]
            w_i = axes.inward(i, w_p)
            dw_i = axes.inward(i, dw_p)
            # Craig (6.47), Tsai (9.58)
            dv_i = axes.inward(
                i, dv[link.parent] + cross(dw_p, P) + cross(w_p, cross(w_p, P))
            )
        joint_velocity = rates[i] * axes.z[i]
        joint_acceleration = accelerations[i] * axes.z[i]
        if link.prismatic:
            # Tsai (9.58)
            dv_i = dv_i + joint_acceleration + 2.0 * cross(w_i, joint_velocity)
        else:
            # Craig (6.46), Tsai (9.53)
            dw_i = dw_i + joint_acceleration + cross(w_i, joint_velocity)
            w_i = w_i + joint_velocity  # Craig (6.45), Tsai (9.50)
        w.append(w_i)
        dw.append(dw_i)
        dv.append(dv_i)
    return w, dw, dv


def _recursion(
    tree: LinkTree, axes: RecursionAxes, qd: Array, qdd: Array, loads: Array | None
) -> list[Array]:
    """Return w, dw, dv, dv_c, F, N, f, n and tau of ``NewtonEulerTrace``."""
    w, dw, dv = outward_motion(tree, axes, tree.couplings @ qd, tree.couplings @ qdd)
    dv_c, F, N = (list[Array]() for _ in range(3))
    for link, w_i, dw_i, dv_i in zip(tree.links, w, dw, dv, strict=True):
        # Craig (6.48), Tsai (9.59)
        dv_c.append(dv_i + cross(dw_i, link.com) + cross(w_i, cross(w_i, link.com)))
        F.append(newton_force(link.mass, dv_c[-1]))  # Craig (6.49), Tsai (9.61)
        N.append(euler_moment(link.inertia, w_i, dw_i))  # Craig (6.50), Tsai (9.62)
    rotor_torques = _rotor_torques(tree, qd, qdd, w, dw, N)
    f = list(F)
    n = [
        N_i + cross(link.com, F_i)
        for N_i, link, F_i in zip(N, tree.links, F, strict=True)
    ]
    if loads is not None:
        f, n = (
            [*np.array(on) + load]
            for on, load in ((f, loads[:, :3]), (n, loads[:, 3:]))
        )
    tau = [np.float64(0.0)] * len(tree.links)
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        # Craig (6.53), Tsai (9.69)
        tau[i] = (f[i] if link.prismatic else n[i]) @ axes.z[i]
        if link.parent != BASE:
            f_i = axes.outward(i, f[i])  # Tsai (9.67)
            f[link.parent] = f[link.parent] + f_i  # Craig (6.51), Tsai (9.65)
            # Craig (6.52), Tsai (9.66), (9.68)
            n_i = axes.outward(i, n[i]) + cross(axes.p[i], f_i)
            n[link.parent] = n[link.parent] + n_i
    torque = sum(rotor_torques, to_coordinates(tree, np.array(tau)))
    return [*map(np.array, (w, dw, dv, dv_c, F, N, f, n)), torque]


def _rotor_torques(
    tree: LinkTree,
    qd: Array,
    qdd: Array,
    w: list[Array],
    dw: list[Array],
    moments: list[Array],
) -> list[Array]:
    """Return the torques (n,) that accelerate the rotors; add the rotors' moments on their carriers to ``moments``.

    From the energy of Tsai (9.157): the angular momentum I s e rotates with the carrier.
    """
    torques = []
    for rotor, ratio in zip(tree.rotors, tree.rotor_couplings, strict=True):
        c = rotor.carrier
        e = rotor.axis
        spin = ratio @ qd
        spin_up = ratio @ qdd
        if c != BASE:
            moments[c] = moments[c] + rotor.inertia * (
                spin_up * e + spin * cross(w[c], e)
            )
            spin_up = spin_up + e @ dw[c]
        torques.append(ratio * rotor.inertia * spin_up)
    return torques
