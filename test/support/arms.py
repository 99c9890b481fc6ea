"""URDF text for test arms: a small builder, the arms of the books, and random trees for hypothesis."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
MOVABLE = ("revolute", "continuous", "prismatic")


def _numbers(values: ArrayLike) -> str:
    return " ".join(repr(float(x)) for x in np.asarray(values, dtype=float).ravel())


@dataclass(frozen=True)
class Link:
    """A link; without mass it has no <inertial>. Inertia (3, 3) about the centre of mass, in link axes."""

    name: str
    mass: float | None = None
    com: Any = (0.0, 0.0, 0.0)
    inertia: Any = None

    def xml(self) -> str:
        """The <link> element."""
        if self.mass is None:
            return f'<link name="{self.name}"/>'
        i = np.zeros((3, 3)) if self.inertia is None else np.asarray(self.inertia, dtype=float)
        names = zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), i[np.triu_indices(3)], strict=True)
        entries = " ".join(f'{name}="{float(value)!r}"' for name, value in names)
        return (
            f'<link name="{self.name}"><inertial><origin xyz="{_numbers(self.com)}"/>'
            f'<mass value="{float(self.mass)!r}"/><inertia {entries}/></inertial></link>'
        )


@dataclass(frozen=True)
class Joint:
    """A joint; limits are wide unless given."""

    name: str
    type: str
    parent: str
    child: str
    xyz: Any = (0.0, 0.0, 0.0)
    rpy: Any = (0.0, 0.0, 0.0)
    axis: Any = (0.0, 0.0, 1.0)
    limit: str = '<limit lower="-100" upper="100" effort="1000" velocity="100"/>'
    extra: str = ""

    def xml(self) -> str:
        """The <joint> element."""
        axis = "" if self.axis is None or self.type == "fixed" else f'<axis xyz="{_numbers(self.axis)}"/>'
        limit = "" if self.type == "fixed" else self.limit
        return (
            f'<joint name="{self.name}" type="{self.type}">'
            f'<parent link="{self.parent}"/><child link="{self.child}"/>'
            f'<origin xyz="{_numbers(self.xyz)}" rpy="{_numbers(self.rpy)}"/>'
            f"{axis}{limit}{self.extra}</joint>"
        )


@dataclass(frozen=True)
class Arm:
    """A robot as data, so that tests can change one part of it; `seed` makes its states repeatable."""

    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    seed: int = 0

    @property
    def urdf(self) -> str:
        """The URDF text."""
        body = "\n".join([*(link.xml() for link in self.links), *(joint.xml() for joint in self.joints)])
        return f'<robot name="arm">\n{body}\n</robot>'

    @property
    def movable(self) -> list[str]:
        """Names of the movable joints, in document order."""
        return [joint.name for joint in self.joints if joint.type in MOVABLE]

    def with_link(self, name: str, **changes: Any) -> "Arm":
        """The same arm with one link changed."""
        return replace(self, links=tuple(replace(x, **changes) if x.name == name else x for x in self.links))

    def with_joint(self, name: str, **changes: Any) -> "Arm":
        """The same arm with one joint changed."""
        return replace(self, joints=tuple(replace(x, **changes) if x.name == name else x for x in self.joints))


def thin_rod(mass: float, length: float, along: int = 0) -> Array:
    """Central inertia of a thin rod along one axis: m l^2 / 12 across it, zero about it."""
    i = np.eye(3) * mass * length**2 / 12
    i[along, along] = 0.0
    return i


def planar_2r(l1: float, l2: float, link1: Link, link2: Link) -> Arm:
    """Two joints about z, link i along x; the tool frame sits at the end of link 2."""
    return Arm(
        (Link("base"), replace(link1, name="link1"), replace(link2, name="link2"), Link("tool")),
        (
            Joint("joint1", "revolute", "base", "link1"),
            Joint("joint2", "revolute", "link1", "link2", xyz=(l1, 0, 0)),
            Joint("tool_joint", "fixed", "link2", "tool", xyz=(l2, 0, 0)),
        ),
    )


def tsai_planar_2r(p: Any) -> Arm:
    """Tsai example 9.7.1 from oracles.tsai_planar_2r.Parameters; gravity is (0, -g, 0)."""
    return planar_2r(
        p.a1,
        p.a2,
        Link("", p.m1, (p.a1 / 2, 0, 0), thin_rod(p.m1, p.a1)),
        Link("", p.m2, (p.a2 / 2, 0, 0), thin_rod(p.m2, p.a2)),
    )


def craig_planar_2r(p: Any) -> Arm:
    """Craig section 6.7 from oracles.craig_planar_2r.Parameters; gravity is (0, -g, 0)."""
    return planar_2r(p.l1, p.l2, Link("", p.m1, (p.l1, 0, 0)), Link("", p.m2, (p.l2, 0, 0)))


def craig_rp(p: Any) -> Arm:
    """Craig example 6.5 from oracles.craig_rp.Parameters; gravity is (0, -g, 0).

    Only izz matters; ixx, iyy are consistent fillers.
    """
    return Arm(
        (
            Link("base"),
            Link("link1", p.m1, (p.l1, 0, 0), np.diag([0.6, 0.7, 1.0]) * p.izz1),
            Link("link2", p.m2, (0, 0, 0), np.diag([0.6, 0.7, 1.0]) * p.izz2),
        ),
        (
            Joint("joint1", "continuous", "base", "link1"),
            Joint("joint2", "prismatic", "link1", "link2", axis=(1, 0, 0)),
        ),
    )


def tsai_scara(p: Any) -> Arm:
    """Tsai example 9.8.2 from oracles.tsai_scara.Parameters.

    Gravity is (0, 0, -g); joint 3 slides along -z.
    """
    return Arm(
        (
            Link("base"),
            Link("link1", p.m1, (p.a1 / 2, 0, 0), thin_rod(p.m1, p.a1)),
            Link("link2", p.m2, (p.a2 / 2, 0, 0), thin_rod(p.m2, p.a2)),
            Link("link3", p.m3, (0, 0, p.length3 / 2), thin_rod(p.m3, p.length3, along=2)),
        ),
        (
            Joint("joint1", "revolute", "base", "link1", xyz=(0, 0, p.d1)),
            Joint("joint2", "revolute", "link1", "link2", xyz=(p.a1, 0, 0)),
            Joint("joint3", "prismatic", "link2", "link3", xyz=(p.a2, 0, 0), axis=(0, 0, -1)),
        ),
    )


def tsai_geared_2r(p: Any) -> Arm:
    """Tsai Fig. 9.7 from oracles.tsai_geared_2r.Parameters, without its rotors; gravity is (0, 0, -g)."""
    return planar_2r(
        p.a1,
        0.0,
        Link("", p.m1, (p.b1, 0, 0), np.diag([0.6, 0.7, 1.0]) * p.i1z),
        Link("", p.m2, (p.b2, 0, 0), np.diag([0.6, 0.7, 1.0]) * p.i2z),
    )


def rotation(rng: np.random.Generator) -> Array:
    """A uniformly random rotation matrix."""
    q, r = np.linalg.qr(rng.standard_normal((3, 3)))
    q = q * np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0 else -q


def central_inertia(rng: np.random.Generator, mass: float) -> Array:
    """The inertia of some real body: positive second moments, so that the triangle inequality holds."""
    second = mass * rng.uniform(0.02, 0.25, 3) ** 2
    turn = rotation(rng)
    i: Array = turn @ np.diag(second.sum() - second) @ turn.T
    return (i + i.T) / 2


def random_arm(rng: np.random.Generator, parents: list[int], types: list[str], seed: int = 0) -> Arm:
    """A tree with links 0..n, link k+1 hanging on link parents[k] <= k by a joint of types[k].

    All numbers are random.

    Link names run against the alphabet of their order, so that peers that sort siblings by name give
    another joint order.
    """
    names = [f"link_{(17 * k + 5) % 97:02d}_{k}" for k in range(len(parents) + 1)]
    links, joints = [Link(names[0])], []
    for k, (parent, kind) in enumerate(zip(parents, types, strict=True)):
        mass = rng.uniform(0.3, 5.0)
        links.append(Link(names[k + 1], mass, rng.uniform(-0.3, 0.3, 3), central_inertia(rng, mass)))
        axis = rng.standard_normal(3)
        if rng.random() < 0.4:
            axis = np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0])
        joints.append(
            Joint(
                f"joint_{(29 * k + 11) % 97:02d}_{k}",
                kind,
                names[parent],
                names[k + 1],
                rng.uniform(-0.5, 0.5, 3),
                rng.uniform(-3.1, 3.1, 3) * rng.integers(2),
                axis / np.linalg.norm(axis),
            )
        )
    return Arm(tuple(links), tuple(joints), seed)


@st.composite
def trees(draw: st.DrawFn, max_joints: int = 8, kinds: tuple[str, ...] = (*MOVABLE, "fixed")) -> Arm:
    """Strategy: trees of any shape with at least one movable joint.

    The shape shrinks, the numbers come from a seed.
    """
    types = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=max_joints))
    if all(kind == "fixed" for kind in types):
        types[-1] = "revolute"
    parents = [draw(st.integers(0, k)) for k in range(len(types))]
    seed = draw(st.integers(0, 2**31 - 1))
    return random_arm(np.random.default_rng(seed), parents, types, seed)


def states(seed: int, n: int, count: int, speed: float = 3.0) -> tuple[Array, Array, Array]:
    """Random q in (-pi, pi), qd, qdd, each (count, n)."""
    rng = np.random.default_rng(seed)
    return (
        rng.uniform(-np.pi, np.pi, (count, n)),
        rng.uniform(-speed, speed, (count, n)),
        rng.uniform(-9, 9, (count, n)),
    )


@dataclass(frozen=True)
class Coupled:
    """An arm whose joints follow each other and named coordinates; `rows` as in the dynamics file."""

    arm: Arm
    coordinates: tuple[str, ...]
    rows: dict[str, dict[str, float]]

    @property
    def dynamics(self) -> dict[str, Any]:
        """The dynamics file's content."""
        return {"coordinates": list(self.coordinates), "couplings": self.rows}

    @property
    def independent(self) -> list[str]:
        """Joints without a row in document order, then the coordinates."""
        return [*(name for name in self.arm.movable if name not in self.rows), *self.coordinates]

    def positions(self, given: Mapping[str, float]) -> Array:
        """Position of every movable joint, in document order, straight from the rows; `given` go first."""

        def position(name: str) -> float:
            if name in given:
                return given[name]
            row = self.rows[name]
            return sum(row[source] * position(source) for source in row if source != "offset") + row.get("offset", 0.0)

        return np.array([position(name) for name in self.arm.movable])

    def matrix(self, names: list[str], locked: Mapping[str, float] | None = None) -> tuple[Array, Array]:
        """G and c of the movable joints, in document order, for independent `names`, by trying each."""
        at = [dict(zip(names, unit, strict=True)) | dict(locked or {}) for unit in np.eye(len(names))]
        c = self.positions(dict.fromkeys(names, 0.0) | dict(locked or {}))
        return np.column_stack([self.positions(values) - c for values in at]), c


@st.composite
def coupled_trees(draw: st.DrawFn, max_joints: int = 8, max_coordinates: int = 2) -> Coupled:
    """Strategy: random trees with couplings of every shape, chains included, whose G has full rank.

    The k-th coordinate drives the k-th joint of a random order, and nothing before it.
    """
    arm = draw(trees(max_joints))
    rng = np.random.default_rng(arm.seed + 7)
    order = draw(st.permutations(arm.movable))
    coordinates = [f"p{k}" for k in range(draw(st.integers(0, min(max_coordinates, len(order)))))]
    rows: dict[str, dict[str, float]] = {}
    known: list[str] = []
    for k, name in enumerate(order):
        follows = list(draw(st.lists(st.sampled_from(known), unique=True, max_size=2))) if known else []
        if k < len(coordinates):
            known.append(coordinates[k])
            follows.append(coordinates[k])
        elif known and draw(st.booleans()):
            follows = follows or [known[-1]]
        else:
            follows = []
        if follows:
            rows[name] = {source: float(rng.choice([-1, 1]) * rng.uniform(0.5, 2.0)) for source in follows}
            if draw(st.booleans()):
                rows[name]["offset"] = float(rng.uniform(-2, 2))
        known.append(name)
    return Coupled(arm, tuple(coordinates), rows)


def random_rotors(rng: np.random.Generator, arm: Arm, names: list[str], count: int) -> list[dict[str, Any]]:
    """`count` rotors of the dynamics file's general form, on random links or none, driven by one or two names."""
    rotors = []
    for _ in range(count):
        ratio = {str(name): float(rng.uniform(-100, 100)) for name in rng.choice(names, min(2, len(names)), False)}
        rotors.append(
            {
                "carrier": str(rng.choice([*(link.name for link in arm.links), "none"])),
                "axis": rng.standard_normal(3).tolist(),
                "inertia": float(rng.uniform(1e-5, 1e-4)),
                "ratio": ratio,
            }
        )
    return rotors
