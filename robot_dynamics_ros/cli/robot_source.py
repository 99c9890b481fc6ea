"""The robot that a command is about: a shipped one, a URDF or xacro file, or what a bag has recorded."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robot_dynamics_ros.errors import RobotDynamicsError, RobotModelError, RobotModelWarning
from robot_dynamics_ros.launching.robots import SUFFIX, expand_xacro
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.model.dynamics_file import DynamicsFile, parse_dynamics_file
from robot_dynamics_ros.resources import robot_dynamics_file, robot_names, robot_urdf

_UNNAMED = "URDF: "  # what begins a message about a text


@dataclass(frozen=True)
class RobotSource:
    """A robot's files, read but not yet understood.

    Attributes
    ----------
    name
        What messages call it: the path of its URDF, or where else it is from.
    text
        Its URDF.
    dynamics
        The path of its dynamics file, None for none.
    dynamics_text
        The content of a recorded dynamics file, which counts where there is no path.
    gravity
        Acceleration of gravity (m/s^2) that the recording's controller was given, empty for none.
    """

    name: str
    text: str | bytes
    dynamics: str | None
    dynamics_text: str = ""
    gravity: Sequence[float] = ()

    def __str__(self) -> str:
        recorded = "as recorded" if self.dynamics_text else "none"
        return f"{self.name}, dynamics file: {self.dynamics or recorded}"

    def dynamics_content(self) -> str:
        """Return the content of its dynamics file, empty for none; errors as ``model``."""
        if self.dynamics is None:
            return self.dynamics_text
        try:
            return Path(self.dynamics).read_text(encoding="utf-8", errors="replace")
        except OSError as problem:
            raise RobotModelError(f"{self.dynamics}: {problem.strerror}. Cure: check the path") from None

    def model(self, **keywords: Any) -> RobotModel:
        """Return the model; keywords and errors as ``RobotModel.from_urdf``, the errors with the name."""
        dynamics: str | DynamicsFile | None = self.dynamics
        if dynamics is None and self.dynamics_text:
            dynamics = parse_dynamics_file(self.dynamics_text, f"{self.name}: dynamics_file")
        try:
            return RobotModel.from_urdf(self.text, dynamics=dynamics, **keywords)
        except RobotModelError as problem:
            said = str(problem)
            if not said.startswith(_UNNAMED):
                raise
            raise RobotModelError(f"{self.name}: {said.removeprefix(_UNNAMED)}") from None

    def joint_names(self) -> tuple[str, ...]:
        """Return the joints that move where none is locked; errors as ``model``, and no warnings."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RobotModelWarning)
            return self.model().joint_names

    def part(
        self,
        joints: Sequence[str] | None,
        locked: Mapping[str, float] | None = None,
        note: str = "",
        **keywords: Any,
    ) -> RobotModel:
        """Return the model of these joints, of all for None; the others are locked where ``locked`` says, else at 0.

        ``note`` is said on stderr of joints that are locked at 0. Raises RobotDynamicsError for joints that are not
        there, and as ``model``.
        """
        given = dict(locked or {})
        if joints is None:
            return self.model(locked=given, **keywords)
        there = self.joint_names()
        if unknown := [name for name in joints if name not in there]:
            raise RobotDynamicsError(
                f"{self.name}: no joint {', '.join(unknown)} moves. Cure: --joints {' '.join(there)}"
            )
        others = [name for name in there if name not in joints and name not in given]
        if others and note:
            print(f"note: {', '.join(others)}: {note}", file=sys.stderr)
        return self.model(joints=joints, locked={**dict.fromkeys(others, 0.0), **given}, **keywords)


def robot_source(name: str, dynamics: str | None, xacro_arguments: Mapping[str, str]) -> RobotSource:
    """Read the robot of this name, or the URDF or xacro file of this path.

    ``dynamics`` is the path of a dynamics file, "none" for none; None: a shipped robot's own. RobotDynamicsError
    names the file and the cure.
    """
    path = Path(name)
    if name in robot_names():
        path = robot_urdf(name)
        if dynamics is None and (own := robot_dynamics_file(name)) is not None:
            dynamics = str(own)
    try:
        text = path.read_bytes()
    except OSError as problem:
        raise RobotDynamicsError(
            f"{name}: {problem.strerror}. Cure: give a URDF or xacro file, or one of {', '.join(robot_names())}"
        ) from None
    if path.suffix == SUFFIX:
        text = expand_xacro(path, xacro_arguments)
    elif xacro_arguments:
        raise RobotDynamicsError(f"{name}: it is no {SUFFIX} file. Cure: leave --xacro-arg out")
    return RobotSource(str(path), text, None if dynamics == "none" else dynamics)
