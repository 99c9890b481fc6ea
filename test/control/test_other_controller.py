"""Another controller moves the arm meanwhile: the node then does not insist on its own desired position."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy.interpolate import CubicHermiteSpline

from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.base.parameters.file import read_parameter_file
from robot_dynamics_ros.control.configuration.settings import ALL, read_settings
from robot_dynamics_ros.control.interface import Followed
from robot_dynamics_ros.control.trajectory.trajectory_effort import trajectory_effort
from robot_dynamics_ros.dynamics.kernels.types import Array
from support.independent_plant import Session, make_settings, trajectory

FILE = (
    Path(__file__).resolve().parents[2]
    / "config"
    / "ros2_control_joint_trajectory.yaml"
)
WAY = np.array([1.0, 0.6, -0.5, 0.8, 1.0, 0.7, -1.0])
SETTLING = 0.3  # s


class TrajectoryController:
    """Stand-in for joint_trajectory_controller with ``config/ros2_control_joint_trajectory.yaml``.

    It adds the effort of the points to its PID output, from its own desired state on.
    """

    def __init__(self, session: Session) -> None:
        gains = yaml.safe_load(FILE.read_text(encoding="utf-8"))["arm_controller"][
            "ros__parameters"
        ]["gains"]
        self.p, self.d = (
            np.array([gains[name][key] for name in session.names]) for key in "pd"
        )
        self.session = session
        self.desired = session.plant.q.copy()
        self.effort = np.zeros(len(session.names))
        self.efforts: list[Array] = []
        self.speeds: list[float] = []

    def follow(self, points: TrajectoryPoints, seconds: float) -> None:
        """Execute a trajectory, and continue for ``seconds``."""
        assert points.velocities is not None and points.effort is not None
        times = np.append(0.0, points.times)
        rows = np.vstack((self.desired, points.positions))
        rates = np.vstack((0.0 * self.desired, points.velocities))
        path = CubicHermiteSpline(times, rows, rates)
        efforts = np.vstack((self.effort, points.effort))
        self._run(times[-1] + seconds, times, path, efforts)

    def _run(
        self, seconds: float, times: Array, path: CubicHermiteSpline, efforts: Array
    ) -> None:
        session = self.session
        rate = path.derivative()
        for step in range(round(seconds / session.period)):
            time = min(step * session.period, float(times[-1]))
            moves = step * session.period < times[-1]
            self.desired = path(time)
            velocity = rate(time) if moves else np.zeros_like(self.desired)
            feed = np.array([np.interp(time, times, column) for column in efforts.T])
            error = self.desired - session.plant.q
            self.effort = feed + self.p * error + self.d * (velocity - session.plant.qd)
            self.efforts.append(self.effort)
            # the driver adds gravity
            session.effort = self.effort + session.plant.gravity()
            session.pass_time()
            session.state()
            self.speeds.append(float(np.abs(session.plant.qd).max()))


def forwards(session: Session, followed: Followed) -> TrajectoryPoints:
    """Return the trajectory with effort as the node publishes it."""
    *_, points = trajectory_effort(
        session.session.arm.model,
        followed.trajectory,
        session.names,
        session.settings.trajectory_effort_period,
        session.settings.friction_smoothing_velocity,
    )
    assert points is not None
    return points


@pytest.mark.parametrize("runs", [False, True])
@pytest.mark.parametrize("distance", [0.015, 0.08, 0.4])
def test_a_forwarded_trajectory_begins_where_another_controller_has_moved_the_arm(
    distance: float, runs: bool
) -> None:
    """Also while a trajectory of the node runs, which that controller does not follow."""
    file = read_parameter_file(FILE, "/computed_torque_node", ALL)
    session = Session("panda", read_settings(file), viscous=1.0, coulomb=0.3)
    session.state()
    other = TrajectoryController(session)
    start = session.plant.q.copy()
    there = start + distance * WAY
    if runs:
        assert session.go([start + 0.05 * WAY], [5.0])
    none = np.zeros((1, len(start)))
    times = np.array([2.0])
    leg = TrajectoryPoints(session.names, times, there[None], none, effort=none)
    other.follow(leg, SETTLING)
    assert session.causes == [] or runs
    if session.causes:
        assert not session.go([start], [2.0]), "refused in a fault"
        session.session.clear_fault(session.now)
    data = trajectory(session.names, [2.0], [there + 0.2 * WAY])
    followed = session.receive("joint_trajectory", data).followed
    assert followed is not None
    other.efforts = other.efforts[-1:]
    other.speeds.clear()
    other.follow(forwards(session, followed), SETTLING)
    steps = np.abs(np.diff(other.efforts, axis=0)).max(axis=0)
    assert (steps < 0.1 * session.model.effort_limits).all()
    assert max(other.speeds) < 0.5
    assert np.abs(session.plant.q - there - 0.2 * WAY).max() < 0.01


def moved(session: Session, way: Array, meanwhile: Callable[[], None]) -> None:
    """Let something else move the arm by ``way`` within 1 s, and call ``meanwhile`` before it lets go."""
    start = session.plant.q.copy()
    session.plant.braked = True  # the commands have no effect
    count = round(1.0 / session.period)
    for s in np.linspace(0.0, 1.0, count):
        session.pass_time()
        session.plant.q = start + (10.0 * s**3 - 15.0 * s**4 + 6.0 * s**5) * way
        session.plant.qd = (30.0 * s**2 - 60.0 * s**3 + 30.0 * s**4) * way
        session.state()
    session.run(0.05)
    meanwhile()
    session.plant.braked = False


@pytest.mark.parametrize("clears", [False, True])
@pytest.mark.parametrize("frequency", [5.0, 10.0])
def test_an_arm_that_was_moved_during_a_fault_is_not_driven_back(
    clears: bool, frequency: float
) -> None:
    """``~/clear_fault`` holds the measured position."""
    settings = make_settings(natural_frequency=(frequency,))
    session = Session("panda", settings, noise=(1e-5, 1e-4))
    session.run(0.2)
    session.session.safety.request_emergency_stop("test")
    session.run(0.1)
    there = session.plant.q + 0.87 * WAY

    def meanwhile() -> None:
        if clears:
            session.session.clear_fault(session.now)
            session.run(0.3)

    moved(session, 0.87 * WAY, meanwhile)
    fastest = 0.0
    for _ in range(round(1.5 / session.period)):
        session.cycle()
        fastest = max(fastest, float(np.abs(session.plant.qd).max()))
    assert session.controller.mode.value == ("active" if clears else "hold")
    back = np.abs(session.plant.q - there).max()
    assert (
        (back < 0.01 and fastest < 0.1) if clears else (back < 0.31 and fastest < 0.9)
    )


def test_the_hold_still_carries_an_unknown_load() -> None:
    """After a fault that drops the load which the law held: 30 % more mass is not another controller."""
    settings = make_settings(natural_frequency=(5.0,), following_error_limit=(0.05,))
    session = Session("panda", settings, mass_error=0.3, viscous=1.0)
    start = session.plant.q.copy()
    session.run(3.0)
    assert session.causes == ["following_error"]
    assert np.abs(session.plant.q - start).max() < 0.6


def test_a_wrong_sag_moves_no_arm() -> None:
    """The other controller takes over at the stop: its position looks like a load, and is only returned from."""
    settings = make_settings(natural_frequency=(10.0,))
    session = Session("panda", settings, noise=(1e-5, 1e-4))
    session.run(0.2)
    assert session.go([session.plant.q + 0.3 * WAY], [0.6])
    session.run(0.3)
    session.session.safety.request_emergency_stop("test")
    session.run(0.01)
    stopped = session.plant.q.copy()
    moved(session, 0.6 * WAY, lambda: None)
    session.plant.braked = True
    session.run(0.5)
    session.plant.braked = False
    session.run(2.0)
    assert session.controller.mode.value == "hold"
    assert np.abs(session.plant.qd).max() < 0.05
    beyond = (stopped - session.plant.q) * np.sign(WAY)
    assert beyond.max() < 0.05


@pytest.mark.parametrize("distance", [0.08, 0.4])
@pytest.mark.parametrize("engaged", [False, True])
def test_the_arm_is_taken_over_without_a_step_if_the_driver_reports_commands(
    distance: float, engaged: bool
) -> None:
    """Also by a node that was left active, and by one in an emergency stop."""
    session = Session("panda", noise=(1e-5, 1e-4), reports_effort=True, viscous=1.0)
    session.run(0.8)
    if engaged:
        session.session.safety.request_emergency_stop("test")
    moved(session, distance * WAY, lambda: None)
    there = session.plant.q.copy()
    last = session.plant.gravity()
    step = fastest = 0.0
    for _ in range(round(1.0 / session.period)):
        session.cycle()
        share = np.abs(session.effort - last) / session.model.effort_limits
        step = max(step, float(share.max()))
        fastest = max(fastest, float(np.abs(session.plant.qd).max()))
        last = session.effort
    assert session.causes == ["emergency_stop" if engaged else "no_response"]
    assert step < 0.01 and fastest < 0.05
    assert np.abs(session.plant.q - there).max() < 0.01


def message_of_motion(session: Session, effort: Callable[[], Array]) -> str:
    """Return the fault of a motion whose states report ``effort``, after a second of reported commands; "": none."""
    session.reports_effort = True
    session.run(1.0)
    assert session.go([session.plant.q + 0.4 * WAY], [1.0])
    for _ in range(round(1.0 / session.period)):
        session.pass_time()
        session.state(effort=effort())
    fault = session.session.safety.fault
    return "" if fault is None else fault.message


@pytest.mark.parametrize("factor", [0.0, 0.5, -1.0])
def test_a_drive_that_reports_another_effort_is_named(factor: float) -> None:
    """It is dead, limits its effort, or has the other sign."""
    session = Session("panda", noise=(1e-5, 1e-4), viscous=1.0)

    def given() -> Array:
        effort = session.effort.copy()
        effort[1] *= factor
        return effort

    message = message_of_motion(session, given)
    assert session.causes == ["no_response"] and "panda_joint2" in message
    assert "not commanded" in message


@pytest.mark.parametrize("delay", [0, 30])
def test_delayed_and_measured_efforts_are_no_fault(delay: int) -> None:
    """Reports are commands of up to 0.25 s ago, or measured with noise, which are never compared."""
    session = Session("panda", noise=(1e-5, 1e-4), viscous=1.0)
    random = np.random.default_rng(1)

    def measured() -> Array:
        if delay:
            return session.commands[-min(delay, len(session.commands))].effort
        return session.effort + 0.1 * random.standard_normal(len(session.effort))

    for _ in range(round(1.0 / session.period)):
        session.pass_time()
        session.state(effort=measured() if session.commands else None)
    assert session.go([session.plant.q + 0.4 * WAY], [1.0])
    for _ in range(round(1.5 / session.period)):
        session.pass_time()
        session.state(effort=measured())
    assert session.causes == []


def test_commands_that_arrive_late_are_no_other_controller() -> None:
    """A busy machine delays them by up to 0.5 s; the driver repeats the one before meanwhile."""
    session = Session("panda", noise=(1e-5, 1e-4), viscous=1.0, reports_effort=True)
    session.run(1.0)
    assert session.go([session.plant.q + 0.4 * WAY], [2.0])
    last = round(0.5 / session.period)
    for age in [*range(last), *[last] * 250, *range(last, 0, -3)]:
        session.pass_time()
        session.state(effort=session.commands[-1 - age].effort)
    assert session.causes == []
