"""Client of a simulation_node: topics, status and services."""

from __future__ import annotations

from typing import Any

from geometry_msgs.msg import WrenchStamped
from numpy.typing import ArrayLike
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from robot_dynamics_ros.ros.conversions import nanoseconds
from support.robot import Status, collect_statuses
from support.ros import Graph, Log

NODE = "simulation_node"


class Simulation:
    """Client of a simulation_node in a namespace."""

    def __init__(
        self,
        graph: Graph,
        parameters: dict[str, Any],
        namespace: str = "",
        *arguments: str,
        listens: bool = True,
    ) -> None:
        """``listens`` is True if ``states`` collects joint_states, which takes longer than the simulation."""
        self.graph = graph
        self.node = f"{namespace}/{NODE}"
        self.process = graph.start(
            NODE,
            parameters,
            *(["-r", f"__ns:={namespace}"] if namespace else []),
            *arguments,
        )
        self.states: list[JointState] = (
            graph.collect(JointState, f"{namespace}/joint_states") if listens else []
        )
        self.statuses = collect_statuses(graph, f"{self.node.lstrip('/')}: simulation")
        self._commands = graph.publisher(
            Float64MultiArray, f"{namespace}/effort_commands"
        )
        self._wrenches = graph.publisher(WrenchStamped, f"{namespace}/external_wrench")

    def await_start(self) -> None:
        self.graph.wait(lambda: self.states and self.statuses, "the simulation")
        self.graph.wait(
            self._wrenches.get_subscription_count, "the simulation to listen"
        )

    def log_from_now(self) -> Log:
        return Log(self.process.log)

    # Status

    @property
    def now(self) -> int:
        """Return the stamp (ns) of the last state."""
        return nanoseconds(self.states[-1].header.stamp)

    def await_mode(self, mode: str) -> Status:
        """Wait until the last status has this mode."""
        self.graph.wait(
            lambda: self.statuses and self.statuses[-1].values["mode"] == mode,
            f"the mode {mode!r}",
        )
        return self.statuses[-1]

    def next_status(self) -> Status:
        """Return the next status, which is published at least once a second."""
        count = len(self.statuses)
        self.graph.wait(lambda: len(self.statuses) > count, "/diagnostics")
        return self.statuses[-1]

    # Commands and services

    def command(self, effort: ArrayLike) -> None:
        self._commands.publish(Float64MultiArray(data=list(effort)))

    def first_step_under(self, effort: ArrayLike) -> JointState:
        """Return the state one period after the brakes are released, for a paused simulation."""
        self.graph.wait(
            lambda: not any(self.states[-1].effort), "the state under the brakes"
        )
        while tuple(self.states[-1].effort) != tuple(effort):
            self.command(effort)
            self.graph.spin_for(0.02)
            self.step()
        return self.states[-1]

    def await_command(self, effort: ArrayLike) -> None:
        """Publish an effort and wait until the simulation has it, without a step if paused."""
        before = int(self.next_status().number("commands"))
        self.command(effort)
        self.graph.wait(
            lambda: self.statuses[-1].number("commands") > before,
            "the command to arrive",
        )

    def push(self, link: str, wrench: ArrayLike) -> None:
        message = WrenchStamped()
        message.header.frame_id = link
        force = message.wrench.force
        moment = message.wrench.torque
        force.x, force.y, force.z, moment.x, moment.y, moment.z = (
            float(x) for x in wrench
        )
        self._wrenches.publish(message)

    def pause(self, paused: bool = True) -> str:
        response = self.graph.call(
            SetBool, f"{self.node}/pause", SetBool.Request(data=paused)
        )
        assert response.success
        return str(response.message)

    def reset(self) -> str:
        response = self.graph.call(Trigger, f"{self.node}/reset", Trigger.Request())
        assert response.success
        return str(response.message)

    def try_step(self) -> tuple[bool, str]:
        # Asked again, it would be another step.
        response = self.graph.call(
            Trigger, f"{self.node}/step", Trigger.Request(), patience=120.0
        )
        return response.success, response.message

    def step(self, count: int = 1) -> JointState:
        """Step the paused simulation, and return the last state."""
        for _ in range(count):
            before = self.now
            success, message = self.try_step()
            assert success, message
            self.graph.wait(
                lambda before=before: self.now > before, "the state after the step"
            )
        return self.states[-1]

    def set(self, **values: Any) -> None:
        self.graph.set_parameters(
            self.node,
            {name.replace("__", "."): value for name, value in values.items()},
        )
