"""Base class of the nodes: parameters, polled topics, bounded logs, a checked /clock and an orderly end.

Parameters are typed dynamically, because rclpy refuses `5` for a double and gives `[]` no type; `kinds` checks each
value, elements of lists included, when it is read.
"""

from __future__ import annotations

import math
import struct
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

from builtin_interfaces.msg import Time
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.clock import Clock as RosClock
from rclpy.clock import ClockType  # type: ignore[attr-defined]
from rclpy.exceptions import InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription
from rclpy.time_source import CLOCK_TOPIC
from rclpy.timer import Timer
from rosgraph_msgs.msg import Clock

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.messages.cdr import BYTE_ORDERS, HEADER
from robot_dynamics_ros.parameters.file import file_parameters, misspelt
from robot_dynamics_ros.parameters.kinds import Flag, Names, Number, Numbers, Parameter, Text, Values, When, WholeNumber

_MAX_POLLED = 10  # messages of one topic at once
_LOG_PERIOD, _MAX_LINES = 1.0, 100  # s, lines in that time from one place in the code
_CLOCK_WINDOW, _CLOCK_PAUSE = 0.1, 1.0  # s
_MAX_CLOCK_MESSAGES = 1000  # in a window; fast simulations publish a tenth of that
_INVALID_WEIGHT = 10  # an invalid time counts as so many messages
_WHEN: dict[When, str] = {
    "start": "Read once, when the process starts",
    "configure": "Takes effect when the node is configured",
    "run": "May be changed while the node runs",
}


class NodeProgram(Node):
    """Node that polls some of its topics, and that ``runner.run`` runs until it is done.

    Polled topics are read before each cycle and by timers; the executor does not wait for them.

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
    _clock_input: ClockInput | None = None

    def __init__(self, name: str, parameters: Iterable[Parameter[Any]] = (), **options: Any) -> None:
        """``options`` are those of rclpy's Node, as namespace and parameter_overrides."""
        self._polled: list[Subscription[Any]] = []
        super().__init__(name, **options)
        declare(self, *parameters)
        self.values: Values = lambda name: self.get_parameter_or(name).value
        self.log = BoundedLog(self.get_logger())

    @property
    def subscriptions(self) -> Iterator[Subscription[Any]]:
        """Subscriptions that an executor waits for."""
        return (subscription for subscription in super().subscriptions if subscription not in self._polled)

    def create_subscription(
        self, msg_type: Any, topic: str, callback: Callable[..., Any], *arguments: Any, **options: Any
    ) -> Subscription[Any]:
        """Subscribe as in rclpy, but check what comes on /clock, to which rclpy subscribes by this method, too."""
        if topic != CLOCK_TOPIC:
            return super().create_subscription(msg_type, topic, callback, *arguments, **options)
        self._clock_input = clock = ClockInput(self, callback)
        clock.subscription = super().create_subscription(
            msg_type, topic, clock.receive, *arguments, **{**options, "raw": True}
        )
        return clock.subscription

    def create_polled(
        self, kind: Any, topic: str, receive: Callable[[Any], None], qos: QoSProfile | int, raw: bool = True
    ) -> Subscription[Any]:
        """Subscribe to a topic that is polled; arguments as for ``create_subscription``."""
        subscription = self.create_subscription(kind, topic, receive, qos, raw=raw)
        self.start_polling(subscription)
        return subscription

    def create_steady_timer(self, period: float, callback: Callable[[], None]) -> Timer:
        """Create a timer (s) that continues while simulated time stands still."""
        return self.create_timer(period, callback, clock=RosClock(clock_type=ClockType.STEADY_TIME))

    def start_polling(self, subscription: Subscription[Any]) -> None:
        """Take a subscription from the executor."""
        self._polled.append(subscription)
        if self.executor is not None:
            self.executor.wake()

    def stop_polling(self, subscription: Subscription[Any]) -> None:
        """Return a subscription to the executor, if it is polled."""
        if subscription in self._polled:
            self._polled.remove(subscription)
        if self.executor is not None:
            self.executor.wake()

    def destroy_subscription(self, subscription: Subscription[Any]) -> bool:
        """Destroy a subscription; return True if it was the node's."""
        self.stop_polling(subscription)
        return bool(super().destroy_subscription(subscription))

    def poll(self) -> None:
        """Pass the waiting messages of the polled topics to their callbacks, oldest first, at most 10 of each topic."""
        for subscription in self._polled:
            receive: Any = subscription.callback
            for message, _ in waiting(subscription, _MAX_POLLED):
                receive(message)

    def poll_clock(self) -> None:
        """Take the waiting messages of /clock while no executor runs."""
        clock = self._clock_input
        if clock is not None and clock.subscription is not None:
            for data, _ in waiting(clock.subscription, _MAX_CLOCK_MESSAGES):
                clock.receive(data)

    def fail(self, error: RobotDynamicsError) -> None:
        """End with this error and exit code 1; an exception in a callback would end with a traceback."""
        self.error, self.done = error, True

    def close(self) -> None:
        """Publish final messages before the process ends."""

    @property
    def unsent(self) -> bool:
        """True if the executor must run on after ``close`` to send messages."""
        return False


def waiting(subscription: Subscription[Any], most: int) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """Take the waiting messages, oldest first and at most so many, with the middleware's information on each."""
    take: Any = subscription.handle.take_message
    for _ in range(most):
        taken = take(subscription.msg_type, subscription.raw)
        if taken is None:
            return
        yield taken


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


class ClockInput:
    """Filter between /clock (bytes) and rclpy's time source.

    rclpy fails on negative times, and its events executor keeps an event of each message without bound. Invalid times
    are therefore ignored, and a flood of messages stops the reception for a second.
    """

    def __init__(self, node: NodeProgram, receive: Callable[[Clock], None]) -> None:
        """``receive``: the callback of rclpy's time source."""
        self._node = node
        self._receive = receive
        self._begin, self._count = -math.inf, 0
        self._pause: Timer | None = None
        self.subscription: Subscription[Any] | None = None

    def receive(self, data: bytes) -> None:
        """Pass a message to rclpy if it is valid and no flood stops the reception."""
        if self._pause is not None:
            return
        sec, nanosec = _read_time(data)
        self._count += 1 if sec >= 0 else _INVALID_WEIGHT
        if self._count > _MAX_CLOCK_MESSAGES and self._is_flood():
            self._begin_pause()
        elif sec >= 0:
            self._receive(Clock(clock=Time(sec=sec, nanosec=nanosec)))
        else:
            self._node.log.error(
                f"/clock: {sec} s, before 1970, is ignored. Cure: check its publisher", throttle_duration_sec=1.0
            )

    def _is_flood(self) -> bool:
        """Return True if the counted messages came within a window; begin the next window."""
        begin, self._begin, self._count = self._begin, time.monotonic(), 0
        return self._begin - begin < _CLOCK_WINDOW

    def _begin_pause(self) -> None:
        assert self.subscription is not None
        rate = _MAX_CLOCK_MESSAGES / _CLOCK_WINDOW
        self._node.log.error(
            f"/clock: a flood of over {rate:g} messages a second, or of {rate / _INVALID_WEIGHT:g} invalid ones, is "
            f"ignored for {_CLOCK_PAUSE:g} s. Cure: check its publisher"
        )
        self._node.start_polling(self.subscription)
        self._pause = self._node.create_steady_timer(_CLOCK_PAUSE, self._end_pause)

    def _end_pause(self) -> None:
        assert self._pause is not None and self.subscription is not None
        self._node.destroy_timer(self._pause)
        self._pause = None
        self._node.stop_polling(self.subscription)


def _read_time(data: bytes) -> tuple[int, int]:
    """Return seconds and nanoseconds of a serialized time; -1 s if it is malformed."""
    order = BYTE_ORDERS.get(data[:2])
    if order is None or len(data) < HEADER + 8:
        return -1, 0
    sec, nanosec = struct.unpack_from(order + "iI", data, HEADER)
    return sec, nanosec


class BoundedLog:
    """Logger that writes at most 100 lines a second from one place in the code, with a count of those left out.

    rclpy's own throttle takes a quarter of a millisecond also for a line that it leaves out.
    """

    def __init__(self, logger: Any) -> None:
        self._logger = logger
        self._places: dict[tuple[str, int], tuple[float, int, int]] = {}  # begin of a period (s), lines, lines left out

    def info(self, message: str) -> None:
        """Log information."""
        if text := self._bounded(message, 0.0):
            self._logger.info(text)

    def warning(self, message: str, *, throttle_duration_sec: float = 0.0) -> None:
        """Log a warning, or only one in so many seconds if that is more than 0."""
        if text := self._bounded(message, throttle_duration_sec):
            self._logger.warning(text)

    def error(self, message: str, *, throttle_duration_sec: float = 0.0) -> None:
        """Log an error, or only one in so many seconds if that is more than 0."""
        if text := self._bounded(message, throttle_duration_sec):
            self._logger.error(text)

    def _bounded(self, message: str, throttle: float) -> str:
        """Return the text to write; empty if there has been enough from the caller's line."""
        period, most = (throttle, 1) if throttle > 0.0 else (_LOG_PERIOD, _MAX_LINES)
        caller, now = sys._getframe(2), time.monotonic()
        place = caller.f_code.co_filename, caller.f_lineno
        begin, lines, left_out = self._places.get(place, (now, 0, 0))
        if now - begin >= period:
            begin, lines = now, 0
        if lines >= most:
            self._places[place] = begin, lines, left_out + 1
            return ""
        self._places[place] = begin, lines + 1, 0
        return f"{message} (and {left_out} more like it before)" if left_out else message
