"""Task-space computed torque: arms with initial postures, gains and motions."""

from typing import Any

import numpy as np

from robot_dynamics_ros.control.end_effector.poses import TaskMotion
from robot_dynamics_ros.control.end_effector.task_space import TaskGains

END_EFFECTOR_LINKS = {"panda": "panda_link8", "ur5e": "tool0", "puma560": "tool0"}
READY = {
    "panda": np.array([0.3, -0.5, 0.2, -2.0, 0.3, 1.8, 0.6]),
    "ur5e": np.array([0.4, -1.2, 1.4, -1.7, -1.4, 0.3]),
    "puma560": np.array([0.2, 0.6, -0.9, 0.4, 0.9, -0.3]),
}


def gains(n: int, **others: Any) -> TaskGains:
    """Return critically damped gains of 12 rad/s."""
    return TaskGains(
        np.full(6, 144.0),
        np.full(6, 24.0),
        np.full(n, 25.0),
        np.full(n, 10.0),
        **others,
    )


def rotated(vector: Any) -> Any:
    """Return the rotation matrix of a rotation vector by Rodrigues' formula, Craig (2.80)."""
    angle = np.linalg.norm(vector)
    x, y, z = np.asarray(vector) / angle if angle > 0.0 else np.zeros(3)
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * k + 2.0 * np.sin(angle / 2.0) ** 2 * k @ k


def random_motion(rng: np.random.Generator, pose: Any, way: float = 1.0) -> TaskMotion:
    desired = pose.copy()
    desired[:3, 3] += rng.normal(size=3) * 0.1 * way
    desired[:3, :3] = rotated(rng.normal(size=3) * way) @ pose[:3, :3]
    return TaskMotion(desired, rng.normal(size=6), rng.normal(size=6))
