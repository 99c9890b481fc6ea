"""A stand-in plant: efforts in, joint_states out, with joint friction that really sticks."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.clock import Clock, ClockType  # type: ignore[attr-defined]
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.interruption import leave
from robot_dynamics_ros.nodes.bounds import POSITIVE, RATE
from robot_dynamics_ros.nodes.messages import joint_state, stamp
from robot_dynamics_ros.nodes.parameters import Flag, Number, Numbers, Parameter, Text, present_values
from robot_dynamics_ros.nodes.robot import ROBOT, ROBOT_DESCRIPTION, await_description, compile_kernels, load_robot
from robot_dynamics_ros.nodes.spinning import Interrupted, Program, run
from robot_dynamics_ros.simulation import Plant
from robot_dynamics_ros.simulation.integrators import INTEGRATORS

Array = NDArray[np.float64]

INTEGRATOR = Text(
    "integrator",
    "rk4",
    "rk4, or the faster semi_implicit, which can feed energy to a fast free arm",
    choices=tuple(INTEGRATORS),
)
STEP_SIZE = Number("step_size", 0.001, "Step (s) of the integration", POSITIVE)
PUBLISH_RATE = Number("publish_rate", 500.0, "joint_states per second; a period is a whole number of steps", RATE)
INITIAL_POSITIONS = Numbers(
    "initial_positions",
    [],
    "Where the joints start (rad or m); empty: 0, or the nearest limit",
    how_many="one for each joint",
)
PUBLISH_CLOCK = Flag("publish_clock", False, "Publish /clock, which starts at zero")

ALL: tuple[Parameter[Any], ...] = (*ROBOT, INTEGRATOR, STEP_SIZE, PUBLISH_RATE, INITIAL_POSITIONS, PUBLISH_CLOCK)


class SimulationNode(Program, Node):
    """Paces itself on a steady clock and publishes the state of the arm ``publish_rate`` times a second.

    Stamps go on from the time of the start, or from zero where the node publishes ``/clock``. Until the
    first effort command the arm stands still, as an arm with its brakes on.
    """

    def __init__(self) -> None:
        super().__init__("simulation_node")
        for parameter in ALL:
            parameter.declare(self)
        self._plant: Plant | None = None
        self._command: Array | None = None
        self._ticks = 0
        await_description(self, self._receive_description)
        if self.get_parameter("robot_description").value == "":
            self.get_logger().info("waiting for the topic robot_description")
        else:
            self._receive_description(None)

    def _receive_description(self, text: str | None) -> None:
        """Start with this URDF, or with that of the parameter; after an error wait for the next one."""
        if self._plant is not None:
            return
        values = present_values(self)
        try:
            if text is None:
                text = ROBOT_DESCRIPTION.read(values)
            model = load_robot(self, text)
            step_size = STEP_SIZE.read(values)
            publish_rate = PUBLISH_RATE.read(values)
            self._steps = _steps_per_period(step_size, publish_rate)
            self._publish_clock = PUBLISH_CLOCK.read(values)
            plant = Plant(
                model,
                integrator=INTEGRATOR.read(values),
                step_size=step_size,
                initial_positions=INITIAL_POSITIONS.read(values) or None,
            )
        except RobotDynamicsError as problem:
            self.get_logger().error(f"no simulation: {problem}")
            return
        try:
            compile_kernels(self, "plant", plant.warm_up)
        except Interrupted:
            return
        self._plant = plant
        self._joint_names = model.joint_names
        self._period = round(self._steps * step_size * 1e9)
        self._start = 0 if self._publish_clock else time.time_ns()
        reliable = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
        self._states = self.create_publisher(JointState, "joint_states", QoSProfile(depth=10))
        self._clock_publisher = (
            self.create_publisher(ClockMessage, "/clock", QoSProfile(depth=1)) if self._publish_clock else None
        )
        self.create_subscription(Float64MultiArray, "effort_commands", self._receive_command, reliable)
        self.create_timer(self._period * 1e-9, self._tick, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.get_logger().info(f"simulating {model.name}: {', '.join(model.joint_names)}")

    def _receive_command(self, message: Float64MultiArray) -> None:
        effort = np.array(message.data, dtype=np.float64)
        if effort.shape != (len(self._joint_names),):
            self.get_logger().error(
                f"effort_commands: {effort.size} numbers for {len(self._joint_names)} joints, ignored. "
                f"Cure: one for each of {', '.join(self._joint_names)}",
                throttle_duration_sec=1.0,
            )
        elif not np.isfinite(effort).all():
            name = self._joint_names[int(np.argmin(np.isfinite(effort)))]
            self.get_logger().error(
                f'effort_commands: the effort of joint "{name}" is not finite, ignored. Cure: check the controller',
                throttle_duration_sec=1.0,
            )
        else:
            self._command = effort

    def _tick(self) -> None:
        assert self._plant is not None
        if self._command is not None:
            try:
                self._plant.step(self._command, self._steps)
            except RobotDynamicsError as problem:
                self.get_logger().error(str(problem), throttle_duration_sec=1.0)
        self._ticks += 1
        now = stamp(self._start + self._ticks * self._period)
        plant = self._plant
        self._states.publish(joint_state(now, self._joint_names, plant.position, plant.velocity, plant.effort))
        if self._clock_publisher is not None:
            self._clock_publisher.publish(ClockMessage(clock=now))


def _steps_per_period(step_size: float, publish_rate: float) -> int:
    steps = 1.0 / publish_rate / step_size
    if not 0.5 < steps < 1e9 or abs(steps - round(steps)) > 1e-6 * steps:
        raise RobotDynamicsError(
            f"parameters publish_rate {publish_rate} and step_size {step_size}: a period is {steps:.6g} steps. "
            "Cure: make it a whole number from 1 to a billion"
        )
    return round(steps)


def main() -> None:
    """Run the node until SIGINT or SIGTERM."""
    leave(run(SimulationNode))


if __name__ == "__main__":
    main()
