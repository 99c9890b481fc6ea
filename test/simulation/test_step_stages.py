"""Exact positions of constraint rows, and the update of the state."""

import numpy as np
import pytest

from robot_dynamics_ros.dynamics.kernels.friction import FRICTION_SIZE
from robot_dynamics_ros.simulation.step import arrays, row
from robot_dynamics_ros.simulation.step.stages import update_state, write_targets

LOWEST = -0.4
HIGHEST = 0.5
FASTEST = 2.0


def _buffers(n: int, rows: int) -> arrays.Buffers:
    nothing = np.zeros((1, 1))
    return arrays.Buffers(
        nothing,
        np.full((rows, row.SIZE), np.nan),
        np.full(rows, row.STUCK),
        np.vstack([np.full((2, n), np.nan), np.eye(n)]),
        nothing,
        nothing,
        np.full((arrays.VECTORS, n), np.nan),
        np.zeros(1, np.int64),
        np.empty(0),
    )


@pytest.mark.parametrize(
    ("mode", "y", "rested", "lower", "upper", "end"),
    [
        # A row that remains stuck keeps its position exactly, also beyond a limit.
        (
            row.STUCK,
            -0.30000000000000004,
            True,
            -FASTEST,
            FASTEST,
            -0.30000000000000004,
        ),
        (row.STUCK, 0.7, True, -FASTEST, FASTEST, 0.7),
        # A row that comes to rest or slips has no exact position.
        (row.STUCK, 0.1, False, -FASTEST, FASTEST, np.nan),
        (row.FORWARD, 0.1, True, -1.0, 1.0, np.nan),
        (row.BACKWARD, 0.1, True, -1.0, 1.0, np.nan),
        (row.FORWARD, 0.1, False, -1.0, 1.0, np.nan),
        (row.BACKWARD, 0.1, False, -1.0, 1.0, np.nan),
        # A row that reaches a limit ends there; one beyond the limit keeps its position.
        (row.AT_LOWER, -0.399, True, -1.0, FASTEST, LOWEST),
        (row.AT_LOWER, -0.399, False, -1.0, FASTEST, LOWEST),
        (row.AT_UPPER, 0.499, True, -FASTEST, 1.0, HIGHEST),
        (row.AT_UPPER, 0.499, False, -FASTEST, 1.0, HIGHEST),
        (row.AT_LOWER, -0.6, False, 0.0, FASTEST, -0.6),
        (row.AT_UPPER, 0.6, False, -FASTEST, 0.0, 0.6),
        # A velocity limit defines no position; the limit of the other direction has no effect.
        (row.AT_LOWER, 0.0, False, -FASTEST, 1.0, np.nan),
        (row.AT_UPPER, 0.0, False, -1.0, FASTEST, np.nan),
    ],
)
def test_exact_position_of_a_row(
    mode: int, y: float, rested: bool, lower: float, upper: float, end: float
) -> None:
    """The second of two rows, between these velocities; the first row differs in all values."""
    ranges = np.array([[7.0, 8.0, 0.01], [LOWEST, HIGHEST, FASTEST]])
    joints = arrays.Joints(
        np.zeros((2, FRICTION_SIZE)), np.arange(2), np.ones(2), ranges, np.empty((0, 2))
    )
    buffers = _buffers(2, 2)
    buffers.modes[:] = row.STUCK if mode != row.STUCK else row.FORWARD, mode
    buffers.rows[:, row.LOWER] = (-9.0, lower)
    buffers.rows[:, row.UPPER] = (9.0, upper)
    speed = 0.0 if rested else 0.1
    still = np.zeros(2)
    state = arrays.State(
        np.array([9.0, y]), np.array([0.3, speed]), buffers.modes, still, still
    )
    for moved in (y, y + 1.0, y - 1.0):
        buffers.vectors[arrays.POSITION] = 9.0, moved
        write_targets(joints, state, buffers)
        lowest = min(y, LOWEST)
        highest = max(y, HIGHEST)
        within = lowest <= moved <= highest
        expected = (
            end if not np.isnan(end) or within else np.clip(moved, lowest, highest)
        )
        assert buffers.rows[1, row.TARGET] == pytest.approx(
            expected, rel=0, abs=0, nan_ok=True
        )


def _step() -> tuple[arrays.State, arrays.Buffers]:
    """Return a state of 2 coordinates and 3 rows, and buffers with another state."""
    impulse = np.array([5.0, 6.0, 7.0])
    state = arrays.State(
        np.array([1.0, 2.0]),
        np.array([3.0, 4.0]),
        np.full(3, row.STUCK),
        impulse,
        np.zeros(2),
    )
    buffers = _buffers(2, 3)
    buffers.vectors[arrays.POSITION] = 0.1, 0.2
    buffers.vectors[arrays.VELOCITY] = 0.3, 0.4
    buffers.vectors[arrays.CONSTRAINT_IMPULSE] = 0.5, 0.6
    buffers.modes[:] = row.FORWARD, row.AT_UPPER, row.BACKWARD
    return state, buffers


def test_a_step_updates_the_whole_state() -> None:
    state, buffers = _step()
    assert update_state(state, buffers, 3, 0.25) == (arrays.OK, -1, 3, 0.25)
    assert state.position.tolist() == [0.1, 0.2] and state.velocity.tolist() == [
        0.3,
        0.4,
    ]
    assert state.impulse.tolist() == [0.5, 0.6, 7.0], (
        "that of loops is not the step's to write"
    )
    assert state.modes.tolist() == [row.FORWARD, row.AT_UPPER, row.BACKWARD]


@pytest.mark.parametrize("part", [arrays.POSITION, arrays.VELOCITY])
@pytest.mark.parametrize("joint", [0, 1])
@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_non_finite_results_change_nothing_and_are_named(
    part: int, joint: int, value: float
) -> None:
    """A singular mass matrix is reported as the cause."""
    state, buffers = _step()
    before = [part.tolist() for part in state]
    buffers.vectors[part, joint] = value
    assert update_state(state, buffers, 2, 0.5) == (arrays.NOT_FINITE, joint, 2, 0.5)
    buffers.motion[2 + 1 - joint, 1 - joint] = -1.0
    assert update_state(state, buffers, 2, 0.5) == (
        arrays.NOT_POSITIVE_DEFINITE,
        1 - joint,
        2,
        0.5,
    )
    assert [part.tolist() for part in state] == before
