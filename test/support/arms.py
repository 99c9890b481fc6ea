"""URDF text of test arms: a builder, the arms of the books, and random trees for hypothesis."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import yaml
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from robot_dynamics_ros.dynamics.description.couplings import resolve
from robot_dynamics_ros.dynamics.description.dynamics_file import parse_dynamics_file
from robot_dynamics_ros.dynamics.description.urdf import parse_urdf
from robot_dynamics_ros.dynamics.model.assembly import assemble
from robot_dynamics_ros.dynamics.model.model_data import ModelData

Array = NDArray[np.float64]
MOVABLE = ("revolute", "continuous", "prismatic")


def _numbers(values: ArrayLike) -> str:
    return " ".join(repr(float(x)) for x in np.asarray(values, dtype=float).ravel())


@dataclass(frozen=True)
class Link:
    """Link; without mass it has no <inertial>. Inertia (3, 3) about the centre of mass, in link axes."""

    name: str
    mass: float | None = None
    com: Any = (0.0, 0.0, 0.0)
    inertia: Any = None

    def xml(self) -> str:
        """Return the <link> element."""
        if self.mass is None:
            return f'<link name="{self.name}"/>'
        i = (
            np.zeros((3, 3))
            if self.inertia is None
            else np.asarray(self.inertia, dtype=float)
        )
        names = zip(
            ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"),
            i[np.triu_indices(3)],
            strict=True,
        )
        entries = " ".join(f'{name}="{float(value)!r}"' for name, value in names)
        return (
            f'<link name="{self.name}"><inertial><origin xyz="{_numbers(self.com)}"/>'
            f'<mass value="{float(self.mass)!r}"/><inertia {entries}/></inertial></link>'
        )


@dataclass(frozen=True)
class Joint:
    """Joint; its limits are wide by default."""

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
        """Return the <joint> element."""
        axis = (
            ""
            if self.axis is None or self.type == "fixed"
            else f'<axis xyz="{_numbers(self.axis)}"/>'
        )
        limit = "" if self.type == "fixed" else self.limit
        return (
            f'<joint name="{self.name}" type="{self.type}">'
            f'<parent link="{self.parent}"/><child link="{self.child}"/>'
            f'<origin xyz="{_numbers(self.xyz)}" rpy="{_numbers(self.rpy)}"/>'
            f"{axis}{limit}{self.extra}</joint>"
        )


@dataclass(frozen=True)
class Arm:
    """Robot as data, so that tests can change one part of it; `seed` makes its states repeatable."""

    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    seed: int = 0

    @property
    def urdf(self) -> str:
        """Return the URDF text."""
        body = "\n".join(
            [
                *(link.xml() for link in self.links),
                *(joint.xml() for joint in self.joints),
            ]
        )
        return f'<robot name="arm">\n{body}\n</robot>'

    @property
    def movable(self) -> list[str]:
        """Return the names of the movable joints in document order."""
        return [joint.name for joint in self.joints if joint.type in MOVABLE]

    def with_link(self, name: str, **changes: Any) -> "Arm":
        """Return the arm with one link changed."""
        return replace(
            self,
            links=tuple(
                replace(x, **changes) if x.name == name else x for x in self.links
            ),
        )

    def with_joint(self, name: str, **changes: Any) -> "Arm":
        """Return the arm with one joint changed."""
        return replace(
            self,
            joints=tuple(
                replace(x, **changes) if x.name == name else x for x in self.joints
            ),
        )


def thin_rod(mass: float, length: float, along: int = 0) -> Array:
    """Return the central inertia of a thin rod along one axis: m l^2 / 12 across it, zero about it."""
    i = np.eye(3) * mass * length**2 / 12
    i[along, along] = 0.0
    return i


def planar_2r(l1: float, l2: float, link1: Link, link2: Link) -> Arm:
    """Return an arm with two joints about z and link i along x; the tool frame is at the end of link 2."""
    return Arm(
        (
            Link("base"),
            replace(link1, name="link1"),
            replace(link2, name="link2"),
            Link("tool"),
        ),
        (
            Joint("joint1", "revolute", "base", "link1"),
            Joint("joint2", "revolute", "link1", "link2", xyz=(l1, 0, 0)),
            Joint("tool_joint", "fixed", "link2", "tool", xyz=(l2, 0, 0)),
        ),
    )


def tsai_planar_2r(p: Any) -> Arm:
    """Return Tsai's example 9.7.1 from oracles.tsai_planar_2r.Parameters; gravity is (0, -g, 0)."""
    return planar_2r(
        p.a1,
        p.a2,
        Link("", p.m1, (p.a1 / 2, 0, 0), thin_rod(p.m1, p.a1)),
        Link("", p.m2, (p.a2 / 2, 0, 0), thin_rod(p.m2, p.a2)),
    )


def craig_planar_2r(p: Any) -> Arm:
    """Return Craig's arm of section 6.7 from oracles.craig_planar_2r.Parameters; gravity is (0, -g, 0)."""
    return planar_2r(
        p.l1, p.l2, Link("", p.m1, (p.l1, 0, 0)), Link("", p.m2, (p.l2, 0, 0))
    )


def craig_rp(p: Any) -> Arm:
    """Return Craig's example 6.5 from oracles.craig_rp.Parameters; gravity is (0, -g, 0), and only izz matters."""
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
    """Return Tsai's example 9.8.2 from oracles.tsai_scara.Parameters; gravity is (0, 0, -g), joint 3 is along -z."""
    return Arm(
        (
            Link("base"),
            Link("link1", p.m1, (p.a1 / 2, 0, 0), thin_rod(p.m1, p.a1)),
            Link("link2", p.m2, (p.a2 / 2, 0, 0), thin_rod(p.m2, p.a2)),
            Link(
                "link3", p.m3, (0, 0, p.length3 / 2), thin_rod(p.m3, p.length3, along=2)
            ),
        ),
        (
            Joint("joint1", "revolute", "base", "link1", xyz=(0, 0, p.d1)),
            Joint("joint2", "revolute", "link1", "link2", xyz=(p.a1, 0, 0)),
            Joint(
                "joint3",
                "prismatic",
                "link2",
                "link3",
                xyz=(p.a2, 0, 0),
                axis=(0, 0, -1),
            ),
        ),
    )


def rotation(rng: np.random.Generator) -> Array:
    """Return a uniformly random rotation matrix."""
    q, r = np.linalg.qr(rng.standard_normal((3, 3)))
    q = q * np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0 else -q


def central_inertia(rng: np.random.Generator, mass: float) -> Array:
    """Return the inertia of a real body: positive second moments, so that the triangle inequality holds."""
    second = mass * rng.uniform(0.02, 0.25, 3) ** 2
    turn = rotation(rng)
    i: Array = turn @ np.diag(second.sum() - second) @ turn.T
    return (i + i.T) / 2


def random_arm(
    rng: np.random.Generator, parents: list[int], types: list[str], seed: int = 0
) -> Arm:
    """Return a random tree with links 0..n; the parent of link k+1 is link parents[k] <= k, its joint is types[k].

    Link names are not in alphabetical order, so that peers that sort siblings by name have another joint order.
    """
    names = [f"link_{(17 * k + 5) % 97:02d}_{k}" for k in range(len(parents) + 1)]
    links = [Link(names[0])]
    joints = []
    for k, (parent, kind) in enumerate(zip(parents, types, strict=True)):
        mass = rng.uniform(0.3, 5.0)
        links.append(
            Link(
                names[k + 1],
                mass,
                rng.uniform(-0.3, 0.3, 3),
                central_inertia(rng, mass),
            )
        )
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
def trees(draw: st.DrawFn, largest: int = 8) -> Arm:
    """Return a strategy of trees with up to ``largest`` joints, from chains to bushes, which shrink to chains.

    At least one joint is movable. The shape shrinks, the numbers come from a seed.
    """
    size = min(draw(st.sampled_from([3, 6, 6, 12, 40, 40])), largest)
    count = draw(st.integers(max(1, size // 3), size))
    reach = draw(st.sampled_from([1, 3, size]))
    parents = [k - draw(st.integers(0, min(k, reach - 1))) for k in range(count)]
    kinds = st.sampled_from(
        [
            "revolute",
            "prismatic",
            "continuous",
            "revolute",
            "prismatic",
            "revolute",
            "fixed",
        ]
    )
    types = draw(st.lists(kinds, min_size=count, max_size=count))
    if all(kind == "fixed" for kind in types):
        types[-1] = "revolute"
    seed = draw(st.integers(0, 2**31 - 1))
    return random_arm(np.random.default_rng(seed), parents, types, seed)


def states(
    seed: int, n: int, count: int, speed: float = 3.0
) -> tuple[Array, Array, Array]:
    """Return random q in (-pi, pi), qd, qdd, each (count, n)."""
    rng = np.random.default_rng(seed)
    return (
        rng.uniform(-np.pi, np.pi, (count, n)),
        rng.uniform(-speed, speed, (count, n)),
        rng.uniform(-9, 9, (count, n)),
    )


def model_data(
    arm: Arm, content: dict[str, Any] | None = None, **keywords: Any
) -> ModelData:
    """Return the model data of an arm, whose files are arm.urdf and arm.yaml in messages."""
    dynamics = parse_dynamics_file(yaml.safe_dump(content or {}), "arm.yaml")
    description = parse_urdf(arm.urdf, "arm.urdf")
    couplings = resolve(
        description,
        dynamics,
        keywords.pop("joints", None),
        keywords.pop("locked", None),
    )
    return assemble(
        description,
        dynamics,
        couplings,
        **{"gravity": None, "strict": False, **keywords},
    )
