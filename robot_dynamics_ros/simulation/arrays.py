"""Arrays that the compiled step works on: the robot, its state, and scratch."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.kernels.compilation import allocating_kernel
from robot_dynamics_ros.kernels.layout import (
    AFTER,
    COULOMB,
    COULOMB_NEGATIVE,
    FIRST,
    FRICTION_SIZE,
    MASS,
    STATIC,
    WORK_SIZE,
    ModelArrays,
)
from robot_dynamics_ros.kernels.loops import Loops, append_loops
from robot_dynamics_ros.kernels.types import Array, IntArray
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.simulation.stick_slip import BACKWARD, FORWARD, LINE_SIZE, STUCK, WALL_LOWER, WALL_UPPER

OK, NOT_POSITIVE_DEFINITE, NOT_FINITE, TOO_STIFF, BAD_ARGUMENTS, LOOP_OPEN = 0, 1, 2, 3, 4, 5

Outcome = tuple[int, int, int, float]
"""Status, the coordinate or loop to blame (-1: none), linear systems solved, residual of the friction problem."""

# Columns of ``ranges``.
LOWEST, HIGHEST, FASTEST = 0, 1, 2


class Joints(NamedTuple):
    """Friction and limits of an arm of n coordinates and K lines."""

    friction: Array  # (moving joints, 11), see kernels/layout.py
    lines: IntArray  # (moving joints,) the line that each follows
    factors: Array  # (moving joints,) and by which factor
    ranges: Array  # (K, 3) lowest and highest position, largest speed
    directions: Array  # E (K, n), or (0, n) where the arm is separable and has no loops


class Arm(NamedTuple):
    """What does not change from step to step."""

    robot: ModelArrays
    structure: IntArray  # the flat arrays that ``robot`` looks into, with loops behind, see kernels/loops.py
    numbers: Array
    joints: Joints


# Places in the report of ``integrators.plant_step``. The number of steps is given; it tells status, coordinate to
# blame, steps taken, linear systems solved, largest residual.
COUNT, STATUS, JOINT, STEPS, SOLVES, RESIDUAL = 0, 1, 2, 3, 4, 5
REPORT = 6


def flatten(joints: Joints, effort_limits: Array) -> Array:
    """Return all of ``joints`` but the lines, and ``effort_limits`` (n,), as one array, which ``unflatten`` reads."""
    parts = (joints.friction, joints.factors, joints.ranges, joints.directions, effort_limits)
    return np.concatenate([part.ravel() for part in parts])


@allocating_kernel
def unflatten(lines: IntArray, constants: Array, count: int, n: int) -> tuple[Joints, Array]:
    """Return the joints, of so many lines and n coordinates, and the effort limits."""
    joints = lines.shape[0]
    factors = joints * FRICTION_SIZE
    ranges = factors + joints
    directions = ranges + 3 * count
    limits = constants.shape[0] - n
    return (
        Joints(
            constants[:factors].reshape(joints, FRICTION_SIZE),
            lines,
            constants[factors:ranges],
            constants[ranges:directions].reshape(count, 3),
            constants[directions:limits].reshape((limits - directions) // n, n),
        ),
        constants[limits:],
    )


class State(NamedTuple):
    """What a step renews, and leaves alone if it fails."""

    position: Array  # (n,)
    velocity: Array  # (n,)
    pattern: IntArray  # (K,) segments of stick_slip
    impulse: Array  # (n + 3 loops,) of friction and limits in the last step, and of each loop; never read


class Crowd(NamedTuple):
    """N arms that differ in their numbers, and their states."""

    numbers: Array  # (N, ...)
    friction: Array  # (N, moving joints, 11)
    position: Array  # (N, n)
    velocity: Array  # (N, n)
    pattern: IntArray  # (N, K)
    impulse: Array  # (N, n + 3 loops)


class Buffers(NamedTuple):
    """Scratch arrays, made once for many steps."""

    work: Array  # of the kernels
    lines: Array  # (K, LINE_SIZE) the friction problem
    pattern: IntArray  # (K,)
    motion: Array  # (2 + n, n) acceleration, reaction, A at the start of the step
    spare: Array  # (2 + n, n) the same within it
    factor: Array  # (n, n)
    vectors: Array  # (VECTORS, n), see below


# Rows of ``vectors``.
DRIVE = 0  # the given torque and that of lines that slide
FORCE = 1  # what is left of it after smooth friction
STIFFNESS = 2  # slope of the smooth friction, times the step
MOVES = 3  # 1, or 0 for a coordinate that is held at rest (separable arms)
CARRIED = 4  # impulse of lines in the free motion
FREE_POSITION = 5
FREE_VELOCITY = 6
POSITION = 7
VELOCITY = 8
SCRATCH = 9
VECTORS = 10


@allocating_kernel
def make_buffers(robot: ModelArrays, n: int, lines: int) -> Buffers:
    """Scratch arrays for ``n`` coordinates and so many lines."""
    return Buffers(
        np.empty((robot.tree.shape[0], WORK_SIZE)),
        np.empty((lines, LINE_SIZE)),
        np.empty(lines, np.int64),
        np.empty((2 + n, n)),
        np.empty((2 + n, n)),
        np.empty((n, n)),
        np.empty((VECTORS, n)),
    )


_SAME = 1e-12


def make_arm(model: RobotModel, velocity_limits: bool) -> Arm:
    """Pack a robot; its velocity limits hold where ``velocity_limits``."""
    packed = model.packed
    lines, factors, directions = _lines(_coupling_matrix(model))
    ranges = np.tile([-math.inf, math.inf, math.inf], (len(directions), 1))
    for (lower, upper, fastest), line, factor in zip(packed.joint_ranges, lines, factors, strict=True):
        low, high = sorted((lower / factor, upper / factor))
        ranges[line, LOWEST] = max(ranges[line, LOWEST], low)
        ranges[line, HIGHEST] = min(ranges[line, HIGHEST], high)
        if velocity_limits:
            ranges[line, FASTEST] = min(ranges[line, FASTEST], fastest / abs(factor))
    separable = np.array_equal(directions, np.eye(model.n))
    if separable and not model.loops:
        directions = np.empty((0, model.n))
    joints = Joints(packed.friction, lines, factors, ranges, directions)
    structure, numbers = packed.structure, packed.numbers
    if model.loops:
        structure, numbers = append_loops(structure, numbers, _loops(model))
    return Arm(packed.robot, structure, numbers, joints)


def is_separable(arm: Arm) -> bool:
    """Return whether each joint follows one coordinate, and no loop ties them together."""
    return len(arm.joints.directions) == 0


def alike(one: RobotModel, other: RobotModel) -> bool:
    """Return whether two robots differ at most in inertias and friction, and so may take each other's state."""
    a, b = one.packed, other.packed
    return (a.joint_names, a.loops) == (b.joint_names, b.loops) and all(
        np.array_equal(x, y)
        for x, y in (
            (a.structure, b.structure),
            (a.robot.bodies[:, :MASS], b.robot.bodies[:, :MASS]),
            (a.robot.rotors, b.robot.rotors),
            (a.robot.factors, b.robot.factors),
            (a.robot.gravity, b.robot.gravity),
            (a.joint_ranges, b.joint_ranges),
            (a.effort_limits, b.effort_limits),
        )
    )


def initial_pattern(joints: Joints, velocity: Array) -> IntArray:
    """Return the lines' segments (K,) before the first step."""
    rates = velocity if len(joints.directions) == 0 else joints.directions @ velocity
    dry = np.zeros(len(joints.ranges))
    np.maximum.at(dry, joints.lines, joints.friction[:, [COULOMB, COULOMB_NEGATIVE, STATIC]].max(axis=1))
    # A line without dry friction never sticks, not even at rest.
    pattern: IntArray = np.where((rates == 0.0) & (dry > 0.0), STUCK, np.where(rates < 0.0, BACKWARD, FORWARD))
    return pattern.astype(np.int64)


def stuck_joints(model: RobotModel, joints: Joints, velocity: Array, pattern: IntArray) -> NDArray[np.bool_]:
    """Return which coordinates (..., n) friction holds at rest; limits do not count.

    In a loop those count that do not move while some joint of the robot sticks, which may hold them through the loop.
    """
    if len(joints.directions) == 0:
        return np.equal(pattern, STUCK)
    moves = joints.directions != 0.0
    walls = (moves & np.isin(pattern, (WALL_LOWER, WALL_UPPER))[..., None]).any(axis=-2)
    reach = np.ones_like(moves) if model.loops else moves
    sticks = (reach & (pattern == STUCK)[..., None]).any(axis=-2)
    return np.asarray((velocity == 0.0) & sticks & ~walls)


def _loops(model: RobotModel) -> Loops:
    """The model's loops, their points in the bodies' frames."""
    bodies, points = [], []
    for loop in model.loops:
        for link, point in ((loop.link_a, loop.point_a), (loop.link_b, loop.point_b)):
            frame = model.packed.frames[link]
            bodies.append(frame.body)
            points.append(frame.position + frame.rotation @ point)
    return Loops(np.array(bodies, np.int64).reshape(-1, 2), np.array(points).reshape(-1, 6))


def _coupling_matrix(model: RobotModel) -> Array:
    """G (moving joints, n): the rates of the joints of the tree are G v."""
    robot = model.packed.robot
    matrix = np.zeros((len(model.moving_joints), model.n))
    for i, row in enumerate(robot.tree[: len(matrix)]):
        entries = slice(row[FIRST], row[AFTER])
        matrix[i, robot.coordinates[entries]] = robot.factors[entries]
    return matrix


def _lines(matrix: Array) -> tuple[IntArray, Array, Array]:
    """The line and the factor of each row of ``matrix`` (joints, n), and the lines' directions (K, n).

    Where each row has but one coordinate, the lines are the coordinates.
    """
    leading = (matrix != 0.0).argmax(axis=1)
    factors = matrix[np.arange(len(matrix)), leading]
    along = matrix / factors[:, None]
    if np.all((matrix != 0.0).sum(axis=1) == 1):
        return leading.astype(np.int64), factors, np.eye(matrix.shape[1])
    lines = np.empty(len(matrix), np.int64)
    directions: list[Array] = []
    for i, row in enumerate(along):
        same = [k for k, other in enumerate(directions) if np.abs(row - other).max() <= _SAME * np.abs(row).max()]
        lines[i] = same[0] if same else len(directions)
        if not same:
            directions.append(row)
    return lines, factors, np.array(directions)
