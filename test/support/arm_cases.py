"""Simulated recordings of arms that differ from their model, or from what a driver should report, in one known way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.analysis.identification.recorded_motion import (
    RecordedMotion,
    Smoothing,
    recorded_motion,
)
from robot_dynamics_ros.analysis.identification.torque_analysis import analyse_torque
from robot_dynamics_ros.dynamics.description.inertia import steiner, symmetric
from robot_dynamics_ros.recordings.bags import JointSeries
from support.arms import Array
from support.noisy_recordings import fourier, with_friction

SECONDS = 30.0
RATE = 200.0
NOISE = 0.02
_VISIBLE = 0.25  # of a joint's torque, by which a mistake must change it to be visible


class Case(NamedTuple):
    """A model, a recorded motion, and a part of each hint that is true of them."""

    model: RobotModel
    motion: RecordedMotion
    causes: tuple[str, ...]


class Arm:
    """An arm with friction in every joint, and recordings of it."""

    def __init__(
        self, urdf: Path, folder: Path, seed: int, seconds: float = SECONDS
    ) -> None:
        self.urdf = urdf
        self.folder = folder
        self.seed = seed
        self.seconds = seconds
        self.rng = np.random.default_rng(seed)
        self.model = self.like()

    def like(
        self, rotor: tuple[str, float] | None = None, **dynamics: Any
    ) -> RobotModel:
        """Return this arm with a rotor or other keys of the dynamics file."""
        return with_friction(self.urdf, self.folder, rotor, **dynamics)

    def series(
        self, truth: RobotModel | None = None, delay: float = 0.0
    ) -> JointSeries:
        """Record an arm, ``truth`` or this one; its effort is reported ``delay`` (s) late."""
        motion = fourier(
            self.model if truth is None else truth, self.seconds, RATE, self.seed
        )
        if truth is not None:  # the same motion, whatever the arm
            tau = truth.inverse_dynamics(
                motion.q, motion.qd, motion.qdd
            ) + truth.friction_torque(motion.q, motion.qd)
            motion = replace(motion, tau=tau)
        if delay:
            late = CubicSpline(motion.time, motion.tau)(
                np.maximum(motion.time - delay, 0.0)
            )
            motion = replace(motion, tau=late)
        return motion.recorded(self.seed, NOISE)

    def masses(self, factors: Array) -> dict[str, dict[str, Any]]:
        """Return ``links`` of the dynamics file with moving links (n,) that weigh ``factors`` times as much."""
        bodies = self.model.inertial_parameters.reshape(-1, 10)
        empty = {"mass": 0.0, "com": [0.0] * 3, "inertia": [0.0] * 6}
        links = {
            name: empty
            for name, frame in self.model.link_frames.items()
            if frame.body >= 0
        }
        for name, factor, (mass, *rest) in zip(
            self.model.moving_links, factors, bodies, strict=True
        ):
            com = np.array(rest[:3]) / mass
            inertia = symmetric(*rest[3:]) - steiner(mass, com)
            numbers = (factor * inertia[np.triu_indices(3)]).tolist()
            links[name] = {
                "mass": float(factor * mass),
                "com": com.tolist(),
                "inertia": numbers,
            }
        return links

    def visible(self, mistakes: list[JointSeries]) -> int:
        """Return the place of a random one of the mistakes that change the model's error, for many seeds."""
        seen = [
            k for k, series in enumerate(mistakes) if self._changed(series) > _VISIBLE
        ]
        return int(self.rng.choice(seen))

    def _changed(self, series: JointSeries) -> float:
        analysis = analyse_torque(self.model, recorded_motion(series, Smoothing()))
        return float((analysis.rms / analysis.motion.tau.std(axis=0)).max())


def _as(model: RobotModel, series: JointSeries, *causes: str) -> Case:
    return Case(model, recorded_motion(series, Smoothing()), causes)


def _read(
    series: JointSeries, order: list[int], signs: Array, effort_only: bool
) -> JointSeries:
    effort = series.effort[:, order] * signs
    if effort_only:
        return replace(series, effort=effort)
    q = series.position[:, order] * signs
    qd = series.velocity[:, order] * signs
    return replace(series, position=q, velocity=qd, effort=effort)


def _healthy(arm: Arm) -> Case:
    return _as(arm.model, arm.series())


def _payload(arm: Arm) -> Case:
    mass = (
        arm.rng.uniform(0.1, 0.4) * arm.model.inertial_parameters[:-10:10].sum() / 4.0
    )
    com = arm.rng.uniform(-0.05, 0.05, 3) + [0.0, 0.0, 0.08]
    inertia = 0.4 * mass * 0.05**2 * np.array([1.0, 0.0, 0.0, 1.0, 0.0, 1.0])
    return _as(
        arm.model,
        arm.series(
            arm.model.with_payload(arm.model.moving_links[-1], mass, com, inertia)
        ),
        "robot carries",
    )


def _friction(arm: Arm) -> Case:
    return _as(RobotModel.from_urdf_file(arm.urdf), arm.series(), "no friction")


def _one_sign(effort_only: bool, arm: Arm) -> Case:
    series = arm.series()
    n = arm.model.n
    mistakes = [
        _read(
            series, list(range(n)), np.where(np.arange(n) == j, -1.0, 1.0), effort_only
        )
        for j in range(n)
    ]
    place = arm.visible(mistakes)
    name = arm.model.joint_names[place]
    cause = (
        f"effort of {name} has the wrong sign"
        if effort_only
        else f"{name} turns the other way"
    )
    return _as(arm.model, mistakes[place], cause)


def _all_signs(arm: Arm) -> Case:
    series = arm.series()
    return _as(
        arm.model,
        replace(series, effort=-series.effort),
        "every effort has the wrong sign",
    )


def _swapped(effort_only: bool, arm: Arm) -> Case:
    series = arm.series()
    n = arm.model.n
    pairs = [(i, j) for i in range(n) for j in range(i)]
    orders = [[{i: j, j: i}.get(k, k) for k in range(n)] for i, j in pairs]
    mistakes = [_read(series, order, np.ones(n), effort_only) for order in orders]
    place = arm.visible(mistakes)
    second, first = (arm.model.joint_names[k] for k in pairs[place])
    return _as(
        arm.model,
        mistakes[place],
        f"{'efforts of ' if effort_only else ''}{first} and {second} are swapped",
    )


def _offset(arm: Arm) -> Case:
    series = arm.series()
    joint = int(arm.rng.integers(arm.model.n))
    offset = np.zeros(arm.model.n)
    offset[joint] = arm.rng.uniform(0.3, 1.0) * series.effort[:, joint].std()
    return _as(
        arm.model,
        replace(series, effort=series.effort + offset),
        f"offsets: {arm.model.joint_names[joint]}",
    )


def _millinewtons(arm: Arm) -> Case:
    series = arm.series()
    return _as(arm.model, replace(series, effort=1000.0 * series.effort), "as in mNm")


def _amperes(arm: Arm) -> Case:
    series = arm.series()
    return _as(
        arm.model,
        replace(series, effort=series.effort / arm.rng.uniform(5.0, 15.0, arm.model.n)),
        "different units",
    )


def _wall(arm: Arm) -> Case:
    angle = arm.rng.uniform(0.0, 2.0 * np.pi)
    gravity = [9.81 * np.cos(angle), 9.81 * np.sin(angle), 0.0]
    return _as(arm.model, arm.series(arm.model.with_gravity(gravity)), "on a wall")


def _no_gravity(arm: Arm) -> Case:
    return _as(arm.model, arm.series(arm.model.without_gravity()), "no gravity in it")


def _rotor(arm: Arm) -> Case:
    motion = fourier(arm.model, 10.0, 20.0, arm.seed)
    joint = int(arm.rng.integers(arm.model.n))
    inertia = (
        arm.rng.uniform(0.3, 1.0)
        * motion.tau[:, joint].std()
        / motion.qdd[:, joint].std()
    )
    name = arm.model.joint_names[joint]
    return _as(
        arm.model,
        arm.series(arm.like((name, float(inertia)))),
        f"rotor inertia is missing in the model: {name}",
    )


def _delay(arm: Arm) -> Case:
    return _as(arm.model, arm.series(delay=arm.rng.uniform(0.005, 0.03)), "ms behind")


def _links(arm: Arm) -> Case:
    factors = arm.rng.uniform(0.7, 1.3, arm.model.n)
    return _as(
        arm.model, arm.series(arm.like(links=arm.masses(factors))), "links' masses"
    )


def _real(common: bool, arm: Arm) -> Case:
    factors = (
        np.full(arm.model.n, arm.rng.choice([0.7, 1.3]))
        if common
        else arm.rng.uniform(0.7, 1.3, arm.model.n)
    )
    truth = arm.like(links=arm.masses(factors))
    return _as(
        RobotModel.from_urdf_file(arm.urdf),
        arm.series(truth),
        "links' masses",
        "no friction",
    )


CASES: dict[str, Callable[[Arm], Case]] = {
    "healthy": _healthy,
    "payload": _payload,
    "friction": _friction,
    "sign of one effort": lambda arm: _one_sign(True, arm),
    "all signs": _all_signs,
    "sign of one joint": lambda arm: _one_sign(False, arm),
    "swapped efforts": lambda arm: _swapped(True, arm),
    "swapped joints": lambda arm: _swapped(False, arm),
    "offset": _offset,
    "mNm": _millinewtons,
    "amperes": _amperes,
    "wall": _wall,
    "no gravity": _no_gravity,
    "rotor": _rotor,
    "delay": _delay,
    "heavier links": _links,
    "other masses and friction": lambda arm: _real(False, arm),
    "masses off alike, and friction": lambda arm: _real(True, arm),
}
