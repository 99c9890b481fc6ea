"""Torques, accelerations, friction, derivatives, reactions, poses and energies, in a base class of RobotModel."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.base.errors import RobotDynamicsError, RobotModelError
from robot_dynamics_ros.dynamics.description.inertia import real_numbers
from robot_dynamics_ros.dynamics.kernels import entries
from robot_dynamics_ros.dynamics.kernels.entries import Call, Kernel
from robot_dynamics_ros.dynamics.kernels.friction import (
    LOAD_COEFFICIENT,
    LOAD_COEFFICIENT_BACKDRIVING,
)
from robot_dynamics_ros.dynamics.kernels.regressor import PARAMETERS
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model.arguments import evaluate, joint_vectors
from robot_dynamics_ros.dynamics.model.model_data import without_rotors
from robot_dynamics_ros.dynamics.model.properties import RobotProperties, Wrenches


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class RobotQueries(RobotProperties):
    """Base class of RobotModel: the functions of position, velocity, acceleration and torque.

    Arguments have the shapes and units of RobotModel, which also has their errors. Inverse and forward dynamics, bias
    and gravity torque and mass matrix of a state with a value that is not finite are NaN, with all kinds of kernels.
    """

    def inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        external_wrenches: Wrenches | None = None,
    ) -> Array:
        """Return the torque (..., n) for a motion, without friction: Craig (6.45)-(6.53), rotors Tsai (9.157).

        Parameters
        ----------
        q, qd, qdd
            Position, velocity and acceleration (..., n).
        external_wrenches
            Force (N) and moment (Nm), (..., 6), that act on a link, by link name, at the origin and in the axes of
            the link's frame. An unknown link raises RobotDynamicsError.
        """
        if external_wrenches is not None:
            bound = self._bound(entries.inverse_dynamics_batch)
            return self._run(bound, (self.n,), external_wrenches, q=q, qd=qd, qdd=qdd)
        tau: Array | None = self.kernels.inverse_dynamics(q, qd, qdd)
        if tau is None:
            tau = self._run(
                self.kernels.inverse_dynamics_batch, (self.n,), q=q, qd=qd, qdd=qdd
            )
        return tau

    def forward_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        external_wrenches: Wrenches | None = None,
    ) -> Array:
        """Return the acceleration (..., n) under joint torque, without friction: Craig (6.115).

        Parameters
        ----------
        q, qd
            Position and velocity (..., n).
        tau
            Joint torque (..., n).
        external_wrenches
            As for ``inverse_dynamics``.

        Raises
        ------
        RobotModelError
            If the mass matrix is not positive definite, because a joint moves no inertia. The message has the
            joint.
        RobotDynamicsError
            For arguments of a wrong shape, and for an unknown link.
        """
        if self._data.massless_joints:
            self.require_mass()
        if external_wrenches is not None:
            bound = self._bound(entries.forward_dynamics_batch)
            return self._run(bound, (self.n,), external_wrenches, q=q, qd=qd, tau=tau)
        qdd: Array | None = self.kernels.forward_dynamics(q, qd, tau)
        if qdd is None:
            qdd = self._run(
                self.kernels.forward_dynamics_batch, (self.n,), q=q, qd=qd, tau=tau
            )
        return qdd

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return the mass matrix M(q) (..., n, n) at ``q`` (..., n), including rotors: Craig (6.59).

        It is computed by the composite-rigid-body algorithm.
        """
        matrix: Array | None = self.kernels.mass_matrix(q)
        return (
            self._run(self._bound(entries.mass_matrix_batch), self._square, q=q)
            if matrix is None
            else matrix
        )

    def bias_torque(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return the torque (..., n) at zero acceleration, V(q, qd) + G(q) of Craig (6.59).

        ``q`` and ``qd`` have shape (..., n).
        """
        return self.inverse_dynamics(q, qd, self._zeros)

    def gravity_torque(self, q: ArrayLike) -> Array:
        """Return the gravity torque (..., n), G(q) of Craig (6.59), at ``q`` (..., n)."""
        tau: Array | None = self.kernels.gravity_torque(q)
        return (
            self.inverse_dynamics(q, self._zeros, self._zeros) if tau is None else tau
        )

    def friction_torque(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        smoothing_velocity: float = 0.0,
        *,
        qdd: ArrayLike | None = None,
        load: ArrayLike | None = None,
    ) -> Array:
        """Return the friction torque (..., n) of the joints, Craig (6.110)-(6.113).

        The motors supply it beside ``inverse_dynamics``. Dry friction of a joint at rest depends on the applied torque
        and is 0 here. ``qdd`` and ``load`` are used only where friction depends on the load.

        Parameters
        ----------
        q, qd
            Position and velocity (..., n).
        smoothing_velocity
            Speed (rad/s or m/s) below which the friction is proportional to velocity. Use it for compensation along
            a desired motion: without it, the torque changes by twice the Coulomb torque at a reversal.
        qdd
            Acceleration (..., n) of the motion, from which the load follows; None: 0.
        load
            Torque (..., n) that the gears transmit to the links. None: ``gear_load`` of the motion.

        Raises
        ------
        RobotDynamicsError
            For arguments of a wrong shape, and for a smoothing velocity that is negative or not finite.
        """
        given = (smoothing_velocity,)
        # Floats have a fast path.
        fade = (
            np.array(given)
            if type(smoothing_velocity) is float
            else real_numbers(given)
        )
        if fade is None or fade.shape != (1,) or not 0.0 <= fade.item() < np.inf:
            raise RobotDynamicsError(
                f"smoothing_velocity: {smoothing_velocity!r}. Cure: pass a finite number of at least 0"
            )
        if load is None:
            load = (
                self.gear_load(q, qd, self._zeros if qdd is None else qdd)
                if self._load_matters
                else self._zeros
            )
        tau: Array | None = self._friction(fade, q, qd, load)
        if tau is None:
            batch = self._bound(
                entries.friction_batch, self._data.friction.copy(), float(fade[0])
            )
            tau = self._run(batch, (self.n,), q=q, qd=qd, load=load)
        return tau

    def gear_load(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Return the torque (..., n) that the gears transmit to the links: ``inverse_dynamics`` without rotors.

        ``q``, ``qd`` and ``qdd`` have shape (..., n).
        """
        return self._without_rotors.inverse_dynamics(q, qd, qdd)

    @cached_property
    def _without_rotors(self) -> RobotQueries:
        return self._with(without_rotors(self._data)) if self.rotor_names else self

    @cached_property
    def _load_matters(self) -> bool:
        return bool(
            self._data.friction[
                :, [LOAD_COEFFICIENT, LOAD_COEFFICIENT_BACKDRIVING]
            ].any()
        )

    @cached_property
    def _friction(self) -> Call:
        """Function of (smoothing velocity (1,), q, qd, load), the others (n,), like those of GeneralKernels."""
        return self.kernels.friction(self._data.friction)

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike
    ) -> tuple[Array, Array]:
        """Return dtau/dq and dtau/dqd (..., n, n) of ``inverse_dynamics`` at ``q``, ``qd``, ``qdd`` (..., n).

        Element [i, j] is the derivative of torque i by coordinate j. The derivatives are analytical: Singh, Russo,
        Wensing 2022 (see kernels/derivatives.py). dtau/dqdd is the mass matrix.
        """
        both: Array | None = self.kernels.inverse_dynamics_derivatives(q, qd, qdd)
        if both is None:
            bound = self._bound(entries.inverse_dynamics_derivatives_batch)
            both = np.moveaxis(
                self._run(bound, (2, *self._square), q=q, qd=qd, qdd=qdd), -3, 0
            ).copy()
        return both[0], both[1]

    def coriolis_matrix(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return the Coriolis matrix C (..., n, n) of the Christoffel symbols, Spong (9.61)-(9.63).

        ``q`` and ``qd`` have shape (..., n). C qd is the velocity part of ``bias_torque``, and dM/dt - 2 C is
        skew-symmetric: Spong, Proposition 9.1. It is computed as dtau/dqd / 2, which is equal: Echeandia and Wensing
        2021.
        """
        return 0.5 * self.inverse_dynamics_derivatives(q, qd, self._zeros)[1]

    def joint_reactions(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        external_wrenches: Wrenches | None = None,
    ) -> Array:
        """Return the wrench (..., moving joints, 6) of parent on child at each moving joint: Craig (6.49)-(6.52).

        Force (N), then moment (Nm), at the origin and in the axes of the child link's frame, in the order of
        ``moving_joints``. The axial component is the joint's torque without the part of its rotor. For coupled joints
        it is the torque of an actuator at the joint. Arguments and errors as for ``inverse_dynamics``.
        """
        reactions = self._reactions(q, qd, qdd, external_wrenches)
        axes = self._data.link_rotations.reshape(-1, 3, 3)
        force, moment = (
            np.einsum("bji,...bj->...bi", axes, part)
            for part in (reactions[..., :3], reactions[..., 3:])
        )
        return np.concatenate([force, moment], axis=-1)

    def bearing_loads(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        external_wrenches: Wrenches | None = None,
    ) -> Array:
        """Return the load (..., moving joints, 3) on the bearing of each moving joint, from the joint reactions.

        Magnitudes of the force along the joint's axis (N), of the force normal to it (N), and of the moment normal to
        it (Nm), about the origin of the child link's frame: Tsai (9.63)-(9.68). Arguments and errors as for
        ``joint_reactions``.
        """
        fx, fy, fz, mx, my, _ = np.moveaxis(
            self._reactions(q, qd, qdd, external_wrenches), -1, 0
        )
        return np.stack([np.abs(fz), np.hypot(fx, fy), np.hypot(mx, my)], axis=-1)

    def _reactions(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        external_wrenches: Wrenches | None,
    ) -> Array:
        """Return ``joint_reactions`` in the axes of the bodies' frames, whose z axis is the joint's axis."""
        bound = self._bound(entries.joint_wrenches_batch)
        shape = (len(self.moving_joints), 6)
        wrenches = {} if external_wrenches is None else external_wrenches
        return self._run(bound, shape, wrenches, q=q, qd=qd, qdd=qdd)

    def regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Return the regressor Y (..., n, parameters) at ``q``, ``qd``, ``qdd`` (..., n): Spong (9.121).

        ``inverse_dynamics`` equals Y ``inertial_parameters``; ``parameter_names`` has the order of the columns.
        """
        count = PARAMETERS * len(self.moving_joints) + len(self._data.rotor_names)
        bound = self._bound(entries.regressor_batch, self._data.link_rotations.copy())
        columns = self._run(bound, (count, self.n), q=q, qd=qd, qdd=qdd)
        return np.swapaxes(columns, -1, -2).copy()

    def link_pose(self, q: ArrayLike, link: str) -> Array:
        """Return the pose (..., 4, 4), m, of a link's frame in the root frame at ``q`` (..., n).

        Raises RobotDynamicsError for an unknown link.
        """
        return self._run(
            self._bound(entries.link_pose_batch, *self._link(link)), (4, 4), q=q
        )

    def jacobian(self, q: ArrayLike, link: str, axes: str | None = None) -> Array:
        """Return the Jacobian (..., 6, n) of a link frame's origin, linear rows first: Craig chapter 5.

        Parameters
        ----------
        q
            Position (..., n).
        link
            The link. An unknown one raises RobotDynamicsError.
        axes
            Link in whose axes all rows are, (5.71): "link0" for frame 0 of a DH table, the same as ``link`` for those
            of the end effector. None: the root.
        """
        j = self._run(
            self._bound(entries.jacobian_batch, *self._link(link)), (6, self.n), q=q
        )
        if axes is None:
            return j
        turn = self.link_pose(q, axes)[..., :3, :3].swapaxes(-1, -2)
        return np.concatenate([turn @ j[..., :3, :], turn @ j[..., 3:, :]], axis=-2)

    def jacobian_dot_qd(self, q: ArrayLike, qd: ArrayLike, link: str) -> Array:
        """Return dJ/dt qd (..., 6): linear and angular acceleration of a link frame's origin at qdd = 0, root axes.

        ``q`` and ``qd`` have shape (..., n). Raises RobotDynamicsError for an unknown link.
        """
        return self._run(
            self._bound(entries.jacobian_dot_qd_batch, *self._link(link)),
            (6,),
            q=q,
            qd=qd,
        )

    def kinetic_energy(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return the kinetic energy (...) of bodies and rotors, J: 1/2 qd^T M qd, Craig (6.71).

        ``q`` and ``qd`` have shape (..., n).
        """
        return self._run(self._bound(entries.kinetic_energy_batch), (), q=q, qd=qd)[()]

    def potential_energy(self, q: ArrayLike) -> Array:
        """Return the potential energy (...) of the moving bodies, J, at ``q`` (..., n).

        It is -sum m g . c, with the centres of mass c from the origin of the root frame.
        """
        return self._run(self._bound(entries.potential_energy_batch), (), q=q)[()]

    @cached_property
    def _square(self) -> tuple[int, int]:
        return self.n, self.n

    @cached_property
    def _zeros(self) -> Array:
        return np.zeros(self.n)

    def _bound(self, function: Kernel, *extra: Any) -> Kernel:
        return self.kernels.bound(function, *extra)

    def _vectors(self, **vectors: ArrayLike) -> dict[str, Array]:
        return {
            name: joint_vectors(name, value, self.joint_names)
            for name, value in vectors.items()
        }

    def _run(
        self,
        function: Kernel,
        shape: tuple[int, ...],
        wrenches: Wrenches | None = None,
        **vectors: ArrayLike,
    ) -> Array:
        """Evaluate a batched kernel with one result of ``shape`` for each state, for one state or many."""
        arguments = self._vectors(**vectors)
        if wrenches is not None:
            arguments = {"external_wrenches": self.body_wrenches(wrenches), **arguments}
        result, singular = evaluate(function, shape, arguments)
        if singular is not None:
            joint, q = singular
            raise RobotModelError(
                f'robot "{self.name}": the mass matrix is not positive definite at joint '
                f'"{self.joint_names[joint]}", q = {q.tolist()}. Cure: add mass and inertia to the links beyond it'
            )
        return result
