"""Recordings of arms that P control holds at rest under friction, by the balance of torques alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.recordings.bags import BagWriter, JointSeries
from robot_dynamics_ros.recordings.messages.joint_state import JointStateWriter
from support.arms import Array

RATE = 50.0  # Hz
_JOINT_STATE = "sensor_msgs/msg/JointState"
_APPROACH = 0.1  # rad


def held_poses(
    truth: RobotModel,
    stiffness: Any,
    friction: Any,
    poses: Array,
    sides: Sequence[float] = (1.0, -1.0),
    stuck: Any = np.nan,
) -> tuple[JointSeries, Array]:
    """Return joint states at poses (r, n) that each joint approaches from both sides, and the commands (m, n).

    Joints that are ``stuck`` (n,) at a position stay there. The position of the others solves
    stiffness (command - q) = g(q) + friction in the direction of motion, as while sliding slowly.
    """
    positions = []
    commands = []
    efforts = []
    for pose in poses:
        for side in sides:
            ramp = np.linspace(-_APPROACH, 0.0, round(0.4 * RATE))
            for offset in (*ramp, *np.zeros(round(1.2 * RATE))):
                command = pose + side * offset
                q = command
                for _ in range(30):
                    load = truth.gravity_torque(q) + side * friction
                    q = np.where(np.isnan(stuck), command - load / stiffness, stuck)
                positions.append(q)
                commands.append(command)
                efforts.append(stiffness * (command - q))
    return series_of(truth, positions, efforts), np.array(commands)


def series_of(model: RobotModel, positions: Any, efforts: Any) -> JointSeries:
    """Return the joint states of positions and efforts (m, n) at RATE."""
    stamps = (10**9 * (1.0 + np.arange(len(positions)) / RATE)).astype(np.int64)
    q = np.array(positions)
    return JointSeries(
        model.joint_names, stamps, stamps, q, np.zeros_like(q), np.array(efforts)
    )


def write_held_poses(path: Path, series: JointSeries, command: Array) -> Path:
    """Write a bag with joint_states, without efforts that are NaN, and command_states."""
    topics = {"/joint_states": _JOINT_STATE, "/command_states": _JOINT_STATE}
    writer = JointStateWriter(series.joint_names)
    with BagWriter(path, topics) as bag:
        for stamp, q, set_point, tau in zip(
            series.stamps.tolist(), series.position, command, series.effort, strict=True
        ):
            effort = np.empty(0) if np.isnan(tau).any() else tau
            rest = 0.0 * q
            bag.write("/joint_states", stamp, writer.write(stamp, q, rest, effort))
            bag.write(
                "/command_states", stamp, writer.write(stamp, set_point, rest, rest)
            )
    return path
