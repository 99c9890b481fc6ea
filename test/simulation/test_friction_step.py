"""Where lines end exactly, and what a step takes over."""

import numpy as np
import pytest
from numpy.typing import NDArray

from robot_dynamics_ros.kernels.layout import FRICTION_SIZE
from robot_dynamics_ros.simulation import arrays
from robot_dynamics_ros.simulation import stick_slip as ss
from robot_dynamics_ros.simulation.friction_step import pinned, renew

Array = NDArray[np.float64]
LOWEST, HIGHEST, FASTEST = -0.4, 0.5, 2.0


def _buffers(n: int, lines: int) -> arrays.Buffers:
    nothing = np.zeros((1, 1))
    return arrays.Buffers(
        nothing,
        np.full((lines, ss.LINE_SIZE), np.nan),
        np.full(lines, ss.STUCK),
        np.vstack([np.full((2, n), np.nan), np.eye(n)]),
        nothing,
        nothing,
        np.full((arrays.VECTORS, n), np.nan),
    )


def _end(segment: int, y: float, rested: bool, lower: float, upper: float) -> float:
    """Where the second of two lines ends, between these velocities; the first one is unlike it in all."""
    ranges = np.array([[7.0, 8.0, 0.01], [LOWEST, HIGHEST, FASTEST]])
    joints = arrays.Joints(np.zeros((2, FRICTION_SIZE)), np.arange(2), np.ones(2), ranges, np.empty((0, 2)))
    buffers = _buffers(2, 2)
    buffers.pattern[:] = ss.STUCK if segment != ss.STUCK else ss.FORWARD, segment
    buffers.lines[:, ss.LOWER], buffers.lines[:, ss.UPPER] = (-9.0, lower), (9.0, upper)
    return float(pinned(joints, buffers, 1, rested, y))


@pytest.mark.parametrize("y", [0.1, -0.30000000000000004, 0.7])
def test_what_was_at_rest_and_sticks_is_where_it_was(y: float) -> None:
    """To the bit, beyond a limit as well."""
    assert _end(ss.STUCK, y, True, -FASTEST, FASTEST) == y


def test_what_comes_to_rest_or_slides_is_where_its_velocity_brings_it() -> None:
    assert np.isnan(_end(ss.STUCK, 0.1, False, -FASTEST, FASTEST))
    for segment in (ss.FORWARD, ss.BACKWARD):
        for rested in (True, False):
            assert np.isnan(_end(segment, 0.1, rested, -FASTEST, FASTEST))
            assert np.isnan(_end(segment, 0.1, rested, -0.5 * FASTEST, 0.5 * FASTEST))


@pytest.mark.parametrize("rested", [True, False])
def test_what_meets_a_limit_ends_there(rested: bool) -> None:
    """And what is beyond it stays there."""
    assert _end(ss.WALL_LOWER, -0.399, rested, -1.0, FASTEST) == LOWEST
    assert _end(ss.WALL_UPPER, 0.499, rested, -FASTEST, 1.0) == HIGHEST
    assert _end(ss.WALL_LOWER, -0.6, rested, 0.0, FASTEST) == -0.6
    assert _end(ss.WALL_UPPER, 0.6, rested, -FASTEST, 0.0) == 0.6


def test_the_largest_speed_is_no_place() -> None:
    """The other direction's limit does not matter."""
    assert np.isnan(_end(ss.WALL_LOWER, 0.0, False, -FASTEST, 1.0))
    assert np.isnan(_end(ss.WALL_UPPER, 0.0, False, -1.0, FASTEST))


def _step() -> tuple[arrays.State, arrays.Buffers]:
    """A state of 2 coordinates and 3 lines, and buffers with another one."""
    state = arrays.State(np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.full(3, ss.STUCK), np.array([5.0, 6.0, 7.0]))
    buffers = _buffers(2, 3)
    buffers.vectors[arrays.POSITION] = 0.1, 0.2
    buffers.vectors[arrays.VELOCITY] = 0.3, 0.4
    buffers.vectors[arrays.CARRIED] = 0.5, 0.6
    buffers.pattern[:] = ss.FORWARD, ss.WALL_UPPER, ss.BACKWARD
    return state, buffers


def test_a_step_takes_over_all_of_the_state() -> None:
    state, buffers = _step()
    assert renew(state, buffers, 3, 0.25) == (arrays.OK, -1, 3, 0.25)
    assert state.position.tolist() == [0.1, 0.2]
    assert state.velocity.tolist() == [0.3, 0.4]
    assert state.impulse.tolist() == [0.5, 0.6, 7.0], "that of loops is not the step's to write"
    assert state.pattern.tolist() == [ss.FORWARD, ss.WALL_UPPER, ss.BACKWARD]


@pytest.mark.parametrize("row", [arrays.POSITION, arrays.VELOCITY])
@pytest.mark.parametrize("joint", [0, 1])
@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_what_is_not_finite_changes_nothing_and_is_named(row: int, joint: int, value: float) -> None:
    """A mass matrix that is singular is the cause, where there is one."""
    state, buffers = _step()
    before = [part.tolist() for part in state]
    buffers.vectors[row, joint] = value
    assert renew(state, buffers, 2, 0.5) == (arrays.NOT_FINITE, joint, 2, 0.5)
    buffers.motion[2 + 1 - joint, 1 - joint] = -1.0
    assert renew(state, buffers, 2, 0.5) == (arrays.NOT_POSITIVE_DEFINITE, 1 - joint, 2, 0.5)
    assert [part.tolist() for part in state] == before
