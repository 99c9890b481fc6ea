"""What the compiled step works on: the arm, its state, and scratch.

Friction and limits act along lines: combinations z = E_k v of the rates that one or more joints of the tree follow,
each by a factor. An arm without couplings has one line a coordinate. Where every line is one coordinate, mimic joints
included, E is the identity and the arm is separable; a remotely driven elbow or a parallelogram is not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics_ros.kernels.compilation import allocating_kernel
from robot_dynamics_ros.kernels.layout import FRICTION_SIZE, WORK_SIZE, ModelArrays
from robot_dynamics_ros.kernels.types import Array, IntArray
from robot_dynamics_ros.simulation.stick_slip import LINE_SIZE

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
