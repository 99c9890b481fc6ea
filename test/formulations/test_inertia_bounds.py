"""Bounds on the inertia matrix: attained, respected by other positions, and those of the elbow by hand."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given

from oracles import spong_elbow
from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.formulations.inertia_bounds import eigenvalue_range, inertia_bounds
from support import arms, robots_with_drives
from support.comparing import assert_close
from support.worked_arms import DOWN, elbow, load

pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")


def test_planar_elbow() -> None:
    """M of Spong (9.82) depends on q2 alone: a fine grid finds its extremes; it is greatest where stretched."""
    model = load(elbow(spong_elbow.Parameters(0.7, 0.2, 0.3, 1.5, 2.5, 0.05, 0.1)), DOWN)
    bounds = inertia_bounds(model)
    turns = np.linspace(0.0, 2.0 * np.pi, 100001)
    eigenvalues = np.linalg.eigvalsh(model.mass_matrix(np.column_stack([0.0 * turns, turns])))
    assert bounds.lower == pytest.approx(eigenvalues[:, 0].min(), rel=1e-8)
    assert bounds.upper == pytest.approx(eigenvalues[:, 1].max(), rel=1e-8)
    assert np.cos(bounds.upper_at[1]) == pytest.approx(1.0, abs=1e-6)
    bent = np.array([0.0, np.pi / 2])
    narrow = inertia_bounds(model, bent, bent)
    assert_close([narrow.lower, narrow.upper], eigenvalue_range(model, bent), 1e-14)


@pytest.mark.parametrize("robot", ["scara", "puma560"])
def test_every_position_keeps_to_them(robot: str, load_robot: Callable[..., RobotModel]) -> None:
    """Spong (9.120) at positions that the search has not seen; the bounds are attained and reported."""
    model = load_robot(robot, "puma560" if robot == "puma560" else None)
    bounds = inertia_bounds(model, samples=1000, starts=2)
    low, high = np.maximum(model.position_lower, -np.pi), np.minimum(model.position_upper, np.pi)
    q = np.random.default_rng(8).uniform(low, high, (20000, model.n))
    eigenvalues = np.linalg.eigvalsh(model.mass_matrix(q))
    assert bounds.lower <= eigenvalues[:, 0].min() * (1 + 1e-9)
    assert bounds.upper >= eigenvalues[:, -1].max() * (1 - 1e-9)
    assert bounds.upper <= bounds.guaranteed_upper <= 10.0 * bounds.upper
    assert eigenvalue_range(model, bounds.lower_at)[0] == bounds.lower
    assert eigenvalue_range(model, bounds.upper_at)[1] == bounds.upper
    for at in (bounds.lower_at, bounds.upper_at):
        assert np.all((model.position_lower <= at) & (at <= model.position_upper))


@given(robot=robots_with_drives.robots())
def test_nothing_exceeds_the_guarantee(robot: robots_with_drives.Robot) -> None:
    """With slides, couplings and rotors, at the range's corners, too."""
    model = robot.model()
    assume(len(model.moving_joints) <= 4)
    reach = np.random.default_rng(robot.seed).uniform(0.1, 3.0, model.n)
    bound = inertia_bounds(model, -reach, reach, samples=1, starts=1).guaranteed_upper
    corners = np.random.default_rng(robot.seed + 1).choice([-1.0, 1.0], (200, model.n)) * reach
    assert np.linalg.eigvalsh(model.mass_matrix(corners))[:, -1].max() <= bound * (1 + 1e-12)


def test_ranges_that_do_not_do() -> None:
    arm = arms.random_arm(np.random.default_rng(2), [0, 1], ["continuous", "prismatic"])
    slide = arm.movable[1]
    endless = RobotModel.from_urdf(arm.with_joint(slide, limit='<limit effort="1" velocity="1"/>').urdf)
    with pytest.raises(RobotDynamicsError, match=slide):
        inertia_bounds(endless)
    assert inertia_bounds(endless, [-np.inf, 0.0], [np.inf, 0.5]).upper > 0.0
    with pytest.raises(RobotDynamicsError, match="empty"):
        inertia_bounds(endless, [0.0, 1.0], [1.0, 0.0])


def test_a_coupling_by_a_fraction_has_no_full_turn() -> None:
    arm = arms.random_arm(np.random.default_rng(2), [0, 1], ["continuous", "continuous"])
    first, second = arm.movable
    model = RobotModel.from_urdf(arm.with_joint(second, extra=f'<mimic joint="{first}" multiplier="0.5"/>').urdf)
    with pytest.raises(RobotDynamicsError, match="no full turn"):
        inertia_bounds(model)
    assert inertia_bounds(model, [-2 * np.pi], [2 * np.pi]).upper > 0.0
