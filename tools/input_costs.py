"""Measure the largest time and memory for one message or file: `python -m tools.input_costs`."""

from __future__ import annotations

import resource
import struct
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.robots import shipped
from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.control.configuration.settings import ControllerSettings
from robot_dynamics_ros.control.controller import make_controller
from robot_dynamics_ros.recordings.bags import BagReader
from robot_dynamics_ros.recordings.bags.storage import zstd
from robot_dynamics_ros.recordings.messages.joint_trajectory import read_trajectory
from robot_dynamics_ros.recordings.thresholds import LARGEST_UNPACKED
from support.crafted_bags import chunk, many_names, mcap, mcap_messages

_LINK = (
    '<link name="l{0}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    '</link><joint name="j{0}" type="continuous"><parent link="l{1}"/><child link="l{0}"/></joint>'
)


def points(count: int) -> Callable[[], object]:
    """Return a function that reads and follows a trajectory of ``count`` points with a controller of the Panda."""
    model = shipped("panda")
    controller = make_controller(model, ControllerSettings())
    middle = 0.5 * (model.position_lower + model.position_upper)
    controller.measure(0.0, 0.0, middle, np.zeros(model.n))
    controller.update(0.0, 0.0)
    times = 0.01 * (1 + np.arange(count))
    table = middle + 0.1 * np.sin(times)[:, None]
    return lambda: controller.follow(
        TrajectoryPoints(model.joint_names, times, table), None, 0.0
    )


def effort_goal() -> Callable[[], object]:
    """Return a function that deserializes a goal of 20,000 points with rclpy."""
    from rclpy.serialization import deserialize_message, serialize_message
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    message = JointTrajectory(
        joint_names=["a"] * 7,
        points=[JointTrajectoryPoint(positions=[0.0] * 7)] * 20_000,
    )
    data = serialize_message(message)
    return lambda: deserialize_message(data, JointTrajectory)


def efforts() -> Callable[[], object]:
    """Return a function that deserializes ten million efforts with rclpy."""
    from rclpy.serialization import deserialize_message
    from std_msgs.msg import Float64MultiArray

    data = b"\0\1\0\0" + struct.pack("<IIII", 0, 0, 10_000_000, 0) + bytes(80_000_000)
    return lambda: deserialize_message(data, Float64MultiArray)


def joints(count: int) -> Callable[[], object]:
    """Return a function that loads a chain of ``count`` joints."""
    text = (
        '<robot name="r"><link name="l0"/>'
        + "".join(_LINK.format(k + 1, k) for k in range(count))
        + "</robot>"
    )
    return lambda: RobotModel.from_urdf(text)


def bag(folder: Path, chunks: list[bytes]) -> Callable[[], object]:
    """Return a function that reads all messages of a bag."""
    file = mcap(folder / "bag.mcap", chunks)
    print(f"({file.stat().st_size} bytes) ", end="", flush=True)

    def read() -> int:
        with BagReader(file) as reader:
            return sum(1 for _ in reader.messages())

    return read


def packed(messages: int, size: int) -> bytes:
    """Return a chunk of ``messages`` messages."""
    data = mcap_messages(messages, size)
    return chunk(data, "zstd", zstd.compress(data))


def names() -> Callable[[], object]:
    """Return a function that reads a trajectory message with a million empty names."""
    data = many_names(1_000_000)
    return lambda: read_trajectory(data)


CASES: dict[str, Callable[[Path], Callable[[], object]]] = {
    "trajectory of 100000 points, followed": lambda folder: points(100_000),
    "trajectory of a million names": lambda folder: names(),
    "action goal of 20000 points, in rclpy": lambda folder: effort_goal(),
    "10 million efforts, in rclpy": lambda folder: efforts(),
    "URDF of 10000 joints": lambda folder: joints(10_000),
    "bag of one chunk of the smallest messages": lambda folder: bag(
        folder, [packed((LARGEST_UNPACKED - 100) // 31, 0)]
    ),
    "bag of 20 chunks that overlap": lambda folder: bag(
        folder, [packed(100, 1_300_000)] * 20
    ),
}


def measure(name: str) -> None:
    """Run a case and print time, memory and result."""
    warnings.simplefilter("ignore")
    print(f"{name:<45}", end="", flush=True)
    with TemporaryDirectory() as folder:
        run = CASES[name](Path(folder))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.monotonic()
        try:
            run()
            reported = "taken"
        except RobotDynamicsError as problem:
            reported = f"refused: {problem}".replace(folder, "")[:60]
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"{time.monotonic() - start:8.3f} s {grown:6.0f} MB  {reported}")


if __name__ == "__main__":
    if sys.argv[1:]:
        measure(sys.argv[1])
    else:
        for case in CASES:  # each in a process of its own, to measure its memory
            subprocess.run(
                [sys.executable, "-m", "tools.input_costs", case], check=True
            )
