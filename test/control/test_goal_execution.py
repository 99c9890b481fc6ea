"""A goal from its acceptance to its end, on a controller: preemption, cancelling, faults, speed, tolerances."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import arms
import numpy as np
import pytest
from oracles import tsai_planar_2r as tsai
from teleporting import teleporting

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.control.controller import Controller
from robot_dynamics_ros.control.goal_execution import Deadline, Ending, GoalExecution, Outcome, Progress
from robot_dynamics_ros.control.goal_tolerances import Code, Constraints, Tolerances
from robot_dynamics_ros.control.safety import Mode
from robot_dynamics_ros.control.settings import ControllerSettings, SafetySettings
from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints

P = tsai.Parameters(a1=0.5, a2=0.4, m1=4.0, m2=3.0, g=9.81)
NAMES = ("joint1", "joint2")
Q, THERE = np.array([0.3, -0.8]), np.array([0.5, -0.6])
STEP = 0.01
FREE = Constraints()


class Client:
    """Keeps what it is told; ``seconds`` and ``errors`` of each progress."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.errors: list[Any] = []
        self.end_of_it: tuple[Ending, Outcome] | None = None

    def progress(self, progress: Progress) -> None:
        assert self.end_of_it is None
        self.seconds.append(progress.seconds)
        self.errors.append(None if progress.error is None else progress.error.copy())

    def end(self, ending: Ending, outcome: Outcome) -> None:
        assert self.end_of_it is None, "it ends once"
        self.end_of_it = ending, outcome

    def ended(self, ending: Ending, code: Code, *words: str) -> None:
        assert self.end_of_it is not None
        assert self.end_of_it[0] is ending and self.end_of_it[1].code is code, self.end_of_it
        for word in words:
            assert word in self.end_of_it[1].message


class Arm:
    """A controller whose arm is where it should be, but for ``off`` (n,) and ``off_d``."""

    def __init__(self, model: RobotModel, settings: ControllerSettings | None = None) -> None:
        self.controller = Controller(model, teleporting(settings))
        self.execution = GoalExecution(self.controller, 20.0)
        self.off, self.off_d = np.zeros(2), np.zeros(2)
        self.time = self.steady = 0.0
        self.q, self.qd = Q.copy(), np.zeros(2)
        self.cycle(0.0)

    def cycle(self, dt: float = STEP) -> None:
        """The arm is measured where it was to be in this cycle; as joint_states come, so go the cycles."""
        self.time, self.steady = self.time + dt, self.steady + dt
        self.controller.measure(self.time, self.steady, self.q, self.qd)
        self.controller.update(self.time, self.steady)
        assert self.controller.command is not None
        desired = self.controller.command.desired
        self.q, self.qd = desired.q - self.off, desired.qd - self.off_d
        self.controller.measure(self.time + 1e-6, self.steady, self.q, self.qd)
        self.execution.check(self.steady)

    def cycles(self, until: Callable[[], Any], most: int = 1000) -> int:
        """Run cycles until something is so; return how many."""
        for k in range(most):
            if until():
                return k
            self.cycle()
        raise AssertionError(f"nothing happened in {most} cycles")

    def send(self, constraints: Constraints = FREE, seconds: float = 1.0, start: float | None = None) -> Client:
        client = Client()
        still = np.zeros((1, 2))
        points = TrajectoryPoints(NAMES, np.array([seconds]), THERE[None], still, still)
        trajectory = self.controller.follow(points, start, self.time)
        self.execution.start(client, trajectory, Tolerances.default(constraints, NAMES))
        return client


@pytest.fixture(scope="module")
def model() -> RobotModel:
    return RobotModel.from_urdf(arms.tsai_planar_2r(P).urdf, gravity=[0.0, -P.g, 0.0])


@pytest.fixture
def arm(model: RobotModel) -> Arm:
    return Arm(model)


def test_a_goal_succeeds_at_the_end_of_its_trajectory(arm: Arm) -> None:
    arm.cycle()
    client = arm.send(Constraints(path_tolerance=[1e-9], goal_tolerance=[1e-9]))
    assert arm.cycles(lambda: client.end_of_it) == 100
    client.ended(Ending.SUCCEEDED, Code.SUCCESSFUL)
    assert np.array_equal(arm.q, THERE)
    assert client.seconds[:3] == pytest.approx([0.01, 0.06, 0.11]), "20 Hz"
    assert client.seconds[-1] == pytest.approx(1.0) and len(client.seconds) in (20, 21)
    assert all(np.abs(error[0]).max() < 1e-12 for error in client.errors)
    arm.cycle()
    assert len(client.seconds) <= 21


def test_a_joint_off_its_path_stops_the_arm(arm: Arm) -> None:
    client = arm.send(Constraints(path_tolerance=[0.05, 0.02]))
    arm.off[1] = -0.03
    arm.cycles(lambda: client.end_of_it, 3)
    client.ended(Ending.ABORTED, Code.PATH_TOLERANCE_VIOLATED, '"joint2": position error -0.03 is over the path')
    assert client.errors[-1][0] == pytest.approx([0.0, -0.03])
    arm.cycle(1.0)
    assert np.abs(arm.controller.command.desired.q - THERE).max() > 0.1, "it stays where it stopped"  # type: ignore[union-attr]
    assert arm.controller.mode is Mode.ACTIVE


def test_it_waits_for_the_arm_to_settle_and_gives_up_in_time(arm: Arm) -> None:
    client = arm.send(Constraints(goal_tolerance=[0.01], goal_time=0.5))
    arm.off[0] = 0.02
    arm.cycles(lambda: arm.time > 1.4)
    assert client.end_of_it is None
    arm.off[0] = 0.0
    arm.cycles(lambda: client.end_of_it, 3)
    client.ended(Ending.SUCCEEDED, Code.SUCCESSFUL)
    again = arm.send(Constraints(goal_tolerance=[0.01], goal_time=0.5))
    begin, arm.off_d[1] = arm.time, 0.02
    arm.cycles(lambda: again.end_of_it)
    assert 1.5 < arm.time - begin < 1.53
    again.ended(Ending.ABORTED, Code.GOAL_TOLERANCE_VIOLATED, '"joint2": velocity error 0.02 is over the goal', "0.01")


def test_a_new_goal_replaces_the_one_that_runs(arm: Arm) -> None:
    first = arm.send()
    arm.cycle(0.5)
    second = arm.send()
    first.ended(Ending.ABORTED, Code.INVALID_GOAL, "replaced by a new goal")
    assert arm.cycles(lambda: second.end_of_it) == 100
    second.ended(Ending.SUCCEEDED, Code.SUCCESSFUL)


def test_a_canceled_goal_slows_the_arm_down_and_ends_at_the_next_check(arm: Arm) -> None:
    client = arm.send()
    arm.cycle(0.5)
    arm.execution.cancel()
    assert client.end_of_it is None, "first the request is answered"
    speed = np.abs(arm.qd).max()
    arm.execution.check(arm.steady)
    client.ended(Ending.CANCELED, Code.SUCCESSFUL)
    arm.cycle()
    assert 0.0 < np.abs(arm.qd).max() < speed
    arm.cycle(2.0)
    assert np.abs(arm.qd).max() == 0.0 and np.abs(arm.q - THERE).max() > 0.01
    arm.execution.cancel()  # of a goal that is over


def test_the_end_of_a_controller_ends_its_goal(arm: Arm) -> None:
    client = arm.send()
    arm.cycle()
    arm.execution.abort("the node was deactivated")
    client.ended(Ending.ABORTED, Code.INVALID_GOAL, "deactivated")
    arm.execution.abort("again")


def test_a_fault_ends_the_goal_and_says_what_it_was(model: RobotModel) -> None:
    arm = Arm(model, teleporting(safety=SafetySettings(state_timeout=0.05)))
    client = arm.send()
    arm.cycle()
    arm.controller.watch(arm.steady + 0.2)
    arm.execution.check(arm.steady + 0.2)
    client.ended(Ending.ABORTED, Code.INVALID_GOAL, "the controller went to hold: joint_states are 0.200 s old")


def test_a_clock_that_jumps_back_ends_the_goal(arm: Arm) -> None:
    client = arm.send()
    arm.cycle()
    arm.cycle(-0.5)
    client.ended(Ending.ABORTED, Code.INVALID_GOAL, "time jumped back by")


def test_a_law_that_follows_nothing_ends_the_goal(arm: Arm) -> None:
    client = arm.send()
    arm.cycle()
    arm.controller.tune(replace(arm.controller.settings, law="gravity_compensation"))
    arm.cycle()
    client.ended(Ending.ABORTED, Code.INVALID_GOAL, "the law is gravity_compensation now")


def test_a_trajectory_that_was_dropped_is_no_success(arm: Arm) -> None:
    """Two changes of the law between two cycles: the arm then holds where it is, and would do so at the end."""
    client, settings = arm.send(), arm.controller.settings
    arm.cycle()
    arm.controller.tune(replace(settings, law="gravity_compensation"))
    arm.controller.tune(settings)
    arm.cycles(lambda: client.end_of_it, 3)
    client.ended(Ending.ABORTED, Code.INVALID_GOAL, "its trajectory was dropped")


def test_a_reduced_speed_puts_off_the_end_and_the_deadline(model: RobotModel) -> None:
    arm = Arm(model)
    arm.controller.set_speed_scaling(0.5)
    arm.cycles(lambda: arm.controller.speed_scaling == 0.5)
    begin = arm.time
    client = arm.send(Constraints(goal_tolerance=[0.01], goal_time=0.2))
    arm.off[0] = 0.02
    arm.cycles(lambda: client.end_of_it)
    assert arm.time - begin == pytest.approx(2.4, abs=0.03)
    client.ended(Ending.ABORTED, Code.GOAL_TOLERANCE_VIOLATED)
    assert client.seconds[10] < 0.3, "progress is in trajectory time"


def test_a_paused_goal_stays_a_goal(arm: Arm) -> None:
    client = arm.send(Constraints(goal_time=0.1))
    arm.cycle(0.3)
    arm.controller.set_speed_scaling(0.0)
    for _ in range(100):
        arm.cycle(0.1)
    assert client.end_of_it is None
    arm.controller.set_speed_scaling(1.0)
    arm.cycles(lambda: client.end_of_it, 300)
    client.ended(Ending.SUCCEEDED, Code.SUCCESSFUL)


def test_a_start_in_the_future_is_waited_for(arm: Arm) -> None:
    client = arm.send(start=2.0)
    arm.cycles(lambda: client.end_of_it, 400)
    assert arm.time == pytest.approx(3.0, abs=0.02) and np.array_equal(arm.q, THERE)
    assert client.seconds[0] < -1.9


def test_the_state_before_its_first_cycle_says_nothing_of_a_goal(arm: Arm) -> None:
    """A single point at once, far away: nothing has been commanded for it yet."""
    client = Client()
    point = TrajectoryPoints(NAMES, np.zeros(1), 0.5 * (Q + THERE)[None], np.zeros((1, 2)))
    trajectory = arm.controller.follow(point, None, arm.time)
    arm.execution.start(client, trajectory, Tolerances.default(Constraints(goal_tolerance=[0.05]), NAMES))
    arm.execution.check(arm.steady)
    assert client.end_of_it is None and client.seconds == []


def test_an_open_loop_law_succeeds_by_time(model: RobotModel) -> None:
    controller = Controller(model, teleporting(law="feedforward", update_rate=100.0))
    execution, client = GoalExecution(controller, 20.0), Client()
    points = TrajectoryPoints(NAMES, np.array([0.0, 1.0]), np.array([Q, THERE]), np.zeros((2, 2)))
    trajectory = controller.follow(points, None, 0.0)
    execution.start(client, trajectory, Tolerances.default(Constraints(path_tolerance=[0.1]), NAMES))
    for k in range(102):
        controller.update(k * STEP, k * STEP)
        execution.check(k * STEP)
    client.ended(Ending.SUCCEEDED, Code.SUCCESSFUL, "without joint_states")
    assert client.errors[0] is None


def test_an_open_loop_law_tells_errors_while_states_come(model: RobotModel) -> None:
    controller = Controller(model, teleporting(law="feedforward", update_rate=100.0))
    execution, client = GoalExecution(controller, 1000.0), Client()
    points = TrajectoryPoints(NAMES, np.array([0.0, 1.0]), np.array([Q, THERE]), np.zeros((2, 2)))
    execution.start(client, controller.follow(points, None, 0.0), Tolerances.default(FREE, NAMES))
    for k in range(30):
        if k < 10:
            controller.measure(k * STEP, k * STEP, Q, np.zeros(2))
        controller.update(k * STEP, k * STEP)
        execution.check(k * STEP)
    assert client.errors[5] is not None and client.errors[-1] is None


@pytest.mark.parametrize(("rate", "step", "expected"), [(50.0, 0.001, 50), (50.0, 0.02, 50), (50.0, 1 / 60, 50)])
def test_deadlines_keep_their_rate(rate: float, step: float, expected: int) -> None:
    deadline = Deadline(rate)
    times = np.arange(0.0, 10.0, step)
    times += 1e-4 * np.sin(np.arange(len(times)))  # nobody keeps time exactly
    assert abs(sum(map(deadline.due, times)) / 10 - expected) <= 1


def test_a_deadline_is_met_a_tenth_of_a_period_early_and_waits_for_less_than_two() -> None:
    deadline = Deadline(4.0)
    assert deadline.due(10.0) and not deadline.due(10.21) and deadline.due(10.24)
    assert not deadline.due(10.1), "0.4 s ahead: a clock set back a little"
    assert deadline.due(9.9), "0.6 s ahead: it has jumped"


@pytest.mark.parametrize(
    ("times", "due"),
    [
        ((9.0,), [True]),  # a tenth of a period early
        ((-10.0,), [True]),  # two periods ahead: the clock has jumped
        ((20.0, 25.0, 29.5), [True, False, True]),  # a period late: the next one counts from now
    ],
)
def test_deadlines_at_their_edges(times: tuple[float, ...], due: list[bool]) -> None:
    """Every 10 s, from 0 on."""
    deadline = Deadline(0.1)
    assert deadline.due(0.0)
    assert [deadline.due(time) for time in times] == due


def test_a_law_that_follows_nothing_takes_no_goal(model: RobotModel) -> None:
    Arm(model).execution.check_law()
    with pytest.raises(RobotDynamicsError, match="the law gravity_compensation follows no trajectory"):
        Arm(model, teleporting(law="gravity_compensation")).execution.check_law()


def test_nothing_is_canceled_where_no_goal_runs(arm: Arm) -> None:
    drops = arm.controller.dropped_trajectories
    arm.execution.cancel()
    assert arm.controller.dropped_trajectories == drops


def test_progress_tells_both_errors(arm: Arm) -> None:
    client = arm.send()
    arm.off[:], arm.off_d[:] = (0.02, 0.0), (0.0, -0.03)
    arm.cycles(lambda: len(client.errors) > 2)
    np.testing.assert_allclose(client.errors[-1][0], arm.off, rtol=0, atol=1e-12)
    np.testing.assert_allclose(client.errors[-1][1], arm.off_d, rtol=0, atol=0.02)  # measured a cycle ago


def test_a_deadline_survives_a_clock_that_jumps() -> None:
    deadline = Deadline(10.0)
    assert deadline.due(100.0) and not deadline.due(100.05)
    assert deadline.due(3.0) and not deadline.due(3.05) and deadline.due(3.1)
    assert deadline.due(50.0) and not deadline.due(50.05)
