"""Causes of a torque residual: torques linear in a few parameters, and hints for fitted parameters."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.analysis.identification.friction_shapes import at_rest
from robot_dynamics_ros.analysis.identification.recorded_motion import RecordedMotion
from robot_dynamics_ros.analysis.thresholds import (
    DRIVING_FRICTION,
    HINT_EXACT,
    HINT_FINE,
    HINT_INTERVAL,
    HINT_NEGLIGIBLE,
    HINT_SIGNIFICANT,
    LIGHTEST_PAYLOAD,
    LINK_IMPLAUSIBLE,
    LINK_PRIOR_SAMPLES,
    LINK_SPREAD,
    LONGEST_EFFORT_DELAY,
    NO_GRAVITY,
    OBSERVABLE_GRAVITY,
    PAYLOAD_REACH,
    PAYLOAD_UNCERTAIN,
    SHORTEST_EFFORT_DELAY,
    SMALLEST_TILT,
    TINY,
    UNEVEN_FRICTION,
)
from robot_dynamics_ros.base.statistics import root_mean_square
from robot_dynamics_ros.dynamics.kernels.regressor import PARAMETERS
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.link_tree import LinkTree


@dataclass(frozen=True, eq=False)
class Evidence:
    """Recorded motion of n joints at m times, and the time derivative (m, n) of its effort in Nm/s or N/s."""

    motion: RecordedMotion
    effort_rate: Array


class Hypothesis(NamedTuple):
    """A cause whose additional torque is linear in p parameters.

    Attributes
    ----------
    columns
        Torque (m, n, p) in Nm or N for a unit of each parameter.
    describe
        Function of the fitted parameters (p,) and their standard errors (p,). It returns the hint (cause, size and
        cure), or None if the parameters are implausible, or if all their 95 % intervals contain no effect.
    precision
        Prior inverse variances (p,) of the parameters about 0, if torques have unit variance; 0: no prior.
    effect
        Share of the measured RMS torque that the cause must contribute in at least one joint.
    complexity
        Number of causes that it counts as in model selection: larger for causes that can imitate others.
    """

    columns: Array
    describe: Callable[[Array, Array], str | None]
    precision: Array | float = 0.0
    effect: float = 0.03
    complexity: float = 1.0


HypothesisFunction = Callable[[RobotModel, Evidence], Hypothesis]
FRICTION = "missing friction"
DELAY = "a delay of the effort"
LINKS = "other link parameters"


def causes(model: RobotModel) -> Mapping[str, HypothesisFunction]:
    """Return the possible causes of the torque residual of ``model``, by name.

    Each is a function of a model and the ``Evidence`` with its joints; it returns the ``Hypothesis`` of this cause.
    """
    links = model.moving_links
    return {
        "another direction of gravity": _gravity,
        **{
            f"a payload on {links[body]}": partial(_payload, body)
            for body in _payload_bodies(model)
        },
        FRICTION: friction,
        "friction by load": load_friction,
        "constant offsets": _offsets,
        "rotor inertia": rotors,
        DELAY: _delay,
        LINKS: _links,
    }


def _gravity(model: RobotModel, evidence: Evidence) -> Hypothesis:
    columns = np.stack(
        [
            model.with_gravity(unit).gravity_torque(evidence.motion.q)
            for unit in np.eye(3)
        ],
        axis=-1,
    )

    def describe(values: Array, errors: Array) -> str | None:
        modelled = model.gravity
        flat = columns.reshape(-1, 3)
        magnitude = float(np.linalg.norm(modelled)) or 9.81
        # Only components of gravity that load a joint along the motion are compared.
        strength, directions = np.linalg.eigh(flat.T @ flat)
        directions = directions[:, strength > OBSERVABLE_GRAVITY * strength[-1]]
        observed = directions.shape[1] == len(strength)
        projection = directions @ directions.T
        estimate = projection @ (modelled + values)
        expected = projection @ modelled
        size = float(np.linalg.norm(estimate))
        error = _largest(errors)
        if size < NO_GRAVITY * np.linalg.norm(expected):
            return (
                "the measured effort has no gravity in it: the driver subtracts it, or the arm is balanced. "
                "Cure: --gravity 0 0 0"
            )
        # The unobservable component completes the magnitude, in the model's direction.
        # zero but for rounding
        hidden = np.zeros(3) if observed else modelled - expected
        rest = np.sqrt(max(0.0, magnitude**2 - size**2))
        direction = estimate + hidden * (
            rest / np.linalg.norm(hidden) if hidden.any() else 0.0
        )
        size = float(np.linalg.norm(direction))
        if abs(size - magnitude) > 2 * HINT_NEGLIGIBLE * magnitude:
            return None
        vector = " ".join(
            f"{x:g}" for x in np.round(direction * magnitude / size, 2) + 0.0
        )
        each = f"({vector}) m/s^2, each +- {_half(error, magnitude)[0]}"
        if not observed:
            each += ", or undetermined where no joint carries it"
        if not modelled.any():
            text = f"the measured effort has gravity in it, the model has none: it is {each}. Cure: --gravity {vector}"
            return text if excludes_zero(magnitude, error) else None
        angle = float(
            np.degrees(
                np.arccos(np.clip(direction @ modelled / (size * magnitude), -1.0, 1.0))
            )
        )
        angle_error = np.degrees(error / magnitude)
        if angle < SMALLEST_TILT or not excludes_zero(angle, angle_error):
            return None
        mounted = (
            "on a wall"
            if abs(angle - 90.0) < 10.0
            else "on a ceiling"
            if angle > 170.0
            else "tilted"
        )
        return (
            f"gravity points {interval(angle, angle_error)} degrees away from the model's, as for a robot that is "
            f"mounted {mounted}: it is {each}. Cure: --gravity {vector}, or gravity in the dynamics file"
        )

    return Hypothesis(columns, describe)


def _largest(errors: Array) -> float:
    """Return the largest standard error of the values that are determined."""
    return float(errors[np.isfinite(errors)].max(initial=0.0))


def _payload_bodies(model: RobotModel) -> list[int]:
    """Return the bodies at which a payload is likely: leaves of the tree, and parents of several bodies."""
    parents = [link.parent for link in LinkTree.of(model).links]
    carried = [parents.count(body) for body in range(len(parents))]
    last = [body for body, count in enumerate(carried) if count == 0]
    branching = {
        parents[body]
        for body in last
        if parents[body] >= 0 and carried[parents[body]] > 1
    }
    return [*last, *sorted(branching)]


def _payload(body: int, model: RobotModel, evidence: Evidence) -> Hypothesis:
    motion = evidence.motion
    link = model.moving_links[body]
    own = slice(PARAMETERS * body, PARAMETERS * (body + 1))
    masses = model.body_parameters[:, 0]
    far = max(
        PAYLOAD_REACH,
        *(float(np.linalg.norm(part.position)) for part in LinkTree.of(model).links),
    )
    known = _known_payload(body, model)

    def describe(values: Array, errors: Array) -> str | None:
        mass = values[0]
        moment = values[1:4]
        if excludes_zero(mass, errors[0]) and abs(mass) > LIGHTEST_PAYLOAD:
            com = moment / mass
            if (
                np.linalg.norm(com) > far
                or not -1.5 * masses[body] < mass < masses.sum()
            ):
                return None
            com_errors = np.hypot(errors[1:4], com * errors[0]) / abs(mass)
            where = f"with its centre of mass at {_vector(com, com_errors)} m in the axes of {link}"
            payload = f"{interval(abs(mass), errors[0])} kg on {link}, {where}"
            heavier = mass > 0.0
            uncertain = HINT_INTERVAL * errors[0] > PAYLOAD_UNCERTAIN * abs(mass)
        else:
            # The mass is not observable, as where the link's origin does not move.
            size = float(np.linalg.norm(moment))
            if size < LIGHTEST_PAYLOAD or not excludes_zero(
                size, _largest(errors[1:4])
            ):
                return None
            heavier = mass > 0.0 or not np.isfinite(errors[0])
            uncertain = False
            payload = f"a first moment of {_vector(moment if heavier else -moment, errors[1:4])} kg m on {link}"
        if heavier:
            cure = (
                f"add it to {known}"
                if known
                else "define it as payload in the dynamics file"
            )
            before = (
                "run robot_dynamics identify with the unloaded arm first; then "
                if uncertain
                else ""
            )
            return f"the robot carries a payload that the model lacks: {payload}. Cure: {before}{cure}"
        cure = (
            f"correct or remove {known}"
            if known
            else "give absent links mass 0 under links in the dynamics file"
        )
        return f"the model carries a payload that the robot lacks: {payload}, such as an absent gripper. Cure: {cure}"

    columns = model.regressor(*motion.states)[:, :, own]
    return Hypothesis(columns, describe)


def _known_payload(body: int, model: RobotModel) -> str:
    """Return the payload of the model on a body, with its mass and link; empty if there is none."""
    if (link := model.payload_link) is None or model.link_frames[link].body != body:
        return ""
    change = model.body_parameters - model.without_payload().body_parameters
    return f"the payload of {change[body, 0]:.2f} kg on {link} in the dynamics file"


def friction(model: RobotModel, evidence: Evidence) -> Hypothesis:
    """Return the hypothesis of missing friction, with 3 n parameters.

    These are n viscous coefficients (Nm s/rad or N s/m), n Coulomb levels (Nm or N) in positive direction, and n in
    negative direction, each in the order of the model's n joints, which ``evidence`` must have too.
    """
    motion = evidence.motion
    n = model.n
    columns = np.zeros((len(motion.time), n, 3 * n))
    joints = np.arange(n)
    columns[:, joints, joints] = motion.qd
    columns[:, joints, n + joints] = _dry(
        motion, lambda q, qd, qdd: np.where(qd > 0.0, 1.0, 0.0)
    )
    columns[:, joints, 2 * n + joints] = _dry(
        motion, lambda q, qd, qdd: np.where(qd < 0.0, 1.0, 0.0)
    )

    def describe(values: Array, errors: Array) -> str | None:
        viscous, forwards, backwards = np.reshape(
            list(map(interval, values.tolist(), errors.tolist())), (3, model.n)
        )
        known = model.friction_torque(motion.q, motion.qd, qdd=motion.qdd)
        torque = columns @ values
        matters = _matters(torque, motion.tau)
        # Friction dissipates in both directions; a torque that does not is an offset or due to another cause.
        dissipates = np.ones(model.n, dtype=bool)
        for direction in (1.0, -1.0):
            moving = direction * motion.qd > 0.0
            dissipates &= (moving * motion.qd * (known + torque)).sum(axis=0) >= 0.0
        listed = matters & dissipates
        power = (motion.qd * (known + torque)).sum(axis=0)
        driving = power < -DRIVING_FRICTION * np.abs(motion.qd * torque).sum(axis=0)
        parts = np.tile(listed, 3)
        clear = any(map(excludes_zero, values[parts], errors[parts]))
        if not clear or (matters & driving).any():
            return None
        cause = "friction differs: add to the model's values"
        if not known[:, listed].any():
            cause = "the model has no friction where the robot has"
        units = "Nm s/rad and Nm" + (
            ", or N s/m and N" if model.prismatic_joints else ""
        )
        each = "; ".join(
            f"{name} viscous {viscous[j]}, Coulomb {forwards[j]} forwards and {backwards[j]} backwards"
            for j, name in enumerate(model.joint_names)
            if listed[j]
        )
        positive, negative = values[model.n :].reshape(2, model.n)
        least = np.maximum(
            UNEVEN_FRICTION * (positive + negative),
            HINT_SIGNIFICANT * np.hypot(*errors[model.n :].reshape(2, -1)),
        )
        uneven = matters & (np.abs(positive - negative) > least)
        if uneven.any():
            names = ", ".join(itertools.compress(model.joint_names, uneven.tolist()))
            each += f"; levels that differ by direction look the same as a constant offset of the effort: {names}"
        return (
            f"{cause} ({units}): {each}. Cure: give viscous, coulomb and coulomb_negative in the dynamics "
            "file, or let identify do it"
        )

    return Hypothesis(columns, describe, complexity=1.3)


def interval(value: float, error: float) -> str:
    """Return the 95 % interval of a value with this standard error, as "0.65 +- 0.04", or "undetermined" (infinite)."""
    if not np.isfinite(error):
        return "undetermined"
    half, decimals = _half(error, value)
    return f"{round(value, decimals) + 0.0:.{max(decimals, 0)}f} +- {half}"


def excludes_zero(value: float, error: float) -> bool:
    """Return True if the ``interval`` of a value with this standard error excludes 0."""
    if not np.isfinite(error):
        return False
    half, decimals = _half(error, value)
    return abs(round(value, decimals)) > float(half)


def _half(error: float, value: float) -> tuple[str, int]:
    """Return half the 95 % interval with one digit, or two up to 29, and the number of its decimals."""
    half = max(HINT_INTERVAL * error, HINT_EXACT * abs(value), TINY)
    power = int(np.floor(np.log10(half)))
    decimals = int(half < 2.95 * 10.0**power) - power
    return f"{round(half, decimals):.{max(decimals, 0)}f}", decimals


def _vector(values: Array, errors: Array) -> str:
    return (
        "["
        + ", ".join(
            map(interval, values.tolist(), np.maximum(errors, HINT_FINE).tolist())
        )
        + "]"
    )


def _matters(torque: Array, measured: Array) -> NDArray[np.bool_]:
    """Return True (n,) for joints with a torque (m, n) that is not negligible beside the ``measured`` one (m, n)."""
    return root_mean_square(torque) > HINT_NEGLIGIBLE * root_mean_square(measured)


def _by_joint(
    model: RobotModel, values: Array, errors: Array, listed: NDArray[np.bool_]
) -> str:
    """Return the names and intervals of the ``listed`` joints (n,) whose intervals exclude 0."""
    named = zip(
        model.joint_names, values.tolist(), errors.tolist(), listed, strict=True
    )
    return ", ".join(
        f"{name} {interval(value, error)}"
        for name, value, error, one in named
        if one and excludes_zero(value, error)
    )


def _dry(
    motion: RecordedMotion, level: Callable[[Array, Array, Array], Array]
) -> Array:
    """Return dry friction (m, n) of a level by motions (k, n), filtered as the torque is; 0 for joints at rest."""
    rest = at_rest(motion.qd, motion.qdd, motion.period, 0)
    return motion.filtered(lambda q, qd, qdd: np.sign(qd) * level(q, qd, qdd)) * ~rest


def load_friction(model: RobotModel, evidence: Evidence) -> Hypothesis:
    """Return the hypothesis of friction by load, with the n load coefficients of ``model``'s joints."""
    motion = evidence.motion
    dry = _dry(motion, lambda q, qd, qdd: np.abs(model.gear_load(q, qd, qdd)))
    columns = dry[:, :, None] * np.eye(model.n)

    def describe(values: Array, errors: Array) -> str | None:
        matters = _matters(columns @ values, motion.tau)
        listed = matters & (values > 0.0) & (values < 1.0)
        each = _by_joint(model, values, errors, listed)
        if not each or (matters & ~listed).any():
            return None
        return (
            f"friction grows with the load, as in gears, by this share of the transmitted torque: {each}. Cure: add it "
            "to load_coefficient in the dynamics file, or let identify do it"
        )

    return Hypothesis(columns, describe)


def _offsets(model: RobotModel, evidence: Evidence) -> Hypothesis:
    tau = evidence.motion.tau
    columns = np.broadcast_to(np.eye(model.n), (len(tau), model.n, model.n)).copy()

    def describe(values: Array, errors: Array) -> str | None:
        listed = _matters(columns @ values, tau)
        each = _by_joint(model, values, errors, listed)
        if not each:
            return None
        return f"the measured effort has constant offsets: {each}. Cure: zero the torque sensors"

    # A larger complexity: gravity of a vertical prismatic joint is constant too, and so is the part of Coulomb friction
    # that differs by direction.
    return Hypothesis(columns, describe, complexity=1.25)


def rotors(model: RobotModel, evidence: Evidence) -> Hypothesis:
    """Return the hypothesis of n rotor inertias (kg m^2 or kg) at ``model``'s joints."""
    motion = evidence.motion
    columns = motion.qdd[:, :, None] * np.eye(model.n)

    def describe(values: Array, errors: Array) -> str | None:
        matters = _matters(columns @ values, motion.tau)
        each = _by_joint(model, values, errors, matters & (values > 0.0))
        if not each:
            return None
        known = (
            "; to the rotor_inertia that a joint has already, add it divided by the square of gear_ratio"
            if model.rotor_names
            else ""
        )
        return (
            f"rotor inertia is missing in the model: {each} kg m^2 (kg) at the joint. Cure: give it as rotor_inertia "
            f"with gear_ratio: 1 and rotor_carrier: none in the dynamics file, or let identify do it{known}"
        )

    return Hypothesis(columns, describe)


def _delay(model: RobotModel, evidence: Evidence) -> Hypothesis:
    def describe(values: Array, errors: Array) -> str | None:
        delay = float(values[0])
        error = float(errors[0])
        if not (
            SHORTEST_EFFORT_DELAY < abs(delay) < LONGEST_EFFORT_DELAY
            and excludes_zero(delay, error)
        ):
            return None
        return (
            f"the effort is {interval(1e3 * abs(delay), 1e3 * error)} ms {'behind' if delay > 0.0 else 'ahead of'} "
            f"position and velocity. Cure: --effort-delay {delay:.4f}"
        )

    columns = -evidence.effort_rate[:, :, None]
    return Hypothesis(columns, describe, effect=0.003, complexity=0.02)


def _links(model: RobotModel, evidence: Evidence) -> Hypothesis:
    motion = evidence.motion
    spread = _parameter_spread(model.body_parameters).ravel()
    columns = model.regressor(*motion.states)[:, :, : len(spread)]

    def describe(values: Array, errors: Array) -> str | None:
        if np.abs(values / spread).max() > LINK_IMPLAUSIBLE:
            return None
        shares = root_mean_square(columns @ values) / np.maximum(
            root_mean_square(motion.tau), TINY
        )
        each = ", ".join(
            f"{name} {100 * share:.0f} %"
            for name, share in zip(model.joint_names, shares, strict=True)
            if share > HINT_NEGLIGIBLE
        )
        return (
            "the links' masses, centres of mass or inertias differ from the model's"
            f"{'; share of the measured torque: ' + each if each else ''}. Cure: run robot_dynamics identify"
        )

    return Hypothesis(
        columns, describe, LINK_PRIOR_SAMPLES / spread**2, effect=0.01, complexity=2.0
    )


def _parameter_spread(parameters: Array) -> Array:
    """Return prior standard deviations (bodies, 10) of inertial ``parameters`` (bodies, 10)."""
    mass = np.maximum(
        parameters[:, 0], 0.05 * parameters[:, 0].mean() + np.finfo(float).tiny
    )
    about = 0.5 * parameters[:, [4, 7, 9]].sum(axis=1) / mass
    radius = np.sqrt(np.maximum(about, 0.05**2))
    sizes = np.stack([mass, *[mass * radius] * 3, *[mass * radius**2] * 6], axis=1)
    return LINK_SPREAD * sizes
