"""Friction parameters of all joints, from URDF and dynamics file, and their checks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics_ros.base.errors import RobotModelError
from robot_dynamics_ros.dynamics.description.couplings import Couplings
from robot_dynamics_ros.dynamics.description.dynamics_file import (
    DynamicsFile,
    JointDynamics,
)
from robot_dynamics_ros.dynamics.description.urdf import Joint
from robot_dynamics_ros.dynamics.kernels.friction import (
    COULOMB,
    COULOMB_NEGATIVE,
    FRICTION_PARAMETERS,
    FRICTION_SIZE,
    RIPPLE_PER_TURN,
    RIPPLE_PHASE,
    STATIC,
    depends_on_load,
    load_coefficient,
)
from robot_dynamics_ros.dynamics.kernels.interpretation import interpreted
from robot_dynamics_ros.dynamics.kernels.types import Array


def friction_table(
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
    rows = {joint.name: _row(dynamics, joint) for joint in joints}
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


def _row(dynamics: DynamicsFile, joint: Joint) -> Array:
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


def check_load(joint: Array, where: str) -> None:
    """Raise RobotModelError if the load increases the friction of a joint by as much as itself or more, also at rest.

    ``joint`` (FRICTION_SIZE,) is a row of the friction table; ``where`` is the beginning of the message.
    """
    at_rest = max(
        interpreted(load_coefficient)(joint, level, 0.0, driving)
        for level in joint[[COULOMB, COULOMB_NEGATIVE]]
        for driving in (True, False)
    )
    if at_rest >= 1.0:
        raise RobotModelError(
            f"{where}: the load coefficient times static over Coulomb level is {at_rest:g}: the joint could never be "
            "moved. Cure: write a load_coefficient so that it is below 1"
        )
