"""The faults: what is broken, for how long, and what was promised for it."""

from __future__ import annotations

import re
import resource
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

from benchmarks.chaos.rig import CONTROLLER, NODES, PLANT, RATE, RECORDER, Rig
from robot_dynamics_ros.bags import BagReader
from robot_dynamics_ros.errors import BagWarning
from robot_dynamics_ros.messages.joint_state import stamp_of
from robot_dynamics_ros.resources import robot_urdf

LASTS = 2.0  # s
RECORDS = 5.0  # s before something happens to the recorder
RECORDED = ["/joint_states", "/effort_commands", "/computed_torque_node/command_states"]

Breaking = Callable[[Rig], str]
"""Breaks something, sets the marks "begin" and "end", and returns what else there is to say."""


class Fault(NamedTuple):
    """A row of the table."""

    title: str
    breaking: Breaking
    network: bool = False


def kill(name: str, rig: Rig) -> str:
    """Kill -9, and start it again."""
    rig.mark("begin")
    rig.mark("dead")
    rig.signal(name, signal.SIGKILL)
    rig.watch(LASTS)
    rig.mark("end")
    rig.mark("restarted")
    if name == PLANT:
        rig.mark("arm_lost")
    rig.restart(name)
    rig.watch(0.5)
    return ""


def stand_still(name: str, rig: Rig) -> str:
    """Stop a process and let it go on."""
    rig.mark("begin")
    if name == CONTROLLER:
        rig.mark("dead")
    rig.signal(name, signal.SIGSTOP)
    rig.watch(LASTS)
    rig.mark("end")
    rig.signal(name, signal.SIGCONT)
    rig.watch(0.5)
    return ""


def disturb(rig: Rig, **settings: float) -> str:
    """A bad network for a while."""
    rig.set_network(**settings)
    rig.mark("begin")
    rig.watch(LASTS)
    rig.mark("end")
    rig.set_network(**dict.fromkeys(settings, 0.0))
    rig.watch(0.5)
    return ""


def jump(rig: Rig, seconds: float) -> str:
    """The clock that joint_states are stamped with jumps, and stays so."""
    rig.mark("begin")
    rig.set_network(clock_offset=seconds)
    rig.watch(LASTS)
    rig.mark("end")
    return ""


def describe(rig: Rig, urdf: str) -> str:
    """Another robot on the latched topic robot_description."""
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    publisher = rig.node.create_publisher(String, "robot_description", latched)
    rig.wait(lambda: publisher.get_subscription_count() >= 2, "both nodes to listen")
    rig.mark("begin")
    publisher.publish(String(data=urdf))
    rig.watch(LASTS)
    rig.mark("end")
    return ""


def flood(topic: str, kind: str, name: str, rig: Rig) -> str:
    """Junk on a topic, as fast as one process can send it; returns the rate."""
    before = rig.processes[name].memory()
    arguments = [topic, kind, "--joints", *rig.model.joint_names]
    with (rig.folder / "flood.log").open("w") as log:
        sender = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.chaos.flood", *arguments],
            env=rig.environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        rig.wait(lambda: "begin" in (rig.folder / "flood.log").read_text(), "the flood")
        rig.mark("begin")
        rig.wait(lambda: sender.poll() is not None, "the end of the flood")
    finally:
        sender.kill()
        sender.wait()
    rig.mark("end")
    rig.watch(1.0)
    said = re.search(r"(\d+) messages in ([\d.]+) s", (rig.folder / "flood.log").read_text())
    assert said is not None
    rate = float(said[1]) / float(said[2])
    growth, size = rig.processes[name].memory() - before, rig.processes[name].log.stat().st_size
    return f"{rate:.0f} messages/s, memory {growth:+.1f} MB, log {1e-6 * size:.1f} MB"


def _floods() -> Iterator[Fault]:
    for name, topics in FLOODED.items():
        for topic, kind in topics.items():
            # Behind the network what plant and controller really send is on other topics, and can be told from junk.
            apart = topic in ("joint_states", "effort_commands")
            title = f"50 kHz of junk on {topic.replace('computed_torque_node', '~')} of the {name}"
            yield Fault(title, partial(flood, topic, kind, name), network=apart)


def start_recorder(rig: Rig) -> Path:
    """Let a recorder record, and wait until it has some seconds of it and the arm follows; returns the bag."""
    bag = rig.folder / "bag"
    topics = {"output": str(bag), "topics": RECORDED}
    recorder = rig.start(RECORDER, NODES + "recorder_node", topics)
    rig.wait(lambda: re.search(r'"/joint_states": [1-9]', recorder.log.read_text()), "the recorder")
    rig.watch(RECORDS)
    rig.await_following("the start of the recorder")
    return bag


def kill_recorder(rig: Rig) -> str:
    """Kill -9 the recorder, and read what it leaves."""
    bag = start_recorder(rig)
    killed = rig.mark("begin")
    rig.signal(RECORDER, signal.SIGKILL)
    rig.watch(LASTS)
    rig.mark("end")
    return kept(rig, bag, killed)


def fill_disk(rig: Rig) -> str:
    """No file of the recorder may grow any more: what its next write gets is the error of a full disk."""
    bag = start_recorder(rig)
    size = sum(file.stat().st_size for file in bag.iterdir())
    full = rig.mark("begin")
    limit = size + 10_000
    resource.prlimit(rig.processes[RECORDER].number, resource.RLIMIT_FSIZE, (limit, limit))
    rig.wait(lambda: rig.processes[RECORDER].process.poll() is not None, "the recorder to see it", 30.0)
    rig.mark("end")
    said = rig.processes[RECORDER].tail().splitlines()[-1].replace(f"{rig.folder}/", "")
    return f"{kept(rig, bag, full)}; it said: {said}"


def kept(rig: Rig, bag: Path, moment: float) -> str:
    """How much of what came until a moment is in the bag."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BagWarning)
        with BagReader(bag) as reader:
            stamps = {stamp_of(message.data) for message in reader.messages(["/joint_states"])}
    sent = [stamp_of(data) for at, data in zip(rig.states.times, rig.states.messages, strict=True) if at <= moment]
    first = sent.index(min(stamps & set(sent), key=lambda stamp: stamp or 0))
    lost = [stamp for stamp in sent[first:] if stamp not in stamps]
    return f"{len(sent) - first} states were sent, the last {len(lost)} of them are lost ({len(lost) / RATE:.2f} s)"


FLOODED = {
    CONTROLLER: {
        "joint_states": "sensor_msgs/msg/JointState",
        "computed_torque_node/joint_trajectory": "trajectory_msgs/msg/JointTrajectory",
        "computed_torque_node/speed_scaling_factor": "std_msgs/msg/Float64",
        "computed_torque_node/payload": "geometry_msgs/msg/InertiaStamped",
        "computed_torque_node/target_pose": "geometry_msgs/msg/PoseStamped",
        "computed_torque_node/target_twist": "geometry_msgs/msg/TwistStamped",
        "computed_torque_node/target_acceleration": "geometry_msgs/msg/AccelStamped",
        "robot_description": "std_msgs/msg/String",
    },
    PLANT: {
        "effort_commands": "std_msgs/msg/Float64MultiArray",
        "external_wrench": "geometry_msgs/msg/WrenchStamped",
    },
}

FAULTS = (
    Fault("nothing (for comparison)", lambda rig: disturb(rig, delay=0.0), network=True),
    Fault("controller killed (-9), started again 2 s later", partial(kill, CONTROLLER)),
    Fault("controller stopped for 2 s", partial(stand_still, CONTROLLER)),
    Fault("plant killed (-9), started again 2 s later", partial(kill, PLANT)),
    Fault("plant stopped for 2 s", partial(stand_still, PLANT)),
    Fault("network: 5 ms late", lambda rig: disturb(rig, delay=0.005), network=True),
    Fault("network: 50 ms late", lambda rig: disturb(rig, delay=0.05), network=True),
    Fault("network: 0 to 20 ms late", lambda rig: disturb(rig, jitter=0.02), network=True),
    Fault("network: 30 % dropped", lambda rig: disturb(rig, dropped=0.3), network=True),
    Fault("network: all dropped", lambda rig: disturb(rig, dropped=1.0), network=True),
    Fault("network: 10 % come 10 ms late, out of order", lambda rig: disturb(rig, reordered=0.1), network=True),
    Fault("network: 30 % come again 10 ms later", lambda rig: disturb(rig, doubled=0.3), network=True),
    Fault("clock of joint_states jumps by +10 s", lambda rig: jump(rig, 10.0), network=True),
    Fault("clock of joint_states jumps by -10 s", lambda rig: jump(rig, -10.0), network=True),
    Fault("clock of joint_states jumps by +1 h", lambda rig: jump(rig, 3600.0), network=True),
    Fault("robot_description: another robot", lambda rig: describe(rig, robot_urdf("ur5e").read_text("utf-8"))),
    Fault("robot_description: no URDF", lambda rig: describe(rig, "<robot><link")),
    Fault("recorder killed (-9)", kill_recorder),
    Fault("disk full under the recorder", fill_disk),
    *_floods(),
)
