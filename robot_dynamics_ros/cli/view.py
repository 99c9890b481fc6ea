"""robot_dynamics view: a robot in a browser."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from robot_dynamics_ros.bags import read_joint_names
from robot_dynamics_ros.cli.command_line import add_joint_states, joint_state_topic
from robot_dynamics_ros.cli.processes import become_node
from robot_dynamics_ros.cli.robot_source import add_named_robot, load_robot, named_robot
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.launching.robots import SUFFIX
from robot_dynamics_ros.view.geometry import require_viewer
from robot_dynamics_ros.view.motion import read_motion
from robot_dynamics_ros.view.viewer import pose_view, recording_view


def add_view(parser: argparse.ArgumentParser) -> None:
    """Declare description and arguments."""
    parser.description = (
        "Serves a page that shows the arm, the desired arm beside it, joint torques, joint forces and the "
        "centre of mass: with a slider for each joint, from a bag, or live. It needs no ROS but for --live, and "
        "no network. The page can be opened on this machine only, unless --host says otherwise: it has no password."
    )
    add_named_robot(parser)
    parser.add_argument("bag", nargs="?", type=Path, metavar="BAG", help="a bag's folder, or one of its files")
    parser.add_argument("--live", action="store_true", help="show what the topics joint_states and command_states say")
    parser.add_argument("--namespace", default="", help="namespace of those topics, with --live")
    add_joint_states(parser)
    parser.add_argument("--host", default="127.0.0.1", help="address to serve on (default: %(default)s)")
    parser.add_argument("--port", type=_port, default=8080, help="port, or the next free one (default: %(default)s)")


def _port(text: str) -> int:
    port = int(text)
    if not 1 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{port} is no port. Cure: give one from 1 to 65535")
    return port


def run_view(arguments: argparse.Namespace) -> None:
    """Serve the page until Ctrl-C; RobotDynamicsError for a robot or a bag that cannot be read."""
    require_viewer()
    if arguments.live:
        _become_live(arguments)
        return
    source, address = named_robot(arguments), (arguments.host, arguments.port)
    folder = Path(source.name).parent
    if arguments.bag is None:
        viewer, update = pose_view(source.model(gravity=arguments.gravity), source.text, folder, address)
    else:
        topic, rename = joint_state_topic(arguments.bag, arguments.topic), dict(arguments.rename)
        model = load_robot(arguments, read_joint_names(arguments.bag, topic, rename), arguments.bag)
        recording, notes = read_motion(arguments.bag, topic, model, rename)
        viewer, update = recording_view(model, source.text, folder, recording, address, notes)
    for note in viewer.notes:
        print(f"note: {note}", file=sys.stderr)
    print(f"{viewer.url}  (Ctrl-C ends it)", flush=True)
    try:
        viewer.run(update)
    finally:
        viewer.close()


def _become_live(arguments: argparse.Namespace) -> None:
    if arguments.bag is not None:
        raise RobotDynamicsError("--live and a BAG: only one of them can be shown. Cure: leave one out")
    source = named_robot(arguments)
    if Path(source.name).suffix == SUFFIX:
        raise RobotDynamicsError(f"{source.name}: --live needs a URDF. Cure: xacro {source.name} > robot.urdf")
    prefix = f"/{arguments.namespace.strip('/')}/" if arguments.namespace else ""
    parameters: dict[str, object] = {
        "urdf": source.name,
        "dynamics_file": source.dynamics or "",
        "joint_states": prefix + (arguments.topic or "joint_states"),
        "command_states": prefix + "computed_torque_node/command_states",
        "host": arguments.host,
        "port": arguments.port,
    }
    if arguments.gravity is not None:
        parameters["gravity"] = arguments.gravity
    become_node("view_node", parameters)
