"""Plants that several tests need: one sliding mass, one pendulum, the Panda without position limits."""

from pathlib import Path
from typing import Any

import arms

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.simulation import Plant

WIDE = '<limit lower="-1e6" upper="1e6" effort="1e9" velocity="100"/>'


def slider(
    mass: float, coulomb: float, gravity: Any, limit: str = WIDE, viscous: float = 0.0, **keywords: Any
) -> Plant:
    """A mass that slides along x with Coulomb friction."""
    arm = arms.Arm(
        (arms.Link("base"), arms.Link("block", mass)),
        (
            arms.Joint(
                "slide",
                "prismatic",
                "base",
                "block",
                axis=(1, 0, 0),
                limit=limit,
                extra=f'<dynamics damping="{viscous!r}" friction="{coulomb!r}"/>',
            ),
        ),
    )
    return Plant(RobotModel.from_urdf(arm.urdf, gravity=gravity), **keywords)


def pendulum(mass: float, length: float, coulomb: float, **keywords: Any) -> Plant:
    """A point mass that swings about y; q = 0 hangs straight down."""
    arm = arms.Arm(
        (arms.Link("base"), arms.Link("bob", mass, (0, 0, -length))),
        (
            arms.Joint(
                "swing",
                "continuous",
                "base",
                "bob",
                axis=(0, 1, 0),
                extra=f'<dynamics friction="{coulomb!r}"/>',
            ),
        ),
    )
    return Plant(RobotModel.from_urdf(arm.urdf), **keywords)


def unlimited(urdf: Path) -> str:
    """The URDF's text with every revolute joint continuous, so that no limit stops a motion."""
    text = urdf.read_text()
    assert 'type="prismatic"' not in text
    return text.replace('type="revolute"', 'type="continuous"')
