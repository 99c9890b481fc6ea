"""Progress of simulated time: by a steady clock, or in lockstep with the controller."""

from __future__ import annotations

import math
from collections.abc import Sequence

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.recordings.messages.joint_state import JointStateReader

_CATCH_UP = 0.02  # s
_MIN_TICK = 0.0005  # s
_MAX_TICK = 0.01  # s


class Pace:
    """Pace of simulated time: ``factor`` times the rate of a steady clock, if the machine is fast enough.

    ``now`` is the time of the steady clock (s). A late simulation catches up on at most 20 ms or one period and skips
    the rest. A simulation that is slower than requested therefore falls behind and never blocks other callbacks.

    Attributes
    ----------
    tick
        Timer period (s); a simulation period is a whole number of ticks, or shorter than one tick.
    """

    def __init__(self, period: float, factor: float, now: float) -> None:
        """Begin the first ``period`` (s of simulated time) at ``now``; with a ``factor`` of 0 it is always due."""
        interval = period / factor if factor > 0.0 else 0.0
        ticks = max(1, math.ceil(interval / _MAX_TICK))
        # Timers have whole nanoseconds. If periods drifted against ticks, two would sometimes fall into one tick.
        tick = math.ceil(interval / ticks * 1e9 - 0.5) * 1e-9
        self._interval = ticks * tick
        self.tick = max(tick, _MIN_TICK)
        self._next = now + self._interval

    def due(self, now: float) -> bool:
        """Return True if the period has ended at ``now``, to the nearest tick, or if ``factor`` is 0."""
        return self._interval == 0.0 or now + 0.5 * self.tick >= self._next

    def advance(self, now: float) -> float:
        """Begin the next period and return the steady time (s) that is skipped at ``now``; 0 if none."""
        skipped = 0.0
        if self._interval > 0.0:
            late = now - self._next - max(_CATCH_UP, self._interval)
            # Skipping whole periods keeps the next ones synchronous with the ticks.
            skipped = max(0, math.ceil(late / self._interval)) * self._interval
        self._next += skipped + self._interval
        return skipped


class Lockstep:
    """Lockstep with the controller: reads the command that has the stamp of the last published state.

    ``joint_names`` are those of the n joints of the arm.

    Attributes
    ----------
    waiting
        True if no command for this state has been applied yet; the caller that applies one sets it to False.
    topic
        Topic of the commands, for errors.
    """

    def __init__(self, joint_names: Sequence[str], topic: str) -> None:
        self._reader = JointStateReader(joint_names, topic)
        self._joint_names = tuple(joint_names)
        self.topic = topic
        self._stamp = 0
        self.waiting = True

    def expect(self, stamp: int) -> None:
        """Expect the command for the state with this stamp (ns)."""
        self._stamp = stamp
        self.waiting = True

    def receive(self, data: bytes) -> Array | None:
        """Return the effort (n,), Nm or N, of a serialized message of ~/command_states.

        Returns None if the command is not for the expected state, or the second one for it. Raises RobotDynamicsError
        if the message does not have an effort for each joint.
        """
        sample = self._reader.read(data)
        if sample is None or sample.effort is None:
            cause = (
                "a message names none of the joints"
                if sample is None
                else "a message has no effort"
            )
            raise RobotDynamicsError(
                f"{self.topic}: {cause}. Cure: set lockstep_topic to ~/command_states of a controller for "
                f"{', '.join(self._joint_names)}"
            )
        return sample.effort if self.waiting and sample.stamp == self._stamp else None
