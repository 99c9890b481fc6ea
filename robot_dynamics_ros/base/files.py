"""Content of files, its checksum, and the expansion of xacro files."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from robot_dynamics_ros.base.errors import RobotDynamicsError, RobotModelError

XACRO = ".xacro"
"""Suffix of xacro files."""


def read_bytes(path: str | Path, kind: str) -> bytes:
    """Return the content of a file.

    ``kind`` is the noun for the file in messages, such as "URDF". Raises RobotModelError if it cannot be read, or if
    ``path`` is neither a str nor a Path.
    """
    if not isinstance(path, str | Path):
        raise RobotModelError(
            f"{path!r} is not the path of a {kind}. Cure: pass a str or a Path"
        )
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", error)
        raise RobotModelError(
            f"{path}: cannot read the {kind}: {reason}. Cure: check the path"
        ) from None


def checksum(text: str | bytes) -> str:
    """Return the SHA-256 of a text in UTF-8, hexadecimal."""
    return hashlib.sha256(
        text.encode(errors="surrogatepass") if isinstance(text, str) else text
    ).hexdigest()


def read_urdf(path: Path, xacro_arguments: Mapping[str, str]) -> bytes:
    """Return the URDF in the file ``path``; a file with the suffix .xacro is expanded with its arguments, by name.

    Raises RobotDynamicsError if the file cannot be read, xacro is not installed or rejects the file, and if there are
    arguments for a file without the suffix.
    """
    if path.suffix == XACRO:
        return _expanded(path, xacro_arguments)
    if xacro_arguments:
        raise RobotDynamicsError(
            f"{path}: it is not a {XACRO} file. Cure: leave out --xacro-arg, or xacro_args"
        )
    return read_bytes(path, "URDF")


def _expanded(path: Path, arguments: Mapping[str, str]) -> bytes:
    """Return the result of the Python module xacro, else of the command xacro."""
    try:
        xacro = import_module("xacro")
    except ImportError:
        xacro = None
    try:
        if xacro is not None:
            return bytes(
                xacro.process_file(str(path), mappings=dict(arguments)).toxml(
                    encoding="utf-8"
                )
            )
        if shutil.which("xacro") is None:
            cure = "pip install xacro, or sudo apt install ros-<distro>-xacro"
            raise RobotDynamicsError(f"{path}: xacro is not installed. Cure: {cure}")
        line = ["xacro", str(path), *map(":=".join, arguments.items())]
        return subprocess.run(line, capture_output=True, check=True).stdout
    except RobotDynamicsError:
        raise
    except Exception as error:  # xacro, Python expressions in the file, expat, PyYAML and ament raise different types
        text = (
            error.stderr.decode()
            if isinstance(error, subprocess.CalledProcessError)
            else str(error) or repr(error)
        )
        raise RobotDynamicsError(
            f"{path}: xacro: {' '.join(text.split())}. Cure: correct the file, pass its arguments by --xacro-arg "
            "NAME:=VALUE, or source the workspace of the packages that it includes (. install/setup.bash)"
        ) from None
