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
from robot_dynamics_ros.dynamics.description.urdf import Description, Joint
from robot_dynamics_ros.dynamics.kernels.friction import depends_on_load
from robot_dynamics_ros.dynamics.kernels.interpretation import interpreted
from robot_dynamics_ros.dynamics.kernels.layout import (
    COULOMB,
    COULOMB_NEGATIVE,
    FRICTION_SIZE,
    LOAD_BACKDRIVING,
    LOAD_DRIVING,
    STATIC,
)
from robot_dynamics_ros.dynamics.kernels.types import Array


def friction_table(
    dynamics: DynamicsFile, couplings: Couplings, moving: Sequence[Joint]
) -> Array:
    """Return the friction of the ``moving`` joints (bodies, FRICTION_SIZE); the dynamics file overrides the URDF.

    The joints are in the order of the bodies. Columns, in SI units: viscous coefficient; Coulomb level for positive and
    for negative velocities, static level (0: Coulomb level); Stribeck velocity; amplitude, per_turn and phase of the
    ripple; amplitude, slope and shift of the sigmoid; load coefficient of driving and of backdriving; quadratic and
    cubic coefficient. For a coupled joint the phase is that at its offset.

    Raises RobotModelError for a load coefficient that is too large, and for one of a joint that follows others.
    """
    table = np.zeros((len(moving), FRICTION_SIZE))
    for row, joint in zip(table, moving, strict=True):
        extra = dynamics.joints.get(joint.name, JointDynamics())
        amplitude, per_turn, phase = extra.ripple
        row[:] = (
            joint.damping if extra.viscous is None else extra.viscous,
            *_coulomb(joint, extra),
            extra.static or 0.0,
            extra.stribeck_velocity,
            amplitude,
            per_turn,
            # positions in kernels are without the offset
            phase + per_turn * couplings.rows[joint.name].offset,
            *extra.sigmoid,
            *_load_coefficients(extra),
            extra.quadratic,
            extra.cubic,
        )
        where = f'{dynamics.source}: joint "{joint.name}"'
        check_load(row, where)
        if interpreted(depends_on_load)(row) and joint.name not in couplings.names:
            raise RobotModelError(
                f"{where} load_coefficient: the joint follows others and has no motor. "
                "Cure: write it for the joint that moves this one"
            )
    return table


def _load_coefficients(extra: JointDynamics) -> tuple[float, float]:
    driving = extra.load_coefficient
    backdriving = extra.load_coefficient_backdriving
    return driving, driving if backdriving is None else backdriving


def check_static(description: Description, dynamics: DynamicsFile) -> None:
    """Raise RobotModelError if a joint's static friction is below its Coulomb level, of the file or of the URDF."""
    for joint in description.joints:
        extra = dynamics.joints.get(joint.name, JointDynamics())
        level = max(_coulomb(joint, extra))
        if extra.static is not None and extra.static < level:
            raise RobotModelError(
                f'{dynamics.source}: joint "{joint.name}" static: {extra.static:g} is below its Coulomb level '
                f"{level:g}. Cure: increase static, or remove it"
            )


def _coulomb(joint: Joint, extra: JointDynamics) -> tuple[float, float]:
    """Return the Coulomb levels in the joint's positive and negative direction."""
    positive = joint.friction if extra.coulomb is None else extra.coulomb
    return (
        positive,
        positive if extra.coulomb_negative is None else extra.coulomb_negative,
    )


def check_load(joint: Array, where: str) -> None:
    """Raise RobotModelError if the load increases the friction of a joint by as much as itself or more, also at rest.

    ``joint`` (FRICTION_SIZE,) is a row of the friction table; ``where`` is the beginning of the message.
    """
    levels = joint[[COULOMB, COULOMB_NEGATIVE]]
    at_rest = joint[[LOAD_DRIVING, LOAD_BACKDRIVING]].max() * max(
        [1.0, *(joint[STATIC] / levels[levels > 0.0])]
    )
    if at_rest >= 1.0:
        raise RobotModelError(
            f"{where}: the load coefficient times static over Coulomb level is {at_rest:g}: the joint could never be "
            "moved. Cure: write a load_coefficient so that it is below 1"
        )
