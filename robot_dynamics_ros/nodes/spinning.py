"""How each executable starts, spins and ends."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import rclpy
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.signals import SignalHandlerOptions
from rclpy.subscription import Subscription
from rclpy.time_source import CLOCK_TOPIC

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.nodes.clock_input import ClockInput
from robot_dynamics_ros.nodes.parameters import present_values, warn_of_unknown
from robot_dynamics_ros.nodes.polled_inputs import PolledInputs
from robot_dynamics_ros.parameters.robot import EXECUTOR


class Interrupted(BaseException):
    """A signal came before the node was spinning; nobody else may catch it."""


class Program(PolledInputs):
    """What every node here is: it may come to an end, has last words, and bears whatever comes on /clock."""

    done = False
    problem: RobotDynamicsError | None = None
    clock_input: ClockInput | None = None

    def create_subscription(
        self, msg_type: Any, topic: str, callback: Callable[..., Any], *arguments: Any, **options: Any
    ) -> Subscription[Any]:
        """As in rclpy, which subscribes to /clock by this, too."""
        if topic != CLOCK_TOPIC:
            return super().create_subscription(msg_type, topic, callback, *arguments, **options)
        self.clock_input = clock = ClockInput(self, callback)
        clock.subscription = super().create_subscription(
            msg_type, topic, clock.receive, *arguments, **{**options, "raw": True}
        )
        return clock.subscription

    def fail(self, problem: RobotDynamicsError) -> None:
        """End with this error and exit code 1; an exception in a callback would end in a traceback."""
        self.problem, self.done = problem, True

    def close(self) -> None:
        """Publish what must be published before the process ends, while that is still possible."""

    @property
    def unsent(self) -> bool:
        """Whether ``close`` has left something to the executor, which must go on for a moment."""
        return False


class _Signals:
    """Turns SIGINT and SIGTERM into an orderly end; a second one inside the clean-up changes nothing."""

    def __init__(self) -> None:
        self.stop = False
        self.leave = True  # whether the first one may break off whatever runs

    def install(self) -> None:
        for number in _NUMBERS:
            signal.signal(number, self._handle)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        first, self.stop = not self.stop, True
        if first and self.leave:
            raise Interrupted


_PATIENCE = 0.5  # s
_NUMBERS = (signal.SIGINT, signal.SIGTERM)
_SIGNALS = _Signals()


def make_executor(kind: str = "auto") -> Executor:
    """Return an executor of the kind that EXECUTOR names.

    rclpy has the events executor from Jazzy on: a third of the processor time, half the jitter. Raises
    RobotDynamicsError where it is asked for and not there.
    """
    if kind == "single_threaded":
        return SingleThreadedExecutor()
    try:
        from rclpy.experimental import EventsExecutor  # type: ignore[attr-defined]
    except ImportError as problem:
        if kind == "events":
            raise RobotDynamicsError(
                f"parameter {EXECUTOR.name}: this rclpy has no events executor. Cure: auto"
            ) from problem
        return SingleThreadedExecutor()
    return EventsExecutor()


def _initialize(argv: list[str]) -> None:
    try:
        rclpy.init(args=argv, signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as problem:  # as rclpy's errors of arguments are; it names the file and the line
        cause = " ".join(str(problem).split())
        raise RobotDynamicsError(f"ROS arguments: {cause}. Cure: correct the parameter file or argument") from problem


def _send_the_rest(node: Program, executor: Executor) -> None:
    end = time.monotonic() + _PATIENCE
    while node.unsent and time.monotonic() < end:
        executor.spin_once(timeout_sec=0.1)
    for _ in range(3):  # what that has set off is done in the rounds that follow
        executor.spin_once(timeout_sec=0.01)


def run(make_node: Callable[[], Program], argv: Sequence[str] | None = None) -> int:
    """Run one node until it is done, SIGINT, SIGTERM or a shutdown of the context; returns the exit code.

    rclpy's own signal handlers would shut the context down before the node could publish its last command.
    """
    _SIGNALS.install()
    node: Program | None = None
    try:
        arguments = sys.argv if argv is None else list(argv)
        _initialize(arguments)
        node = make_node()
        warn_of_unknown(node, arguments)
        executor = make_executor(EXECUTOR.read(present_values(node)) if node.has_parameter(EXECUTOR.name) else "auto")
        executor.add_node(node)
        _SIGNALS.leave = False
        while rclpy.ok() and not _SIGNALS.stop and not node.done:
            try:
                executor.spin_once(timeout_sec=0.1)
            except rclpy_implementation.RCLError as problem:
                # Jazzy: a life cycle transition that does not exist from here, asked for by whoever
                node.get_logger().error(f"{problem}. Cure: see `ros2 lifecycle list`")
        if node.problem is not None:
            raise node.problem
    except (Interrupted, ExternalShutdownException):
        pass
    except RobotDynamicsError as problem:
        print(problem, file=sys.stderr)
        return 1
    finally:
        for number in _NUMBERS:
            signal.signal(number, signal.SIG_IGN)  # for good: the interpreter takes a while to end
        if node is not None and rclpy.ok():
            node.close()
            if node.unsent:
                _send_the_rest(node, executor)
        rclpy.try_shutdown()
    if node is not None and node.problem is not None:  # in its last moments
        print(node.problem, file=sys.stderr)
        return 1
    return 0
