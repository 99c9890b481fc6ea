"""Robots by argument: shipped with this package, a URDF or xacro file, or a name of robot_descriptions.

robot_descriptions is a PyPI package that downloads URDFs by name. ``arguments`` are the parsed arguments of a command
to which ``add_robot`` or ``add_named_robot`` has added options.
"""

from __future__ import annotations

import io
import os
from argparse import Namespace
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path

from robot_dynamics_ros.base.errors import RobotDynamicsError, did_you_mean, note
from robot_dynamics_ros.base.files import read_urdf
from robot_dynamics_ros.base.resources import (
    dynamics_file,
    robot_names,
    robot_urdf,
    textbook_arm_names,
)
from robot_dynamics_ros.dynamics.description.dh_table import textbook_arm
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.robot_source import ROBOTS, RobotSource


def named_robot(arguments: Namespace) -> RobotSource:
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


def chosen_model(source: RobotSource, arguments: Namespace) -> RobotModel:
    """Return the model of ``source`` by --joints, --locked and --gravity; RobotModelError if they do not fit it."""
    return source.model(
        joints=arguments.joints,
        locked=dict(arguments.locked),
        gravity=arguments.gravity,
    )


def described() -> dict[str, bool]:
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
    known = described()
    if not known.get(name):
        raise RobotDynamicsError(_unknown(name, known))
    note(f"{name} is from robot_descriptions, which downloads it at the first use")
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
    cure = f"give {ROBOTS}"
    if name.endswith("_description") and not described:
        cure += ", which is not installed: pip install robot_descriptions"
    return f"{name}: {problem}. Cure: {cure}{did_you_mean(name, known)}"
