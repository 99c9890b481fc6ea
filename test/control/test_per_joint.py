"""Numbers for each joint, or once for all."""

import numpy as np
import pytest

from robot_dynamics_ros.control.laws import per_joint, per_joint_limit
from robot_dynamics_ros.errors import RobotDynamicsError

NAMES = ("a", "b")


def test_one_for_all_or_one_for_each() -> None:
    np.testing.assert_array_equal(per_joint("x", [3.0], NAMES), [3.0, 3.0])
    np.testing.assert_array_equal(per_joint("x", [3.0, 0.0], NAMES), [3.0, 0.0])
    np.testing.assert_array_equal(per_joint("x", [np.inf], NAMES, most=np.inf), [np.inf, np.inf])
    np.testing.assert_array_equal(per_joint_limit("x", [], NAMES), [np.inf, np.inf])
    np.testing.assert_array_equal(per_joint_limit("x", [3.0, np.inf], NAMES), [3.0, np.inf])


@pytest.mark.parametrize(
    ("values", "culprit"),
    [
        ([], "x: 0 numbers"),
        ([1.0, 2.0, 3.0], "x: 3 numbers"),
        ([1.0, -2.0], 'x: -2.0 for joint "b"'),
        ([np.nan], 'x: nan for joint "a"'),
    ],
)
def test_bad_numbers_are_refused(values: list[float], culprit: str) -> None:
    with pytest.raises(RobotDynamicsError, match=culprit):
        per_joint("x", values, NAMES, most=np.inf)


def test_numbers_beyond_the_bounds_are_refused() -> None:
    with pytest.raises(RobotDynamicsError, match='x: inf for joint "a"'):
        per_joint("x", [np.inf], NAMES)
    with pytest.raises(RobotDynamicsError, match="1.5"):
        per_joint("x", [1.5], NAMES, most=1.0)
    for limit in (0, -1):
        with pytest.raises(RobotDynamicsError, match=f'x: {limit}.* for joint "b"'):
            per_joint_limit("x", [1.0, limit], NAMES)
