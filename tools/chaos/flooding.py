"""Junk on topics and services, and the effect on the receiving process."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping

import numpy as np
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics_ros.cli.processes import NodeProcess
from tools.chaos.recording import (
    JOINT_STATES,
    RECORDED,
    kept,
    start_recorder,
    stop_recorder,
)
from tools.chaos.rig import NODES, RECORDER, TRAJECTORY, TRAJECTORY_TOPIC, Flood, Rig

JUNK_TOPIC = "flooded"  # a recorded topic without other publishers


def flood(
    topics: Mapping[str, str],
    name: str,
    rig: Rig,
    rate: float = 50_000.0,
    seconds: float = 3.0,
) -> None:
    """Publish junk on topics at ``rate`` (Hz) each for ``seconds``."""
    pairs = [f"{topic}={kind}" for topic, kind in topics.items()]
    how = [
        "--rate",
        str(rate),
        "--seconds",
        str(seconds),
        "--joints",
        *rig.model.joint_names,
    ]
    _send(rig, name, *pairs, *how)


def call(service: str, name: str, rig: Rig) -> None:
    """Call a service as fast as one client can."""
    _send(rig, name, service)


def flood_recorder(rig: Rig) -> str:
    """Publish junk on a recorded topic, then stop the recorder with SIGINT."""
    kind = "sensor_msgs/msg/JointState"
    publisher = rig.node.create_publisher(JointState, JUNK_TOPIC, QoSProfile(depth=10))
    bag = start_recorder(rig, [*RECORDED, f"/{JUNK_TOPIC}"])
    flood({JUNK_TOPIC: kind}, RECORDER, rig)
    rig.node.destroy_publisher(publisher)
    stop_recorder(rig)
    found = kept(rig, bag)
    return f"the bag has {found.counts[f'/{JUNK_TOPIC}']} messages of junk; {found.losses(rig)}"


def flood_trajectory_node(rig: Rig) -> str:
    """Publish junk on joint_states of a waiting trajectory_node, then valid states, and check its trajectory."""
    parameters = {
        "trajectory.kind": "point_to_point",
        "trajectory.center": [float(q) for q in rig.ready],
        "listeners": ["latecomer"],
    }
    remaps = (
        "joint_states:=flooded/joint_states",
        f"joint_trajectory:={TRAJECTORY_TOPIC}",
    )
    started = rig.start(TRAJECTORY, NODES + "trajectory_node", parameters, remaps)
    rig.wait(
        lambda: "waiting for joint_states" in started.log.read_text(), "trajectory_node"
    )
    flood({"flooded/joint_states": "sensor_msgs/msg/JointState"}, TRAJECTORY, rig)
    states = rig.node.create_publisher(
        JointState, "flooded/joint_states", QoSProfile(depth=10)
    )
    forwarded = rig.node.create_subscription(
        JointState, JOINT_STATES, states.publish, QoSProfile(depth=10), raw=True
    )
    first: list[JointTrajectory] = []
    latecomer = rig.latecomer("latecomer")
    latecomer.create_subscription(
        JointTrajectory, TRAJECTORY_TOPIC, first.append, QoSProfile(depth=5)
    )
    rig.wait(
        lambda: first and started.process.poll() is not None,
        "trajectory_node to send its trajectory",
    )
    rig.node.destroy_subscription(forwarded)
    away = np.abs(np.array(first[0].points[0].positions) - rig.position).max()
    return f"the trajectory that it then sent began {1e3 * away:.3g} mrad from the arm"


def _send(rig: Rig, name: str, *arguments: str) -> None:
    """Run a sender until it ends, and add the measurements to ``rig.floods``."""
    before = rig.processes[name].memory()
    command = [sys.executable, "-m", "tools.chaos.flood", *arguments]
    sender = NodeProcess("flood", rig.folder / "flood.log", command, rig.environment)
    try:
        rig.wait(lambda: "begin" in sender.log.read_text(), "the flood")
        rig.mark("begin")
        rig.wait(lambda: sender.process.poll() is not None, "the end of the flood")
    finally:
        sender.process.kill()
        sender.process.wait()
    rig.mark("end")
    rig.watch(0.5)
    reported = re.search(r"(\d+) \w+ in ([\d.]+) s", sender.log.read_text())
    assert reported is not None, sender.log.read_text()
    rate = float(reported[1]) / float(reported[2])
    growth = rig.processes[name].memory() - before
    size = rig.processes[name].log.stat().st_size
    rig.floods.append(Flood(rate, growth, 1e-6 * size))
