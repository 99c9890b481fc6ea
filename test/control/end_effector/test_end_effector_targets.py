"""Targets of the end effector: order, feedforward, and extrapolation between messages."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import trapezoid
from scipy.linalg import expm

from robot_dynamics_ros import RobotDynamicsError
from robot_dynamics_ros.control.configuration.settings import TaskSpaceSettings
from robot_dynamics_ros.control.end_effector.end_effector_targets import (
    EndEffectorTargets,
)
from support.comparing import assert_close
from support.task_space_loops import rotated

TWIST = np.array([0.1, -0.2, 0.3, 0.4, 0.0, -0.5])
# rotation about the axis of the twist
ACCELERATION = np.array([1.0, 2.0, -1.0, 0.8, 0.0, -1.0])
SECOND = 1_000_000_000


def pose(x: float = 0.0, turn: Any = (0.3, -0.2, 0.9)) -> Any:
    made = np.eye(4)
    made[:3, :3] = rotated(np.array(turn))
    made[0, 3] = x
    return made


@pytest.fixture
def targets() -> EndEffectorTargets:
    return made(0.125)


def made(timeout: float) -> EndEffectorTargets:
    """Return targets of at most 0.5 m/s and 1 rad/s."""
    settings = TaskSpaceSettings(target_timeout=timeout, max_linear_velocity=0.5)
    return EndEffectorTargets(settings)


def position(targets: EndEffectorTargets, time: float) -> float:
    return float(targets.at(time).pose[0, 3])


def test_a_target_is_extrapolated_until_the_timeout(
    targets: EndEffectorTargets,
) -> None:
    """p + v t + a t^2 / 2 and exp([w t + alpha t^2 / 2]x) R, by SciPy's expm, with velocities."""
    targets.feed_forward("twist", TWIST, 5 * SECOND, 4.9)
    targets.follow(pose(0.5), 5 * SECOND, 5.0, 4.9)
    targets.feed_forward("acceleration", ACCELERATION, 5 * SECOND, 4.95)
    for t in (0.0, 0.03, 0.125, 0.2, 10.0):
        motion = targets.at(5.0 + t)
        s = min(t, 0.125)
        way = TWIST * s + ACCELERATION * s**2 / 2
        x, y, z = way[3:]
        turn = expm(np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]))
        assert_close(motion.pose[:3, 3], pose(0.5)[:3, 3] + way[:3], 1e-15)
        assert_close(motion.pose[:3, :3], turn @ pose()[:3, :3], 1e-14)
        moving = t <= 0.125
        assert_close(motion.twist, (TWIST + ACCELERATION * s) * moving, 1e-13)
        assert_close(motion.acceleration, ACCELERATION * moving, 0.0)


@pytest.mark.parametrize("order", ["pose first", "pose last"])
def test_feedforward_belongs_to_its_stamp(
    order: str, targets: EndEffectorTargets
) -> None:
    """In any order of arrival; other stamps have no effect."""
    for _ in range(2):
        if order == "pose first":
            targets.follow(pose(), 2 * SECOND, 2.0, 2.0)
        targets.feed_forward("twist", TWIST, 2 * SECOND, 2.0)
        targets.feed_forward("acceleration", ACCELERATION, 2 * SECOND + 1, 2.0)
        if order == "pose last":
            targets.follow(pose(), 2 * SECOND, 2.0, 2.0)
        motion = targets.at(2.0)
        assert_close(motion.twist, TWIST, 0.0)
        assert not motion.acceleration.any()


@pytest.mark.parametrize("stamp", [0, 2 * SECOND])
def test_feedforward_is_used_once(stamp: int, targets: EndEffectorTargets) -> None:
    targets.feed_forward("twist", TWIST, stamp, 2.0)
    for k in range(2):
        targets.follow(pose(), stamp, 2.0, 2.0 + 0.01 * k)
        assert targets.at(2.0 + 0.01 * k).twist.any() == (k == 0)
    targets.feed_forward("twist", -TWIST, stamp, 2.02)
    assert_close(targets.at(2.02).twist, -TWIST, 0.0)


def test_feedforward_at_and_beyond_the_timeout(targets: EndEffectorTargets) -> None:
    """A target at rest does not jump; a twist without stamp expires after the timeout."""
    targets.follow(pose(0.5), 0, 1.0, 1.0)
    targets.feed_forward("acceleration", ACCELERATION, 0, 1.125)
    assert targets.at(1.125).acceleration.any()
    targets.feed_forward("twist", TWIST, 0, 1.25)
    assert not targets.at(1.25).twist.any()
    targets.follow(pose(0.6), 0, 1.375, 1.375)
    assert targets.at(1.375).twist.any()
    targets.feed_forward("twist", TWIST, 0, 1.375)
    targets.follow(pose(0.6), 0, 1.75, 1.75)
    assert not targets.at(1.75).twist.any()


def test_without_a_timeout_a_target_is_at_rest() -> None:
    targets = made(0.0)
    targets.follow(pose(0.5), SECOND, 1.0, 1.0)
    targets.feed_forward("twist", TWIST, SECOND, 1.0)
    for time in (1.0, 1.25):
        assert position(targets, time) == 0.5 and not targets.at(time).twist.any()


def test_a_target_is_valid_from_its_time_on(targets: EndEffectorTargets) -> None:
    """A new target replaces those that begin later."""
    targets.hold(pose(-1.0))
    for k in (1, 2, 3):
        targets.follow(pose(0.1 * k), k * SECOND, float(k), 0.5)
    assert [position(targets, t) for t in (0.7, 0.999, 1.0, 1.5)] == [
        -1.0,
        -1.0,
        0.1,
        0.1,
    ]
    targets.follow(pose(0.9), 0, 2.5, 1.5)
    assert [position(targets, t) for t in (1.9, 2.0, 2.5, 9.0)] == [0.1, 0.2, 0.9, 0.9]


def test_at_most_100_targets_wait(targets: EndEffectorTargets) -> None:
    for k in range(100):
        targets.follow(pose(0.01 * k), k + 1, 1.0 + k, 0.0)
    with pytest.raises(RobotDynamicsError, match="100 targets"):
        targets.follow(pose(), 1000, 500.0, 0.0)
    assert position(targets, 501.0) == 0.99


@pytest.mark.parametrize(("count", "kept"), [(200, True), (201, False)])
def test_the_newest_200_velocities_wait_for_their_poses(
    count: int, kept: bool, targets: EndEffectorTargets
) -> None:
    for k in range(count):
        targets.feed_forward("twist", TWIST, k + 1, 0.0)
    targets.follow(pose(), 1, 0.0, 0.0)
    assert targets.at(0.0).twist.any() == kept


@given(
    value=st.sampled_from([np.nan, np.inf, -np.inf, 1e200, -1.1e9]),
    place=st.integers(0, 5),
    kind=st.sampled_from(["twist", "acceleration", "position"]),
)
def test_numbers_that_are_not_finite_or_too_large_are_refused(
    value: float, place: int, kind: Any
) -> None:
    """The targets are unchanged."""
    targets = made(0.1)
    numbers = np.zeros(6)
    wrong = pose()
    targets.follow(pose(-1e9), 1, 0.0, 0.0)  # the largest one
    numbers[place] = wrong[place % 3, 3] = value
    with pytest.raises(RobotDynamicsError, match=rf"{kind} \["):
        if kind == "position":
            targets.follow(wrong, 1, 0.0, 0.0)
        else:
            targets.feed_forward(kind, numbers, 1, 0.0)
    motion = targets.at(0.05)
    assert (
        np.array_equal(motion.pose, pose(-1e9))
        and not motion.twist.any()
        and not motion.acceleration.any()
    )


def test_a_stamp_in_the_past(targets: EndEffectorTargets) -> None:
    """The newest message is used, extrapolated by its age."""
    targets.follow(pose(0.5), 0, 1.0, 1.0)
    targets.at(1.0)
    targets.feed_forward("twist", TWIST, SECOND // 2, 1.0)
    targets.follow(pose(), SECOND // 2, 0.5, 1.0)
    assert position(targets, 1.0) == pytest.approx(0.125 * TWIST[0], abs=1e-15)


@pytest.mark.parametrize(
    ("kind", "size", "parameter"),
    [
        ("twist", 0.501, "task_space.max_linear_velocity"),
        ("twist", 1.01, "task_space.max_angular_velocity"),
        ("acceleration", 4.1, "task_space.max_linear_velocity"),
        ("acceleration", 8.1, "task_space.max_angular_velocity"),
    ],
)
def test_feedforward_beyond_the_largest_velocity_is_refused(
    kind: Any, size: float, parameter: str, targets: EndEffectorTargets
) -> None:
    """A twist above it, and an acceleration that exceeds it from rest within the timeout; such as in mm or degrees."""
    direction = np.array([0.6, -0.8, 0.0])
    vector = np.zeros(6)
    place = 3 * ("angular" in parameter)
    targets.follow(pose(), 1, 0.0, 0.0)
    for factor in (1.0, 1000.0):
        vector[place : place + 3] = factor * size * direction
        with pytest.raises(RobotDynamicsError, match=f"Cure: .* raise {parameter}"):
            targets.feed_forward(kind, vector, 1, 0.0)
        assert not targets.at(0.0).twist.any()
        assert not targets.at(0.0).acceleration.any()
    targets.feed_forward(kind, vector / 1100.0, 1, 0.0)
    assert targets.at(0.01).twist.any()


def test_extrapolation_stays_within_the_largest_velocity(
    targets: EndEffectorTargets,
) -> None:
    """The acceleration ends where the velocity reaches it; the position remains the integral of the velocity."""
    targets.follow(pose(), 1, 0.0, 0.0)
    targets.feed_forward("twist", np.array([0.3, 0.3, 0.0, 0.0, 0.9, 0.0]), 1, 0.0)
    targets.feed_forward(
        "acceleration", np.array([0.0, 3.9, 0.0, 0.0, 0.0, 0.0]), 1, 0.0
    )
    times = np.linspace(0.0, 0.125, 2001)
    motions = [targets.at(time) for time in times]
    speeds = np.array([np.linalg.norm(motion.twist[:3]) for motion in motions])
    assert (
        speeds.max() == pytest.approx(0.5, abs=1e-12)
        and (np.diff(speeds) >= -1e-12).all()
    )
    last = motions[-1]
    assert not last.acceleration.any()
    way = trapezoid([motion.twist[:3] for motion in motions], times, axis=0)
    assert_close(last.pose[:3, 3], way, 1e-7)
