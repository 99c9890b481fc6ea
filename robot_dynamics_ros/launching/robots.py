"""The robot that a launch file starts: one that comes with this package, one's own, or that of a topic."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from robot_dynamics_ros.cli.xacro_file import SUFFIX, expand_xacro
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.model.urdf_xml import reduce_urdf
from robot_dynamics_ros.resources import find_resource, robot_dynamics_file, robot_urdf


@dataclass(frozen=True)
class Robot:
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


def find_robot(name: str, urdf: str = "", dynamics: str = "", xacro_args: str = "") -> Robot:
    """Return the robot that the arguments robot, urdf, dynamics_file and xacro_args name.

    Raises RobotDynamicsError for a name or a file that is not there, for a URDF that is none, and for a xacro file that
    cannot be expanded.
    """
    if urdf:
        path = existing_file("urdf", urdf)
        text = _text(path, xacro_args)
        return Robot(text, _root(text, str(path)), dynamics_file(dynamics, ""), ())
    if not name:
        return Robot("", "", dynamics_file(dynamics, ""), ())
    text = _text(robot_urdf(name), "")
    settings = str(find_resource("config", f"{name}.yaml"))
    return Robot(text, _root(text, f"{name}.urdf"), dynamics_file(dynamics, name), (settings,))


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
