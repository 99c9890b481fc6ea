"""Parameters to identify, in which the torque is linear: inertias, rotors and friction, Craig (6.110)-(6.112)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.analysis.identification.friction_shapes import (
    BACKWARDS,
    COEFFICIENTS,
    COLUMNS,
    FORWARDS,
    LOAD,
    STATIC,
    FrictionShape,
    friction_columns,
)
from robot_dynamics_ros.analysis.thresholds import (
    COLUMN_RANK,
    LARGEST_STATIC_RATIO,
    PARAMETER_DIFFERENCE,
    REGRESSOR_CHUNK,
    STATES_PER_PARAMETER,
)
from robot_dynamics_ros.base.errors import require_known
from robot_dynamics_ros.dynamics.kernels.regressor import PARAMETERS
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.base_parameters import (
    BaseParameters,
    position_ranges,
)
from robot_dynamics_ros.dynamics.model.link_tree import LinkTree
from robot_dynamics_ros.dynamics.thresholds import (
    RANDOM_ACCELERATION,
    RANDOM_VELOCITY,
)

KINDS = ("viscous_coulomb", "none", "keep")
"""Friction to identify: viscous and Coulomb friction with the given shapes; no friction; the prior's, unchanged."""


@dataclass(frozen=True, eq=False)
class Parameterization:
    """Linear model of the torque in p parameters x: tau = columns(q, qd, qdd) x + known(q, qd, qdd).

    Friction that depends on the load is bilinear: its columns are those under the load at given parameters, ``at``.
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
        other COEFFICIENTS that the joint's shape has. A joint has only ``joint.coulomb`` for both directions unless its
        shape has ``directions`` and motions distinguish a second level from a weight.
    own
        Values (p,) of the prior model in SI units, without its payload, whose torque is in ``known``.
    at
        Values (p,) that determine the load; as returned by ``of``, ``own``.
    offsets
        True (n,) for coordinates whose measured effort has an offset in each recording; as returned by ``of``, where
        motions distinguish it from a weight, and friction has no ``directions``.
    """

    model: RobotModel
    friction: str
    shapes: tuple[FrictionShape, ...]
    names: tuple[str, ...]
    own: Array
    at: Array
    offsets: NDArray[np.bool_]
    _bare: RobotModel
    # (joints, n): G, from the rates of the coordinates to those of the moving joints
    _factors: Array
    # (all columns after the model's own, used ones): selects and merges columns
    _tail: Array

    @classmethod
    def of(
        cls,
        model: RobotModel,
        friction: str = KINDS[0],
        shapes: tuple[FrictionShape, ...] | None = None,
    ) -> Parameterization:
        """Return the parameterization of a model.

        ``shapes`` has exactly one for each moving joint (default: viscous and Coulomb friction); it is ignored unless
        ``friction`` is "viscous_coulomb". Raises RobotDynamicsError for a kind of ``friction`` other than
        "viscous_coulomb", "none" and "keep".
        """
        require_known(friction, KINDS, f"friction {friction!r} is unknown")
        bare = model.without_payload()
        tree = LinkTree.of(model)
        joints = model.moving_joints
        kinds = (
            "rotor_inertia",
            *(COEFFICIENTS if friction == "viscous_coulomb" else ()),
        )
        tail = [f"{joint}.{kind}" for kind in kinds for joint in joints]
        names = (*model.parameter_names, *tail)
        values = np.zeros((len(kinds), len(joints)))
        if friction == "viscous_coulomb":
            values[1:] = model.friction_parameters[:, COLUMNS].T
        own = np.concatenate([bare.inertial_parameters, values.ravel()])
        if shapes is None or friction != KINDS[0]:
            shapes = (FrictionShape(),) * len(joints)
        full = cls(
            model,
            friction,
            shapes,
            names,
            own,
            own,
            np.zeros(model.n, dtype=np.bool_),
            bare,
            tree.couplings,
            np.eye(len(tail)),
        )
        driven = np.any(tree.rotor_couplings != 0.0, axis=0)
        reduced = full._reduced(np.any(tree.couplings[:, driven], axis=1))
        directions = [shape.directions for shape in shapes]
        distinct = reduced._distinct_offsets() & ~reduced.moves[directions].any(axis=0)
        return replace(reduced, offsets=distinct)

    def _reduced(self, driven: NDArray[np.bool_]) -> Parameterization:
        """Return the parameters without added rotors on ``driven`` joints and coefficients that the shapes lack."""
        # Rotors that no motion separates from a link's inertia stay: a large one exceeds any physical link inertia.
        first = len(self.model.parameter_names)
        joints = self.bodies
        tail = self._tail.copy()
        kept = np.ones(len(self._tail), dtype=bool)
        kept[:joints] = ~driven
        if self.friction == "viscous_coulomb":
            used = np.array([shape.used for shape in self.shapes])  # (joints, kinds)
            kept[joints:] = used.T.ravel()
            backwards = range(joints * (1 + BACKWARDS), len(tail))[:joints]
            for k, shape in zip(backwards, self.shapes, strict=True):
                distinct = shape.directions and first + k in self.base.independent
                if kept[k] and not distinct:
                    kept[k] = False
                    tail[k, k - joints] = 1.0
        keep = np.concatenate([np.ones(first, dtype=bool), kept])
        names = tuple(name for name, used in zip(self.names, keep, strict=True) if used)
        return replace(
            self, names=names, own=self.own[keep], at=self.at[keep], _tail=tail[:, kept]
        )

    @cached_property
    def base(self) -> BaseParameters:
        """Base parameters: the combinations that motions within the limits distinguish, from random states."""
        return BaseParameters.of(
            self._random_columns.reshape(-1, len(self.names)), self.names
        )

    def _distinct_offsets(self) -> NDArray[np.bool_]:
        """Return True (n,) for coordinates in which motions distinguish an offset of the effort from the parameters."""
        columns = self._random_columns
        count, n, _ = columns.shape
        units = np.tile(np.eye(n), (count, 1))
        base = columns.reshape(count * n, -1)[:, self.base.independent]
        shares = np.linalg.lstsq(base, units, rcond=None)[0]
        squares = np.square(units - base @ shares).sum(axis=0)
        return np.asarray(squares > COLUMN_RANK * count)

    @cached_property
    def _random_columns(self) -> Array:
        """Columns (m, n, p) at random states within the limits."""
        rng = np.random.default_rng(0)
        model = self.model
        count = STATES_PER_PARAMETER * max(PARAMETERS, len(self.names) // model.n)
        speed = np.where(
            np.isfinite(model.velocity_limits), model.velocity_limits, RANDOM_VELOCITY
        )
        q = rng.uniform(*position_ranges(model), (count, model.n))
        qd = rng.uniform(-1.0, 1.0, (count, model.n)) * speed
        qdd = rng.uniform(-RANDOM_ACCELERATION, RANDOM_ACCELERATION, (count, model.n))
        return self.columns(q, qd, qdd)

    @property
    def bodies(self) -> int:
        """Number of moving bodies; their parameters, ten each, come first."""
        return len(self.model.moving_joints)

    @property
    def new_rotors(self) -> slice:
        """Slice of ``names`` with the rotor inertias of joints without a rotor in the model."""
        first = len(self.model.parameter_names)
        return slice(
            first,
            first + sum(name.endswith(".rotor_inertia") for name in self.names[first:]),
        )

    @property
    def scalars(self) -> slice:
        """Slice of ``names`` after the bodies' parameters: rotor inertias and friction coefficients."""
        return slice(PARAMETERS * self.bodies, len(self.names))

    def columns(
        self, q: Array, qd: Array, qdd: Array, friction: Array | None = None
    ) -> Array:
        """Return the torque (m, n, p) for a unit of each parameter: Spong (9.121) with rotors and friction.

        ``q``, ``qd`` and ``qdd`` (m, n) are m states in SI units, in the order of the model's joints. ``friction`` is
        the result of ``joint_friction``, or that filtered.
        """
        friction = self.joint_friction(q, qd, qdd) if friction is None else friction
        torques = np.concatenate(
            [(qdd @ self._factors.T)[:, :, None], friction], axis=2
        )
        return np.concatenate(
            [
                self.model.regressor(q, qd, qdd),
                self.at_coordinates(torques) @ self._tail,
            ],
            axis=2,
        )

    def joint_friction(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the friction (m, joints, c), Nm or N, of the moving joints for a unit of each of the c coefficients.

        c is 0 if friction is not identified. The load is that of the parameters ``at``.
        """
        friction = friction_columns(self.joint_rates(qd), self.shapes)
        if self.loaded:
            _, ratio, _ = self._load_terms(qd)
            friction[:, :, LOAD] = self._by_load(friction, ratio) * self.joint_loads(
                self.gear_load(q, qd, qdd)
            )
        return friction if self.friction == KINDS[0] else friction[:, :, :0]

    @property
    def loaded(self) -> bool:
        """True if the friction of a joint depends on its load."""
        return any(shape.used[LOAD] for shape in self.shapes)

    def joint_loads(self, load: Array) -> Array:
        """Return the magnitude (m, joints), Nm or N, of ``load`` (m, n) at the joints; meaningless for coupled ones."""
        return np.abs(load @ self._factors.T)

    def _by_load(self, friction: Array, ratio: Array) -> Array:
        """Return the friction (m, joints) for a unit of load_coefficient and of the load: 1 + (ratio - 1) e."""
        loaded = np.array([shape.used[LOAD] for shape in self.shapes])
        return np.asarray(
            (
                friction[:, :, FORWARDS]
                + friction[:, :, BACKWARDS]
                + ratio * friction[:, :, STATIC]
            )
            * loaded
        )

    def _load_terms(self, qd: Array) -> tuple[Array, Array, Array]:
        """Return load coefficients (joints,), static over Coulomb level, at least 1, and Coulomb level (m, joints)."""
        values = self._coefficients
        level = np.where(
            self.joint_rates(qd) > 0.0, values[FORWARDS], values[BACKWARDS]
        )
        ratio = np.divide(
            values[STATIC], level, out=np.ones_like(level), where=level > 0.0
        )
        return values[LOAD], np.clip(ratio, 1.0, LARGEST_STATIC_RATIO), level

    @property
    def _coefficients(self) -> Array:
        """Friction coefficients (c, joints) of the parameters ``at``."""
        values = self._tail[self.bodies :] @ self.at[len(self.model.parameter_names) :]
        return values.reshape(len(COEFFICIENTS), self.bodies)

    def scale_derivatives(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the derivative (m, joints) of friction by the logarithm of the velocities of its shape, at ``at``."""
        ends = (
            tuple(shape.scaled(1.0 + step) for shape in self.shapes)
            for step in (PARAMETER_DIFFERENCE, -PARAMETER_DIFFERENCE)
        )
        faster, slower = (
            replace(self, shapes=shapes).joint_friction(q, qd, qdd) for shapes in ends
        )
        return np.asarray(
            np.einsum("mjc,cj->mj", faster - slower, self._coefficients)
            / (2.0 * PARAMETER_DIFFERENCE)
        )

    def gear_load(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the torque (m, n), Nm or N, that the gears transmit to the links for the parameters ``at``."""
        chunks = (
            slice(first, first + REGRESSOR_CHUNK)
            for first in range(0, len(q), REGRESSOR_CHUNK)
        )
        load = [
            self._load_of(self.model.regressor(q[c], qd[c], qdd[c])) for c in chunks
        ]
        return np.concatenate(load) + self.known(q, qd, qdd)

    def _load_of(self, regressor: Array) -> Array:
        """Return the torque (m, n) of the links, whose columns are the first of ``regressor`` (m, n, ...)."""
        links = slice(PARAMETERS * self.bodies)
        return regressor[:, :, links] @ self.at[links]

    def load_derivatives(
        self, motion: tuple[Array, Array, Array], columns: Array, friction: Array
    ) -> Array:
        """Return the derivatives (m, n, p) of load-dependent friction by all parameters but its coefficient, at ``at``.

        ``motion`` is q, qd and qdd, with their ``columns``, and ``friction`` that of ``joint_friction``, or filtered.
        The load changes with the independent base parameters only: friction does not separate links from rotors.
        """
        load = self._load_of(columns) + self.known(*motion)
        coefficient, ratio, level = self._load_terms(motion[1])
        slope = (
            (self._by_load(friction, ratio) * coefficient)
            @ self._factors
            * np.sign(load)
        )
        chosen = self.base.independent < PARAMETERS * self.bodies
        by_base = slope[:, :, None] * columns[:, :, self.base.independent[chosen]]
        result = by_base @ self.base.combination[chosen]
        # Torque: coefficient |load| (sign(v) + (static / coulomb - 1) e).
        falls = (ratio > 1.0) & (ratio < LARGEST_STATIC_RATIO)
        by_static = np.divide(
            coefficient * self.joint_loads(load),
            level,
            out=np.zeros_like(level),
            where=falls,
        )
        by_static *= friction[:, :, STATIC]
        by_level = -ratio * by_static
        forward = self.joint_rates(motion[1]) > 0.0
        # the first one is the rotor
        by_kind = np.zeros((*by_static.shape, 1 + len(COEFFICIENTS)))
        by_kind[:, :, 1 + STATIC] = by_static
        by_kind[:, :, 1 + FORWARDS] = by_level * forward
        by_kind[:, :, 1 + BACKWARDS] = by_level * ~forward
        result[:, :, len(self.model.parameter_names) :] += (
            self.at_coordinates(by_kind) @ self._tail
        )
        return result

    def at_coordinates(self, by_kind: Array) -> Array:
        """Return torques (m, n, c joints) at the coordinates for joint torques (m, joints, c).

        The last axis of the result has all joints of the first kind, then those of the next.
        """
        # Virtual work: tau = G^T tau_joints.
        by_joint = np.einsum("mjc,jn->mncj", by_kind, self._factors)
        return np.asarray(by_joint.reshape(*by_joint.shape[:2], -1))

    def known(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the torque (m, n), Nm or N, that is assumed known: that of the payload, and of friction "keep"."""
        torque = np.zeros_like(q)
        if self._bare is not self.model:
            torque += self.model.inverse_dynamics(
                q, qd, qdd
            ) - self._bare.inverse_dynamics(q, qd, qdd)
        if self.friction == "keep":
            torque += self.model.friction_torque(q, qd, qdd=qdd)
        return torque

    def joint_rates(self, qd: Array) -> Array:
        """Return the rates (m, joints) of the moving joints, coupled ones included, for joint velocities (m, n)."""
        return qd @ self._factors.T

    def joint_inertias(self, q: Array, least: Array) -> Array:
        """Return the inertia (r,), kg m^2 or kg, at the joints of the r ``new_rotors``: the mean over ``q`` (m, n).

        It is the diagonal of the mass matrix; for a coupled joint the sum of those of its coordinates times abs(G).
        ``least`` (joints,) are lower bounds, for joints that move no inertia.
        """
        diagonal = np.diagonal(self.model.mass_matrix(q), axis1=-2, axis2=-1).mean(
            axis=0
        )
        at_joints = np.maximum(np.abs(self._factors) @ diagonal, least)
        count = self.new_rotors.stop - self.new_rotors.start
        return np.asarray(self._tail[: self.bodies, :count].T @ at_joints)

    @property
    def moves(self) -> NDArray[np.bool_]:
        """True (joints, n) if the coordinate (column) moves the joint (row)."""
        return np.asarray(self._factors != 0.0)
