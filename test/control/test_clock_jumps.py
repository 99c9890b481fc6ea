"""Time that leaps ahead of the steady clock: the desired state would leap as well, and throw the arm."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from teleporting import teleporting

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.controller import Command, Controller
from robot_dynamics_ros.control.faults import Cause
from robot_dynamics_ros.control.safety import Mode
from robot_dynamics_ros.control.settings import SafetySettings
from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints

Q, REST = np.array([0.3, -0.8]), np.zeros(2)
STEP, HOUR = 0.002, 3600.0


@pytest.fixture(scope="module")
def model(load_robot: Callable[..., RobotModel]) -> RobotModel:
    return load_robot("planar_2r", "planar_2r_tsai")


class Run:
    """A controller that follows a trajectory of 10 s, the arm always where it is to be."""

    def __init__(self, model: RobotModel, state_timeout: float = 0.1) -> None:
        safety = SafetySettings(fault_reset="auto", state_timeout=state_timeout)
        self.controller = Controller(model, teleporting(safety=safety))
        self.time = self.steady = 5.0
        self.command = self._cycle(True)
        still = np.zeros((1, 2))
        points = TrajectoryPoints(("joint1", "joint2"), np.array([10.0]), np.array([[1.5, 0.9]]), still, still)
        self.controller.follow(points, None, self.time)

    def step(self, seconds: float = STEP, steady: float = STEP, measured: bool = True) -> Command:
        self.time, self.steady = self.time + seconds, self.steady + steady
        self.command = self._cycle(measured)
        return self.command

    def _cycle(self, measured: bool) -> Command:
        q, qd = Q, REST
        if self.time > 5.0:
            q, qd = self.command.desired.q.copy(), self.command.desired.qd.copy()
        self.controller.measure(self.time if measured else self.steady, self.steady, q, qd)
        command = self.controller.update(self.time, self.steady)
        assert command is not None
        return command


@pytest.mark.parametrize("measured", [True, False], ids=["stamps", "the node's clock"])
@pytest.mark.parametrize("jump", [10.0, HOUR])
def test_a_leap_ahead_drops_the_trajectory(jump: float, measured: bool, model: RobotModel) -> None:
    run = Run(model)
    for _ in range(500):
        run.step(measured=measured)
    before = run.command.desired.q.copy()
    assert np.abs(before - Q).max() > 1e-3, "it is under way"
    held = run.step(jump, measured=measured)
    assert held.mode is Mode.HOLD and run.controller.fault is not None
    assert run.controller.fault.cause is Cause.CLOCK_JUMPED_AHEAD
    assert run.controller.fault.value == pytest.approx(jump - STEP)
    for _ in range(150):
        later = run.step(measured=measured)
    assert later.mode is Mode.ACTIVE
    assert np.abs(later.desired.q - before).max() < 0.01, "it stays where it was"


def test_states_that_are_lost_are_no_leap(model: RobotModel) -> None:
    """Both clocks went on: the arm is where the trajectory is."""
    run = Run(model)
    run.step()
    assert run.step(0.09, 0.09).mode is Mode.ACTIVE
    assert run.step(3.0, 3.0).mode is Mode.ACTIVE


def test_a_fast_simulation_may_leap_where_states_are_never_too_old(model: RobotModel) -> None:
    run = Run(model, state_timeout=math.inf)
    run.step()
    assert run.step(2.0, 1e-4).mode is Mode.ACTIVE


def test_the_first_good_state_after_bad_ones_is_no_leap(model: RobotModel) -> None:
    run = Run(model)
    run.step()
    for _ in range(200):
        run.time, run.steady = run.time + STEP, run.steady + STEP
        run.controller.measure(run.time, run.steady, np.full(2, math.nan), REST)
        run.controller.update(run.time, run.steady)
    run.step()
    assert run.controller.fault is not None and run.controller.fault.cause is Cause.STATE_INVALID
