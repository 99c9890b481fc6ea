"""Client of one running node: its services, parameters, lifecycle and status, each with a limit of time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import rclpy
import yaml
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.context import Context
from rclpy.exceptions import NameValidationException
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter, parameter_value_to_python
from std_srvs.srv import Trigger

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.ros.thresholds import (
    CLIENT_ANSWER_TIMEOUT,
    CLIENT_DISCOVERY_TIMEOUT,
)


class NodeClient:
    """Connection to the running node ``name``, such as /left/computed_torque_node; end it by ``close``.

    A name without a slash in front is in the root namespace. The other methods raise RobotDynamicsError if the node is
    not found within 10 s, does not answer within 60 s, or refuses the request; the text names the nodes that were
    seen, or the node's reason.
    """

    def __init__(self, name: str) -> None:
        self.name = f"/{name.lstrip('/')}"
        self._context = Context()
        self._context.init()
        self._node = rclpy.create_node("node_client", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)

    def close(self) -> None:
        """End the connection."""
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()

    def trigger(self, service: str) -> str:
        """Call the private ``service`` of type std_srvs/srv/Trigger and return its message."""
        answer = self._call(Trigger, service)
        if not answer.success:
            raise RobotDynamicsError(answer.message)
        return str(answer.message)

    def parameter(self, name: str) -> object:
        """Return the value of the parameter ``name``."""
        values = self._call(GetParameters, "get_parameters", names=[name]).values
        if not values:
            raise RobotDynamicsError(
                f"{self.name} has no parameter {name}. Cure: use one of docs/parameters.md"
            )
        return parameter_value_to_python(values[0])

    def set_parameter(self, name: str, text: str) -> None:
        """Set the parameter ``name`` to the value of ``text``, in YAML; RobotDynamicsError also if that is no value."""
        self.parameter(name)
        try:
            parameter = Parameter(name, value=yaml.safe_load(text)).to_parameter_msg()
        except (yaml.YAMLError, TypeError) as error:
            raise RobotDynamicsError(
                f"{name}: {text} is no value. Cure: give a number, a text or a list such as [1.0, 2.5]"
            ) from error
        answer = self._call(SetParameters, "set_parameters", parameters=[parameter])
        (result,) = answer.results
        if not result.successful:
            raise RobotDynamicsError(result.reason)

    def change_state(self, transition: str) -> None:
        """Make a ``transition`` of the lifecycle, such as activate."""
        requested = Transition(label=transition)
        answer = self._call(ChangeState, "change_state", transition=requested)
        if not answer.success:
            reason = self.status().message
            if "Cure: " not in reason:  # the state alone
                reason += ". Cure: configure or deactivate before"
            raise RobotDynamicsError(f"{self.name} has refused {transition}: {reason}")

    def status(self) -> DiagnosticStatus:
        """Return the next status of the node in /diagnostics, where nodes publish it once a second."""
        found: list[DiagnosticStatus] = []
        begin = f"{self.name.lstrip('/')}: "

        def receive(message: DiagnosticArray) -> None:
            found.extend(one for one in message.status if one.name.startswith(begin))

        self._node.create_subscription(DiagnosticArray, "/diagnostics", receive, 100)
        self._wait(
            lambda: bool(found), "status in /diagnostics", CLIENT_DISCOVERY_TIMEOUT
        )
        return found[0]

    def _call(self, kind: Any, service: str, **request: Any) -> Any:
        name = f"{self.name}/{service}"
        try:
            client: Any = self._node.create_client(kind, name)
        except NameValidationException as error:
            raise RobotDynamicsError(
                f'"{self.name}" is not the name of a node. Cure: correct --node'
            ) from error
        self._wait(
            client.service_is_ready, f"service {service}", CLIENT_DISCOVERY_TIMEOUT
        )
        future = client.call_async(kind.Request(**request))
        self._wait(future.done, f"answer of {service}", CLIENT_ANSWER_TIMEOUT)
        return future.result()

    def _wait(self, found: Callable[[], bool], what: str, seconds: float) -> None:
        """Receive messages until ``found()`` holds; RobotDynamicsError, with ``what`` is missing, after ``seconds``."""
        end = time.monotonic() + seconds
        while not found():
            if time.monotonic() > end:
                others = set(self._node.get_fully_qualified_node_names())
                others -= {self._node.get_fully_qualified_name()}
                raise RobotDynamicsError(
                    f"{self.name}: no {what} within {seconds:g} s; nodes seen: "
                    f"{', '.join(sorted(others)) or 'none'}. Cure: start or configure it, name it with namespace by "
                    f"--node, or set its ROS_DOMAIN_ID (here {self._context.get_domain_id()})"
                )
            self._executor.spin_once(timeout_sec=0.05)
