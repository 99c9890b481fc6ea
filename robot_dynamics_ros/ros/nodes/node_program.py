"""Base class of the nodes (parameters, rate-limited log, orderly shutdown), and the process that runs a node."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from types import FrameType
from typing import Any, NoReturn

import rclpy
from rclpy.clock import Clock as RosClock
from rclpy.clock import ClockType  # type: ignore[attr-defined]
from rclpy.context import Context
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.timer import Timer

from robot_dynamics_ros.base.background import end_after, exit_process
from robot_dynamics_ros.base.errors import RobotDynamicsError, printable
from robot_dynamics_ros.base.parameters import EXECUTOR
from robot_dynamics_ros.base.parameters.kinds import Parameter, Values
from robot_dynamics_ros.base.resources import command_line
from robot_dynamics_ros.base.thresholds import END_TIMEOUT
from robot_dynamics_ros.control.interface import ERROR, OK, WARN, Note
from robot_dynamics_ros.ros.nodes.node_parameters import declare, warn_of_unknown
from robot_dynamics_ros.ros.thresholds import (
    BACKLOG_CALLBACKS,
    BACKLOG_DELAY,
    BACKLOG_PERIOD,
    COMMAND_TIMEOUT,
    END_DELAY,
    LOG_LINES,
    LOG_PERIOD,
    REPLACEMENT_TIME,
    SEND_TIMEOUT,
)

_PROFILES = ("FASTDDS_DEFAULT_PROFILES_FILE", "FASTRTPS_DEFAULT_PROFILES_FILE")
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class NodeProgram(Node):
    """Base class of the nodes, which ``run`` executes until ``done``.

    Attributes
    ----------
    values
        Function that returns the present value of a parameter by its name; None for a deleted one.
    log
        Rate-limited logger, for events that received messages cause.
    done
        True if the process shall end.
    error
        Error with which the process ends with exit code 1; None for exit code 0.
    """

    done = False
    error: RobotDynamicsError | None = None

    def __init__(
        self, name: str, parameters: Iterable[Parameter[Any]] = (), **options: Any
    ) -> None:
        """Create the node ``name`` and declare its ``parameters``.

        ``options`` are keyword arguments of ``rclpy.node.Node``, such as namespace and parameter_overrides.
        """
        super().__init__(name, **options)
        declare(self, *parameters)
        self.values: Values = lambda name: self.get_parameter_or(name).value
        self.log = BoundedLog(self.get_logger())

    def nanoseconds(self) -> int:
        """Return the time of the node's clock (ns)."""
        return int(self.get_clock().now().nanoseconds)

    def create_steady_timer(self, period: float, callback: Callable[[], None]) -> Timer:
        """Create a timer that calls ``callback()`` with a ``period`` (s) on the steady clock, not in simulated time."""
        return self.create_timer(
            period, callback, clock=RosClock(clock_type=ClockType.STEADY_TIME)
        )

    def create_work_service(
        self, kind: Any, name: str, work: Callable[[Any], str]
    ) -> Any:
        """Create a service of a ``kind`` whose response has success and message.

        The message is what ``work(request)`` returns, or the RobotDynamicsError that it raises.
        """

        def answer(request: Any, response: Any) -> Any:
            try:
                response.message = work(request)
                response.success = True
            except RobotDynamicsError as error:
                response.message = str(error)
                response.success = False
            return response

        return self.create_service(kind, name, answer)

    def spin_until(self, condition: Callable[[], bool], timeout: float) -> None:
        """Run callbacks until ``condition()`` is true, for at most ``timeout`` (s) of the steady clock.

        If this is called in a callback, only callbacks of other callback groups run.
        """
        end = time.monotonic() + timeout
        executor = self.executor
        own = SingleThreadedExecutor(context=self.context)
        own.add_node(self)
        while not condition() and time.monotonic() < end and self.context.ok():
            spin_once(own, self, 0.01)
        if executor is not None:
            executor.add_node(self)
        own.shutdown()

    def warn(self, warning: str | None) -> None:
        """Log a warning unless it is None."""
        if warning is not None:
            self.get_logger().warning(warning)

    def fail(self, error: RobotDynamicsError) -> None:
        """Let ``run`` print ``error`` and exit with code 1. An exception in a callback would print a traceback."""
        self.error = error
        self.done = True

    @property
    def stop_timeout(self) -> float:
        """Longest time (s) that ``stop`` takes, except in the middleware."""
        return 0.0

    def stop(self) -> None:
        """Publish final commands within ``stop_timeout``; ``run`` calls this, ``close`` and ``flush`` at the end."""

    def close(self) -> None:
        """Complete files and release what the node uses, without a time limit."""

    def flush(self) -> None:
        """Wait until final messages are received, at most half a second."""

    @property
    def unsent(self) -> bool:
        """True if callbacks must be run after ``close`` because messages have not been sent yet."""
        return False


class BoundedLog:
    """Logger that writes at most ten lines of one kind per second, and counts those that it omits.

    Lines are of one kind if they are the same up to the first colon. They are written by ``logger``, rclpy's, whose own
    throttling takes a quarter of a millisecond for each line, written or omitted. A note with a
    positive ``period`` limits its kind to one line in this time (s).
    """

    def __init__(self, logger: Any) -> None:
        self._logger = logger
        # begin of a period (s), lines, omitted lines
        self._kinds: dict[str, tuple[float, int, int]] = {}

    def note(self, note: Note) -> None:
        """Log the text of a note with its level."""
        period, most = (
            (note.period, 1) if note.period > 0.0 else (LOG_PERIOD, LOG_LINES)
        )
        now = time.monotonic()
        begin, lines, left_out = self._kinds.get(note.kind, (now, 0, 0))
        if now - begin >= period:
            begin = now
            lines = 0
        if lines >= most:
            self._kinds[note.kind] = begin, lines, left_out + 1
            return
        self._kinds[note.kind] = begin, lines + 1, 0
        text = printable(
            f"{note.text} ({left_out} similar messages omitted)"
            if left_out
            else note.text
        )
        if note.level == OK:  # rclpy allows one level only for each line of code
            self._logger.info(text)
        elif note.level == WARN:
            self._logger.warning(text)
        else:
            self._logger.error(text)


class Interrupted(BaseException):
    """SIGINT or SIGTERM during start-up; derived from BaseException so that no ``except Exception`` catches it."""


def usage(
    make_node: Callable[[], NodeProgram], parameters: Iterable[Parameter[Any]]
) -> str:
    """Return the text of --help for the node that ``make_node`` makes and that has ``parameters``."""
    name = make_node.__module__.rpartition(".")[2]
    program = command_line(f"ros2 run robot_dynamics_ros {name}", name)
    lines = [
        f"usage: {program} --ros-args [-p NAME:=VALUE] [--params-file FILE] [-r OLD:=NEW]",
        "",
        (make_node.__doc__ or "").partition("\n")[0],
        "",
        "parameters, with their defaults:",
        *(f"  {p.name} ({p.default!r}): {p.description}" for p in parameters),
    ]
    return "\n".join(lines)


def run(
    make_node: Callable[[], NodeProgram],
    parameters: Iterable[Parameter[Any]],
    argv: Sequence[str] | None = None,
) -> NoReturn:
    """Run the node that ``make_node()`` returns until it is done or interrupted; then exit the process.

    It is interrupted by SIGINT, SIGTERM and a shutdown of the context. ``argv`` are the arguments with ROS arguments,
    default: ``sys.argv``. With -h or --help the usage with the node's ``parameters`` is printed instead. A
    RobotDynamicsError is printed, and the exit code is 1. Signal handlers of this function replace those of rclpy,
    which would shut the context down before the node can publish its final command.

    At the end the middleware may block: Fast DDS deadlocks at times while it deletes a participant. The process then
    ends all the same, 2.5 s after ``NodeProgram.close``: by SIGALRM, or after an error with exit code 1.
    """
    arguments = sys.argv if argv is None else list(argv)
    if {"-h", "--help"} & set(arguments):
        print(usage(make_node, parameters))
        exit_process(0)
    exit_process(_run(make_node, arguments))


def _run(make_node: Callable[[], NodeProgram], arguments: list[str]) -> int:
    stopped = running = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal stopped
        first = not stopped
        stopped = True
        if first and not running:  # a second signal must not interrupt the clean-up
            raise Interrupted

    for number in _SIGNALS:
        signal.signal(number, stop)
    node: NodeProgram | None = None
    error: RobotDynamicsError | None = None
    try:
        _initialize(arguments)
        node = make_node()
        warn_of_unknown(node, arguments)
        spinner = Spinner(
            node,
            EXECUTOR.read(node.values) if node.has_parameter(EXECUTOR.name) else "auto",
        )
        running = True
        while rclpy.ok() and not stopped and not node.done:
            spinner.spin_once(0.1)
    except (Interrupted, ExternalShutdownException):
        pass
    except RobotDynamicsError as raised:
        error = raised
    finally:
        for number in _SIGNALS:
            # until the process has ended, which takes the interpreter a while
            signal.signal(number, signal.SIG_IGN)
        if node is not None:
            if rclpy.ok():
                end_after(node.stop_timeout + COMMAND_TIMEOUT, failed=True)
                node.stop()
                end_after(0.0)
                node.close()
            error = error or node.error
        if error is not None:
            print(error, file=sys.stderr, flush=True)
            if node is None:
                time.sleep(END_DELAY)
        end_after(END_TIMEOUT, failed=error is not None)
        if node is not None and rclpy.ok():
            node.flush()
            if running:
                spinner.send_pending()
        rclpy.try_shutdown()
    return int(error is not None)


def _prefer_udp() -> None:
    """Let Fast DDS use UDP alone, unless the environment configures its transports.

    While it opens the shared memory of a new participant, which can take 0.33 s, it receives no messages at all
    (https://github.com/eProsima/Fast-DDS/issues/6535): a node that starts would delay the cycles of this one.
    """
    if not any(name in os.environ for name in _PROFILES):
        os.environ.setdefault("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4")


def _initialize(arguments: list[str]) -> None:
    _prefer_udp()
    try:
        rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
    except (
        RuntimeError
    ) as error:  # base class of rclpy's argument errors; the text names file and line
        cause = " ".join(str(error).split())
        raise RobotDynamicsError(
            f"ROS arguments: {cause}. Cure: correct the parameter file or argument"
        ) from error


def make_executor(kind: str = "auto", context: Context | None = None) -> Executor:
    """Return an executor of the ``context``, default: rclpy's; ``kind`` is "auto", "events" or "single_threaded".

    "auto" selects the events executor if rclpy has it (since Jazzy), as it needs less processor time and has less
    jitter; otherwise, and for "single_threaded", the single-threaded one is returned. Raises RobotDynamicsError if
    "events" is requested and rclpy does not have it.
    """
    if kind == "single_threaded":
        return SingleThreadedExecutor(context=context)
    try:
        from rclpy.experimental import EventsExecutor  # type: ignore[attr-defined]
    except ImportError as error:
        if kind == "events":
            raise RobotDynamicsError(
                f'parameter {EXECUTOR.name}: this rclpy has no events executor. Cure: set it to "auto"'
            ) from error
        return SingleThreadedExecutor(context=context)
    return EventsExecutor(context=context)


def spin_once(executor: Executor, node: NodeProgram, timeout: float) -> None:
    """Run one callback that is ready (of an events executor, one event); wait at most ``timeout`` (s) for it.

    RuntimeError and ValueError are logged by ``node``: rclpy raises ValueError for a negative time on /clock and, in
    Jazzy, RuntimeError for a request of an invalid lifecycle transition. Such messages must not end the node.
    """
    try:
        executor.spin_once(timeout_sec=timeout)
    except (RuntimeError, ValueError) as error:
        # formatting the whole traceback takes 10 ms
        calls = traceback.extract_tb(error.__traceback__, limit=-3)
        place = ", ".join(
            f"{call.filename}:{call.lineno} in {call.name}" for call in calls
        )
        node.log.note(Note(ERROR, f"a callback failed: {error}; {place}", 1.0))


class Spinner:
    """Executor of one ``node`` whose queue stays bounded.

    rclpy's events executor queues an event for every message, without limit. If it falls behind, the single-threaded
    executor replaces it for ten seconds: there the queues of the middleware, of a few messages per topic, apply.

    Parameters
    ----------
    node
        Node whose callbacks are run.
    kind
        "auto", "events" or "single_threaded". Raises RobotDynamicsError if rclpy does not have this executor.
    """

    def __init__(self, node: NodeProgram, kind: str) -> None:
        self._node = node
        self._use(kind)
        self._keeps_events = not isinstance(self._executor, SingleThreadedExecutor)

    def _use(self, kind: str) -> None:
        self._executor = make_executor(kind, self._node.context)
        self._executor.add_node(self._node)
        self._replaced = kind == "single_threaded"
        self._begin_check()

    def _begin_check(self) -> None:
        self._since = time.monotonic()
        self._callbacks = 0
        # done after the callbacks that are queued now
        self._check = self._executor.create_task(lambda: None)

    def spin_once(self, timeout: float) -> None:
        """Run one callback as the function ``spin_once``, and replace the executor if it has fallen behind.

        It waits at most ``timeout`` (s) for the callback.
        """
        spin_once(self._executor, self._node, timeout)
        if not self._keeps_events:
            return
        passed = time.monotonic() - self._since
        self._callbacks = self._callbacks + 1
        if self._replaced:
            if passed > REPLACEMENT_TIME:
                self._executor.shutdown()
                self._use("events")
        elif self._check.done():
            if passed > BACKLOG_PERIOD:
                self._begin_check()
        # One long callback is no backlog. A replacement before an action's result is sent would lose the result.
        elif (
            passed > BACKLOG_DELAY
            and self._callbacks > BACKLOG_CALLBACKS
            and not self._node.unsent
        ):
            text = "more messages are received than the node can process: using the single-threaded executor for"
            cure = "find the publisher that is too fast, or give the node more CPU time"
            self._node.log.note(
                Note(WARN, f"{text} {REPLACEMENT_TIME:g} s. Cure: {cure}")
            )
            self._executor.shutdown()
            self._use("single_threaded")

    def send_pending(self) -> None:
        """Run callbacks until the node has sent its last messages, but not longer than about half a second."""
        if not self._node.unsent:
            return
        end = time.monotonic() + SEND_TIMEOUT
        while self._node.unsent and time.monotonic() < end:
            spin_once(self._executor, self._node, 0.1)
        for _ in range(3):  # the last callbacks schedule more work
            spin_once(self._executor, self._node, 0.01)
