"""Success and failure of goals by the rules in the source of joint_trajectory_controller."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics_ros.control.goals import Code, Tolerances

NAMES = ("shoulder", "elbow", "wrist")
INF = math.inf


def off(*position: float) -> np.ndarray:
    return np.array([position, np.zeros(3)])


@pytest.mark.parametrize(
    ("time", "error", "code", "words"),
    [
        (1.1, off(0.5, -0.2, 9.0), None, ()),
        (
            1.1,
            off(0.6, -0.3, 9.0),
            Code.PATH_TOLERANCE_VIOLATED,
            ('"elbow"', "position", "-0.3", "0.2"),
        ),
        (1.1, off(0.0, math.nan, 0.0), Code.PATH_TOLERANCE_VIOLATED, ('"elbow"',)),
        # also without a tolerance
        (1.1, off(0.0, 0.0, math.nan), Code.PATH_TOLERANCE_VIOLATED, ('"wrist"',)),
        (1.1, None, None, ()),  # by time only without joint_states
        (2.0, None, Code.SUCCESSFUL, ("without joint_states",)),
    ],
)
def test_outcome_of_a_check(
    time: float, error: Any, code: Code | None, words: tuple[str, ...]
) -> None:
    """The goal ends at 2 s; the joint farthest outside its tolerance is named."""
    tolerances = Tolerances(
        NAMES,
        np.array([[0.5, 0.2, INF], [INF] * 3]),
        np.array([[0.1] * 3, [INF] * 3]),
        INF,
    )
    result = tolerances.check(time - 2.0, error, is_first=True)
    assert (None if result is None else result[0]) is code
    assert result is None or all(word in result[1] for word in words)


def jtc(
    cycles: list[tuple[float, np.ndarray]], end: float, given_tolerances: Tolerances
) -> tuple[int, Code] | None:
    """Return cycle and code of the end by joint_trajectory_controller.cpp, update(), and tolerances.hpp (6.9.0)."""

    def outside(error: np.ndarray, tolerance: np.ndarray) -> bool:
        zeroed = np.where(np.isinf(tolerance), 0.0, tolerance)
        return any(
            zeroed[r, j] > 0.0 and abs(error[r, j]) > zeroed[r, j]
            for r in range(2)
            for j in range(3)
        )

    goal_time = 0.0 if given_tolerances.goal_time == INF else given_tolerances.goal_time
    for k, (time, error) in enumerate(cycles):
        before_last_point = time < end
        time_difference = time - end
        tolerance_violated_while_moving = outside_goal_tolerance = False
        within_goal_time = True
        if before_last_point or k == 0:
            tolerance_violated_while_moving = outside(error, given_tolerances.path)
        if not before_last_point and outside(error, given_tolerances.goal):
            outside_goal_tolerance = True
            if goal_time != 0.0 and time_difference > goal_time:
                within_goal_time = False
        if tolerance_violated_while_moving:
            return k, Code.PATH_TOLERANCE_VIOLATED
        if not before_last_point and not outside_goal_tolerance:
            return k, Code.SUCCESSFUL
        if not before_last_point and not within_goal_time:
            return k, Code.GOAL_TOLERANCE_VIOLATED
    return None


sizes = st.sampled_from([0.0, 0.05, -0.15, 0.5])
limits = st.sampled_from([0.1, 0.2, INF])


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.0, 0.1, 0.7]), st.lists(sizes, min_size=6, max_size=6)
        ),
        max_size=12,
    ),
    st.lists(limits, min_size=12, max_size=12),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.sampled_from([INF, 0.5, 1e-3]),
)
def test_it_decides_as_joint_trajectory_controller(
    steps: list[tuple[float, list[float]]],
    allowed: list[float],
    end: float,
    goal_time: float,
) -> None:
    table = np.array(allowed).reshape(2, 2, 3)
    asked = Tolerances(NAMES, table[0], table[1], goal_time)
    times = np.cumsum([dt for dt, _ in steps])
    cycles = [
        (float(t), np.array(error).reshape(2, 3))
        for t, (_, error) in zip(times, steps, strict=True)
    ]
    decision = None
    for k, (time, error) in enumerate(cycles):
        result = asked.check(time - end, error, is_first=k == 0)
        if result is not None:
            decision = k, result[0]
            break
    assert decision == jtc(cycles, end, asked)
