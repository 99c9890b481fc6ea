"""Recordings of geared arms whose friction grows with the load, by formulas apart from the package's."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.recordings.bags import JointSeries
from support.noisy_recordings import Truth, fourier

_RATE = 1000.0  # Hz, of the motion before it is sampled
_DELAY = 2  # samples: the effort is 2 ms late
_EVERY = 5  # samples: it is recorded at 200 Hz


@dataclass(frozen=True)
class Gears:
    """Gears of n joints: ``load`` is the friction per transmitted torque; levels are shares of the RMS rigid torque."""

    load: float
    stribeck: float = 1.5  # static over Coulomb level
    viscous: float = 0.1
    coulomb: float = 0.15
    rotor: float = 0.3  # inertia over that of the joint's links

    def joints(self, model: RobotModel) -> list[dict[str, Any]]:
        """Return the keys of a dynamics file for each joint of the ``model``, which has no friction."""
        motion = fourier(model, 10.0, 100.0, seed=1)
        size = np.maximum(np.sqrt((motion.tau**2).mean(axis=0)), 0.2)
        inertia = np.diagonal(model.mass_matrix(motion.q), axis1=1, axis2=2).mean(
            axis=0
        )
        fastest = np.abs(motion.qd).max(axis=0)
        return [
            {
                "viscous": float(self.viscous * size[j] / fastest[j]),
                "coulomb": float(self.coulomb * size[j]),
                "coulomb_negative": float(0.9 * self.coulomb * size[j]),
                "static": float(self.stribeck * self.coulomb * size[j]),
                "stribeck_velocity": float(0.06 * fastest[j]),
                "load_coefficient": self.load,
                "rotor_inertia": float(self.rotor * inertia[j]),
                "gear_ratio": 1.0,
                "rotor_carrier": "none",
            }
            for j in range(model.n)
        ]

    def truth(
        self,
        model: RobotModel,
        seconds: float,
        seed: int,
        joints: list[dict[str, Any]] | None = None,
    ) -> Truth:
        """Return a Fourier motion with the effort that the motors supply, 2 ms late.

        ``joints`` are the keys of the joints, by default those for the model.
        """
        motion = fourier(model, seconds, _RATE, seed)
        tau = motion.tau.copy()
        for j, joint in enumerate(joints or self.joints(model)):
            v = motion.qd[:, j]
            load = motion.tau[:, j]
            coulomb = np.where(v > 0.0, joint["coulomb"], joint["coulomb_negative"])
            level = coulomb + (joint["static"] - coulomb) * np.exp(
                -((v / joint["stribeck_velocity"]) ** 2)
            )
            dry = level * (1.0 + self.load * np.abs(load) / coulomb)
            tau[:, j] += (
                joint["rotor_inertia"] * motion.qdd[:, j]
                + joint["viscous"] * v
                + dry * np.sign(v)
            )
        tau = np.concatenate([tau[:1].repeat(_DELAY, axis=0), tau[:-_DELAY]])
        fields = (
            values[::_EVERY]
            for values in (motion.time, motion.q, motion.qd, motion.qdd, tau)
        )
        return Truth(model, *fields)

    def recorded(
        self, model: RobotModel, seconds: float, seed: int, noise: float
    ) -> JointSeries:
        """Return a recording of ``truth`` with white noise, relative to the RMS effort."""
        return self.truth(model, seconds, seed).recorded(seed, noise)

    def model(
        self,
        urdf: Path,
        prior: RobotModel,
        folder: Path,
        locked: dict[str, float] | None = None,
    ) -> RobotModel:
        """Return the model with these gears."""
        file = folder / "gears.yaml"
        joints = dict(zip(prior.joint_names, self.joints(prior), strict=True))
        file.write_text(yaml.safe_dump({"joints": joints}), encoding="utf-8")
        return RobotModel.from_urdf_file(urdf, dynamics=file, locked=locked)
