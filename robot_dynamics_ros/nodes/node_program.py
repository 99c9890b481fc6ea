"""Base class of the nodes, with parameters, a bounded log and an orderly end; and the process that runs one.

Parameters are typed dynamically, because rclpy refuses `5` for a double and gives `[]` no type; `kinds` checks each
value, elements of lists included, when it is read.
"""

from __future__ import annotations

import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import pairwise
from types import FrameType
from typing import Any, NoReturn

import rclpy
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.clock import Clock as RosClock
from rclpy.clock import ClockType  # type: ignore[attr-defined]
from rclpy.context import Context
from rclpy.exceptions import InvalidParameterValueException
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter
from rclpy.signals import SignalHandlerOptions
from rclpy.timer import Timer

from robot_dynamics_ros.background import exit_process
from robot_dynamics_ros.control.status import ERROR, OK, WARN, Note
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.parameters import EXECUTOR
from robot_dynamics_ros.parameters.file import file_parameters, misspelt
from robot_dynamics_ros.parameters.kinds import Flag, Names, Number, Numbers, Parameter, Text, Values, When, WholeNumber

_LOG_PERIOD, _MAX_LINES = 1.0, 10  # s, lines of one kind in that time
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SEND_TIMEOUT = 0.5  # s
_CHECK_PERIOD, _DELAY, _BACKLOG, _RELIEF = 0.1, 0.2, 10, 10.0  # s, s, callbacks, s
_DISCOVERY_TIME = 1.0  # s; Fast DDS 3.2 may crash or hang in a participant that ends while others discover it
_WHEN: dict[When, str] = {
    "start": "Read once, when the process starts",
    "configure": "Takes effect when the node is configured",
    "run": "May be changed while the node runs",
}


class NodeProgram(Node):
    """Node that ``run`` runs until it is done.

    Attributes
    ----------
    values
        Present values of the parameters; None for a deleted one.
    log
        Logger for what the content of messages causes.
    done
        True if the process shall end.
    error
        Reason why it ends with exit code 1; None if it does not.
    """

    done = False
    error: RobotDynamicsError | None = None

    def __init__(self, name: str, parameters: Iterable[Parameter[Any]] = (), **options: Any) -> None:
        """``options`` are those of rclpy's Node, as namespace and parameter_overrides."""
        super().__init__(name, **options)
        declare(self, *parameters)
        self.values: Values = lambda name: self.get_parameter_or(name).value
        self.log = BoundedLog(self.get_logger())

    def nanoseconds(self) -> int:
        """Return the time of the node's clock (ns)."""
        return int(self.get_clock().now().nanoseconds)

    def create_steady_timer(self, period: float, callback: Callable[[], None]) -> Timer:
        """Create a timer (s) that continues while simulated time stands still."""
        return self.create_timer(period, callback, clock=RosClock(clock_type=ClockType.STEADY_TIME))

    def spin_until(self, condition: Callable[[], bool], timeout: float) -> None:
        """Run callbacks until ``condition`` holds, for ``timeout`` (s) at most.

        In a callback only those of other callback groups run.
        """
        end, executor = time.monotonic() + timeout, self.executor
        own = SingleThreadedExecutor(context=self.context)
        own.add_node(self)
        while not condition() and time.monotonic() < end and self.context.ok():
            spin_once(own, self, 0.01)
        if executor is not None:
            executor.add_node(self)
        own.shutdown()

    def warn(self, warning: str | None) -> None:
        """Log a warning, if there is one."""
        if warning is not None:
            self.get_logger().warning(warning)

    def fail(self, error: RobotDynamicsError) -> None:
        """End with this error and exit code 1; an exception in a callback would end with a traceback."""
        self.error, self.done = error, True

    def close(self) -> None:
        """Publish final messages before the process ends."""

    @property
    def unsent(self) -> bool:
        """True if callbacks must run on after ``close`` to send messages."""
        return False


class BoundedLog:
    """Logger that writes at most ten lines of one kind a second, with a count of those left out.

    Lines are of one kind if they are the same up to the first colon. rclpy's own throttle takes a quarter of a
    millisecond also for a line that it leaves out.
    """

    def __init__(self, logger: Any) -> None:
        self._logger = logger
        self._kinds: dict[str, tuple[float, int, int]] = {}  # begin of a period (s), lines, lines left out

    def info(self, message: str) -> None:
        """Log information."""
        self.note(Note(OK, message))

    def warning(self, message: str, *, throttle_duration_sec: float = 0.0) -> None:
        """Log a warning, or only one in so many seconds if that is more than 0."""
        self.note(Note(WARN, message, throttle_duration_sec))

    def error(self, message: str, *, throttle_duration_sec: float = 0.0) -> None:
        """Log an error, or only one in so many seconds if that is more than 0."""
        self.note(Note(ERROR, message, throttle_duration_sec))

    def note(self, note: Note) -> None:
        """Log a note, unless there has been enough of its kind."""
        period, most = (note.period, 1) if note.period > 0.0 else (_LOG_PERIOD, _MAX_LINES)
        now = time.monotonic()
        begin, lines, left_out = self._kinds.get(note.kind, (now, 0, 0))
        if now - begin >= period:
            begin, lines = now, 0
        if lines >= most:
            self._kinds[note.kind] = begin, lines, left_out + 1
            return
        self._kinds[note.kind] = begin, lines + 1, 0
        text = f"{note.text} (and {left_out} more like it before)" if left_out else note.text
        if note.level == OK:  # rclpy wants a line of code for each level
            self._logger.info(text)
        elif note.level == WARN:
            self._logger.warning(text)
        else:
            self._logger.error(text)


# Parameters


def check_changes(
    parameters: Iterable[Parameter[Any]], present: Values, changes: Sequence[RosParameter[Any]], too_late: str
) -> Values:
    """Return the values after ``changes``; RobotDynamicsError names a parameter that cannot be so.

    ``too_late``: reason why parameters that are read on configuration cannot change now, and the cure; empty if they
    can.
    """
    changed = {change.name: change.value for change in changes}
    for name, value in changed.items():
        if value is None:  # rclpy would not allow to set it again
            raise RobotDynamicsError(f"parameter {name}: it cannot be deleted. Cure: set it to its default")
    for parameter in parameters:
        if parameter.name in changed:
            parameter.check(changed[parameter.name])
            if too_late and parameter.when == "configure":
                raise RobotDynamicsError(f"parameter {parameter.name}: {too_late}")
    return lambda name: changed[name] if name in changed else present(name)


def declare(node: Node, *parameters: Parameter[Any]) -> None:
    """Declare parameters; a bad value in a parameter file stays, and is refused when it is read."""
    for parameter in parameters:
        descriptor = _descriptor(parameter)
        try:
            node.declare_parameter(parameter.name, parameter.default, descriptor)
        except InvalidParameterValueException:
            # rclpy refuses doubles outside of a range; the node shall start, name the parameter and wait.
            descriptor.floating_point_range, descriptor.integer_range = [], []
            node.declare_parameter(parameter.name, parameter.default, descriptor)
        # rclpy takes an empty list for a list of bytes, or for an unset parameter.
        if isinstance(parameter, Numbers | Names) and node.get_parameter(parameter.name).value in (None, []):
            kind = RosParameter.Type.DOUBLE_ARRAY if isinstance(parameter, Numbers) else RosParameter.Type.STRING_ARRAY
            node.set_parameters([RosParameter(parameter.name, kind, [])])


def warn_of_unknown(node: Node, arguments: Sequence[str]) -> None:
    """Log each misspelt parameter of a command line and its files, with the similar known one."""
    names: set[str] = set()
    for option, value in pairwise(arguments):
        if option == "--params-file":
            with suppress(RobotDynamicsError):  # nothing for this node
                names.update(file_parameters(value, node.get_fully_qualified_name()))
        elif option in ("-p", "--param"):
            names.add(value.partition(":=")[0].rpartition(":")[2])
    known = [name for name in node.get_parameters_by_prefix("") if not name.startswith("qos_overrides.")]
    for message in misspelt(names, known):
        node.get_logger().warning(message)


def _descriptor(parameter: Parameter[Any]) -> ParameterDescriptor:
    """Return the content of `ros2 param describe`; in words what type and range do not express."""
    descriptor = ParameterDescriptor(
        name=parameter.name,
        description=f"{parameter.description}. {_WHEN[parameter.when]}.",
        read_only=parameter.when == "start",
        dynamic_typing=True,
    )
    complete = isinstance(parameter, Flag | Names) or (isinstance(parameter, Text) and not parameter.choices)
    if isinstance(parameter, WholeNumber):
        descriptor.integer_range = [IntegerRange(from_value=parameter.least, to_value=parameter.most)]
        complete = True
    elif isinstance(parameter, Number) and parameter.within.is_range:
        within = parameter.within
        least = min(within.least, 0.0) if within.or_zero else within.least
        descriptor.floating_point_range = [FloatingPointRange(from_value=least, to_value=within.most)]
        complete = within.is_only_a_range
    if not complete:
        descriptor.additional_constraints = parameter.allowed()
    return descriptor


# The process


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
        spinner = Spinner(node, EXECUTOR.read(node.values) if node.has_parameter(EXECUTOR.name) else "auto")
        running = True
        while rclpy.ok() and not stopped and not node.done:
            spinner.spin_once(0.1)
    except (Interrupted, ExternalShutdownException):
        pass
    except RobotDynamicsError as raised:
        error = raised
    finally:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)  # until the end: the interpreter takes a while
        if node is not None and rclpy.ok():
            node.close()
            if running:
                spinner.send_the_rest()
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


def make_executor(kind: str = "auto", context: Context | None = None) -> Executor:
    """Return an executor of the kind that EXECUTOR names.

    rclpy has the events executor from Jazzy on: a third of the processor time, half the jitter. Raises
    RobotDynamicsError if it is requested and missing.
    """
    if kind == "single_threaded":
        return SingleThreadedExecutor(context=context)
    try:
        from rclpy.experimental import EventsExecutor  # type: ignore[attr-defined]
    except ImportError as error:
        if kind == "events":
            raise RobotDynamicsError(
                f"parameter {EXECUTOR.name}: this rclpy has no events executor. Cure: auto"
            ) from error
        return SingleThreadedExecutor(context=context)
    return EventsExecutor(context=context)


def spin_once(executor: Executor, node: NodeProgram, timeout: float) -> None:
    """Run the next callback, or those that are ready; wait at most ``timeout`` (s) for one.

    rclpy itself raises ValueError for a negative time on /clock and, in Jazzy, RuntimeError for a request of a
    lifecycle transition that the state does not have: no client may end a node in that way.
    """
    try:
        executor.spin_once(timeout_sec=timeout)
    except (RuntimeError, ValueError) as error:
        calls = traceback.extract_tb(error.__traceback__, limit=-3)  # to format all takes 10 ms
        place = ", ".join(f"{call.filename}:{call.lineno} in {call.name}" for call in calls)
        node.log.error(f"a callback failed: {error}; {place}", throttle_duration_sec=1.0)


class Spinner:
    """Executor of one node, with a bound on what waits.

    rclpy's events executor keeps an event for each message that came, however many. Where it falls behind, the
    single-threaded one, for which the middleware keeps a few messages a topic, replaces it for ten seconds.

    Parameters
    ----------
    kind
        Executor as EXECUTOR names it; RobotDynamicsError if it is missing.
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
        self._since, self._callbacks = time.monotonic(), 0
        self._check = self._executor.create_task(lambda: None)  # done after what waits now

    def spin_once(self, timeout: float) -> None:
        """Run the next callback; wait at most ``timeout`` (s) for one."""
        spin_once(self._executor, self._node, timeout)
        if not self._keeps_events:
            return
        passed, self._callbacks = time.monotonic() - self._since, self._callbacks + 1
        if self._replaced:
            if passed > _RELIEF:
                self._executor.shutdown()
                self._use("events")
        elif self._check.done():
            if passed > _CHECK_PERIOD:
                self._begin_check()
        # Not for one long callback; and not before an action's result is sent, which would be lost.
        elif passed > _DELAY and self._callbacks > _BACKLOG and not self._node.unsent:
            self._node.log.warning(
                f"more messages come than can be read: the single-threaded executor reads them for {_RELIEF:g} s. "
                "Cure: find who sends them (ros2 topic hz), or give the node more of the processor"
            )
            self._executor.shutdown()
            self._use("single_threaded")

    def send_the_rest(self) -> None:
        """Run callbacks until the node has sent its last messages, for half a second at most."""
        if not self._node.unsent:
            return
        end = time.monotonic() + _SEND_TIMEOUT
        while self._node.unsent and time.monotonic() < end:
            spin_once(self._executor, self._node, 0.1)
        for _ in range(3):  # the last of these callbacks schedule work for the next rounds
            spin_once(self._executor, self._node, 0.01)
