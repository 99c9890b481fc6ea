"""The robot's dynamics model: what everything else asks for torques, accelerations and matrices."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics_ros.errors import RobotDynamicsError, RobotModelError
from robot_dynamics_ros.kernels import entries
from robot_dynamics_ros.kernels.general import Call, GeneralKernels, Kernel
from robot_dynamics_ros.kernels.layout import AFTER, FIRST, KIND, PRISMATIC
from robot_dynamics_ros.kernels.regressor import PARAMETERS
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model.arguments import evaluate, numbers, wrenches_on_bodies
from robot_dynamics_ros.model.assembly import assemble
from robot_dynamics_ros.model.couplings import resolve
from robot_dynamics_ros.model.dynamics_file import DynamicsFile, Loop, read_bytes, read_dynamics_file
from robot_dynamics_ros.model.inertia import payload_inertial, real_numbers
from robot_dynamics_ros.model.packed import (
    LinkFrame,
    PackedModel,
    differ_in_numbers_only,
    scaled,
    with_gravity,
    with_payload,
)
from robot_dynamics_ros.model.urdf import parse_urdf

Wrenches = Mapping[str, ArrayLike]

_BODY_PARAMETERS = ("mass", "mcx", "mcy", "mcz", "ixx", "ixy", "ixz", "iyy", "iyz", "izz")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class RobotModel:
    """A robot arm as rigid bodies, rotors and joint friction. It never changes; make it with ``from_urdf``.

    Vectors have shape (..., n), in the order of ``joint_names``: radians or metres, and Nm or N. Leading
    axes are many states at once, spread over the cores; those of several arguments are broadcast. Numbers in
    lists, other float types and non-contiguous arrays are converted. A wrong shape raises RobotDynamicsError.

    Attributes
    ----------
    name
        The robot's name in its URDF.
    kernels
        The compiled code.
    """

    name: str
    _packed: PackedModel
    kernels: GeneralKernels

    @classmethod
    def from_urdf_file(
        cls,
        path: str | Path,
        *,
        dynamics: str | Path | DynamicsFile | None = None,
        gravity: Sequence[float] | None = None,
        joints: Sequence[str] | None = None,
        locked: Mapping[str, float] | None = None,
        strict: bool = False,
    ) -> RobotModel:
        """Load a URDF file; arguments and errors as ``from_urdf``, and RobotModelError if it cannot be read."""
        if "<robot" in str(path):
            raise RobotModelError("from_urdf_file: the text of a URDF is given, not a path. Cure: use from_urdf")
        text = read_bytes(path, "URDF")
        return cls._load(text, str(path), dynamics, strict, gravity=gravity, joints=joints, locked=locked)

    @classmethod
    def from_urdf(
        cls,
        text: str | bytes,
        *,
        dynamics: str | Path | DynamicsFile | None = None,
        gravity: Sequence[float] | None = None,
        joints: Sequence[str] | None = None,
        locked: Mapping[str, float] | None = None,
        strict: bool = False,
    ) -> RobotModel:
        """Make a model of a URDF's text.

        Parameters
        ----------
        text
            The URDF document.
        dynamics
            Dynamics file (YAML), its path or its checked content: friction, rotors, couplings, inertias, payload,
            gravity.
        gravity
            Acceleration of gravity in the root frame (m/s^2); None: the dynamics file's, else 0 0 -9.81.
        joints
            The independent joints and coordinates to control, in the order of every vector; None: every one
            that is not locked, depth first, children in document order. Mimic and coupled joints follow.
        locked
            Joints and coordinates that stand still, and where (rad or m).
        strict
            Refuse inertias that no body can have and joints that move no inertia, instead of warning.

        Raises
        ------
        RobotModelError
            For a URDF or dynamics file that cannot be used; the message names file, element and cure.
        """
        if isinstance(text, str | Path) and "<" not in str(text):
            raise RobotModelError(
                f"URDF: {str(text)!r} is no XML. Cure: give the document; from_urdf_file takes a path"
            )
        return cls._load(text, "URDF", dynamics, strict, gravity=gravity, joints=joints, locked=locked)

    @classmethod
    def _load(
        cls,
        text: str | bytes,
        source: str,
        dynamics: str | Path | DynamicsFile | None,
        strict: bool,
        gravity: Sequence[float] | None,
        joints: Sequence[str] | None,
        locked: Mapping[str, float] | None,
    ) -> RobotModel:
        description = parse_urdf(text, source, strict=strict)
        dynamics = DynamicsFile() if dynamics is None else dynamics
        extra = dynamics if isinstance(dynamics, DynamicsFile) else read_dynamics_file(dynamics)
        couplings = resolve(description, extra, joints, locked)
        packed = assemble(description, extra, couplings, gravity, strict)
        return cls(description.name, packed, GeneralKernels(packed.structure, packed.numbers))

    def _with(self, packed: PackedModel) -> RobotModel:
        """Return this model with other inertias or friction, not gravity; nothing is recompiled."""
        return dataclasses.replace(self, _packed=packed, kernels=self.kernels.with_numbers(packed.numbers))

    def with_payload(self, link: str, mass: float, com: ArrayLike, inertia: ArrayLike) -> RobotModel:
        """Return this model with a payload on ``link``, in place of the one it has; nothing is recompiled.

        Mass (kg), centre of mass (3,) (m) and inertia at it, (3, 3) or ixx ixy ixz iyy iyz izz (kg m^2), in
        the link's axes. Raises RobotModelError for an unknown link and for values that no body can have.
        """
        return self._with(with_payload(self._packed, link, payload_inertial(mass, com, inertia)))

    def scaled(self, mass: float = 1.0, friction: ArrayLike = 1.0) -> RobotModel:
        """Return this model with heavier or lighter links and more or less friction; nothing is recompiled.

        A plant that differs from what its controller believes. ``mass`` (above 0) is a factor on mass, first moment
        and inertia of every link. The payload stays, as ``with_payload`` says it, and so do the rotors' inertias.
        ``friction`` (at least 0), one for all or (n,), is a factor on every friction torque: viscous, Coulomb in both
        directions, static, and the amplitudes of ripple and sigmoid. Joints that follow others have their factor.

        Raises RobotModelError for factors out of range, and for different ones where a joint follows several others.
        """
        return self._with(scaled(self._packed, mass, friction))

    def without_gravity(self) -> RobotModel:
        """Return this model, its payload included, where nothing has weight: ``with_gravity`` of zero."""
        return self.with_gravity(np.zeros(3))

    def differs_in_numbers_only(self, other: RobotModel) -> bool:
        """Return whether another robot has other inertias and friction at most, as by ``with_payload``, ``scaled``."""
        return differ_in_numbers_only(self._packed, other._packed)

    def with_gravity(self, vector: ArrayLike) -> RobotModel:
        """Return this model under another acceleration of gravity (3,) in the root frame, m/s^2.

        Nothing is recompiled, but kernels made by ``customised`` have gravity built in: they are made anew.
        Raises RobotModelError for anything but three finite numbers.
        """
        packed = with_gravity(self._packed, vector)
        return dataclasses.replace(self, _packed=packed, kernels=type(self.kernels)(packed.structure, packed.numbers))

    def customised(self) -> RobotModel:
        """Return this model with kernels that are generated and compiled for this robot: Craig 6.13.

        Inverse and forward dynamics, gravity torque and mass matrix become faster, many states at once by far.
        Each is compiled at its first call, those for one state in ``warm_up`` too; that takes from seconds to a
        minute, is said on the log, and is kept for the next start. The numbers agree with the general kernels'
        to rounding.
        """
        # Here, so that a model that is not customised does not wait for it.
        from robot_dynamics_ros.codegen.customised import CustomisedKernels

        return dataclasses.replace(self, kernels=CustomisedKernels(self._packed.structure, self._packed.numbers))

    @property
    def packed(self) -> PackedModel:
        """Former name of private arrays, with a DeprecationWarning."""
        warnings.warn(
            "RobotModel.packed is private now: link_frames, moving_links, friction_parameters and others have what it "
            "held",
            DeprecationWarning,
            stacklevel=2,
        )
        return self._packed

    @cached_property
    def n(self) -> int:
        """Number of independent joints."""
        return len(self._packed.joint_names)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The independent joints, in the order of every vector."""
        return self._packed.joint_names

    @property
    def moving_joints(self) -> tuple[str, ...]:
        """The joints of the tree that move, coupled ones included, parents first."""
        return self._packed.moving_joints

    @property
    def prismatic_joints(self) -> frozenset[str]:
        """Those of ``moving_joints`` that slide: m and N in place of rad and Nm."""
        kinds = self._packed.robot.tree[:, KIND].tolist()
        return frozenset(name for name, kind in zip(self.moving_joints, kinds, strict=False) if kind == PRISMATIC)

    @property
    def coupling_matrix(self) -> Array:
        """G (moving joints + rotors, n): G qd are the rates of ``moving_joints``, then of the rotors; Spong (9.89)."""
        robot = self._packed.robot
        matrix = np.zeros((len(robot.tree), self.n))
        for row, entry in zip(matrix, robot.tree, strict=True):
            own = slice(entry[FIRST], entry[AFTER])
            row[robot.coordinates[own]] = robot.factors[own]
        return matrix

    @property
    def moving_links(self) -> tuple[str, ...]:
        """The link that each of ``moving_joints`` moves, its child."""
        return self._packed.body_links

    @property
    def end_links(self) -> tuple[str, ...]:
        """The links that move and carry no other."""
        return self._packed.tips

    @property
    def rotor_names(self) -> tuple[str, ...]:
        """The rotors."""
        return self._packed.rotor_names

    @property
    def link_names(self) -> tuple[str, ...]:
        """All links, the root first."""
        return tuple(self._packed.frames)

    @property
    def link_frames(self) -> Mapping[str, LinkFrame]:
        """Where the frame of each of ``link_names`` stands on the moving body that carries it."""
        return MappingProxyType(self._packed.frames)

    @property
    def payload_link(self) -> str | None:
        """The link that carries the payload; None without one."""
        return None if self._packed.payload is None else self._packed.payload[0]

    @property
    def loops(self) -> tuple[Loop, ...]:
        """Closed chains that the dynamics file names; see formulations/constraints.py.

        Every method here is about the open tree, as if each loop were cut.
        """
        return self._packed.loops

    @property
    def gravity(self) -> Array:
        """Acceleration of gravity (3,) in the root frame, m/s^2."""
        return self._packed.robot.gravity.copy()

    @property
    def position_lower(self) -> Array:
        """Lower position limits (n,), -inf where there is none."""
        return self._packed.position_lower.copy()

    @property
    def position_upper(self) -> Array:
        """Upper position limits (n,), inf where there is none."""
        return self._packed.position_upper.copy()

    @property
    def soft_lower(self) -> Array:
        """Lower soft limits (n,) of position by <safety_controller>; ``position_lower`` where there is none."""
        return self._packed.soft_lower.copy()

    @property
    def soft_upper(self) -> Array:
        """Upper soft limits (n,) of position by <safety_controller>; ``position_upper`` where there is none."""
        return self._packed.soft_upper.copy()

    @property
    def velocity_limits(self) -> Array:
        """Velocity limits (n,), inf where there is none."""
        return self._packed.velocity_limits.copy()

    @property
    def effort_limits(self) -> Array:
        """Limits of the joint torque or force (n,), inf where there is none."""
        return self._packed.effort_limits.copy()

    @property
    def moving_joint_limits(self) -> Array:
        """Lower and upper position limit and velocity limit (moving joints, 3) of ``moving_joints``; inf for none.

        Read-only. Those of coupled joints are less their offset: limits of ``coupling_matrix`` times q.
        """
        return self._packed.joint_ranges

    @property
    def friction_parameters(self) -> Array:
        """Friction of ``moving_joints`` (moving joints, 11), read-only, in the columns of kernels/layout.py."""
        return self._packed.friction

    @property
    def continuous(self) -> NDArray[np.bool_]:
        """True (n,) where a turn leads to the same configuration: joints of type continuous that no other follows."""
        return self._packed.continuous.copy()

    @property
    def inertial_parameters(self) -> Array:
        """What ``regressor`` multiplies, as ``parameter_names`` says: payload included, SI units."""
        return self._packed.inertial_parameters()

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """For the link of each moving body ten names, as "link.mcx"; then one for each rotor.

        Mass, mass times centre of mass, inertia at the link's origin, all in the link's axes; links that are
        fixed to the link count with it.
        """
        bodies = (f"{link}.{parameter}" for link in self._packed.body_links for parameter in _BODY_PARAMETERS)
        return (*bodies, *(f"{rotor}.inertia" for rotor in self._packed.rotor_names))

    def inverse_dynamics(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, external_wrenches: Wrenches | None = None
    ) -> Array:
        """Torque (..., n) of rigid bodies and rotors for a motion, without friction: recursive Newton-Euler.

        ``external_wrenches`` maps a link to the force and moment (..., 6) that act on it, at its frame's
        origin, in its axes. Craig (6.45)-(6.53); rotors Tsai (9.157).
        """
        if external_wrenches is not None:
            tied = self._tied(entries.inverse_dynamics_batch)
            return self._run(tied, (self.n,), external_wrenches, q=q, qd=qd, qdd=qdd)
        tau = np.empty(self.n)
        if self.kernels.inverse_dynamics(q, qd, qdd, tau) is tau:
            return tau
        return self._run(self.kernels.inverse_dynamics_batch, (self.n,), q=q, qd=qd, qdd=qdd)

    def forward_dynamics(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, external_wrenches: Wrenches | None = None
    ) -> Array:
        """Acceleration (..., n) under joint torque ``tau`` (..., n), without friction, Craig (6.115).

        Wrenches as in ``inverse_dynamics``. Raises RobotModelError, naming the joint, where the mass
        matrix is not positive definite: something moves without mass. For a single state the position must be
        finite; of many states, one whose position is not has NaN.
        """
        if self._packed.massless_ends:
            self.require_mass()
        if external_wrenches is not None:
            tied = self._tied(entries.forward_dynamics_batch)
            return self._run(tied, (self.n,), external_wrenches, q=q, qd=qd, tau=tau)
        qdd = np.empty(self.n)
        if self.kernels.forward_dynamics(q, qd, tau, qdd) is qdd:
            return qdd
        return self._run(self.kernels.forward_dynamics_batch, (self.n,), q=q, qd=qd, tau=tau)

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Mass matrix M(q) (..., n, n) with rotors, Craig (6.59), by composite bodies."""
        matrix = np.empty(self._square)
        if self.kernels.mass_matrix(q, matrix) is matrix:
            return matrix
        return self._run(self._tied(entries.mass_matrix_batch), self._square, q=q)

    def bias_torque(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Torque (..., n) without acceleration: V(q, qd) + G(q) of Craig (6.59)."""
        return self.inverse_dynamics(q, qd, self._zeros)

    def gravity_torque(self, q: ArrayLike) -> Array:
        """Torque (..., n) that holds the robot still against gravity: G(q) of Craig (6.59)."""
        tau = np.empty(self.n)
        if self.kernels.gravity_torque(q, tau) is tau:
            return tau
        return self.inverse_dynamics(q, self._zeros, self._zeros)

    def inverse_dynamics_derivatives(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> tuple[Array, Array]:
        """dtau/dq and dtau/dqd (..., n, n) of ``inverse_dynamics``; dtau/dqdd is the mass matrix.

        Analytically: Singh, Russo, Wensing 2022 (see kernels/derivatives.py).
        """
        dq, dqd = np.empty(self._square), np.empty(self._square)
        if self.kernels.inverse_dynamics_derivatives(q, qd, qdd, dq, dqd) is dqd:
            return dq, dqd
        tied = self._tied(entries.inverse_dynamics_derivatives_batch)
        (dq, dqd), _ = evaluate(tied, [self._square, self._square], self._numbers(q=q, qd=qd, qdd=qdd))
        return dq, dqd

    def coriolis_matrix(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Coriolis matrix C (..., n, n): by Christoffel symbols, Spong (9.61)-(9.63), computed as dtau/dqd / 2.

        That they are equal: Echeandia and Wensing 2021. dM/dt - 2 C is skew: Spong, Proposition 9.1.
        C qd is the velocity part of ``bias_torque``.
        """
        return 0.5 * self.inverse_dynamics_derivatives(q, qd, self._zeros)[1]

    def friction_torque(self, q: ArrayLike, qd: ArrayLike, smoothing_velocity: float = 0.0) -> Array:
        """Torque (..., n) that friction takes; the motor gives inverse_dynamics + friction_torque.

        At rest Coulomb friction is whatever holds the joint: 0 here. Joints slower than ``smoothing_velocity``
        (rad/s or m/s) have that speed's friction in proportion to their own: what is to be added along a desired
        motion, since a reversal would else be a step of twice the Coulomb torque. Craig (6.110)-(6.113).

        Raises RobotDynamicsError for a smoothing velocity that is negative or not finite.
        """
        given = (smoothing_velocity,)
        fade = np.array(given) if type(smoothing_velocity) is float else real_numbers(given)  # the first is faster
        if fade is None or fade.shape != (1,) or not 0.0 <= fade[0] < np.inf:
            raise RobotDynamicsError(
                f"smoothing_velocity: {smoothing_velocity!r}. Cure: give a finite number of at least 0"
            )
        tau = np.empty(self.n)
        if self._friction(fade, q, qd, tau) is tau:
            return tau
        batch = self._tied(entries.friction_batch, self._packed.friction.copy(), float(fade[0]))
        return self._run(batch, (self.n,), q=q, qd=qd)

    @cached_property
    def _friction(self) -> Call:
        """(smoothing velocity (1,), q, qd, tau (n,)), as those of GeneralKernels."""
        return self.kernels.call(entries.friction_torque, (1, 1, 1, 1), self._packed.friction.flatten())

    def joint_reactions(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, external_wrenches: Wrenches | None = None
    ) -> Array:
        """Force and moment (..., moving joints, 6) that the parent exerts on the child of each moving joint.

        At and in the child link's frame, in the order of ``moving_joints``; Craig (6.49)-(6.52). The axial
        part is the joint's torque less its rotor's; coupled joints as if each were driven at the joint.
        """
        tied, shape = self._tied(entries.joint_loads_batch), (len(self.moving_joints), 6)
        wrenches = {} if external_wrenches is None else external_wrenches
        loads = self._run(tied, shape, wrenches, q=q, qd=qd, qdd=qdd)
        axes = self._packed.link_rotations.reshape(-1, 3, 3)
        force, moment = (np.einsum("bji,...bj->...bi", axes, part) for part in (loads[..., :3], loads[..., 3:]))
        return np.concatenate([force, moment], axis=-1)

    def regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Y (..., n, parameters) with inverse_dynamics = Y inertial_parameters, Spong (9.121)."""
        count = PARAMETERS * len(self.moving_joints) + len(self._packed.rotor_names)
        tied = self._tied(entries.regressor_batch, self._packed.link_rotations.copy())
        columns = self._run(tied, (count, self.n), q=q, qd=qd, qdd=qdd)
        return np.swapaxes(columns, -1, -2).copy()

    def link_pose(self, q: ArrayLike, link: str) -> Array:
        """Pose (..., 4, 4) of a link's frame in the root frame. RobotDynamicsError for an unknown link."""
        return self._run(self._tied(entries.link_pose_batch, *self._link(link)), (4, 4), q=q)

    def jacobian(self, q: ArrayLike, link: str) -> Array:
        """Jacobian (..., 6, n) of a link: velocity of its frame's origin, then angular velocity, in root axes.

        Craig chapter 5. RobotDynamicsError for an unknown link.
        """
        return self._run(self._tied(entries.jacobian_batch, *self._link(link)), (6, self.n), q=q)

    def jacobian_dot_qd(self, q: ArrayLike, qd: ArrayLike, link: str) -> Array:
        """dJ/dt qd (..., 6): the acceleration of the link's origin, then angular, while qdd = 0, in root axes."""
        return self._run(self._tied(entries.jacobian_dot_qd_batch, *self._link(link)), (6,), q=q, qd=qd)

    def kinetic_energy(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Kinetic energy (...) (J) of bodies and rotors: 1/2 qd^T M qd, Craig (6.71)."""
        return self._run(self._tied(entries.kinetic_energy_batch), (), q=q, qd=qd)[()]

    def potential_energy(self, q: ArrayLike) -> Array:
        """Potential energy (...) (J) of the moving bodies: -sum m g . c, with c from the root frame's origin."""
        return self._run(self._tied(entries.potential_energy_batch), (), q=q)[()]

    def warm_up(self) -> None:
        """Compile, or load from the cache, what a controller calls; without it the first calls do."""
        rest = self._zeros
        self.inverse_dynamics(rest, rest, rest)
        self.gravity_torque(rest)
        self.mass_matrix(rest)
        self.coriolis_matrix(rest, rest)
        self.friction_torque(rest, rest)
        self.jacobian(rest, self.link_names[-1])
        if not self._packed.massless_ends:
            self.forward_dynamics(rest + 0.5, rest, rest)  # the zero configuration may be singular

    def require_mass(self) -> None:
        """Raise RobotModelError, naming the joints, if some joint moves no inertia at all."""
        if self._packed.massless_ends:
            raise RobotModelError(
                f'robot "{self.name}": joints {list(self._packed.massless_ends)} move no mass, or only mass on '
                "their axes without inertia, so that their acceleration is undefined. "
                "Cure: give their links mass and inertia, or lock them"
            )

    def vector(self, name: str, value: ArrayLike) -> Array:
        """Return ``value`` as n numbers (n,) in the kernels' form, the same array where it has that already.

        Raises RobotDynamicsError, calling it ``name``, for anything but n real numbers; they may be infinite.
        """
        return numbers(name, value, self.joint_names, single=True)

    def body_wrenches(self, wrenches: Wrenches | None) -> Array:
        """Wrenches (..., 6) on links as wrenches (..., bodies, 6) on the kernels' bodies; (0, 6) for None.

        Force, then moment, at and in the link's or the body's frame. Raises RobotDynamicsError for an
        unknown link and for values that are not six numbers.
        """
        return wrenches_on_bodies(wrenches, self._packed.frames, len(self.moving_joints))

    @cached_property
    def _square(self) -> tuple[int, int]:
        return self.n, self.n

    @cached_property
    def _zeros(self) -> Array:
        return np.zeros(self.n)

    def _tied(self, function: Kernel, *extra: Any) -> Kernel:
        return self.kernels.bound(function, *extra)

    def _link(self, link: str) -> tuple[int, Array]:
        frame = self._packed.frames.get(link) if isinstance(link, str) else None
        if frame is None:
            raise RobotDynamicsError(f'no link "{link}". Cure: use one of {", ".join(self.link_names)}')
        return frame.body, np.concatenate([frame.rotation.ravel(), frame.position])

    def _numbers(self, **vectors: ArrayLike) -> dict[str, Array]:
        return {name: numbers(name, value, self.joint_names) for name, value in vectors.items()}

    def _run(
        self, function: Kernel, shape: tuple[int, ...], wrenches: Wrenches | None = None, **vectors: ArrayLike
    ) -> Array:
        """Evaluate a batch kernel with one result of ``shape`` a state, one state or many."""
        arguments = self._numbers(**vectors)
        if wrenches is not None:
            arguments = {"external_wrenches": self.body_wrenches(wrenches), **arguments}
        (result,), singular = evaluate(function, [shape], arguments)
        if singular is not None:
            joint, q = singular
            cure = "give the links beyond it mass and inertia" if np.isfinite(q).all() else "give finite positions"
            raise RobotModelError(
                f'robot "{self.name}": the mass matrix is not positive definite at joint '
                f'"{self.joint_names[joint]}", q = {q.tolist()}. Cure: {cure}'
            )
        return result

    def __reduce__(self) -> tuple[Any, ...]:
        # Compiled code stays in its process; the other one makes its own, or loads it from the disk.
        return _restored, (self.name, self._packed, type(self.kernels))

    def __deepcopy__(self, memo: dict[int, Any]) -> RobotModel:
        return self  # it never changes

    def __repr__(self) -> str:
        parts = [f"RobotModel({self.name!r}, {self.n} joints: {', '.join(self.joint_names)}"]
        parts.append(f"gravity {self.gravity.tolist()}")
        if self._packed.payload is not None:
            link, inertial = self._packed.payload
            parts.append(f"payload {inertial.mass:g} kg on {link!r}")
        if self._packed.locked:
            parts.append("locked " + ", ".join(f"{name} at {at:g}" for name, at in self._packed.locked.items()))
        if self.kernels.customised:
            parts.append("customised")
        return "; ".join(parts) + ")"


def _restored(name: str, packed: PackedModel, kernels: type[GeneralKernels]) -> RobotModel:
    """Return a model that was pickled."""
    # Unpickled arrays can be written to; new objects make them read-only.
    frames = {link: dataclasses.replace(frame) for link, frame in packed.frames.items()}
    packed = dataclasses.replace(packed, frames=frames)
    return RobotModel(name, packed, kernels(packed.structure, packed.numbers))
