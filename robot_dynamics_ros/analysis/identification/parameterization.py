"""Parameters to identify, in which the torque is linear: inertias, rotors and friction, Craig (6.110)-(6.112)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.analysis.identification.friction import (
    COEFFICIENTS,
    FrictionShape,
    friction_columns,
    nonlinear_friction,
)
from robot_dynamics_ros.base.errors import RobotDynamicsError, use_one_of
from robot_dynamics_ros.dynamics.kernels.layout import COULOMB, COULOMB_NEGATIVE, SIGMOID_AMPLITUDE, STATIC, VISCOUS
from robot_dynamics_ros.dynamics.kernels.regressor import PARAMETERS
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.base_parameters import BaseParameters
from robot_dynamics_ros.dynamics.model.link_tree import LinkTree
from robot_dynamics_ros.dynamics.model.minimal_parameters import position_ranges

KINDS = ("viscous_coulomb", "none", "keep")
"""Friction to identify: viscous and Coulomb friction with the given shapes; no friction; the prior's, unchanged."""

_STATES = 6  # random states for each parameter of a joint
_SPEED, _ACCELERATION = 3.0, 10.0  # of random states, if there is no limit


@dataclass(frozen=True, eq=False)
class Parameterization:
    """Linear model of the torque in p parameters x: tau = columns(q, qd, qdd) x + known(q, qd, qdd).

    COEFFICIENTS of friction are viscous, coulomb, coulomb_negative, static and sigmoid (amplitude), in this order.
    Coordinates are the n independent joints of the model; "joints" in a shape is the number of its moving joints.

    Attributes
    ----------
    model
        The prior model, with n independent joints. It has more moving joints if some are coupled, as mimic joints are.
    friction
        "viscous_coulomb": identified with ``shapes``; "none": no friction; "keep": that of the prior model.
    shapes
        Friction shape of each moving joint, if friction is identified.
    names
        Names (p,) of the parameters: ten for each moving body, as ``link.mcx``; inertias of the rotors of the model;
        ``joint.rotor_inertia``, reflected to the joint, for joints without a rotor in the model; ``joint.viscous`` and
        other COEFFICIENTS that the joint's shape has. A joint has only ``joint.coulomb`` for both directions if no
        motion distinguishes a second level from a weight.
    own
        Values (p,) of the prior model in SI units, without its payload, whose torque is in ``known``.
    """

    model: RobotModel
    friction: str
    shapes: tuple[FrictionShape, ...]
    names: tuple[str, ...]
    own: Array
    _bare: RobotModel
    _factors: Array  # (joints, n): G, from the rates of the coordinates to those of the moving joints
    _tail: Array  # (all columns after the model's own, used ones): selects and merges columns

    @classmethod
    def of(
        cls, model: RobotModel, friction: str = KINDS[0], shapes: tuple[FrictionShape, ...] | None = None
    ) -> Parameterization:
        """Return the parameterization of a model.

        ``shapes`` has one for each moving joint (default: viscous and Coulomb friction). Raises RobotDynamicsError for
        a kind of ``friction`` other than "viscous_coulomb", "none" and "keep".
        """
        if friction not in KINDS:
            cure = use_one_of(friction, KINDS)
            raise RobotDynamicsError(f"friction {friction!r} is unknown. Cure: {cure}")
        bare = model
        if model.payload_link is not None:
            bare = model.with_payload(model.payload_link, 0.0, np.zeros(3), np.zeros(6))
        tree = LinkTree.of(model)
        joints = model.moving_joints
        kinds = ("rotor_inertia", *(COEFFICIENTS if friction == "viscous_coulomb" else ()))
        tail = [f"{joint}.{kind}" for kind in kinds for joint in joints]
        names = (*model.parameter_names, *tail)
        values = np.zeros((len(kinds), len(joints)))
        if friction == "viscous_coulomb":
            columns = [VISCOUS, COULOMB, COULOMB_NEGATIVE, STATIC, SIGMOID_AMPLITUDE]
            values[1:] = model.friction_parameters[:, columns].T
        own = np.concatenate([bare.inertial_parameters, values.ravel()])
        shapes = shapes or (FrictionShape(),) * len(joints)
        full = cls(model, friction, shapes, names, own, bare, tree.couplings, np.eye(len(tail)))
        driven = np.any(tree.rotor_couplings != 0.0, axis=0)
        return full._reduced(np.any(tree.couplings[:, driven], axis=1))

    def _reduced(self, driven: NDArray[np.bool_]) -> Parameterization:
        """Return the parameters without added rotors on ``driven`` joints and coefficients that the shapes lack."""
        # Rotors that no motion separates from a link's inertia stay: a large one exceeds any physical link inertia.
        first, joints = len(self.model.parameter_names), self.bodies
        tail, kept = self._tail.copy(), np.ones(len(self._tail), dtype=bool)
        kept[:joints] = ~driven
        if self.friction == "viscous_coulomb":
            used = np.array([shape.used for shape in self.shapes])  # (joints, kinds)
            kept[joints:] = used.T.ravel()
            backwards = range(joints * (1 + COEFFICIENTS.index("coulomb_negative")), len(tail))[:joints]
            for k in backwards:
                if kept[k] and first + k not in self.base.independent:
                    kept[k] = False
                    tail[k, k - joints] = 1.0
        keep = np.concatenate([np.ones(first, dtype=bool), kept])
        names = tuple(name for name, used in zip(self.names, keep, strict=True) if used)
        return replace(self, names=names, own=self.own[keep], _tail=tail[:, kept])

    @cached_property
    def base(self) -> BaseParameters:
        """Base parameters: the combinations that motions within the limits distinguish, from random states."""
        rng = np.random.default_rng(0)
        model = self.model
        count = _STATES * max(PARAMETERS, len(self.names) // model.n)
        speed = np.where(np.isfinite(model.velocity_limits), model.velocity_limits, _SPEED)
        q = rng.uniform(*position_ranges(model), (count, model.n))
        qd = rng.uniform(-1.0, 1.0, (count, model.n)) * speed
        qdd = rng.uniform(-_ACCELERATION, _ACCELERATION, (count, model.n))
        return BaseParameters.of(self.columns(q, qd, qdd).reshape(-1, len(self.names)), self.names)

    @property
    def bodies(self) -> int:
        """Number of moving bodies; their parameters, ten each, come first."""
        return len(self.model.moving_joints)

    @property
    def new_rotors(self) -> slice:
        """Slice of ``names`` with the rotor inertias of joints without a rotor in the model."""
        first = len(self.model.parameter_names)
        return slice(first, first + sum(name.endswith(".rotor_inertia") for name in self.names[first:]))

    @property
    def scalars(self) -> slice:
        """Slice of ``names`` after the bodies' parameters: rotor inertias and friction coefficients."""
        return slice(PARAMETERS * self.bodies, len(self.names))

    def columns(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the torque (m, n, p) for a unit of each parameter: Spong (9.121) with rotors and friction.

        ``q``, ``qd`` and ``qdd`` (m, n) are m states in SI units, in the order of the model's joints.
        """
        g = self._factors
        parts = [(qdd @ g.T)[:, :, np.newaxis]]
        if self.friction == "viscous_coulomb":
            parts.append(friction_columns(qd @ g.T, self.shapes))
        torque = self._at_coordinates(np.concatenate(parts, axis=2))
        return np.concatenate([self.model.regressor(q, qd, qdd), torque @ self._tail], axis=2)

    def friction_torques(self, qd: Array, shapes: Sequence[FrictionShape]) -> Array:
        """Return the torque (m, n, 5 joints) for a unit of each of COEFFICIENTS, each for all joints, at ``qd`` (m, n).

        The joints of the first coefficient come first. ``shapes``, one for each joint, may differ from those here.
        """
        return self._at_coordinates(friction_columns(self.joint_rates(qd), shapes))

    def nonlinear_friction(self, qd: Array, fastest: Array) -> Array:
        """Return the torque (m, n, 3 joints) of friction exp(-20 s), s^(1/2) and s^2 at velocities ``qd`` (m, n).

        s is a joint's speed over its highest, ``fastest`` (joints,), rad/s or m/s. Joints of the first come first.
        """
        return self._at_coordinates(nonlinear_friction(self.joint_rates(qd), fastest))

    def _at_coordinates(self, by_kind: Array) -> Array:
        """Return torques (m, n, kinds * joints) at the coordinates for joint torques (m, joints, kinds)."""
        # Virtual work: tau = G^T tau_joints.
        by_joint = np.einsum("mjc,jn->mncj", by_kind, self._factors)
        return np.asarray(by_joint.reshape(*by_joint.shape[:2], -1))

    def known(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the torque (m, n) that is assumed known: that of the payload, and of friction of kind ``keep``."""
        torque = np.zeros_like(q)
        if self._bare is not self.model:
            torque += self.model.inverse_dynamics(q, qd, qdd) - self._bare.inverse_dynamics(q, qd, qdd)
        if self.friction == "keep":
            torque += self.model.friction_torque(q, qd, qdd=qdd)
        return torque

    def joint_rates(self, qd: Array) -> Array:
        """Return the rates (m, joints) of the moving joints, coupled ones included, for joint velocities (m, n)."""
        return qd @ self._factors.T

    def joint_inertias(self, q: Array) -> Array:
        """Return the mean diagonal (r,) of the mass matrix over ``q`` (m, n), at the joints of the r ``new_rotors``."""
        diagonal = np.diagonal(self.model.mass_matrix(q), axis1=-2, axis2=-1).mean(axis=0)
        at_joints = np.abs(self._factors) @ diagonal
        count = self.new_rotors.stop - self.new_rotors.start
        return np.asarray(self._tail[: self.bodies, :count].T @ at_joints)

    def touched(self, joints: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return True (m, n) if a coordinate moves a joint with dry friction that is True in ``joints`` (m, joints)."""
        dry = np.zeros(self.bodies, dtype=bool)
        if self.friction == "keep":
            dry = np.any(self.model.friction_parameters[:, [COULOMB, COULOMB_NEGATIVE, STATIC]] > 0.0, axis=1)
        elif self.friction == "viscous_coulomb":
            dry = np.array([shape.sigmoid_slope == 0.0 for shape in self.shapes])
        return (joints & dry).astype(np.float64) @ np.abs(self._factors) > 0.0

    @property
    def moves(self) -> NDArray[np.bool_]:
        """True (joints, n) if the coordinate (column) moves the joint (row)."""
        return np.asarray(self._factors != 0.0)
