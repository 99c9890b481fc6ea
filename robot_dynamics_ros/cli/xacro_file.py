"""Expanding xacro files, where xacro is installed: as a Python module, or as a command."""

from __future__ import annotations

import importlib
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from robot_dynamics_ros.errors import RobotDynamicsError

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
