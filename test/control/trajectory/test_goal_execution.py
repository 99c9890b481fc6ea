"""Execution of goals by a controller: cancelling, faults, speed scaling and tolerances."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros import RobotDynamicsError
from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.control.configuration.settings import ControllerSettings
from robot_dynamics_ros.control.controller import make_controller
from robot_dynamics_ros.control.goals import (
    Code,
    Deadline,
    Ending,
    GoalExecution,
    check_law,
)
from robot_dynamics_ros.control.safety import Mode
from support.controlled_arm import MODEL, Q, move, teleporting
from support.trajectories import goal_tolerances

NAMES = MODEL.joint_names
THERE = np.array([0.5, -0.6])
STEP = 0.01


class Client:
    """Record of ``seconds`` and ``errors`` of the progress of a goal, and of its end."""

    def __init__(self, execution: GoalExecution) -> None:
        self.execution = execution
        self.seconds: list[float] = []
        self.errors: list[Any] = []
        self.end_of_it: Any = None

    def check(self, steady: float) -> None:
        if self.end_of_it is not None:
            return
        event = self.execution.check(steady)
        if event.progress is not None:
            self.seconds.append(event.progress.seconds)
            self.errors.append(
                None if event.progress.error is None else event.progress.error.copy()
            )
        if event.ending is not None:
            self.end_of_it = event

    def ended(self, ending: Ending, code: Code, *words: str) -> None:
        assert self.end_of_it.ending is ending and self.end_of_it.code is code, (
            self.end_of_it
        )
        assert all(word in self.end_of_it.message for word in words)


class Arm:
    """Controller whose arm follows exactly, except for the errors ``off`` (n,) and ``off_d``."""

    def __init__(self, settings: ControllerSettings | None = None) -> None:
        self.controller = make_controller(MODEL, teleporting(settings))
        self.client: Client | None = None
        self.off = np.zeros(2)
        self.off_d = np.zeros(2)
        self.time = self.steady = 0.0
        self.q = Q.copy()
        self.qd = np.zeros(2)
        self.cycle(0.0)

    def cycle(self, dt: float = STEP) -> None:
        """Run a cycle with the desired state of this cycle as the measured one."""
        self.time = self.time + dt
        self.steady = self.steady + dt
        self.controller.measure(self.time, self.steady, self.q, self.qd)
        self.controller.update(self.time, self.steady)
        desired = self.controller.command.desired
        self.q = desired.q - self.off
        self.qd = desired.qd - self.off_d
        self.controller.measure(self.time + 1e-6, self.steady, self.q, self.qd)
        if self.client is not None:
            self.client.check(self.steady)

    def cycles(self, until: Callable[[], Any], most: int = 1000) -> int:
        """Run cycles until a condition is true; return their number."""
        for k in range(most):
            if until():
                return k
            self.cycle()
        raise AssertionError(f"nothing happened in {most} cycles")

    def send(
        self, points: TrajectoryPoints | None = None, **constraints: Any
    ) -> Client:
        trajectory = self.controller.follow(
            move(THERE) if points is None else points, None, self.time
        )
        tolerances = goal_tolerances(NAMES, **constraints)
        self.client = Client(
            GoalExecution(self.controller, 20.0, trajectory, tolerances)
        )
        return self.client


@pytest.fixture
def arm() -> Arm:
    return Arm()


def test_a_goal_succeeds_at_the_end_of_its_trajectory(arm: Arm) -> None:
    arm.cycle()
    client = arm.send(path_tolerance=[1e-9], goal_tolerance=[1e-9])
    assert arm.cycles(lambda: client.end_of_it) == 100
    client.ended(Ending.SUCCEEDED, Code.SUCCESSFUL)
    assert np.array_equal(arm.q, THERE)
    assert client.seconds[:3] == pytest.approx([0.01, 0.06, 0.11]), "20 Hz"
    assert client.seconds[-1] == pytest.approx(1.0) and len(client.seconds) in (20, 21)
    assert all(np.abs(error[0]).max() < 1e-12 for error in client.errors)
    arm.cycle()
    assert len(client.seconds) <= 21


def test_a_path_tolerance_violation_stops_the_arm(arm: Arm) -> None:
    client = arm.send(path_tolerance=[0.05, 0.02])
    arm.off[1] = -0.03
    arm.cycles(lambda: client.end_of_it, 3)
    client.ended(Ending.ABORTED, Code.PATH_TOLERANCE_VIOLATED, '"joint2"', "-0.03")
    assert client.errors[-1][0] == pytest.approx([0.0, -0.03])
    arm.cycle(1.0)
    assert np.abs(arm.controller.command.desired.q - THERE).max() > 0.1, (
        "it stays where it stopped"
    )
    assert arm.controller.mode is Mode.ACTIVE


def test_it_waits_for_the_goal_tolerance_until_the_goal_time(arm: Arm) -> None:
    client = arm.send(goal_tolerance=[0.01], goal_time=0.5)
    arm.off[0] = 0.02
    arm.cycles(lambda: arm.time > 1.4)
    assert client.end_of_it is None
    arm.off[0] = 0.0
    arm.cycles(lambda: client.end_of_it, 3)
    client.ended(Ending.SUCCEEDED, Code.SUCCESSFUL)
    again = arm.send(goal_tolerance=[0.01], goal_time=0.5)
    begin = arm.time
    arm.off_d[1] = 0.02
    arm.cycles(lambda: again.end_of_it)
    assert 1.5 < arm.time - begin < 1.53
    again.ended(Ending.ABORTED, Code.GOAL_TOLERANCE_VIOLATED, '"joint2"', "velocity")


def test_a_canceled_goal_slows_the_arm_down_and_ends_at_the_next_check(
    arm: Arm,
) -> None:
    client = arm.send()
    arm.cycle(0.5)
    client.execution.cancel()
    assert client.end_of_it is None, "first the request is answered"
    speed = np.abs(arm.qd).max()
    client.check(arm.steady)
    client.ended(Ending.CANCELED, Code.SUCCESSFUL)
    arm.cycle()
    assert 0.0 < np.abs(arm.qd).max() < speed
    arm.cycle(2.0)
    assert np.abs(arm.qd).max() == 0.0 and np.abs(arm.q - THERE).max() > 0.01


def test_events_that_abort_the_goal(arm: Arm) -> None:
    controller = arm.controller
    settings = arm.controller.settings
    client = arm.send()
    controller.tune(replace(settings, law="gravity_compensation"))
    controller.tune(settings)  # between two cycles the arm holds its position
    arm.cycle()
    client.ended(Ending.ABORTED, Code.INVALID_GOAL, "dropped")
    client = arm.send()
    controller.tune(replace(settings, law="gravity_compensation"))
    arm.cycle()
    client.ended(Ending.ABORTED, Code.INVALID_GOAL, "gravity_compensation")
    controller.tune(settings)
    client = arm.send()
    controller.watch(arm.steady + 1.0)
    client.check(arm.steady + 1.0)
    client.ended(Ending.ABORTED, Code.INVALID_GOAL, "hold")


def test_speed_scaling_delays_the_end_and_the_deadline() -> None:
    arm = Arm()
    arm.controller.plan.set_speed(0.5)
    arm.cycles(lambda: arm.controller.plan.speed == 0.5)
    begin = arm.time
    client = arm.send(goal_tolerance=[0.01], goal_time=0.2)
    arm.off[0] = 0.02
    arm.cycles(lambda: client.end_of_it)
    assert arm.time - begin == pytest.approx(2.4, abs=0.03)
    client.ended(Ending.ABORTED, Code.GOAL_TOLERANCE_VIOLATED)
    assert client.seconds[10] < 0.3, "progress is in trajectory time"


def test_a_goal_is_not_checked_before_its_first_cycle(arm: Arm) -> None:
    """A single distant point that applies at once has not been commanded yet."""
    client = arm.send(move(0.5 * (Q + THERE), seconds=0.0), goal_tolerance=[0.05])
    client.check(arm.steady)
    assert client.end_of_it is None and client.seconds == []


@pytest.mark.parametrize(
    ("times", "due"),
    [
        ((9.0,), [True]),  # a tenth of a period early
        ((-10.0,), [True]),  # two periods ahead: the clock jumped
        # a period late: the next deadline counts from now
        ((20.0, 25.0, 29.5), [True, False, True]),
    ],
)
def test_deadlines_at_their_tolerances(
    times: tuple[float, ...], due: list[bool]
) -> None:
    """Deadlines every 10 s from 0 on."""
    deadline = Deadline(0.1)
    assert deadline.due(0.0)
    assert [deadline.due(time) for time in times] == due


def test_an_open_loop_law_succeeds_by_time() -> None:
    controller = make_controller(
        MODEL, teleporting(law="feedforward", update_rate=100.0)
    )
    points = TrajectoryPoints(
        NAMES, np.array([0.0, 1.0]), np.array([Q, THERE]), np.zeros((2, 2))
    )
    trajectory = controller.follow(points, None, 0.0)
    client = Client(
        GoalExecution(
            controller, 20.0, trajectory, goal_tolerances(NAMES, path_tolerance=[0.1])
        )
    )
    for k in range(102):
        controller.update(k * STEP, k * STEP)
        client.check(k * STEP)
    client.ended(Ending.SUCCEEDED, Code.SUCCESSFUL, "without joint_states")
    assert client.errors[0] is None


def test_a_law_that_does_not_follow_refuses_goals(arm: Arm) -> None:
    check_law(arm.controller)
    with pytest.raises(RobotDynamicsError, match="gravity_compensation"):
        check_law(Arm(teleporting(law="gravity_compensation")).controller)
