"""Pinocchio as an oracle.

It loads the same URDF, with joints matched by name, because it sorts siblings and stores continuous joints as cosine
and sine. Pinocchio has the tree without couplings; G and c of the <mimic> tags are read here.
"""

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from support.arms import Array

#: joint -> the joint that it follows, factor and offset
Follows = Mapping[str, tuple[str, float, float]]

# Pinocchio's order of a body's parameters, m mcx mcy mcz Ixx Ixy Iyy Ixz Iyz Izz, in the order of URDF.
_URDF_ORDER = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]


def mimic_tags(urdf: str) -> dict[str, tuple[str, float, float]]:
    """Return the <mimic> tags of movable joints."""
    found = {}
    for joint in ElementTree.fromstring(urdf.encode()).findall("joint"):
        tag = joint.find("mimic")
        if tag is not None and joint.get("type") != "fixed":
            values = float(tag.get("multiplier", "1")), float(tag.get("offset", "0"))
            found[joint.attrib["name"]] = (tag.attrib["joint"], *values)
    return found


class Peer:
    """Pinocchio model whose vectors are in the order of `joint_names`.

    These do not include joints in `follows`: positions of the tree are G q + c, torques G^T tau_tree.
    """

    def __init__(
        self,
        urdf: str,
        joint_names: Sequence[str],
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        follows: Follows | None = None,
    ) -> None:
        self.model = pin.buildModelFromXML(urdf)
        self.model.gravity.linear = np.asarray(gravity, dtype=float)
        self.names = list(joint_names)
        self.follows = dict(follows or {})
        assert all(self.model.existJointName(name) for name in self.names), (
            "a joint is unknown to Pinocchio"
        )
        assert len(self.names) + len(self.follows) == self.model.nv, (
            "Pinocchio has other movable joints"
        )
        self.g = np.zeros((self.model.nv, len(self.names)))
        self.c = np.zeros(self.model.nv)
        self.joints = [self.model.joints[i] for i in range(1, self.model.njoints)]
        for name, joint in zip(list(self.model.names)[1:], self.joints, strict=True):
            self.g[joint.idx_v], self.c[joint.idx_v] = self._row(name)
        self.data = self.model.createData()

    def _row(self, name: str) -> tuple[Array, float]:
        if name not in self.follows:
            return np.eye(len(self.names))[self.names.index(name)], 0.0
        source, factor, offset = self.follows[name]
        row, constant = self._row(source)
        return factor * row, factor * constant + offset

    def q(self, q: Array) -> Array:
        """Return positions in Pinocchio's layout."""
        positions = self.g @ q + self.c
        out = np.zeros(self.model.nq)
        for joint in self.joints:
            value = positions[joint.idx_v]
            out[joint.idx_q : joint.idx_q + joint.nq] = (
                value if joint.nq == 1 else (np.cos(value), np.sin(value))
            )
        return out

    def v(self, v: Array) -> Array:
        """Return a vector of velocities in Pinocchio's order."""
        return self.g @ v

    def _torque(self, tau: Array) -> Array:
        return np.array(self.g.T @ tau)

    def _matrix(self, m: Array) -> Array:
        return np.array(self.g.T @ m @ self.g)

    def forces(self, wrenches: Mapping[str, ArrayLike]) -> pin.StdVec_Force:
        """Return wrenches on links (force and moment at the link origin, in link axes) as Pinocchio's joint forces."""
        out = [pin.Force.Zero() for _ in range(self.model.njoints)]
        for link, wrench in wrenches.items():
            frame = self.model.frames[self.model.getFrameId(link, pin.FrameType.BODY)]
            w = np.asarray(wrench, dtype=float)
            joint = frame.parentJoint
            out[joint] = out[joint] + frame.placement.act(pin.Force(w[:3], w[3:]))
        vector = pin.StdVec_Force()
        vector.extend(out)
        return vector

    def rnea(
        self,
        q: Array,
        qd: Array,
        qdd: Array,
        wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Return the inverse dynamics."""
        forces = self.forces(wrenches or {})
        return self._torque(
            pin.rnea(self.model, self.data, self.q(q), self.v(qd), self.v(qdd), forces)
        )

    def crba(self, q: Array) -> Array:
        """Return the mass matrix, both triangles."""
        m = np.triu(pin.crba(self.model, self.data, self.q(q)))
        return self._matrix(m + np.triu(m, 1).T)

    def aba(
        self,
        q: Array,
        qd: Array,
        tau: Array,
        wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Return the forward dynamics; with couplings from the mass matrix, because ABA does not support them."""
        if self.follows:
            return np.linalg.solve(
                self.crba(q), tau - self.rnea(q, qd, np.zeros_like(q), wrenches)
            )
        forces = self.forces(wrenches or {})
        # G is a permutation here, so that it takes torques to Pinocchio's order as well.
        return self._torque(
            pin.aba(self.model, self.data, self.q(q), self.v(qd), self.g @ tau, forces)
        )

    def bias(self, q: Array, qd: Array) -> Array:
        """Return Coriolis, centrifugal and gravity terms."""
        return self._torque(
            pin.nonLinearEffects(self.model, self.data, self.q(q), self.v(qd))
        )

    def gravity(self, q: Array) -> Array:
        """Return the gravity torque."""
        return self._torque(
            pin.computeGeneralizedGravity(self.model, self.data, self.q(q))
        )

    def derivatives(self, q: Array, qd: Array, qdd: Array) -> tuple[Array, Array]:
        """Return dtau/dq and dtau/dqd of the inverse dynamics."""
        dq, dqd, _ = pin.computeRNEADerivatives(
            self.model, self.data, self.q(q), self.v(qd), self.v(qdd)
        )
        return self._matrix(dq), self._matrix(dqd)

    def mass_matrix_rate(self, q: Array, qd: Array) -> Array:
        """Return dM/dt = C + C^T, for every C with skew-symmetric dM/dt - 2 C."""
        c = pin.computeCoriolisMatrix(self.model, self.data, self.q(q), self.v(qd))
        return self._matrix(c + c.T)

    def regressor(
        self, q: Array, qd: Array, qdd: Array, moving_joints: Sequence[str]
    ) -> Array:
        """Return the regressor, ten columns for each moving link: m, m c, ixx ixy ixz iyy iyz izz at its origin."""
        y = pin.computeJointTorqueRegressor(
            self.model, self.data, self.q(q), self.v(qd), self.v(qdd)
        )
        blocks = y.reshape(self.model.nv, -1, 10)[:, :, _URDF_ORDER]
        order = [self.model.getJointId(name) - 1 for name in moving_joints]
        return np.array(self.g.T @ blocks[:, order].reshape(self.model.nv, -1))

    def inertial_parameters(self, moving_joints: Sequence[str]) -> Array:
        """Return the parameters that the regressor multiplies."""
        inertias = [
            self.model.inertias[self.model.getJointId(name)] for name in moving_joints
        ]
        return np.concatenate(
            [inertia.toDynamicParameters()[_URDF_ORDER] for inertia in inertias]
        )

    def reactions(
        self,
        q: Array,
        qd: Array,
        qdd: Array,
        moving_joints: Sequence[str],
        wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Return force and moment (joints, 6) of the parent on each joint's child, at and in the child frame."""
        self.rnea(q, qd, qdd, wrenches)
        return np.array(
            [self.data.f[self.model.getJointId(name)].vector for name in moving_joints]
        )

    def step(
        self, q: Array, qd: Array, tau: Array, duration: float
    ) -> tuple[Array, Array]:
        """Return the state after a constant torque, by semi-implicit Euler with steps of 0.5 ms."""
        steps = round(duration / 0.0005)
        for _ in range(steps):
            qd = qd + self.aba(q, qd, tau) * duration / steps
            q = q + qd * duration / steps
        return q, qd

    def _frame(self, link: str) -> int:
        return int(self.model.getFrameId(link, pin.FrameType.BODY))

    def pose(self, q: Array, link: str) -> Array:
        """Return the pose (4, 4) of a link in the root frame."""
        pin.forwardKinematics(self.model, self.data, self.q(q))
        return np.array(
            pin.updateFramePlacement(
                self.model, self.data, self._frame(link)
            ).homogeneous
        )

    def jacobian(self, q: Array, link: str) -> Array:
        """Return the Jacobian (6, n) of a link's origin in root axes, linear rows first."""
        axes = pin.LOCAL_WORLD_ALIGNED
        j = pin.computeFrameJacobian(
            self.model, self.data, self.q(q), self._frame(link), axes
        )
        # the bindings drop an axis of length one
        return np.array(np.reshape(j, (6, -1)) @ self.g)

    def jacobian_dot_qd(self, q: Array, qd: Array, link: str) -> Array:
        """Return the acceleration (6,) of a link's origin in root axes for zero qdd, linear rows first."""
        pin.forwardKinematics(
            self.model, self.data, self.q(q), self.v(qd), np.zeros(self.model.nv)
        )
        axes = pin.LOCAL_WORLD_ALIGNED
        return np.array(
            pin.getFrameClassicalAcceleration(
                self.model, self.data, self._frame(link), axes
            ).vector
        )

    def kinetic_energy(self, q: Array, qd: Array) -> float:
        """Return the kinetic energy, J."""
        return float(
            pin.computeKineticEnergy(self.model, self.data, self.q(q), self.v(qd))
        )

    def potential_energy(self, q: Array) -> float:
        """Return the potential energy, J, relative to all centres of mass at the root's origin."""
        return float(pin.computePotentialEnergy(self.model, self.data, self.q(q)))
