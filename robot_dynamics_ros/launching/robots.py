"""Expanding xacro files, where xacro is installed: as a Python module, or as a command."""

from __future__ import annotations

import importlib
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.model.urdf import reduce_urdf
from robot_dynamics_ros.resources import find_resource, robot_dynamics_file, robot_urdf

SUFFIX = ".xacro"

_FIND = ("PackageNotFoundError", "AMENT_PREFIX_PATH", "substitution args not supported", "ament_index_python")


def expand_xacro(path: Path, arguments: Mapping[str, str]) -> bytes:
    """Return the URDF that a xacro file makes with these arguments (NAME:=VALUE).

    Raises RobotDynamicsError with the cure where xacro is not installed and for what xacro refuses. It reads what the
    file includes and loads, and nothing else is read.
    """
    try:
        xacro = importlib.import_module("xacro")
    except ImportError:
        return _by_command(path, arguments)
    try:
        document: bytes = xacro.process_file(str(path), mappings=dict(arguments)).toxml(encoding="utf-8")
    except Exception as problem:  # of xacro itself, of Python expressions in the file, of expat, PyYAML and ament
        raise _refused(path, str(problem) or repr(problem)) from None
    return document


def _by_command(path: Path, arguments: Mapping[str, str]) -> bytes:
    command = shutil.which("xacro")
    if command is None:
        raise RobotDynamicsError(
            f"{path}: xacro is not installed. Cure: pip install xacro, or sudo apt install ros-<distro>-xacro"
        )
    line = [command, str(path), *(f"{name}:={value}" for name, value in arguments.items())]
    run = subprocess.run(line, capture_output=True, check=False)
    if run.returncode != 0:
        raise _refused(path, run.stderr.decode(errors="replace").removeprefix("error: "))
    return run.stdout


def _refused(path: Path, problem: str) -> RobotDynamicsError:
    what = " ".join(problem.split())
    if any(sign in what for sign in _FIND):
        cure = (
            "source the workspace that has the package (. install/setup.bash), or expand the file where it is: "
            f"xacro {path} > {path.name.removesuffix(SUFFIX).removesuffix('.urdf')}.urdf"
        )
    else:
        cure = "correct the file, or give what it asks for by --xacro-arg NAME:=VALUE"
    return RobotDynamicsError(f"{path}: xacro: {what}. Cure: {cure}")


@dataclass(frozen=True)
class LaunchedRobot:
    """A robot's files.

    Attributes
    ----------
    urdf
        The text of its URDF; empty where the topic robot_description brings it.
    root
        The link that is no joint's child; empty with ``urdf``.
    dynamics_file
        The path of its dynamics file; empty: none.
    settings
        The path of its parameter file in config/, where it comes with this package.
    """

    urdf: str
    root: str
    dynamics_file: str
    settings: tuple[str, ...]


def find_robot(name: str, urdf: str = "", dynamics: str = "", xacro_args: str = "") -> LaunchedRobot:
    """Return the robot that the arguments robot, urdf, dynamics_file and xacro_args name.

    Raises RobotDynamicsError for a name or a file that is not there, for a URDF that is none, and for a xacro file that
    cannot be expanded.
    """
    if urdf:
        path = existing_file("urdf", urdf)
        text = _text(path, xacro_args)
        return LaunchedRobot(text, _root(text, str(path)), dynamics_file(dynamics, ""), ())
    if not name:
        return LaunchedRobot("", "", dynamics_file(dynamics, ""), ())
    text = _text(robot_urdf(name), "")
    settings = str(find_resource("config", f"{name}.yaml"))
    return LaunchedRobot(text, _root(text, f"{name}.urdf"), dynamics_file(dynamics, name), (settings,))


def dynamics_file(given: str, robot: str) -> str:
    """Return the path that the argument dynamics_file means: given, none, or the robot's own where there is one."""
    if given == "none":
        return ""
    own = robot_dynamics_file(robot) if robot else None
    file = existing_file("dynamics_file", given) if given else own
    return "" if file is None else str(file)


def existing_file(argument: str, given: str) -> Path:
    """Return the absolute path of a file that an argument names; RobotDynamicsError where there is none."""
    path = Path(given).resolve()
    if not path.is_file():
        raise RobotDynamicsError(f"{argument}:={given}: there is no file {path}. Cure: give the path of a file")
    return path


def _text(path: Path, xacro_args: str) -> str:
    if path.suffix != SUFFIX:
        return path.read_text(encoding="utf-8")
    given = [word.partition(":=") for word in shlex.split(xacro_args)]
    return expand_xacro(path, {name: value for name, _, value in given}).decode("utf-8")


def _root(urdf: str, source: str) -> str:
    robot = reduce_urdf(urdf, source)
    children = {child.get("link") for child in robot.findall("joint/child")}
    return next((str(link.get("name")) for link in robot.findall("link") if link.get("name") not in children), "")
