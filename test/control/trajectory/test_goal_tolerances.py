"""Tolerances of goals, as interpreted by joint_trajectory_controller."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics_ros.base.errors import JointNamesError, TrajectoryError
from robot_dynamics_ros.control.goals import Code, ToleranceRow
from support.trajectories import goal_tolerances

NAMES = ("shoulder", "elbow", "wrist")
INF = math.inf
NONE = goal_tolerances(NAMES)


def test_by_default_only_the_final_velocity_is_checked() -> None:
    """joint_trajectory_controller_parameters.yaml (6.9.0): 0.01; in tolerances.hpp 0 means not checked."""
    assert NONE.path.tolist() == [[INF] * 3] * 2
    assert NONE.goal.tolist() == [[INF] * 3, [0.01] * 3]
    assert NONE.goal_time == INF


def resolved(default: float, asked: float) -> float | None:
    """Return the tolerance by resolve_tolerance_source in tolerances.hpp; None if it throws, 0 for not checked."""
    if asked > 0.0:
        return asked
    if abs(asked - -1.0) < float(np.finfo(np.float32).eps):
        return 0.0
    return None if asked < 0.0 else default


def test_precision_of_minus_one() -> None:
    """By is_erase_value in tolerances.hpp: nearer than the epsilon of float."""
    assert NONE.requested([], [], -1.0 + 2.0**-24).goal_time == INF
    with pytest.raises(TrajectoryError, match="goal_time_tolerance is -1"):
        NONE.requested([], [], -1.0 + 2.0**-23)


values = st.sampled_from([0.0, -1.0, 0.2, 1e-9, -0.5, -2.0, -1.0 + 1e-8]) | st.floats(
    -3.0, 3.0
)


@given(
    st.lists(st.tuples(st.sampled_from(NAMES), values, values, values), max_size=4),
    values,
)
def test_requested_tolerances(
    asked: list[tuple[str, float, float, float]], seconds: float
) -> None:
    """By get_segment_tolerances for each joint, except that invalid tolerances are refused, not ignored."""
    default = goal_tolerances(
        NAMES, goal_time=1.5, path_tolerance=[0.3, 0.0, 0.1], goal_tolerance=[0.2]
    )
    sensible = all(
        resolved(0.0, x) is not None
        for _, *numbers in asked
        for x in (*numbers, seconds)
    )
    sensible &= resolved(0.0, seconds) is not None
    for side in ("path", "goal"):
        arguments: Any = {"path": [], "goal": [], side: asked}
        if not sensible:
            with pytest.raises(
                TrajectoryError, match="elbow|shoulder|wrist|goal_time_tolerance"
            ):
                default.requested(goal_time=seconds, **arguments)
            continue
        tolerances = default.requested(goal_time=seconds, **arguments)
        expected = getattr(default, side).copy()
        for name, position, velocity, _ in asked:
            j = NAMES.index(name)
            for row, x in ((0, position), (1, velocity)):
                expected[row, j] = resolved(getattr(default, side)[row, j], x) or INF
        assert np.array_equal(getattr(tolerances, side), expected)
        other = {"path": "goal", "goal": "path"}[side]
        assert np.array_equal(getattr(tolerances, other), getattr(default, other))
        assert tolerances.goal_time == (resolved(1.5, seconds) or INF)


@pytest.mark.parametrize(
    ("tolerance", "error", "culprit"),
    [
        (("elbow", math.nan, 0.0, 0.0), TrajectoryError, "'elbow'.*position"),
        (("elbow", -0.3, 0.0, 0.0), TrajectoryError, "'elbow'.*position"),
        (("wrist", 0.1, 0.1, -7.0), TrajectoryError, "'wrist'.*acceleration is -7"),
        (("finger", 0.1, 0.1, 0.0), JointNamesError, "'finger'"),
    ],
)
def test_bad_tolerances_are_refused(
    tolerance: ToleranceRow, error: type[Exception], culprit: str
) -> None:
    with pytest.raises(error, match=f"path.*{culprit}"):
        NONE.requested([tolerance], [], 0.0)
    with pytest.raises(error, match=f"goal.*{culprit}"):
        NONE.requested([], [tolerance], 0.0)


def test_results_are_numbered_as_in_control_msgs() -> None:
    """control_msgs/action/FollowJointTrajectory: SUCCESSFUL = 0 down to GOAL_TOLERANCE_VIOLATED = -5."""
    assert [code.value for code in Code] == [0, -1, -2, -3, -4, -5]
