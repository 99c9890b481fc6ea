"""robot_dynamics replay and simulate: the node's controller without ROS, on a recording or on a simulated arm."""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics_ros.bags import read_configuration
from robot_dynamics_ros.bags.reader import BagReader
from robot_dynamics_ros.cli.command_line import (
    TRACKING_LAWS,
    add_bag,
    add_output,
    add_rename,
    check_output,
    new_bag,
    pair,
    plant_step_size,
)
from robot_dynamics_ros.cli.demo import error_units, read_tracking, tracking_table
from robot_dynamics_ros.cli.robot_source import RobotSource, add_named_robot, add_robot, named_robot, recorded_robot
from robot_dynamics_ros.control import parameters as controller
from robot_dynamics_ros.control.parameters import Configuration
from robot_dynamics_ros.control.settings import read_settings as controller_settings
from robot_dynamics_ros.control.trajectory import parameters as trajectory
from robot_dynamics_ros.control.trajectory.files import read_trajectory_file
from robot_dynamics_ros.control.trajectory.points import TrajectoryPoints
from robot_dynamics_ros.errors import RobotDynamicsError, RobotModelWarning
from robot_dynamics_ros.messages.inputs import INPUTS
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.offline.recorder import COMMANDS, Replay
from robot_dynamics_ros.offline.replay import command_topic, replay
from robot_dynamics_ros.offline.simulation import simulate_to_bag
from robot_dynamics_ros.parameters import DYNAMICS_FILE, JOINTS, ROBOT_DESCRIPTION
from robot_dynamics_ros.parameters.file import read_parameter_file
from robot_dynamics_ros.parameters.kinds import Parameter, Values
from robot_dynamics_ros.resources import find_resource, robot_names
from robot_dynamics_ros.simulation import parameters as simulation
from robot_dynamics_ros.simulation.parameters import read_settings as simulation_settings
from robot_dynamics_ros.simulation.simulated_arm import SimulatedArm

_SETTLING_TIME = 0.5  # s after the motion
_TOPICS = (*INPUTS, "command_states")


def add_replay(parser: argparse.ArgumentParser) -> None:
    """Declare description and arguments."""
    parser.description = (
        "Run the controller of computed_torque_node on the joint states and trajectories of a bag, without ROS and as "
        "fast as possible, and write command_states and faults (/diagnostics) to a new bag, with the times of the "
        "recording. The same input gives the same bytes."
    )
    add_bag(parser)
    add_output(parser, "-o", "--output", required=True, metavar="BAG", help="folder of the new bag")
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="the controller's parameter file (default: the parameters in the bag, else the defaults)",
    )
    add_robot(parser)
    parser.add_argument(
        "--topic",
        type=_topic,
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=TOPIC",
        help=f"the bag's topics for {', '.join(INPUTS)} and command_states (default: the only topic of that name)",
    )
    add_rename(parser)


def _topic(text: str) -> tuple[str, str]:
    form = f"NAME=TOPIC, with one of {', '.join(_TOPICS)}"
    name, topic = pair(text, form)
    if name not in _TOPICS or not topic:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form {form}")
    return name, topic


def run_replay(arguments: argparse.Namespace) -> None:
    """Replay and print a summary; RobotDynamicsError for an unusable bag, robot or parameter."""
    check_output(arguments, arguments.output, bag=True)
    topics = dict(arguments.topic)
    with BagReader(arguments.bag) as reader:
        node = command_topic(reader, topics.get("command_states")).rsplit("/", 1)[0]
    recorded = None if arguments.config is not None else read_configuration(arguments.bag, f"{node}/")
    if recorded is not None:
        values: Values = recorded[1].values
        origin = f"{arguments.bag}: {recorded[0]}"
    else:
        values = read_parameter_file(arguments.config, node, controller.ALL)
        origin = arguments.config or "defaults"
    description = ROBOT_DESCRIPTION.read(values)
    if arguments.robot is not None or not description:
        source = recorded_robot(arguments, arguments.bag, f"{node}/")
    else:
        dynamics = None if arguments.dynamics in (None, "none") else arguments.dynamics
        source = RobotSource(f"{arguments.config}: {ROBOT_DESCRIPTION.name}", description, dynamics)
    source, values, model, configuration = _controller(arguments, source, values)
    print(f"note: robot: {source}; parameters: {origin}", file=sys.stderr)
    begin = time.monotonic()
    with new_bag(arguments.output) as output:
        result = replay(
            arguments.bag,
            output,
            model,
            controller_settings(values),
            topics=topics,
            rename=dict(arguments.rename),
            activation_check=controller.ACTIVATION_CHECK.read(values),
            configuration=configuration,
        )
    print(_summary(result, time.monotonic() - begin, arguments.output))


def _controller(
    arguments: argparse.Namespace, source: RobotSource, values: Values
) -> tuple[RobotSource, Values, RobotModel, Configuration]:
    """Return the controller's robot, parameters, model and ~/configuration; the command line comes before both."""
    if arguments.dynamics is None:
        source = replace(source, dynamics=DYNAMICS_FILE.read(values) or source.dynamics)
    values = _overridden(values, {controller.GRAVITY.name: arguments.gravity})
    model = source.model(gravity=controller.GRAVITY.read(values) or None, joints=JOINTS.read(values) or None)
    text = source.text if isinstance(source.text, str) else source.text.decode(errors="replace")
    return source, values, model, Configuration.of(values, text, source.dynamics_content())


def _overridden(values: Values, overrides: Mapping[str, object]) -> Values:
    """Return the values with those of ``overrides`` that are not None."""
    given = {name: value for name, value in overrides.items() if value is not None}
    return lambda name: given[name] if name in given else values(name)


def _summary(result: Replay, seconds: float, output: Path | None) -> str:
    """Return counts of messages, changes of mode and cut efforts, the time that it took, and the path of the bag."""
    modes = [f"{change.after.value} ({change.fault.message})" for change in result.transitions]
    lines = [
        f"{result.states} joint_states, {result.commands} commands, {len(modes)} changes of mode, {seconds:.1f} s",
        *(f"  {mode}" for mode in modes[:10]),
    ]
    if len(modes) > 10:
        lines.append(f"  and {len(modes) - 10} more, on /diagnostics in the bag")
    lines += [f"  effort limit of {joint}: cut {count} commands" for joint, count in result.saturated.items()]
    if output is not None:
        lines.append(f"bag: {output}")
    return "\n".join(lines)


def add_simulate(parser: argparse.ArgumentParser) -> None:
    """Declare description and arguments."""
    parser.description = (
        "Runs the controller of computed_torque_node and the arm of simulation_node in one process, in "
        "lockstep and without ROS, along a trajectory; prints how well it tracks; and writes a bag as the live nodes "
        "would, for report, torque, compare and replay. The same input gives the same bytes."
    )
    add_named_robot(parser)
    parser.add_argument(
        "--law", choices=TRACKING_LAWS, help="control law (default: the parameter file's, else its own)"
    )
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="parameter file of the nodes: gains, noise, motion (default: that of ROBOT)",
    )
    parser.add_argument(
        "--trajectory",
        type=Path,
        metavar="FILE",
        help="a JointTrajectory in YAML; a first point at time 0 is where the arm starts (default: the motion of "
        "trajectory_node's parameters)",
    )
    parser.add_argument("--duration", type=float, metavar="S", help="seconds of motion (default: the whole motion)")
    parser.add_argument("--rate", type=float, metavar="HZ", help="command cycles per second (default: 500)")
    parser.add_argument("--plant-dynamics", metavar="FILE", help="dynamics file of the plant (default: the same)")
    parser.add_argument("--mass-scale", type=float, metavar="K", help="factor of the plant's masses and inertias")
    parser.add_argument(
        "--friction-scale", type=float, nargs="+", metavar="K", help="factor of its friction, one or one for each joint"
    )
    add_output(parser, "-o", "--output", metavar="BAG", help="folder of the new bag (default: none is kept)")


def run_simulate(arguments: argparse.Namespace) -> None:
    """Simulate, and print the table; RobotDynamicsError for arguments that do not fit and runs that cannot go on."""
    check_output(arguments, arguments.output, bag=True)
    source = named_robot(arguments)
    values, plant_values, motion_values = _parameters(arguments)
    source, values, model, configuration = _controller(arguments, source, values)
    plant = simulation_settings(plant_values, _plant_model(arguments, source, values, model))
    settings = controller_settings(values)
    if settings.law not in TRACKING_LAWS:
        raise RobotDynamicsError(
            f"law {settings.law} follows no trajectory. Cure: --law with {', '.join(TRACKING_LAWS)}"
        )
    points, start = _motion(arguments, plant_values, motion_values, model)
    duration = float(points.times[-1]) if arguments.duration is None else arguments.duration
    if not 0.0 < duration < math.inf:
        raise RobotDynamicsError(f"--duration {duration:g} is out of range. Cure: give seconds above 0")
    moves = (points.positions != points.positions[0]).any(axis=1)
    rest = float(points.times[max(int(moves.argmax()) - 1, 0)])  # at the first point
    with ExitStack() as stack:
        if arguments.output is None:
            bag = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "bag"
        else:
            bag = stack.enter_context(new_bag(arguments.output))
        begin = time.monotonic()
        result = simulate_to_bag(
            bag,
            SimulatedArm(replace(plant, initial_positions=start)),
            plant.period,
            model,
            settings,
            points,
            rest + duration + _SETTLING_TIME,
            configuration=configuration,
            activation_check=controller.ACTIVATION_CHECK.read(values),
        )
        seconds = time.monotonic() - begin
        run = read_tracking(bag, settings.law, duration)
    print(f"{model.name}: {1.0 / plant.period:g} Hz, {duration:g} s of motion\n")
    print(f"{tracking_table([run], error_units(model, run.joint_names))}\n")
    print(_summary(result, seconds, arguments.output))


def _parameters(arguments: argparse.Namespace) -> tuple[Values, Values, Values]:
    """Return the parameters of controller, plant and trajectory: of the command line, else of a file.

    The file is that of --config, else the robot's own.
    """
    own = find_resource("config", f"{arguments.robot}.yaml") if arguments.robot in robot_names() else None
    file = own if arguments.config is None else arguments.config
    if file is None and arguments.trajectory is None:
        raise RobotDynamicsError(
            f"no motion is known for {arguments.robot}. Cure: --trajectory with a JointTrajectory, or --config with "
            "trajectory.center and initial_positions, as config/panda.yaml has them"
        )
    step_size = None
    if arguments.rate is not None:
        step_size = plant_step_size(simulation.PUBLISH_RATE.check(arguments.rate))
    plant = {
        simulation.MASS_SCALE.name: arguments.mass_scale,
        simulation.FRICTION_SCALE.name: arguments.friction_scale,
        simulation.PUBLISH_RATE.name: arguments.rate,
        simulation.STEP_SIZE.name: step_size,
    }
    controller_values = read_parameter_file(file, COMMANDS.rsplit("/", 1)[0], controller.ALL)

    def read(node: str, parameters: Sequence[Parameter[Any]]) -> Values:
        try:
            return read_parameter_file(file, node, parameters)
        except RobotDynamicsError:  # the file is valid, but has nothing for this node
            return read_parameter_file(own, node, parameters)

    return (
        _overridden(controller_values, {"law": arguments.law}),
        _overridden(read("/simulation_node", simulation.ALL), plant),
        _overridden(read("/trajectory_node", trajectory.ALL), {trajectory.TOTAL_TIME.name: arguments.duration}),
    )


def _plant_model(arguments: argparse.Namespace, source: RobotSource, values: Values, model: RobotModel) -> RobotModel:
    """Return the controller's ``model``, unless the plant differs: the parameter gravity is the controller's only."""
    dynamics = arguments.plant_dynamics
    if dynamics is not None:
        source = replace(source, dynamics=None if dynamics == "none" else dynamics)
    elif arguments.gravity or not controller.GRAVITY.read(values):
        return model
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RobotModelWarning)  # the controller's model has caused them already
        return source.part(model.joint_names, gravity=arguments.gravity)


def _motion(
    arguments: argparse.Namespace, plant_values: Values, motion_values: Values, model: RobotModel
) -> tuple[TrajectoryPoints, tuple[float, ...]]:
    """Return the trajectory, and the initial positions of the arm (n,)."""
    start = np.clip(np.zeros(model.n), model.position_lower, model.position_upper)
    if initial := simulation.INITIAL_POSITIONS.read(plant_values):
        start = model.vector("parameter initial_positions", initial)
    positions = dict(zip(model.joint_names, start.tolist(), strict=True))
    if arguments.trajectory is not None:
        points = read_trajectory_file(arguments.trajectory)
    elif trajectory.KIND.read(motion_values) == trajectory.FROM_FILE:
        points = trajectory.trajectory_of_file(motion_values)
    else:
        names = trajectory.JOINTS.read(motion_values) or model.joint_names
        begin = trajectory.START.read(motion_values) or [positions.get(name, 0.0) for name in names]
        return trajectory.trajectory_from(motion_values, names, begin), tuple(positions.values())
    if points.times[0] == 0.0:
        first = zip(points.joint_names, points.positions[0].tolist(), strict=True)
        positions |= {name: q for name, q in first if name in positions}
    return points, tuple(positions.values())
