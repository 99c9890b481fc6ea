"""Mapping between the independent coordinates q and the rows of the tree: q_tree = G q + c.

Velocities map by G, torques by G^T and matrices by G^T M G (virtual work): Spong (9.89) for the remotely driven elbow,
Tsai (9.157) for rotors. G is stored by its nonzero entries (see layout).

A row is a joint of the tree that moves one body, or a rotor; c are the constant offsets of coupled joints. ``robot``
has the model arrays (from layout.unpack). Its n coordinates and its rows, bodies and then rotors, are numbered from 0.
``work`` (rows, WORK_SIZE) has the intermediate results of each row, in the columns that layout names.
"""

from __future__ import annotations

from robot_dynamics_ros.dynamics.kernels.compilation import (
    forceinlined_kernel,
    inlined,
    kernel,
)
from robot_dynamics_ros.dynamics.kernels.layout import AFTER, FIRST, ModelArrays
from robot_dynamics_ros.dynamics.kernels.types import Array


@forceinlined_kernel
def expand(robot: ModelArrays, vector: Array, work: Array, column: int) -> None:
    """Write G ``vector`` to column ``column`` of ``work``, from a ``vector`` (n,); constant offsets c are not added.

    The bodies' placements include c (see layout).
    """
    for row in range(robot.tree.shape[0]):
        total = 0.0
        for entry in range(robot.tree[row, FIRST], robot.tree[row, AFTER]):
            total += robot.factors[entry] * vector[robot.coordinates[entry]]
        work[row, column] = total


@kernel
def clear(work: Array, column: int) -> None:
    """Write zeros to column ``column`` of ``work``."""
    for row in range(work.shape[0]):
        work[row, column] = 0.0


@kernel
def project(robot: ModelArrays, work: Array, column: int, vector: Array) -> None:
    """Write G^T times column ``column`` of ``work`` to ``vector`` (n,)."""
    vector[:] = 0.0
    for row in range(robot.tree.shape[0]):
        for entry in range(robot.tree[row, FIRST], robot.tree[row, AFTER]):
            vector[robot.coordinates[entry]] += robot.factors[entry] * work[row, column]


@forceinlined_kernel
def add_element(
    robot: ModelArrays, row: int, column: int, value: float, matrix: Array
) -> None:
    """Add G^T E G to ``matrix`` (n, n), where the only nonzero element of E is ``value`` at ``row``, ``column``.

    E is a square matrix over the rows; ``row`` and ``column`` are indices of rows.
    """
    for i in range(robot.tree[row, FIRST], robot.tree[row, AFTER]):
        part = robot.factors[i] * value
        for j in range(robot.tree[column, FIRST], robot.tree[column, AFTER]):
            matrix[robot.coordinates[i], robot.coordinates[j]] += (
                part * robot.factors[j]
            )


@forceinlined_kernel
def add_symmetric(
    robot: ModelArrays, row: int, column: int, value: float, matrix: Array
) -> None:
    """Add G^T E G to the lower triangle of ``matrix`` (n, n); the upper one is unchanged.

    E is a symmetric matrix over the rows. Its only nonzero elements are ``value`` at ``row``, ``column`` and at
    ``column``, ``row``; if both indices are equal, it is one element.
    """
    for i in range(robot.tree[row, FIRST], robot.tree[row, AFTER]):
        for j in range(robot.tree[column, FIRST], robot.tree[column, AFTER]):
            a = robot.coordinates[i]
            b = robot.coordinates[j]
            part = robot.factors[i] * robot.factors[j] * value
            if a > b:
                matrix[a, b] += part
            elif a == b:
                matrix[a, a] += part if row == column else 2.0 * part
            elif row != column:
                matrix[b, a] += part


@inlined
def mirror(matrix: Array) -> None:
    """Copy the lower triangle of ``matrix`` (n, n) to the upper one."""
    for i in range(matrix.shape[0]):
        for j in range(i):
            matrix[j, i] = matrix[i, j]


@forceinlined_kernel
def add_column(robot: ModelArrays, row: int, value: float, vector: Array) -> None:
    """Add G^T e to ``vector`` (n,), where e (rows,) has the only nonzero element ``value`` at the index ``row``."""
    for i in range(robot.tree[row, FIRST], robot.tree[row, AFTER]):
        vector[robot.coordinates[i]] += robot.factors[i] * value
