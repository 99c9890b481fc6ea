"""What there is to know of a robot's model: the keys of `robot_dynamics inspect --json`, see docs/inspect.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Vector = tuple[float, ...]


@dataclass(frozen=True)
class Mass:
    """kg: of all links and the payload, and what of it moves."""

    total: float
    moving: float


@dataclass(frozen=True)
class Joint:
    """An independent joint, or a coordinate of the dynamics file, and its limits; None is no limit."""

    name: str
    kind: str
    lower: float | None
    upper: float | None
    velocity: float | None
    effort: float | None


@dataclass(frozen=True)
class Body:
    """A moving link with all that is fixed to it; com (3,) and inertia ixx ixy ixz iyy iyz izz about it, link axes."""

    link: str
    joint: str
    mass: float
    com: Vector
    inertia: Vector


@dataclass(frozen=True)
class Friction:
    """Friction of a joint of the tree; ripple and sigmoid are amplitudes."""

    joint: str
    viscous: float
    coulomb: float
    coulomb_negative: float
    static: float
    ripple: float
    sigmoid: float


@dataclass(frozen=True)
class Rotor:
    """A rotor on a link, None for the base or none; it spins at the sum of ratio times the joints' rates."""

    name: str
    carrier: str | None
    inertia: float
    reflected_inertia: float
    ratio: Mapping[str, float]


@dataclass(frozen=True)
class Coupling:
    """A joint that is not independent: it moves at the sum of factor times the joints' rates."""

    joint: str
    follows: Mapping[str, float]


@dataclass(frozen=True)
class Loop:
    """A closed chain."""

    link_a: str
    link_b: str


@dataclass(frozen=True)
class Parameters:
    """How many inertial parameters there are, how many any torque depends on, and by how many combinations."""

    inertial: int
    effective: int
    base: int


@dataclass(frozen=True)
class PoseFacts:
    """At positions (n,): gravity torque (n,), Nm or N, in percent of the effort limits; M (n, n); its condition number.

    None: no limit, or singular.
    """

    position: Vector
    gravity: Vector
    gravity_percent: tuple[float | None, ...]
    mass_matrix: tuple[Vector, ...]
    condition: float | None


@dataclass(frozen=True)
class WorstGravity:
    """The largest gravity torque found for a joint, in percent of its effort limit (None: it has none), and where."""

    joint: str
    torque: float
    percent: float | None
    position: Vector


@dataclass(frozen=True)
class Condition:
    """Condition number of M over the samples, None where M is singular; ``position`` is that of the largest."""

    minimum: float | None
    median: float | None
    maximum: float | None
    position: Vector


@dataclass(frozen=True)
class RangeFacts:
    """What was found between ``lower`` and ``upper`` by that many samples, uniform, of that seed."""

    samples: int
    seed: int
    lower: Vector
    upper: Vector
    gravity: tuple[WorstGravity, ...]
    condition: Condition


@dataclass(frozen=True)
class Note:
    """Something that is missing or odd, and what helps."""

    message: str
    cure: str | None


@dataclass(frozen=True)
class Equations:
    """M, V and G as formulas; ``symbols`` are the joints' positions."""

    symbols: Mapping[str, str]
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Facts:
    """All of it. SI units; vectors (n,) in the order of ``joints``."""

    robot: str
    source: str
    dynamics_file: str | None
    gravity: Vector
    mass: Mass
    joints: tuple[Joint, ...]
    locked: Mapping[str, float]
    bodies: tuple[Body, ...]
    friction: tuple[Friction, ...]
    joints_without_friction: tuple[str, ...]
    rotors: tuple[Rotor, ...]
    couplings: tuple[Coupling, ...]
    loops: tuple[Loop, ...]
    parameters: Parameters
    pose: PoseFacts
    range: RangeFacts
    notes: tuple[Note, ...]
    equations: Equations | None
