"""Robot, parameters, joints and model of a recording, found once for all that a command does with it.

``bag`` is the open reader of the recording, ``dynamics`` the argument of --dynamics, ``gravity`` (3,), m/s^2, that of
--gravity, and ``robot`` the robot of --robot; None: not given. Without ``robot`` it is the recorded one: that of
~/configuration of a controller, else that of robot_description. ``dynamics`` replaces its dynamics file. ``Values`` is
a function that returns the value of a parameter of computed_torque_node by its name.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics_ros.base.errors import BagWarning, RobotDynamicsError
from robot_dynamics_ros.base.parameters import (
    DYNAMICS_FILE,
    JOINTS,
    LOCKED,
    ROBOT_DESCRIPTION,
)
from robot_dynamics_ros.base.parameters.file import read_parameter_file
from robot_dynamics_ros.base.parameters.kinds import Values, overridden
from robot_dynamics_ros.base.resources import dynamics_file
from robot_dynamics_ros.control.configuration.settings import ALL, NodeSettings
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.robot_source import ROBOTS, RobotSource
from robot_dynamics_ros.recordings.bags import JointSeries, read_description
from robot_dynamics_ros.recordings.bags.reader import BagReader
from robot_dynamics_ros.recordings.messages.joint_state import renaming
from robot_dynamics_ros.runs.configuration import (
    DEFAULTS,
    Configuration,
    read_configuration,
)
from robot_dynamics_ros.runs.thresholds import LOCKED_JOINT_TRAVEL

_GRAVITY = NodeSettings.parameters()["gravity"]
_Recorded = tuple[str, Configuration]  # topic and content


@dataclass(frozen=True, eq=False)
class RecordedSetup:
    """Robot and parameters of a recording.

    Attributes
    ----------
    robot
        Files of the robot.
    parameters
        Parameters of the recorded controller; the defaults if none is recorded.
    joints, locked
        Joints of the model, None for all movable ones, and positions (rad or m) of locked joints by name.
    gravity
        Acceleration of gravity (3,), m/s^2, in the root frame; None: that of the dynamics file.
    origin
        Source of the parameters of ``controller_setup``, for messages.
    """

    robot: RobotSource
    parameters: Values
    joints: Sequence[str] | None
    gravity: Sequence[float] | None
    locked: Mapping[str, float] | None = None
    origin: str = ""

    @cached_property
    def model(self) -> RobotModel:
        """Model of the robot; RobotModelError at the first use if the robot is invalid."""
        return self.robot.model(
            joints=self.joints, locked=self.locked, gravity=self.gravity
        )


def measured_setup(
    bag: BagReader,
    topic: str,
    series: JointSeries,
    rename: Mapping[str, str],
    robot: RobotSource | None,
    dynamics: str | None,
    gravity: Sequence[float] | None,
    joints: Sequence[str] | None,
    locked: dict[str, float],
) -> RecordedSetup:
    """Return the setup for the joint states ``series`` on ``topic``, whose joints have been renamed by ``rename``.

    Gravity, joints and locked positions are those of the recorded controller in the namespace of ``topic``, for the
    joints of ``robot``; ``gravity``, ``joints`` and ``locked`` (rad or m, by joint) have priority. Without a recorded
    choice, the joints are all that are recorded. The others are locked where they are recorded first, else at 0; a
    BagWarning is issued for one that moves in the recording.
    Raises RobotDynamicsError if there is no robot, it is invalid, none of its joints is recorded, or one of ``locked``
    moves in the recording, and if bag or files cannot be read.
    """
    recorded = read_configuration(bag, topic)
    parameters: Values = DEFAULTS.get if recorded is None else recorded[1].values
    if robot is None:
        robot = _recorded_robot(bag, recorded, dynamics)
    known = robot.joint_names()
    renamed = renaming(rename)
    chosen = model_keywords(parameters)
    fixed = {
        renamed(name): position
        for name, position in chosen["locked"].items()
        if renamed(name) in known
    } | locked
    if joints is None:
        names = series.joint_names
        joints = [
            name
            for name in map(renamed, chosen["joints"] or known)
            if name in known and name in names and name not in fixed
        ]
        if not joints:
            raise RobotDynamicsError(
                f"{robot.name}: the robot's joints are {', '.join(known)}, the recording's {', '.join(names)}. "
                f"Cure: give --rename {_fitting_rename(names, known)}, or another --robot"
            )
    others = {
        name: position
        for name, position in fixed.items()
        if name not in joints or name in locked
    }
    for name, column in zip(series.joint_names, series.position.T, strict=True):
        finite = column[np.isfinite(column)]
        if name not in known or name in joints or not finite.size:
            continue
        position = others.setdefault(name, finite[0])
        if (np.abs(finite - position) > LOCKED_JOINT_TRAVEL).any():
            text = (
                f"{bag.path}: {name} is locked at {position:.4g}, but recorded from {finite.min():.4g} to "
                f"{finite.max():.4g}. Cure: correct --joints or --locked"
            )
            if name in locked:
                raise RobotDynamicsError(text)
            warnings.warn(BagWarning(text), stacklevel=2)
    return RecordedSetup(
        robot, parameters, joints, gravity or chosen["gravity"], others
    )


def controller_setup(
    bag: BagReader,
    node: str,
    parameter_file: Path | None,
    robot: RobotSource | None,
    dynamics: str | None,
    gravity: Sequence[float] | None,
) -> RecordedSetup:
    """Return the setup of the controller ``node`` (full name), with the joints and locked positions of its parameters.

    The parameters are those of ``parameter_file``, else the recorded ones, else the defaults. A robot_description in
    the file precedes the recorded one. Raises RobotDynamicsError for an unusable bag, robot, parameter or file.
    """
    near = f"{node}/"
    recorded = None if parameter_file is not None else read_configuration(bag, near)
    if recorded is not None:
        parameters: Values = recorded[1].values
        origin = f"{bag.path}: {recorded[0]}"
    else:
        parameters = read_parameter_file(parameter_file, node, ALL)
        origin = str(parameter_file or "defaults")
    description = ROBOT_DESCRIPTION.read(parameters)
    if robot is None and description:
        name = f"{parameter_file}: {ROBOT_DESCRIPTION.name}"
        robot = RobotSource(name, description, dynamics_file(dynamics))
    if robot is None:
        if parameter_file is not None:
            recorded = read_configuration(bag, near)
        robot = _recorded_robot(bag, recorded, dynamics)
    robot, parameters = controller_files(robot, parameters, dynamics, gravity)
    keywords = model_keywords(parameters)
    return RecordedSetup(robot, parameters, **keywords, origin=origin)


def controller_files(
    robot: RobotSource,
    parameters: Values,
    dynamics: str | None,
    gravity: Sequence[float] | None,
) -> tuple[RobotSource, Values]:
    """Return ``robot`` and ``parameters`` of a controller, with ``gravity`` if it is given.

    Without ``dynamics``, which ``robot`` has already, the parameter dynamics_file, if set, replaces the dynamics file
    of ``robot``. Raises RobotDynamicsError if that parameter is not a text.
    """
    if dynamics is None:
        path = DYNAMICS_FILE.read(parameters) or robot.dynamics
        robot = replace(robot, dynamics=path)
    return robot, overridden(parameters, {_GRAVITY.name: gravity})


def model_keywords(parameters: Values) -> dict[str, Any]:
    """Return gravity, joints and locked positions of a controller, the keywords of ``RobotSource.model``.

    Raises RobotDynamicsError for values of these parameters that are not allowed.
    """
    return {
        "gravity": _GRAVITY.read(parameters) or None,
        "joints": JOINTS.read(parameters) or None,
        "locked": LOCKED.read(parameters),
    }


def configuration_of(robot: RobotSource, parameters: Values) -> Configuration:
    """Return the content of ~/configuration for a controller: its parameters, URDF and dynamics file.

    Raises RobotModelError if the dynamics file cannot be read, and RobotDynamicsError for an invalid parameter.
    """
    text = (
        robot.text
        if isinstance(robot.text, str)
        else robot.text.decode(errors="replace")
    )
    return Configuration.of(parameters, text, robot.dynamics_content())


def _fitting_rename(names: Sequence[str], joints: Sequence[str]) -> str:
    """Return the argument of --rename that replaces one prefix of the recorded ``names`` and yields all ``joints``.

    Return "OLD=NEW" if there is none.
    """
    for name in names:
        tail = os.path.commonprefix([name[::-1], joints[0][::-1]])[::-1].lstrip("_/")
        old = name.removesuffix(tail)
        new = joints[0].removesuffix(tail)
        if tail and old and set(joints) <= set(map(renaming({old: new}), names)):
            return f"{old}={new}"
    return "OLD=NEW"


def _recorded_robot(
    bag: BagReader, recorded: _Recorded | None, dynamics: str | None
) -> RobotSource:
    """Return the robot of a recorded configuration, else that of robot_description, with ``dynamics`` if given."""
    path = dynamics_file(dynamics)
    if recorded is not None:
        topic, configuration = recorded
        text = configuration.dynamics_file if dynamics is None else ""
        urdf = configuration.robot_description
        return RobotSource(f"{bag.path}: {topic}", urdf, path, text)
    description = read_description(bag)
    if description is None:
        raise RobotDynamicsError(
            f"{bag.path}: it contains no robot (robot_description or ~/configuration). Cure: record robot_description, "
            f"or give --robot with {ROBOTS}"
        )
    return RobotSource(f"{bag.path}: robot_description", description, path)
