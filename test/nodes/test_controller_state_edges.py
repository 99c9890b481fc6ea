"""~/controller_state, and both control interfaces together, on messages that stand in for control_msgs.

With the true ones, which few machines have: test/integration/test_follow_joint_trajectory.py.
"""

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectoryPoint

from robot_dynamics_ros.nodes import control_interfaces
from robot_dynamics_ros.nodes.control_interfaces import ControlInterfaces
from robot_dynamics_ros.parameters.controller import ALL

NAMES = ("joint1", "joint2")
Q, QD, QDD, EFFORT = np.array([0.3, -0.8]), np.array([0.1, 0.2]), np.array([1.0, 2.0]), np.array([5.0, -6.0])
MEASURED = np.array([0.25, -0.7]), np.array([0.15, 0.1])
GLUE = ("robot_dynamics_ros.nodes.controller_state", "robot_dynamics_ros.nodes.follow_joint_trajectory")
DEFAULTS: dict[str, Any] = {parameter.name: parameter.default for parameter in ALL}


class HumbleState(SimpleNamespace):
    """control_msgs/msg/JointTrajectoryControllerState, as far as it is used."""

    def __init__(self) -> None:
        super().__init__(header=Header(), joint_names=[], reference=None, feedback=None, error=None)
        self.output = JointTrajectoryPoint()


class State(HumbleState):
    """From Jazzy on it tells the speed, too."""

    def __init__(self) -> None:
        super().__init__()
        self.speed_scaling_factor = 0.0


class Publisher:
    """Keeps what is published; there are so many ``listeners``."""

    def __init__(self) -> None:
        self.listeners, self.count = 1, 0
        self.last: Any = None

    def get_subscription_count(self) -> int:
        return self.listeners

    def publish(self, message: Any) -> None:
        self.last, self.count = message, self.count + 1


class Node:
    """A node that makes one topic."""

    def __init__(self) -> None:
        self.publisher, self.destroyed = Publisher(), False

    def create_publisher(self, kind: Any, name: str, qos: Any) -> Publisher:
        assert name == "~/controller_state"
        return self.publisher

    def destroy_publisher(self, publisher: Publisher) -> None:
        self.destroyed = publisher is self.publisher

    def get_logger(self) -> Any:
        return SimpleNamespace(error=lambda text: None)


class Server:
    """rclpy's ActionServer, which nobody calls."""

    alive = True

    def __init__(self, *arguments: Any, **callbacks: Any) -> None:
        pass

    def destroy(self) -> None:
        self.alive = False


def running() -> Any:
    """A controller after its first cycle, with a measured state."""
    desired = SimpleNamespace(q=Q, qd=QD, qdd=QDD)
    controller = SimpleNamespace(
        command=SimpleNamespace(desired=desired, effort=EFFORT),
        feedback=SimpleNamespace(known=True, state=MEASURED),
        cycles=1,
        time=10.0,
        speed_scaling=0.5,
        model=SimpleNamespace(joint_names=NAMES),
    )
    return SimpleNamespace(controller=controller, state_stamp=1_700_000_000_000_000_001)


def cycle(of: Any, seconds: float) -> Any:
    of.controller.cycles += 1
    of.controller.time += seconds
    return of


@pytest.fixture
def control_msgs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Stand-ins for its two modules; what imports them is imported anew, and forgotten afterwards."""
    package, action, msg = (ModuleType(f"control_msgs{part}") for part in ("", ".action", ".msg"))
    action.FollowJointTrajectory = object  # type: ignore[attr-defined]
    msg.JointTrajectoryControllerState = State  # type: ignore[attr-defined]
    for module in (package, action, msg):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr("rclpy.action.server.ActionServer", Server)
    before = {name: sys.modules.pop(name, None) for name in GLUE}
    yield msg
    for name, module in before.items():
        sys.modules.pop(name, None)
        if module is not None:
            sys.modules[name] = module


def publishing(node: Node, rate: float = 50.0) -> Any:
    state = importlib.import_module(GLUE[0]).ControllerState(node, NAMES)
    state.begin(rate)
    return state


def test_it_tells_what_the_last_cycle_did(control_msgs: Any) -> None:
    node = Node()
    publishing(node).check(running())
    told = node.publisher.last
    assert (told.header.stamp.sec, told.header.stamp.nanosec) == (1_700_000_000, 1)
    assert told.joint_names == list(NAMES) and told.speed_scaling_factor == 0.5
    expected = {
        "reference": (Q, QD, QDD),
        "feedback": (*MEASURED, []),
        "error": (Q - MEASURED[0], QD - MEASURED[1], []),
    }
    for field, motion in expected.items():
        point = getattr(told, field)
        for values, wanted in zip((point.positions, point.velocities, point.accelerations), motion, strict=True):
            np.testing.assert_array_equal(values, wanted, field)
    np.testing.assert_array_equal(told.output.effort, EFFORT)


def test_without_a_measured_state_it_tells_of_none(control_msgs: Any) -> None:
    """The law feedforward needs none. In Humble the message has no place for the speed."""
    control_msgs.JointTrajectoryControllerState = HumbleState
    node, blind = Node(), running()
    blind.controller.feedback.known = False
    publishing(node).check(blind)
    told = node.publisher.last
    assert told.feedback is None and told.error is None and not hasattr(told, "speed_scaling_factor")
    np.testing.assert_array_equal(told.reference.positions, Q)


def test_it_tells_of_each_cycle_once_and_not_too_often(control_msgs: Any) -> None:
    node, controller = Node(), running()
    state = publishing(node, rate=50.0)
    state.check(controller)
    state.check(controller)  # where cycles fail to come
    assert node.publisher.count == 1
    for _ in range(100):
        state.check(cycle(controller, 0.002))
    assert node.publisher.count in (10, 11)


def test_nothing_is_told_before_the_first_command_or_to_nobody(control_msgs: Any) -> None:
    node, controller = Node(), running()
    command, controller.controller.command = controller.controller.command, None
    state = publishing(node)
    state.check(controller)
    controller.controller.command, node.publisher.listeners = command, 0
    state.check(cycle(controller, 1.0))
    assert node.publisher.count == 0
    node.publisher.listeners = 1
    state.check(cycle(controller, 1.0))
    assert node.publisher.count == 1


def test_both_interfaces_live_as_long_as_the_node(control_msgs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_interfaces, "INSTALLED", True)
    node: Any = Node()
    interfaces = ControlInterfaces(node, NAMES, DEFAULTS.get)
    interfaces.check()  # inactive: nothing to look at
    controller = running()
    interfaces.begin(controller)
    interfaces.check()
    assert node.publisher.count == 1 and not interfaces.owe_results
    interfaces.set({**DEFAULTS, "constraints.goal_time": 7.0}.get)
    assert interfaces._goals is not None and interfaces._goals.tolerances.goal_time == 7.0
    interfaces.abort("no goal runs")
    interfaces.end()
    cycle(controller, 1.0)
    interfaces.check()
    assert node.publisher.count == 1
    server: Any = interfaces._goals._server
    interfaces.destroy()
    assert node.destroyed and not server.alive
