"""Robots of commands: shipped with this package, a URDF or xacro file, of robot_descriptions, or recorded in a bag.

robot_descriptions is a PyPI package that downloads URDFs by name. ``arguments`` are the parsed arguments of a command
to which ``add_robot`` or ``add_named_robot`` has added options.
"""

from __future__ import annotations

import argparse
import io
import os
import shlex
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from robot_dynamics_ros.base.errors import (
    RobotDynamicsError,
    RobotModelError,
    RobotModelWarning,
    did_you_mean,
)
from robot_dynamics_ros.base.files import read_bytes
from robot_dynamics_ros.base.resources import (
    dynamics_file,
    dynamics_names,
    robot_names,
    robot_urdf,
    share_directory,
    textbook_arm_names,
)
from robot_dynamics_ros.base.urdf_file import read_urdf
from robot_dynamics_ros.cli.command_line import joint_state_topic, joint_value, pair
from robot_dynamics_ros.control.configuration.parameters import GRAVITY
from robot_dynamics_ros.dynamics.description.dh_file import textbook_arm
from robot_dynamics_ros.dynamics.description.dynamics_file import (
    DynamicsFile,
    parse_dynamics_file,
)
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.recordings.bags import (
    read_configuration,
    read_description,
    read_joint_names,
)
from robot_dynamics_ros.recordings.messages.joint_state import renaming

_ROBOTS = (
    f"one of {', '.join(robot_names())}, a textbook arm such as craig_rp, a URDF or xacro file, or a name of "
    "robot_descriptions"
)
_UNNAMED = "URDF: "  # prefix of the errors of a URDF that is given as text
_OF_URDF = (_UNNAMED, "joints: ", "locked: ")


@dataclass(frozen=True)
class RobotSource:
    """Content of a robot's files, not yet parsed.

    ``name`` is the path of the URDF, or bag and topic, for messages. ``text`` is the content of the URDF. ``dynamics``
    is the path of the dynamics file, or None; without it ``dynamics_text`` is the content of a recorded one, or empty.
    ``gravity`` is the recorded controller's (3,), m/s^2, in the root frame; empty if it has none.

    Methods that create a model raise RobotModelError, with the name of the file, for an invalid URDF or dynamics file,
    and for a dynamics file that cannot be read.
    """

    name: str
    text: str | bytes
    dynamics: str | None
    dynamics_text: str = ""
    gravity: Sequence[float] = ()

    def __str__(self) -> str:
        recorded = "as recorded" if self.dynamics_text else "none"
        return f"{self.name}, dynamics file: {self.dynamics or recorded}"

    def dynamics_content(self) -> str:
        """Return the text of the dynamics file, or else the recorded one; empty if there is none.

        Raises RobotModelError if the file cannot be read.
        """
        if self.dynamics is None:
            return self.dynamics_text
        return read_bytes(self.dynamics, "dynamics file").decode(errors="replace")

    def model(self, **keywords: Any) -> RobotModel:
        """Return the model; ``keywords`` are those of ``RobotModel.from_urdf``, such as joints, locked and gravity.

        Raises RobotModelError for an invalid URDF or dynamics file, with its name, and for keywords that do not fit.
        The values in the URDFs of shipped robots are the published ones, and cause no warnings.
        """
        dynamics: str | DynamicsFile | None = self.dynamics
        if dynamics is None and self.dynamics_text:
            dynamics = parse_dynamics_file(
                self.dynamics_text, f"{self.name}: dynamics_file"
            )
        with warnings.catch_warnings():
            if (
                Path(self.name).parent == share_directory() / "urdf"
                or self.name in textbook_arm_names()
            ):
                warnings.filterwarnings("ignore", _UNNAMED, RobotModelWarning)
            try:
                return RobotModel.from_urdf(self.text, dynamics=dynamics, **keywords)
            except RobotModelError as error:
                message = str(error)
                if not message.startswith(_OF_URDF):
                    raise
                raise RobotModelError(
                    f"{self.name}: {message.removeprefix(_UNNAMED)}"
                ) from None

    def joint_names(self) -> tuple[str, ...]:
        """Return the names of all movable joints of the model, without warnings; RobotModelError for invalid files."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RobotModelWarning)
            return self.model().joint_names


def add_robot(parser: argparse.ArgumentParser) -> None:
    """Add --robot, --dynamics, --gravity and --xacro-arg to ``parser``, for ``recorded_robot`` and ``load_robot``.

    --robot is None by default, for the robot of the bag.
    """
    _add(
        parser,
        "--robot",
        _robot_completions,
        metavar="NAME|URDF",
        help=f"{_ROBOTS} (default: the robot in the bag)",
    )
    _add_robot_files(parser)


def add_named_robot(parser: argparse.ArgumentParser, **options: Any) -> None:
    """Add the argument ROBOT and --dynamics, --gravity and --xacro-arg to ``parser``, for ``named_robot``.

    ``options`` are keywords of ``add_argument`` for ROBOT.
    """
    _add(
        parser,
        "robot",
        _robot_completions,
        metavar="ROBOT|URDF",
        help=_ROBOTS,
        **options,
    )
    _add_robot_files(parser)


def add_dynamics(
    parser: argparse.ArgumentParser, option: str, description: str
) -> None:
    """Add an ``option`` for a dynamics file, whose ``description`` is the help, for ``dynamics_file``."""
    _add(parser, option, _dynamics_completions, metavar="FILE", help=description)


def add_joints(parser: argparse.ArgumentParser) -> None:
    """Add --joints and --locked to ``parser``, as keywords of ``RobotSource.model``."""
    parser.add_argument(
        "--joints",
        nargs="+",
        metavar="NAME",
        help="joints of the model (default: all movable joints)",
    )
    parser.add_argument(
        "--locked",
        type=joint_value,
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=VALUE",
        help="positions of locked joints, rad or m (default: 0 for joints that --joints omits)",
    )


def note_locked(model: RobotModel, reason: str = "") -> None:
    """Print a note to stderr with the locked joints of ``model``, if there are any; ``reason`` precedes "locked"."""
    if model.locked:
        joints = ", ".join(
            f"{name} at {position:g}" for name, position in model.locked.items()
        )
        print(f"note: {reason}locked: {joints}", file=sys.stderr)


def _add(
    parser: argparse.ArgumentParser,
    name: str,
    completer: Callable[..., list[str]],
    **options: Any,
) -> None:
    action = parser.add_argument(name, **options)
    action.completer = completer  # type: ignore[attr-defined]  # argcomplete asks it


def _dynamics_completions(prefix: str, **_: Any) -> list[str]:
    """Return the names and files that complete the argument for a dynamics file in a shell."""
    files = import_module("argcomplete").FilesCompleter(["yaml"])(prefix)
    return [
        *(name for name in (*dynamics_names(), "none") if name.startswith(prefix)),
        *files,
    ]


def _robot_completions(prefix: str, **_: Any) -> list[str]:
    """Return the names and files that complete a robot argument in a shell."""
    files = import_module("argcomplete").FilesCompleter()(prefix)
    known = [
        *(
            name
            for name in (*robot_names(), *textbook_arm_names())
            if name.startswith(prefix)
        ),
        *files,
    ]
    return known or [
        name
        for name, has_urdf in _described().items()
        if has_urdf and name.startswith(prefix)
    ]


def command_text(
    command: str,
    arguments: argparse.Namespace,
    *positional: object,
    options: Sequence[str] = ("dynamics", "gravity", "xacro_arg"),
) -> str:
    """Return a command line, quoted for a shell: the subcommand ``command`` with ``positional`` arguments and options.

    ``options`` are names in ``arguments``; those that are not given are left out.
    """
    words = ["robot_dynamics", command, *map(str, positional)]
    for option in options:
        value = getattr(arguments, option)
        separator = ":=" if option == "xacro_arg" else "="
        values = value if isinstance(value, list) else [] if value is None else [value]
        texts = [
            separator.join(map(str, pair)) if isinstance(pair, tuple) else str(pair)
            for pair in values
        ]
        words += (
            [
                f"--{option.replace('_', '-')}",
                *(text.removeprefix("=") for text in texts),
            ]
            if texts
            else []
        )
    return shlex.join(words)


def _add_robot_files(parser: argparse.ArgumentParser) -> None:
    add_dynamics(
        parser,
        "--dynamics",
        "dynamics file, or the name of an installed one such as panda_coulomb (default: that of the bag or of the "
        'robot NAME; "none": no dynamics file)',
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
        type=partial(pair, form="NAME:=VALUE"),
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME:=VALUE",
        help="arguments of a xacro file, which needs xacro, or parameters of a textbook arm, such as l1:=0.3",
    )


def named_robot(arguments: argparse.Namespace) -> RobotSource:
    """Read the robot of the argument ROBOT: shipped with this package, else a file, else of robot_descriptions.

    By default a shipped robot has its own dynamics file, others none. Raises RobotDynamicsError for unknown names and
    parameters, and for files that cannot be read, downloaded or expanded by xacro.
    """
    name = arguments.robot
    if name in textbook_arm_names():
        text, own = textbook_arm(name, dict(arguments.xacro_arg))
        return RobotSource(
            name,
            text,
            dynamics_file(arguments.dynamics),
            "" if arguments.dynamics else own,
        )
    if name in robot_names():
        path = robot_urdf(name)
        dynamics = dynamics_file(arguments.dynamics, name)
    else:
        # Path.exists rejects long names
        path = Path(name) if os.path.exists(name) else _described_urdf(name)
        dynamics = dynamics_file(arguments.dynamics)
    return RobotSource(str(path), read_urdf(path, dict(arguments.xacro_arg)), dynamics)


def _described() -> dict[str, bool]:
    """Return the names of the package robot_descriptions, True if they have a URDF; empty if it is not installed."""
    try:
        table = import_module("robot_descriptions").DESCRIPTIONS
    except ImportError:
        return {}
    return {name: description.has_urdf for name, description in table.items()}


def _described_urdf(name: str) -> Path:
    """Return the URDF of a robot of robot_descriptions, which clones the repository of the robot at its first use.

    Raises RobotDynamicsError for an unknown name, and if the repository cannot be cloned or its xacro file expanded.
    """
    described = _described()
    if not described.get(name):
        raise RobotDynamicsError(_unknown(name, described))
    print(
        f"note: {name} is from robot_descriptions, which downloads it at the first use",
        file=sys.stderr,
    )
    output = io.StringIO()
    try:
        with redirect_stdout(output), redirect_stderr(output):
            import_module("robot_descriptions.__main__").main(["pull", name])
    except (
        Exception
    ) as error:  # the errors of git, xacro, the network and the file system
        raise RobotDynamicsError(
            f"{name}: robot_descriptions: {' '.join(str(error).split())}. Cure: connect to the network for the first "
            f"use, and see python -m robot_descriptions pull {name}"
        ) from None
    # earlier lines are the progress of the download
    return Path(output.getvalue().splitlines()[-1])


def _unknown(name: str, described: Mapping[str, bool]) -> str:
    """Return the error of a robot argument that is neither a file nor a known name with a URDF."""
    path = Path(name)
    shipped = (*robot_names(), *textbook_arm_names())
    known = [*shipped, *(other for other, has_urdf in described.items() if has_urdf)]
    if path.suffix:
        return f"{name}: no such file. Cure: correct the path" + did_you_mean(
            name, map(str, path.parent.glob(f"*{path.suffix}"))
        )
    problem = (
        "robot_descriptions has no URDF of it"
        if name in described
        else "neither a known robot nor a file"
    )
    cure = f"give {_ROBOTS}"
    if name.endswith("_description") and not described:
        cure += ", which is not installed: pip install 'robot_dynamics_ros[robots]'"
    return f"{name}: {problem}. Cure: {cure}{did_you_mean(name, known)}"


def recorded_robot(
    arguments: argparse.Namespace, bag: Path, near: str | None = None
) -> RobotSource:
    """Return the robot of --robot if given, else that of ``bag``.

    The bag's robot is that of ~/configuration of a controller in the namespace of the topic ``near`` (None: of the
    joint states, by the options of ``add_joint_states``), else that of robot_description. --dynamics replaces its
    dynamics file; --gravity is not applied. Raises RobotDynamicsError if there is no robot, if --topic must choose
    between several topics, and if bag or files cannot be read.
    """
    if arguments.robot is not None:
        return named_robot(arguments)
    if near is None:
        near = joint_state_topic(bag, arguments.topic)
    dynamics = dynamics_file(arguments.dynamics)
    recorded = read_configuration(bag, near)
    if recorded is not None:
        topic, configuration = recorded
        text = configuration.dynamics_file if arguments.dynamics is None else ""
        gravity = GRAVITY.read(configuration.values)
        return RobotSource(
            f"{bag}: {topic}", configuration.robot_description, dynamics, text, gravity
        )
    description = read_description(bag)
    if description is None:
        raise RobotDynamicsError(
            f"{bag}: it contains no robot (robot_description or ~/configuration). Cure: record robot_description, or "
            f"give --robot with {_ROBOTS}"
        )
    return RobotSource(f"{bag}: robot_description", description, dynamics)


def _fitting_rename(names: Sequence[str], joints: Sequence[str]) -> str:
    """Return the argument of --rename that replaces one prefix of the recorded ``names`` and yields all ``joints``.

    Return "OLD=NEW" if there is none.
    """
    for name in names:
        tail = os.path.commonprefix([name[::-1], joints[0][::-1]])[::-1].lstrip("_/")
        old = name.removesuffix(tail)
        new = joints[0].removesuffix(tail)
        if tail and old and set(joints) <= set(map(renaming({old: new}), names)):
            return f"{old}={new}"
    return "OLD=NEW"


def recorded_joints(
    arguments: argparse.Namespace, bag: Path, source: RobotSource
) -> list[str]:
    """Return the joints of the robot ``source`` that the bag's joint states contain, after --rename.

    Raises RobotDynamicsError if the robot is invalid or none of its joints is recorded, and if the bag cannot be read.
    """
    names = read_joint_names(
        bag, joint_state_topic(bag, arguments.topic), dict(arguments.rename)
    )
    joints = source.joint_names()
    recorded = [name for name in joints if name in names]
    if not recorded:
        raise RobotDynamicsError(
            f"{source.name}: the robot's joints are {', '.join(joints)}, the recording's {', '.join(names)}. "
            f"Cure: give --rename {_fitting_rename(names, joints)}, or another --robot"
        )
    return recorded


def load_robot(
    arguments: argparse.Namespace, bag: Path, source: RobotSource | None = None
) -> RobotModel:
    """Return the model of those joints of a robot that the bag's joint states contain, after --rename.

    The robot is ``source``; None for that of --robot, else that of the bag. Other joints are locked at 0. These, and
    the source of a recorded robot, are reported on stderr. --gravity, else the recorded one, is applied. Raises
    RobotDynamicsError if there is no robot, it is invalid, or none of its joints is recorded, and if the bag cannot be
    read.
    """
    source = source or recorded_robot(arguments, bag)
    recorded = recorded_joints(arguments, bag, source)
    if arguments.robot is None:
        print(f"note: robot: {source}", file=sys.stderr)
    gravity = arguments.gravity or source.gravity or None
    model = source.model(joints=recorded, gravity=gravity)
    note_locked(model, "not in the recording, ")
    return model
