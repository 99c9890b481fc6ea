"""Nodes as processes in a ROS domain of their own, and a client node in the same domain."""

from __future__ import annotations

import signal
import time
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
import yaml
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from numpy.typing import ArrayLike
from rcl_interfaces.srv import SetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header, String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from oracles import tsai_planar_2r
from robot_dynamics_ros.base.errors import BagError
from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.cli import processes
from robot_dynamics_ros.cli.processes import NodeProcess, ProcessGroup, private_graph
from robot_dynamics_ros.recordings.bags import BagReader
from robot_dynamics_ros.ros.conversions import nanoseconds, stamp, trajectory_message
from support.arms import Array

ROOT = Path(__file__).resolve().parents[2]
URDF = (ROOT / "urdf" / "planar_2r.urdf").read_text(encoding="utf-8")
PLANAR = {
    "robot_description": URDF,
    "dynamics_file": str(ROOT / "config" / "planar_2r_tsai.dynamics.yaml"),
    "state_timeout": float("inf"),  # a test is no robot that never pauses
}
JOINTS = ("joint1", "joint2")
#: The numbers in the header of urdf/planar_2r.urdf.
TSAI = tsai_planar_2r.Parameters(a1=0.5, a2=0.4, m1=4.0, m2=3.0, g=9.81)

RELIABLE = QoSProfile(depth=2000, reliability=ReliabilityPolicy.RELIABLE)
BEST_EFFORT = QoSProfile(depth=2000, reliability=ReliabilityPolicy.BEST_EFFORT)
LATCHED = QoSProfile(
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)

_GOALS = {
    Transition.TRANSITION_CONFIGURE: State.PRIMARY_STATE_INACTIVE,
    Transition.TRANSITION_ACTIVATE: State.PRIMARY_STATE_ACTIVE,
    Transition.TRANSITION_DEACTIVATE: State.PRIMARY_STATE_INACTIVE,
    Transition.TRANSITION_CLEANUP: State.PRIMARY_STATE_UNCONFIGURED,
    Transition.TRANSITION_ACTIVE_SHUTDOWN: State.PRIMARY_STATE_FINALIZED,
}
_UNDER_WAY = range(
    State.TRANSITION_STATE_CONFIGURING, State.TRANSITION_STATE_ERRORPROCESSING + 1
)

#: A loaded machine compiles the kernels for minutes in the first node that starts.
PATIENCE = 600.0


def gravity(q: ArrayLike) -> Array:
    """Return the torque of the planar arm at rest, Tsai (9.117)-(9.118)."""
    return tsai_planar_2r.gravity(TSAI, np.asarray(q, dtype=float))


def processes_with(word: str) -> list[int]:
    """Return the IDs of processes with this text in their command lines."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has just ended
            found += (
                [int(file.parent.name)] if word.encode() in file.read_bytes() else []
            )
    return found


def recorded_counts(bag: Path) -> Counter[str]:
    """Return the number of messages of each topic in a bag, which a recorder writes once a second."""
    with warnings.catch_warnings(), suppress(BagError):
        warnings.simplefilter("ignore")
        with BagReader(bag) as reader:
            return Counter(message.topic for message in reader.messages())
    return Counter()


class Log:
    """Log of a node from now on, or from ``begin`` (bytes) on."""

    def __init__(self, path: Path, begin: int | None = None) -> None:
        self._path = path
        self._begin = path.stat().st_size if begin is None else begin

    def text(self) -> str:
        return self._path.read_bytes()[self._begin :].decode(errors="replace")

    def lines(self, level: str) -> list[str]:
        return [
            line for line in self.text().splitlines() if line.startswith(f"[{level}]")
        ]

    @property
    def errors(self) -> list[str]:
        return self.lines("ERROR") + self.lines("FATAL")


class Graph:
    """Context manager: a ROS domain with nodes of this package as processes, and a client node in this process.

    On exit every process gets SIGINT and must end successfully.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes = ProcessGroup()
        self._graph = private_graph()

    def __enter__(self) -> Graph:
        self.environment = self._graph.__enter__() | {"ROS_LOG_DIR": str(self.folder)}
        self.domain = int(self.environment["ROS_DOMAIN_ID"])
        self._context = rclpy.Context()
        self._context.init(domain_id=self.domain)
        self.client = rclpy.create_node(f"client_{self.domain}", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.client)
        return self

    def __exit__(self, *error: Any) -> None:
        try:
            for member in self.processes.members:
                if member.process.poll() is None:
                    member.process.send_signal(signal.SIGCONT)
            self.processes.__exit__(*error)
        finally:
            self._executor.shutdown()
            self.client.destroy_node()
            self._context.try_shutdown()
            self._graph.__exit__(None, None, None)

    # Processes

    def start(
        self,
        node: str,
        parameters: dict[str, Any] | None = None,
        *ros_arguments: str,
        **environment: str,
    ) -> NodeProcess:
        """Start a node; its parameters are written to a file under ``/**``, its output to a log."""
        name = f"{len(self.processes.members)}_{node}"
        file = self.folder / f"{name}.yaml"
        file.write_text(
            yaml.safe_dump({"/**": {"ros__parameters": parameters or {}}}),
            encoding="utf-8",
        )
        arguments = [
            *(["--params-file", str(file)] if parameters else []),
            *ros_arguments,
        ]
        process = NodeProcess(
            node,
            self.folder / f"{name}.log",
            processes.node_command(node, {}, *arguments),
            self.environment | environment,
        )
        self.processes.add(process)
        return process

    def logs(self) -> str:
        return "\n".join(
            f"--- {member.name}\n{member.tail()}" for member in self.processes.members
        )

    # The client

    def publisher(self, kind: Any, topic: str, qos: QoSProfile = RELIABLE) -> Any:
        return self.client.create_publisher(kind, topic, qos)

    def collect(self, kind: Any, topic: str, qos: QoSProfile = RELIABLE) -> list[Any]:
        """Return a list to which each message of a topic is added."""
        messages: list[Any] = []
        self.client.create_subscription(kind, topic, messages.append, qos)
        return messages

    def wait(
        self, true: Callable[[], Any], what: str, seconds: float = PATIENCE
    ) -> None:
        """Spin the client until ``true()`` holds; fail with the logs after a timeout."""
        deadline = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < deadline, (
                f"waited {seconds:g} s for {what}\n{self.logs()}"
            )
            self._executor.spin_once(timeout_sec=0.02)

    def spin_for(self, seconds: float) -> None:
        """Spin the client for a time (s)."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.02)

    def repeat(
        self,
        send: Callable[[], object],
        true: Callable[[], Any],
        what: str,
        seconds: float = 1.0,
    ) -> None:
        """Send a message every ``seconds`` until ``true()`` holds."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            send()
            again = time.monotonic() + seconds
            self.wait(lambda again=again: true() or time.monotonic() > again, what)
            if true():
                return
        raise AssertionError(f"waited {PATIENCE:g} s for {what}\n{self.logs()}")

    def send_until_logged(
        self, send: Callable[[], object], log: Log, text: str
    ) -> None:
        """Send a message until the line is logged, because the rate limit of the log omits lines."""
        self.repeat(send, lambda: text in log.text(), f"the log line {text!r}", 5.0)

    def await_log(self, log: Log, text: str) -> None:
        self.wait(lambda: text in log.text(), f"the log line {text!r}")

    def call(
        self, kind: Any, service: str, request: Any, patience: float = 20.0
    ) -> Any:
        """Call a service; repeat the call if no response is received, because a loaded server may lose it."""
        client = self.client.create_client(kind, service)
        self.wait(client.service_is_ready, f"the service {service}")
        futures: list[Any] = []
        self.repeat(
            lambda: futures.append(client.call_async(request)),
            lambda: any(future.done() for future in futures),
            f"an answer of {service}",
            patience,
        )
        self.client.destroy_client(client)
        return next(future.result() for future in futures if future.done())

    def transition(self, node: str, number: int) -> bool:
        """Request a lifecycle transition (lifecycle_msgs/msg/Transition); return True if it succeeded."""
        request = ChangeState.Request()
        request.transition.id = number
        client = self.client.create_client(ChangeState, f"{node}/change_state")
        self.wait(client.service_is_ready, f"{node} to take transitions")
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            future = client.call_async(request)
            again = time.monotonic() + 20.0
            self.wait(
                lambda future=future, again=again: (
                    future.done() or time.monotonic() > again
                ),
                "an answer",
            )
            if future.done():
                return bool(future.result().success)
            # DDS may lose an answer. Asked again, it would be another transition, so first see what has become of it.
            self.wait(
                lambda: self._state(node) not in _UNDER_WAY,
                f"the end of a transition of {node}",
            )
            if self._state(node) == _GOALS[number]:
                return True
        raise AssertionError(f"{node} does not answer\n{self.logs()}")

    def configure(self, node: str) -> None:
        """Configure a lifecycle node, which refuses this while it compiles kernels."""
        self.wait(
            lambda: self.transition(node, Transition.TRANSITION_CONFIGURE),
            f"{node} to be configured",
        )

    def _state(self, node: str) -> int:
        return int(
            self.call(
                GetState, f"{node}/get_state", GetState.Request()
            ).current_state.id
        )

    def set_parameters(self, node: str, values: dict[str, Any]) -> None:
        reasons = self.try_parameters(node, values)
        assert not any(reasons.values()), reasons

    def try_parameters(self, node: str, values: dict[str, Any]) -> dict[str, str]:
        """Set these parameters one by one; return the reason for refusing each, or ""."""
        request = SetParameters.Request()
        request.parameters = [
            Parameter(name, value=value).to_parameter_msg()
            for name, value in values.items()
        ]
        results = self.call(SetParameters, f"{node}/set_parameters", request).results
        for result in results:
            assert result.successful != bool(result.reason), result
        return {
            name: result.reason for name, result in zip(values, results, strict=True)
        }

    def describe(self, urdf: str) -> None:
        """Publish on the latched topic robot_description."""
        if not hasattr(self, "_description"):
            self._description = self.publisher(String, "robot_description", LATCHED)
        self._description.publish(String(data=urdf))


class Driver:
    """Robot driver for a controller: publishes joint_states and collects commands."""

    def __init__(
        self,
        graph: Graph,
        namespace: str = "",
        qos: QoSProfile = RELIABLE,
        joints: Any = JOINTS,
    ) -> None:
        self.graph = graph
        self.joints = tuple(joints)
        self.now = 1_700_000_000_000_000_000  # a date, as drivers send it
        self._states = graph.publisher(JointState, f"{namespace}/joint_states", qos)
        self._node = node = f"{namespace}/computed_torque_node"
        self._trajectories = graph.publisher(
            JointTrajectory, f"{node}/joint_trajectory"
        )
        self.efforts = graph.collect(Float64MultiArray, f"{namespace}/effort_commands")
        self.answers = graph.collect(JointState, f"{node}/command_states")

    def message(
        self, q: ArrayLike, qd: ArrayLike = (0.0, 0.0), dt: float = 0.01
    ) -> JointState:
        """Return the state ``dt`` seconds after the previous one."""
        self.now += round(dt * 1e9)
        position, velocity = (
            np.asarray(values, dtype=float).tolist() for values in (q, qd)
        )
        header = Header(stamp=stamp(self.now))
        return JointState(
            header=header, name=list(self.joints), position=position, velocity=velocity
        )

    def send(self, state: JointState) -> None:
        self._states.publish(state)

    def ask(
        self, q: ArrayLike, qd: ArrayLike = (0.0, 0.0), dt: float = 0.01
    ) -> JointState:
        """Publish a state with new stamps until a command is received; return that command."""
        self.graph.repeat(
            lambda: self.send(self.message(q, qd, dt)), self._answered, "an answer"
        )
        return self.answers[-1]

    def _answered(self) -> bool:
        """Return True if effort and command state are received; the first of one topic may be lost.

        While the arm is stopped, the watchdog may command another effort before the command state is received.
        """
        if not self.answers or nanoseconds(self.answers[-1].header.stamp) != self.now:
            return False
        return any(
            message.data == self.answers[-1].effort for message in self.efforts[-20:]
        )

    def follow(self, points: TrajectoryPoints, start: int = 0) -> JointTrajectory:
        message = trajectory_message(points)
        message.header.stamp = stamp(start)
        self.send_trajectory(message)
        return message

    def send_trajectory(self, message: JointTrajectory) -> None:
        self.graph.wait(
            lambda: self._trajectories.get_subscription_count() > 0,
            "the controller to listen",
        )
        self._trajectories.publish(message)

    def clear_fault(self) -> Any:
        """Call ~/clear_fault; return the response."""
        return self.graph.call(Trigger, f"{self._node}/clear_fault", Trigger.Request())

    def assert_finite(self) -> None:
        for message in self.efforts:
            assert np.isfinite(message.data).all(), message
        for message in self.answers:
            assert np.isfinite(message.effort).all(), message
