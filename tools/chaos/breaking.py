"""Faults of plant, controller and network, each for a limited time."""

from __future__ import annotations

import signal
from collections.abc import Callable

import numpy as np
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String
from std_srvs.srv import Trigger

from tools.chaos.record import Received, joints
from tools.chaos.rig import CONTROLLER, PLANT, Rig

LASTS = 2.0  # s

Breaking = Callable[[Rig], str]
"""Function that injects a fault, sets the marks "begin" and "end", and returns further results as text."""


def kill(name: str, rig: Rig) -> str:
    """Send SIGKILL, and start the process again."""
    rig.mark("begin")
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
    """Stop a process with SIGSTOP, and continue it later."""
    rig.mark("begin")
    rig.signal(name, signal.SIGSTOP)
    rig.watch(LASTS)
    rig.mark("end")
    rig.signal(name, signal.SIGCONT)
    rig.watch(0.5)
    return ""


def reset_by_hand(rig: Rig) -> str:
    """Stop the plant; after it continues a trajectory is sent, but only ~/clear_fault ends the fault."""
    # Set later, because a busy machine may start with a fault.
    rig.set_parameters("computed_torque_node", {"fault_reset": "manual"})
    stand_still(PLANT, rig)
    since = rig.mark("fault")
    begin = rig.processes[CONTROLLER].log.stat().st_size
    rig.swing(rig.position)
    rig.watch(LASTS)
    refused = b"trajectory refused" in rig.processes[CONTROLLER].log.read_bytes()[begin:]
    until = rig.mark("end")
    mode = rig.reports[-1].mode
    answer = rig.call(Trigger, "computed_torque_node/clear_fault", Trigger.Request())
    rig.set_parameters("computed_torque_node", {"fault_reset": "auto"})
    return (
        f"{until - since:.1f} s later: mode {mode}, trajectory {'refused' if refused else 'accepted'}, "
        f"displacement {1e3 * moved(rig, since, until):.2g} mrad; response of ~/clear_fault: {answer.message}"
    )


def moved(rig: Rig, since: float, until: float) -> float:
    """Return the largest joint displacement (rad) from the position at ``since``."""
    received = Received()
    for at, data in zip(rig.states.times, rig.states.messages, strict=True):
        if since <= at <= until:
            received.add(at, data)
    position = joints(received, rig.model.joint_names).position
    return float(np.abs(position - position[0]).max())


def disturb(rig: Rig, **settings: float) -> str:
    """Degrade the network for a limited time."""
    rig.set_network(**settings)
    rig.mark("begin")
    rig.watch(LASTS)
    rig.mark("end")
    rig.set_network(**dict.fromkeys(settings, 0.0))
    rig.watch(0.5)
    return ""


def jump(rig: Rig, **settings: float) -> str:
    """Let a clock jump permanently."""
    rig.mark("begin")
    rig.set_network(**settings)
    rig.watch(LASTS)
    rig.mark("end")
    return ""


def describe(rig: Rig, urdf: str) -> str:
    """Publish another robot on the latched topic robot_description."""
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    publisher = rig.node.create_publisher(String, "robot_description", latched)
    rig.wait(lambda: publisher.get_subscription_count() >= 2, "both nodes to listen")
    rig.mark("begin")
    publisher.publish(String(data=urdf))
    rig.watch(LASTS)
    rig.mark("end")
    return ""
