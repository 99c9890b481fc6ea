"""robot_dynamics simulate: the node's controller on a simulated arm, without ROS and as fast as the machine can."""

from __future__ import annotations

import argparse
import math
import tempfile
import time
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.cli.arguments import (
    add_named_robot,
    add_output,
    check_output,
    configuration,
    configured_model,
    configured_source,
    named_robot,
    new_bag,
)
from robot_dynamics_ros.cli.replay import summary
from robot_dynamics_ros.cli.robot_source import RobotSource
from robot_dynamics_ros.cli.tracking import read_tracking, tracking_table
from robot_dynamics_ros.control import parameters as controller
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.control.parameters import read_settings as controller_settings
from robot_dynamics_ros.control.trajectory import parameters as trajectory
from robot_dynamics_ros.control.trajectory.files import read_trajectory_file
from robot_dynamics_ros.control.trajectory.points import TrajectoryPoints
from robot_dynamics_ros.errors import RobotDynamicsError, RobotModelWarning
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.offline.replay import COMMANDS
from robot_dynamics_ros.offline.simulation import STATES, simulate_to_bag
from robot_dynamics_ros.parameters.file import read_parameter_file
from robot_dynamics_ros.parameters.kinds import Parameter, Values
from robot_dynamics_ros.resources import find_resource, robot_names
from robot_dynamics_ros.simulation import parameters as simulation
from robot_dynamics_ros.simulation.parameters import read_settings as simulation_settings
from robot_dynamics_ros.simulation.simulated_arm import SimulatedArm

_STEP_SIZE = 0.001  # s, at most
_AFTER = 0.5  # s: how the arm comes to rest
_FOLLOWING = sorted(name for name, law in LAWS.items() if law.follows)


class _Parameters(NamedTuple):
    """The values of the three nodes."""

    controller: Values
    plant: Values
    trajectory: Values


def add_parser(commands: Any) -> None:
    """Add the subcommand to the parser's subparsers."""
    parser = commands.add_parser(
        "simulate",
        help="let the controller move a simulated arm, without ROS, as fast as it can",
        description="Runs the controller of computed_torque_node and the arm of simulation_node in one process, in "
        "lockstep and without ROS, along a trajectory; prints how well it tracks; and writes a bag as the live nodes "
        "would, for report, torque, compare and replay. The same input gives the same bytes.",
    )
    add_named_robot(parser)
    parser.add_argument("--law", choices=_FOLLOWING, help="control law (default: the parameter file's, else its own)")
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
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Simulate, and print the table; raises RobotDynamicsError for what does not fit and what cannot go on."""
    if arguments.output is not None:
        check_output(arguments, arguments.output, bag=True)
    source = named_robot(arguments)
    parameters = _parameters(arguments)
    model = configured_model(arguments, source, parameters.controller)
    plant = simulation_settings(parameters.plant, _plant_model(arguments, source, parameters.controller, model))
    settings = controller_settings(parameters.controller)
    if settings.law not in _FOLLOWING:
        raise RobotDynamicsError(f"law {settings.law} follows no trajectory. Cure: --law with {', '.join(_FOLLOWING)}")
    points, start = _motion(arguments, parameters, model)
    duration = float(points.times[-1]) if arguments.duration is None else arguments.duration
    if not 0.0 < duration < math.inf:
        raise RobotDynamicsError(f"--duration {duration:g} is out of range. Cure: give seconds above 0")
    with ExitStack() as stack:
        bag = arguments.output
        if bag is None:
            bag = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "bag"
        else:
            bag = stack.enter_context(new_bag(bag))
        begin = time.monotonic()
        result = simulate_to_bag(
            bag,
            SimulatedArm(replace(plant, initial_positions=start)),
            plant.period,
            model,
            settings,
            points,
            _rest(points) + duration + _AFTER,
            configuration=configuration(arguments, source, parameters.controller),
            activation_check=controller.ACTIVATION_CHECK.read(parameters.controller),
        )
        seconds = time.monotonic() - begin
        tracking = read_tracking(bag, settings.law, STATES, COMMANDS, duration)
    units = ["mm" if name in model.prismatic_joints else "mrad" for name in model.joint_names]
    print(f"{model.name}: {1.0 / plant.period:g} Hz, {duration:g} s of motion\n\n{tracking_table([tracking], units)}\n")
    print(summary(result, seconds, arguments.output))


def _parameters(arguments: argparse.Namespace) -> _Parameters:
    """Return the parameters of the file, else of the robot's own; and what the command line says instead."""
    own = find_resource("config", f"{arguments.robot}.yaml") if arguments.robot in robot_names() else None
    file = own if arguments.config is None else arguments.config
    if file is None and arguments.trajectory is None:
        raise RobotDynamicsError(
            f"no motion is known for {arguments.robot}. Cure: --trajectory with a JointTrajectory, or --config with "
            "trajectory.center and initial_positions, as config/panda.yaml has them"
        )
    node = COMMANDS.rsplit("/", 1)[0]
    law: dict[str, object] = {} if arguments.law is None else {controller.LAW.name: arguments.law}
    motion: dict[str, object] = {}
    if arguments.duration is not None:
        motion[trajectory.TOTAL_TIME.name] = arguments.duration
    plant = {
        simulation.MASS_SCALE.name: arguments.mass_scale,
        simulation.FRICTION_SCALE.name: arguments.friction_scale,
        simulation.PUBLISH_RATE.name: arguments.rate,
    }
    if arguments.rate is not None:
        simulation.PUBLISH_RATE.check(arguments.rate)
        plant[simulation.STEP_SIZE.name] = 1.0 / (arguments.rate * math.ceil(1.0 / (arguments.rate * _STEP_SIZE)))
    return _Parameters(
        _instead(law, read_parameter_file(file, node, controller.ALL)),
        _instead({k: v for k, v in plant.items() if v is not None}, _of(file, own, "/simulation_node", simulation.ALL)),
        _instead(motion, _of(file, own, "/trajectory_node", trajectory.ALL)),
    )


def _of(file: Path | None, own: Path | None, node: str, parameters: Sequence[Parameter[Any]]) -> Values:
    try:
        return read_parameter_file(file, node, parameters)
    except RobotDynamicsError:  # the controller's were read, so that it only says nothing of this node
        return read_parameter_file(own, node, parameters)


def _instead(given: dict[str, Any], values: Values) -> Values:
    return lambda name: given[name] if name in given else values(name)


def _plant_model(arguments: argparse.Namespace, source: RobotSource, values: Values, model: RobotModel) -> RobotModel:
    """Return the controller's ``model``, unless the plant differs: the node's parameter gravity is none of its own."""
    given = arguments.plant_dynamics
    if given is None and not controller.GRAVITY.read(values):
        return model
    source = configured_source(arguments, source, values)
    if given is not None:
        source = replace(source, dynamics=None if given == "none" else given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RobotModelWarning)  # the controller's model has said it
        return source.part(model.joint_names, gravity=arguments.gravity)


def _motion(
    arguments: argparse.Namespace, parameters: _Parameters, model: RobotModel
) -> tuple[TrajectoryPoints, tuple[float, ...]]:
    """Return the trajectory, and where the arm starts (n,)."""
    initial = simulation.INITIAL_POSITIONS.read(parameters.plant)
    start: NDArray[np.float64] = np.clip(np.zeros(model.n), model.position_lower, model.position_upper)
    if initial:
        start = model.vector("parameter initial_positions", initial)
    if arguments.trajectory is not None:
        points = read_trajectory_file(arguments.trajectory)
    elif trajectory.KIND.read(parameters.trajectory) == trajectory.FROM_FILE:
        points = trajectory.trajectory_of_file(parameters.trajectory)
    else:
        names = trajectory.JOINTS.read(parameters.trajectory) or model.joint_names
        at = dict(zip(model.joint_names, start, strict=True))
        begin = trajectory.START.read(parameters.trajectory) or [at.get(name, 0.0) for name in names]
        return trajectory.trajectory_from(parameters.trajectory, names, begin), tuple(start.tolist())
    if points.times[0] == 0.0:
        first = dict(zip(points.joint_names, points.positions[0], strict=True))
        start = np.array([first.get(name, q) for name, q in zip(model.joint_names, start, strict=True)])
    return points, tuple(start.tolist())


def _rest(points: TrajectoryPoints) -> float:
    """Return for how long (s) the points stay where the first one is."""
    moves = (points.positions != points.positions[0]).any(axis=1)
    return float(points.times[max(int(moves.argmax()) - 1, 0)])
