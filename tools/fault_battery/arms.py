"""Arms that the package does not ship: five of the wheel example-robot-data, and three with numbers of their own.

Grippers are fixed. Effort limits are those of the URDF except where stated. Friction and rotors are chosen here, since
most of the URDFs have none; the controller's dynamics file and the plant get the same values. The arm of ``COUPLED``
has named coordinates instead of joints.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from functools import cache
from importlib.metadata import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin
import yaml
from numpy.typing import NDArray

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.dynamics.description.dynamics_file import parse_dynamics_file

Floats = NDArray[np.float64]


class Row(NamedTuple):
    """Numbers of one arm; those of the joints are in their order.

    ``urdf`` is a path in the wheel's folder of robots, "" for an arm of ``_CHAINS``. ``coulomb`` and ``viscous`` are
    shares of the effort limit, and of it per velocity limit. ``rotor`` is the inertia after the gear, kg m^2 or kg.
    ``coupling`` has the factors of the coordinates for each joint; () if the joints are the coordinates.
    """

    urdf: str
    fixed: tuple[str, ...]
    start: tuple[float, ...]
    rotor: tuple[float, ...]
    coulomb: float
    viscous: float
    limits: tuple[float, ...] = ()
    coupling: tuple[tuple[float, ...], ...] = ()


_ROWS = {
    "z1": Row(
        "z1_description/urdf/z1.urdf",
        ("jointGripper",),
        (0.2, 1.2, -1.3, 0.3, 0.2, 0.1),
        (0.06, 0.12, 0.06, 0.03, 0.02, 0.02),
        0.03,
        0.03,
    ),
    "j2s6s200": Row(
        "kinova_description/robots/kinova.urdf",
        (),
        (0.3, 2.4, 1.4, 0.4, 1.5, 0.2),
        (0.3, 0.5, 0.3, 0.06, 0.06, 0.06),
        0.03,
        0.03,
    ),
    "xarm7": Row(
        "xarm_description/urdf/xarm7.urdf",
        (),
        (0.1, -0.4, 0.2, 1.2, 0.3, 1.0, 0.2),
        (0.3, 0.3, 0.15, 0.15, 0.08, 0.05, 0.04),
        0.04,
        0.04,
    ),
    "ur10": Row(
        "ur_description/urdf/ur10_robot.urdf",
        (),
        (0.2, -1.0, 1.3, -1.5, -1.4, 0.3),
        (4.0, 4.0, 2.0, 0.3, 0.3, 0.3),
        0.03,
        0.05,
    ),
    "talos_arm": Row(
        "talos_data/robots/talos_left_arm.urdf",
        ("gripper_left_joint",),
        (0.5, 0.2, -1.2, 0.3, 0.3, 0.2),
        (0.2, 0.15, 0.15, 0.03, 0.03, 0.03),
        0.03,
        0.03,
        (44.6, 35.7, 35.7, 10.0, 10.0, 10.0),
    ),
    "seven": Row(
        "",
        (),
        (0.2, 0.6, -0.1, -1.3, 0.2, 0.9, 0.3),
        (0.8, 0.8, 0.6, 0.6, 0.2, 0.1, 0.1),
        0.01,
        0.02,
    ),
    "gantry": Row("", (), (0.3, 0.4, 0.7, -0.4), (20.0, 0.4, 0.2, 0.05), 0.03, 0.05),
    "palletizer": Row(
        "",
        (),
        (0.3, 0.5, 1.4, 1.6),
        (0.8, 0.8, 0.5, 0.1),
        0.03,
        0.03,
        (),
        # Belts from the base: the motors set absolute angles of the links.
        ((1, 0, 0, 0), (0, 1, 0, 0), (0, -1, 1, 0), (0, 0, -1, 1)),
    ),
}
ARMS = tuple(name for name, row in _ROWS.items() if not row.coupling)
COUPLED = tuple(name for name, row in _ROWS.items() if row.coupling)

# Joint type, axis, origin of the joint (m), mass (kg), centre of mass (m), limits of position, effort and velocity.
_CHAINS: dict[str, tuple[tuple[Any, ...], ...]] = {
    "seven": (
        ("revolute", (0, 0, 1), (0, 0, 0.16), 4.0, (0, -0.03, 0.12), 2.9, 320, 1.5),
        ("revolute", (0, 1, 0), (0, 0, 0.20), 4.0, (0, 0.06, 0.04), 2.0, 320, 1.5),
        ("revolute", (0, 0, 1), (0, 0, 0.20), 3.0, (0, 0.03, 0.13), 2.9, 176, 1.7),
        ("revolute", (0, -1, 0), (0, 0, 0.22), 2.7, (0, 0.07, 0.03), 2.0, 176, 1.3),
        ("revolute", (0, 0, 1), (0, 0, 0.18), 1.7, (0, 0.02, 0.08), 2.9, 110, 2.2),
        ("revolute", (0, 1, 0), (0, 0, 0.22), 1.8, (0, 0, 0), 2.0, 40, 2.3),
        ("revolute", (0, 0, 1), (0, 0, 0.08), 1.2, (0.02, 0, 0.06), 3.0, 40, 2.3),
    ),
    "gantry": (
        ("prismatic", (0, 0, 1), (0, 0, 0.6), 12.0, (0.05, 0, 0), 0.8, 600, 0.6),
        ("revolute", (0, 1, 0), (0.2, 0, 0), 4.0, (0.2, 0, 0), 2.6, 120, 2.5),
        ("revolute", (0, 1, 0), (0.4, 0, 0), 2.5, (0.15, 0.02, 0), 2.6, 60, 3.0),
        ("revolute", (1, 0, 0), (0.3, 0, 0), 1.0, (0.05, 0.02, 0.03), 3.0, 20, 3.0),
    ),
    "palletizer": (
        ("revolute", (0, 0, 1), (0, 0, 0.3), 8.0, (0, 0.02, 0.1), 2.9, 200, 2.5),
        ("revolute", (0, 1, 0), (0, 0, 0.3), 5.0, (0, 0.02, 0.2), 2.0, 250, 2.5),
        ("revolute", (0, 1, 0), (0, 0, 0.4), 3.0, (0, 0, 0.15), 2.6, 150, 2.5),
        ("revolute", (0, 1, 0), (0, 0, 0.4), 1.5, (0.02, 0, 0.05), 2.6, 40, 2.5),
    ),
}
_RADIUS = 0.06  # m, of gyration of the links about their centres of mass
_NEAR = 0.2  # rad from the start to an end stop
_FAR = 2.0  # rad to the other limit of that joint


class Arm(NamedTuple):
    """One arm: the controller's ``model``, and what the plant needs.

    Arrays have one number for each joint. ``friction`` is the Coulomb friction, ``viscous`` the viscous one; ``lower``
    and ``upper`` are the position limits, infinite for continuous joints. ``prismatic`` is True for these joints;
    ``tool`` is the last link. With a ``coupling`` (n, n) the positions of the joints are ``coupling`` times those of
    the named coordinates. Numbers of each joint are then those of each coordinate, except friction and rotors.
    """

    name: str
    model: RobotModel
    urdf: str
    start: Floats
    rotor: Floats
    friction: Floats
    viscous: Floats
    effort: Floats
    velocity: Floats
    lower: Floats
    upper: Floats
    prismatic: NDArray[np.bool_]
    tool: str
    coupling: Floats | None

    def gravity_share(self, draws: int = 300) -> float:
        """Return the largest share of the effort limits that gravity needs, over random positions."""
        random = np.random.default_rng(0)
        model = pin.buildModelFromXML(self.urdf)
        data = model.createData()
        low = np.maximum(self.lower, -np.pi)
        high = np.minimum(self.upper, np.pi)
        torques = np.array([
            pin.computeGeneralizedGravity(model, data, random.uniform(low, high))
            for _ in range(draws)
        ])  # fmt: skip
        if self.coupling is not None:
            torques = torques @ self.coupling
        return float((np.abs(torques) / self.effort).max())


@cache
def load(name: str, stop: tuple[int, float] | None = None) -> Arm:
    """Return the arm; RuntimeError if the wheel example-robot-data is missing.

    ``stop`` is a joint and the sign of the direction in which its position limit is moved near the start.
    """
    row = _ROWS[name]
    text = _wheel(row.urdf) if row.urdf else _chain(name)
    robot = ET.fromstring(text)
    joints = []
    for joint in robot.findall("joint"):
        if joint.get("name") in row.fixed:
            joint.set("type", "fixed")
        elif joint.get("type") != "fixed":
            joints.append(joint)
    for part in (*robot.findall("link"), *joints):
        for tag in ("visual", "collision", "safety_controller", "dynamics"):
            for child in part.findall(tag):
                part.remove(child)
    for tag in ("gazebo", "transmission", "material"):
        for child in robot.findall(tag):
            robot.remove(child)
    for joint, limit in zip(joints, row.limits, strict=False):
        _limit(joint).set("effort", str(limit))
    if stop is not None:
        _move_limit(joints[stop[0]], row.start[stop[0]], stop[1])
    text = ET.tostring(robot, encoding="unicode")
    effort = _numbers(joints, "effort")
    velocity = _numbers(joints, "velocity")
    friction = row.coulomb * effort
    viscous = row.viscous * effort / velocity
    rotor = np.array(row.rotor)
    table = {
        str(joint.get("name")): {
            "coulomb": float(friction[i]),
            "viscous": float(viscous[i]),
            "rotor_inertia": float(rotor[i]) / 1e4,
            "gear_ratio": 100.0,
        }
        for i, joint in enumerate(joints)
    }
    described: dict[str, Any] = {"joints": table}
    names = list(table)
    coupling = None
    if row.coupling:
        coupling = np.array(row.coupling, dtype=float)
        names = [f"motor{i}" for i in range(1, len(joints) + 1)]
        described["coordinates"] = names
        described["couplings"] = {
            joint: {names[i]: float(factors[i]) for i in np.flatnonzero(factors)}
            for joint, factors in zip(table, row.coupling, strict=True)
        }
    dynamics = parse_dynamics_file(yaml.safe_dump(described), name)
    model = RobotModel.from_urdf(text, dynamics=dynamics)
    continuous = np.array([joint.get("type") == "continuous" for joint in joints])
    lower = np.where(continuous, -np.inf, _numbers(joints, "lower"))
    upper = np.where(continuous, np.inf, _numbers(joints, "upper"))
    for joint in joints:  # pinocchio has two coordinates for a continuous joint
        if joint.get("type") == "continuous":
            joint.set("type", "revolute")
    plain = ET.tostring(robot, encoding="unicode")
    assert list(model.joint_names) == names, "the plant needs the same order"
    assert list(pin.buildModelFromXML(plain).names)[1:] == list(table)
    prismatic = np.array([joint.get("type") == "prismatic" for joint in joints])
    return Arm(
        name, model, plain, np.array(row.start), rotor, friction, viscous, effort, velocity,
        lower, upper, prismatic, str(_child(joints[-1])), coupling,
    )  # fmt: skip


def _child(joint: ET.Element) -> str | None:
    child = joint.find("child")
    return None if child is None else child.get("link")


def _limit(joint: ET.Element) -> ET.Element:
    limit = joint.find("limit")
    assert limit is not None
    return limit


def _move_limit(joint: ET.Element, start: float, sign: float) -> None:
    """Move the limit in the direction of ``sign`` near ``start``, and the other one away from it."""
    unit = 0.3 if joint.get("type") == "prismatic" else 1.0
    if joint.get("type") == "continuous":
        joint.set("type", "revolute")
    ends = (start + sign * _NEAR * unit, start - sign * _FAR * unit)
    _limit(joint).set("lower", str(min(ends)))
    _limit(joint).set("upper", str(max(ends)))


def _numbers(joints: list[ET.Element], key: str) -> Floats:
    return np.array([float(_limit(joint).get(key, "0")) for joint in joints])


def _wheel(path: str) -> str:
    for file in files("example-robot-data") or []:
        if str(file).endswith(f"/robots/{path}"):
            return Path(str(file.locate())).read_text(encoding="utf-8")
    raise RuntimeError(
        f"{path} is missing. Cure: pip install example-robot-data, as requirements/test.txt has it"
    )


def _chain(name: str) -> str:
    parts = [f'<robot name="{name}"><link name="base"/>']
    parent = "base"
    for i, row in enumerate(_CHAINS[name], start=1):
        kind, axis, origin, mass, com, limit, effort, velocity = row
        link = f"link{i}"
        moment = mass * _RADIUS**2
        parts.append(
            f'<joint name="{name}_joint{i}" type="{kind}"><parent link="{parent}"/><child link="{link}"/>'
            f'<origin xyz="{_text(origin)}"/><axis xyz="{_text(axis)}"/>'
            f'<limit lower="{-limit}" upper="{limit}" effort="{effort}" velocity="{velocity}"/></joint>'
            f'<link name="{link}"><inertial><origin xyz="{_text(com)}"/><mass value="{mass}"/>'
            f'<inertia ixx="{moment}" iyy="{moment}" izz="{moment}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        )
        parent = link
    return "".join([*parts, "</robot>"])


def _text(vector: tuple[float, ...]) -> str:
    return " ".join(str(number) for number in vector)
