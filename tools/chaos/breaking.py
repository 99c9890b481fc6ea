"""Faults of plant, controller and network, each for a limited time."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String
from std_srvs.srv import Trigger

from tools.chaos.figures import joints
from tools.chaos.rig import CONTROLLER, PLANT, Rig

LASTS = 2.0  # s

Breaking = Callable[[Rig], str | None]
"""Function that injects a fault, sets the marks "begin" and "end", and returns further results as text."""


@contextmanager
def lasting(rig: Rig) -> Iterator[None]:
    """Set the marks of a fault that begins in the context, and let it last."""
    rig.mark("begin")
    yield
    rig.watch(LASTS)
    rig.mark("end")


def kill(name: str, rig: Rig) -> None:
    """Send SIGKILL, and start the process again."""
    with lasting(rig):
        rig.signal(name, signal.SIGKILL)
    rig.mark("restarted")
    if name == PLANT:
        rig.mark("arm_lost")
    rig.restart(name)
    rig.watch(0.5)


def stand_still(name: str, rig: Rig) -> None:
    """Stop a process with SIGSTOP, and continue it later."""
    with lasting(rig):
        rig.signal(name, signal.SIGSTOP)
    rig.signal(name, signal.SIGCONT)
    rig.watch(0.5)


def reset_by_hand(rig: Rig) -> str:
    """Stop the plant; after it continues a trajectory is sent, but only ~/clear_fault ends the fault."""
    # Set later, because a busy machine may start with a fault.
    rig.set_parameters("computed_torque_node", {"fault_reset": "manual"})
    stand_still(PLANT, rig)
    since = rig.mark("fault")
    begin = rig.processes[CONTROLLER].log.stat().st_size
    rig.swing(rig.position)
    rig.watch(LASTS)
    refused = (
        b"trajectory refused" in rig.processes[CONTROLLER].log.read_bytes()[begin:]
    )
    until = rig.mark("end")
    mode = rig.reports[-1].mode
    answer = rig.call(Trigger, "computed_torque_node/clear_fault", Trigger.Request())
    rig.set_parameters("computed_torque_node", {"fault_reset": "auto"})
    states = [(at, data) for at, data in rig.states if since <= at <= until]
    position = joints(states, rig.model.joint_names).position
    return (
        f"{until - since:.1f} s later: mode {mode}, trajectory {'refused' if refused else 'accepted'}, "
        f"displacement {1e3 * np.abs(position - position[0]).max():.2g} mrad; response of ~/clear_fault: "
        f"{answer.message}"
    )


def disturb(rig: Rig, **settings: float) -> None:
    """Degrade the network for a limited time."""
    jump(rig, **settings)
    rig.set_parameters("network", dict.fromkeys(settings, 0.0))
    rig.watch(0.5)


def jump(rig: Rig, **settings: float) -> None:
    """Change the network permanently, for example let a clock jump."""
    with lasting(rig):
        rig.set_parameters("network", settings)


def describe(rig: Rig, urdf: str) -> None:
    """Publish another robot on the latched topic robot_description."""
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    publisher = rig.node.create_publisher(String, "robot_description", latched)
    rig.wait(lambda: publisher.get_subscription_count() >= 2, "both nodes to listen")
    with lasting(rig):
        publisher.publish(String(data=urdf))
