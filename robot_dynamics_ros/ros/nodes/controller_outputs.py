"""Publishers of the controller: commands, states and diagnostics; and the log of its mode transitions."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.duration import Duration
from rclpy.logging import get_logging_directory
from rclpy.qos import (
    DurabilityPolicy,
    LivelinessPolicy,
    QoSPolicyKind,
    QoSProfile,
    ReliabilityPolicy,
)
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.resources import command_line
from robot_dynamics_ros.control.configuration.settings import NodeSettings
from robot_dynamics_ros.control.controller_status import (
    Status,
    StatusReport,
    diagnostics_message,
    in_words,
)
from robot_dynamics_ros.control.estimation.estimator import Estimator
from robot_dynamics_ros.control.interface import (
    ERROR,
    OK,
    WARN,
    Command,
    Followed,
    Note,
    Output,
)
from robot_dynamics_ros.control.safety import Cause, Mode, Transition
from robot_dynamics_ros.control.session import ControllerSession
from robot_dynamics_ros.control.trajectory.trajectory_effort import trajectory_effort
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.recordings.bags.black_box import CONFIGURATION, BlackBox
from robot_dynamics_ros.recordings.bags.storage import (
    BOOL,
    DIAGNOSTIC_ARRAY,
    JOINT_STATE,
    TEXT,
)
from robot_dynamics_ros.recordings.messages.cdr import FLOAT64_MULTI_ARRAY, EffortWriter
from robot_dynamics_ros.recordings.messages.drive_commands import DriveCommandWriter
from robot_dynamics_ros.recordings.messages.joint_state import JointStateWriter
from robot_dynamics_ros.recordings.messages.joint_trajectory import write_trajectory
from robot_dynamics_ros.ros.conversions import message_class
from robot_dynamics_ros.ros.nodes.node_program import NodeProgram
from robot_dynamics_ros.ros.realtime import collect_garbage
from robot_dynamics_ros.ros.thresholds import FIRST_MESSAGE_TIME, LONGEST_DEADLINE
from robot_dynamics_ros.runs.configuration import Configuration
from robot_dynamics_ros.runs.inputs import INPUTS, JOINT_STATES

INPUT_TOPICS = {
    topic if topic == JOINT_STATES else f"~/{topic}": kind
    for topic, kind in INPUTS.items()
}
"""Message types of the inputs by their topics in the node."""
_OUTPUTS = {
    "~/command_states": JOINT_STATE,
    CONFIGURATION: TEXT,
    "/diagnostics": DIAGNOSTIC_ARRAY,
}
_NONE: Array = np.empty(0)


class ControllerOutputs:
    """Publishers of a configured controller, except those of /diagnostics and of control_msgs types."""

    def __init__(
        self,
        node: NodeProgram,
        session: ControllerSession,
        topics: Sequence[str],
        longest_gap: float,
        box: BlackBox,
    ) -> None:
        """Create the publishers of ``node`` for the outputs of ``session``; ``box`` records what they publish.

        ``topics`` are those of ``command_topics``. ``longest_gap`` is the longest time (s) between commands, offered as
        QoS deadline and lease; inf: none.
        """
        overridable = QoSOverridingOptions.with_default_policies()
        heartbeat = QoSOverridingOptions(
            [*overridable.policy_kinds, QoSPolicyKind.DEADLINE]
        )
        reliable = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
        if longest_gap < LONGEST_DEADLINE:
            reliable.deadline = reliable.liveliness_lease_duration = Duration(
                seconds=longest_gap
            )
            # The deadline already detects silence; manual liveliness would cost 12 us more in each cycle.
            reliable.liveliness = LivelinessPolicy.AUTOMATIC
        self._node = node
        self._session = session
        self._box = box
        self._commands = [
            (
                topic,
                node.create_publisher(
                    Float64MultiArray, topic, reliable, qos_overriding_options=heartbeat
                ),
            )
            for topic in topics
        ]
        self._command_states = node.create_publisher(
            JointState, "~/command_states", 10, qos_overriding_options=overridable
        )
        self._external_torque = node.create_publisher(
            JointState, "~/external_torque", 10
        )
        self._trajectories_with_effort = node.create_publisher(
            JointTrajectory, "~/joint_trajectory_with_effort", 5
        )
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._configuration = node.create_publisher(String, "~/configuration", latched)
        names = session.arm.robot.joint_names
        self._interfaces = session.settings.drives.command_interfaces
        self._effort_writer = EffortWriter(len(names))
        self._drive_writer = DriveCommandWriter(len(names))
        self._command_state_writer = JointStateWriter(names, numbered=True)
        self._state_writer = JointStateWriter(names)
        # trajectories whose effort is being computed
        self._unfinished: deque[Iterator[bytes]] = deque()

    def publish(self, output: Output) -> None:
        """Publish the command, its desired state, the external torque, and trajectories with effort.

        The parts of ``output`` that are None, and notes and transitions, are not published.
        """
        command = output.command
        if command is not None:
            messages = self._messages(command, output.answered)
            for (topic, publisher), data in zip(self._commands, messages, strict=True):
                publisher.publish(data)
                self._box.add(topic, data)
        if command is not None and output.answered is not None:
            desired = command.desired
            data = self._command_state_writer.write(
                output.answered, desired.q, desired.qd, command.effort, output.number
            )
            self._command_states.publish(data)
            self._box.add("~/command_states", data)
        if output.external_torque is not None:
            stamp = self._session.state_stamp
            self._external_torque.publish(
                self._state_writer.write(stamp, _NONE, _NONE, output.external_torque)
            )
        if self._unfinished:
            message = next(self._unfinished[0], None)
            if message is None:
                self._unfinished.popleft()
            elif message:
                self._trajectories_with_effort.publish(message)
        if output.followed is not None:
            self.follow(output.followed)

    def _messages(self, command: Command, answered: int | None) -> list[bytes]:
        """Return the messages of a ``command`` in the order of the topics; ``answered`` is that of its output."""
        write = self._effort_writer.write
        if command.drive is None:
            return [write(command.effort)]
        values = (getattr(command.drive, interface) for interface in self._interfaces)
        table = self._drive_writer.write(answered or 0, command.drive)
        return [table, *map(write, values)]

    def follow(self, followed: Followed) -> None:
        """Start to compute the feedforward effort of a trajectory if ~/joint_trajectory_with_effort has subscribers.

        Each later call of ``publish`` computes a part; the last one publishes the result.
        """
        if self._trajectories_with_effort.get_subscription_count() > 0:
            self._unfinished.append(self._with_effort(followed))

    def _with_effort(self, followed: Followed) -> Iterator[bytes]:
        """Yield b"" in each cycle, which computes a part of the trajectory, and at the end the serialized message."""
        controller = self._session.controller
        assert controller is not None
        settings = controller.settings
        drops = controller.plan.drops
        smoothing = (
            settings.friction_smoothing_velocity
            if settings.friction_compensation
            else None
        )
        trajectory, points, stamp = followed
        try:
            for result in trajectory_effort(
                controller.arm.model,
                trajectory,
                points.joint_names,
                settings.trajectory_effort_period,
                smoothing,
            ):
                if controller.plan.drops != drops:
                    return
                yield b"" if result is None else write_trajectory(stamp, result)
        except RobotDynamicsError as error:
            self._node.log.note(Note(ERROR, f"~/joint_trajectory_with_effort: {error}"))

    def configuration(self, configuration: Configuration) -> None:
        """Publish ``configuration``, with the inputs that outlast an activation, on the latched ~/configuration."""
        self._recorded = replace(configuration, lasting=self._session.lasting)
        data = serialize_message(String(data=self._recorded.text()))
        self._configuration.publish(data)
        self._box.add("~/configuration", data)

    def renew_configuration(self) -> None:
        """Publish ~/configuration again if inputs that outlast an activation have changed."""
        if self._session.lasting != self._recorded.lasting:
            self.configuration(self._recorded)

    def flush(self) -> None:
        """Wait until the subscribers have received the commands, at most half a second."""
        end = time.monotonic() + 0.5
        for _, publisher in self._commands:
            left = max(0.0, end - time.monotonic())
            publisher.wait_for_all_acked(Duration(seconds=left))

    def destroy(self) -> None:
        """Destroy the publishers."""
        for publisher in (
            *(publisher for _, publisher in self._commands),
            self._command_states,
            self._external_torque,
            self._trajectories_with_effort,
            self._configuration,
        ):
            self._node.destroy_publisher(publisher)


class ControllerReport:
    """Publisher of /diagnostics of ``node``, which also logs every mode transition.

    Attributes
    ----------
    box
        Black box that records the messages and writes a bag after a fault, by ``configure``; None if the node is not
        configured.
    """

    def __init__(self, node: NodeProgram) -> None:
        self._node = node
        self.box: BlackBox | None = None
        self._exclusive: Sequence[str] = ()
        self._others = ""
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", 10)
        name = node.get_fully_qualified_name()
        clear_fault = command_line(
            f"ros2 service call {name}/clear_fault std_srvs/srv/Trigger",
            f"robot_dynamics node clear_fault --node {name}",
        )
        self._clear_fault = f"`{clear_fault}`, or fault_reset: auto"
        self.begin()

    def configure(self, box: BlackBox, exclusive: Sequence[str]) -> None:
        """Use a black box; ``exclusive`` are the topics that must have one publisher."""
        self.box = box
        self._exclusive = exclusive

    def begin(self) -> None:
        """Reset the counts and times; to be called when the controller is activated."""
        # since when joint_states has publishers, while no message arrives
        self._since = time.monotonic()
        self._status = StatusReport(self._since)

    def end(self) -> None:
        """Drop the black box and the list of other publishers; to be called when the node is cleaned up."""
        self.box = None
        self._others = ""

    def check_publishers(self) -> str:
        """Return a warning if a topic that must have one publisher has several, else ""; log it if it has changed."""
        before = self._others
        self._others = other_publishers(self._node, self._exclusive)
        if self._others != before:
            self._node.warn(
                self._others
                or "commands, states and emergency stops have one publisher each again"
            )
        return self._others

    def events(self, session: ControllerSession, output: Output) -> None:
        """Log the notes of ``output``; log and publish its mode transitions, but only log the stop on deactivation."""
        for note in output.notes:
            self._node.log.note(note)
        for transition in output.transitions:
            self._node.log.note(in_words(transition, self._clear_fault))
            if transition.fault.cause is Cause.DEACTIVATED:  # not a fault
                continue
            if self.box is not None and transition.before is Mode.ACTIVE:
                self.box.fault()
            self._send(
                self._controller_status(session, transition), session.arm.robot.name
            )

    def publish_status(self, session: ControllerSession | None, obstacle: str) -> None:
        """Publish the status of the controller, to be called once a second.

        ``session`` is None before configuration. If the controller is not active, ``obstacle`` is the reason, empty for
        none.
        """
        if session is not None:
            self.check_publishers()
        if self.box is not None:
            self.box.work()
        if session is None or session.controller is None:
            state = "unconfigured" if session is None else "inactive"
            level = WARN if obstacle or session is None else OK
            robot = "" if session is None else session.arm.robot.name
            return self._send(
                Status(
                    level,
                    f"{state}: {obstacle}" if obstacle else state,
                    {"mode": state},
                ),
                robot,
            )
        if session.controller.estimator.silent:
            self._note_silence(session.controller.estimator)
        self.events(session, Output(notes=session.waiting()))
        self._send(self._controller_status(session, None), session.arm.robot.name)
        self._status.report(session.controller, time.monotonic())
        collect_garbage()

    def _note_silence(self, estimator: Estimator) -> None:
        """Record what the node sees on joint_states as the reason why nothing is commanded."""
        name = self._node.resolve_topic_name("joint_states")
        now = time.monotonic()
        publishers = publisher_names(self._node, name)
        if not publishers:
            self._since = now
            estimator.note_silence(
                f"{name} has no publisher. Cure: start the driver of the arm, or remap joint_states to its topic"
            )
        elif now - self._since > FIRST_MESSAGE_TIME:
            estimator.note_silence(
                f"{name} is published by {', '.join(publishers)}, but no message was received in "
                f"{now - self._since:.0f} s. Cure: check that these nodes run; if "
                "this node was killed before (kill -9), the shared memory between the two nodes may be broken: stop "
                "this node with Ctrl-C and start it again; if that does not help, restart the publisher, too"
            )

    def _controller_status(
        self, session: ControllerSession, transition: Transition | None
    ) -> Status:
        assert session.controller is not None
        age = float(self._node.nanoseconds() - session.state_stamp) * 1e-9
        return self._status.status(
            session.controller, time.monotonic(), age, transition
        )

    def _send(self, status: Status, robot: str) -> None:
        if self._others and status.level == OK:
            status = status._replace(
                level=WARN, message=f"{status.message}: {self._others}"
            )
        name = f"{self._node.get_fully_qualified_name().lstrip('/')}: controller"
        now = self._node.nanoseconds()
        message = diagnostics_message(message_class, now, name, robot, status)
        data = serialize_message(message)
        self._publisher.publish(data)
        if self.box is not None:
            self.box.add("/diagnostics", data)


def black_box(
    node: NodeProgram, settings: NodeSettings, commands: Sequence[str]
) -> BlackBox:
    """Return the black box that records inputs and outputs of ``node``; ``commands`` are the topics of its commands."""
    directory = settings.black_box_directory
    stops = dict.fromkeys(settings.emergency_stop_topics, BOOL)
    outputs = dict.fromkeys(commands, FLOAT64_MULTI_ARRAY) | _OUTPUTS
    recorded = INPUT_TOPICS | stops | outputs
    return BlackBox(
        {
            topic: (node.resolve_topic_name(topic), kind)
            for topic, kind in recorded.items()
        },
        settings.black_box_seconds,
        Path(directory) if directory else get_logging_directory(),
        node.get_fully_qualified_name().strip("/").replace("/", "_"),
        node.get_logger(),
    )


def publisher_names(node: NodeProgram, topic: str) -> list[str]:
    """Return the full names of the nodes that publish the ``topic``, sorted; ``topic`` is a full name."""
    infos = node.get_publishers_info_by_topic(topic)
    return sorted(
        f"{info.node_namespace.rstrip('/')}/{info.node_name}" for info in infos
    )


def other_publishers(node: NodeProgram, topics: Sequence[str]) -> str:
    """Return error and cure if one of ``topics`` has several publishers, else ""."""
    texts = []
    me = node.get_fully_qualified_name()
    # counts are for names after remapping
    for topic in map(node.resolve_topic_name, topics):
        if node.count_publishers(topic) < 2:  # ten times faster than reading the names
            continue
        names = publisher_names(node, topic)
        if len(names) > 1:  # a publisher is counted before its name is discovered
            if me in names:
                names.remove(me)
            texts.append(
                f"{topic} must have one publisher, others are {', '.join(names)}"
            )
    cure = "stop all but one publisher of the same joints; only a gripper with its own controller may have another one"
    return f"{'; '.join(texts)}. Cure: {cure}" if texts else ""
