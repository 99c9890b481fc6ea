"""Trajectories that a controller followed, and a recorder missed."""

from __future__ import annotations

from robot_dynamics_ros.base.errors import BagError
from robot_dynamics_ros.recordings.bags.joint_series import answers, read_joint_states
from robot_dynamics_ros.recordings.bags.reader import BagReader
from robot_dynamics_ros.recordings.bags.storage import JOINT_TRAJECTORY


def missed_trajectory(bag: BagReader, other: BagReader, commands: str) -> list[str]:
    """Return a note if the commands of ``bag`` follow a trajectory although it has none; else an empty list.

    Their desired position moves at stamps at which that of ``other``, such as the replay of ``bag``, rests.
    ``commands`` is the topic of the commands in both.
    """
    topics = [name for name, kind in bag.topics.items() if kind == JOINT_TRAJECTORY]
    if bag.count(topics):
        return []
    try:
        live, again = (
            read_joint_states(one, [commands])[commands] for one in (bag, other)
        )
    except BagError:  # no commands
        return []
    pairs = answers(live, again)
    moves = (abs(live.velocity[pairs.states]) > 0.0).any(axis=1)
    rests = ~again.velocity[pairs.commands].any(axis=1)
    note = (
        f"{bag.path}: the desired position moves without a trajectory: the recorder missed it, or it came by an "
        "action. Cure: start the recorder first, and use ~/joint_trajectory"
    )
    return [note] if (moves & rests).any() else []
