"""The parameters that identification looks for: inertias, rotors, and friction, Craig (6.110)-(6.112).

The torque is linear in all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.formulations.properties import position_ranges
from robot_dynamics_ros.identification.friction import (
    COEFFICIENTS,
    FrictionShape,
    friction_columns,
    nonlinear_friction,
)
from robot_dynamics_ros.kernels.layout import COULOMB, COULOMB_NEGATIVE, SIGMOID_AMPLITUDE, STATIC, VISCOUS
from robot_dynamics_ros.kernels.regressor import PARAMETERS
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.model.base_parameters import BaseParameters
from robot_dynamics_ros.model.link_tree import LinkTree
from robot_dynamics_ros.moved import former_name

KINDS = ("viscous_coulomb", "none", "keep")
"""Friction to identify: viscous and Coulomb friction, and what the shapes add; none; none, but the prior's is known."""

_STATES = 6  # random states for each unknown of a joint
_SPEED, _ACCELERATION = 3.0, 10.0  # of random states, where there is no limit


@dataclass(frozen=True, eq=False)
class Parameterization:
    """Linear model of the torque in unknown parameters x: tau = columns x + known.

    Attributes
    ----------
    model
        The prior model.
    friction
        One of KINDS.
    shapes
        Shape of the friction of each moving joint, where it is identified.
    names
        (p,): ten for each body, as "link.mcx"; the rotors that the model has; then "joint.rotor_inertia", reflected to
        the joint, for each joint without a rotor in the model; then "joint.viscous" and so on, by COEFFICIENTS and the
        joint's shape. Where no motion distinguishes the two levels of Coulomb friction from a weight, one,
        "joint.coulomb".
    own
        (p,): the model's own values, without its payload, which counts as known.
    """

    model: RobotModel
    friction: str
    shapes: tuple[FrictionShape, ...]
    names: tuple[str, ...]
    own: Array
    _bare: RobotModel
    _factors: Array  # (joints, n): G, from the rates of the coordinates to those of the moving joints
    _tail: Array  # (all columns beside the model's own, those that are used)

    @classmethod
    def of(
        cls, model: RobotModel, friction: str = KINDS[0], shapes: tuple[FrictionShape, ...] | None = None
    ) -> Parameterization:
        """Return the unknowns of a model.

        ``friction``: one of KINDS; ``shapes``: one for each moving joint, by default viscous and Coulomb friction.
        Raises RobotDynamicsError for another ``friction``.
        """
        if friction not in KINDS:
            raise RobotDynamicsError(f"friction {friction!r} is no kind. Cure: use one of {', '.join(KINDS)}")
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
        """Return the unknowns without rotors on ``driven`` joints and without coefficients that the shapes lack.

        Other rotors stay, also those that no motion distinguishes from a link's inertia: a large one exceeds the
        inertia that a physical link can have.
        """
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
        """The combinations of them that motions within the limits can distinguish, by random states."""
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
        """Number of moving bodies, whose ten parameters each come first."""
        return len(self.model.moving_joints)

    @property
    def new_rotors(self) -> slice:
        """Places of the inertias of rotors that the model does not have."""
        first = len(self.model.parameter_names)
        return slice(first, first + sum(name.endswith(".rotor_inertia") for name in self.names[first:]))

    @property
    def scalars(self) -> slice:
        """Places of the other parameters than the bodies': inertias of rotors, coefficients of friction."""
        return slice(PARAMETERS * self.bodies, len(self.names))

    def columns(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Torque (m, n, p) for a unit of each unknown, at m states: Spong (9.121) with rotors and friction."""
        g = self._factors
        parts = [(qdd @ g.T)[:, :, np.newaxis]]
        if self.friction == "viscous_coulomb":
            parts.append(friction_columns(qd @ g.T, self.shapes))
        torque = self._at_coordinates(np.concatenate(parts, axis=2))
        return np.concatenate([self.model.regressor(q, qd, qdd), torque @ self._tail], axis=2)

    def friction_torques(self, qd: Array, shapes: Sequence[FrictionShape]) -> Array:
        """Return the torque (m, n, 5 joints) for a unit of each of COEFFICIENTS of joints with some shapes."""
        return self._at_coordinates(friction_columns(self.joint_rates(qd), shapes))

    def nonlinear_friction(self, qd: Array, fastest: Array) -> Array:
        """Return the torque (m, n, 3 joints) of friction that is not linear in the speed, see ``friction``."""
        return self._at_coordinates(nonlinear_friction(self.joint_rates(qd), fastest))

    def _at_coordinates(self, by_kind: Array) -> Array:
        """Torque (m, n, kinds * joints) at the coordinates for ``by_kind`` (m, joints, kinds) at the joints."""
        # Virtual work: what a joint of the tree takes, the coordinates that move it give.
        by_joint = np.einsum("mjc,jn->mncj", by_kind, self._factors)
        return np.asarray(by_joint.reshape(*by_joint.shape[:2], -1))

    def known(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Torque (m, n) that does not depend on the unknowns: the payload's, and friction that is kept."""
        torque = np.zeros_like(q)
        if self._bare is not self.model:
            torque += self.model.inverse_dynamics(q, qd, qdd) - self._bare.inverse_dynamics(q, qd, qdd)
        if self.friction == "keep":
            torque += self.model.friction_torque(q, qd)
        return torque

    def joint_rates(self, qd: Array) -> Array:
        """Rates (m, joints) of the moving joints, of those (m, n) of the coordinates."""
        return qd @ self._factors.T

    def joint_inertias(self, q: Array) -> Array:
        """Mean inertia at each joint that may get a rotor, (new rotors,), of some positions (m, n)."""
        diagonal = np.diagonal(self.model.mass_matrix(q), axis1=-2, axis2=-1).mean(axis=0)
        at_joints = np.abs(self._factors) @ diagonal
        count = self.new_rotors.stop - self.new_rotors.start
        return np.asarray(self._tail[: self.bodies, :count].T @ at_joints)

    def touched(self, joints: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """True (m, n) if a coordinate moves one of ``joints`` (m, joints) that has dry friction, unknown at rest."""
        dry = np.zeros(self.bodies, dtype=bool)
        if self.friction == "keep":
            dry = np.any(self.model.friction_parameters[:, [COULOMB, COULOMB_NEGATIVE, STATIC]] > 0.0, axis=1)
        elif self.friction == "viscous_coulomb":
            dry = np.array([shape.sigmoid_slope == 0.0 for shape in self.shapes])
        return (joints & dry).astype(np.float64) @ np.abs(self._factors) > 0.0

    @property
    def moves(self) -> NDArray[np.bool_]:
        """True (joints, n) if a coordinate moves the joint."""
        return np.asarray(self._factors != 0.0)


def __getattr__(name: str) -> object:
    return former_name(__name__, {"Unknowns": Parameterization}, name)
