"""What drives and brakes the joints: rotors, Tsai 9.9, and the parameters of friction, Craig (6.110)-(6.113)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.errors import RobotModelError
from robot_dynamics_ros.kernels.layout import FRICTION_SIZE
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model.couplings import Couplings
from robot_dynamics_ros.model.dynamics_file import DynamicsFile, JointDynamics, Rotor, Row
from robot_dynamics_ros.model.packed import LinkFrame
from robot_dynamics_ros.model.urdf import Description, Joint


@dataclass(frozen=True)
class RotorRow:
    """A rotor as the kernels take it: carrier body (-1: none), axis in its frame, spin rate by coordinate."""

    name: str
    body: int
    axis: Array
    inertia: float
    factors: Mapping[str, float]


def rotor_rows(
    description: Description,
    dynamics: DynamicsFile,
    couplings: Couplings,
    frames: Mapping[str, LinkFrame],
    moving: Sequence[Joint],
) -> list[RotorRow]:
    """Rotors that can spin: those of the joints (the short form), then those of the general form.

    Raises RobotModelError for one whose axis neither the file nor its place gives.
    """
    rotors: list[tuple[str, Rotor]] = []
    for joint in moving:
        extra = dynamics.joints.get(joint.name, JointDynamics())
        if extra.rotor_inertia > 0.0:
            carrier = joint.parent if extra.rotor_carrier == "parent" else None
            rotors.append(
                (f"{joint.name} rotor", Rotor(carrier, None, extra.rotor_inertia, {joint.name: extra.gear_ratio}))
            )
    rotors += [(f"rotors[{k}]", rotor) for k, rotor in enumerate(dynamics.rotors)]
    rows: list[RotorRow] = []
    for name, rotor in rotors:
        where = f"{dynamics.source}: {name}"
        axis = _axis_of_the_joint(description, where, rotor) if rotor.axis is None else rotor.axis
        factors = couplings.follow(Row(rotor.ratio), where).factors
        if factors:  # one that stands still on its carrier is a part of it already
            frame = frames[description.root if rotor.carrier is None else rotor.carrier]
            rows.append(RotorRow(name, frame.body, frame.rotation @ axis, rotor.inertia, factors))
    return rows


def _axis_of_the_joint(description: Description, where: str, rotor: Rotor) -> Array:
    if rotor.carrier is None:
        return np.array([0.0, 0.0, 1.0])  # any will do: nothing turns it
    driven = [joint for joint in description.joints if joint.name in rotor.ratio]
    if len(rotor.ratio) == 1 and driven and driven[0].parent == rotor.carrier:
        return driven[0].rotation @ driven[0].axis
    raise RobotModelError(
        f'{where}: axis is missing, and link "{rotor.carrier}" is not the parent of one joint that alone it drives. '
        f'Cure: give axis in the frame of link "{rotor.carrier}"'
    )


def friction_table(dynamics: DynamicsFile, couplings: Couplings, moving: Sequence[Joint]) -> Array:
    """Friction of the joints that move, (bodies, FRICTION_SIZE); the file goes before the URDF."""
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
            phase + per_turn * couplings.rows[joint.name].offset,  # kernels know positions without offset
            *extra.sigmoid,
        )
    return table


def check_static(description: Description, dynamics: DynamicsFile) -> None:
    """Raise RobotModelError where a joint would hold less at rest than it does while it slides."""
    for joint in description.joints:
        extra = dynamics.joints.get(joint.name, JointDynamics())
        level = max(_coulomb(joint, extra))
        if extra.static is not None and extra.static < level:
            raise RobotModelError(
                f'{dynamics.source}: joint "{joint.name}" static: {extra.static:g} is below its Coulomb level '
                f"{level:g}. Cure: give at least that, or leave it out"
            )


def _coulomb(joint: Joint, extra: JointDynamics) -> tuple[float, float]:
    """Coulomb level in the joint's positive and negative direction."""
    positive = joint.friction if extra.coulomb is None else extra.coulomb
    return positive, positive if extra.coulomb_negative is None else extra.coulomb_negative
