"""~/follow_joint_trajectory and ~/controller_state over DDS, where control_msgs is installed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from integration.robot import NODE, Robot, one_robot
from integration.ros import JOINTS, PLANAR, Graph, gravity
from rclpy.action import ActionClient
from std_msgs.msg import Float64
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints
from robot_dynamics_ros.nodes.messages import stamp

pytest.importorskip("control_msgs", reason="control_msgs comes with ROS distributions alone")

from action_msgs.msg import GoalStatus  # noqa: E402
from builtin_interfaces.msg import Duration  # noqa: E402
from control_msgs.action import FollowJointTrajectory  # noqa: E402
from control_msgs.msg import JointTolerance, JointTrajectoryControllerState  # noqa: E402

Q, THERE = (0.2, -0.3), (0.6, 0.1)
Result = FollowJointTrajectory.Result
EXECUTING, SUCCEEDED = GoalStatus.STATUS_EXECUTING, GoalStatus.STATUS_SUCCEEDED
ABORTED, CANCELED = GoalStatus.STATUS_ABORTED, GoalStatus.STATUS_CANCELED


def goal(
    seconds: float = 0.6, joints: tuple[str, ...] = JOINTS, there: tuple[float, ...] = THERE, **fields: Any
) -> Any:
    """One point, at rest, after so many seconds."""
    message = FollowJointTrajectory.Goal(**fields)
    still = [0.0] * len(joints)
    point = JointTrajectoryPoint(positions=there, velocities=still, accelerations=still)
    point.time_from_start = _duration(seconds)
    message.trajectory = JointTrajectory(joint_names=joints, points=[point])
    return message


def _duration(seconds: float) -> Duration:
    whole, nanoseconds = divmod(round(seconds * 1e9), 1_000_000_000)
    return Duration(sec=whole, nanosec=nanoseconds)


class Client:
    """Sends goals to an arm that is where it should be, but for ``off`` (rad)."""

    def __init__(self, robot: Robot) -> None:
        self.robot, self.graph = robot, robot.graph
        self.action = ActionClient(self.graph.client, FollowJointTrajectory, f"{robot.node}/follow_joint_trajectory")
        self.graph.wait(self.action.server_is_ready, "the action")
        self.off = np.zeros(2)
        self.feedback: list[Any] = []

    def move(self, until: Any, what: str) -> None:
        """Let time go on, and the arm with it."""

        def state() -> Any:
            last = self.robot.answers[-1]
            return self.robot.message(np.array(last.position) - self.off, last.velocity, 0.02)

        self.robot.play(until, what, state)

    def send(self, message: Any) -> Any:
        """Return the handle of a goal: accepted or not."""
        self.feedback.clear()
        future = self.action.send_goal_async(message, feedback_callback=lambda x: self.feedback.append(x.feedback))
        self.move(future.done, "an answer to the goal")
        return future.result()

    def result(self, handle: Any) -> Any:
        """Return status and result of an accepted goal."""
        assert handle.accepted
        future = handle.get_result_async()
        self.move(future.done, "the result")
        return future.result()

    def run(self, message: Any) -> Any:
        return self.result(self.send(message))

    def ends(self, answer: Any, status: int, code: int, *words: str) -> None:
        assert (answer.status, answer.result.error_code) == (status, code), answer.result.error_string
        for word in words:
            assert word in answer.result.error_string


@pytest.fixture(scope="module")
def module_client(module_robot: Robot) -> Client:
    return Client(module_robot)


@pytest.fixture
def client(robot: Robot, module_client: Client) -> Iterator[Client]:
    module_client.off[:] = 0.0
    robot.begin(Q)
    yield module_client
    module_client.off[:] = 0.0


def test_a_goal_is_reached(client: Client, robot: Robot) -> None:
    handle = client.send(goal())
    client.move(lambda: client.feedback, "feedback")
    assert handle.status == EXECUTING
    client.ends(client.result(handle), SUCCEEDED, Result.SUCCESSFUL, "goal reached")
    np.testing.assert_allclose(robot.answers[-1].position, THERE, atol=1e-12)
    first, last = client.feedback[0], client.feedback[-1]
    assert 8 <= len(client.feedback) <= 16, "20 Hz of the time of joint_states"
    assert tuple(first.joint_names) == JOINTS and first.header.stamp.sec > 0
    assert 0 < first.desired.time_from_start.nanosec <= 60_000_000 and first.desired.time_from_start.sec == 0
    for one in client.feedback:
        actual, error = np.array(one.actual.positions), np.array(one.error.positions)
        np.testing.assert_allclose(one.desired.positions, actual + error, atol=1e-12)
        assert len(one.desired.accelerations) == 2 and len(one.actual.velocities) == 2
    np.testing.assert_allclose(last.desired.positions, THERE, atol=1e-12)
    if hasattr(last, "index"):
        assert {one.index for one in client.feedback} == {0}


def test_a_plan_as_moveit_sends_it(client: Client, robot: Robot) -> None:
    """From where the arm is, with velocities and accelerations, in another order of the joints."""
    names, rest = ("joint2", "joint1"), (0.0, 0.0)
    points = [
        JointTrajectoryPoint(positions=Q[::-1], velocities=rest, accelerations=rest),
        JointTrajectoryPoint(
            positions=(-0.1, 0.4), velocities=(0.9, 0.9), accelerations=rest, time_from_start=_duration(0.3)
        ),
        JointTrajectoryPoint(
            positions=THERE[::-1], velocities=rest, accelerations=rest, time_from_start=_duration(0.6)
        ),
    ]
    message = FollowJointTrajectory.Goal(trajectory=JointTrajectory(joint_names=names, points=points))
    client.ends(client.run(message), SUCCEEDED, Result.SUCCESSFUL)
    np.testing.assert_allclose(robot.answers[-1].position, THERE, atol=1e-12)
    if hasattr(client.feedback[0], "index"):
        assert [client.feedback[0].index, client.feedback[-1].index] == [1, 2]


def test_a_joint_off_its_path(client: Client, robot: Robot) -> None:
    client.off[1] = 0.05
    tolerance = JointTolerance(name="joint2", position=0.02)
    answer = client.run(goal(path_tolerance=[tolerance]))
    client.ends(answer, ABORTED, Result.PATH_TOLERANCE_VIOLATED, '"joint2": position error 0.05', "path tolerance 0.02")
    where = robot.now
    client.move(lambda: robot.now > where + 1e9, "a second")
    assert np.abs(np.subtract(robot.answers[-1].position, THERE)).max() > 0.1, "it stopped there"
    assert robot.mode == "active"


def test_an_arm_that_does_not_arrive(client: Client) -> None:
    client.off[0] = 0.05
    message = goal(goal_tolerance=[JointTolerance(name="joint1", position=0.02)], goal_time_tolerance=_duration(0.3))
    answer = client.run(message)
    client.ends(answer, ABORTED, Result.GOAL_TOLERANCE_VIOLATED, '"joint1": position error 0.05', "after its end")


def test_the_parameters_are_the_tolerances_of_goals_that_ask_for_none(client: Client, robot: Robot) -> None:
    client.off[0] = 0.05
    robot.set("constraints.path_tolerance", [0.02, 0.0])
    try:
        client.ends(client.run(goal()), ABORTED, Result.PATH_TOLERANCE_VIOLATED, '"joint1"')
        erased = goal(path_tolerance=[JointTolerance(name="joint1", position=-1.0)])
        client.ends(client.run(erased), SUCCEEDED, Result.SUCCESSFUL)
        reason = robot.graph.try_parameters(robot.node, {"constraints.goal_tolerance": [0.1, 0.1, 0.1]})
        assert "constraints.goal_tolerance: 3 numbers. Cure" in reason["constraints.goal_tolerance"]
    finally:
        robot.set("constraints.path_tolerance", [])


def test_what_cannot_be_followed_says_why_and_leaves_the_goal_that_runs(client: Client) -> None:
    running = client.send(goal(2.0))
    many = FollowJointTrajectory.Goal(trajectory=goal().trajectory)
    many.multi_dof_trajectory.joint_names = ["base"]
    late = goal()
    late.trajectory.header.stamp = stamp(client.robot.now - 5_000_000_000)
    for message, code, word in (
        (goal(joints=("joint1", "wrist")), Result.INVALID_JOINTS, "joint 'wrist' is not controlled here"),
        (goal(joints=("joint1",), there=(0.1,)), Result.INVALID_JOINTS, "joint 'joint2' is missing"),
        (FollowJointTrajectory.Goal(), Result.INVALID_JOINTS, "names no joints"),
        (goal(path_tolerance=[JointTolerance(name="wrist")]), Result.INVALID_JOINTS, "path_tolerance: joint 'wrist'"),
        (many, Result.INVALID_JOINTS, "several degrees of freedom"),
        (late, Result.OLD_HEADER_TIMESTAMP, "the trajectory ended 4."),
        (goal(there=(0.1, np.nan)), Result.INVALID_GOAL, "positions of joint 'joint2'"),
        (goal(there=(0.1,)), Result.INVALID_GOAL, "point 0 has 1 positions for 2 joint names"),
        (goal(goal_tolerance=[JointTolerance(name="joint1", velocity=-3.0)]), Result.INVALID_GOAL, "velocity is -3"),
        (goal(goal_time_tolerance=Duration(sec=-7)), Result.INVALID_GOAL, "goal_time_tolerance is -7"),
    ):
        client.ends(client.run(message), ABORTED, code, word)
    assert running.status == EXECUTING
    client.ends(client.result(running), SUCCEEDED, Result.SUCCESSFUL)


def test_a_new_goal_replaces_the_old_one(client: Client, robot: Robot) -> None:
    first = client.send(goal(2.0))
    second = client.send(goal(0.4, there=(0.0, 0.0)))
    client.ends(client.result(first), ABORTED, Result.INVALID_GOAL, "replaced by a new goal")
    client.ends(client.result(second), SUCCEEDED, Result.SUCCESSFUL)
    np.testing.assert_allclose(robot.answers[-1].position, (0.0, 0.0), atol=1e-12)


def test_a_trajectory_of_the_topic_replaces_a_goal(client: Client, robot: Robot) -> None:
    handle = client.send(goal(2.0))
    still = np.zeros((1, 2))
    robot.follow(TrajectoryPoints(JOINTS, np.array([0.4]), np.array([[0.1, 0.2]]), still, still))
    answer = client.result(handle)
    client.ends(answer, ABORTED, Result.INVALID_GOAL, "replaced by a trajectory on ~/joint_trajectory")
    where = robot.now
    client.move(lambda: robot.now > where + 1e9, "a second")
    np.testing.assert_allclose(robot.answers[-1].position, (0.1, 0.2), atol=1e-12)


def test_a_refused_trajectory_leaves_the_goal(client: Client, robot: Robot) -> None:
    handle = client.send(goal())
    robot.follow(TrajectoryPoints(("wrist",), np.array([0.4]), np.zeros((1, 1))))
    client.ends(client.result(handle), SUCCEEDED, Result.SUCCESSFUL)


def test_a_client_cancels(client: Client, robot: Robot) -> None:
    handle = client.send(goal(1.0))
    client.move(lambda: np.abs(robot.answers[-1].velocity).max() > 0.3, "some speed")
    future = handle.cancel_goal_async()
    client.move(future.done, "the answer to cancel")
    assert [bytes(one.goal_id.uuid) for one in future.result().goals_canceling] == [bytes(handle.goal_id.uuid)]
    client.ends(client.result(handle), CANCELED, Result.SUCCESSFUL, "canceled by its client")
    client.move(lambda: not np.any(robot.answers[-1].velocity), "a stop")
    assert np.abs(np.subtract(robot.answers[-1].position, THERE)).max() > 0.05
    client.ends(client.run(goal()), SUCCEEDED, Result.SUCCESSFUL)


def test_the_service_cancels(client: Client, robot: Robot) -> None:
    handle = client.send(goal(2.0))
    assert robot.graph.call(Trigger, f"{robot.node}/cancel", Trigger.Request()).success
    client.ends(client.result(handle), ABORTED, Result.INVALID_GOAL, "canceled by the service ~/cancel")


def test_a_fault_ends_a_goal_and_refuses_the_next(client: Client, robot: Robot) -> None:
    handle = client.send(goal(2.0))
    robot.edit = lambda state: state.position.__setitem__(0, float("nan"))
    answer = client.result(handle)
    client.ends(answer, ABORTED, Result.INVALID_GOAL, "the controller went to hold", 'position of joint "joint1"')
    client.ends(client.run(goal()), ABORTED, Result.INVALID_GOAL, "Cure")
    robot.edit = lambda state: None
    robot.drive_to("fault", robot.answers[-1].position)
    assert robot.clear_fault().success
    client.ends(client.run(goal()), SUCCEEDED, Result.SUCCESSFUL)


def test_a_reduced_speed_puts_off_the_end(client: Client, robot: Robot) -> None:
    speed = robot.graph.publisher(Float64, f"{robot.node}/speed_scaling_factor")
    robot.graph.wait(lambda: speed.get_subscription_count() > 0, "the topic")
    speed.publish(Float64(data=0.5))
    try:
        since = robot.now
        client.move(lambda: robot.now > since + 1e9, "the new speed")
        handle, begin = client.send(goal(0.5)), robot.now
        client.ends(client.result(handle), SUCCEEDED, Result.SUCCESSFUL)
        assert 0.9e9 < robot.now - begin < 1.5e9
    finally:
        speed.publish(Float64(data=1.0))
        robot.graph.settle(0.1)


def test_a_law_that_follows_nothing(client: Client, robot: Robot) -> None:
    handle = client.send(goal(2.0))
    robot.set("law", "gravity_compensation")
    try:
        client.ends(client.result(handle), ABORTED, Result.INVALID_GOAL, "the law is gravity_compensation now")
        client.ends(client.run(goal()), ABORTED, Result.INVALID_GOAL, "gravity_compensation follows no trajectory")
    finally:
        robot.set("law", "computed_torque")


def test_an_inactive_node_refuses_goals_and_ends_the_one_that_runs(client: Client, robot: Robot) -> None:
    handle = client.send(goal(5.0))
    robot.deactivate()
    answer = handle.get_result_async()
    robot.graph.wait(answer.done, "the result")
    client.ends(answer.result(), ABORTED, Result.INVALID_GOAL, "deactivated")
    log = robot.log_from_now()
    refused = client.action.send_goal_async(goal())
    robot.graph.wait(refused.done, "an answer")
    assert not refused.result().accepted
    robot.graph.await_log(log, "goal refused: the node is not active. Cure: activate it")
    robot.begin(Q)
    client.ends(client.run(goal()), SUCCEEDED, Result.SUCCESSFUL)


def test_controller_state(client: Client, robot: Robot) -> None:
    states = robot.graph.collect(JointTrajectoryControllerState, f"{robot.node}/controller_state")
    client.move(lambda: states, "controller_state")
    states.clear()
    client.off[0] = 0.01
    begin = robot.now
    client.run(goal())
    assert abs(len(states) - (robot.now - begin) / 20e6) <= 3, "50 Hz of the time of joint_states"
    for state in states:
        assert tuple(state.joint_names) == JOINTS
        np.testing.assert_allclose(
            state.reference.positions, np.add(state.feedback.positions, state.error.positions), atol=1e-12
        )
    last = states[-1]
    answer = next(one for one in robot.answers if one.header.stamp == last.header.stamp)
    assert last.output.effort == answer.effort and last.reference.positions == answer.position
    assert len(last.reference.accelerations) == 2
    if hasattr(last, "speed_scaling_factor"):
        assert last.speed_scaling_factor == 1.0


@pytest.mark.parametrize("how", ["signal", "cleanup"])
def test_the_end_of_a_node(how: str, tmp_path: Path) -> None:
    with one_robot(tmp_path) as robot:
        client = Client(robot)
        handle = client.send(goal(5.0))
        answer = handle.get_result_async()
        robot.graph.settle(0.2)
        if how == "signal":
            robot.process.process.terminate()
        else:
            from lifecycle_msgs.msg import Transition

            robot.deactivate()
            assert robot.graph.transition(robot.node, Transition.TRANSITION_CLEANUP)
        robot.graph.wait(answer.done, "the result", seconds=20.0)
        client.ends(answer.result(), ABORTED, Result.INVALID_GOAL, "deactivated")
        if how == "cleanup":
            assert robot.graph.transition(robot.node, Transition.TRANSITION_CONFIGURE)
            robot.begin(Q)
            client.ends(client.run(goal()), SUCCEEDED, Result.SUCCESSFUL)


def test_with_an_update_rate(tmp_path: Path) -> None:
    with Graph(tmp_path) as graph:
        robot = Robot(graph, graph.start(NODE, {**PLANAR, "update_rate": 100.0, "minimum_rate_ratio": 0.0}))
        robot.drive(lambda: robot.answers, "a command", Q)
        client = Client(robot)
        client.ends(client.run(goal(0.5)), SUCCEEDED, Result.SUCCESSFUL)
        np.testing.assert_allclose(robot.efforts[-1].data, gravity(THERE), atol=0.5)
