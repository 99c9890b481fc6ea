"""Which message of ~/command_states is the answer that a simulation waits for."""

import numpy as np
import pytest

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.messages.joint_state import JointStateWriter
from robot_dynamics_ros.nodes.running_simulation import Lockstep

JOINTS = ("shoulder", "elbow")
EFFORT = np.array([3.0, -4.0])


def _answer(stamp: int, effort: np.ndarray = EFFORT, joints: tuple[str, ...] = JOINTS) -> bytes:
    zeros = np.zeros(len(joints))
    return JointStateWriter(joints).write(stamp, zeros, zeros, effort)


@pytest.fixture
def lockstep() -> Lockstep:
    lockstep = Lockstep(JOINTS, "/arm/command_states")
    lockstep.ask(5_000_000_002)
    return lockstep


@pytest.mark.parametrize("order", [1, -1])
def test_the_answer_is_read_in_the_order_of_the_joints(order: int, lockstep: Lockstep) -> None:
    assert lockstep.waiting
    effort = lockstep.receive(_answer(5_000_000_002, joints=JOINTS[::order]))
    assert effort is not None and np.array_equal(effort, EFFORT[::order])


@pytest.mark.parametrize("stamp", [0, 5_000_000_001, 5_000_000_003, 2])
def test_answers_to_other_states_and_second_ones_are_passed_over(stamp: int, lockstep: Lockstep) -> None:
    """A second one comes to a state that was sent twice; the one to the next state counts again."""
    assert lockstep.receive(_answer(stamp)) is None and lockstep.waiting
    lockstep.receive(_answer(5_000_000_002))
    lockstep.waiting = False
    assert lockstep.receive(_answer(5_000_000_002)) is None
    lockstep.ask(7_000_000_000)
    assert lockstep.waiting and lockstep.receive(_answer(5_000_000_002)) is None
    assert lockstep.receive(_answer(7_000_000_000)) is not None


@pytest.mark.parametrize(
    ("data", "culprit"),
    [
        (_answer(5_000_000_002, np.empty(0)), "effort"),
        (_answer(5_000_000_002, joints=("lid", "lever")), "joints"),
        (_answer(5_000_000_002, np.ones(1), ("elbow",)), "shoulder"),
        (_answer(5_000_000_002)[:20], "JointState"),
    ],
)
def test_what_answers_nothing_is_an_error(data: bytes, culprit: str, lockstep: Lockstep) -> None:
    with pytest.raises(RobotDynamicsError, match=f"/arm/command_states: .*{culprit}"):
        lockstep.receive(data)
    assert lockstep.waiting
