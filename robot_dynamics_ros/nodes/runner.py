"""Process of a node: executor, signals, garbage collector, real-time priority and locked memory."""

from __future__ import annotations

import ctypes
import gc
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

import rclpy
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.signals import SignalHandlerOptions

from robot_dynamics_ros.background import exit_process
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.nodes.node_program import NodeProgram, warn_of_unknown
from robot_dynamics_ros.parameters import EXECUTOR

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SEND_TIMEOUT = 0.5  # s
_DISCOVERY_TIME = 1.0  # s; Fast DDS 3.2 may crash or hang in a participant that ends while others discover it
_CAP_IPC_LOCK = 14  # capabilities(7)
_MCL_CURRENT, _MCL_FUTURE = 1, 2  # mlockall(2)


class Interrupted(BaseException):
    """Signal before the node ran; derived from BaseException so that nobody else catches it."""


def run(make_node: Callable[[], NodeProgram], argv: Sequence[str] | None = None) -> NoReturn:
    """Run one node until it is done, SIGINT, SIGTERM or a shutdown of the context; then end the process.

    rclpy's own signal handlers would shut the context down before the node could publish its final command.
    """
    exit_process(_run(make_node, sys.argv if argv is None else list(argv)))


def _run(make_node: Callable[[], NodeProgram], arguments: list[str]) -> int:
    stopped = running = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal stopped
        first, stopped = not stopped, True
        if first and not running:  # a second signal must not break off the clean-up
            raise Interrupted

    for number in _SIGNALS:
        signal.signal(number, stop)
    node: NodeProgram | None = None
    error: RobotDynamicsError | None = None
    try:
        _initialize(arguments)
        node = make_node()
        warn_of_unknown(node, arguments)
        executor = make_executor(EXECUTOR.read(node.values) if node.has_parameter(EXECUTOR.name) else "auto")
        executor.add_node(node)
        running = True
        while rclpy.ok() and not stopped and not node.done:
            try:
                executor.spin_once(timeout_sec=0.1)
            except rclpy_implementation.RCLError as refusal:
                # Jazzy: a client asked for a lifecycle transition that the present state does not have
                node.get_logger().error(f"{refusal}. Cure: see `ros2 lifecycle list`")
    except (Interrupted, ExternalShutdownException):
        pass
    except RobotDynamicsError as raised:
        error = raised
    finally:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)  # until the end: the interpreter takes a while
        if node is not None and rclpy.ok():
            node.close()
            if node.unsent:
                _send_the_rest(node, executor)
        rclpy.try_shutdown()
    error = error or (node.error if node is not None else None)
    if error is not None:
        print(error, file=sys.stderr, flush=True)
        if node is None:
            time.sleep(_DISCOVERY_TIME)
    return int(error is not None)


def _initialize(arguments: list[str]) -> None:
    try:
        rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:  # the base of rclpy's errors of arguments; it names the file and the line
        cause = " ".join(str(error).split())
        raise RobotDynamicsError(f"ROS arguments: {cause}. Cure: correct the parameter file or argument") from error


def make_executor(kind: str = "auto") -> Executor:
    """Return an executor of the kind that EXECUTOR names.

    rclpy has the events executor from Jazzy on: a third of the processor time, half the jitter. Raises
    RobotDynamicsError if it is requested and missing.
    """
    if kind == "single_threaded":
        return SingleThreadedExecutor()
    try:
        from rclpy.experimental import EventsExecutor  # type: ignore[attr-defined]
    except ImportError as error:
        if kind == "events":
            raise RobotDynamicsError(
                f"parameter {EXECUTOR.name}: this rclpy has no events executor. Cure: auto"
            ) from error
        return SingleThreadedExecutor()
    return EventsExecutor()


def _send_the_rest(node: NodeProgram, executor: Executor) -> None:
    end = time.monotonic() + _SEND_TIMEOUT
    while node.unsent and time.monotonic() < end:
        executor.spin_once(timeout_sec=0.1)
    for _ in range(3):  # the last of these callbacks schedule work for the next rounds
        executor.spin_once(timeout_sec=0.01)


# None of the following raises if the system refuses: the arm runs as well as it can, and the warning names the cure.


def keep_collector_away() -> None:
    """Collect garbage, exempt all present objects from later collections and disable automatic collection."""
    gc.collect()
    gc.freeze()
    gc.disable()


def collect() -> None:
    """Collect garbage made since ``keep_collector_away``, between two cycles; nothing while collection is automatic.

    Only new objects are visited: microseconds instead of tens of milliseconds.
    """
    if not gc.isenabled():
        gc.collect()


def let_collector_back() -> None:
    """Enable automatic collection of all objects again."""
    gc.unfreeze()
    gc.enable()


def set_priority(priority: int) -> str | None:
    """Give every thread of the process the real-time priority 1 to 99 (SCHED_FIFO); 0 changes nothing.

    Later threads inherit it. To be called on activation: by then the middleware has started the threads that receive
    messages, and the kernels are compiled, which at a real-time priority would keep a core busy for half a minute.
    Returns a warning if the system refuses, else None.
    """
    if priority == 0:
        return None  # keeps a priority given by chrt
    if sys.platform != "linux":
        return f"realtime_priority: {sys.platform} has no SCHED_FIFO, running without"
    try:
        for thread in os.listdir("/proc/self/task"):
            try:
                os.sched_setscheduler(int(thread), os.SCHED_FIFO, os.sched_param(priority))
            except ProcessLookupError:
                continue  # it has just ended
    except OSError as error:
        return (
            f"realtime_priority {priority}: the system refuses ({error.strerror}), running without. Cure: add the "
            f"line `{_user()} - rtprio {priority}` to /etc/security/limits.d/realtime.conf and log in again, or give "
            "the process CAP_SYS_NICE (in a container: --cap-add=SYS_NICE)"
        )
    return None


def lock_memory() -> str | None:
    """Keep all memory of the process, present and future, from being paged out (mlockall).

    To be called once, on configuration: it takes about a second and brings all mapped memory into RAM, half a gigabyte
    instead of the 0.15 in use. Returns a warning if the system refuses, else None.
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


def _memory_limit() -> int | None:
    """Return how many bytes the process may lock, None if all; raise the soft limit to the hard one."""
    import resource  # Unix only

    soft, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (hard, hard))
    capabilities = re.search(r"^CapEff:\s*(\w+)", Path("/proc/self/status").read_text(encoding="utf-8"), re.MULTILINE)
    may_lock = capabilities is not None and int(capabilities[1], 16) >> _CAP_IPC_LOCK & 1
    return None if hard == resource.RLIM_INFINITY or may_lock else hard


def _user() -> str:
    return os.environ.get("USER") or "<user>"
