"""Content of a robot's files, from which a command creates one or more models."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robot_dynamics_ros.base.errors import RobotModelError, RobotModelWarning
from robot_dynamics_ros.base.files import read_bytes
from robot_dynamics_ros.base.resources import (
    robot_names,
    share_directory,
    textbook_arm_names,
)
from robot_dynamics_ros.dynamics.description.dynamics_file import (
    DynamicsFile,
    parse_dynamics_file,
)
from robot_dynamics_ros.dynamics.model.robot_model import RobotModel

ROBOTS = (
    f"one of {', '.join(robot_names())}, a textbook arm such as craig_rp, a URDF or xacro file, or a name of "
    "robot_descriptions"
)
"""Arguments that name a robot, as a text for help and errors."""

_UNNAMED = "URDF: "  # prefix of the errors of a URDF that is given as text
_OF_URDF = (_UNNAMED, "joints: ", "locked: ")


@dataclass(frozen=True)
class RobotSource:
    """Content of a robot's files, not yet parsed.

    ``name`` is the path of the URDF, or bag and topic, for messages. ``text`` is the content of the URDF. ``dynamics``
    is the path of the dynamics file, or None; without it ``dynamics_text`` is the content of a recorded one, or empty.

    Methods that create a model raise RobotModelError, with the name of the file, for an invalid URDF or dynamics file,
    and for a dynamics file that cannot be read.
    """

    name: str
    text: str | bytes
    dynamics: str | None
    dynamics_text: str = ""

    def __str__(self) -> str:
        recorded = "as recorded" if self.dynamics_text else "none"
        return f"{self.name}, dynamics file: {self.dynamics or recorded}"

    def dynamics_content(self) -> str:
        """Return the text of the dynamics file, or else the recorded one; empty if there is none.

        Raises RobotModelError if the file cannot be read.
        """
        if self.dynamics is None:
            return self.dynamics_text
        return read_bytes(self.dynamics, "dynamics file").decode(errors="replace")

    def model(self, **keywords: Any) -> RobotModel:
        """Return the model; ``keywords`` are those of ``RobotModel.from_urdf``, such as joints, locked and gravity.

        Raises RobotModelError for an invalid URDF or dynamics file, with its name, and for keywords that do not fit.
        The values in the URDFs of shipped robots are the published ones, and cause no warnings.
        """
        dynamics: str | DynamicsFile | None = self.dynamics
        if dynamics is None and self.dynamics_text:
            dynamics = parse_dynamics_file(
                self.dynamics_text, f"{self.name}: dynamics_file"
            )
        with warnings.catch_warnings():
            if (
                Path(self.name).parent == share_directory() / "urdf"
                or self.name in textbook_arm_names()
            ):
                warnings.filterwarnings("ignore", _UNNAMED, RobotModelWarning)
            try:
                return RobotModel.from_urdf(self.text, dynamics=dynamics, **keywords)
            except RobotModelError as error:
                message = str(error)
                if not message.startswith(_OF_URDF):
                    raise
                raise RobotModelError(
                    f"{self.name}: {message.removeprefix(_UNNAMED)}"
                ) from None

    def joint_names(self) -> tuple[str, ...]:
        """Return the names of all independent joints of the model, without warnings.

        Raises RobotModelError for invalid files.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RobotModelWarning)
            return self.model().joint_names
