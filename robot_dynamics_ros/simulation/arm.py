"""Robot as a plant: its compiled step, its arrays, its initial friction modes, and the joints that friction holds.

The compiled step is that of the robot's kind of arm, or that of a customised robot. One function for all kinds would
take several times as long to compile.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.dynamics.kernels.friction import TERMS
from robot_dynamics_ros.dynamics.kernels.kinematics import Loops, append_loops
from robot_dynamics_ros.dynamics.kernels.layout import ROTOR_INERTIA
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.joint_limits import LOWER, UPPER, VELOCITY
from robot_dynamics_ros.dynamics.model.model_data import views
from robot_dynamics_ros.simulation.step import row
from robot_dynamics_ros.simulation.step.arrays import Arm, Joints
from robot_dynamics_ros.simulation.step.integrators import Kind
from robot_dynamics_ros.simulation.step.loops import LOOPED
from robot_dynamics_ros.simulation.step.trees import COUPLED, PLAIN
from robot_dynamics_ros.simulation.thresholds import KINDS_KEPT, LANES, SAME_DIRECTION

# columns of the friction table to which dry friction is proportional
_DRY = [
    parameter.column
    for term in TERMS
    for parameter in term.parameters
    if parameter.linear and term.kind != "smooth"
]
_TEMPLATE = Path(__file__).with_name("step") / "customised.py"


def make_arm(model: RobotModel, velocity_limits: bool) -> Arm:
    """Return the constant data of a robot, as copies.

    ``velocity_limits``: True to use the velocity limits of the URDF, False for infinite ones.
    """
    matrix = model.coupling_matrix
    joint_count = len(model.moving_joints)
    rows, factors, directions = _rows(matrix[:joint_count])
    ranges = _ranges(model, directions)
    if not velocity_limits:
        ranges[:, row.FASTEST] = math.inf
    if _general_kind(model) is PLAIN:
        directions = np.empty((0, model.n))
    structure, numbers = append_loops(
        model.kernels.topology, model.kernels.parameters, _loops(model)
    )
    rotors = _rotors(model, matrix[joint_count:], rows, len(ranges))
    ranges = np.column_stack([ranges, rotors])
    joints = Joints(model.friction_parameters.copy(), rows, factors, ranges, directions)
    return Arm(views(structure, numbers), structure, numbers, joints)


def _general_kind(model: RobotModel) -> Kind:
    """Return the kind of a robot's arm, without generated code."""
    if model.loops:
        return LOOPED
    joints = model.coupling_matrix[: len(model.moving_joints)]
    return PLAIN if _are_single(joints) else COUPLED


def step_of(model: RobotModel) -> Callable[..., Any]:
    """Return the compiled step function of the general kernels for a robot."""
    return _general_kind(model).plant_step


def kind_for(model: RobotModel) -> Kind:
    """Return the kind of a robot's arm.

    That of a customised plain arm uses its generated forward dynamics in steps without external wrenches.
    """
    general = _general_kind(model)
    if not model.kernels.customised or general is not PLAIN:
        return general
    kernels = model.kernels
    return _customised_kind(kernels.topology.tobytes(), kernels.parameters.tobytes())


@lru_cache(KINDS_KEPT)  # tracing takes longer than a thousand steps
def _customised_kind(topology: bytes, parameters: bytes) -> Kind:
    """Return the kind of the customised plain robot with these model arrays; PLAIN if it cannot be traced."""
    # Deferred: only customised models need code generation.
    from robot_dynamics_ros.dynamics.codegen.loading import load_source
    from robot_dynamics_ros.dynamics.codegen.source import batch_source, function_source
    from robot_dynamics_ros.dynamics.codegen.tracing import (
        FIXED_MODE_MOTION,
        trace_algorithm,
    )

    program = trace_algorithm(
        FIXED_MODE_MOTION,
        np.frombuffer(topology, np.int64),
        np.frombuffer(parameters, np.float64),
    )
    if program is None:
        return PLAIN
    many = program._replace(results=program.results[:2])
    one = function_source(program)
    batch = batch_source(many, own_parameters=True, block=LANES)
    name = FIXED_MODE_MOTION.name
    kernels = {
        name: load_source(one, name)[name],
        f"{name}_batch": load_source(batch, name)[f"{name}_batch"],
    }
    own = load_source(_TEMPLATE.read_text(encoding="utf-8"), "step", **kernels)
    kind: Kind = own["CUSTOMISED"]
    return kind


def _are_single(matrix: Array) -> bool:
    return bool(((matrix != 0.0).sum(axis=1) == 1).all())


def initial_modes(joints: Joints, velocity: Array) -> IntArray:
    """Return the modes (K,) of the constraint rows before the first step, at the ``velocity`` (n,).

    A row at rest with dry friction is STUCK. The others are BACKWARD if they move backward, else FORWARD.
    """
    rates = velocity if len(joints.directions) == 0 else joints.directions @ velocity
    dry = np.zeros(len(joints.ranges))
    levels = joints.friction[:, _DRY]
    np.maximum.at(dry, joints.rows, levels.max(axis=1))
    # A row without Coulomb friction is never stuck, even at rest.
    slips = np.where(rates < 0.0, row.BACKWARD, row.FORWARD)
    return np.where((rates == 0.0) & (dry > 0.0), row.STUCK, slips).astype(np.int64)


def stuck_joints(
    model: RobotModel, joints: Joints, velocity: Array, modes: IntArray
) -> NDArray[np.bool_]:
    """Return an array (..., n): True for coordinates held at rest by friction, and not by a limit.

    ``model`` and ``joints`` are of the same robot, ``velocity`` (..., n) and ``modes`` (..., K) its state. A robot with
    loops: True for all coordinates at rest if any joint is stuck, as it may hold them through the loop.
    """
    if len(joints.directions) == 0:
        return np.equal(modes, row.STUCK)
    moves = joints.directions != 0.0
    at_limit = (moves & np.isin(modes, (row.AT_LOWER, row.AT_UPPER))[..., None]).any(
        axis=-2
    )
    reach = np.ones_like(moves) if model.loops else moves
    sticks = (reach & (modes == row.STUCK)[..., None]).any(axis=-2)
    return np.asarray((velocity == 0.0) & sticks & ~at_limit)


def _loops(model: RobotModel) -> Loops:
    """Return the model's loops, with points in the bodies' frames."""
    bodies = []
    points = []
    for loop in model.loops:
        for link, point in ((loop.link_a, loop.point_a), (loop.link_b, loop.point_b)):
            frame = model.link_frames[link]
            bodies.append(frame.body)
            points.append(frame.position + frame.rotation @ point)
    return Loops(
        np.array(bodies, np.int64).reshape(-1, 2), np.array(points).reshape(-1, 6)
    )


def _rows(matrix: Array) -> tuple[IntArray, Array, Array]:
    """Return constraint row and factor of each row of ``matrix`` (joints, n), and the directions (K, n).

    The first coefficient of a direction that is not 0 is 1.
    """
    leading = (matrix != 0.0).argmax(axis=1)
    factors = matrix[np.arange(len(matrix)), leading]
    along = matrix / factors[:, None]
    if _are_single(matrix):
        return leading.astype(np.int64), factors, np.eye(matrix.shape[1])
    rows = np.empty(len(matrix), np.int64)
    directions: list[Array] = []
    for i, direction in enumerate(along):
        same = [k for k, other in enumerate(directions) if _equal(direction, other)]
        rows[i] = same[0] if same else len(directions)
        if not same:
            directions.append(direction)
    return rows, factors, np.array(directions)


def _rotors(model: RobotModel, matrix: Array, rows: IntArray, count: int) -> Array:
    """Return the inertia (count,) that the rows of independent joints have from rotors that follow this joint alone.

    ``matrix`` (rotors, n) is the part of the rotors of the coupling matrix.
    """
    inertias = np.zeros(count)
    arrays = views(model.kernels.topology, model.kernels.parameters)
    rotors = arrays.rotors[:, ROTOR_INERTIA]
    alone = (matrix != 0.0).sum(axis=1) == 1
    reflected = dict(
        zip(model.joint_names, rotors[alone] @ matrix[alone] ** 2, strict=True)
    )
    for k, name in zip(rows, model.moving_joints, strict=True):
        if name in reflected:
            inertias[k] = reflected[name]
    return inertias


def _ranges(model: RobotModel, directions: Array) -> Array:
    """Return the limits (K, 3) of the rows with these directions, with the columns of module ``row``."""
    limits = model.limit_rows
    ranges = np.tile([-math.inf, math.inf, math.inf], (len(directions), 1))
    vectors = np.vstack([np.eye(model.n), limits.factors])
    offsets = limits.positions(np.zeros(model.n))
    factors = vectors[np.arange(len(vectors)), (vectors != 0.0).argmax(axis=1)]
    same = _equal((vectors / factors[:, None])[:, None], directions)
    i, k = np.nonzero(same)
    low, high = np.sort((limits.limits[[LOWER, UPPER]] - offsets) / factors, axis=0)
    np.maximum.at(ranges[:, row.LOWEST], k, low[i])
    np.minimum.at(ranges[:, row.HIGHEST], k, high[i])
    fastest = limits.limits[VELOCITY] / np.abs(factors)
    np.minimum.at(ranges[:, row.FASTEST], k, fastest[i])
    return ranges


def _equal(one: Array, other: Array) -> NDArray[np.bool_]:
    """Return True where directions (..., n) are equal but for rounding errors."""
    return np.asarray(
        np.abs(one - other).max(axis=-1) <= SAME_DIRECTION * np.abs(one).max(axis=-1)
    )
