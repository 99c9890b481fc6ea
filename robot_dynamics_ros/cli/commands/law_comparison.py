"""Commands simulate and demo: the node's controller on a simulated arm, with one or several control laws.

The function run_<command> takes the parsed arguments that add_<command> declares. Laws are names of control laws.
"""

from __future__ import annotations

import math
import os
import shlex
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.files import XACRO
from robot_dynamics_ros.base.joint_messages import DriveCommand
from robot_dynamics_ros.base.resources import robot_names
from robot_dynamics_ros.base.statistics import root_mean_square
from robot_dynamics_ros.cli.command_line import (
    TRACKING_LAWS,
    add_dynamics,
    add_joints,
    add_named_robot,
    add_no_browser,
    add_output,
    check_output,
    command_text,
    new_bag,
    one_of,
    wrapped,
)
from robot_dynamics_ros.cli.commands.offline import summary
from robot_dynamics_ros.cli.experiment import Experiment, prepare
from robot_dynamics_ros.cli.live import track_live
from robot_dynamics_ros.cli.processes import require_ros
from robot_dynamics_ros.cli.thresholds import MOST_LOST_CYCLES
from robot_dynamics_ros.cli.tracking import (
    Tracking,
    error_units,
    joint_groups,
    plot_tracking,
    read_tracking,
    require_plotter,
    tracking_table,
)
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.control.safety import Mode
from robot_dynamics_ros.runs.recorder import Replay

PICTURE = "tracking.png"


def add_simulate(parser: ArgumentParser) -> None:
    """Set the description of ``parser`` and add the arguments."""
    parser.description = (
        "Runs the controller of computed_torque_node and the arm of simulation_node in one process, in "
        "lockstep and without ROS, along a trajectory. Prints how well it tracks, and writes a bag as the live nodes "
        "would, for report, torque, compare and replay. Any URDF has a default motion within its limits. Several laws "
        "are compared. The same input gives the same bytes. Exit code 1 if a run ends in a fault."
    )
    add_named_robot(parser)
    add_joints(parser)
    parser.add_argument(
        "--law",
        nargs="+",
        type=partial(one_of, names=TRACKING_LAWS),
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
    parser.add_argument(
        "--rate",
        type=float,
        metavar="HZ",
        help="command cycles per second (default: 500)",
    )
    parser.add_argument(
        "--command-interfaces",
        nargs="+",
        choices=DriveCommand._fields,
        metavar="NAME",
        help=f"what the drives take: effort; position; or {' '.join(DriveCommand._fields)} (default: the parameter "
        "file's)",
    )
    add_dynamics(
        parser, "--plant-dynamics", "dynamics file of the plant (default: the same)"
    )
    parser.add_argument(
        "--mass-scale",
        type=float,
        metavar="K",
        help="factor of the plant's masses and inertias",
    )
    parser.add_argument(
        "--friction-scale",
        type=float,
        nargs="+",
        metavar="K",
        help="factor of its friction, one or one for each joint",
    )
    add_output(
        parser,
        "-o",
        "--output",
        metavar="FOLDER",
        help=f"new bag; with several laws a folder with LAW/bag and {PICTURE} (default: none is kept)",
    )


def run_simulate(arguments: Namespace) -> None:
    """Simulate with each law of ``arguments``, print the table, and keep the recordings with --output.

    Raises RobotDynamicsError as ``check_output``, with several laws and --output as ``check_folder``, as ``prepare``
    and, after the table, if a run fails or ends in a fault.
    """
    laws = list(dict.fromkeys(arguments.law or ()))
    output = arguments.output
    several = len(laws) > 1 and output is not None
    if several:
        check_folder(arguments, output, laws)
    else:
        check_output(arguments, output, kind="bag")
    experiment = prepare(arguments)
    bags: Mapping[str, Path | None] = dict.fromkeys(experiment.laws, output)
    if several:
        bags = bags_in(output, laws)
    compare_laws(experiment, bags, output / PICTURE if several else None)
    if output is None:
        print(
            "next: -o FOLDER keeps the recordings, --mass-scale 1.1 simulates an arm that is heavier than the model"
        )
    else:
        recordings = [str(bag) for bag in bags.values()]
        print(f"next: {command_text('view', arguments, arguments.robot, *recordings)}")
        print(
            f"      robot_dynamics report {shlex.quote(recordings[0])} -o report.html"
        )


def bags_in(folder: Path, laws: Iterable[str]) -> dict[str, Path]:
    """Return the path of each law's bag, ``folder``/LAW/bag, by law."""
    return {law: folder / law / "bag" for law in laws}


def check_folder(arguments: Namespace, folder: Path, laws: Sequence[str]) -> None:
    """Check that the bags of ``laws`` and their plot can be written to ``folder``; call this before any work is done.

    Raises RobotDynamicsError if ``folder`` exists without --overwrite or is a file, something in the place of a bag or
    the plot is neither, one of them is an input, or matplotlib is not installed.
    """
    require_plotter()
    if not (arguments.overwrite and folder.is_dir()):
        check_output(arguments, folder, kind="bag")
        return
    for law in laws:
        check_output(arguments, folder / law / "bag", kind="bag")
    check_output(arguments, folder / PICTURE)


def compare_laws(
    experiment: Experiment, bags: Mapping[str, Path | None], picture: Path | None
) -> None:
    """Simulate with each law of ``bags``, and print the table.

    A bag is written where ``bags`` has a path, and replaces one there; None: it is not kept. The plot of these laws is
    written to the file ``picture`` if it is not None; it requires matplotlib. If a run fails or ends in a fault,
    RobotDynamicsError is raised after the table of the others.
    """
    model = experiment.model
    notes = []
    runs: list[Tracking] = []
    faults: list[str] = []
    print(
        f"{model.name}: {1.0 / experiment.plant.period:g} Hz, {experiment.duration:g} s of motion\n",
        flush=True,
    )
    for law, bag in bags.items():
        name = f"{law}: " if len(bags) > 1 else ""
        with ExitStack() as stack:
            if bag is None:
                new = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "bag"
            else:
                bag.parent.mkdir(parents=True, exist_ok=True)
                new = stack.enter_context(new_bag(bag))
            try:
                result, seconds = experiment.run(law, new)
                notes.append(
                    name + summary(result, seconds, bag if picture is None else None)
                )
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
        notes.append(
            f"bags: {picture.parent}/<law>/bag"
            + (f"   picture: {picture}" if runs else "")
        )
    print("\n".join(notes))
    if faults:
        raise RobotDynamicsError("\n".join(faults))


def print_comparison(runs: list[Tracking], units: list[str]) -> None:
    """Print the table of tracking errors of one or more runs, and a line for each further run whose error is not 0.

    The line has the ratio of the first run's RMS error to that of the run, apart for revolute and prismatic joints.
    Joints that do not move are named. ``units`` are those of the joints' errors, "mrad" or "mm".
    """
    print(tracking_table(runs, units))
    for run in runs:
        if run.unmoved:
            text = f"{run.law}: {', '.join(run.unmoved)} did not move, held by friction or brakes. Cure: "
            print(
                wrapped(
                    text
                    + "give the controller's model the friction (docs/dynamics_file.md), or higher gains"
                )
            )
    first = runs[0]
    for run in runs[1:]:
        ratios = []
        for joints, columns in joint_groups(units).items():
            before, after = (
                root_mean_square(tracking.error[:, columns], axis=None)
                for tracking in (first, run)
            )
            if after > 0.0:
                ratios.append(
                    f"{'' if joints == 'all' else f'{joints} joints '}{before / after:.1f} times"
                )
        if ratios:
            print(f"{run.law} tracks {' and '.join(ratios)} better than {first.law}")


def _last_fault(result: Replay, law: str) -> str:
    """Return time and cause of the fault in which a run ended; empty if it ended with the law active."""
    changes = result.transitions
    if not changes or changes[-1].after is Mode.ACTIVE:
        return ""
    begin = [change for change in changes if change.before is Mode.ACTIVE][-1]
    text = f"at {begin.time:.3f} s: {begin.fault.message}"
    if not LAWS[law].compensates_gravity:
        text += f". With {law} the arm can fall: use a law that compensates gravity, such as pd_gravity"
    return text


_DEFAULT_LAWS = ("pd", "pd_gravity", "computed_torque")
_OUTPUT = Path("demo_output")

# No faults: each law runs to the end, even if the arm diverges, as with feedforward alone or on a busy machine.
_UNCHECKED = {
    "position_limit_margin": [math.inf],
    "velocity_limit_margin": [math.inf],
    "saturation_timeout": math.inf,
}


def add_demo(parser: ArgumentParser) -> None:
    """Set the description of ``parser`` and add the arguments."""
    parser.description = (
        "Compare control laws on a simulated arm: each tracks the same trajectory. Writes a bag of each law, prints "
        "the tracking errors and plots them. Plant and controller run in one process, without ROS and independent of "
        "the speed of the machine; with --live as two ROS 2 processes that exchange messages over DDS in real time."
    )
    parser.add_argument(
        "--robot",
        default="panda",
        metavar="NAME|URDF",
        help=f"one of {', '.join(robot_names())}, or a URDF or xacro file (default: %(default)s)",
    )
    parser.add_argument(
        "--law",
        nargs="+",
        default=list(_DEFAULT_LAWS),
        type=partial(one_of, names=TRACKING_LAWS),
        choices=TRACKING_LAWS,
        metavar="LAW",
        help=f"one or more of {', '.join(TRACKING_LAWS)} (default: {' '.join(_DEFAULT_LAWS)})",
    )
    add_dynamics(parser, "--dynamics", "dynamics file (default: the robot's own)")
    parser.add_argument(
        "--rate",
        type=float,
        default=500.0,
        help="command cycles per second (default: %(default)g)",
    )
    parser.add_argument(
        "--duration",
        type=float,
        default=10.0,
        help="seconds of motion (default: %(default)g)",
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FOLDER",
        help=f"new folder (default: {_OUTPUT}/ROBOT, in which the bags of an earlier demo are replaced)",
    )
    parser.add_argument(
        "--live",
        action="store_true",
        help="two processes over DDS, into FOLDER/live; needs ROS 2",
    )
    parser.add_argument(
        "--view",
        action="store_true",
        help="then show the first and the last law side by side in a browser",
    )
    add_no_browser(parser)
    # The other options of simulate.
    parser.set_defaults(
        config=None,
        trajectory=None,
        plant_dynamics=None,
        mass_scale=None,
        friction_scale=None,
        command_interfaces=None,
    )
    parser.set_defaults(gravity=None, xacro_arg=[], joints=None, locked=[])


def run_demo(arguments: Namespace) -> None:
    """Simulate each law of ``arguments``, print tracking errors, write bags and a plot; with --view serve them.

    Raises RobotDynamicsError for invalid arguments, for a folder of --output that exists or cannot be replaced, for
    missing packages, and for runs that fail; without --live also for runs that end in a fault.
    """
    if arguments.live:
        require_ros()
    if arguments.view:
        # here, since only --view needs the view
        from robot_dynamics_ros.analysis.view.geometry import require_viewer

        require_viewer()
    laws = list(dict.fromkeys(arguments.law))
    folder: Path = arguments.output or _OUTPUT / _name(arguments.robot)
    if arguments.live:
        folder /= "live"
    if arguments.output is not None and os.path.lexists(folder):
        raise RobotDynamicsError(
            f"{folder}: it exists already. Cure: give another folder with --output"
        )
    arguments.overwrite = True
    check_folder(arguments, folder, laws)
    experiment = prepare(arguments, _UNCHECKED)
    bags = bags_in(folder, laws)
    if arguments.live:
        _compare_live(experiment, bags, folder / PICTURE)
    else:
        compare_laws(experiment, bags, folder / PICTURE)
    if arguments.view:
        from robot_dynamics_ros.analysis.view.playback import show_bags

        shown = dict.fromkeys((laws[0], laws[-1]))
        recordings = [(law, bags[law]) for law in shown]
        show_bags(
            experiment.model,
            Path(experiment.source.name),
            recordings,
            browser=not arguments.no_browser,
        )


def _name(robot: str) -> str:
    """Return the name of a robot, or that of its file without .urdf, .xacro or both."""
    return Path(robot).name.removesuffix(XACRO).removesuffix(".urdf")


def _compare_live(experiment: Experiment, bags: dict[str, Path], picture: Path) -> None:
    """Track with each law as processes; print and plot, unless too many cycles are lost."""
    model = experiment.model
    rate = 1.0 / experiment.plant.period
    print(
        f"{model.name}: two processes over DDS, {rate:g} Hz, {experiment.duration:g} s of motion with each of "
        f"{', '.join(bags)}; the processes take some 10 s more to start and stop",
        flush=True,
    )
    runs = []
    picture.unlink(missing_ok=True)  # of an earlier demo
    for law, bag in bags.items():
        run = track_live(experiment, law, bag)
        runs.append(run)
        print(
            f"{law}: {len(run.time)} cycles, {run.late} late (the command came after the next state), "
            f"{run.lost} lost (a state without a command)",
            flush=True,
        )
    print(f"bags and logs: {picture.parent}/<law>/\n")
    worst = max(runs, key=_lost_share)
    if _lost_share(worst) > MOST_LOST_CYCLES:
        print(
            f"numbers withheld: this machine is too busy for {rate:g} Hz, {worst.law} lost {_lost_share(worst):.0%} of "
            "its cycles. Cure: close other programs, give a lower --rate, or omit --live, which needs real time"
        )
        return
    units = error_units(model, runs[0].joint_names)
    print_comparison(runs, units)
    plot_tracking(runs, model.name, units, picture)
    print(f"\npicture: {picture}")


def _lost_share(run: Tracking) -> float:
    return run.lost / (run.lost + len(run.time))
