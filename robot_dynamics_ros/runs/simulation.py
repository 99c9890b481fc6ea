"""The controller of computed_torque_node on the arm of simulation_node, without ROS, recorded to a bag."""

from __future__ import annotations

import math
from pathlib import Path

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.base.progress import progress
from robot_dynamics_ros.control.configuration.settings import ControllerSettings
from robot_dynamics_ros.control.interface import ERROR, Output
from robot_dynamics_ros.control.safety import Mode
from robot_dynamics_ros.control.session import ControllerSession
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.recordings.bags.storage import (
    DIAGNOSTIC_ARRAY,
    JOINT_STATE,
    JOINT_TRAJECTORY,
    LATCHED,
    TEXT,
    BagWriter,
    text_message,
)
from robot_dynamics_ros.recordings.messages.cdr import FLOAT64_MULTI_ARRAY, EffortWriter
from robot_dynamics_ros.recordings.messages.drive_commands import command_topics
from robot_dynamics_ros.recordings.messages.joint_state import JointStateWriter
from robot_dynamics_ros.recordings.messages.joint_trajectory import write_trajectory
from robot_dynamics_ros.runs.configuration import Configuration
from robot_dynamics_ros.runs.inputs import InputReader
from robot_dynamics_ros.runs.recorder import (
    COMMANDS,
    DIAGNOSTICS,
    NodeTimers,
    Replay,
    SessionRecorder,
    time_of,
)
from robot_dynamics_ros.runs.thresholds import START_DELAY
from robot_dynamics_ros.simulation.simulated_arm import SimulatedArm

STATES = "/joint_states"
TRAJECTORY = "/computed_torque_node/joint_trajectory"

DESCRIPTION = "/robot_description"
_CONFIGURATION = "/computed_torque_node/configuration"
_SECOND = 1_000_000_000


def plant_commands(settings: ControllerSettings) -> str:
    """Return the topic of the commands that a plant takes: effort_commands, or drive_commands."""
    return f"/{command_topics(settings.drives.command_interfaces)[0]}"


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
    """Simulate the node's controller and an arm along a trajectory, and write their messages to a new MCAP bag.

    As in lockstep, the arm advances by one period after the controller has answered its state. Time begins one period
    after zero, so that the same arguments give the same bytes. The bag has joint_states, command_states,
    effort_commands or, for drives with a loop of their own, drive_commands, the trajectory and changes of mode
    (/diagnostics). A run with a fault before the trajectory is sent
    ends there, since a controller in a fault rejects trajectories.

    Parameters
    ----------
    output
        Folder of the new bag.
    arm, period
        The arm, and the time (s) between its states.
    model, settings
        Robot model and settings of the controller; the model may differ from that of the arm.
    points
        The trajectory, which starts 0.5 s (START_DELAY) after the first state.
    duration
        Simulated time (s) from the start of the trajectory.
    configuration
        Source of model and settings. If not None, it is written to ~/configuration, and its URDF to robot_description;
        a replay of the bag then gives the same commands.
    activation_check
        True to compare the first measured efforts with the model, as the node does.

    Raises
    ------
    RobotDynamicsError
        If settings do not fit the model, the controller rejects the trajectory or its activation, or the simulation
        fails.
    BagError
        If the bag cannot be written. Messages written before an error remain, if they have a command.
    """
    session = ControllerSession(model, settings)
    commands = plant_commands(settings)
    topics = {
        STATES: JOINT_STATE,
        COMMANDS: JOINT_STATE,
        commands: FLOAT64_MULTI_ARRAY,
        TRAJECTORY: JOINT_TRAJECTORY,
        DESCRIPTION: TEXT,
        _CONFIGURATION: TEXT,
        DIAGNOSTICS: DIAGNOSTIC_ARRAY,
    }
    writer = BagWriter(
        output, topics, {DESCRIPTION: [LATCHED], _CONFIGURATION: [LATCHED]}
    )
    with SessionRecorder(writer, COMMANDS, session) as recorder:
        inputs = InputReader(session)
        session.activate(activation_check)
        timers = NodeTimers(session, settings)
        states = JointStateWriter(arm.joint_names)
        efforts = EffortWriter(len(arm.joint_names))

        def take(at: int, output: Output) -> None:
            """Write the output, and pass the command to the arm."""
            recorder.write(at, output)
            command = output.command
            if command is not None and command.drive is not None:
                arm.command(command.drive)
            elif command is not None:
                writer.write(commands, at, efforts.write(command.effort))
                arm.command(command.effort)
            for note in output.notes:
                if note.level == ERROR:
                    raise RobotDynamicsError(note.text)  # all input is given beforehand

        step = round(period * _SECOND)
        if configuration is not None:
            writer.write(
                DESCRIPTION, step, text_message(configuration.robot_description)
            )
            writer.write(_CONFIGURATION, step, text_message(configuration.text()))
        count = math.ceil((START_DELAY + duration) / period) + 1
        # when a controller of whatever rate holds the arm already
        sent = int(0.5 * START_DELAY / period)
        for cycle in progress(range(count), "simulation", count):
            now = step * (1 + cycle)
            for at, result in timers.until(now):
                take(at, result)
            state = states.write(now, arm.position, arm.velocity, arm.effort)
            writer.write(STATES, now, state)
            take(now, inputs.receive("joint_states", state, time_of(now)))
            if cycle == sent:
                if (
                    session.controller is not None
                    and session.controller.mode is not Mode.ACTIVE
                ):
                    return recorder.outcome(cycle + 1)
                at = now + step // 2
                for then, result in timers.until(at):
                    take(then, result)
                data = write_trajectory(step + round(START_DELAY * _SECOND), points)
                writer.write(TRAJECTORY, at, data)
                take(at, inputs.receive("joint_trajectory", data, time_of(at)))
            arm.advance()
            if arm.failure:
                raise RobotDynamicsError(arm.failure)
    return recorder.outcome(count)
