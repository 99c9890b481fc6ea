"""Controller node: one command for each joint_states message, or at a fixed rate."""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.lifecycle import LifecycleNodeMixin, LifecycleState, TransitionCallbackReturn
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.files import read_bytes
from robot_dynamics_ros.base.parameters import DYNAMICS_FILE, LOCKED
from robot_dynamics_ros.base.parameters.kinds import Values, overridden
from robot_dynamics_ros.control.clock import Now
from robot_dynamics_ros.control.configuration.settings import (
    ALL,
    NodeSettings,
    read_settings,
)
from robot_dynamics_ros.control.controller import warm_up_controller
from robot_dynamics_ros.control.goals import Tolerances
from robot_dynamics_ros.control.interface import WARN, Note, Output
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.control.safety import Safety
from robot_dynamics_ros.control.session import ControllerSession
from robot_dynamics_ros.control.thresholds import WATCH_PERIOD
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.recordings.bags.storage import BOOL
from robot_dynamics_ros.recordings.messages.drive_commands import command_topics
from robot_dynamics_ros.ros.conversions import message_class
from robot_dynamics_ros.ros.nodes.control_interfaces import (
    ABSENT,
    INSTALLED,
    ControlInterfaces,
)
from robot_dynamics_ros.ros.nodes.controller_outputs import (
    INPUT_TOPICS,
    ControllerOutputs,
    ControllerReport,
    black_box,
    publisher_names,
)
from robot_dynamics_ros.ros.nodes.node_program import run
from robot_dynamics_ros.ros.nodes.robot import (
    NotReadyError,
    RobotNode,
    load_robot,
)
from robot_dynamics_ros.ros.realtime import (
    disable_garbage_collection,
    enable_garbage_collection,
    lock_memory,
    set_priority,
)
from robot_dynamics_ros.ros.thresholds import REPORT_PERIOD
from robot_dynamics_ros.runs.configuration import Configuration
from robot_dynamics_ros.runs.inputs import JOINT_STATES, InputReader

_CONFIGURED = (
    "it is read when the node is configured. Cure: deactivate and clean up the node, set it, and configure and "
    "activate again"
)
_BEST_EFFORT = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
_LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
_AUTOSTART = NodeSettings.parameters()["autostart"]


class ComputedTorqueNode(LifecycleNodeMixin, RobotNode):
    """Lifecycle node of the controller; with ``autostart`` it configures and activates itself once the robot is known.

    If ``update_rate`` is 0, each joint_states message causes one command, and its stamp is the time of the cycle;
    otherwise a timer on the node's clock causes the cycles. The node decodes messages, passes them to
    ControllerSession, and publishes its outputs. A lifecycle transition calls the method of its name; configuration and
    activation fail if it raises RobotDynamicsError.

    Attributes
    ----------
    obstacle
        Reason why the last configuration or activation failed, or what the node waits for; empty if there is none.
    """

    def __init__(self, **options: Any) -> None:
        """Create the node; ``options`` are keyword arguments of ``rclpy.node.Node``."""
        RobotNode.__init__(self, "computed_torque_node", ALL, **options)
        # A callback group of their own: other callbacks run while a transition stops the arm.
        LifecycleNodeMixin.__init__(
            self, callback_group=MutuallyExclusiveCallbackGroup()
        )
        self.obstacle = ""
        self._files = "", ""  # content of URDF and dynamics file
        self._settings = NodeSettings()  # read when the node is configured
        self._session: ControllerSession | None = None
        self._safety: Safety | None = None  # emergency stops outlast the session
        # Joints that are not controlled are locked at these positions, by name.
        self._measured: dict[str, float] = {}
        # It exists until the node is configured.
        self._position_subscription: Any = None
        # One of these joints must be in joint_states before the configuration.
        self._awaited: tuple[str, ...] = ()
        self._report = ControllerReport(self)
        self.create_steady_timer(REPORT_PERIOD, self._report_status)
        if not INSTALLED:
            self.get_logger().info(ABSENT)
        self.start_when_possible()

    # Transitions

    def start_when_possible(self) -> None:
        """Configure and activate the node if ``autostart`` is set, the robot is known and it is not configured."""
        if self._session is not None:
            return
        try:
            autostart = _AUTOSTART.read(self.values)
            description = self.description()
        except RobotDynamicsError as error:
            self.obstacle = str(error)
            self.get_logger().error(f"not configured: {error}")
            return
        if not description:
            self.obstacle = "waiting for the topic robot_description"
            self.get_logger().info(self.obstacle)
        elif autostart and self.trigger_configure() == TransitionCallbackReturn.SUCCESS:
            self.trigger_activate()

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Call ``configure``; on RobotDynamicsError log it and stay unconfigured."""
        return self._try(self.configure, "not configured")

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Call ``activate``; on RobotDynamicsError log it and stay inactive."""
        result = self._try(self.activate, "not activated")
        return (
            super().on_activate(state)
            if result == TransitionCallbackReturn.SUCCESS
            else result
        )

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Call ``stop``; the transition always succeeds."""
        self.stop()
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Destroy topics, services and timers, and drop the robot; ``configure`` reads the parameters again."""
        for subscription in self._inputs:
            self.destroy_subscription(subscription)
        for service in self._triggers:
            self.destroy_service(service)
        for timer in self._alarms:
            self.destroy_timer(timer)
        self._outputs.destroy()
        self._interfaces.destroy()
        self._box.finish()
        self._report.end()
        self._session = None
        self.too_late = ""
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Call ``stop`` and ``close``; the transition always succeeds."""
        self.stop()
        self.close()
        return super().on_shutdown(state)

    def _try(self, work: Callable[[], None], failed: str) -> TransitionCallbackReturn:
        self.obstacle = ""
        try:
            work()
        except RobotDynamicsError as error:
            self.obstacle = str(error)
            if isinstance(error, NotReadyError):
                self.get_logger().info(f"{failed}: {error}")
            else:
                self.get_logger().error(f"{failed}: {error}")
            return TransitionCallbackReturn.FAILURE
        except Exception:
            self.get_logger().fatal(traceback.format_exc())  # rclpy does not log it
            raise
        return TransitionCallbackReturn.SUCCESS

    def configure(self) -> None:
        """Load the robot of the present URDF, check all parameters, and create topics and services.

        The node is then inactive. Raises RobotDynamicsError for an unknown or invalid robot and an invalid parameter or
        topic name, and NotReadyError while kernels are compiled, and before the first state if it has the positions of
        locked joints.
        """
        self.require_kernels()
        description = self.description()
        if not description:
            raise RobotDynamicsError(
                "robot_description is empty. Cure: set it or urdf, or publish the topic and configure again"
            )
        file = DYNAMICS_FILE.read(self.values)
        self._files = (
            description,
            read_bytes(file, "dynamics file").decode(errors="replace") if file else "",
        )
        settings = read_settings(self.values)
        self._settings = NodeSettings.read(self.values)
        robot = self._load_robot(description, LAWS[settings.law].needs_state)
        configuration = self._configuration(self.values, robot)
        session = ControllerSession(
            robot, settings, configuration.simulated_time, self._safety
        )
        tolerances = Tolerances.of(self._settings, robot.joint_names)
        if settings.update_rate == 0.0 and not LAWS[settings.law].needs_state:
            self.get_logger().info(
                "update_rate is 0: commands are published only in response to joint_states"
            )
        self.warm_up(lambda: warm_up_controller(robot, settings))
        if self._settings.lock_memory:
            self.warn(lock_memory())
        try:
            self._connect(session, tolerances)
        except (RuntimeError, ValueError) as error:
            raise RobotDynamicsError(
                f"{error}. Cure: correct qos_overrides or emergency_stop_topics in the parameter file, and start the "
                "node again"
            ) from error
        if self._position_subscription is not None:
            self.destroy_subscription(self._position_subscription)
            self._position_subscription = None
            self._awaited = ()
        self._outputs.configuration(configuration)
        self._session = session
        self.too_late = _CONFIGURED
        self._safety = session.safety

    def _load_robot(self, description: str, measures: bool) -> RobotModel:
        """Return the robot; joints that are not controlled are locked where joint_states has them first.

        The parameter locked has priority. The position of joints that are not in joint_states is 0, as that of all
        without ``measures``. Raises NotReadyError before the first state.
        """
        given = LOCKED.read(self.values)
        robot = load_robot(self, description)
        others = [name for name in robot.locked if name not in given]
        if others and measures:
            if self._position_subscription is None:
                self._position_subscription = self.create_subscription(
                    JointState,
                    "joint_states",
                    self._measure,
                    _BEST_EFFORT,
                )
            if not self._measured.keys() & set(robot.joint_names):
                self._awaited = robot.joint_names
                raise NotReadyError(self._absent_states())
            measured = {
                name: self._measured[name] for name in others if name in self._measured
            }
            robot = load_robot(self, description, locked={**given, **measured})
        if robot.locked:
            positions = (
                f"{name} at {position:.6g}" for name, position in robot.locked.items()
            )
            self.get_logger().info(f"not controlled and locked: {', '.join(positions)}")
        return robot

    def _configuration(self, values: Values, robot: RobotModel) -> Configuration:
        """Return parameters and files with the positions at which joints of ``robot`` are locked."""
        return Configuration.of(
            overridden(values, {LOCKED.name: robot.locked}), *self._files
        )

    def _measure(self, message: JointState) -> None:
        """Store positions until the first message with awaited joints, and configure the node then."""
        if self._awaited:
            pairs = zip(message.name, message.position, strict=False)
            self._measured |= {
                name: position for name, position in pairs if math.isfinite(position)
            }
            if self._measured.keys() & set(self._awaited):
                self._awaited = ()
                self.obstacle = ""
                self.start_when_possible()

    def _absent_states(self) -> str:
        """Return what the node waits for before the configuration, and what it sees of it."""
        topic = self.resolve_topic_name("joint_states")
        publishers = ", ".join(publisher_names(self, topic)) or "nobody"
        joints = ", ".join(self._measured) or "none"
        return (
            f"waiting for {topic} with {', '.join(self._awaited)}; it is published by {publishers}, joints seen: "
            f"{joints}. Cure: start the driver of the arm, or set locked for all other joints"
        )

    def _report_status(self) -> None:
        if self._awaited:
            self.obstacle = self._absent_states()
            self.log.note(Note(WARN, f"not configured: {self.obstacle}", 5.0))
        if self._session is not None:
            self._outputs.renew_configuration()
        self._report.publish_status(self._session, self.obstacle)

    def _connect(self, session: ControllerSession, tolerances: Tolerances) -> None:
        state_timeout = session.settings.safety.state_timeout
        update_rate = session.settings.update_rate
        stops = self._settings.emergency_stop_topics
        commands = command_topics(session.settings.drives.command_interfaces)
        self._box = black_box(self, self._settings, commands)
        self._report.configure(
            self._box, [*commands, "joint_states", "~/emergency_stop", *stops]
        )
        self._outputs = ControllerOutputs(
            self, session, commands, state_timeout + 2.0 * WATCH_PERIOD, self._box
        )
        self._interfaces = ControlInterfaces(
            self, session, self._outputs, self._settings, tolerances
        )
        self._reader = InputReader(session, self.resolve_topic_name("joint_states"))
        self._inputs = [
            self._subscribe(topic, kind)
            for topic, kind in (INPUT_TOPICS | dict.fromkeys(stops, BOOL)).items()
        ]
        self._triggers = [
            self.create_work_service(Trigger, "~/cancel", self._cancel),
            self.create_work_service(Trigger, "~/clear_fault", self._clear_fault),
            self.create_work_service(
                Trigger, "~/emergency_stop", self._stop_in_emergency
            ),
        ]
        self._alarms = [self.create_steady_timer(WATCH_PERIOD, self._watch)]
        if update_rate > 0.0:
            self._alarms.append(self.create_timer(1.0 / update_rate, self._tick))

    def _subscribe(self, topic: str, kind: str) -> Any:
        qos: QoSProfile | int = 5
        overridable = None
        if topic == JOINT_STATES:
            qos = _BEST_EFFORT
            overridable = QoSOverridingOptions.with_default_policies()
        elif kind == BOOL:
            qos = _LATCHED
        elif topic.startswith("~/target_"):
            qos = 100  # a queue: targets are sent ahead of their time
        return self.create_subscription(
            message_class(kind),
            topic,
            partial(self._receive, topic),
            qos,
            qos_overriding_options=overridable,
            raw=True,
        )

    def activate(self) -> None:
        """Start to publish commands; the arm holds its position until a trajectory is received.

        Raises RobotDynamicsError as ``ControllerSession.activate``, which compares efforts with the parameter
        ``activation_check``. With ``exclusive_topics`` it is also raised if other nodes publish commands, or several
        publish joint_states or the same emergency stop.
        """
        assert self._session is not None
        others = self._report.check_publishers()
        if others and self._settings.exclusive_topics:
            raise RobotDynamicsError(others)
        output = self._session.activate(
            self._settings.activation_check, now=self._now()
        )
        self.warn(set_priority(self._settings.realtime_priority))
        disable_garbage_collection()
        self._report.begin()
        self._publish(output)
        settings = self._session.settings
        if (
            LAWS[settings.law].follows
            and len(settings.safety.following_error_limit) == 0
        ):
            self.warn(
                "following_error_limit is not set: a lagging arm is no fault. Cure: set it, e.g. [0.1]"
            )
        names = ", ".join(self._session.arm.robot.joint_names)
        self.get_logger().info(
            f"active: law {self._session.settings.law}, joints {names}"
        )

    @property
    def stop_timeout(self) -> float:
        """Longest time (s) to stop the arm."""
        return 0.0 if self._session is None else self._settings.stop_timeout

    def stop(self) -> None:
        """Stop the arm and publish a final effort, which an effort controller continues to apply.

        This waits until the arm rests, for at most ``stop_timeout``. It does nothing if the node is not active.
        """
        session = self._session
        if session is None or session.controller is None:
            return
        self._interfaces.abort("the node was deactivated")
        session.safety.begin_stop()
        self.spin_until(
            lambda: session.controller is None or session.controller.stopped,
            self._settings.stop_timeout,
        )
        self._publish(session.deactivate(self._now()))
        enable_garbage_collection()

    def close(self) -> None:
        """Complete the black box."""
        if self._session is not None:
            self._box.finish()

    def flush(self) -> None:
        """Wait until the subscribers have received the final command, at most half a second."""
        if self._session is not None:
            self._outputs.flush()

    @property
    def unsent(self) -> bool:
        """True if the result of a goal has not been sent yet."""
        return self._session is not None and self._interfaces.results_pending

    # Inputs

    def _now(self) -> Now:
        return Now(time.monotonic(), self.nanoseconds)

    def _receive(self, topic: str, data: bytes) -> None:
        # received before ``cleanup`` destroyed the subscription
        if self._session is None:
            return
        self._box.add(topic, data)
        try:
            self._publish(
                self._reader.receive(topic.removeprefix("~/"), data, self._now())
            )
        except RobotDynamicsError as error:
            self.get_logger().error(f"deactivated: {error}")
            self.trigger_deactivate()

    def _tick(self) -> None:
        if self._session is not None:
            self._publish(self._session.tick(self._now()))

    def _watch(self) -> None:
        if self._session is not None:
            self._publish(self._session.watch(self._now()))
            period = round(self._session.watch_period * 1e9)
            if self._alarms[0].timer_period_ns != period:
                self._alarms[0].timer_period_ns = period

    def _publish(self, output: Output) -> None:
        """Publish the session's output."""
        if self._session is None:
            return
        self._outputs.publish(output)
        self._report.events(self._session, output)
        if output.followed is not None:
            self._interfaces.abort("replaced by a trajectory on ~/joint_trajectory")
        self._interfaces.check()

    def _cancel(self, request: Trigger.Request) -> str:
        controller = None if self._session is None else self._session.controller
        if controller is None:
            raise RobotDynamicsError("the node is not active. Cure: activate it")
        controller.cancel()
        self._interfaces.abort("canceled by the service ~/cancel")
        return "trajectory canceled"

    def _clear_fault(self, request: Trigger.Request) -> str:
        if self._session is None:
            raise RobotDynamicsError(
                "the node is not configured. Cure: configure and activate it"
            )
        output = self._session.clear_fault(self._now())
        self._publish(output)
        cleared = "the fault is cleared" if output.transitions else "there was no fault"
        return f"active: {cleared}"

    def _stop_in_emergency(self, request: Trigger.Request) -> str:
        assert self._safety is not None
        self._safety.request_emergency_stop("the service ~/emergency_stop")
        active = self._session is not None and self._session.controller is not None
        return (
            "engaged until ~/clear_fault"
            if active
            else "engaged for the next activation"
        )

    def tune(self, values: Values) -> None:
        """Apply new ``values`` of parameters to the session, if there is one; if one is invalid, none is applied."""
        if self._session is None:
            return
        robot = self._session.arm.robot
        settings = NodeSettings.read(values)
        tolerances = Tolerances.of(settings, robot.joint_names)
        configuration = self._configuration(values, robot)
        self._session.tune(read_settings(values))
        self._settings = settings
        self._interfaces.tune(tolerances)
        self._outputs.configuration(configuration)


main = partial(run, ComputedTorqueNode, ALL)

if __name__ == "__main__":
    main()
