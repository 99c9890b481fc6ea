"""Tolerances of goals against joint_trajectory_controller's reading of JointTolerance.msg."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics_ros.control.goal_tolerances import Code, Constraints, JointTolerance, Tolerances
from robot_dynamics_ros.errors import JointNamesError, RobotDynamicsError, TrajectoryError

NAMES = ("shoulder", "elbow", "wrist")
INF = math.inf
NONE = Tolerances.default(Constraints(), NAMES)


def test_the_codes_are_those_of_the_action() -> None:
    """control_msgs 6.8.0, action/FollowJointTrajectory.action; the same since 4.8.0 (Humble)."""
    assert {code.name: code.value for code in Code} == {
        "SUCCESSFUL": 0,
        "INVALID_GOAL": -1,
        "INVALID_JOINTS": -2,
        "OLD_HEADER_TIMESTAMP": -3,
        "PATH_TOLERANCE_VIOLATED": -4,
        "GOAL_TOLERANCE_VIOLATED": -5,
    }


def test_of_accelerations_a_goal_asks_nothing_unless_it_says_so() -> None:
    """0, as in a message: as the parameters say."""
    assert JointTolerance("elbow", position=0.1, velocity=0.2).acceleration == 0.0


def test_by_default_only_the_velocity_at_the_end_matters() -> None:
    """ros2_controllers 6.9.0, joint_trajectory_controller_parameters.yaml: 0.01, goal_time 0, no tolerances.

    tolerances.hpp: "a tolerance value of zero means that no tolerance will be applied"; a goal_time of 0 waits for
    ever.
    """
    found = Tolerances.default(Constraints(), NAMES)
    assert found.path.tolist() == [[INF] * 3] * 2
    assert found.goal.tolist() == [[INF] * 3, [0.01] * 3]
    assert found.goal_time == INF


def test_parameters_are_one_number_a_joint_or_one_for_all() -> None:
    found = Tolerances.default(Constraints(0.0, 2.5, [0.1, 0.0, 0.3], [0.05]), NAMES)
    assert found.path[0].tolist() == [0.1, INF, 0.3]
    assert found.goal[0].tolist() == [0.05] * 3
    assert np.isinf(found.goal[1]).all() and np.isinf(found.path[1]).all()
    assert found.goal_time == 2.5


@pytest.mark.parametrize("name", ["path_tolerance", "goal_tolerance"])
def test_a_wrong_number_of_parameters_is_named(name: str) -> None:
    with pytest.raises(RobotDynamicsError, match=f"constraints.{name}: 2 numbers. Cure: give one, or 3"):
        Tolerances.default(Constraints(**{name: [0.1, 0.2]}), NAMES)


def resolved(default: float, asked: float) -> float | None:
    """tolerances.hpp, resolve_tolerance_source, as read there; None where it throws; no tolerance is 0 there."""
    if asked > 0.0:
        return asked
    if abs(asked - -1.0) < float(np.finfo(np.float32).eps):
        return 0.0
    return None if asked < 0.0 else default


@pytest.mark.parametrize("side", ["path", "goal"])
def test_each_number_is_asked_for_alone(side: str) -> None:
    """0 leaves the parameter's, -1 takes it away; for the position, the velocity and the time."""
    default = Tolerances(np.full((2, 3), [[0.3], [0.7]]), np.full((2, 3), [[0.3], [0.7]]), 1.5)
    for asked, expected in (
        (JointTolerance("elbow", 0.0, 0.0), [0.3, 0.7]),
        (JointTolerance("elbow", 0.1, 0.0), [0.1, 0.7]),
        (JointTolerance("elbow", 0.0, 0.2), [0.3, 0.2]),
        (JointTolerance("elbow", -1.0, 0.0), [INF, 0.7]),
        (JointTolerance("elbow", 0.0, -1.0 + 1e-8), [0.3, INF]),
    ):
        arguments: Any = {"path": [], "goal": [], side: [asked]}
        table = getattr(default.asked(NAMES, goal_time=0.0, **arguments), side)
        assert table.tolist() == [[0.3, expected[0], 0.3], [0.7, expected[1], 0.7]]
    assert [default.asked(NAMES, [], [], t).goal_time for t in (0.0, 2.0, -1.0)] == [1.5, 2.0, INF]


def test_how_near_to_minus_one_is_minus_one() -> None:
    """tolerances.hpp, is_erase_value: nearer than the epsilon of float."""
    assert NONE.asked(NAMES, [], [], -1.0 + 2.0**-24).goal_time == INF
    with pytest.raises(TrajectoryError, match="goal_time_tolerance is -1"):
        NONE.asked(NAMES, [], [], -1.0 + 2.0**-23)


values = st.sampled_from([0.0, -1.0, 0.2, 1e-9, -0.5, -2.0, -1.0 + 1e-8]) | st.floats(-3.0, 3.0)


@given(st.lists(st.tuples(st.sampled_from(NAMES), values, values, values), max_size=4), values)
def test_what_a_goal_asks_for(asked: list[tuple[str, float, float, float]], seconds: float) -> None:
    """get_segment_tolerances: for each joint named, in order; but what makes no sense is refused, not passed over."""
    default = Tolerances.default(Constraints(0.01, 1.5, [0.3, 0.0, 0.1], [0.2]), NAMES)
    sensible = all(resolved(0.0, x) is not None for _, *numbers in asked for x in (*numbers, seconds))
    sensible &= resolved(0.0, seconds) is not None
    for side in ("path", "goal"):
        arguments: Any = {"path": [], "goal": [], side: [JointTolerance(*one) for one in asked]}
        if not sensible:
            with pytest.raises(TrajectoryError, match="; give a positive number, 0 for the parameter's or -1 for none"):
                default.asked(NAMES, goal_time=seconds, **arguments)
            continue
        found = default.asked(NAMES, goal_time=seconds, **arguments)
        expected = getattr(default, side).copy()
        for name, position, velocity, _ in asked:
            j = NAMES.index(name)
            for row, x in ((0, position), (1, velocity)):
                expected[row, j] = resolved(getattr(default, side)[row, j], x) or INF
        assert np.array_equal(getattr(found, side), expected)
        other = {"path": "goal", "goal": "path"}[side]
        assert np.array_equal(getattr(found, other), getattr(default, other))
        assert found.goal_time == (resolved(1.5, seconds) or INF)


@pytest.mark.parametrize("field", ["path", "goal"])
def test_what_cannot_be_a_tolerance_is_refused(field: str) -> None:
    for one in (JointTolerance("elbow", math.nan, 0.0), JointTolerance("elbow", -0.3, 0.0)):
        with pytest.raises(TrajectoryError, match=f"{field}_tolerance of joint 'elbow': position is "):
            NONE.asked(NAMES, **{"path": [], "goal": [], field: [one]}, goal_time=0.0)
    with pytest.raises(TrajectoryError, match=f"{field}_tolerance of joint 'wrist': acceleration is -7"):
        late = JointTolerance("wrist", 0.1, 0.1, -7.0)
        NONE.asked(NAMES, **{"path": [], "goal": [], field: [late]}, goal_time=0.0)
    with pytest.raises(JointNamesError, match=f"{field}_tolerance: joint 'finger' is not controlled here; use the"):
        other = JointTolerance("finger", 0.1, 0.1)
        NONE.asked(NAMES, **{"path": [], "goal": [], field: [other]}, goal_time=0.0)
    with pytest.raises(TrajectoryError, match="goal_time_tolerance is -2"):
        NONE.asked(NAMES, [], [], -2.0)
