"""~/follow_joint_trajectory and ~/controller_state over DDS, where control_msgs is installed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lifecycle_msgs.msg import Transition
from rclpy.action import ActionClient

from robot_dynamics_ros.ros.conversions import nanoseconds, trajectory_message
from support.robot import Robot, move, one_robot
from support.ros import JOINTS

pytest.importorskip(
    "control_msgs", reason="control_msgs comes with ROS distributions alone"
)

from action_msgs.msg import GoalStatus  # noqa: E402
from control_msgs.action import FollowJointTrajectory  # noqa: E402
from control_msgs.msg import JointTrajectoryControllerState  # noqa: E402

Q = (0.2, -0.3)
THERE = (0.6, 0.1)
Result = FollowJointTrajectory.Result
ACCEPTED = GoalStatus.STATUS_ACCEPTED
SUCCEEDED = GoalStatus.STATUS_SUCCEEDED
ABORTED = GoalStatus.STATUS_ABORTED
CANCELED = GoalStatus.STATUS_CANCELED


def goal(seconds: float = 0.6) -> Any:
    """Return a goal with one point, at rest, after ``seconds``."""
    return FollowJointTrajectory.Goal(
        trajectory=trajectory_message(move(THERE, seconds))
    )


class Client:
    """Action client with an arm that is at its desired position, with an offset ``off`` (rad)."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.graph = robot.graph
        self.action = ActionClient(
            self.graph.client,
            FollowJointTrajectory,
            f"{robot.node}/follow_joint_trajectory",
        )
        self.graph.wait(self.action.server_is_ready, "the action")
        self.off = np.zeros(2)
        self.feedback: list[Any] = []
        self.begin = robot.now

    def move(self, until: Any, what: str) -> None:
        """Advance the time of joint_states by 20 ms after each command, and the arm with it."""
        while not until():
            last = self.robot.answers[-1]
            self.robot.answer_to(np.array(last.position) - self.off, last.velocity)
            assert self.robot.now < self.begin + 60e9, (
                f"waited a minute for {what}\n{self.graph.logs()}"
            )
            self.graph.spin_for(0.001)

    def rest(self) -> None:
        """Let one second pass."""
        end = self.robot.now + 1e9
        self.move(lambda: self.robot.now > end, "a second")

    def send(self, message: Any) -> Any:
        """Return the handle of a goal, accepted or not; the time of joint_states does not advance."""
        self.feedback.clear()
        self.begin = self.robot.now
        future = self.action.send_goal_async(
            message, feedback_callback=lambda x: self.feedback.append(x.feedback)
        )
        self.graph.wait(future.done, "an answer to the goal")
        return future.result()

    def result(self, handle: Any) -> Any:
        """Return status and result of an accepted goal."""
        assert handle.accepted
        future = handle.get_result_async()
        self.move(future.done, "the result")
        return future.result()

    def run(self, message: Any) -> Any:
        return self.result(self.send(message))

    def ends(self, answer: Any, status: int, code: int, culprit: str = "") -> None:
        assert (answer.status, answer.result.error_code) == (status, code), (
            answer.result.error_string
        )
        assert culprit in answer.result.error_string


@pytest.fixture(scope="module")
def module_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with one_robot(tmp_path_factory.mktemp("robot")) as robot:
        yield Client(robot)


@pytest.fixture
def client(module_client: Client) -> Iterator[Client]:
    """Check that only finite numbers are published."""
    module_client.robot.begin(Q)
    yield module_client
    module_client.off[:] = 0.0
    module_client.robot.assert_finite()


@pytest.fixture
def robot(client: Client) -> Robot:
    return client.robot


def test_a_goal_is_reached(client: Client, robot: Robot) -> None:
    handle = client.send(goal())
    client.move(lambda: client.feedback, "feedback")
    robot.graph.wait(lambda: handle.status == ACCEPTED, "the status")
    client.ends(client.result(handle), SUCCEEDED, Result.SUCCESSFUL)
    np.testing.assert_allclose(robot.answers[-1].position, THERE, atol=1e-12)
    first = client.feedback[0]
    assert tuple(first.joint_names) == JOINTS and first.header.stamp.sec > 0
    assert (
        0 < first.desired.time_from_start.nanosec <= 60_000_000
        and first.desired.time_from_start.sec == 0
    )
    times = [nanoseconds(one.desired.time_from_start) for one in client.feedback]
    assert 3 < len(times) <= 16 and min(np.diff(times)) > 39_000_000, (
        "20 Hz of the time of joint_states"
    )
    for one in client.feedback:
        actual = np.array(one.actual.positions)
        error = np.array(one.error.positions)
        np.testing.assert_allclose(one.desired.positions, actual + error, atol=1e-12)
        assert len(one.desired.accelerations) == 2 and len(one.actual.velocities) == 2


def test_a_trajectory_of_the_topic_replaces_a_goal(
    client: Client, robot: Robot
) -> None:
    handle = client.send(goal(20.0))
    robot.follow(move((0.1, 0.2), 0.4))
    client.ends(
        client.result(handle), ABORTED, Result.INVALID_GOAL, "~/joint_trajectory"
    )
    client.rest()
    np.testing.assert_allclose(robot.answers[-1].position, (0.1, 0.2), atol=1e-12)


def test_a_client_cancels(client: Client, robot: Robot) -> None:
    handle = client.send(goal(1.0))
    client.move(lambda: np.abs(robot.answers[-1].velocity).max() > 0.3, "some speed")
    future = handle.cancel_goal_async()
    robot.graph.wait(future.done, "the answer to cancel")
    assert [bytes(one.goal_id.uuid) for one in future.result().goals_canceling] == [
        bytes(handle.goal_id.uuid)
    ]
    client.ends(client.result(handle), CANCELED, Result.SUCCESSFUL)
    client.move(lambda: not np.any(robot.answers[-1].velocity), "a stop")
    assert np.abs(np.subtract(robot.answers[-1].position, THERE)).max() > 0.05
    client.ends(client.run(goal()), SUCCEEDED, Result.SUCCESSFUL)


def test_an_inactive_node_refuses_goals_and_ends_the_one_that_runs(
    client: Client, robot: Robot
) -> None:
    handle = client.send(goal(5.0))
    robot.deactivate()
    answer = handle.get_result_async()
    robot.graph.wait(answer.done, "the result")
    client.ends(answer.result(), ABORTED, Result.INVALID_GOAL, "deactivated")
    assert not client.send(goal()).accepted
    assert robot.graph.transition(robot.node, Transition.TRANSITION_CLEANUP)
    assert robot.graph.transition(robot.node, Transition.TRANSITION_CONFIGURE)
    robot.begin(Q)
    client.ends(client.run(goal()), SUCCEEDED, Result.SUCCESSFUL)


def test_controller_state(client: Client, robot: Robot) -> None:
    states = robot.graph.collect(
        JointTrajectoryControllerState, f"{robot.node}/controller_state"
    )
    client.begin = robot.now
    client.move(lambda: states, "controller_state")
    states.clear()
    client.off[0] = 0.01
    client.run(goal())
    last = robot.answers[-1]
    robot.graph.wait(
        lambda: states and states[-1].header.stamp == last.header.stamp,
        "the last state",
    )
    assert (
        min(np.diff([nanoseconds(state.header.stamp) for state in states])) >= 18e6
    ), "50 Hz of joint_states' time"
    state = states[-1]
    assert tuple(state.joint_names) == JOINTS
    assert (state.output.effort, state.reference.positions) == (
        last.effort,
        last.position,
    )
    measured = np.add(state.feedback.positions, state.error.positions)
    np.testing.assert_allclose(state.reference.positions, measured, atol=1e-12)


def test_a_signal_ends_the_goal_with_the_node(tmp_path: Path) -> None:
    with one_robot(tmp_path) as robot:
        client = Client(robot)
        answer = client.send(goal(5.0)).get_result_async()
        # The request has left this process; the server is asked for something else after it.
        robot.graph.set_parameters(robot.node, {"ramp_time": 0.0})
        robot.process.process.terminate()
        robot.graph.wait(answer.done, "the result")
        client.ends(answer.result(), ABORTED, Result.INVALID_GOAL, "deactivated")
