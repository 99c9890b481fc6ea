"""Robots, textbook arms, settings, launch files, recordings and commands that this package installs.

Files are found in a source tree, after `pip install` (into an environment, with --user or --target) and after `colcon
build` (also merged or with --symlink-install). ROS is not needed. Every function raises RobotDynamicsError as
``share_directory``.
"""

import os
import shutil
from functools import cache
from glob import escape, glob
from pathlib import Path

from robot_dynamics_ros.base.errors import (
    RobotDynamicsError,
    RobotModelError,
    did_you_mean,
    require_known,
)

NODE_PROGRAM = str(Path(__file__).parents[1] / "cli" / "executables.py")
"""Program whose first argument names the node that it runs, from this copy of the package in any working directory."""

_PACKAGE = "robot_dynamics_ros"
_DYNAMICS = ".dynamics.yaml"
_SUFFIXES = {
    "urdf": (".urdf",),
    "textbook_arms": (".yaml",),
    "config": (".yaml", ".xml"),
    "launch": (".launch.py",),
    "rviz": (".rviz",),
    "recordings": (".mcap", ".license.txt"),
}


@cache
def share_directory() -> Path:
    """Return the directory that contains this package's urdf, config and launch directories.

    Raises RobotDynamicsError if this module is neither in a source tree nor next to an installed share directory.
    """
    # The resolved path comes first: --symlink-install links to the source tree, which has every file.
    # The imported path serves installers that link modules into a cache without a share directory.
    for module in dict.fromkeys((Path(__file__).resolve(), Path(__file__).absolute())):
        installed = (prefix / "share" / _PACKAGE for prefix in module.parents)
        for directory in (module.parents[2], *installed):
            manifest = directory / "package.xml"
            if manifest.is_file() and f"<name>{_PACKAGE}</name>" in manifest.read_text(
                encoding="utf-8"
            ):
                return directory
    raise RobotDynamicsError(
        f"{_PACKAGE}: no share/{_PACKAGE}/package.xml above {Path(__file__).parent}. "
        "Cure: install the package again with pip or colcon"
    )


def package_version() -> str:
    """Return the version in package.xml, the only place that defines it."""
    manifest = (share_directory() / "package.xml").read_text(encoding="utf-8")
    return manifest.split("<version>")[1].split("</version>")[0]


def find_resource(kind: str, name: str) -> Path:
    """Return the path of a file that this package installs.

    Parameters
    ----------
    kind
        "urdf", "textbook_arms", "config", "launch", "rviz" or "recordings", the folder of the file.
    name
        File name with its suffix, such as "panda.urdf".

    Raises
    ------
    RobotDynamicsError
        For an unknown kind or file. The message lists the available ones.
    """
    problem = f"{_PACKAGE} has no {kind} file {name!r} in {share_directory() / kind}"
    require_known(name, _names(kind), problem)
    return share_directory() / kind / name


def _names(kind: str) -> list[str]:
    require_known(kind, _SUFFIXES, f"unknown kind of file {kind!r}")
    return sorted(
        path.name
        for path in (share_directory() / kind).glob("*")
        if path.name.endswith(_SUFFIXES[kind])
    )


def robot_names() -> list[str]:
    """Return the sorted names of the robots that this package installs, such as "panda"."""
    return [name.removesuffix(".urdf") for name in _names("urdf")]


def robot_urdf(name: str) -> Path:
    """Return the path of the URDF of an installed robot.

    Raises RobotDynamicsError for an unknown robot. The message lists the available ones.
    """
    require_known(name, robot_names(), f"{_PACKAGE} has no robot {name!r}")
    return share_directory() / "urdf" / f"{name}.urdf"


def textbook_arm_names() -> list[str]:
    """Return the sorted names of the textbook arms that this package installs as DH tables, such as "craig_rp"."""
    return [name.removesuffix(".yaml") for name in _names("textbook_arms")]


def dynamics_names() -> list[str]:
    """Return the sorted names of the dynamics files that this package installs, such as "panda_coulomb"."""
    return [
        name.removesuffix(_DYNAMICS)
        for name in _names("config")
        if name.endswith(_DYNAMICS)
    ]


def dynamics_file(given: str | Path | None, robot: str = "") -> str | None:
    """Return the path of the dynamics file that a command, a launch argument or a call selects; None for none.

    ``given`` is the name of an installed file, such as "panda_coulomb" for config/panda_coulomb.dynamics.yaml, else
    "none", else a path. If it is None or empty, the file is the one with the name of the installed ``robot``, if there
    is one. Raises RobotModelError if ``given`` is neither such a name nor an existing file.
    """
    name = f"{given or robot}{_DYNAMICS}"
    if name in _names("config"):
        return str(share_directory() / "config" / name)
    if not given or given == "none":
        return None
    if not os.path.exists(given):  # Path.exists rejects long names
        names = [*dynamics_names(), "none"]
        folder = escape(os.path.dirname(given))
        near = did_you_mean(str(given), [*names, *glob(os.path.join(folder, "*.yaml"))])
        raise RobotModelError(
            f"{given}: no such dynamics file. Cure: use one of {', '.join(names)}, or a path{near}"
        )
    return str(given)


def command_line(ros2: str, own: str) -> str:
    """Return the command line ``ros2`` if the command ros2 is installed, else ``own``, which needs this package only.

    The wheels of PyPI contain no command ros2.
    """
    return own if shutil.which("ros2") is None else ros2
