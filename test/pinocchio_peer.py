"""Pinocchio as an oracle.

The same URDF, with joints matched by name (it sorts siblings and stores continuous joints as cos, sin).
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class Peer:
    """A Pinocchio model that takes and gives vectors in the order of `joint_names`."""

    def __init__(
        self,
        urdf: str,
        joint_names: Sequence[str],
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        model: pin.Model | None = None,
    ) -> None:
        self.model = pin.buildModelFromXML(urdf) if model is None else model
        self.model.gravity.linear = np.asarray(gravity, dtype=float)
        self.names = list(joint_names)
        ids = [self.model.getJointId(name) for name in self.names]
        assert all(0 < i < self.model.njoints for i in ids), "a joint is unknown to Pinocchio"
        assert len(ids) == self.model.nv, "Pinocchio has other movable joints"
        self.v_index = np.array([self.model.joints[i].idx_v for i in ids], dtype=int)
        self.q_index = [(self.model.joints[i].idx_q, self.model.joints[i].nq) for i in ids]
        self.data = self.model.createData()

    def q(self, q: Array) -> Array:
        """Positions in Pinocchio's layout."""
        out = np.zeros(self.model.nq)
        for value, (start, size) in zip(q, self.q_index, strict=True):
            out[start : start + size] = value if size == 1 else (np.cos(value), np.sin(value))
        return out

    def v(self, v: Array) -> Array:
        """A vector of rates or torques in Pinocchio's order."""
        out = np.zeros(self.model.nv)
        out[self.v_index] = v
        return out

    def forces(self, wrenches: Mapping[str, ArrayLike]) -> pin.StdVec_Force:
        """Wrenches on links (force.

        Moment at the link's origin in its axes) as Pinocchio's forces on joints.
        """
        out = [pin.Force.Zero() for _ in range(self.model.njoints)]
        for link, wrench in wrenches.items():
            frame = self.model.frames[self.model.getFrameId(link)]
            w = np.asarray(wrench, dtype=float)
            joint = frame.parentJoint
            out[joint] = out[joint] + frame.placement.act(pin.Force(w[:3], w[3:]))
        vector = pin.StdVec_Force()
        vector.extend(out)
        return vector

    def rnea(self, q: Array, qd: Array, qdd: Array, wrenches: Mapping[str, ArrayLike] | None = None) -> Array:
        """Inverse dynamics."""
        tau: Array = pin.rnea(self.model, self.data, self.q(q), self.v(qd), self.v(qdd), self.forces(wrenches or {}))
        return np.array(tau[self.v_index])

    def crba(self, q: Array) -> Array:
        """Mass matrix, both triangles."""
        m = np.triu(pin.crba(self.model, self.data, self.q(q)))
        m = m + np.triu(m, 1).T
        return np.array(m[np.ix_(self.v_index, self.v_index)])

    def aba(self, q: Array, qd: Array, tau: Array, wrenches: Mapping[str, ArrayLike] | None = None) -> Array:
        """Forward dynamics."""
        qdd: Array = pin.aba(self.model, self.data, self.q(q), self.v(qd), self.v(tau), self.forces(wrenches or {}))
        return np.array(qdd[self.v_index])

    def bias(self, q: Array, qd: Array) -> Array:
        """Coriolis, centrifugal and gravity terms."""
        return np.array(pin.nonLinearEffects(self.model, self.data, self.q(q), self.v(qd))[self.v_index])

    def gravity(self, q: Array) -> Array:
        """Gravity terms."""
        return np.array(pin.computeGeneralizedGravity(self.model, self.data, self.q(q))[self.v_index])

    def kinetic_energy(self, q: Array, qd: Array) -> float:
        """Kinetic energy, J."""
        return float(pin.computeKineticEnergy(self.model, self.data, self.q(q), self.v(qd)))

    def potential_energy(self, q: Array) -> float:
        """Potential energy, J, zero with every centre of mass at the root's origin."""
        return float(pin.computePotentialEnergy(self.model, self.data, self.q(q)))

    def set_armature(self, values: Mapping[str, float]) -> None:
        """Reflected rotor inertia on joints, by name."""
        armature = self.model.armature.copy()
        for name, value in values.items():
            armature[self.v_index[self.names.index(name)]] = value
        self.model.armature = armature

    def locked(self, positions: Mapping[str, float], keep: Sequence[str]) -> "Peer":
        """A peer of the model with some joints fixed at positions; `keep` orders the rest."""
        full = np.array([positions.get(name, 0.0) for name in self.names])
        ids = [self.model.getJointId(name) for name in positions]
        reduced = pin.buildReducedModel(self.model, ids, self.q(full))
        return Peer("", keep, self.model.gravity.linear.copy(), reduced)
