"""A controller's answers, waited for one by one, so that a simulation is the same in each run."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.messages.joint_state import JointStateReader


class Lockstep:
    """Finds the answer to the state that was published last: the command whose stamp is that state's.

    Attributes
    ----------
    waiting
        Whether that state has no answer yet; whoever takes one sets it to False.
    topic
        Where the answers come from.
    """

    def __init__(self, joint_names: Sequence[str], topic: str) -> None:
        self._reader = JointStateReader(joint_names, topic)
        self._joint_names = tuple(joint_names)
        self.topic = topic
        self._stamp = 0
        self.waiting = True

    def ask(self, stamp: int) -> None:
        """Wait for the answer to the state of this stamp (ns)."""
        self._stamp, self.waiting = stamp, True

    def receive(self, data: bytes) -> Array | None:
        """Return the effort (n,), Nm or N, that a message of ~/command_states (bytes, see cdr) answers with.

        None for answers to other states, and for the second one to the same. Raises RobotDynamicsError for a
        message that does not say what effort each joint shall have.
        """
        sample = self._reader.read(data)
        if sample is None or sample.effort is None:
            what = "it names none of the joints" if sample is None else "no effort"
            raise RobotDynamicsError(
                f"{self.topic}: {what}. Cure: give lockstep_topic as the ~/command_states of a controller for "
                f"{', '.join(self._joint_names)}"
            )
        if not self.waiting or sample.at != self._stamp:
            return None
        return sample.effort
