"""The controller of computed_torque_node on the arm of simulation_node, without ROS, recorded to a bag."""

from __future__ import annotations

import math
from pathlib import Path

from robot_dynamics_ros.bags.storage import (
    DIAGNOSTIC_ARRAY,
    JOINT_STATE,
    JOINT_TRAJECTORY,
    LATCHED,
    TEXT,
    BagWriter,
    text_message,
)
from robot_dynamics_ros.control.controller import Command, warm_up_controller
from robot_dynamics_ros.control.parameters import Configuration
from robot_dynamics_ros.control.settings import ControllerSettings
from robot_dynamics_ros.control.trajectory.points import TrajectoryPoints
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.messages.cdr import FLOAT64_MULTI_ARRAY, EffortWriter
from robot_dynamics_ros.messages.joint_state import JointStateWriter
from robot_dynamics_ros.messages.joint_trajectory import write_trajectory
from robot_dynamics_ros.messages.running_controller import RunningController
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.offline.replay import COMMANDS, DIAGNOSTICS, BagOutputs, NodeTimers, Replay
from robot_dynamics_ros.progress import progress
from robot_dynamics_ros.simulation.simulated_arm import SimulatedArm

STATES = "/joint_states"
EFFORTS = "/effort_commands"
TRAJECTORY = "/computed_torque_node/joint_trajectory"
START_DELAY = 0.5
"""Seconds from the first state to the start of the trajectory: what the motion adds to holding still can be seen."""

_DESCRIPTION = "/robot_description"
_CONFIGURATION = "/computed_torque_node/configuration"
_TOPICS = {
    STATES: JOINT_STATE,
    COMMANDS: JOINT_STATE,
    EFFORTS: FLOAT64_MULTI_ARRAY,
    TRAJECTORY: JOINT_TRAJECTORY,
    _DESCRIPTION: TEXT,
    _CONFIGURATION: TEXT,
    DIAGNOSTICS: DIAGNOSTIC_ARRAY,
}
_SECOND = 1_000_000_000


def simulate_to_bag(
    output: str | Path,
    arm: SimulatedArm,
    period: float,
    model: RobotModel,
    settings: ControllerSettings,
    points: TrajectoryPoints,
    duration: float,
    *,
    configuration: Configuration | None = None,
    activation_check: bool = True,
) -> Replay:
    """Let the node's controller move ``arm`` along a trajectory for ``duration`` seconds from its start.

    As in lockstep, each state is answered before the arm goes on by one ``period`` (s), and time begins one period
    after zero: the same arguments give the same bytes. The new MCAP bag at ``output`` has joint_states,
    command_states, effort_commands, the trajectory, changes of mode (/diagnostics) and, where ``configuration`` is what
    model and settings are made of, robot_description and ~/configuration, so that a replay of it gives the same
    commands. ``model`` is what the controller believes.
    ``activation_check`` compares the first measured efforts with it, as the node does.

    Raises RobotDynamicsError where the controller refuses the trajectory, or the arm cannot go on, and BagError where
    the bag cannot be made. What was written until then stays.
    """
    warm_up_controller(model, settings)
    with BagWriter(output, _TOPICS, {_DESCRIPTION: [LATCHED], _CONFIGURATION: [LATCHED]}) as writer:
        outputs = _ArmOutputs(writer, arm, model.name)
        running = RunningController(model, settings, outputs, outputs, outputs, outputs)
        running.check_start([], activation_check)
        timers = NodeTimers(outputs, running, settings)
        step = round(period * _SECOND)
        if configuration is not None:
            writer.write(_DESCRIPTION, step, text_message(configuration.robot_description))
            writer.write(_CONFIGURATION, step, text_message(configuration.text()))
        count = math.ceil((START_DELAY + duration) / period) + 1
        sent = int(0.5 * START_DELAY / period)  # when a controller of whatever rate holds the arm already
        states = JointStateWriter(arm.joint_names)
        for cycle in progress(range(count), "simulation", count):
            now = step * (1 + cycle)
            timers.until(now)
            state = states.write(now, arm.position, arm.velocity, arm.effort)
            writer.write(STATES, now, state)
            running.receive_state(state)
            if cycle == sent:
                timers.until(now + step // 2)
                data = write_trajectory(step + round(START_DELAY * _SECOND), points)
                writer.write(TRAJECTORY, outputs.at, data)
                running.receive_trajectory(data)
            arm.advance()
            if arm.failure:
                raise RobotDynamicsError(f"t = {now / _SECOND:.3f} s: {arm.failure}")
    return Replay(count, outputs.count, tuple(outputs.changes), dict(outputs.saturated))


class _ArmOutputs(BagOutputs):
    """Outputs that drive the arm as well, and write the efforts that do. An error ends the run."""

    def __init__(self, writer: BagWriter, arm: SimulatedArm, robot: str) -> None:
        super().__init__(writer, COMMANDS, arm.joint_names, robot)
        self._arm = arm
        self._efforts = EffortWriter(len(arm.joint_names))

    def command(self, command: Command, answered: int) -> None:
        """Write a command, with the stamp (ns) of the state that it answers, and pass it to the arm."""
        super().command(command, answered)
        self.unsolicited(command)

    def unsolicited(self, command: Command) -> None:
        """Pass a command that answers no state to the arm."""
        self._writer.write(EFFORTS, self.at, self._efforts.write(command.effort))
        self._arm.command(command.effort)

    def error(self, message: str, *, throttle_duration_sec: float = 0.0) -> None:
        """Raise RobotDynamicsError: all input is given beforehand."""
        raise RobotDynamicsError(message)
