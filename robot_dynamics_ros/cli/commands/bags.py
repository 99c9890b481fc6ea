"""Commands record, play, compare, report and view, for bags.

The function run_<command> takes the parsed arguments that add_<command> declares, and prints to stdout.
"""

from __future__ import annotations

import os
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from robot_dynamics_ros.base.errors import BagError, RobotDynamicsError
from robot_dynamics_ros.base.files import XACRO
from robot_dynamics_ros.base.parameters import JOINTS, LOCKED
from robot_dynamics_ros.base.resources import dynamics_file
from robot_dynamics_ros.cli.command_line import (
    add_bag,
    add_dynamics,
    add_filter,
    add_joint_states,
    add_joints,
    add_json,
    add_list,
    add_named_robot,
    add_no_browser,
    add_output,
    add_recorded_robot,
    add_rename,
    check_output,
    drive_gains,
    joint_state_topic,
    load_setup,
    print_json,
    read_series,
)
from robot_dynamics_ros.cli.named_robots import chosen_model, named_robot
from robot_dynamics_ros.cli.processes import become_node, require_ros
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.robot_source import RobotSource
from robot_dynamics_ros.recordings.bags import BagReader
from robot_dynamics_ros.recordings.bags.comparison import (
    Comparison,
    compare_bags,
    write_junit,
)
from robot_dynamics_ros.runs.configuration import read_configuration

# Exit codes of compare.
_MATCH = 0
_DIFFERENT = 1
_IMPOSSIBLE = 2


def add_record(parser: ArgumentParser) -> None:
    """Set the description of ``parser`` and add the arguments of record."""
    parser.description = "Wait until all topics exist, then record each message, byte for byte, until Ctrl-C."
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="BAG",
        help="folder of the new bag",
    )
    parser.add_argument("topics", nargs="+", metavar="TOPIC")


def run_record(arguments: Namespace) -> None:
    """Replace this process by recorder_node, which records the topics of ``arguments`` until Ctrl-C.

    Raises RobotDynamicsError if ROS 2 is not installed, or the bag's folder exists.
    """
    require_ros()
    if os.path.lexists(arguments.output):  # before the node starts
        raise RobotDynamicsError(
            f"{arguments.output}: it exists already. Cure: name another folder"
        )
    become_node(
        "recorder_node",
        {"output": str(arguments.output), "topics": arguments.topics},
    )


def add_play(parser: ArgumentParser) -> None:
    """Set the description of ``parser`` and add the arguments of play."""
    parser.description = (
        "Publish the messages of a bag with their recorded timing, byte for byte, as `ros2 bag play` does. Damaged and "
        "unfinished bags are played as far as they can be read."
    )
    add_bag(parser)
    parser.add_argument(
        "--rate",
        type=float,
        default=1.0,
        help="playback rate, 2 is twice as fast (default: %(default)g)",
    )
    add_list(
        parser,
        "--topics",
        "TOPIC",
        "topics to publish (default: all whose message type is installed)",
    )
    add_list(
        parser,
        "--wait-for",
        "NODE",
        "nodes that must subscribe before playback starts",
    )


def run_play(arguments: Namespace) -> None:
    """Replace this process by player_node, which publishes the bag of ``arguments`` and ends.

    Raises RobotDynamicsError if ROS 2 is not installed.
    """
    given = {"topics": arguments.topics, "listeners": arguments.wait_for}
    parameters = {"input": str(arguments.bag), "rate": arguments.rate}
    become_node(
        "player_node",
        parameters | {name: names for name, names in given.items() if names},
    )


def add_compare(parser: ArgumentParser) -> None:
    """Set the description of ``parser`` and add the arguments of compare."""
    parser.description = (
        "Compare two bags topic by topic and joint by joint; messages are paired by their stamps. Two numbers match "
        "if |a - b| <= atol + rtol |b|. Exit code 0: the bags match, 1: they differ, 2: they cannot be compared. "
        "docs/test_from_a_bag.md lists the keys of --json."
    )
    for name in ("a", "b"):
        parser.add_argument(
            name,
            type=Path,
            metavar=name.upper(),
            help="a bag's folder, or one of its files",
        )
    add_list(parser, "--topics", "TOPIC", "topics to compare (default: all)")
    parser.add_argument(
        "--atol",
        type=float,
        default=0.0,
        help="absolute tolerance, SI (default: %(default)g)",
    )
    parser.add_argument(
        "--rtol",
        type=float,
        default=0.0,
        help="relative tolerance (default: %(default)g)",
    )
    parser.add_argument(
        "--common",
        action="store_true",
        help="for live recordings: compare only topics and messages that both bags have, without /diagnostics; the "
        "others are counted",
    )
    add_rename(parser)
    add_output(
        parser,
        "--junit",
        metavar="FILE",
        help="write JUnit XML: a test case for each topic",
    )
    add_json(parser)


def run_compare(arguments: Namespace) -> int:
    """Compare the two bags of ``arguments``, print the differences and return the exit code.

    It is 0 if they match, 1 if they differ, and 2, with the reason on stderr, if they cannot be compared.
    """
    begin = time.monotonic()
    outcome: Comparison | BagError
    try:
        check_output(arguments, arguments.junit)
        try:
            tolerances = (arguments.atol, arguments.rtol)
            rename = dict(arguments.rename)
            outcome = compare_bags(
                arguments.a,
                arguments.b,
                arguments.topics or None,
                *tolerances,
                rename,
                arguments.common,
            )
        except BagError as error:  # written to the JUnit file, too
            outcome = error
        if arguments.junit is not None:
            write_junit(
                outcome,
                arguments.junit,
                time.monotonic() - begin,
                overwrite=arguments.overwrite,
            )
        if isinstance(outcome, BagError):
            raise outcome
    except RobotDynamicsError as error:
        print(f"robot_dynamics: {error}", file=sys.stderr)
        return _IMPOSSIBLE
    if arguments.json:
        print_json(_facts(outcome))
    else:
        print(outcome)
    return _MATCH if outcome.matches else _DIFFERENT


def _facts(comparison: Comparison) -> dict[str, Any]:
    """Return the attributes of a comparison, of its topics and of their fields, the JSON of docs/test_from_a_bag.md."""
    topics = []
    for topic in comparison.topics:
        fields = [
            asdict(field) | {"offset": field.offset, "matches": field.matches}
            for field in topic.fields
        ]
        topics.append(asdict(topic) | {"fields": fields, "matches": topic.matches})
    return asdict(comparison) | {"topics": topics, "matches": comparison.matches}


def add_report(parser: ArgumentParser) -> None:
    """Set the description of ``parser`` and add the arguments of report."""
    parser.description = (
        "Writes what a bag holds as one HTML page with interactive plots, which opens without network. "
        "The page lists what the bag does not contain."
    )
    add_bag(parser)
    add_output(
        parser,
        "-o",
        "--output",
        default=Path("report.html"),
        help="file (default: %(default)s)",
    )
    add_recorded_robot(parser)
    add_dynamics(
        parser,
        "--compare-dynamics",
        "dynamics file of a second model, whose residual is shown beside the first",
    )
    add_filter(parser)


def run_report(arguments: Namespace) -> None:
    """Write the report of the bag to --output as an HTML page, and print its path, size and the verdict's titles.

    Without --robot and --compare-dynamics, a recorded robot that cannot be read is only noted on the page. Raises
    RobotDynamicsError for a bag, robot or dynamics file that cannot be read, for invalid options of the filter, and as
    ``check_output``.
    """
    # slow to load: not for record and play
    from robot_dynamics_ros.analysis.identification.identified_file import (
        read_parameter_table,
    )
    from robot_dynamics_ros.analysis.report import read_recording, write_report

    check_output(arguments, arguments.output)
    model = None
    other = None
    reason = ""
    given = arguments.compare_dynamics
    texts: dict[str, str] = {}  # of the dynamics files
    rename = dict(arguments.rename)
    with BagReader(arguments.bag) as bag:
        topic = joint_state_topic(bag, arguments.topic)
        series = read_series(bag, arguments)
        try:
            setup = load_setup(arguments, bag, series)
            robot = setup.robot
            model = setup.model
            texts[robot.dynamics or "recorded dynamics file"] = robot.dynamics_content()
            if given is not None:
                second = replace(robot, dynamics=dynamics_file(given), dynamics_text="")
                texts[str(given)] = second.dynamics_content()
                compared = second.model(
                    joints=model.joint_names,
                    locked=model.locked,
                    gravity=model.gravity.tolist(),
                )
                other = (Path(given).name, compared)
        except RobotDynamicsError as error:
            if arguments.robot is not None or given is not None:
                raise
            reason = str(error)
        recording = read_recording(
            bag,
            topic,
            model=model,
            rename=rename,
            no_model=reason,
            other=other,
            cutoff=arguments.cutoff,
            effort_delay=arguments.effort_delay or 0.0,
            drive_gains=drive_gains(arguments, series.joint_names),
        )
    identified = {
        name: rows
        for name, text in texts.items()
        if (rows := read_parameter_table(text))
    }
    statements = write_report(
        recording,
        arguments.output,
        identified=identified,
        overwrite=arguments.overwrite,
    )
    print(f"{arguments.output}: {arguments.output.stat().st_size / 1e6:.1f} MB")
    for statement in statements:
        print(f"  {statement.title.rstrip('.:')}")


def add_view(parser: ArgumentParser) -> None:
    """Set the description of ``parser`` and add the arguments of view."""
    parser.description = (
        "Serves a page that shows the robot, its desired position, joint torques, joint forces and the centre of mass, "
        "with a legend. The positions are those of sliders, of bags with play, pause and a time slider, or live. "
        "Several bags are shown side by side. It needs no ROS but for --live, and no network. Without --host the page "
        "is available on this machine only; it has no password."
    )
    add_named_robot(parser)
    add_joints(parser)
    parser.add_argument(
        "bags",
        nargs="*",
        type=Path,
        metavar="BAG",
        help="a bag's folder, or one of its files",
    )
    parser.add_argument(
        "--live",
        action="store_true",
        help="show the topics joint_states and command_states",
    )
    parser.add_argument(
        "--namespace", default="", help="namespace of those topics, with --live"
    )
    add_joint_states(parser)
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to serve on (default: %(default)s)"
    )
    parser.add_argument(
        "--port",
        type=_port,
        default=8080,
        help="port, or the next free one (default: %(default)s)",
    )
    add_no_browser(parser)


def _port(text: str) -> int:
    port = int(text)
    if not 1 <= port <= 65535:
        raise ArgumentTypeError(f"{port} is no port. Cure: give one from 1 to 65535")
    return port


def run_view(arguments: Namespace) -> None:
    """Serve the page of the robot of ``arguments`` until Ctrl-C, at a pose, with bags or live; print and open its URL.

    Raises RobotDynamicsError if viser or trimesh is not installed, a robot or a bag cannot be read, --joints or
    --locked do not fit, the joints of the bags differ, or the address is not available. With --live it is also raised
    for bags, for a xacro file, and if ROS 2 is not installed.
    """
    # Slow to load: not for record and play.
    from robot_dynamics_ros.analysis.view.geometry import require_viewer
    from robot_dynamics_ros.analysis.view.playback import bag_labels, bag_view
    from robot_dynamics_ros.analysis.view.scene_state import read_motion
    from robot_dynamics_ros.analysis.view.viewer import pose_view

    require_viewer()
    if arguments.live:
        _become_live(arguments)
        return
    source = named_robot(arguments)
    address = (arguments.host, arguments.port)
    folder = Path(source.name).parent
    if not arguments.bags:
        model = chosen_model(source, arguments)
        viewer, update = pose_view(model, source.text, folder, address)
    else:
        with ExitStack() as stack:
            bags = [stack.enter_context(BagReader(bag)) for bag in arguments.bags]
            model = _common_model(arguments, source, bags)
            motions = [
                read_motion(
                    bag,
                    joint_state_topic(bag, arguments.topic),
                    model,
                    dict(arguments.rename),
                )
                for bag in bags
            ]
        recordings = list(zip(bag_labels(arguments.bags), motions, strict=True))
        viewer, update = bag_view(model, source.text, folder, recordings, address)
    viewer.serve(update, browser=not arguments.no_browser)


def _common_model(
    arguments: Namespace, source: RobotSource, bags: Sequence[BagReader]
) -> RobotModel:
    """Return the model of the joints that the bags contain; RobotDynamicsError if they contain different ones.

    Without --dynamics it has the recorded dynamics file of the first bag.
    """
    first, *others = bags
    recorded = None
    if arguments.dynamics is None:
        recorded = read_configuration(first, joint_state_topic(first, arguments.topic))
    if recorded is not None:
        source = replace(source, dynamics=None, dynamics_text=recorded[1].dynamics_file)
    model, *models = (
        load_setup(arguments, bag, read_series(bag, arguments), source).model
        for bag in bags
    )
    for bag, other in zip(others, models, strict=True):
        if other.joint_names != model.joint_names:
            raise RobotDynamicsError(
                f"{bag.path}: its joints are {', '.join(other.joint_names)}, those of {first.path} are "
                f"{', '.join(model.joint_names)}. Cure: show these bags one at a time"
            )
    return model


def _become_live(arguments: Namespace) -> None:
    if arguments.bags:
        raise RobotDynamicsError(
            "--live and a BAG: only one of them can be shown. Cure: leave one out"
        )
    source = named_robot(arguments)
    if Path(source.name).suffix == XACRO:
        raise RobotDynamicsError(
            f"{source.name}: --live needs a URDF. Cure: xacro {source.name} > robot.urdf"
        )
    prefix = f"/{arguments.namespace.strip('/')}/" if arguments.namespace else ""
    parameters: dict[str, object] = {
        "urdf": source.name,
        "dynamics_file": source.dynamics or "",
        "joint_states": prefix + (arguments.topic or "joint_states"),
        "command_states": prefix + "computed_torque_node/command_states",
        "host": arguments.host,
        "port": arguments.port,
        "browser": not arguments.no_browser,
    }
    if arguments.gravity is not None:
        parameters["gravity"] = arguments.gravity
    if arguments.joints:
        parameters[JOINTS.name] = arguments.joints
    if arguments.locked:
        parameters[LOCKED.name] = [
            f"{name}={value!r}" for name, value in arguments.locked
        ]
    become_node("view_node", parameters)
