"""Recordings of a known robot: Fourier series for each joint, the required effort, and noise."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.analysis.identification.recorded_motion import RecordedMotion
from robot_dynamics_ros.recordings.bags import JointSeries
from support.arms import Array

START = 1_700_000_000_000_000_000
POSITION_NOISE = 1e-5  # rad, like an encoder's
VELOCITY_NOISE = 1e-3  # rad/s


@dataclass(frozen=True)
class Truth:
    """Motion of a robot without noise: times (m,), other fields (m, n)."""

    model: RobotModel
    time: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array

    def recorded(self, seed: int, noise: float) -> JointSeries:
        """Return a recording of it; ``noise`` is white, relative to the RMS effort of each joint."""
        rng = np.random.default_rng(seed)
        stamps = START + np.round(self.time * 1e9).astype(np.int64)
        effort = noise * np.sqrt((self.tau**2).mean(axis=0))
        return JointSeries(
            self.model.joint_names,
            stamps,
            stamps,
            self.q + POSITION_NOISE * rng.standard_normal(self.q.shape),
            self.qd + VELOCITY_NOISE * rng.standard_normal(self.q.shape),
            self.tau + effort * rng.standard_normal(self.q.shape),
        )


def fourier(
    model: RobotModel, seconds: float, rate: float, seed: int, period: float = 10.0
) -> Truth:
    """Return a motion of five harmonics of ``period`` (s) over 90 % of each joint's range, or up to a speed of 2.5."""
    rng = np.random.default_rng(seed)
    time = np.arange(0.0, seconds, 1.0 / rate)
    w = 2.0 * np.pi / period * np.arange(1, 6)
    a, b = rng.standard_normal((2, 5, model.n)) / w[:, np.newaxis]
    sine = np.sin(np.outer(time, w))
    cosine = np.cos(np.outer(time, w))
    q = sine @ a - cosine @ b
    qd = (cosine * w) @ a + (sine * w) @ b
    qdd = (cosine * w**2) @ b - (sine * w**2) @ a
    limited = np.isfinite(model.position_lower)
    lower = np.where(limited, model.position_lower, -np.pi)
    upper = np.where(limited, model.position_upper, np.pi)
    room = 0.9 * (upper - lower) / (q.max(axis=0) - q.min(axis=0))
    scale = np.minimum(
        room, np.minimum(model.velocity_limits, 2.5) / np.abs(qd).max(axis=0)
    )
    q = 0.5 * (lower + upper) + scale * (q - 0.5 * (q.max(axis=0) + q.min(axis=0)))
    qd = scale * qd
    qdd = scale * qdd
    tau = model.inverse_dynamics(q, qd, qdd) + model.friction_torque(q, qd, qdd=qdd)
    return Truth(model, time, q, qd, qdd, tau)


def with_friction(
    urdf: Path,
    folder: Path,
    rotor: tuple[str, float] | None = None,
    *,
    uneven: bool = True,
    **more: Any,
) -> RobotModel:
    """Load a robot whose joints all have viscous and Coulomb friction, if ``uneven`` a level for each direction.

    But for a slide along gravity, where one level is all that a recording can tell. ``rotor``: a joint that has one,
    and its inertia (kg m^2) at the joint; ``more``: the dynamics file's rest.
    """
    bare = RobotModel.from_urdf_file(urdf)
    joints: dict[str, dict[str, Any]] = {
        name: {
            "viscous": 0.5 + 0.1 * k,
            "coulomb": 0.6 + 0.2 * k,
            "coulomb_negative": 0.8 + 0.1 * k,
        }
        for k, name in enumerate(bare.joint_names)
    }
    if not uneven:
        for keys in joints.values():
            del keys["coulomb_negative"]
    if urdf.stem == "scara":
        joints["joint3"] = {"viscous": 8.0, "coulomb": 3.0}
    if rotor is not None:
        joints[rotor[0]] |= {
            "rotor_inertia": rotor[1],
            "gear_ratio": 1.0,
            "rotor_carrier": "none",
        }
    file = folder / f"{urdf.stem}.dynamics.yaml"
    file.write_text(yaml.safe_dump({"joints": joints, **more}), encoding="utf-8")
    return RobotModel.from_urdf_file(urdf, dynamics=file)


def exciting_motion(
    truth: RobotModel, seed: int, noise: float = 0.03, samples: int = 800
) -> RecordedMotion:
    """Return Fourier series within the limits over 20 s; ``noise`` is white, relative to each joint's RMS effort."""
    step = 20.0 / (samples - 1)
    motion = fourier(truth, (samples - 0.5) * step, 1.0 / step, seed, period=20.0)
    deviation = noise * np.sqrt((motion.tau**2).mean(axis=0))
    tau = motion.tau + deviation * np.random.default_rng(seed + 1000).standard_normal(
        motion.tau.shape
    )
    return RecordedMotion(
        truth.joint_names, motion.time, motion.q, motion.qd, motion.qdd, tau
    )
