"""Test setup: a simulated Panda, its controller, and this process, which records messages and injects faults."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import rclpy
import yaml
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import SetParameters
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from benchmarks.robots import Floats
from benchmarks.ros_processes import MeasuredProcess
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.resources import dynamics_file, find_resource, robot_urdf
from robot_dynamics_ros.cli.processes import ProcessGroup, private_graph
from robot_dynamics_ros.control.trajectory.points import TrajectoryPoints
from robot_dynamics_ros.recordings.messages.joint_state import JointStateReader
from robot_dynamics_ros.ros.nodes.conversions import trajectory_message
from robot_dynamics_ros.ros.nodes.node_program import make_executor
from tools.chaos.network import FROM_CONTROLLER, FROM_PLANT, PLANT_CLOCK
from tools.chaos.record import Received, Report

CONTROLLER, PLANT, RECORDER, NETWORK, TRAJECTORY = "controller", "plant", "recorder", "network", "trajectory"
TRAJECTORY_TOPIC = "computed_torque_node/joint_trajectory"
NODES = "robot_dynamics_ros.ros.nodes."
ROBOT = "panda"
RATE = 500.0  # states a second, and commands: each state is answered
STATE_TIMEOUT, COMMAND_TIMEOUT = 0.1, 0.1  # s, timeouts of the controller and of the motors
AMPLITUDE, SWING = 0.1, 4.0  # rad, s
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
        file = find_resource("config", f"{ROBOT}.yaml")
        robot = {
            **yaml.safe_load(file.read_text(encoding="utf-8"))["/**"]["ros__parameters"],
            "robot_description": robot_urdf(ROBOT).read_text(encoding="utf-8"),
            "dynamics_file": str(dynamics_file(None, ROBOT)),
        }
        self.model = RobotModel.from_urdf_file(robot_urdf(ROBOT), dynamics=dynamics_file(None, ROBOT))
        self.ready = np.array(robot["initial_positions"])
        self._reader = JointStateReader(self.model.joint_names)
        self._parameters = {
            CONTROLLER: {**robot, **SAFETY, **(controller or {})},
            PLANT: {**robot, **WATCHDOG, **(plant or {})},
        }
        self.states, self.efforts, self.commands = Received(), Received(), Received()
        self.reports: list[Report] = []
        self.marks: dict[str, float] = {}
        self.exits: list[tuple[str, int]] = []
        self.processes: dict[str, MeasuredProcess] = {}

    # Beginning and end

    def __enter__(self) -> Rig:
        self._graph = private_graph()
        self.environment = self._graph.__enter__()
        self._group = ProcessGroup()
        try:
            domain = int(self.environment["ROS_DOMAIN_ID"])
            rclpy.init(args=[], domain_id=domain, signal_handler_options=SignalHandlerOptions.NO)
            self.node = rclpy.create_node("chaos")
            self._executor = make_executor()
            self._executor.add_node(self.node)
            self._trajectories = self.node.create_publisher(JointTrajectory, TRAJECTORY_TOPIC, QoSProfile(depth=5))
        except BaseException:
            self._leave()
            raise
        return self

    def begin(self) -> None:
        """Start the processes and wait until the arm follows the swing."""
        self._listen()
        if self._has_network:
            self.start(NETWORK, "tools.chaos.network", {})
        for name in (PLANT, CONTROLLER):
            self.restart(name)
        self.await_following("the start")
        self.watch(SWUNG)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    def _leave(self) -> None:
        for process in self._group.members:
            if process.process.poll() is None:
                process.process.send_signal(signal.SIGCONT)
        self._group.__exit__(RuntimeError, None, None)  # exit codes are part of the results
        self.exits += [(process.name, process.process.returncode) for process in self._group.members]
        self._executor.shutdown()
        rclpy.try_shutdown()
        self._graph.__exit__(None, None, None)

    def _listen(self) -> None:
        states, effort_topic = ("joint_states", "effort_commands")
        if self._has_network:
            states, effort_topic = FROM_PLANT, FROM_CONTROLLER
        deep = QoSProfile(depth=2000)
        self._keep(JointState, states, self.states, deep)
        self._keep(Float64MultiArray, effort_topic, self.efforts, deep)
        self._keep(JointState, "computed_torque_node/command_states", self.commands, deep)
        self.node.create_subscription(DiagnosticArray, "/diagnostics", self._receive_report, deep)

    def _keep(self, kind: Any, topic: str, received: Received, qos: QoSProfile) -> None:
        self.node.create_subscription(kind, topic, lambda data: received.add(time.monotonic(), data), qos, raw=True)

    def _receive_report(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == "computed_torque_node: controller":
                values = {pair.key: pair.value for pair in status.values}
                if "mode" in values:
                    reported = values["mode"], values.get("previous mode", ""), values.get("cause", "")
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
        process = MeasuredProcess(module, self.folder, self.environment, parameters, remaps, around)
        self.processes[name] = process
        self._group.add(process)
        return process

    def restart(self, name: str) -> None:
        """Start plant or controller, for the first time or again."""
        if name == PLANT:
            remaps = (f"joint_states:={FROM_PLANT}", f"/clock:={PLANT_CLOCK}") if self._has_network else ()
            self.start(PLANT, NODES + "simulation_node", self._parameters[PLANT], remaps)
        else:
            remaps = (f"effort_commands:={FROM_CONTROLLER}",) if self._has_network else ()
            self.start(CONTROLLER, NODES + "computed_torque_node", self._parameters[CONTROLLER], remaps)

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

    def wait(self, true: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
        """Receive messages until ``true()`` holds; RobotDynamicsError with the logs after a timeout."""
        deadline = time.monotonic() + seconds
        while not true():
            if time.monotonic() > deadline:
                logs = "\n".join(f"{member.name}: {member.tail()}" for member in self._group.members)
                raise RobotDynamicsError(f"waited {seconds:g} s for {what}. Cure: see the logs of the nodes:\n{logs}")
            self._executor.spin_once(timeout_sec=0.02)

    # The arm

    @property
    def active(self) -> bool:
        """True if the controller's last report is active, and it still publishes commands."""
        fresh = len(self.efforts) > 0 and time.monotonic() - self.efforts.times[-1] < 0.5
        return fresh and bool(self.reports) and self.reports[-1].mode == "active"

    @property
    def position(self) -> Floats:
        """Last measured position (n,), rad."""
        sample = self._reader.read(self.states.messages[-1])
        assert sample is not None
        return sample.q

    def swing(self, start: Floats) -> None:
        """Send the swing: each joint moves towards the middle of its range and back, from the position (n,)."""
        w, times = 2.0 * math.pi / SWING, np.linspace(0.0, 10.0 * SWING, 201)[1:]
        middle = (self.model.position_lower + self.model.position_upper) / 2.0
        amplitude = AMPLITUDE * np.where(start > middle, -1.0, 1.0)
        q = start + np.outer(1.0 - np.cos(w * times), amplitude)
        velocity = w * np.outer(np.sin(w * times), amplitude)
        velocity[-1] = 0.0  # exactly, without rounding errors
        acceleration = w**2 * np.outer(np.cos(w * times), amplitude)
        points = TrajectoryPoints(self.model.joint_names, times, q, velocity, acceleration)
        self._trajectories.publish(trajectory_message(points))

    def await_following(self, after: str, patience: float = PATIENCE) -> None:
        """Wait until the controller is active, send it the swing, and wait until it follows it."""
        self.wait(lambda: self.active and self.states.messages, f"the controller to be active after {after}", patience)
        self.mark("active")
        self.wait(self._trajectories.get_subscription_count, f"the controller to listen after {after}")
        log = self.processes[CONTROLLER].log
        begin = log.stat().st_size

        def follows() -> bool:
            self.swing(self.position)
            self.watch(0.5)
            return "following a trajectory" in log.read_bytes()[begin:].decode(errors="replace")

        self.wait(follows, f"the controller to follow a trajectory after {after}")
        self.mark("following")

    def set_network(self, **settings: float) -> None:
        """Change the network's settings, see network.SETTINGS."""
        self.set_parameters("network", {name: float(value) for name, value in settings.items()})

    def set_parameters(self, node: str, values: Mapping[str, object]) -> None:
        """Set parameters of a node."""
        changes = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        self.call(SetParameters, f"{node}/set_parameters", SetParameters.Request(parameters=changes))

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
