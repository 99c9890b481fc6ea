"""How each executable starts, spins and ends."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Sequence
from traceback import walk_tb
from types import FrameType
from typing import cast

import rclpy
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.interruption import run_interruptibly


class Interrupted(BaseException):
    """A signal came before the node was spinning, or while it compiled; nobody else may catch it."""


class Program:
    """What every node here is besides a rclpy Node: it may come to an end, and has last words."""

    done = False
    problem: RobotDynamicsError | None = None

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


def compile_interruptibly(work: Callable[[], object]) -> None:
    """Run what may take half a minute; raises Interrupted where a signal comes meanwhile."""
    before, _SIGNALS.leave = _SIGNALS.leave, True
    try:
        run_interruptibly(work)
    finally:
        _SIGNALS.leave = before


def make_executor() -> Executor:
    """Return the events executor where rclpy has one (Jazzy on): a third of the processor time, half the jitter."""
    try:
        from rclpy.experimental import EventsExecutor  # type: ignore[attr-defined]
    except ImportError:
        return SingleThreadedExecutor()
    return EventsExecutor()


def _send_the_rest(node: Program, executor: Executor) -> None:
    end = time.monotonic() + _PATIENCE
    while node.unsent and time.monotonic() < end:
        executor.spin_once(timeout_sec=0.1)
    for _ in range(3):  # what that has set off is done in the rounds that follow
        executor.spin_once(timeout_sec=0.01)


def _is_of_clock(problem: ValueError) -> bool:
    """Whether it is rclpy's answer to a time on /clock that is none: before 1970."""
    return any(frame.f_globals.get("__name__") == "rclpy.time_source" for frame, _ in walk_tb(problem.__traceback__))


def run(make_node: Callable[[], Program], argv: Sequence[str] | None = None) -> int:
    """Run one node until it is done, SIGINT, SIGTERM or a shutdown of the context; returns the exit code.

    rclpy's own signal handlers would shut the context down before the node could publish its last command.
    """
    _SIGNALS.install()
    node: Program | None = None
    try:
        rclpy.init(args=sys.argv if argv is None else list(argv), signal_handler_options=SignalHandlerOptions.NO)
        node = make_node()
        executor = make_executor()
        executor.add_node(cast(Node, node))
        _SIGNALS.leave = False
        while rclpy.ok() and not _SIGNALS.stop and not node.done:
            try:
                executor.spin_once(timeout_sec=0.1)
            except rclpy_implementation.RCLError as problem:
                # Jazzy: a life cycle transition that does not exist from here, asked for by whoever
                cast(Node, node).get_logger().error(f"{problem}. Cure: see `ros2 lifecycle list`")
            except ValueError as problem:
                if not _is_of_clock(problem):
                    raise
                cast(Node, node).get_logger().error(
                    f"/clock: {problem}. Cure: see who publishes it", throttle_duration_sec=1.0
                )
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
