"""Turns desired trajectories into joint efforts: one command for each joint_states message, or at a fixed rate."""

from __future__ import annotations

import time
import traceback

import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import NDArray
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics_ros.control.controller import Command, Controller, ControllerSettings
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.interruption import leave
from robot_dynamics_ros.nodes.messages import (
    JointStateReader,
    joint_state,
    nanoseconds,
    stamp,
    to_array,
    trajectory_points,
)
from robot_dynamics_ros.nodes.parameters import (
    declare,
    read_flag,
    read_number,
    read_numbers,
    read_rate,
    read_text,
)
from robot_dynamics_ros.nodes.robot import await_description, compile_kernels, declare_robot, load_robot
from robot_dynamics_ros.nodes.spinning import Interrupted, Program, run

Array = NDArray[np.float64]

_LAST_COMMANDS = ("hold", "zero")


class ComputedTorqueNode(Program, LifecycleNode):
    """A lifecycle node; with ``autostart`` it configures and activates itself as soon as it knows its robot.

    With ``update_rate`` 0 it answers each joint_states message and its time is their stamp; otherwise a
    timer of the node's clock sets the pace.
    """

    def __init__(self) -> None:
        super().__init__("computed_torque_node")
        defaults = ControllerSettings()
        declare_robot(self)
        declare(self, "law", defaults.law, f"Control law: {', '.join(LAWS)}")
        declare(self, "update_rate", 0.0, "Commands per second; 0: one for each joint_states message")
        declare(
            self,
            "gains.natural_frequency",
            list(defaults.natural_frequency),
            "rad/s, for each joint or for all",
        )
        declare(self, "gains.damping_ratio", list(defaults.damping_ratio), "For each joint or for all")
        declare(
            self,
            "gains.kp",
            [],
            "Position gain, for each joint or for all: 1/s^2 for computed_torque, Nm/rad for the other laws; "
            "empty: from natural_frequency",
        )
        declare(self, "gains.kd", [], "Velocity gain: 1/s, or Nms/rad; empty: from damping_ratio")
        declare(self, "friction_compensation", True, "Add the model's friction along the desired motion")
        declare(
            self,
            "friction_smoothing_velocity",
            defaults.friction_smoothing_velocity,
            "Desired speed (rad/s or m/s) below which friction compensation fades out",
        )
        declare(self, "allow_partial_joints_goal", False, "Take trajectories that do not name every joint")
        declare(self, "state_timeout", 0.1, "With update_rate: age (s) of joint_states beyond which on_fault acts")
        declare(
            self,
            "on_fault",
            "hold",
            "Command on lost feedback and at the end: hold (against gravity) or zero",
        )
        declare(self, "autostart", True, "Configure and activate without being told")
        self._controller: Controller | None = None
        self._state: tuple[int, float, Array, Array] | None = None
        self._pending: JointTrajectory | None = None
        self._origin: int | None = None
        self._active = False
        self._latched = ""
        await_description(self, self._receive_description)
        self._start_when_possible()

    # Configuring

    def _receive_description(self, text: str) -> None:
        self._latched = text
        if self._controller is None:
            self._start_when_possible()

    def _description(self) -> str:
        """What the topic brought last, else the parameter."""
        return self._latched or read_text(self, "robot_description")

    def _start_when_possible(self) -> None:
        try:
            autostart, description = read_flag(self, "autostart"), self._description()
        except RobotDynamicsError as problem:
            self.get_logger().error(f"not configured: {problem}")
            return
        if not description:
            self.get_logger().info("waiting for the topic robot_description")
        elif autostart and self.trigger_configure() == TransitionCallbackReturn.SUCCESS:
            self.trigger_activate()

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the robot, check every parameter, compile, connect; on an error say which and stay unconfigured."""
        try:
            self._configure()
        except RobotDynamicsError as problem:
            self.get_logger().error(f"not configured: {problem}")
            return TransitionCallbackReturn.FAILURE
        except Interrupted:
            return TransitionCallbackReturn.FAILURE
        except Exception:
            self.get_logger().fatal(traceback.format_exc())  # rclpy would swallow it without a word
            raise
        return TransitionCallbackReturn.SUCCESS

    def _configure(self) -> None:
        description = self._description()
        if not description:
            raise RobotDynamicsError(
                "robot_description is empty. Cure: set the parameter, or publish the topic and configure again"
            )
        self._update_rate = read_number(self, "update_rate", least=0.0) and read_rate(self, "update_rate")
        self._state_timeout = read_number(self, "state_timeout", least=0.0)
        self._on_fault = read_text(self, "on_fault")
        if self._on_fault not in _LAST_COMMANDS:
            raise RobotDynamicsError(f"parameter on_fault: {self._on_fault!r}. Cure: {' or '.join(_LAST_COMMANDS)}")
        settings = self._read_settings()
        if self._update_rate == 0.0 and settings.law in LAWS and not LAWS[settings.law].needs_state:
            self.get_logger().info("update_rate is 0: commands come only in answer to joint_states")
        model = load_robot(self, description)
        controller = Controller(model, settings)
        compile_kernels(self, "model", model.warm_up)
        self._controller = controller
        self._reader = JointStateReader(model.joint_names)
        self._connect()

    def _read_settings(self) -> ControllerSettings:
        return ControllerSettings(
            law=read_text(self, "law"),
            natural_frequency=read_numbers(self, "gains.natural_frequency"),
            damping_ratio=read_numbers(self, "gains.damping_ratio"),
            kp=read_numbers(self, "gains.kp"),
            kd=read_numbers(self, "gains.kd"),
            friction_compensation=read_flag(self, "friction_compensation"),
            friction_smoothing_velocity=read_number(self, "friction_smoothing_velocity", least=0.0),
            allow_partial_joints_goal=read_flag(self, "allow_partial_joints_goal"),
        )

    def _connect(self) -> None:
        reliable = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
        best_effort = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
        self._efforts = self.create_publisher(Float64MultiArray, "effort_commands", reliable)
        self._states = self.create_publisher(JointState, "~/command_states", QoSProfile(depth=10))
        self._inputs = [
            self.create_subscription(
                JointTrajectory, "~/joint_trajectory", self._receive_trajectory, QoSProfile(depth=5)
            ),
            self.create_subscription(JointState, "joint_states", self._receive_state, best_effort),
        ]
        self._timer = self.create_timer(1.0 / self._update_rate, self._tick) if self._update_rate > 0.0 else None

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start to command; the arm holds where it is until a trajectory comes."""
        assert self._controller is not None
        # A new controller: while the node was inactive the arm may have gone elsewhere.
        self._controller = Controller(self._controller.model, self._controller.settings)
        self._state, self._pending, self._origin = None, None, None
        self._active = True
        self.get_logger().info(
            f"active: law {self._controller.settings.law}, joints {', '.join(self._controller.model.joint_names)}"
        )
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Publish the last command: an effort controller keeps it for ever."""
        self._publish_last_command()
        self._active = False
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Disconnect and forget the robot; configure reads the parameters again."""
        for subscription in self._inputs:
            self.destroy_subscription(subscription)
        if self._timer is not None:
            self.destroy_timer(self._timer)
        self.destroy_publisher(self._efforts)
        self.destroy_publisher(self._states)
        self._controller = None
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Publish the last command if the node was active."""
        self.close()
        return super().on_shutdown(state)

    def close(self) -> None:
        """Publish the last command while publishing is still possible."""
        if self._active:
            self._publish_last_command()
            self._efforts.wait_for_all_acked(Duration(seconds=0.5))
            self._active = False

    # Inputs

    def _receive_state(self, message: JointState) -> None:
        if not self._active:
            return
        try:
            measured = self._reader.read(message)
        except RobotDynamicsError as problem:
            self.get_logger().error(str(problem), throttle_duration_sec=1.0)
            return
        if measured is None:
            return
        at = nanoseconds(message.header.stamp)
        self._state = (at, time.monotonic(), *measured)
        if self._update_rate == 0.0:
            self._cycle(at, *measured)

    def _receive_trajectory(self, message: JointTrajectory) -> None:
        if not self._active:
            self.get_logger().warning("trajectory ignored: the node is not active")
        elif self._origin is None and self._update_rate == 0.0:
            self._pending = message  # until joint_states tell the time
            self.get_logger().info("trajectory waits for the first joint_states")
        else:
            self._follow(message)

    def _follow(self, message: JointTrajectory) -> None:
        assert self._controller is not None
        now = self._controller.time
        if self._update_rate > 0.0:
            now = self._seconds(self.get_clock().now().nanoseconds)
        start = nanoseconds(message.header.stamp)
        try:
            trajectory = self._controller.follow(
                trajectory_points(message), None if start == 0 else self._seconds(start), now
            )
        except RobotDynamicsError as problem:
            self.get_logger().error(f"trajectory refused: {problem}")
            return
        self.get_logger().info(f"following a trajectory of {len(message.points)} points, {trajectory.duration:.3f} s")

    # Cycles

    def _tick(self) -> None:
        if not self._active or self._controller is None:
            return
        now = self.get_clock().now().nanoseconds
        if not self._controller.law.needs_state:
            self._cycle(now, None, None)
        elif self._state is None:
            self.get_logger().warning("no joint_states yet: nothing is commanded", throttle_duration_sec=5.0)
        elif (age := time.monotonic() - self._state[1]) > self._state_timeout:
            self.get_logger().error(
                f"joint_states are {age:.3f} s old, over state_timeout {self._state_timeout} s: on_fault "
                f"{self._on_fault}. Cure: see what stopped their publisher",
                throttle_duration_sec=1.0,
            )
            self._publish_last_command()
        else:
            self._cycle(now, self._state[2], self._state[3])

    def _cycle(self, at: int, q: Array | None, qd: Array | None) -> None:
        assert self._controller is not None
        before, now = self._controller.time, self._seconds(at)
        try:
            command = self._controller.update(now, q, qd)
        except RobotDynamicsError as problem:
            self.get_logger().error(str(problem), throttle_duration_sec=1.0)
            return
        if now < before:
            self.get_logger().warning("time jumped back: the trajectory is dropped, the arm holds where it is")
        if command is not None:
            self._publish(command, stamp(at if self._state is None else self._state[0]))
        if self._pending is not None:
            message, self._pending = self._pending, None
            self._follow(message)

    def _publish(self, command: Command, answered: Time) -> None:
        assert self._controller is not None
        if command.saturated:
            self.get_logger().warning(
                f"effort limit reached by {', '.join(command.saturated)}", throttle_duration_sec=1.0
            )
        self._efforts.publish(Float64MultiArray(data=to_array(command.effort)))
        names = self._controller.model.joint_names
        self._states.publish(joint_state(answered, names, command.desired.q, command.desired.qd, command.effort))

    def _publish_last_command(self) -> None:
        assert self._controller is not None
        model = self._controller.model
        effort = np.zeros(model.n)
        if self._on_fault == "hold" and self._state is not None:
            limits = model.effort_limits
            effort = np.clip(model.gravity_torque(self._state[2]), -limits, limits)
            if not np.isfinite(effort).all():  # a sliding joint said to be far outside the world
                effort = np.zeros(model.n)
        self._efforts.publish(Float64MultiArray(data=to_array(effort)))

    def _seconds(self, at: int) -> float:
        """Time since the first one asked for: small numbers keep their digits."""
        if self._origin is None:
            self._origin = at
        return (at - self._origin) * 1e-9


def main() -> None:
    """Run the node until SIGINT or SIGTERM."""
    leave(run(ComputedTorqueNode))


if __name__ == "__main__":
    main()
