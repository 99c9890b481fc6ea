"""A controller's robot and parameters as one text: the topic ~/configuration, by which bags carry them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from robot_dynamics_ros import __version__
from robot_dynamics_ros.control import parameters as controller
from robot_dynamics_ros.parameters import DYNAMICS_FILE, ROBOT_DESCRIPTION
from robot_dynamics_ros.parameters.kinds import Values

TOPIC = "configuration"


@dataclass(frozen=True)
class Configuration:
    """The robot and the parameters of a controller.

    Attributes
    ----------
    version
        The version of this package that wrote it.
    robot_description
        The URDF.
    dynamics_file
        The content of the dynamics file; empty: none.
    parameters
        All other parameters of computed_torque_node, by name.
    """

    version: str
    robot_description: str
    dynamics_file: str
    parameters: Mapping[str, object]

    @classmethod
    def of(cls, values: Values, robot_description: str, dynamics_file: str) -> Configuration:
        """Return the configuration of these texts and values; RobotDynamicsError names a parameter that is wrong."""
        others = [parameter for parameter in controller.ALL if parameter not in (ROBOT_DESCRIPTION, DYNAMICS_FILE)]
        parameters = {parameter.name: parameter.read(values) for parameter in others}
        return cls(__version__, robot_description, dynamics_file, parameters)

    @classmethod
    def parse(cls, text: str) -> Configuration | None:
        """Return what ``text`` writes; None where it is no configuration."""
        try:
            content = json.loads(text)
            version, urdf, dynamics = (content[key] for key in ("version", "robot_description", "dynamics_file"))
            parameters = dict(content["parameters"])
            for name in (ROBOT_DESCRIPTION.name, DYNAMICS_FILE.name):
                parameters.pop(name, None)  # no bag names files of this machine
        except (ValueError, TypeError, LookupError, RecursionError):
            return None
        texts = isinstance(version, str) and isinstance(urdf, str) and isinstance(dynamics, str)
        return cls(version, urdf, dynamics, parameters) if texts else None

    def text(self) -> str:
        """Return JSON, in which an infinite number is Infinity."""
        return json.dumps(asdict(self), indent=1)

    def values(self, name: str) -> object:
        """Return the value of a parameter of computed_torque_node, its default where the text does not name it."""
        return self.parameters.get(name, _DEFAULTS.get(name))


_DEFAULTS = {parameter.name: parameter.default for parameter in controller.ALL}
