"""Motions that excite a robot, with the effort that a model gives for them and noise: recordings of a known truth."""

import numpy as np

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.identification.motion import Motion


def exciting_motion(truth: RobotModel, seed: int, noise: float = 0.03, samples: int = 800) -> Motion:
    """Sums of five sines within the limits over 20 s; ``noise`` is white, as a share of each joint's RMS effort."""
    rng = np.random.default_rng(seed)
    time = np.linspace(0.0, 20.0, samples)
    harmonics = np.arange(1, 6)
    w = 2 * np.pi / 20.0 * harmonics
    amplitude = 0.5 * rng.normal(size=(truth.n, 5)) / harmonics
    center = rng.uniform(-0.5, 0.5, truth.n)
    lower, upper = truth.position_lower, truth.position_upper
    limited = np.isfinite(lower) & np.isfinite(upper)
    center[limited] = (lower + upper)[limited] / 2
    room = np.where(limited, (upper - lower) / 4, np.inf)
    amplitude *= np.minimum(1.0, room / np.abs(amplitude).sum(axis=1))[:, np.newaxis]
    phase = time[:, np.newaxis, np.newaxis] * w + rng.uniform(0.0, 2 * np.pi, (truth.n, 5))
    q = center + (amplitude * np.sin(phase)).sum(axis=-1)
    qd = (amplitude * w * np.cos(phase)).sum(axis=-1)
    qdd = (-amplitude * w**2 * np.sin(phase)).sum(axis=-1)
    tau = truth.inverse_dynamics(q, qd, qdd) + truth.friction_torque(q, qd)
    tau += noise * np.sqrt((tau**2).mean(axis=0)) * rng.normal(size=tau.shape)
    return Motion(truth.joint_names, time, q, qd, qdd, tau)
