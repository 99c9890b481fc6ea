"""Controller node: one effort command for each joint_states message, or at a fixed rate."""

from __future__ import annotations

import time
import traceback
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from geometry_msgs.msg import AccelStamped, InertiaStamped, PoseStamped, TwistStamped
from rcl_interfaces.msg import SetParametersResult
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics_ros.control import parameters
from robot_dynamics_ros.control.controller import warm_up_controller
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.control.parameters import Configuration
from robot_dynamics_ros.control.settings import read_settings
from robot_dynamics_ros.control.trajectory.goals import read_tolerances
from robot_dynamics_ros.control.trajectory.plan import checked_speed
from robot_dynamics_ros.control.tuning import Tuning
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.messages.cdr import ACCELERATION, POSE, TWIST
from robot_dynamics_ros.messages.running_controller import RunningController, is_engaged
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.model.dynamics_file import read_bytes
from robot_dynamics_ros.nodes.black_box import BlackBox
from robot_dynamics_ros.nodes.control_interfaces import ABSENT, INSTALLED, ControlInterfaces
from robot_dynamics_ros.nodes.controller_outputs import (
    ControllerOutputs,
    ControllerReport,
    discovery_error,
    other_publishers,
)
from robot_dynamics_ros.nodes.node_program import NodeProgram, check_changes, waiting
from robot_dynamics_ros.nodes.robot import StillCompilingError, WarmUp, await_description, load_robot
from robot_dynamics_ros.nodes.runner import (
    collect,
    keep_collector_away,
    let_collector_back,
    lock_memory,
    run,
    set_priority,
)
from robot_dynamics_ros.parameters import DYNAMICS_FILE, ROBOT_DESCRIPTION

_WATCH_PERIOD, _REPORT_PERIOD, _STOP_PERIOD = 0.02, 1.0, 0.0005  # s
_MAX_STATES = 10  # at once
_CONFIGURED = (
    "it is read when the node is configured. Cure: deactivate and clean up the node, set it, and configure and "
    "activate again"
)


class ComputedTorqueNode(NodeProgram, LifecycleNode):
    """Lifecycle node; with ``autostart`` it configures and activates itself as soon as it has received its robot.

    With ``update_rate`` 0 it answers each joint_states message and takes their stamps as the time; otherwise a timer
    of the node's clock sets the pace. RunningController does the work of the active node.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__("computed_torque_node", parameters.ALL, **options)
        self._robot: RobotModel | None = None
        self._running: RunningController | None = None
        self._latched = ""
        self._emergency = self._emergency_engaged = False
        self._warm_up = WarmUp(self, self._start_when_possible)
        self._obstacle = ""
        self._report = ControllerReport(self)
        self.create_steady_timer(_REPORT_PERIOD, self._publish_report)
        if not INSTALLED:
            self.get_logger().info(ABSENT)
        self.add_on_set_parameters_callback(self._check_parameters)
        self._descriptions = await_description(self, self._receive_description)
        self._start_when_possible()

    steady = staticmethod(time.monotonic)

    def now(self) -> int:
        """Return nanoseconds by the node's clock."""
        return int(self.get_clock().now().nanoseconds)

    # Configuring

    def _receive_description(self, text: str) -> None:
        self._latched = text
        self._start_when_possible()

    def _description(self) -> str:
        """Return the last URDF of the topic, else the parameter."""
        return self._latched or ROBOT_DESCRIPTION.read(self.values)

    def _start_when_possible(self) -> None:
        if self._robot is not None:
            return
        try:
            autostart, description = parameters.AUTOSTART.read(self.values), self._description()
        except RobotDynamicsError as error:
            self._obstacle = str(error)
            self.get_logger().error(f"not configured: {error}")
            return
        if not description:
            self._obstacle = "waiting for the topic robot_description"
            self.get_logger().info(self._obstacle)
        elif autostart and self.trigger_configure() == TransitionCallbackReturn.SUCCESS:
            self.trigger_activate()

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the robot, check every parameter, compile and connect; log an error and stay unconfigured."""
        return self._try(self._configure, "not configured")

    def _try(self, work: Callable[[], None], failed: str) -> TransitionCallbackReturn:
        self._obstacle = ""
        try:
            work()
        except RobotDynamicsError as error:
            self._obstacle = str(error)
            if isinstance(error, StillCompilingError):
                self.get_logger().info(f"{failed}: {error}")
            else:
                self.get_logger().error(f"{failed}: {error}")
            return TransitionCallbackReturn.FAILURE
        except Exception:
            self.get_logger().fatal(traceback.format_exc())  # rclpy would not log it
            raise
        return TransitionCallbackReturn.SUCCESS

    def _configure(self) -> None:
        self._warm_up.check()
        values = self.values
        description = self._description()
        if not description:
            raise RobotDynamicsError(
                "robot_description is empty. Cure: set the parameter, or publish the topic and configure again"
            )
        settings = read_settings(values)
        robot = load_robot(self, description, parameters.GRAVITY.read(values) or None)
        Tuning(robot, settings)
        read_tolerances(values, robot.joint_names)
        dynamics_file = DYNAMICS_FILE.read(values)
        dynamics = read_bytes(dynamics_file, "dynamics file").decode(errors="replace") if dynamics_file else ""
        self._files = description, dynamics
        configuration = Configuration.of(values, *self._files)
        if settings.update_rate == 0.0 and not LAWS[settings.law].needs_state:
            self.get_logger().info("update_rate is 0: commands come only in answer to joint_states")
        self._warm_up.run(lambda: warm_up_controller(robot, settings))
        if parameters.LOCK_MEMORY.read(values):
            self._warn(lock_memory())
        self._settings = settings
        self._states: deque[bytes] = deque(maxlen=8)
        self._speed = 1.0
        self._receives_states = False
        try:
            self._connect(robot)
        except (RuntimeError, ValueError) as error:
            raise RobotDynamicsError(
                f"qos_overrides: {error}. Cure: correct them in the parameter file, and start the node again"
            ) from error
        self._outputs.configuration(configuration.text())
        self._robot = robot

    def _connect(self, robot: RobotModel) -> None:
        overridable = QoSOverridingOptions.with_default_policies()
        best_effort = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
        latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        longest_gap = self._settings.safety.state_timeout + 2.0 * _WATCH_PERIOD
        seconds, directory = parameters.BLACK_BOX_SECONDS, parameters.BLACK_BOX_DIRECTORY
        self._box = box = BlackBox(self, seconds.read(self.values), directory.read(self.values))
        self._outputs = ControllerOutputs(self, robot.joint_names, longest_gap, box)
        self._report.box = box
        self._report.robot = robot.name
        self._interfaces = ControlInterfaces(self, robot.joint_names, self.values)

        def create_polled(
            kind: Any, topic: str, receive: Callable[[Any], None], qos: QoSProfile | int, raw: bool = True
        ) -> Any:
            return self.create_polled(kind, topic, box.recorded(topic, receive), qos, raw)

        states = self.create_subscription(
            JointState, "joint_states", self._receive_state, best_effort, qos_overriding_options=overridable, raw=True
        )
        self._inputs = [
            states,
            create_polled(Bool, "~/emergency_stop", self._receive_emergency_stop, latched),
            create_polled(JointTrajectory, "~/joint_trajectory", self._receive_trajectory, 5),
            create_polled(Float64, "~/speed_scaling_factor", self._receive_speed, 5, raw=False),
            create_polled(InertiaStamped, "~/payload", self._receive_payload, 5, raw=False),
            *(
                create_polled(kind, f"~/{name}", partial(self._receive_target, name), 100)  # come ahead of their time
                for name, kind in ((POSE, PoseStamped), (TWIST, TwistStamped), (ACCELERATION, AccelStamped))
            ),
        ]
        self._triggers = [
            self.create_service(Trigger, "~/cancel", self._cancel),
            self.create_service(Trigger, "~/clear_fault", self._clear_fault),
            self.create_service(Trigger, "~/emergency_stop", self._stop_in_emergency),
        ]
        self._alarms = [self.create_steady_timer(_WATCH_PERIOD, self._watch)]
        if self._settings.update_rate > 0.0:
            self._alarms.append(self.create_timer(1.0 / self._settings.update_rate, self._tick))
        self.start_polling(self._descriptions)

    def _check_parameters(self, changes: list[Parameter[Any]]) -> SetParametersResult:
        """Check changes, and apply those to the running controller; all of them or none."""
        try:
            too_late = "" if self._robot is None else _CONFIGURED
            values = check_changes(parameters.ALL, self.values, changes, too_late)
            if self._robot is not None:
                settings, configuration = read_settings(values), Configuration.of(values, *self._files)
                Tuning(self._robot, self._settings).check_change(Tuning(self._robot, settings))
                self._interfaces.set(values)
                if self._running is not None:
                    self._running.controller.tune(settings)
                self._settings = settings
                self._outputs.configuration(configuration.text())
        except RobotDynamicsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    # The other transitions

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start to command; the arm holds its position until a trajectory comes."""
        result = self._try(self._activate, "not activated")
        return super().on_activate(state) if result == TransitionCallbackReturn.SUCCESS else result

    def _activate(self) -> None:
        assert self._robot is not None
        self._check_publishers()
        if self._report.other_publishers and parameters.EXCLUSIVE_TOPICS.read(self.values):
            raise RobotDynamicsError(self._report.other_publishers)
        running = RunningController(self._robot, self._settings, self, self._outputs, self._report, self.log)
        running.check_start(self._states, parameters.ACTIVATION_CHECK.read(self.values))
        running.controller.set_speed_scaling(self._speed)
        self.poll()
        self._forward_emergency_stop(running)
        self._warn(set_priority(parameters.REALTIME_PRIORITY.read(self.values)))
        keep_collector_away()
        self._report.begin()
        self._interfaces.begin(running)
        self._running = running
        self._active_since = time.monotonic()
        self.get_logger().info(f"active: law {self._settings.law}, joints {', '.join(self._robot.joint_names)}")

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop the arm and publish the final command."""
        self._end()
        self._states.clear()
        let_collector_back()
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Disconnect and forget the robot; configure reads the parameters again."""
        self.stop_polling(self._descriptions)
        for subscription in self._inputs:
            self.destroy_subscription(subscription)
        for service in self._triggers:
            self.destroy_service(service)
        for timer in self._alarms:
            self.destroy_timer(timer)
        self._outputs.destroy()
        self._box.finish()
        self._report.robot, self._report.other_publishers, self._report.box = "", "", None
        self._interfaces.destroy()
        self._robot = None
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Publish the final command if the node was active."""
        self.close()
        return super().on_shutdown(state)

    def close(self) -> None:
        """Publish the final command if the node is active."""
        if self._running is not None:
            self._end()
            self._outputs.flush()
        if self._report.box is not None:
            self._report.box.finish()

    @property
    def unsent(self) -> bool:
        """True if the result of a goal that ended with the node is still to be sent."""
        return self._robot is not None and self._interfaces.owe_results

    def _stop_arm(self, running: RunningController) -> None:
        """Stop the arm within ``stop_timeout``; no executor runs meanwhile, so that the inputs are read here."""
        running.controller.begin_stop()
        rate, tick, watch = self._settings.update_rate, self.now(), time.monotonic()
        end = watch + parameters.STOP_TIMEOUT.read(self.values)
        while not running.controller.stopped and time.monotonic() < end:
            self.poll_clock()
            for data, _ in waiting(self._inputs[0], _MAX_STATES):
                self._receive_state(data)
            if rate > 0.0 and self.now() >= tick:
                tick = self.now() + round(1e9 / rate)
                self._tick()
            if time.monotonic() >= watch:
                watch = time.monotonic() + _WATCH_PERIOD
                self._watch()
            time.sleep(_STOP_PERIOD)

    def _end(self) -> None:
        """Stop the arm, and publish a final effort: an effort controller keeps it."""
        if self._running is None:
            return
        self._stop_arm(self._running)
        if self._running is not None:  # an error in a state has not deactivated the node meanwhile
            effort = self._running.controller.last_effort(time.monotonic())
            if effort is not None:
                self._outputs.effort(effort)
            self._interfaces.abort("the node was deactivated")
            self._interfaces.end()
            self._running = None

    # Inputs of a configured node

    def _receive_state(self, data: bytes) -> None:
        self._receives_states = True
        self.poll()
        self._box.add("joint_states", data)
        if self._running is None:
            self._states.append(data)
            return
        try:
            self._running.receive_state(data)
        except RobotDynamicsError as error:
            self.get_logger().error(f"deactivated: {error}")
            self.trigger_deactivate()
        self._interfaces.check()

    def _receive_emergency_stop(self, data: bytes) -> None:
        self._emergency_engaged = is_engaged(data)
        self._emergency |= self._emergency_engaged
        self._forward_emergency_stop(self._running)

    def _stop_in_emergency(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._emergency = response.success = True
        response.message = "engaged until ~/clear_fault" if self._running else "engaged for the next activation"
        self._forward_emergency_stop(self._running)
        return response

    def _forward_emergency_stop(self, running: RunningController | None) -> None:
        """Forward a stop that awaits ``clear_fault``, also one from before the activation, and the topic's state."""
        if running is not None:
            if self._emergency:
                running.controller.emergency_stop(True)
            running.controller.emergency_stop(self._emergency_engaged)

    def _receive_trajectory(self, data: bytes) -> None:
        if self._running is None:
            self.log.warning("trajectory ignored: the node is not active")
        elif self._running.receive_trajectory(data):
            self._interfaces.abort("replaced by a trajectory on ~/joint_trajectory")

    def _receive_target(self, topic: str, data: bytes) -> None:
        if self._running is None:
            self.log.warning(f"~/{topic} ignored: the node is not active", throttle_duration_sec=1.0)
        else:
            self._running.receive_target(topic, data)

    def _receive_speed(self, message: Float64) -> None:
        """Set the speed scaling, which outlasts a deactivation."""
        try:
            self._speed = checked_speed(message.data)
        except RobotDynamicsError as error:
            self.log.error(f"~/speed_scaling_factor refused: {error}", throttle_duration_sec=1.0)
            return
        if self._running is not None:
            self._running.controller.set_speed_scaling(self._speed)

    def _receive_payload(self, message: InertiaStamped) -> None:
        """Set the payload from the next cycle on; it outlasts a deactivation."""
        assert self._robot is not None
        i, link = message.inertia, message.header.frame_id
        payload = link, i.m, (i.com.x, i.com.y, i.com.z), (i.ixx, i.ixy, i.ixz, i.iyy, i.iyz, i.izz)
        try:
            self._robot = self._robot.with_payload(*payload)
            if self._running is not None:
                self._running.controller.set_payload(*payload)
        except RobotDynamicsError as error:
            self.log.error(f"~/payload refused: {error}")
            return
        self.log.info(f"payload of {i.m:g} kg on {link}")

    def _cancel(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success = self._running is not None
        response.message = "the trajectory is given up" if response.success else "the node is not active"
        if self._running is not None:
            self._running.controller.cancel()
            self._interfaces.abort("canceled by the service ~/cancel")
        return response

    def _clear_fault(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success, response.message = False, "the node is not active"
        if self._running is not None:
            try:
                self._running.clear_fault()
                self._emergency = False
                response.success, response.message = True, "active: the arm holds where it is"
            except RobotDynamicsError as error:
                response.message = str(error)
        return response

    def _tick(self) -> None:
        self.poll()
        if self._running is not None:
            self._running.tick()
            self._interfaces.check()

    def _watch(self) -> None:
        self.poll()
        if self._running is not None:
            self._running.watch()
            self._interfaces.check()

    def _publish_report(self) -> None:
        if self._report.box is not None:
            self._report.box.work()
            self._check_publishers()
        if self._running is None:
            self._report.without_controller("unconfigured" if self._robot is None else "inactive", self._obstacle)
            return
        controller = self._running.controller
        if not self._receives_states:
            error = discovery_error(self, "joint_states", time.monotonic() - self._active_since)
            if error:
                controller.feedback.note_incomplete(error)
                self.log.error(error, throttle_duration_sec=10.0)
        if controller.command is None:
            self._report.waiting(controller)
        self._report.regularly(controller, self._running.state_stamp)
        collect()

    def _check_publishers(self) -> None:
        """Warn once of each change of the additional publishers."""
        before, self._report.other_publishers = self._report.other_publishers, other_publishers(self)
        if self._report.other_publishers != before:
            self._warn(
                self._report.other_publishers or "effort_commands and joint_states have one publisher each again"
            )

    def _warn(self, warning: str | None) -> None:
        if warning is not None:
            self.get_logger().warning(warning)


main = partial(run, ComputedTorqueNode)

if __name__ == "__main__":
    main()
