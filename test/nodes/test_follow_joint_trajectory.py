"""The action server's own part, on messages and a server that stand in for control_msgs and DDS.

With the true ones, which few machines have: test/integration/test_follow_joint_trajectory.py.
"""

import importlib
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import arms
import numpy as np
import pytest
import rclpy
from builtin_interfaces.msg import Duration
from oracles import tsai_planar_2r as tsai
from rclpy.action import server
from rclpy.action.server import CancelResponse, GoalResponse
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.task import Future
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint, MultiDOFJointTrajectory

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.goal_tolerances import Code, Constraints, Tolerances
from robot_dynamics_ros.control.settings import ControllerSettings
from robot_dynamics_ros.messages.joint_state import JointStateWriter
from robot_dynamics_ros.messages.running_controller import RunningController
from robot_dynamics_ros.nodes import trajectory_node

NAMES = ("joint1", "joint2")
Q, THERE = np.array([0.3, -0.8]), np.array([0.5, -0.6])
GLUE = "robot_dynamics_ros.nodes.follow_joint_trajectory"


class Action:
    """control_msgs/action/FollowJointTrajectory, as far as it is used; ``index`` is as in Kilted."""

    class Goal(SimpleNamespace):
        def __init__(self, trajectory: Any, **fields: Any) -> None:
            super().__init__(
                trajectory=trajectory,
                multi_dof_trajectory=MultiDOFJointTrajectory(),
                path_tolerance=[],
                component_path_tolerance=[],
                goal_tolerance=[],
                component_goal_tolerance=[],
                goal_time_tolerance=Duration(),
            )
            vars(self).update(fields)

    class Result(SimpleNamespace):
        pass

    class Feedback(SimpleNamespace):
        def __init__(self) -> None:
            super().__init__(header=Header(), index=-1, actual=None, error=None)


class Handle:
    """rclpy's ServerGoalHandle: what is called is kept in ``calls``."""

    def __init__(self, owner: Any, request: Any) -> None:
        self.request, self.calls, self.feedback = request, [], []  # type: ignore[var-annotated]
        self.result: Any = None
        self._owner = owner

    def execute(self) -> None:
        self.calls.append("executing")
        self._owner.notify_execute(self, None)

    def succeed(self) -> None:
        self.calls.append("succeeded")

    def abort(self) -> None:
        self.calls.append("aborted")

    def canceled(self) -> None:
        self.calls.append("canceled")

    def publish_feedback(self, feedback: Any) -> None:
        self.feedback.append(feedback)


class FakeServer:
    """rclpy's ActionServer: it asks, starts and cancels as its client says, and ends goals when the executor comes."""

    def __init__(self, node: Any, kind: Any, name: str, execute: Any, **callbacks: Any) -> None:
        self.kind, self.name, self.callbacks = kind, name, callbacks
        self.tasks: list[Any] = []

    def notify_execute(self, handle: Any, callback: Any) -> None:
        assert callback is not None, "nothing is to run while a goal runs"
        self.tasks.append((handle, callback))

    def destroy(self) -> None:
        self.kind = None

    def send(self, goal: Any) -> Handle | None:
        if self.callbacks["goal_callback"](goal) is not GoalResponse.ACCEPT:
            return None
        handle = Handle(self, goal)
        self.callbacks["handle_accepted_callback"](handle)
        return handle

    def spin(self) -> None:
        for handle, callback in self.tasks:
            handle.result = callback(handle)
        self.tasks.clear()


@pytest.fixture
def glue(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    package, action = ModuleType("control_msgs"), ModuleType("control_msgs.action")
    action.FollowJointTrajectory = Action  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "control_msgs", package)
    monkeypatch.setitem(sys.modules, "control_msgs.action", action)
    monkeypatch.setattr(server, "ActionServer", FakeServer)
    before = sys.modules.pop(GLUE, None)
    yield importlib.import_module(GLUE)
    sys.modules.pop(GLUE)
    if before is not None:
        sys.modules[GLUE] = before


class FakeClient:
    """rclpy's ActionClient of a server that takes each goal, or none, and gives it an end."""

    accepts, status, goals = True, 4, list[Any]()

    def __init__(self, node: Any, kind: Any, name: str) -> None:
        self.name = name

    def wait_for_server(self, timeout_sec: float) -> bool:
        return True

    def send_goal_async(self, goal: Any) -> Any:
        self.goals.append((self.name, goal.trajectory))
        result = SimpleNamespace(status=self.status, result=SimpleNamespace(error_string="path tolerance"))
        return _done(SimpleNamespace(accepted=self.accepts, get_result_async=lambda: _done(result)))


def _done(result: Any) -> Any:
    future: Future[Any] = Future()
    future.set_result(result)
    return future


@pytest.mark.parametrize(
    ("accepts", "status", "says"), [(True, 4, None), (True, 6, "path tolerance"), (False, 0, "refused")]
)
def test_the_trajectory_node_sends_a_goal(
    accepts: bool,
    status: int,
    says: str | None,
    glue: Any,
    context: rclpy.Context,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys.modules["control_msgs"], "__spec__", ModuleSpec("control_msgs", None))
    monkeypatch.setattr(trajectory_node, "ActionClient", FakeClient)
    for name, value in (("accepts", accepts), ("status", status), ("goals", [])):
        monkeypatch.setattr(FakeClient, name, value)
    file = tmp_path / "trajectory.yaml"
    file.write_text("joint_names: [a]\npoints: [{positions: [0.5], time_from_start: {sec: 1, nanosec: 0}}]")
    values = {"trajectory.kind": "file", "trajectory.file": str(file), "listeners": [""]}
    node = trajectory_node.TrajectoryNode(
        context=context,
        cli_args=["--ros-args", "-r", "joint_trajectory:=arm/joint_trajectory"],
        parameter_overrides=[Parameter(name, value=value) for name, value in values.items()],
    )
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    while not node.done:
        executor.spin_once(timeout_sec=1.0)
    ((name, trajectory),) = FakeClient.goals
    assert name == "/arm/follow_joint_trajectory" and list(trajectory.joint_names) == ["a"]
    assert (node.problem is None) if says is None else (says in str(node.problem))
    executor.shutdown()
    node.destroy_node()


class Nothing:
    """Clocks, outputs, report and log of a controller whose commands go nowhere."""

    trajectory_is_wanted = False

    def __init__(self, steady: Callable[[], float]) -> None:
        self.steady = steady

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **named: 0


class Node:
    """An active node: the arm is where it should be, or ``off`` (rad) from there."""

    def __init__(self, glue: Any) -> None:
        p = tsai.Parameters(a1=0.5, a2=0.4, m1=4.0, m2=3.0, g=9.81)
        robot = RobotModel.from_urdf(arms.tsai_planar_2r(p).urdf, gravity=[0.0, -p.g, 0.0])
        self.now = 1_700_000_000_000_000_000
        nothing: Any = Nothing(lambda: 1e-9 * self.now)
        self.running = RunningController(robot, ControllerSettings(), nothing, nothing, nothing, nothing)
        self.goals = glue.TrajectoryGoals(
            SimpleNamespace(get_logger=lambda: nothing), NAMES, Tolerances.default(Constraints(), NAMES)
        )
        self.server: Any = self.goals._server
        self.goals.begin(self.running, 20.0)
        self.off = np.zeros(2)
        self._writer = JointStateWriter(NAMES)
        self.cycle()

    def cycle(self, seconds: float = 0.01) -> None:
        self.now += round(seconds * 1e9)
        command = self.running.controller.command
        q, qd = (Q, np.zeros(2)) if command is None else (command.desired.q, command.desired.qd)
        self.running.receive_state(self._writer.write(self.now, q - self.off, qd.copy(), np.zeros(2)))
        self.goals.check()

    def ends(self, handle: Any, status: str, code: Code, *words: str) -> None:
        assert handle.result is None and self.goals.owes_results
        self.server.spin()
        assert not self.goals.owes_results
        assert handle.calls == ["executing", status]
        assert handle.result.error_code == code and type(handle.result.error_code) is int
        for word in words:
            assert word in handle.result.error_string


@pytest.fixture
def node(glue: Any) -> Node:
    return Node(glue)


def goal(seconds: int = 1, joints: tuple[str, ...] = NAMES, **fields: Any) -> Any:
    still = [0.0] * len(joints)
    points = [
        JointTrajectoryPoint(positions=Q[: len(joints)], velocities=still, accelerations=still),
        JointTrajectoryPoint(
            positions=THERE[: len(joints)],
            velocities=still,
            accelerations=still,
            time_from_start=Duration(sec=seconds),
        ),
    ]
    return Action.Goal(JointTrajectory(joint_names=joints, points=points), **fields)


def test_a_goal_succeeds_and_tells_of_its_progress(node: Node) -> None:
    assert node.server.name == "~/follow_joint_trajectory" and node.server.kind is Action
    handle = node.server.send(goal())
    assert handle.calls == ["executing"]
    for _ in range(101):
        node.cycle()
    node.ends(handle, "succeeded", Code.SUCCESSFUL, "goal reached")
    assert len(handle.feedback) in (20, 21, 22)
    one = handle.feedback[4]
    assert one.joint_names == list(NAMES) and one.index == 1
    assert one.header.stamp.sec == 1_700_000_000 and one.desired.time_from_start.nanosec == pytest.approx(21e7, abs=1e6)
    np.testing.assert_allclose(one.desired.positions, np.add(one.actual.positions, one.error.positions), atol=1e-12)
    assert len(one.desired.accelerations) == 2 and len(one.actual.accelerations) == 0
    node.goals.destroy()
    assert node.server.kind is None


def test_what_a_goal_asks_for_holds(node: Node) -> None:
    tolerance = SimpleNamespace(name="joint2", position=0.02, velocity=0.0, acceleration=0.0)
    handle = node.server.send(goal(path_tolerance=[tolerance]))
    node.off[1] = 0.04
    node.cycle()
    node.ends(handle, "aborted", Code.PATH_TOLERANCE_VIOLATED, '"joint2": position error 0.04')
    node.off[1] = 0.0
    late = SimpleNamespace(name="joint1", position=0.02, velocity=-1.0, acceleration=0.0)
    handle = node.server.send(goal(goal_tolerance=[late], goal_time_tolerance=Duration(nanosec=300_000_000)))
    node.off[0] = 0.04
    for _ in range(132):
        node.cycle()
    node.ends(handle, "aborted", Code.GOAL_TOLERANCE_VIOLATED, '"joint1": position error', "0.3")


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"joints": ("joint1", "wrist")}, Code.INVALID_JOINTS),
        ({"multi_dof_trajectory": MultiDOFJointTrajectory(joint_names=["base"])}, Code.INVALID_JOINTS),
        ({"component_goal_tolerance": [object()]}, Code.INVALID_JOINTS),
        ({"goal_time_tolerance": Duration(sec=-3)}, Code.INVALID_GOAL),
    ],
)
def test_what_cannot_be_followed_is_aborted(fields: dict[str, Any], code: Code, node: Node) -> None:
    running = node.server.send(goal())
    handle = node.server.send(goal(**fields))
    node.ends(handle, "aborted", code)
    node.cycle()
    assert running.calls == ["executing"], "it goes on"


def test_an_old_stamp_is_told(node: Node) -> None:
    old = goal()
    old.trajectory.header.stamp.sec = 1_600_000_000
    node.ends(node.server.send(old), "aborted", Code.OLD_HEADER_TIMESTAMP, "ended")


def test_a_goal_is_canceled(node: Node) -> None:
    handle = node.server.send(goal())
    for _ in range(10):
        node.cycle(0.05)
    assert node.server.callbacks["cancel_callback"](handle) is CancelResponse.ACCEPT
    assert handle.calls == ["executing"], "the server says first that it cancels"
    node.goals.check()
    node.ends(handle, "canceled", Code.SUCCESSFUL)


def test_a_node_that_ends(node: Node) -> None:
    handle = node.server.send(goal())
    node.goals.abort("the node was deactivated")
    node.goals.end()
    node.ends(handle, "aborted", Code.INVALID_GOAL, "deactivated")
    assert node.server.send(goal()) is None
    assert node.server.callbacks["cancel_callback"](handle) is CancelResponse.ACCEPT
    node.goals.check()
    node.goals.abort("again")
