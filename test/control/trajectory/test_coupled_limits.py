"""Acceptance of trajectories by the limits of all moving joints, coupled ones included."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.base.errors import JointNamesError, TrajectoryError
from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.control.configuration.settings import (
    ControllerSettings,
    TrajectoryRules,
)
from robot_dynamics_ros.control.configuration.tuning import Tuning
from robot_dynamics_ros.control.trajectory.trajectory import Trajectory
from support.coupled_arms import coupled_arms, differential, follower, joint_motion


def accepted(
    model: RobotModel,
    points: TrajectoryPoints,
    handling: str = "refuse",
    partial: bool = False,
) -> Trajectory:
    """Return the trajectory from rest at 0, if the controller accepts it."""
    rules = TrajectoryRules(
        trajectory_limits=handling, allow_partial_joints_goal=partial
    )
    limits = Tuning(model, ControllerSettings(trajectories=rules)).trajectory_limits
    start = np.zeros((4, model.n))
    return Trajectory.from_points(
        points, model.joint_names, 0.0, start, limits=limits, rules=rules
    )


def to(model: RobotModel, *goal: float, seconds: float = 4.0) -> TrajectoryPoints:
    """Return a motion with one point, at rest."""
    q = np.array([goal])
    return TrajectoryPoints(
        model.joint_names[: len(goal)], np.array([seconds]), q, 0.0 * q, 0.0 * q
    )


def test_a_follower_beyond_its_limits_is_refused() -> None:
    """j2 = -2 j1 would reach -1.8 rad at a limit of 1, and 4.5 rad/s at a limit of 3."""
    model = follower()
    with pytest.raises(
        TrajectoryError,
        match=r"'j1' reaches the position 0\.9 .* limit 0\.5 \(of joint \"j2\"",
    ):
        accepted(model, to(model, 0.9))
    with pytest.raises(
        TrajectoryError,
        match=r"'j1' reaches the velocity .* limit 1\.5 \(of joint \"j2\"",
    ):
        accepted(model, to(model, 0.48, seconds=0.4))
    accepted(model, to(model, 0.48))
    assert accepted(model, to(model, 0.9), "clamp").resampled(1.0)
    accepted(model, to(model, 0.9, seconds=0.1), "off")


def test_a_differential_beyond_its_limits_is_refused() -> None:
    model = differential()
    accepted(model, to(model, 1.2, -0.5))  # j1 0.35, j2 0.95
    for handling in ("refuse", "clamp"):
        for goal, seconds, text in (
            ((0.6, 0.5), 4.0, r"'j1' reaches the position 0\.55 .* limit 0\.5\."),
            ((1.2, -0.7), 4.0, r"'j2' reaches the position 1\.05 .* limit 1\."),
            ((0.4, 0.4), 0.2, r"'j1' reaches the velocity .* limit 2\."),
        ):
            with pytest.raises(TrajectoryError, match=text):
                accepted(model, to(model, *goal, seconds=seconds), handling)
    accepted(model, to(model, 0.6, 0.5), "off")
    with pytest.raises(JointNamesError, match="'j1' has limits and depends on a, b"):
        accepted(model, to(model, 0.1), partial=True)


@given(
    coupled_arms(),
    st.integers(0, 10**6),
    st.sampled_from(["refuse", "clamp"]),
    st.floats(0.2, 3.0),
)
def test_an_accepted_trajectory_keeps_all_limits(
    model: RobotModel, seed: int, handling: str, scale: float
) -> None:
    """With tolerances of 1 mrad, as of the independent joint, and of 5 % of the velocity."""
    rng = np.random.default_rng(seed)
    q, qd = scale * rng.uniform(-0.5, 0.5, (2, 3, model.n))
    qd[-1] = 0.0
    points = TrajectoryPoints(model.joint_names, np.array([1.0, 2.0, 3.0]), q, qd)
    if rng.integers(2):
        points = replace(points, velocities=None)
    if ((model.position_lower > 0.0) | (model.position_upper < 0.0)).any():
        return
    try:
        trajectory = accepted(model, points, handling)
    except TrajectoryError:
        return
    rows = np.array(
        [row[:2] for _, block in trajectory.resampled(0.01) for row in block]
    )
    rates, above, below = joint_motion(model, rows[:, 0], rows[:, 1])
    gain = np.maximum(1.0, np.abs(model.coupling_matrix[: rates.shape[1]]).sum(axis=1))
    assert (np.minimum(above, below) > -1.001e-3 * gain).all()
    assert (np.abs(rates) <= 1.051 * model.moving_joint_limits[:, 2]).all()
