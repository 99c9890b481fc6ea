"""Robots of the benchmarks: URDFs of the ``example-robot-data`` wheel."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CURE = "Cure: pip install example-robot-data, or run it with `make bench`"


class Robot(NamedTuple):
    """Path of a robot's URDF, and the joints that are locked at position 0."""

    title: str
    file: str
    locked: tuple[str, ...] = ()


ROBOTS = {
    "ur10": Robot("UR10", "ur_description/urdf/ur10_robot.urdf"),
    "panda": Robot("Panda", "panda_description/urdf/panda.urdf", ("panda_finger_joint1", "panda_finger_joint2")),
    "solo12": Robot("Solo12", "solo_description/robots/solo12.urdf"),
    "g1": Robot("G1", "g1_description/urdf/g1_29dof_rev_1_0.urdf"),
    "talos": Robot("Talos", "talos_data/robots/talos_reduced.urdf", ("gripper_left_joint", "gripper_right_joint")),
}


def urdf_file(robot: Robot) -> Path:
    """Return the path of the robot's URDF; SystemExit with the cure if the wheel is not installed."""
    try:
        wheel = distribution("example-robot-data")
    except PackageNotFoundError:
        raise SystemExit(f"The package of the benchmark's robots is not installed. {CURE}") from None
    path = Path(str(wheel.locate_file("cmeel.prefix/share/example-robot-data/robots"))) / robot.file
    if not path.is_file():
        raise SystemExit(f"{path}: does not exist, although example-robot-data {wheel.version} is installed. {CURE}")
    return path


class States(NamedTuple):
    """Random states (count, n), in rad, rad/s, rad/s^2 and Nm."""

    q: Floats
    qd: Floats
    qdd: Floats
    tau: Floats


def random_states(n: int, count: int, seed: int) -> States:
    """Return states in the whole circle, with velocities and accelerations of a few units and torques of some tens."""
    generator = np.random.default_rng(seed)
    q = generator.uniform(-np.pi, np.pi, (count, n))
    qd, qdd = generator.normal(0.0, 2.0, (2, count, n))
    return States(q, qd, qdd, generator.normal(0.0, 20.0, (count, n)))
