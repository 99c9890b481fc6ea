"""Command-line options, checks of output paths and text tables that several subcommands use.

Functions add_<option> add options to an argparse ``parser``; others read the parsed ``arguments``.
"""

from __future__ import annotations

import json
import math
import os
import shlex
import shutil
import tempfile
import textwrap
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np

from robot_dynamics_ros.base.errors import (
    BagError,
    RobotDynamicsError,
    did_you_mean,
    note,
    use_one_of,
)
from robot_dynamics_ros.base.resources import (
    dynamics_file,
    dynamics_names,
    robot_names,
    robot_urdf,
    textbook_arm_names,
)
from robot_dynamics_ros.cli.named_robots import described, named_robot
from robot_dynamics_ros.cli.thresholds import LARGEST_STEP_SIZE
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.robot_source import ROBOTS, RobotSource
from robot_dynamics_ros.recordings.bags import JointSeries, read_joint_states
from robot_dynamics_ros.recordings.bags.reader import BagReader, opened
from robot_dynamics_ros.recordings.bags.storage import JOINT_STATE
from robot_dynamics_ros.runs.recorded_setup import RecordedSetup, measured_setup

TRACKING_LAWS = sorted(name for name, law in LAWS.items() if law.follows)
"""Names of the control laws that follow a joint trajectory."""

_LINE_WIDTH = 110


def pair(text: str, form: str) -> tuple[str, str]:
    """Return the two parts of an argument of the ``form`` OLD=NEW or NAME:=VALUE; the second may be empty.

    A ``form`` that contains ":=" separates there, every other at the first "=". Raises ArgumentTypeError if
    the separator or the first part is missing.
    """
    name, separator, value = text.partition(":=" if ":=" in form else "=")
    if not (name and separator):
        raise ArgumentTypeError(f"{text!r} is not of the form {form}")
    return name, value


def one_of(text: str, names: Sequence[str]) -> str:
    """Return the argument ``text`` unchanged; the ``type`` of an option whose ``choices`` are ``names``.

    Raises ArgumentTypeError, with the most similar name, for a misspelt one. Other unknown texts are left to argparse,
    which refuses them.
    """
    if text not in names and did_you_mean(text, names):
        raise ArgumentTypeError(f"{text!r} is unknown. Cure: {use_one_of(text, names)}")
    return text


def add_bag(parser: ArgumentParser, **options: Any) -> None:
    """Add the positional argument BAG, a Path in ``arguments.bag``; ``options`` are keywords of ``add_argument``."""
    parser.add_argument(
        "bag",
        type=Path,
        metavar="BAG",
        help="a bag's folder, or a .mcap or .db3 file of it",
        **options,
    )


def add_joint_states(parser: ArgumentParser) -> None:
    """Add --topic, the topic of the joint states, and --rename, for ``read_series`` and ``joint_state_topic``."""
    parser.add_argument(
        "--topic",
        help="topic of the joint states (default: the only topic of this type, or joint_states)",
    )
    add_rename(parser)


def add_list(
    parser: ArgumentParser,
    flag: str,
    metavar: str,
    text: str,
    kind: Callable[[str], Any] = str,
) -> None:
    """Add the option ``flag`` with the help ``text``: a list of values of this ``kind``, empty by default.

    An option that is repeated extends the list.
    """
    parser.add_argument(
        flag,
        type=kind,
        nargs="+",
        action="extend",
        default=[],
        metavar=metavar,
        help=text,
    )


def add_rename(parser: ArgumentParser) -> None:
    """Add --rename OLD=NEW, pairs of names; ``dict(arguments.rename)`` maps old joint names or prefixes to new ones."""
    add_list(
        parser,
        "--rename",
        "OLD=NEW",
        "replace joint names of the bag, or their prefixes, for example fer_=panda_",
        partial(pair, form="OLD=NEW"),
    )


def add_robot(parser: ArgumentParser) -> None:
    """Add --robot, --dynamics, --gravity and --xacro-arg to ``parser``, for ``load_setup``.

    --robot is None by default, for the robot of the bag.
    """
    _add(
        parser,
        "--robot",
        _robot_completions,
        metavar="NAME|URDF",
        help=f"{ROBOTS} (default: the robot in the bag)",
    )
    _add_robot_files(parser)


def add_recorded_robot(parser: ArgumentParser) -> None:
    """Add the options of ``add_joint_states``, ``add_robot`` and ``add_joints``, for ``load_setup``."""
    add_joint_states(parser)
    add_robot(parser)
    add_joints(parser)


def add_named_robot(parser: ArgumentParser, **options: Any) -> None:
    """Add the argument ROBOT and --dynamics, --gravity and --xacro-arg to ``parser``, for ``named_robot``.

    ``options`` are keywords of ``add_argument`` for ROBOT.
    """
    _add(
        parser,
        "robot",
        _robot_completions,
        metavar="ROBOT|URDF",
        help=ROBOTS,
        **options,
    )
    _add_robot_files(parser)


def add_dynamics(parser: ArgumentParser, option: str, description: str) -> None:
    """Add an ``option`` for a dynamics file, whose ``description`` is the help, for ``dynamics_file``."""
    _add(parser, option, _dynamics_completions, metavar="FILE", help=description)


def add_joints(parser: ArgumentParser) -> None:
    """Add --joints and --locked to ``parser``, as keywords of ``RobotSource.model``."""
    parser.add_argument(
        "--joints",
        nargs="+",
        metavar="NAME",
        help="joints of the model (default: all movable joints, or those of the bag's controller)",
    )
    add_list(
        parser,
        "--locked",
        "NAME=VALUE",
        "positions of locked joints, rad or m (default: 0, or those in the bag)",
        joint_value,
    )


def _add_robot_files(parser: ArgumentParser) -> None:
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
    add_list(
        parser,
        "--xacro-arg",
        "NAME:=VALUE",
        "arguments of a xacro file, which needs xacro, or parameters of a textbook arm, such as l1:=0.3",
        partial(pair, form="NAME:=VALUE"),
    )


def _add(
    parser: ArgumentParser,
    name: str,
    completer: Callable[..., list[str]],
    **options: Any,
) -> None:
    action = parser.add_argument(name, **options)
    action.completer = completer  # type: ignore[attr-defined]  # argcomplete asks it


def _completions(prefix: str, names: Iterable[str], *suffixes: str) -> list[str]:
    """Return the ``names``, and the files with ``suffixes`` (default: any), that begin with ``prefix``."""
    files = import_module("argcomplete").FilesCompleter(suffixes)(prefix)
    return [*(name for name in names if name.startswith(prefix)), *files]


def _dynamics_completions(prefix: str, **_: Any) -> list[str]:
    """Return the names and files that complete the argument for a dynamics file in a shell."""
    return _completions(prefix, (*dynamics_names(), "none"), "yaml")


def _robot_completions(prefix: str, **_: Any) -> list[str]:
    """Return the names and files that complete a robot argument in a shell."""
    known = _completions(prefix, (*robot_names(), *textbook_arm_names()))
    others = (name for name, has_urdf in described().items() if has_urdf)
    return known or [name for name in others if name.startswith(prefix)]


def add_no_browser(parser: ArgumentParser) -> None:
    """Add --no-browser; ``arguments.no_browser`` is True if the page shall not be opened."""
    parser.add_argument(
        "--no-browser",
        action="store_true",
        help="only print the address of the page; do not open it",
    )


def add_filter(parser: ArgumentParser) -> None:
    """Add --cutoff (Hz) of the filter and --effort-delay (s), each None if not given, and ``add_drive_gains``."""
    parser.add_argument(
        "--cutoff",
        type=float,
        metavar="HZ",
        help="cutoff frequency of the zero-phase filter, 0 for none (default: 10, or a sixth of the sampling rate)",
    )
    parser.add_argument(
        "--effort-delay",
        type=float,
        metavar="SECONDS",
        help="delay of the effort relative to position and velocity, which is removed (default: 0)",
    )
    add_drive_gains(parser)


def add_drive_gains(parser: ArgumentParser) -> None:
    """Add --drive-gains, the gains of the efforts, which ``drive_gains`` reads."""
    add_list(
        parser,
        "--drive-gains",
        "[JOINT=]GAIN",
        "Nm or N per recorded unit of effort, as for currents: of one joint, or of all others",
        joint_value,
    )


def drive_gains(arguments: Namespace, joint_names: Sequence[str]) -> dict[str, float]:
    """Return the gains of --drive-gains (Nm or N per recorded unit of effort) by joint; empty if none is given.

    A gain given without a joint applies to all others of ``joint_names``. Gains of unknown joints are returned too.
    """
    given = dict(arguments.drive_gains)
    if "" in given:
        common = given.pop("")
        given = {name: given.pop(name, common) for name in joint_names} | given
    return given


def joint_value(text: str) -> tuple[str, float]:
    """Return joint and value of an argument of the form JOINT=VALUE, or VALUE, for which the joint is empty.

    Raises ArgumentTypeError for other texts.
    """
    name, _, value = text.rpartition("=")
    try:
        return name, float(value)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not of the form JOINT=VALUE") from None


def add_output(parser: ArgumentParser, *flags: str, **keywords: Any) -> None:
    """Add an option ``flags`` for the path of an output file or bag, and --overwrite; ``check_output`` checks both.

    ``keywords`` are those of ``add_argument``.
    """
    parser.add_argument(*flags, type=Path, **keywords)
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="replace an existing file, MCAP bag without other files, or earlier export; never an input",
    )


def add_bag_output(parser: ArgumentParser) -> None:
    """Add -o, --output and --overwrite for the folder of a new bag, as ``add_output``."""
    add_output(
        parser,
        "-o",
        "--output",
        required=True,
        metavar="BAG",
        help="folder of the new bag",
    )


def add_json(parser: ArgumentParser) -> None:
    """Add --json; ``arguments.json`` is True if ``print_json`` shall print the result, and nothing else stdout."""
    parser.add_argument(
        "--json", action="store_true", help="print everything as one JSON object"
    )


def print_json(content: Mapping[str, Any]) -> None:
    """Print ``content`` as one JSON object: arrays as lists, numbers that are not finite as null, paths as texts."""
    print(json.dumps(_plain(content), indent=2, allow_nan=False, default=str))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def check_output(
    arguments: Namespace,
    output: Path | None,
    *,
    kind: Literal["file", "bag", "export"] = "file",
) -> None:
    """Check that ``output`` can be written; call this before any work is done.

    Raises RobotDynamicsError if it is an input of ``arguments``, inside an input bag or around one, if it exists and
    --overwrite is not given, and, for a file, if its folder does not exist. With --overwrite it is raised if the
    existing one is not of the ``kind``: a plain file, a bag without other files, or a folder of exported C code. An
    output of None is not checked.
    """
    if output is None:
        return
    place = output.resolve()
    cure = f"Cure: name another {'file' if kind == 'file' else 'folder'}"
    title, replaceable = _KINDS[kind]
    for source in _inputs(arguments):
        # also for hard links
        same = output.exists() and source.exists() and output.samefile(source)
        if same or source in place.parents or place in source.parents:
            raise RobotDynamicsError(
                f"{output}: the output overlaps with the input {source}. {cure}"
            )
    if not os.path.lexists(output):
        if kind == "file" and not place.parent.is_dir():
            raise RobotDynamicsError(
                f"{output}: its folder does not exist. {cure}, or create the folder"
            )
    elif not arguments.overwrite:
        raise RobotDynamicsError(
            f"{output}: it exists already. {cure}, or add --overwrite"
        )
    elif not replaceable(output):
        raise RobotDynamicsError(
            f"{output}: it is not a {title}, and is not overwritten. {cure}"
        )


def _inputs(arguments: Namespace) -> Iterator[Path]:
    """Yield the paths that a command reads, including the files in bags."""
    for name in ("a", "b", "bag", "bags", "robot", "dynamics", "table", "path"):
        value = getattr(arguments, name, None)
        for source in value if isinstance(value, list) else [value]:
            files = (
                (robot_urdf(source), dynamics_file(None, source))
                if source in robot_names()
                else (source,)
            )
            for file in (Path(file) for file in files if file is not None):
                parts = (
                    file.iterdir()
                    if file.is_dir()
                    else (file.with_name("metadata.yaml"),)
                )
                yield from (part.resolve() for part in (file, *parts))


def _is_plain_bag(folder: Path) -> bool:
    if folder.is_symlink() or not (folder / "metadata.yaml").is_file():
        return False
    return all(
        file.name == "metadata.yaml" or file.suffix == ".mcap"
        for file in folder.iterdir()
    )


def _is_export(folder: Path) -> bool:
    return any(folder.glob("*_dynamics.h"))


_KINDS = {
    "file": ("file", Path.is_file),
    "bag": ("bag without other files", _is_plain_bag),
    "export": ("folder of exported C code", _is_export),
}


@contextmanager
def new_bag(output: Path) -> Iterator[Path]:
    """Yield a path for a new bag, which does not exist; on success it replaces an existing bag at ``output``.

    Without an existing bag the path is ``output`` itself. After an exception the existing bag is unchanged.
    """
    if not output.exists():
        yield output
        return
    with tempfile.TemporaryDirectory(dir=output.absolute().parent) as folder:
        new = Path(folder) / output.name
        yield new
        shutil.rmtree(output)
        new.rename(output)


def plant_step_size(rate: float) -> float:
    """Return the largest step size (s) up to 1 ms that divides the period 1 / ``rate``; ``rate`` is in Hz."""
    return 1.0 / (rate * math.ceil(1.0 / (rate * LARGEST_STEP_SIZE)))


def read_series(bag: Path | BagReader, arguments: Namespace) -> JointSeries:
    """Return the joint states of a bag that --topic and --rename select, and report a choice between topics.

    Raises BagError as ``joint_state_topic`` and ``read_joint_states``.
    """
    with opened(bag) as reader:
        topic = joint_state_topic(reader, arguments.topic)
        # Commands of this package's controller are no measurements.
        others = [
            name
            for name in _joint_state_topics(reader)
            if name != topic and not name.endswith("/command_states")
        ]
        if arguments.topic is None and others:
            note(
                f"{reader.path}: joint states from {topic}; --topic can choose {', '.join(others)}"
            )
        return read_joint_states(reader, [topic], dict(arguments.rename))[topic]


def _joint_state_topics(bag: BagReader) -> list[str]:
    return sorted(name for name, kind in bag.topics.items() if kind == JOINT_STATE)


def joint_state_topic(bag: BagReader, topic: str | None) -> str:
    """Return ``topic`` if not None, else the bag's only topic of type JointState, or the only one named joint_states.

    Raises BagError if neither is the only one.
    """
    if topic is not None:
        return topic
    topics = _joint_state_topics(bag)
    usual = [name for name in topics if name.rsplit("/", 1)[-1] == "joint_states"]
    for choice in (topics, usual):
        if len(choice) == 1:
            return choice[0]
    if not topics:
        raise BagError(
            f"{bag.path}: no topic of type {JOINT_STATE}. Cure: record joint_states"
        )
    raise BagError(
        f"{bag.path}: several topics of type {JOINT_STATE}. Cure: give --topic with one of {', '.join(topics)}"
    )


def read_measured(bag: Path, arguments: Namespace) -> tuple[JointSeries, RecordedSetup]:
    """Return ``read_series`` and ``load_setup`` of a bag; RobotDynamicsError as these."""
    with BagReader(bag) as reader:
        series = read_series(reader, arguments)
        return series, load_setup(arguments, reader, series)


def load_setup(
    arguments: Namespace,
    bag: BagReader,
    series: JointSeries,
    robot: RobotSource | None = None,
) -> RecordedSetup:
    """Return the setup of a bag for its joint states ``series`` by --joints and --locked, and its model.

    The robot is ``robot``; None for that of --robot, else that of the bag. The source of a recorded robot, and locked
    joints are reported on stderr. Raises RobotDynamicsError as ``named_robot``, ``joint_state_topic`` and
    ``measured_setup``.
    """
    if robot is None and arguments.robot is not None:
        robot = named_robot(arguments)
    setup = measured_setup(
        bag,
        joint_state_topic(bag, arguments.topic),
        series,
        dict(arguments.rename),
        robot,
        arguments.dynamics,
        arguments.gravity,
        arguments.joints,
        dict(arguments.locked),
    )
    if arguments.robot is None:
        note(f"robot: {setup.robot}")
    note_locked(setup.model)
    return setup


def note_locked(model: RobotModel) -> None:
    """Print a note to stderr with the locked joints of ``model``, if there are any."""
    if joints := locked_joints(model):
        note(joints)


def locked_joints(model: RobotModel) -> str:
    """Return a line with the locked joints of ``model`` and their positions, rad or m; empty if there are none."""
    joints = ", ".join(
        f"{name} at {position:g}" for name, position in model.locked.items()
    )
    return f"locked: {joints}" if joints else ""


def command_text(
    command: str,
    arguments: Namespace,
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
        if values:
            words.append(f"--{option.replace('_', '-')}")
        for one in values:
            parts = one if isinstance(one, tuple) else (one,)
            words.append(separator.join(map(str, parts)).removeprefix("="))
    return shlex.join(words)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a text table of ``header`` and ``rows``, each of one cell per column, without a newline at the end.

    The first column is left-aligned, the others are right-aligned.
    """
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    aligned = ["<", *">" * len(widths[1:])]
    lines = [
        "  ".join(map("{:{}{}}".format, row, aligned, widths)).rstrip()
        for row in (header, *rows)
    ]
    return "\n".join(lines)


def wrapped(text: str) -> str:
    """Return a paragraph wrapped into lines of 110 characters, indented by two from the second on.

    Words with hyphens and long words are not broken.
    """
    return textwrap.fill(
        text,
        _LINE_WIDTH,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
