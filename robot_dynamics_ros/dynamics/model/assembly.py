"""Assembly of the model arrays from URDF, dynamics file and couplings.

Rotors: Tsai 9.9. Friction parameters: Craig (6.110)-(6.113). ``description`` is the checked URDF, ``dynamics`` the
checked dynamics file, and ``couplings`` the result of couplings.resolve for both. A body is a moving link with all
links fixed to it; the z axis of its frame is the axis of the joint that moves it. ``moving`` are the joints that move
the bodies, in the order of the bodies, and ``frames`` has the frame of each link on its body, by name. Coordinates are
the n independent joints and named coordinates.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.base.errors import (
    IncompleteModelWarning,
    RobotModelError,
    RobotModelWarning,
    require_known,
)
from robot_dynamics_ros.dynamics.description.couplings import Couplings
from robot_dynamics_ros.dynamics.description.dynamics_file import (
    DynamicsFile,
    JointDynamics,
    Rotor,
    Row,
)
from robot_dynamics_ros.dynamics.description.inertia import (
    InertiaSum,
    check_inertia,
    explain_inertia,
)
from robot_dynamics_ros.dynamics.description.urdf import Description, Joint
from robot_dynamics_ros.dynamics.kernels.friction import (
    COULOMB,
    COULOMB_NEGATIVE,
    FRICTION_PARAMETERS,
    FRICTION_SIZE,
    RIPPLE_PER_TURN,
    RIPPLE_PHASE,
    STATIC,
    depends_on_load,
)
from robot_dynamics_ros.dynamics.kernels.interpretation import interpreted
from robot_dynamics_ros.dynamics.kernels.layout import (
    INERTIA,
    MASS,
    PARENT,
    PRISMATIC,
    REVOLUTE,
    ROTOR,
    ROTOR_SIZE,
    ModelArrays,
    pack,
)
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.dynamics.model.joint_limits import joint_limits
from robot_dynamics_ros.dynamics.model.model_data import (
    LinkFrame,
    ModelData,
    check_load,
    gravity_vector,
    with_payload,
)
from robot_dynamics_ros.dynamics.thresholds import COSINE_NOISE

_STANDARD_GRAVITY = (0.0, 0.0, -9.81)


def assemble(
    description: Description,
    dynamics: DynamicsFile,
    couplings: Couplings,
    gravity: Sequence[float] | None,
    strict: bool,
) -> ModelData:
    """Build the model arrays: merge fixed links, and align each body's frame with its joint's axis.

    Parameters
    ----------
    description
        The URDF.
    dynamics
        The dynamics file.
    couplings
        Independent coordinates, and the positions of all joints as functions of them.
    gravity
        Acceleration of gravity (3,) in the root frame, m/s^2. None: that of the dynamics file, else 0 0 -9.81.
    strict
        True to raise an error instead of a warning for moving bodies without mass, and for inertias that no body has.

    Raises
    ------
    RobotModelError
        For links that the URDF does not have, rotors without an axis, static friction below the Coulomb level, and load
        coefficients that are too large or of a joint that follows others. Also for position limits of coupled joints
        that exclude each other, a gravity that is not three finite numbers, inertias that overflow, and a moving body
        made impossible by a negative principal moment of one of its links. If ``strict``, also for every link whose
        inertia no body can have, and for moving bodies without mass.
    """
    _refuse_unknown_links(description, dynamics)
    frames, moving, placements = _place_links(description, couplings)
    end_links = _end_links(description, frames)
    inertias = _body_inertias(description, dynamics, frames, len(moving))
    inertials = np.array([inertia.flat() for inertia in inertias])
    rotors = _rotors(description, dynamics, couplings, frames)
    tree, coordinates, factors = _tree(moving, rotors, frames, couplings)
    robot = ModelArrays(
        tree,
        coordinates,
        factors,
        np.hstack([placements, inertials]),
        np.array([[*rotor.axis, rotor.inertia] for rotor in rotors]).reshape(
            len(rotors), ROTOR_SIZE
        ),
        _gravity(gravity, dynamics),
    )
    friction = _friction_table(dynamics, couplings, description.joints, moving)
    _check_inertias(description, dynamics, frames, inertias, strict)
    topology, parameters = pack(robot, len(couplings.names))
    data = ModelData(
        joint_names=couplings.names,
        moving_joints=tuple(joint.name for joint in moving),
        body_links=tuple(joint.child for joint in moving),
        rotor_names=tuple(rotor.name for rotor in rotors),
        frames=frames,
        end_links=end_links,
        topology=topology,
        parameters=parameters,
        friction=friction,
        bare_inertials=inertials,
        payload=None,
        limits=joint_limits(moving, couplings, description.source),
        loops=dynamics.loops,
        locked=couplings.locked,
        checksums=(description.sha256, dynamics.sha256),
    )
    if dynamics.payload is not None:
        data = with_payload(data, *dynamics.payload)
    _check_mass(data, description.source, strict)
    return data


def _refuse_unknown_links(description: Description, dynamics: DynamicsFile) -> None:
    links = [*dynamics.links, *([dynamics.payload[0]] if dynamics.payload else [])]
    links += [link for loop in dynamics.loops for link in (loop.link_a, loop.link_b)]
    for name in (
        *links,
        *(rotor.carrier for rotor in dynamics.rotors if rotor.carrier is not None),
    ):
        problem = (
            f'{dynamics.source}: link "{name}" does not exist in {description.source}'
        )
        require_known(name, description.links, problem, RobotModelError)


def _place_links(
    description: Description, couplings: Couplings
) -> tuple[dict[str, LinkFrame], list[Joint], Array]:
    """Return the frames of all links, the moving joints, and the placements (bodies, 12) of their bodies.

    A placement is rotation, row by row, and position of the body's frame in its parent's at zero coordinates.
    """
    frames = {description.root: LinkFrame(-1, np.eye(3), np.zeros(3))}
    moving: list[Joint] = []
    placements: list[Array] = []
    for joint in description.joints:
        parent = frames[joint.parent]
        rotation = parent.rotation @ joint.rotation
        position = parent.position + parent.rotation @ joint.position
        row = couplings.rows.get(joint.name, Row({}))
        if row.offset != 0.0:
            rotation, position = _moved(joint, row.offset, rotation, position)
        rotation = _without_noise(rotation)
        position = _without_noise(position)
        if not row.factors:
            frames[joint.child] = LinkFrame(parent.body, rotation, position)
            continue
        aligned = _frame_along(joint.axis)
        frames[joint.child] = LinkFrame(len(moving), aligned.T, np.zeros(3))
        placements.append(
            np.concatenate([_without_noise(rotation @ aligned).ravel(), position])
        )
        moving.append(joint)
    return frames, moving, np.array(placements)


def _end_links(
    description: Description, frames: Mapping[str, LinkFrame]
) -> tuple[str, ...]:
    """Return the links that move and are the parent of no joint, moving or fixed."""
    parents = {joint.parent for joint in description.joints}
    return tuple(
        link
        for link, frame in frames.items()
        if frame.body >= 0 and link not in parents
    )


def _without_noise(array: Array) -> Array:
    """Set values that are rounding errors, such as cos(pi / 2), to zero: generated kernels omit zeros."""
    return np.where(np.abs(array) < COSINE_NOISE, 0.0, array)


def _frame_along(axis: Array) -> Array:
    """Return a rotation (3, 3) whose third column is the unit vector ``axis``; it is exact for coordinate axes."""
    axis = _without_noise(axis)
    if axis.tolist() == [0.0, 0.0, 1.0]:
        return np.eye(3)
    least = np.zeros(3)
    least[int(np.argmin(np.abs(axis)))] = 1.0
    y = np.cross(axis, least)
    y /= np.linalg.norm(y)
    return np.column_stack([np.cross(y, axis), y, axis])


def _moved(
    joint: Joint, value: float, rotation: Array, position: Array
) -> tuple[Array, Array]:
    """Return rotation and position of a joint's child at joint position ``value``."""
    if joint.kind == "prismatic":
        return rotation, position + rotation @ joint.axis * value
    aligned = _frame_along(joint.axis)
    c = math.cos(value)
    s = math.sin(value)
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return rotation @ aligned @ turn @ aligned.T, position


def _body_inertias(
    description: Description,
    dynamics: DynamicsFile,
    frames: dict[str, LinkFrame],
    count: int,
) -> list[InertiaSum]:
    """Return the inertia of each body, of which there are ``count``; RobotModelError for one that overflows."""
    sums = [InertiaSum.zero() for _ in range(count)]
    for name, part in {**description.links, **dynamics.links}.items():
        frame = frames[name]
        if frame.body >= 0:
            sums[frame.body].add(part, frame.rotation, frame.position)
            if not np.isfinite(sums[frame.body].flat()).all():
                raise RobotModelError(
                    f'{description.source}: link "{name}": the inertia overflows a float. Cure: check the units'
                )
    return sums


@dataclass(frozen=True)
class _Rotor:
    """Rotor in the form of the kernels.

    Attributes
    ----------
    name
        Name of the rotor.
    body
        Index of the body that carries it, -1 for the fixed base.
    axis
        Axis, a unit vector (3,) in the body's frame.
    inertia
        Axial inertia, kg m^2.
    factors
        Factors by the names of coordinates: the spin rate is the sum of factor times rate.
    """

    name: str
    body: int
    axis: Array
    inertia: float
    factors: Mapping[str, float]


def _rotors(
    description: Description,
    dynamics: DynamicsFile,
    couplings: Couplings,
    frames: Mapping[str, LinkFrame],
) -> list[_Rotor]:
    """Return the rotors that can spin.

    Raises RobotModelError for a rotor without an axis that does not drive exactly one joint from that joint's parent
    link.
    """
    rotors: list[_Rotor] = []
    for name, rotor, factors in couplings.rotors:
        where = f"{dynamics.source}: {name}"
        axis = (
            _axis_of_the_joint(description, where, rotor)
            if rotor.axis is None
            else rotor.axis
        )
        if factors:  # the carrier's inertia includes a rotor that cannot spin
            frame = frames[description.root if rotor.carrier is None else rotor.carrier]
            rotors.append(
                _Rotor(name, frame.body, frame.rotation @ axis, rotor.inertia, factors)
            )
    return rotors


def _axis_of_the_joint(description: Description, where: str, rotor: Rotor) -> Array:
    if rotor.carrier is None:
        # the direction has no effect without a carrier
        return np.array([0.0, 0.0, 1.0])
    driven = [joint for joint in description.joints if joint.name in rotor.ratio]
    if len(rotor.ratio) == 1 and driven and driven[0].parent == rotor.carrier:
        return driven[0].rotation @ driven[0].axis
    raise RobotModelError(
        f'{where}: axis is missing, and the rotor does not drive exactly one joint with parent link "{rotor.carrier}". '
        f'Cure: add axis, in the frame of link "{rotor.carrier}"'
    )


def _tree(
    moving: Sequence[Joint],
    rotors: Sequence[_Rotor],
    frames: Mapping[str, LinkFrame],
    couplings: Couplings,
) -> tuple[IntArray, IntArray, Array]:
    """Return the tree's table, and coordinates and factors of the entries of G, for moving joints and then rotors."""
    rows: list[tuple[int, int, Mapping[str, float]]] = []
    for joint in moving:
        kind = PRISMATIC if joint.kind == "prismatic" else REVOLUTE
        factors = couplings.rows[joint.name].factors
        rows.append((frames[joint.parent].body, kind, factors))
    rows += [(rotor.body, ROTOR, rotor.factors) for rotor in rotors]
    tree: list[tuple[int, int, int, int]] = []
    entries: list[tuple[int, float]] = []
    for parent, kind, row in rows:
        first = len(entries)
        entries += sorted(
            (couplings.names.index(name), factor) for name, factor in row.items()
        )
        tree.append((parent, kind, first, len(entries)))
    return (
        np.array(tree, dtype=np.int64),
        np.array([coordinate for coordinate, _ in entries], dtype=np.int64),
        np.array([factor for _, factor in entries]),
    )


def _gravity(gravity: Sequence[float] | None, dynamics: DynamicsFile) -> Array:
    if gravity is None:
        return (
            np.array(_STANDARD_GRAVITY)
            if dynamics.gravity is None
            else dynamics.gravity.copy()
        )
    return gravity_vector(gravity)


def _friction_table(
    dynamics: DynamicsFile,
    couplings: Couplings,
    joints: Sequence[Joint],
    moving: Sequence[Joint],
) -> Array:
    """Return the friction of the ``moving`` joints (bodies, FRICTION_SIZE); the dynamics file overrides the URDF.

    ``joints`` are all joints of the robot; ``moving`` are in the order of the bodies. Columns are those of
    kernels/friction. For a coupled joint the phase is that at its offset.

    Raises RobotModelError for static friction of any joint that is below its Coulomb level, for a load coefficient that
    is too large, and for one of a joint that follows others.
    """
    rows = {joint.name: _friction_row(dynamics, joint) for joint in joints}
    table = np.zeros((len(moving), FRICTION_SIZE))
    for row, joint in zip(table, moving, strict=True):
        row[:] = rows[joint.name]
        # positions in kernels are without the offset
        row[RIPPLE_PHASE] += row[RIPPLE_PER_TURN] * couplings.rows[joint.name].offset
        where = f'{dynamics.source}: joint "{joint.name}"'
        check_load(row, where)
        if interpreted(depends_on_load)(row) and joint.name not in couplings.names:
            raise RobotModelError(
                f"{where} load_coefficient: the joint follows others and has no motor. "
                "Cure: write it for the joint that moves this one"
            )
    return table


def _friction_row(dynamics: DynamicsFile, joint: Joint) -> Array:
    """Return the friction parameters (FRICTION_SIZE,) of a joint, by the dynamics file, the URDF and the defaults."""
    given = dynamics.joints.get(joint.name, JointDynamics()).friction
    values = {"": 0.0, "damping": joint.damping, "friction": joint.friction}
    row = np.zeros(FRICTION_SIZE)
    for parameter in FRICTION_PARAMETERS:
        value = given.get(parameter.key, values[parameter.default])
        values[parameter.key] = row[parameter.column] = value
    level = row[[COULOMB, COULOMB_NEGATIVE]].max()
    if "static" in given and row[STATIC] < level:
        raise RobotModelError(
            f'{dynamics.source}: joint "{joint.name}" static: {row[STATIC]:g} is below its Coulomb level {level:g}. '
            "Cure: increase static, or remove it"
        )
    return row


def _check_inertias(
    description: Description,
    dynamics: DynamicsFile,
    frames: Mapping[str, LinkFrame],
    sums: Sequence[InertiaSum],
    strict: bool,
) -> None:
    """Warn of links whose inertia no body can have.

    RobotModelError if ``strict``, and for a negative principal moment of a link in a body, with ``sums`` by index,
    that cannot be real either. Links that do not move and links of little inertia are without effect on the dynamics.
    """
    for name, part in description.links.items():
        error = check_inertia(part.inertia)
        body = frames[name].body
        if error is None or name in dynamics.links:
            continue
        negative = error.startswith("negative")
        spoiled = (
            None if body < 0 or not negative else check_inertia(sums[body].about_com())
        )
        message = f'{description.source}: link "{name}" <inertial>: {error}: no body can have this inertia'
        message += explain_inertia(description.written_inertials()[name])
        if strict or spoiled is not None:
            merged = (
                ""
                if spoiled is None
                else ", nor can the moving body that has this link"
            )
            cure = "correct it (kg m^2)" + (
                ", or load with strict=False" if strict and spoiled is None else ""
            )
            raise RobotModelError(f"{message}{merged}. Cure: {cure}")
        cure = "Cure: correct it, or define the link in a dynamics file"
        warnings.warn(f"{message}. {cure}", RobotModelWarning, stacklevel=5)


def _check_mass(data: ModelData, source: str, strict: bool) -> None:
    """Warn of joints that move no inertia, and of bodies without mass that carry bodies with mass.

    If ``strict``, raise RobotModelError instead of an IncompleteModelWarning. ``source`` is the beginning of messages.
    """
    robot = data.robot
    with np.errstate(over="ignore"):  # infinity is positive, too
        own = robot.bodies[:, [MASS, INERTIA, INERTIA + 3, INERTIA + 5]].sum(axis=1) > 0
    carried = np.zeros_like(own)
    for body, parent in reversed(list(enumerate(robot.tree[: len(own), PARENT]))):
        if parent >= 0:
            carried[parent] |= own[body] or carried[body]
    inner = [
        name
        for name, massless in zip(data.moving_joints, carried & ~own, strict=True)
        if massless
    ]
    reports: list[tuple[str, str]] = []
    if data.massless_joints:
        ends = f"joints {list(data.massless_joints)} move no mass, or only mass on their axes without inertia"
        cure = "add mass and inertia to their links, or lock them"
        reports.append(
            (f"{ends}: forward dynamics and simulation reject this robot", cure)
        )
    if inner:
        cure = "add an <inertial> to their links" + (
            ", or load with strict=False" if strict else " unless on purpose"
        )
        reports.append(
            (f"the bodies moved by joints {inner} have no mass of their own", cure)
        )
    for error, cure in reports:
        if strict:
            raise RobotModelError(f"{source}: {error}. Cure: {cure}")
        warnings.warn(
            f"{source}: {error}. Cure: {cure}", IncompleteModelWarning, stacklevel=5
        )
