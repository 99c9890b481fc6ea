"""Feedforward effort at the points of a trajectory."""

from typing import Any

import numpy as np
import pytest

from oracles import tsai_planar_2r as tsai
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.base.errors import TrajectoryError
from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.control.configuration.settings import (
    ControllerSettings,
    TrajectoryRules,
)
from robot_dynamics_ros.control.controller import make_controller
from robot_dynamics_ros.control.trajectory.trajectory import Trajectory
from robot_dynamics_ros.control.trajectory.trajectory_effort import trajectory_effort
from support.comparing import assert_close
from support.controlled_arm import FREE_ARM, GRAVITY, MODEL, P
from support.trajectories import RULES

NAMES = ("joint1", "joint2")
START = np.array([[0.2, -0.4], *np.zeros((3, 2))])
COULOMB = 2.0
VISCOUS = 0.5


@pytest.fixture(scope="module")
def rough() -> RobotModel:
    """Return the arm with friction in both joints."""
    extra = f'<dynamics damping="{VISCOUS}" friction="{COULOMB}"/>'
    arm = FREE_ARM.with_joint("joint1", extra=extra).with_joint("joint2", extra=extra)
    return RobotModel.from_urdf(arm.urdf, gravity=GRAVITY)


def _points(m: int = 6, *, effort: bool = False) -> TrajectoryPoints:
    """Return random points with zero final velocity, but not acceleration."""
    q, qd, qdd, u = np.random.default_rng(3).normal(size=(4, m, 2))
    qd[-1] = 0.0
    return TrajectoryPoints(
        NAMES, np.linspace(0.5, 2.0, m), q, qd, qdd, u if effort else None
    )


def _trajectory(points: TrajectoryPoints, **keywords: Any) -> Trajectory:
    return Trajectory.from_points(points, NAMES, 0.0, START, **keywords)


def _closed_form(points: TrajectoryPoints) -> Any:
    """Return Tsai (9.73)-(9.74) at each point, for rest at the last one."""
    motion = zip(points.positions, points.velocities, points.accelerations, strict=True)
    tau = np.array([tsai.torque(P, *state) for state in motion])
    tau[-1] = tsai.gravity(P, points.positions[-1])
    return tau


def _effort(
    model: RobotModel,
    trajectory: Trajectory,
    names: Any,
    *friction_smoothing_velocity: float,
) -> Any:
    """Return the effort at the points."""
    *_, made = trajectory_effort(
        model, trajectory, names, np.inf, *friction_smoothing_velocity
    )
    assert made is not None
    return made.effort


def test_closed_form_with_optional_friction(rough: RobotModel) -> None:
    """With reversed joint order; Craig (6.112): c sgn(qd) + v qd, zero at rest."""
    points = _points(effort=True)
    fields = (points.positions, points.velocities, points.accelerations, points.effort)
    swapped = TrajectoryPoints(
        NAMES[::-1], points.times, *(x[:, ::-1].copy() for x in fields)
    )
    expected = _closed_form(points) + points.effort
    friction = COULOMB * np.sign(points.velocities) + VISCOUS * points.velocities
    assert np.abs(points.velocities[:-1]).min() > 0.01
    assert_close(
        _effort(rough, _trajectory(swapped), NAMES[::-1])[:, ::-1], expected, 1e-12
    )
    assert_close(
        _effort(rough, _trajectory(swapped), NAMES[::-1], 0.01)[:, ::-1],
        expected + friction,
        1e-12,
    )


def test_only_the_named_joints() -> None:
    """The other joint holds its position, which affects the effort of this one."""
    given = _points()
    q2, v2, a2 = (
        x[:, 1:].copy()
        for x in (given.positions, given.velocities, given.accelerations)
    )
    points = TrajectoryPoints(NAMES[1:], given.times, q2, v2, a2)
    whole = TrajectoryPoints(
        NAMES,
        points.times,
        np.hstack((np.full_like(q2, START[0, 0]), q2)),
        *(np.hstack((0 * x, x)) for x in (v2, a2)),
    )
    effort = _effort(MODEL, _trajectory(points, rules=RULES), points.joint_names)
    assert_close(effort, _closed_form(whole)[:, 1:], 1e-12)


@pytest.mark.parametrize(("present", "start"), [(1, 0.0), (2, -0.7), (3, -0.7)])
def test_it_equals_the_command_of_the_controller(
    rough: RobotModel, present: int, start: float
) -> None:
    """With the law feedforward, including interpolation and friction, at the remaining points."""
    given = _points(8, effort=True)
    fields = [given.velocities, given.accelerations][: present - 1]
    points = TrajectoryPoints(
        NAMES,
        given.times,
        given.positions,
        *fields,
        *[None] * (3 - present),
        given.effort,
    )
    rules = TrajectoryRules(trajectory_limits="off")
    settings = ControllerSettings(
        law="feedforward", friction_smoothing_velocity=0.05, trajectories=rules
    )
    controller = make_controller(rough, settings)
    trajectory = controller.follow(points, start, 0.0)
    *_, made = trajectory_effort(rough, trajectory, points.joint_names, 0.02, 0.05)
    assert made.effort is not None and made.times[-1] == points.times[-1]
    assert set(points.times[start + points.times > 0.0]) <= set(made.times)
    controller.update(0.0, 0.0)
    for time, expected in zip(start + made.times, made.effort, strict=True):
        # At the time of a point, rounding decides between its segment and the previous one.
        command = controller.update(time + 1e-9, time)
        assert command is not None
        assert_close(command.effort, expected, 1e-5)


def test_at_most_1000_points_are_added() -> None:
    points = TrajectoryPoints(NAMES, np.array([1.0, 200.0]), np.ones((2, 2)))
    *_, made = trajectory_effort(MODEL, _trajectory(points), NAMES, 0.02)
    assert 990 <= len(made.times) <= 1002


def test_overflow_is_refused() -> None:
    points = _points()
    points.velocities[2, 1] = 1e200
    with pytest.raises(TrajectoryError, match="'joint1' at 1.1 s"):
        _effort(MODEL, _trajectory(points), points.joint_names)


def test_an_unknown_joint_is_refused() -> None:
    with pytest.raises(TrajectoryError, match="'hand'"):
        _effort(MODEL, _trajectory(_points()), ("joint1", "hand"))


def test_effort_of_a_streamed_set_point_is_for_its_motion() -> None:
    q, qd, qdd, u = np.random.default_rng(5).normal(size=(4, 1, 2))
    points = TrajectoryPoints(NAMES, np.zeros(1), q, qd, qdd, u)
    effort = _effort(MODEL, _trajectory(points, rules=RULES), points.joint_names)
    assert_close(effort[0], tsai.torque(P, q[0], qd[0], qdd[0]) + u[0], 1e-12)
