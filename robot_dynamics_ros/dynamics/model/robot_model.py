"""Rigid-body dynamics model of a robot: creation, variants, properties, and functions of its state."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics_ros.base.errors import (
    IncompleteModelWarning,
    RobotDynamicsError,
    RobotModelError,
    RobotModelWarning,
    require_known,
    use_one_of,
)
from robot_dynamics_ros.base.files import read_bytes
from robot_dynamics_ros.base.resources import (
    dynamics_file,
    robot_names,
    robot_urdf,
    textbook_arm_names,
)
from robot_dynamics_ros.dynamics.description.couplings import resolve
from robot_dynamics_ros.dynamics.description.dh_table import (
    MassProperties,
    dh_urdf,
    textbook_arm,
)
from robot_dynamics_ros.dynamics.description.dynamics_file import (
    DynamicsFile,
    Loop,
    parse_dynamics_file,
    read_dynamics_file,
)
from robot_dynamics_ros.dynamics.description.inertia import (
    ELEMENTS,
    payload_inertial,
    real_numbers,
)
from robot_dynamics_ros.dynamics.description.urdf import parse_urdf
from robot_dynamics_ros.dynamics.kernels import entries
from robot_dynamics_ros.dynamics.kernels.entries import Call, GeneralKernels, Kernel
from robot_dynamics_ros.dynamics.kernels.friction import (
    LOAD_COEFFICIENT,
    LOAD_COEFFICIENT_BACKDRIVING,
)
from robot_dynamics_ros.dynamics.kernels.layout import AFTER, FIRST, KIND, PRISMATIC
from robot_dynamics_ros.dynamics.kernels.regressor import PARAMETERS
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model.arguments import (
    Wrenches,
    evaluate,
    joint_vectors,
    wrenches_on_bodies,
)
from robot_dynamics_ros.dynamics.model.assembly import assemble
from robot_dynamics_ros.dynamics.model.joint_limits import (
    LOWER,
    SOFT_LOWER,
    SOFT_UPPER,
    UPPER,
    VELOCITY,
    LimitRows,
)
from robot_dynamics_ros.dynamics.model.model_data import (
    LinkFrame,
    ModelData,
    differ_in_parameters_only,
    scaled,
    with_gravity,
    with_payload,
    without_rotors,
)

_BODY_PARAMETERS = ("mass", "mcx", "mcy", "mcz", *ELEMENTS)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class RobotModel:
    """Rigid-body dynamics model of a robot arm: bodies, rotors and joint friction. Create it with ``from_urdf``.

    A model is immutable. Vectors have shape (..., n) in the order of ``joint_names``: positions in rad or m, efforts in
    Nm or N. Leading axes are many states at once, evaluated on all cores; those of several arguments are broadcast.
    Lists, other number types and non-contiguous arrays are converted. Every method raises RobotDynamicsError for an
    argument of a wrong shape. Inverse and forward dynamics, bias and gravity torque and mass matrix of a state with a
    value that is not finite are NaN, with all kinds of kernels.

    Arrays are copies unless they are called read-only; (n,) is in the order of ``joint_names``. A body is a moving link
    with all links fixed to it.

    Attributes
    ----------
    name
        Name of the robot in its URDF.
    kernels
        Compiled kernels of this robot, without checks of arguments, for functions of this package.
    """

    name: str
    _data: ModelData
    kernels: GeneralKernels

    # Creation

    @classmethod
    def shipped(
        cls,
        name: str,
        *,
        dynamics: str | Path | None = None,
        gravity: Sequence[float] | None = None,
        joints: Sequence[str] | None = None,
        locked: Mapping[str, float] | None = None,
        **parameters: float,
    ) -> RobotModel:
        """Return the model of an installed robot: panda, planar_2r, puma560, scara, ur5e, or a textbook arm.

        Parameters
        ----------
        name
            Name of the robot; the message for an unknown one lists all.
        dynamics
            Name of an installed dynamics file such as "panda_coulomb", "none", or a path, in this order. None: the
            installed file with the robot's name, if there is one; of a textbook arm its own.
        gravity, joints, locked
            As for ``from_urdf``, also in errors. An unknown name raises RobotDynamicsError.
        parameters
            Of a textbook arm such as craig_rp, by name: lengths, masses and so on, docs/dh_tables.md. Unknown ones
            raise RobotModelError, as does an unknown ``dynamics``.
        """
        known = (*robot_names(), *textbook_arm_names())
        require_known(name, known, f"robot_dynamics_ros has no robot {name!r}")
        extra: str | DynamicsFile | None = dynamics_file(dynamics, name)
        with warnings.catch_warnings():
            # published values: see the headers
            warnings.simplefilter("ignore", RobotModelWarning)
            if name not in textbook_arm_names():
                if parameters:
                    raise RobotModelError(
                        f"{name}: it has no parameters {', '.join(parameters)}. Cure: leave them out"
                    )
                return cls.from_urdf_file(
                    robot_urdf(name),
                    dynamics=extra,
                    gravity=gravity,
                    joints=joints,
                    locked=locked,
                )
            urdf, own = textbook_arm(name, parameters)
            extra = parse_dynamics_file(own, name) if dynamics is None else extra
            return cls.from_urdf(
                urdf, dynamics=extra, gravity=gravity, joints=joints, locked=locked
            )

    @classmethod
    def from_dh(
        cls,
        rows: ArrayLike,
        convention: str = "standard",
        joints: str | None = None,
        links: Sequence[MassProperties | None] | None = None,
        gravity: Sequence[float] | None = None,
        *,
        parents: Sequence[int] | None = None,
        strict: bool = False,
    ) -> RobotModel:
        """Return the model of a table of Denavit-Hartenberg parameters; ``dh_urdf`` describes arguments and errors.

        ``gravity`` (3,), m/s^2, is in frame 0, which is the root frame; None: 0 0 -9.81. ``strict`` and its errors are
        those of ``from_urdf``.
        """
        with warnings.catch_warnings():
            # a table has no limits, and need not have masses
            warnings.simplefilter("ignore", IncompleteModelWarning)
            return cls.from_urdf(
                dh_urdf(rows, convention, joints, links, parents=parents),
                gravity=gravity,
                strict=strict,
            )

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
        """Return the model of the URDF file at ``path``; the other arguments are those of ``from_urdf``.

        Raises RobotModelError if the file cannot be read, and as ``from_urdf``.
        """
        if "<robot" in str(path):
            raise RobotModelError(
                "from_urdf_file: path is the text of a URDF. Cure: pass the text to from_urdf"
            )
        text = read_bytes(path, "URDF")
        return cls._load(
            text,
            str(path),
            dynamics,
            strict,
            gravity=gravity,
            joints=joints,
            locked=locked,
        )

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
        """Return the model of a robot, from the text of a URDF.

        Parameters
        ----------
        text
            The URDF document.
        dynamics
            Path of a dynamics file (YAML), or its checked content: friction, rotors, couplings, inertias and so on.
        gravity
            Acceleration of gravity (3,) in the root frame, m/s^2. None: that of the dynamics file, else 0 0 -9.81.
        joints
            The independent joints and coordinates, in the order of every vector; others are locked. None: all that
            are not in ``locked``, depth first, children in document order. Mimic and coupled joints are not
            independent.
        locked
            Positions (rad or m) of locked joints or coordinates by name; 0 for those that neither this nor ``joints``
            names.
        strict
            True to raise an error instead of a warning for inertias that no body can have and for joints that move
            no inertia.

        Returns
        -------
        RobotModel
            The model.

        Raises
        ------
        RobotModelError
            For an invalid URDF, dynamics file or argument. The message has file, element and cure.
        """
        if isinstance(text, str | Path) and "<" not in str(text):
            raise RobotModelError(
                f"URDF: {str(text)[:60]!r} is not XML. Cure: pass the document, or use from_urdf_file for a path"
            )
        return cls._load(
            text,
            "URDF",
            dynamics,
            strict,
            gravity=gravity,
            joints=joints,
            locked=locked,
        )

    def with_payload(
        self, link: str, mass: float, com: ArrayLike, inertia: ArrayLike
    ) -> RobotModel:
        """Return this model with a payload that replaces the present one; nothing is recompiled.

        Parameters
        ----------
        link
            Link that carries the payload.
        mass
            Mass, kg.
        com
            Centre of mass (3,) in the link's frame, m.
        inertia
            Inertia about the centre of mass in the link's axes, (3, 3) or ixx ixy ixz iyy iyz izz, kg m^2.

        Raises
        ------
        RobotModelError
            For an unknown link, for wrong shapes, and for mass properties that are not finite or that no body can have.
        """
        return self._with(
            with_payload(self._data, link, payload_inertial(mass, com, inertia))
        )

    def without_payload(self) -> RobotModel:
        """Return this model without its payload; see ``with_payload``."""
        if self.payload_link is None:
            return self
        return self.with_payload(self.payload_link, 0.0, np.zeros(3), np.zeros(6))

    def scaled(self, mass: float = 1.0, friction: ArrayLike = 1.0) -> RobotModel:
        """Return this model with scaled link masses and joint friction; nothing is recompiled.

        Use it for a simulated plant that differs from the model of its controller. Payload and rotor inertias are
        unchanged.

        Parameters
        ----------
        mass
            Positive factor for mass, first moment and inertia of every link.
        friction
            Factor of at least 0 for all joints, or (n,). It applies to the parameters to which friction is
            proportional. A joint that follows another one has the factor of that joint.

        Raises
        ------
        RobotModelError
            For a factor out of range, also if a load coefficient becomes 1 or more, and for different factors of
            joints that the same joint follows.
        """
        return self._with(scaled(self._data, mass, friction))

    def without_gravity(self) -> RobotModel:
        """Return this model with zero gravity, also for its payload; see ``with_gravity``."""
        return self.with_gravity(np.zeros(3))

    def with_gravity(self, vector: ArrayLike) -> RobotModel:
        """Return this model with another acceleration of gravity (3,) in the root frame, m/s^2.

        General kernels are not recompiled. Kernels of a ``customised`` model contain the gravity and are generated
        again. Raises RobotModelError if ``vector`` is not three finite numbers.
        """
        return self._with(with_gravity(self._data, vector))

    def customised(self) -> RobotModel:
        """Return this model with kernels that are generated and compiled for this robot: Craig 6.13.

        They make inverse and forward dynamics, gravity torque and mass matrix faster. Call it for batches of thousands
        of states and for long simulations; a controller does not need it. Each kernel is compiled at its first call,
        and single-state kernels also in ``warm_up``. This takes from seconds to a minute, is logged, and is cached for
        later processes. Results agree with the general kernels up to rounding.
        """
        # Imported here, since it delays the import of this module.
        from robot_dynamics_ros.dynamics.codegen.customised import CustomisedKernels

        return dataclasses.replace(
            self, kernels=CustomisedKernels(self._data.topology, self._data.parameters)
        )

    def export_c(
        self,
        directory: str | Path,
        links: Sequence[str] | None = None,
        *,
        name: str | None = None,
        overwrite: bool = False,
    ) -> str:
        """Write this robot's dynamics as C99 with a C++ header, a self-test and a CMake file: docs/export.md.

        The folder ``directory`` is created. ``links`` have functions for pose and Jacobian, None: ``end_links``. The
        payload argument of the C functions is on the link of the model's payload; without one, on the first of these.
        Return the prefix of all C names, ``name``; None: the robot's name, with "_" for other characters than ASCII
        letters, digits and "_". Raises RobotDynamicsError for an unknown link, a robot with closed loops, and a prefix
        that is no C identifier or too long, and OSError if a file cannot be written, or exists and ``overwrite`` is
        False.
        """
        for link in links or ():
            self._link(link)
        # Imported here, since it imports the code generator.
        from robot_dynamics_ros.dynamics.model.export import export_c

        return export_c(self, self._data, Path(directory), links, name, overwrite)

    def use(self, module: ModuleType) -> RobotModel:
        """Return this model with the kernels of the Python module that was compiled from its ``export_c``.

        Inverse and forward dynamics, and gravity torque and mass matrix of single states, are then those of the module,
        also with another gravity, and with payloads on the module's payload link. Other inertias, as of ``scaled``, use
        general kernels.

        Raises
        ------
        RobotDynamicsError
            If the module is none of ``export_c``, or of another URDF, dynamics file or order of joints. Also if the
            model's payload is on another link, or if a result at one of 100 random states differs by more than 1e-9 of
            its norm.
        """
        # Imported here, since it imports the code generator.
        from robot_dynamics_ros.dynamics.model.export import with_module

        return with_module(self, self._data, module)

    def warm_up(self) -> None:
        """Compile the kernels that a controller calls, or load them from the cache.

        Otherwise each is compiled or loaded at its first call.
        """
        rest = self._zeros
        self.inverse_dynamics(rest, rest, rest)
        self.gravity_torque(rest)
        self.mass_matrix(rest)
        self.coriolis_matrix(rest, rest)
        self.friction_torque(rest, rest)
        self.jacobian(rest, self.link_names[-1])
        if not self._data.massless_joints:
            # the mass matrix may be singular at zero
            self.forward_dynamics(rest + 0.5, rest, rest)

    # Properties

    @cached_property
    def n(self) -> int:
        """Number of independent joints."""
        return len(self._data.joint_names)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the independent joints, in the order of every vector."""
        return self._data.joint_names

    @property
    def moving_joints(self) -> tuple[str, ...]:
        """Names of all joints that move, including coupled ones; parents precede their children."""
        return self._data.moving_joints

    @property
    def prismatic_joints(self) -> frozenset[str]:
        """Names of the prismatic joints among ``moving_joints``, with units m and N instead of rad and Nm."""
        kinds = self._data.robot.tree[:, KIND].tolist()
        return frozenset(
            name
            for name, kind in zip(self.moving_joints, kinds, strict=False)
            if kind == PRISMATIC
        )

    @property
    def coupling_matrix(self) -> Array:
        """Coupling matrix G (moving joints + rotors, n), Spong (9.89).

        G qd are the rates of ``moving_joints``, followed by the spin rates of the rotors.
        """
        robot = self._data.robot
        matrix = np.zeros((len(robot.tree), self.n))
        for row, entry in zip(matrix, robot.tree, strict=True):
            own = slice(entry[FIRST], entry[AFTER])
            row[robot.coordinates[own]] = robot.factors[own]
        return matrix

    @property
    def moving_links(self) -> tuple[str, ...]:
        """Names of the child links of ``moving_joints``, in the same order."""
        return self._data.body_links

    @property
    def end_links(self) -> tuple[str, ...]:
        """Names of the links that move and are the parent of no joint, moving or fixed, such as a flange."""
        return self._data.end_links

    @property
    def rotor_names(self) -> tuple[str, ...]:
        """Names of the rotors."""
        return self._data.rotor_names

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names of all links; the root is the first."""
        return tuple(self._data.frames)

    @property
    def link_frames(self) -> Mapping[str, LinkFrame]:
        """Frame of each link on the moving body that carries it, by name. The order is that of ``link_names``."""
        return MappingProxyType(self._data.frames)

    @property
    def payload_link(self) -> str | None:
        """Name of the link with the payload, or None."""
        return None if self._data.payload is None else self._data.payload[0]

    @property
    def loops(self) -> tuple[Loop, ...]:
        """Closed loops of the dynamics file, each with a point of one link that coincides with a point of another.

        All methods of this class treat the open tree, in which every loop is cut.
        """
        return self._data.loops

    @property
    def gravity(self) -> Array:
        """Acceleration of gravity (3,) in the root frame, m/s^2."""
        return self._data.robot.gravity.copy()

    @property
    def locked(self) -> dict[str, float]:
        """Positions (rad or m) of locked joints and coordinates by name."""
        return dict(self._data.locked)

    @property
    def position_lower(self) -> Array:
        """Lower position limits (n,), rad or m; -inf if there is none. See ``limit_rows``."""
        return self._limits(LOWER)

    @property
    def position_upper(self) -> Array:
        """Upper position limits (n,), rad or m; inf if there is none. See ``limit_rows``."""
        return self._limits(UPPER)

    @property
    def soft_lower(self) -> Array:
        """Lower soft position limits (n,) of <safety_controller>, rad or m; ``position_lower`` if there is none."""
        return self._limits(SOFT_LOWER)

    @property
    def soft_upper(self) -> Array:
        """Upper soft position limits (n,) of <safety_controller>, rad or m; ``position_upper`` if there is none."""
        return self._limits(SOFT_UPPER)

    @property
    def velocity_limits(self) -> Array:
        """Velocity limits (n,), rad/s or m/s; inf if there is none. See ``limit_rows``."""
        return self._limits(VELOCITY)

    @property
    def limit_rows(self) -> LimitRows:
        """Position and velocity limits of all moving joints, as rows on the independent coordinates.

        The first n rows are ``position_lower`` and so on: the limits of an independent joint and of all joints that
        follow it alone. Further rows are joints that depend on several independent joints.
        """
        return self._data.limits.rows

    def _limits(self, which: int) -> Array:
        return self._data.limits.rows.limits[which, : self.n].copy()

    @property
    def effort_limits(self) -> Array:
        """Effort limits (n,), Nm or N; inf if there is none."""
        return self._data.limits.effort.copy()

    @property
    def acceleration_limits(self) -> Array:
        """Acceleration limits (n,) of URDF 1.2, rad/s^2 or m/s^2; inf if there is none.

        They are those of a joint and of the joints that follow it alone, as all limits of URDF 1.2 here.
        """
        return np.array(self._data.limits.rates[0])

    @property
    def deceleration_limits(self) -> Array:
        """Limits (n,) of URDF 1.2 for accelerations that slow a joint down, rad/s^2 or m/s^2; inf if there is none.

        Where there is none, ``acceleration_limits`` are meant, as in ros2_control.
        """
        return np.array(self._data.limits.rates[1])

    @property
    def jerk_limits(self) -> Array:
        """Limits (n,) of the rate of acceleration of URDF 1.2, rad/s^3 or m/s^3; inf if there is none."""
        return np.array(self._data.limits.rates[2])

    @property
    def moving_joint_limits(self) -> Array:
        """Lower and upper position limit and velocity limit of ``moving_joints`` (moving joints, 3).

        Read-only; infinite if there is none. Position limits of coupled joints are without the coupling's offset: they
        bound ``coupling_matrix`` times q.
        """
        return self._data.limits.joints

    @property
    def friction_parameters(self) -> Array:
        """Friction parameters (moving joints, 15) of ``moving_joints``, read-only, in SI units.

        FRICTION_PARAMETERS of ``dynamics.kernels.friction`` lists the columns, docs/dynamics_file.md has the formula.
        The position of coupled joints is without the coupling's offset.
        """
        return self._data.friction

    @property
    def continuous(self) -> NDArray[np.bool_]:
        """True (n,) for continuous joints that no other joint follows: q and q + 2 pi are the same configuration."""
        return self._data.limits.continuous.copy()

    @property
    def inertial_parameters(self) -> Array:
        """Inertial parameters (parameters,) that ``regressor`` multiplies, including the payload, kg, kg m, kg m^2.

        ``parameter_names`` has their order.
        """
        return self._data.inertial_parameters()

    @property
    def body_parameters(self) -> Array:
        """Part (bodies, 10) of ``inertial_parameters`` of the moving links, in their order."""
        count = PARAMETERS * len(self.moving_links)
        return self.inertial_parameters[:count].reshape(-1, PARAMETERS)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of ``inertial_parameters``: ten for each moving link, such as "link.mcx", then one for each rotor.

        The ten are mass, first moment (mcx, mcy, mcz), and inertia about the link's origin (ixx, ixy, ixz, iyy, iyz,
        izz), in the link's axes. They include all links that are fixed to the link.
        """
        bodies = (
            f"{link}.{parameter}"
            for link in self._data.body_links
            for parameter in _BODY_PARAMETERS
        )
        return (*bodies, *(f"{rotor}.inertia" for rotor in self._data.rotor_names))

    def require_mass(self) -> None:
        """Raise RobotModelError, with the names of the joints, if a joint moves no inertia."""
        if self._data.massless_joints:
            raise RobotModelError(
                f'robot "{self.name}": joints {list(self._data.massless_joints)} move no mass, or only mass on '
                "their axes without inertia, so that their acceleration is undefined. "
                "Cure: add mass and inertia to their links, or lock them"
            )

    def vector(self, name: str, value: ArrayLike) -> Array:
        """Return ``value`` as a float64 array (n,), without a copy if it is a C-contiguous one already.

        Infinite values and NaN are accepted. Raises RobotDynamicsError for any other value than n real numbers;
        ``name``, that of the argument, is the beginning of its message.
        """
        return joint_vectors(name, value, self.joint_names, single=True)

    def body_wrenches(self, wrenches: Wrenches | None) -> Array:
        """Convert wrenches that act on links to wrenches (..., bodies, 6) on the bodies of ``moving_links``.

        Parameters
        ----------
        wrenches
            Force (N) and moment (Nm), (..., 6), by link name, at the origin and in the axes of the link's frame. None
            gives (0, 6).

        Returns
        -------
        Array
            Force (N) and moment (Nm) at the origin and in the axes of each body's frame, whose z axis is that of the
            joint that moves it. ``link_frames`` places the links in it.

        Raises
        ------
        RobotDynamicsError
            For an unknown link, and for a value that is not six numbers.
        """
        return wrenches_on_bodies(wrenches, self._data.frames, len(self.moving_joints))

    def differs_in_parameters_only(self, other: RobotModel) -> bool:
        """Return True if another model differs from this one at most in inertias and friction.

        ``with_payload`` and ``scaled`` return such models.
        """
        return differ_in_parameters_only(self._data, other._data)

    # Functions of the state

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
            bound = self.kernels.bound(entries.inverse_dynamics_batch)
            return self._run(bound, (self.n,), external_wrenches, q=q, qd=qd, qdd=qdd)
        return self._inverse_dynamics(q, qd, qdd)

    @cached_property
    def _inverse_dynamics(self) -> Call:
        batch = partial(self.kernels.batch, entries.inverse_dynamics_batch)
        vectors = ("q", "qd", "qdd")
        return self._function(entries.inverse_dynamics, batch, vectors, (self.n,))

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
        if external_wrenches is not None:
            self.require_mass()
            bound = self.kernels.bound(entries.forward_dynamics_batch)
            return self._run(bound, (self.n,), external_wrenches, q=q, qd=qd, tau=tau)
        return self._forward_dynamics(q, qd, tau)

    @cached_property
    def _forward_dynamics(self) -> Call:
        self.require_mass()
        batch = partial(self.kernels.batch, entries.forward_dynamics_batch)
        vectors = ("q", "qd", "tau")
        return self._function(entries.forward_dynamics, batch, vectors, (self.n,))

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return the mass matrix M(q) (..., n, n) at ``q`` (..., n), including rotors: Craig (6.59).

        Its units are kg m^2, kg m or kg. It is computed by the composite-rigid-body algorithm.
        """
        return self._mass_matrix(q)

    @cached_property
    def _mass_matrix(self) -> Call:
        batch = partial(self.kernels.bound, entries.mass_matrix_batch)
        return self._function(entries.mass_matrix, batch, ("q",), (self.n, self.n))

    def bias_torque(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return the torque (..., n) at zero acceleration, V(q, qd) + G(q) of Craig (6.59).

        ``q`` and ``qd`` have shape (..., n).
        """
        return self.inverse_dynamics(q, qd, self._zeros)

    def gravity_torque(self, q: ArrayLike) -> Array:
        """Return the gravity torque (..., n), G(q) of Craig (6.59), at ``q`` (..., n)."""
        return self._gravity_torque(q)

    @cached_property
    def _gravity_torque(self) -> Call:
        def otherwise(q: ArrayLike) -> Array:
            return self.inverse_dynamics(q, self._zeros, self._zeros)

        return self.kernels.function(entries.gravity_torque, 1, (self.n,), otherwise)

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
        fade = smoothing_velocity
        if type(fade) is not float:
            number = real_numbers(fade)
            fade = float(number) if number is not None and number.ndim == 0 else np.nan
        if not 0.0 <= fade < np.inf:
            raise RobotDynamicsError(
                f"smoothing_velocity: {smoothing_velocity!r}. Cure: pass a finite number of at least 0"
            )
        if load is None:
            load = (
                self.gear_load(q, qd, self._zeros if qdd is None else qdd)
                if self._load_matters
                else self._zeros
            )
        return self._friction_torque(fade)(q, qd, load)

    @cached_property
    def _friction_torque(self) -> Callable[[float], Call]:
        """Function of a smoothing velocity that returns a function of (q, qd, load)."""
        table = self._data.friction.copy()

        @lru_cache(maxsize=8)
        def function(fade: float) -> Call:
            batch = partial(self.kernels.bound, entries.friction_batch, table, fade)
            bound = table.ravel(), np.array([fade])
            vectors = ("q", "qd", "load")
            return self._function(
                entries.friction_torque, batch, vectors, (self.n,), *bound
            )

        return function

    def gear_load(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Return the torque (..., n) that the gears transmit to the links: ``inverse_dynamics`` without rotors.

        ``q``, ``qd`` and ``qdd`` have shape (..., n).
        """
        return self._without_rotors.inverse_dynamics(q, qd, qdd)

    @cached_property
    def _without_rotors(self) -> RobotModel:
        return self._with(without_rotors(self._data)) if self.rotor_names else self

    @cached_property
    def _load_matters(self) -> bool:
        return bool(
            self._data.friction[
                :, [LOAD_COEFFICIENT, LOAD_COEFFICIENT_BACKDRIVING]
            ].any()
        )

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike
    ) -> tuple[Array, Array]:
        """Return dtau/dq and dtau/dqd (..., n, n) of ``inverse_dynamics`` at ``q``, ``qd``, ``qdd`` (..., n).

        Element [i, j] is the derivative of torque i (Nm or N) by position j (rad or m) or its rate. The derivatives are
        analytical: Singh, Russo, Wensing 2022 (see kernels/derivatives.py). dtau/dqdd is the mass matrix.
        """
        both = self._derivatives(q, qd, qdd)
        by_q = both[..., 0, :, :]
        by_qd = both[..., 1, :, :]
        return np.ascontiguousarray(by_q), np.ascontiguousarray(by_qd)

    @cached_property
    def _derivatives(self) -> Call:
        single = entries.inverse_dynamics_derivatives
        batch = partial(self.kernels.bound, entries.inverse_dynamics_derivatives_batch)
        return self._function(single, batch, ("q", "qd", "qdd"), (2, self.n, self.n))

    def coriolis_matrix(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return the Coriolis matrix C (..., n, n) of the Christoffel symbols, Spong (9.61)-(9.63).

        ``q`` and ``qd`` have shape (..., n). Units are Nm or N, per rad/s or m/s. C qd is the velocity part of
        ``bias_torque``, and dM/dt - 2 C is skew-symmetric: Spong, Proposition 9.1. It is computed as dtau/dqd / 2,
        which is equal: Echeandia and Wensing 2021.
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
        axes = self._data.link_rotations
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
        bound = self.kernels.bound(entries.joint_wrenches_batch)
        shape = (len(self.moving_joints), 6)
        wrenches = {} if external_wrenches is None else external_wrenches
        return self._run(bound, shape, wrenches, q=q, qd=qd, qdd=qdd)

    def regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Return the regressor Y (..., n, parameters) at ``q``, ``qd``, ``qdd`` (..., n): Spong (9.121).

        ``inverse_dynamics`` equals Y ``inertial_parameters``; ``parameter_names`` has the order of the columns.
        """
        count = PARAMETERS * len(self.moving_joints) + len(self._data.rotor_names)
        bound = self.kernels.bound(
            entries.regressor_batch, self._data.link_rotations.reshape(-1, 9)
        )
        columns = self._run(bound, (count, self.n), q=q, qd=qd, qdd=qdd)
        return np.swapaxes(columns, -1, -2).copy()

    def link_pose(self, q: ArrayLike, link: str) -> Array:
        """Return the pose (..., 4, 4), m, of a link's frame in the root frame at ``q`` (..., n).

        Raises RobotDynamicsError for an unknown link.
        """
        return self._run(
            self.kernels.bound(entries.link_pose_batch, *self._link(link)), (4, 4), q=q
        )

    def jacobian(self, q: ArrayLike, link: str, axes: str | None = None) -> Array:
        """Return the Jacobian (..., 6, n) of a link frame's origin, linear rows first: Craig chapter 5.

        Its product with qd is the linear velocity (m/s) and the angular velocity (rad/s).

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
            self.kernels.bound(entries.jacobian_batch, *self._link(link)),
            (6, self.n),
            q=q,
        )
        if axes is None:
            return j
        turn = self.link_pose(q, axes)[..., :3, :3].swapaxes(-1, -2)
        return np.concatenate([turn @ j[..., :3, :], turn @ j[..., 3:, :]], axis=-2)

    def jacobian_dot_qd(self, q: ArrayLike, qd: ArrayLike, link: str) -> Array:
        """Return dJ/dt qd (..., 6): linear and angular acceleration of a link frame's origin at qdd = 0, root axes.

        Units are m/s^2 and rad/s^2. ``q`` and ``qd`` have shape (..., n). Raises RobotDynamicsError for an unknown
        link.
        """
        return self._run(
            self.kernels.bound(entries.jacobian_dot_qd_batch, *self._link(link)),
            (6,),
            q=q,
            qd=qd,
        )

    def kinetic_energy(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return the kinetic energy (...) of bodies and rotors, J: 1/2 qd^T M qd, Craig (6.71).

        ``q`` and ``qd`` have shape (..., n).
        """
        return self._run(
            self.kernels.bound(entries.kinetic_energy_batch), (), q=q, qd=qd
        )[()]

    def potential_energy(self, q: ArrayLike) -> Array:
        """Return the potential energy (...) of the moving bodies, J, at ``q`` (..., n).

        It is -sum m g . c, with the centres of mass c from the origin of the root frame.
        """
        return self._run(self.kernels.bound(entries.potential_energy_batch), (), q=q)[
            ()
        ]

    # Parts

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
        description = parse_urdf(text, source)
        dynamics = DynamicsFile() if dynamics is None else dynamics
        extra = (
            dynamics
            if isinstance(dynamics, DynamicsFile)
            else read_dynamics_file(dynamics)
        )
        couplings = resolve(description, extra, joints, locked)
        data = assemble(description, extra, couplings, gravity, strict)
        return cls(
            description.name, data, GeneralKernels(data.topology, data.parameters)
        )

    def _with(self, data: ModelData) -> RobotModel:
        """Return this model with other inertias, friction or gravity."""
        return dataclasses.replace(
            self, _data=data, kernels=self.kernels.with_parameters(data.parameters)
        )

    def _link(self, link: str) -> tuple[int, Array]:
        frame = self._data.frames.get(link) if isinstance(link, str) else None
        if frame is None:
            raise RobotDynamicsError(
                f'no link "{link}". Cure: {use_one_of(link, self.link_names)}'
            )
        return frame.body, frame.placement

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.name, self._data, self.kernels)

    def __deepcopy__(self, memo: dict[int, Any]) -> RobotModel:
        return self  # immutable

    def __repr__(self) -> str:
        parts = [
            f"{type(self).__name__}({self.name!r}, {self.n} joints: {', '.join(self.joint_names)}"
        ]
        parts.append(f"gravity {self.gravity.tolist()}")
        if self._data.payload is not None:
            link, inertial = self._data.payload
            parts.append(f"payload {inertial.mass:g} kg on {link!r}")
        if self._data.locked:
            parts.append(
                "locked "
                + ", ".join(
                    f"{name} at {at:g}" for name, at in self._data.locked.items()
                )
            )
        if self.kernels.customised:
            parts.append("customised")
        return "; ".join(parts) + ")"

    @cached_property
    def _zeros(self) -> Array:
        return np.zeros(self.n)

    def _function(
        self,
        single: Kernel,
        batch: Callable[[], Kernel],
        vectors: Sequence[str],
        shape: tuple[int, ...],
        *bound: Array,
    ) -> Call:
        """Return the function of the ``vectors`` of one state or many whose result for a state has this ``shape``.

        ``single`` is the entry for a state, with the arguments ``bound`` before the vectors; ``batch`` returns the
        batched kernel, which is required only for other arguments than arrays of one state.
        """

        def otherwise(*values: ArrayLike) -> Array:
            arguments = dict(zip(vectors, values, strict=True))
            return self._run(batch(), shape, None, **arguments)

        return self.kernels.function(single, len(vectors), shape, otherwise, *bound)

    def _run(
        self,
        function: Kernel,
        shape: tuple[int, ...],
        wrenches: Wrenches | None = None,
        **vectors: ArrayLike,
    ) -> Array:
        """Evaluate a batched kernel with one result of ``shape`` for each state, for one state or many."""
        arguments = {
            name: joint_vectors(name, value, self.joint_names)
            for name, value in vectors.items()
        }
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


def _restored(name: str, data: ModelData, kernels: GeneralKernels) -> RobotModel:
    """Return a model from its pickled parts."""
    # Unpickled arrays are writeable; the constructors make them read-only.
    frames = {link: dataclasses.replace(frame) for link, frame in data.frames.items()}
    data = dataclasses.replace(data, frames=frames)
    return RobotModel(name, data, kernels)
