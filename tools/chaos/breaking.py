"""What is done to plant, controller and the network between them, each for a while."""

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
"""Breaks something, sets the marks "begin" and "end", and returns what else there is to say."""


def kill(name: str, rig: Rig) -> str:
    """Kill -9, and start it again."""
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
    """Stop a process and let it go on."""
    rig.mark("begin")
    rig.signal(name, signal.SIGSTOP)
    rig.watch(LASTS)
    rig.mark("end")
    rig.signal(name, signal.SIGCONT)
    rig.watch(0.5)
    return ""


def reset_by_hand(rig: Rig) -> str:
    """The plant stands still; then it goes on, and a trajectory comes, but only ~/clear_fault ends the fault."""
    # Not from the start on: a busy machine may start with a fault.
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
        f"{until - since:.1f} s later the mode was {mode}, a trajectory was {'refused' if refused else 'taken'}, "
        f"the arm had moved by {1e3 * moved(rig, since, until):.2g} mrad; ~/clear_fault answered: {answer.message}"
    )


def moved(rig: Rig, since: float, until: float) -> float:
    """The furthest that a joint went from where it was at ``since``, rad."""
    received = Received()
    for at, data in zip(rig.states.times, rig.states.messages, strict=True):
        if since <= at <= until:
            received.add(at, data)
    position = joints(received, rig.model.joint_names).position
    return float(np.abs(position - position[0]).max())


def disturb(rig: Rig, **settings: float) -> str:
    """A bad network for a while."""
    rig.set_network(**settings)
    rig.mark("begin")
    rig.watch(LASTS)
    rig.mark("end")
    rig.set_network(**dict.fromkeys(settings, 0.0))
    rig.watch(0.5)
    return ""


def jump(rig: Rig, **settings: float) -> str:
    """A clock jumps, and stays so."""
    rig.mark("begin")
    rig.set_network(**settings)
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
