"""Robots of benchmarks and tools: URDFs of the ``example-robot-data`` wheel, shipped robots, random chains."""

from __future__ import annotations

import math
import warnings
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from numpy.typing import ArrayLike, NDArray

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.base.resources import dynamics_file, find_resource, robot_urdf
from robot_dynamics_ros.dynamics.model.link_tree import Link, LinkTree

Floats = NDArray[np.float64]


class Robot(NamedTuple):
    """Path of a robot's URDF, and the joints that are locked at position 0."""

    title: str
    file: str
    locked: tuple[str, ...] = ()


ROBOTS = {
    "ur10": Robot("UR10", "ur_description/urdf/ur10_robot.urdf"),
    "panda": Robot(
        "Panda",
        "panda_description/urdf/panda.urdf",
        ("panda_finger_joint1", "panda_finger_joint2"),
    ),
    "solo12": Robot("Solo12", "solo_description/robots/solo12.urdf"),
    "g1": Robot("G1", "g1_description/urdf/g1_29dof_rev_1_0.urdf"),
    "talos": Robot(
        "Talos",
        "talos_data/robots/talos_reduced.urdf",
        ("gripper_left_joint", "gripper_right_joint"),
    ),
}


def urdf_file(robot: Robot) -> Path:
    """Return the path of the robot's URDF in the wheel, which `make bench` installs."""
    folder = distribution("example-robot-data").locate_file(
        "cmeel.prefix/share/example-robot-data/robots"
    )
    return Path(str(folder)) / robot.file


def model_of(robot: Robot) -> RobotModel:
    """Return the model of a robot, with its locked joints."""
    with warnings.catch_warnings():
        # about properties that these URDFs do not define: friction, limits
        warnings.simplefilter("ignore")
        return RobotModel.from_urdf_file(
            urdf_file(robot), locked=dict.fromkeys(robot.locked, 0.0)
        )


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


def shipped(robot: str, dynamics: str = "") -> RobotModel:
    """Return a shipped robot with a shipped dynamics file, by default the one of its name, or "none"."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about properties that the files do not define
        return RobotModel.from_urdf_file(
            robot_urdf(robot), dynamics=dynamics_file(dynamics, robot)
        )


def shipped_parameters(robot: str) -> dict[str, Any]:
    """Return the ROS parameters of the shipped file config/<robot>.yaml."""
    file = yaml.safe_load(
        find_resource("config", f"{robot}.yaml").read_text(encoding="utf-8")
    )
    return dict(file["/**"]["ros__parameters"])


def random_chain(n: int) -> LinkTree:
    """Return a serial chain of ``n`` revolute joints with arbitrary placements and inertias."""
    generator = np.random.default_rng(560)
    links = []
    for i in range(n):
        rotation, _ = np.linalg.qr(generator.normal(size=(3, 3)))
        axes, _ = np.linalg.qr(generator.normal(size=(3, 3)))
        inertia = axes @ np.diag(generator.uniform(0.02, 0.03, 3)) @ axes.T
        position = generator.normal(0.0, 0.5, 3)
        com = generator.normal(0.0, 0.1, 3)
        rotation *= np.sign(np.linalg.det(rotation))
        links.append(
            Link(
                f"joint{i}",
                i - 1,
                False,
                rotation,
                position,
                generator.uniform(1.0, 5.0),
                com,
                inertia,
            )
        )
    return LinkTree(
        tuple(links), (), np.eye(n), np.empty((0, n)), generator.normal(size=3)
    )


def swing(
    names: tuple[str, ...],
    start: Floats,
    amplitude: ArrayLike,
    period: float,
    times: Floats,
) -> TrajectoryPoints:
    """Return a motion from ``start`` (n,) by 2 ``amplitude`` and back in each period, at rest at its end."""
    w = 2.0 * math.pi / period
    along = np.broadcast_to(np.asarray(amplitude), start.shape)
    velocity = w * np.outer(np.sin(w * times), along)
    velocity[-1] = 0.0  # exactly, without rounding errors
    position = start + np.outer(1.0 - np.cos(w * times), along)
    return TrajectoryPoints(
        names, times, position, velocity, w**2 * np.outer(np.cos(w * times), along)
    )
