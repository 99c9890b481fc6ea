"""Arguments that several subcommands share: the bag, its joints, and the robot."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from robot_dynamics_ros.bags import JointSeries, read_description, read_joint_states
from robot_dynamics_ros.bags.message_types import JOINT_STATE
from robot_dynamics_ros.bags.reader import BagReader
from robot_dynamics_ros.errors import BagError, RobotDynamicsError, RobotModelWarning
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.resources import robot_dynamics_file, robot_names, robot_urdf

_USUAL = "joint_states"


def add_bag(parser: argparse.ArgumentParser) -> None:
    """Add BAG, read as ``arguments.bag``."""
    parser.add_argument("bag", type=Path, metavar="BAG", help="a bag's folder, or one of its .mcap or .db3 files")


def add_joint_states(parser: argparse.ArgumentParser) -> None:
    """Add which joint states of a bag to read, and what its joints are called here."""
    parser.add_argument("--topic", help="topic of the joint states (default: the only one, or joint_states)")
    add_rename(parser)


def add_rename(parser: argparse.ArgumentParser) -> None:
    """Add --rename, read as the mapping ``arguments.rename``."""
    parser.add_argument(
        "--rename",
        type=_renaming,
        nargs="+",
        default=[],
        metavar="OLD=NEW",
        help="joint names of the bag, or what they begin with, and what to take for it: fer_=panda_",
    )


def add_robot(parser: argparse.ArgumentParser) -> None:
    """Add which robot it is; see ``load_robot``."""
    parser.add_argument(
        "--robot",
        metavar="NAME|URDF",
        help=f"one of {', '.join(robot_names())}, or a URDF file (default: the bag's robot_description)",
    )
    parser.add_argument(
        "--dynamics", metavar="FILE", help="dynamics file (default: that of the robot NAME; none: do without)"
    )
    parser.add_argument(
        "--gravity",
        type=float,
        nargs=3,
        metavar=("X", "Y", "Z"),
        help="gravity in the root frame, m/s^2 (default: the dynamics file's, else 0 0 -9.81)",
    )


def check_new(output: Path) -> None:
    """Raise RobotDynamicsError where a file is there, or cannot be made: nothing is written over, least of all bags."""
    if output.exists():
        raise RobotDynamicsError(f"{output}: it exists. Cure: name another file with --output")
    if not output.absolute().parent.is_dir():
        raise RobotDynamicsError(f"{output}: its folder does not exist. Cure: make it, or name another file")


def renaming(arguments: argparse.Namespace) -> Mapping[str, str]:
    """Return what --rename says."""
    return dict(arguments.rename)


def read_series(bag: Path, arguments: argparse.Namespace) -> JointSeries:
    """Return the joint states of a bag by --topic and --rename; BagError names the bag, the topics and the cure."""
    topic = joint_state_topic(bag, arguments.topic)
    return read_joint_states(bag, [topic], rename=renaming(arguments))[topic]


def joint_state_topic(bag: Path, topic: str | None) -> str:
    """Return the topic to read joint states from, ``topic`` where it is given; BagError where it is not clear."""
    if topic is not None:
        return topic
    with BagReader(bag) as reader:
        there = sorted(name for name, kind in reader.topics.items() if kind == JOINT_STATE)
    usual = [name for name in there if name.rsplit("/", 1)[-1] == _USUAL]
    for choice in (there, usual):
        if len(choice) == 1:
            return choice[0]
    if not there:
        raise BagError(f"{bag}: no topic holds {JOINT_STATE}. Cure: record joint_states")
    raise BagError(f"{bag}: several topics hold {JOINT_STATE}. Cure: --topic with one of {', '.join(there)}")


def description_and_dynamics(arguments: argparse.Namespace, bag: Path | None) -> tuple[bytes | str, str, str | None]:
    """Return the URDF's text, what to call it in errors, and the path of the dynamics file."""
    name, dynamics = arguments.robot, arguments.dynamics
    if name is None:
        recorded = None if bag is None else read_description(bag)
        if recorded is None:
            raise RobotDynamicsError(
                f"{bag}: it has no robot_description. Cure: --robot with one of {', '.join(robot_names())}, or a URDF"
            )
        return recorded, f"{bag}: robot_description", None if dynamics in (None, "none") else dynamics
    if name in robot_names():
        path = robot_urdf(name)
        if dynamics is None and (own := robot_dynamics_file(name)) is not None:
            dynamics = str(own)
    else:
        path = Path(name)
    try:
        text = path.read_bytes()
    except OSError as problem:
        raise RobotDynamicsError(
            f"--robot {name}: {problem.strerror}. Cure: give a URDF file, or one of {', '.join(robot_names())}"
        ) from None
    return text, str(path), None if dynamics == "none" else dynamics


def load_robot(arguments: argparse.Namespace, joint_names: Sequence[str], bag: Path | None = None) -> RobotModel:
    """Return the model of the recorded ``joint_names``; the robot's other joints are locked at 0, which is said.

    It is that of --robot, else of the bag's robot_description. RobotDynamicsError names what is wrong and the cure.
    """
    text, source, dynamics = description_and_dynamics(arguments, bag)
    common: dict[str, Any] = {"dynamics": dynamics, "gravity": arguments.gravity}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RobotModelWarning)
        joints = RobotModel.from_urdf(text, **common).joint_names
    recorded = [name for name in joints if name in joint_names]
    if not recorded:
        raise RobotDynamicsError(
            f"{source}: the robot's joints are {', '.join(joints)}, the recording's {', '.join(joint_names)}. "
            "Cure: --rename OLD=NEW, or another --robot"
        )
    others = [name for name in joints if name not in recorded]
    if others:
        print(f"note: {', '.join(others)}: not in the recording, locked at 0", file=sys.stderr)
    return RobotModel.from_urdf(text, **common, joints=recorded, locked=dict.fromkeys(others, 0.0))


def _renaming(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not equals or not old:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form OLD=NEW")
    return old, new
