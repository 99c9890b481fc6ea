"""Torques on their way to the motors."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics_ros import RobotDynamicsError
from robot_dynamics_ros.simulation.sensors import EffortDelay

EVENTS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 7)), max_size=12)


def _acting(steps: int, events: Sequence[tuple[int, int]]) -> list[float]:
    """What acts in each step where `gives` commands, then `count` steps follow."""
    line = EffortDelay(steps, [0.0])
    acting: list[float] = []
    value = 0.0
    for gives, count in events:
        for _ in range(gives):
            value += 1.0
            line.give([value])
        for tau, length in line.pieces(count):
            assert length > 0
            acting += [float(tau[0])] * length
    return acting


@given(steps=st.integers(0, 10), events=EVENTS)
def test_a_command_acts_a_fixed_number_of_steps_later(steps: int, events: list[tuple[int, int]]) -> None:
    """In step s acts u(s - d), u the last command given before step s - d or in front of it."""
    given_before, value = [], 0.0
    for gives, count in events:
        value += gives
        given_before += [value] * count
    expected = [given_before[s - steps] if s >= steps else 0.0 for s in range(len(given_before))]
    assert _acting(steps, events) == expected


def test_arrays_are_copied() -> None:
    start, tau = np.array([[7.0, 8.0]]), np.array([[1.0, 2.0]])
    line = EffortDelay(1, start)
    line.give(tau)
    start[:], tau[:] = 0.0, 0.0
    assert [(t.tolist(), k) for t, k in line.pieces(3)] == [([[7.0, 8.0]], 1), ([[1.0, 2.0]], 2)]


@pytest.mark.parametrize("steps", [-1, 1.5, True, None])
def test_delay_must_be_a_number_of_steps(steps: Any) -> None:
    with pytest.raises(RobotDynamicsError, match="effort delay"):
        EffortDelay(steps, [0.0])
