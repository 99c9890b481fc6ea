"""Settings for tests whose arm is put somewhere else from one state to the next."""

from dataclasses import replace
from typing import Any

import numpy as np

from robot_dynamics_ros.control.settings import ControllerSettings


def teleporting(settings: ControllerSettings | None = None, **changes: Any) -> ControllerSettings:
    """Settings under which positions may jump."""
    given = replace(settings or ControllerSettings(), **changes)
    return replace(given, safety=replace(given.safety, position_step_limit=[np.inf]))
