"""Arms as packed models, with the content of a dynamics file."""

from typing import Any

import yaml

from robot_dynamics_ros.model.assembly import assemble
from robot_dynamics_ros.model.dynamics_file import parse_dynamics_file
from robot_dynamics_ros.model.packed import PackedModel
from robot_dynamics_ros.model.urdf import parse_urdf
from support import arms


def packed(arm: arms.Arm, content: dict[str, Any] | None = None, **keywords: Any) -> PackedModel:
    """The packed arm; errors call its files arm.urdf and arm.yaml."""
    arguments = {"gravity": None, "joints": None, "locked": None, "strict": False, **keywords}
    dynamics = parse_dynamics_file(yaml.safe_dump(content or {}), "arm.yaml")
    return assemble(parse_urdf(arm.urdf, "arm.urdf"), dynamics, **arguments)
