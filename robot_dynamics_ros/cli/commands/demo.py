"""robot_dynamics demo: compare the tracking errors of control laws on a simulated arm.

``run_demo`` takes the parsed arguments that ``add_demo`` declares.
"""

from __future__ import annotations

import math
import os
from argparse import ArgumentParser, Namespace
from functools import partial
from pathlib import Path

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.resources import robot_names
from robot_dynamics_ros.base.urdf_file import XACRO
from robot_dynamics_ros.cli.command_line import (
    TRACKING_LAWS,
    add_dynamics,
    add_no_browser,
    one_of,
)
from robot_dynamics_ros.cli.commands.simulate import (
    PICTURE,
    bags_in,
    check_folder,
    compare_laws,
    print_comparison,
)
from robot_dynamics_ros.cli.experiment import Experiment, prepare
from robot_dynamics_ros.cli.live import track_live
from robot_dynamics_ros.cli.processes import require_ros
from robot_dynamics_ros.cli.tracking import Tracking, error_units, plot_tracking

_DEFAULT_LAWS = ("pd", "pd_gravity", "computed_torque")
_OUTPUT = Path("demo_output")
_MOST_LOST = 0.01  # of the cycles; above, the numbers depend on the load of the machine

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
    )
    parser.set_defaults(gravity=None, xacro_arg=[], joints=None, locked=[])


def run_demo(arguments: Namespace) -> None:
    """Simulate each law of ``arguments``, print tracking errors, write bags and a plot; with --view serve them.

    Raises RobotDynamicsError for invalid arguments, missing packages, and runs that fail.
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
    if _lost_share(worst) > _MOST_LOST:
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
