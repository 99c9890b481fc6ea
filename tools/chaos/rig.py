"""Test setup: a simulated Panda, its controller, and this process, which records messages and injects faults."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import SetParameters
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from benchmarks.robots import Floats, shipped, shipped_parameters, swing
from benchmarks.ros_processes import MeasuredProcess
from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.resources import dynamics_file, robot_urdf
from robot_dynamics_ros.cli.processes import ProcessGroup, private_graph
from robot_dynamics_ros.recordings.messages.joint_state import JointStateReader
from robot_dynamics_ros.ros.conversions import trajectory_message
from robot_dynamics_ros.ros.nodes.node_program import make_executor
from tools.chaos.network import FROM_CONTROLLER, FROM_PLANT, PLANT_CLOCK

CONTROLLER = "controller"
PLANT = "plant"
RECORDER = "recorder"
NETWORK = "network"
TRAJECTORY = "trajectory"
TRAJECTORY_TOPIC = "computed_torque_node/joint_trajectory"
NODES = "robot_dynamics_ros.ros.nodes."
ROBOT = "panda"
RATE = 500.0  # states a second, and commands: each state is answered
STATE_TIMEOUT = 0.1  # s, of the controller
COMMAND_TIMEOUT = 0.1  # s, of the motors
AMPLITUDE = 0.1  # rad
SWING = 4.0  # s
SWUNG = 1.0  # s, time until the motion is fast
PATIENCE = 120.0  # s; a loaded machine compiles in the first start

SAFETY: Mapping[str, object] = {
    "law": "computed_torque",
    "update_rate": 0.0,
    "state_timeout": STATE_TIMEOUT,
    "on_fault": "hold",
    "fault_reset": "auto",
}
WATCHDOG: Mapping[str, object] = {
    "publish_rate": RATE,
    "command_timeout": COMMAND_TIMEOUT,
    "on_command_timeout": "brake",
}


Received = list[tuple[float, bytes]]
"""Times of reception (time.monotonic) and serialized messages of one topic."""


class Report(NamedTuple):
    """Report of the controller on /diagnostics: time, mode, previous mode (empty: no change), and cause."""

    time: float
    mode: str
    before: str
    cause: str


class Flood(NamedTuple):
    """Messages or calls a second, and growth of the receiver's memory and log (MB)."""

    rate: float
    memory: float
    log: float


class Rig:
    """Context manager with a ROS graph of its own that records all messages with their times of reception.

    Attributes
    ----------
    states, efforts, commands
        joint_states of the plant, effort_commands of the controller, ~/command_states.
    marks
        Times (time.monotonic) of events of the fault: "begin", "end" and others.
    exits
        Exit codes of the processes that have ended, in order.
    floods
        Measurements of the floods.
    """

    def __init__(
        self,
        folder: Path,
        *,
        network: bool = False,
        controller: Mapping[str, object] | None = None,
        plant: Mapping[str, object] | None = None,
    ) -> None:
        """``network`` is True to insert a bad network; parameters are added to ``SAFETY`` and ``WATCHDOG``."""
        self.folder = folder
        self._has_network = network
        robot = {
            **shipped_parameters(ROBOT),
            "robot_description": robot_urdf(ROBOT).read_text(encoding="utf-8"),
            "dynamics_file": dynamics_file(None, ROBOT),
        }
        self.model = shipped(ROBOT)
        self.ready = np.array(robot["initial_positions"])
        self._reader = JointStateReader(self.model.joint_names)
        self._parameters = {
            CONTROLLER: {**robot, **SAFETY, **(controller or {})},
            PLANT: {**robot, **WATCHDOG, **(plant or {})},
        }
        self.states = Received()
        self.efforts = Received()
        self.commands = Received()
        self.reports: list[Report] = []
        self.marks: dict[str, float] = {}
        self.exits: list[tuple[str, int]] = []
        self.floods: list[Flood] = []
        self.processes: dict[str, MeasuredProcess] = {}
        self._group = ProcessGroup()

    # Beginning and end

    def __enter__(self) -> Rig:
        with ExitStack() as stack:
            self.environment = stack.enter_context(private_graph())
            domain = int(self.environment["ROS_DOMAIN_ID"])
            rclpy.init(
                args=[],
                domain_id=domain,
                signal_handler_options=SignalHandlerOptions.NO,
            )
            stack.callback(rclpy.try_shutdown)
            self.node = rclpy.create_node("chaos")
            self._executor = make_executor()
            stack.callback(self._executor.shutdown)
            self._executor.add_node(self.node)
            self._trajectories = self.node.create_publisher(
                JointTrajectory, TRAJECTORY_TOPIC, QoSProfile(depth=5)
            )
            stack.callback(self._end_processes)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def _end_processes(self) -> None:
        for process in self._group.members:
            if process.process.poll() is None:
                process.process.send_signal(signal.SIGCONT)
        # exit codes are part of the results
        self._group.__exit__(RuntimeError, None, None)
        self.exits += [
            (process.name, process.process.returncode)
            for process in self._group.members
        ]

    def begin(self) -> None:
        """Start the processes and wait until the arm follows the swing."""
        apart = self._has_network
        for kind, topic, received in (
            (JointState, FROM_PLANT if apart else "joint_states", self.states),
            (
                Float64MultiArray,
                FROM_CONTROLLER if apart else "effort_commands",
                self.efforts,
            ),
            (JointState, "computed_torque_node/command_states", self.commands),
        ):
            self._keep(kind, topic, received)
        self.node.create_subscription(
            DiagnosticArray,
            "/diagnostics",
            self._receive_report,
            QoSProfile(depth=2000),
        )
        if self._has_network:
            self.start(NETWORK, "tools.chaos.network", {})
        for name in (PLANT, CONTROLLER):
            self.restart(name)
        self.await_following("the start")
        self.watch(SWUNG)

    def _keep(self, kind: Any, topic: str, received: Received) -> None:
        def receive(data: bytes) -> None:
            received.append((time.monotonic(), data))

        self.node.create_subscription(
            kind, topic, receive, QoSProfile(depth=2000), raw=True
        )

    def _receive_report(self, message: DiagnosticArray) -> None:
        for status in message.status:
            values = {pair.key: pair.value for pair in status.values}
            if status.name == "computed_torque_node: controller" and "mode" in values:
                reported = (
                    values["mode"],
                    values.get("previous mode", ""),
                    values.get("cause", ""),
                )
                self.reports.append(Report(time.monotonic(), *reported))

    # Processes

    def start(
        self,
        name: str,
        module: str,
        parameters: Mapping[str, object],
        remaps: tuple[str, ...] = (),
        around: tuple[str, ...] = (),
    ) -> MeasuredProcess:
        """Start a process under a name, with the arguments of ``MeasuredProcess``."""
        process = MeasuredProcess(
            module, self.folder, self.environment, parameters, remaps, around
        )
        self.processes[name] = process
        self._group.add(process)
        return process

    def restart(self, name: str) -> None:
        """Start plant or controller, for the first time or again."""
        if name == PLANT:
            remaps = (
                (f"joint_states:={FROM_PLANT}", f"/clock:={PLANT_CLOCK}")
                if self._has_network
                else ()
            )
            self.start(
                PLANT, NODES + "simulation_node", self._parameters[PLANT], remaps
            )
        else:
            remaps = (
                (f"effort_commands:={FROM_CONTROLLER}",) if self._has_network else ()
            )
            self.start(
                CONTROLLER,
                NODES + "computed_torque_node",
                self._parameters[CONTROLLER],
                remaps,
            )

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a process; after SIGKILL wait for its end."""
        process = self.processes[name]
        process.process.send_signal(number)
        if number == signal.SIGKILL:
            process.process.wait()
            self._group.members.remove(process)
            process.join(time.monotonic())

    # Time

    def mark(self, what: str) -> float:
        """Record the time of an event."""
        self.marks[what] = time.monotonic()
        return self.marks[what]

    def watch(self, seconds: float) -> None:
        """Receive messages for a time (s)."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            self._executor.spin_once(timeout_sec=left)

    def wait(
        self, true: Callable[[], object], what: str, seconds: float = PATIENCE
    ) -> None:
        """Receive messages until ``true()`` holds; RobotDynamicsError with the logs after a timeout."""
        deadline = time.monotonic() + seconds
        while not true():
            if time.monotonic() > deadline:
                logs = "\n".join(
                    f"{member.name}: {member.tail()}" for member in self._group.members
                )
                raise RobotDynamicsError(
                    f"waited {seconds:g} s for {what}. Cure: see the logs of the nodes:\n{logs}"
                )
            self._executor.spin_once(timeout_sec=0.02)

    # The arm

    @property
    def active(self) -> bool:
        """True if the controller's last report is active, and it still publishes commands."""
        fresh = bool(self.efforts) and time.monotonic() - self.efforts[-1][0] < 0.5
        return fresh and bool(self.reports) and self.reports[-1].mode == "active"

    @property
    def position(self) -> Floats:
        """Last measured position (n,), rad."""
        sample = self._reader.read(self.states[-1][1])
        assert sample is not None
        return sample.q

    def swing(self, start: Floats) -> None:
        """Send the swing: each joint moves towards the middle of its range and back, from the position (n,)."""
        middle = (self.model.position_lower + self.model.position_upper) / 2.0
        amplitude = AMPLITUDE * np.where(start > middle, -1.0, 1.0)
        times = np.linspace(0.0, 10.0 * SWING, 201)[1:]
        points = swing(self.model.joint_names, start, amplitude, SWING, times)
        self._trajectories.publish(trajectory_message(points))

    def await_following(self, after: str, patience: float = PATIENCE) -> None:
        """Wait until the controller is active, send it the swing, and wait until it follows it."""
        self.wait(
            lambda: self.active and self.states,
            f"the controller to be active after {after}",
            patience,
        )
        self.mark("active")
        self.wait(
            self._trajectories.get_subscription_count,
            f"the controller to listen after {after}",
        )
        log = self.processes[CONTROLLER].log
        begin = log.stat().st_size

        def follows() -> bool:
            self.swing(self.position)
            self.watch(0.5)
            return "following a trajectory" in log.read_bytes()[begin:].decode(
                errors="replace"
            )

        self.wait(follows, f"the controller to follow a trajectory after {after}")
        self.mark("following")

    def set_parameters(self, node: str, values: Mapping[str, object]) -> None:
        """Set parameters of a node."""
        changes = [
            Parameter(name, value=value).to_parameter_msg()
            for name, value in values.items()
        ]
        self.call(
            SetParameters,
            f"{node}/set_parameters",
            SetParameters.Request(parameters=changes),
        )

    def call(self, kind: Any, service: str, request: Any) -> Any:
        """Call a service and return its response."""
        client = self.node.create_client(kind, service)
        self.wait(client.service_is_ready, service)
        future = client.call_async(request)
        self.wait(future.done, f"the answer of {service}")
        self.node.destroy_client(client)
        return future.result()

    def latecomer(self, name: str) -> Node:
        """Return another node in the executor of this process."""
        node = rclpy.create_node(name)
        self._executor.add_node(node)
        return node
