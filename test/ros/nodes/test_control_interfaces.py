"""~/follow_joint_trajectory and ~/controller_state with stand-ins for control_msgs and rclpy's action server."""

import sys
from collections.abc import Iterator
from importlib import reload
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import rclpy
from builtin_interfaces.msg import Duration
from rclpy.action import server
from rclpy.action.server import CancelResponse, GoalResponse
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.task import Future
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectoryPoint, MultiDOFJointTrajectory

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.base.joint_messages import Sample, TrajectoryPoints
from robot_dynamics_ros.control.clock import Now
from robot_dynamics_ros.control.configuration.settings import (
    ALL,
    ControllerSettings,
    NodeSettings,
    SafetySettings,
)
from robot_dynamics_ros.control.controller import Controller
from robot_dynamics_ros.control.goals import Code, Tolerances
from robot_dynamics_ros.control.session import ControllerSession
from robot_dynamics_ros.ros.conversions import trajectory_message
from robot_dynamics_ros.ros.nodes import control_interfaces, trajectory_node
from support import arms
from support.ros import TSAI

NAMES = ("joint1", "joint2")
Q = np.array([0.3, -0.8])
THERE = np.array([0.5, -0.6])
DEFAULTS: dict[str, Any] = {parameter.name: parameter.default for parameter in ALL}


class State(SimpleNamespace):
    """Stand-in for control_msgs/msg/JointTrajectoryControllerState of Jazzy."""

    def __init__(self) -> None:
        super().__init__(
            header=Header(), feedback=None, error=None, output=JointTrajectoryPoint()
        )
        self.speed_scaling_factor = 0.0


class Action:
    """Stand-in for control_msgs/action/FollowJointTrajectory; ``index`` is as in Kilted."""

    class Goal(SimpleNamespace):
        def __init__(self, trajectory: Any, **fields: Any) -> None:
            lists = (
                "path_tolerance",
                "component_path_tolerance",
                "goal_tolerance",
                "component_goal_tolerance",
            )
            super().__init__(
                trajectory=trajectory,
                goal_time_tolerance=Duration(),
                **dict.fromkeys(lists, ()),
            )
            self.multi_dof_trajectory = MultiDOFJointTrajectory()
            vars(self).update(fields)

    Result = SimpleNamespace

    class Feedback(SimpleNamespace):
        def __init__(self) -> None:
            super().__init__(header=Header(), index=-1, actual=None, error=None)


class Server:
    """Stand-in for rclpy's ActionServer: accepts, cancels and executes goals on request of the test."""

    def __init__(
        self, node: Any, kind: Any, name: str, execute: Any, **callbacks: Any
    ) -> None:
        self.name = name
        self.execute = execute
        self.callbacks = callbacks
        self.alive = True
        self.tasks: list[Any] = []

    def destroy(self) -> None:
        self.alive = False

    def send(self, goal: Any) -> Any:
        if self.callbacks["goal_callback"](goal) is not GoalResponse.ACCEPT:
            return None
        handle = Mock(
            request=goal,
            result=None,
            goal_id=SimpleNamespace(uuid=np.random.default_rng().bytes(16)),
        )
        handle.execute.side_effect = lambda: self.tasks.append(handle)
        self.callbacks["handle_accepted_callback"](handle)
        return handle

    def spin(self) -> None:
        for handle in self.tasks:
            handle.result = self.execute(handle)
        self.tasks.clear()


@pytest.fixture
def control_msgs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install stand-ins for the modules; modules that import them are imported again, also afterwards."""
    package, action, msg = (
        ModuleType(f"control_msgs{part}") for part in ("", ".action", ".msg")
    )
    vars(action)["FollowJointTrajectory"] = Action
    vars(msg)["JointTrajectoryControllerState"] = State
    for module in (package, action, msg):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(server, "ActionServer", Server)
    monkeypatch.setattr(trajectory_node, "FollowJointTrajectory", Action)
    reload(control_interfaces)
    yield
    monkeypatch.undo()
    reload(control_interfaces)


class World:
    """Active controller, its interfaces and their messages; the arm is at its desired position plus ``off`` (rad)."""

    def __init__(self, subscribers: int = 1, values: dict[str, Any] = DEFAULTS) -> None:
        robot = RobotModel.from_urdf(
            arms.tsai_planar_2r(TSAI).urdf, gravity=[0.0, -TSAI.g, 0.0]
        )
        self.now = 1_700_000_000_000_000_000
        safety = SafetySettings(position_step_limit=(np.inf,))
        self.session = ControllerSession(robot, ControllerSettings(safety=safety))
        self.published: list[Any] = []
        self.subscribers = subscribers
        self.topics = 1
        node: Any = SimpleNamespace(
            get_logger=Mock,
            log=Mock(),
            values=values.get,
            nanoseconds=lambda: self.now,
            create_publisher=lambda kind, name, qos: SimpleNamespace(
                publish=lambda message: self.published.append(
                    SimpleNamespace(**vars(message))
                ),
                get_subscription_count=lambda: self.subscribers,
            ),
            destroy_publisher=lambda publisher: setattr(self, "topics", 0),
        )
        settings = NodeSettings.read(values.get)
        self.interfaces = control_interfaces.ControlInterfaces(
            node, self.session, Mock(), settings, Tolerances.of(settings, NAMES)
        )
        self.interfaces.check()  # inactive: nothing to look at
        self.server: Any = self.interfaces._server
        self.session.activate(compare_effort=False)
        self.interfaces.check()
        self.off = np.zeros(2)
        self.cycle()

    @property
    def controller(self) -> Controller:
        assert self.session.controller is not None
        return self.session.controller

    def cycle(self, seconds: float = 0.01, times: int = 1) -> None:
        for _ in range(times):
            self.now += round(seconds * 1e9)
            command = self.controller.command
            q, qd = (
                (Q, np.zeros(2))
                if command is None
                else (command.desired.q, command.desired.qd)
            )
            self.session.on_state(
                Sample(self.now, q - self.off, qd.copy(), None),
                Now(self.now * 1e-9, lambda: self.now),
            )
            self.interfaces.check()

    def ends(self, handle: Any, status: str, code: Code, culprit: str = "") -> None:
        assert handle.result is None and self.interfaces.results_pending
        self.server.spin()
        assert not self.interfaces.results_pending
        assert calls(handle) == ["execute", status]
        assert (
            handle.result.error_code == code and type(handle.result.error_code) is int
        )
        assert culprit in handle.result.error_string


def calls(handle: Mock) -> list[str]:
    """Return the methods of a goal's handle that were called."""
    return [name for name, *_ in handle.method_calls if name != "publish_feedback"]


@pytest.fixture
def world(control_msgs: None) -> World:
    return World()


def goal(joints: tuple[str, ...] = NAMES, start: int = 0, **fields: Any) -> Any:
    """Return a goal from the arm's position to THERE in one second."""
    points = TrajectoryPoints(
        joints,
        np.array([0.0, 1.0]),
        np.array([Q, THERE]),
        np.zeros((2, 2)),
        np.zeros((2, 2)),
    )
    message = trajectory_message(points)
    message.header.stamp.sec = start
    return Action.Goal(message, **fields)


def test_a_goal_succeeds_with_feedback(world: World) -> None:
    assert world.server.name == "~/follow_joint_trajectory"
    handle = world.server.send(goal())
    assert calls(handle) == [], "rclpy would run a callback for as long as it takes"
    world.cycle(times=101)
    world.ends(handle, "succeed", Code.SUCCESSFUL)
    feedback = [call.args[0] for call in handle.publish_feedback.call_args_list]
    assert len(feedback) in (20, 21, 22)
    one = feedback[4]
    assert one.joint_names == list(NAMES) and one.index == 1
    assert (
        one.header.stamp.sec == 1_700_000_000
        and one.desired.time_from_start.nanosec == pytest.approx(21e7, abs=1e6)
    )
    np.testing.assert_allclose(
        one.desired.positions,
        np.add(one.actual.positions, one.error.positions),
        atol=1e-12,
    )
    assert len(one.desired.accelerations) == 2 and len(one.actual.accelerations) == 0


def test_tolerances_of_a_goal_and_of_the_parameters_hold(world: World) -> None:
    tolerance = SimpleNamespace(
        name="joint2", position=0.02, velocity=0.0, acceleration=0.0
    )
    handle = world.server.send(goal(path_tolerance=[tolerance]))
    world.off[1] = 0.04
    world.cycle()
    world.ends(
        handle, "abort", Code.PATH_TOLERANCE_VIOLATED, '"joint2": position error 0.04'
    )
    world.off[1] = 0.0
    late = SimpleNamespace(
        name="joint1", position=0.02, velocity=-1.0, acceleration=0.0
    )
    handle = world.server.send(
        goal(goal_tolerance=[late], goal_time_tolerance=Duration(nanosec=300_000_000))
    )
    world.off[0] = 0.04
    world.cycle(times=132)
    world.ends(
        handle, "abort", Code.GOAL_TOLERANCE_VIOLATED, '"joint1": position error'
    )
    world.interfaces.tune(Tolerances.of(NodeSettings(path_tolerance=[0.02]), NAMES))
    handle = world.server.send(goal())
    world.cycle()
    world.ends(handle, "abort", Code.PATH_TOLERANCE_VIOLATED)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"joints": ("joint1", "wrist")}, Code.INVALID_JOINTS),
        (
            {"multi_dof_trajectory": MultiDOFJointTrajectory(joint_names=["base"])},
            Code.INVALID_JOINTS,
        ),
        ({"component_goal_tolerance": [object()]}, Code.INVALID_JOINTS),
        ({"goal_time_tolerance": Duration(sec=-3)}, Code.INVALID_GOAL),
        ({"start": 1_600_000_000}, Code.OLD_HEADER_TIMESTAMP),
    ],
)
def test_a_goal_that_cannot_be_followed_leaves_the_running_one(
    fields: dict[str, Any], code: Code, world: World
) -> None:
    running = world.server.send(goal())
    world.ends(world.server.send(goal(**fields)), "abort", code)
    world.cycle()
    assert calls(running) == []


def test_a_goal_is_canceled_in_the_next_cycle(world: World) -> None:
    handle = world.server.send(goal())
    world.cycle(0.05, times=10)
    assert world.server.callbacks["cancel_callback"](handle) is CancelResponse.ACCEPT
    assert calls(handle) == [], "the server says first that it cancels"
    world.interfaces.check()
    world.ends(handle, "canceled", Code.SUCCESSFUL)


def test_deactivation_aborts_the_goal_and_refuses_new_ones(world: World) -> None:
    handle = world.server.send(goal())
    world.interfaces.abort("the node was deactivated")
    world.session.deactivate(Now(world.now * 1e-9, lambda: world.now))
    world.ends(handle, "abort", Code.INVALID_GOAL, "deactivated")
    assert world.server.send(goal()) is None
    assert world.server.callbacks["cancel_callback"](handle) is CancelResponse.ACCEPT
    world.interfaces.check()
    world.interfaces.abort("again")
    world.interfaces.destroy()
    assert not world.server.alive and not world.topics


def test_the_state_of_a_cycle_is_desired_measured_and_commanded(world: World) -> None:
    world.off[:] = 0.01, -0.02
    world.controller.plan.set_speed(0.5)
    world.cycle(0.05)
    published = world.published[-1]
    command = world.controller.command
    assert command is not None
    assert (
        published.header.stamp.nanosec == 60_000_000
        and published.joint_names == list(NAMES)
    )
    assert published.speed_scaling_factor == world.controller.plan.speed < 1.0
    np.testing.assert_array_equal(published.reference.positions, command.desired.q)
    np.testing.assert_array_equal(
        published.reference.accelerations, command.desired.qdd
    )
    np.testing.assert_allclose(published.feedback.positions, Q - world.off, atol=1e-12)
    np.testing.assert_allclose(published.error.positions, world.off, atol=1e-12)
    np.testing.assert_array_equal(published.output.effort, command.effort)


@pytest.mark.usefixtures("control_msgs")
def test_without_a_measured_state_none_is_published(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The law feedforward needs no state. The message of Humble has no speed scaling."""
    humble = {
        "header": Header(),
        "feedback": None,
        "error": None,
        "output": JointTrajectoryPoint(),
    }
    monkeypatch.setattr(
        control_interfaces,
        "JointTrajectoryControllerState",
        lambda: SimpleNamespace(**humble),
    )
    world = World(subscribers=0)
    running = world.controller
    unknown = SimpleNamespace(estimate=SimpleNamespace(known=False))
    blind: Any = SimpleNamespace(
        command=running.command,
        estimator=unknown,
        cycles=running.cycles + 1,
        clock=SimpleNamespace(time=running.clock.time + 1.0),
    )
    world.subscribers = 1
    world.interfaces._publish_state(blind)
    (published,) = world.published
    assert (
        not hasattr(published, "speed_scaling_factor")
        and published.feedback is None
        and published.error is None
    )
    np.testing.assert_array_equal(published.reference.positions, Q)


def test_each_cycle_is_published_once_for_subscribers_and_not_too_often(
    world: World,
) -> None:
    world.published.clear()
    world.cycle(1.0)
    world.interfaces.check()  # where cycles fail to come
    assert len(world.published) == 1
    world.cycle(0.002, times=100)
    assert len(world.published) in (11, 12)
    world.published.clear()
    world.subscribers = 0
    world.cycle(1.0)
    assert not world.published


@pytest.mark.parametrize(
    ("name", "value"),
    [("constraints.path_tolerance", [0.1] * 3), ("state_publish_rate", 0.0)],
)
def test_without_control_msgs_parameters_are_checked(
    name: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control_interfaces, "INSTALLED", False)
    with pytest.raises(RobotDynamicsError, match=name):
        World(values={**DEFAULTS, name: value})


@pytest.mark.parametrize(
    ("accepted", "status", "error"),
    [(True, 4, "None"), (True, 6, "path tolerance"), (False, 0, "rejected")],
)
@pytest.mark.usefixtures("control_msgs")
def test_the_trajectory_node_sends_a_goal_and_takes_its_result(
    accepted: bool,
    status: int,
    error: str,
    context: rclpy.Context,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[Any] = []

    def done(result: Any) -> Any:
        future: Future[Any] = Future()
        future.set_result(result)
        return future

    class Client:
        def __init__(self, node: Any, kind: Any, name: str) -> None:
            self.name = name

        def wait_for_server(self, timeout_sec: float) -> bool:
            return True

        def send_goal_async(self, goal: Any) -> Any:
            sent.append((self.name, list(goal.trajectory.joint_names)))
            result = SimpleNamespace(
                status=status, result=SimpleNamespace(error_string="path tolerance")
            )
            return done(
                SimpleNamespace(
                    accepted=accepted, get_result_async=lambda: done(result)
                )
            )

    monkeypatch.setattr(trajectory_node, "ActionClient", Client)
    file = tmp_path / "trajectory.yaml"
    file.write_text(
        "joint_names: [a]\npoints: [{positions: [0.5], time_from_start: {sec: 1, nanosec: 0}}]"
    )
    values = {
        "trajectory.kind": "file",
        "trajectory.file": str(file),
        "listeners": [""],
    }
    node = trajectory_node.TrajectoryNode(
        context=context,
        cli_args=["--ros-args", "-r", "joint_trajectory:=arm/joint_trajectory"],
        parameter_overrides=[
            Parameter(name, value=value) for name, value in values.items()
        ],
    )
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    while not node.done:
        executor.spin_once(timeout_sec=1.0)
    assert sent == [("/arm/follow_joint_trajectory", ["a"])] and error in str(
        node.error
    )
    executor.shutdown()
    node.destroy_node()
