"""Robot files for launch files and commands; xacro files are expanded.

The arguments and actions that launch files share are in ``actions``, which alone needs launch and launch_ros.
"""

from __future__ import annotations

import importlib
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.resources import find_resource, robot_dynamics_file, robot_urdf
from robot_dynamics_ros.dynamics.model.urdf_document import UrdfDocument

SUFFIX = ".xacro"


def expand_xacro(path: Path, arguments: Mapping[str, str]) -> bytes:
    """Return the URDF of the xacro file ``path``, encoded in UTF-8, by the Python module or the command xacro.

    ``arguments`` are values of xacro arguments by name. Raises RobotDynamicsError if neither is installed, and for
    files that xacro rejects.
    """
    try:
        xacro = importlib.import_module("xacro")
    except ImportError:
        command = shutil.which("xacro")
        if command is None:
            raise RobotDynamicsError(
                f"{path}: xacro is not installed. Cure: pip install xacro, or sudo apt install ros-<distro>-xacro"
            ) from None
        line = [command, str(path), *(f"{name}:={value}" for name, value in arguments.items())]
        run = subprocess.run(line, capture_output=True, check=False)
        if run.returncode != 0:
            raise _xacro_error(path, run.stderr.decode(errors="replace").removeprefix("error: ")) from None
        return run.stdout
    try:
        document: bytes = xacro.process_file(str(path), mappings=dict(arguments)).toxml(encoding="utf-8")
    except Exception as error:  # xacro, Python expressions in the file, expat, PyYAML and ament raise different types
        raise _xacro_error(path, str(error) or repr(error)) from None
    return document


def _xacro_error(path: Path, message: str) -> RobotDynamicsError:
    return RobotDynamicsError(
        f"{path}: xacro: {' '.join(message.split())}. Cure: correct the file, pass its arguments by --xacro-arg "
        "NAME:=VALUE, or source the workspace of the packages that it includes (. install/setup.bash)"
    )


@dataclass(frozen=True)
class LaunchedRobot:
    """Files of a robot. If its URDF comes from the topic robot_description, only ``dynamics_file`` is not empty.

    Attributes
    ----------
    urdf
        Text of the URDF.
    root
        Name of the root link.
    dynamics_file
        Path of the dynamics file; empty for none.
    settings
        One path, that of the parameter file of a shipped robot; empty for other robots.
    """

    urdf: str
    root: str
    dynamics_file: str
    settings: tuple[str, ...]


def find_robot(name: str, urdf: str = "", dynamics: str = "", xacro_args: str = "") -> LaunchedRobot:
    """Return the robot that the launch arguments robot, urdf, dynamics_file and xacro_args select.

    ``name`` is that of a shipped robot, or empty for the robot of the topic robot_description. ``urdf`` is the path of
    a URDF or xacro file that is used instead, if not empty, ``xacro_args`` its arguments, "name:=value name:=value".
    ``dynamics`` is a path, "none" for no dynamics file, or empty for the shipped one of the robot, if any.

    Raises RobotDynamicsError for an unknown name, a missing file, an invalid URDF, and a xacro file that cannot be
    expanded.
    """
    settings: tuple[str, ...] = ()
    if urdf:
        path, name = existing_file("urdf", urdf), ""
    elif name:
        path, settings = robot_urdf(name), (str(find_resource("config", f"{name}.yaml")),)
    else:
        return LaunchedRobot("", "", dynamics_file(dynamics, ""), ())
    if path.suffix == SUFFIX:
        words = [word.partition(":=") for word in shlex.split(xacro_args)]
        text = expand_xacro(path, {key: value for key, _, value in words}).decode("utf-8")
    else:
        text = path.read_text(encoding="utf-8")
    return LaunchedRobot(text, _root_link(text, str(path)), dynamics_file(dynamics, name), settings)


def dynamics_file(argument: str, robot: str) -> str:
    """Return the path of the dynamics file; empty for none.

    ``argument`` is a path, "none", or empty for the shipped file of the shipped robot ``robot``, if both exist. An
    empty ``robot`` has none. Raises RobotDynamicsError if the file does not exist or the robot is unknown.
    """
    if argument == "none":
        return ""
    if argument:
        return str(existing_file("dynamics_file", argument))
    return str((robot and robot_dynamics_file(robot)) or "")


def existing_file(argument: str, value: str) -> Path:
    """Return the absolute path of the file ``value``, the value of the launch argument named ``argument``.

    Raises RobotDynamicsError, which names ``argument``, if the file does not exist.
    """
    path = Path(value).resolve()
    if not path.is_file():
        raise RobotDynamicsError(f"{argument}:={value}: the file {path} does not exist. Cure: correct the path")
    return path


def _root_link(urdf: str, source: str) -> str:
    robot = UrdfDocument(urdf, source).robot
    children = {child.get("link") for child in robot.findall("joint/child")}
    return next((str(link.get("name")) for link in robot.findall("link") if link.get("name") not in children), "")
