"""Rate limits of the torque after gaps, and stops before position limits, with an independent plant in lockstep."""

from __future__ import annotations

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.configuration.settings import ControllerSettings
from robot_dynamics_ros.control.limits import stopping_deceleration
from support.coupled_arms import differential, follower
from support.independent_plant import Session

RATE = 1000.0  # Nm/s
ROBOTS = pytest.mark.parametrize("robot", ["panda", "ur5e"])


def moving(robot: str, update_rate: float = 0.0) -> Session:
    settings = ControllerSettings(
        natural_frequency=(15.0,), torque_rate_limit=(RATE,), update_rate=update_rate
    )
    session = Session(robot, settings, viscous=1.0, coulomb=1.0).run(0.6)
    assert session.go([session.plant.q + 0.5 * np.eye(session.model.n)[1]], [0.6])
    return session.run(0.25)


def steps(session: Session, begin: float, seconds: float) -> tuple[float, float]:
    """Return the largest change of an effort in one command, and within ``seconds``, since ``begin`` (s)."""
    given = [command for command in session.commands if command.at >= begin]
    single = max(
        np.abs(b.effort - a.effort).max()
        for a, b in zip(given, given[1:], strict=False)
    )
    near = (
        np.abs(b.effort - a.effort).max()
        for b in given
        for a in given
        if 0.0 <= b.at - a.at <= seconds
    )
    return float(single), float(max(near))


@ROBOTS
@pytest.mark.parametrize("seconds", [0.06, 0.3])
def test_states_that_were_queued_entitle_to_no_larger_change(
    robot: str, seconds: float
) -> None:
    """The process is stopped (SIGSTOP); then the last ten states arrive within 0.1 ms."""
    session = moving(robot)
    queue = []
    begin = session.time - 0.001
    session.next_watch = np.inf
    for _ in range(round(seconds / session.period)):
        session.pass_time()
        queue.append(
            {
                "stamp": session.ros,
                "q": session.plant.q.copy(),
                "qd": session.plant.qd.copy(),
            }
        )
    for state in queue[-10:]:
        session.time += 1e-5
        session.state(**state)
    session.run(0.05)
    single, near = steps(session, begin, 0.001)
    assert (
        single <= 1.51 * RATE * session.period and near <= 2.52 * RATE * session.period
    )


@ROBOTS
@pytest.mark.parametrize("update_rate", [0.0, 500.0])
def test_a_gap_entitles_to_no_larger_change(robot: str, update_rate: float) -> None:
    session = moving(robot, update_rate)
    begin = session.time - 0.001
    session.pass_time(0.08)
    session.run(0.1)
    assert steps(session, begin, 0.0)[0] <= 1.51 * RATE * session.period


@pytest.mark.parametrize("model", [follower(), differential()])
def test_joints_stop_before_limits_of_dependent_joints(model: RobotModel) -> None:
    """Also where several coordinates move a joint, and beyond the limit within 0.02 s."""
    rows = model.limit_rows
    random = np.random.default_rng(0)
    count = 0
    lower = rows.limits[0]
    upper = rows.limits[1]
    for _ in range(500):
        q = random.uniform(-1.0, 1.0, model.n)
        qd = random.uniform(-3.0, 3.0, model.n)
        a = stopping_deceleration(rows, q, qd, np.full(model.n, 1.0))
        most = np.maximum(np.abs(qd) / 0.02, 1.0)
        assert (a >= 1.0).all() and (a <= most + 1e-9).all()
        if np.array_equal(rows.within(q), q) and (a < most).all():
            count += 1
            passed = np.minimum(np.linspace(0.0, 3.0, 300)[:, None], np.abs(qd) / a)
            moved = rows.positions(q + qd * passed - 0.5 * np.sign(qd) * a * passed**2)
            assert (moved <= upper + 1e-9).all() and (moved >= lower - 1e-9).all()
    assert count > 50
