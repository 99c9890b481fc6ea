"""Limits of all moving joints as rows on the independent coordinates."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics_ros import RobotModel, RobotModelError
from robot_dynamics_ros.dynamics.model.joint_limits import LOWER, UPPER, VELOCITY
from support.comparing import assert_close
from support.coupled_arms import (
    chain,
    coupled_arms,
    differential,
    follower,
    joint_motion,
)


def test_a_follower_limits_the_joint_that_it_follows() -> None:
    model = follower()
    assert model.limit_rows.names == ("j1",)
    assert_close(
        [*model.position_lower, *model.position_upper, *model.velocity_limits],
        [-0.5, 0.5, 1.5],
        0.0,
    )
    assert [model.limit_rows.owners[k][0] for k in (LOWER, UPPER, VELOCITY)] == [
        "j2"
    ] * 3
    wide = chain(
        [(-0.1, 2, 5), (-1, 1, 30)], {"couplings": {"j2": {"j1": 2.0, "offset": 0.5}}}
    )
    assert_close(
        [*wide.position_lower, *wide.position_upper, *wide.velocity_limits],
        [-0.1, 0.25, 5.0],
        1e-15,
    )
    assert [wide.limit_rows.owners[k][0] for k in (LOWER, UPPER, VELOCITY)] == [
        "j1",
        "j2",
        "j1",
    ]


def test_a_differential_has_rows_of_its_own() -> None:
    rows = differential().limit_rows
    assert rows.names == ("a", "b", "j1", "j2") and np.isinf(rows.limits[:, :2]).all()
    assert_close(rows.positions(np.array([0.6, -0.2])), [0.6, -0.2, 0.2, 0.5], 1e-15)
    assert_close(rows.rates(np.array([0.6, -0.2])), [0.6, -0.2, 0.2, 0.4], 1e-15)


@given(coupled_arms(), st.lists(st.floats(-2.0, 2.0), min_size=4, max_size=4))
def test_rows_are_the_limits_of_all_moving_joints(
    model: RobotModel, state: list[float]
) -> None:
    """A state is within the rows exactly if each moving joint is within its own limits."""
    q = np.array(state[:2])
    qd = np.array(state[2:])
    rows = model.limit_rows
    lower, upper, _, _, velocity = rows.limits
    ours = [(rows.positions(q) - lower).min(), (upper - rows.positions(q)).min()]
    ours.append((velocity - np.abs(rows.rates(qd))).min())
    rates, above, below = joint_motion(model, q, qd)
    theirs = [
        above.min(),
        below.min(),
        (model.moving_joint_limits[:, 2] - np.abs(rates)).min(),
    ]
    if np.abs(theirs).min() > 1e-9:
        assert (min(ours) > 0.0) == (min(theirs) > 0.0)
    inside = rows.within(q)
    _, above, below = joint_motion(model, inside, qd)
    assert min(above.min(), below.min()) > -1e-6
    assert not (min(theirs[:2]) >= 1e-9 and not np.array_equal(inside, q))


@pytest.mark.parametrize(
    ("rows", "culprits"),
    [
        ({"j2": {"j1": 1.0, "offset": 4.0}}, '"j1" and "j2"'),
        ({"j3": {"j1": 1.0, "j2": -0.5, "offset": 4.5}}, '"j3", "j1", "j2"'),
    ],
)
def test_limits_that_exclude_each_other_are_refused(
    rows: dict[str, Any], culprits: str
) -> None:
    with pytest.raises(RobotModelError, match=f"joints {culprits}: "):
        chain([(-2, 2, 5), (-1, 1, 3), (-1, 1, 3)], {"couplings": rows})
