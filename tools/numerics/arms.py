"""Arms and motions that are difficult for rounding, in addition to the shipped robots."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from benchmarks.robots import Floats, shipped
from robot_dynamics_ros import RobotModel
from support.arms import Arm, Joint, Link

Motion = tuple[Floats, Floats, Floats]

# rpy from link to link, rad
_TURNS = ((0.0, 0.0, 0.0), (1.2, -0.4, 0.3), (-1.5, 0.0, 0.7), (0.6, 1.1, -0.2))


def chain(
    masses: Sequence[float], lengths: Sequence[float], way: float = 0.0
) -> RobotModel:
    """Return a chain of skew revolute joints; link k is a rod with masses[k] and lengths[k].

    ``way`` (m) is the distance from the root to the first joint.
    """
    links = [Link("link0")]
    joints = []
    for k, (mass, length) in enumerate(zip(masses, lengths, strict=True), start=1):
        across = mass * length**2 / 12
        inertia = np.diag([0.1 * across, across, across])
        links.append(Link(f"link{k}", mass, (length / 2, 0.05 * length, 0.0), inertia))
        turn = _TURNS[k % len(_TURNS)]
        joints.append(
            Joint(
                f"joint{k}",
                "continuous",
                f"link{k - 1}",
                f"link{k}",
                xyz=(way, 0.0, 0.0),
                rpy=turn,
                limit="",
            )
        )
        way = length
    return RobotModel.from_urdf(Arm(tuple(links), tuple(joints)).urdf)


def same_axis(dust_inertia: float) -> RobotModel:
    """Return two joints on one axis with a link of small inertia between them: a nearly singular mass matrix."""
    dust = Link("dust", dust_inertia, inertia=dust_inertia * np.eye(3))
    rod = Link("rod", 2.0, (0.3, 0.0, 0.0), 0.1 * np.eye(3))
    joints = (
        Joint("first", "continuous", "base", "dust", axis=(0.0, 1.0, 0.0), limit=""),
        Joint("second", "continuous", "dust", "rod", axis=(0.0, 1.0, 0.0), limit=""),
    )
    return RobotModel.from_urdf(Arm((Link("base"), dust, rod), joints).urdf)


_FALLING = [10.0 ** (3 - k) for k in range(7)]  # 1000 kg to 1 g

_MADE: Mapping[str, Callable[[], RobotModel]] = {
    "Panda": partial(shipped, "panda"),
    "UR5e": partial(shipped, "ur5e"),
    "Puma 560": partial(shipped, "puma560"),
    "SCARA": partial(shipped, "scara"),
    "geared planar arm": partial(shipped, "planar_2r", "planar_2r_tsai"),
    "7 equal links": lambda: chain([3.0] * 7, [0.4] * 7),
    "7 equal links, 50 m from the root": lambda: chain([3.0] * 7, [0.4] * 7, 50.0),
    "30 equal links": lambda: chain([3.0] * 30, [0.4] * 30),
    "light end, 1e6 : 1": lambda: chain(_FALLING, [0.4] * 7),
    "heavy end, 1 : 1e6": lambda: chain(_FALLING[::-1], [0.4] * 7),
    "km boom, cm wrist": lambda: chain([1e3] * 3 + [0.1] * 3, [1e3] * 3 + [0.01] * 3),
    "cm base, km boom": lambda: chain([0.1] * 3 + [1e3] * 3, [0.01] * 3 + [1e3] * 3),
    "km and cm alternating": lambda: chain([10.0] * 6, [1e3, 0.01] * 3),
    "two joints on one axis": lambda: same_axis(1e-9),
    "links of 1e-310 kg": lambda: chain([1e-310] * 3, [0.4] * 3),
}
ARMS = tuple(_MADE)


def load(arm: str) -> RobotModel:
    """Return one of ARMS."""
    with warnings.catch_warnings():
        # about missing friction and unusual inertias, which are intended
        warnings.simplefilter("ignore")
        return _MADE[arm]()


def _ordinary(n: int, rng: np.random.Generator) -> Motion:
    return (
        rng.uniform(-np.pi, np.pi, n),
        rng.normal(0.0, 2.0, n),
        rng.normal(0.0, 5.0, n),
    )


def _far(n: int, rng: np.random.Generator) -> Motion:
    _, qd, qdd = _ordinary(n, rng)
    return rng.uniform(-1e6, 1e6, n), qd, qdd


def _fast(n: int, rng: np.random.Generator) -> Motion:
    q, _, qdd = _ordinary(n, rng)
    return q, rng.uniform(-1e6, 1e6, n), qdd


def _quarters(n: int, rng: np.random.Generator) -> Motion:
    _, qd, qdd = _ordinary(n, rng)
    return np.asarray(rng.integers(-8, 9, n) * (np.pi / 2)), qd, qdd


def _denormal(n: int, rng: np.random.Generator) -> Motion:
    q, qd, qdd = rng.uniform(-2e-308, 2e-308, (3, n))
    return q, qd, qdd


MOTIONS: Mapping[str, Callable[[int, np.random.Generator], Motion]] = {
    "ordinary": _ordinary,
    "angles to 1e6 rad": _far,
    "rates to 1e6 rad/s": _fast,
    "quarter turns": _quarters,
    "all denormal": _denormal,
}
"""Coordinates, rates and accelerations (n,) from the number of joints and a random generator."""
