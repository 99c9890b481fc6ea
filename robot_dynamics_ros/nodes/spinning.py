"""What keeps the operating system and the garbage collector out of the control cycle.

None of this raises where the system refuses: the arm runs as well as it can, and the warning says what to set.
"""

from __future__ import annotations

import ctypes
import gc
import math
import os
import signal
import struct
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import rclpy
from builtin_interfaces.msg import Time
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.signals import SignalHandlerOptions
from rclpy.subscription import Subscription
from rclpy.time_source import CLOCK_TOPIC
from rclpy.timer import Timer
from rosgraph_msgs.msg import Clock

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.messages.cdr import BYTE_ORDERS, HEADER
from robot_dynamics_ros.nodes.diagnostics import BoundedLog
from robot_dynamics_ros.nodes.parameters import present_values, warn_of_unknown
from robot_dynamics_ros.nodes.polled_inputs import PolledInputs, waiting
from robot_dynamics_ros.parameters.robot import EXECUTOR

_CAP_IPC_LOCK = 14  # capabilities(7)
_MCL_CURRENT, _MCL_FUTURE = 1, 2  # mlockall(2)


def keep_collector_away() -> None:
    """Collect garbage a last time, then leave all that lives now alone for good and start no more by itself."""
    gc.collect()
    gc.freeze()
    gc.disable()


def collect() -> None:
    """Collect what became garbage since the collector was kept away; for a quiet moment between two cycles.

    Only objects made since then are looked at, so that this takes microseconds instead of tens of milliseconds.
    Does nothing while the collector works by itself.
    """
    if not gc.isenabled():
        gc.collect()


def let_collector_back() -> None:
    """Let the collector work by itself again, on everything."""
    gc.unfreeze()
    gc.enable()


def set_priority(priority: int) -> str | None:
    """Give every thread of the process the real-time priority 1 to 99 (SCHED_FIFO); 0: all stays as it is.

    Threads that come later inherit it. To be called when the node is activated: by then the middleware has the
    threads that bring the messages, which a priority of the main thread alone would let wait; and the kernels are
    compiled, which at a real-time priority would keep a core from everybody else for half a minute. Returns a
    warning where the system refuses, else None.
    """
    if priority == 0:
        return None  # also where somebody started the process by chrt
    if sys.platform != "linux":
        return f"realtime_priority: {sys.platform} has no SCHED_FIFO, running without"
    try:
        for thread in _threads():
            try:
                os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(priority))
            except ProcessLookupError:
                continue  # it has just ended
    except OSError as problem:
        return (
            f"realtime_priority {priority}: the system refuses ({problem.strerror}), running without. Cure: add the "
            f"line `{_user()} - rtprio {priority}` to /etc/security/limits.d/realtime.conf and log in again, or give "
            "the process CAP_SYS_NICE (in a container: --cap-add=SYS_NICE)"
        )
    return None


def lock_memory() -> str | None:
    """Keep all memory of the process, present and future, from being paged out (mlockall).

    To be called when the node is configured, and once: it takes about a second and brings into memory all that is
    mapped, half a gigabyte where 0.15 were in use. Returns a warning where the system refuses, else None.
    """
    if sys.platform != "linux":
        return f"lock_memory: not on {sys.platform}, running without"
    cure = (
        f"Cure: add the line `{_user()} - memlock unlimited` to /etc/security/limits.d/realtime.conf and log in "
        "again, or give the process CAP_IPC_LOCK (in a container: --ulimit memlock=-1)"
    )
    limit = _memory_limit()
    if limit is not None:
        # Within a limit the call may work, but the next allocation that exceeds it would end the process.
        return f"lock_memory: the process may lock {limit / 1e6:.3g} MB only, running without. {cure}"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mlockall(_MCL_CURRENT | _MCL_FUTURE) != 0:
        return f"lock_memory: the system refuses ({os.strerror(ctypes.get_errno())}), running without. {cure}"
    return None


def _threads() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc/self/task")]
    except OSError:
        return [0]  # the calling thread


def _memory_limit() -> int | None:
    """How many bytes the process may lock; None: all. Raises its own limit as far as it may."""
    import resource  # Unix only

    soft, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (hard, hard))
    return None if hard == resource.RLIM_INFINITY or _may_lock() else hard


def _may_lock() -> bool:
    """Whether the process has CAP_IPC_LOCK, for which no limit counts."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return False
    masks = [int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapEff:")]
    return any(mask >> _CAP_IPC_LOCK & 1 for mask in masks)


def _user() -> str:
    return os.environ.get("USER") or "<user>"


_WINDOW = 0.1  # s
_MOST = 1000  # messages in that time: ten times what fast simulations publish
_JUNK = 10  # as many messages one counts that is no time
_PAUSE = 1.0  # s


class ClockInput:
    """Stands between /clock, as bytes, and what rclpy does with a time."""

    def __init__(self, node: PolledInputs, receive: Callable[[Clock], None]) -> None:
        """``receive``: the callback of rclpy's time source."""
        self._node = node
        self._receive = receive
        self._log = BoundedLog(node.get_logger())
        self._begin, self._count = -math.inf, 0
        self._pause: Timer | None = None
        self.subscription: Subscription[Any] | None = None

    def poll(self) -> None:
        """Take in what waits, where no executor does."""
        if self.subscription is not None:
            for data, _ in waiting(self.subscription, _MOST):
                self.receive(data)

    def receive(self, data: bytes) -> None:
        """Take a message in."""
        if self._pause is not None:  # events from before it
            return
        sec, nanosec = _read_time(data)
        self._count += 1 if sec >= 0 else _JUNK
        if self._count > _MOST and self._is_flood():
            self._begin_pause()
        elif sec >= 0:
            self._receive(Clock(clock=Time(sec=sec, nanosec=nanosec)))
        else:
            self._log.error(
                f"/clock: {sec} s, before 1970, is ignored. Cure: see who publishes it", throttle_duration_sec=1.0
            )

    def _is_flood(self) -> bool:
        """Whether so many messages came in a short time; begin to count anew."""
        begin, self._begin, self._count = self._begin, time.monotonic(), 0
        return self._begin - begin < _WINDOW

    def _begin_pause(self) -> None:
        assert self.subscription is not None
        rate = _MOST / _WINDOW
        self._log.error(
            f"/clock: a flood of over {rate:g} messages a second, or of {rate / _JUNK:g} that are no times, is ignored "
            f"for {_PAUSE:g} s. Cure: see who publishes it"
        )
        self._node.poll_from_now(self.subscription)
        self._pause = self._node.create_steady_timer(_PAUSE, self._end_pause)

    def _end_pause(self) -> None:
        assert self._pause is not None and self.subscription is not None
        self._node.destroy_timer(self._pause)
        self._pause = None
        self._node.wait_from_now(self.subscription)


def _read_time(data: bytes) -> tuple[int, int]:
    """Return seconds and nanoseconds of a serialized time; -1 s where there is none."""
    order = BYTE_ORDERS.get(data[:2])
    if order is None or len(data) < HEADER + 8:
        return -1, 0
    sec, nanosec = struct.unpack_from(order + "iI", data, HEADER)
    return sec, nanosec


class Interrupted(BaseException):
    """A signal came before the node was spinning; nobody else may catch it."""


class NodeProgram(PolledInputs):
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


def _send_the_rest(node: NodeProgram, executor: Executor) -> None:
    end = time.monotonic() + _PATIENCE
    while node.unsent and time.monotonic() < end:
        executor.spin_once(timeout_sec=0.1)
    for _ in range(3):  # what that has set off is done in the rounds that follow
        executor.spin_once(timeout_sec=0.01)


def run(make_node: Callable[[], NodeProgram], argv: Sequence[str] | None = None) -> int:
    """Run one node until it is done, SIGINT, SIGTERM or a shutdown of the context; returns the exit code.

    rclpy's own signal handlers would shut the context down before the node could publish its last command.
    """
    _SIGNALS.install()
    node: NodeProgram | None = None
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
