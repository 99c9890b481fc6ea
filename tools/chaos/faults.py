"""List of faults, and the setup of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

from robot_dynamics_ros.base.resources import robot_urdf
from tools.chaos.breaking import (
    Breaking,
    describe,
    disturb,
    jump,
    kill,
    reset_by_hand,
    stand_still,
)
from tools.chaos.flooding import call, flood, flood_recorder, flood_trajectory_node
from tools.chaos.recording import fill_disk, kill_recorder, pause_recorder
from tools.chaos.rig import CONTROLLER, PLANT, RATE


class Fault(NamedTuple):
    """Row of the table; ``controller`` and ``plant`` are parameters in addition to those of every setup."""

    title: str
    breaking: Breaking
    network: bool = False
    controller: Mapping[str, object] = {}
    plant: Mapping[str, object] = {}


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
        "/clock": "rosgraph_msgs/msg/Clock",
    },
    PLANT: {
        "effort_commands": "std_msgs/msg/Float64MultiArray",
        "external_wrench": "geometry_msgs/msg/WrenchStamped",
    },
}
CALLED = ("computed_torque_node/clear_fault", "computed_torque_node/set_parameters")


def _floods() -> Iterator[Fault]:
    for name, topics in FLOODED.items():
        for topic, kind in topics.items():
            # With the network in between, plant and controller publish on other topics, separate from the junk.
            apart = topic in ("joint_states", "effort_commands")
            title = f"50 kHz of junk on {_private(topic)} of the {name}"
            breaking = partial(flood, {topic: kind}, name)
            yield (
                _simulated(title, breaking)
                if topic == "/clock"
                else Fault(title, breaking, network=apart)
            )
    for name, topics in FLOODED.items():
        breaking = partial(
            flood,
            {topic: kind for topic, kind in topics.items() if topic != "/clock"},
            name,
        )
        slow = partial(breaking, rate=1000.0, seconds=10.0)
        yield Fault(f"1 kHz of junk on each topic of the {name}", slow, network=True)
    yield Fault(
        "50 kHz of junk on joint_states of trajectory_node", flood_trajectory_node
    )
    yield Fault("50 kHz of junk on a recorded topic", flood_recorder)
    for service in CALLED:
        yield Fault(f"calls of {_private(service)}", partial(call, service, CONTROLLER))


def _private(name: str) -> str:
    return name.replace("computed_torque_node", "~")


def _simulated(title: str, breaking: Breaking) -> Fault:
    """Return a fault of /clock alone, which triggers the controller's cycles here."""
    plant = {"use_sim_time": True, "publish_clock": True}
    controller = {"use_sim_time": True, "update_rate": RATE / 2.0}
    return Fault(
        f"{title} (use_sim_time, update_rate)", breaking, True, controller, plant
    )


FAULTS = (
    Fault("none (for comparison)", lambda rig: disturb(rig, delay=0.0), network=True),
    Fault(
        "controller killed (SIGKILL), restarted after 2 s", partial(kill, CONTROLLER)
    ),
    Fault("controller stopped (SIGSTOP) for 2 s", partial(stand_still, CONTROLLER)),
    Fault("plant killed (SIGKILL), restarted after 2 s", partial(kill, PLANT)),
    Fault("plant stopped (SIGSTOP) for 2 s", partial(stand_still, PLANT)),
    Fault("plant stopped (SIGSTOP) for 2 s, fault_reset: manual", reset_by_hand),
    Fault(
        "network: delay of 5 ms", lambda rig: disturb(rig, delay=0.005), network=True
    ),
    Fault(
        "network: delay of 50 ms", lambda rig: disturb(rig, delay=0.05), network=True
    ),
    Fault(
        "network: delay of 0 to 20 ms",
        lambda rig: disturb(rig, jitter=0.02),
        network=True,
    ),
    Fault("network: 30 % dropped", lambda rig: disturb(rig, dropped=0.3), network=True),
    Fault("network: all dropped", lambda rig: disturb(rig, dropped=1.0), network=True),
    Fault(
        "network: 10 % delayed by 10 ms, out of order",
        lambda rig: disturb(rig, reordered=0.1),
        network=True,
    ),
    Fault(
        "network: 30 % repeated after 10 ms",
        lambda rig: disturb(rig, doubled=0.3),
        network=True,
    ),
    Fault(
        "stamps of joint_states jump by +10 s",
        lambda rig: jump(rig, stamp_offset=10.0),
        network=True,
    ),
    Fault(
        "stamps of joint_states jump by -10 s",
        lambda rig: jump(rig, stamp_offset=-10.0),
        network=True,
    ),
    Fault(
        "stamps of joint_states jump by +1 h",
        lambda rig: jump(rig, stamp_offset=3600.0),
        network=True,
    ),
    _simulated("/clock jumps by +10 s", lambda rig: jump(rig, clock_offset=10.0)),
    _simulated("/clock jumps by -10 s", lambda rig: jump(rig, clock_offset=-10.0)),
    _simulated("/clock stops for 2 s", lambda rig: disturb(rig, clock_stopped=1.0)),
    Fault(
        "robot_description: another robot",
        lambda rig: describe(rig, robot_urdf("ur5e").read_text("utf-8")),
    ),
    Fault("robot_description: invalid URDF", lambda rig: describe(rig, "<robot><link")),
    Fault("recorder killed (SIGKILL)", kill_recorder),
    Fault("recorder stopped (SIGSTOP) for 2 s", pause_recorder),
    Fault("disk of the recorder full", fill_disk),
    *_floods(),
)
