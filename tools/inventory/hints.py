"""Hints of `robot_dynamics torque` for recordings of which each has one mistake, or a model that has one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.recordings.bags import Message
from support.arms import Array
from support.bag_recordings import JOINT_STATE, joint_state, record
from support.noisy_recordings import fourier
from tools.inventory.observed import lines, run

SECOND = np.array([0.0, 1.0])  # of two joints
SIGNS = 1.0 - 2.0 * SECOND
DEGREES = 180.0 / np.pi


class Recording(NamedTuple):
    """Positions, velocities, accelerations and efforts (m, n) of a robot."""

    model: RobotModel
    q: Array
    qd: Array
    qdd: Array
    tau: Array

    def with_payload(self) -> Array:
        """Return the efforts with 2 kg at the last link."""
        loaded = self.model.with_payload(
            self.model.moving_links[-1], 2.0, [0.05, 0.0, 0.05], 0.01 * np.eye(3)
        )
        return loaded.inverse_dynamics(self.q, self.qd, self.qdd)


Fields = dict[str, Array]
#: Fields of the recording that are replaced, by the mistake.
MISTAKES: dict[str, Callable[[Recording], Fields]] = {
    "none": lambda r: {},
    "unit of all efforts": lambda r: {"tau": 1000.0 * r.tau},
    "units of efforts by joint": lambda r: {"tau": r.tau / [5.0, 8.0]},
    "sign of all efforts": lambda r: {"tau": -r.tau},
    "sign of an effort": lambda r: {"tau": r.tau * SIGNS},
    "sign of a joint": lambda r: {
        "q": r.q * SIGNS,
        "qd": r.qd * SIGNS,
        "tau": r.tau * SIGNS,
    },
    "sign of a position": lambda r: {"q": r.q * SIGNS, "qd": r.qd * SIGNS},
    "gain of an effort": lambda r: {"tau": r.tau * (1.0 + 0.5 * SECOND)},
    "offset of an effort": lambda r: {"tau": r.tau + 0.4 * r.tau.std(axis=0) * SECOND},
    "order of efforts": lambda r: {"tau": r.tau[:, ::-1]},
    "order of joints": lambda r: {
        "q": r.q[:, ::-1],
        "qd": r.qd[:, ::-1],
        "tau": r.tau[:, ::-1],
    },
    "order of positions": lambda r: {"q": r.q[:, ::-1], "qd": r.qd[:, ::-1]},
    "sign of a velocity": lambda r: {"qd": r.qd * SIGNS},
    "order of velocities": lambda r: {"qd": r.qd[:, ::-1]},
    "velocities in degrees": lambda r: {"qd": r.qd * DEGREES},
    "velocities in other units": lambda r: {"qd": 3.0 * r.qd},
    "positions in degrees": lambda r: {"q": r.q * DEGREES},
    "motion in degrees": lambda r: {"q": r.q * DEGREES, "qd": r.qd * DEGREES},
    "motion in counts": lambda r: {"q": r.q * 1e4, "qd": r.qd * 1e4},
    "fifteen times as fast": lambda r: {
        "q": r.q[::15],
        "qd": 15.0 * r.qd[::15],
        "tau": r.tau[::15],
    },
    "a turn beyond a limit": lambda r: {"q": r.q + 2.0 * np.pi * SECOND},
    "late efforts": lambda r: {"tau": np.roll(r.tau, 2, axis=0)},
    "early efforts": lambda r: {"tau": np.roll(r.tau, -2, axis=0)},
    "efforts without gravity": lambda r: {"tau": r.tau - r.model.gravity_torque(r.q)},
    "friction": lambda r: {"tau": r.tau + 2.0 * r.qd + 3.0 * np.sign(r.qd)},
    "friction and an offset": lambda r: {
        "tau": r.tau + 2.0 * r.qd + 3.0 * np.sign(r.qd) + 2.0 * SECOND
    },
    "friction by load": lambda r: {"tau": r.tau + 0.15 * np.abs(r.tau) * np.sign(r.qd)},
    "rotor inertia": lambda r: {"tau": r.tau + 0.8 * r.qdd},
    "payload": lambda r: {"tau": r.with_payload()},
    "heavier links": lambda r: {"tau": 1.3 * r.tau},
}
#: The same for a robot of three joints without limits.
WITHOUT_LIMITS: dict[str, Callable[[Recording], Fields]] = {
    "zero of a joint": lambda r: {"q": r.q + [0.0, 0.3, 0.0]},
    "motion in degrees without limits": MISTAKES["motion in degrees"],
}
PAYLOAD = "payload: {link: link2, mass: 2.0, com: [0.05, 0, 0.05], inertia: [0.01, 0, 0, 0.01, 0, 0.01]}"
FRICTION = "joints: {joint1: {viscous: 9.0, coulomb: 9.0}, joint2: {viscous: 9.0, coulomb: 9.0}}"
#: Options of `torque` that give the model a mistake, for a correct recording.
OPTIONS = {
    "model without gravity": "--gravity 0 0 0",
    "model on a wall": "--gravity 9.81 0 0",
    "model on a ceiling": "--gravity 0 0 9.81",
    "tilted model": "--gravity 4 0 -8.96",
    "model with a payload": "--dynamics payload.yaml",
    "model with friction": "--dynamics friction.yaml",
}


def hints() -> Iterator[str]:
    """Yield the hints for each mistake."""
    Path("payload.yaml").write_text(PAYLOAD, encoding="utf-8")
    Path("friction.yaml").write_text(FRICTION, encoding="utf-8")
    for title, mistake in MISTAKES.items():
        yield from _reported(title, "planar_2r", mistake)
    for title, options in OPTIONS.items():
        yield from _reported(title, "planar_2r", MISTAKES["none"], options)
    for title, mistake in WITHOUT_LIMITS.items():
        yield from _reported(title, "metr4202_elbow", mistake)


def _reported(
    title: str, robot: str, mistake: Callable[[Recording], Fields], options: str = ""
) -> Iterator[str]:
    model = RobotModel.shipped(robot)
    motion = fourier(model, seconds=20.0, rate=100.0, seed=1)
    recording = Recording(model, motion.q, motion.qd, motion.qdd, motion.tau)
    recording = recording._replace(**mistake(recording))
    stamps = motion.recorded(seed=0, noise=0.01).stamps.tolist()
    rows = zip(
        stamps[: len(recording.q)],
        recording.q,
        recording.qd,
        recording.tau,
        strict=True,
    )
    messages = [
        Message(
            "/joint_states", JOINT_STATE, at, joint_state(at, model.joint_names, *row)
        )
        for at, *row in rows
    ]
    bag = record(Path(title.replace(" ", "_")), messages)
    for line in lines(run(f"torque {bag} --robot {robot} {options}").out):
        if line.startswith("hint"):
            yield f"hint: {title}: {line.partition(': ')[2]}"
