"""Causes of a torque residual: torques that are linear in a few numbers, and what these numbers mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from robot_dynamics_ros.identification.motion import RecordedMotion, root_mean_square
from robot_dynamics_ros.kernels.regressor import PARAMETERS
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.model.link_tree import LinkTree

_STILL = 0.02  # of a joint's greatest speed: slower than that, its Coulomb friction grows in proportion
_SAME = 0.05  # relative difference that is none
_NO_WEIGHT = 0.15  # of the model's gravity
_SMALL_ANGLE = 3.0  # degrees
_FELT = 1e-7  # of the square of the strongest direction's torque
_LIGHT = 0.02  # kg, or kg m
_FAR = 2.0  # m
_SURE, _CERTAIN = 3.0, 5.0  # standard errors
_SPREAD = 0.3  # standard deviation of a link's parameters from the model's, as a share of the link's own
_CERTAINTY = 30.0  # samples that such a prior counts as
_IMPLAUSIBLE = 5.0  # standard deviations of a link's parameters
_GIVES = 0.2  # of the power of friction: a joint that gets so much is driven, not braked
_TINY = 1e-9  # Nm or N
_SHORT = 2e-3  # s
_LONG = 0.1  # s


@dataclass(frozen=True, eq=False)
class Evidence:
    """Samples of a recorded motion, with the rate (m, n) of its measured effort in Nm/s or N/s."""

    motion: RecordedMotion
    effort_rate: Array

    def part(self, samples: slice) -> Evidence:
        """Return some of the samples."""
        return Evidence(self.motion.part(samples), self.effort_rate[samples])


class Hypothesis(NamedTuple):
    """A cause whose torque is linear in p numbers.

    Attributes
    ----------
    columns
        (m, n, p): the torque that each number adds to the model's.
    words
        From the fitted numbers and their standard errors, (p,) each, to the cause, its size and the cure; None where
        the numbers make no sense.
    precision
        (p,): inverse variances of the numbers about 0 before anything is measured; 0 if they may be anything.
    effect
        Share of some joint's measured torque that the cause must make.
    complexity
        How many causes it counts as: more, the more else it can imitate.
    """

    columns: Array
    words: Callable[[Array, Array], str | None]
    precision: Array
    effect: float = 0.03
    complexity: float = 1.0


Kind = Callable[[RobotModel, Evidence], Hypothesis]


def causes(model: RobotModel) -> Mapping[str, Kind]:
    """Return the causes that a robot's residual may have, by their names."""
    links = model.moving_links
    return {
        "another direction of gravity": _gravity,
        **{f"a payload on {links[body]}": partial(_payload, body) for body in _last_bodies(model)},
        FRICTION: friction,
        "constant offsets": _offsets,
        "rotor inertia": _rotors,
        "a delay of the effort": _delay,
        "other link parameters": _links,
    }


FRICTION = "missing friction"


def _gravity(model: RobotModel, evidence: Evidence) -> Hypothesis:
    columns = np.stack([model.with_gravity(unit).gravity_torque(evidence.motion.q) for unit in np.eye(3)], axis=-1)

    def words(values: Array, errors: Array) -> str | None:
        given = model.gravity
        flat = columns.reshape(-1, 3)
        usual = float(np.linalg.norm(given)) or 9.81
        # The projection on the directions of gravity that some joint feels along the motion.
        strength, directions = np.linalg.eigh(flat.T @ flat)
        directions = directions[:, strength > _FELT * strength[-1]]
        felt = directions @ directions.T
        seen, expected = felt @ (given + values), felt @ given
        size = float(np.linalg.norm(seen))
        if size < _NO_WEIGHT * np.linalg.norm(expected):
            return (
                "the measured effort has no gravity in it: the driver takes it out, or the arm is balanced. "
                "Cure: --gravity 0 0 0"
            )
        # What no joint feels is as large as gravity's usual size leaves it.
        hidden = given - expected
        rest = np.sqrt(max(0.0, usual**2 - size**2))
        direction = seen + hidden * (rest / np.linalg.norm(hidden) if hidden.any() else 0.0)
        size = float(np.linalg.norm(direction))
        if abs(size - usual) > 2 * _SAME * usual:
            return None
        vector = " ".join(f"{x:g}" for x in np.round(direction * usual / size, 2) + 0.0)
        if not given.any():
            return (
                f"the measured effort has gravity in it, the model has none: it is ({vector}) m/s^2. "
                f"Cure: --gravity {vector}"
            )
        angle = float(np.degrees(np.arccos(np.clip(direction @ given / (size * usual), -1.0, 1.0))))
        if angle < _SMALL_ANGLE:
            return None
        mounted = "on a wall" if abs(angle - 90.0) < 10.0 else "on a ceiling" if angle > 170.0 else "tilted"
        return (
            f"gravity points {angle:.0f} degrees away from the model's, as for a robot that is mounted {mounted}: "
            f"it is ({vector}) m/s^2. Cure: --gravity {vector}, or gravity in the dynamics file"
        )

    return Hypothesis(columns, words, np.zeros(3))


def _last_bodies(model: RobotModel) -> list[int]:
    """Return the bodies that may carry a payload: those that carry nothing, and those that carry several."""
    parents = [link.parent for link in LinkTree.of(model).links]
    carried = [parents.count(body) for body in range(len(parents))]
    last = [body for body, count in enumerate(carried) if count == 0]
    branching = {parents[body] for body in last if parents[body] >= 0 and carried[parents[body]] > 1}
    return [*last, *sorted(branching)]


def _payload(body: int, model: RobotModel, evidence: Evidence) -> Hypothesis:
    motion = evidence.motion
    link = model.moving_links[body]
    own = slice(PARAMETERS * body, PARAMETERS * (body + 1))
    masses = model.inertial_parameters[: PARAMETERS * len(model.moving_links) : PARAMETERS]

    def words(values: Array, errors: Array) -> str | None:
        mass, moment = values[0], values[1:4]
        if abs(mass) > _SURE * errors[0] and abs(mass) > _LIGHT:
            com = moment / mass
            if np.linalg.norm(com) > _FAR or not -1.5 * masses[body] < mass < masses.sum():
                return None
            where = f"with its centre of mass at [{', '.join(f'{x:.3f}' for x in com)}] m in the axes of {link}"
            size = f"{abs(mass):.2f} kg on {link}, {where}"
            heavier = mass > 0.0
        else:
            # Nothing in this motion weighs the link by itself, as where its origin does not move.
            if np.linalg.norm(moment) < _LIGHT:
                return None
            size = f"a first moment of [{', '.join(f'{x:.3f}' for x in moment)}] kg m on {link}"
            heavier = True
        if heavier:
            return (
                f"the robot carries what the model does not know: {size}. Cure: give it as payload in the dynamics file"
            )
        return (
            f"the model carries what the robot does not: {size}, such as a hand that is not mounted. Cure: give the "
            "links that are not there mass 0 under links in the dynamics file, or take out its payload"
        )

    columns = model.regressor(motion.q, motion.qd, motion.qdd)[:, :, own]
    return Hypothesis(columns, words, np.zeros(PARAMETERS))


def friction(model: RobotModel, evidence: Evidence) -> Hypothesis:
    """Viscous, Coulomb forwards, Coulomb backwards: n columns each."""
    motion, n = evidence.motion, model.n
    columns = np.zeros((len(motion.time), n, 3 * n))
    joints = np.arange(n)
    slow = np.maximum(_STILL * np.abs(motion.qd).max(axis=0), np.finfo(np.float64).tiny)
    columns[:, joints, joints] = motion.qd
    columns[:, joints, n + joints] = np.clip(motion.qd / slow, 0.0, 1.0)
    columns[:, joints, 2 * n + joints] = np.clip(motion.qd / slow, -1.0, 0.0)

    def words(values: Array, errors: Array) -> str | None:
        viscous, forwards, backwards = values.reshape(3, model.n)
        known = model.friction_torque(motion.q, motion.qd)
        torque = columns @ values
        matters = root_mean_square(torque) > _SAME * root_mean_square(motion.tau)
        # In all, friction takes power in either direction; what does not is an offset, or another cause's shadow.
        takes = np.ones(model.n, dtype=bool)
        for direction in (1.0, -1.0):
            moving = direction * motion.qd > 0.0
            takes &= (moving * motion.qd * (known + torque)).sum(axis=0) >= 0.0
        listed = matters & takes
        power = (motion.qd * (known + torque)).sum(axis=0)
        gives = power < -_GIVES * np.abs(motion.qd * torque).sum(axis=0)
        if not listed.any() or (matters & gives).any():
            return None
        missing = not known[:, listed].any()
        what = "the model has no friction where the robot has" if missing else "friction differs from the model's, by"
        each = "; ".join(
            f"{name} viscous {viscous[j]:.2g}, Coulomb {forwards[j]:.2g} forwards and {backwards[j]:.2g} backwards"
            for j, name in enumerate(model.joint_names)
            if listed[j]
        )
        return (
            f"{what}: {each}. Cure: give viscous, coulomb and coulomb_negative in the dynamics file, "
            "or let identify do it"
        )

    return Hypothesis(columns, words, np.zeros(3 * n), complexity=1.3)


def _offsets(model: RobotModel, evidence: Evidence) -> Hypothesis:
    tau = evidence.motion.tau
    columns = np.broadcast_to(np.eye(model.n), (len(tau), model.n, model.n)).copy()

    def words(values: Array, errors: Array) -> str | None:
        matters = np.abs(values) > _SAME * root_mean_square(tau)
        offsets = [f"{name} {x:.3g}" for name, x, big in zip(model.joint_names, values, matters, strict=True) if big]
        if not offsets:
            return None
        return f"the measured effort has constant offsets: {', '.join(offsets)}. Cure: zero the torque sensors"

    # Gravity that is the same in every position, as on a vertical slide, is an offset too, but the simpler one.
    return Hypothesis(columns, words, np.zeros(model.n), complexity=1.1)


def _rotors(model: RobotModel, evidence: Evidence) -> Hypothesis:
    motion = evidence.motion
    columns = motion.qdd[:, :, np.newaxis] * np.eye(model.n)

    def words(values: Array, errors: Array) -> str | None:
        matters = np.abs(values) * root_mean_square(motion.qdd) > _SAME * root_mean_square(motion.tau)
        listed = matters & (values > _SURE * errors)
        if not listed.any():
            return None
        each = ", ".join(f"{name} {values[j]:.3g}" for j, name in enumerate(model.joint_names) if listed[j])
        return (
            f"rotor inertia is missing in the model: {each} kg m^2 (kg) at the joint. Cure: give rotor_inertia and "
            "gear_ratio in the dynamics file, or let identify do it"
        )

    return Hypothesis(columns, words, np.zeros(model.n))


def _delay(model: RobotModel, evidence: Evidence) -> Hypothesis:
    def words(values: Array, errors: Array) -> str | None:
        delay = float(values[0])
        if not max(_SHORT, _CERTAIN * errors[0]) < abs(delay) < _LONG:
            return None
        return (
            f"the effort is {1000 * abs(delay):.1f} ms {'behind' if delay > 0.0 else 'ahead of'} position and "
            f"velocity. Cure: --effort-delay {delay:.4f}"
        )

    return Hypothesis(-evidence.effort_rate[:, :, np.newaxis], words, np.zeros(1), effect=0.003, complexity=0.02)


def _links(model: RobotModel, evidence: Evidence) -> Hypothesis:
    motion = evidence.motion
    count = PARAMETERS * len(model.moving_links)
    columns = model.regressor(motion.q, motion.qd, motion.qdd)[:, :, :count]
    spread = _parameter_spread(model.inertial_parameters[:count].reshape(-1, PARAMETERS)).ravel()

    def words(values: Array, errors: Array) -> str | None:
        if np.abs(values / spread).max() > _IMPLAUSIBLE:
            return None
        shares = root_mean_square(columns @ values) / np.maximum(root_mean_square(motion.tau), _TINY)
        each = ", ".join(
            f"{name} {100 * share:.0f} %"
            for name, share in zip(model.joint_names, shares, strict=True)
            if share > _SAME
        )
        return (
            "the links' masses, centres of mass or inertias differ from the model's"
            f"{'; share of the measured torque: ' + each if each else ''}. Cure: run robot_dynamics identify"
        )

    return Hypothesis(columns, words, _CERTAINTY / spread**2, effect=0.01, complexity=2.0)


def _parameter_spread(parameters: Array) -> Array:
    """Return the standard deviations (bodies, 10) of real links' parameters about the model's (bodies, 10)."""
    mass = np.maximum(parameters[:, 0], 0.05 * parameters[:, 0].mean() + np.finfo(float).tiny)
    about = 0.5 * parameters[:, [4, 7, 9]].sum(axis=1) / mass
    radius = np.sqrt(np.maximum(about, 0.05**2))
    sizes = np.stack([mass, *[mass * radius] * 3, *[mass * radius**2] * 6], axis=1)
    return np.asarray(_SPREAD * sizes)
