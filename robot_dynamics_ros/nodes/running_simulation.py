"""When the next period of a simulation is due."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.timer import Timer
from std_msgs.msg import Float64MultiArray

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.messages.joint_state import JointStateReader
from robot_dynamics_ros.nodes import spinning as real_time
from robot_dynamics_ros.nodes.diagnostics import BoundedLog
from robot_dynamics_ros.nodes.polled_inputs import PolledInputs
from robot_dynamics_ros.nodes.simulation_outputs import Counts, SimulationMode, SimulationOutputs, SimulationReport
from robot_dynamics_ros.simulation.simulated_arm import SimulatedArm, SimulationSettings

_CATCH_UP = 0.02  # s
_SHORTEST_TICK, _LONGEST_TICK = 0.0005, 0.01  # s


class Pace:
    """Keeps simulated time at ``factor`` times steady time, and gives up what it cannot catch up with.

    Times are seconds of a steady clock. A simulation that is late, by a busy machine, catches up with at most
    20 ms, or one period; the rest is skipped, so that one that is too slow falls behind instead of working
    without end.

    Attributes
    ----------
    tick
        How often to ask (s): a period is a whole number of ticks, or shorter than one.
    """

    def __init__(self, period: float, factor: float, now: float) -> None:
        """``period`` in simulated seconds, the first of which begins at ``now``; ``factor`` 0: always due."""
        interval = period / factor if factor > 0.0 else 0.0
        ticks = max(1, math.ceil(interval / _LONGEST_TICK))
        # Timers count whole nanoseconds. Periods that drift against them would come in pairs now and then.
        tick = math.ceil(interval / ticks * 1e9 - 0.5) * 1e-9
        self._interval = ticks * tick
        self.tick = max(tick, _SHORTEST_TICK)
        self._next = now + self._interval

    def due(self, now: float) -> bool:
        """Whether the period's end has come, to the nearest tick."""
        return self._interval == 0.0 or now + 0.5 * self.tick >= self._next

    def advance(self, now: float) -> float:
        """Note that a period is done; return the seconds of steady time that are given up."""
        skipped = 0.0
        if self._interval > 0.0:
            late = now - self._next - max(_CATCH_UP, self._interval)
            # Whole periods, so that the next ones stay in step with the ticks.
            skipped = max(0, math.ceil(late / self._interval)) * self._interval
        self._next += skipped + self._interval
        return skipped


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


_REPEAT = 0.02  # s
_PATIENCE = 0.5  # s without an answer, until that is told
_BUSY = 0.005  # s, until other callbacks have their turn


class RunningSimulation:
    """Connects a ``SimulatedArm`` with topics and a steady clock. Stamps are nanoseconds.

    While simulated time stands still, or is slower than the clock, the last state is published again and again
    with its stamp: controllers take that as a sign of life, in lockstep it makes up for a lost message, and it
    tells late comers the time.
    """

    def __init__(
        self,
        node: PolledInputs,
        arm: SimulatedArm,
        settings: SimulationSettings,
        *,
        lockstep: Lockstep | None,
        publish_clock: bool,
        paused: bool,
    ) -> None:
        """``lockstep``: what answers are waited for, None for none; ``paused``: how it starts."""
        self._node = node
        self._logger = BoundedLog(node.get_logger())
        self._arm = arm
        self._settings = settings
        self._lockstep = lockstep
        self._publishes_clock = publish_clock
        self._follows_system_time = not publish_clock and lockstep is None
        # In lockstep a whole run is to be recorded, also by who is slower for a while.
        self._outputs = SimulationOutputs(node, arm, publish_clock, depth=10 if lockstep is None else 1000)
        self._report = SimulationReport(node, settings, simulated_time=publish_clock)
        self._counts = Counts()
        self._told = SimulationMode.BRAKED
        self._paused = paused
        self._period = round(settings.period * 1e9)
        # ROS takes a time of zero for none. Where runs are to be the same, so must their stamps.
        self._stamp = self._period
        self._repeat = _REPEAT if lockstep is not None else max(_REPEAT, settings.period)
        self._timer: Timer | None = None
        self._published = self._asked = 0.0
        self._set_pace()
        self._publish()
        node.create_steady_timer(1.0, self._tell)

    # Messages

    def receive_command(self, message: Float64MultiArray) -> None:
        """Take in efforts, or say why not."""
        try:
            self._arm.command(np.array(message.data, dtype=np.float64))
        except RobotDynamicsError as problem:
            self._refuse(f"effort_commands: {problem}")
        else:
            self._counts.commands += 1

    def receive_wrench(self, message: WrenchStamped) -> None:
        """Push a link, or say why not."""
        force, moment = message.wrench.force, message.wrench.torque
        try:
            self._arm.push(message.header.frame_id, (force.x, force.y, force.z, moment.x, moment.y, moment.z))
        except RobotDynamicsError as problem:
            self._refuse(f"external_wrench: {problem}")

    def receive_answer(self, data: bytes) -> None:
        """Take in the controller's answer, and go on if it is the one that lockstep waits for."""
        assert self._lockstep is not None
        try:
            effort = self._lockstep.receive(data)
            if effort is None:
                self._counts.strays += 1
                return
            self._arm.command(effort)
        except RobotDynamicsError as problem:
            self._refuse(f"answer refused: {problem}")
            return
        self._lockstep.waiting = False
        self._counts.commands += 1
        self._go(time.monotonic())

    def _refuse(self, problem: str) -> None:
        self._counts.refused += 1
        self._logger.error(problem, throttle_duration_sec=1.0)

    # Services

    def pause(self, paused: bool) -> str:
        """Let simulated time stand still, or go on; return what has changed."""
        before, self._paused = self._paused, paused
        if before and not paused:
            self._set_pace()
        self._notice()
        return f"{'already ' if before == paused else ''}{'paused' if paused else 'running'}, t = {self._seconds}"

    def step(self) -> str:
        """Go on by one period while paused; return the time, or raise RobotDynamicsError with the reason why not."""
        if self._arm.failure:
            raise RobotDynamicsError(self._why(SimulationMode.FAILED))
        if not self._paused:
            raise RobotDynamicsError("it runs. Cure: call ~/pause with data: true first")
        if self._awaits_answer:
            raise RobotDynamicsError(f"the controller has not answered yet: {self._missing()}")
        self._advance()
        self._notice()
        if self._arm.failure:
            raise RobotDynamicsError(self._why(SimulationMode.FAILED))
        return f"t = {self._seconds}"

    def reset(self) -> str:
        """Go back to the initial state, and to the initial time where /clock is published; return the time."""
        self._arm.reset()
        self._stamp = self._period if self._publishes_clock else self._stamp + self._period
        self._set_pace()
        self._publish()
        self._notice()
        return f"the arm is where it started, brakes on; t = {self._seconds}"

    def tune(self, settings: SimulationSettings) -> None:
        """Take those settings that may change while it runs; RobotDynamicsError, and nothing changes, for bad ones."""
        self._arm.tune(settings)
        before, self._settings = self._settings, settings
        if before.real_time_factor != settings.real_time_factor:
            self._set_pace()

    # Time

    @property
    def _seconds(self) -> str:
        return f"{self._stamp / 1e9:.6f} s"

    def _set_pace(self) -> None:
        """Begin a period now, and ask for the next ones in step with it."""
        factor = self._settings.real_time_factor
        if self._follows_system_time:
            self._stamp = max(self._stamp, time.time_ns())
        self._pace = Pace(self._settings.period, factor, time.monotonic())
        self._report.begin(factor, self._counts)
        if self._timer is not None:
            self._node.destroy_timer(self._timer)
        # rclpy cuts off fractions of a nanosecond.
        self._timer = self._node.create_steady_timer(self._pace.tick + 0.5e-9, self._tick)

    def _tick(self) -> None:
        self._node.poll()
        now = time.monotonic()
        self._go(now)
        if now - self._published >= self._repeat:
            self._published = now
            self._outputs.repeat()
            self._counts.repeated += self._awaits_answer
        self._notice()

    def _go(self, now: float) -> None:
        """Do what is due and may be done."""
        end = now + _BUSY
        while now < end and self._may_go and self._pace.due(now):
            self._advance()
            skipped = self._pace.advance(now)
            self._counts.skipped += skipped
            if self._follows_system_time:
                self._stamp += round(skipped * 1e9)
            now = time.monotonic()

    @property
    def _may_go(self) -> bool:
        return not (self._awaits_answer or self._paused or self._arm.failure)

    @property
    def _awaits_answer(self) -> bool:
        return self._lockstep is not None and self._lockstep.waiting

    def _advance(self) -> None:
        self._node.poll()
        self._arm.advance()
        if self._arm.failure:
            return
        self._counts.periods += 1
        self._stamp += self._period
        self._publish()

    def _publish(self) -> None:
        if self._lockstep is not None:
            self._lockstep.ask(self._stamp)
        self._outputs.publish(self._stamp, self._arm)
        self._published = self._asked = time.monotonic()

    # What it says of itself

    def _tell(self) -> None:
        mode = self._mode
        self._report.regularly(mode, self._why(mode), self._stamp, self._arm, self._counts)
        real_time.collect()

    def _notice(self) -> None:
        """Say so when the mode has changed."""
        mode = self._mode
        if mode is self._told:
            return
        self._told = mode
        why = self._why(mode)
        text = f"{mode.value}: {why}" if why else mode.value
        if mode is SimulationMode.FAILED:
            self._logger.error(text)
        elif mode in (SimulationMode.WAITING, SimulationMode.TIMED_OUT):
            self._logger.warning(text)
        else:
            self._logger.info(text)
        self._report.publish(mode, why, self._stamp, self._arm, self._counts)

    @property
    def _mode(self) -> SimulationMode:
        if self._arm.failure:
            return SimulationMode.FAILED
        if self._paused:
            return SimulationMode.PAUSED
        if self._awaits_answer and time.monotonic() - self._asked > _PATIENCE:
            return SimulationMode.WAITING
        if self._arm.timed_out:
            return SimulationMode.TIMED_OUT
        return SimulationMode.BRAKED if self._arm.braked else SimulationMode.RUNNING

    def _why(self, mode: SimulationMode) -> str:
        """What there is to say about the mode."""
        if mode is SimulationMode.FAILED:
            return f"{self._arm.failure}; then call ~/reset"
        if mode is SimulationMode.TIMED_OUT:
            return "brakes on" if self._settings.on_command_timeout == "hold" else "no effort"
        return self._missing() if mode is SimulationMode.WAITING else ""

    def _missing(self) -> str:
        """What keeps the controller from answering, as far as can be seen from here."""
        assert self._lockstep is not None
        topic = self._lockstep.topic
        if self._outputs.states.get_subscription_count() == 0:
            return "nobody takes joint_states. Cure: start it with update_rate 0"
        if self._node.count_publishers(topic) == 0:
            return f"nobody publishes {topic}. Cure: give that as lockstep_topic which its ~/command_states is"
        return f"no answer to t = {self._seconds}. Cure: see that it is active, with update_rate 0"
