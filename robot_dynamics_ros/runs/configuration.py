"""Configuration of a controller in bags: its robot and its parameters as JSON text."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from robot_dynamics_ros.base import parameters
from robot_dynamics_ros.base.parameters.kinds import Values
from robot_dynamics_ros.base.resources import package_version
from robot_dynamics_ros.control.configuration.settings import ALL, NodeSettings
from robot_dynamics_ros.recordings.bags.reader import (
    CONFIGURATION_TOPIC,
    BagReader,
    opened,
    read_texts,
)

_FILES = (
    parameters.ROBOT_DESCRIPTION.name,
    parameters.URDF.name,
    parameters.DYNAMICS_FILE.name,
)
_STOPS = NodeSettings.parameters()["emergency_stop_topics"]
DEFAULTS = {parameter.name: parameter.default for parameter in ALL}
"""Default values of the parameters of computed_torque_node by name."""

USE_SIM_TIME = "use_sim_time"


@dataclass(frozen=True)
class Configuration:
    """Robot and parameters of a controller, for bags.

    Attributes
    ----------
    version
        Version of this package that wrote the configuration.
    robot_description
        URDF.
    dynamics_file
        Content of the dynamics file; empty: none.
    parameters
        All other parameters of computed_torque_node by name.
    lasting
        ``ControllerSession.lasting`` when the configuration was published; empty in older bags.
    """

    version: str
    robot_description: str
    dynamics_file: str
    parameters: Mapping[str, object]
    lasting: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, values: Values, robot_description: str, dynamics_file: str
    ) -> Configuration:
        """Return the configuration of a robot and its parameters; RobotDynamicsError names an invalid parameter.

        ``values`` returns the value of a parameter by name. ``robot_description`` is the URDF,
        ``dynamics_file`` the content of the dynamics file, or "".
        """
        others = {
            parameter.name: parameter.read(values)
            for parameter in ALL
            if parameter.name not in _FILES
        }
        # a parameter of all ROS nodes
        others[USE_SIM_TIME] = values(USE_SIM_TIME) is True
        return cls(package_version(), robot_description, dynamics_file, others)

    @classmethod
    def parse(cls, text: str) -> Configuration | None:
        """Parse a JSON object with the keys version, robot_description, dynamics_file (texts) and parameters (object).

        Returns None if ``text`` is not JSON, lacks one of the keys, or one has another type. The key lasting (object)
        may be missing.
        """
        try:
            content = json.loads(text)
            version, urdf, dynamics = (
                content[key]
                for key in ("version", "robot_description", "dynamics_file")
            )
            # A bag must not refer to files of this machine.
            others = {
                name: value
                for name, value in content["parameters"].items()
                if name not in _FILES
            }
            lasting = dict(content.get("lasting", {}))
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            return None
        texts = all(isinstance(text, str) for text in (version, urdf, dynamics))
        return cls(version, urdf, dynamics, others, lasting) if texts else None

    def text(self) -> str:
        """Return the configuration as JSON, with Infinity for infinite numbers; ``parse`` reads it."""
        return json.dumps(asdict(self), indent=1)

    @property
    def emergency_stop_topics(self) -> tuple[str, ...]:
        """Names of the topics of further emergency stops; RobotDynamicsError if the parameter is invalid."""
        return tuple(_STOPS.read(self.values))

    @property
    def simulated_time(self) -> bool:
        """True if the controller's clock was /clock."""
        return self.parameters.get(USE_SIM_TIME) is True

    def values(self, name: str) -> object:
        """Return the value of a parameter of computed_torque_node, or its default; None for an unknown name."""
        return self.parameters.get(name, DEFAULTS.get(name))


def read_configuration(
    path: str | Path | BagReader, near: str
) -> tuple[str, Configuration] | None:
    """Return topic and content of the first configuration of a controller in a bag; None if the bag has none.

    The controller must be in the namespace of the topic ``near``, or below it. Configurations that cannot be parsed
    cause a warning and are skipped. Raises BagError if the bag cannot be read.
    """
    namespace = near.rpartition("/")[0] + "/"
    with opened(path) as reader:
        for topic, text in read_texts(reader, CONFIGURATION_TOPIC):
            if not topic.startswith(namespace):
                continue
            parsed = Configuration.parse(text)
            if parsed is not None:
                return topic, parsed
            reason = "the configuration cannot be parsed, and is ignored"
            text = f"{reader.path}: {topic}: {reason}. Cure: name robot and parameters"
            warnings.warn(text, stacklevel=2)
    return None
