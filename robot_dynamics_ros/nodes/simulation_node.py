"""Simulation node: a plant that takes efforts and publishes joint_states, with exact stiction."""

from __future__ import annotations

from functools import partial
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.parameter import Parameter

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.nodes.node_program import NodeProgram
from robot_dynamics_ros.nodes.parameters import check_changes
from robot_dynamics_ros.nodes.robot import StillCompilingError, WarmUp, await_description, load_robot
from robot_dynamics_ros.nodes.runner import keep_collector_away, run
from robot_dynamics_ros.nodes.running_simulation import RunningSimulation
from robot_dynamics_ros.parameters import ROBOT_DESCRIPTION
from robot_dynamics_ros.simulation import parameters
from robot_dynamics_ros.simulation.parameters import read_settings
from robot_dynamics_ros.simulation.simulated_arm import SimulatedArm

_RUNNING = "it is read when the simulation starts, and it runs. Cure: start the node again with another value"


class SimulationNode(NodeProgram):
    """Node that publishes the state of a simulated arm ``publish_rate`` times a simulated second.

    It begins as soon as it has received its robot; RunningSimulation does the work then.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__("simulation_node", parameters.ALL, **options)
        self._model: RobotModel | None = None
        self._running: RunningSimulation | None = None
        self._latched: str | None = None
        self._warm_up = WarmUp(self, self._start_when_possible)
        self.add_on_set_parameters_callback(self._check_parameters)
        self._descriptions = await_description(self, self._receive_description)
        if self.get_parameter("robot_description").value == "":
            self.get_logger().info("waiting for the topic robot_description")
        else:
            self._start_when_possible()

    def _receive_description(self, text: str) -> None:
        self._latched = text
        self._start_when_possible()

    def _start_when_possible(self) -> None:
        """Start with the last URDF of the topic, else with the parameter; after an error wait for the next one."""
        if self._model is not None:
            return
        values = self.values
        try:
            self._warm_up.check()
            description = ROBOT_DESCRIPTION.read(values) if self._latched is None else self._latched
            model = load_robot(self, description, closes_loops=True)
            settings = read_settings(values, model)
            self._warm_up.run(lambda: SimulatedArm(settings).warm_up())
            self._running = RunningSimulation(self, SimulatedArm(settings), settings)
            self.start_polling(self._descriptions)
            keep_collector_away()
        except StillCompilingError as error:
            self.get_logger().info(f"no simulation yet: {error}")
        except RobotDynamicsError as error:
            self.get_logger().error(f"no simulation: {error}")
        else:
            self._model = model
            self.get_logger().info(f"simulating {model.name}: {', '.join(model.joint_names)}")

    def _check_parameters(self, changes: list[Parameter[Any]]) -> SetParametersResult:
        """Check changes, and apply those to the running simulation; all of them or none."""
        try:
            too_late = "" if self._running is None else _RUNNING
            values = check_changes(parameters.ALL, self.values, changes, too_late)
            if self._running is not None and self._model is not None:
                self._running.tune(read_settings(values, self._model))
        except RobotDynamicsError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)


main = partial(run, SimulationNode)

if __name__ == "__main__":
    main()
