"""Names, limits and parameters of a robot."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics_ros.base.errors import (
    RobotDynamicsError,
    RobotModelError,
    use_one_of,
)
from robot_dynamics_ros.dynamics.description.dynamics_file import Loop
from robot_dynamics_ros.dynamics.kernels.entries import GeneralKernels
from robot_dynamics_ros.dynamics.kernels.layout import AFTER, FIRST, KIND, PRISMATIC
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model.arguments import (
    joint_vectors,
    wrenches_on_bodies,
)
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
)

T = TypeVar("T", bound="RobotProperties")
Wrenches = Mapping[str, ArrayLike]

_BODY_PARAMETERS = (
    "mass",
    "mcx",
    "mcy",
    "mcz",
    "ixx",
    "ixy",
    "ixz",
    "iyy",
    "iyz",
    "izz",
)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class RobotProperties:
    """Base class of RobotModel: its properties, and checks of arguments against them.

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
        return self._data.limit_rows

    def _limits(self, which: int) -> Array:
        return self._data.limit_rows.limits[which, : self.n].copy()

    @property
    def effort_limits(self) -> Array:
        """Effort limits (n,), Nm or N; inf if there is none."""
        return self._data.effort_limits.copy()

    @property
    def acceleration_limits(self) -> Array:
        """Acceleration limits (n,) of URDF 1.2, rad/s^2 or m/s^2; inf if there is none.

        They are those of a joint and of the joints that follow it alone, as all limits of URDF 1.2 here.
        """
        return np.array(self._data.rate_limits[0])

    @property
    def deceleration_limits(self) -> Array:
        """Limits (n,) of URDF 1.2 for accelerations that slow a joint down, rad/s^2 or m/s^2; inf if there is none.

        Where there is none, ``acceleration_limits`` are meant, as in ros2_control.
        """
        return np.array(self._data.rate_limits[1])

    @property
    def jerk_limits(self) -> Array:
        """Limits (n,) of the rate of acceleration of URDF 1.2, rad/s^3 or m/s^3; inf if there is none."""
        return np.array(self._data.rate_limits[2])

    @property
    def moving_joint_limits(self) -> Array:
        """Lower and upper position limit and velocity limit of ``moving_joints`` (moving joints, 3).

        Read-only; infinite if there is none. Position limits of coupled joints are without the coupling's offset: they
        bound ``coupling_matrix`` times q.
        """
        return self._data.joint_ranges

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
        return self._data.continuous.copy()

    @property
    def inertial_parameters(self) -> Array:
        """Inertial parameters (parameters,) that ``regressor`` multiplies, including the payload, kg, kg m, kg m^2.

        ``parameter_names`` has their order.
        """
        return self._data.inertial_parameters()

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

    def differs_in_parameters_only(self, other: RobotProperties) -> bool:
        """Return True if another model differs from this one at most in inertias and friction.

        ``with_payload`` and ``scaled`` return such models.
        """
        return differ_in_parameters_only(self._data, other._data)

    def _with(self: T, data: ModelData) -> T:
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
        return _restored, (type(self), self.name, self._data, self.kernels)

    def __deepcopy__(self: T, memo: dict[int, Any]) -> T:
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


def _restored(model: type[T], name: str, data: ModelData, kernels: GeneralKernels) -> T:
    """Return a model from its pickled parts."""
    # Unpickled arrays are writeable; the constructors make them read-only.
    frames = {link: dataclasses.replace(frame) for link, frame in data.frames.items()}
    data = dataclasses.replace(data, frames=frames)
    return model(name, data, kernels)
