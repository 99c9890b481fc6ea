"""Motions that excite a robot, with the effort that a model gives for them and noise: recordings of a known truth."""

import numpy as np

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.identification.motion import Motion
from support.noisy_recordings import fourier


def exciting_motion(truth: RobotModel, seed: int, noise: float = 0.03, samples: int = 800) -> Motion:
    """Fourier series within the limits over 20 s; ``noise`` is white, as a share of each joint's RMS effort."""
    step = 20.0 / (samples - 1)
    motion = fourier(truth, (samples - 0.5) * step, 1.0 / step, seed, period=20.0)
    deviation = noise * np.sqrt((motion.tau**2).mean(axis=0))
    tau = motion.tau + deviation * np.random.default_rng(seed + 1000).standard_normal(motion.tau.shape)
    return Motion(truth.joint_names, motion.time, motion.q, motion.qd, motion.qdd, tau)
