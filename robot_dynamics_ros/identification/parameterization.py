"""The parameters that identification looks for: inertias, rotors, and friction, Craig (6.110)-(6.112).

The torque is linear in all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.formulations.properties import position_ranges
from robot_dynamics_ros.kernels.layout import COULOMB, COULOMB_NEGATIVE, STATIC, VISCOUS
from robot_dynamics_ros.kernels.regressor import PARAMETERS
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.model.base_parameters import BaseParameters
from robot_dynamics_ros.model.link_tree import LinkTree
from robot_dynamics_ros.moved import former_name

KINDS = ("viscous_coulomb", "none", "keep")
"""Friction to identify: viscous and Coulomb by direction; none; none, but the model's own is known."""

COEFFICIENTS = ("viscous", "coulomb", "coulomb_negative")
"""The dynamics file's names of the coefficients of each joint, in the order of the columns."""

_STILL = 0.02  # of a joint's highest speed: slower is as good as standing still
_STATES = 6  # random states for each unknown of a joint
_SLOW = 0.05  # of a joint's highest speed, over which friction falls by a factor e
_SPEED, _ACCELERATION = 3.0, 10.0  # of random states, where there is no limit


def friction_columns(rates: Array) -> Array:
    """Torque (m, joints, 3) of each joint for a unit of each of its COEFFICIENTS, at ``rates`` (m, joints).

    F(v) = viscous v + coulomb for v > 0, - coulomb_negative for v < 0: Craig (6.112), with a level for each direction.
    """
    return np.stack([rates, (rates > 0.0).astype(np.float64), -(rates < 0.0).astype(np.float64)], axis=-1)


def at_rest(rates: Array, reach: int) -> NDArray[np.bool_]:
    """True (m, joints) if a joint stands still or turns round within ``reach`` samples.

    There dry friction is whatever holds the joint, and the filter smears the step of its reversal over its own
    length. Still is slower than 2 % of the joint's highest speed in ``rates`` (m, joints).
    """
    still: NDArray[np.bool_] = np.abs(rates) <= _STILL * np.abs(rates).max(axis=0, initial=0.0)
    still[1:] |= np.signbit(rates[1:]) != np.signbit(rates[:-1])
    if reach > 0:
        still = np.asarray(maximum_filter1d(still.astype(np.uint8), 2 * reach + 1, axis=0) > 0, dtype=np.bool_)
    return still


@dataclass(frozen=True, eq=False)
class Parameterization:
    """The unknowns of a model, and how the torque depends on them: tau = columns x + known.

    Attributes
    ----------
    model
        The prior model.
    friction
        One of KINDS.
    names
        (p,): ten for each body, as "link.mcx"; the rotors that the model has; then "joint.rotor_inertia", reflected to
        the joint, where the model has no rotor and no motion hides it in a link's inertia; then "joint.viscous" and so
        on. Where no motion distinguishes the two levels of Coulomb friction from a weight, one, "joint.coulomb".
    own
        (p,): the model's own values, without its payload, which counts as known.
    """

    model: RobotModel
    friction: str
    names: tuple[str, ...]
    own: Array
    _bare: RobotModel
    _factors: Array  # (joints, n): G, from the rates of the coordinates to those of the moving joints
    _tail: Array  # (all columns beside the model's own, those that are used)

    @classmethod
    def of(cls, model: RobotModel, friction: str = "viscous_coulomb") -> Parameterization:
        """Return the unknowns of a model; RobotDynamicsError for a ``friction`` that is none of KINDS."""
        if friction not in KINDS:
            raise RobotDynamicsError(f"friction {friction!r} is no kind. Cure: use one of {', '.join(KINDS)}")
        bare = model
        if model.payload_link is not None:
            bare = model.with_payload(model.payload_link, 0.0, np.zeros(3), np.zeros(6))
        tree = LinkTree.of(model)
        kinds = ("rotor_inertia", *(COEFFICIENTS if friction == "viscous_coulomb" else ()))
        tail = [f"{joint}.{kind}" for kind in kinds for joint in model.moving_joints]
        names = (*model.parameter_names, *tail)
        values = np.zeros((len(kinds), len(model.moving_joints)))
        if friction == "viscous_coulomb":
            values[1:] = model.friction_parameters[:, [VISCOUS, COULOMB, COULOMB_NEGATIVE]].T
        own = np.concatenate([bare.inertial_parameters, values.ravel()])
        full = cls(model, friction, names, own, bare, tree.couplings, np.eye(len(tail)))
        driven = np.any(tree.rotor_couplings != 0.0, axis=0)
        return full._reduced(np.any(tree.couplings[:, driven], axis=1))

    def _reduced(self, driven: NDArray[np.bool_]) -> Parameterization:
        """Return the unknowns without rotors on ``driven`` joints, and one level of Coulomb friction where need be.

        Other rotors stay, even those that no motion distinguishes from a link's inertia: a large one is more than the
        link of a body that exists can have.
        """
        first = len(self.model.parameter_names)
        tail, joints = self._tail.copy(), self.bodies
        kept = np.ones(len(tail), dtype=bool)
        kept[:joints] = ~driven
        for k in range(3 * joints, len(tail)):  # coulomb_negative
            if first + k not in self.base.independent:
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
            parts.append(friction_columns(qd @ g.T))
        torque = self._at_coordinates(np.concatenate(parts, axis=2))
        return np.concatenate([self.model.regressor(q, qd, qdd), torque @ self._tail], axis=2)

    def nonlinear_friction(self, qd: Array, fastest: Array) -> Array:
        """Return the torque (m, n, 3 joints) of unit friction that is not linear in the speed, at m states.

        Its sizes are exp(-20 s), Stribeck's effect as an exponential (Armstrong-Helouvry, Dupont, Canudas de Wit,
        Automatica 1994), s^(1/2) and s^2, with the speed s as a share of ``fastest`` (joints,).
        """
        rates = self.joint_rates(qd) / np.where(fastest > 0.0, fastest, 1.0)
        speeds = np.abs(rates)
        sizes = np.stack([np.exp(-speeds / _SLOW), np.sqrt(speeds), speeds**2], axis=-1)
        return self._at_coordinates(np.sign(rates)[:, :, np.newaxis] * sizes)

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
        dry = np.any(self.model.friction_parameters[:, [COULOMB, COULOMB_NEGATIVE, STATIC]] > 0.0, axis=1)
        stuck = joints & (dry if self.friction == "keep" else self.friction == "viscous_coulomb")
        return stuck.astype(np.float64) @ np.abs(self._factors) > 0.0


def __getattr__(name: str) -> object:
    return former_name(__name__, {"Unknowns": Parameterization}, name)
