"""Robots for hypothesis: trees with couplings, rotors, friction, payload and gravity of any direction.

The same robot as URDF and dynamics file of a model, and as a plain tree for Pinocchio in which each rotor is a body:
q_tree = G q + c, tau = G^T tau_tree, M = G^T M_tree G.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import yaml
from hypothesis import strategies as st

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.base.errors import RobotModelWarning
from robot_dynamics_ros.dynamics.description.dynamics_file import parse_dynamics_file
from robot_dynamics_ros.dynamics.kernels.compilation import COMPILED
from support import arms
from support.arms import Array
from support.pinocchio_peer import Peer

LARGEST = 40 if COMPILED else 12  # joints; plain Python is some hundred times slower


@dataclass(frozen=True)
class Rotor:
    """Body that is symmetric about its axis and rotates on its carrier with a sum of ratios times velocities.

    The inertia of the carrier in the URDF includes it at rest. `joint`: the joint in the short form of the dynamics
    file.
    """

    carrier: str
    axis: Array
    centre: Array
    mass: float
    axial: float
    across: float
    ratio: dict[str, float]
    joint: str | None = None

    @property
    def inertia(self) -> Array:
        """Return the central inertia (3, 3)."""
        along = np.outer(self.axis, self.axis)
        return self.axial * along + self.across * (np.eye(3) - along)


@dataclass(frozen=True, repr=False)
class Robot:
    """Robot with a plain tree.

    `bare` is the tree without rotors and payload, `rows` are couplings of the dynamics file. The rows of joints in
    `mimics` are in the URDF. `payload` is on the link `holder`.
    """

    bare: arms.Arm
    rows: dict[str, dict[str, float]]
    mimics: frozenset[str]
    coordinates: tuple[str, ...]
    rotors: tuple[Rotor, ...]
    friction: dict[str, dict[str, Any]]
    payload: arms.Link | None
    holder: str
    gravity: list[float]

    def __repr__(self) -> str:
        return f"Robot with seed {self.seed}\n{self.arm.urdf}\n{yaml.safe_dump(self.dynamics)}"

    @property
    def seed(self) -> int:
        """Return the seed of states."""
        return self.bare.seed

    @property
    def arm(self) -> arms.Arm:
        """Return the arm of the URDF: rotors at rest are parts of their carriers, single followers are mimic joints."""
        arm = self.bare
        for rotor in self.rotors:
            if rotor.carrier != "none":
                arm = with_part(
                    arm, rotor.carrier, rotor.mass, rotor.centre, rotor.inertia
                )
        for name in self.mimics:
            row = dict(self.rows[name])
            offset = row.pop("offset", 0.0)
            ((source, factor),) = row.items()
            arm = arm.with_joint(
                name,
                extra=f'<mimic joint="{source}" multiplier="{factor!r}" offset="{offset!r}"/>',
            )
        return arm

    @property
    def dynamics(self) -> dict[str, Any]:
        """Return the content of the dynamics file."""
        joints = {name: dict(friction) for name, friction in self.friction.items()}
        rotors = []
        for rotor in self.rotors:
            if rotor.joint is not None:
                joints.setdefault(rotor.joint, {}).update(
                    rotor_inertia=rotor.axial,
                    gear_ratio=rotor.ratio[rotor.joint],
                    rotor_carrier="none" if rotor.carrier == "none" else "parent",
                )
            else:
                rotors.append(
                    {
                        "carrier": rotor.carrier,
                        "axis": (3.0 * rotor.axis).tolist(),
                        "inertia": rotor.axial,
                        "ratio": rotor.ratio,
                    }
                )
        content: dict[str, Any] = {
            "joints": joints,
            "rotors": rotors,
            "coordinates": list(self.coordinates),
        }
        content["couplings"] = {
            name: row for name, row in self.rows.items() if name not in self.mimics
        }
        content["gravity"] = self.gravity
        if self.payload is not None:
            content["payload"] = {
                "link": self.holder,
                "mass": self.payload.mass,
                "com": np.asarray(self.payload.com).tolist(),
                "inertia": np.asarray(self.payload.inertia)[
                    np.triu_indices(3)
                ].tolist(),
            }
        return content

    def model(self, **keywords: Any) -> RobotModel:
        """Return the model; keywords are those of RobotModel.from_urdf."""
        return load(self.arm, self.dynamics, **keywords)

    @property
    def tree(self) -> arms.Arm:
        """Return the plain tree: rotors on continuous joints, the payload on a fixed one, no couplings."""
        arm = self.bare
        root = arm.links[0].name
        links = list(arm.links)
        joints = list(arm.joints)
        for k, rotor in enumerate(self.rotors):
            carrier = root if rotor.carrier == "none" else rotor.carrier
            links.append(arms.Link(f"rotor_{k}", rotor.mass, (0, 0, 0), rotor.inertia))
            joints.append(
                arms.Joint(
                    f"spin_{k}",
                    "continuous",
                    carrier,
                    f"rotor_{k}",
                    rotor.centre,
                    axis=rotor.axis.tolist(),
                )
            )
        if self.payload is not None:
            links.append(self.payload)
            joints.append(arms.Joint("grip", "fixed", self.holder, self.payload.name))
        return replace(arm, links=tuple(links), joints=tuple(joints))

    def row(
        self, name: str, still: Mapping[str, float] | None = None
    ) -> tuple[dict[str, float], float]:
        """Return factors and offset of a joint in terms of the independent joints that are not in `still`."""
        still = still or {}
        if name in still:
            return {}, still[name]
        if name not in self.rows:
            return {name: 1.0}, 0.0
        return self._sum(self.rows[name], still)

    def _sum(
        self, row: Mapping[str, float], still: Mapping[str, float]
    ) -> tuple[dict[str, float], float]:
        factors: dict[str, float] = {}
        offset = row.get("offset", 0.0)
        for source, factor in row.items():
            if source != "offset":
                inner, constant = self.row(source, still)
                offset += factor * constant
                for name, value in inner.items():
                    factors[name] = factors.get(name, 0.0) + factor * value
        return factors, offset

    def matrix(
        self, names: Sequence[str], still: Mapping[str, float] | None = None
    ) -> tuple[Array, Array]:
        """Return G and c of `tree.movable` (movable joints in document order, then rotors) for independent `names`."""
        rows = [self.row(name, still) for name in self.bare.movable]
        rows += [self._sum(rotor.ratio, still or {}) for rotor in self.rotors]
        g = np.array(
            [[factors.get(name, 0.0) for name in names] for factors, _ in rows]
        )
        return g, np.array([offset for _, offset in rows])

    def pinocchio(
        self, names: Sequence[str], still: Mapping[str, float] | None = None
    ) -> "Tree":
        """Return the plain tree in Pinocchio, reduced by G."""
        tree = self.tree
        return Tree(
            Peer(tree.urdf, tree.movable, self.gravity), *self.matrix(names, still)
        )


@dataclass(frozen=True)
class Tree:
    """Pinocchio's dynamics of the plain tree, reduced to the independent coordinates by virtual work."""

    peer: Peer
    g: Array
    c: Array

    def rnea(
        self, q: Array, qd: Array, qdd: Array, wrenches: Mapping[str, Any] | None = None
    ) -> Array:
        """Return the torque of every row of the tree; the robot's torque is G^T times it."""
        return self.peer.rnea(self.position(q), self.g @ qd, self.g @ qdd, wrenches)

    def position(self, q: Array) -> Array:
        """Return the positions of the tree's rows."""
        return np.array(self.g @ q + self.c)

    def mass_matrix(self, q: Array) -> Array:
        """Return G^T M_tree G."""
        return np.array(self.g.T @ self.peer.crba(self.position(q)) @ self.g)

    def derivatives(self, q: Array, qd: Array, qdd: Array) -> tuple[Array, Array]:
        """Return G^T (dtau_tree/dq) G and G^T (dtau_tree/dqd) G."""
        dq, dqd = self.peer.derivatives(self.position(q), self.g @ qd, self.g @ qdd)
        return np.array(self.g.T @ dq @ self.g), np.array(self.g.T @ dqd @ self.g)

    def jacobian(self, q: Array, link: str) -> Array:
        """Return J_tree G of a link's origin in root axes, linear rows first."""
        return self.peer.jacobian(self.position(q), link) @ self.g


def with_part(
    arm: arms.Arm, link: str, mass: float, centre: Array, inertia: Array
) -> arms.Arm:
    """Return the arm with a body merged into a link; the root, whose inertia is irrelevant, is unchanged."""
    old = next(x for x in arm.links if x.name == link)
    if link == arm.links[0].name:
        return arm
    parts = [
        (
            old.mass or 0.0,
            np.asarray(old.com),
            np.zeros((3, 3)) if old.inertia is None else old.inertia,
        )
    ]
    parts.append((mass, np.asarray(centre), inertia))
    total = sum(m for m, _, _ in parts)
    com = sum(m * c for m, c, _ in parts) / total
    about = sum(
        i + m * ((c - com) @ (c - com) * np.eye(3) - np.outer(c - com, c - com))
        for m, c, i in parts
    )
    return arm.with_link(link, mass=total, com=com, inertia=about)


def load(arm: arms.Arm, dynamics: dict[str, Any], **keywords: Any) -> RobotModel:
    """Return a model of this arm with this content of a dynamics file."""
    text = yaml.dump(dynamics, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RobotModelWarning)
        file = parse_dynamics_file(text, "robot.dynamics.yaml")
        return RobotModel.from_urdf(arm.urdf, dynamics=file, **keywords)


def axis_in_parent(joint: arms.Joint) -> Array:
    """Return a joint's axis in the axes of its parent link."""
    (cr, cp, cy) = np.cos(joint.rpy)
    (sr, sp, sy) = np.sin(joint.rpy)
    turn = np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )
    return turn @ np.asarray(joint.axis)


@st.composite
def robots(
    draw: st.DrawFn,
    *,
    largest: int = LARGEST,
    rotors: bool = True,
    payload: bool | None = None,
    friction: bool = False,
) -> Robot:
    """Strategy: robots with a little of everything.

    Shape and counts shrink; each number comes from a generator of its own part, so that it stays when other parts go.
    G has full rank: the k-th coordinate drives the k-th joint of a random order.
    """
    arm = draw(arms.trees(largest))
    movable = arm.movable
    links = [link.name for link in arm.links]
    order = [str(name) for name in _part(arm, 0).permutation(movable)]
    coordinates = tuple(
        f"p{k}" for k in range(draw(st.integers(0, min(3, len(order)))))
    )
    followers = draw(st.integers(0, len(order) - len(coordinates)))
    rows: dict[str, dict[str, float]] = {}
    known: list[str] = list(coordinates[:1])
    for k, name in enumerate(order):
        rng = _part(arm, 1, k)
        # Independent at last, so that fewer followers leave the others alone.
        if k < len(coordinates):
            rows[name] = {
                coordinates[k]: float(rng.choice([-1, 1]) * rng.uniform(0.5, 2.0))
            }
        elif known and k - len(coordinates) < followers:
            rows[name] = {}
        if name in rows:
            sources = rng.choice(
                known, min(int(rng.integers(1, 4)), len(known)), replace=False
            )
            for source in sources[: 1 if rng.random() < 0.5 else None]:
                rows[name].setdefault(
                    str(source), float(rng.choice([-1, 1]) * rng.uniform(0.2, 0.9))
                )
            if rng.random() < 0.5:
                rows[name]["offset"] = float(rng.uniform(-2, 2))
        known += [name, *coordinates[k + 1 : k + 2]]
    single = [
        name
        for name, row in rows.items()
        if len(set(row) - {"offset"}) == 1 and not set(row) & set(coordinates)
    ]
    mimics = [name for k, name in enumerate(single) if _part(arm, 2, k).random() < 0.5]
    robot = Robot(
        arm,
        rows,
        frozenset(mimics),
        coordinates,
        (),
        {},
        None,
        links[0],
        [0.0, 0.0, -9.81],
    )
    if draw(st.booleans()):
        direction = _part(arm, 3).standard_normal(3)
        length = draw(st.sampled_from([9.81, 1.62, 0.0]))
        robot = replace(
            robot, gravity=(length * direction / np.linalg.norm(direction)).tolist()
        )
    if rotors:
        count = draw(st.integers(0, max(6, len(movable))))
        robot = replace(
            robot,
            rotors=tuple(_rotor(_part(arm, 4, k), robot, k) for k in range(count)),
        )
    if payload or (payload is None and draw(st.booleans())):
        rng = _part(arm, 5)
        mass = float(rng.uniform(0.2, 3.0))
        body = arms.Link(
            "load", mass, rng.uniform(-0.2, 0.2, 3), arms.central_inertia(rng, mass)
        )
        robot = replace(robot, payload=body, holder=draw(st.sampled_from(links[::-1])))
    if friction:
        worn = draw(st.integers(0, len(movable)))
        robot = replace(
            robot,
            friction={
                name: rough(_part(arm, 6, k)) for k, name in enumerate(movable[:worn])
            },
        )
    return robot


def _part(arm: arms.Arm, *key: int) -> np.random.Generator:
    return np.random.default_rng([arm.seed, *key])


def _rotor(rng: np.random.Generator, robot: Robot, k: int) -> Rotor:
    """Return the k-th rotor: alternately in the short form on the joints in turn, and in the general form."""
    arm = robot.bare
    radius = rng.uniform(0.01, 0.05)
    mass = float(rng.uniform(0.05, 0.5))
    axial = mass * radius**2 / 2
    body = {
        "mass": mass,
        "axial": axial,
        "across": axial / 2 + mass * rng.uniform(0.01, 0.05) ** 2 / 12,
    }
    body["centre"] = rng.uniform(-0.1, 0.1, 3)
    if k % 2 == 0 and k // 2 < len(arm.movable):
        joint = next(j for j in arm.joints if j.name == arm.movable[k // 2])
        carrier = joint.parent if rng.random() < 0.75 else "none"
        ratio = {joint.name: float(rng.choice([-1, 1]) * rng.uniform(20, 120))}
        return Rotor(
            carrier, axis_in_parent(joint), **body, ratio=ratio, joint=joint.name
        )
    axis = rng.standard_normal(3)
    carrier = str(rng.choice([*(link.name for link in arm.links), "none"]))
    names = [*arm.movable, *robot.coordinates]
    driving = rng.choice(names, min(int(rng.integers(1, 4)), len(names)), replace=False)
    ratio = {str(name): float(rng.uniform(-100, 100)) for name in driving}
    return Rotor(carrier, axis / np.linalg.norm(axis), **body, ratio=ratio)


def rough(rng: np.random.Generator) -> dict[str, Any]:
    """Return the friction of one joint with all or some terms."""
    coulomb, negative = rng.uniform(0.1, 3.0, 2)
    terms: dict[str, Any] = {
        "viscous": float(rng.uniform(0.1, 2.0)),
        "coulomb": float(coulomb),
        "coulomb_negative": float(negative),
        "static": float(max(coulomb, negative) + rng.uniform(0.0, 2.0)),
        "stribeck_velocity": float(rng.uniform(0.01, 2.0)),
        "ripple": {
            "amplitude": float(rng.uniform(0.0, 4.0)),
            "per_turn": float(rng.integers(1, 30)),
            "phase": float(rng.uniform(-3, 3)),
        },
        "sigmoid": {
            "amplitude": float(rng.uniform(0.0, 2.0)),
            "slope": float(rng.uniform(0.5, 9.0)),
            "shift": float(rng.uniform(-0.1, 0.1)),
        },
    }
    dropped = [
        name
        for name in ("coulomb_negative", "static", "ripple", "sigmoid", "viscous")
        if rng.random() < 0.3
    ]
    return {name: value for name, value in terms.items() if name not in dropped}


def state(robot: Robot, n: int) -> tuple[Array, Array, Array]:
    """Return positions, velocities, accelerations, each (n,)."""
    q, qd, qdd = arms.states(robot.seed, n, 1)
    return q[0], qd[0], qdd[0]


def wrenches(robot: Robot, count: int = 3) -> dict[str, Array]:
    """Return wrenches on some links, also behind fixed joints and on the root."""
    rng = _part(robot.bare, 7)
    links = [link.name for link in robot.bare.links]
    chosen = rng.choice(links, min(count, len(links)), replace=False)
    return {str(name): rng.uniform(-20, 20, 6) for name in chosen}


def stride(
    robot: Robot, names: Sequence[str], qd: Array | None = None, *, rotors: bool = False
) -> float:
    """Return the largest total motion of joints (and rotors) per unit of one coordinate, or of time at `qd`."""
    g = robot.matrix(names)[0][: None if rotors else len(robot.bare.movable)]
    steps = np.abs(g).sum(axis=0) if qd is None else np.abs(g @ qd).sum()
    return float(max(1.0, np.max(steps)))


def slope(function: Callable[[float], Any], scale: float = 1.0) -> Any:
    """Return the fourth-order numerical derivative at 0 of a function with the length scale 1 / scale."""
    h = 1e-3 / scale
    near = function(h) - function(-h)
    far = function(2 * h) - function(-2 * h)
    return (8.0 * near - far) / (12.0 * h)


def size(model: RobotModel, q: Array, qd: Array, qdd: Array) -> float:
    """Return the size of the terms in a torque."""
    rest = np.zeros(model.n)
    inertial = np.abs(model.mass_matrix(q)) @ np.abs(qdd)
    gravity = model.gravity_torque(q)
    velocity = model.inverse_dynamics(q, qd, rest) - gravity
    return float(np.max(inertial + np.abs(velocity) + np.abs(gravity)))
