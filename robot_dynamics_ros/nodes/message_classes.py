"""The Python class of a message type that is known by name only."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from robot_dynamics_ros.errors import BagError


def message_class(kind: str) -> Any:
    """Return the class of ``sensor_msgs/msg/JointState`` and the like; BagError where its package is not there."""
    package, _, name = kind.partition("/msg/")
    try:
        if not (package.isidentifier() and name.isidentifier()):  # a bag may say anything
            raise ImportError(kind)
        return getattr(import_module(f"{package}.msg"), name)
    except (ImportError, AttributeError):
        cure = f"install {package}, or leave the topic out"
        raise BagError(f"message type {kind}: not installed here. Cure: {cure}") from None
