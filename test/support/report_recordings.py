"""Bags for tests of the report: an arm of two joints with known tracking error, torque and timing."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from robot_dynamics_ros.recordings.bags import BagWriter
from robot_dynamics_ros.recordings.messages.joint_state import JointStateWriter
from support.bag_recordings import JOINT_STATE, header, make, serialized

DIAGNOSTICS = "diagnostic_msgs/msg/DiagnosticArray"
STATES = "/joint_states"
COMMANDS = "/controller/command_states"
START = 1_700_000_000_000_000_000
PERIOD = 10_000_000
NONE = np.empty(0)

ARM = """<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="slide"><inertial><mass value="1"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="a" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="8" velocity="5"/></joint>
  <joint name="b" type="prismatic"><parent link="upper"/><child link="slide"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="500" velocity="5"/></joint>
</robot>"""


def diagnostics(
    level: int, message: str, name: str = "controller", **values: str
) -> bytes:
    """Return a diagnostics message; ``values`` are keys with underscores for spaces."""
    pairs = [
        make("diagnostic_msgs/msg/KeyValue", key.replace("_", " "), value)
        for key, value in values.items()
    ]
    status = make(
        "diagnostic_msgs/msg/DiagnosticStatus", level, name, message, "arm", pairs
    )
    return serialized(DIAGNOSTICS, header(12_000_000_000), [status])


def fault(before: str, after: str, message: str = "too fast") -> bytes:
    values = {"cause": "velocity_limit", "joint": "a", "value": "2.31"}
    level = 0 if after == "active" else 2
    return diagnostics(level, message, mode=after, previous_mode=before, **values)


def record(
    path: Path,
    cycles: int = 400,
    names: Sequence[str] = ("a", "b"),
    reported: Sequence[tuple[int, bytes]] = (),
    commands: bool = True,
    efforts: bool = True,
    lost: Sequence[int] = (),
    late: Sequence[int] = (),
    silent_diagnostics: bool = False,
) -> Path:
    """Write a run of 100 Hz: error 0.003 and -0.004 in turn on the first joint, latency 1 ms, 12 ms where late.

    ``reported`` are diagnostics, each with the cycle in which it arrives. ``silent_diagnostics`` adds their topic
    without a message.
    """
    writer = JointStateWriter(names)
    n = len(names)
    events: list[tuple[int, str, bytes]] = []
    for k in range(cycles):
        at = START + k * PERIOD
        desired = np.full(n, np.sin(0.05 * k))
        error = np.zeros(n)
        error[0] = 0.003 if k % 2 == 0 else -0.004
        torque = np.full(n, 3.0 + np.cos(0.1 * k))
        velocity = np.full(n, 5.0 * np.cos(0.05 * k))
        events.append(
            (
                at + 500,
                STATES,
                writer.write(
                    at, desired - error, velocity, torque if efforts else NONE
                ),
            )
        )
        if commands and k not in lost:
            latency = 12_000_000 if k in late else 1_000_000
            events.append(
                (
                    at + 500 + latency,
                    COMMANDS,
                    writer.write(at, desired, velocity, torque),
                )
            )
    events += [
        (START + cycle * PERIOD + 600, "/diagnostics", data) for cycle, data in reported
    ]
    topics = {STATES: JOINT_STATE} | ({COMMANDS: JOINT_STATE} if commands else {})
    topics |= {"/diagnostics": DIAGNOSTICS} if reported or silent_diagnostics else {}
    with BagWriter(path, topics) as bag:
        for received, topic, data in sorted(events, key=lambda event: event[0]):
            bag.write(topic, received, data)
    return path
