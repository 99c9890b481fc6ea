"""Rigid-body dynamics model of a robot: creation and variants; queries.py has the functions of its state."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.base.errors import (
    IncompleteModelWarning,
    RobotDynamicsError,
    RobotModelError,
    RobotModelWarning,
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
from robot_dynamics_ros.dynamics.description.dh_file import textbook_arm
from robot_dynamics_ros.dynamics.description.dh_table import Body, dh_urdf
from robot_dynamics_ros.dynamics.description.dynamics_file import (
    DynamicsFile,
    parse_dynamics_file,
    read_dynamics_file,
)
from robot_dynamics_ros.dynamics.description.inertia import payload_inertial
from robot_dynamics_ros.dynamics.description.urdf import parse_urdf
from robot_dynamics_ros.dynamics.kernels.entries import GeneralKernels
from robot_dynamics_ros.dynamics.model.assembly import assemble
from robot_dynamics_ros.dynamics.model.model_data import (
    scaled,
    with_gravity,
    with_payload,
)
from robot_dynamics_ros.dynamics.model.queries import RobotQueries


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class RobotModel(RobotQueries):
    """Rigid-body dynamics model of a robot arm: bodies, rotors and joint friction. Create it with ``from_urdf``.

    A model is immutable. Vectors have shape (..., n) in the order of ``joint_names``: positions in rad or m, efforts in
    Nm or N. Leading axes are many states at once, evaluated on all cores; those of several arguments are broadcast.
    Lists, other number types and non-contiguous arrays are converted. Every method raises RobotDynamicsError for an
    argument of a wrong shape.
    """

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
            Of a textbook arm such as craig_rp, by name: lengths, masses and so on, docs/dh_tables.md.
        """
        known = (*robot_names(), *textbook_arm_names())
        if name not in known:
            raise RobotDynamicsError(
                f"robot_dynamics_ros has no robot {name!r}. Cure: {use_one_of(name, known)}"
            )
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
        links: Sequence[Body | None] | None = None,
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
            For an unknown link, and for mass properties that no body can have.
        """
        return self._with(
            with_payload(self._data, link, payload_inertial(mass, com, inertia))
        )

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
            If the module is of another URDF, dynamics file or order of joints, if the model's payload is on another
            link, or if a result at one of 100 random states differs by more than 1e-9 of its norm.
        """
        # Imported here, since it imports the code generator.
        from robot_dynamics_ros.dynamics.model.export import exported_kernels

        return dataclasses.replace(
            self, kernels=exported_kernels(self, self._data, module)
        )

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
