"""robot_dynamics simulate: the node's controller on a simulated arm, with one or several laws."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics_ros.background import run_in_background
from robot_dynamics_ros.cli.command_line import TRACKING_LAWS, add_output, check_output, new_bag, plant_step_size
from robot_dynamics_ros.cli.offline import configuration_of, controller_model, overridden, summary
from robot_dynamics_ros.cli.robot_source import RobotSource, add_named_robot, named_robot
from robot_dynamics_ros.cli.tracking import Tracking, error_units, plot_tracking, read_tracking, tracking_table
from robot_dynamics_ros.control import parameters as controller
from robot_dynamics_ros.control.controller import warm_up_controller
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.control.safety import Mode
from robot_dynamics_ros.control.settings import read_settings as controller_settings
from robot_dynamics_ros.control.trajectory import parameters as trajectory
from robot_dynamics_ros.control.trajectory.files import read_trajectory_file
from robot_dynamics_ros.control.trajectory.points import TrajectoryPoints
from robot_dynamics_ros.errors import RobotDynamicsError, RobotModelWarning
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.offline.motion import default_motion, default_start, scaled_to_limits
from robot_dynamics_ros.offline.recorder import COMMANDS, Replay
from robot_dynamics_ros.offline.simulation import simulate_to_bag
from robot_dynamics_ros.parameters.file import read_parameter_file
from robot_dynamics_ros.parameters.kinds import Parameter, Values
from robot_dynamics_ros.resources import find_resource, robot_names
from robot_dynamics_ros.simulation import parameters as simulation
from robot_dynamics_ros.simulation.parameters import read_settings as simulation_settings
from robot_dynamics_ros.simulation.simulated_arm import SimulatedArm, SimulationSettings

PICTURE = "tracking.png"
_DEFAULT_KIND = trajectory.KIND.default
_SETTLING_TIME = 0.5  # s after the motion
_RK4_STIFFNESS = 0.5  # step size times viscous friction over effective inertia; rk4 is unstable above 2.8
_SHORTEST, _LONGEST = 0.1, 10_000.0  # s of motion


def add_simulate(parser: argparse.ArgumentParser) -> None:
    """Declare description and arguments."""
    parser.description = (
        "Runs the controller of computed_torque_node and the arm of simulation_node in one process, in "
        "lockstep and without ROS, along a trajectory; prints how well it tracks; and writes a bag as the live nodes "
        "would, for report, torque, compare and replay. Any URDF has a default motion within its limits. Several laws "
        "are compared. The same input gives the same bytes. Exit code 1 if a run ends in a fault."
    )
    add_named_robot(parser)
    parser.add_argument(
        "--law",
        nargs="+",
        choices=TRACKING_LAWS,
        metavar="LAW",
        help=f"one or more of {', '.join(TRACKING_LAWS)} (default: the parameter file's, else its own)",
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
        "trajectory_node's parameters, else a sine of each joint within its limits)",
    )
    parser.add_argument(
        "--duration",
        type=float,
        metavar="S",
        help="seconds of motion (default: the whole motion); a motion that would exceed limits is made smaller",
    )
    parser.add_argument("--rate", type=float, metavar="HZ", help="command cycles per second (default: 500)")
    parser.add_argument("--plant-dynamics", metavar="FILE", help="dynamics file of the plant (default: the same)")
    parser.add_argument("--mass-scale", type=float, metavar="K", help="factor of the plant's masses and inertias")
    parser.add_argument(
        "--friction-scale", type=float, nargs="+", metavar="K", help="factor of its friction, one or one for each joint"
    )
    add_output(
        parser,
        "-o",
        "--output",
        metavar="FOLDER",
        help=f"new bag; with several laws a folder with LAW/bag and {PICTURE} (default: none is kept)",
    )


def run_simulate(arguments: argparse.Namespace) -> None:
    """Simulate, and print the table; RobotDynamicsError for arguments that do not fit and runs that end in a fault."""
    laws, output = list(dict.fromkeys(arguments.law or ())), arguments.output
    if len(laws) > 1 and output is not None:
        check_folder(arguments, output, laws)
        bags, picture = bags_in(output, laws), output / PICTURE
    else:
        check_output(arguments, output, bag=True)
        bags, picture = dict.fromkeys(laws, output), None
    experiment = prepare(arguments)
    compare_laws(experiment, bags or {experiment.law: output}, picture)


def bags_in(folder: Path, laws: Iterable[str]) -> dict[str, Path]:
    """Return the bag of each law in a folder of results."""
    return {law: folder / law / "bag" for law in laws}


def check_folder(arguments: argparse.Namespace, folder: Path, laws: Sequence[str]) -> None:
    """Check as ``check_output`` that the results of several laws can be written to ``folder``."""
    if not (arguments.overwrite and folder.is_dir()):
        check_output(arguments, folder, bag=True)
        return
    for law in laws:
        check_output(arguments, folder / law / "bag", bag=True)
    check_output(arguments, folder / PICTURE)


@dataclass(frozen=True)
class Experiment:
    """Robot, controller, plant and motion of a simulation.

    Attributes
    ----------
    source
        Files of the robot.
    model
        Model of the controller.
    values
        Parameters of the controller.
    plant
        Settings of the simulated arm, with its initial positions.
    points
        Desired motion.
    duration
        Seconds of motion to track, at most those of ``points``.
    """

    source: RobotSource
    model: RobotModel
    values: Values
    plant: SimulationSettings
    points: TrajectoryPoints
    duration: float

    @property
    def law(self) -> str:
        """Control law of the parameters."""
        return controller_settings(self.values).law

    def run(self, law: str, bag: Path) -> tuple[Replay, float]:
        """Simulate with a law into a new bag; return the outcome and the seconds that it took.

        Raises RobotDynamicsError if the controller refuses the motion, or the arm cannot go on.
        """
        values = overridden(self.values, {"law": law})
        settings, arm = controller_settings(values), SimulatedArm(self.plant)

        def warm_up() -> None:
            warm_up_controller(self.model, settings)
            arm.warm_up()

        run_in_background(warm_up).result()  # in the background, so that Ctrl-C interrupts it
        moves = (self.points.positions != self.points.positions[0]).any(axis=1)
        rest = float(self.points.times[max(int(moves.argmax()) - 1, 0)])  # at the first point
        begin = time.monotonic()
        result = simulate_to_bag(
            bag,
            arm,
            self.plant.period,
            self.model,
            settings,
            self.points,
            rest + self.duration + _SETTLING_TIME,
            configuration=configuration_of(self.source, values),
            activation_check=controller.ACTIVATION_CHECK.read(values),
        )
        return result, time.monotonic() - begin


def compare_laws(experiment: Experiment, bags: Mapping[str, Path | None], picture: Path | None) -> list[Tracking]:
    """Simulate with each law of ``bags`` and print the table; return how each law tracks.

    A bag is written where ``bags`` has a path, and the plot to ``picture`` if it is not None. If a run ends in a fault,
    RobotDynamicsError is raised after the table of the other laws.
    """
    model, notes = experiment.model, []
    runs: list[Tracking] = []
    faults: list[str] = []
    print(f"{model.name}: {1.0 / experiment.plant.period:g} Hz, {experiment.duration:g} s of motion\n", flush=True)
    for law, bag in bags.items():
        name = f"{law}: " if len(bags) > 1 else ""
        with ExitStack() as stack:
            if bag is None:
                new = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "bag"
            else:
                make_folder(bag.parent)
                new = stack.enter_context(new_bag(bag))
            try:
                result, seconds = experiment.run(law, new)
                notes.append(name + summary(result, seconds, bag if picture is None else None))
                if fault := _last_fault(result, law):
                    raise RobotDynamicsError(fault)
                runs.append(read_tracking(new, law, experiment.duration))
            except RobotDynamicsError as error:
                faults.append(f"{name}{error}")
    if runs:
        units = error_units(model, runs[0].joint_names)
        print_comparison(runs, units)
        if picture is not None:
            plot_tracking(runs, model.name, units, picture)
        print()
    if picture is not None:
        notes.append(f"bags: {picture.parent}/<law>/bag" + (f"   picture: {picture}" if runs else ""))
    print("\n".join(notes))
    if faults:
        raise RobotDynamicsError("\n".join(faults))
    return runs


def print_comparison(runs: list[Tracking], units: list[str]) -> None:
    """Print the table of tracking errors, and how much better each law tracks than the first one."""
    print(tracking_table(runs, units))
    first = runs[0]
    for run in runs[1:]:
        if run.total_rms > 0.0:
            print(f"{run.law} tracks {first.total_rms / run.total_rms:.1f} times better than {first.law}")


def make_folder(folder: Path) -> None:
    """Create a folder and its parents; RobotDynamicsError if that is impossible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RobotDynamicsError(f"{folder}: {error.strerror}. Cure: give another folder with --output") from None


def _last_fault(result: Replay, law: str) -> str:
    """Return time and cause of the fault in which a run ended; empty if it ended with the law active."""
    changes = result.transitions
    if not changes or changes[-1].after is Mode.ACTIVE:
        return ""
    begin = [change for change in changes if change.before is Mode.ACTIVE][-1]
    text = f"at {begin.time:.3f} s: {begin.fault.message}"
    if not LAWS[law].compensates_gravity:
        text += f"; {law} does not compensate gravity: with pd_gravity or computed_torque the arm does not fall"
    return text


def prepare(arguments: argparse.Namespace, overrides: Mapping[str, object] | None = None) -> Experiment:
    """Return the experiment of a command line; ``overrides`` are parameters of the controller.

    Raises RobotDynamicsError for arguments that do not fit.
    """
    source = named_robot(arguments)
    values, plant_values, motion_values = _parameters(arguments)
    source, values, model = controller_model(arguments, source, overridden(values, overrides or {}))
    if not arguments.law and (law := controller_settings(values).law) not in TRACKING_LAWS:
        raise RobotDynamicsError(f"law {law} follows no trajectory. Cure: --law with {', '.join(TRACKING_LAWS)}")
    model.require_mass()
    run_in_background(model.warm_up).result()
    points, start = _motion(arguments, plant_values, motion_values, model)
    plant = simulation_settings(plant_values, _plant_model(arguments, source, values, model))
    if plant_values(simulation.INTEGRATOR.name) is simulation.INTEGRATOR.default:  # given nowhere
        plant = _with_stable_integrator(plant, np.array(start))
    duration = float(points.times[-1]) if arguments.duration is None else arguments.duration
    return Experiment(source, model, values, replace(plant, initial_positions=start), points, duration)


def _parameters(arguments: argparse.Namespace) -> tuple[Values, Values, Values]:
    """Return the parameters of controller, plant and trajectory: of the command line, else of a file.

    The file is that of --config, else the robot's own.
    """
    own = find_resource("config", f"{arguments.robot}.yaml") if arguments.robot in robot_names() else None
    file = own if arguments.config is None else arguments.config
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

    motion = read("/trajectory_node", trajectory.ALL)
    return (
        controller_values,
        overridden(read("/simulation_node", simulation.ALL), plant),
        overridden(motion, _of_duration(motion, arguments.duration)),
    )


def _of_duration(motion: Values, duration: float | None) -> dict[str, object]:
    """Return parameters of trajectory_node for ``duration`` (s); a shorter motion is the whole one, faster."""
    if duration is None:
        return {}
    if not _SHORTEST <= duration <= _LONGEST:
        raise RobotDynamicsError(
            f"--duration {duration:g} is out of range. Cure: give {_SHORTEST:g} to {_LONGEST:g} seconds"
        )
    if trajectory.KIND.read(motion) != _DEFAULT_KIND:
        return {}
    part = min(1.0, duration / trajectory.TOTAL_TIME.read(motion))
    return {
        trajectory.TOTAL_TIME.name: duration,
        trajectory.MOVE_TIME.name: part * trajectory.MOVE_TIME.read(motion),
        trajectory.RATE.name: trajectory.RATE.read(motion) / part,
    }


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


def _with_stable_integrator(plant: SimulationSettings, start: Array) -> SimulationSettings:
    """Return the settings with the integrator semi_implicit if rk4 might be unstable with the viscous friction."""
    model = plant.model
    slow, fast = (model.friction_torque(start, np.full(model.n, speed)) for speed in (1.0, 2.0))
    compliance = np.diag(np.linalg.inv(model.mass_matrix(start)))  # 1 / effective inertia
    stiff = plant.step_size * (fast - slow) * compliance > _RK4_STIFFNESS
    if not stiff.any():
        return plant
    name = model.joint_names[int(np.argmax(stiff))]
    print(f"note: integrator semi_implicit, since the viscous friction of {name} is stiff", file=sys.stderr)
    return replace(plant, integrator="semi_implicit")


def _motion(
    arguments: argparse.Namespace, plant_values: Values, motion_values: Values, model: RobotModel
) -> tuple[TrajectoryPoints, tuple[float, ...]]:
    """Return the trajectory, and the initial positions of the arm (n,)."""
    start = np.clip(np.zeros(model.n), model.position_lower, model.position_upper)
    initial = simulation.INITIAL_POSITIONS.read(plant_values)
    if initial:
        start = model.vector("parameter initial_positions", initial)
    kind = trajectory.KIND.read(motion_values)
    if arguments.trajectory is not None or kind == trajectory.FROM_FILE:
        file = arguments.trajectory
        points = trajectory.trajectory_of_file(motion_values) if file is None else read_trajectory_file(file)
        positions = dict(zip(model.joint_names, start.tolist(), strict=True))
        if points.times[0] == 0.0:
            first = zip(points.joint_names, points.positions[0].tolist(), strict=True)
            positions |= {name: q for name, q in first if name in positions}
        return points, tuple(positions.values())
    fit = arguments.duration is not None
    if kind == _DEFAULT_KIND and motion_values(trajectory.CENTER.name) is trajectory.CENTER.default:  # given nowhere
        start = start if initial else default_start(model)
        motion_values, fit = overridden(motion_values, default_motion(model, start)), True
    positions = dict(zip(model.joint_names, start.tolist(), strict=True))
    names = trajectory.JOINTS.read(motion_values) or model.joint_names
    begin = trajectory.START.read(motion_values) or [positions.get(name, 0.0) for name in names]
    points = trajectory.trajectory_from(motion_values, names, begin)
    if fit and kind == _DEFAULT_KIND and not model.loops:
        points, factors = scaled_to_limits(model, points, start)
        _report_scale(points.joint_names, factors)
    return points, tuple(start.tolist())


def _report_scale(names: Sequence[str], factors: Array) -> None:
    """Print notes for factors (k,) of the motion below 1."""
    if still := [name for name, factor in zip(names, factors, strict=True) if factor == 0.0]:
        print(f"note: {', '.join(still)}: not moved, since friction exceeds the effort limit", file=sys.stderr)
    if (smaller := factors[factors > 0.0]).min(initial=1.0) < 1.0:
        print(f"note: velocity and effort limits reduce the motion, to {smaller.min():.0%} at least", file=sys.stderr)
