"""Plants that several tests need: one prismatic mass, one rotor, and arms with friction of any kind."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.dynamics.description.dynamics_file import parse_dynamics_file
from robot_dynamics_ros.simulation import Plant
from support import arms
from support.event_plant import EventPlant

#: The two integrators of Plant, and EventPlant.
INTEGRATORS = ("rk4", "semi_implicit")
METHODS = (*INTEGRATORS, "event")
#: By joint, as in the dynamics file.
Friction = Mapping[str, Mapping[str, Any]]

WIDE = '<limit lower="-1e6" upper="1e6" effort="1e9" velocity="100"/>'


def slider(
    mass: float,
    coulomb: float,
    gravity: Any,
    limit: str = WIDE,
    viscous: float = 0.0,
    **keywords: Any,
) -> Plant:
    """Return a mass on a prismatic joint along x with Coulomb friction."""
    friction = f'<dynamics damping="{viscous!r}" friction="{coulomb!r}"/>'
    joint = arms.Joint(
        "slide",
        "prismatic",
        "base",
        "block",
        axis=(1, 0, 0),
        limit=limit,
        extra=friction,
    )
    arm = arms.Arm((arms.Link("base"), arms.Link("block", mass)), (joint,))
    return Plant(RobotModel.from_urdf(arm.urdf, gravity=gravity), **keywords)


def unlimited(urdf: Path) -> str:
    """Return the URDF with every revolute joint continuous, so that no limit stops a motion."""
    text = urdf.read_text()
    assert 'type="prismatic"' not in text
    return text.replace('type="revolute"', 'type="continuous"')


def start(
    model: RobotModel, method: str, step_size: float = 0.001, **keywords: Any
) -> Plant | EventPlant:
    """Return a plant for one of METHODS."""
    if method == "event":
        return EventPlant(model, step_size, **keywords)
    return Plant(model, method, step_size, **keywords)


def with_friction(urdf: str, friction: Friction, **keywords: Any) -> RobotModel:
    """Return the robot with this friction, in the form of the dynamics file."""
    content = yaml.safe_dump(
        {"joints": {name: dict(values) for name, values in friction.items()}}
    )
    return RobotModel.from_urdf(
        urdf, dynamics=parse_dynamics_file(content, "friction.yaml"), **keywords
    )


def turning(inertia: float, **friction: Any) -> RobotModel:
    """Return one body that rotates about the vertical through its centre of mass."""
    body = arms.Link("body", 1.0, inertia=inertia * np.eye(3))
    arm = arms.Arm(
        (arms.Link("base"), body), (arms.Joint("turn", "continuous", "base", "body"),)
    )
    return with_friction(arm.urdf, {"turn": friction})


def planar(
    friction: Friction,
    gravity: Any = (0.0, -9.81, 0.0),
    limit1: str = WIDE,
    limit2: str = WIDE,
) -> RobotModel:
    """Return two uniform rods with joints about z: 4 kg of 0.5 m, 3 kg of 0.4 m."""
    rods = [
        arms.Link("", m, (a / 2, 0, 0), arms.thin_rod(m, a))
        for m, a in ((4.0, 0.5), (3.0, 0.4))
    ]
    arm = (
        arms.planar_2r(0.5, 0.4, *rods)
        .with_joint("joint1", limit=limit1)
        .with_joint("joint2", limit=limit2)
    )
    return with_friction(arm.urdf, friction, gravity=gravity)


def random_robot(rng: np.random.Generator, most: int = 6) -> RobotModel:
    """Return a random tree with friction of every kind on most joints, and position limits around zero on some."""
    n = int(rng.integers(1, most + 1))
    parents = [int(rng.integers(0, k + 1)) for k in range(n)]
    arm = arms.random_arm(
        rng, parents, [str(rng.choice(arms.MOVABLE)) for _ in range(n)]
    )
    friction: dict[str, dict[str, Any]] = {}
    for joint in arm.joints:
        mine: dict[str, Any] = friction.setdefault(joint.name, {})
        if rng.random() < 0.8:
            mine["coulomb"] = float(rng.uniform(0.0, 5.0))
        if rng.random() < 0.5:
            mine["coulomb_negative"] = float(rng.uniform(0.0, 5.0))
        if rng.random() < 0.5:
            mine["viscous"] = float(rng.uniform(0.0, 1.0))
        if rng.random() < 0.4:
            mine |= {"static": 6.0, "stribeck_velocity": float(rng.uniform(0.05, 0.3))}
        if rng.random() < 0.3:
            mine["ripple"] = {"amplitude": 0.5, "per_turn": 5.0, "phase": 0.3}
        if rng.random() < 0.3:
            mine["sigmoid"] = {"amplitude": 0.5, "slope": 3.0, "shift": 0.1}
        if rng.random() < 0.5 and joint.type != "continuous":
            arm = arm.with_joint(
                joint.name,
                limit='<limit lower="-0.3" upper="0.4" effort="1000" velocity="100"/>',
            )
    return with_friction(arm.urdf, friction)
