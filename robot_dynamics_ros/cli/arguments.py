"""Arguments that several subcommands share: the bag, its joints, and the robot."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from robot_dynamics_ros.bags import JointSeries, read_configuration, read_description, read_joint_states
from robot_dynamics_ros.bags.reader import BagReader
from robot_dynamics_ros.bags.storage import JOINT_STATE
from robot_dynamics_ros.cli.robot_source import RobotSource, robot_source
from robot_dynamics_ros.control.configuration import Configuration
from robot_dynamics_ros.control.parameters import GRAVITY
from robot_dynamics_ros.errors import BagError, RobotDynamicsError
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.parameters.kinds import Values
from robot_dynamics_ros.parameters.robot import DYNAMICS_FILE, JOINTS
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
    """Add which robot it is as --robot, else the bag's; see ``recorded_robot`` and ``load_robot``."""
    parser.add_argument(
        "--robot",
        metavar="NAME|URDF",
        help=f"{_robots()} (default: the robot that the bag carries)",
    )
    _add_robot_files(parser)


def add_named_robot(parser: argparse.ArgumentParser, **options: Any) -> None:
    """Add which robot it is as ROBOT, with options of ``add_argument``; see ``named_robot``."""
    parser.add_argument("robot", metavar="ROBOT|URDF", help=_robots(), **options)
    _add_robot_files(parser)


def _robots() -> str:
    return f"one of {', '.join(robot_names())}, or a URDF or xacro file"


def _add_robot_files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dynamics",
        metavar="FILE",
        help="dynamics file (default: the bag's, or that of the robot NAME; none: do without)",
    )
    parser.add_argument(
        "--gravity",
        type=float,
        nargs=3,
        metavar=("X", "Y", "Z"),
        help="gravity in the root frame, m/s^2 (default: the dynamics file's, else 0 0 -9.81)",
    )
    parser.add_argument(
        "--xacro-arg",
        type=_xacro_argument,
        nargs="+",
        default=[],
        metavar="NAME:=VALUE",
        help="arguments of a xacro file, which is expanded where xacro is installed",
    )


def add_output(parser: argparse.ArgumentParser, *flags: str, **keywords: Any) -> None:
    """Add an option that names a file or a bag to write, and --overwrite; see ``check_output``."""
    parser.add_argument(*flags, type=Path, **keywords)
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="replace an existing output: never an input, and of folders only an MCAP bag with no other files in it",
    )


def check_output(arguments: argparse.Namespace, output: Path, *, bag: bool = False) -> None:
    """Raise RobotDynamicsError where an output is an input or in a bag that is one, or exists without --overwrite.

    ``bag``: the output is the folder of a bag. To be called before any work is done.
    """
    place, another = output.resolve(), f"name another {'folder' if bag else 'file'}"
    for source in _inputs(arguments):
        same = output.exists() and source.exists() and output.samefile(source)  # hard links too
        if same or source in place.parents or place in source.parents:
            raise RobotDynamicsError(f"{output}: it is, or is inside or around, the input {source}. Cure: {another}")
    if not os.path.lexists(output):
        if not bag and not place.parent.is_dir():
            raise RobotDynamicsError(f"{output}: its folder does not exist. Cure: make it, or {another}")
    elif not arguments.overwrite:
        raise RobotDynamicsError(f"{output}: it exists. Cure: {another}, or add --overwrite")
    elif not (_is_plain_bag(output) if bag else output.is_file()):
        kind = "bag without other files" if bag else "file"
        raise RobotDynamicsError(f"{output}: it is no {kind}, and is not overwritten. Cure: {another}")


@contextmanager
def new_bag(output: Path) -> Iterator[Path]:
    """Yield the folder to write a bag to, which replaces a bag at ``output`` when it is complete."""
    if not output.exists():
        yield output
        return
    with tempfile.TemporaryDirectory(dir=output.absolute().parent) as folder:
        new = Path(folder) / output.name
        yield new
        shutil.rmtree(output)
        new.rename(output)


def _inputs(arguments: argparse.Namespace) -> Iterator[Path]:
    """Yield the bags and files that a command reads, and the files in these bags."""
    for name in ("a", "b", "bag", "bags", "robot", "dynamics"):
        given = getattr(arguments, name, None)
        for source in given if isinstance(given, list) else [given]:
            files = (robot_urdf(source), robot_dynamics_file(source)) if source in robot_names() else (source,)
            for file in (Path(file) for file in files if file is not None):
                parts = file.iterdir() if file.is_dir() else (file.with_name("metadata.yaml"),)
                yield from (part.resolve() for part in (file, *parts))


def _is_plain_bag(folder: Path) -> bool:
    if folder.is_symlink() or not (folder / "metadata.yaml").is_file():
        return False
    return all(file.name == "metadata.yaml" or file.suffix == ".mcap" for file in folder.iterdir())


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


def recorded_robot(arguments: argparse.Namespace, bag: Path, near: str) -> RobotSource:
    """Return the robot of --robot, else the bag's; RobotDynamicsError where there is none.

    The bag's is that of the ~/configuration of a controller in the namespace of the topic ``near``, else of its
    robot_description.
    """
    if arguments.robot is not None:
        return named_robot(arguments)
    dynamics = None if arguments.dynamics in (None, "none") else arguments.dynamics
    found = read_configuration(bag, near)
    if found is not None:
        topic, recorded = found
        text = recorded.dynamics_file if arguments.dynamics is None else ""
        gravity = GRAVITY.read(recorded.values)
        return RobotSource(f"{bag}: {topic}", recorded.robot_description, dynamics, text, gravity)
    description = read_description(bag)
    if description is None:
        raise RobotDynamicsError(
            f"{bag}: it carries no robot (robot_description or ~/configuration). Cure: --robot with one of "
            f"{', '.join(robot_names())}, or a URDF"
        )
    return RobotSource(f"{bag}: robot_description", description, dynamics)


def named_robot(arguments: argparse.Namespace) -> RobotSource:
    """Return the robot that the command line names; errors as ``robot_source``."""
    return robot_source(arguments.robot, arguments.dynamics, dict(arguments.xacro_arg))


def configured_source(arguments: argparse.Namespace, source: RobotSource, values: Values) -> RobotSource:
    """Return the source with the dynamics file of --dynamics, else of a node's parameters, else its own."""
    if arguments.dynamics is not None:
        return source
    return replace(source, dynamics=DYNAMICS_FILE.read(values) or source.dynamics)


def configured_model(arguments: argparse.Namespace, source: RobotSource, values: Values) -> RobotModel:
    """Return the model that the controller node would have by its parameters, but for what the command line says.

    --dynamics and --gravity come first, then the parameters, then the source's own. Errors as ``RobotSource.model``.
    """
    gravity = arguments.gravity or GRAVITY.read(values) or None
    return configured_source(arguments, source, values).model(gravity=gravity, joints=JOINTS.read(values) or None)


def configuration(arguments: argparse.Namespace, source: RobotSource, values: Values) -> Configuration:
    """Return what a bag carries of the robot and the parameters from which ``configured_model`` makes a model."""
    text = source.text if isinstance(source.text, str) else source.text.decode(errors="replace")
    dynamics = configured_source(arguments, source, values).dynamics_content()
    given = {GRAVITY.name: arguments.gravity} if arguments.gravity else {}
    return Configuration.of(lambda name: given[name] if name in given else values(name), text, dynamics)


def load_robot(arguments: argparse.Namespace, joint_names: Sequence[str], bag: Path) -> RobotModel:
    """Return the model of the recorded ``joint_names``; the robot's other joints are locked at 0, which is reported.

    It is that of --robot, else of the bag, which is reported. RobotDynamicsError names what is wrong and the cure.
    """
    source = bag_robot(arguments, bag)
    joints = source.joint_names()
    recorded = [name for name in joints if name in joint_names]
    if not recorded:
        raise RobotDynamicsError(
            f"{source.name}: the robot's joints are {', '.join(joints)}, the recording's {', '.join(joint_names)}. "
            "Cure: --rename OLD=NEW, or another --robot"
        )
    if arguments.robot is None:
        print(f"note: robot: {source}", file=sys.stderr)
    gravity = arguments.gravity or source.gravity or None
    return source.part(recorded, note="not in the recording, locked at 0", gravity=gravity)


def bag_robot(arguments: argparse.Namespace, bag: Path) -> RobotSource:
    """Return ``recorded_robot`` for the joint states that are read."""
    return recorded_robot(arguments, bag, "" if arguments.robot else joint_state_topic(bag, arguments.topic))


def _renaming(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not equals or not old:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form OLD=NEW")
    return old, new


def _xacro_argument(text: str) -> tuple[str, str]:
    name, assigned, value = text.partition(":=")
    if not assigned or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME:=VALUE")
    return name, value
