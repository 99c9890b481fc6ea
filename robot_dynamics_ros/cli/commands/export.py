"""robot_dynamics export: write one robot's dynamics as C.

``run_export`` takes the parsed arguments that ``add_export`` declares.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from importlib.util import find_spec
from pathlib import Path

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.cli.command_line import (
    add_joints,
    add_named_robot,
    add_output,
    check_output,
)
from robot_dynamics_ros.cli.named_robots import chosen_model, named_robot

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

    Raises RobotDynamicsError if the folder exists without --overwrite, if the robot cannot be read or exported, and
    with --check and --python if there is no compiler, it fails, or the self-test does.
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
