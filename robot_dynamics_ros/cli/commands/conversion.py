"""Commands from-dh, to-joints and export: conversions of a robot or of a path.

From a DH table to a URDF, from a path of the end effector to a joint trajectory, and from a robot to C.
The function run_<command> takes the parsed arguments that add_<command> declares.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics_ros.base.errors import (
    RobotDynamicsError,
    TrajectoryError,
    require_known,
)
from robot_dynamics_ros.base.files import read_bytes
from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.base.plain_yaml import NotPlainYaml, load_yaml
from robot_dynamics_ros.base.resources import find_resource, textbook_arm_names
from robot_dynamics_ros.cli.command_line import (
    add_joints,
    add_list,
    add_named_robot,
    add_output,
    check_output,
    command_text,
    note_locked,
    pair,
)
from robot_dynamics_ros.cli.named_robots import chosen_model, named_robot
from robot_dynamics_ros.cli.thresholds import LARGEST_RATE
from robot_dynamics_ros.control.end_effector.poses import COMPONENTS, pose_of
from robot_dynamics_ros.control.trajectory.trajectory import Trajectory
from robot_dynamics_ros.dynamics.description.dh_table import read_dh_file
from robot_dynamics_ros.dynamics.description.dynamics_file import parse_dynamics_file
from robot_dynamics_ros.dynamics.description.inertia import real_numbers
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.runs.trajectory_file import write_trajectory_file
from robot_dynamics_ros.textbooks.cartesian_dynamics import Task
from robot_dynamics_ros.textbooks.inverse_kinematics import joint_path

_KEYS = ("link", "components", "points")
_NO_TURN = (0.0, 0.0, 0.0, 1.0)


def add_from_dh(parser: ArgumentParser) -> None:
    """Set the description of ``parser`` and add the arguments."""
    parser.description = (
        "Write the URDF of a robot given by Denavit-Hartenberg parameters, in the standard or in Craig's convention, "
        "and mass properties. docs/dh_tables.md has the format of the table. A table with rotors or couplings also "
        "gives a dynamics file with the name of the URDF."
    )
    names = ", ".join(textbook_arm_names())
    parser.add_argument(
        "table", metavar="TABLE", help=f"a DH table (YAML), or a textbook arm: {names}"
    )
    add_list(
        parser,
        "--set",
        "NAME=VALUE",
        "parameters of the table, SI units",
        partial(pair, form="NAME=VALUE"),
    )
    add_output(
        parser, "-o", "--output", required=True, metavar="FILE", help="the new URDF"
    )


def run_from_dh(arguments: Namespace) -> None:
    """Write the URDF of the table, and a dynamics file of the same name (.dynamics.yaml) if the table has one.

    Raises RobotDynamicsError for a table that cannot be read or is invalid, for unknown parameters of --set, and, as
    ``check_output``, for files that exist without --overwrite or cannot be written there.
    """
    if arguments.table in textbook_arm_names():
        arguments.table = find_resource("textbook_arms", f"{arguments.table}.yaml")
    text, dynamics = read_dh_file(arguments.table, dict(arguments.set))
    files = {arguments.output: text}
    if dynamics:
        files[arguments.output.with_suffix(".dynamics.yaml")] = dynamics
    for path in files:
        check_output(arguments, path)
    model = RobotModel.from_urdf(
        text, dynamics=parse_dynamics_file(dynamics, str(arguments.table))
    )
    for path, content in files.items():
        path.write_text(content, encoding="utf-8")
    print(f"{model.name}: {model.n} joints, written to {', '.join(map(str, files))}")


def add_to_joints(parser: ArgumentParser) -> None:
    """Set the description of ``parser`` and add the arguments."""
    parser.description = (
        "Convert a path of the end effector, poses with times, to a joint trajectory: a spline through the poses, from "
        "rest to rest, by inverse kinematics within the position limits. Collisions are not considered. "
        "docs/end_effector_paths.md has the format of the path."
    )
    add_named_robot(parser)
    parser.add_argument(
        "path", type=Path, metavar="PATH", help="file with the path (YAML)"
    )
    add_joints(parser)
    parser.add_argument(
        "--start",
        type=float,
        nargs="+",
        metavar="Q",
        help="joint positions near those of the first pose, rad or m, which select a posture (default: 0)",
    )
    parser.add_argument(
        "--rate",
        type=float,
        default=50.0,
        help="points per second (default: %(default)g)",
    )
    add_output(
        parser,
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help="the new joint trajectory (YAML)",
    )


def run_to_joints(arguments: Namespace) -> None:
    """Write the joint trajectory of ``arguments``, and print its path and the next command.

    Raises RobotDynamicsError for an invalid path, robot or rate, for a path that cannot be followed, and as
    ``check_output``.
    """
    check_output(arguments, arguments.output)
    if not 0.0 < arguments.rate <= LARGEST_RATE:
        raise RobotDynamicsError(
            f"--rate {arguments.rate:g}: out of range. Cure: give more than 0, up to {LARGEST_RATE:g}"
        )
    model = chosen_model(named_robot(arguments), arguments)
    note_locked(model)
    try:
        task, points = _read_path(arguments.path, model)
        times, poses = _sampled(points, arguments.rate)
        q = joint_path(model, task, times, poses, arguments.start)
    except RobotDynamicsError as error:
        raise TrajectoryError(f"{arguments.path}: {error}") from None
    write_trajectory_file(
        TrajectoryPoints(model.joint_names, times, q), arguments.output
    )
    print(
        f"written: {arguments.output}, {len(times)} points; collisions are not checked"
    )
    print(
        f"next: {command_text('simulate', arguments, arguments.robot, '--trajectory', arguments.output)}"
    )


def _read_path(path: Path, model: RobotModel) -> tuple[Task, Array]:
    """Return the task, and the points of the path (m, 8): time (s), x y z (m), and quaternion x y z w."""
    try:
        content: Any = load_yaml(read_bytes(path, "path"), str(path))
    except NotPlainYaml as error:
        raise TrajectoryError(
            f"not plain YAML: {error}. Cure: correct the file"
        ) from None
    if not isinstance(content, dict):
        raise TrajectoryError(
            f"{content!r} is not a table. Cure: write keys and values, such as points"
        )
    for key in content:
        require_known(key, _KEYS, f"unknown key {key!r}", TrajectoryError)
    points = real_numbers(content.get("points", ()))
    if points is None or points.ndim != 2 or points.shape[1] not in (4, 8):
        raise TrajectoryError(
            "no rows of numbers in points. Cure: give t x y z, or t x y z qx qy qz qw, in each"
        )
    known = COMPONENTS if points.shape[1] == 8 else COMPONENTS[:3]
    names = str(content.get("components", " ".join(known))).split()
    if set(names) - set(known):
        raise TrajectoryError(
            f"components: {' '.join(names)}. Cure: use some of {' '.join(known)} for these points"
        )
    points = np.hstack([points, np.tile(_NO_TURN, (len(points), 1))])[:, :8]
    for row in points:
        pose_of(row[1:4], row[4:])  # checks the quaternion
    # A quaternion and its negative are the same orientation: each gets the sign that is nearer to the one before.
    opposite = (points[1:, 4:] * points[:-1, 4:]).sum(axis=1) < 0.0
    points[1:, 4:] *= np.cumprod(np.where(opposite, -1.0, 1.0))[:, None]
    only = model.end_links[0] if len(model.end_links) == 1 else ""
    return Task(
        str(content.get("link", only)), tuple(map(COMPONENTS.index, names))
    ), points


def _sampled(points: Array, rate: float) -> tuple[Array, Array]:
    """Return times (m,), s, and poses (m, 4, 4) of a spline from rest to rest; that of quaternions is normalised."""
    names = ("x", "y", "z", "qx", "qy", "qz", "qw")
    start = np.zeros((4, len(names)))
    start[0] = points[0, 1:]
    spline = Trajectory.from_points(
        TrajectoryPoints(names, points[:, 0], points[:, 1:]), names, 0.0, start
    )
    times, motion = (
        np.concatenate(parts)
        for parts in zip(*spline.resampled(1.0 / rate), strict=True)
    )
    return times, np.array(
        [pose_of(row[:3], row[3:] / np.linalg.norm(row[3:])) for row in motion[:, 0]]
    )


_FLAGS = "-std=c99 -O2 -ffp-contract=off -fno-tree-vectorize -Wall -Wextra -Wpedantic".split()


def add_export(parser: ArgumentParser) -> None:
    """Set the description of ``parser`` and add the arguments."""
    parser.description = (
        "Write the dynamics of one robot as C99: inverse and forward dynamics, gravity torque, mass matrix, friction, "
        "poses and Jacobians, computed torque. The code allocates no memory and needs only math.h. A C++17 header, a "
        "CMake file, a self-test, an example and a Python module are written with it. docs/export.md is a tutorial."
    )
    add_named_robot(parser)
    add_joints(parser)
    add_output(
        parser,
        "-o",
        "--output",
        required=True,
        metavar="DIR",
        help="new folder for the files",
    )
    parser.add_argument(
        "--name",
        help="prefix of all C names, and of the files (default: the robot's name in the URDF)",
    )
    parser.add_argument(
        "--links",
        nargs="+",
        metavar="LINK",
        help="links with functions for pose and Jacobian; the first carries the payload, unless the dynamics file has "
        "one (default: the links at the ends of the tree)",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="compile the files with cc, clang or python -m ziglang cc, and run the self-test",
    )
    parser.add_argument(
        "--python",
        action="store_true",
        help="compile the Python module <name>_dynamics and install it into this environment: pip install DIR",
    )


def run_export(arguments: Namespace) -> None:
    """Write the files for the robot of ``arguments``, with --check run the self-test, with --python install the module.

    Raises RobotDynamicsError as ``check_output``, if the robot cannot be read or exported, with --check if there is no
    compiler, it fails, or the self-test does, and with --python if pip fails.
    """
    folder = arguments.output
    check_output(arguments, folder, kind="export")
    model = chosen_model(named_robot(arguments), arguments)
    name = model.export_c(
        folder, arguments.links, name=arguments.name, overwrite=arguments.overwrite
    )
    print(f"{model.name}: {model.n} joints, written to {folder}")
    if arguments.check:
        print(f"self-test: {_self_test(folder, name)}")
    if arguments.python:
        _run(
            [
                sys.executable,
                "-m",
                "pip",
                "install",
                "--quiet",
                str(folder.resolve()),
            ]
        )
        print(f"installed the Python module {name}_dynamics")


def _self_test(folder: Path, name: str) -> str:
    """Compile the files of the robot ``name`` in a folder, run their self-test and return its output.

    Raises RobotDynamicsError if there is no compiler, it fails, or the self-test does.
    """
    sources = [str(folder / f"{name}_{end}") for end in ("dynamics.c", "test.c")]
    with tempfile.TemporaryDirectory() as temporary:
        program = str(Path(temporary, "self_test"))
        _run([*_compiler(), *_FLAGS, "-o", program, *sources, "-lm"])
        return _run([program])


def _compiler() -> list[str]:
    """Return the command of a C compiler. Raises RobotDynamicsError if there is none."""
    for name in ("cc", "clang"):
        if shutil.which(name):
            return [name]
    if find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc"]
    raise RobotDynamicsError(
        "export --check: no C compiler. Cure: install gcc or clang, or pip install ziglang"
    )


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RobotDynamicsError(
            f"export: {' '.join(command[:4])} ... failed: {(done.stdout + done.stderr).strip()[-2000:]}. Cure: export "
            "again into an empty folder; if it fails again, report it with the URDF"
        )
    return done.stdout.strip()
