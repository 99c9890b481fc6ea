"""Robots, settings and launch files that come with this package.

Works from a source tree, after `pip install` (into an environment, with --user or --target) and after
`colcon build` (also merged or with --symlink-install), without asking ROS.
"""

from functools import cache
from pathlib import Path

from robot_dynamics_ros.errors import RobotDynamicsError

_PACKAGE = "robot_dynamics_ros"
_SUFFIXES = {"urdf": (".urdf",), "config": (".yaml", ".xml"), "launch": (".launch.py",), "rviz": (".rviz",)}


@cache
def share_directory() -> Path:
    """Return the directory that holds this package's urdf, config and launch directories.

    Raises RobotDynamicsError if neither a source tree nor an installed share directory surrounds this module.
    """
    # Resolved first: --symlink-install links to the source tree, which has every file. The path as imported
    # comes second, for installers that link each module into a cache without the share directory.
    for module in dict.fromkeys((Path(__file__).resolve(), Path(__file__).absolute())):
        installed = (prefix / "share" / _PACKAGE for prefix in module.parents)
        for directory in (module.parents[1], *installed):
            manifest = directory / "package.xml"
            if manifest.is_file() and f"<name>{_PACKAGE}</name>" in manifest.read_text(encoding="utf-8"):
                return directory
    raise RobotDynamicsError(
        f"the files of {_PACKAGE} are missing: no share/{_PACKAGE}/package.xml above "
        f"{Path(__file__).parent}; install the package again by pip or colcon"
    )


def find_resource(kind: str, name: str) -> Path:
    """Return the path of one file that comes with this package.

    ``kind`` is "urdf", "config", "launch" or "rviz", ``name`` the file's name with its suffix, such as "panda.urdf".
    Raises RobotDynamicsError, which lists those that exist, if there is no such kind or file.
    """
    existing = _names(kind)
    if name not in existing:
        raise RobotDynamicsError(
            f"no {kind} file {name!r} comes with {_PACKAGE}; there are: {', '.join(existing) or 'none'} "
            f"(in {share_directory() / kind})"
        )
    return share_directory() / kind / name


def _names(kind: str) -> list[str]:
    if kind not in _SUFFIXES:
        raise RobotDynamicsError(f"no kind of file {kind!r}; the kinds are: {', '.join(_SUFFIXES)}")
    return sorted(path.name for path in (share_directory() / kind).glob("*") if path.name.endswith(_SUFFIXES[kind]))


def robot_names() -> list[str]:
    """Return the names of the robots that come with this package, sorted."""
    return [name.removesuffix(".urdf") for name in _names("urdf")]


def robot_urdf(name: str) -> Path:
    """Return the path of the URDF of a robot that comes with this package.

    Raises RobotDynamicsError, which lists those that exist, if there is no such robot.
    """
    robots = robot_names()
    if name not in robots:
        raise RobotDynamicsError(f"no robot {name!r} comes with {_PACKAGE}; there are: {', '.join(robots) or 'none'}")
    return share_directory() / "urdf" / f"{name}.urdf"


def robot_dynamics_file(name: str) -> Path | None:
    """Return the path of a robot's dynamics file, config/<name>.dynamics.yaml, or None where it has none.

    Raises RobotDynamicsError, which lists those that exist, if there is no such robot.
    """
    robot_urdf(name)
    path = share_directory() / "config" / f"{name}.dynamics.yaml"
    return path if path.is_file() else None
