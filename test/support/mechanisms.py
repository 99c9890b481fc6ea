"""Closed chains for plants: a four-bar linkage, not a parallelogram, and Spong's five-bar as loop and as couplings."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.dynamics.model.loops import close_loops
from robot_dynamics_ros.simulation import Plant
from robot_dynamics_ros.textbooks.constraints import driven_motion, loops_of
from support import arms, robots_with_drives

Array = arms.Array
JOINTS = ("crank_joint", "coupler_joint", "rocker_joint")
GROUND = (0.55, 0.1, 0.0)
Friction = Mapping[str, Mapping[str, float]]
NONE: Friction = {}
NO_LIMITS: Mapping[str, str] = {}
WIDE = '<limit lower="-1e6" upper="1e6" effort="1000" velocity="1000"/>'


def bar(name: str, mass: float, length: float) -> arms.Link:
    """Return a link along x that moves in the x-y plane."""
    return arms.Link(
        name,
        mass,
        (0.55 * length, 0, 0),
        np.diag([0.6, 0.7, 1.0]) * mass * length**2 / 11,
    )


def four_bar_files(
    friction: Friction = NONE, limits: Mapping[str, str] = NO_LIMITS, tilt: float = 0.0
) -> tuple[arms.Arm, dict[str, Any]]:
    """Return URDF and dynamics file: crank 0.25, coupler 0.6, rocker 0.5, base 0.559 m; gravity along -y."""
    links = (
        arms.Link("base"),
        bar("crank", 0.9, 0.25),
        bar("coupler", 1.4, 0.6),
        bar("rocker", 1.1, 0.5),
    )
    places = (
        ("base", "crank", 0.0, 0.0),
        ("crank", "coupler", 0.25, tilt),
        ("coupler", "rocker", 0.6, 0.0),
    )
    joints = tuple(
        arms.Joint(
            name,
            "revolute",
            parent,
            child,
            (x, 0, 0),
            (turn, 0, 0),
            limit=limits.get(name, WIDE),
        )
        for name, (parent, child, x, turn) in zip(JOINTS, places, strict=True)
    )
    content: dict[str, Any] = {
        "loops": [
            {
                "link_a": "base",
                "point_a": list(GROUND),
                "link_b": "rocker",
                "point_b": [0.5, 0.0, 0.0],
            }
        ],
        "gravity": [0.0, -9.81, 0.0],
        "joints": {name: dict(values) for name, values in friction.items()},
    }
    return arms.Arm(links, joints), content


def four_bar(
    friction: Friction = NONE, limits: Mapping[str, str] = NO_LIMITS, tilt: float = 0.0
) -> RobotModel:
    """Return the robot of ``four_bar_files``; ``tilt`` (rad) is the angle between the axes of crank and coupler."""
    return robots_with_drives.load(*four_bar_files(friction, limits, tilt))


def assembled(
    model: RobotModel, crank: float = 0.3, speed: float = 0.0
) -> tuple[Array, Array]:
    """Return position and velocity of the four-bar at this angle and velocity of the crank."""
    q = close_loops(model, [crank, 1.0, -1.5], held=["crank_joint"])
    return q, driven_motion(model, loops_of(model), q, ["crank_joint"], [speed], [0.0])[
        0
    ]


#: Lengths l1, l2 of the five-bar's links at the base; its joints 3 and 4 are at their ends.
FIVE_BAR = (0.4, 0.2)
#: Its joints 3 and 4 as followers of 1 and 2, for a dynamics file.
FIVE_BAR_COUPLINGS = {
    "joint3": {"joint1": 1.0, "joint2": -1.0},
    "joint4": {"joint1": -1.0, "joint2": 1.0, "offset": -np.pi},
}
#: From the five-bar's two coordinates to the tree's joints 1 to 4, joint 4 being turned round by pi.
ROWS = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -1.0], [-1.0, 1.0]])


def five_bar(looped: bool, friction: Friction) -> RobotModel:
    """Return the tree: links 1 and 2 at the base, 3 at the end of 2, 4 at the end of 1, Spong, figure 9.10."""
    (l1, l2) = FIVE_BAR
    axis = (0, -1, 0)
    masses = ((1, 0.8, 0.2), (2, 0.6, 0.1), (3, 0.4, 0.3), (4, 0.9, -0.1))
    links = (
        arms.Link("base"),
        *(arms.Link(f"link{k}", m, (c, 0, 0), 0.02 * np.eye(3)) for k, m, c in masses),
    )
    joints = (
        arms.Joint("joint1", "revolute", "base", "link1", axis=axis),
        arms.Joint("joint2", "revolute", "base", "link2", axis=axis),
        arms.Joint("joint3", "revolute", "link2", "link3", (l2, 0, 0), axis=axis),
        arms.Joint("joint4", "revolute", "link1", "link4", (l1, 0, 0), axis=axis),
    )
    content: dict[str, Any] = {
        "joints": {name: dict(values) for name, values in friction.items()}
    }
    if looped:
        ends = {
            "link_a": "link4",
            "point_a": [-l2, 0.0, 0.0],
            "link_b": "link3",
            "point_b": [l1, 0.0, 0.0],
        }
        content["loops"] = [ends]
    else:
        content["couplings"] = FIVE_BAR_COUPLINGS
    return robots_with_drives.load(arms.Arm(links, joints), content)


def in_tree(model: RobotModel, rows: Array) -> Array:
    """Return a vector of joints 1 to 4 in the model's order."""
    return rows[[int(name.removeprefix("joint")) - 1 for name in model.joint_names]]


def energy(plant: Plant) -> float:
    """Return the kinetic and potential energy."""
    model = plant.model
    q = plant.position
    return float(model.kinetic_energy(q, plant.velocity) + model.potential_energy(q))
