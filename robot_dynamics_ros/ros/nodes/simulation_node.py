"""Simulation node: a simulated arm with exact stiction that receives commands and publishes joint_states."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from rclpy.timer import Timer
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.parameters import COMMAND_INTERFACES, EFFORT
from robot_dynamics_ros.base.parameters.kinds import Values
from robot_dynamics_ros.control.controller_status import Status, diagnostics_message
from robot_dynamics_ros.control.interface import ERROR, Note
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.recordings.messages.drive_commands import DriveCommandReader
from robot_dynamics_ros.recordings.messages.joint_state import (
    JointStateReader,
    JointStateWriter,
)
from robot_dynamics_ros.ros.conversions import message_class, stamp
from robot_dynamics_ros.ros.nodes.node_program import NodeProgram, run
from robot_dynamics_ros.ros.nodes.robot import NotReadyError, RobotNode, load_robot
from robot_dynamics_ros.ros.realtime import collect_garbage, disable_garbage_collection
from robot_dynamics_ros.ros.thresholds import (
    CATCH_UP_TIME,
    LONGEST_BUSY_TIME,
    LONGEST_TICK,
    MISSING_COMMAND_TIME,
    REPEAT_PERIOD,
    SHORTEST_TICK,
)
from robot_dynamics_ros.simulation import parameters
from robot_dynamics_ros.simulation.parameters import read_settings
from robot_dynamics_ros.simulation.simulated_arm import SimulatedArm, SimulationSettings
from robot_dynamics_ros.simulation.status import (
    Counts,
    SimulationMode,
    SimulationReport,
)

_TIMEOUTS = {
    "zero": "no effort",
    "brake": "brakes on",
    "hold": "the drives hold the last positions",
    "damp": "the drives damp the motion",
}
_RUNNING = "it is read when the simulation starts, which is running. Cure: restart the node with another value"


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
        ticks = max(1, math.ceil(interval / LONGEST_TICK))
        # Timers have whole nanoseconds. If periods drifted against ticks, two would sometimes fall into one tick.
        tick = math.ceil(interval / ticks * 1e9 - 0.5) * 1e-9
        self._interval = ticks * tick
        self.tick = max(tick, SHORTEST_TICK)
        self._next = now + self._interval

    def due(self, now: float) -> bool:
        """Return True if the period has ended at ``now``, to the nearest tick, or if ``factor`` is 0."""
        return self._interval == 0.0 or now + 0.5 * self.tick >= self._next

    def advance(self, now: float) -> float:
        """Begin the next period and return the steady time (s) that is skipped at ``now``; 0 if none."""
        skipped = 0.0
        if self._interval > 0.0:
            late = now - self._next - max(CATCH_UP_TIME, self._interval)
            # Skipping whole periods keeps the next ones synchronous with the ticks.
            skipped = max(0, math.ceil(late / self._interval)) * self._interval
        self._next += skipped + self._interval
        return skipped


class EffortReader:
    """Reader of serialized messages of ~/command_states, the answers in lockstep, for joints by name.

    ``topic`` is named in errors.
    """

    def __init__(self, joint_names: Sequence[str], topic: str) -> None:
        self._reader = JointStateReader(joint_names, topic)
        self._joint_names = tuple(joint_names)
        self._topic = topic

    def read(self, data: bytes) -> tuple[int, Array]:
        """Return stamp (ns) and effort (n,), Nm or N, of a message.

        Raises RobotDynamicsError if ``data`` is no valid JointState, lacks or repeats a joint, or has not one position
        and one effort for each name.
        """
        sample = self._reader.read(data)
        if sample is None or sample.effort is None:
            cause = (
                "a message names none of the joints"
                if sample is None
                else "a message has no effort"
            )
            raise RobotDynamicsError(
                f"{self._topic}: {cause}. Cure: set lockstep_topic to ~/command_states of a controller for "
                f"{', '.join(self._joint_names)}"
            )
        return sample.stamp, sample.effort


class RunningSimulation:
    """Connection of a ``SimulatedArm`` to topics, services and a steady clock. Stamps are in nanoseconds.

    While simulated time is paused or slow, the last state is published repeatedly with the same stamp. Controllers thus
    see that the plant is alive, new subscribers receive the time, and in lockstep a lost message is replaced.
    """

    def __init__(
        self, node: NodeProgram, arm: SimulatedArm, settings: SimulationSettings
    ) -> None:
        """Start to simulate ``arm`` with ``settings``; ``node`` has the other parameters, the topics and the timers."""
        values = node.values
        self._topic = _command_topic(node)
        lockstep = parameters.LOCKSTEP.read(values)
        publish_clock = parameters.PUBLISH_CLOCK.read(values)
        self._paused = parameters.START_PAUSED.read(values)
        self._node = node
        self._arm = arm
        self._settings = settings
        self._lockstep = lockstep
        # stamp (ns) of the state whose command is awaited in lockstep; None: none is
        self._awaited: int | None = None
        self._follows_system_time = not (publish_clock or lockstep)
        # A long queue: a recorder that is slow for a while still receives every state of a lockstep run.
        depth = 1000 if lockstep else 10
        self._states = node.create_publisher(JointState, "joint_states", depth)
        self._clock = (
            node.create_publisher(Clock, "/clock", 1) if publish_clock else None
        )
        self._writer = JointStateWriter(arm.joint_names)
        self._counts = Counts()
        self._report = SimulationReport(arm, settings, self._counts, time.monotonic())
        self._diagnostics = node.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self._reported_mode = SimulationMode.BRAKED
        self._period = round(settings.period * 1e9)
        # Not zero, which ROS treats as an unset time; a constant, so that runs can be repeated with the same stamps.
        self._stamp = self._period
        self._repeat_period = (
            REPEAT_PERIOD if lockstep else max(REPEAT_PERIOD, settings.period)
        )
        self._timer: Timer | None = None
        self._published = self._asked = 0.0
        self._set_pace()
        self._publish()
        node.create_steady_timer(1.0, self._report_regularly)
        self._subscribe_to_commands()
        node.create_subscription(
            WrenchStamped, "external_wrench", self._receive_wrench, 10
        )
        node.create_work_service(SetBool, "~/pause", self._pause)
        node.create_work_service(Trigger, "~/reset", self._reset)
        node.create_work_service(Trigger, "~/step", self._step)

    # Messages

    def _subscribe_to_commands(self) -> None:
        """Subscribe to the commands: efforts in lockstep are those of ~/command_states, which have stamps."""
        node = self._node
        names = self._arm.joint_names
        depth = 10 if self._lockstep else 1
        self._reader: EffortReader | DriveCommandReader
        if COMMAND_INTERFACES.read(node.values) != EFFORT:
            self._reader = DriveCommandReader(len(names), self._topic)
            node.create_subscription(
                Float64MultiArray,
                "drive_commands",
                self._receive_command,
                depth,
                raw=True,
            )
        elif self._lockstep:
            self._reader = EffortReader(names, self._topic)
            node.create_subscription(
                JointState, self._topic, self._receive_command, depth, raw=True
            )
        else:
            node.create_subscription(
                Float64MultiArray, "effort_commands", self._receive_effort, depth
            )

    def _receive_effort(self, message: Float64MultiArray) -> None:
        try:
            self._arm.command(np.array(message.data, dtype=np.float64))
        except RobotDynamicsError as error:
            self._refuse(f"effort_commands: {error}")
        else:
            self._counts.commands += 1

    def _receive_wrench(self, message: WrenchStamped) -> None:
        force = message.wrench.force
        moment = message.wrench.torque
        try:
            self._arm.push(
                message.header.frame_id,
                (force.x, force.y, force.z, moment.x, moment.y, moment.z),
            )
        except RobotDynamicsError as error:
            self._refuse(f"external_wrench: {error}")

    def _receive_command(self, data: bytes) -> None:
        """Apply a command; in lockstep only the expected one, with which time advances."""
        try:
            stamp, command = self._reader.read(data)
            if self._lockstep and stamp != self._awaited:
                self._counts.strays += 1
                return
            self._arm.command(command)
        except RobotDynamicsError as error:
            self._refuse(f"command refused: {error}")
            return
        self._counts.commands += 1
        if self._lockstep:
            self._awaited = None
            self._advance_if_due(time.monotonic())

    def _refuse(self, error: str) -> None:
        self._counts.refused += 1
        self._node.log.note(Note(ERROR, error, 1.0))

    # Services

    def _pause(self, request: SetBool.Request) -> str:
        before = self._paused
        self._paused = request.data
        if before and not self._paused:
            self._set_pace()
        self._report_change()
        change = f"{'already ' if before == self._paused else ''}{'paused' if self._paused else 'running'}"
        return f"{change}, t = {self._seconds}"

    def _step(self, request: Trigger.Request) -> str:
        """Advance by one period while paused."""
        if not self._arm.failure:
            if not self._paused:
                raise RobotDynamicsError(
                    "the simulation is not paused. Cure: call ~/pause with data: true first"
                )
            if self._awaited is not None:
                raise RobotDynamicsError(
                    f"the controller has not responded yet: {self._missing()}"
                )
            self._advance()
            self._report_change()
        if self._arm.failure:
            raise RobotDynamicsError(self._reason(SimulationMode.FAILED))
        return f"t = {self._seconds}"

    def _reset(self, request: Trigger.Request) -> str:
        """Return to the initial state, and to the initial time if /clock is published."""
        self._arm.reset()
        self._stamp = (
            self._period if self._clock is not None else self._stamp + self._period
        )
        self._set_pace()
        self._publish()
        self._report_change()
        return f"reset to the initial state, brakes on; t = {self._seconds}"

    def tune(self, settings: SimulationSettings) -> None:
        """Apply model, sensors, real_time_factor and command timeout of ``settings``; other fields are ignored.

        Raises RobotDynamicsError, without a change, for a model with other joints, links or placements.
        """
        self._arm.tune(settings)
        before = self._settings
        self._settings = settings
        if before.real_time_factor != settings.real_time_factor:
            self._set_pace()

    # Time

    @property
    def _seconds(self) -> str:
        return f"{self._stamp / 1e9:.6f} s"

    def _set_pace(self) -> None:
        """Begin a period now, with a timer that is synchronous with the periods."""
        factor = self._settings.real_time_factor
        if self._follows_system_time:
            self._stamp = max(self._stamp, time.time_ns())
        self._pace = Pace(self._settings.period, factor, time.monotonic())
        self._report.begin(factor, time.monotonic())
        if self._timer is not None:
            self._node.destroy_timer(self._timer)
        # rclpy truncates fractions of a nanosecond.
        self._timer = self._node.create_steady_timer(
            self._pace.tick + 0.5e-9, self._tick
        )

    def _tick(self) -> None:
        now = time.monotonic()
        self._advance_if_due(now)
        if now - self._published >= self._repeat_period:
            self._published = now
            self._publish_again()
            self._counts.repeated += self._awaited is not None
        self._report_change()

    def _advance_if_due(self, now: float) -> None:
        """Advance by the periods that are due, for at most ``LONGEST_BUSY_TIME``."""
        end = now + LONGEST_BUSY_TIME
        while (
            now < end
            and self._pace.due(now)
            and self._awaited is None
            and not (self._paused or self._arm.failure)
        ):
            self._advance()
            skipped = self._pace.advance(now)
            self._counts.skipped += skipped
            if self._follows_system_time:
                self._stamp += round(skipped * 1e9)
            now = time.monotonic()

    def _advance(self) -> None:
        self._arm.advance()
        if self._arm.failure:
            return
        self._counts.periods += 1
        self._stamp += self._period
        self._publish()

    def _publish(self) -> None:
        if self._lockstep:
            self._awaited = self._stamp
        arm = self._arm
        self._state = self._writer.write(
            self._stamp, arm.position, arm.velocity, arm.effort
        )
        self._publish_again()
        self._published = self._asked = time.monotonic()

    def _publish_again(self) -> None:
        self._states.publish(self._state)
        if self._clock is not None:
            self._clock.publish(Clock(clock=stamp(self._stamp)))

    # Mode

    def _report_regularly(self) -> None:
        mode = self._mode
        self._publish_status(
            self._report.regular(
                mode, self._reason(mode), self._stamp, time.monotonic()
            )
        )
        collect_garbage()

    def _publish_status(self, status: Status) -> None:
        at = self._stamp if self._clock is not None else self._node.nanoseconds()
        name = f"{self._node.get_fully_qualified_name().lstrip('/')}: simulation"
        robot = self._settings.model.name
        self._diagnostics.publish(
            diagnostics_message(message_class, at, name, robot, status)
        )

    def _report_change(self) -> None:
        """Log and publish the mode if it has changed."""
        mode = self._mode
        if mode is self._reported_mode:
            return
        self._reported_mode = mode
        status = self._report.status(mode, self._reason(mode), self._stamp)
        self._node.log.note(Note(status.level, status.message))
        self._publish_status(status)

    @property
    def _mode(self) -> SimulationMode:
        if self._arm.failure:
            return SimulationMode.FAILED
        if self._paused:
            return SimulationMode.PAUSED
        if (
            self._awaited is not None
            and time.monotonic() - self._asked > MISSING_COMMAND_TIME
        ):
            return SimulationMode.WAITING
        if self._arm.timed_out:
            return SimulationMode.TIMED_OUT
        return SimulationMode.BRAKED if self._arm.braked else SimulationMode.RUNNING

    def _reason(self, mode: SimulationMode) -> str:
        """Return the reason for a mode, or a detail; empty if there is none."""
        if mode is SimulationMode.FAILED:
            return f"{self._arm.failure}; then call ~/reset"
        if mode is SimulationMode.TIMED_OUT:
            return _TIMEOUTS[self._settings.on_command_timeout]
        return self._missing() if mode is SimulationMode.WAITING else ""

    def _missing(self) -> str:
        """Return the probable reason why the controller does not respond, from the ROS graph."""
        if self._states.get_subscription_count() == 0:
            return "joint_states has no subscriber. Cure: start the controller with update_rate 0"
        if self._node.count_publishers(self._topic) == 0:
            cure = (
                "set lockstep_topic to ~/command_states of the controller"
                if isinstance(self._reader, EffortReader)
                else "set the same command_interfaces in the controller"
            )
            return f"{self._topic} has no publisher. Cure: {cure}"
        return f"no command for t = {self._seconds}. Cure: check that the controller is active, with update_rate 0"


def _command_topic(node: NodeProgram) -> str:
    """Return the full name of the topic of the commands."""
    topic = "drive_commands"
    if COMMAND_INTERFACES.read(node.values) == EFFORT:
        topic = "effort_commands"
        if parameters.LOCKSTEP.read(node.values):
            topic = parameters.LOCKSTEP_TOPIC.read(node.values)
    try:
        return str(node.resolve_topic_name(topic))
    except RuntimeError as error:
        raise RobotDynamicsError(
            f'parameter lockstep_topic: "{topic}" is not a topic name. Cure: give ~/command_states of the controller'
        ) from error


class SimulationNode(RobotNode):
    """Node that simulates an arm and publishes its state ``publish_rate`` times per simulated second.

    It starts a RunningSimulation as soon as the robot is known.
    """

    def __init__(self, **options: Any) -> None:
        """Create the node; ``options`` are keyword arguments of ``rclpy.node.Node``."""
        super().__init__("simulation_node", parameters.ALL, **options)
        self._model: RobotModel | None = None
        self._running: RunningSimulation | None = None
        self.start_when_possible()

    def start_when_possible(self) -> None:
        """Start the simulation if the robot is known; after an error wait for another robot_description."""
        if self._model is not None:
            return
        try:
            self.require_kernels()
            description = self.description()
            if not description:
                raise NotReadyError("waiting for the topic robot_description")
            model = load_robot(self, description, closes_loops=True)
            settings = read_settings(self.values, model)
            self.warm_up(lambda: SimulatedArm(settings).warm_up())
            self._running = RunningSimulation(self, SimulatedArm(settings), settings)
            self.too_late = _RUNNING
            disable_garbage_collection()
        except NotReadyError as error:
            self.get_logger().info(f"not started yet: {error}")
        except RobotDynamicsError as error:
            self.get_logger().error(f"not started: {error}")
        else:
            self._model = model
            self.get_logger().info(
                f"simulating {model.name}: {', '.join(model.joint_names)}"
            )

    def tune(self, values: Values) -> None:
        """Apply new ``values`` of parameters to the simulation, if it runs; if one is invalid, none is applied."""
        if self._running is not None and self._model is not None:
            self._running.tune(read_settings(values, self._model))


main = partial(run, SimulationNode, parameters.ALL)

if __name__ == "__main__":
    main()
