"""Recordings of simulated arms that differ from their model in one known way."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.bags import JointSeries
from robot_dynamics_ros.identification.motion import Smoothing, analyse_torque, recorded_motion
from support.arms import Array
from support.noisy_recordings import fourier, with_friction

SECONDS, RATE, NOISE = 30.0, 200.0, 0.02
SEEN = 0.15  # of a joint's torque: a mistake that makes less cannot be seen


@dataclass(frozen=True)
class Arm:
    """A URDF's arm with friction, as it is and as the model without a dynamics file has it."""

    urdf: Path
    folder: Path

    def like(self, **dynamics: object) -> RobotModel:
        rotor = dynamics.pop("rotor", None)
        return with_friction(self.urdf, self.folder, rotor=rotor, **dynamics)

    @property
    def bare(self) -> RobotModel:
        return RobotModel.from_urdf_file(self.urdf)


def recorded(truth: RobotModel, seed: int, noise: float = NOISE) -> JointSeries:
    return fourier(truth, SECONDS, RATE, seed).recorded(seed, noise)


def other_masses(model: RobotModel, factors: Array) -> dict[str, dict[str, object]]:
    """Return the dynamics file's ``links`` of an arm whose links weigh ``factors`` (bodies,) times as much."""
    links: dict[str, dict[str, object]] = {}
    for name, frame in model.link_frames.items():
        if frame.body < 0:
            continue
        links[name] = {"mass": 0.0, "com": [0.0] * 3, "inertia": [0.0] * 6}
        if name == model.moving_links[frame.body]:
            mass, *numbers = factors[frame.body] * model.inertial_parameters.reshape(-1, 10)[frame.body]
            com = np.array(numbers[:3]) / mass
            inertia = np.array(numbers[3:])
            shift = mass * (com @ com * np.eye(3) - np.outer(com, com))
            links[name] = {"mass": float(mass), "com": com.tolist(),
                           "inertia": (inertia - shift[np.triu_indices(3)]).tolist()}
    return links
